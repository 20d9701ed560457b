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
	token  string // of the Authorization header, if not empty
	http   *http.Client
}

// connect opens a connection as NAME and checks that it works. The folder pki has NAME.crt and NAME.key, or a
// bearer token in NAME.token, and in ca.crt what has signed the server's certificate (without it: what the system
// trusts).
func connect(server, pki, name string) (*client, error) {
	config, token, err := credentials(pki, name)
	if err != nil {
		return nil, fmt.Errorf("credentials of %s: %w", name, err)
	}
	made := newClient(server, config)
	made.token = token
	request, err := made.request(context.Background(), "GET", "/version", nil)
	if err != nil {
		return nil, err
	}
	answer, err := made.http.Do(request)
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

func credentials(pki, name string) (*tls.Config, string, error) {
	config := &tls.Config{}
	pem, err := os.ReadFile(filepath.Join(pki, "ca.crt"))
	if err == nil {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, "", fmt.Errorf("%s holds no certificate", filepath.Join(pki, "ca.crt"))
		}
	} else if !os.IsNotExist(err) {
		return nil, "", err
	}
	token, err := os.ReadFile(filepath.Join(pki, name+".token"))
	if err == nil {
		return config, strings.TrimSpace(string(token)), nil
	}
	pair, err := tls.LoadX509KeyPair(filepath.Join(pki, name+".crt"), filepath.Join(pki, name+".key"))
	config.Certificates = []tls.Certificate{pair}
	return config, "", err
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

// request makes a request that nobody has sent yet.
func (c *client) request(ctx context.Context, method, path string, body []byte) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.server+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", contentJSON)
	request.Header.Set("User-Agent", "pumice-loadgen")
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	return request, nil
}

// send makes one request and returns the body of the answer; an answer that is no success is an error.
func (c *client) send(ctx context.Context, method, path, content string, body []byte) ([]byte, error) {
	request, err := c.request(ctx, method, path, body)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", content)
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
