"""Measures admission: our webhook against a bare libmicrohttpd server that answers a constant.

For each size of review: CPU a review on kept-alive connections, on new connections alone, and the
ratio to the bare server in the same minutes (bare - ours - bare). Then an open loop, a fifth of it on
new connections, against one core, and unfinished handshakes. Exit code: 0 all that is required is
met, 1 something is not.
"""

import argparse
import os
import shlex
import statistics
import sys
import tempfile
from pathlib import Path

from webhook_rig import Rig, provenance, write_report

SIZES = {"4 KB": (4 << 10, 6000), "60 KB": (60 << 10, 1500), "1.4 MB": (1400 << 10, 100)}
CI_SIZES = {"4 KB": (4 << 10, 2000), "60 KB": (60 << 10, 300), "1.4 MB": (1400 << 10, 20)}
# The most that a review of ours may cost, as a multiple of the bare server's.
RATIO = {"4 KB": 8, "60 KB": 20, "1.4 MB": 40}
HALF_OPEN = 0.1  # of a core, for 100 of them


class Checks:
    """What is required, and whether it was met."""

    def __init__(self):
        self.failed = []

    def require(self, good, text):
        """Notes a requirement; returns the word for the table."""
        if not good:
            self.failed.append(text)
        return "yes" if good else "NO"


def cpu_row(rig, checks, name, size, count):
    """CPU of one size of review on kept-alive connections."""
    words = (f"--size={size}", f"--count={count}", "--in-flight=20")
    runs = [rig.measure(server, *words) for server in ("bare", "ours", "bare")]
    bare = statistics.mean((runs[0]["cpu_us_per_review"], runs[2]["cpu_us_per_review"]))
    ours = runs[1]["cpu_us_per_review"]
    met = checks.require(ours / bare <= RATIO[name] and not runs[1]["errors"],
                         f"{name}: {ours / bare:.1f} times the bare server, at most {RATIO[name]}; "
                         f"errors: {runs[1]['errors']} {runs[1].get('first_error', '')}")
    latency = runs[1]["latency_ms"]
    return (f"| {name} | {runs[1]['review_bytes']:,} | {ours:.0f} | {bare:.0f} | {ours / bare:.2f} | "
            f"{latency['p50']:.2f} / {latency['p95']:.2f} / {latency['p99']:.2f} | "
            f"{runs[1]['rss_peak_mib']:.1f} | {met} |")


def kept_alive(rig, checks, sizes):
    """The table for kept-alive connections."""
    rows = [cpu_row(rig, checks, name, *what) for name, what in sizes.items()]
    return ["", "## Kept-alive connections, 20 in flight", "",
            "| review | bytes | CPU a review, µs | bare, µs | ratio | p50 / p95 / p99, ms | "
            "peak RSS, MiB | met |", "|---|---|---|---|---|---|---|---|", *rows]


def new_connections(rig, checks, count):
    """CPU of a review that has a connection of its own."""
    words = ("--size=4096", f"--count={count}", "--new=1", "--in-flight=10")
    lines = ["", "## A new connection for each 4 KB review", "",
             "| server | CPU a review, µs | handshake p50 / p99, ms | errors |", "|---|---|---|---|"]
    for server in ("bare", "ours"):
        run = rig.measure(server, *words)
        shake = run["handshake_ms"]
        lines.append(f"| {server} | {run['cpu_us_per_review']:.0f} | {shake['p50']:.1f} / "
                     f"{shake['p99']:.1f} | {run['errors']} |")
        checks.require(not run["errors"], f"new connections: {run.get('first_error')}")
    return lines


def open_loop(rig, checks, rate, count, limit):
    """Latencies at a fixed rate, the server on one core and the generator on the others."""
    cores = sorted(os.sched_getaffinity(0))
    lines = ["", f"## Open loop, {rate} reviews/s of 4 KB, 20 % on new connections, server on one core",
             "", "Latency counts from the moment a review is due, without its handshake.", "",
             "| server | p50 / p95 / p99 / longest, ms | handshake p50 / p99, ms | connections | "
             "CPU a review, µs | errors |", "|---|---|---|---|---|---|"]
    for server in ("bare", "ours"):
        rig.pin(server, {cores[-1]})
        run = rig.measure(server, "--size=4096", f"--rate={rate}", "--new=0.2", f"--count={count}",
                          cores=set(cores[:-1]) or None)
        rig.pin(server, set(cores))
        t, shake = run["latency_ms"], run["handshake_ms"]
        lines.append(f"| {server} | {t['p50']:.2f} / {t['p95']:.2f} / {t['p99']:.2f} / "
                     f"{t['longest']:.1f} | {shake['p50']:.1f} / {shake['p99']:.1f} | "
                     f"{run['connections_opened']} | {run['cpu_us_per_review']:.0f} | "
                     f"{run['errors']} |")
        checks.require(not run["errors"], f"open loop: {run.get('first_error')}")
        if server == "ours" and limit:
            checks.require(t["p99"] <= limit, f"open loop: p99 {t['p99']:.1f} ms, at most {limit}")
    return lines


def half_open(rig, checks):
    """What a byte of a ClientHello on each of 100 connections costs."""
    run = rig.run("ours", "abuse", "--attack=half-open", "--clients=100", "--duration=5s")
    met = checks.require(run["cpu_share"] < HALF_OPEN,
                         f"half-open handshakes: {run['cpu_share']:.1%} of a core")
    return ["", f"One byte of a ClientHello on each of 100 connections, beside ten honest reviews a "
            f"second: {run['cpu_share']:.1%} of a core (below {HALF_OPEN:.0%}: {met})."]


def arguments():
    """The command line."""
    parser = argparse.ArgumentParser(prog="webhook", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ci", action="store_true", help="short, with generous bounds")
    parser.add_argument("--rate", type=int, default=1000, help="reviews/s of the open loop")
    parser.add_argument("--p99", type=float, default=5, metavar="MS",
                        help="the most that the open loop's p99 may be; 0: no limit")
    parser.add_argument("--out", type=Path, help="folder for the report")
    return parser.parse_args()


def main():
    """Measures and reports."""
    options, checks = arguments(), Checks()
    if options.ci:
        options.rate, options.p99 = 200, 0
    with tempfile.TemporaryDirectory(prefix="pumice-webhook-") as folder, Rig(folder) as rig:
        lines = ["# Admission under load", "", *provenance(shlex.join(["tests/bench/webhook",
                                                                      *sys.argv[1:]]))]
        lines += kept_alive(rig, checks, CI_SIZES if options.ci else SIZES)
        lines += new_connections(rig, checks, 300 if options.ci else 2000)
        lines += open_loop(rig, checks, options.rate, options.rate * (5 if options.ci else 60),
                           options.p99)
        lines += half_open(rig, checks)
    lines += ["", *(f"**Not met:** {text}" for text in checks.failed)]
    write_report(options.out, "webhook-load", lines)
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main())
