// Command loadgen sends the requests of a fan-out shape (jobs of so many pods) to a kube-apiserver.
//
//	loadgen submit ...   only the Jobs, as users would; the product does the rest
//	loadgen bare ...     all requests that the shape takes at the least, from the Jobs to the last bind, with
//	                     neither controller nor scheduler: the limit that the product is compared with
//
// It prints one JSON document: how many requests of each kind, and how long they took as seen from here.
// Any answer but a success ends it with an error, for a bare limit with failures in it measures nothing.
package main

import (
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
	server, pki, namespace string
	inFlight               int
	shape                  shape
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "loadgen: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 || (args[0] != "bare" && args[0] != "submit") {
		return fmt.Errorf("the first argument has to be bare or submit")
	}
	bare := args[0] == "bare"
	opts, err := parse(args[0], args[1:])
	if err != nil {
		return err
	}
	users, err := connectAll(opts, bare)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	sched := newScheduler(opts.inFlight)
	plan := &plan{shape: opts.shape, namespace: opts.namespace, users: users, sched: sched, bare: bare}
	plan.begin()
	begin := time.Now()
	if err := sched.run(ctx); err != nil {
		return err
	}
	report := map[string]any{
		"mode": args[0], "seconds": time.Since(begin).Seconds(), "requests": sched.stats.summary(),
	}
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", " ")
	return out.Encode(report)
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
	if err := set.Parse(args); err != nil {
		return nil, err
	}
	if set.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", set.Arg(0))
	}
	for name, value := range map[string]string{"server": opts.server, "pki": opts.pki, "namespace": opts.namespace} {
		if value == "" {
			return nil, fmt.Errorf("--%s is missing", name)
		}
	}
	for name, value := range map[string]int{"in-flight": opts.inFlight, "jobs": opts.shape.jobs,
		"pods": opts.shape.pods, "nodes": opts.shape.nodes} {
		if value < 1 {
			return nil, fmt.Errorf("--%s has to be at least 1, not %d", name, value)
		}
	}
	return opts, nil
}

// connectAll opens the connections of all identities that the mode needs, so that no handshake is measured.
func connectAll(opts *options, bare bool) (users users, err error) {
	if users.user, err = connect(opts.server, opts.pki, "admin"); err != nil || !bare {
		return users, err
	}
	if users.controller, err = connect(opts.server, opts.pki, "pumice-controllers"); err != nil {
		return users, err
	}
	users.scheduler, err = connect(opts.server, opts.pki, "pumice-scheduler")
	return users, err
}
