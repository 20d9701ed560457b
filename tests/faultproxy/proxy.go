package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// proxy forwards every request it gets to one upstream, except as its rules say.
type proxy struct {
	upstream    *url.URL
	plain       *http.Transport // no client certificate: for requests that bring a token
	identity    *http.Transport // shows --upstream-cert: for requests that bring none
	checkClient bool            // only a verified client certificate earns the identity
	rules       ruleSet
	log         requestLog
	listener    faultListener
}

func newProxy(upstream *url.URL, ca *x509.CertPool, cert *tls.Certificate, checkClient bool) *proxy {
	p := &proxy{upstream: upstream, plain: newTransport(ca, nil), checkClient: checkClient}
	p.listener.open = map[*faultConn]bool{}
	p.identity = p.plain
	if cert != nil {
		p.identity = newTransport(ca, cert)
	}
	return p
}

// newTransport speaks HTTP/2, opens as many connections as the upstream's stream limit asks for, and
// leaves bodies as they are.
func newTransport(ca *x509.CertPool, cert *tls.Certificate) *http.Transport {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: ca}
	if cert != nil {
		cfg.Certificates = []tls.Certificate{*cert}
	}
	return &http.Transport{
		TLSClientConfig:     cfg,
		ForceAttemptHTTP2:   true,
		DisableCompression:  true,
		MaxIdleConnsPerHost: 1000,
	}
}

type connKey struct{}

// serve answers on l until it fails.
func (p *proxy) serve(l net.Listener, cfg *tls.Config) error {
	p.listener.Listener = l
	srv := &http.Server{
		Handler:   p,
		TLSConfig: cfg,
		ErrorLog:  quiet(),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, c.(*tls.Conn).NetConn())
		},
	}
	return srv.ServeTLS(&p.listener, "", "")
}

// exchange is one request on its way through the proxy.
type exchange struct {
	p     *proxy
	w     http.ResponseWriter
	r     *http.Request
	body  []byte
	conn  *faultConn
	plan  plan
	entry *logEntry
}

// certs counts the certificates that the client showed on the request's connection.
func certs(r *http.Request) int {
	if r.TLS == nil {
		return 0
	}
	return len(r.TLS.PeerCertificates)
}

// ServeHTTP reads the request, asks the rules, forwards, answers. A fault that must break the stream leaves
// by panic(http.ErrAbortHandler): RST_STREAM in HTTP/2, a closed connection in HTTP/1.1.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	x := &exchange{p: p, w: w, r: r, body: body, conn: r.Context().Value(connKey{}).(*faultConn)}
	q := newQuery(r, body)
	x.plan = p.rules.pick(q)
	x.entry = &logEntry{Time: time.Now(), Proto: r.Proto, Conn: x.conn.id, Certs: certs(r), query: *q,
		Fault: strings.Join(x.plan.names, "+"), Rules: x.plan.ids}
	p.log.add(x.entry)
	defer x.finish()

	x.sleep(x.plan.before)
	if x.faultBefore() {
		return
	}
	resp, err := x.forward()
	if err != nil {
		x.upstreamBroke(err)
	}
	defer resp.Body.Close()
	x.sleep(x.plan.after)
	x.answer(resp)
}

func (x *exchange) finish() {
	x.p.log.change(func() {
		x.entry.Done = true
		x.entry.MS = float64(time.Since(x.entry.Time).Microseconds()) / 1000
	})
}

func (x *exchange) note(text string) { x.p.log.change(func() { x.entry.Note = text }) }

// sleep gives the request up when the client does.
func (x *exchange) sleep(d time.Duration) {
	if d == 0 {
		return
	}
	select {
	case <-time.After(d):
	case <-x.r.Context().Done():
		x.abort()
	}
}

func (x *exchange) abort() { panic(http.ErrAbortHandler) }

// reset kills the client's connection, and with it every other stream on it.
func (x *exchange) reset() {
	x.conn.reset()
	x.abort()
}

// flushGrace is how long frames that a handler has flushed may take to reach the socket: the server writes
// them from a goroutine of its own, and tells nobody when it is done.
const flushGrace = 50 * time.Millisecond

// hangUp closes the client's connection once what was sent so far has reached it.
func (x *exchange) hangUp() {
	time.Sleep(flushGrace)
	x.conn.Close()
	x.abort()
}

// hush makes the client's connection silent once what was sent so far has reached it.
func (x *exchange) hush() {
	time.Sleep(flushGrace)
	x.conn.silent.Store(true)
}

// breakOff ends an answer of which a part is sent the hard way: the stream with RST_STREAM, or the whole
// connection.
func (x *exchange) breakOff() {
	if x.plan.fault.Connection {
		x.hangUp()
	}
	x.abort()
}

// upstreamBroke ends an answer as the upstream did: it reset the stream, or its connection is gone.
func (x *exchange) upstreamBroke(err error) {
	x.note("upstream: " + err.Error())
	if strings.HasPrefix(err.Error(), "stream error") || x.r.Context().Err() != nil {
		x.abort()
	}
	x.hangUp()
}

// freeze answers nothing until the client goes away.
func (x *exchange) freeze() {
	if x.plan.fault.Connection {
		x.hush()
	}
	<-x.r.Context().Done()
	x.abort()
}

// faultBefore applies faults that keep the request from the upstream; true means that it is answered.
func (x *exchange) faultBefore() bool {
	f := &x.plan.fault
	switch {
	case f.Type == "drop_before":
		x.reset()
	case f.Type == "rst":
		x.abort()
	case f.Type == "freeze" && !f.After:
		x.freeze()
	case f.Type == "token_reject":
		x.writeStatus(&action{Code: http.StatusUnauthorized})
		return true
	case f.Type == "status" && !f.After:
		x.writeStatus(f)
		return true
	}
	return false
}

func (x *exchange) writeStatus(a *action) {
	text := statusFor(a, &x.entry.requestInfo)
	h := x.w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(text)))
	if a.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(a.RetryAfter))
	}
	x.writeHeader(a.Code)
	x.w.Write(text)
}

func (x *exchange) writeHeader(code int) {
	x.p.log.change(func() { x.entry.Status = code })
	x.w.WriteHeader(code)
}

// hopByHop headers concern one connection and are not passed on.
var hopByHop = []string{"Connection", "Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}

func (x *exchange) forward() (*http.Response, error) {
	u := *x.r.URL
	u.Scheme, u.Host = x.p.upstream.Scheme, x.p.upstream.Host
	out, err := http.NewRequestWithContext(x.r.Context(), x.r.Method, u.String(), bytes.NewReader(x.body))
	if err != nil {
		return nil, err
	}
	out.Header = x.r.Header.Clone()
	for _, name := range hopByHop {
		out.Header.Del(name)
	}
	if out.Header.Get("User-Agent") == "" {
		out.Header.Set("User-Agent", "") // else the transport adds its own
	}
	return x.transport().RoundTrip(out)
}

// transport chooses the identity: the API server looks at a certificate first, so a request with a token
// must not be sent over a connection that has shown one.
func (x *exchange) transport() *http.Transport {
	verified := x.r.TLS != nil && len(x.r.TLS.VerifiedChains) > 0
	if x.r.Header.Get("Authorization") != "" || x.p.checkClient && !verified {
		return x.p.plain
	}
	return x.p.identity
}

func (x *exchange) answer(resp *http.Response) {
	f := &x.plan.fault
	switch f.Type {
	case "drop_after":
		if f.Connection {
			x.reset()
		}
		x.abort()
	case "status":
		x.writeStatus(f)
		return
	case "freeze":
		x.freeze()
	}
	x.copyHeader(resp)
	switch {
	case x.entry.Verb == "watch" && isEventStream(resp):
		x.watch(resp.Body)
	case f.Type == "cut_body":
		x.cutBody(resp.Body)
	default:
		if f.watchOnly() {
			x.note("not applied: the answer is no stream of JSON events")
		}
		x.copyBody(resp.Body)
	}
}

func (x *exchange) copyHeader(resp *http.Response) {
	h := x.w.Header()
	for name, values := range resp.Header {
		h[name] = values
	}
	for _, name := range hopByHop {
		h.Del(name)
	}
	if x.plan.fault.Type == "goaway" {
		h.Set("Connection", "close") // in HTTP/2 the server turns this into GOAWAY
	}
	if x.plan.fault.Type == "cut_body" && x.plan.fault.Clean {
		h.Del("Content-Length")
	}
	x.writeHeader(resp.StatusCode)
}

func (x *exchange) flush() { http.NewResponseController(x.w).Flush() }

// copyBody passes a body on piece by piece as it comes.
func (x *exchange) copyBody(body io.Reader) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := body.Read(buffer)
		if _, werr := x.w.Write(buffer[:n]); werr != nil {
			x.abort()
		}
		if err == io.EOF {
			return
		}
		if err != nil {
			x.upstreamBroke(err)
		}
		if x.w.Header().Get("Content-Length") == "" {
			x.flush()
		}
	}
}

// cutBody delivers the first bytes of a body and ends there.
func (x *exchange) cutBody(body io.Reader) {
	x.copyBody(io.LimitReader(body, x.plan.fault.Bytes))
	x.flush()
	if !x.plan.fault.Clean {
		x.breakOff()
	}
}
