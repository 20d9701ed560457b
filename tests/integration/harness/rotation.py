"""Two webhooks behind one address, calls that never stop, and certificates that change meanwhile.

The API server knows one URL: that of a TCP forwarder, which gives each connection to the next
replica. Load comes in two kinds: jobs that the API server is asked to admit, with connections that
it keeps as it likes, and fresh handshakes with each replica by a client that trusts the caBundle
that an API server has, up to a second late.
"""

import base64
import hashlib
import http.client
import json
import socket
import ssl
import threading
import time

from cluster_process import free_port

from .pumice import ADMITTED_JOB, Binary, Pumice, address
from .wait import wait_until

SECRET = "/api/v1/namespaces/volcano-system/secrets/volcano-admission-secret"
REGISTRATION = ("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/"
                "volcano-admission-service-jobs-validate")
RENEW = "pumice.sh/renew"
MERGE = "application/merge-patch+json"
BUNDLE_AGE = 1.0  # how late the caBundle of a direct client may be, in seconds
QUEUE = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue",
         "metadata": {"name": "default"}, "spec": {"weight": 1}}
REVIEW = json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
    "uid": "u-1", "operation": "CREATE", "object": ADMITTED_JOB, "namespace": "default",
    "name": "admitted", "kind": {"group": "batch.volcano.sh", "version": "v1alpha1", "kind": "Job"},
    "resource": {"group": "batch.volcano.sh", "version": "v1alpha1", "resource": "jobs"}}}).encode()


class Forwarder:
    """Gives each TCP connection to the next of its ports, as a Service does."""

    def __init__(self, port, targets):
        self.targets, self._next = list(targets), 0
        self._socket = socket.create_server(("127.0.0.1", port), backlog=128)
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        """Takes no more connections; those there are go on."""
        self._socket.close()

    def _accept(self):
        while True:
            try:
                client, _ = self._socket.accept()
            except OSError:
                return
            self._next = (self._next + 1) % len(self.targets)
            threading.Thread(target=self._serve, args=(client, self.targets[self._next]),
                             daemon=True).start()

    def _serve(self, client, port):
        try:
            server = socket.create_connection(("127.0.0.1", port), timeout=10)
        except OSError:
            client.close()
            return
        server.settimeout(None)
        for end in (client, server):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=self._pump, args=(server, client), daemon=True).start()
        self._pump(client, server)
        client.close()
        server.close()

    @staticmethod
    def _pump(source, target):
        try:
            while data := source.recv(65536):
                target.sendall(data)
        except OSError:
            pass
        for end in (source, target):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


class Pair:
    """A control plane's two webhooks behind a forwarder. The other binaries do not run."""

    def __init__(self, plane, **flags):
        self.plane = plane
        self.product = Pumice(plane, tied=True)
        first = self.product.webhook
        front = int(first.flags["port"])
        first.flags.update({"port": str(free_port()), **flags})
        second = Binary(self.product, "pumice-webhook", plane.kubeconfig("pumice-admission"),
                        {**first.flags, "port": str(free_port()), "healthz-address": address()},
                        "healthz-address", replica="-2")
        self.replicas = (first, second)
        self.ports = [int(one.flags["port"]) for one in self.replicas]
        self.forwarder = Forwarder(front, self.ports)

    def start(self):
        """Installs, registers, starts both, and waits until jobs are let in."""
        self.product.apply_manifests()
        self.product.register_webhooks()
        for one in self.replicas:
            one.start()
        self.product.wait_admission()
        self.plane.create("/apis/scheduling.volcano.sh/v1beta1/queues", QUEUE)
        self.product.wait_jobs()
        return self

    def stop(self):
        """Stops both; returns what is wrong with them as a list of sentences."""
        complaints = [text for text in (one.complaint() for one in self.replicas) if text]
        for one in self.replicas:
            if one.running() and one.stop() not in (0, None):
                complaints.append(f"{one.name} ended with {one.exit_code()}")
        self.forwarder.close()
        return complaints

    # The Secret

    def secret(self):
        """The Secret."""
        return self.plane.request("GET", SECRET)

    def authorities(self):
        """The certificates in ca.crt, PEM."""
        text = base64.b64decode(self.secret()["data"]["ca.crt"]).decode()
        end = "-----END CERTIFICATE-----\n"
        return [part + end for part in text.split(end) if part.strip()]

    def ask(self, what):
        """Asks for a renewal: "leaf" or "authority"."""
        self.plane.request("PATCH", SECRET, {"metadata": {"annotations": {RENEW: what}}},
                           content_type=MERGE)

    # What is served

    def served(self, port):
        """The digest of the certificate that a replica shows."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with socket.create_connection(("127.0.0.1", port), timeout=10) as plain, \
                context.wrap_socket(plain) as secure:
            return hashlib.sha256(secure.getpeercert(binary_form=True)).hexdigest()

    def stored(self):
        """The digest of the certificate in the Secret."""
        pem = base64.b64decode(self.secret()["data"]["tls.crt"]).decode()
        return hashlib.sha256(ssl.PEM_cert_to_DER_cert(pem)).hexdigest()

    def all_serve(self, digest):
        """True when every replica shows this certificate."""
        return all(self.served(port) == digest for port in self.ports)

    # Changes

    def renew_leaf(self, timeout=60):
        """Another serving certificate, at both replicas."""
        before = self.stored()
        self.ask("leaf")
        after = wait_until(lambda: (found := self.stored()) != before and found, timeout,
                           "a new certificate is in the Secret", interval=0.05)
        wait_until(lambda: self.all_serve(after), timeout, "both serve it", interval=0.05)

    def renew_authority(self, timeout=120):
        """Another authority, down to the end of the one before."""
        before, served = self.authorities(), self.stored()
        self.ask("authority")
        after = wait_until(lambda: len(found := self.authorities()) > len(before) and found,
                           timeout, "a next authority is in the Secret")
        wait_until(lambda: (found := self.stored()) != served and self.all_serve(found), timeout,
                   "both serve a certificate of it")
        last = wait_until(lambda: len(found := self.authorities()) == 1 and found, timeout,
                          "the authority before is gone")
        assert last == [one for one in after if one not in before]


class Load:
    """Calls that never stop, from threads; `calls` and `failures` count them."""

    def __init__(self, pair, pause=0.004):
        self.pair, self.pause = pair, pause
        self.calls = {"admission": 0, "handshake": 0}
        self.failures = []
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._bundle = self._read_bundle()
        self._threads = [threading.Thread(target=target, args=arguments, daemon=True)
                         for target, *arguments in (
                             (self._follow_bundle,), (self._ask, self._admit, "admission"),
                             *((self._ask, self._shake(port), "handshake")
                               for port in pair.ports))]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        for thread in self._threads:
            thread.join(60)

    def total(self):
        """All calls so far."""
        return sum(self.calls.values())

    def _ask(self, call, kind):
        while not self._over.wait(self.pause):
            try:
                call()
            except (OSError, RuntimeError, http.client.HTTPException) as error:
                with self._lock:
                    self.failures.append(f"{time.strftime('%H:%M:%S')} {kind}: {error!r}")
            with self._lock:
                self.calls[kind] += 1

    # Through the API server

    def _admit(self):
        connection = getattr(self, "_api", None)
        if connection is None:
            pki = self.pair.plane.pki
            context = ssl.create_default_context(cafile=str(pki.ca))
            context.load_cert_chain(pki.crt("admin"), pki.key("admin"))
            host = self.pair.plane.server.removeprefix("https://")
            connection = self._api = http.client.HTTPSConnection(host, timeout=30, context=context)
        connection.request(
            "POST", "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs?dryRun=All",
            json.dumps(ADMITTED_JOB), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        text = answer.read().decode()
        if answer.status != 201:
            raise RuntimeError(f"{answer.status} {text}")

    # Without it

    def _read_bundle(self):
        found = self.pair.plane.request("GET", REGISTRATION)
        return base64.b64decode(found["webhooks"][0]["clientConfig"]["caBundle"]).decode()

    def _follow_bundle(self):
        while not self._over.wait(BUNDLE_AGE):
            self._bundle = self._read_bundle()

    def _shake(self, port):
        def call():
            context = ssl.create_default_context(cadata=self._bundle)
            connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=30, context=context)
            try:
                connection.request("POST", "/jobs/validate", REVIEW,
                                   {"Content-Type": "application/json"})
                answer = connection.getresponse()
                text = answer.read().decode()
                if answer.status != 200 or not json.loads(text)["response"]["allowed"]:
                    raise RuntimeError(f"{answer.status} {text}")
            finally:
                connection.close()
        return call
