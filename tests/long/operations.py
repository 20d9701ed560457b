"""Operators at work while users submit jobs: for so many minutes Deployments are scaled, restarted and upgraded,
replicas deleted, evicted and killed (SIGKILL), at random. Writes a report into docs/reports/.

All of it runs as in tests/operations: install.yaml as it is, pods as processes with their own tokens. In the end each
job that was let in has to be completed, each of its pods to have come once, on one node, and calls may have been
refused for want of a webhook no longer than a replica takes to go. The same seed takes the same decisions. PUMICE_BIN names the
build folder, PUMICE_NEXT_BIN that of the other version. Exit code: 0 when all was so, 1 when not.
"""

import argparse
import os
import platform
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "operations"))

from kubelet import netns  # noqa: E402  (the path comes first)
from kubelet.cluster import APPS, INSTALL, SYSTEM, Cluster, drain_seconds, next_version  # noqa: E402
from kubelet.load import Load  # noqa: E402
from harness.wait import wait_until  # noqa: E402
from tree import commit  # noqa: E402

NAMESPACE = "load"
MOST = 3


class Operator:
    """Takes one decision after another, and waits for what each leads to."""

    def __init__(self, cluster, chance, changed):
        self.cluster, self.chance, self.changed = cluster, chance, changed
        self.done = Counter()
        self.killed = 0

    def act(self):
        """One decision."""
        name = self.chance.choice(sorted(APPS))
        what = self.chance.choice([self.scale, self.restart, self.upgrade, self.delete, self.evict, self.kill])
        what(name)
        self.done[f"{what.__name__} {name}" if what != self.upgrade else "upgrade"] += 1
        self.cluster.wait_available()

    def scale(self, name):
        self.cluster.scale(name, self.chance.randint(1, MOST))

    def restart(self, name):
        self.cluster.plane.kubectl("rollout", "restart", "deploy", name, "-n", SYSTEM)

    def upgrade(self, _name):
        self.cluster.apply(self.chance.choice([INSTALL, self.changed]))

    def _some(self, name):
        return self.chance.choice(sorted(self.cluster.node.running(APPS[name]), key=lambda pod: pod.name))

    def delete(self, name):
        self.cluster.plane.kubectl("delete", "pod", self._some(name).name, "-n", SYSTEM)

    def evict(self, name):
        pod = self._some(name).name
        # As many as the budget allows is known a moment after a rollout.
        wait_until(lambda: self.cluster.api.evict(SYSTEM, pod) or True, 60, f"{pod} to be evicted")

    def kill(self, name):
        # The only replica of the webhook would be missed until the next has started.
        if name == "volcano-admission" and len(self.cluster.node.running(APPS[name])) == 1:
            return
        pod = self._some(name)
        pod.expect_end()
        pod.process.kill()
        self.killed += 1


def run(options):
    """The whole of it; what the report is made of."""
    netns.enter()
    with tempfile.TemporaryDirectory(prefix="pumice-operations-") as folder:
        cluster = Cluster(options.folder or folder).start()
        try:
            cluster.install()
            cluster.api.make_namespace(NAMESPACE)
            changed = next_version(cluster, Path(folder) / "install.yaml")
            operator = Operator(cluster, random.Random(options.seed), changed)
            end = time.monotonic() + options.minutes * 60
            with Load(cluster.api, NAMESPACE, every=options.every) as load:
                while time.monotonic() < end:
                    operator.act()
            load.wait_done(300)
            return {"load": load, "done": operator.done, "faults": load.faults() + load.errors(),
                    "refusals": load.refusals(), "complaints": list(cluster.node.complaints),
                    "processes": len(cluster.node.pods)}
        finally:
            cluster.stop()


def report(found, options):
    """Writes the report; returns its path and whether the run failed."""
    load, longest = found["load"], max((seconds for _, seconds in found["refusals"]), default=0)
    bad = found["faults"] + found["complaints"]
    if longest > drain_seconds():
        bad.append(f"calls were refused for {longest:.1f} s")
    now = time.gmtime()
    path = options.report / f"{time.strftime('%Y-%m-%d', now)}-operations.md"
    lines = [
        "# Operators at work while users submit jobs", "",
        f"Commit {options.commit}, {time.strftime('%Y-%m-%d %H:%M', now)} UTC, {os.cpu_count()} cores, "
        f"{platform.machine()}. Made with `tests/long/operations --seed {options.seed} --minutes {options.minutes:g} "
        f"--every {options.every:g}`.", "",
        "| What | Number |", "|---|---|", f"| jobs let in, all completed | {len(load.names)} |",
        f"| calls that asked the webhook | {len(load.calls)} |",
        f"| the slowest of them, s | {max(seconds for _, seconds, _ in load.calls):.2f} |",
        f"| times in which calls were refused for want of a webhook | {len(found['refusals'])} |",
        f"| the longest of them, s | {longest:.2f} |",
        f"| pods of our Deployments | {found['processes']} |",
        f"| what was wrong | {len(bad)} |", "",
        *(f"- {what}: {count}" for what, count in sorted(found["done"].items())),
        *([""] + [f"- {text}" for text in bad] if bad else [])]
    options.report.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")
    return path, bool(bad)


def main():
    parser = argparse.ArgumentParser(prog="operations", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--every", type=float, default=0.5, help="seconds between two jobs")
    parser.add_argument("--folder", type=Path, help="keep the control plane's folder, logs included")
    parser.add_argument("--report", type=Path, default=ROOT / "docs" / "reports", help="where the report goes")
    options = parser.parse_args()
    options.commit = commit("common", "controller", "scheduler", "webhook", "certs", "manifests")
    path, failed = report(run(options), options)
    print(path.read_text())
    print(f"report: {path}")
    return 1 if failed else 0


sys.exit(main())
