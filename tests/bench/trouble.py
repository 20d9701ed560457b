"""An API server that becomes slow, or answers 429 to half, for some seconds: does the window give way,
is nothing lost, and how soon is the old rate back?

One job of many pods, with the controller behind the fault proxy. Once a quarter of its pods are created
the trouble begins, and ends --hold seconds later. Recovered is when, after its end, creates first come
for half a second at 90 % of the median of the half seconds before it. Creates are the API server's
(audit log); the limit of the window is what the controller's metrics say, drawn for explanation alone.
"""

import statistics
import sys
import time
from datetime import datetime, timezone
from pathlib import Path

import audit
import curves
import output
import rawdata
import report
import shapes
import verdicts
from runs import Bench, BenchError

from harness.proxy import build, proxy_for

NAME = "trouble"
ROOT = Path(__file__).resolve().parents[2]
TROUBLES = {
    "slow": ("every request takes 500 ms longer", {"type": "delay", "ms": 500}, {}),
    "429": ("every second request is answered 429", {"type": "status", "code": 429,
                                                     "retryAfter": 1}, {"probability": 0.5, "seed": 1}),
}
RATE = 0.9           # of the one before, that counts as recovered
MAX_RECOVERY_S = 5
BEFORE = 0.25        # of the pods are created by then: the rate before is that of some seconds
SPAN_S = 0.5         # over which rates are taken
LIMIT = "pumice_window_limit"


def add_arguments(parser):
    """Its part of the command line."""
    parser.add_argument("--trouble", action="store_true",
                        help="an API server that is slow, or answers 429, for a while, with one job of "
                             "--pods pods (10000)")
    parser.add_argument("--hold", type=float, default=10, metavar="SECONDS",
                        help="how long the trouble of --trouble lasts")


def complete(parser, options):
    """The shape is one job."""
    if not options.trouble:
        return
    shapes.complete_one_job(parser, options, "--trouble", 10000)
    if len(options.shapes) != 1:
        parser.error("--trouble takes one shape")


# A run


class Trouble:
    """Runs behind a proxy."""

    def __init__(self, bench, shape, hold):
        self.bench, self.shape, self.hold = bench, shape, hold
        self.proxy_binary = build(bench.folder)

    def run(self, kind):
        """One run with a kind of trouble: what analyse() says, and CPU and memory."""
        flags = self.bench.product.controller.flags
        direct = flags["kubeconfig"]
        with proxy_for(self.bench.plane, "pumice-controllers", self.proxy_binary,
                       self.bench.folder / f"proxy-{kind}") as proxy:
            flags["kubeconfig"] = str(proxy.kubeconfig(direct))
            try:
                return self._through(proxy, kind)
            finally:
                flags["kubeconfig"] = direct

    def _through(self, proxy, kind):
        limits = []
        with self.bench.session("ours", self.shape) as session:
            self.bench.generate(self.bench.loadgen_command("ours", self.shape, session.namespace))
            self._until(session, limits, lambda: session.follower.creates >= BEFORE * self.shape.pods)
            begin = time.time()
            _, action, more = TROUBLES[kind]
            proxy.add({"match": {}, "action": action, **more})
            self._until(session, limits, lambda: time.time() >= begin + self.hold)
            proxy.clear()
            end = time.time()
            self._until(session, limits, lambda: session.follower.creates >= self.shape.pods)
            self.bench.wait_end(self.shape, session, self.shape.pods)
            used = session.usage.read()
            self.bench.check_end("trouble", self.shape, session.namespace)
            requests = session.follower.requests()
        return {"kind": kind, "usage": used,
                **analyse(requests, session.namespace, self.shape, begin, end, limits)}

    def _until(self, session, limits, reached):
        """Waits for something, and notes the limit of the window meanwhile: [time, limit]."""
        deadline = time.monotonic() + self.bench.timeout(self.shape)
        while not reached():
            if time.monotonic() > deadline:
                raise BenchError(f"{session.follower.creates} pods of {self.shape.pods} were created "
                                 f"in {self.bench.timeout(self.shape):.0f} s")
            limits.append([time.time(), self.bench.product.controller.metrics()[LIMIT]])
            time.sleep(0.2)
            session.follower.poll()


# What it says


def rate(times, begin, end):
    """How many of the times a second lie between two moments."""
    return sum(begin <= time < end for time in times) / (end - begin)


def median_rate(times, begin, end):
    """The median of the rates of the whole spans between two moments; None if there is none."""
    count = int((end - begin) / SPAN_S + 1e-6)
    rates = [rate(times, begin + i * SPAN_S, begin + (i + 1) * SPAN_S) for i in range(count)]
    return statistics.median(rates) if rates else None


def recovery(times, end, wanted):
    """How long after `end` a whole span begins in which the rate is wanted again; None: none does."""
    last = max(times, default=end)
    for step in range(int(max(0, last - end - SPAN_S) / curves.STEP) + 1):
        at = end + step * curves.STEP
        if at + SPAN_S <= last + 1e-6 and rate(times, at, at + SPAN_S) >= wanted:
            return step * curves.STEP
    return None


def analyse(requests, namespace, shape, begin, end, limits):
    """The figures of a run; begin and end are of the trouble, seconds since 1970 as all times."""
    run = audit.Run(requests, namespace)
    times = sorted(audit.ends(run.created))
    before = median_rate(times, times[0], begin)
    if before is None:
        raise BenchError(f"less than {SPAN_S} s of creates before the trouble")
    recovered = recovery(times, end, RATE * before)
    found = audit.summarise(requests, namespace, *shape)
    kept = ("pods_wanted", "pod_creates", "surplus_creates", "binds", "failures", "curves",
            "whole_run_s", "gap")
    return {**{key: found[key] for key in kept}, "begin_s": begin - run.start, "end_s": end - run.start,
            "before_per_s": before, "during_per_s": rate(times, begin, end),
            "recovered_s": recovered,
            "after_per_s": median_rate(times, end + MAX_RECOVERY_S, times[-1]),
            "limits": [[time - run.start, limit] for time, limit in limits]}


def limits_of(run):
    """The smallest limit during the trouble and the largest after it."""
    during = [limit for at, limit in run["limits"] if run["begin_s"] <= at <= run["end_s"]]
    after = [limit for at, limit in run["limits"] if at > run["end_s"]]
    return min(during, default=None), max(after, default=None)


def checks(data):
    """The verdicts."""
    made = verdicts.Verdicts()
    for run in data["runs"]:
        kind, wanted = run["kind"], run["pods_wanted"]
        for what, key, target in (("pods created", "pod_creates", wanted), ("bound", "binds", wanted),
                                  ("surplus creates", "surplus_creates", 0)):
            made.exact([run], f"{kind}: {what}", key, target)
        failed = sum(run["failures"].values())
        made.add(f"{kind}: writes refused by the API server", "0", str(failed), failed == 0)
        found = run["recovered_s"]
        made.add(f"{kind}: rate back after", f"<= {MAX_RECOVERY_S} s", report.number(found, "{:.1f} s"),
                 found is not None and found <= MAX_RECOVERY_S)
    return made.rows


def markdown(data, plot):
    """The report."""
    rows = []
    for run in data["runs"]:
        least, most = limits_of(run)
        rows.append([run["kind"], f"{run['begin_s']:.1f}", f"{run['end_s']:.1f}",
                     f"{run['before_per_s']:.0f}", f"{run['during_per_s']:.0f}",
                     report.number(run["recovered_s"], "{:.1f}"),
                     report.number(run["after_per_s"], "{:.0f}"), report.number(least, "{:.0f}"),
                     report.number(most, "{:.0f}"), f"{run['gap']['seconds']:.2f}"])
    return "\n\n".join([
        f"# Trouble, {report.shape_title(data)}", report.origin(data),
        "The controller reaches the API server through the fault proxy, which for a while makes trouble: "
        + "; ".join(f"*{kind}*: {text}" for kind, (text, _, _) in TROUBLES.items())
        + ". Rates are of half seconds: *before* is their median, *back after* is from the trouble's end to the "
        f"first one with {RATE:.0%} of that, *later* is the median from {MAX_RECOVERY_S} s after the end on. The "
        "limit is that of the controller's request window, by its own metrics.",
        *([report.image(plot, "Creates during trouble")] if plot else []),
        "## Targets", report.verdict_table(checks(data)),
        "## Runs", report.table(["Trouble", "from s", "to s", "creates/s before", "during",
                                 "back after s", "later", "least limit during", "largest after", "gap s"], rows)
    ]) + "\n"


def main(options, folder):
    """A run for each kind of trouble."""
    shape = options.shapes[0]
    data = {"kind": NAME, "provenance": rawdata.provenance(ROOT, options.command),
            "shape": {"jobs": 1, "pods": shape.pods, "nodes": options.nodes}, "runs": []}
    with Bench(folder, options) as bench:
        trouble = Trouble(bench, shape, options.hold)
        for kind in TROUBLES:
            run = trouble.run(kind)
            data["runs"].append(run)
            output.keep(sys.modules[__name__], data, options)
            print(f"{shape.name}, {kind}: {run['before_per_s']:.0f} creates/s before, "
                  f"{run['during_per_s']:.0f} during, back after {run['recovered_s']} s", flush=True)
    data["finished"] = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return output.publish(sys.modules[__name__], data, options)
