"""Probes of a container, as the kubelet carries them out: by HTTP alone, which is what ours use."""

import time

from harness.pumice import http_get

KNOWN = {"httpGet", "initialDelaySeconds", "periodSeconds", "timeoutSeconds", "successThreshold", "failureThreshold"}


def port_number(container, port):
    """The number of a port that is given by name or number."""
    if isinstance(port, int):
        return port
    return next(one["containerPort"] for one in container["ports"] if one.get("name") == port)


class Probe:
    """One probe of a container that has just started. `good` is what it says now."""

    def __init__(self, spec, container, address, good):
        unknown = spec.keys() - KNOWN
        if unknown or spec["httpGet"].get("scheme", "HTTP") != "HTTP":
            raise ValueError(f"probes with {sorted(unknown) or 'HTTPS'} are not known here")
        self._spec, self.good = spec, good
        self._target = f"{address}:{port_number(container, spec['httpGet']['port'])}"
        self._path = spec["httpGet"]["path"]
        self._next = time.monotonic() + spec.get("initialDelaySeconds", 0)
        self._streak = 0  # answers in a row that say something else than `good`
        self.last = ""

    def look(self):
        """Asks, if it is time to."""
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + self._spec.get("periodSeconds", 10)
        answer = self._ask()
        self._streak = 0 if answer == self.good else self._streak + 1
        limit = self._spec.get("successThreshold", 1) if answer else self._spec.get("failureThreshold", 3)
        if self._streak >= limit:
            self.good, self._streak = answer, 0

    def _ask(self):
        try:
            status, text = http_get(self._target, self._path, self._spec.get("timeoutSeconds", 1))
        except OSError as error:
            self.last = str(error)
            return False
        self.last = f"{status} {text[:200]}"
        return 200 <= status < 400
