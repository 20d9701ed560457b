#!/usr/bin/env python3
"""The demo that ./demo.sh starts: three jobs on a real API server.

One job fits and completes; one gang is too large, so that none of its pods is bound and the job
says why; one is invalid and refused. Ends with 1 when a job did not do that.
"""

import argparse
import json
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import yaml
from kubernetes.client.exceptions import ApiException

from paths import FOLDER, ROOT
import existing
from existing import ExistingCluster, Installation
from harness.api import Api
from harness.pumice import WEBHOOK_KINDS, Pumice
from cluster import PROCESSES, ControlPlane
from cluster_process import Process, ProcessError
from screen import Progress, timeline
from watcher import Watcher

NAMESPACE = existing.NAMESPACE["metadata"]["name"]
NODES = 10
BINARIES = ("pumice-webhook", "pumice-controller", "pumice-scheduler")
FITS, TOO_LARGE, INVALID = "gang", "gang-too-large", "invalid"
# The pods of the gang that fits ask for 7 CPUs in all.
CPUS_NEEDED = 7
# In a cluster that exists the demo runs the binaries on this machine, and registers them by URL.
NOT_INSTALLED = ("Deployment", "Service", *WEBHOOK_KINDS)


def say(text):
    """A line of the demo's story."""
    print(text, flush=True)


@contextmanager
def task(text):
    """Says what is being done, and how long it took."""
    begin = time.monotonic()
    print(f"{text} ...", end="", flush=True)
    try:
        yield
    except BaseException:
        print(flush=True)
        raise
    print(f" {time.monotonic() - begin:.1f} s", flush=True)


def example(name):
    """The job of an example file."""
    return yaml.safe_load((ROOT / "manifests" / "examples" / f"{name}.yaml").read_text())


def binaries_path():
    """Where the control plane's programs are, or will be."""
    script = ROOT / "tests" / "cluster" / "build"
    return Path(subprocess.run([script, "--path"], check=True, capture_output=True,
                               text=True).stdout.strip())


class OwnCluster:
    """A control plane and nodes that the demo starts and takes down."""

    admission = True

    def __init__(self, keep):
        self.keep = keep
        FOLDER.mkdir(parents=True)
        self.plane = ControlPlane(FOLDER, tied=not keep)
        self.product = Pumice(self.plane, tied=not keep)

    def start(self):
        """Starts everything, until jobs can be sent."""
        if not (binaries_path() / "kube-controller-manager").exists():
            say("the control plane is built once; on two cores this takes about 20 minutes")
        with task("starting etcd, the API server and the controller manager"):
            self.plane.start()
        with task("applying manifests/crds.yaml and manifests/install.yaml"):
            self.product.apply_manifests()
        with task(f"adding {NODES} simulated nodes of 32 CPUs"):
            self.plane.start_kwok()
            self.plane.add_nodes(NODES)
        with task("starting pumice-webhook, pumice-controller and pumice-scheduler"):
            self.product.start()
        return self.plane

    def remember_namespace(self):
        """Nothing to do: it goes with the cluster."""

    def job(self, name):
        """The example, as it is."""
        return example(name)

    def kubectl_words(self):
        """How a person calls kubectl here."""
        return f"{self.plane.bin}/kubectl --kubeconfig {self.plane.kubeconfig()}"

    def stop(self):
        """Takes everything down; returns what the binaries did wrong."""
        complaints = self.product.stop()
        self.plane.stop()
        return complaints


class GivenCluster:
    """A cluster that exists; the three binaries run here, outside of it."""

    def __init__(self, options):
        FOLDER.mkdir(parents=True)
        self.plane = ExistingCluster(options.kubeconfig, FOLDER)
        self.product = Pumice(self.plane, tied=not options.keep)
        self.installation = Installation(self.plane)
        self.adopt = options.adopt
        self.url = options.webhook_url
        self.admission = bool(self.url)
        if self.url:
            self._serve_at(self.url)

    def _serve_at(self, url):
        port = urlsplit(url).port or 443
        self.product.webhook_url = url.rstrip("/")
        self.product.webhook.flags.update(
            {"webhook-url": url.rstrip("/"), "port": str(port), "listen-address": "0.0.0.0"})

    def start(self):
        """Installs what is missing and starts the binaries."""
        objects = list(filter(None, yaml.safe_load_all(self.product.crds.read_text())))
        objects += [o for o in self.product.install if o["kind"] not in NOT_INSTALLED]
        hooks = self.product.webhook_configurations()
        self.installation.refuse_or_adopt(objects + hooks, self.adopt)
        self._check_size()
        with task("creating the CRDs, rights and configuration; no Deployments"):
            there = self.installation.create(objects)
            self.plane.kubectl("wait", "--for=condition=Established", "crd", "--timeout=60s",
                               *(o["metadata"]["name"] for o in objects
                                 if o["kind"] == "CustomResourceDefinition"))
            self.installation.remember_what_binaries_make()
            self.plane.write_kubeconfigs()
        for name in there:
            say(f"  used as it is, and left: {name}")
        self._start_webhook(hooks)
        with task("starting pumice-controller and pumice-scheduler"):
            self.product.controller.start()
            self.product.scheduler.start()
            self.product.wait_queue("default")
            self.product.wait_jobs()
        return self.plane

    def _check_size(self):
        cpus = self.plane.cpus()
        if cpus < CPUS_NEEDED:
            raise RuntimeError(f"the nodes offer {cpus:g} CPUs; the demo's gang needs {CPUS_NEEDED}")

    def _start_webhook(self, hooks):
        there = self.installation.existing(hooks)
        if there:
            say("admission: by the webhooks that are registered already")
            self.admission = True
        elif not self.url:
            say("admission: skipped, there is no --webhook-url at which the API server reaches this "
                "machine; the invalid job is not sent")
        else:
            with task(f"starting pumice-webhook and registering it at {self.url}"):
                self.product.webhook.start()
                self.installation.create(hooks)
                self.product.wait_admission()

    def remember_namespace(self):
        """The namespace of the jobs is the demo's to remove."""
        self.installation.remember(existing.NAMESPACE)

    def job(self, name):
        """The example; the one that must not fit grows with the cluster."""
        job = example(name)
        if name == TOO_LARGE:
            worker = job["spec"]["tasks"][0]
            cpus = max(16, round(1.2 * self.plane.cpus() / worker["replicas"]) + 1)
            worker["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = str(cpus)
        return job

    def kubectl_words(self):
        """How a person calls kubectl here."""
        return f"kubectl --kubeconfig {self.plane.file}"

    def stop(self):
        """Removes what was made, then stops the binaries; returns what they did wrong."""
        self.installation.remove_first()
        complaints = self.product.stop()
        self.installation.remove_rest()
        return complaints


# The three jobs


def send(api, cluster, view):
    """Sends one job; a refusal is noted, not raised."""
    view.sent = time.monotonic()
    try:
        api.create_job(NAMESPACE, cluster.job(view.name))
    except ApiException as error:
        try:
            view.refusal = json.loads(error.body)["message"]
        except (TypeError, ValueError, KeyError):
            view.refusal = str(error)
    view.answered = time.monotonic()


def send_and_watch(api, cluster, limit):
    """Sends the jobs and shows them until all is clear; returns their views."""
    watcher = Watcher(api, NAMESPACE)
    names = (FITS, TOO_LARGE) + ((INVALID,) if cluster.admission else ())
    for name in names:
        tasks = example(name)["spec"]["tasks"]
        watcher.add(name, sum(one["replicas"] for one in tasks))
    watcher.start()
    views = list(watcher.jobs.values())
    progress = Progress()
    for view in views:
        send(api, cluster, view)
    deadline = time.monotonic() + limit
    settled = None
    # A few seconds more, since the resources of the first job are free then.
    while time.monotonic() < deadline and (settled is None or time.monotonic() < settled + 3):
        with watcher.lock:
            progress.show(views)
            if settled is None and watcher.jobs[FITS].finished and watcher.jobs[TOO_LARGE].message:
                settled = time.monotonic()
        time.sleep(0.1)
    watcher.stop()
    return {view.name: view for view in views}


def verdicts(views):
    """(true or false, sentence) of each thing that must be so."""
    fits, large = views[FITS], views[TOO_LARGE]
    yield (fits.phase == "Completed" and fits.count("completed") == fits.total,
           f"{FITS}: all {fits.total} pods ran and the job is Completed")
    yield (large.refusal is None and large.count("bound") == 0,
           f"{TOO_LARGE}: none of its pods was bound")
    yield (large.phase == "Pending" and bool(large.message),
           f"{TOO_LARGE}: the job is Pending and says why: {large.message or 'nothing'}")
    if INVALID in views:
        yield (views[INVALID].refusal is not None,
               f"{INVALID}: refused: {views[INVALID].refusal or 'it was let in'}")


def show_results(cluster, plane, views):
    """Prints the timeline, what kubectl shows, and the verdicts; true if all is as it must be."""
    say("\nTimeline: seconds since each job was sent, as a watch saw them\n")
    say(timeline(views.values(), cluster.admission))
    say(f"\n$ kubectl -n {NAMESPACE} get vcjob,podgroup,queue\n")
    say(plane.kubectl("-n", NAMESPACE, "get", "vcjob,podgroup,queue").rstrip())
    say(f"\n$ kubectl -n {NAMESPACE} describe vcjob {TOO_LARGE}   (from Status on)\n")
    text = plane.kubectl("-n", NAMESPACE, "describe", "vcjob", TOO_LARGE)
    say(text[max(text.find("\nStatus:"), 0):].strip())
    say("")
    good = True
    for right, sentence in verdicts(views):
        say(f"{'ok    ' if right else 'WRONG '} {sentence}")
        good = good and right
    return good


def run(options):
    """The whole demo; returns the exit code."""
    cluster = GivenCluster(options) if options.kubeconfig else OwnCluster(options.keep)
    kept = False
    code = 1
    try:
        plane = cluster.start()
        api = Api(plane)
        if NAMESPACE in plane.kubectl("get", "namespace", "-o", "name").replace("/", "\n").split():
            raise RuntimeError(f"namespace {NAMESPACE} exists already; delete it first")
        cluster.remember_namespace()
        api.make_namespace(NAMESPACE)
        say(f"\nsending {FITS}, {TOO_LARGE} and {INVALID} from manifests/examples\n"
            if cluster.admission else f"\nsending {FITS} and {TOO_LARGE} from manifests/examples\n")
        views = send_and_watch(api, cluster, options.timeout)
        code = 0 if show_results(cluster, plane, views) else 1
        api.close()
        kept = options.keep
    finally:
        if kept:
            say_how_to_reach(cluster)
        else:
            code = max(code, take_down(cluster, code))
    return code


def take_down(cluster, code):
    """Ends everything; the folder stays when something went wrong, for its logs."""
    with task("\ntaking everything down"):
        complaints = cluster.stop()
    for text in complaints:
        say(f"WRONG  {text}")
    logs = FOLDER / "log"
    if (code == 0 and not complaints) or not logs.exists():
        shutil.rmtree(FOLDER)
    else:
        say(f"logs: {logs}")
    return 1 if complaints else code


def say_how_to_reach(cluster):
    """What a person needs to know about what stays."""
    health = cluster.product.scheduler.flags["healthz-address"]
    say(f"\nEverything is left running. To look at it:\n"
        f"  {cluster.kubectl_words()} -n {NAMESPACE} get vcjob,podgroup,pod\n"
        f"  export KUBECONFIG={cluster.plane.kubeconfig()}\n"
        f"  curl http://{health}/explain/{NAMESPACE}/{TOO_LARGE}    # why it waits\n"
        f"Logs: {FOLDER / 'log'}\n"
        f"To take it down: ./demo.sh --stop")


def stop_kept():
    """Takes down what an earlier run left."""
    if not FOLDER.exists():
        say("nothing was left running")
        return 0
    made = FOLDER / "made.json"
    installation = None
    if made.exists():
        plane = ExistingCluster(json.loads(made.read_text())["kubeconfig"], FOLDER)
        installation = Installation(plane).load()
        installation.remove_first()
    for name in BINARIES + PROCESSES:
        Process(FOLDER, name).stop(timeout=40)
    if installation:
        installation.remove_rest()
    shutil.rmtree(FOLDER)
    say("everything is down")
    return 0


def left_running():
    """True if an earlier run's processes, or its objects in a cluster, are still there."""
    names = BINARIES + PROCESSES
    return (FOLDER / "made.json").exists() or any(Process(FOLDER, n).running() for n in names)


def options():
    """The command line."""
    parser = argparse.ArgumentParser(prog="./demo.sh", description="Three jobs on a real API server.")
    parser.add_argument("--keep", action="store_true", help="leave everything running")
    parser.add_argument("--stop", action="store_true", help="take down what --keep left running")
    parser.add_argument("--kubeconfig", metavar="FILE",
                        help="use the cluster of this kubeconfig; the binaries run on this machine")
    parser.add_argument("--webhook-url", metavar="URL",
                        help="where that cluster's API server reaches this machine, as https://HOST:PORT; "
                             "without it admission is skipped")
    parser.add_argument("--adopt", action="store_true",
                        help="use CRDs and webhook configurations that exist, and leave them")
    parser.add_argument("--timeout", type=float, default=120, metavar="SECONDS",
                        help="how long the jobs may take (default 120)")
    given = parser.parse_args()
    if not given.kubeconfig and (given.webhook_url or given.adopt):
        parser.error("--webhook-url and --adopt go with --kubeconfig")
    if given.kubeconfig and not Path(given.kubeconfig).is_file():
        parser.error(f"there is no file {given.kubeconfig}")
    if given.webhook_url and not given.webhook_url.startswith("https://"):
        parser.error(f"--webhook-url must begin with https://, not {given.webhook_url}")
    return given


def main():
    given = options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        if given.stop:
            sys.exit(stop_kept())
        if FOLDER.exists():
            if left_running():
                sys.exit("demo.sh: an earlier demo is still up; ./demo.sh --stop takes it down")
            shutil.rmtree(FOLDER)
        sys.exit(run(given))
    except KeyboardInterrupt:
        sys.exit(130)
    except (ProcessError, RuntimeError, AssertionError, OSError, ApiException) as error:
        sys.exit(f"demo.sh: {error}")


if __name__ == "__main__":
    main()
