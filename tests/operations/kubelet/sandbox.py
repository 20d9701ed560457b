"""Runs one container: `python -m kubelet.sandbox FILE` becomes the process that FILE describes, in JSON.

    netns      file of the network namespace
    host       host name
    root       empty folder, where the file system is put together (in a mount namespace of its own)
    binds      [source, target, read only] of what is mounted into it
    read_only  whether the root file system can be written
    user, group, capabilities (kept ones, by number), no_new_privileges
    argv, env, folder  as execve and chdir take them

The file system has the folders of this machine that hold shared libraries, and nothing else of it. seccomp profiles
and limits of resources are left out.
"""

import json
import os
import signal
import socket
import sys
from pathlib import Path

from . import linux

SYSTEM = ("usr", "lib", "lib64", "bin", "sbin", "etc")
DEVICES = ("null", "zero", "random", "urandom")
LAST_CAPABILITY = Path("/proc/sys/kernel/cap_last_cap")


def place_for(source, target):
    """Makes what a mount of source needs at target: a folder, or an empty file."""
    if os.path.isdir(source):
        target.mkdir(parents=True, exist_ok=True)
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch()


def build_root(wanted):
    """Puts the file system together and makes it ours."""
    root = Path(wanted["root"])
    linux.unshare(linux.CLONE_NEWNS)
    linux.mount(None, "/", flags=linux.MS_PRIVATE | linux.MS_REC)
    linux.mount("tmpfs", root, "tmpfs", linux.MS_NOSUID, "mode=755")
    binds = [(f"/dev/{name}", f"/dev/{name}", False) for name in DEVICES] + [("/proc", "/proc", False)]
    for name in SYSTEM:
        if os.path.islink(f"/{name}"):
            os.symlink(os.readlink(f"/{name}"), root / name)
        elif os.path.isdir(f"/{name}"):
            binds.append((f"/{name}", f"/{name}", True))
    for source, target, read_only in [*binds, *wanted["binds"]]:
        inside = root / target.lstrip("/")
        place_for(source, inside)
        linux.bind(source, inside, read_only)
    if wanted["read_only"]:
        linux.mount(None, root, flags=linux.MS_REMOUNT | linux.MS_BIND | linux.MS_RDONLY)
    os.chroot(root)
    os.chdir(wanted["folder"])


def give_up_rights(wanted):
    """Becomes the user, and drops what the security context drops."""
    for number in range(int(wanted["last_capability"]) + 1):
        if number not in wanted["capabilities"]:
            linux.prctl(linux.PR_CAPBSET_DROP, number)
    if linux.mapped(wanted["user"]):
        os.setgroups([])
        os.setgid(wanted["group"])
        os.setuid(wanted["user"])
    if wanted["no_new_privileges"]:
        linux.prctl(linux.PR_SET_NO_NEW_PRIVS, 1)
    # A change of the user takes this back, so it comes last.
    linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)


def main():
    wanted = json.loads(Path(sys.argv[1]).read_text())
    wanted["last_capability"] = LAST_CAPABILITY.read_text()
    linux.enter(wanted["netns"], linux.CLONE_NEWNET)
    linux.unshare(linux.CLONE_NEWUTS)
    socket.sethostname(wanted["host"])
    build_root(wanted)
    give_up_rights(wanted)
    os.execve(wanted["argv"][0], wanted["argv"], wanted["env"])


main()
