"""500 running jobs are left alone for 10 minutes. In that time the API server's audit log, which holds every
write, may show nothing of our three binaries but renewals of their Leases. Writes a report into docs/reports/.

Jobs have one to three pods; every tenth has the plugins env, svc and ssh. Before the time begins all of them run
and nobody has written anything for a while, Events included. PUMICE_BIN names the build folder. Exit code: 0 when
nothing else was written, 1 when something was.
"""

import argparse
import os
import platform
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "integration"), str(ROOT / "tests" / "cluster")]

from harness.api import Api  # noqa: E402  (the path comes first)
from harness.audits import OURS, Writes  # noqa: E402
from harness.objects import job, task  # noqa: E402
from harness.pumice import Pumice  # noqa: E402
from harness.wait import wait_until  # noqa: E402
from cluster import ControlPlane  # noqa: E402
from tree import commit  # noqa: E402

NAMESPACE = "idle"
PLUGINS = {"env": [], "svc": [], "ssh": []}
QUIET = 10  # seconds without a write before the time begins
SHOWN = 20


def make_jobs(api, count, timeout):
    """The jobs, all running; how many pods they have."""
    pods = 0
    for number in range(count):
        replicas = 1 + number % 3
        pods += replicas
        api.create_job(NAMESPACE, job(f"job{number}", [task("main", replicas, cpu="10m", memory="16Mi")],
                                      **({"plugins": PLUGINS} if number % 10 == 0 else {})))
    wanted = {"Running": count}

    def phases():
        return dict(Counter(one.get("status", {}).get("state", {}).get("phase", "") for one in api.jobs(NAMESPACE)))
    wait_until(lambda: phases() == wanted, timeout, lambda: f"{count} running jobs, there are {phases()}", interval=1)
    return pods


def settle(plane, since, timeout):
    """Waits until our binaries have told all they have to tell."""
    wait_until(lambda: time.time() - max((one.begin for one in since.at_rest()), default=0) >= QUIET, timeout,
               f"{QUIET} s without a write of ours", interval=1)
    Writes(plane).wait_quiet(QUIET, timeout)


def measure(plane, product, seconds):
    """Leaves all alone for so long; what was written, and what it cost the processes."""
    rest = Writes(plane)
    before = {binary.name: binary.cpu_seconds() for binary in product.all}
    time.sleep(seconds)
    ours = rest.ours()
    return {"others": [f"{one} {one.code}" for one in ours if one.resource != "leases"],
            "leases": Counter(f"{one.client} {one.verb} {one.resource} {one.code}"
                              for one in ours if one.resource == "leases"),
            "everybody": Counter(one.client for one in rest.all()),
            "usage": {binary.name: (binary.cpu_seconds() - before[binary.name], binary.rss_kib() / 1024)
                      for binary in product.all}}


def run(options):
    """The whole of it, on a control plane of its own."""
    with tempfile.TemporaryDirectory(prefix="pumice-idle-") as folder:
        plane = ControlPlane(options.folder or folder, audit=True, tied=True)
        plane.start()
        product = Pumice(plane, tied=True)
        try:
            product.apply_manifests()
            plane.start_kwok()
            plane.add_nodes(options.jobs // 25 + 2, wait=120)
            product.start()
            api = Api(plane)
            api.make_namespace(NAMESPACE)
            since = Writes(plane)
            pods = make_jobs(api, options.jobs, 120 + options.jobs)
            settle(plane, since, 300)
            found = measure(plane, product, options.minutes * 60)
            phases = Counter(one["status"]["state"]["phase"] for one in api.jobs(NAMESPACE))
            return {**found, "pods": pods, "running": phases["Running"], "complaints": product.stop()}
        finally:
            product.kill()
            plane.stop()


def report(found, options):
    """Writes the report; returns its path and whether the run failed."""
    failed = bool(found["others"] or found["complaints"] or found["running"] != options.jobs
                  or not found["leases"])
    now = time.gmtime()
    path = options.report / f"{time.strftime('%Y-%m-%d', now)}-idle-jobs.md"
    lines = [
        "# Running jobs that are left alone", "",
        f"Commit {options.commit}, {time.strftime('%Y-%m-%d %H:%M', now)} UTC, {os.cpu_count()} cores, "
        f"{platform.machine()}. Made with `tests/long/idle-jobs --jobs {options.jobs} --minutes {options.minutes:g}`.",
        "", f"{options.jobs} jobs with {found['pods']} pods, every tenth with the plugins env, svc and ssh. "
        "The writes are those of the API server's audit log; lists and watches are reads.", "",
        "| What | Number |", "|---|---|", f"| minutes | {options.minutes:g} |",
        f"| jobs that still run | {found['running']} |",
        f"| writes of our three binaries beside Leases | {len(found['others'])} |",
        *(f"| {what} | {count} |" for what, count in sorted(found["leases"].items())),
        f"| writes of everybody else | {sum(n for who, n in found['everybody'].items() if who not in OURS)} |",
        "", "| Process | CPU seconds in that time | memory at its end, MiB |", "|---|---|---|",
        *(f"| {name} | {cpu:.2f} | {rss:.1f} |" for name, (cpu, rss) in found["usage"].items()),
        *(["", "Other writes, the first of them:", ""] + [f"    {text}" for text in found["others"][:SHOWN]]
          if found["others"] else []),
        *([""] + [f"- {text}" for text in found["complaints"]] if found["complaints"] else [])]
    options.report.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")
    return path, failed


def main():
    parser = argparse.ArgumentParser(prog="idle-jobs", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=500)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--folder", type=Path, help="keep the control plane's folder, logs included")
    parser.add_argument("--report", type=Path, default=ROOT / "docs" / "reports", help="where the report goes")
    options = parser.parse_args()
    options.commit = commit("common", "controller", "scheduler", "webhook", "certs")
    path, failed = report(run(options), options)
    print(path.read_text())
    print(f"report: {path}")
    return 1 if failed else 0


sys.exit(main())
