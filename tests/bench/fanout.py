"""Measures a fan-out shape: our binaries against the bare limit of the same API server.

A figure is the median of interleaved triples bare - ours - bare; a triple whose two bare runs
differ by more than 15 % is repeated. Exit code: 0 all that is required is met, 1 something is not,
2 a run did not come to its end.
"""

import argparse
import json
import shlex
import statistics
import subprocess
import sys
import tempfile
from datetime import datetime, timezone
from pathlib import Path

import report
from runs import Bench, BenchError, ProcessError

ROOT = Path(__file__).resolve().parents[2]
BARE_SPREAD = 0.15


def spread(one, other):
    """By what fraction of the shorter one two bare runs differ."""
    low, high = sorted((one["whole_run_s"], other["whole_run_s"]))
    return high / low - 1


def triple(bench, number, save, attempts=3):
    """One triple: {"runs": [bare, ours, bare], "ratio": ...}; repeated if its bare runs differ."""
    for attempt in range(1, attempts + 1):
        runs = []
        for mode in ("bare", "ours", "bare"):
            run = bench.run(mode)
            runs.append(run)
            print(report.progress(f"{number}.{attempt}", run), flush=True)
        bare = statistics.mean((runs[0]["whole_run_s"], runs[2]["whole_run_s"]))
        made = {"number": number, "attempt": attempt, "runs": runs,
                "spread": spread(runs[0], runs[2]), "ratio": runs[1]["whole_run_s"] / bare}
        save(made)
        if made["spread"] <= BARE_SPREAD:
            break
        print(f"  the bare runs differ by {made['spread']:.0%}", flush=True)
    return made


def measure(options, folder):
    """All triples; writes the raw data after each."""
    data = {"shape": {"jobs": options.jobs, "pods": options.pods, "nodes": options.nodes},
            "max_ratio": options.max_ratio, "provenance": report.provenance(ROOT, options.command),
            "triples": [], "used": []}

    def save(made):
        data["triples"].append(made)
        if options.out:
            name = report.file_name(data) + ".json"
            (options.out / name).write_text(json.dumps(data, indent=1) + "\n")
    with Bench(folder, options) as bench:
        data["provenance"]["control plane"] = bench.plane.bin.parent.name
        if options.bare_only:
            for number in range(1, options.triples + 1):
                print(report.progress(f"{number}", bench.run("bare")), flush=True)
            return None
        for number in range(1, options.triples + 1):
            triple(bench, number, save, options.attempts)
            data["used"].append(len(data["triples"]) - 1)
    return data


def arguments():
    """The command line."""
    parser = argparse.ArgumentParser(prog="fanout", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=20)
    parser.add_argument("--pods", type=int, default=100, help="pods of each job")
    parser.add_argument("--nodes", type=int, default=100, help="KWOK nodes")
    parser.add_argument("--triples", type=int, default=3)
    parser.add_argument("--attempts", type=int, default=3,
                        help="how often a triple is run at most until its bare runs agree")
    parser.add_argument("--max-ratio", type=float, default=1 / 0.6,
                        help="longest whole run allowed, in bare runs (default 1/0.6)")
    parser.add_argument("--timeout", type=float, help="seconds that one run may take")
    parser.add_argument("--out", type=Path, help="folder for the report and the raw data")
    parser.add_argument("--dir", type=Path, help="keep the control plane's folder, logs included")
    parser.add_argument("--bare-only", action="store_true",
                        help="only bare runs, without our binaries: how fast and how noisy "
                             "this machine is")
    parser.add_argument("--ci", action="store_true",
                        help="one triple of 10 x 40 on 40 nodes: counts strictly, ratio <= 2.5")
    options = parser.parse_args()
    if options.ci:
        options.jobs, options.pods, options.nodes = 10, 40, 40
        options.triples, options.max_ratio = 1, 2.5
    if options.jobs * options.pods > 100 * options.nodes:
        parser.error("a node takes at most 100 pods here: give more --nodes")
    if options.timeout is None:
        options.timeout = 120 + options.jobs * options.pods / 20
    options.command = shlex.join(["tests/bench/fanout", *sys.argv[1:]])
    return options


def main():
    """Runs it and gives the exit code."""
    options = arguments()
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
    try:
        if options.dir:
            options.dir.mkdir(parents=True, exist_ok=True)
            data = measure(options, options.dir)
        else:
            with tempfile.TemporaryDirectory(prefix="fanout-") as folder:
                data = measure(options, folder)
    except (BenchError, ProcessError, AssertionError, subprocess.CalledProcessError) as error:
        print(f"fanout: {error}", file=sys.stderr)
        return 2
    if data is None:
        return 0
    data["finished"] = datetime.now(timezone.utc).isoformat(timespec="seconds")
    text = report.markdown(data)
    print(text)
    if options.out:
        base = options.out / report.file_name(data)
        base.with_suffix(".json").write_text(json.dumps(data, indent=1) + "\n")
        base.with_suffix(".md").write_text(text)
    return 0 if all(check["met"] for check in report.checks(data) if check["required"]) else 1


if __name__ == "__main__":
    sys.exit(main())
