"""Several processes of one binary at once: killed and paused, and told apart in the audit log.

Each has a client certificate of its own, of the one service account: the API server notes the certificate's
fingerprint.
"""

import hashlib
import json
import signal
import ssl
from datetime import datetime

from cluster import IDENTITIES

from .pumice import Binary, address

HARMLESS = (404, 409, 422)


def own_credential(plane, name, identity):
    """A client certificate `name` of an account: (path of its kubeconfig, its fingerprint)."""
    user, groups = IDENTITIES[identity]
    plane.pki.client(name, user, groups)
    path = plane.kubeconfig(name)
    plane.pki.kubeconfig(path, plane.server, name)
    return path, hashlib.sha256(ssl.PEM_cert_to_DER_cert(plane.pki.crt(name).read_text())).hexdigest()


class Replica(Binary):
    """One of several with the command line of `pattern`, a Binary of `pumice`, but for `flags`.

    credential  its certificate's fingerprint
    paused      it stands still
    begins      where in its log the latest start begins
    """

    def __init__(self, pumice, pattern, identity, number, **flags):
        name = f"{pattern.program.removeprefix('pumice-')}-{number}"
        path, self.credential = own_credential(pumice.plane, name, identity)
        shared = {flag: value for flag, value in pattern.flags.items() if flag != "kubeconfig"}
        super().__init__(pumice, pattern.program, path, {
            **shared, **flags, "healthz-address": address(), "listen-address": address()}, "listen-address",
            replica=f"-{number}")
        self.paused = False
        self.begins = 0

    def start(self, ready=True, timeout=30, env=None):
        """Starts it, see Binary."""
        self.paused = False
        self.begins = len(self.log_text())
        return super().start(ready, timeout, env)

    def pause(self):
        """Stops it as it stands (SIGSTOP)."""
        self.signal(signal.SIGSTOP)
        self.paused = True

    def resume(self):
        """It goes on."""
        self.signal(signal.SIGCONT)
        self.paused = False

    def said(self):
        """What it has logged since its latest start."""
        return self.log_text()[self.begins:]

    def has_lost_its_lease(self):
        """True when it says that it ends for that reason."""
        return "lost the lease" in self.said() or "lost its Lease" in self.said()

    def leads(self):
        """True when it says that it holds the Lease of the leader."""
        try:
            return self.metrics().get("pumice_leader") == 1
        except OSError:
            return False


def stop_all(replicas):
    """Ends those that run; returns the complaints."""
    complaints = []
    for replica in replicas:
        if replica.running():
            if replica.paused:
                replica.resume()
            try:
                replica.stop()
            except OSError as error:
                complaints.append(str(error))
        complaints.append(replica.complaint())
    return [text for text in complaints if text]


class Record:
    """A write in the audit log, and which replica sent it."""

    def __init__(self, record):
        target, user = record.get("objectRef", {}), record.get("user", {})
        credential = user.get("extra", {}).get("authentication.kubernetes.io/credential-id", [""])[0]
        self.credential = credential.removeprefix("X509SHA256=")
        self.verb, self.resource = record["verb"], target.get("resource", "")
        self.namespace, self.name = target.get("namespace", ""), target.get("name", "")
        self.subresource = target.get("subresource", "")
        self.code = record.get("responseStatus", {}).get("code", 0)
        self.begin, self.end = (datetime.fromisoformat(record[key].replace("Z", "+00:00")).timestamp()
                                for key in ("requestReceivedTimestamp", "stageTimestamp"))

    @property
    def ok(self):
        """True if it succeeded."""
        return 200 <= self.code < 300

    @property
    def is_bind(self):
        """True if it gives a pod its node."""
        return self.subresource == "binding"

    def __str__(self):
        return (f"{self.verb} {self.resource}/{self.subresource} {self.namespace}/{self.name} "
                f"{self.code} at {self.begin:.3f}")


class Audit:
    """What was written from here on."""

    def __init__(self, plane):
        self._path, self._from = plane.audit_log, plane.audit_log.stat().st_size

    def records(self):
        """All writes, in order of their arrival."""
        with open(self._path, "rb") as file:
            file.seek(self._from)
            lines = [line for line in file.read().splitlines(keepends=True) if line.endswith(b"\n")]
        found = [json.loads(line) for line in lines]
        return sorted((Record(one) for one in found if one.get("stage") == "ResponseComplete"),
                      key=lambda one: one.begin)

    def of(self, replica, records=None):
        """The writes of one replica. `records` of an earlier call saves reading them again."""
        own = [one for one in (self.records() if records is None else records)
               if one.credential == replica.credential]
        assert own, f"{replica.name} has written nothing: is it told apart?"
        return own
