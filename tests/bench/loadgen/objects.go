package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// The bodies are what the product itself sends for such a job: the same labels, annotations and owners.

const (
	taskName = "main"
	queue    = "default"
)

type object = map[string]any

func jobName(number int) string { return fmt.Sprintf("j%05d", number) }

func groupName(j *job) string { return j.name + "-" + j.uid }

func podName(j *job, index int) string { return fmt.Sprintf("%s-%s-%d", j.name, taskName, index) }

func nodeName(number int) string { return fmt.Sprintf("node-%04d", number) }

// encode never fails: the objects are made of texts, numbers, lists and maps.
func encode(o object) []byte {
	text, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	return text
}

func podSpec(s shape) object {
	return object{
		"restartPolicy": "Never",
		"schedulerName": s.scheduler,
		"containers": []object{{
			"name": taskName, "image": "busybox:1.36",
			"resources": object{"requests": object{"cpu": "100m", "memory": "128Mi"}},
		}},
	}
}

func jobBody(s shape, name string) []byte {
	spec := podSpec(s)
	delete(spec, "schedulerName") // the job's own is copied to its pods
	return encode(object{
		"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": object{"name": name},
		"spec": object{
			"schedulerName": s.scheduler, "queue": queue, "minAvailable": s.pods,
			"tasks": []object{{"name": taskName, "replicas": s.pods, "template": object{"spec": spec}}},
		},
	})
}

func owner(j *job) []object {
	return []object{{
		"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": j.name, "uid": j.uid,
		"controller": true, "blockOwnerDeletion": true,
	}}
}

func groupBody(s shape, namespace string, j *job) []byte {
	return encode(object{
		"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup",
		"metadata": object{"name": groupName(j), "namespace": namespace, "ownerReferences": owner(j)},
		"spec": object{
			"queue": queue, "minMember": s.pods, "minTaskMember": object{taskName: s.pods},
			"minResources": object{
				"cpu": fmt.Sprintf("%dm", 100*s.pods), "memory": fmt.Sprintf("%dMi", 128*s.pods),
				"requests.cpu": fmt.Sprintf("%dm", 100*s.pods), "requests.memory": fmt.Sprintf("%dMi", 128*s.pods),
				"pods": strconv.Itoa(s.pods), "count/pods": strconv.Itoa(s.pods),
			},
		},
	})
}

func groupStatusBody(phase string, running int) []byte {
	status := object{"phase": phase}
	if running > 0 {
		status["running"] = running
		status["conditions"] = []object{{
			"type": "Scheduled", "status": "True", "reason": "tasks in gang are ready to be scheduled",
			"lastTransitionTime": now(), "transitionID": "00000000-0000-0000-0000-000000000000",
		}}
	}
	return encode(object{"status": status})
}

func podBody(s shape, namespace string, j *job, index int) []byte {
	number := strconv.Itoa(index)
	return encode(object{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": object{
			"name": podName(j, index), "namespace": namespace,
			"labels": object{
				"volcano.sh/job-name": j.name, "volcano.sh/job-namespace": namespace,
				"volcano.sh/queue-name": queue, "volcano.sh/task-index": number, "volcano.sh/task-spec": taskName,
			},
			"annotations": object{
				"scheduling.k8s.io/group-name": groupName(j), "volcano.sh/job-name": j.name,
				"volcano.sh/job-retry-count": "0", "volcano.sh/job-version": "0",
				"volcano.sh/queue-name": queue, "volcano.sh/task-index": number,
				"volcano.sh/task-spec": taskName, "volcano.sh/template-uid": j.name + "-" + taskName,
			},
			"ownerReferences": owner(j),
		},
		"spec": podSpec(s),
	})
}

func bindBody(pod, node string) []byte {
	return encode(object{
		"apiVersion": "v1", "kind": "Binding", "metadata": object{"name": pod},
		"target": object{"apiVersion": "v1", "kind": "Node", "name": node},
	})
}

func pendingBody(s shape, j *job) []byte {
	return statusBody(s, j, "Pending", object{}, nil)
}

func runningBody(s shape, j *job) []byte {
	counts := object{taskName: object{"phase": object{"Running": s.pods}}}
	return statusBody(s, j, "Running", object{"running": s.pods, "taskStatusCount": counts},
		[]object{{"status": "Pending", "lastTransitionTime": now()}})
}

func statusBody(s shape, j *job, phase string, more object, conditions []object) []byte {
	status := object{
		"state":        object{"phase": phase, "lastTransitionTime": now()},
		"minAvailable": s.pods,
		"conditions":   append(conditions, object{"status": phase, "lastTransitionTime": now()}),
	}
	for key, value := range more {
		status[key] = value
	}
	return encode(object{"metadata": object{"uid": j.uid}, "status": status})
}

func now() string { return time.Now().UTC().Format(time.RFC3339) }
