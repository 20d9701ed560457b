"""Two webhooks behind one address, a call every few milliseconds, 990 new serving certificates and
10 new authorities: no call may fail. Writes a report into docs/reports/.

What was done is kept in --folder after every round of 99 certificates and one authority, so that
the command goes on where it was stopped; --anew begins again. A round that was stopped is done
again from its start, on a control plane of its own. PUMICE_BIN names the build folder.
"""

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "integration"), str(ROOT / "tests" / "cluster")]

from harness.rotation import Load, Pair  # noqa: E402  (the path comes first)
from cluster import ControlPlane  # noqa: E402
from tree import commit  # noqa: E402

INTERVAL, OVERLAP = "300ms", "3s"
SHOWN = 20


def run_round(pair, leafs, authorities):
    """One round; what it counted."""
    begin = time.monotonic()
    slowest = 0.0
    with Load(pair) as load:
        for _ in range(leafs):
            start = time.monotonic()
            pair.renew_leaf()
            slowest = max(slowest, time.monotonic() - start)
        for _ in range(authorities):
            pair.renew_authority()
    return {"leafs": leafs, "authorities": authorities, "seconds": time.monotonic() - begin,
            "slowest_leaf": slowest, **load.calls, "failures": load.failures}


def run(options, state, save):
    """The rounds that are left."""
    with tempfile.TemporaryDirectory(prefix="pumice-rotations-") as folder:
        plane = ControlPlane(Path(folder) / "plane", tied=True)
        plane.start()
        pair = Pair(plane, **{"cert-check-interval": INTERVAL, "ca-overlap": OVERLAP})
        try:
            pair.start()
            while len(state["rounds"]) < options.rounds:
                state["rounds"].append(run_round(pair, options.leafs, 1))
                save()
                last = state["rounds"][-1]
                print(f"round {len(state['rounds'])} of {options.rounds}: "
                      f"{last['seconds']:.0f} s, {last['admission']} + {last['handshake']} calls, "
                      f"{len(last['failures'])} failed", flush=True)
        finally:
            state["complaints"] += pair.stop()
            plane.stop()
            save()


def total(state, key):
    """A sum over all rounds."""
    return sum(one[key] for one in state["rounds"])


def report(state, options):
    """Writes the report; returns its path."""
    failures = [text for one in state["rounds"] for text in one["failures"]]
    path = options.report / f"{time.strftime('%Y-%m-%d', time.gmtime())}-certificate-rotations.md"
    lines = [
        "# Certificates that change under load", "",
        f"Commit {state['commit']}, {time.strftime('%Y-%m-%d %H:%M', time.gmtime())} UTC, "
        f"{os.cpu_count()} cores, {platform.machine()}. Made with "
        f"`tests/long/certificate-rotations --leafs {options.leafs} --rounds {options.rounds}`.",
        "", "Two webhooks behind one address; `--cert-check-interval " + INTERVAL +
        "`, `--ca-overlap " + OVERLAP + "`. Calls of two kinds, each a few milliseconds after the "
        "one before: jobs that the API server has to get admitted, and fresh handshakes with each "
        "replica that trust the registered `caBundle` of up to a second ago.", "",
        "| What | Number |", "|---|---|",
        f"| new serving certificates of the same authority | {total(state, 'leafs')} |",
        f"| new authorities, each down to the end of the one before | "
        f"{total(state, 'authorities')} |",
        f"| jobs admitted through the API server | {total(state, 'admission')} |",
        f"| handshakes with a review | {total(state, 'handshake')} |",
        f"| failed calls | {len(failures)} |",
        f"| complaints about the webhooks | {len(state['complaints'])} |",
        f"| minutes | {total(state, 'seconds') / 60:.1f} |",
        f"| longest time from a request for a certificate until both served it, s | "
        f"{max(one['slowest_leaf'] for one in state['rounds']):.1f} |",
        *(["", "Failed calls, the first of them:", ""] +
          [f"    {text[:300]}" for text in failures[:SHOWN]] if failures else []),
        *([""] + [f"- {text}" for text in state["complaints"]] if state["complaints"] else [])]
    options.report.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")
    return path, bool(failures or state["complaints"])


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--leafs", type=int, default=99, help="certificates in a round")
    parser.add_argument("--rounds", type=int, default=10, help="rounds, one new authority in each")
    parser.add_argument("--folder", type=Path,
                        default=ROOT / "build" / "long" / "certificate-rotations")
    parser.add_argument("--report", type=Path, default=ROOT / "docs" / "reports")
    parser.add_argument("--anew", action="store_true", help="forget what was done before")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    file = options.folder / "state.json"
    state = {"commit": commit("certs", "common", "webhook"), "rounds": [], "complaints": []}
    if file.exists() and not options.anew:
        state = json.loads(file.read_text())
        print(f"going on after round {len(state['rounds'])}", flush=True)

    def save():
        part = file.with_suffix(".part")
        part.write_text(json.dumps(state))
        part.rename(file)
    if len(state["rounds"]) < options.rounds:
        run(options, state, save)
    path, failed = report(state, options)
    print(f"report: {path}")
    return 1 if failed else 0


sys.exit(main())
