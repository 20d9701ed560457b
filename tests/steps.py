#!/usr/bin/env python3
"""The steps of ./test.sh: runs them in order, goes on after a failed one, and sums up.

Each step prints to the terminal and into build/test/STEP.log. The last line of all is
"N passed, N failed"; the exit code is 1 when something failed. How results are counted: ctest, pytest
and go test by their own reports, everything else (a build, a style gate, a fuzz target) as one.
"""

import argparse
import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUTPUT = ROOT / "build" / "test"
CORES = str(os.cpu_count() or 1)
FUZZ_SECONDS = 6
UNSTEADY_MOST = 3
LANES = min(2, os.cpu_count() or 1)
SANITIZER_ENV = {"ASAN_OPTIONS": "detect_leaks=1:strict_string_checks=1",
                 "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1"}
KILLED = 124


class Step:
    """One step: its name, what it needs done before, its limit in minutes, and what it does."""

    def __init__(self, name, text, needs, minutes, function):
        self.name, self.text, self.needs = name, text, needs
        self.minutes, self.function = minutes, function


STEPS = {}


def step(name, text, needs=(), minutes=10):
    """Puts a function(run) into the list of steps; it runs in the order of this file."""
    def add(function):
        STEPS[name] = Step(name, text, needs, minutes, function)
        return function
    return add


class Run:
    """What a step gets: commands with a log and a deadline, and counters."""

    def __init__(self, name, deadline, background):
        self.name, self.deadline, self.background = name, deadline, background
        self.passed = self.failed = self.unsteady = 0
        OUTPUT.mkdir(parents=True, exist_ok=True)
        self.log = open(OUTPUT / f"{name}.log", "w", buffering=1, errors="replace")

    def say(self, text):
        """Prints a line, and writes it into the step's log."""
        print(text, flush=True)
        self.log.write(text + "\n")

    def count(self, good, text=None):
        """Counts one thing that passed or failed."""
        self.passed += bool(good)
        self.failed += not good
        if text:
            self.say(f"{'passed' if good else 'FAILED'}: {text}")

    def command(self, *words, env=None, cwd=ROOT, each_line=None):
        """Runs a command to its end or the deadline; returns its exit code.

        each_line(line) may return another text to show instead of a line, or None for nothing.
        """
        words = [str(word) for word in words]
        self.log.write(f"$ {' '.join(words)}\n")
        with subprocess.Popen(words, cwd=cwd, env={**os.environ, **(env or {})}, text=True,
                              errors="replace", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, start_new_session=True) as child:
            try:
                return self._follow(child, each_line)
            finally:
                end_group(child)

    def _follow(self, child, each_line):
        reader = LineReader(child.stdout)
        while True:
            line = reader.next(0.5)
            if line is None:
                return child.wait()
            if line:
                self._show(line.rstrip("\n"), each_line)
            if time.monotonic() > self.deadline:
                self.say(f"{self.name}: stopped, it takes too long")
                return KILLED

    def _show(self, line, each_line):
        shown = each_line(line) if each_line else line
        if shown is None:
            self.log.write(line + "\n")
        else:
            self.say(shown)

    def one(self, text, *words, **options):
        """Runs a command that counts as one; true if it ends well."""
        code = self.command(*words, **options)
        self.count(code == 0, text)
        return code == 0

    def junit(self, path, code):
        """Counts what a JUnit report holds; a run that tells nothing of its failure is one."""
        passed, failed = read_junit(path)
        self.add(passed, failed, code)

    def add(self, passed, failed, code):
        """Adds the counts of a test runner that ended with an exit code."""
        if not failed and (code != 0 or not passed):
            self.say(f"{self.name}: the runner ended with {code} after {passed} passed tests")
            failed = 1
        self.passed += passed
        self.failed += failed


class LineReader:
    """Lines of a pipe, with a time limit on each wait."""

    def __init__(self, pipe):
        self.lines = queue.Queue()
        threading.Thread(target=self._read, args=(pipe,), daemon=True).start()

    def _read(self, pipe):
        for line in pipe:
            self.lines.put(line)
        self.lines.put(None)

    def next(self, seconds):
        """A line, "" if none came in time, None at the end."""
        try:
            return self.lines.get(timeout=seconds)
        except queue.Empty:
            return ""


def end_group(child):
    """Ends a command and all that it started in its session."""
    for number, seconds in ((signal.SIGTERM, 10), (signal.SIGKILL, 10)):
        if child.poll() is not None:
            return
        try:
            os.killpg(child.pid, number)
            child.wait(seconds)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            pass


def read_junit(path):
    """(passed, failed) of a JUnit file; (0, 0) if there is none."""
    try:
        root = ElementTree.parse(path).getroot()
    except (OSError, ElementTree.ParseError):
        return 0, 0
    cases = list(root.iter("testcase"))
    failed = sum(1 for case in cases if case.find("failure") is not None
                 or case.find("error") is not None)
    skipped = sum(1 for case in cases if case.find("skipped") is not None
                  or case.get("status") in ("notrun", "disabled"))
    return len(cases) - failed - skipped, failed


def output_of(*words):
    """The last line that a command prints on stdout; its other messages go to the terminal."""
    done = subprocess.run([str(word) for word in words], cwd=ROOT, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{words[0]} failed")
    return done.stdout.splitlines()[-1]


# What the steps are made of


def build(run, preset, *definitions, targets=("all",)):
    """Configures and builds a preset; counts as one."""
    good = run.command("cmake", "--preset", preset, *definitions) == 0
    run.count(good and run.command("cmake", "--build", "--preset", preset, "--parallel", CORES,
                                   "--target", *targets) == 0, f"build {preset}")


def ctest(run, *selection, env=None):
    """Tests that CMake knows of."""
    report = OUTPUT / f"{run.name}.xml"
    report.unlink(missing_ok=True)
    run.junit(report, run.command("ctest", *selection, "--parallel", CORES, "--no-tests=error",
                                  "--output-on-failure", "--output-junit", report, env=env))


def pytest(run, *arguments, env=None, cache=("-p", "no:cacheprovider"), each_line=None, report=None):
    """A pytest run, in the environment that tests/venv makes."""
    report = OUTPUT / f"{report or run.name}.xml"
    report.unlink(missing_ok=True)
    python = Path(output_of("tests/venv")) / "bin" / "python"
    run.junit(report, run.command(python, "-m", "pytest", *cache, "--color=no",
                                  f"--junitxml={report}", *arguments, env=env, each_line=each_line))


def pytest_in_lanes(run, *arguments, **options):
    """A pytest run in LANES processes at a time, each of which takes the next file when it has done with one.

    The tests must allow it: tests/integration/harness/lanes.py.
    """
    def show(line):
        """The beginning of a test stands in the log alone: that of one that never ends is found there."""
        return None if line.endswith(" ") and "::" in line and not line.startswith("[") else line
    pytest(run, "-v", "-n", LANES, "--dist", "loadfile", "--no-loadscope-reorder", *arguments, each_line=show,
           **options)


def pytest_twice(run, *arguments, env=None):
    """A pytest run in lanes whose few failed tests, if any, get a second try, in one lane on a fresh control plane.

    A test that needs it is named as unsteady in the summary: a defect of it or of the product, which is still
    to be found, but of no more than a moment on a machine that others use, too. Many are no accident, and what a
    sanitizer finds stands.
    """
    cache, second = OUTPUT / f"{run.name}-cache", f"{run.name}-second"
    shutil.rmtree(cache, ignore_errors=True)
    (OUTPUT / f"{second}.xml").unlink(missing_ok=True)
    pytest_in_lanes(run, *arguments, env=env, cache=("-o", f"cache_dir={cache}"))
    failed = run.failed
    if not 0 < failed <= UNSTEADY_MOST or sanitizer_spoke(OUTPUT / f"{run.name}.xml"):
        return
    run.failed = 0
    before = run.passed
    pytest(run, "--last-failed", "--last-failed-no-failures=none", *arguments, env=env,
           cache=("-o", f"cache_dir={cache}"), report=second)
    run.unsteady = run.passed - before
    if run.passed - before + run.failed < failed:
        run.count(False, f"{failed} tests failed, and the second try ran fewer")


def sanitizer_spoke(report):
    """Whether a JUnit file has a sanitizer's findings, or is not there."""
    try:
        text = report.read_text(errors="replace")
    except OSError:
        return True
    return "Sanitizer" in text or "runtime error:" in text


def go_test(run, folder):
    """The tests of one Go module."""
    counts = {"pass": 0, "fail": 0}
    output = {}

    def show(line):
        try:
            event = json.loads(line)
        except ValueError:
            return line
        test, action = event.get("Test"), event["Action"]
        if action == "output":
            output.setdefault(test, []).append(event["Output"])
        elif test and action in counts:
            counts[action] += 1
            text = f"{action} {test} ({event['Elapsed']:.1f} s)"
            return text + "\n" + "".join(output[test]) if action == "fail" else text
        elif action == "fail":
            return "".join(output.get(None, ()))
        return None
    go = output_of("tests/cluster/go-toolchain")
    code = run.command(go, "test", "-json", "-count=1", "./...", cwd=ROOT / folder, each_line=show,
                       env={"GOTOOLCHAIN": "local", "GOFLAGS": "", "GOWORK": "off"})
    run.add(counts["pass"], counts["fail"], code)


# The steps, from fast to slow


@step("build", "build the release preset, warnings as errors")
def step_build(run):
    build(run, "release")


@step("unit", "unit tests of the release build", ["build"])
def step_unit(run):
    ctest(run, "--preset", "release")


@step("style", "format, banned functions, sizes, scripts, clang-tidy", ["build"], minutes=40)
def step_style(run):
    for gate in sorted((ROOT / "tests" / "style").glob("check-*")):
        run.one(gate.name, gate)


@step("scripts", "tests of manifests (helm and kustomize are built once), style gates and bench tools", minutes=30)
def step_scripts(run):
    pytest(run, "tests/manifests", "tests/style", "tests/bench")


@step("asan", "build with ASan and UBSan, unit tests with leak detection", minutes=30)
def step_asan(run):
    build(run, "asan")
    if not run.failed:
        ctest(run, "--preset", "asan", env=SANITIZER_ENV)


@step("tsan", "build with TSan, unit tests of the webhook, which alone has threads", minutes=20)
def step_tsan(run):
    tests = [f"webhook_{source.stem}"
             for source in sorted((ROOT / "tests" / "unit" / "webhook").glob("test_*.c"))]
    build(run, "tsan", targets=tests)
    if not run.failed:
        ctest(run, "--preset", "tsan", "-R", "^webhook/", env={"TSAN_OPTIONS": "halt_on_error=1"})


@step("fuzz", f"build with Clang; fuzz targets: their corpora and {FUZZ_SECONDS} s each", minutes=30)
def step_fuzz(run):
    targets = [source.stem for source in sorted((ROOT / "tests" / "fuzz").glob("fuzz_*.c"))]
    build(run, "fuzz", f"-DPUMICE_FUZZ_SECONDS={FUZZ_SECONDS}",
          targets=(*targets, "pumice-webhook", "pumice-controller", "pumice-scheduler"))
    if not run.failed:
        ctest(run, "--test-dir", "build/fuzz", "-L", "fuzz", env=SANITIZER_ENV)


@step("faultproxy", "tests of the fault proxy and of the load generators", minutes=10)
def step_faultproxy(run):
    go_test(run, "tests/faultproxy")
    go_test(run, "tests/bench/loadgen")
    go_test(run, "tests/bench/webhookload")


@step("controlplane", "build the test control plane, once", minutes=60)
def step_controlplane(run):
    run.background.follow(run)


@step("oracle", "our rules, parsers and placement against Kubernetes and Go's libraries",
      ["build", "controlplane"], minutes=40)
def step_oracle(run):
    pytest(run, "tests/oracle")


@step("integration", "the three binaries against a real API server, with ASan and UBSan",
      ["asan", "controlplane"], minutes=70)
def step_integration(run):
    pytest_twice(run, "tests/integration", "tests/faultproxy",
                 env={**SANITIZER_ENV, "PUMICE_BIN": str(ROOT / "build" / "asan")})


@step("operations", "the manifests as they are: installed, scaled, upgraded under load, taken away; rights",
      ["build", "controlplane"], minutes=10)
def step_operations(run):
    pytest(run, "-v", "tests/operations")


@step("integration-release", "jobs and admission again with the release build",
      ["build", "controlplane"], minutes=30)
def step_integration_release(run):
    pytest(run, "tests/integration/test_jobs.py", "tests/integration/test_admission.py")


@step("images", "container images: contents, the same bytes twice, a gang run by the programs out of them",
      ["controlplane"], minutes=20)
def step_images(run):
    pytest(run, "tests/images")


@step("bench", "10 jobs of 40 pods against the bare limit; reviews against a bare server; the scheduler alone",
      ["build", "controlplane"], minutes=30)
def step_bench(run):
    run.one("bench", ROOT / "tests" / "bench" / "fanout", "--ci")
    run.one("webhook", ROOT / "tests" / "bench" / "webhook", "--ci")
    run.one("sched", ROOT / "tests" / "bench" / "sched", "--ci")


class ControlPlaneBuild:
    """tests/cluster/build, begun early at low priority, since it is slow the first time."""

    def __init__(self):
        self.log = OUTPUT / "controlplane-build.log"
        self.child = None

    def begin(self):
        """Starts it, unless everything is built."""
        OUTPUT.mkdir(parents=True, exist_ok=True)
        with open(self.log, "w") as log:
            self.child = subprocess.Popen(
                ["nice", "-n", "19", ROOT / "tests" / "cluster" / "build"], stdout=log, stderr=log,
                stdin=subprocess.DEVNULL, start_new_session=True)

    def follow(self, run):
        """Shows what it prints until it ends; counts as one."""
        with open(self.log, errors="replace") as log:
            while True:
                ended = self.child.poll() is not None
                for line in log.read().splitlines():
                    run.say(line)
                if ended or time.monotonic() > run.deadline:
                    break
                time.sleep(1)
        run.count(self.child.poll() == 0, "control plane")

    def end(self):
        """Stops it if it still runs."""
        if self.child is not None:
            end_group(self.child)


def chosen(names):
    """The steps that were asked for and what they need, in order."""
    wanted = list(names) or list(STEPS)
    for name in wanted:
        wanted.extend(need for need in STEPS[name].needs if need not in wanted)
    return [found for name, found in STEPS.items() if name in wanted]


def run_step(what, limit, background, results):
    """Runs one step; returns (passed, failed, note)."""
    broken = [need for need in what.needs if results.get(need, (0, 0))[1]]
    if "build" in what.needs and broken == ["build"]:
        return 0, 1, "not run: build failed"
    if time.monotonic() > limit:
        return 0, 1, "not run: no time left"
    deadline = min(limit, time.monotonic() + what.minutes * 60)
    run = Run(what.name, deadline, background)
    try:
        what.function(run)
    except (OSError, RuntimeError) as error:
        run.count(False, f"{what.name}: {error}")
    finally:
        run.log.close()
    if not run.passed and not run.failed:
        return 0, 1, "ran no test"
    return run.passed, run.failed, note_on(run)


def note_on(run):
    """What the table says beside a step's counts."""
    unsteady = f"{run.unsteady} passed only at the second try, " if run.unsteady else ""
    return f"{unsteady}see {run.log.name}" if run.failed or run.unsteady else ""


def print_table(rows):
    """The table at the end."""
    print(f"\n{'step':20}{'passed':>8}{'failed':>8}{'seconds':>9}")
    for name, passed, failed, seconds, note in rows:
        print(f"{name:20}{passed:8}{failed:8}{seconds:9.0f}  {note}".rstrip())
    print(f"{'all':20}{sum(r[1] for r in rows):8}{sum(r[2] for r in rows):8}"
          f"{sum(r[3] for r in rows):9.0f}")


def run_all(steps, limit):
    """Runs the steps; returns the rows of the table."""
    background = ControlPlaneBuild()
    results, rows = {}, []
    try:
        if any(found.name == "controlplane" for found in steps):
            background.begin()
        for found in steps:
            print(f"\n=== {found.name}: {found.text}", flush=True)
            begin = time.monotonic()
            results[found.name] = run_step(found, limit, background, results)
            passed, failed, note = results[found.name]
            rows.append((found.name, passed, failed, time.monotonic() - begin, note))
            print(f"=== {found.name}: {passed} passed, {failed} failed {note}", flush=True)
    finally:
        background.end()
    return rows


def options():
    """The command line."""
    listed = "\n".join(f"  {found.name:20}{found.text}" for found in STEPS.values())
    parser = argparse.ArgumentParser(
        prog="./test.sh", description="Runs all tests, or the steps named.",
        formatter_class=argparse.RawDescriptionHelpFormatter, epilog=f"steps:\n{listed}")
    parser.add_argument("step", nargs="*", help="a step from the list below")
    parser.add_argument("--limit", type=float, default=24 * 60, metavar="MINUTES",
                        help="begin no step after that time, and stop the one that runs")
    given = parser.parse_args()
    unknown = [name for name in given.step if name not in STEPS]
    if unknown:
        parser.error(f"there is no step {', '.join(unknown)}; see ./test.sh -h")
    return given


def main():
    given = options()
    # An interrupt ends the steps' processes too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    rows = run_all(chosen(given.step), time.monotonic() + given.limit * 60)
    print_table(rows)
    passed, failed = sum(row[1] for row in rows), sum(row[2] for row in rows)
    print(f"{passed} passed, {failed} failed", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
