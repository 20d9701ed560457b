package main

import (
	"context"
	"fmt"
	"sync"
	"time"
)

func probeName(number int) string { return fmt.Sprintf("p%05d", number) }

// runProbe submits Jobs of one pod at a fixed pace, an open loop: a slow answer delays no other. It ends with the
// first failure, and well when ctx does, after the answers that are still to come.
func runProbe(ctx context.Context, opts *options) (*scheduler, error) {
	user, err := connect(opts.server, opts.pki, "admin")
	if err != nil {
		return nil, err
	}
	p := &prober{client: user, stats: newScheduler(1), failed: make(chan error, 1),
		plan: plan{shape: shape{jobs: 1, pods: 1, scheduler: opts.shape.scheduler}, namespace: opts.namespace}}
	return p.stats, p.run(ctx, opts.first, opts.every)
}

type prober struct {
	client *client
	plan   plan
	stats  *scheduler // keeps the times
	failed chan error // holds the first failure
	open   sync.WaitGroup
}

func (p *prober) run(ctx context.Context, first int, every time.Duration) error {
	defer p.open.Wait()
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for number := first; ; number++ {
		p.open.Add(1)
		go p.submit(number)
		select {
		case <-ticker.C:
		case err := <-p.failed:
			return err
		case <-ctx.Done():
			p.open.Wait()
			select {
			case err := <-p.failed:
				return err
			default:
				return nil
			}
		}
	}
}

// submit is not bound to the context of run, so that each Job that was begun is answered and counted.
func (p *prober) submit(number int) {
	defer p.open.Done()
	begin := time.Now()
	_, err := p.client.send(context.Background(), "POST", p.plan.jobs(""), contentJSON,
		jobBody(p.plan.shape, probeName(number)))
	p.stats.record("probe create", time.Since(begin))
	if err != nil {
		select {
		case p.failed <- err:
		default:
		}
	}
}
