"""The cluster as a user sees it, through the official Kubernetes client.

Objects are plain dictionaries, as they are on the wire. Objects are created with strict field
validation, so that a misspelt field in a test fails the test.
"""

import json

import kubernetes
from kubernetes.client.exceptions import ApiException

from .wait import wait_until

JOBS = ("batch.volcano.sh", "v1alpha1", "jobs")
PODGROUPS = ("scheduling.volcano.sh", "v1beta1", "podgroups")
QUEUES = ("scheduling.volcano.sh", "v1beta1", "queues")
JOB_LABEL = "volcano.sh/job-name"
TASK_LABEL = "volcano.sh/task-spec"


def kind_of(group_version_plural, namespace):
    """The keyword arguments that name a kind to CustomObjectsApi."""
    group, version, plural = group_version_plural
    return {"group": group, "version": version, "plural": plural,
            **({"namespace": namespace} if namespace else {})}


class Api:
    """Requests as one user of the control plane, "admin" unless told otherwise."""

    def __init__(self, plane, user="admin"):
        self.plane = plane
        self.client = kubernetes.config.new_client_from_config(str(plane.kubeconfig(user)))
        self.core = kubernetes.client.CoreV1Api(self.client)
        self.custom = kubernetes.client.CustomObjectsApi(self.client)
        self.storage = kubernetes.client.StorageV1Api(self.client)

    def close(self):
        """Closes the connections."""
        self.client.close()

    # Jobs

    def create_job(self, namespace, job, **options):
        """Creates a job; raises ApiException if it is refused."""
        return self.custom.create_namespaced_custom_object(
            body=job, field_validation="Strict", **kind_of(JOBS, namespace), **options)

    def job(self, namespace, name):
        """The job; raises ApiException if there is none."""
        return self.custom.get_namespaced_custom_object(name=name, **kind_of(JOBS, namespace))

    def jobs(self, namespace):
        """All jobs of a namespace."""
        return self.custom.list_namespaced_custom_object(**kind_of(JOBS, namespace))["items"]

    def patch_job(self, namespace, name, operations):
        """Applies a JSON Patch, a list of operations."""
        return self.custom.patch_namespaced_custom_object(
            name=name, body=operations, field_validation="Strict",
            _content_type="application/json-patch+json", **kind_of(JOBS, namespace))

    def scale_job(self, namespace, name, replicas, minimum=None, task=0):
        """Sets the replicas of one task, and the job's minAvailable if given."""
        operations = [{"op": "replace", "path": f"/spec/tasks/{task}/replicas", "value": replicas}]
        if minimum is not None:
            operations += [
                {"op": "replace", "path": "/spec/minAvailable", "value": minimum},
                {"op": "add", "path": f"/spec/tasks/{task}/minAvailable", "value": minimum}]
        return self.patch_job(namespace, name, operations)

    def delete_job(self, namespace, name):
        """Deletes a job; what it owns is left to the garbage collector."""
        self.custom.delete_namespaced_custom_object(name=name, propagation_policy="Background",
                                                    **kind_of(JOBS, namespace))

    def phase(self, namespace, name):
        """The phase of a job, "" if it has none yet."""
        return self.job(namespace, name).get("status", {}).get("state", {}).get("phase", "")

    def wait_phase(self, namespace, name, phases, timeout=60):
        """Waits until the job is in a phase, or in one of a tuple of phases; returns the job."""
        wanted = (phases,) if isinstance(phases, str) else phases

        def reached():
            job = self.job(namespace, name)
            found = job.get("status", {}).get("state", {}).get("phase", "")
            return job if found in wanted else None
        return wait_until(reached, timeout, lambda: f"job {name} {' or '.join(wanted)}; "
                                                    f"{self.why(namespace, name)}")

    def why(self, namespace, name):
        """What a job says about itself, on one line: phase, reason, message, conditions."""
        try:
            status = self.job(namespace, name).get("status", {})
        except ApiException as error:
            return f"job {name}: {error.reason}"
        state = status.get("state", {})
        counts = {key: status[key] for key in ("pending", "running", "succeeded", "failed",
                                               "terminating") if status.get(key)}
        return (f"phase {state.get('phase', '')!r}, reason {state.get('reason', '')!r}, "
                f"message {state.get('message', '')!r}, counts {counts}, "
                f"podgroup: {self.podgroup_conditions(namespace, name)}")

    # What belongs to jobs

    def podgroup_of(self, namespace, job_name):
        """The PodGroup that the job owns, or None."""
        uid = self.job(namespace, job_name)["metadata"]["uid"]
        listed = self.custom.list_namespaced_custom_object(**kind_of(PODGROUPS, namespace))
        for podgroup in listed["items"]:
            owners = podgroup["metadata"].get("ownerReferences", [])
            if any(owner["uid"] == uid for owner in owners):
                return podgroup
        return None

    def podgroup_conditions(self, namespace, job_name):
        """The conditions of the job's PodGroup as a list of short texts."""
        podgroup = self.podgroup_of(namespace, job_name)
        if podgroup is None:
            return []
        return [f"{c.get('type')}={c.get('status')} {c.get('reason', '')}: {c.get('message', '')}"
                for c in podgroup.get("status", {}).get("conditions", [])]

    def pods(self, namespace, selector=""):
        """The pods of a namespace that match a label selector."""
        answer = self.core.list_namespaced_pod(namespace, label_selector=selector,
                                               _preload_content=False)
        return json.loads(answer.data)["items"]

    def pods_of(self, namespace, job_name, task=None):
        """The pods of a job, or of one of its tasks."""
        selector = f"{JOB_LABEL}={job_name}"
        return self.pods(namespace, selector + (f",{TASK_LABEL}={task}" if task else ""))

    def bound_pods(self, namespace, job_name):
        """The pods of a job that a node was chosen for."""
        return [pod for pod in self.pods_of(namespace, job_name) if pod["spec"].get("nodeName")]

    def wait_pods(self, namespace, job_name, count, phase=None, timeout=60):
        """Waits until the job has exactly count pods (in that phase, if given); returns them."""
        def reached():
            found = [pod for pod in self.pods_of(namespace, job_name)
                     if phase is None or pod["status"].get("phase") == phase]
            # A list of none is what was waited for too.
            return (found,) if len(found) == count else None
        return wait_until(reached, timeout, lambda: f"job {job_name} with {count} pods in phase "
                          f"{phase or 'any'}; {self.why(namespace, job_name)}")[0]

    def events(self, namespace, name=None):
        """The events of a namespace, or those about one object."""
        selector = f"involvedObject.name={name}" if name else ""
        answer = self.core.list_namespaced_event(namespace, field_selector=selector,
                                                 _preload_content=False)
        return json.loads(answer.data)["items"]

    # Queues, nodes, namespaces

    def create_queue(self, queue):
        """Creates a queue; raises ApiException if it is refused."""
        return self.custom.create_cluster_custom_object(
            body=queue, field_validation="Strict", **kind_of(QUEUES, None))

    def queue(self, name):
        """The queue; raises ApiException if there is none."""
        return self.custom.get_cluster_custom_object(name=name, **kind_of(QUEUES, None))

    def delete_queue(self, name):
        """Deletes a queue."""
        self.custom.delete_cluster_custom_object(name=name, **kind_of(QUEUES, None))

    def create_pod(self, namespace, pod):
        """Creates a pod."""
        return self.core.create_namespaced_pod(namespace, pod, field_validation="Strict")

    def bind(self, namespace, name, node):
        """Binds a pod to a node, as a scheduler does."""
        body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name},
                "target": {"apiVersion": "v1", "kind": "Node", "name": node}}
        self.core.create_namespaced_pod_binding(name, namespace, body, _preload_content=False)

    def evict(self, namespace, name, uid=None, grace=None):
        """Evicts a pod through the eviction API; with uid only that one."""
        options = {**({"preconditions": {"uid": uid}} if uid else {}),
                   **({"gracePeriodSeconds": grace} if grace is not None else {})}
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name},
                "deleteOptions": options}
        self.core.create_namespaced_pod_eviction(name, namespace, body, _preload_content=False)

    def cordon(self, node, unschedulable=True):
        """Makes a node unschedulable, or schedulable again."""
        self.core.patch_node(node, {"spec": {"unschedulable": unschedulable or None}})

    def taint(self, node, key=None, effect="NoSchedule", value="test"):
        """Gives a node one taint and no other; without a key it has none afterwards."""
        taints = [{"key": key, "value": value, "effect": effect}] if key else None
        self.core.patch_node(node, {"spec": {"taints": taints}})

    def make_namespace(self, name):
        """Creates a namespace and waits until pods can be created in it."""
        self.core.create_namespace({"metadata": {"name": name}})
        # After a restart of the API server the controller manager may look away for half a minute.
        wait_until(lambda: self.core.read_namespaced_service_account("default", name), 120,
                   f"service account default in namespace {name}")
        return name

    def remove_namespace(self, name, timeout=60):
        """Empties a namespace at once and deletes it; returns when no pod of it is left.

        Grace periods are not waited for; the namespace itself goes some seconds later.
        """
        for kind in (JOBS, PODGROUPS):
            try:
                self.custom.delete_collection_namespaced_custom_object(
                    propagation_policy="Background", _preload_content=False, **kind_of(kind, name))
            except ApiException as error:
                if error.status != 404:  # no CRD in this control plane
                    raise

        def empty():
            self.core.delete_collection_namespaced_pod(name, grace_period_seconds=0,
                                                       _preload_content=False)
            return not self.core.list_namespaced_pod(name, limit=1).items
        wait_until(empty, timeout, f"namespace {name} without pods", interval=0.3)
        self.core.delete_namespace(name)
