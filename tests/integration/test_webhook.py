"""The webhook as a process, on a control plane of its own: rules through the real API server,
hostile clients on its port, certificates and registrations that heal, and life without it."""

import base64
import concurrent.futures
import json
import signal
import socket
import ssl
import subprocess
import time
from pathlib import Path

import pytest
from kubernetes.client.exceptions import ApiException

from cluster import ApiError, ControlPlane
from harness import ROOT
from harness.api import Api
from harness.objects import job, pod, queue, task
from harness.pumice import Binary, Pumice, address, build_folder, find_binary
from harness.wait import stays, wait_until
from cluster_process import free_port

pytestmark = pytest.mark.alone

EXAMPLES = ROOT / "manifests" / "examples"
EVERYTHING = Path(__file__).with_name("everything.yaml")
KINDS = ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")
CONFIGURATIONS = {f"volcano-admission-service-{name}": KINDS[name.endswith("validate")]
                  for name in ("jobs-mutate", "jobs-validate", "podgroups-mutate",
                               "podgroups-validate", "pods-validate", "queues-mutate",
                               "queues-validate", "jobflows-validate", "hypernodes-validate",
                               "cronjobs-validate")}
REGISTRATIONS = "/apis/admissionregistration.k8s.io/v1"
SECRET = "/api/v1/namespaces/volcano-system/secrets/volcano-admission-secret"
MERGE = "application/merge-patch+json"


# Fixtures

@pytest.fixture(scope="module")
def plane(tmp_path_factory):
    """A control plane without nodes, for these tests alone."""
    made = ControlPlane(tmp_path_factory.mktemp("webhook"), tied=True)
    made.start()
    yield made
    made.stop()


@pytest.fixture(scope="module")
def product(plane):
    """The webhook, registered; the other two binaries do not run."""
    made = Pumice(plane, tied=True)
    made.apply_manifests()
    made.register_webhooks()
    made.webhook.flags["cert-check-interval"] = "3s"
    made.webhook.flags["max-connections"] = "512"  # which clients can exceed
    made.webhook.start()
    made.wait_admission()
    plane.create("/apis/scheduling.volcano.sh/v1beta1/queues", queue("default"))
    yield made
    complaint = made.webhook.complaint()
    assert made.webhook.stop() in (0, None)
    assert not complaint, complaint


@pytest.fixture(scope="module")
def cluster(plane, product):
    """The cluster as its administrator sees it."""
    client = Api(plane)
    wait_until(lambda: client.core.read_namespaced_service_account("default", "default"), 30,
               "the namespace default is complete")
    yield client
    client.close()


@pytest.fixture
def hook(product):
    """The webhook, running and registered when the test begins."""
    if not product.webhook.running():
        product.webhook.start()
        product.wait_admission()
    yield product.webhook
    assert not product.webhook.complaint()


def refused(call, *arguments):
    """Makes a call that must be refused by a webhook; returns (status, message)."""
    with pytest.raises(ApiException) as caught:
        call(*arguments)
    answer = json.loads(caught.value.body)
    assert "denied the request" in answer["message"], answer
    return caught.value.status, answer["message"]


def one_task(**options):
    return [task("learner", **options)]


# Rules through the API server

def test_the_example_gets_its_defaults(hook, plane, cluster):
    plane.kubectl("apply", "-f", EXAMPLES / "gang.yaml")
    spec = cluster.job("default", "gang")["spec"]
    assert spec["maxRetry"] == 3 and spec["queue"] == "default"
    assert [(t["name"], t["minAvailable"], t["maxRetry"]) for t in spec["tasks"]] == [
        ("master", 1, 3), ("worker", 3, 3)]


UNCHANGED = [word for path in [*sorted(EXAMPLES.glob("*.yaml")), EVERYTHING]
             if path.stem != "invalid" for word in ("-f", path)]


def generations(plane):
    """{kind and name: generation} of all objects that are applied; without one, what it holds."""
    items = json.loads(plane.kubectl("get", *UNCHANGED, "-o", "json"))["items"]
    return {(item["kind"], item["metadata"]["name"]):
            item["metadata"].get("generation", item.get("data"))
            for item in items}


def test_unchanged_manifests_can_be_applied_twenty_times(hook, plane, cluster):
    """As kubectl does by itself, and at last as the server does; nothing changes but once.

    The second time kubectl sends the lists without what was filled into their items.
    """
    plane.kubectl("apply", *UNCHANGED)
    cluster.patch_job("default", "everything", [  # as a controller does
        {"op": "add", "path": "/spec/volumes/0/volumeClaimName", "value": "everything-made"}])
    plane.kubectl("apply", *UNCHANGED)
    before = generations(plane)
    assert len(before) == 22
    for _ in range(18):
        plane.kubectl("apply", *UNCHANGED)
    assert generations(plane) == before
    for _ in range(2):
        plane.kubectl("apply", "--server-side", "--force-conflicts", *UNCHANGED)
    assert generations(plane) == before


def test_the_invalid_example_is_refused_with_both_reasons(hook, plane):
    with pytest.raises(RuntimeError) as caught:
        plane.kubectl("apply", "-f", EXAMPLES / "invalid.yaml")
    text = str(caught.value)
    assert 'admission webhook "validatejob.volcano.sh" denied the request' in text
    assert "duplicated task name worker" in text
    assert "job 'minAvailable' should not be greater than total replicas in tasks" in text


NAMES = [  # name, plugins, part of the refusal
    ("run-" + "a" * 52, {"svc": []}, "create pod with name run-"),
    ("a" * 63, {}, "no more than 63 characters"),
    ("a" * 64, {}, "create job with name"),
    ("9run", {"svc": []}, "create service with name 9run"),
    ("a.b", {"svc": []}, "create service with name a.b"),
    ("9run", {}, None),
    ("a.b", {}, None),
]


@pytest.mark.parametrize("name, plugins, says", NAMES)
def test_names_that_cannot_become_a_pod_or_service(hook, cluster, name, plugins, says):
    made = job(name, one_task(), plugins=plugins)
    if says is None:
        cluster.create_job("default", made)
        return
    status, message = refused(cluster.create_job, "default", made)
    assert status == 422 and says in message


def test_scaling_to_a_name_that_is_too_long(hook, cluster):
    name = "a" * 53
    cluster.create_job("default", job(name, one_task(), minimum=1))
    cluster.scale_job("default", name, 10)  # index 9: 63 characters
    status, message = refused(cluster.scale_job, "default", name, 11)
    assert status == 422 and f"create pod with name {name}-learner-10" in message


@pytest.fixture
def reapply(hook, cluster):
    """A stored job for updates, and a function that puts a changed copy of it."""
    made = job("reapply", [task("w", 2, cpu="1")], minimum=1, volumes=[
        {"mountPath": "/d", "volumeClaim": {"accessModes": ["ReadWriteOnce"],
                                            "resources": {"requests": {"storage": "1Gi"}}}}])
    cluster.create_job("default", made)

    def put(change):
        stored = cluster.job("default", "reapply")
        change(stored)
        path = "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs/reapply"
        cluster.plane.request("PUT", path, stored)
    yield put
    cluster.delete_job("default", "reapply")


def container(stored):
    return stored["spec"]["tasks"][0]["template"]["spec"]["containers"][0]


def leave_out_defaults(stored):
    for key in ("queue", "maxRetry"):
        del stored["spec"][key]
    for key in ("minAvailable", "maxRetry"):
        del stored["spec"]["tasks"][0][key]


def other_units(stored):
    container(stored)["resources"]["requests"].update(cpu="1000m", memory="131072Ki")
    stored["spec"]["volumes"][0]["volumeClaim"]["resources"]["requests"]["storage"] = "1024Mi"


@pytest.mark.parametrize("change", [
    lambda stored: None,
    leave_out_defaults,
    other_units,
    lambda stored: stored["spec"]["tasks"][0].update(replicas=3),
    lambda stored: stored["spec"].update(priorityClassName="high"),
    lambda stored: stored["metadata"].update(labels={"a": "b"}, finalizers=[]),
], ids=["same", "defaults", "units", "replicas", "priority", "metadata"])
def test_updates_that_are_allowed(reapply, change):
    reapply(change)


@pytest.mark.parametrize("change, says", [
    (lambda stored: container(stored).update(image="other"),
     "spec.tasks[0].template.spec.containers[0].image"),
    (lambda stored: stored["spec"]["tasks"].append(task("x")), "may not add or remove tasks"),
], ids=["image", "task"])
def test_updates_that_are_refused(reapply, change, says):
    with pytest.raises(RuntimeError) as caught:
        reapply(change)
    assert "denied the request" in str(caught.value) and says in str(caught.value)


def test_a_job_that_is_deleted_loses_its_finalizer(hook, cluster):
    made = job("leaving", one_task())
    made["metadata"]["finalizers"] = ["example.com/hold"]
    cluster.create_job("default", made)
    cluster.delete_job("default", "leaving")
    cluster.patch_job("default", "leaving", [{"op": "remove", "path": "/metadata/finalizers"}])
    wait_until(lambda: "leaving" not in [j["metadata"]["name"] for j in cluster.jobs("default")],
               10, "the job is gone")


def test_a_missing_queue_is_refused_soon(hook, cluster):
    begin = time.monotonic()
    status, message = refused(cluster.create_job, "default",
                              job("nowhere", one_task(), queue="no-such-queue"))
    assert status == 403 and 'queue.scheduling.volcano.sh "no-such-queue" not found' in message
    assert 0.4 < time.monotonic() - begin < 3


@pytest.mark.parametrize("delay", [0, 0.05, 0.3])
def test_a_job_around_the_moment_its_queue_is_made(hook, cluster, delay):
    """The queue comes `delay` seconds after the job was sent."""
    name = f"fresh-{int(delay * 1000)}"
    with concurrent.futures.ThreadPoolExecutor() as pool:
        sent = pool.submit(cluster.create_job, "default", job(name, one_task(), queue=name))
        time.sleep(delay)
        cluster.create_queue(queue(name))
        sent.result()


def test_a_closed_queue(hook, cluster):
    cluster.create_queue(queue("closed"))
    cluster.plane.request("PATCH", "/apis/scheduling.volcano.sh/v1beta1/queues/closed/status",
                          {"status": {"state": "Closed"}}, content_type=MERGE)

    def refusal():
        try:
            cluster.create_job("default", job("in-closed", one_task(), queue="closed"))
        except ApiException as error:
            return error.body
        cluster.delete_job("default", "in-closed")
        return None
    text = wait_until(refusal, 10, "a job in a closed queue is refused")
    assert "queue `closed` status is `Closed`" in text


@pytest.mark.parametrize("spec, says", [
    ({"capability": {"cpu": "2"}, "guarantee": {"resource": {"cpu": "4"}}},
     "requestBody.spec.deserved.cpu"),
    ({"weight": -2}, "spec.weight"),
    ({"capability": {"cpu": "-1"}}, "requestBody.spec.capability.cpu"),
    ({"parent": "nobody"}, "failed to get parent queue nobody"),
])
def test_bad_queues(hook, cluster, spec, says):
    with pytest.raises(ApiException) as caught:
        cluster.create_queue(queue("q-bad", **spec))
    assert says in caught.value.body


def test_queues_that_may_not_be_deleted(hook, cluster):
    cluster.create_queue(queue("parent"))
    cluster.create_queue(queue("child", parent="parent"))
    assert "`default` queue can not be deleted" in refused(cluster.delete_queue, "default")[1]
    wait_until(lambda: "1 child queues: child" in refused(cluster.delete_queue, "parent")[1], 5,
               "the child is seen")
    cluster.delete_queue("child")


def test_a_burst_of_jobs(hook, cluster):
    """200 jobs of 100 pods from 40 clients: none times out."""
    def create(number):
        begin = time.monotonic()
        cluster.create_job("default", job(f"burst-{number:03}", [task("w", 100, cpu="10m")]))
        return time.monotonic() - begin
    with concurrent.futures.ThreadPoolExecutor(40) as pool:
        times = sorted(pool.map(create, range(200)))
    print(f"p50 {times[100] * 1000:.0f} ms, longest {times[-1] * 1000:.0f} ms")
    assert times[-1] < 5


# Clients on its port

@pytest.fixture
def port(product, hook):
    return int(product.webhook_url.rsplit(":", 1)[1])


def plain(port):
    """A TCP connection."""
    made = socket.create_connection(("127.0.0.1", port), timeout=30)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made


def secure(port):
    """A TLS connection that trusts everybody."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context.wrap_socket(plain(port))


def header(path, *lines):
    return "\r\n".join([f"POST {path} HTTP/1.1", "Host: x", "Content-Type: application/json",
                        *lines, "", ""]).encode()


def answer(connection):
    """(status, body) of an answer, or None if the connection ended without one."""
    data = b""
    try:
        while True:
            head, found, body = data.partition(b"\r\n\r\n")
            if found:
                fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n")[1:])
                if len(body) >= int(fields["Content-Length"]):
                    return int(head.split()[1]), body
            part = connection.recv(65536)
            if not part:
                return None
            data += part
    except OSError:
        return None


def post(port, path, body):
    """Sends a whole body and returns the answer."""
    with secure(port) as connection:
        try:
            connection.sendall(header(path, f"Content-Length: {len(body)}") + body)
        except OSError:
            pass  # refused before it was all sent; the answer may be here
        return answer(connection)


def review(body=None, uid="u-1"):
    return json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
        "uid": uid, "operation": "CREATE", "object": body or job("j", one_task()),
        "resource": {"group": "batch.volcano.sh", "version": "v1alpha1",
                     "resource": "jobs"}}}).encode()


def serves_soon(port):
    """A normal review is answered within a second."""
    begin = time.monotonic()
    status, body = post(port, "/jobs/validate", review())
    assert status == 200 and json.loads(body)["response"] == {"uid": "u-1", "allowed": True}
    assert time.monotonic() - begin < 1


def resident(hook):
    return hook.metrics()["process_resident_memory_bytes"]


def cpu(hook):
    return hook.metrics()["process_cpu_seconds_total"]


def sanitized():
    """True for a build that keeps freed memory to find its misuse."""
    return b"__asan_" in find_binary(build_folder(), "pumice-webhook").read_bytes()


def test_a_body_of_64_mib(port, hook):
    with secure(port) as connection:
        connection.sendall(header("/jobs/validate", f"Content-Length: {64 << 20}"))
        got = answer(connection)
        assert got is None or got[0] == 413
    with secure(port) as connection:
        connection.sendall(header("/jobs/validate", f"Content-Length: {64 << 20}"))
        with pytest.raises(OSError):
            for _ in range(1024):
                connection.sendall(b" " * 65536)
    serves_soon(port)


def test_a_chunked_body(port):
    with secure(port) as connection:
        connection.sendall(header("/jobs/validate", "Transfer-Encoding: chunked") +
                           b"5\r\nhello\r\n")
        got = answer(connection)
        assert got is None or got[0] == 411
    serves_soon(port)


@pytest.mark.parametrize("body, status", [
    (b"", 400), (b"null", 400), (b'{"request":null}', 400), (review()[:-40], 400),
    (b'{"request":{"uid":"u","object":{"a":' + b"[" * 100_000, 413),
    (b'{"a":' * 100_000, 413), (b"\xff\xfe", 400), (b"{" * 8_000_000, 400),
], ids=["empty", "null", "no-request", "truncated", "deep", "deeper", "binary", "large"])
def test_what_is_no_review(port, body, status):
    got = post(port, "/jobs/validate", body)
    assert got is not None and got[0] == status
    assert got[1].count(b"\n") == 1 and got[1].endswith(b"\n") and len(got[1]) < 200
    serves_soon(port)


def test_a_large_job_is_let_in(port, hook, cluster):
    """1.4 MB, which is near what etcd takes."""
    big = job("big", one_task())
    container({"spec": big["spec"]})["args"] = ["x" * 1000] * 1380
    status, body = post(port, "/jobs/validate", review(big))
    assert status == 200 and json.loads(body)["response"]["allowed"]
    cluster.create_job("default", big)
    cluster.delete_job("default", "big")


def test_reviews_at_the_limit_of_size(port, hook):
    """8 MiB are read, one byte more is not."""
    whole = review() + b" " * ((8 << 20) - len(review()))
    assert post(port, "/jobs/validate", whole)[0] == 200
    got = post(port, "/jobs/validate", whole + b" ")
    assert got is None or got[0] == 413


def test_many_large_reviews_at_once(port, hook):
    """Twice the budget: memory stays bounded, who is turned away is told to come again."""
    body = review() + b" " * ((8 << 20) - 1000)
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        codes = [got and got[0] for got in pool.map(lambda _: post(port, "/jobs/validate", body),
                                                    range(16))]
    assert set(codes) <= {200, 429, None} and 200 in codes
    if not sanitized():
        assert resident(hook) < 160 << 20
    wait_until(lambda: hook.metrics()["pumice_admission_body_bytes"] == 0, 5, "bodies are freed")
    serves_soon(port)


def test_half_a_handshake_costs_nothing(port, hook):
    connections = [plain(port) for _ in range(200)]
    for connection in connections:
        connection.sendall(b"\x16")
    time.sleep(0.5)
    before = cpu(hook)
    time.sleep(2)
    used = (cpu(hook) - before) / 2
    assert used < 0.1, f"{used:.0%} of a core"
    serves_soon(port)
    # Within the time of a handshake all of them are gone.
    wait_until(lambda: hook.metrics()["pumice_admission_connections"] < 50, 15,
               "unfinished handshakes are cut")
    for connection in connections:
        connection.close()


def test_clients_that_drip(port, hook):
    """Headers and bodies that come byte by byte, on as many connections as there may be."""
    connections = []
    for number in range(520):
        connection = secure(port)
        start = header("/jobs/validate", "Content-Length: 1000") if number % 2 else b"POST /j"
        try:
            connection.sendall(start)
        except OSError:
            pass
        connections.append(connection)
        if number % 100 == 99:
            serves_soon(port)
    begin, alive = time.monotonic(), connections
    while alive and time.monotonic() - begin < 25:
        serves_soon(port)
        still = []
        for connection in alive:
            try:
                connection.sendall(b"a")
                still.append(connection)
            except OSError:
                pass
        alive = still
        time.sleep(1)
    print(f"all cut after {time.monotonic() - begin:.0f} s")
    assert not alive
    for connection in connections:
        connection.close()
    serves_soon(port)
    assert hook.metrics()["pumice_admission_connections"] < 100


def test_the_log_shows_no_bodies(port, hook):
    secret = "c2VjcmV0LWluLWEtYm9keQ"
    post(port, "/jobs/validate", review(job("secretive", [task("w", script=secret)], minimum=9)))
    post(port, "/jobs/validate", secret.encode())
    assert secret not in hook.log_text()


def test_a_path_that_is_not_served(port):
    assert post(port, "/pods/nothing", b"{}")[0] == 404


# Certificates and registrations

def configuration(cluster, name):
    return cluster.plane.request("GET", f"{REGISTRATIONS}/{CONFIGURATIONS[name]}/{name}")


def bundles(cluster):
    """The caBundles of all registrations."""
    return {webhook["clientConfig"].get("caBundle") for name in CONFIGURATIONS
            for webhook in configuration(cluster, name)["webhooks"]}


def secret(cluster):
    """The data of the Secret, {} if there is none."""
    try:
        return cluster.plane.request("GET", SECRET)["data"]
    except ApiError as error:
        if error.code != 404:
            raise
        return {}


def authority(cluster):
    """The ca.crt of the Secret, as base64."""
    return secret(cluster).get("ca.crt")


def break_secret(cluster, *keys):
    """Makes fields of the Secret useless."""
    cluster.plane.request("PATCH", SECRET, {"data": dict.fromkeys(keys, "bm9uZQ==")},
                          content_type=MERGE)


def test_the_secret_and_the_registrations_agree(hook, cluster):
    data = secret(cluster)
    assert set(data) == {"tls.crt", "tls.key", "ca.crt", "ca.key"}
    wait_until(lambda: bundles(cluster) == {data["ca.crt"]}, 5, "all registrations are right")


def test_a_wrong_authority_heals(hook, cluster):
    name = "volcano-admission-service-jobs-validate"
    other = base64.b64encode(ssl.DER_cert_to_PEM_cert(ssl.PEM_cert_to_DER_cert(
        base64.b64decode(secret(cluster)["tls.crt"]).decode()))
        .encode()).decode()

    def put(bundle):
        cluster.plane.request("PATCH", f"{REGISTRATIONS}/{CONFIGURATIONS[name]}/{name}", [
            {"op": "replace", "path": "/webhooks/0/clientConfig/caBundle", "value": bundle}],
            content_type="application/json-patch+json")
    put(other)
    # Somebody else's stays for a while: another replica may serve a certificate of it.
    both = base64.b64encode(base64.b64decode(authority(cluster)) +
                            base64.b64decode(other)).decode()
    wait_until(lambda: bundles(cluster) == {authority(cluster), both}, 10,
               "the authority is put back")
    put("")
    wait_until(lambda: bundles(cluster) == {authority(cluster)}, 10, "the authority is put back")


def test_registrations_that_come_and_go(hook, product, cluster):
    product.unregister_webhooks()
    wait_until(lambda: hook.metrics()["pumice_webhook_configurations_missing"] ==
               len(CONFIGURATIONS), 10,
               "their absence is seen")
    assert hook.is_ready()
    product.register_webhooks()
    product.wait_admission(10)
    wait_until(lambda: bundles(cluster) == {authority(cluster)}, 10, "all registrations are right")
    assert "is missing" in hook.log_text()


def certificate(port):
    """The certificate that a server shows."""
    with secure(port) as connection:
        return connection.getpeercert(binary_form=True)


def test_a_secret_that_is_deleted_comes_back_as_it_was(hook, product, port, cluster):
    before, served = secret(cluster), certificate(port)
    cluster.plane.request("DELETE", SECRET)
    wait_until(lambda: secret(cluster), 60, "the Secret is there again")
    assert secret(cluster) == before and certificate(port) == served
    product.wait_admission(1)


def test_a_new_certificate_is_served_without_a_restart(hook, product, port, cluster):
    before, served = authority(cluster), certificate(port)
    break_secret(cluster, "tls.crt")
    wait_until(lambda: certificate(port) != served, 60, "another certificate is served")
    assert authority(cluster) == before
    product.wait_admission(1)


def replica(product, **flags):
    """A second webhook process with its own port."""
    return Binary(product, "pumice-webhook", product.plane.kubeconfig("pumice-admission"),
                  {**product.webhook.flags, "port": str(free_port()),
                   "healthz-address": address(), **flags}, "healthz-address", replica="-2")


def versions(cluster):
    return [configuration(cluster, name)["metadata"]["resourceVersion"] for name in CONFIGURATIONS]


def test_two_replicas_agree(hook, product, cluster):
    second = replica(product).start()
    try:
        before = versions(cluster)
        stays(lambda: versions(cluster) == before, 3, "they write nothing", interval=0.5)
        # Whoever of them puts a broken Secret right, the other does not undo it.
        old = secret(cluster)
        break_secret(cluster, "tls.crt", "ca.crt", "ca.key")
        wait_until(lambda: secret(cluster) == old, 60, "what was there is put back")
        stays(lambda: versions(cluster) == before and bundles(cluster) == {authority(cluster)}, 8,
              "they stay as they are", interval=1)
        assert len({certificate(int(one.flags["port"])) for one in (hook, second)}) == 1
    finally:
        assert second.stop() in (0, None)
    product.wait_admission(10)


def test_settings_are_applied_only_when_asked_for(hook, product, cluster):
    name = "volcano-admission-service-jobs-validate"
    assert configuration(cluster, name)["webhooks"][0]["timeoutSeconds"] == 10
    second = replica(product, **{"webhook-timeout-seconds": "7"}).start()
    try:
        wait_until(lambda: configuration(cluster, name)["webhooks"][0]["timeoutSeconds"] == 7, 10,
                   "the timeout is set")
        found = configuration(cluster, name)
        assert found["webhooks"][0]["failurePolicy"] == "Fail"
        assert found["webhooks"][0]["rules"] and found["webhooks"][0]["namespaceSelector"]
        assert "pumice-webhook-settings" in [m["manager"] for m in
                                             found["metadata"]["managedFields"]]
    finally:
        assert second.stop() in (0, None)


def test_files_instead_of_the_secret(hook, product, cluster, tmp_path):
    data = secret(cluster)
    for key in ("tls.crt", "tls.key", "ca.crt"):
        (tmp_path / key).write_bytes(base64.b64decode(data[key]))
    second = replica(product, **{"tls-cert-file": tmp_path / "tls.crt",
                                 "tls-private-key-file": tmp_path / "tls.key",
                                 "ca-cert-file": tmp_path / "ca.crt"}).start()
    try:
        serves_soon(int(second.flags["port"]))
        (tmp_path / "tls.key").write_text("nonsense")
        wait_until(lambda: "stays in force" in second.log_text(), 25, "the bad key is logged")
        serves_soon(int(second.flags["port"]))
    finally:
        assert second.stop() in (0, None)


def test_a_path_that_is_switched_off(hook, product):
    second = replica(product, **{"enabled-admission": "/queues/validate"}).start()
    try:
        status, body = post(int(second.flags["port"]), "/jobs/validate", review({"spec": {}}))
        response = json.loads(body)["response"]
        assert status == 200 and response["allowed"] and "switched off" in response["warnings"][0]
    finally:
        assert second.stop() in (0, None)


@pytest.mark.parametrize("flag, says", [
    ("--enabled-admission=/jobs/validate,/nope", "enabled admission /nope not found"),
    ("--port=0", "--port"),
    ("--tls-cert-file=/nowhere/tls.crt", "--tls-private-key-file"),
    ("--listen-address=nowhere", "nowhere"),
])
def test_flags_that_cannot_be(product, flag, says):
    command = [find_binary(build_folder(), "pumice-webhook"), "--webhook-url=https://127.0.0.1:1",
               f"--kubeconfig={product.plane.kubeconfig('pumice-admission')}", flag]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 1 and says in done.stderr.strip().splitlines()[-1]


# Life without it

def test_a_stop_answers_what_is_under_way(hook, product):
    second = replica(product).start()
    port = int(second.flags["port"])
    body = review()
    with secure(port) as busy, secure(port) as idle:
        busy.sendall(header("/jobs/validate", f"Content-Length: {len(body)}") + body[:100])
        time.sleep(0.2)
        second.signal(signal.SIGTERM)
        time.sleep(1)
        busy.sendall(body[100:])
        assert answer(busy)[0] == 200
        assert idle.recv(1) == b""
    assert second.wait(10) and second.exit_code() in (0, None)


def group_version(resource):
    return {"jobs": "batch.volcano.sh/v1alpha1", "cronjobs": "batch.volcano.sh/v1alpha1",
            "jobflows": "flow.volcano.sh/v1alpha1", "jobtemplates": "flow.volcano.sh/v1alpha1",
            "podgroups": "scheduling.volcano.sh/v1beta1", "queues": "scheduling.volcano.sh/v1beta1",
            "hypernodes": "topology.volcano.sh/v1alpha1"}[resource]


def ours(resource, kind, spec):
    """(path, object) of one of our kinds, named `meanwhile`."""
    version = group_version(resource)
    place = "" if resource in ("queues", "hypernodes") else "/namespaces/default"
    return (f"/apis/{version}{place}/{resource}",
            {"apiVersion": version, "kind": kind, "metadata": {"name": "meanwhile"}, "spec": spec})


JOB = {"minAvailable": 1, "tasks": [task("t")]}
REGISTERED = {  # the webhook that refuses first: what it is asked about
    "mutatejob": ours("jobs", "Job", JOB),
    "mutatequeue": ours("queues", "Queue", {"weight": 1}),
    "validatepodgroup": ours("podgroups", "PodGroup", {"minMember": 1}),
    "validatecronjob": ours("cronjobs", "CronJob",
                            {"schedule": "@daily", "jobTemplate": {"spec": JOB}}),
    "validatejobflow": ours("jobflows", "JobFlow", {"flows": [{"name": "a"}]}),
    "validatehypernodes": ours("hypernodes", "HyperNode", {"tier": 1, "members": [
        {"type": "Node", "selector": {"exactMatch": {"name": "n"}}}]}),
}
LEASE = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": {"holderIdentity": "me"}}
LIMITED = {"volcano.sh/jdb-min-available": "1"}


@pytest.fixture
def down(hook, product, cluster):
    """The webhook is gone, as are all its replicas; objects of ours from before are there."""
    for namespace in ("default", "kube-system", "volcano-system"):
        wait_until(lambda: cluster.core.read_namespaced_service_account("default", namespace), 30,
                   f"the namespace {namespace} is complete")
    for path, made in REGISTERED.values():
        before = {**made, "metadata": {"name": "before", "finalizers": ["example.com/hold"]}}
        cluster.plane.request("POST", path, before)
    hook.kill9()
    yield
    if not hook.running():
        hook.start()
        product.wait_admission(10)
    for path, _ in REGISTERED.values():
        cluster.plane.request("PATCH", f"{path}/before", {"metadata": {"finalizers": None}},
                              content_type=MERGE)
        for name in ("before", "meanwhile"):
            try:
                cluster.plane.request("DELETE", f"{path}/{name}")
            except ApiError as error:
                assert error.code == 404


def goes(cluster, method, path, body=None):
    """True if a request is let in; what it would do is not done."""
    try:
        cluster.plane.request(method, f"{path}?dryRun=All", body,
                              content_type=MERGE if method == "PATCH" else None)
    except ApiError as error:
        return str(error)
    return True


def pods_of(namespace):
    return f"/api/v1/namespaces/{namespace}/pods"


@pytest.mark.parametrize("namespace", ["default", "kube-system", "volcano-system"])
def test_without_it_pods_are_made_and_changed(down, cluster, namespace):
    """Those of other schedulers with every right, in our namespace also those that replace us."""
    schedulers = ["default-scheduler"] + (["volcano"] if namespace != "default" else [])
    for scheduler in schedulers:
        made = pod(f"of-{scheduler}", scheduler=scheduler)
        made["metadata"]["annotations"] = LIMITED
        path = f"{pods_of(namespace)}/of-{scheduler}"
        cluster.create_pod(namespace, made)
        assert goes(cluster, "PATCH", path, {"metadata": {"labels": {"a": "b"}}}) is True
        assert goes(cluster, "PATCH", f"{path}/status", {"status": {"phase": "Running"}}) is True
        cluster.core.delete_namespaced_pod(f"of-{scheduler}", namespace, grace_period_seconds=0)


def test_without_it_pods_of_ours_are_made_if_there_is_nothing_to_check(down, cluster):
    assert goes(cluster, "POST", pods_of("default"), pod("ours", scheduler="volcano")) is True
    checked = pod("checked", scheduler="volcano")
    checked["metadata"]["annotations"] = LIMITED
    assert 'failed calling webhook \\"validatepod.volcano.sh\\"' in goes(
        cluster, "POST", pods_of("default"), checked)


def test_without_it_the_cluster_works(down, cluster):
    leases = "/apis/coordination.k8s.io/v1/namespaces/{}/leases"
    for namespace in ("default", "kube-system", "volcano-system", "kube-node-lease"):
        path = leases.format(namespace)
        cluster.plane.request("POST", path, {**LEASE, "metadata": {"name": "meanwhile"}})
        assert goes(cluster, "PATCH", f"{path}/meanwhile",
                    {"spec": {"holderIdentity": "you"}}) is True
        cluster.plane.request("DELETE", f"{path}/meanwhile")
    cluster.plane.request("POST", "/api/v1/nodes", {"metadata": {"name": "meanwhile"}})
    assert goes(cluster, "PATCH", "/api/v1/nodes/meanwhile/status",
                {"status": {"capacity": {"cpu": "1"}}}) is True
    cluster.plane.request("DELETE", "/api/v1/nodes/meanwhile")
    assert goes(cluster, "POST", "/api/v1/namespaces", {"metadata": {"name": "meanwhile"}}) is True
    assert goes(cluster, "POST", "/apis/batch/v1/namespaces/default/jobs", {
        "metadata": {"name": "meanwhile"},
        "spec": {"template": {"spec": pod("p")["spec"]}}}) is True


@pytest.mark.parametrize("webhook", REGISTERED)
def test_without_it_our_kinds_wait_but_can_be_cleared_away(down, hook, product, cluster, webhook):
    """A refusal that names the webhook and says that nobody answers; what needs no check goes on."""
    path, made = REGISTERED[webhook]
    text = str(goes(cluster, "POST", path, made))
    assert f'failed calling webhook \\"{webhook}.volcano.sh\\"' in text
    # The first request may still meet a connection that died with the process.
    wait_until(lambda: "connection refused" in goes(cluster, "POST", path, made), 5,
               "the refusal says that nobody answers")
    assert goes(cluster, "PATCH", f"{path}/before",
                {"metadata": {"labels": {"a": "b"}, "finalizers": None}}) is True
    part, status = "/status", {}
    if webhook == "validatepodgroup":  # their status is no part of its own
        part, status = "", {"phase": "Running"}
    assert goes(cluster, "PATCH", f"{path}/before{part}", {"status": status}) is True
    if webhook != "mutatequeue":  # deletions of queues are checked
        assert goes(cluster, "DELETE", f"{path}/before") is True
    hook.start()
    wait_until(lambda: goes(cluster, "POST", path, made) is True, 10, "the object is let in")


def test_without_it_what_no_webhook_checks_goes_on(down, cluster):
    path, made = ours("jobtemplates", "JobTemplate", JOB)
    assert goes(cluster, "POST", path, made) is True


def test_a_job_of_before_is_let_in_after(down, hook, product, cluster):
    """Nothing has to be done by hand, and nothing is left of the time without it."""
    with pytest.raises(ApiException):
        cluster.create_job("default", job("meanwhile", one_task()))
    hook.start()
    wait_until(lambda: goes(cluster, "POST", *REGISTERED["mutatejob"]) is True, 10, "it is asked")
    cluster.create_job("default", job("meanwhile", one_task()))
    assert bundles(cluster) == {authority(cluster)}
