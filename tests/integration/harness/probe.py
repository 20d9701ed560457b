"""kube_probe, the command line to our HTTP client, as a process. Its output has one line an answer."""

import subprocess
from collections import Counter
from dataclasses import dataclass

from .pumice import build_folder
from cluster_process import ProcessError

KINDS = ("answered", "not-sent", "in-doubt", "event")


@dataclass
class Line:
    """One line: `what` is answered, not-sent, in-doubt or event."""

    at: float
    what: str
    words: list

    @property
    def status(self):
        return int(self.words[0])

    @property
    def error_class(self):
        return self.words[2]

    @property
    def message(self):
        return " ".join(self.words[3:])


def _find():
    for path in (build_folder() / "tests" / "probe" / "kube_probe", build_folder() / "kube_probe"):
        if path.is_file():
            return path
    raise ProcessError(f"{build_folder()} holds no kube_probe; build it, or set PUMICE_BIN")


class Probe:
    """A running kube_probe. `options` become flags: every=200 is --every 200."""

    def __init__(self, kubeconfig, *words, body=None, **options):
        command = [_find(), "--kubeconfig", kubeconfig]
        for name, value in options.items():
            command += [f"--{name}", str(value)]
        self.process = subprocess.Popen(
            [str(w) for w in [*command, *words]], text=True, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, stdin=subprocess.PIPE if body else subprocess.DEVNULL)
        if body:
            self.process.stdin.write(body)
            self.process.stdin.close()
            self.process.stdin = None

    def lines(self, timeout=60):
        """Waits for the end and returns all lines but the totals."""
        try:
            out, errors = self.process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            out, errors = self.process.communicate()
            raise AssertionError(f"kube_probe did not end within {timeout} s:\n{out[-2000:]}{errors}")
        assert self.process.returncode == 0, errors
        found = []
        for text in out.splitlines():
            words = text.split(" ")
            if words[0] != "total" and words[1:2] and words[1] in KINDS:
                found.append(Line(float(words[0]), words[1], words[2:]))
        return found

    def next_line(self):
        """The next line of a probe that runs on, as text."""
        return self.process.stdout.readline()

    def stop(self):
        """Ends it; harmless when it has ended."""
        if self.process.poll() is None:
            self.process.terminate()
        self.process.communicate()


def tally(lines):
    """How often each (what, status) came."""
    return Counter((line.what, line.status) for line in lines if line.what != "event")
