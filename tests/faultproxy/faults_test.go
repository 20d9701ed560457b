package main

import (
	"encoding/binary"
	"errors"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func expectBody(t *testing.T, a answer, code int, body string) {
	t.Helper()
	if a.err != nil || a.code != code || a.body != body {
		t.Fatalf("got %d %q %v, want %d %q", a.code, a.body, a.err, code, body)
	}
}

const emptyList = `{"kind":"PodList","items":[]}`

func TestPassThrough(t *testing.T) {
	b := newBench(t)
	expectBody(t, b.list(), 200, emptyList)
	expectBody(t, b.create(), 201, `{"kind":"Pod"}`)
	expectBody(t, b.do(b.newClient(b.http1(), false), "GET", podsPath, ""), 200, emptyList)
	w := b.watch()
	w.expect(events...)
	w.expectNothing(50 * time.Millisecond)
	log := b.log()
	if log[0].Proto != "HTTP/2.0" || log[2].Proto != "HTTP/1.1" {
		t.Fatalf("protocols %s, %s", log[0].Proto, log[2].Proto)
	}
	if log[1].Verb != "create" || log[1].Name != "a" || log[1].Status != 201 || log[3].Events != 4 {
		t.Fatalf("log %+v", log)
	}
}

func TestDelay(t *testing.T) {
	for _, after := range []string{"false", "true"} {
		b := newBench(t)
		b.fault(`{"type":"delay","ms":300,"after":` + after + `}`)
		begin := time.Now()
		done := make(chan answer)
		go func() { done <- b.create() }()
		time.Sleep(150 * time.Millisecond)
		if (b.creates.Load() == 1) != (after == "true") {
			t.Fatalf("after %s: %d creates upstream during the delay", after, b.creates.Load())
		}
		expectBody(t, <-done, 201, `{"kind":"Pod"}`)
		if time.Since(begin) < 300*time.Millisecond {
			t.Fatal("came too early")
		}
	}
}

func TestDelayIsAddedToTheNextFault(t *testing.T) {
	b := newBench(t)
	b.fault(`{"type":"delay","ms":100}`)
	b.fault(`{"type":"status","code":503}`)
	begin := time.Now()
	if a := b.list(); a.code != 503 || time.Since(begin) < 100*time.Millisecond {
		t.Fatalf("got %d after %v", a.code, time.Since(begin))
	}
	if f := b.log()[0].Fault; f != "delay+status" {
		t.Fatalf("fault %q", f)
	}
}

func TestDropBefore(t *testing.T) {
	b := newBench(t)
	b.list() // a fresh connection still writes, and a write may take the error before the read does
	b.fault(`{"type":"drop_before"}`)
	if a := b.create(); !errors.Is(a.err, syscall.ECONNRESET) {
		t.Fatalf("got %d %v, want a connection reset", a.code, a.err)
	}
	if b.creates.Load() != 0 {
		t.Fatal("the request was forwarded")
	}
}

func TestDropAfter(t *testing.T) {
	for connection, want := range map[string]string{"false": "stream error", "true": "connection reset"} {
		b := newBench(t)
		b.list()
		b.fault(`{"type":"drop_after","connection":` + connection + `}`)
		if a := b.create(); a.err == nil || !strings.Contains(a.err.Error(), want) {
			t.Fatalf("connection %s: got %d %v, want %q", connection, a.code, a.err, want)
		}
		if b.creates.Load() != 1 {
			t.Fatalf("connection %s: %d creates upstream", connection, b.creates.Load())
		}
	}
}

func TestStatusCarriesItsReason(t *testing.T) {
	for action, want := range map[string]string{
		`{"type":"status","code":409}`:                     "AlreadyExists",
		`{"type":"status","code":409,"reason":"Conflict"}`: "Conflict",
		`{"type":"status","code":410}`:                     "Expired",
		`{"type":"status","code":429}`:                     "TooManyRequests",
		`{"type":"status","code":500}`:                     "InternalError",
		`{"type":"status","code":503}`:                     "ServiceUnavailable",
		`{"type":"token_reject"}`:                          "Unauthorized",
	} {
		b := newBench(t)
		b.fault(action)
		a := b.create()
		s := a.status(t)
		if s.Reason != want || s.Code != a.code || s.Kind != "Status" || s.Status != "Failure" || s.Message == "" {
			t.Errorf("%s: got %d %s", action, a.code, a.body)
		}
		if a.header.Get("Content-Type") != "application/json" || b.creates.Load() != 0 {
			t.Errorf("%s: %v, %d creates", action, a.header, b.creates.Load())
		}
	}
}

func TestStatusRetryAfterAndEffect(t *testing.T) {
	b := newBench(t)
	b.fault(`{"type":"status","code":429,"retryAfter":7,"message":"slow down","after":true}`)
	a := b.create()
	s := a.status(t)
	if a.header.Get("Retry-After") != "7" || s.Details.RetryAfter != 7 || s.Message != "slow down" {
		t.Fatalf("got %v %s", a.header, a.body)
	}
	if b.creates.Load() != 1 {
		t.Fatal("after: true must forward")
	}
}

func TestConflictOfAnUpdate(t *testing.T) {
	b := newBench(t)
	b.fault(`{"type":"status","code":409}`)
	if s := b.do(b.client, "PUT", podsPath+"/a/status", "{}").status(t); s.Reason != "Conflict" || s.Details.Name != "a" {
		t.Fatalf("got %+v", s)
	}
}

func TestWatchError(t *testing.T) {
	b := newBench(t)
	b.fault(`{"type":"watch_error","code":410,"after_events":2}`)
	expectBody(t, b.list(), 200, emptyList) // not a watch: untouched
	w := b.watch()
	w.expect(events[:2]...)
	w.expect(`{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",` +
		`"message":"too old resource version: 1 (2)","reason":"Expired","code":410}}`)
	w.expectEnd(true)
}

func TestWatchClose(t *testing.T) {
	b := newBench(t)
	b.add(`{"times":1,"action":{"type":"watch_close","after_events":1}}`)
	b.add(`{"times":1,"action":{"type":"watch_close","after_ms":200}}`)
	b.add(`{"times":1,"action":{"type":"watch_close"}}`)
	b.add(`{"times":1,"action":{"type":"watch_close","after_events":1,"connection":true}}`)
	w := b.watch()
	w.expect(events[0])
	w.expectEnd(true)
	w, begin := b.watch(), time.Now()
	w.expect(events...)
	w.expectEnd(true)
	if time.Since(begin) < 150*time.Millisecond {
		t.Fatal("ended too early")
	}
	b.watch().expectEnd(true)
	w = b.watch()
	w.expect(events[0])
	w.expectEnd(false)
}

func TestWatchCut(t *testing.T) {
	for _, how := range []string{`"clean":true`, `"clean":false`, `"connection":true`} {
		b := newBench(t)
		b.fault(`{"type":"watch_cut","after_events":1,` + how + `}`)
		w := b.watch()
		w.expect(events[0], events[1][:(len(events[1])+1)/2])
		w.expectEnd(how == `"clean":true`)
	}
}

func TestWatchSilence(t *testing.T) {
	b := newBench(t)
	b.fault(`{"type":"watch_silence","after_events":1}`)
	w := b.watch()
	w.expect(events[0])
	w.expectNothing(200 * time.Millisecond)
	expectBody(t, b.list(), 200, emptyList) // the connection itself is well
	if log := b.log(); log[0].Conn != log[1].Conn {
		t.Fatal("the list went over another connection")
	}
}

func TestWatchSilenceOfTheConnectionLosesNothingBefore(t *testing.T) {
	b := newBench(t)
	b.fault(`{"type":"watch_silence","after_events":2,"connection":true}`)
	w := b.watch()
	w.expect(events[:2]...)
	w.expectNothing(200 * time.Millisecond)
}

// A silent connection does not even answer a PING.
func TestWatchSilenceOfTheConnection(t *testing.T) {
	b := newBench(t)
	b.add(`{"skip":1,"action":{"type":"watch_silence","connection":true}}`)
	rc := b.raw()
	rc.get(1, podsPath+"?watch=1")
	if _, ok := rc.wait(frameData, 5*time.Second); !ok {
		t.Fatal("no event before the silence")
	}
	rc.write(framePing, 0, 0, make([]byte, 8))
	if _, ok := rc.wait(framePing, 5*time.Second); !ok {
		t.Fatal("no PING answer before the silence")
	}
	rc.get(3, podsPath+"?watch=1")
	for log := b.log(); len(log) < 2 || log[1].Status == 0; log = b.log() {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(2 * flushGrace)
	rc.write(framePing, 0, 0, make([]byte, 8))
	if _, ok := rc.wait(framePing, 300*time.Millisecond); ok {
		t.Fatal("a silent connection answered a PING")
	}
	if _, err := rc.c.Write([]byte{0}); err != nil {
		t.Fatalf("the connection was closed: %v", err)
	}
}

func TestWatchLag(t *testing.T) {
	b := newBench(t)
	b.fault(`{"type":"watch_lag","ms":200}`)
	w, begin := b.watch(), time.Now()
	w.expect(events...)
	if took := time.Since(begin); took < 150*time.Millisecond || took > 600*time.Millisecond {
		t.Fatalf("four events with one lag of 200 ms took %v", took)
	}
}

func TestWatchLagAtRandom(t *testing.T) {
	took := func(seed string) (all []time.Duration) {
		b := newBench(t)
		b.add(`{"seed":` + seed + `,"action":{"type":"watch_lag","random_ms":600}}`)
		w, begin := b.watch(), time.Now()
		for _, e := range events {
			w.expect(e)
			all = append(all, time.Since(begin).Round(100*time.Millisecond))
		}
		return all
	}
	first := took("7")
	if !slices.IsSorted(first) || first[len(first)-1] > 700*time.Millisecond {
		t.Fatalf("four events with a lag of up to 600 ms came after %v", first)
	}
	for seed := range 5 {
		if other := took(strconv.Itoa(seed)); !slices.Equal(other, first) {
			return
		}
	}
	t.Fatalf("whatever the seed, events came after %v", first)
}

func TestBookmarksOnly(t *testing.T) {
	b := newBench(t)
	b.fault(`{"type":"bookmarks_only"}`)
	w := b.watch()
	w.expect(events[2])
	w.expectNothing(100 * time.Millisecond)
}

func TestGoAway(t *testing.T) {
	b := newBench(t)
	b.add(`{"times":1,"action":{"type":"goaway"}}`)
	rc := b.raw()
	rc.get(1, podsPath)
	payload, ok := rc.wait(frameGoAway, 5*time.Second)
	if !ok {
		t.Fatal("no GOAWAY")
	}
	if last, code := binary.BigEndian.Uint32(payload), binary.BigEndian.Uint32(payload[4:]); last != 1 || code != 0 {
		t.Fatalf("GOAWAY with last stream %d, code %d", last, code)
	}
}

func TestGoAwayAnswersFirst(t *testing.T) {
	b := newBench(t)
	b.add(`{"times":1,"action":{"type":"goaway"}}`)
	expectBody(t, b.list(), 200, emptyList)
	expectBody(t, b.list(), 200, emptyList)
	if log := b.log(); log[0].Conn == log[1].Conn {
		t.Fatal("the connection was used again")
	}
}

func TestRst(t *testing.T) {
	b := newBench(t)
	b.fault(`{"type":"rst"}`)
	rc := b.raw()
	rc.get(1, podsPath)
	if _, ok := rc.wait(frameReset, 5*time.Second); !ok {
		t.Fatal("no RST_STREAM")
	}
	if a := b.create(); a.err == nil || !strings.Contains(a.err.Error(), "stream error") || b.creates.Load() != 0 {
		t.Fatalf("got %d %v", a.code, a.err)
	}
}

func TestCutBody(t *testing.T) {
	for _, how := range []string{`"clean":true`, `"clean":false`, `"connection":true`} {
		b := newBench(t)
		b.fault(`{"type":"cut_body","bytes":10,` + how + `}`)
		a := b.list()
		if a.code != 200 || a.body != emptyList[:10] || (a.err == nil) != (how == `"clean":true`) {
			t.Fatalf("%s: got %d %q %v", how, a.code, a.body, a.err)
		}
		b.watch().expect(events...)
	}
}

func TestCutBodyCleanOverHTTP1(t *testing.T) {
	b := newBench(t)
	b.fault(`{"type":"cut_body","bytes":10,"clean":true}`)
	expectBody(t, b.do(b.newClient(b.http1(), false), "GET", podsPath, ""), 200, emptyList[:10])
}

func TestFreeze(t *testing.T) {
	for creates, how := range []string{`"after":false`, `"after":true`, `"after":true,"connection":true`} {
		b := newBench(t)
		b.fault(`{"type":"freeze",` + how + `}`)
		b.client.Timeout = 300 * time.Millisecond
		if a := b.create(); a.err == nil || !strings.Contains(a.err.Error(), "Client.Timeout") {
			t.Fatalf("%s: got %d %v", how, a.code, a.err)
		}
		if int(b.creates.Load()) != min(creates, 1) {
			t.Fatalf("%s: %d creates upstream", how, b.creates.Load())
		}
	}
}
