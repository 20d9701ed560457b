package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// keptIdle is how many idle connections a kube-apiserver keeps for one webhook.
const keptIdle = 25

// connection is one TLS connection to the webhook.
type connection struct {
	tls       *tls.Conn
	reader    *bufio.Reader
	handshake time.Duration // including that of TCP
	used      bool
}

func dial(ctx context.Context, t *target) (*connection, error) {
	begin := time.Now()
	plain, err := (&net.Dialer{Timeout: 10 * time.Second}).DialContext(ctx, "tcp", t.address)
	if err != nil {
		return nil, err
	}
	secure := tls.Client(plain, t.config)
	if err := secure.HandshakeContext(ctx); err != nil {
		plain.Close()
		return nil, fmt.Errorf("handshake: %w", err)
	}
	return &connection{tls: secure, reader: bufio.NewReaderSize(secure, 16<<10), handshake: time.Since(begin)}, nil
}

// pool holds the idle connections; the one used last is taken first.
type pool struct {
	target *target
	lock   sync.Mutex
	idle   []*connection
	opened int
}

// get returns an idle connection, or a new one if there is none or `fresh` asks for it.
func (p *pool) get(ctx context.Context, fresh bool) (*connection, error) {
	p.lock.Lock()
	if n := len(p.idle); n > 0 && !fresh {
		c := p.idle[n-1]
		p.idle = p.idle[:n-1]
		p.lock.Unlock()
		return c, nil
	}
	p.opened++
	p.lock.Unlock()
	return dial(ctx, p.target)
}

func (p *pool) put(c *connection) {
	c.used = true
	p.lock.Lock()
	full := len(p.idle) >= keptIdle
	if !full {
		p.idle = append(p.idle, c)
	}
	p.lock.Unlock()
	if full {
		c.tls.Close()
	}
}

func (p *pool) close() {
	p.lock.Lock()
	defer p.lock.Unlock()
	for _, c := range p.idle {
		c.tls.Close()
	}
	p.idle = nil
}

// errClosed is a connection that was closed before the answer began: a server may do so with an idle one.
var errClosed = errors.New("closed before the answer")

// post sends one body and returns the answer's status and body; `keep` is false if the server closes.
func (c *connection) post(t *target, body []byte, limit time.Duration) (status int, answer []byte, keep bool, err error) {
	head := fmt.Sprintf("POST %s?timeout=10s HTTP/1.1\r\nHost: %s\r\nUser-Agent: kube-apiserver-admission\r\n"+
		"Content-Length: %d\r\nAccept: application/json, */*\r\nContent-Type: application/json\r\n"+
		"Accept-Encoding: gzip\r\n\r\n", t.path, t.config.ServerName, len(body))
	if err := c.tls.SetDeadline(time.Now().Add(limit)); err != nil {
		return 0, nil, false, err
	}
	message := make([]byte, 0, len(head)+len(body))
	_, writeErr := c.tls.Write(append(append(message, head...), body...))
	response, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		if writeErr != nil {
			err = writeErr
		}
		return 0, nil, false, fmt.Errorf("%w: %v", errClosed, err)
	}
	defer response.Body.Close()
	answer, err = io.ReadAll(response.Body)
	return response.StatusCode, answer, !response.Close && writeErr == nil, err
}

// checkAnswer is an error unless the answer allows that review.
func checkAnswer(status int, answer []byte, uid string) error {
	var decoded struct {
		Response struct {
			UID     string `json:"uid"`
			Allowed bool   `json:"allowed"`
		} `json:"response"`
	}
	if status != http.StatusOK {
		return fmt.Errorf("status %d: %.200s", status, bytes.TrimSpace(answer))
	}
	if err := json.Unmarshal(answer, &decoded); err != nil {
		return err
	}
	if decoded.Response.UID != uid {
		return fmt.Errorf("the answer is for %q, not for %q", decoded.Response.UID, uid)
	}
	if !decoded.Response.Allowed {
		return fmt.Errorf("denied: %.300s", answer)
	}
	return nil
}
