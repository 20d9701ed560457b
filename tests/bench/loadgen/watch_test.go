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

// watchServer answers each watch with the next of some bodies, and 410 when none is left; it keeps the versions that
// it was asked for.
func watchServer(t *testing.T, bodies ...string) (*watcher, *bytes.Buffer, *[]string) {
	var versions []string
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		if query.Get("watch") != "true" || r.Header.Get("Authorization") != "Bearer secret" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		versions = append(versions, query.Get("resourceVersion"))
		if len(bodies) == 0 {
			w.WriteHeader(http.StatusGone)
			return
		}
		fmt.Fprint(w, bodies[0])
		bodies = bodies[1:]
	}))
	t.Cleanup(server.Close)
	c := newClient(server.URL, &tls.Config{InsecureSkipVerify: true}) // the test's own server
	c.token = "secret"
	var out bytes.Buffer
	return &watcher{client: c, out: json.NewEncoder(&out), closed: 1}, &out, &versions
}

func linesOf(t *testing.T, out *bytes.Buffer) (lines []watchLine) {
	for _, text := range strings.Split(strings.TrimSpace(out.String()), "\n") {
		var line watchLine
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	return lines
}

func podEvent(kind, version, node, phase string) string {
	return fmt.Sprintf(`{"type":"%s","object":{"metadata":{"name":"j00000-main-0","resourceVersion":"%s"},`+
		`"spec":{"nodeName":"%s"},"status":{"phase":"%s"}}}`+"\n", kind, version, node, phase)
}

func TestAWatchPrintsALineForEachEvent(t *testing.T) {
	w, out, _ := watchServer(t, podEvent("ADDED", "5", "", "Pending")+podEvent("MODIFIED", "6", "n", "Running"))
	if err := w.follow(context.Background(), "pods", "/pods"); err == nil || !strings.Contains(err.Error(), "410") {
		t.Errorf("the error is %v", err)
	}
	lines := linesOf(t, out)
	if len(lines) != 3 || lines[0].Type != "READY" || lines[1].Node || !lines[2].Node || lines[2].Phase != "Running" ||
		lines[2].Time < lines[1].Time {
		t.Errorf("lines: %+v", lines)
	}
}

func TestAWatchThatTheServerEndsGoesOnWhereItWas(t *testing.T) {
	w, out, versions := watchServer(t, "", podEvent("ADDED", "5", "", "Pending"),
		podEvent("MODIFIED", "7", "n", "Pending")+`{"type":"MODIFIED","obj`)
	_ = w.follow(context.Background(), "pods", "/pods")
	if found := strings.Join(*versions, ","); found != ",,5,7" {
		t.Errorf("watches began at %q", found)
	}
	if lines := linesOf(t, out); len(lines) != 3 {
		t.Errorf("lines: %+v", lines)
	}
}

func TestAnErrorEventEndsTheWatch(t *testing.T) {
	w, _, versions := watchServer(t, `{"type":"ERROR","object":{}}`, "")
	if err := w.follow(context.Background(), "pods", "/pods"); err == nil || len(*versions) != 1 {
		t.Errorf("the error is %v after %d watches", err, len(*versions))
	}
}
