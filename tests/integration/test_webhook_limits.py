"""Every limit of the webhook as a flag, at its value and one past it; what is no request of an API
server; and its end by a signal. Straight to the port of a process of its own, beside the others."""

import contextlib
import json
import signal
import subprocess
import time

import pytest

from harness.objects import queue
from harness.pumice import Pumice, build_folder, find_binary
from harness.wait import wait_until
from test_webhook import answer, cpu, header, plain, review, sanitized, secure

pytestmark = pytest.mark.alone

PATH = "/jobs/validate"


@pytest.fixture(scope="module")
def product(controlplane):
    made = Pumice(controlplane, tied=True, replica="-limits")
    try:
        controlplane.create("/apis/scheduling.volcano.sh/v1beta1/queues", queue("default"))
    except RuntimeError as error:  # another test made it
        assert "409" in str(error) or "exists" in str(error)
    return made


@pytest.fixture
def start(product):
    """start(flag=value, ...): a webhook with these flags; a function, to be called once."""
    hook = product.webhook

    def begin(**flags):
        hook.flags.update({name.replace("_", "-"): str(value) for name, value in flags.items()})
        hook.start()
        return int(hook.flags["port"])
    before = dict(hook.flags)
    yield begin
    complaint = hook.complaint()
    hook.kill9()  # the way a stop goes is for the tests below
    hook.flags = before
    assert not complaint, complaint


def post(port, body, path=PATH, lines=()):
    """(status, text) of the answer to one request, or (0, "")."""
    with secure(port) as connection:
        with contextlib.suppress(OSError):
            connection.sendall(header(path, f"Content-Length: {len(body)}", *lines) + body)
        status, text = answer(connection) or (0, b"")
        return status, text.decode()


def padded(size):
    return review() + b" " * (size - len(review()))


def review_of(inner):
    """A review of a job that holds some JSON of no meaning."""
    return review().replace(b'"spec":', b'"x":' + inner.encode() + b',"spec":', 1)


def ends_after(connection):
    """Seconds until the server ends a connection."""
    begin = time.monotonic()
    try:
        assert connection.recv(1) == b""
    except ConnectionError:
        pass
    return time.monotonic() - begin


# Limits, at the value and one past it

def test_size_of_a_body(start):
    port = start(max_body_bytes=4096)
    assert post(port, padded(4096))[0] == 200
    assert post(port, padded(4097))[0] in (413, 0)


def test_memory_of_all_bodies(start):
    port = start(max_bodies_bytes=8192)
    body = padded(4096)
    with secure(port) as held:
        held.sendall(header(PATH, f"Content-Length: {len(body)}") + body[:-1])
        time.sleep(0.3)
        assert post(port, body)[0] == 200
        status, text = post(port, padded(4097))
        assert status == 429 and text == "429: too many reviews are being read; try again\n"
        held.sendall(body[-1:])
        assert answer(held)[0] == 200
    wait_until(lambda: post(port, padded(4097))[0] == 200, 5, "the memory is free again")


def values_of(tree):
    """How many JSON values a tree holds, itself included."""
    inner = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ()
    return 1 + sum(values_of(item) for item in inner)


def test_number_of_json_values(start):
    port = start(max_json_values=200)
    empty = values_of(json.loads(review_of("[]")))
    assert empty < 200
    assert post(port, review_of(json.dumps([0] * (200 - empty))))[0] == 200
    status, text = post(port, review_of(json.dumps([0] * (201 - empty))))
    assert status == 413 and text.startswith("413: ") and "more values than allowed" in text


def test_depth_of_json(start):
    port = start(max_json_depth=12)
    # The review, its request and the object are three.
    assert post(port, review_of("[" * 9 + "]" * 9))[0] == 200
    status, text = post(port, review_of("[" * 10 + "]" * 10))
    assert status == 413 and "nested deeper than allowed" in text


def test_size_of_a_header(start):
    port = start(max_header_bytes=8192)
    body = review()
    # libmicrohttpd needs some of the memory for other things than the text.
    assert post(port, body, lines=["X: " + "x" * 5000])[0] == 200
    assert post(port, body, lines=["X: " + "x" * 8192])[0] in (431, 413, 400, 0)
    assert post(port, body)[0] == 200


def test_number_of_connections(start, product):
    port = start(max_connections=16)
    with contextlib.ExitStack() as stack:
        silent = [stack.enter_context(plain(port)) for _ in range(40)]
        assert post(port, review())[0] == 200
        wait_until(lambda: product.webhook.metrics()["pumice_admission_connections"] <= 16, 5,
                   "no more than 16 are open")
        alive = 0
        for connection in silent:
            connection.settimeout(0.02)
            try:
                alive += connection.recv(1) != b""
            except TimeoutError:
                alive += 1
            except OSError:
                pass
        assert 8 <= alive <= 16


def test_times(start):
    """An idle connection, a handshake and a request, each with its own limit."""
    port = start(idle_timeout="4s", handshake_timeout="1s", request_timeout="2s")
    with plain(port) as silent, secure(port) as idle, secure(port) as slow:
        slow.sendall(header(PATH, "Content-Length: 100"))
        assert 0.3 < ends_after(silent) < 1.9
        slow.sendall(b" ")
        assert 0.3 < ends_after(slow) < 2.5
        assert 0.5 < ends_after(idle) < 4.5


def test_no_review_waits_when_none_may(start):
    port = start(max_waiting=0, queue_wait="5s")
    begin = time.monotonic()
    status, text = post(port, review_in("no-such-queue"))
    assert status == 200 and not json.loads(text)["response"]["allowed"]
    assert time.monotonic() - begin < 2


def test_as_many_reviews_wait_as_may(start, product):
    port = start(max_waiting=2, queue_wait="3s")
    body = review_in("no-such-queue")
    with secure(port) as first, secure(port) as second:
        for connection in (first, second):
            connection.sendall(header(PATH, f"Content-Length: {len(body)}") + body)
        wait_until(lambda: product.webhook.metrics()["pumice_admission_waiting"] == 2, 3,
                   "two reviews wait")
        begin = time.monotonic()
        assert post(port, body)[0] == 200
        assert time.monotonic() - begin < 1
        for connection in (first, second):
            status, text = answer(connection)
            assert status == 200 and not json.loads(text)["response"]["allowed"]


def test_a_review_waits_no_longer_than_its_client(start):
    port = start(queue_wait="8s")
    begin = time.monotonic()
    status, text = post(port, review_in("no-such-queue"), path=PATH + "?timeout=1s")
    assert 0.5 < time.monotonic() - begin < 1
    response = json.loads(text)["response"]
    assert status == 200 and not response["allowed"] and response["uid"] == "u-1"


def test_one_thread_serves_many(start):
    port = start(tls_threads=1)
    with contextlib.ExitStack() as stack:
        many = [stack.enter_context(secure(port)) for _ in range(30)]
        body = review()
        for connection in many:
            connection.sendall(header(PATH, f"Content-Length: {len(body)}") + body)
        assert [answer(connection)[0] for connection in many] == [200] * 30


@pytest.mark.parametrize("flag", [
    "max-body-bytes=1023", "max-bodies-bytes=1023", "max-header-bytes=4095", "max-json-values=99",
    "max-json-depth=7", "max-json-depth=65", "max-connections=0", "max-connections=65537",
    "max-waiting=-1", "tls-threads=0", "tls-threads=65", "idle-timeout=999ms",
    "handshake-timeout=999ms", "request-timeout=999ms", "request-timeout=61m", "queue-wait=-1s",
    "graceful-shutdown-time=-1s", "max-body-bytes=many"])
def test_values_that_a_limit_cannot_have(product, flag):
    command = [find_binary(build_folder(), "pumice-webhook"), "--webhook-url=https://127.0.0.1:1",
               f"--kubeconfig={product.plane.kubeconfig('pumice-admission')}", "--" + flag]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode in (1, 2)
    assert "--" + flag.partition("=")[0] in done.stderr.strip().splitlines()[-1]


# What is no request of an API server

def review_in(name):
    tree = json.loads(review())
    tree["request"]["object"]["spec"]["queue"] = name
    return json.dumps(tree).encode()


def raw(port, text):
    """(status, text) of the answer to a request that is written out."""
    with secure(port) as connection:
        connection.sendall(text)
        status, body = answer(connection) or (0, b"")
        return status, body.decode()


def test_requests_that_are_refused(start):
    port = start()
    body = review()

    def with_head(first, *lines):
        return "\r\n".join([first, "Host: x", *lines, f"Content-Length: {len(body)}", "",
                            ""]).encode() + body
    kind = "Content-Type: application/json"
    wanted = [
        (with_head("GET /jobs/validate HTTP/1.1", kind), 405, "only POST is served here"),
        (with_head("PUT /jobs/validate HTTP/1.1", kind), 405, "only POST is served here"),
        (with_head("POST /jobs HTTP/1.1", kind), 404, "no admission rules"),
        (with_head("POST / HTTP/1.1", kind), 404, "no admission rules"),
        (with_head("POST /jobs/validate HTTP/1.1"), 415, "application/json"),
        (with_head("POST /jobs/validate HTTP/1.1", "Content-Type: application/yaml"), 415,
         "application/json"),
        (header(PATH, "Transfer-Encoding: chunked") + b"0\r\n\r\n", 411, "Content-Length"),
        (header(PATH), 411, "Content-Length"),
    ]
    for text, status, says in wanted:
        got = raw(port, text)
        assert got[0] == status and got[1].startswith(f"{status}: ") and says in got[1], got
        assert got[1].count("\n") == 1
    assert raw(port, with_head("POST /jobs/validate HTTP/1.1", kind + "; charset=utf-8"))[0] == 200


def test_a_review_of_another_version_is_answered(start):
    port = start()
    status, text = post(port, review().replace(b"admission.k8s.io/v1", b"admission.k8s.io/v1beta1"))
    found = json.loads(text)
    assert status == 200 and found["apiVersion"] == "admission.k8s.io/v1beta1"
    assert found["response"]["uid"] == "u-1" and not found["response"]["allowed"]
    assert found["response"]["status"]["code"] == 400
    assert "only admission.k8s.io/v1 is understood" in found["response"]["status"]["message"]


def test_dry_run_is_judged_alike(start):
    port = start()
    for body in (review(), review({"spec": {}})):
        tree = json.loads(body)
        tree["request"]["dryRun"] = True
        assert post(port, json.dumps(tree).encode()) == post(port, body)


def test_half_open_handshakes_cost_nothing(start, product):
    port = start()
    with contextlib.ExitStack() as stack:
        for _ in range(100):
            stack.enter_context(plain(port)).sendall(b"\x16")
        time.sleep(0.5)
        before = cpu(product.webhook)
        time.sleep(2)
        used = (cpu(product.webhook) - before) / 2
        assert used < (0.3 if sanitized() else 0.1), f"{used:.0%} of a core"
        assert post(port, review())[0] == 200


# The end

def test_a_stop_is_announced_before_it_happens(start, product):
    """Not ready at once; who has not heard of it is still served, on old and on new connections."""
    port = start()
    hook, body = product.webhook, review()
    message = header(PATH, f"Content-Length: {len(body)}") + body
    with secure(port) as kept:
        kept.sendall(message)
        assert answer(kept)[0] == 200
        hook.signal(signal.SIGTERM)
        wait_until(lambda: hook.get("/readyz")[0] == 503, 1, "it says that it is not ready")
        assert "stopping" in hook.get("/readyz")[1]
        assert hook.get("/healthz")[0] == 200
        kept.sendall(message)
        assert answer(kept)[0] == 200
    assert post(port, body)[0] == 200
    assert hook.wait(15) and hook.exit_code() in (0, None)
    hook.kill9()


def test_a_second_signal_ends_it_at_once(start, product):
    port = start()
    hook = product.webhook
    with secure(port) as busy:
        busy.sendall(header(PATH, "Content-Length: 1000") + b" ")
        time.sleep(0.2)
        hook.signal(signal.SIGTERM)
        time.sleep(0.3)
        assert hook.running()
        begin = time.monotonic()
        hook.signal(signal.SIGTERM)
        assert hook.wait(3) and time.monotonic() - begin < 2
    assert hook.exit_code() in (1, None)
    hook.kill9()


def test_who_never_ends_his_request_delays_the_end_no_longer_than_allowed(start, product):
    port = start(graceful_shutdown_time="3s")
    hook = product.webhook
    with secure(port) as busy:
        busy.sendall(header(PATH, "Content-Length: 1000") + b" ")
        time.sleep(0.2)
        begin = time.monotonic()
        hook.signal(signal.SIGTERM)
        assert hook.wait(8)
        assert 2 < time.monotonic() - begin < 6
    assert hook.exit_code() in (0, None)
    hook.kill9()
