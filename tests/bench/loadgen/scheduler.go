package main

import (
	"container/heap"
	"context"
	"sort"
	"sync"
	"time"
)

// class orders the requests that are ready to be sent, most urgent first. It is the order of an ideal
// product: what other requests wait for goes first, then binds, then creates, and new jobs come last.
type class int

const (
	classObject class = iota // PodGroups and statuses
	classBind
	classCreate
	classSubmit
)

// task is one request that is ready to be sent.
type task struct {
	class class
	job   int    // earlier jobs go first, so that gangs complete one after the other
	rank  int    // within the class before the job: jobs take turns; 0 where they do not
	seq   int    // order of arrival
	kind  string // what it is counted as
	send  func(ctx context.Context) error
}

// scheduler keeps a fixed number of requests in flight, always the most urgent ones that are ready.
type scheduler struct {
	inFlight int
	stats    stats

	mu      sync.Mutex
	changed *sync.Cond
	ready   taskHeap
	open    int // tasks that are ready or in flight
	seq     int
	rank    int   // of the latest create that was taken
	err     error // the first failure: nothing is sent after it
}

func newScheduler(inFlight int) *scheduler {
	s := &scheduler{inFlight: inFlight, stats: stats{times: map[string][]time.Duration{}}}
	s.changed = sync.NewCond(&s.mu)
	return s
}

// add makes a task ready. It may be called before run and by tasks while they run.
func (s *scheduler) add(t *task) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seq++
	t.seq = s.seq
	s.open++
	heap.Push(&s.ready, t)
	s.changed.Signal()
}

// run sends everything and returns when nothing is left, or with the first error.
func (s *scheduler) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var workers sync.WaitGroup
	for range s.inFlight {
		workers.Add(1)
		go func() {
			defer workers.Done()
			for t := s.next(); t != nil; t = s.next() {
				begin := time.Now()
				err := t.send(ctx)
				s.finish(t, time.Since(begin), err)
				if err != nil {
					cancel()
				}
			}
		}()
	}
	workers.Wait()
	return s.err
}

// next waits for a task; nil means that there will be none.
func (s *scheduler) next() *task {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.ready) == 0 && s.open > 0 && s.err == nil {
		s.changed.Wait()
	}
	if s.open == 0 || s.err != nil {
		return nil
	}
	t := heap.Pop(&s.ready).(*task)
	if t.class == classCreate {
		s.rank = max(s.rank, t.rank)
	}
	return t
}

// turn is the rank of the creates that are being sent: who joins later joins here.
func (s *scheduler) turn() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rank
}

func (s *scheduler) finish(t *task, took time.Duration, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.times[t.kind] = append(s.stats.times[t.kind], took)
	s.open--
	if err != nil && s.err == nil {
		s.err = err
	}
	if s.open == 0 || s.err != nil {
		s.changed.Broadcast()
	}
}

// record counts a request that was sent by other means.
func (s *scheduler) record(kind string, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.times[kind] = append(s.stats.times[kind], took)
}

// taskHeap is a heap of tasks, most urgent first.
type taskHeap []*task

func (h taskHeap) Len() int { return len(h) }

func (h taskHeap) Less(i, k int) bool {
	a, b := h[i], h[k]
	if a.class != b.class {
		return a.class < b.class
	}
	if a.rank != b.rank {
		return a.rank < b.rank
	}
	if a.job != b.job {
		return a.job < b.job
	}
	return a.seq < b.seq
}

func (h taskHeap) Swap(i, k int) { h[i], h[k] = h[k], h[i] }

func (h *taskHeap) Push(x any) { *h = append(*h, x.(*task)) }

func (h *taskHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return last
}

// stats has the time of each request by kind.
type stats struct {
	times map[string][]time.Duration
}

// summary is count, median, 99th percentile and maximum of each kind, times in milliseconds.
func (s *stats) summary() map[string]map[string]float64 {
	all := map[string]map[string]float64{}
	for kind, times := range s.times {
		sort.Slice(times, func(i, k int) bool { return times[i] < times[k] })
		at := func(q float64) float64 {
			return float64(times[int(q*float64(len(times)-1))].Microseconds()) / 1000
		}
		all[kind] = map[string]float64{"count": float64(len(times)), "p50_ms": at(0.5), "p99_ms": at(0.99), "max_ms": at(1)}
	}
	return all
}
