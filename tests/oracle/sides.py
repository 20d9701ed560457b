"""The two sides of the comparison: the API server over kept connections, and our probe."""

import http.client
import json
import ssl
import subprocess
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from threading import local
from urllib.parse import urlsplit

IN_FLIGHT = 16
PATH = "/api/v1/namespaces/default/podtemplates?dryRun=All&fieldValidation=Strict"


class Server:
    """The API server of a control plane, as its administrator."""

    def __init__(self, plane):
        self.address = urlsplit(plane.server).netloc
        self.context = ssl.create_default_context(cafile=str(plane.pki.ca))
        self.context.load_cert_chain(plane.pki.crt("admin"), plane.pki.key("admin"))
        self.thread = local()

    def _connection(self):
        if not hasattr(self.thread, "connection"):
            self.thread.connection = http.client.HTTPSConnection(
                self.address, context=self.context, timeout=60)
        return self.thread.connection

    def ask(self, template):
        """(HTTP status, answer) for a template sent as a PodTemplate; nothing is stored."""
        body = json.dumps({"apiVersion": "v1", "kind": "PodTemplate",
                           "metadata": {"name": "oracle"}, "template": template})
        connection = self._connection()
        connection.request("POST", PATH, body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if answer.status != 201 else None

    def ask_all(self, templates):
        """The answers in order, IN_FLIGHT at once."""
        with ThreadPoolExecutor(IN_FLIGHT) as pool:
            yield from pool.map(self.ask, templates)


class Probe:
    """Our probe in one of its modes: a JSON answer for each JSON question."""

    def __init__(self, binary, mode):
        self.process = subprocess.Popen([binary, mode], text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)

    def ask(self, question):
        """The answer to one question."""
        return self.ask_line(json.dumps(question))

    def ask_line(self, line):
        """The answer to a question that is JSON already."""
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError(f"the probe ended with {self.process.wait()} at {line}")
        return json.loads(answer)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.stdout.close()
        assert self.process.wait(timeout=30) == 0


def in_batches(iterator, size):
    """Lists of `size` items, so that not all templates are in memory."""
    while batch := list(islice(iterator, size)):
        yield batch
