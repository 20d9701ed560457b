"""What an autoscaler sees of a job that is larger than the cluster, with the configurations of docs/neighbours.md."""

import itertools
import re

import kubernetes
import pytest
import yaml

from harness import ROOT
from harness.objects import job, task
from harness.wait import stays, wait_until

DOC = ROOT / "docs/neighbours.md"


def from_the_page():
    """The configuration that the page has."""
    block, = re.findall(r"\n\n((?:    .*\n)+)\n", DOC.read_text().partition("## Autoscalers")[2])
    return re.sub("^    ", "", block, flags=re.M)


def with_plugin(name):
    conf = yaml.safe_load(from_the_page())
    conf["tiers"][1]["plugins"].insert(0, {"name": name})
    return yaml.safe_dump(conf)


def reasons(api, ns):
    """Why the pods wait: the reasons of their condition PodScheduled=False."""
    return [condition.get("reason") for pod in api.pods(ns) for condition in pod["status"].get("conditions", ())
            if condition["type"] == "PodScheduled" and condition["status"] == "False"]


@pytest.fixture
def grow(pumice, more_nodes):
    """grow(count, **node): what an autoscaler would do."""
    def add(count, **node):
        mark = pumice.scheduler.flags["node-selector"].partition(":")[2]
        return more_nodes(count, prefix=f"grown-{mark}-{next(rounds)}", labels={"pool": mark}, **node)
    rounds = itertools.count()
    return add


def wait_asked_for(api, ns, pods):
    wait_until(lambda: reasons(api, ns) == ["Unschedulable"] * pods, 30, lambda: f"{pods} pods to ask for nodes; "
               f"now {reasons(api, ns)}")


def test_a_job_larger_than_the_cluster_makes_it_grow(api, ns, pool, grow):
    pool(1, from_the_page(), cpu="4")
    api.create_job(ns, job("large", [task("w", 3, cpu="3")]))
    wait_asked_for(api, ns, 3)
    grow(1, cpu="4")
    stays(lambda: len(reasons(api, ns)) == 3, 3, "a part of the gang was started")
    grow(1, cpu="4")
    api.wait_phase(ns, "large", "Running")


def test_from_no_nodes_at_all(api, ns, pool, grow):
    name, = pool(1, from_the_page(), cpu="4")
    api.core.delete_node(name)
    api.create_job(ns, job("first", [task("w", 2, cpu="3")]))
    wait_asked_for(api, ns, 2)
    grow(2, cpu="4")
    api.wait_phase(ns, "first", "Running")


def test_a_quota_is_the_most_that_it_grows_for(api, ns, pool):
    pool(1, with_plugin("resourcequota"), cpu="4")
    api.core.create_namespaced_resource_quota(ns, kubernetes.client.V1ResourceQuota(
        metadata=kubernetes.client.V1ObjectMeta(name="most"),
        spec=kubernetes.client.V1ResourceQuotaSpec(hard={"requests.cpu": "10"})))
    api.create_job(ns, job("within", [task("w", 3, cpu="3")]))
    wait_asked_for(api, ns, 3)
    api.create_job(ns, job("beyond", [task("w", 4, cpu="3")]))
    stays(lambda: len(api.pods(ns)) == 3, 5, "a job beyond the quota has pods")


@pytest.mark.parametrize("plugin", ["overcommit", "proportion", "capacity"])
def test_with_shares_of_what_there_is_nobody_asks(api, ns, pool, plugin):
    pool(1, with_plugin(plugin), cpu="4")
    api.create_job(ns, job("large", [task("w", 3, cpu="3")]))
    wait_until(lambda: "reason" in api.job(ns, "large").get("status", {}).get("state", {}), 30, "the job to say why")
    stays(lambda: not api.pods(ns), 5, "a job that is larger than the cluster has pods")
