"""The fault proxy between one of our binaries and the API server."""

import subprocess
import sys
from contextlib import contextmanager

from . import ROOT

sys.path.insert(0, str(ROOT / "tests" / "faultproxy"))
from faultproxy import FaultProxy  # noqa: E402  (the path comes first)


def build(folder):
    """Builds the proxy into a folder; returns its path."""
    path = folder / "faultproxy"
    subprocess.run([ROOT / "tests" / "faultproxy" / "build", path], check=True)
    return path


@contextmanager
def proxied(plane, binary, proxy_binary, folder, rules=()):
    """Restarts `binary` through a proxy for the length of the block; gives the proxy. Its rules are
    there before the binary is."""
    direct = binary.flags["kubeconfig"]
    identity = plane.folder / "pki" / binary.identity
    proxy = FaultProxy(proxy_binary, plane.server, plane.folder / "pki" / "ca.crt",
                       upstream_cert=identity.with_suffix(".crt"),
                       upstream_key=identity.with_suffix(".key"), dir=folder)
    with proxy:
        for rule in rules:
            proxy.add(rule)
        binary.stop()
        binary.flags["kubeconfig"] = str(proxy.kubeconfig(direct))
        try:
            binary.start()
            yield proxy
        finally:
            binary.stop()
            binary.flags["kubeconfig"] = direct
            binary.start()
