package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// server answers everything with success, remembers what it was asked, and how much of it at a time.
type server struct {
	mu         sync.Mutex
	log        []string
	now, most  int
	refuse     string
	notHTTP2   int
	httpServer *httptest.Server
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.log = append(s.log, r.Method+" "+r.URL.Path)
	s.now++
	s.most = max(s.most, s.now)
	if r.ProtoMajor != 2 {
		s.notHTTP2++
	}
	s.mu.Unlock()
	time.Sleep(2 * time.Millisecond)
	s.mu.Lock()
	s.now--
	s.mu.Unlock()
	if s.refuse != "" && strings.HasSuffix(r.URL.Path, s.refuse) {
		w.WriteHeader(http.StatusConflict)
		return
	}
	fmt.Fprint(w, `{"metadata":{"uid":"u1"}}`)
}

func serve(t *testing.T) (*server, *client) {
	s := &server{}
	s.httpServer = httptest.NewUnstartedServer(s)
	s.httpServer.EnableHTTP2 = true
	s.httpServer.StartTLS()
	t.Cleanup(s.httpServer.Close)
	return s, newClient(s.httpServer.URL, &tls.Config{InsecureSkipVerify: true}) // the test's own server
}

func runPlan(t *testing.T, s shape, inFlight int, bare bool, prepare func(*server)) (*server, *scheduler, error) {
	server, c := serve(t)
	if prepare != nil {
		prepare(server)
	}
	sched := newScheduler(inFlight)
	p := &plan{shape: s, namespace: "ns", users: users{c, c, c}, sched: sched, bare: bare}
	p.begin()
	err := sched.run(context.Background())
	return server, sched, err
}

func count(log []string, pattern string) int {
	found := 0
	for _, line := range log {
		if regexp.MustCompile(pattern).MatchString(line) {
			found++
		}
	}
	return found
}

func TestBareSendsTheMinimalRequests(t *testing.T) {
	server, sched, err := runPlan(t, shape{jobs: 3, pods: 7, nodes: 2, scheduler: "volcano"}, 4, true, nil)
	if err != nil {
		t.Fatal(err)
	}
	for pattern, wanted := range map[string]int{
		`^POST .*/jobs$`: 3, `^POST .*/podgroups$`: 3, `^PATCH .*/podgroups/j\d{5}-u1$`: 6,
		`^PATCH .*/jobs/j\d{5}/status$`: 6, `^POST .*/pods$`: 21, `^POST .*/pods/j\d{5}-main-\d/binding$`: 21,
		`.`: 3 * (6 + 14),
	} {
		if found := count(server.log, pattern); found != wanted {
			t.Errorf("%d requests match %s, not %d", found, pattern, wanted)
		}
	}
	if server.notHTTP2 != 0 {
		t.Errorf("%d requests were not HTTP/2", server.notHTTP2)
	}
	if found := sched.stats.summary()["bind"]["count"]; found != 21 {
		t.Errorf("the summary counts %v binds", found)
	}
}

func TestAGangIsBoundOnceAllItsPodsExist(t *testing.T) {
	server, _, err := runPlan(t, shape{jobs: 1, pods: 20, nodes: 5, scheduler: "volcano"}, 8, true, nil)
	if err != nil {
		t.Fatal(err)
	}
	created, began := 0, false
	for _, line := range server.log {
		if strings.HasSuffix(line, "/pods") {
			created++
		}
		if strings.HasSuffix(line, "/binding") && !began {
			began = true
			if created != 20 {
				t.Errorf("the first bind came after %d creates", created)
			}
		}
	}
	first, last := server.log[0], server.log[len(server.log)-1]
	if !strings.HasSuffix(first, "/jobs") || !strings.HasPrefix(last, "PATCH") {
		t.Errorf("it began with %s and ended with %s", first, last)
	}
}

func TestInFlightIsReachedAndNotExceeded(t *testing.T) {
	server, _, err := runPlan(t, shape{jobs: 2, pods: 60, nodes: 5, scheduler: "volcano"}, 5, true, nil)
	if err != nil {
		t.Fatal(err)
	}
	if server.most != 5 {
		t.Errorf("%d requests were in flight at most, not 5", server.most)
	}
}

func TestSubmitSendsJobsAlone(t *testing.T) {
	server, _, err := runPlan(t, shape{jobs: 9, pods: 50, nodes: 5, scheduler: "volcano"}, 16, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(server.log) != 9 || count(server.log, `^POST .*/jobs$`) != 9 {
		t.Errorf("requests: %v", server.log)
	}
}

func TestARefusalEndsTheRun(t *testing.T) {
	server, _, err := runPlan(t, shape{jobs: 1, pods: 500, nodes: 5, scheduler: "volcano"}, 4, true,
		func(s *server) { s.refuse = "/pods" })
	if err == nil || !strings.Contains(err.Error(), "409") {
		t.Fatalf("the error is %v", err)
	}
	if len(server.log) > 20 {
		t.Errorf("%d requests were sent", len(server.log))
	}
}
