"""A job of 500 pods that is failed, restarted, scaled, suspended and finished, while its controllers
are killed (SIGKILL) 20 times at random moments: in the end exactly the right pods, by UID, and the
right status. tests/integration/harness/kills.py says what is done and what is checked. One round
for each seed, on one control plane; a report goes to docs/reports/. PUMICE_BIN names the build
folder. A seed gives the same decisions again, though not the same moments.
"""

import argparse
import os
import platform
import secrets
import sys
import tempfile
import time
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "integration"), str(ROOT / "tests" / "cluster")]

from harness import kills  # noqa: E402  (the path comes first)
from harness.api import Api  # noqa: E402
from harness.pumice import Pumice  # noqa: E402
from harness.report import describe  # noqa: E402
from cluster import ControlPlane  # noqa: E402
from tree import commit  # noqa: E402

PODS_PER_NODE = 100
COLUMNS = ("seed", "seconds", "pods", "deleted by users", "retries", "versions", "states",
           "evictions unseen", "leases lost")


def lease(seconds, shards):
    """The flags of a lease of so many seconds, and of controllers that are all active."""
    flags = {"leader-elect-lease-duration": f"{seconds}s",
             "leader-elect-renew-deadline": f"{seconds * 3 / 4}s",
             "leader-elect-retry-period": "500ms"}
    return {**flags, "shards": "true"} if shards else flags


def play(api, product, seed, options):
    """One round: (what was done or None, what was wrong or None)."""
    ns = api.make_namespace(f"kills-{seed}-{secrets.token_hex(3)}")
    try:
        product.start_missing()
        product.controller.stop()
        done = kills.run(api, ns, product, seed, options.pods, options.kills,
                         lease(options.lease, options.shards), options.pause, options.timeout)
        return done, None
    except Exception as error:  # the other seeds are played all the same
        traceback.print_exc()
        print(describe(api, ns, product), file=sys.stderr, flush=True)
        return None, f"seed {seed}: {error}"
    finally:
        api.remove_namespace(ns, timeout=300)


def run(options, seeds):
    """All rounds: (what was done, what was wrong)."""
    rounds, faults = [], []
    with tempfile.TemporaryDirectory(prefix="pumice-kills-") as folder:
        plane = ControlPlane(options.folder or Path(folder) / "plane", audit=True, tied=True)
        plane.start()
        product = Pumice(plane, tied=True)
        api = Api(plane)
        try:
            product.apply_manifests()
            plane.start_kwok()
            plane.add_nodes(options.pods // PODS_PER_NODE + 2)
            product.start()
            for seed in seeds:
                done, fault = play(api, product, seed, options)
                rounds += [done] if done else []
                faults += [fault] if fault else []
                print(f"seed {seed}: {fault or done}", flush=True)
        finally:
            faults += product.stop()
            plane.stop()
    return rounds, faults


def total(rounds, key):
    """Sums of a counter of all rounds, as "name n"."""
    names = sorted({name for one in rounds for name in one[key]})
    return ", ".join(f"{name} {sum(one[key].get(name, 0) for one in rounds)}" for name in names)


def report(options, seeds, made_of, rounds, faults):
    """Writes the report; returns its path."""
    now = time.gmtime()
    path = options.report / f"{time.strftime('%Y-%m-%d', now)}-controller-kills.md"
    command = (f"tests/long/controller-kills --seed {seeds[0]} --rounds {len(seeds)} "
               f"--pods {options.pods} --kills {options.kills} --lease {options.lease}"
               + " --shards" * options.shards)
    lines = [
        "# Controllers killed at random moments", "",
        f"Commit {made_of}, {time.strftime('%Y-%m-%d %H:%M', now)} UTC, {os.cpu_count()} cores, "
        f"{platform.machine()}. Made with `{command}`.", "",
        f"{len(rounds)} of {len(seeds)} rounds ended as they had to: each index with exactly one "
        "pod of the job's version or remembered as finished, by UID no pod that nothing asked for "
        "and none deleted that nothing demanded, the retries and versions that the steps ask for, "
        "the counts of the pods, one PodGroup with the right minMember, no Command left; then the "
        "same once all pods have succeeded and the job has completed.", "",
        "Each round kills controllers "
        f"{options.kills} times, as \"moment, way\". Moments: a random time, right after a pod was "
        "created or deleted, after a status write, or soon after a takeover (begin). Ways: the "
        "leader of two (one), both at once (both), or all, of which one comes back (alone).", "",
        f"- Kills: {total(rounds, 'kills')}", f"- Steps: {total(rounds, 'steps')}", "",
        "| " + " | ".join(COLUMNS) + " |", "|" + "---|" * len(COLUMNS),
        *("| " + " | ".join(str(round(one[key])) for key in COLUMNS) + " |" for one in rounds), "",
        "\"pods\" is how many ever existed, \"states\" how many versions of the job there were. "
        "An eviction is unseen when no controller was there to see it (`docs/differences.md`); "
        "then it costs no retry.",
        *([""] + [f"- {text[:1000]}" for text in faults] if faults else [])]
    options.report.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, help="of the first round; by default a random one")
    parser.add_argument("--rounds", type=int, default=3, help="each with the next seed")
    parser.add_argument("--pods", type=int, default=500)
    parser.add_argument("--kills", type=int, default=20, help="in a round")
    parser.add_argument("--lease", type=int, default=4, help="seconds of the controllers' lease")
    parser.add_argument("--shards", action="store_true", help="all controllers are active")
    parser.add_argument("--pause", type=float, default=6,
                        help="longest wait before the moment of a kill is chosen, in seconds")
    parser.add_argument("--timeout", type=float, default=180, help="of one step, in seconds")
    parser.add_argument("--folder", type=Path, help="of the control plane, to be kept")
    parser.add_argument("--report", type=Path, default=ROOT / "docs" / "reports")
    options = parser.parse_args()
    first = secrets.randbelow(1000000) if options.seed is None else options.seed
    seeds = list(range(first, first + options.rounds))
    print(f"seeds {seeds[0]} to {seeds[-1]}", flush=True)
    made_of = commit("common", "controller", "scheduler")
    rounds, faults = run(options, seeds)
    print(f"report: {report(options, seeds, made_of, rounds, faults)}")
    return 1 if faults else 0


sys.exit(main())
