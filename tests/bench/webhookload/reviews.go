package main

import (
	"bytes"
	"encoding/json"
	"fmt"
)

type object = map[string]any

const uidOfTemplate = "00000000-0000-4000-8000-000000000000"

// review is the body of a request, whole but for its uid.
type review struct {
	text []byte
	at   int // of the uid
}

// with returns a copy with its own uid, which has the form of those that API servers make.
func (r *review) with(number uint64) (body []byte, uid string) {
	uid = fmt.Sprintf("%08x-0000-4000-8000-%012x", number>>48&0xffffffff, number&0xffffffffffff)
	body = bytes.Clone(r.text)
	copy(body[r.at:], uid)
	return body, uid
}

// newReview makes the review of the creation of a job; it has `size` bytes or a little more.
func newReview(size int) (*review, error) {
	// A task with its template has about 2 KB; the environment of the first fills up.
	tasks := max(1, (size-2000)/2600)
	text, err := encodeReview(tasks, 0)
	if err != nil {
		return nil, err
	}
	for len(text) < size {
		more := (size-len(text))/70/tasks + 1
		if text, err = encodeReview(tasks, more+variables(text)/tasks); err != nil {
			return nil, err
		}
	}
	return &review{text: text, at: bytes.Index(text, []byte(uidOfTemplate))}, nil
}

func variables(text []byte) int { return bytes.Count(text, []byte(`"OPTION_`)) }

func encodeReview(tasks, variables int) ([]byte, error) {
	list := make([]object, tasks)
	for i := range list {
		list[i] = taskOf(fmt.Sprintf("worker-%d", i), variables)
	}
	resource := object{"group": "batch.volcano.sh", "version": "v1alpha1", "resource": "jobs"}
	kind := object{"group": "batch.volcano.sh", "version": "v1alpha1", "kind": "Job"}
	return json.Marshal(object{
		"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1",
		"request": object{
			"uid": uidOfTemplate, "kind": kind, "resource": resource, "requestKind": kind, "requestResource": resource,
			"name": "training", "namespace": "research", "operation": "CREATE", "oldObject": nil, "dryRun": false,
			"userInfo": object{"username": "researcher@example.com", "groups": []string{"research", "system:authenticated"}},
			"options":  object{"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1", "fieldManager": "kubectl-client-side-apply"},
			"object":   jobOf(list),
		},
	})
}

func jobOf(tasks []object) object {
	return object{
		"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job",
		"metadata": object{
			"name": "training", "namespace": "research", "generation": 1, "uid": "b3b7a9a0-5d41-4f6e-9df4-3c1f8a5e7d10",
			"creationTimestamp": "2026-01-01T00:00:00Z", "labels": object{"team": "research", "model": "large"},
			"managedFields": []object{{
				"manager": "kubectl-client-side-apply", "operation": "Update", "apiVersion": "batch.volcano.sh/v1alpha1",
				"time": "2026-01-01T00:00:00Z", "fieldsType": "FieldsV1",
				"fieldsV1": object{"f:spec": object{".": object{}, "f:minAvailable": object{}, "f:queue": object{},
					"f:schedulerName": object{}, "f:tasks": object{}}},
			}},
		},
		"spec": object{
			"schedulerName": "volcano", "queue": "default", "minAvailable": len(tasks), "maxRetry": 3,
			"priorityClassName": "research", "policies": []object{{"event": "PodEvicted", "action": "RestartJob"}},
			"plugins": object{"env": []string{}, "svc": []string{}}, "tasks": tasks,
		},
	}
}

func taskOf(name string, variables int) object {
	env := []object{
		{"name": "POD_NAME", "valueFrom": object{"fieldRef": object{"apiVersion": "v1", "fieldPath": "metadata.name"}}},
		{"name": "CPU_LIMIT", "valueFrom": object{"resourceFieldRef": object{"resource": "limits.cpu", "divisor": "1"}}},
	}
	for i := range variables {
		env = append(env, object{"name": fmt.Sprintf("OPTION_%d", i), "value": "a value of an ordinary length"})
	}
	return object{
		"name": name, "replicas": 2, "minAvailable": 1, "maxRetry": 3,
		"policies": []object{{"event": "TaskCompleted", "action": "CompleteJob"}},
		"template": object{
			"metadata": object{"labels": object{"app": "training", "role": name}, "annotations": object{"example.com/owner": "research"}},
			"spec":     podOf(env),
		},
	}
}

func podOf(env []object) object {
	return object{
		"restartPolicy": "OnFailure", "terminationGracePeriodSeconds": 30, "dnsPolicy": "ClusterFirst",
		"nodeSelector": object{"kubernetes.io/os": "linux"},
		"tolerations":  []object{{"key": "example.com/batch", "operator": "Exists", "effect": "NoSchedule"}},
		"affinity": object{"nodeAffinity": object{"requiredDuringSchedulingIgnoredDuringExecution": object{
			"nodeSelectorTerms": []object{{"matchExpressions": []object{
				{"key": "topology.kubernetes.io/zone", "operator": "In", "values": []string{"a", "b"}}}}}}}},
		"volumes": []object{
			{"name": "scratch", "emptyDir": object{"sizeLimit": "10Gi"}},
			{"name": "settings", "configMap": object{"name": "training-settings", "defaultMode": 420}},
		},
		"containers": []object{{
			"name": "main", "image": "registry.example.com/research/training:v1.2.3", "imagePullPolicy": "IfNotPresent",
			"command": []string{"/usr/bin/train"}, "args": []string{"--epochs=100", "--data=/scratch", "--config=/etc/training/config.yaml"},
			"env": env,
			"resources": object{
				"requests": object{"cpu": "4", "memory": "16Gi", "example.com/gpu": "1"},
				"limits":   object{"cpu": "8", "memory": "16Gi", "example.com/gpu": "1"},
			},
			"ports": []object{{"name": "metrics", "containerPort": 9090, "protocol": "TCP"}},
			"volumeMounts": []object{
				{"name": "scratch", "mountPath": "/scratch"},
				{"name": "settings", "mountPath": "/etc/training", "readOnly": true},
			},
			"readinessProbe": object{
				"httpGet":       object{"path": "/healthz", "port": "metrics", "scheme": "HTTP"},
				"periodSeconds": 10, "timeoutSeconds": 1, "successThreshold": 1, "failureThreshold": 3,
			},
			"securityContext": object{"allowPrivilegeEscalation": false, "runAsNonRoot": true, "runAsUser": 1000},
		}},
	}
}
