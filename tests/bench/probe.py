"""What a small job waits behind a large one, and what a bind takes while creates wait.

One run: jobs of one pod, one each 250 ms, on an idle cluster; then the same beside one job of many
pods, until the last pod of that is created. A probe of the second part counts if its Job was
received between the large job and that job's last create. All times are the API server's:

    created   Job received to pod's create answered
    bind      the bind request, received to answered
    bound     pod's create answered to bind answered: the scheduler, and the bind
    wait      PodGroup's create answered to bind received, without the time in which a request that
              the bind waits for was under way: the PodGroup's patches and the pod's create. What is
              left is ours: controller, scheduler and the watches between them
"""

import json
import signal
import subprocess
import sys
import time
from datetime import datetime, timezone
from pathlib import Path

import curves
import output
import rawdata
import report
import shapes
import verdicts
from runs import Bench, BenchError

NAME = "probe"
ROOT = Path(__file__).resolve().parents[2]
KINDS = ("created", "bind", "bound", "wait")
PARTS = {"idle": "idle cluster", "loaded": "beside the large job"}
LATE = 50000        # number of the first probe of the second part
SPARE = 500         # pods that have to have room beside the large job
MAX_CREATED_MS = 1000
MAX_BIND = 3        # times the idle 99th percentile
MAX_WAIT_MS = 50    # on the idle cluster


def add_arguments(parser):
    """Its part of the command line."""
    parser.add_argument("--probe", action="store_true",
                        help="one-pod jobs behind a job of --pods pods (10000), and binds under load")
    parser.add_argument("--idle", type=float, default=30, metavar="SECONDS",
                        help="how long --probe probes the idle cluster first")


def complete(parser, options):
    """The shape is one job."""
    if not options.probe:
        return
    shapes.complete_one_job(parser, options, "--probe", 10000)
    if max(shape.total for shape in options.shapes) + SPARE > 110 * options.nodes:
        parser.error("there is no room for probes: give more --nodes")


# A run


class Prober:
    """loadgen probe in the background."""

    def __init__(self, bench, shape, namespace, first):
        self._child = subprocess.Popen(
            bench.loadgen_command("probe", shape, namespace, first=first),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def running(self):
        """True until it fails or is stopped."""
        return self._child.poll() is None

    def stop(self):
        """Ends it; returns the number of jobs it has submitted. It fails if one was refused."""
        self._child.send_signal(signal.SIGINT)
        out, errors = self._child.communicate(timeout=60)
        if self._child.returncode != 0:
            raise BenchError(f"loadgen probe failed: {errors.strip()}")
        return int(json.loads(out)["requests"]["probe create"]["count"])


def run(bench, shape, idle):
    """One run: {"idle": samples, "loaded": samples, ...}, see samples()."""
    with bench.session("probe", shape) as session:
        prober = Prober(bench, shape, session.namespace, 0)
        time.sleep(idle)
        early = prober.stop()
        bench.wait_end(shape, session, early)
        prober = Prober(bench, shape, session.namespace, LATE)
        bench.generate(bench.loadgen_command("submit", shape, session.namespace))
        wait_creates(bench, shape, session, prober)
        late = prober.stop()
        bench.wait_end(shape, session, early + late + shape.total)
        used = session.usage.read()
        requests = session.follower.requests()
    return {"namespace": session.namespace, "usage": used,
            **samples(requests, session.namespace)}


def wait_creates(bench, shape, session, prober):
    """Waits until the large job's pods are all created."""
    deadline = time.monotonic() + bench.timeout(shape)
    while session.follower.creates < shape.total:
        if time.monotonic() > deadline or not prober.running():
            raise BenchError(f"{session.follower.creates} pods were created of {shape.total}; the "
                             f"prober {'runs' if prober.running() else 'failed'}")
        time.sleep(0.1)
        session.follower.poll()


# What it says


def samples(requests, namespace):
    """The times of each probe in milliseconds, and when it was, of both parts.

    {"idle" and "loaded": {"created", "bind", "bound", "wait": [ms], "at": [s]}, "large": {...}}
    """
    inside = [r for r in requests if r.namespace == namespace and r.is_write and r.ok]
    jobs = {r.name: r for r in inside if r.does("create", "jobs")}
    pods = {r.job: r for r in inside if r.does("create", "pods") and r.job != "j00000"}
    binds = {r.job: r for r in inside if r.does("create", "pods/binding") and r.job != "j00000"}
    steps = {}
    for request in inside:
        if request.resource == "podgroups" or request.does("create", "pods"):
            steps.setdefault(request.job, []).append(request)
    large = jobs["j00000"]
    creates = [r.end for r in inside if r.does("create", "pods") and r.job == "j00000"]
    last = max(creates)
    found = {part: {"at": [], **{kind: [] for kind in KINDS}} for part in PARTS}
    for name, job in sorted(jobs.items()):
        part = "idle" if job.begin < large.begin and number(name) < LATE else "loaded"
        if name == "j00000" or (part == "loaded" and not large.begin <= job.begin <= last):
            continue
        add(found[part], job, pods[name], binds[name], job.begin - large.begin)
        found[part]["wait"].append(1000 * wait(steps[name], binds[name]))
    return {**found, "large": {"pods": len(creates), "created_s": last - large.begin,
                               "curve": curves.curves({"created": creates}, large.begin)}}


def number(name):
    """The number in a probe's name."""
    return int(name[1:])


def add(part, job, pod, bind, at):
    """One probe."""
    part["at"].append(at)
    part["created"].append(1000 * (pod.end - job.begin))
    part["bind"].append(1000 * (bind.end - bind.begin))
    part["bound"].append(1000 * (bind.end - pod.end))


def wait(steps, bind):
    """How long nobody worked on a request that the bind waits for, from the end of the PodGroup's create
    on, in seconds. `steps` are the requests for the PodGroup and the pod's create."""
    at = next(step.end for step in steps if step.does("create", "podgroups"))
    waited = 0.0
    for step in sorted(steps, key=lambda step: step.begin):
        if step.begin < bind.begin:
            waited += max(0.0, step.begin - at)
            at = max(at, step.end)
    return waited + max(0.0, bind.begin - at)


def pooled(runs, part, kind):
    """The spread of a time over all runs; raw data of earlier days may lack a kind."""
    return curves.spread(value for one in runs for value in one[part].get(kind, []))


def checks(data):
    """The verdicts; required at 10,000 pods."""
    strict = verdicts.shape_of(data).total >= 10000
    made = verdicts.Verdicts()
    created = pooled(data["runs"], "loaded", "created")["p99"]
    made.most("one-pod job behind the large one: pod created, p99", MAX_CREATED_MS, created,
              lambda v: f"{v:.0f} ms", strict)
    waits = pooled(data["runs"], "idle", "wait")
    if waits["count"]:
        made.most("wait of a one-pod job on the idle cluster, p99", MAX_WAIT_MS, waits["p99"],
                  lambda v: f"{v:.1f} ms", strict)
    binds = {part: pooled(data["runs"], part, "bind")["p99"] for part in PARTS}
    made.add("bind while creates wait, p99", f"<= {MAX_BIND} x its idle p99, {binds['idle']:.1f} ms",
             f"{binds['loaded']:.1f} ms, {binds['loaded'] / binds['idle']:.1f} x",
             binds["loaded"] <= MAX_BIND * binds["idle"], strict)
    return made.rows


def rows(data):
    """The times, all runs together and each."""
    named = [("all", data["runs"])] + [(str(index + 1), [one])
                                       for index, one in enumerate(data["runs"])]
    found = []
    for label, runs in named:
        for part, text in PARTS.items():
            for kind in KINDS:
                times = pooled(runs, part, kind)
                found.append([label, text, kind, times["count"],
                              *(report.number(times.get(key), "{:.1f}")
                                for key in ("p50", "p99", "max"))])
    return found


def markdown(data, plot):
    """The report."""
    runs = data["runs"]
    return "\n\n".join([
        f"# Probe behind {report.shape_title(data)}", report.origin(data),
        "Jobs of one pod, one each 250 ms, first alone and then beside the large job. "
        "*created* is from the Job's arrival to the answer to the create of its pod, *bind* the bind request "
        "alone, *bound* from the pod's creation to the answer to the bind, *wait* from the answer to the "
        "create of the PodGroup to the arrival of the bind, without the requests between that the bind waits "
        "for. All from the audit log; a p99 is a value that occurred.",
        *([report.image(plot, "Probes over time")] if plot else []),
        "## Targets", report.verdict_table(checks(data)),
        "## Times in ms", report.table(["Run", "When", "What", "probes", "p50", "p99", "max"],
                                       rows(data)),
        "## The large job", report.table(
            ["Run", "pods", "all created after s"],
            [[index + 1, one["large"]["pods"], f"{one['large']['created_s']:.2f}"]
             for index, one in enumerate(runs)]),
        "## CPU and memory", "Over the whole run, the idle part included.",
        report.usage({"probe": runs})]) + "\n"


def main(options, folder):
    """All runs of all shapes."""
    codes = []
    with Bench(folder, options) as bench:
        for shape in options.shapes:
            data = {"kind": "probe", "provenance": rawdata.provenance(ROOT, options.command),
                    "shape": {"jobs": 1, "pods": shape.pods, "nodes": options.nodes}, "runs": []}
            for index in range(options.triples):
                data["runs"].append(run(bench, shape, options.idle))
                output.keep(sys.modules[__name__], data, options)
                created = pooled(data["runs"][-1:], "loaded", "created")
                print(f"{shape.name}, probe {index + 1}: {created}", flush=True)
            data["finished"] = datetime.now(timezone.utc).isoformat(timespec="seconds")
            codes.append(output.publish(sys.modules[__name__], data, options))
    return max(codes)
