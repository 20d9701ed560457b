"""Controllers with --shards, two and then three of them, under a load of 2,000 pods, while they are
killed (SIGKILL), stopped and paused (SIGSTOP for 60 seconds) at random: in the end each pod was made
exactly once, by UID, and what the API server received from one whose Lease had ended was refused.
Before that, the same load without trouble with one and with three, in turns: how many pods a second
are made. A report goes to docs/reports/. PUMICE_BIN names the build folder. A seed gives the same
decisions again, though not the same moments.
"""

import argparse
import os
import platform
import random
import secrets
import sys
import tempfile
import time
import traceback
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "integration"), str(ROOT / "tests" / "cluster")]

from harness.api import Api  # noqa: E402  (the path comes first)
from harness.members import Audit, Members, Storm, late_faults, submit, wrong_pods  # noqa: E402
from harness.pumice import Pumice  # noqa: E402
from harness.report import describe  # noqa: E402
from harness.witness import Witness  # noqa: E402
from cluster import ControlPlane  # noqa: E402
from tree import commit  # noqa: E402

PODS_PER_NODE = 100
PAUSE = 60


def times(seconds):
    """The flags of a Lease of so many seconds, in the proportions of the preset ones."""
    return {"leader-elect-lease-duration": f"{seconds}s",
            "leader-elect-renew-deadline": f"{seconds * 2 / 3:.1f}s",
            "leader-elect-retry-period": f"{seconds * 2 / 15:.1f}s"}


class Rig:
    """A control plane with the product, whose controller does not run, and namespaces for rounds."""

    def __init__(self, folder, options):
        self.options = options
        self.plane = ControlPlane(folder, audit=True, tied=True)
        self.plane.start()
        self.product = Pumice(self.plane, tied=True)
        self.api = Api(self.plane)
        self.product.apply_manifests()
        self.plane.start_kwok()
        self.plane.add_nodes(options.pods // PODS_PER_NODE + 2)
        self.product.start()
        self.product.controller.stop()

    def round(self, name, play, count):
        """play(members, ns, audit) with `count` members: (what it gives or None, what was wrong)."""
        ns = self.api.make_namespace(f"{name}-{secrets.token_hex(3)}")
        members, audit = Members(self.product, count, times(self.options.lease)), Audit(self.plane)
        try:
            for member in members.all:
                members.start(member)
            members.wait_shares(members.all)
            done, faults = play(members, ns, audit)
        except Exception as error:  # the other rounds are played all the same
            traceback.print_exc()
            print(describe(self.api, ns, self.product), file=sys.stderr, flush=True)
            done, faults = None, [f"{name}: {error}"]
        finally:
            complaints = members.stop()
            self.product.controller.start()
            self.api.remove_namespace(ns, timeout=600)
            self.product.controller.stop()
        return done, faults + complaints

    def end(self):
        """Ends all; returns the complaints."""
        try:
            return self.product.stop()
        finally:
            self.plane.stop()


def shape(options):
    """Jobs, and pods of each."""
    return options.pods // options.size, options.size


def throughput(rig, count):
    """A round without trouble: pods made a second, from the first to the last."""
    jobs, size = shape(rig.options)

    def play(_members, ns, audit):
        submit(rig.api, ns, random.Random(1), "load", jobs, size, 0)
        for number in range(jobs):
            rig.api.wait_phase(ns, f"load{number}", ("Running", "Completed"), rig.options.timeout)
        made = [one.begin for one in audit.records() if one.ok and one.verb == "create" and
                one.resource == "pods" and not one.subresource and one.namespace == ns]
        faults = [] if len(made) == jobs * size else [f"{len(made)} creates for {jobs * size} pods"]
        return (len(made) - 1) / (max(made) - min(made)), faults
    return rig.round(f"load-{count}", play, count)


def storm(rig, count, seed):
    """A round with trouble: what was done, what was wrong."""
    options, (jobs, size) = rig.options, shape(rig.options)

    def play(members, ns, audit):
        begin, rng = time.monotonic(), random.Random(f"{seed} {count}")
        witness = Witness(rig.api, ns)
        blows = Storm(members, rng, pause=PAUSE, rest=options.rest)
        with ThreadPoolExecutor(1) as worker:
            submitted = worker.submit(submit, rig.api, ns, random.Random(f"jobs {seed}"), "storm",
                                      jobs, size, options.seconds)
            blows.blow(submitted.done)
        ends = submitted.result()
        members.wait_shares(members.all, timeout=4 * options.lease, revive=True)
        for name, over in ends.items():
            rig.api.wait_phase(ns, name, "Completed" if over else "Running", options.timeout)
        witness.end()
        records = audit.records()
        late = {member.name: audit.late(member, options.lease, records) for member in members.all}
        faults = [f"{count} members: {text}" for text in wrong_pods(witness, ends, size)]
        for name, found in late.items():
            faults += [f"{name}: {text}" for text in late_faults(found)]
        codes = Counter(one.code for found in late.values() for one in found)
        return {"members": count, "seed": seed, "seconds": round(time.monotonic() - begin),
                "pods": len(witness.seen), "trouble": dict(blows.done), "Leases lost": members.lost,
                "writes after the Lease": dict(codes) or 0}, faults
    return rig.round(f"storm-{count}", play, count)


def run(options, seed):
    """All rounds: (pods a second by number of members, storms, faults)."""
    rates, storms, faults = {1: [], 3: []}, [], []
    with tempfile.TemporaryDirectory(prefix="pumice-shards-") as folder:
        rig = Rig(options.folder or Path(folder) / "plane", options)
        try:
            for count in [1, 3] * options.loads:
                rate, wrong = throughput(rig, count)
                rates[count] += [rate] if rate else []
                faults += wrong
                print(f"{count} members: {rate} pods a second {wrong}", flush=True)
            for count in (2, 3):
                for number in range(options.rounds):
                    done, wrong = storm(rig, count, seed + number)
                    storms += [done] if done else []
                    faults += wrong
                    print(f"{done} {wrong}", flush=True)
        finally:
            faults += rig.end()
    if all(rates.values()) and median(rates[3]) < options.least * median(rates[1]):
        faults.append(f"three make {median(rates[3]):.0f} pods a second, one makes {median(rates[1]):.0f}")
    return rates, storms, faults


def report(options, seed, made_of, rates, storms, faults):
    """Writes the report; returns its path."""
    now = time.gmtime()
    path = options.report / f"{time.strftime('%Y-%m-%d', now)}-controller-shards.md"
    command = (f"tests/long/controller-shards --seed {seed} --rounds {options.rounds} --pods {options.pods} "
               f"--size {options.size} --seconds {options.seconds} --lease {options.lease} --loads {options.loads}")
    columns = ("members", "seed", "seconds", "pods", "trouble", "Leases lost", "writes after the Lease")
    lines = [
        "# Several active controllers, killed and paused", "",
        f"Commit {made_of}, {time.strftime('%Y-%m-%d %H:%M', now)} UTC, {os.cpu_count()} cores, "
        f"{platform.machine()}. Made with `{command}`.", "",
        f"{options.pods // options.size} jobs of {options.size} pods, of which half end by themselves, are created while "
        "controllers with `--shards` are killed (kill), stopped in order (stop), and stand still for "
        f"{PAUSE} s (pause) or {Storm.BLINK} s (blink). " +
        ("In the end each pod had been made exactly once, by UID, and what the API server received from a controller "
         "whose Lease had ended was refused." if not faults else f"**{len(faults)} faults**, below."), "",
        "| " + " | ".join(columns) + " |", "|" + "---|" * len(columns),
        *("| " + " | ".join(told(one[key]) for key in columns) + " |" for one in storms), "",
        "\"Leases lost\" counts the starts after one had left because its Lease had ended, \"writes after the Lease\" what "
        "came from it after that, by status code.", "",
        "Without trouble, pods a second from the first to the last:", "",
        *(f"- {count} active: {', '.join(f'{rate:.0f}' for rate in found)} (median {median(found):.0f})"
          for count, found in rates.items() if found),
        *([""] + [f"- {text[:1000]}" for text in faults] if faults else [])]
    options.report.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")
    return path


def told(value):
    """A value of the table."""
    if isinstance(value, dict):
        return ", ".join(f"{key} {number}" for key, number in sorted(value.items()))
    return str(value)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, help="of the first round; by default a random one")
    parser.add_argument("--rounds", type=int, default=2, help="with trouble, for two members and for three")
    parser.add_argument("--loads", type=int, default=3, help="without trouble, for one member and for three")
    parser.add_argument("--pods", type=int, default=2000)
    parser.add_argument("--size", type=int, default=20, help="pods of a job")
    parser.add_argument("--seconds", type=float, default=300, help="in which the jobs are created")
    parser.add_argument("--lease", type=int, default=15, help="seconds of the controllers' Leases")
    parser.add_argument("--rest", type=float, default=15, help="longest time between two troubles, in seconds")
    parser.add_argument("--least", type=float, default=0.95,
                        help="of the rate of one that three must reach; below 1 for the machine's noise")
    parser.add_argument("--timeout", type=float, default=300, help="for a job to come to its end, in seconds")
    parser.add_argument("--folder", type=Path, help="of the control plane, to be kept")
    parser.add_argument("--report", type=Path, default=ROOT / "docs" / "reports")
    options = parser.parse_args()
    seed = secrets.randbelow(1000000) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    made_of = commit("common", "controller", "scheduler")
    rates, storms, faults = run(options, seed)
    print(f"report: {report(options, seed, made_of, rates, storms, faults)}")
    for text in faults:
        print(text, file=sys.stderr)
    return 1 if faults else 0


sys.exit(main())
