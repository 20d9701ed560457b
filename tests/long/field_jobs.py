"""Jobs as users lost them, with a controller that hears of everything 0 to 3 s late: the tests of
tests/integration/test_field_jobs.py with all their rounds. Writes a report into docs/reports/.

PUMICE_BIN names the build folder. Takes about half an hour.
"""

import argparse
import os
import platform
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from tree import commit

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests" / "integration" / "test_field_jobs.py"


def run(options, results):
    """Runs the tests; what they print goes to the terminal."""
    subprocess.run([sys.executable, "-m", "pytest", "-v", f"--junitxml={results}", TESTS,
                    *(["-k", options.only] if options.only else [])],
                   env={**os.environ, "PUMICE_FIELD_FULL": "1",
                        "PUMICE_FIELD_SEED": str(options.seed)}, check=False)


def rows(results):
    """(test, what it did, seconds, problem or None) of each test."""
    for case in ElementTree.parse(results).getroot().iter("testcase"):
        done = [one.get("value") for one in case.iter("property") if one.get("name") == "rounds"]
        problem = next((one.get("message") or "" for one in case
                        if one.tag in ("failure", "error", "skipped")), None)
        name = case.get("name") or "the run"  # which was interrupted
        yield (name.removeprefix("test_").replace("_", " "), " ".join(done),
               float(case.get("time", 0)), problem)


def report(options, results, at):
    """Writes the report; returns its path and whether a test failed."""
    found = list(rows(results))
    failed = [row for row in found if row[3] is not None]
    path = options.report / f"{time.strftime('%Y-%m-%d', time.gmtime())}-field-jobs.md"
    lines = [
        "# Field reports about jobs, with a watch that lags", "",
        f"Commit {at}, {time.strftime('%Y-%m-%d %H:%M', time.gmtime())} UTC, {os.cpu_count()} "
        f"cores, {platform.machine()}. Made with `tests/long/field-jobs --seed {options.seed}`.",
        "", "The controller hears of each change 0 to 3 s late, drawn for each event of each watch. "
        "What is checked, by UID and by the audit log, stands in "
        "`tests/integration/test_field_jobs.py`.", "",
        "| Test | Rounds | Seconds | Result |", "|---|---|---|---|",
        *(f"| {name} | {rounds} | {seconds:.0f} | {'passed' if problem is None else 'FAILED'} |"
          for name, rounds, seconds, problem in found),
        *([""] + [f"    {name}: {problem[:300]}" for name, _, _, problem in failed]
          if failed else [])]
    options.report.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")
    return path, bool(failed) or not found


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1, help="of the delays and the order of things")
    parser.add_argument("--only", help="tests to run, as pytest -k has it")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "long" / "field-jobs")
    parser.add_argument("--report", type=Path, default=ROOT / "docs" / "reports")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    results = options.folder / "results.xml"
    results.unlink(missing_ok=True)
    at = commit("common", "controller", "scheduler", "webhook")
    run(options, results)
    if not results.exists():
        print("the tests did not run", file=sys.stderr)
        return 1
    path, failed = report(options, results, at)
    print(f"report: {path}")
    return 1 if failed else 0


sys.exit(main())
