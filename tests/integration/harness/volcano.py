"""What an installation of Volcano leaves in a cluster: its own objects, and jobs as its controller has written them.

Names, flags and shapes are those of its chart 1.15 and its controller; only what matters to a change of hands is here.
"""

import copy

from .api import JOBS, PODGROUPS, kind_of
from .objects import job, task

SYSTEM = "volcano-system"
PARTS = {"scheduler": "volcano-scheduler", "controllers": "volcano-controller", "admission": "volcano-admission"}
IMAGES = {"scheduler": "vc-scheduler", "controllers": "vc-controller-manager", "admission": "vc-webhook-manager"}
PATHS = {"jobs/mutate": ("mutatejob", "batch.volcano.sh", "v1alpha1", "jobs", ["CREATE"]),
         "queues/mutate": ("mutatequeue", "scheduling.volcano.sh", "v1beta1", "queues", ["CREATE"]),
         "jobs/validate": ("validatejob", "batch.volcano.sh", "v1alpha1", "jobs", ["CREATE", "UPDATE"]),
         "queues/validate": ("validatequeue", "scheduling.volcano.sh", "v1beta1", "queues",
                             ["CREATE", "UPDATE", "DELETE"]),
         "podgroups/validate": ("validatepodgroup", "scheduling.volcano.sh", "v1beta1", "podgroups", ["CREATE"]),
         "pods/mutate": ("mutatepod", "", "v1", "pods", ["CREATE"]),
         "pods/validate": ("validatepod", "", "v1", "pods", ["CREATE"]),
         # Of a name that another registration has, too.
         "jobflows/validate": ("validatejob", "flow.volcano.sh", "v1alpha1", "jobflows", ["CREATE"])}


def deployment(part):
    name, app = f"volcano-{part}", PARTS[part]
    container = {
        "name": name, "image": f"docker.io/volcanosh/{IMAGES[part]}:v1.15.0", "imagePullPolicy": "Always",
        "args": ["--logtostderr", "--enable-healthz=true", "--leader-elect=false", "-v=3", "2>&1"],
        "env": [{"name": "DEBUG_SOCKET_DIR", "value": "/tmp/klog-socks"}],
        "volumeMounts": [{"name": "klog-sock", "mountPath": "/tmp/klog-socks"}],
        "securityContext": {"runAsNonRoot": True, "runAsUser": 1000, "allowPrivilegeEscalation": False,
                            "capabilities": {"drop": ["ALL"], "add": ["DAC_OVERRIDE"]}}}
    return {"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": name, "namespace": SYSTEM, "labels": {"app": app}},
            "spec": {"replicas": 1, "selector": {"matchLabels": {"app": app}}, "template": {
                "metadata": {"labels": {"app": app}, "annotations": {"rollme/helm-revision": "3"}},
                "spec": {"serviceAccount": name, "priorityClassName": "system-cluster-critical",
                         "securityContext": {"seLinuxOptions": {"level": "s0:c123,c456"},
                                             "seccompProfile": {"type": "RuntimeDefault"}},
                         "volumes": [{"name": "klog-sock", "emptyDir": {}}], "containers": [container]}}}}


def registration(path):
    name, group, version, resource, operations = PATHS[path]
    kind = "Mutating" if path.endswith("mutate") else "Validating"
    return {"apiVersion": "admissionregistration.k8s.io/v1", "kind": f"{kind}WebhookConfiguration",
            "metadata": {"name": "volcano-admission-service-" + path.replace("/", "-")},
            "webhooks": [{"name": f"{name}.volcano.sh", "admissionReviewVersions": ["v1"], "sideEffects": "NoneOnDryRun",
                          "failurePolicy": "Fail", "timeoutSeconds": 10,
                          "clientConfig": {"caBundle": "Tm90IG91cnM=", "service": {
                              "name": "volcano-admission-service", "namespace": SYSTEM, "path": f"/{path}",
                              "port": 443}},
                          "namespaceSelector": {"matchExpressions": [
                              {"key": "kubernetes.io/metadata.name", "operator": "NotIn",
                               "values": [SYSTEM, "kube-system"]}]},
                          "rules": [{"apiGroups": [group], "apiVersions": [version], "resources": [resource],
                                     "operations": operations, "scope": "*"}]}]}


def role(part, rules):
    name = f"volcano-{part}"
    return [{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": name},
             "rules": rules},
            {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
             "metadata": {"name": f"{name}-role"},
             "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
             "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": SYSTEM}]},
            {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": SYSTEM}}]


def service(part, name, port, target):
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": f"volcano-{name}", "namespace": SYSTEM},
            "spec": {"selector": {"app": PARTS[part]}, "ports": [
                {"name": "metrics" if part != "admission" else None, "port": port, "targetPort": target,
                 "protocol": "TCP"}]}}


def installation():
    """The objects of its chart, but for the custom resource definitions."""
    secrets = [{"apiGroups": [""], "resources": ["secrets", "pods", "configmaps"], "verbs": ["*"]}]
    made = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SYSTEM}}]
    for part in PARTS:
        made += [*role(part, secrets), deployment(part)]
    made += [service("scheduler", "scheduler-service", 8080, 8080), service("controllers", "controllers-service", 8081,
                                                                            8081),
             service("admission", "admission-service", 443, 8443)]
    made += [registration(path) for path in PATHS]
    made += [{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "volcano-admission-secret",
                                                                 "namespace": SYSTEM},
              "stringData": {"tls.crt": "none", "tls.key": "none", "ca.crt": "none"}},
             {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "volcano-scheduler-configmap",
                                                                    "namespace": SYSTEM},
              "data": {"volcano-scheduler.conf": 'actions: "enqueue, allocate"\ntiers: []\n'}}]
    return made


def definitions(ours):
    """Custom resource definitions as another controller-gen wrote them: the same names, another schema."""
    made = copy.deepcopy(ours)
    for definition in made:
        definition["metadata"]["annotations"]["controller-gen.kubebuilder.io/version"] = "v0.20.0"
        for version in definition["spec"]["versions"]:
            version["schema"] = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return made


# --- jobs ---

class Jobs:
    """Makes jobs as its controller leaves them, in one namespace."""

    def __init__(self, api, namespace):
        self.api, self.ns = api, namespace

    def _owner(self, made):
        return [{"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": made["metadata"]["name"],
                 "uid": made["metadata"]["uid"], "controller": True, "blockOwnerDeletion": True}]

    def make(self, name, replicas=2, cpu="1", script=None, plugins=None):
        """A job with the fields that its webhook fills in, without status."""
        body = job(name, [task("w", replicas, minimum=replicas, cpu=cpu, script=script)], queue="default", maxRetry=3)
        if plugins:
            body["spec"]["plugins"] = plugins
        return self.api.create_job(self.ns, body)

    def status(self, made, phase, **counts):
        """Writes the status of a job."""
        now = made["metadata"]["creationTimestamp"]
        self.api.custom.patch_namespaced_custom_object_status(
            name=made["metadata"]["name"], **kind_of(JOBS, self.ns), body={"status": {
                "state": {"phase": phase, "lastTransitionTime": now}, "minAvailable": made["spec"]["minAvailable"],
                "conditions": [{"status": phase, "lastTransitionTime": now}], **counts}})

    def group(self, made, phase, **status):
        """The PodGroup of a job."""
        total = sum(one["replicas"] for one in made["spec"]["tasks"])
        name = f"{made['metadata']['name']}-{made['metadata']['uid']}"
        self.api.custom.create_namespaced_custom_object(**kind_of(PODGROUPS, self.ns), body={
            "apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup",
            "metadata": {"name": name, "ownerReferences": self._owner(made)},
            "spec": {"minMember": total, "minTaskMember": {"w": total}, "queue": "default",
                     "minResources": {"cpu": str(total), "pods": str(total), "count/pods": str(total)}},
            "status": {"phase": phase, **status}})
        return name

    def pods(self, made, group, version=0):
        """The pods of a job, without nodes; their names."""
        names = []
        spec = made["spec"]["tasks"][0]
        for index in range(spec["replicas"]):
            name = f"{made['metadata']['name']}-w-{index}"
            marks = {"volcano.sh/task-index": str(index), "volcano.sh/task-spec": "w",
                     "volcano.sh/job-name": made["metadata"]["name"], "volcano.sh/queue-name": "default"}
            self.api.core.create_namespaced_pod(self.ns, {
                "metadata": {"name": name, "ownerReferences": self._owner(made),
                             "labels": {**marks, "volcano.sh/job-namespace": self.ns},
                             "annotations": {**marks, "scheduling.k8s.io/group-name": group,
                                             "volcano.sh/job-version": str(version),
                                             "volcano.sh/job-retry-count": "0",
                                             "volcano.sh/template-uid": f"{made['metadata']['name']}-w"}},
                "spec": {**spec["template"]["spec"], "schedulerName": "volcano"}})
            names.append(name)
        return names

    def bind(self, pod, node):
        """What its scheduler does."""
        self.api.core.create_namespaced_binding(self.ns, {
            "metadata": {"name": pod}, "target": {"apiVersion": "v1", "kind": "Node", "name": node}},
            _preload_content=False)

    def svc_objects(self, made):
        """What its plugin svc makes: a ConfigMap with the hosts, and a Service."""
        name = made["metadata"]["name"]
        self.api.core.create_namespaced_config_map(self.ns, {
            "metadata": {"name": f"{name}-svc", "ownerReferences": self._owner(made)},
            "data": {"w.host": "\n".join(f"{name}-w-{i}.{name}" for i in range(2)), "VC_W_NUM": "2"}})
        self.api.core.create_namespaced_service(self.ns, {
            "metadata": {"name": name, "ownerReferences": self._owner(made)},
            "spec": {"clusterIP": "None", "selector": {"volcano.sh/job-name": name,
                                                       "volcano.sh/job-namespace": self.ns},
                     "ports": [{"name": "placeholder-volcano", "port": 1, "protocol": "TCP", "targetPort": 1}]}})
