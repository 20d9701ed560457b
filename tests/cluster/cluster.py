#!/usr/bin/env python3
"""A Kubernetes control plane on loopback, for tests and for the demo.

etcd, kube-apiserver and kube-controller-manager run as plain processes with RBAC and real
certificates; KWOK plays the nodes and their kubelets. Everything lives in one folder:

    pki/             the certificate authority, certificates and keys
    kubeconfig/NAME  one for each component, with the rights of that component alone
    log/NAME.log     what the processes print; audit.log if asked for
    run/NAME.pid     which processes run
    etcd/            the data
    state.json       ports and options, so that another process can take over

From Python: ControlPlane(folder).start(), add_nodes(), stop(). On the command line: see --help.
Only the standard library is used.
"""

import argparse
import json
import os
import shutil
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

from cluster_pki import Pki
from cluster_process import Process, ProcessError, free_port

HERE = Path(__file__).resolve().parent
SERVICE_ACCOUNTS = "system:serviceaccounts"
OUR_NAMESPACE = "volcano-system"
PROCESSES = ("kwok", "kube-controller-manager", "kube-apiserver", "etcd")

# name of the kubeconfig: (user, groups). The users of our own binaries are the service accounts
# that manifests/install.yaml binds its ClusterRoles to.
IDENTITIES = {
    "admin": ("admin", ["system:masters"]),
    "kube-controller-manager": ("system:kube-controller-manager", []),
    # The group puts KWOK's requests on the priority level of kubelets.
    "kwok": ("kwok", ["system:nodes"]),
}
for _kubeconfig, _account in (("pumice-scheduler", "volcano-scheduler"),
                              ("pumice-controllers", "volcano-controllers"),
                              ("pumice-admission", "volcano-admission")):
    IDENTITIES[_kubeconfig] = (f"system:serviceaccount:{OUR_NAMESPACE}:{_account}",
                               [SERVICE_ACCOUNTS, f"{SERVICE_ACCOUNTS}:{OUR_NAMESPACE}"])

# Of the controller manager only what tests need. node-lifecycle removes the not-ready taint;
# without serviceaccount there is no default account and no pod can be created. The API server
# deletes a pod without a node in two steps; when the client dies in between, the pod garbage
# collector does the second.
CONTROLLERS = ("garbage-collector-controller", "namespace-controller", "resourcequota-controller",
               "node-lifecycle-controller", "serviceaccount-controller",
               "pod-garbage-collector-controller",
               "deployment-controller", "replicaset-controller", "statefulset-controller",
               "persistentvolume-binder-controller", "ephemeral-volume-controller",
               "disruption-controller")

KWOK_RULES = [
    {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "watch"]},
    {"apiGroups": [""], "resources": ["pods"],
     "verbs": ["get", "list", "watch", "patch", "delete"]},
    {"apiGroups": [""], "resources": ["nodes/status", "pods/status"],
     "verbs": ["patch", "update"]},
    {"apiGroups": [""], "resources": ["events"], "verbs": ["create", "patch"]},
]


class ApiError(RuntimeError):
    """An answer of the API server that is not a success; `code` is the HTTP status."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def binaries():
    """The folder with the control plane's programs, built first if they are missing."""
    given = os.environ.get("PUMICE_CONTROLPLANE_BIN")
    if given:
        return Path(given)
    done = subprocess.run([HERE / "build"], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise ProcessError(f"{HERE / 'build'} failed, so there is no control plane to start")
    return Path(done.stdout.splitlines()[-1])


class ControlPlane:
    """One control plane in one folder.

    audit writes log/audit.log (every write, level Metadata). apiserver_args are added to the API
    server's command line and win over ours. controllers are run by the controller manager beside
    those of CONTROLLERS. With tied the processes die with the thread that started them.
    """

    # Which of PROCESSES make nodes ready.
    node_processes = ("kwok", "kube-controller-manager")
    calls_webhooks = True

    def __init__(self, folder, audit=False, apiserver_args=(), tied=False, controllers=()):
        self.folder = Path(folder).resolve()
        self.pki = Pki(self.folder / "pki")
        self.tied = tied
        self.audit = audit
        self.apiserver_args = list(apiserver_args)
        self.controllers = [*CONTROLLERS, *controllers]
        self.ports = {}
        self.bin = None
        self._contexts = {}

    @classmethod
    def open(cls, folder):
        """A control plane that was started before, perhaps by another process."""
        state_file = Path(folder) / "state.json"
        try:
            state = json.loads(state_file.read_text())
        except OSError as error:
            raise ProcessError(f"{folder} holds no control plane: {error}") from None
        plane = cls(folder, state["audit"], state["apiserver_args"])
        plane.ports = state["ports"]
        plane.bin = Path(state["bin"])
        return plane

    @property
    def server(self):
        """The API server's URL."""
        return f"https://127.0.0.1:{self.ports['kube-apiserver']}"

    @property
    def audit_log(self):
        """The path of the audit log: one JSON document a line."""
        return self.folder / "log" / "audit.log"

    def audit_records(self):
        """The records of the audit log, oldest first."""
        for line in self.audit_log.read_text().splitlines(keepends=True):
            if line.endswith("\n"):  # the last one may be half written
                yield json.loads(line)

    def process(self, name):
        """The process etcd, kube-apiserver, kube-controller-manager or kwok."""
        return self._processes[name]

    @property
    def _processes(self):
        if not hasattr(self, "_process_table"):
            self._process_table = {name: Process(self.folder, name) for name in PROCESSES}
        return self._process_table

    # Starting and stopping

    def start(self):
        """Starts etcd, the API server and the controller manager, and waits until all serve."""
        self.bin = binaries()
        self._make_certificates()
        try:
            self._start_on_free_ports("etcd", ["etcd", "etcd-peer"], self._start_etcd)
            self._start_on_free_ports("kube-apiserver", ["kube-apiserver"], self.start_apiserver)
            self._write_kubeconfigs()
            self._start_on_free_ports("kube-controller-manager", ["kube-controller-manager"],
                                      self._start_controller_manager)
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self):
        """Stops everything that runs. The folder stays."""
        for name in PROCESSES:
            self.process(name).stop(timeout=5)

    def stop_apiserver(self, kill=False):
        """Stops the API server alone; kill does it with SIGKILL."""
        if kill:
            self.process("kube-apiserver").kill()
        else:
            self.process("kube-apiserver").stop(timeout=15)

    def start_apiserver(self, timeout=120):
        """Starts the API server on its port and its data, and waits until it is ready.

        The port of one that was killed a moment ago may not be free yet.
        """
        for attempt in range(5):
            try:
                self._run("kube-apiserver", self._apiserver_command())
                self.process("kube-apiserver").wait_ready(self.ready, timeout)
                return
            except ProcessError as error:
                if attempt == 4 or "address already in use" not in str(error):
                    raise
                self.process("kube-apiserver").stop()
                time.sleep(2)

    def start_kwok(self, config=HERE / "kwok-stages.yaml"):
        """Starts KWOK with the stages of a file; it plays all nodes there are and will be."""
        self._grant_kwok()
        self._run("kwok", [self.bin / "kwok", "--kubeconfig", self.kubeconfig("kwok"),
                           "--config", config, "-v", "WARN"],
                  env={"KWOK_WORKDIR": self.folder / "kwok"})

    def ready(self):
        """True if the API server says that it is ready."""
        try:
            return self.request("GET", "/readyz", timeout=5) == "ok"
        except (OSError, ApiError):
            return False

    def _run(self, name, command, env=None):
        env = {key: str(value) for key, value in (env or {}).items()}
        self.process(name).start(command, env=env, tied=self.tied)

    def _start_on_free_ports(self, name, ports, start):
        """Runs start() with fresh ports; tries again if another program took one meanwhile."""
        for attempt in range(3):
            for port in ports:
                self.ports[port] = free_port()
            self._save()
            try:
                return start()
            except ProcessError as error:
                if attempt == 2 or "address already in use" not in str(error):
                    raise
                self.process(name).stop()

    def _save(self):
        state = {"audit": self.audit, "apiserver_args": self.apiserver_args, "ports": self.ports,
                 "bin": str(self.bin)}
        part = self.folder / "state.json.part"
        part.write_text(json.dumps(state, indent=1) + "\n")
        part.rename(self.folder / "state.json")

    def _start_etcd(self):
        client = f"http://127.0.0.1:{self.ports['etcd']}"
        peer = f"http://127.0.0.1:{self.ports['etcd-peer']}"
        self._run("etcd", [
            self.bin / "etcd", "--name=test", f"--data-dir={self.folder / 'etcd'}",
            f"--listen-client-urls={client}", f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=test={peer}", "--unsafe-no-fsync", "--log-level=warn",
            f"--quota-backend-bytes={8 << 30}"])

        def healthy():
            try:
                with urllib.request.urlopen(f"{client}/health", timeout=2) as answer:
                    return json.load(answer)["health"] == "true"
            except (OSError, ValueError):
                return False
        self.process("etcd").wait_ready(healthy, 60)

    def _apiserver_command(self):
        pki = self.pki
        command = [
            self.bin / "kube-apiserver",
            f"--etcd-servers=http://127.0.0.1:{self.ports['etcd']}",
            "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",
            f"--secure-port={self.ports['kube-apiserver']}",
            # Nobody reaches the API server through the Service "kubernetes" here.
            "--endpoint-reconciler-type=none", "--service-cluster-ip-range=10.0.0.0/16",
            f"--tls-cert-file={pki.crt('kube-apiserver')}",
            f"--tls-private-key-file={pki.key('kube-apiserver')}",
            f"--client-ca-file={pki.ca}", "--authorization-mode=RBAC",
            "--anonymous-auth=false",
            # Who sets blockOwnerDeletion must be allowed to: clusters that check it need rights that others do not.
            "--enable-admission-plugins=OwnerReferencesPermissionEnforcement",
            # Without it open watches hold up a stop for a minute.
            "--shutdown-watch-termination-grace-period=1s",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={pki.folder / 'service-account.pub'}",
            f"--service-account-signing-key-file={pki.key('service-account')}"]
        if self.audit:
            command += [f"--audit-policy-file={HERE / 'audit-policy.yaml'}",
                        f"--audit-log-path={self.audit_log}", "--audit-log-maxsize=0"]
        return command + self.apiserver_args

    def _start_controller_manager(self):
        port = self.ports["kube-controller-manager"]
        self._run("kube-controller-manager", [
            self.bin / "kube-controller-manager",
            f"--kubeconfig={self.kubeconfig('kube-controller-manager')}",
            "--authentication-skip-lookup=true",
            "--bind-address=127.0.0.1", f"--secure-port={port}",
            f"--tls-cert-file={self.pki.crt('kube-apiserver')}",
            f"--tls-private-key-file={self.pki.key('kube-apiserver')}",
            f"--root-ca-file={self.pki.ca}",
            f"--controllers={','.join(self.controllers)}", "--leader-elect=false",
            "--use-service-account-credentials=true", "--kube-api-qps=500", "--kube-api-burst=1000",
            # KWOK renews no node leases, and an API server that is down must not fail all nodes.
            "--node-monitor-grace-period=24h"])

        def healthy():
            try:
                return self._open(f"https://127.0.0.1:{port}/healthz", "admin", timeout=2) == "ok"
            except (OSError, ApiError):
                return False
        self.process("kube-controller-manager").wait_ready(healthy, 60)

    def _make_certificates(self):
        self.pki.make_ca()
        self.pki.make_key_pair("service-account")
        self.pki.serving("kube-apiserver", ("127.0.0.1", "localhost", "kubernetes",
                                            "kubernetes.default", "kubernetes.default.svc",
                                            "10.0.0.1"))
        for name, (user, groups) in IDENTITIES.items():
            self.pki.client(name, user, groups)

    def _write_kubeconfigs(self):
        for name in IDENTITIES:
            self.pki.kubeconfig(self.kubeconfig(name), self.server, name)

    def _grant_kwok(self):
        api = "/apis/rbac.authorization.k8s.io/v1"
        group = "rbac.authorization.k8s.io"
        self.create(f"{api}/clusterroles", {"metadata": {"name": "kwok"}, "rules": KWOK_RULES})
        self.create(f"{api}/clusterrolebindings", {
            "metadata": {"name": "kwok"},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "kwok"},
            "subjects": [{"apiGroup": group, "kind": "User", "name": IDENTITIES["kwok"][0]}]})

    # Using it

    def kubeconfig(self, name="admin"):
        """The path of a component's kubeconfig (IDENTITIES has the names)."""
        return self.folder / "kubeconfig" / name

    def kubeconfig_for(self, path, name, server, ca=None):
        """Writes a kubeconfig of component `name` that goes to another `server`, such as a proxy."""
        return self.pki.kubeconfig(path, server, name, ca=ca)

    def token(self, service_account, ttl=3600, namespace=OUR_NAMESPACE):
        """A bearer token of a service account, good for ttl seconds (the server's least is 600)."""
        answer = self.request(
            "POST", f"/api/v1/namespaces/{namespace}/serviceaccounts/{service_account}/token",
            {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
             "spec": {"expirationSeconds": ttl}})
        return answer["status"]["token"]

    def env(self):
        """Environment variables that make kubectl use this control plane."""
        return {"KUBECONFIG": str(self.kubeconfig()),
                "PATH": f"{self.bin}:{os.environ.get('PATH', os.defpath)}"}

    def kubectl(self, *arguments, input=None):
        """Runs kubectl as admin and returns what it prints; raises RuntimeError if it fails."""
        done = subprocess.run([self.bin / "kubectl", "--kubeconfig", self.kubeconfig(), *arguments],
                              input=input, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"kubectl {' '.join(map(str, arguments))}: {done.stderr.strip()}")
        return done.stdout

    def request(self, method, path, body=None, user="admin", timeout=30, content_type=None):
        """One request to the API server with the certificate of `user`.

        Returns the decoded JSON, or the text if it is none. Raises ApiError for an answer that is
        not a success, OSError if there is no answer.
        """
        return self._open(self.server + path, user, timeout, method, body, content_type)

    def create(self, path, body):
        """POSTs an object; one that exists is left as it is."""
        try:
            return self.request("POST", path, body)
        except ApiError as error:
            if error.code != 409:
                raise
        return None

    def _open(self, url, user, timeout, method="GET", body=None, content_type=None):
        if user not in self._contexts:
            context = ssl.create_default_context(cafile=str(self.pki.ca))
            context.load_cert_chain(self.pki.crt(user), self.pki.key(user))
            self._contexts[user] = context
        request = urllib.request.Request(
            url, method=method, data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": content_type or "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=timeout,
                                        context=self._contexts[user]) as answer:
                text = answer.read().decode()
        except urllib.error.HTTPError as error:
            raise ApiError(error.code, f"{method} {url}: {error.read().decode()}") from None
        try:
            return json.loads(text)
        except ValueError:
            return text

    def add_nodes(self, count, cpu="32", memory="256Gi", pods=110, prefix="node", labels=None,
                  taints=None, extended=None, wait=60):
        """Creates nodes PREFIX-0000 on, and waits until they are ready and free of other taints.

        extended names further resources, such as {"nvidia.com/gpu": "8"}. wait=0 does not wait.
        Returns the names.
        """
        resources = {"cpu": str(cpu), "memory": memory, "pods": str(pods),
                     "ephemeral-storage": "1Ti", **(extended or {})}
        names = [f"{prefix}-{number:04d}" for number in range(count)]
        for name in names:
            self.create("/api/v1/nodes", {
                "metadata": {"name": name,
                             "labels": {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux",
                                        "kubernetes.io/arch": "amd64", **(labels or {})}},
                "spec": {"taints": taints or []},
                "status": {"capacity": resources, "allocatable": resources}})
        if wait:
            self.wait_nodes(names, wait)
        return names

    def delete_nodes(self, names):
        """Deletes nodes; those that are gone already do not matter."""
        for name in names:
            try:
                self.request("DELETE", f"/api/v1/nodes/{name}")
            except ApiError as error:
                if error.code != 404:
                    raise

    def wait_nodes(self, names, timeout=60):
        """Waits until the nodes are Ready and without the taints of a node that is not."""
        deadline = time.monotonic() + timeout
        while True:
            nodes = {node["metadata"]["name"]: node
                     for node in self.request("GET", "/api/v1/nodes")["items"]}
            waiting = [name for name in names if name not in nodes or not usable(nodes[name])]
            if not waiting:
                return
            for name in self.node_processes:
                if not self.process(name).running():
                    raise ProcessError(f"nodes cannot become ready, {name} does not run. "
                                       f"Log: {self.process(name).log}")
            if time.monotonic() > deadline:
                raise ProcessError(
                    f"{len(waiting)} of {len(names)} nodes, {waiting[0]} among them, are not ready "
                    f"after {timeout} s. Logs: "
                    f"{', '.join(str(self.process(name).log) for name in self.node_processes)}")
            time.sleep(0.2)


def usable(node):
    """True if a node is Ready and no taint says otherwise."""
    conditions = node.get("status", {}).get("conditions", [])
    ready = any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)
    return ready and not any(taint["key"].startswith("node.kubernetes.io/not-ready")
                             for taint in node["spec"].get("taints", []))


def command_up(options):
    """up: starts a control plane and leaves it running."""
    folder = Path(options.dir)
    if (folder / "state.json").exists():
        if any(ControlPlane.open(folder).process(name).running() for name in PROCESSES):
            raise ProcessError(f"a control plane runs in {folder} already")
        shutil.rmtree(folder / "etcd", ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    plane = ControlPlane(folder, audit=options.audit).start()
    try:
        if options.nodes:
            plane.start_kwok()
            plane.add_nodes(options.nodes, wait=60 + options.nodes)
    except BaseException:
        plane.stop()
        raise
    print(f"API server {plane.server}, {options.nodes} nodes. "
          f"KUBECONFIG={plane.kubeconfig()}")


def main():
    """The command line."""
    folder = argparse.ArgumentParser(add_help=False)
    folder.add_argument("--dir", required=True, help="the folder that holds the control plane")
    parser = argparse.ArgumentParser(description="A Kubernetes control plane on loopback.")
    commands = parser.add_subparsers(dest="command", required=True)

    def command(name, text):
        return commands.add_parser(name, parents=[folder], help=text, description=text)
    up = command("up", "start it and leave it running")
    up.add_argument("--nodes", type=int, default=0, help="number of KWOK nodes")
    up.add_argument("--audit", action="store_true", help="write log/audit.log")
    command("down", "stop everything; the folder stays")
    show = command("kubeconfig", "print the path of a kubeconfig")
    show.add_argument("name", nargs="?", default="admin", choices=sorted(IDENTITIES))
    command("env", "print shell commands that point kubectl at it")
    command("status", "print which processes run")
    options = parser.parse_args()
    try:
        if options.command == "up":
            return command_up(options)
        plane = ControlPlane.open(options.dir)
        if options.command == "down":
            plane.stop()
        elif options.command == "kubeconfig":
            print(plane.kubeconfig(options.name))
        elif options.command == "env":
            print(f"export KUBECONFIG='{plane.kubeconfig()}'\nexport PATH='{plane.bin}':\"$PATH\"")
        else:
            for name in PROCESSES:
                print(f"{name:24} {plane.process(name).pid() or 'not running'}")
    except (ProcessError, RuntimeError, OSError) as error:
        sys.exit(f"cluster.py: {error}")
    return None


if __name__ == "__main__":
    main()
