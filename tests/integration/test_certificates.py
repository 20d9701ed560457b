"""Certificates that change while two webhooks serve: by request, by hand, from files; clients that
have to show one; and what is told when something is wrong."""

import base64
import hashlib
import http.client
import json
import os
import shutil
import socket
import ssl
import time

import pytest

from cluster import ControlPlane
from cluster_pki import Pki, openssl
from harness.pumice import Binary, address
from harness.rotation import MERGE, REVIEW, SECRET, Load, Pair
from harness.wait import stays, wait_until
from cluster_process import free_port

SERVICE = "volcano-admission-service"
HOSTS = ("127.0.0.1", f"{SERVICE}.volcano-system.svc")  # what API servers may call
INTERVAL = "300ms"
OVERLAP = "3s"


@pytest.fixture(scope="module")
def plane(tmp_path_factory):
    """A control plane without nodes, for these tests alone, that shows webhooks a certificate."""
    folder = tmp_path_factory.mktemp("certificates")
    clients = Pki(folder / "clients")
    clients.make_ca()
    clients.client("apiserver", "kube-apiserver")
    clients.client("other", "somebody")
    made = ControlPlane(folder, tied=True, apiserver_args=[
        f"--admission-control-config-file={admission_configuration(folder, clients)}"])
    made.clients = clients
    made.start()
    yield made
    made.stop()


def admission_configuration(folder, clients):
    """The file that makes an API server show a certificate: as in docs/operations.md."""
    kubeconfig = folder / "webhooks.kubeconfig"
    kubeconfig.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", "users": [
        {"name": "*", "user": {"client-certificate": str(clients.crt("apiserver")),
                               "client-key": str(clients.key("apiserver"))}}]}))
    configuration = {"apiVersion": "apiserver.config.k8s.io/v1",
                     "kind": "WebhookAdmissionConfiguration", "kubeConfigFile": str(kubeconfig)}
    path = folder / "admission.yaml"
    path.write_text(json.dumps({
        "apiVersion": "apiserver.config.k8s.io/v1", "kind": "AdmissionConfiguration",
        "plugins": [{"name": name, "configuration": configuration} for name in (
            "MutatingAdmissionWebhook", "ValidatingAdmissionWebhook")]}))
    return path


@pytest.fixture(scope="module")
def pair(plane):
    """Two webhooks behind one address."""
    made = Pair(plane, **{"cert-check-interval": INTERVAL, "ca-overlap": OVERLAP}).start()
    yield made
    complaints = made.stop()
    assert not complaints, complaints


def assert_no_failures(load, at_least):
    print(f"{load.calls} calls, {len(load.failures)} failed")
    assert not load.failures, load.failures[:5]
    assert min(load.calls.values()) >= at_least


def test_twenty_leafs_and_two_authorities_under_load(pair):
    begin = time.monotonic()
    with Load(pair) as load:
        for _ in range(2):
            for _ in range(10):
                pair.renew_leaf()
            pair.renew_authority()
    print(f"{time.monotonic() - begin:.0f} s")
    assert_no_failures(load, 100)
    for one in pair.replicas:
        metrics = one.metrics()
        assert metrics["pumice_certificate_rotations_total"] >= 22
        assert metrics["pumice_certificate_trouble"] == 0
        assert metrics["pumice_certificate_expiry_seconds"] > time.time() + 360 * 86400
    assert set(pair.secret()["data"]) == {"tls.crt", "tls.key", "ca.crt", "ca.key"}


def test_a_replica_that_is_killed_in_the_middle(pair):
    with Load(pair) as load:
        before = pair.authorities()
        pair.ask("authority")
        wait_until(lambda: len(pair.authorities()) == 2, 20, "a next authority is in the Secret")
        # The load goes to both: take one away from it first, as a Service does.
        load_ports, pair.forwarder.targets = pair.forwarder.targets, pair.ports[1:]
        pair.replicas[0].kill9()
        pair.replicas[0].start()
        pair.forwarder.targets = load_ports
        wait_until(lambda: len(pair.authorities()) == 1 and pair.authorities() != before, 60,
                   "the change comes to its end")
        wait_until(lambda: pair.all_serve(pair.stored()), 10, "both serve the same certificate")
    gone = [text for text in load.failures if "refused" in text or "reset" in text
            or "RemoteDisconnected" in text or "EOF" in text or "admission" in text]
    assert len(gone) == len(load.failures), load.failures[:5]
    assert not [text for text in load.failures if "certificate" in text]


def put_secret(pair, folder, name):
    """Replaces the Secret by files of `name` and the authority, without its key."""
    encoded = {key: base64.b64encode(path.read_bytes()).decode() for key, path in (
        ("tls.crt", folder.crt(name)), ("tls.key", folder.key(name)), ("ca.crt", folder.ca))}
    pair.plane.request("PATCH", SECRET, {"data": {**encoded, "ca.key": None}}, content_type=MERGE)


def test_a_secret_of_ones_own(pair, tmp_path):
    own = Pki(tmp_path / "own")
    own.make_ca()
    own.serving("server", HOSTS)
    before = pair.secret()["data"]
    with Load(pair) as load:
        put_secret(pair, own, "server")
        stored = pair.stored()
        wait_until(lambda: pair.all_serve(stored), 60, "both serve it")
        version = pair.secret()["metadata"]["resourceVersion"]
        stays(lambda: pair.secret()["metadata"]["resourceVersion"] == version, 4,
              "nobody writes to it", interval=0.5)
        # Back to what we made: the key of the authority comes with it.
        pair.plane.request("PATCH", SECRET, {"data": before}, content_type=MERGE)
        stored = pair.stored()
        wait_until(lambda: pair.all_serve(stored), 60, "both serve the one before")
    assert_no_failures(load, 20)


def test_a_secret_of_ones_own_that_is_wrong(pair, tmp_path):
    own = Pki(tmp_path / "own")
    own.make_ca()
    own.serving("server", HOSTS)
    own.serving("other", HOSTS)
    shutil.copy(own.key("other"), own.key("server"))
    before = pair.secret()["data"]
    put_secret(pair, own, "server")
    wait_until(lambda: pair.secret()["data"] == before, 10, "what was there is put back")
    assert any("the key is not that of the serving certificate" in one.log_text()
               for one in pair.replicas)
    pair.product.wait_admission(5)


def test_an_ordinary_restart_renews_nothing(pair):
    before = pair.secret()["metadata"]["resourceVersion"]
    pair.product.register_webhooks()
    for one in pair.replicas:
        one.restart()
    pair.product.wait_admission(10)
    assert pair.secret()["metadata"]["resourceVersion"] == before


# Files

class Mount:
    """A mounted Secret: files are links into a folder that is swapped at once."""

    def __init__(self, folder):
        self.folder, self.version = folder, 0
        folder.mkdir()

    def put(self, **files):
        """Shows these files, by content, from now on."""
        self.version += 1
        target = self.folder / f"..{self.version}"
        target.mkdir()
        for name, content in files.items():
            (target / name).write_bytes(content)
        link = self.folder / "..data_tmp"
        link.symlink_to(target.name)
        os.rename(link, self.folder / "..data")
        for name in files:
            if not (self.folder / name).is_symlink():
                (self.folder / name).symlink_to(f"..data/{name}")
        if self.version > 1:
            shutil.rmtree(self.folder / f"..{self.version - 1}")

    def put_pair(self, pki, name="server", key=None):
        """Shows a certificate, a key (of its own unless told otherwise) and the authority."""
        self.put(**{"tls.crt": pki.crt(name).read_bytes(),
                    "tls.key": (key or pki.key(name)).read_bytes(), "ca.crt": pki.ca.read_bytes()})


def authority(folder):
    """An authority with serving certificates `server` and `other`."""
    pki = Pki(folder)
    pki.make_ca()
    pki.serving("server")
    pki.serving("other")
    return pki


def expired(pki, name="expired"):
    """A serving certificate of the authority that ended long ago."""
    pki.serving(name)
    request = pki.folder / "expired.csr"
    openssl("x509", "-x509toreq", "-in", pki.crt(name), "-signkey", pki.key(name), "-out", request)
    extensions = pki.folder / "expired.ext"
    extensions.write_text("subjectAltName = IP:127.0.0.1\n")
    configuration = pki.folder / "expired.cnf"
    (pki.folder / "index.txt").write_text("")
    configuration.write_text(
        f"[ca]\ndefault_ca = one\n[one]\ndatabase = {pki.folder}/index.txt\n"
        f"new_certs_dir = {pki.folder}\nrand_serial = yes\ndefault_md = sha256\npolicy = any\n"
        "[any]\ncommonName = optional\n")
    openssl("ca", "-batch", "-notext", "-config", configuration, "-cert", pki.ca, "-keyfile",
            pki.key("ca"), "-startdate", "20200101000000Z", "-enddate", "20210101000000Z",
            "-extfile", extensions, "-in", request, "-out", pki.crt(name))


@pytest.fixture
def mounted(plane, pair, tmp_path):
    """Two webhooks that serve from one mount, behind one address, in place of the other two."""
    for one in pair.replicas:
        one.stop()
    mount = Mount(tmp_path / "mount")
    first = authority(tmp_path / "first")
    mount.put_pair(first)
    files = {"tls-cert-file": mount.folder / "tls.crt", "ca-cert-file": mount.folder / "ca.crt",
             "tls-private-key-file": mount.folder / "tls.key"}
    made = Pair(plane, **files, **{"ca-overlap": "45s"}).start()
    made.mount, made.first = mount, first
    yield made
    complaints = made.stop()
    pair.product.register_webhooks()
    for one in pair.replicas:
        one.start()
    assert not complaints, complaints


def serves(pair, pki, name="server"):
    """True when both replicas show that certificate."""
    digest = hashlib.sha256(ssl.PEM_cert_to_DER_cert(pki.crt(name).read_text())).hexdigest()
    return pair.all_serve(digest)


def test_mounted_files(mounted, tmp_path):
    """A new pair, a new authority, bad ones, and back: each within a minute, with no failed call."""
    second = authority(tmp_path / "second")
    expired(second)
    with Load(mounted, pause=0.02) as load:
        assert serves(mounted, mounted.first)
        mounted.mount.put_pair(mounted.first, "other")
        wait_until(lambda: serves(mounted, mounted.first, "other"), 60, "the new pair is served")
        mounted.mount.put_pair(second)
        wait_until(lambda: serves(mounted, second), 60, "a pair of a new authority is served")
        for bad, says in ((lambda: mounted.mount.put_pair(second, key=second.key("other")),
                           "the key is not that of the serving certificate"),
                          (lambda: mounted.mount.put(**{"tls.crt": b"", "tls.key": b"",
                                                        "ca.crt": b""}), "is empty"),
                          (lambda: mounted.mount.put_pair(second, "expired"), "has expired")):
            marks = [len(one.log_text()) for one in mounted.replicas]
            bad()
            wait_until(lambda: all(says in one.log_text()[mark:] for one, mark in
                                   zip(mounted.replicas, marks)), 60, f"{says} is logged")
            for one in mounted.replicas:
                assert one.is_ready() and one.metrics()["pumice_certificate_trouble"] == 1
            assert serves(mounted, second)
        mounted.mount.put_pair(mounted.first)
        wait_until(lambda: serves(mounted, mounted.first), 60, "the pair before is served again")
        for one in mounted.replicas:
            assert one.metrics()["pumice_certificate_trouble"] == 0
    assert_no_failures(load, 100)


def test_a_call_under_way_outlives_a_change(mounted):
    """The first half of a request comes before the new certificate, the second after it."""
    context = ssl.create_default_context(cafile=str(mounted.first.ca))
    with socket.create_connection(("127.0.0.1", mounted.ports[0]), timeout=30) as plain, \
            context.wrap_socket(plain, server_hostname="127.0.0.1") as secure:
        head = (f"POST /jobs/validate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(REVIEW)}\r\n\r\n").encode()
        secure.sendall(head)
        mounted.mount.put_pair(mounted.first, "other")
        for at in range(0, len(REVIEW), 20):
            if serves(mounted, mounted.first, "other"):
                break
            secure.sendall(REVIEW[at:at + 20])
            time.sleep(0.3)
        secure.sendall(REVIEW[at:])
        assert b"200 OK" in secure.recv(65536)


# Clients that have to show a certificate

@pytest.fixture
def strict(pair, plane, tmp_path):
    """A third webhook that lets in kube-apiserver alone; its file of authorities can be changed."""
    file = tmp_path / "clients.crt"
    file.write_bytes(plane.clients.ca.read_bytes())
    made = Binary(pair.product, "pumice-webhook", plane.kubeconfig("pumice-admission"),
                  {**pair.replicas[0].flags, "port": str(free_port()),
                   "healthz-address": address(), "client-ca-file": str(file),
                   "client-allowed-names": "front-proxy,kube-apiserver"},
                  "healthz-address", replica="-strict").start()
    made.file = file
    yield made
    assert not made.complaint()
    assert made.stop() in (0, None)


def ask(webhook, clients=None, name=None):
    """The status of a review, or the reason why the connection ended."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if clients:
        context.load_cert_chain(clients.crt(name), clients.key(name))
    connection = http.client.HTTPSConnection("127.0.0.1", int(webhook.flags["port"]), timeout=10,
                                             context=context)
    try:
        connection.request("POST", "/jobs/validate", REVIEW, {"Content-Type": "application/json"})
        return connection.getresponse().status
    except (OSError, http.client.HTTPException) as error:
        return repr(error)
    finally:
        connection.close()


def test_clients_without_the_right_certificate_are_refused(strict, plane, tmp_path):
    foreign = Pki(tmp_path / "foreign")
    foreign.make_ca()
    foreign.client("apiserver", "kube-apiserver")
    foreign.serving("server")
    assert ask(strict, plane.clients, "apiserver") == 200
    assert ask(strict) != 200
    assert ask(strict, plane.clients, "other") != 200
    assert ask(strict, foreign, "apiserver") != 200
    failed = strict.metrics()["pumice_admission_handshakes_failed_total"]
    assert failed >= 3
    # Another authority, without a restart; a bad file changes nothing.
    strict.file.write_bytes(b"nonsense")
    wait_until(lambda: strict.metrics()["pumice_certificate_trouble"] == 1, 10, "it is told")
    assert ask(strict, plane.clients, "apiserver") == 200
    strict.file.write_bytes(foreign.ca.read_bytes())
    wait_until(lambda: ask(strict, foreign, "apiserver") == 200, 10, "the other one is let in")
    assert ask(strict, plane.clients, "apiserver") != 200
    assert strict.metrics()["pumice_certificate_trouble"] == 0


def test_an_api_server_with_a_certificate(strict, pair):
    targets, pair.forwarder.targets = pair.forwarder.targets, [int(strict.flags["port"])]
    try:
        for one in pair.replicas:  # their restart ends the connections that the API server keeps
            one.restart()
        pair.product.wait_admission(20)
        before = strict.metrics()['pumice_admission_reviews_total{path="/jobs/mutate",'
                                  'result="allowed"}']
        pair.product.wait_jobs(5)
        assert strict.metrics()['pumice_admission_reviews_total{path="/jobs/mutate",'
                                'result="allowed"}'] > before
    finally:
        pair.forwarder.targets = targets
