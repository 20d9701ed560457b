"""Our webhook and a bare libmicrohttpd server beside it, for load and for abuse.

`Rig` owns a control plane without nodes, on which our webhook runs as it is installed, and the bare
server with the same certificate. webhookload sends the reviews straight to one of the two.
"""

import base64
import json
import os
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent / "integration"))

from harness.objects import queue  # noqa: E402
from harness.pumice import Pumice, build_folder  # noqa: E402
from harness.wait import wait_until  # noqa: E402
from cluster import ApiError, ControlPlane  # noqa: E402  (harness puts its folder on the path)

SECRET = "/api/v1/namespaces/volcano-system/secrets/volcano-admission-secret"
KINDS = {"ours": (), "bare": ("--check=false",)}


class Rig:
    """Use it in a `with` statement."""

    def __init__(self, folder, flags=None, with_bare=True):
        self.folder = Path(folder)
        self.plane = ControlPlane(self.folder / "plane", tied=True)
        self.flags = flags or {}
        self.with_bare = with_bare
        self.load = self.folder / "webhookload"
        self.product = self.bare = None
        self._addresses = {}

    def __enter__(self):
        try:
            subprocess.run([HERE / "webhookload" / "build", self.load], check=True)
            self.plane.start()
            self._start_webhook()
            if self.with_bare:
                self._start_bare()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.bare:
            self.bare.kill()
            self.bare.wait()
        if self.product:
            self.product.kill()
        self.plane.stop()

    def _start_webhook(self):
        self.product = Pumice(self.plane, tied=True)
        self.product.apply_manifests()
        self.plane.create("/apis/scheduling.volcano.sh/v1beta1/queues", queue("default"))
        self.product.webhook.flags.update(self.flags)
        self.product.webhook.start()
        for key, text in wait_until(self._secret, 30, "the Secret is there").items():
            (self.folder / key).write_bytes(base64.b64decode(text))
        self._addresses["ours"] = self.product.webhook_url.removeprefix("https://")

    def _secret(self):
        try:
            return self.plane.request("GET", SECRET)["data"]
        except ApiError:
            return None

    def _start_bare(self):
        program = build_folder() / "tests" / "bench" / "bare_mhd"
        self.bare = subprocess.Popen(
            [program, self.folder / "tls.crt", self.folder / "tls.key", "127.0.0.1", "2"],
            stdout=subprocess.PIPE, text=True)
        self._addresses["bare"] = f"127.0.0.1:{int(self.bare.stdout.readline())}"

    def pid(self, server):
        """The process of "ours" or "bare"."""
        return self.bare.pid if server == "bare" else self.product.webhook.pid()

    def run(self, server, command, *words, cores=None):
        """Runs webhookload against a server; returns what it reports."""
        done = subprocess.run(
            [self.load, command, f"--address={self._addresses[server]}", f"--pid={self.pid(server)}",
             f"--ca={self.folder / 'ca.crt'}", "--server-name=127.0.0.1", *words],
            stdout=subprocess.PIPE, text=True, check=False,
            preexec_fn=(lambda: os.sched_setaffinity(0, cores)) if cores else None)
        if done.returncode != 0:
            raise RuntimeError(f"webhookload {command} {' '.join(words)} against {server} failed; "
                               f"log: {self.product.webhook.log}")
        return json.loads(done.stdout)

    def measure(self, server, *words, **options):
        """One load."""
        return self.run(server, "load", *KINDS[server], *words, **options)

    def pin(self, server, cores):
        """Confines a server, all its threads, to some cores."""
        for task in Path(f"/proc/{self.pid(server)}/task").iterdir():
            os.sched_setaffinity(int(task.name), cores)


def provenance(command):
    """Lines that say what was measured, when, how."""
    commit = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], text=True,
                            stdout=subprocess.PIPE, check=False).stdout.strip() or "unknown"
    now = datetime.now(timezone.utc)
    return [f"- commit: {commit}", f"- command: `{command}`", f"- date: {now:%Y-%m-%d %H:%M} UTC",
            f"- machine: {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the end"]


def write_report(folder, name, lines):
    """Prints a report, and keeps it in a folder if there is one."""
    text = "\n".join(lines) + "\n"
    print(text)
    if folder:
        path = Path(folder) / f"{datetime.now(timezone.utc):%Y-%m-%d}-{name}.md"
        path.write_text(text)
        print(f"written: {path}")
