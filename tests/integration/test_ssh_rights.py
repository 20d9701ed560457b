"""A cluster that does without the rights on Secrets (manifests/base/rbac-ssh.yaml): jobs without the plugin ssh run,
one with it waits, says for what, and goes on when the rights are there."""

import pytest

from harness import ROOT
from harness.objects import job, task
from harness.wait import stays, wait_until

RIGHTS = ROOT / "manifests/base/rbac-ssh.yaml"


@pytest.fixture
def without_rights(controlplane, pumice):
    controlplane.kubectl("delete", "-f", RIGHTS)
    yield
    controlplane.kubectl("apply", "-f", RIGHTS)


def state(api, ns, name):
    return api.job(ns, name).get("status", {}).get("state", {})


def test_a_job_with_the_plugin_waits_for_the_rights(api, ns, controlplane, without_rights):
    api.create_job(ns, job("plain", [task("w", 1)], plugins={"svc": [], "env": []}))
    api.wait_phase(ns, "plain", "Running")
    api.create_job(ns, job("keys", [task("w", 1)], plugins={"ssh": []}))
    wait_until(lambda: "Secret" in state(api, ns, "keys").get("message", ""), 30,
               lambda: f"the job to say what it waits for: {state(api, ns, 'keys')}")
    assert state(api, ns, "keys")["reason"] == "PluginError"
    assert "forbidden" in state(api, ns, "keys")["message"]
    stays(lambda: not api.pods_of(ns, "keys"), 3, "a pod was made without its keys")
    controlplane.kubectl("apply", "-f", RIGHTS)
    api.wait_phase(ns, "keys", "Running")
