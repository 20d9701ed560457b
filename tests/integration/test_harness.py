"""The harness's view of our binaries, with small scripts in their place."""

import sys
from types import SimpleNamespace

import pytest

from harness.pumice import Pumice
from harness.wait import wait_until
from cluster_process import ProcessError, free_port

# Answers /readyz and /metrics on --healthz-address; ends with 3 after a GET of /end.
SCRIPT = """#!{python}
import http.server, os, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/end":
            os._exit(3)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'# HELP x y\\nx_total{{kind="a b"}} 4\\ny 2.5\\n')
address = [a for a in sys.argv if a.startswith("--healthz-address=")][0].split("=")[1]
host, port = address.split(":")
print("serving", *sys.argv[1:], flush=True)
http.server.HTTPServer((host, int(port)), Handler).serve_forever()
"""


@pytest.fixture
def product(tmp_path):
    for name in ("pumice-webhook", "pumice-controller", "pumice-scheduler"):
        path = tmp_path / name
        path.write_text(SCRIPT.format(python=sys.executable))
        path.chmod(0o755)
    plane = SimpleNamespace(folder=tmp_path, kubeconfig=lambda name: tmp_path / name)
    made = Pumice(plane, folder=tmp_path, tied=True)
    yield made
    made.kill()


def test_flags_are_those_of_the_deployment_but_for_files_and_addresses(product):
    flags = product.scheduler.flags
    assert flags["enable-metrics"] == "true"
    assert flags["healthz-address"].startswith("127.0.0.1:")
    assert flags["kubeconfig"].endswith("pumice-scheduler")
    assert "actions:" in open(flags["scheduler-conf"]).read()
    assert product.webhook_url.endswith(":" + product.webhook.flags["port"])


def test_changed_and_dropped_flags(product):
    product.controller.flags.update({"leader-elect": "false", "v": None})
    command = product.controller.command()
    assert "--leader-elect=false" in command
    assert not any(str(word).startswith("-v") for word in command)
    product.controller.flags["v"] = "5"
    assert "-v=5" in product.controller.command()


def test_webhooks_are_registered_by_url(product):
    found = product.webhook_configurations()
    assert found
    for configuration in found:
        for webhook in configuration["webhooks"]:
            assert list(webhook["clientConfig"]) == ["url"]
            assert webhook["clientConfig"]["url"].startswith(product.webhook_url + "/")


def test_start_stop_and_restart(product):
    binary = product.webhook.start()
    first = binary.pid()
    assert binary.metrics() == {'x_total{kind="a b"}': 4, "y": 2.5}
    assert binary.rss_kib() > 1000
    assert binary.complaint() is None
    binary.restart()
    assert binary.pid() not in (None, first)
    binary.kill9()
    assert not binary.running()
    assert binary.complaint() is None
    assert binary.log_text().count("serving --kubeconfig=") == 2


def test_end_that_nobody_asked_for_is_a_complaint(product):
    binary = product.scheduler.start()
    with pytest.raises(OSError):
        binary.get("/end")
    wait_until(lambda: not binary.running(), 10, "the script ends")
    assert product.complaints() == ["pumice-scheduler ended by itself, exit code 3"]


def test_sanitizer_report_is_a_complaint(product):
    binary = product.scheduler.start()
    with open(binary.log, "a") as log:
        log.write("==1==ERROR: AddressSanitizer: heap-use-after-free\n")
    assert "sanitizer report" in product.complaints()[0]


def test_binary_that_ends_while_it_starts_is_reported_with_its_log(product, tmp_path):
    (tmp_path / "pumice-controller").write_text("#!/bin/sh\necho no such flag >&2\nexit 2\n")
    with pytest.raises(ProcessError) as error:
        product.controller.start()
    assert "exit code 2" in str(error.value)
    assert "no such flag" in str(error.value)


def test_missing_binary_is_named(product, tmp_path):
    (tmp_path / "pumice-webhook").unlink()
    with pytest.raises(ProcessError) as error:
        product.webhook.start()
    assert "holds no pumice-webhook" in str(error.value)


def test_ports_are_never_given_twice():
    ports = [free_port() for _ in range(100)]
    assert len(set(ports)) == len(ports)


def test_waiting_tells_what_it_saw_last():
    with pytest.raises(AssertionError) as error:
        wait_until(lambda: [], 0.3, "three pods run")
    assert str(error.value) == "not within 0.3 s: three pods run (last seen: [])"
