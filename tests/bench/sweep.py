"""The adaptive request window against fixed ones, at several distances from the API server.

The controller reaches the API server through the fault proxy, which holds every request back for
so many milliseconds. For each distance, one job of many pods is created with the window as it is
shipped, with the window fixed to each size (--fixed-inflight), and again as it is shipped; beside
them loadgen sends the same requests with exactly so many in flight, as the fixed window of an
ideal client. Rates are the API server's (audit log), latencies the proxy's: from a create's arrival
there to its answer, so that the distance is in them.
"""

import shutil
import statistics
import sys
from datetime import datetime, timezone
from pathlib import Path

import curves
import output
import rawdata
import report
import shapes
import verdicts
from runs import Bench

from harness.proxy import build, proxy_for

NAME = "sweep"
ROOT = Path(__file__).resolve().parents[2]
ADAPTIVE = "adaptive"
MIN_RATE = 0.9
MAX_LATENCY = 2
BY = {"ours": "controller", "bare": "loadgen"}


def add_arguments(parser):
    """Its part of the command line."""
    def numbers(text):
        return [int(word) for word in text.split(",")]
    parser.add_argument("--sweep", action="store_true",
                        help="the adaptive window against fixed ones, through the fault proxy, with "
                             "one job of --pods pods (2000)")
    parser.add_argument("--delays", type=numbers, default=[0, 5, 50], metavar="MS,MS",
                        help="distances of --sweep (0,5,50)")
    parser.add_argument("--windows", type=numbers, default=[8, 16, 32, 64, 128, 256],
                        metavar="N,N", help="fixed windows of --sweep (8,16,32,64,128,256)")


def complete(parser, options):
    """The shape is one job."""
    if not options.sweep:
        return
    shapes.complete_one_job(parser, options, "--sweep", 2000)
    if len(options.shapes) != 1:
        parser.error("--sweep takes one shape")


# Runs


class Sweep:
    """Runs through the proxy."""

    def __init__(self, bench, shape):
        self.bench, self.shape = bench, shape
        self.proxy_binary = build(bench.folder)
        self._number = 0

    def run(self, by, window, delay):
        """One run: by "ours" or "bare", window ADAPTIVE or a size, delay in ms."""
        self._number += 1
        plane, folder = self.bench.plane, self.bench.folder / f"proxy-{self._number}"
        with proxy_for(plane, "pumice-controllers", self.proxy_binary, folder) as proxy:
            if delay:
                proxy.add({"match": {}, "action": {"type": "delay", "ms": delay}})
            run = (self._ours if by == "ours" else self._bare)(proxy, folder, window)
            times = [entry["ms"] for entry in proxy.log() if is_create(entry)]
        return {"by": by, "window": window, "delay_ms": delay, **figures(run, times)}

    def _ours(self, proxy, _folder, window):
        flags = self.bench.product.controller.flags
        direct = dict(flags)
        flags["kubeconfig"] = str(proxy.kubeconfig(direct["kubeconfig"]))
        flags.update(window_flags(window))
        try:
            return self.bench.run("ours", self.shape)
        finally:
            flags.clear()
            flags.update(direct)

    def _bare(self, proxy, folder, window):
        for suffix in (".crt", ".key"):
            shutil.copy(self.bench.plane.pki.folder / f"pumice-controllers{suffix}", folder)
        shutil.copy(proxy.ca_file, folder / "ca.crt")
        return self.bench.run("bare", self.shape, **{
            "controller-server": proxy.url, "controller-pki": folder, "in-flight": window})


def window_flags(window):
    """The controller's flags for a window: ADAPTIVE, as it is shipped, or a size that it keeps."""
    return {} if window == ADAPTIVE else {"fixed-inflight": window}


def is_create(entry):
    """True for an entry of the proxy's log that is the create of a pod of the job."""
    return (entry["done"] and entry["verb"] == "create" and entry["resource"] == "pods"
            and not entry["subresource"] and entry["name"].startswith("j"))


def figures(run, times):
    """What is kept of a run; times are those of its creates at the proxy, in ms."""
    found = curves.spread(times)
    return {"per_s": run["creates"]["per_s"], "p50_ms": found["p50"], "p99_ms": found["p99"],
            "in_flight": sum(times) / 1000 / run["creates"]["span_s"],
            "surplus_creates": run["surplus_creates"], "failures": run["failures"],
            "creates": found["count"], "curve": run["curves"]["created"],
            "step_s": run["curves"]["step_s"]}


# What they say


def chosen(data, delay, by, fixed):
    """The runs at a distance by one of the two, with a fixed window or the adaptive one."""
    return [run for run in data["runs"] if run["delay_ms"] == delay and run["by"] == by
            and (run["window"] != ADAPTIVE) == fixed]


def best(runs):
    """The run with the highest rate, or None."""
    return max(runs, key=lambda run: run["per_s"], default=None)


def delays(data):
    """The distances, in order."""
    return sorted({run["delay_ms"] for run in data["runs"]})


def adaptive(data, delay):
    """Median rate and latency of the adaptive runs at a distance."""
    runs = chosen(data, delay, "ours", fixed=False)
    return (statistics.median(run["per_s"] for run in runs),
            statistics.median(run["p50_ms"] for run in runs))


def checks(data):
    """The verdicts: against the best fixed window of the controller, and (told) loadgen's best."""
    made = verdicts.Verdicts()
    for delay in delays(data):
        rate, latency = adaptive(data, delay)
        for by, required in (("ours", True), ("bare", False)):
            other = best(chosen(data, delay, by, fixed=True))
            if other is None:
                continue
            what = f"+{delay} ms, best fixed window of the {BY[by]} ({other['window']})"
            made.add(f"{what}: creates/s", f">= {MIN_RATE:.0%} of {other['per_s']:.0f}",
                     f"{rate:.0f}, {rate / other['per_s']:.0%}",
                     rate >= MIN_RATE * other["per_s"], required)
            made.add(f"{what}: p50 latency", f"<= {MAX_LATENCY} x {other['p50_ms']:.1f} ms",
                     f"{latency:.1f} ms, {latency / other['p50_ms']:.1f} x",
                     latency <= MAX_LATENCY * other["p50_ms"], required)
    return made.rows


def markdown(data, plot):
    """The report."""
    rows = [[run["delay_ms"], BY[run["by"]], run["window"], f"{run['per_s']:.0f}",
             f"{run['p50_ms']:.1f}", f"{run['p99_ms']:.1f}", f"{run['in_flight']:.1f}",
             run["surplus_creates"], sum(run["failures"].values())] for run in data["runs"]]
    return "\n\n".join([
        f"# Window sweep, {report.shape_title(data)}", report.origin(data),
        "Creates of one job through the fault proxy, which holds each request back for the given time. Rates "
        "are from the API server's audit log, latencies from the proxy's. With a fixed window the controller has "
        "so many writes in flight whatever the answers (`--fixed-inflight`), and loadgen so many requests.",
        *([report.image(plot, "Rates and latencies")] if plot else []),
        "## Targets", report.verdict_table(checks(data)),
        "## All runs", report.table(["+ms", "Client", "Window", "creates/s", "p50 ms", "p99 ms",
                                     "in flight (mean)", "surplus", "refused"], rows)]) + "\n"


def order(windows):
    """What is run at each distance, so that the adaptive runs lie around the others."""
    middle = [(by, window) for window in windows for by in BY]
    return [("ours", ADAPTIVE), *middle, ("ours", ADAPTIVE)]


def main(options, folder):
    """All runs."""
    shape = options.shapes[0]
    data = {"kind": "sweep", "provenance": rawdata.provenance(ROOT, options.command),
            "shape": {"jobs": 1, "pods": shape.pods, "nodes": options.nodes}, "runs": []}
    with Bench(folder, options) as bench:
        runs = Sweep(bench, shape)
        for delay in options.delays:
            for by, window in order(options.windows) * options.triples:
                run = runs.run(by, window, delay)
                data["runs"].append(run)
                output.keep(sys.modules[__name__], data, options)
                print(f"+{delay} ms, {BY[by]}, {window}: {run['per_s']:.0f} creates/s, p50 "
                      f"{run['p50_ms']:.1f} ms", flush=True)
    data["finished"] = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return output.publish(sys.modules[__name__], data, options)
