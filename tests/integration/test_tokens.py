"""M3: bearer tokens that rotate, go bad, go missing, or are refused in the middle of a watch."""

import json
import time

import pytest

from harness.objects import job, task
from harness.proxy import build, proxied
from harness.wait import wait_until

IDENTITIES = {"controller": "volcano-controllers", "scheduler": "volcano-scheduler",
              "webhook": "volcano-admission"}


class TokenFile:
    """A projected token as the kubelet keeps it: replaced by a rename."""

    def __init__(self, plane, service_account, folder):
        self.plane, self.account = plane, service_account
        self.path = folder / "token"

    def put(self, text):
        """Replaces the content."""
        fresh = self.path.with_suffix(".new")
        fresh.write_text(text)
        fresh.rename(self.path)

    def rotate(self, ending=""):
        """A good token, made now."""
        self.put(self.plane.token(self.account) + ending)


@pytest.fixture(scope="module")
def proxy_binary(tmp_path_factory):
    return build(tmp_path_factory.mktemp("faultproxy"))


@pytest.fixture
def with_token(controlplane, pumice, tmp_path):
    """with_token(name): restarts that binary with a token file instead of a certificate."""
    restore = []

    def use(name):
        binary = getattr(pumice, name)
        token = TokenFile(controlplane, IDENTITIES[name], tmp_path)
        token.rotate(ending="\n")
        ca = controlplane.folder / "pki" / "ca.crt"
        path = tmp_path / f"{name}.kubeconfig"
        path.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": controlplane.server,
                                                   "certificate-authority": str(ca)}}],
            "users": [{"name": "u", "user": {"tokenFile": str(token.path)}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]}))
        restore.append((binary, binary.flags["kubeconfig"]))
        binary.stop()
        binary.flags["kubeconfig"] = str(path)
        binary.start()
        return token
    yield use
    for binary, kubeconfig in restore:
        binary.stop()
        binary.flags["kubeconfig"] = kubeconfig
        binary.start()


def runs(api, ns, name, timeout=60):
    """A new job gets as far as Running."""
    api.create_job(ns, job(name, [task("w", 3)]))
    api.wait_phase(ns, name, "Running", timeout=timeout)


@pytest.mark.parametrize("name", ["controller", "scheduler"])
def test_a_token_that_goes_bad_is_read_again(api, ns, pumice, with_token, name):
    token = with_token(name)
    runs(api, ns, "before")
    token.put("not-a-token")
    # Whatever is still under way with the old one may go on; a good one is picked up again.
    time.sleep(1)
    token.rotate()
    runs(api, ns, "rotated", timeout=90)
    token.path.unlink()
    runs(api, ns, "missing-file")
    token.rotate(ending="\n")
    runs(api, ns, "back")


@pytest.mark.parametrize("name", ["controller", "scheduler"])
def test_a_refused_token_loses_no_work(api, ns, pumice, controlplane, proxy_binary, tmp_path,
                                       name):
    """Everything is answered 401 for three seconds, watches end with one, then all is well again."""
    binary = getattr(pumice, name)
    with proxied(controlplane, binary, proxy_binary, tmp_path) as proxy:
        runs(api, ns, "before")
        rule = proxy.add({"match": {}, "action": {"type": "token_reject"}})
        proxy.add({"match": {"verb": "watch"}, "times": 3,
                   "action": {"type": "watch_error", "code": 401, "after_events": 1}})
        api.create_job(ns, job("through", [task("w", 20)]))
        wait_until(lambda: proxy.hits(rule) > 0, 30, "the proxy to have refused something")
        time.sleep(3)
        proxy.remove(rule)
        api.wait_phase(ns, "through", "Running", timeout=60)
        assert len(api.pods_of(ns, "through")) == 20
