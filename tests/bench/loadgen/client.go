package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	contentJSON  = "application/json"
	contentMerge = "application/merge-patch+json"
)

// client is one identity on one HTTP/2 connection.
type client struct {
	server string
	http   *http.Client
}

// connect opens a connection with the certificate NAME.crt of the folder pki and checks that it works.
func connect(server, pki, name string) (*client, error) {
	pair, err := tls.LoadX509KeyPair(filepath.Join(pki, name+".crt"), filepath.Join(pki, name+".key"))
	if err != nil {
		return nil, fmt.Errorf("certificate of %s: %w", name, err)
	}
	pem, err := os.ReadFile(filepath.Join(pki, "ca.crt"))
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no certificate", filepath.Join(pki, "ca.crt"))
	}
	made := newClient(server, &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}})
	answer, err := made.http.Get(made.server + "/version")
	if err != nil {
		return nil, err
	}
	_, _ = io.Copy(io.Discard, answer.Body)
	answer.Body.Close()
	if answer.ProtoMajor != 2 {
		return nil, fmt.Errorf("%s speaks %s, not HTTP/2", server, answer.Proto)
	}
	return made, nil
}

func newClient(server string, config *tls.Config) *client {
	return &client{
		server: strings.TrimSuffix(server, "/"),
		http: &http.Client{
			Timeout:   time.Minute,
			Transport: &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true},
		},
	}
}

// send makes one request and returns the body of the answer; an answer that is no success is an error.
func (c *client) send(ctx context.Context, method, path, content string, body []byte) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.server+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", content)
	request.Header.Set("Accept", contentJSON)
	request.Header.Set("User-Agent", "pumice-loadgen")
	answer, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	if answer.StatusCode/100 != 2 {
		return nil, fmt.Errorf("%s %s: %s: %s", method, path, answer.Status, shorten(text))
	}
	return text, nil
}

func shorten(text []byte) []byte {
	if len(text) > 500 {
		return text[:500]
	}
	return text
}
