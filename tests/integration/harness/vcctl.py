"""The command-line client of the Volcano API, replayed: its requests as it sends them, and what it prints.

Each method is one command. It sends the same requests as `vcctl` and the `v*` tools (verb, path, query,
content type, and a body with the fields that a Go client of these types writes), through the certificate of
the administrator, and gives what the command would print as dictionaries by the heads of its columns.
"""

from urllib.parse import quote

import yaml

BATCH = "/apis/batch.volcano.sh/v1alpha1"
BUS = "/apis/bus.volcano.sh/v1alpha1"
SCHEDULING = "/apis/scheduling.volcano.sh/v1beta1"
FLOW = "/apis/flow.volcano.sh/v1alpha1"
JOB_NAME = "volcano.sh/job-name"
PODGROUP_PHASES = ("Inqueue", "Pending", "Running", "Unknown", "Completed")
SIZE = {"cpu": "1", "memory": "100Mi"}  # 1000m of CPU is written as 1


def go(path, kind, metadata, nulls=False, **members):
    """An object as Go writes it; clients built with Kubernetes before 1.34 write times that are not set as null."""
    unset = {"creationTimestamp": None} if nulls else {}
    return {"kind": kind, "apiVersion": path.removeprefix("/apis/"),
            "metadata": {**metadata, **unset}, **members}


def controller_of(path, kind, owner):
    """The reference to an object as the controller of another one."""
    return {"apiVersion": path.removeprefix("/apis/"), "kind": kind, "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"], "controller": True, "blockOwnerDeletion": True}


class Refused(Exception):
    """The command refuses its arguments itself; it has sent no request that changes anything."""


class Vcctl:
    """The commands; nulls=True is a client of before Kubernetes 1.34."""

    def __init__(self, plane, nulls=False):
        self.plane, self.nulls = plane, nulls
        self.requests = []  # (verb, path with query) of all that was sent

    def _send(self, verb, path, body=None, content_type=None):
        self.requests.append((verb, path))
        return self.plane.request(verb, path, body, content_type=content_type)

    def _delete(self, group, path):
        """Deletes with options that say nothing: what hangs on the object goes in the background."""
        self._send("DELETE", group + path, {"kind": "DeleteOptions", "apiVersion": group.removeprefix("/apis/")})

    # Jobs

    def _job(self, namespace, name):
        return self._send("GET", f"{BATCH}/namespaces/{namespace}/jobs/{name}")

    def job_run(self, name="", namespace="default", image="busybox", minimum=1, replicas=1, requests=None,
                limits=None, scheduler="volcano", command=None, filename=None):
        """vcctl job run; with a command it is vsub. filename: a job as a file holds it."""
        if filename is not None:
            job = yaml.safe_load(filename.read_text())
            job.setdefault("status", {"state": {"lastTransitionTime": None}})
        else:
            job = self._built(name, namespace, scheduler, minimum, replicas, {
                "name": name, "image": image, **({"command": command} if command else {}),
                "resources": {"limits": limits or SIZE, "requests": requests or SIZE},
                "imagePullPolicy": "IfNotPresent"})
        made = self._send("POST", f"{BATCH}/namespaces/{namespace}/jobs", job)
        return f"run job {made['metadata']['name']} successfully"

    def _built(self, name, namespace, scheduler, minimum, replicas, container):
        metadata = {"name": name, **({"creationTimestamp": None} if self.nulls else {}),
                    "labels": {"job.volcano.sh": name}}
        template = {"metadata": metadata, "spec": {"containers": [container], "restartPolicy": "Never"}}
        return go(BATCH, "Job", {"name": name, "namespace": namespace}, self.nulls,
                  spec={"schedulerName": scheduler, "minAvailable": minimum,
                        "tasks": [{"replicas": replicas, "template": template}]},
                  status={"state": {"lastTransitionTime": None}})

    def job_list(self, namespace="default", queue="", scheduler="", everywhere=False, selector=""):
        """vcctl job list and vjobs: rows by name. The filters are the client's own."""
        within = "" if everywhere else f"/namespaces/{namespace}"
        rows = {}
        for job in self._send("GET", f"{BATCH}{within}/jobs")["items"]:
            spec, metadata = job["spec"], job["metadata"]
            if (scheduler and spec.get("schedulerName") != scheduler or queue and spec.get("queue") != queue
                    or selector not in metadata["name"]):
                continue
            status = job.get("status", {})
            row = {"Namespace": metadata["namespace"]} if everywhere else {}
            rows[metadata["name"]] = {
                **row, "Name": metadata["name"], "Creation": metadata["creationTimestamp"][:10],
                "Phase": status.get("state", {}).get("phase", ""),
                "JobType": metadata.get("labels", {}).get("volcano.sh/job-type", "Batch"),
                "Replicas": sum(task.get("replicas", 0) for task in spec["tasks"]),
                "Min": spec.get("minAvailable", 0), "RetryCount": status.get("retryCount", 0),
                **{head: status.get(head.lower(), 0)
                   for head in ("Pending", "Running", "Succeeded", "Failed", "Unknown")}}
        return rows

    def job_view(self, namespace, name):
        """vcctl job view: (what its sections show, its table of events). Events are found by their own names."""
        job = self._job(namespace, name)
        listed = self._send("GET", f"/api/v1/namespaces/{namespace}/events")["items"]
        events = [{"Type": event["type"], "Reason": event["reason"], "Form": event["source"]["component"],
                   "Message": event["message"].strip(), "First": event["firstTimestamp"],
                   "Last": event["lastTimestamp"], "Count": event["count"]}
                  for event in listed if event["metadata"]["name"].startswith(f"{name}.")]
        spec, status = job["spec"], job.get("status", {})
        shown = {"Name": job["metadata"]["name"], "Namespace": job["metadata"]["namespace"],
                 "Min Available": spec.get("minAvailable", 0), "Scheduler Name": spec.get("schedulerName", ""),
                 "Plugins": spec.get("plugins", {}),
                 "Tasks": [(task.get("name", ""), task.get("replicas", 0)) for task in spec["tasks"]],
                 "Phase": status.get("state", {}).get("phase", ""),
                 "Controlled Resources": status.get("controlledResources", {}),
                 "Conditions": [one["status"] for one in status.get("conditions", [])]}
        for member in ("succeeded", "pending", "running", "failed", "terminating", "unknown", "retryCount",
                       "version"):
            if status.get(member, 0) > 0:
                shown[member] = status[member]
        return shown, events

    def _command(self, target, kind, group, namespace, action):
        reference = controller_of(group, kind, target)
        metadata = {"generateName": f"{target['metadata']['name']}-{action.lower()}-",
                    **({"namespace": target["metadata"]["namespace"]} if kind == "Job" else {}),
                    "ownerReferences": [reference]}
        self._send("POST", f"{BUS}/namespaces/{namespace}/commands",
                   go(BUS, "Command", metadata, self.nulls, action=action, target=reference))

    def job_suspend(self, namespace, name):
        """vcctl job suspend and vsuspend; prints nothing."""
        self._command(self._job(namespace, name), "Job", BATCH, namespace, "AbortJob")

    def job_resume(self, namespace, name):
        """vcctl job resume and vresume; prints nothing."""
        self._command(self._job(namespace, name), "Job", BATCH, namespace, "ResumeJob")

    def job_delete(self, namespace, name):
        """vcctl job delete and vcancel."""
        self._delete(BATCH, f"/namespaces/{namespace}/jobs/{name}")
        return f"delete job {name} successfully"

    # Queues

    def queue_create(self, name="test", weight=1, state="Open"):
        """vcctl queue create; prints nothing."""
        self._send("POST", f"{SCHEDULING}/queues", go(
            SCHEDULING, "Queue", {"name": name}, self.nulls, spec={"weight": weight, "guarantee": {}},
            status={"state": state, "reservation": {}, "allocated": None}))

    def queue_delete(self, name):
        """vcctl queue delete; prints nothing."""
        self._delete(SCHEDULING, f"/queues/{name}")

    def queue_operate(self, name, action, weight=0):
        """vcctl queue operate; prints nothing."""
        if action == "update":
            if weight == 0:
                raise Refused("weight must be specified")
            self._send("PATCH", f"{SCHEDULING}/queues/{name}", {"spec": {"weight": weight}},
                       "application/merge-patch+json")
            return
        actions = {"open": "OpenQueue", "close": "CloseQueue"}
        if action not in actions:
            raise Refused(f"action {action} invalid")
        queue = self._send("GET", f"{SCHEDULING}/queues/{name}")
        self._command(queue, "Queue", SCHEDULING, "default", actions[action])

    def _queue_rows(self, queues):
        counts = {}
        for group in self._send("GET", f"{SCHEDULING}/podgroups")["items"]:
            key = group["spec"].get("queue", ""), group.get("status", {}).get("phase", "")
            counts[key] = counts.get(key, 0) + 1
        return {queue["metadata"]["name"]: {
            "Name": queue["metadata"]["name"], "Weight": queue["spec"].get("weight", 0),
            "State": queue.get("status", {}).get("state", ""), "Parent": queue["spec"].get("parent", ""),
            **{phase: counts.get((queue["metadata"]["name"], phase), 0) for phase in PODGROUP_PHASES}}
            for queue in queues}

    def queue_list(self):
        """vcctl queue list: rows by name, with the PodGroups counted by phase."""
        return self._queue_rows(self._send("GET", f"{SCHEDULING}/queues")["items"])

    def queue_get(self, name):
        """vcctl queue get: the row."""
        return self._queue_rows([self._send("GET", f"{SCHEDULING}/queues/{name}")])[name]

    def vqueues(self):
        """vqueues: rows by name, all from the queue's own status."""
        return {queue["metadata"]["name"]: {
            "Weight": queue["spec"].get("weight", 0), "State": queue.get("status", {}).get("state", ""),
            **{phase: queue.get("status", {}).get(phase.lower(), 0) for phase in PODGROUP_PHASES[:4]}}
            for queue in self._send("GET", f"{SCHEDULING}/queues")["items"]}

    # Pods

    def pod_list(self, namespace="default", job="", queue="", everywhere=False):
        """vcctl pod list: rows, sorted by namespace and name."""
        within = "" if everywhere else f"/namespaces/{namespace}"
        selector = f"{JOB_NAME} in ({job})" if job else "" if queue else JOB_NAME
        query = f"?labelSelector={quote(selector)}" if selector else ""
        rows = []
        for pod in self._send("GET", f"/api/v1{within}/pods{query}")["items"]:
            metadata = pod["metadata"]
            of_queue = {metadata.get("labels", {}).get("volcano.sh/queue-name"),
                        metadata.get("annotations", {}).get("scheduling.volcano.sh/queue-name")}
            if queue and queue not in of_queue:
                if job:
                    raise Refused(f"the input vcjob {job} does not match the queue {queue}")
                continue
            containers = pod["status"].get("containerStatuses", [])
            rows.append({
                "Namespace": metadata["namespace"], "Name": metadata["name"],
                "Ready": f"{sum(one['ready'] for one in containers)}/{len(pod['spec']['containers'])}",
                "Status": pod["status"]["phase"], "Restart": sum(one["restartCount"] for one in containers)})
        return sorted(rows, key=lambda row: (row["Namespace"], row["Name"]))

    # Flows and templates

    def flow_create(self, plural, text, namespace="default"):
        """vcctl jobflow create and jobtemplate create: one object for each part of the file; what it prints."""
        printed = []
        for part in filter(str.strip, text.split("---")):
            made = yaml.safe_load(part)
            within = made["metadata"].setdefault("namespace", namespace)
            made["status"] = {"state": {}} if plural == "jobflows" else {}
            self._send("POST", f"{FLOW}/namespaces/{within}/{plural}", made)
            printed.append(f"Created {made['kind']}: {within}/{made['metadata']['name']}")
        return printed

    def flow_get(self, plural, namespace, name):
        """vcctl jobflow get and jobtemplate get: the row."""
        return self._flow_row(self._send("GET", f"{FLOW}/namespaces/{namespace}/{plural}/{name}"))

    def flow_list(self, plural, namespace="default", everywhere=False):
        """vcctl jobflow list and jobtemplate list: rows by name."""
        within = "" if everywhere else f"/namespaces/{namespace}"
        return {one["metadata"]["name"]: self._flow_row(one)
                for one in self._send("GET", f"{FLOW}{within}/{plural}")["items"]}

    @staticmethod
    def _flow_row(found):
        row = {"Name": found["metadata"]["name"], "Namespace": found["metadata"]["namespace"]}
        if found["kind"] == "JobFlow":
            row["Phase"] = found.get("status", {}).get("state", {}).get("phase", "")
        return row

    def flow_describe(self, plural, namespace, name):
        """vcctl jobflow describe and jobtemplate describe: the object without what the server keeps for itself."""
        found = self._send("GET", f"{FLOW}/namespaces/{namespace}/{plural}/{name}")
        found["metadata"].pop("managedFields", None)
        return found

    def flow_delete(self, plural, namespace, name):
        """vcctl jobflow delete and jobtemplate delete by name: it looks before it deletes."""
        kind = self._send("GET", f"{FLOW}/namespaces/{namespace}/{plural}/{name}")["kind"]
        self._delete(FLOW, f"/namespaces/{namespace}/{plural}/{name}")
        return f"Deleted {kind}: {namespace}/{name}"
