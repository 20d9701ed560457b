package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
)

// shape is what is asked for.
type shape struct {
	jobs, pods, nodes int
	scheduler         string
}

// users are the identities: who submits jobs, and in a bare run those whose part is played.
type users struct {
	user, controller, scheduler *client
}

// plan turns a shape into tasks. Each job is a chain:
//
//	Job → PodGroup, Job status (Pending) → PodGroup (Inqueue) → its pods → their binds, once all are there
//	→ PodGroup (Running), Job status (Running)
type plan struct {
	shape     shape
	namespace string
	users     users
	sched     *scheduler
	bare      bool
	inTurn    bool         // jobs take turns with their creates
	binds     atomic.Int64 // for spreading binds over the nodes
}

// job is one job on its way.
type job struct {
	number         int
	name, uid      string
	created, bound atomic.Int64
}

func (p *plan) begin() {
	for number := range p.shape.jobs {
		j := &job{number: number, name: jobName(number)}
		c := classSubmit
		if p.inTurn {
			c = classObject // who takes turns has to be there
		}
		p.sched.add(&task{class: c, job: number, kind: "job create", send: func(ctx context.Context) error {
			return p.submit(ctx, j)
		}})
	}
}

func (p *plan) submit(ctx context.Context, j *job) error {
	text, err := p.users.user.send(ctx, "POST", p.jobs(""), contentJSON, jobBody(p.shape, j.name))
	if err != nil {
		return err
	}
	var answer struct {
		Metadata struct {
			UID string `json:"uid"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return fmt.Errorf("answer to the create of job %s: %w", j.name, err)
	}
	j.uid = answer.Metadata.UID
	if p.bare {
		p.add(j, classObject, "job status", p.users.controller, "PATCH", p.jobs(j.name)+"/status", contentMerge,
			pendingBody(p.shape, j), nil)
		p.add(j, classObject, "podgroup create", p.users.controller, "POST", p.groups(""), contentJSON,
			groupBody(p.shape, p.namespace, j), func() { p.admit(j) })
	}
	return nil
}

func (p *plan) admit(j *job) {
	p.add(j, classObject, "podgroup patch", p.users.scheduler, "PATCH", p.groups(groupName(j)), contentMerge,
		groupStatusBody("Inqueue", 0), func() { p.createPods(j) })
}

func (p *plan) createPods(j *job) {
	first := p.sched.turn()
	for index := range p.shape.pods {
		t := p.task(j, classCreate, "pod create", p.users.controller, "POST", p.pods(), contentJSON,
			podBody(p.shape, p.namespace, j, index), func() {
				if j.created.Add(1) == int64(p.shape.pods) {
					p.bindPods(j)
				}
			})
		if p.inTurn {
			t.rank = first + index
		}
		p.sched.add(t)
	}
}

func (p *plan) bindPods(j *job) {
	for index := range p.shape.pods {
		name := podName(j, index)
		node := nodeName(int(p.binds.Add(1)-1) % p.shape.nodes)
		p.add(j, classBind, "bind", p.users.scheduler, "POST", p.pods()+"/"+name+"/binding", contentJSON,
			bindBody(name, node), func() {
				if j.bound.Add(1) == int64(p.shape.pods) {
					p.finish(j)
				}
			})
	}
}

func (p *plan) finish(j *job) {
	p.add(j, classObject, "podgroup patch", p.users.scheduler, "PATCH", p.groups(groupName(j)), contentMerge,
		groupStatusBody("Running", p.shape.pods), nil)
	p.add(j, classObject, "job status", p.users.controller, "PATCH", p.jobs(j.name)+"/status", contentMerge,
		runningBody(p.shape, j), nil)
}

// add makes a request ready.
func (p *plan) add(j *job, c class, kind string, who *client, method, path, content string, body []byte, then func()) {
	p.sched.add(p.task(j, c, kind, who, method, path, content, body, then))
}

// task is a request; then, if not nil, is called after its success.
func (p *plan) task(j *job, c class, kind string, who *client, method, path, content string, body []byte, then func()) *task {
	return &task{class: c, job: j.number, kind: kind, send: func(ctx context.Context) error {
		if _, err := who.send(ctx, method, path, content, body); err != nil {
			return err
		}
		if then != nil {
			then()
		}
		return nil
	}}
}

func (p *plan) jobs(name string) string {
	return "/apis/batch.volcano.sh/v1alpha1/namespaces/" + p.namespace + "/jobs" + slash(name)
}

func (p *plan) groups(name string) string {
	return "/apis/scheduling.volcano.sh/v1beta1/namespaces/" + p.namespace + "/podgroups" + slash(name)
}

func (p *plan) pods() string {
	return "/api/v1/namespaces/" + p.namespace + "/pods"
}

func slash(name string) string {
	if name == "" {
		return ""
	}
	return "/" + name
}
