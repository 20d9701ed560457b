package main

import (
	"context"
	"errors"
	"flag"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// load is one run.
type load struct {
	target   *target
	pool     *pool
	review   *review
	rate     float64 // reviews a second; 0: closed loop
	inFlight int     // of a closed loop
	fresh    float64 // share of reviews on new connections
	count    uint64
	check    bool // that an answer is the one to its review

	lock       sync.Mutex
	latencies  []time.Duration // without handshakes
	handshakes []time.Duration
	errors     int
	first      error
	again      int // sent once more, since an idle connection had been closed
}

func loadCommand(args []string) (any, error) {
	set := flag.NewFlagSet("webhookload load", flag.ExitOnError)
	find := targetFlags(set)
	l := &load{}
	set.Float64Var(&l.rate, "rate", 0, "reviews a second, whatever the webhook does; 0: as many as --in-flight allows")
	set.IntVar(&l.inFlight, "in-flight", 20, "reviews at a time, without --rate")
	set.Float64Var(&l.fresh, "new", 0, "share of the reviews that go on a new connection, from 0 to 1")
	set.Uint64Var(&l.count, "count", 1000, "number of reviews")
	set.BoolVar(&l.check, "check", true, "an answer has to allow its review; false: status 200 is enough")
	size := set.Int("size", 4096, "bytes of a review")
	warm := set.Uint64("warm", 200, "reviews before those that count")
	if err := set.Parse(args); err != nil {
		return nil, err
	}
	var err error
	if l.target, err = find(); err != nil {
		return nil, err
	}
	if l.review, err = newReview(*size); err != nil {
		return nil, err
	}
	l.pool = &pool{target: l.target}
	defer l.pool.close()
	warmUp := &load{target: l.target, pool: l.pool, review: l.review, inFlight: min(l.inFlight, keptIdle), count: *warm, check: l.check}
	warmUp.closedLoop()
	if warmUp.first != nil {
		return nil, warmUp.first
	}
	return l.measure()
}

// measure runs the load and sums up.
func (l *load) measure() (any, error) {
	opened := l.pool.opened
	before, err := cpuOf(l.target.pid)
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	if l.rate > 0 {
		l.openLoop()
	} else {
		l.closedLoop()
	}
	seconds := time.Since(begin).Seconds()
	after, err := cpuOf(l.target.pid)
	if err != nil {
		return nil, err
	}
	peak, err := memoryOf(l.target.pid, "VmHWM")
	if err != nil {
		return nil, err
	}
	report := map[string]any{
		"reviews": l.count, "review_bytes": len(l.review.text), "seconds": seconds, "per_second": float64(l.count) / seconds,
		"errors": l.errors, "sent_again": l.again, "connections_opened": l.pool.opened - opened,
		"latency_ms": percentiles(l.latencies), "handshake_ms": percentiles(l.handshakes),
		"cpu_us_per_review": float64((after - before).Microseconds()) / float64(l.count), "rss_peak_mib": peak,
	}
	if l.first != nil {
		report["first_error"] = l.first.Error()
	}
	return report, nil
}

// isFresh says whether a review goes on a new connection: evenly spread.
func (l *load) isFresh(number uint64) bool {
	return math.Floor(float64(number+1)*l.fresh) > math.Floor(float64(number)*l.fresh)
}

func (l *load) openLoop() {
	var group sync.WaitGroup
	begin := time.Now()
	for number := range l.count {
		due := begin.Add(time.Duration(float64(number) / l.rate * float64(time.Second)))
		time.Sleep(time.Until(due))
		group.Add(1)
		go func() {
			defer group.Done()
			l.one(number, due)
		}()
	}
	group.Wait()
}

func (l *load) closedLoop() {
	var group sync.WaitGroup
	var next atomic.Uint64
	for range l.inFlight {
		group.Add(1)
		go func() {
			defer group.Done()
			for number := next.Add(1) - 1; number < l.count; number = next.Add(1) - 1 {
				l.one(number, time.Now())
			}
		}()
	}
	group.Wait()
}

// one sends one review that was due at a time, and keeps what it took.
func (l *load) one(number uint64, due time.Time) {
	handshake, again, err := l.send(number, l.isFresh(number))
	took := time.Since(due) - handshake
	l.lock.Lock()
	defer l.lock.Unlock()
	l.again += again
	if err != nil {
		l.errors++
		if l.first == nil {
			l.first = err
		}
		return
	}
	l.latencies = append(l.latencies, took)
	if handshake > 0 {
		l.handshakes = append(l.handshakes, handshake)
	}
}

// send sends one review. A connection that the server closed while it was idle is replaced once, as Go's
// HTTP client does.
func (l *load) send(number uint64, fresh bool) (handshake time.Duration, again int, err error) {
	body, uid := l.review.with(number)
	for {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		c, err := l.pool.get(ctx, fresh)
		cancel()
		if err != nil {
			return 0, again, err
		}
		idle := c.used
		if !idle {
			handshake += c.handshake
		}
		status, answer, keep, err := c.post(l.target, body, 10*time.Second)
		if errors.Is(err, errClosed) && idle && again == 0 {
			c.tls.Close()
			again, fresh = 1, true
			continue
		}
		if keep {
			l.pool.put(c)
		} else {
			c.tls.Close()
		}
		if err == nil && (l.check || status != 200) {
			err = checkAnswer(status, answer, uid)
		}
		return handshake, again, err
	}
}

func percentiles(times []time.Duration) map[string]float64 {
	if len(times) == 0 {
		return nil
	}
	slices.Sort(times)
	at := func(share float64) float64 {
		return milliseconds(times[min(len(times)-1, int(share*float64(len(times))))])
	}
	return map[string]float64{"p50": at(0.5), "p95": at(0.95), "p99": at(0.99), "longest": milliseconds(times[len(times)-1])}
}
