"""Example jobs of frameworks: what a container sees is what the framework needs, to the byte.

All four examples are applied as they are. `expected/<example>/` says, written by hand, what is to be seen:
<pod>.yaml (host names, and of each container its command, environment, ports and files), files/ (their contents)
and network.yaml (Services, names that DNS answers, who may connect).
"""

import os
import secrets
import socket
import subprocess
import time

import kubernetes
import pytest
import yaml

from harness import ROOT
from harness.container import Cluster
from harness.wait import wait_until

EXAMPLES = {"mpi": 3, "tensorflow": 4, "pytorch": 3, "ray": 4}  # and the number of their pods
EXPECTED = ROOT / "tests" / "integration" / "expected"
KEYS = ("/root/.ssh/id_rsa", "/root/.ssh/id_rsa.pub", "/root/.ssh/authorized_keys")


class Seen:
    """What was there of the examples while they ran: `clusters` and `policies` by example."""

    def __init__(self, api):
        self.api = api
        self.namespace = api.make_namespace(f"examples-{secrets.token_hex(3)}")
        self.clusters, self.policies = {}, {}

    def apply(self):
        """kubectl apply, as a user would."""
        folder = ROOT / "manifests" / "examples"
        self.api.plane.kubectl("-n", self.namespace, "apply",
                               *[word for name in EXAMPLES for word in ("-f", folder / f"{name}.yaml")])

    def _items(self, path):
        return self.api.plane.request("GET", path.format(f"namespaces/{self.namespace}"))["items"]

    def look(self, name):
        """Keeps what there is of an example as soon as all of its pods are there; True then."""
        if name in self.clusters:
            return True
        pods = self.api.pods_of(self.namespace, name)
        if len(pods) < EXAMPLES[name]:
            return False
        self.clusters[name] = Cluster(
            self.namespace, pods, self._items("/api/v1/{}/configmaps"), self._items("/api/v1/{}/secrets"),
            [one for one in self._items("/api/v1/{}/services") if owner_of(one) == name])
        self.policies[name] = {one["metadata"]["name"]: one["spec"] for one in self._items(
            "/apis/networking.k8s.io/v1/{}/networkpolicies") if owner_of(one) == name}
        return True

    def wait(self):
        """Waits until all has been seen."""
        wait_until(lambda: all([self.look(name) for name in EXAMPLES]), 120, lambda: "; ".join(
            f"{name}: {self.api.why(self.namespace, name)}" for name in EXAMPLES if name not in self.clusters))


def owner_of(found):
    """The name of what an object belongs to."""
    return found["metadata"].get("ownerReferences", [{}])[0].get("name")


@pytest.fixture(scope="module")
def seen(api, pumice_of_session):
    """The examples, run side by side."""
    pumice_of_session.start_missing()
    found = Seen(api)
    try:
        found.apply()
        found.wait()
        yield found
    finally:
        api.remove_namespace(found.namespace)


def expected(seen, example, name):
    """One of the files with what is expected."""
    text = (EXPECTED / example / f"{name}.yaml").read_text()
    return yaml.safe_load(text.replace("NAMESPACE", seen.namespace))


def pods_of(example):
    """The names of the pods for which there are expected files."""
    return sorted(path.stem for path in (EXPECTED / example).glob("*.yaml") if path.stem != "network")


@pytest.mark.parametrize("example, name", [(example, name) for example in EXAMPLES for name in pods_of(example)])
def test_what_a_container_sees(seen, example, name):
    cluster = seen.clusters[example]
    pod = cluster.pods[name]
    host, full = cluster.host(pod)
    found = {"host": host, "fullName": full,
             **{member: cluster.containers(pod, member) for member in ("initContainers", "containers")}}
    for container in found["initContainers"]:
        if container["name"] == "wait-for-master":
            container["command"][2] = "SCRIPT"
    assert found == expected(seen, example, name)


@pytest.mark.parametrize("example", EXAMPLES)
def test_there_are_no_other_pods(seen, example):
    assert sorted(seen.clusters[example].pods) == pods_of(example)


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_contents_of_files(seen, example):
    folder = EXPECTED / example / "files"
    wanted = {f"/{path.relative_to(folder)}": path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    cluster = seen.clusters[example]
    for name, pod in cluster.pods.items():
        for container in pod["spec"]["containers"]:
            found = {path: content for path, (_, content) in cluster.files(pod, container).items()}
            assert {path: content for path, content in found.items() if path not in KEYS} == wanted, name


@pytest.mark.parametrize("example", EXAMPLES)
def test_services_names_and_policies(seen, example):
    cluster = seen.clusters[example]
    services = {name: {
        "headless": spec.get("clusterIP") == "None",
        "publishNotReadyAddresses": spec.get("publishNotReadyAddresses", False), "selector": spec["selector"],
        "ports": [f"{port['name']} {port['port']}/{port['protocol']} to {port['targetPort']}"
                  for port in spec.get("ports", [])]} for name, spec in cluster.services.items()}
    wanted = expected(seen, example, "network")
    assert services == wanted["services"]
    assert cluster.names() == wanted["names"]
    assert seen.policies[example] == wanted["policies"]


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_host_in_a_list_is_a_name_that_resolves(seen, example):
    cluster = seen.clusters[example]
    lists = [content.decode().split("\n") for key, content in cluster.config_maps[f"{example}-svc"].items()
             if key.endswith(".host")]
    hosts = sorted(host for one in lists for host in one)
    assert hosts == sorted(name for name in cluster.names() if name.endswith(f".{example}"))


# Keys


def test_the_keys_of_the_mpi_job(seen, tmp_path):
    """ssh-keygen takes the private key, and the public one of it is in the other two files."""
    cluster = seen.clusters["mpi"]
    kept = set()
    for pod in cluster.pods.values():
        files = cluster.files(pod, pod["spec"]["containers"][0])
        kept.add(tuple(files[path] for path in KEYS))
    (private, public, authorized), = kept  # all pods have the same
    assert {mode for mode, _ in (private, public, authorized)} == {0o600}
    path = tmp_path / "id_rsa"
    path.touch(mode=0o600)
    path.write_bytes(private[1])
    done = subprocess.run(["ssh-keygen", "-y", "-f", path], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    kind, key = done.stdout.split()[:2]
    assert kind == "ssh-rsa"
    for content in (public[1], authorized[1]):
        line, = content.decode().splitlines()
        assert line.split()[:2] == [kind, key]
    told = subprocess.run(["ssh-keygen", "-l", "-f", path], capture_output=True, text=True, timeout=60)
    assert told.stdout.split()[0] == "2048"


# Waiting for the master


def wait_script(seen, host, port):
    """The script of a worker's init container, aimed at another address."""
    pod = seen.clusters["pytorch"].pods["pytorch-worker-0"]
    shell, option, script = pod["spec"]["initContainers"][0]["command"]
    assert (shell, option) == ("sh", "-c")
    assert "pytorch-master-0.pytorch" in script and "23456" in script and "300" in script
    return script.replace("pytorch-master-0.pytorch", host).replace("23456", str(port))


def run_script(script):
    """Runs it in a shell that has /dev/tcp, for there may be no nc here."""
    return subprocess.Popen(["bash", "-c", script], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                            env={"PATH": os.environ["PATH"]})


def test_workers_wait_for_the_port_of_the_master(seen):
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        waiting = run_script(wait_script(seen, "127.0.0.1", listener.getsockname()[1]))
        try:
            time.sleep(1)
            assert waiting.poll() is None, "nobody listens yet"
            listener.listen()
            assert waiting.wait(timeout=30) == 0
        finally:
            waiting.kill()
            waiting.communicate()


def test_workers_give_up_after_the_timeout(seen):
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        script = wait_script(seen, "127.0.0.1", nobody.getsockname()[1]).replace("300", "1")
        waiting = run_script(script)
        _, said = waiting.communicate(timeout=30)
    assert waiting.returncode == 1
    assert "did not answer" in said


# The end


@pytest.mark.parametrize("example", EXAMPLES)
def test_it_completes(seen, example):
    ended = seen.api.wait_phase(seen.namespace, example, ("Completed", "Failed"), timeout=120)
    assert ended["status"]["state"]["phase"] == "Completed", seen.api.why(seen.namespace, example)
    assert ended["status"].get("retryCount", 0) == 0


def test_nothing_of_the_plugins_is_left(seen):
    def left():
        networking = kubernetes.client.NetworkingV1Api(seen.api.client)
        core = seen.api.core
        listed = (core.list_namespaced_service, core.list_namespaced_secret, core.list_namespaced_config_map,
                  networking.list_namespaced_network_policy)
        return [one.metadata.name for function in listed for one in function(seen.namespace).items
                if one.metadata.owner_references]
    for example in EXAMPLES:
        seen.api.wait_phase(seen.namespace, example, "Completed", timeout=120)
    wait_until(lambda: not left(), 60, lambda: f"the objects of plugins to go: {left()}")
