"""Builders for the objects that tests create. They give plain dictionaries."""


def task(name, replicas=1, minimum=None, cpu="100m", memory="128Mi", script=None, **pod_spec):
    """A task of a job.

    script is what the pod does in the language of kwok-stages.yaml ("sleep 5; exit 1"); None is a
    pod that never ends. pod_spec adds to the pod's spec (nodeSelector=..., tolerations=...).
    """
    container = {"name": "main", "image": "busybox:1.36",
                 "resources": {"requests": {"cpu": cpu, "memory": memory}}}
    if script is not None:
        container["command"] = ["sh", "-c", script]
    made = {"name": name, "replicas": replicas,
            "template": {"spec": {"restartPolicy": "Never", "containers": [container], **pod_spec}}}
    if minimum is not None:
        made["minAvailable"] = minimum
    return made


def job(name, tasks, minimum=None, **spec):
    """A job; minimum is its minAvailable, by default all replicas. spec adds to its spec."""
    if minimum is None:
        minimum = sum(one["replicas"] for one in tasks)
    return {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": name},
            "spec": {"schedulerName": "volcano", "minAvailable": minimum, "tasks": tasks, **spec}}


def volume(name, storage_class="", node=None, zone=None, size="1Gi"):
    """A PersistentVolume; on one node, or in a zone by its label."""
    spec = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": size},
            "persistentVolumeReclaimPolicy": "Retain", "storageClassName": storage_class,
            "hostPath": {"path": f"/volumes/{name}"}}
    if node:
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": [
            {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]}]}}
    labels = {"topology.kubernetes.io/zone": zone} if zone else {}
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name, "labels": labels},
            "spec": spec}


def claim(name, storage_class="", size="1Gi", **spec):
    """A PersistentVolumeClaim."""
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name},
            "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": storage_class,
                     "resources": {"requests": {"storage": size}}, **spec}}


def with_claim(made, name):
    """A task whose pods mount a claim."""
    spec = made["template"]["spec"]
    spec["volumes"] = [*spec.get("volumes", ()), {"name": name, "persistentVolumeClaim": {"claimName": name}}]
    spec["containers"][0].setdefault("volumeMounts", []).append({"name": name, "mountPath": f"/{name}"})
    return made


def queue(name, **spec):
    """A queue."""
    return {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue",
            "metadata": {"name": name}, "spec": {"weight": 1, **spec}}


def pod(name, scheduler="nobody", cpu="100m", script=None):
    """A plain pod; by default no scheduler cares for it."""
    spec = task(name, cpu=cpu, script=script)["template"]["spec"]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {"schedulerName": scheduler, **spec}}
