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


def proxy_for(plane, identity, proxy_binary, folder):
    """A proxy that holds the certificate of one of our binaries, by the name of its files."""
    name = plane.folder / "pki" / identity
    return FaultProxy(proxy_binary, plane.server, plane.folder / "pki" / "ca.crt",
                      upstream_cert=name.with_suffix(".crt"), upstream_key=name.with_suffix(".key"), dir=folder)


@contextmanager
def proxied(plane, binary, proxy_binary, folder, rules=()):
    """Restarts `binary` through a proxy for the length of the block; gives the proxy. Its rules are
    there before the binary is."""
    direct = binary.flags["kubeconfig"]
    with proxy_for(plane, binary.identity, proxy_binary, folder) as proxy:
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
