// Askkube answers what kube-scheduler's own plugins say about a pod and a small cluster.
//
//	askkube place|check
//
// It reads one case a line and prints one JSON answer a line. A case is
//
//	{"nodes", "pods", "namespaces", "persistentVolumeClaims", "persistentVolumes",
//	 "storageClasses", "csiNodes": lists of v1 objects, "pod": the pod that is to be placed}
//
// Pods in the list have a node. Those that have ended, and those on a node that the case has not, are
// left out, as kube-scheduler leaves them out of its cache and its snapshot.
//
//	place  {"nodes": {NAME: {"refused": {FILTER: [REASON, ...]}, "scores": {SCORE: 0..100}}}}
//	       Each filter plugin is asked on its own. A plugin that refuses the pod before it looks at
//	       nodes refuses every node. Scores are those of the plugins, normalised by them over the
//	       nodes that no filter refuses; the other nodes have none.
//	check  {"faults": [TEXT, ...]}: what the API server would say against the objects
//
// A case that cannot be read or answered is answered with {"error": TEXT}.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
)

type question struct {
	Nodes      []*v1.Node                  `json:"nodes"`
	Pods       []*v1.Pod                   `json:"pods"`
	Namespaces []*v1.Namespace             `json:"namespaces"`
	Claims     []*v1.PersistentVolumeClaim `json:"persistentVolumeClaims"`
	Volumes    []*v1.PersistentVolume      `json:"persistentVolumes"`
	Classes    []*storagev1.StorageClass   `json:"storageClasses"`
	CSINodes   []*storagev1.CSINode        `json:"csiNodes"`
	Pod        *v1.Pod                     `json:"pod"`
}

type failure struct {
	Error string `json:"error"`
}

// read decodes a case; a field that there is not is an error, since it would say nothing.
func read(line []byte) (*question, error) {
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	asked := &question{}
	if err := decoder.Decode(asked); err != nil {
		return nil, err
	}
	if asked.Pod == nil {
		return nil, errors.New("the case has no pod")
	}
	return asked, nil
}

// answer is what goes back for a line; a plugin that panics costs its case alone.
func answer(line []byte, ask func(*question) (any, error)) (out any) {
	defer func() {
		if caught := recover(); caught != nil {
			out = failure{fmt.Sprintf("panic: %v", caught)}
		}
	}()
	asked, err := read(line)
	if err != nil {
		return failure{err.Error()}
	}
	if out, err = ask(asked); err != nil {
		return failure{err.Error()}
	}
	return out
}

// serve answers lines until there are no more. What is written goes out before it waits for more.
func serve(in io.Reader, out io.Writer, ask func(*question) (any, error)) error {
	reader := bufio.NewReaderSize(in, 1<<20)
	writer := bufio.NewWriter(out)
	encoder := json.NewEncoder(writer)
	for {
		line, err := reader.ReadBytes('\n')
		if len(line) > 0 {
			if err := encoder.Encode(answer(line, ask)); err != nil {
				return err
			}
		}
		if reader.Buffered() == 0 || err != nil {
			if err := writer.Flush(); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// asker is the function of a mode.
func asker(mode string) (func(*question) (any, error), error) {
	switch mode {
	case "check":
		return check, nil
	case "place":
		ctx := context.Background()
		scheduler, err := newScheduler(ctx)
		if err != nil {
			return nil, err
		}
		return func(asked *question) (any, error) { return scheduler.place(ctx, asked) }, nil
	}
	return nil, fmt.Errorf("there is no mode %q", mode)
}

func run() error {
	if len(os.Args) != 2 {
		return errors.New("usage: askkube place|check")
	}
	ask, err := asker(os.Args[1])
	if err != nil {
		return err
	}
	return serve(os.Stdin, os.Stdout, ask)
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "askkube:", err)
		os.Exit(1)
	}
}
