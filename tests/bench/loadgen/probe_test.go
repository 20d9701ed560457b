package main

import (
	"context"
	"strings"
	"testing"
	"time"
)

func probe(c *client, length time.Duration) (*scheduler, error) {
	p := &prober{client: c, stats: newScheduler(1), failed: make(chan error, 1),
		plan: plan{shape: shape{jobs: 1, pods: 1}, namespace: "ns"}}
	ctx, cancel := context.WithTimeout(context.Background(), length)
	defer cancel()
	return p.stats, p.run(ctx, 0, 20*time.Millisecond)
}

func TestProbesKeepTheirPaceUntilTheyAreStopped(t *testing.T) {
	server, c := serve(t)
	stats, err := probe(c, 210*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	sent := count(server.log, `^POST .*/jobs$`)
	if sent < 3 || sent > 11 {
		t.Errorf("%d probes in 210 ms, one each 20 ms", sent)
	}
	if found := stats.stats.summary()["probe create"]["count"]; found != float64(sent) {
		t.Errorf("%v were counted and %d sent", found, sent)
	}
}

func TestARefusedProbeEndsThem(t *testing.T) {
	server, c := serve(t)
	server.refuse = "/jobs"
	begin := time.Now()
	if _, err := probe(c, time.Minute); err == nil || !strings.Contains(err.Error(), "409") {
		t.Errorf("the error is %v", err)
	}
	if time.Since(begin) > 30*time.Second {
		t.Error("it went on after a failure")
	}
}

// createsBeforeBinds is how many pods were created before the first bind.
func createsBeforeBinds(log []string) int {
	made := 0
	for _, line := range log {
		if strings.HasSuffix(line, "/binding") {
			break
		}
		if strings.HasSuffix(line, "/pods") {
			made++
		}
	}
	return made
}

func TestInTurnAllJobsAreCompleteAtTheEnd(t *testing.T) {
	for order, least := range map[bool]int{false: 10, true: 4 * 10} {
		server, c := serve(t)
		sched := newScheduler(2)
		p := &plan{shape: shape{jobs: 5, pods: 10, nodes: 2, scheduler: "volcano"}, namespace: "ns", users: users{c, c, c},
			sched: sched, bare: true, inTurn: order}
		p.begin()
		if err := sched.run(context.Background()); err != nil {
			t.Fatal(err)
		}
		made := createsBeforeBinds(server.log)
		if made < least || (!order && made > 20) {
			t.Errorf("in turn %v: %d pods were created before the first bind", order, made)
		}
	}
}
