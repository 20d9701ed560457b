"""kube_follow, a reflector and its store on one resource, as a process."""

import subprocess
import threading
import time

from .pumice import build_folder
from cluster_process import ProcessError


class Follower:
    """What our reflector has seen of a resource.

    lines      (seconds since the start of this object, word, rest) of each line so far
    objects    name: resourceVersion, as the store's handlers were told
    complaints what no handler should ever be told, such as an object added twice
    """

    def __init__(self, kubeconfig, path):
        program = build_folder() / "tests" / "probe" / "kube_follow"
        if not program.is_file():
            program = build_folder() / "kube_follow"
        if not program.is_file():
            raise ProcessError(f"{build_folder()} holds no kube_follow; build it, or set PUMICE_BIN")
        self.lines, self.objects, self.complaints, self.totals = [], {}, [], {}
        self.errors = ""
        self._begin = time.monotonic()
        self._process = subprocess.Popen([program, "--kubeconfig", kubeconfig, path], text=True,
                                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self._readers = [threading.Thread(target=self._read), threading.Thread(target=self._drain)]
        for reader in self._readers:
            reader.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        """Ends it; `totals` has its counters then. Harmless when it has ended."""
        self._process.terminate()
        for reader in self._readers:
            reader.join(timeout=20)
        self._process.wait(timeout=20)
        assert self._process.returncode == 0, self.errors
        return self.totals

    def now(self):
        """Seconds since the start, as in `lines`."""
        return time.monotonic() - self._begin

    def seen(self, word, rest=None):
        """The lines of that word (and with that rest)."""
        return [line for line in list(self.lines)
                if line[1] == word and rest in (None, line[2], line[2].split(" ")[0])]

    def _drain(self):
        for line in self._process.stderr:
            self.errors += line

    def _read(self):
        for line in self._process.stdout:
            first, _, rest = line.rstrip("\n").partition(" ")
            if first == "total":
                name, _, count = rest.partition(" ")
                self.totals[name] = int(count)
                continue
            word, _, rest = rest.partition(" ")
            self.lines.append((self.now(), word, rest))
            if word in ("add", "update", "delete"):
                self._take(word, *rest.split(" "))

    def _take(self, word, key, version):
        name, version = key.split("/")[1], int(version)
        if (name in self.objects) == (word == "add"):
            self.complaints.append(f"{word} of {name}, which was {self.objects.get(name, 'absent')}")
        if word == "update" and self.objects.get(name, 0) >= version:
            self.complaints.append(f"{name} went from {self.objects[name]} to {version}")
        if word == "delete":
            self.objects.pop(name, None)
        else:
            self.objects[name] = version
