"""A control plane whose API server is the one in memory (tests/sim): one process, up at once.

It has the certificates, kubeconfigs and methods of ControlPlane. sim-apiserver stands for etcd, kube-apiserver,
kube-controller-manager and KWOK; it writes no audit log, gives out no tokens of service accounts, asks nobody for
rights, calls no webhooks and forgets everything when it is stopped.
"""

import os
from pathlib import Path

from cluster import HERE, ControlPlane, binaries

PROGRAM = Path("tests", "sim", "sim-apiserver")


class SimControlPlane(ControlPlane):
    """As ControlPlane; PUMICE_BIN names the build folder (build/release by default)."""

    node_processes = ("kube-apiserver",)
    calls_webhooks = False

    def start(self):
        """Starts sim-apiserver and waits until it serves."""
        self.bin = binaries()  # kubectl
        self._make_certificates()
        try:
            self._start_on_free_ports("kube-apiserver", ["kube-apiserver"], self.start_apiserver)
            self._write_kubeconfigs()
        except BaseException:
            self.stop()
            raise
        return self

    def start_kwok(self, config=None):
        """Nothing: sim-apiserver plays the pods, and knows one script only."""
        if config is not None:
            raise NotImplementedError("the API server in memory plays pods by kwok-stages.yaml alone")

    def _apiserver_command(self):
        build = Path(os.environ.get("PUMICE_BIN", HERE.parent.parent / "build" / "release")).resolve()
        return [build / PROGRAM, f"--secure-port={self.ports['kube-apiserver']}",
                f"--tls-cert-file={self.pki.crt('kube-apiserver')}",
                f"--tls-private-key-file={self.pki.key('kube-apiserver')}", f"--client-ca-file={self.pki.ca}",
                "--play-pods"]
