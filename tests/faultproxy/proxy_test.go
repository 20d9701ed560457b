package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

func (b *bench) http1() *tls.Config { return &tls.Config{NextProtos: []string{"http/1.1"}} }

func TestParseRequest(t *testing.T) {
	for request, want := range map[string]string{
		"GET /api/v1/pods":                                         "list//pods///",
		"GET /api/v1/pods?watch=true":                              "watch//pods///",
		"GET /api/v1/namespaces":                                   "list//namespaces///",
		"GET /api/v1/namespaces/a":                                 "get//namespaces//a/a",
		"PUT /api/v1/namespaces/a/finalize":                        "update//namespaces/finalize/a/a",
		"GET /api/v1/namespaces/a/pods/p":                          "get//pods//a/p",
		"GET /api/v1/namespaces/a/pods/p?watch=1":                  "get//pods//a/p",
		"POST /api/v1/namespaces/a/pods/p/binding":                 "create//pods/binding/a/p",
		"POST /api/v1/namespaces/a/pods":                           "create//pods//a/body",
		"PATCH /apis/batch.volcano.sh/v1/namespaces/a/jobs/j":      "patch/batch.volcano.sh/jobs//a/j",
		"DELETE /apis/batch.volcano.sh/v1/namespaces/a/jobs/j":     "delete/batch.volcano.sh/jobs//a/j",
		"DELETE /apis/batch.volcano.sh/v1/namespaces/a/jobs":       "deletecollection/batch.volcano.sh/jobs//a/",
		"PUT /apis/batch.volcano.sh/v1/namespaces/a/jobs/j/status": "update/batch.volcano.sh/jobs/status/a/j",
		"GET /healthz":      "get/////",
		"GET /apis/apps/v1": "get/////",
		"GET /api":          "get/////",
		"GET /openapi/v3/x": "get/////",
	} {
		method, path, _ := strings.Cut(request, " ")
		r, err := http.NewRequest(method, "https://x"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		i := parseRequest(r, []byte(`{"metadata":{"name":"body"}}`))
		have := strings.Join([]string{i.Verb, i.Group, i.Resource, i.Subresource, i.Namespace, i.Name}, "/")
		if have != want {
			t.Errorf("%s: got %s, want %s", request, have, want)
		}
	}
}

func TestBadRulesAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		`{`:                                                      "unexpected EOF",
		`{"action":{"type":"explode"}}`:                          `"explode" is unknown`,
		`{"action":{"type":"rst","ms":3}}`:                       `rst takes no field "ms"`,
		`{"action":{"type":"delay"}}`:                            "ms must be above 0",
		`{"action":{"type":"status","code":399}}`:                "code 399",
		`{"action":{"type":"status","code":600}}`:                "code 600",
		`{"action":{"type":"watch_cut","after_events":-1}}`:      "negative",
		`{"match":{"resources":"pods"},"action":{"type":"rst"}}`: `unknown field "resources"`,
		`{"match":{"path":"("},"action":{"type":"rst"}}`:         "match.path",
		`{"times":-1,"action":{"type":"rst"}}`:                   "negative",
		`{"probability":1.1,"action":{"type":"rst"}}`:            "probability 1.1",
	} {
		if _, err := parseRule([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

func TestMatch(t *testing.T) {
	q := &query{requestInfo{"create", "", "v1", "pods", "", "ns", "a-1"}, podsPath, "dryRun=All", "pumice-controller/1"}
	for text, want := range map[string]bool{
		`{}`:                                  true,
		`{"verb":"create","resource":"pods"}`: true,
		`{"verb":"list"}`:                     false,
		`{"group":""}`:                        true,
		`{"group":"apps"}`:                    false,
		`{"subresource":""}`:                  true,
		`{"subresource":"binding"}`:           false,
		`{"namespace":"ns","name":"a-1"}`:     true,
		`{"name":"a"}`:                        false,
		`{"path":"/pods$"}`:                   true,
		`{"path":"^/pods"}`:                   false,
		`{"query":"dryRun"}`:                  true,
		`{"query":"limit"}`:                   false,
		`{"userAgent":"controller"}`:          true,
		`{"userAgent":"scheduler"}`:           false,
	} {
		ru, err := parseRule([]byte(`{"match":` + text + `,"action":{"type":"rst"}}`))
		if err != nil {
			t.Fatal(err)
		}
		if ru.matches(q) != want {
			t.Errorf("%s: got %v", text, !want)
		}
	}
}

func TestSkipTimesAndOrder(t *testing.T) {
	b := newBench(t)
	b.add(`{"skip":1,"times":2,"action":{"type":"status","code":500}}`)
	b.add(`{"times":1,"action":{"type":"status","code":503}}`)
	var codes []int
	for range 5 {
		codes = append(codes, b.list().code)
	}
	if fmt.Sprint(codes) != "[503 500 500 200 200]" {
		t.Fatalf("got %v", codes)
	}
	if rules := b.proxy.rules.list(); rules[0].Hits != 2 || rules[0].Matched != 5 || rules[1].Hits != 1 {
		t.Fatalf("rules %+v", rules)
	}
}

func TestProbabilityFollowsItsSeed(t *testing.T) {
	hits := func(seed int) string {
		s := ruleSet{}
		ru, err := parseRule([]byte(fmt.Sprintf(`{"probability":0.5,"seed":%d,"action":{"type":"rst"}}`, seed)))
		if err != nil {
			t.Fatal(err)
		}
		s.add(ru)
		var out strings.Builder
		for range 64 {
			fmt.Fprint(&out, len(s.pick(&query{}).ids))
		}
		return out.String()
	}
	if hits(1) != hits(1) || hits(1) == hits(2) || !strings.Contains(hits(1), "0") || !strings.Contains(hits(1), "1") {
		t.Fatalf("%s, %s", hits(1), hits(2))
	}
}

func TestAdmin(t *testing.T) {
	b := newBench(t)
	b.fault(`{"type":"status","code":500}`)
	b.fault(`{"type":"status","code":503}`)
	call := func(method, path string) (int, string) {
		t.Helper()
		r, _ := http.NewRequest(method, b.admin.URL+path, strings.NewReader(`{}`))
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(text)
	}
	if code, text := call("POST", "/rules"); code != 400 || !strings.Contains(text, "is unknown") {
		t.Fatalf("got %d %s", code, text)
	}
	if code, _ := call("DELETE", "/rules/1"); code != 200 || b.list().code != 503 {
		t.Fatalf("removal of the first rule: %d", code)
	}
	if code, _ := call("DELETE", "/rules/1"); code != 404 {
		t.Fatalf("got %d", code)
	}
	if _, text := call("GET", "/rules"); !strings.Contains(text, `"id":2`) || !strings.Contains(text, `"hits":1`) {
		t.Fatal(text)
	}
	if _, text := call("GET", "/log"); !strings.Contains(text, `"verb":"list"`) || !strings.Contains(text, `"status":503`) {
		t.Fatal(text)
	}
	if call("DELETE", "/rules"); b.list().code != 200 {
		t.Fatal("rules are still there")
	}
	w := b.watch()
	w.expect(events...)
	b.fault(`{"type":"rst"}`)
	call("POST", "/reset")
	w.expectEnd(false)
	if b.list().code != 200 || len(b.log()) != 1 {
		t.Fatalf("log %+v", b.log())
	}
}

func TestIdentity(t *testing.T) {
	ca, pair, err := makeServingPair()
	if err != nil {
		t.Fatal(err)
	}
	b := newBenchWith(t, &tls.Config{}, &pair, false)
	if b.list(); b.who.Load() != "certificate" {
		t.Fatalf("no token: %v", b.who.Load())
	}
	r, _ := http.NewRequest("GET", "https://"+b.address+podsPath, nil)
	r.Header.Set("Authorization", "Bearer t")
	resp, err := b.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if b.who.Load() != "Bearer t" {
		t.Fatalf("token: %v", b.who.Load())
	}

	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	b = newBenchWith(t, &tls.Config{ClientCAs: pool, ClientAuth: tls.VerifyClientCertIfGiven}, &pair, true)
	if b.list(); b.who.Load() != "nobody" {
		t.Fatalf("neither token nor certificate: %v", b.who.Load())
	}
}

// selfSigned makes a client certificate that is its own CA.
func selfSigned(t *testing.T) (*x509.CertPool, tls.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	cert := certTemplate(3, "client")
	cert.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	der, err := x509.CreateCertificate(rand.Reader, cert, cert, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return pool, tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func TestVerifiedClientEarnsTheIdentity(t *testing.T) {
	pool, pair := selfSigned(t)
	b := newBenchWith(t, &tls.Config{ClientCAs: pool, ClientAuth: tls.VerifyClientCertIfGiven}, &pair, true)
	known := b.newClient(&tls.Config{Certificates: []tls.Certificate{pair}}, true)
	expectBody(t, b.do(known, "GET", podsPath, ""), 200, emptyList)
	if b.who.Load() != "certificate" {
		t.Fatalf("got %v", b.who.Load())
	}
}

func TestProtobufWatchPassesUntouched(t *testing.T) {
	b := newBench(t)
	b.fault(`{"type":"watch_error","code":410}`)
	r, _ := http.NewRequest("GET", "https://"+b.address+podsPath+"?watch=1", nil)
	r.Header.Set("Accept", protobuf)
	resp, err := b.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); err != nil || string(body) != "\x00\x00\x00\x02\n\n\x00" {
		t.Fatalf("got %q %v", body, err)
	}
	if note := b.log()[0].Note; !strings.Contains(note, "not applied") {
		t.Fatalf("note %q", note)
	}
}

// A dead API server looks like one: the connection breaks.
func TestUpstreamGone(t *testing.T) {
	b := newBench(t)
	b.proxy.upstream.Host = "127.0.0.1:1"
	if a := b.create(); a.err == nil {
		t.Fatalf("got %d", a.code)
	}
	if note := b.log()[0].Note; !strings.Contains(note, "refused") {
		t.Fatalf("note %q", note)
	}
}

func TestUpstreamGoneInMidWatch(t *testing.T) {
	b := newBench(t)
	w := b.watch()
	w.expect(events...)
	b.up.CloseClientConnections()
	w.expectEnd(false)
	b.list()
	if log := b.log(); log[0].Conn == log[1].Conn || log[0].Note == "" {
		t.Fatalf("the client's connection outlived the upstream's: %+v", log)
	}
}

func TestManyWatchesOnOneConnection(t *testing.T) {
	b := newBench(t)
	for range 150 { // more streams than one upstream connection takes
		b.watch().expect(events...)
	}
	begin := time.Now()
	expectBody(t, b.list(), 200, emptyList)
	if time.Since(begin) > 2*time.Second {
		t.Fatal("the list waited behind the watches")
	}
}
