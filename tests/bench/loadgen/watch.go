package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"time"
)

// watchLine is what is printed of an event.
type watchLine struct {
	Time     float64 `json:"t"`        // when it arrived here, seconds since 1970
	Resource string  `json:"resource"` // "pods", "jobs", "podgroups"
	Type     string  `json:"type"`     // ADDED, MODIFIED, DELETED; READY, once, when all watches are open
	Name     string  `json:"name"`
	Node     bool    `json:"node"`  // a pod that is bound
	Phase    string  `json:"phase"` // of a pod
}

// watchEvent is what is read of one.
type watchEvent struct {
	Type   string `json:"type"`
	Object struct {
		Metadata struct {
			Name            string `json:"name"`
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
		Spec struct {
			NodeName string `json:"nodeName"`
		} `json:"spec"`
		Status struct {
			Phase string `json:"phase"`
		} `json:"status"`
	} `json:"object"`
}

// runWatch prints what happens to the pods, Jobs and PodGroups of a namespace, from now on and with what is there
// already as ADDED. A watch that the server ends, as it does with slow ones, goes on where it was; one that cannot
// is an error, for something may have been missed.
func runWatch(ctx context.Context, opts *options) (*scheduler, error) {
	user, err := connect(opts.server, opts.pki, "admin")
	if err != nil {
		return nil, err
	}
	user.http.Timeout = 0 // a watch is as long as a run
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	p := plan{namespace: opts.namespace}
	paths := map[string]string{"pods": p.pods(), "jobs": p.jobs(""), "podgroups": p.groups("")}
	w := &watcher{client: user, out: json.NewEncoder(os.Stdout), closed: len(paths)}
	ended := make(chan error, len(paths))
	for resource, path := range paths {
		go func() {
			ended <- fmt.Errorf("watch of %s: %w", resource, w.follow(inner, resource, path))
		}()
	}
	err = <-ended // when ctx is done, or one has failed
	cancel()
	for range len(paths) - 1 {
		<-ended
	}
	if ctx.Err() != nil {
		return nil, nil
	}
	return nil, err
}

type watcher struct {
	client *client
	mu     sync.Mutex // for what is below
	out    *json.Encoder
	closed int // watches that are not open yet
}

// opened tells of one more watch that is open.
func (w *watcher) opened() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed--; w.closed > 0 {
		return nil
	}
	return w.out.Encode(watchLine{Time: seconds(), Type: "READY"})
}

// follow prints the events of a kind until ctx is done or the server refuses; the result is never nil.
func (w *watcher) follow(ctx context.Context, resource, path string) error {
	version := ""
	for first := true; ; first = false {
		answer, err := w.open(ctx, path+"?watch=true&timeoutSeconds=86400&resourceVersion="+version)
		if err != nil {
			return err
		}
		if first {
			err = w.opened()
		}
		if err == nil {
			version, err = w.stream(answer.Body, resource, version)
		}
		answer.Body.Close()
		if err != io.EOF && err != io.ErrUnexpectedEOF {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (w *watcher) open(ctx context.Context, path string) (*http.Response, error) {
	request, err := w.client.request(ctx, "GET", path, nil)
	if err != nil {
		return nil, err
	}
	answer, err := w.client.http.Do(request)
	if err == nil && answer.StatusCode != http.StatusOK {
		answer.Body.Close()
		err = fmt.Errorf("%s", answer.Status)
	}
	return answer, err
}

// stream prints the events of one watch until it ends, with io.EOF if it just does. It returns the version of the
// last one, or the one given.
func (w *watcher) stream(body io.Reader, resource, version string) (string, error) {
	events := json.NewDecoder(bufio.NewReaderSize(body, 1<<16))
	for {
		var event watchEvent
		if err := events.Decode(&event); err != nil {
			return version, err
		}
		if event.Type == "ERROR" {
			return version, fmt.Errorf("the server ended it with an error")
		}
		version = event.Object.Metadata.ResourceVersion
		if err := w.print(resource, &event); err != nil {
			return version, err
		}
	}
}

func (w *watcher) print(resource string, event *watchEvent) error {
	arrived := seconds()
	object := &event.Object
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Encode(watchLine{Time: arrived, Resource: resource, Type: event.Type, Name: object.Metadata.Name,
		Node: object.Spec.NodeName != "", Phase: object.Status.Phase})
}

// seconds is the time since 1970.
func seconds() float64 { return float64(time.Now().UnixMicro()) / 1e6 }
