// Command faultproxy stands between a client of the Kubernetes API and kube-apiserver, speaks TLS with
// HTTP/2 (and 1.1) to both, and breaks what its rules tell it to break. README.md has the rule grammar.
//
// It is a test tool: it listens on loopback, and whoever reaches it without credentials of their own acts
// with the identity of --upstream-cert.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"syscall"
)

type options struct {
	listen, admin                      string
	upstream, upstreamCA               string
	upstreamCert, upstreamKey          string
	cert, key, caOut, clientCA, readyF string
}

// ready is what the ready file and standard output carry once both listeners are open.
type ready struct {
	URL   string `json:"url"`
	Admin string `json:"admin"`
	CA    string `json:"ca,omitempty"`
	PID   int    `json:"pid"`
}

func main() {
	o := parseFlags()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "faultproxy:", err)
		os.Exit(1)
	}
}

func parseFlags() *options {
	o := &options{}
	flag.StringVar(&o.listen, "listen", "127.0.0.1:0", "address of the proxy")
	flag.StringVar(&o.admin, "admin", "127.0.0.1:0", "loopback address of the admin API")
	flag.StringVar(&o.upstream, "upstream", "", "https URL of kube-apiserver")
	flag.StringVar(&o.upstreamCA, "upstream-ca", "", "PEM file: who signed the upstream's certificate")
	flag.StringVar(&o.upstreamCert, "upstream-cert", "", "PEM file: client certificate shown upstream for requests without a token")
	flag.StringVar(&o.upstreamKey, "upstream-key", "", "PEM file: its key")
	flag.StringVar(&o.cert, "cert", "", "PEM file: serving certificate; made up when absent, see --ca-out")
	flag.StringVar(&o.key, "key", "", "PEM file: its key")
	flag.StringVar(&o.caOut, "ca-out", "", "file to write the CA of the made-up serving certificate to")
	flag.StringVar(&o.clientCA, "client-ca", "", "PEM file: with it, only a client certificate it signed earns the --upstream-cert identity")
	flag.StringVar(&o.readyF, "ready-file", "", "file to write the addresses to, as JSON, once both listeners are open")
	flag.Parse()
	return o
}

func run(o *options) error {
	p, err := newProxyFromOptions(o)
	if err != nil {
		return err
	}
	cfg, err := servingConfig(o)
	if err != nil {
		return err
	}
	front, err := net.Listen("tcp", o.listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	back, err := listenLoopback(o.admin)
	if err != nil {
		return fmt.Errorf("--admin: %w", err)
	}
	failed := make(chan error, 2)
	go func() { failed <- p.serve(front, cfg) }()
	go func() { failed <- http.Serve(back, p.adminHandler()) }()
	if err := announce(o, front, back); err != nil {
		return err
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGINT, syscall.SIGTERM)
	select {
	case <-stop:
		return nil
	case err := <-failed:
		return err
	}
}

func newProxyFromOptions(o *options) (*proxy, error) {
	u, err := url.Parse(o.upstream)
	if err != nil || u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("--upstream: %q is not an https URL", o.upstream)
	}
	if o.upstreamCA == "" {
		return nil, errors.New("--upstream-ca is required")
	}
	pool, err := loadPool(o.upstreamCA)
	if err != nil {
		return nil, fmt.Errorf("--upstream-ca: %w", err)
	}
	var identity *tls.Certificate
	if o.upstreamCert != "" || o.upstreamKey != "" {
		pair, err := tls.LoadX509KeyPair(o.upstreamCert, o.upstreamKey)
		if err != nil {
			return nil, fmt.Errorf("--upstream-cert, --upstream-key: %w", err)
		}
		identity = &pair
	}
	return newProxy(u, pool, identity, o.clientCA != ""), nil
}

// servingConfig loads or makes up the proxy's own certificate.
func servingConfig(o *options) (*tls.Config, error) {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12, ClientAuth: tls.RequestClientCert}
	if o.clientCA != "" {
		pool, err := loadPool(o.clientCA)
		if err != nil {
			return nil, fmt.Errorf("--client-ca: %w", err)
		}
		cfg.ClientCAs = pool
		cfg.ClientAuth = tls.VerifyClientCertIfGiven
	}
	pair, err := servingPair(o)
	if err != nil {
		return nil, err
	}
	cfg.Certificates = []tls.Certificate{pair}
	return cfg, nil
}

func servingPair(o *options) (tls.Certificate, error) {
	if o.cert != "" || o.key != "" {
		pair, err := tls.LoadX509KeyPair(o.cert, o.key)
		if err != nil {
			return pair, fmt.Errorf("--cert, --key: %w", err)
		}
		return pair, nil
	}
	if o.caOut == "" {
		return tls.Certificate{}, errors.New("give --cert and --key, or --ca-out for a made-up certificate")
	}
	ca, pair, err := makeServingPair()
	if err != nil {
		return pair, fmt.Errorf("make a serving certificate: %w", err)
	}
	if err := os.WriteFile(o.caOut, ca, 0o644); err != nil {
		return pair, fmt.Errorf("--ca-out: %w", err)
	}
	return pair, nil
}

func loadPool(file string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no PEM certificate", file)
	}
	return pool, nil
}

func listenLoopback(address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	if !l.Addr().(*net.TCPAddr).IP.IsLoopback() {
		l.Close()
		return nil, fmt.Errorf("%s is not a loopback address", address)
	}
	return l, nil
}

func announce(o *options, front, back net.Listener) error {
	ca := o.caOut
	if o.cert != "" {
		ca = ""
	}
	text, err := json.Marshal(ready{
		URL:   "https://" + front.Addr().String(),
		Admin: "http://" + back.Addr().String(),
		CA:    ca,
		PID:   os.Getpid(),
	})
	if err != nil {
		return err
	}
	text = append(text, '\n')
	if o.readyF != "" {
		if err := os.WriteFile(o.readyF+".tmp", text, 0o644); err != nil {
			return fmt.Errorf("--ready-file: %w", err)
		}
		if err := os.Rename(o.readyF+".tmp", o.readyF); err != nil {
			return fmt.Errorf("--ready-file: %w", err)
		}
	}
	_, err = os.Stdout.Write(text)
	return err
}

// quiet swallows the server's own complaints about connections that the rules broke on purpose.
func quiet() *log.Logger { return log.New(io.Discard, "", 0) }
