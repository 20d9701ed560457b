package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestAWatchPrintsALineForEachEventUntilItEnds(t *testing.T) {
	events := []string{
		`{"type":"ADDED","object":{"metadata":{"name":"j00000-main-0"},"spec":{},"status":{"phase":"Pending"}}}`,
		`{"type":"MODIFIED","object":{"metadata":{"name":"j00000-main-0"},"spec":{"nodeName":"n"},"status":{"phase":"Running"}}}`,
	}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("watch") != "true" || r.Header.Get("Authorization") != "Bearer secret" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		fmt.Fprintln(w, strings.Join(events, "\n"))
	}))
	defer server.Close()
	c := newClient(server.URL, &tls.Config{InsecureSkipVerify: true}) // the test's own server
	c.token = "secret"
	var out bytes.Buffer
	w := &watcher{client: c, out: json.NewEncoder(&out), closed: 1}
	if err := w.follow(context.Background(), "pods", "/api/v1/namespaces/ns/pods"); err == nil {
		t.Error("a watch that ended says that all is well")
	}
	var lines []watchLine
	for _, text := range strings.Split(strings.TrimSpace(out.String()), "\n") {
		var line watchLine
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	if len(lines) != 3 || lines[0].Type != "READY" || lines[1].Node || !lines[2].Node || lines[2].Phase != "Running" ||
		lines[2].Time < lines[1].Time {
		t.Errorf("lines: %+v", lines)
	}
}
