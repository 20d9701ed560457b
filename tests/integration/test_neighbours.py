"""Gangs whose pods matter to one another, on the real API server: affinity, anti-affinity, spread and host ports count
the pods of the gang itself, and it is placed whole or not at all."""

from collections import Counter

import pytest
import yaml

from harness import ROOT
from harness.objects import job, pod, task
from harness.placing import per_node, settled, told
from harness.wait import wait_until

ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"
APP = {"matchLabels": {"app": "a"}}
OTHER = {"matchLabels": {"app": "b"}}


def labelled(made, **labels):
    """A task whose pods have these labels."""
    made["template"]["metadata"] = {"labels": labels}
    return made


def near(key, **more):
    """Pods that must be near pods of app a."""
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"labelSelector": APP, "topologyKey": key, **more}]}}


def apart(key, **more):
    """Pods that must not be near pods of app a, unless told otherwise."""
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"labelSelector": APP, "topologyKey": key, **more}]}}


def spread(key, when="DoNotSchedule", **more):
    """Pods of app a, evenly."""
    return [{"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": when, "labelSelector": APP, **more}]


@pytest.fixture
def zones(api, pool):
    """zones(names, **node): a node in each of these zones; gives {node: zone}."""
    def make(names, **node):
        found = dict(zip(pool(len(names), **node), names))
        for name, zone in found.items():
            api.core.patch_node(name, {"metadata": {"labels": {ZONE: zone}}})
        return found
    return make


def per_zone(api, ns, name, found):
    """How many pods of a job each zone has."""
    return Counter(found[one["spec"]["nodeName"]] for one in api.bound_pods(ns, name))


def test_the_example_has_a_node_for_each_pod(api, ns, pool):
    made = yaml.safe_load((ROOT / "manifests" / "examples" / "apart.yaml").read_text())
    nodes = pool(4, cpu="32")
    api.cordon(nodes[0])
    api.create_job(ns, made)
    told(api, ns, "apart", "3 node(s) didn't match pod anti-affinity rules")
    settled(api, ns, {"apart": 0})
    api.cordon(nodes[0], False)
    settled(api, ns, {"apart": 4})
    assert per_node(api, ns, "apart") == [1, 1, 1, 1]


def test_anti_affinity_gives_each_pod_a_node_or_none_any(api, ns, pool):
    """A gang of as many pods as there are nodes starts; one of one more waits and says why."""
    pool(4, cpu="8")
    api.create_job(ns, job("fits", [labelled(task("w", 4, affinity=apart(HOST)), app="a")]))
    settled(api, ns, {"fits": 4})
    assert per_node(api, ns, "fits") == [1, 1, 1, 1]
    api.create_job(ns, job("large", [
        labelled(task("w", 5, affinity=apart(HOST, labelSelector=OTHER)), app="b")]))
    told(api, ns, "large", "4 node(s) didn't match pod anti-affinity rules")
    settled(api, ns, {"large": 0})

    def told_pods():
        return [one["message"] for waiting in api.pods_of(ns, "large")
                for one in waiting["status"].get("conditions", ()) if one["type"] == "PodScheduled"]
    wait_until(lambda: any("didn't match pod anti-affinity rules" in text for text in told_pods()), 30,
               lambda: f"a pod says why it waits: {told_pods()}")


def test_pods_that_are_there_keep_others_away(api, ns, pool):
    """A plain pod of another scheduler carries a term against pods of the gang."""
    nodes = pool(3, cpu="8")
    guard = pod("guard")
    guard["spec"]["affinity"] = apart(HOST)
    api.create_pod(ns, guard)
    api.bind(ns, "guard", nodes[0])
    api.create_job(ns, job("gang", [labelled(task("w", 4), app="a")]))
    settled(api, ns, {"gang": 4})
    assert nodes[0] not in {one["spec"]["nodeName"] for one in api.bound_pods(ns, "gang")}


def test_a_gang_stays_in_the_one_zone_that_is_large_enough(api, ns, zones):
    """Its first pod does not go to the emptiest node when the others would find no room beside it."""
    found = zones(["small", "small", "large", "large", "large"], cpu="4")
    api.create_job(ns, job("gang", [labelled(task("w", 12, cpu="1", affinity=near(ZONE)), app="a")]))
    settled(api, ns, {"gang": 12})
    assert per_zone(api, ns, "gang", found) == {"large": 12}
    api.create_job(ns, job("more", [labelled(task("w", 1, cpu="1", affinity=near(ZONE)), app="a")]))
    told(api, ns, "more", "didn't match pod affinity rules")


def test_a_gang_is_spread_evenly_or_not_started(api, ns, zones):
    found = zones(["zone-0", "zone-1", "zone-2", "zone-0", "zone-1", "zone-2", "zone-0"], cpu="4")
    api.create_job(ns, job("gang", [labelled(
        task("w", 9, cpu="1", topologySpreadConstraints=spread(ZONE)), app="a")]))
    settled(api, ns, {"gang": 9})
    assert per_zone(api, ns, "gang", found) == {"zone-0": 3, "zone-1": 3, "zone-2": 3}
    # 28 CPUs in zones of 12, 8 and 8: no more than 8, 8 and 9 together.
    api.create_job(ns, job("large", [labelled(
        task("w", 17, cpu="1", topologySpreadConstraints=spread(ZONE)), app="a")]))
    told(api, ns, "large", "didn't match pod topology spread constraints")
    settled(api, ns, {"large": 0})


def test_terms_select_by_the_labels_of_namespaces(api, ns, pool):
    """Labels that a namespace gets later count from then on."""
    nodes = pool(2, cpu="8")
    other = api.make_namespace(f"{ns}-b")
    friend = pod("friend")
    friend["metadata"]["labels"] = {"app": "a"}
    api.create_pod(other, friend)
    api.bind(other, "friend", nodes[1])
    affinity = near(HOST, namespaceSelector={"matchLabels": {"team": ns}})
    api.create_job(ns, job("gang", [task("w", 2, affinity=affinity)]))
    told(api, ns, "gang", "2 node(s) didn't match pod affinity rules")
    api.core.patch_namespace(other, {"metadata": {"labels": {"team": ns}}})
    settled(api, ns, {"gang": 2})
    assert {one["spec"]["nodeName"] for one in api.bound_pods(ns, "gang")} == {nodes[1]}
    api.remove_namespace(other)


def test_a_port_of_the_node_is_had_once(api, ns, pool):
    pool(2, cpu="8")
    made = task("w", 2)
    made["template"]["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 8080}]
    api.create_job(ns, job("first", [made]))
    settled(api, ns, {"first": 2})
    assert per_node(api, ns, "first") == [1, 1]
    api.create_job(ns, job("second", [made]))
    told(api, ns, "second", "2 node(s) didn't have free ports for the requested pod ports")
    settled(api, ns, {"second": 0})
