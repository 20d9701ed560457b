"""What an audit log says about a fan-out run: who wrote what, when, and how long each thing waited.

The log is the API server's own (level Metadata, one JSON document a line), so that neither our logs
nor our metrics have to be believed. Starts are requestReceivedTimestamp, ends are stageTimestamp.

Names follow tests/bench/loadgen: a job is "jNNNNN", its PodGroup "jNNNNN-UID", its pods
"jNNNNN-main-INDEX", so the part before the first "-" says which job an object belongs to.
"""

import json
from collections import Counter, defaultdict
from datetime import datetime

CLIENTS = {
    "system:serviceaccount:volcano-system:volcano-controllers": "controller",
    "system:serviceaccount:volcano-system:volcano-scheduler": "scheduler",
    "system:serviceaccount:volcano-system:volcano-admission": "webhook",
    "system:apiserver": "kube-apiserver",
    "admin": "user",
    "kwok": "kwok",
}
OURS = ("controller", "scheduler", "webhook")
COUNTED_APART = ("leases", "events")
WRITES_PER_JOB = 5


def seconds(timestamp):
    """The seconds since 1970 of an audit log's timestamp."""
    return datetime.fromisoformat(timestamp.replace("Z", "+00:00")).timestamp()


class Write:
    """One answered write: what of an audit record matters here."""

    def __init__(self, record):
        target = record.get("objectRef", {})
        name = record.get("user", {}).get("username", "")
        self.client = CLIENTS.get(name) or name.rsplit(":", 1)[-1]
        self.verb = record["verb"]
        self.resource = "/".join(filter(None, (target.get("resource"), target.get("subresource"))))
        self.namespace = target.get("namespace", "")
        self.name = target.get("name", "")
        self.code = record.get("responseStatus", {}).get("code", 0)
        self.begin = seconds(record["requestReceivedTimestamp"])
        self.end = seconds(record["stageTimestamp"])

    @property
    def ok(self):
        """True if the request succeeded."""
        return 200 <= self.code < 300

    @property
    def job(self):
        """The name of the job that the object belongs to."""
        return self.name.split("-", 1)[0]

    def does(self, verb, *resources):
        """True if this is that verb on one of these resources ("pods", "pods/binding")."""
        return self.verb == verb and self.resource in resources

    def __str__(self):
        return f"{self.client} {self.verb} {self.resource} {self.name}"


def parse(lines):
    """The writes of a log, in order of their arrival. Dry runs change nothing and do not count."""
    records = (json.loads(line) for line in lines)
    writes = [Write(record) for record in records
              if record.get("stage") == "ResponseComplete"
              and "dryRun=" not in record.get("requestURI", "")]
    return sorted(writes, key=lambda write: (write.begin, write.end))


def relevant(writes, namespace):
    """The writes in a namespace, and those of our binaries wherever they are."""
    return [w for w in writes if w.namespace == namespace or w.client in OURS]


def summarise(writes, namespace, jobs, pods):
    """All figures of one run of `jobs` jobs of `pods` pods, as a dictionary that JSON can hold."""
    writes = relevant(writes, namespace)
    inside = [w for w in writes if w.namespace == namespace]
    submits = [w for w in inside if w.does("create", "jobs")]
    posts = [w for w in inside if w.does("create", "pods")]
    binds = [w for w in inside if w.does("create", "pods/binding")]
    created = sorted((w for w in posts if w.ok), key=lambda w: w.end)
    bound = sorted((w for w in binds if w.ok), key=lambda w: w.end)
    if not submits or not created or not bound:
        raise ValueError(f"namespace {namespace}: {len(submits)} jobs, {len(created)} pods and "
                         f"{len(bound)} binds in the audit log; there is nothing to measure")
    start, end = submits[0].begin, bound[-1].end
    return {
        "jobs": len(submits), "pods_wanted": jobs * pods,
        "pod_posts": len(posts), "pod_creates": len(created),
        "surplus_creates": len(posts) - jobs * pods,
        "bind_posts": len(binds), "binds": len(bound),
        "conflicts": sum(w.code == 409 for w in writes),
        "failures": failures(writes),
        "whole_run_s": end - start,
        "bound_per_s": len(bound) / (end - start),
        "gap": longest_gap(created, start),
        "creates": load(posts), "binds_load": load(binds),
        "milestones": milestones(inside, start),
        "idle": idle(inside, start, end),
        "per_second": {"creates": per_second(created, start), "binds": per_second(bound, start)},
        "budget": budget(inside),
        "apart": apart(writes),
        "events_in_run": sum(w.resource == "events" and w.begin < end for w in inside),
        "writes": table(writes),
    }


def failures(writes):
    """The refused writes: {"client verb resource code": count}."""
    return dict(Counter(f"{w.client} {w.verb} {w.resource} {w.code}" for w in writes if not w.ok))


def table(writes):
    """Rows (client, verb, resource, code, count), largest count first."""
    counts = Counter((w.client, w.verb, w.resource, w.code) for w in writes)
    rows = [[*key, count] for key, count in counts.items()]
    return sorted(rows, key=lambda row: (-row[4], row))


def apart(writes):
    """Writes of Leases and Events, which the budget leaves out."""
    return {kind: sum(w.resource == kind for w in writes) for kind in COUNTED_APART}


def longest_gap(created, start):
    """The longest time between two consecutive creates, and where it was."""
    steps = [(after.end - before.end, before, after) for before, after in zip(created, created[1:])]
    if not steps:
        return {"seconds": 0.0}
    gap, before, after = max(steps, key=lambda step: step[0])
    return {"seconds": gap, "from_s": before.end - start, "before": before.name,
            "after": after.name}


def load(writes):
    """How one kind of request ran: rate, latency, and how many were in flight on average."""
    times = sorted(w.end - w.begin for w in writes)
    first, last = min(w.begin for w in writes), max(w.end for w in writes)
    span = max(last - first, 1e-6)
    return {"span_s": span, "per_s": len(writes) / span, "in_flight": sum(times) / span,
            "p50_ms": 1000 * quantile(times, 0.5), "p99_ms": 1000 * quantile(times, 0.99),
            "max_ms": 1000 * times[-1]}


def quantile(ordered, q):
    """The value at a fraction q of a sorted list."""
    return ordered[int(q * (len(ordered) - 1))]


def milestones(inside, start):
    """When each kind of write began and ended, in seconds since the first job."""
    found = {}
    for w in inside:
        if w.resource in COUNTED_APART:
            continue
        key = f"{w.client} {w.verb} {w.resource}"
        first, last = found.get(key, (w.begin, w.end))
        found[key] = (min(first, w.begin), max(last, w.end))
    return {key: [first - start, last - start] for key, (first, last) in found.items()}


def idle(inside, start, end, count=5):
    """The time in which no write but KWOK's was in flight, and the longest such spans."""
    busy, spans, last = start, [], None
    for w in inside:
        if w.client == "kwok" or w.resource in COUNTED_APART or w.begin > end:
            continue
        if w.begin > busy and last is not None:
            spans.append({"seconds": w.begin - busy, "from_s": busy - start, "after": str(last),
                          "before": str(w)})
        if w.end > busy:
            busy, last = w.end, w
    return {"seconds": sum(span["seconds"] for span in spans),
            "longest": sorted(spans, key=lambda span: -span["seconds"])[:count]}


def per_second(writes, start):
    """How many ended in each second of the run."""
    counts = Counter(int(w.end - start) for w in writes)
    return [counts[second] for second in range(max(counts) + 1)]


def budget(inside):
    """Job and PodGroup writes of each job against what it may have.

    A job may have WRITES_PER_JOB, and one more for each second in which its counts change: one
    in which a pod of it is created, or has its status written by its kubelet. The user's own
    create of the job does not count.
    """
    written, changes, kinds = Counter(), defaultdict(set), Counter()
    for w in inside:
        if w.resource.split("/")[0] in ("jobs", "podgroups"):
            if not w.does("create", "jobs"):
                written[w.job] += 1
                kinds[f"{w.client} {w.verb} {w.resource}"] += 1
        elif w.does("create", "pods") or (w.client == "kwok" and w.resource == "pods/status"):
            changes[w.job].add(int(w.end))
    allowed = {job: WRITES_PER_JOB + len(changes[job]) for job in written}
    over = {job: [written[job], allowed[job]] for job in sorted(written)
            if written[job] > allowed[job]}
    return {"written": sum(written.values()), "allowed": sum(allowed.values()),
            "per_job_max": max(written.values(), default=0), "kinds": dict(kinds), "over": over}
