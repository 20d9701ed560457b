"""A network of our own: a namespace for this process and all it starts, and one for each pod.

Pods hang on a bridge with addresses of their own, so that replicas listen on the same port, and no argument of
theirs has to be changed. Nothing leads out of it. All ends with this process.
"""

import os
import subprocess

from . import linux

BRIDGE = "pods"
GATEWAY = "10.244.0.1"  # our address on the bridge: that of the node


def ip(*words):
    """Runs ip(8)."""
    done = subprocess.run(["ip", *words], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"ip {' '.join(words)}: {done.stderr.strip()}")


def enter():
    """Moves the calling thread, and what it starts from now on, into a network of its own.

    Who is not root becomes so in a user namespace; then all processes are of that one user.
    """
    if os.geteuid() != 0:
        linux.become_root()
    linux.unshare(linux.CLONE_NEWNET | linux.CLONE_NEWNS)
    linux.mount(None, "/", flags=linux.MS_PRIVATE | linux.MS_REC)
    linux.mount("tmpfs", "/run", "tmpfs")
    ip("link", "set", "lo", "up")
    # Without an address of its own the bridge takes that of one of its ports, and pods that know the old one send their
    # packets nowhere when that port goes.
    ip("link", "add", BRIDGE, "address", "02:00:0a:f4:00:01", "type", "bridge")
    ip("address", "add", f"{GATEWAY}/16", "dev", BRIDGE)
    ip("link", "set", BRIDGE, "up")


class PodNetwork:
    """The network namespace of one pod, with an address that no other pod of this run has had."""

    _made = 1  # the gateway

    def __init__(self):
        PodNetwork._made += 1
        number = PodNetwork._made
        self.name = f"pod{number}"
        self.address = f"10.244.{number // 256}.{number % 256}"
        ip("netns", "add", self.name)
        ip("link", "add", self.name, "type", "veth", "peer", "name", "eth0", "netns", self.name)
        ip("link", "set", self.name, "master", BRIDGE, "up")
        ip("-n", self.name, "link", "set", "lo", "up")
        ip("-n", self.name, "address", "add", f"{self.address}/16", "dev", "eth0")
        ip("-n", self.name, "link", "set", "eth0", "up")
        ip("-n", self.name, "route", "add", "default", "via", GATEWAY)

    @property
    def path(self):
        """The file that stands for it."""
        return f"/run/netns/{self.name}"

    def remove(self):
        """Takes it away; its processes have ended."""
        ip("netns", "delete", self.name)
