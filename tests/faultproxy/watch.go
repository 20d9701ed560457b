package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"
)

// lagQueue is how many events may be on their way under watch_lag before the upstream is held up.
const lagQueue = 1 << 16

// event is one line of a JSON watch with its newline; err tells that it is the last, and why.
type event struct {
	line []byte
	at   time.Time
	err  error
}

func isEventStream(resp *http.Response) bool {
	return resp.StatusCode == http.StatusOK &&
		strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json")
}

// readEvents reads ahead of the delivery until the body or the context ends.
func readEvents(ctx context.Context, body io.Reader, ahead int) <-chan event {
	out := make(chan event, ahead)
	go func() {
		in := bufio.NewReaderSize(body, 64<<10)
		for {
			line, err := in.ReadBytes('\n')
			select {
			case out <- event{line, time.Now(), err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return out
}

// watch passes events on one by one, each flushed, and applies the watch faults.
func (x *exchange) watch(body io.Reader) {
	f := &x.plan.fault
	ahead := 0
	if f.Type == "watch_lag" {
		ahead = lagQueue
	}
	events := readEvents(x.r.Context(), body, ahead)
	var deadline <-chan time.Time
	if f.AfterMS > 0 {
		deadline = time.After(time.Duration(f.AfterMS) * time.Millisecond)
	}
	x.flush()
	for n := 0; ; n++ {
		if n == f.events() && x.watchFault(events) {
			return
		}
		select {
		case e := <-events:
			if x.deliver(e) {
				return
			}
		case <-deadline:
			x.endWatch()
			return
		case <-x.r.Context().Done():
			x.abort()
		}
	}
}

// deliver sends one event; true means that the stream has ended with it.
func (x *exchange) deliver(e event) bool {
	f := &x.plan.fault
	if f.Type == "watch_lag" {
		x.sleep(time.Until(e.at.Add(x.lag())))
	}
	if len(e.line) > 0 && !(f.Type == "bookmarks_only" && !isBookmark(e.line)) {
		x.send(e.line)
		x.p.log.change(func() { x.entry.Events++ })
	}
	if e.err != nil && e.err != io.EOF {
		x.upstreamBroke(e.err)
	}
	return e.err != nil
}

// lag is how long the next event of a watch_lag is under way; it also waits for the one before it.
func (x *exchange) lag() time.Duration {
	f := &x.plan.fault
	return time.Duration(f.MS+x.plan.random.Intn(f.RandomMS+1)) * time.Millisecond
}

func (x *exchange) send(line []byte) {
	if _, err := x.w.Write(line); err != nil {
		x.abort()
	}
	x.flush()
}

// watchFault does what the rule wants at this place in the stream; true means that the stream is over.
func (x *exchange) watchFault(events <-chan event) bool {
	f := &x.plan.fault
	switch f.Type {
	case "watch_error":
		line := append([]byte(`{"type":"ERROR","object":`), statusFor(f, &x.entry.requestInfo)...)
		x.send(append(line, "}\n"...))
		return true
	case "watch_close":
		x.endWatch()
		return true
	case "watch_cut":
		x.cutEvent(events)
		return true
	case "watch_silence":
		x.silence(events)
	}
	return false
}

func (x *exchange) endWatch() {
	if x.plan.fault.Connection {
		x.breakOff()
	}
}

// cutEvent waits for the next event and delivers half of it.
func (x *exchange) cutEvent(events <-chan event) {
	select {
	case e := <-events:
		x.send(e.line[:len(e.line)/2])
	case <-x.r.Context().Done():
		x.abort()
	}
	if !x.plan.fault.Clean {
		x.breakOff()
	}
}

// silence keeps taking events from the upstream so that it is not held up, and delivers none.
func (x *exchange) silence(events <-chan event) {
	if x.plan.fault.Connection {
		x.hush()
	}
	for {
		select {
		case e := <-events:
			if e.err != nil {
				events = nil // the upstream has ended; the client must not learn of it
			}
		case <-x.r.Context().Done():
			x.abort()
		}
	}
}

// isBookmark is also true of ERROR, with which a stream ends.
func isBookmark(line []byte) bool {
	var head struct{ Type string }
	if err := json.NewDecoder(bytes.NewReader(line)).Decode(&head); err != nil {
		return false
	}
	return head.Type == "BOOKMARK" || head.Type == "ERROR"
}
