"""Runs the fault proxy as a process and talks to its admin API. README.md has the rule grammar.

A `FaultProxy` owns its process and the files faultproxy.* in its folder. Not for use by several threads.
"""

import http.client
import json
import re
import subprocess
import time
from pathlib import Path
from urllib.parse import urlsplit

START_SECONDS = 10
STOP_SECONDS = 5
VALUE = r"""(?:"[^"]*"|'[^']*'|[^\s,}#]+)"""


class FaultProxyError(Exception):
    """The proxy did not start, or refused what it was asked."""


class FaultProxy:
    """A fault proxy in front of `upstream`, an https URL, whose certificate was signed by file `ca`.

    cert and key are its serving certificate; without them it makes one up. upstream_cert and
    upstream_key are the client certificate it shows for requests that carry no bearer token. After
    start(), `url` is where clients connect and `ca_file` what they check it with (with a given cert:
    whatever file the caller knows, see kubeconfig).
    """

    def __init__(self, binary, upstream, ca, cert=None, key=None, upstream_cert=None,
                 upstream_key=None, dir="."):
        self.folder = Path(dir).resolve()
        self.ca_file = None if cert else self.folder / "faultproxy.ca.crt"
        self.url = None
        self._admin = None
        self._process = None
        self._ready_file = self.folder / "faultproxy.ready.json"
        options = {"upstream": upstream, "upstream-ca": ca, "cert": cert, "key": key,
                   "ca-out": self.ca_file, "upstream-cert": upstream_cert,
                   "upstream-key": upstream_key, "ready-file": self._ready_file}
        self._command = [str(binary)]
        for name, value in options.items():
            if value is not None:
                self._command += [f"--{name}", str(value)]

    def start(self):
        """Starts the process and waits until it serves; returns self."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._ready_file.unlink(missing_ok=True)
        log = self.folder / "faultproxy.log"
        with log.open("ab") as out:
            self._process = subprocess.Popen(self._command, stdin=subprocess.DEVNULL, stdout=out,
                                             stderr=out)
        deadline = time.monotonic() + START_SECONDS
        while not self._ready_file.exists():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise FaultProxyError(f"the fault proxy did not start: {log.read_text()}")
            time.sleep(0.01)
        ready = json.loads(self._ready_file.read_text())
        self.url = ready["url"]
        self._admin = urlsplit(ready["admin"]).netloc
        return self

    def stop(self):
        """Ends the process, and with it every connection; harmless when it has ended."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()

    def add(self, rule):
        """Adds a rule, a dict, behind those that are there; returns its number."""
        return self._call("POST", "/rules", rule)["id"]

    def remove(self, rule_id):
        """Removes one rule."""
        self._call("DELETE", f"/rules/{rule_id}")

    def clear(self):
        """Removes all rules. Requests that a rule holds already stay held; see reset."""
        self._call("DELETE", "/rules")

    def reset(self):
        """Removes all rules, empties the log and resets all connections of clients."""
        self._call("POST", "/reset")

    def rules(self):
        """All rules, with `matched` and `hits` counted."""
        return self._call("GET", "/rules")["rules"]

    def hits(self, rule_id):
        """How often a rule was applied."""
        for rule in self.rules():
            if rule["id"] == rule_id:
                return rule["hits"]
        raise FaultProxyError(f"there is no rule {rule_id}")

    def log(self):
        """The requests seen, oldest first, as dicts."""
        return self._call("GET", "/log")["entries"]

    def kubeconfig(self, for_kubeconfig_path, ca=None):
        """Writes a copy of a kubeconfig that goes to the proxy with the same credentials; returns its path.

        ca is the file that signed the proxy's serving certificate, needed when cert was given.
        """
        source = Path(for_kubeconfig_path).resolve()
        ca = ca or self.ca_file
        if ca is None:
            raise FaultProxyError("kubeconfig: ca is needed, since the proxy was given its certificate")
        target = self.folder / f"faultproxy.{source.name}.kubeconfig"
        target.touch(mode=0o600)
        target.write_text(redirect(source.read_text(), self.url, Path(ca).resolve(), source.parent))
        return target

    def _call(self, method, path, body=None):
        connection = http.client.HTTPConnection(self._admin, timeout=10)
        try:
            connection.request(method, path, None if body is None else json.dumps(body))
            response = connection.getresponse()
            answer = json.loads(response.read())
        finally:
            connection.close()
        if response.status >= 400:
            raise FaultProxyError(answer["error"])
        return answer


def redirect(text, url, ca, folder):
    """A kubeconfig's text with server and CA exchanged, and paths relative to `folder` made absolute."""
    text, servers = _substitute(text, "server", lambda _: ("server", url))
    text, cas = _substitute(text, "certificate-authority(?:-data)?|insecure-skip-tls-verify",
                            lambda _: ("certificate-authority", ca))
    if not servers or servers != cas:
        raise FaultProxyError("kubeconfig: each cluster needs one server and one certificate-authority")
    text, _ = _substitute(text, "tls-server-name", lambda _: ("tls-server-name", "localhost"))
    for key in ("client-certificate", "client-key", "tokenFile"):
        text, _ = _substitute(text, key, lambda value, key=key: (key, folder / value))
    return text


def _substitute(text, keys, change):
    """Exchanges `KEY: value` in YAML, block or flow, or JSON; change(value) gives the new key and value."""
    def exchange(found):
        key, value = change(found["value"].strip("\"'"))
        return f"{found['quote']}{key}{found['quote']}: {json.dumps(str(value))}"
    pattern = rf"""(?<![\w"'-])(?P<quote>["']?)(?:{keys})(?P=quote)\s*:\s*(?P<value>{VALUE})"""
    return re.subn(pattern, exchange, text)
