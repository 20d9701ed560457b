"""What a failed test shows: the namespace's objects, its events, and the last log lines."""

from cluster_process import tail

from .api import PODGROUPS, QUEUES, kind_of

MAX_PODS = 30


def describe(api, namespace, pumice=None):
    """A text that tells the state of a namespace. Never raises."""
    parts = [attempt(title, function, api, namespace) for title, function in (
        ("jobs", jobs), ("podgroups", podgroups), ("pods", pods), ("queues", queues),
        ("events", events))]
    for binary in pumice.all if pumice else ():
        state = f"process {binary.pid()}" if binary.running() else f"ended, {binary.exit_code()}"
        parts.append(f"--- {binary.log} ({state})\n{tail(binary.log, 40)}")
    return "\n".join(parts)


def attempt(title, function, api, namespace):
    """One section; an error becomes its text."""
    try:
        lines = function(api, namespace)
    except Exception as error:  # a report must not hide the failure it reports
        lines = [f"cannot be listed: {error}"]
    return f"--- {title}\n" + "\n".join(f"  {line}" for line in lines or ["none"])


def jobs(api, namespace):
    """One line a job."""
    return [f"{job['metadata']['name']}: {api.why(namespace, job['metadata']['name'])}"
            for job in api.jobs(namespace)]


def podgroups(api, namespace):
    """One line a PodGroup."""
    listed = api.custom.list_namespaced_custom_object(**kind_of(PODGROUPS, namespace))
    return [f"{p['metadata']['name']}: spec {p.get('spec')}, status {p.get('status')}"
            for p in listed["items"]]


def pods(api, namespace):
    """One line a pod, for the first of them."""
    found = api.pods(namespace)
    lines = []
    for pod in found[:MAX_PODS]:
        waiting = "".join(f", {c['type']}={c['status']} {c.get('message', '')}"
                          for c in pod["status"].get("conditions", []) if c["status"] != "True")
        deleted = ", being deleted" if "deletionTimestamp" in pod["metadata"] else ""
        lines.append(f"{pod['metadata']['name']}: {pod['status'].get('phase')} on "
                     f"{pod['spec'].get('nodeName')}{deleted}{waiting}")
    more = len(found) - MAX_PODS
    return lines + ([f"and {more} more"] if more > 0 else [])


def queues(api, _namespace):
    """One line a queue."""
    listed = api.custom.list_cluster_custom_object(**kind_of(QUEUES, None))
    return [f"{q['metadata']['name']}: spec {q.get('spec')}, status {q.get('status')}"
            for q in listed["items"]]


def events(api, namespace):
    """One line an event, oldest first, the last 40 of them."""
    found = sorted(api.events(namespace), key=lambda e: e.get("lastTimestamp") or "")
    return [f"{e.get('lastTimestamp')} {e['involvedObject'].get('kind')}/"
            f"{e['involvedObject'].get('name')} {e.get('type')} {e.get('reason')}: "
            f"{e.get('message')} (x{e.get('count', 1)})" for e in found[-40:]]
