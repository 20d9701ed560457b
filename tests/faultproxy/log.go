package main

import (
	"net/http"
	"sync"
	"time"
)

const logCap = 20000

// query is what is known of a request when it arrives: what rules look at, and the log shows.
type query struct {
	requestInfo
	Path      string `json:"path"`
	Query     string `json:"query"`
	UserAgent string `json:"userAgent"`
}

func newQuery(r *http.Request, body []byte) *query {
	return &query{parseRequest(r, body), r.URL.Path, r.URL.RawQuery, r.UserAgent()}
}

// logEntry is one request. Status is what the client was sent, 0 for nothing.
type logEntry struct {
	Seq   int       `json:"seq"`
	Time  time.Time `json:"time"`
	Proto string    `json:"proto"`
	Conn  int64     `json:"conn"`  // number of the client's connection
	Certs int       `json:"certs"` // certificates that the client showed
	query
	Status int     `json:"status"`
	Events int     `json:"events"` // watch events delivered
	Fault  string  `json:"fault"`  // actions applied, joined by "+"
	Rules  []int   `json:"rules"`  // their rules
	Note   string  `json:"note"`   // why a fault could not be applied, or what failed upstream
	Done   bool    `json:"done"`
	MS     float64 `json:"ms"` // how long it took, when done
}

// requestLog keeps the last logCap requests in order of arrival; safe for concurrent use.
type requestLog struct {
	mu      sync.Mutex
	seq     int
	dropped int
	entries []*logEntry
}

func (l *requestLog) add(e *logEntry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seq++
	e.Seq = l.seq
	if len(l.entries) == logCap {
		l.entries = l.entries[1:]
		l.dropped++
	}
	l.entries = append(l.entries, e)
}

// change runs f, which may write to an entry, with the log locked.
func (l *requestLog) change(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
}

func (l *requestLog) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries, l.dropped = nil, 0
}

func (l *requestLog) list() ([]logEntry, int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make([]logEntry, 0, len(l.entries))
	for _, e := range l.entries {
		all = append(all, *e)
	}
	return all, l.dropped
}
