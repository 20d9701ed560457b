// Command webhookload sends admission reviews to a webhook as a kube-apiserver does: HTTP/1.1, at most 25 idle
// connections kept, a new TLS connection whenever none is idle.
//
//	webhookload load ...    a rate (open loop) or a number in flight (closed loop): latencies, CPU of the server
//	webhookload abuse ...   hostile clients of one kind beside an honest one: memory of the server, honest latency
//
// It prints one JSON document.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"time"
)

// target is the webhook, and the process that serves it.
type target struct {
	address, path string
	pid           int
	config        *tls.Config
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "webhookload: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	commands := map[string]func([]string) (any, error){"load": loadCommand, "abuse": abuseCommand}
	if len(args) == 0 || commands[args[0]] == nil {
		return fmt.Errorf("the first argument has to be load or abuse")
	}
	report, err := commands[args[0]](args[1:])
	if err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", " ")
	return out.Encode(report)
}

// targetFlags adds the flags that say where the webhook is.
func targetFlags(set *flag.FlagSet) func() (*target, error) {
	t := &target{}
	set.StringVar(&t.address, "address", "", "HOST:PORT of the webhook")
	set.StringVar(&t.path, "path", "/jobs/validate", "path of the reviews")
	set.IntVar(&t.pid, "pid", 0, "process that serves it; 0: its CPU and memory are not looked at")
	authority := set.String("ca", "", "PEM file with the authority of its certificate")
	name := set.String("server-name", "localhost", "name that its certificate is for")
	return func() (*target, error) {
		text, err := os.ReadFile(*authority)
		if err != nil {
			return nil, err
		}
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s holds no certificate", *authority)
		}
		t.config = &tls.Config{RootCAs: roots, ServerName: *name, NextProtos: []string{"http/1.1"}}
		return t, nil
	}
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
