"""The few system calls that Python 3.11 does not have."""

import ctypes
import os

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWUSER, CLONE_NEWNET = 0x00020000, 0x04000000, 0x10000000, 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT, MS_NOATIME, MS_BIND = 1, 2, 4, 8, 32, 1024, 4096
MS_REC, MS_PRIVATE = 16384, 1 << 18
PR_SET_PDEATHSIG, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 1, 24, 38

_libc = ctypes.CDLL(None, use_errno=True)


def _checked(result, what):
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def unshare(flags):
    """The calling thread, and what it starts, leaves these namespaces for new ones."""
    _checked(_libc.unshare(flags), "unshare")


def become_root():
    """The calling process, which must have one thread, becomes root of a user namespace in which nobody else is."""
    user, group = os.geteuid(), os.getegid()
    unshare(CLONE_NEWUSER)
    for name, text in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def mapped(user):
    """False in a user namespace that does not know this user, where nothing can be his."""
    with open("/proc/self/uid_map") as file:
        return any(begin <= user < begin + count for begin, _, count in (map(int, line.split()) for line in file))


def enter(path, flag):
    """The calling thread enters the namespace that a file stands for."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _checked(_libc.setns(descriptor, flag), f"setns {path}")
    finally:
        os.close(descriptor)


def mount(source, target, kind=None, flags=0, data=None):
    """mount(2); None is a null pointer."""
    words = [None if word is None else os.fsencode(word) for word in (source, target, kind)]
    _checked(_libc.mount(*words, ctypes.c_ulong(flags), None if data is None else data.encode()),
             f"mount {source} at {target}")


def bind(source, target, read_only):
    """What is at source is at target, too."""
    mount(source, target, flags=MS_BIND | MS_REC)
    if read_only:
        # Flags that the mount has must stay: not everybody may take them away.
        kept = os.statvfs(target).f_flag & (MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_NOATIME)
        mount(None, target, flags=MS_REMOUNT | MS_BIND | MS_RDONLY | kept)


def prctl(option, value):
    """prctl(2) with one argument."""
    _checked(_libc.prctl(option, ctypes.c_ulong(value), ctypes.c_ulong(0), ctypes.c_ulong(0), ctypes.c_ulong(0)),
             f"prctl {option} {value}")
