"""What an audit log says about a fan-out run: who wrote what, when, and how long each thing waited.

The log is the API server's own (level Metadata, one JSON document a line), so that neither our logs
nor our metrics have to be believed. Starts are requestReceivedTimestamp, ends are stageTimestamp.

Names follow tests/bench/loadgen: a job is "jNNNNN", its PodGroup "jNNNNN-UID", its pods
"jNNNNN-main-INDEX", so the part before the first "-" says which job an object belongs to.
"""

import json
from collections import Counter, defaultdict
from datetime import datetime

import curves

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
READS = ("get", "list", "watch")
UNKNOWN = "(unknown)"  # a client that nobody has seen
KUBELETS = ("kwok", "kubelet")
WRITES_PER_JOB = 5
OVER_NAMED = 20  # most jobs over their budget that are named


def seconds(timestamp):
    """The seconds since 1970 of an audit log's timestamp."""
    return datetime.fromisoformat(timestamp.replace("Z", "+00:00")).timestamp()


def client_of(username):
    """The short name of a client; all nodes' agents are one."""
    if username.startswith("system:node:"):
        return "kubelet"
    return CLIENTS.get(username) or username.rsplit(":", 1)[-1]


class Request:
    """One answered request: what of an audit record matters here."""

    def __init__(self, record):
        target = record.get("objectRef", {})
        self.client = client_of(record.get("user", {}).get("username", ""))
        self.verb = record["verb"]
        self.resource = "/".join(filter(None, (target.get("resource"), target.get("subresource"))))
        self.namespace = target.get("namespace", "")
        self.name = target.get("name", "")
        self.code = record.get("responseStatus", {}).get("code", 0)
        self.begin = seconds(record["requestReceivedTimestamp"])
        self.end = seconds(record["stageTimestamp"])

    @classmethod
    def made(cls, client, verb, resource, namespace, name, time):
        """A request that is known from elsewhere: one that succeeded at that moment."""
        request = cls.__new__(cls)
        request.client, request.verb, request.resource = client, verb, resource
        request.namespace, request.name, request.code = namespace, name, 200
        request.begin = request.end = time
        return request

    @property
    def is_write(self):
        """True unless it only reads."""
        return self.verb not in READS

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


def counts(record):
    """True for the record that stands for its request: a watch counts when it begins, all else at
    its end. Dry runs change nothing and do not count."""
    stage = "ResponseStarted" if record["verb"] == "watch" else "ResponseComplete"
    return record.get("stage") == stage and "dryRun=" not in record.get("requestURI", "")


def parse(lines):
    """The requests of a log, in order of their arrival."""
    records = (json.loads(line) for line in lines)
    requests = [Request(record) for record in records if counts(record)]
    return sorted(requests, key=lambda request: (request.begin, request.end))


def relevant(requests, namespace):
    """The requests in a namespace, and those of our binaries wherever they are."""
    return [r for r in requests if r.namespace == namespace or r.client in OURS]


class Run:
    """The requests of one run, sorted out: what all figures are made of."""

    def __init__(self, requests, namespace):
        self.requests = relevant(requests, namespace)
        self.writes = [r for r in self.requests if r.is_write]
        self.inside = [w for w in self.writes if w.namespace == namespace]
        self.submits = [w for w in self.inside if w.does("create", "jobs")]
        self.posts = [w for w in self.inside if w.does("create", "pods")]
        self.binds = [w for w in self.inside if w.does("create", "pods/binding")]
        self.created = sorted((w for w in self.posts if w.ok), key=lambda w: w.end)
        self.bound = sorted((w for w in self.binds if w.ok), key=lambda w: w.end)
        self.running = first_of_each(w for w in self.inside if w.client in KUBELETS and w.ok
                                     and w.resource == "pods/status")
        if not self.submits or not self.created or not self.bound:
            raise ValueError(f"namespace {namespace}: {len(self.submits)} jobs, "
                             f"{len(self.created)} pods and {len(self.bound)} binds in the audit "
                             "log; there is nothing to measure")
        self.start, self.end = self.submits[0].begin, self.bound[-1].end


def first_of_each(writes):
    """The first write of each name, in the order of their ends."""
    found = {}
    for w in sorted(writes, key=lambda w: w.end):
        found.setdefault(w.name, w)
    return list(found.values())


def summarise(requests, namespace, jobs, pods):
    """All figures of one run of `jobs` jobs of `pods` pods, as a dictionary that JSON can hold."""
    run = Run(requests, namespace)
    start, end = run.start, run.end
    return {
        "jobs": len(run.submits), "pods_wanted": jobs * pods,
        "pod_posts": len(run.posts), "pod_creates": len(run.created),
        "surplus_creates": len(run.posts) - jobs * pods,
        "bind_posts": len(run.binds), "binds": len(run.bound),
        "conflicts": sum(w.code == 409 for w in run.writes),
        "failures": failures(run.writes),
        "whole_run_s": end - start,
        "bound_per_s": len(run.bound) / (end - start),
        "gap": longest_gap(run.created, start),
        "variation": curves.variation([w.end for w in run.created]),
        "creates": load(run.posts), "binds_load": load(run.binds),
        "milestones": milestones(run.inside, start),
        "idle": idle(run.inside, start, end),
        "curves": curves.curves({"created": ends(run.created), "bound": ends(run.bound),
                                 "running": ends(run.running)}, start),
        "gangs": gangs(run, pods),
        "budget": budget(run.inside),
        "apart": apart(run.writes),
        "events_in_run": sum(w.resource == "events" and w.begin < end for w in run.inside),
        "requests": table(run.requests),
    }


def ends(writes):
    """When each of the writes was answered."""
    return [w.end for w in writes]


def gangs(run, pods):
    """When gangs were complete: their pods created, bound, and created had they been in turn."""
    def times(writes):
        found = defaultdict(list)
        for w in writes:
            found[w.job].append(w.end)
        return found
    created = times(run.created)
    in_turn = curves.round_robin(ends(run.created), opened(run, created), pods)
    return {"created": curves.gang_summary(curves.complete(created, pods), run.start),
            "bound": curves.gang_summary(curves.complete(times(run.bound), pods), run.start),
            "in_turn": curves.gang_summary(in_turn, run.start)}


def opened(run, jobs):
    """{job: from when on its pods could be created}.

    That is the first write of its PodGroup by another client than the one that created it, which
    admits the gang; and never later than the first create of a pod of it was received.
    """
    makers, found = {}, {}
    for w in run.inside:
        if w.does("create", "podgroups"):
            makers.setdefault(w.job, w.client)
        elif (w.resource.split("/")[0] == "podgroups" and w.ok
              and (w.client == UNKNOWN or makers.get(w.job) != w.client)):
            found.setdefault(w.job, w.end)
    for w in run.posts:
        found[w.job] = min(found.get(w.job, w.begin), w.begin)
    return {job: found[job] for job in jobs}


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
        if w.client in KUBELETS or w.resource in COUNTED_APART or w.begin > end:
            continue
        if w.begin > busy and last is not None:
            spans.append({"seconds": w.begin - busy, "from_s": busy - start, "after": str(last),
                          "before": str(w)})
        if w.end > busy:
            busy, last = w.end, w
    return {"seconds": sum(span["seconds"] for span in spans),
            "longest": sorted(spans, key=lambda span: -span["seconds"])[:count]}


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
        elif w.does("create", "pods") or (w.client in KUBELETS and w.resource == "pods/status"):
            changes[w.job].add(int(w.end))
    allowed = {job: WRITES_PER_JOB + len(changes[job]) for job in written}
    over = {job: [written[job], allowed[job]] for job in sorted(written)
            if written[job] > allowed[job]}
    named = dict(list(over.items())[:OVER_NAMED])
    return {"jobs_over": len(over), "over": named, "written": sum(written.values()),
            "allowed": sum(allowed.values()), "per_job_max": max(written.values(), default=0),
            "kinds": dict(kinds)}
