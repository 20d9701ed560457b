"""Builds the images of the last commit, and runs integration tests with the programs out of them.

    tests/long/images                                   test_jobs.py and test_admission.py
    tests/long/images test_plugins.py test_queues.py    these files of tests/integration, or arguments of pytest

Each program runs in the root file system of its image, which cannot be written, as user 65532 without capabilities
(tests/images/container). A report goes to docs/reports/. Exit code: pytest's. Needs root.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "images"))

import images  # noqa: E402

FILES = ("test_jobs.py", "test_admission.py")


def git(*words):
    """What git says of the last commit."""
    return images.run("git", "-C", ROOT, *words).strip()


def report(found, tests, last, minutes):
    """Writes the report and returns its path."""
    lines = ["# Integration tests over the container images", "",
             f"Commit {git('rev-parse', '--short', 'HEAD')}, {time.strftime('%Y-%m-%d %H:%M', time.gmtime())} UTC, "
             f"{os.cpu_count()} cores. Made with `tests/long/images {' '.join(tests)}`. The programs ran out of their "
             "images: a root file system that cannot be written, user 65532, no capabilities.", "",
             "| Image | Bytes unpacked | Bytes of the archive | Digest |", "|---|---|---|---|"]
    lines += [f"| {one.program} | {one.size:,} | {one.archive.stat().st_size:,} | `{one.digest}` |"
              for one in found.values()]
    lines += ["", f"`{last}` ({minutes:.1f} minutes)", ""]
    path = ROOT / "docs" / "reports" / f"{time.strftime('%Y-%m-%d', time.gmtime())}-images.md"
    path.write_text("\n".join(lines))
    return path


def main():
    parser = argparse.ArgumentParser(prog="tests/long/images", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    _, tests = parser.parse_known_args()
    tests = tests or list(FILES)
    with tempfile.TemporaryDirectory(prefix="pumice-images-") as folder:
        folder = Path(folder)
        found = images.build(folder / "out")
        for image in found.values():
            images.unpack(image, folder)
        begin = time.monotonic()
        with subprocess.Popen(
                [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--color=no", *tests],
                cwd=ROOT / "tests" / "integration", stdout=subprocess.PIPE, text=True,
                env={**os.environ, "PUMICE_BIN": str(images.programs(found, folder / "bin"))}) as child:
            last = ""
            for line in child.stdout:
                print(line, end="", flush=True)
                last = line.strip() or last
        summary = re.sub(r"^=+ | =+$", "", last)
        print("report:", report(found, tests, summary, (time.monotonic() - begin) / 60))
    sys.exit(child.returncode)


main()
