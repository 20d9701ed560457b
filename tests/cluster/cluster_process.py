"""Processes that are started in the background and found again by their process id.

A `Process` has a name and lives in a folder: `run/NAME.pid` says which process it is,
`log/NAME.log` takes what it prints. Any other Python process can stop it through the same
folder. The pid file also keeps the start time of the process, so that a number that was given to
some other process meanwhile is never signalled.
"""

import ctypes
import os
import random
import signal
import socket
import subprocess
import time
from pathlib import Path

PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)
_ports_given = set()


class ProcessError(RuntimeError):
    """A process did not start, or did not become ready in time."""


def free_port():
    """A TCP port on loopback that nobody listens on, never the same twice in one process.

    It lies below the range from which the kernel takes the ports of outgoing connections: a
    server that is stopped and started again on its port must not find a client sitting on it.
    Nor one of another lane: of the lanes of a test run (pytest-xdist numbers them) each has ports of its own.
    """
    lane = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    lanes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    low = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    for _ in range(200):
        port = random.randrange(10000, low) if low > 12000 else 0
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            port = probe.getsockname()[1]
        if port % lanes == lane % lanes and port not in _ports_given:
            _ports_given.add(port)
            return port
    raise ProcessError("found no free TCP port on 127.0.0.1 in 200 attempts")


def start_time(pid):
    """When the process started, in the kernel's ticks since boot; None if it is gone."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = stat.rsplit(")", 1)[1].split()
    return None if fields[0] in "ZX" else int(fields[19])


def tail(path, lines=15):
    """The last lines of a text file, or a note that it cannot be read."""
    try:
        with open(path, "rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - 64 * 1024))
            return "\n".join(file.read().decode(errors="replace").splitlines()[-lines:])
    except OSError as error:
        return f"({error})"


def _die_with_parent():
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Process:
    """One background process of the control plane or of the product."""

    def __init__(self, folder, name):
        self.name = name
        self.log = Path(folder) / "log" / f"{name}.log"
        self.pid_file = Path(folder) / "run" / f"{name}.pid"
        self._child = None

    def pid(self):
        """The process id, or None if the process does not run.

        A child counts as running until it can be waited for: when its first thread has ended, others may
        still be about to, and hold its sockets.
        """
        if self._child is not None:
            return self._child.pid if self._child.poll() is None else None
        try:
            pid, began = map(int, self.pid_file.read_text().split())
        except (OSError, ValueError):
            return None
        return pid if start_time(pid) == began else None

    def running(self):
        """True while the process runs."""
        return self.pid() is not None

    def exit_code(self):
        """The exit code of a process started by this object, or None."""
        return None if self._child is None else self._child.poll()

    def start(self, command, env=None, tied=False):
        """Starts the process; its output is appended to the log.

        env adds to the environment. With tied the process is killed when the thread that
        started it ends, so that an interrupted test run leaves nothing behind.
        """
        if self.running():
            raise ProcessError(f"{self.name} runs already, as process {self.pid()}")
        self.log.parent.mkdir(parents=True, exist_ok=True)
        self.pid_file.parent.mkdir(parents=True, exist_ok=True)
        with open(self.log, "ab") as log:
            try:
                self._child = subprocess.Popen(
                    [str(word) for word in command], stdin=subprocess.DEVNULL, stdout=log,
                    stderr=log, start_new_session=True, env={**os.environ, **(env or {})},
                    preexec_fn=_die_with_parent if tied else None)
            except OSError as error:
                raise ProcessError(f"{self.name} cannot be started: {error}") from None
        self.pid_file.write_text(f"{self._child.pid} {start_time(self._child.pid) or 0}\n")

    def wait_ready(self, check, timeout):
        """Waits until check() is true; raises ProcessError if the process ends or is too slow."""
        deadline = time.monotonic() + timeout
        while not check():
            if not self.running():
                raise ProcessError(f"{self.name} ended while it started, exit code "
                                   f"{self.exit_code()}. Log: {self.log}\n{tail(self.log)}")
            if time.monotonic() > deadline:
                raise ProcessError(f"{self.name} was not ready after {timeout} s. "
                                   f"Log: {self.log}\n{tail(self.log)}")
            time.sleep(0.05)

    def signal(self, number):
        """Sends a signal if the process runs."""
        pid = self.pid()
        if pid is not None:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass

    def wait(self, timeout):
        """Waits for the end of the process; True if it has ended."""
        deadline = time.monotonic() + timeout
        while self.running():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.02)
        return True

    def stop(self, timeout=10):
        """Ends the process: SIGTERM, and SIGKILL if it still runs after timeout seconds.

        Returns its exit code if this object started it, else None.
        """
        self.signal(signal.SIGTERM)
        if not self.wait(timeout):
            self.kill()
        self.pid_file.unlink(missing_ok=True)
        return self.exit_code()

    def kill(self):
        """Ends the process with SIGKILL."""
        self.signal(signal.SIGKILL)
        if not self.wait(10):
            raise ProcessError(f"{self.name}, process {self.pid()}, outlives SIGKILL")
        self.pid_file.unlink(missing_ok=True)

    def rss_kib(self):
        """Resident memory in KiB, or None if the process does not run."""
        pid = self.pid()
        if pid is None:
            return None
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
        return None

    def cpu_seconds(self):
        """User and system time used so far, or None if the process does not run."""
        pid = self.pid()
        if pid is None:
            return None
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
