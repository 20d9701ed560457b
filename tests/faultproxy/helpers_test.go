package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

const podsPath = "/api/v1/namespaces/ns/pods"

// events are what every watch of the fake API server delivers before it stays open without a word.
var events = []string{
	`{"type":"ADDED","object":{"n":1}}`,
	`{"type":"ADDED","object":{"n":2}}`,
	`{"type":"BOOKMARK","object":{"n":3}}`,
	`{"type":"MODIFIED","object":{"n":4}}`,
}

const protobuf = "application/vnd.kubernetes.protobuf;stream=watch"

// bench is a fake API server, the proxy before it, and a client of the proxy.
type bench struct {
	t       *testing.T
	creates atomic.Int32 // pods that were created upstream
	who     atomic.Value // identity seen upstream at the last request
	up      *httptest.Server
	proxy   *proxy
	address string
	roots   *x509.CertPool
	client  *http.Client
	admin   *httptest.Server
}

func newBench(t *testing.T) *bench { return newBenchWith(t, &tls.Config{}, nil, false) }

func newBenchWith(t *testing.T, cfg *tls.Config, identity *tls.Certificate, checkClient bool) *bench {
	b := &bench{t: t, roots: x509.NewCertPool()}
	up := httptest.NewUnstartedServer(http.HandlerFunc(b.upstream))
	up.EnableHTTP2 = true
	up.Config.ErrorLog = quiet()
	up.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	up.StartTLS()
	b.up = up
	upPool := x509.NewCertPool()
	upPool.AddCert(up.Certificate())
	upURL, _ := url.Parse(up.URL)
	b.proxy = newProxy(upURL, upPool, identity, checkClient)

	ca, pair, err := makeServingPair()
	if err != nil {
		t.Fatal(err)
	}
	b.roots.AppendCertsFromPEM(ca)
	cfg.Certificates = []tls.Certificate{pair}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b.address = l.Addr().String()
	go b.proxy.serve(l, cfg)
	b.admin = httptest.NewServer(b.proxy.adminHandler())
	b.client = b.newClient(&tls.Config{}, true)
	t.Cleanup(func() {
		l.Close()
		b.proxy.listener.resetAll()
		b.admin.Close()
		up.CloseClientConnections()
		up.Close()
	})
	return b
}

func (b *bench) newClient(cfg *tls.Config, h2 bool) *http.Client {
	cfg.RootCAs = b.roots
	tr := &http.Transport{TLSClientConfig: cfg, ForceAttemptHTTP2: h2}
	return &http.Client{Transport: tr, Timeout: 10 * time.Second}
}

// upstream answers as an API server would.
func (b *bench) upstream(w http.ResponseWriter, r *http.Request) {
	who := "nobody"
	if a := r.Header.Get("Authorization"); a != "" {
		who = a
	}
	if len(r.TLS.PeerCertificates) > 0 {
		who = "certificate"
	}
	b.who.Store(who)
	w.Header().Set("Content-Type", "application/json")
	switch {
	case r.URL.Query().Get("watch") == "1" && r.Header.Get("Accept") == protobuf:
		w.Header().Set("Content-Type", protobuf)
		io.WriteString(w, "\x00\x00\x00\x02\n\n\x00")
	case r.URL.Query().Get("watch") == "1":
		for _, e := range events {
			fmt.Fprintln(w, e)
		}
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	case r.Method == http.MethodPost:
		b.creates.Add(1)
		w.WriteHeader(http.StatusCreated)
		io.WriteString(w, `{"kind":"Pod"}`)
	default:
		io.WriteString(w, `{"kind":"PodList","items":[]}`)
	}
}

// add sends a rule to the admin API.
func (b *bench) add(text string) {
	b.t.Helper()
	resp, err := http.Post(b.admin.URL+"/rules", "application/json", strings.NewReader(text))
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusCreated {
		why, _ := io.ReadAll(resp.Body)
		b.t.Fatalf("rule refused: %s", why)
	}
}

// fault adds a rule for all requests with this action.
func (b *bench) fault(action string) { b.t.Helper(); b.add(`{"action":` + action + `}`) }

type answer struct {
	code   int
	header http.Header
	body   string
	err    error // of the request or of the body
}

func (b *bench) do(client *http.Client, method, path, body string) answer {
	b.t.Helper()
	r, err := http.NewRequest(method, "https://"+b.address+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	resp, err := client.Do(r)
	if err != nil {
		return answer{err: err}
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, string(text), err}
}

func (b *bench) list() answer { b.t.Helper(); return b.do(b.client, "GET", podsPath, "") }
func (b *bench) create() answer {
	b.t.Helper()
	return b.do(b.client, "POST", podsPath, `{"metadata":{"name":"a"}}`)
}

func (b *bench) log() []logEntry { entries, _ := b.proxy.log.list(); return entries }

// watching is an open watch.
type watching struct {
	t     *testing.T
	resp  *http.Response
	lines chan string // closed at the end of the stream
	err   error       // why it ended, nil for a clean end; set before lines is closed
}

func (b *bench) watch() *watching {
	b.t.Helper()
	client := &http.Client{Transport: b.client.Transport}
	resp, err := client.Get("https://" + b.address + podsPath + "?watch=1")
	if err != nil {
		b.t.Fatal(err)
	}
	w := &watching{t: b.t, resp: resp, lines: make(chan string, 100)}
	b.t.Cleanup(func() { resp.Body.Close() })
	go w.read()
	return w
}

func (w *watching) read() {
	defer close(w.lines)
	in := bufio.NewReader(w.resp.Body)
	for {
		line, err := in.ReadString('\n')
		if line != "" {
			w.lines <- line
		}
		if err != nil {
			if err != io.EOF {
				w.err = err
			}
			return
		}
	}
}

// next returns the next line without newline; ok is false at the end of the stream.
func (w *watching) next() (line string, ok bool) {
	w.t.Helper()
	select {
	case line, ok = <-w.lines:
		return strings.TrimSuffix(line, "\n"), ok
	case <-time.After(5 * time.Second):
		w.t.Fatal("the watch neither delivers nor ends")
	}
	return
}

func (w *watching) expect(lines ...string) {
	w.t.Helper()
	for _, want := range lines {
		if have, _ := w.next(); have != want {
			w.t.Fatalf("got %q, want %q", have, want)
		}
	}
}

func (w *watching) expectEnd(clean bool) {
	w.t.Helper()
	if line, ok := w.next(); ok {
		w.t.Fatalf("got %q, want the end", line)
	}
	if (w.err == nil) != clean {
		w.t.Fatalf("clean end %v wanted, error is %v", clean, w.err)
	}
}

func (w *watching) expectNothing(d time.Duration) {
	w.t.Helper()
	select {
	case line, ok := <-w.lines:
		w.t.Fatalf("got %q (open: %v), want silence", line, ok)
	case <-time.After(d):
	}
}

func (a answer) status(t *testing.T) status {
	t.Helper()
	var s status
	if err := json.Unmarshal([]byte(a.body), &s); err != nil {
		t.Fatalf("%v in %q", err, a.body)
	}
	return s
}

// HTTP/2 frame types used below.
const (
	frameData    = 0
	frameHeaders = 1
	frameReset   = 3
	framePing    = 6
	frameGoAway  = 7
)

// rawConn speaks HTTP/2 frame by frame.
type rawConn struct {
	t *testing.T
	c *tls.Conn
}

func (b *bench) raw() *rawConn {
	b.t.Helper()
	c, err := tls.Dial("tcp", b.address, &tls.Config{RootCAs: b.roots, NextProtos: []string{"h2"}})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { c.Close() })
	rc := &rawConn{b.t, c}
	io.WriteString(c, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
	rc.write(4, 0, 0, nil)
	return rc
}

func (rc *rawConn) write(kind, flags byte, stream uint32, payload []byte) {
	head := []byte{0, byte(len(payload) >> 8), byte(len(payload)), kind, flags, 0, 0, byte(stream >> 8), byte(stream)}
	if _, err := rc.c.Write(append(head, payload...)); err != nil {
		rc.t.Fatal(err)
	}
}

// get sends a GET on a stream, its headers as plain literals.
func (rc *rawConn) get(stream uint32, path string) {
	var block bytes.Buffer
	for _, h := range [][2]string{{":method", "GET"}, {":scheme", "https"}, {":authority", "x"}, {":path", path}} {
		block.WriteByte(0)
		for _, s := range h {
			block.WriteByte(byte(len(s)))
			block.WriteString(s)
		}
	}
	rc.write(frameHeaders, 0x5, stream, block.Bytes())
}

// wait reads frames until one of the kind and returns its payload; ok is false if none comes in time.
func (rc *rawConn) wait(kind byte, patience time.Duration) (payload []byte, ok bool) {
	rc.c.SetReadDeadline(time.Now().Add(patience))
	head := make([]byte, 9)
	for {
		if _, err := io.ReadFull(rc.c, head); err != nil {
			return nil, false
		}
		payload = make([]byte, int(head[0])<<16|int(head[1])<<8|int(head[2]))
		if _, err := io.ReadFull(rc.c, payload); err != nil {
			return nil, false
		}
		if head[3] == kind {
			return payload, true
		}
	}
}
