// Command loadgen sends the requests of a fan-out shape (jobs of so many pods) to a kube-apiserver.
//
//	loadgen submit ...   only the Jobs, as users would; the product does the rest
//	loadgen bare ...     all requests that the shape takes at the least, from the Jobs to the last bind, with
//	                     neither controller nor scheduler: the limit that the product is compared with
//	loadgen probe ...    a Job of one pod every so often, whatever became of the ones before, until it is told to
//	                     stop with SIGINT or SIGTERM
//	loadgen watch ...    sends nothing but watches the namespace: a line for each event, until it is told to stop
//
// All but watch print one JSON document: how many requests of each kind, and how long they took as seen from here.
// Any answer but a success ends it with an error, for a bare limit with failures in it measures nothing.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// options is the command line.
type options struct {
	server, pki, namespace          string
	controllerServer, controllerPki string
	order                           string
	inFlight, first                 int
	every                           time.Duration
	shape                           shape
}

// Orders of the creates of a bare run.
const (
	byJob  = "by-job"
	inTurn = "in-turn"
)

// modes is what the first argument may be.
var modes = map[string]func(ctx context.Context, opts *options) (*scheduler, error){
	"bare": runBare, "submit": runSubmit, "probe": runProbe, "watch": runWatch,
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "loadgen: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 || modes[args[0]] == nil {
		return fmt.Errorf("the first argument has to be bare, submit, probe or watch")
	}
	opts, err := parse(args[0], args[1:])
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	begin := time.Now()
	sched, err := modes[args[0]](ctx, opts)
	if err != nil || sched == nil {
		return err
	}
	report := map[string]any{
		"mode": args[0], "seconds": time.Since(begin).Seconds(), "requests": sched.stats.summary(),
	}
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", " ")
	return out.Encode(report)
}

func runBare(ctx context.Context, opts *options) (*scheduler, error) {
	users, err := connectAll(opts)
	if err != nil {
		return nil, err
	}
	sched := newScheduler(opts.inFlight)
	plan := &plan{shape: opts.shape, namespace: opts.namespace, users: users, sched: sched, bare: true,
		inTurn: opts.order == inTurn}
	plan.begin()
	return sched, sched.run(ctx)
}

func runSubmit(ctx context.Context, opts *options) (*scheduler, error) {
	user, err := connect(opts.server, opts.pki, "admin")
	if err != nil {
		return nil, err
	}
	sched := newScheduler(opts.inFlight)
	plan := &plan{shape: opts.shape, namespace: opts.namespace, users: users{user: user}, sched: sched}
	plan.begin()
	return sched, sched.run(ctx)
}

func parse(mode string, args []string) (*options, error) {
	opts := &options{}
	set := flag.NewFlagSet("loadgen "+mode, flag.ExitOnError)
	set.StringVar(&opts.server, "server", "", "URL of the API server")
	set.StringVar(&opts.pki, "pki", "", "folder with ca.crt and NAME.crt, NAME.key of each identity")
	set.StringVar(&opts.namespace, "namespace", "", "namespace of the jobs; it has to exist")
	set.IntVar(&opts.inFlight, "in-flight", 32, "most requests at a time")
	set.IntVar(&opts.shape.jobs, "jobs", 20, "number of jobs")
	set.IntVar(&opts.shape.pods, "pods", 100, "pods of each job")
	set.IntVar(&opts.shape.nodes, "nodes", 100, "nodes node-0000 on, over which the pods are spread")
	set.StringVar(&opts.shape.scheduler, "scheduler-name", "volcano", "schedulerName of the jobs")
	set.StringVar(&opts.order, "order", byJob, "of creates in a bare run: "+byJob+", or "+inTurn+" for plain round-robin")
	set.IntVar(&opts.first, "first", 0, "number of the first probe")
	set.DurationVar(&opts.every, "every", 250*time.Millisecond, "time from one probe to the next")
	set.StringVar(&opts.controllerServer, "controller-server", "", "URL that the controller's requests go to, if another")
	set.StringVar(&opts.controllerPki, "controller-pki", "", "folder of the controller's certificate, if another")
	if err := set.Parse(args); err != nil {
		return nil, err
	}
	if set.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", set.Arg(0))
	}
	return opts, check(opts)
}

func check(opts *options) error {
	for name, value := range map[string]string{"server": opts.server, "pki": opts.pki, "namespace": opts.namespace} {
		if value == "" {
			return fmt.Errorf("--%s is missing", name)
		}
	}
	for name, value := range map[string]int{"in-flight": opts.inFlight, "jobs": opts.shape.jobs,
		"pods": opts.shape.pods, "nodes": opts.shape.nodes} {
		if value < 1 {
			return fmt.Errorf("--%s has to be at least 1, not %d", name, value)
		}
	}
	if opts.order != byJob && opts.order != inTurn {
		return fmt.Errorf("--order has to be %s or %s, not %q", byJob, inTurn, opts.order)
	}
	if opts.every <= 0 {
		return fmt.Errorf("--every has to be longer than nothing, not %v", opts.every)
	}
	return nil
}

// connectAll opens the connections of all identities of a bare run, so that no handshake is measured.
func connectAll(opts *options) (users users, err error) {
	if users.user, err = connect(opts.server, opts.pki, "admin"); err != nil {
		return users, err
	}
	server, pki := cmp.Or(opts.controllerServer, opts.server), cmp.Or(opts.controllerPki, opts.pki)
	if users.controller, err = connect(server, pki, "pumice-controllers"); err != nil {
		return users, err
	}
	users.scheduler, err = connect(opts.server, opts.pki, "pumice-scheduler")
	return users, err
}
