"""The plugin extender: a server of the test's decides which nodes pods with a licence may have."""

import contextlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from harness.objects import job, task
from harness.wait import stays, wait_until

LICENCE = "example.com/licence"
CONF = """\
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
- plugins:
  - name: predicates
  - name: nodeorder
  - name: extender
    arguments:
      extender.urlPrefix: http://127.0.0.1:{port}/hook
      extender.httpTimeout: 1s
      extender.managedResources: [{licence}]
      extender.predicateVerb: predicate
      extender.prioritizeVerb: prioritize
      extender.allocateFuncVerb: allocate
"""


class Extender:
    """What the server says, and what it was asked."""

    def __init__(self):
        self.allowed = None  # names of nodes; None: all
        self.best = None
        self.hangs = threading.Event()
        self.over = threading.Event()
        self.asked = []  # (verb, body)

    def answer(self, verb, body):
        self.asked.append((verb, body))
        if self.hangs.is_set():
            self.over.wait(60)
        if verb == "predicate":
            refused = self.allowed is not None and body["node"]["Name"] not in self.allowed
            return {"status": "no licence", "code": 2} if refused else {}
        if verb == "prioritize":
            return {"nodeScore": {node["Name"]: 100 if node["Name"] == self.best else 0 for node in body["nodes"]}}
        return {}

    def verbs(self):
        return [verb for verb, _ in list(self.asked)]


@pytest.fixture
def extender():
    """An HTTP/1.0 server on a port of its own, as the standard library has it: one call a connection."""
    state = Extender()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            text = json.dumps(state.answer(self.path.rsplit("/", 1)[1], body)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            with contextlib.suppress(ConnectionError):  # it may not wait any more
                self.end_headers()
                self.wfile.write(text)

        def log_message(self, *_args):
            pass

    class Server(ThreadingHTTPServer):
        request_queue_size = 128  # of five, more calls at a time wait a second for their connection on a busy machine

    server = Server(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    state.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield state
    state.over.set()
    server.shutdown()
    server.server_close()


@pytest.fixture
def nodes(extender, pool):
    return pool(6, conf=CONF.format(port=extender.port, licence=LICENCE), cpu="8", extended={LICENCE: "2"})


def with_licence(name, replicas):
    made = task(name, replicas)
    for kind in ("requests", "limits"):
        made["template"]["spec"]["containers"][0]["resources"].setdefault(kind, {})[LICENCE] = "1"
    return made


def nodes_of(api, ns, name):
    return sorted({pod["spec"]["nodeName"] for pod in api.bound_pods(ns, name)})


def test_a_server_decides_about_nodes(api, ns, extender, nodes):
    extender.allowed = nodes[2:5]
    extender.best = nodes[4]
    api.create_job(ns, job("licensed", [with_licence("w", 2)]))
    api.wait_pods(ns, "licensed", 2, phase="Running")
    assert nodes_of(api, ns, "licensed") == [nodes[4]]
    wait_until(lambda: extender.verbs().count("allocate") == 2, 10, lambda: f"two messages: {extender.verbs()}")
    task_asked = next(body for verb, body in extender.asked if verb == "predicate")["task"]
    assert (task_asked["Job"].split("/")[0], task_asked["Namespace"], task_asked["TaskRole"]) == (ns, ns, "w")
    api.create_job(ns, job("large", [with_licence("w", 5)]))
    wait_until(lambda: "refused by the extender: no licence" in api.why(ns, "large"), 30,
               lambda: f"the reason: {api.why(ns, 'large')}")
    extender.allowed = None
    api.wait_pods(ns, "large", 5, phase="Running")


def test_a_server_that_hangs_delays_nobody_else(api, ns, extender, nodes):
    extender.hangs.set()
    api.create_job(ns, job("licensed", [with_licence("w", 2)]))
    wait_until(lambda: extender.asked, 20, "the server to be asked")
    api.create_job(ns, job("plain", [task("w", 10)]))
    api.wait_pods(ns, "plain", 10, phase="Running", timeout=15)
    wait_until(lambda: "failed: POST /predicate: no answer within 1 s" in api.why(ns, "licensed"), 30,
               lambda: f"the reason: {api.why(ns, 'licensed')}")
    stays(lambda: not api.bound_pods(ns, "licensed"), 2, lambda: f"no nodes: {nodes_of(api, ns, 'licensed')}")
    extender.hangs.clear()
    extender.over.set()
    api.wait_pods(ns, "licensed", 2, phase="Running")
