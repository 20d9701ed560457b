package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const mebibyte = 1 << 20

// attack is a kind of hostile client; `strike` makes one connection and returns when it is over. Each client
// comes again a second later.
type attack struct {
	clients int
	body    func() []byte                              // what it sends, made once; nil: nothing
	strike  func(a *abuse, ctx context.Context) string // what came of it, in a word
}

var attacks = map[string]attack{
	"none": {0, nil, nil},
	// One byte of a ClientHello, then silence.
	"half-open": {1000, nil, (*abuse).halfOpen},
	// A header, and a body, of which a byte comes each second.
	"slow-header": {600, nil, (*abuse).dripHeader},
	"slow-body":   {600, nil, (*abuse).dripBody},
	// Bodies of 64 MiB.
	"length":  {8, func() []byte { return blank(64) }, (*abuse).post},
	"chunked": {8, func() []byte { return chunks(64) }, (*abuse).postChunked},
	// Bodies of the largest size allowed: of zeros, of brackets, and all but their last byte.
	"zeros": {8, zeros, (*abuse).post},
	"deep":  {8, func() []byte { return deep(100_000) }, (*abuse).post},
	"held":  {64, func() []byte { return blank(8) }, (*abuse).hold},
	// As many values as are allowed, in an object under review.
	"values": {8, func() []byte { return values(240_000) }, (*abuse).post},
}

// abuse is one run of one attack beside an honest client.
type abuse struct {
	target  *target
	honest  *review
	body    []byte // of the attack
	results map[string]int

	lock      sync.Mutex
	latencies []time.Duration
	errors    int
	first     error
	peak      float64 // MiB
}

func abuseCommand(args []string) (any, error) {
	set := flag.NewFlagSet("webhookload abuse", flag.ExitOnError)
	find := targetFlags(set)
	name := set.String("attack", "none", "one of "+strings.Join(slices.Sorted(keys(attacks)), ", "))
	clients := set.Int("clients", 0, "how many hostile clients; 0: as many as the attack has by itself")
	duration := set.Duration("duration", 15*time.Second, "how long")
	if err := set.Parse(args); err != nil {
		return nil, err
	}
	kind, known := attacks[*name]
	if !known {
		return nil, fmt.Errorf("there is no attack %q", *name)
	}
	if *clients > 0 {
		kind.clients = *clients
	}
	a := &abuse{results: map[string]int{}}
	if kind.body != nil {
		a.body = kind.body()
	}
	var err error
	if a.target, err = find(); err != nil {
		return nil, err
	}
	if a.honest, err = newReview(4096); err != nil {
		return nil, err
	}
	return a.run(*name, kind, *duration)
}

func keys(m map[string]attack) func(func(string) bool) {
	return func(yield func(string) bool) {
		for name := range m {
			if !yield(name) {
				return
			}
		}
	}
}

func (a *abuse) run(name string, kind attack, duration time.Duration) (any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), duration)
	defer cancel()
	before, err := cpuOf(a.target.pid)
	if err != nil {
		return nil, err
	}
	var group sync.WaitGroup
	group.Add(2)
	go func() { defer group.Done(); a.beHonest(ctx) }()
	go func() { defer group.Done(); a.watchMemory(ctx) }()
	for range kind.clients {
		group.Add(1)
		go func() { defer group.Done(); a.strikeOn(ctx, kind) }()
	}
	group.Wait()
	after, err := cpuOf(a.target.pid)
	if err != nil {
		return nil, err
	}
	report := map[string]any{
		"attack": name, "clients": kind.clients, "seconds": duration.Seconds(), "results": a.results, "rss_peak_mib": a.peak,
		"cpu_share": (after - before).Seconds() / duration.Seconds(), "honest_reviews": len(a.latencies) + a.errors,
		"honest_errors": a.errors, "honest_ms": percentiles(a.latencies),
	}
	if a.first != nil {
		report["first_error"] = a.first.Error()
	}
	return report, nil
}

func (a *abuse) strikeOn(ctx context.Context, kind attack) {
	for ctx.Err() == nil {
		result := kind.strike(a, ctx)
		a.lock.Lock()
		a.results[result]++
		a.lock.Unlock()
		pause(ctx, time.Second)
	}
}

func pause(ctx context.Context, duration time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(duration):
	}
}

// beHonest sends a review on a new connection ten times a second.
func (a *abuse) beHonest(ctx context.Context) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for number := uint64(0); ctx.Err() == nil; number++ {
		begin := time.Now()
		err := a.oneHonest(number)
		took := time.Since(begin)
		a.lock.Lock()
		if err == nil {
			a.latencies = append(a.latencies, took)
		} else if a.errors++; a.first == nil {
			a.first = err
		}
		a.lock.Unlock()
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

func (a *abuse) oneHonest(number uint64) error {
	body, uid := a.honest.with(number)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	c, err := dial(ctx, a.target)
	if err != nil {
		return err
	}
	defer c.tls.Close()
	status, answer, _, err := c.post(a.target, body, 10*time.Second)
	if err != nil {
		return err
	}
	return checkAnswer(status, answer, uid)
}

func (a *abuse) watchMemory(ctx context.Context) {
	for ctx.Err() == nil {
		if now, err := memoryOf(a.target.pid, "VmRSS"); err == nil {
			a.peak = max(a.peak, now)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// head is the header of a review that says how its body comes.
func (a *abuse) head(framing string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n%s\r\n\r\n", a.target.path, framing)
}

func (a *abuse) post(ctx context.Context) string {
	return a.send(ctx, a.head(fmt.Sprintf("Content-Length: %d", len(a.body))))
}

func (a *abuse) postChunked(ctx context.Context) string {
	return a.send(ctx, a.head("Transfer-Encoding: chunked"))
}

// send sends a header and the attack's body; the result is the status of the answer.
func (a *abuse) send(ctx context.Context, head string) string {
	c, err := dial(ctx, a.target)
	if err != nil {
		return "no connection"
	}
	defer c.tls.Close()
	stop := context.AfterFunc(ctx, func() { c.tls.NetConn().Close() })
	defer stop()
	_, writeErr := c.tls.Write([]byte(head))
	if writeErr == nil {
		_, writeErr = c.tls.Write(a.body)
	}
	line, err := c.reader.ReadString('\n')
	if words := strings.Fields(line); err == nil && len(words) > 1 {
		return words[1]
	}
	if writeErr != nil {
		return "closed while sending"
	}
	return "closed"
}

func (a *abuse) dripHeader(ctx context.Context) string { return a.drip(ctx, "POST /j", "x") }

func (a *abuse) dripBody(ctx context.Context) string {
	return a.drip(ctx, a.head("Content-Length: 8000000"), " ")
}

// drip sends a beginning, and then the same byte each second until the server has enough.
func (a *abuse) drip(ctx context.Context, beginning, more string) string {
	c, err := dial(ctx, a.target)
	if err != nil {
		return "no connection"
	}
	defer c.tls.Close()
	_, err = c.tls.Write([]byte(beginning))
	for err == nil {
		pause(ctx, time.Second)
		if ctx.Err() != nil {
			return "stayed"
		}
		_, err = c.tls.Write([]byte(more))
	}
	return "closed"
}

func (a *abuse) halfOpen(ctx context.Context) string {
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", a.target.address)
	if err != nil {
		return "no connection"
	}
	defer c.Close()
	stop := context.AfterFunc(ctx, func() { c.Close() })
	defer stop()
	if _, err := c.Write([]byte{0x16}); err != nil {
		return "closed"
	}
	c.Read(make([]byte, 1))
	if ctx.Err() != nil {
		return "stayed"
	}
	return "closed"
}

// hold sends all of a body of 8 MiB but its last byte, and waits.
func (a *abuse) hold(ctx context.Context) string {
	c, err := dial(ctx, a.target)
	if err != nil {
		return "no connection"
	}
	defer c.tls.Close()
	stop := context.AfterFunc(ctx, func() { c.tls.NetConn().Close() })
	defer stop()
	head := a.head(fmt.Sprintf("Content-Length: %d", len(a.body)))
	if _, err := c.tls.Write([]byte(head)); err != nil {
		return "closed while sending"
	}
	if _, err := c.tls.Write(a.body[1:]); err != nil {
		return "closed while sending"
	}
	if _, err := c.reader.ReadByte(); err == nil {
		return "answered"
	}
	if ctx.Err() != nil {
		return "stayed"
	}
	return "closed"
}

var counted atomic.Int64 // keeps reviews of one run apart

func blank(mebibytes int) []byte { return bytes.Repeat([]byte(" "), mebibytes*mebibyte) }

func chunks(mebibytes int) []byte {
	chunk := append([]byte("10000\r\n"), bytes.Repeat([]byte(" "), 0x10000)...)
	return append(bytes.Repeat(append(chunk, '\r', '\n'), mebibytes*16), "0\r\n\r\n"...)
}

func inObject(inner []byte) []byte {
	head := fmt.Sprintf(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u-%d",`+
		`"operation":"CREATE","resource":{"group":"batch.volcano.sh","version":"v1alpha1","resource":"jobs"},`+
		`"object":{"spec":{"tasks":`, counted.Add(1))
	return slices.Concat([]byte(head), inner, []byte("}}}}"))
}

func zeros() []byte {
	return append(append([]byte("[0"), bytes.Repeat([]byte(",0"), 4*mebibyte-2)...), ']')
}

func deep(levels int) []byte {
	return inObject(append(bytes.Repeat([]byte("["), levels), bytes.Repeat([]byte("]"), levels)...))
}

func values(count int) []byte {
	one := []byte(`{"name":"a-name-that-is-not-short"},`)
	inner := bytes.Repeat(one, count/2)
	return inObject(append(append([]byte("["), inner[:len(inner)-1]...), ']'))
}
