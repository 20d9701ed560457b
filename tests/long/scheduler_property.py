"""Random clusters of the scheduler's property tests, 10,000 seeds of each in a release build and some of them with
ASan and UBSan. Writes a report into docs/reports/.

--of scheduler: after every cycle no node over its allocatable, no queue over its capability, the cache equal to a
recount of every pod and to the API server's objects; at rest no gang in part. The slow scorer's test takes part: each
decision equals that of a look at every node. --of eviction: every decision about evictions against a reference that
tries all sets of victims, and evictions that come to an end.

What is done is noted in the state file, chunk by chunk, so a run that was stopped goes on where it was, unless the
test programs have changed since. A failing seed is named with the command that repeats it. Exit code: 0 all hold,
1 a seed failed.
"""

import argparse
import hashlib
import json
import os
import platform
import re
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tree import commit

ROOT = Path(__file__).resolve().parents[2]
# By --of: the tests, and what the report says of all of them.
TESTS = {"scheduler": {
    "test_property": "pods, gangs and nodes come, go and change; binds fail, answers get lost, restarts",
    "test_queue_property": "queues get more or less, jobs come and end; capacity, hierarchy, proportion",
    "test_slow_scorer": "every decision against a slow scorer, shipped configuration"},
         "eviction": {
    "test_evict_brute": "whom to evict for a job: every decision against all sets of victims there are",
    "test_evict_rest": "jobs come, evicted ones are made again; evictions end, gangs are whole",
    "test_evict_wild": "the same, whatever the configuration"}}
ABOUT = {"scheduler": "After every cycle no node is over its allocatable, no queue over its capability, and every sum of "
                      "the cache equals a recount; at rest no gang is there in part. Steps of a seed: 60, of the slow "
                      "scorer 80.",
         "eviction": "A job gets its places whenever any set of victims that may go makes room for it, and otherwise "
                     "nobody goes; none of the victims can stay, and no set with a lower highest priority is enough; no "
                     "job is left below its minimum unless all of it goes. Pods of one job are alike. Where nodes "
                     "compete for what a budget or a minimum leaves, one cluster in 2,000 may have a better set."}
CHUNK = 100
SANITIZERS = {"ASAN_OPTIONS": "detect_leaks=1:strict_string_checks=1",
              "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1"}


class State:
    """Which chunks are done, in a file. For all threads."""

    def __init__(self, path):
        self.path = path
        self.lock = threading.Lock()
        self.done = json.loads(path.read_text()) if path.exists() else {}

    def note(self, key, seconds):
        """Keeps a finished chunk."""
        with self.lock:
            self.done[key] = seconds
            self.path.parent.mkdir(parents=True, exist_ok=True)
            temporary = self.path.with_suffix(".new")
            temporary.write_text(json.dumps(self.done))
            temporary.replace(self.path)


def fingerprint(program):
    """Of a test program: what was found with another one does not count."""
    return hashlib.sha256(program.read_bytes()).hexdigest()[:16]


def run_chunk(program, first, last):
    """Lives through some seeds; the text about a failure, or None."""
    done = subprocess.run([program], text=True,
                          env={**os.environ, **SANITIZERS, "PUMICE_SEEDS": f"{first}-{last}"},
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode == 0:
        return None
    seeds = re.findall(r"^seed (\d+)$", done.stdout, re.MULTILINE)
    seed = seeds[-1] if seeds else first
    tail = [line for line in done.stdout.splitlines() if not line.startswith("seed ")][-12:]
    return f"PUMICE_SEED={seed} {program}\n    " + "\n    ".join(tail)


def programs(options):
    """(name of the build, test, program, seeds) of all that is to be run."""
    for build, folder, seeds in (("release", options.release, options.seeds),
                                 ("ASan, UBSan", options.asan, options.asan_seeds)):
        for test in TESTS[options.of]:
            if seeds:
                yield build, test, folder / "tests" / "unit" / f"scheduler_{test}", seeds


def live(options, state):
    """All chunks that are not done; failures."""
    failures = []

    def one(chunk):
        key, program, first, last = chunk
        if failures and not options.all:
            return
        started = time.monotonic()
        failure = run_chunk(program, first, last)
        if failure:
            failures.append(failure)
            print(failure, flush=True)
        else:
            state.note(key, time.monotonic() - started)
            print(f"{key}: well", flush=True)

    work = []
    for build, test, program, seeds in programs(options):
        mark = fingerprint(program)
        for first in range(options.first, options.first + seeds, CHUNK):
            last = min(first + CHUNK, options.first + seeds) - 1
            key = f"{build} {test} {mark} {first}-{last}"
            if key not in state.done:
                work.append((key, program, first, last))
    with ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(one, work))
    return failures


def report(options, state, failures):
    """Writes the report; returns its path."""
    now = time.gmtime()
    path = options.report / f"{time.strftime('%Y-%m-%d', now)}-{options.of}-property.md"
    words = f"tests/long/{options.of}-property --seeds {options.seeds} --asan-seeds {options.asan_seeds}"
    lines = [f"# Random clusters of the scheduler{': evictions' if options.of == 'eviction' else ''}", "",
             f"Commit {options.commit}, {time.strftime('%Y-%m-%d %H:%M', now)} UTC, {os.cpu_count()} cores, "
             f"{platform.machine()}. Made with `{words}`.", "",
             ABOUT[options.of], "", "| build | test | what happens | seeds | failed |", "|---|---|---|---|---|"]
    for build, test, program, seeds in programs(options):
        mark = f"{build} {test} {fingerprint(program)} "
        chunks = [key[len(mark):].split("-") for key in state.done if key.startswith(mark)]
        done = sum(int(last) - int(first) + 1 for first, last in chunks)
        bad = sum(f"{program}\n" in failure for failure in failures)
        lines.append(f"| {build} | {test} | {TESTS[options.of][test]} | {done:,} of {seeds:,} | {bad} |")
    lines += ["", *(f"- `{failure}`" for failure in failures)]
    options.report.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines).rstrip() + "\n")
    return path


def main():
    parser = argparse.ArgumentParser(prog="scheduler-property", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--of", choices=TESTS, default="scheduler", help="which tests")
    parser.add_argument("--release", type=Path, default=ROOT / "build" / "release", help="build folder")
    parser.add_argument("--asan", type=Path, default=ROOT / "build" / "asan", help="build folder")
    parser.add_argument("--seeds", type=int, default=10000, help="of each test in the release build")
    parser.add_argument("--asan-seeds", type=int, default=1000, help="of each test with sanitizers, 0 for none")
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="at the same time")
    parser.add_argument("--all", action="store_true", help="go on after a failure")
    parser.add_argument("--state", type=Path, help="state file, of itself in build/")
    parser.add_argument("--report", type=Path, default=ROOT / "docs" / "reports", help="where the report goes")
    options = parser.parse_args()
    options.commit = commit("common", "scheduler", "tests/unit/scheduler")
    options.state = options.state or ROOT / "build" / f"{options.of}-property.json"
    state = State(options.state)
    failures = live(options, state)
    path = report(options, state, failures)
    print(path.read_text())
    print(f"report: {path}")
    return 1 if failures else 0


sys.exit(main())
