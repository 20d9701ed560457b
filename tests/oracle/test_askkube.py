"""Kube-scheduler's plugins as askkube asks them: small cases whose answers are known."""

import copy
import json

import pytest

import clusters
from placement import differences
from shrink import shrink

FITS = {}


def node(name, labels=None, taints=None, images=None, unschedulable=False, amounts=None):
    """A node with room."""
    allocatable = {"cpu": "4", "memory": "4Gi", "pods": "10", **(amounts or {})}
    made = {"metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
            "spec": {}, "status": {"allocatable": allocatable}}
    if taints:
        made["spec"]["taints"] = taints
    if unschedulable:
        made["spec"]["unschedulable"] = True
    if images:
        made["status"]["images"] = images
    return made


def pod(name="pending", labels=None, phase="Running", requests=None, ports=None, **spec):
    """A pod with one container."""
    container = {"name": "c", "image": "nginx"}
    if requests:
        container["resources"] = {"requests": requests}
    if ports:
        container["ports"] = ports
    return {"metadata": {"name": name, "namespace": "default", "uid": name, "labels": labels or {}},
            "spec": {"containers": [container], **spec}, "status": {"phase": phase}}


def claim(name, storage_class="wait", mode="ReadWriteOnce", volume=None):
    """A claim for 1Gi, bound to a volume if one is named."""
    made = {"metadata": {"name": name, "namespace": "default", "uid": name},
            "spec": {"accessModes": [mode], "storageClassName": storage_class,
                     "resources": {"requests": {"storage": "1Gi"}}}}
    if volume:
        made["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
        made["spec"]["volumeName"] = volume
    return made


def volume(name, host=None, labels=None, storage_class="wait", size="2Gi"):
    """A volume that anybody may have, on one host or on all."""
    spec = {"capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"],
            "storageClassName": storage_class,
            "csi": {"driver": "csi.example.com", "volumeHandle": name}}
    if host:
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": [
            {"key": "kubernetes.io/hostname", "operator": "In", "values": [host]}]}]}}
    return {"metadata": {"name": name, "labels": labels or {}}, "spec": spec,
            "status": {"phase": "Available"}}


def storage_class(name, provisioner="csi.example.com", mode="WaitForFirstConsumer"):
    """A storage class."""
    return {"metadata": {"name": name}, "provisioner": provisioner, "volumeBindingMode": mode}


def uses(*claims):
    """Volumes of a pod."""
    return [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in claims]


def term(labels, key="kubernetes.io/hostname"):
    """A pod affinity term."""
    return {"topologyKey": key, "labelSelector": {"matchLabels": labels}}


def required(kind, *terms):
    """An affinity between pods."""
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}}


def spread(action, **more):
    """A constraint over hosts for pods with app=a."""
    return {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": action,
            "labelSelector": {"matchLabels": {"app": "a"}}, **more}


@pytest.fixture(scope="module")
def ask(askkube):
    """ask(pod, nodes, pods, ...): {node: verdict}."""
    with askkube("place") as plugins:
        def place(asked, nodes, pods=(), **storage):
            empty = {name: [] for name in ("persistentVolumeClaims", "persistentVolumes",
                                           "storageClasses", "csiNodes")}
            answer = plugins.ask({"nodes": list(nodes), "pods": list(pods), "pod": asked,
                                  "namespaces": [{"metadata": {"name": "default", "labels": {}}}],
                                  **empty, **storage})
            assert "nodes" in answer, answer
            return answer["nodes"]
        yield place


def refused(answer):
    """{node: {plugin: reasons}}."""
    return {name: found["refused"] for name, found in answer.items()}


def scores(answer, name):
    """{node: score}."""
    return {of: found["scores"][name] for of, found in answer.items() if not found["refused"]}


def test_unschedulable(ask):
    nodes = [node("a", unschedulable=True), node("b")]
    assert refused(ask(pod(), nodes)) == {
        "a": {"NodeUnschedulable": ["node(s) were unschedulable"]}, "b": FITS}
    tolerant = pod(tolerations=[{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}])
    assert refused(ask(tolerant, nodes)) == {"a": FITS, "b": FITS}


def test_node_name(ask):
    assert refused(ask(pod(nodeName="b"), [node("a"), node("b")])) == {
        "a": {"NodeName": ["node(s) didn't match the requested node name"]}, "b": FITS}


def test_taints(ask):
    nodes = [node("a", taints=[{"key": "k", "value": "v", "effect": "NoExecute"}]),
             node("b", taints=[{"key": "k", "value": "v", "effect": "PreferNoSchedule"},
                               {"key": "l", "effect": "PreferNoSchedule"}]),
             node("c", taints=[{"key": "l", "effect": "PreferNoSchedule"}]), node("d")]
    answer = ask(pod(), nodes)
    assert refused(answer) == {"a": {"TaintToleration": ["node(s) had untolerated taint(s)"]},
                               "b": FITS, "c": FITS, "d": FITS}
    assert scores(answer, "TaintToleration") == {"b": 0, "c": 50, "d": 100}
    answer = ask(pod(tolerations=[{"key": "k", "operator": "Equal", "value": "v"}]), nodes)
    assert refused(answer)["a"] == FITS
    assert scores(answer, "TaintToleration") == {"a": 100, "b": 0, "c": 0, "d": 100}


def test_node_affinity(ask):
    nodes = [node("a", {"disk": "ssd", "gen": "3"}), node("b", {"disk": "hdd", "gen": "5"}),
             node("c")]
    reason = ["node(s) didn't match Pod's node affinity/selector"]
    assert refused(ask(pod(nodeSelector={"disk": "ssd"}), nodes)) == {
        "a": FITS, "b": {"NodeAffinity": reason}, "c": {"NodeAffinity": reason}}

    def wants(*terms):
        return pod(affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": list(terms)}}})
    greater = {"matchExpressions": [{"key": "gen", "operator": "Gt", "values": ["3"]}]}
    assert [name for name, why in refused(ask(wants(greater, {}), nodes)).items() if not why] == ["b"]
    named = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a"]}]}
    outside = {"NodeAffinity": reason + ["node(s) didn't satisfy plugin(s) [NodeAffinity]"]}
    assert refused(ask(wants(named), nodes)) == {"a": FITS, "b": outside, "c": outside}
    conflict = {"matchFields": named["matchFields"] + [
        {"key": "metadata.name", "operator": "In", "values": ["b"]}]}
    assert refused(ask(wants(conflict), nodes)) == {
        name: {"NodeAffinity": ["pod affinity terms conflict"]} for name in "abc"}


def test_preferred_nodes(ask):
    def prefers(weight, value):
        return {"weight": weight, "preference": {"matchExpressions": [
            {"key": "disk", "operator": "In", "values": [value]}]}}
    asked = pod(affinity={"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
        prefers(30, "ssd"), prefers(60, "hdd")]}})
    answer = ask(asked, [node("a", {"disk": "ssd"}), node("b", {"disk": "hdd"}), node("c")])
    assert scores(answer, "NodeAffinity") == {"a": 50, "b": 100, "c": 0}
    assert scores(ask(pod(), [node("a")]), "NodeAffinity") == {"a": 0}


def port(number, protocol="TCP", address=None):
    """A port of a container and of its host."""
    made = {"containerPort": number, "hostPort": number, "protocol": protocol}
    return {**made, "hostIP": address} if address else made


def test_ports(ask):
    pods = [pod("p", nodeName="a", ports=[port(80), port(53, address="127.0.0.1")])]
    reason = {"NodePorts": ["node(s) didn't have free ports for the requested pod ports"]}
    for wanted, free in ((port(80), False), (port(80, "UDP"), True), (port(53), False),
                         (port(53, address="10.0.0.1"), True), (port(80, address="10.0.0.1"), False)):
        assert refused(ask(pod(ports=[wanted]), [node("a"), node("b")], pods)) == {
            "a": FITS if free else reason, "b": FITS}, wanted


def test_pods_that_have_ended_or_have_no_node_count_for_nothing(ask):
    for phase, where in (("Succeeded", "a"), ("Failed", "a"), ("Running", "gone")):
        pods = [pod("p", phase=phase, nodeName=where, ports=[port(80)])]
        assert refused(ask(pod(ports=[port(80)]), [node("a")], pods)) == {"a": FITS}


def test_resources(ask):
    nodes = [node("a"), node("b", amounts={"pods": "1"}),
             node("c", amounts={"nvidia.com/gpu": "1"})]
    pods = [pod("p", nodeName="b"), pod("q", nodeName="c", requests={"cpu": "3"})]
    answer = refused(ask(pod(requests={"cpu": "2", "memory": "5Gi", "nvidia.com/gpu": "1"}),
                         nodes, pods))
    assert {name: sorted(why["NodeResourcesFit"]) for name, why in answer.items()} == {
        "a": ["Insufficient memory", "Insufficient nvidia.com/gpu"],
        "b": ["Insufficient memory", "Insufficient nvidia.com/gpu", "Too many pods"],
        "c": ["Insufficient cpu", "Insufficient memory"]}
    assert all(list(why) == ["NodeResourcesFit"] for why in answer.values())


def test_scores_of_amounts(ask):
    answer = ask(pod(requests={"cpu": "1", "memory": "1Gi"}), [node("a")])
    assert answer["a"]["scores"]["LeastAllocated"] == 75
    assert answer["a"]["scores"]["MostAllocated"] == 25
    assert answer["a"]["scores"]["BalancedAllocation"] == 75
    # Without a request 100m and 200Mi are assumed, but not for the balance.
    answer = ask(pod(requests={"cpu": "2"}), [node("a")])
    assert answer["a"]["scores"]["LeastAllocated"] == (50 + 95) // 2
    assert answer["a"]["scores"]["BalancedAllocation"] == 62
    answer = ask(pod(), [node("a")])
    assert answer["a"]["scores"]["MostAllocated"] == (2 + 4) // 2
    assert answer["a"]["scores"]["BalancedAllocation"] == 0


def test_balance_counts_devices_that_are_asked_for(ask):
    nodes = [node(name, amounts={"nvidia.com/gpu": "4"}) for name in "ab"]
    pods = [pod("p", nodeName="b", requests={"cpu": "1"})]
    asked = pod(requests={"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "2"})
    # (1/4, 1/4, 1/2) after (0, 0, 0), and (1/2, 1/4, 1/2) after (1/4, 0, 0).
    assert scores(ask(asked, nodes, pods), "BalancedAllocation") == {"a": 69, "b": 75}


def test_read_write_once_pod(ask):
    pods = [pod("p", nodeName="a", volumes=uses("once"))]
    reason = ["node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode "
              "already in-use by another pod"]
    answer = ask(pod(volumes=uses("once")), [node("a"), node("b")], pods,
                 persistentVolumeClaims=[claim("once", mode="ReadWriteOncePod", volume="pv")],
                 persistentVolumes=[volume("pv")], storageClasses=[storage_class("wait")])
    assert refused(answer) == {name: {"VolumeRestrictions": reason} for name in "ab"}


def test_disk_conflict(ask):
    disk = [{"name": "d", "iscsi": {"targetPortal": "t", "iqn": "i", "lun": 0}}]
    answer = ask(pod(volumes=disk), [node("a"), node("b")],
                 [pod("p", nodeName="a", volumes=disk)])
    assert refused(answer) == {"a": {"VolumeRestrictions": ["node(s) had no available disk"]},
                               "b": FITS}


def test_volume_limits(ask):
    def csi_node(name, count):
        return {"metadata": {"name": name}, "spec": {"drivers": [
            {"name": "csi.example.com", "nodeID": name, "topologyKeys": None,
             "allocatable": {"count": count}}]}}
    storage = {"persistentVolumeClaims": [claim("one", volume="pv1"), claim("two", volume="pv2")],
               "persistentVolumes": [volume("pv1"), volume("pv2")],
               "storageClasses": [storage_class("wait")],
               "csiNodes": [csi_node("a", 1), csi_node("b", 2)]}
    pods = [pod("p", nodeName="a", volumes=uses("one")), pod("q", nodeName="b", volumes=uses("one"))]
    nodes = [node("a"), node("b"), node("c")]
    assert refused(ask(pod(volumes=uses("two")), nodes, pods, **storage)) == {
        "a": {"NodeVolumeLimits": ["node(s) exceed max volume count"]}, "b": FITS, "c": FITS}
    assert refused(ask(pod(volumes=uses("one")), nodes, pods, **storage))["a"] == FITS


def test_volume_binding(ask):
    nodes = [node("a"), node("b")]
    bound = {"persistentVolumeClaims": [claim("one", volume="pv1")],
             "persistentVolumes": [volume("pv1", host="a")],
             "storageClasses": [storage_class("wait")]}
    assert refused(ask(pod(volumes=uses("one")), nodes, **bound)) == {
        "a": FITS, "b": {"VolumeBinding": ["node(s) didn't match PersistentVolume's node affinity"]}}
    local = {"persistentVolumeClaims": [claim("one", "local"), claim("two", "local")],
             "persistentVolumes": [volume("pv1", "a", storage_class="local"),
                                   volume("pv2", "a", storage_class="local", size="3Gi"),
                                   volume("pv3", "b", storage_class="local")],
             "storageClasses": [storage_class("local", "kubernetes.io/no-provisioner")]}
    assert refused(ask(pod(volumes=uses("one", "two")), nodes, **local)) == {
        "a": FITS,
        "b": {"VolumeBinding": ["node(s) didn't find available persistent volumes to bind"]}}
    gone = {**bound, "persistentVolumes": []}
    reasons = refused(ask(pod(volumes=uses("one")), nodes, **gone))["a"]
    assert reasons["VolumeBinding"] == [
        "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"]
    now = {"persistentVolumeClaims": [claim("one", "now")],
           "storageClasses": [storage_class("now", mode="Immediate")]}
    assert refused(ask(pod(volumes=uses("one")), nodes, **now))["a"] == {
        "VolumeBinding": ["pod has unbound immediate PersistentVolumeClaims"],
        "VolumeZone": ["PersistentVolume had no name"]}


def test_missing_claim(ask):
    answer = refused(ask(pod(volumes=uses("nobody")), [node("a")]))["a"]
    assert answer["VolumeBinding"] == ['persistentvolumeclaim "nobody" not found']
    assert set(answer) == {"VolumeBinding", "VolumeZone", "VolumeRestrictions", "NodeVolumeLimits"}


def test_volume_that_is_provisioned(ask):
    zoned = storage_class("zoned")
    zoned["allowedTopologies"] = [{"matchLabelExpressions": [
        {"key": "topology.kubernetes.io/zone", "values": ["z1"]}]}]
    nodes = [node("a", {"topology.kubernetes.io/zone": "z1"}),
             node("b", {"topology.kubernetes.io/zone": "z2"})]
    answer = ask(pod(volumes=uses("one")), nodes,
                 persistentVolumeClaims=[claim("one", "zoned")], storageClasses=[zoned])
    assert refused(answer) == {
        "a": FITS,
        "b": {"VolumeBinding": ["node(s) didn't find available persistent volumes to bind"]}}


def test_volume_zone(ask):
    zone = "topology.kubernetes.io/zone"
    nodes = [node("a", {zone: "z1"}), node("b", {zone: "z2"}), node("c")]
    answer = ask(pod(volumes=uses("one")), nodes,
                 persistentVolumeClaims=[claim("one", volume="pv")],
                 persistentVolumes=[volume("pv", labels={zone: "z1__z3"})],
                 storageClasses=[storage_class("wait")])
    assert refused(answer) == {
        "a": FITS, "b": {"VolumeZone": ["node(s) had no available volume zone"]}, "c": FITS}


def test_spread(ask):
    nodes = [node("a"), node("b"), node("c")]
    del nodes[2]["metadata"]["labels"]["kubernetes.io/hostname"]
    pods = [pod("p", {"app": "a"}, nodeName="a"), pod("q", {"app": "b"}, nodeName="b")]
    reason = "node(s) didn't match pod topology spread constraints"
    asked = pod(labels={"app": "a"}, topologySpreadConstraints=[spread("DoNotSchedule")])
    assert refused(ask(asked, nodes, pods)) == {
        "a": {"PodTopologySpread": [reason]}, "b": FITS,
        "c": {"PodTopologySpread": [reason + " (missing required label)"]}}
    asked = pod(labels={"app": "a"}, topologySpreadConstraints=[
        spread("DoNotSchedule", minDomains=3)])
    assert refused(ask(asked, nodes[:2], pods[:1] + [pod("r", {"app": "a"}, nodeName="b")])) == {
        name: {"PodTopologySpread": [reason]} for name in "ab"}
    pods[0]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert refused(ask(asked, nodes[:2], pods)) == {"a": FITS, "b": FITS}


def test_spread_score(ask):
    nodes = [node("a"), node("b"), node("c")]
    pods = [pod(f"p{i}", {"app": "a"}, nodeName=name) for i, name in enumerate("aaaabb")]
    asked = pod(labels={"app": "a"}, topologySpreadConstraints=[spread("ScheduleAnyway")])
    # ln(5) for each pod, rounded: 6, 3 and 0; then from the greatest downwards.
    assert scores(ask(asked, nodes, pods), "PodTopologySpread") == {"a": 0, "b": 50, "c": 100}
    assert scores(ask(pod(), nodes, pods), "PodTopologySpread") == {"a": 0, "b": 0, "c": 0}
    everything = pod(topologySpreadConstraints=[spread("ScheduleAnyway", labelSelector={})])
    assert set(scores(ask(everything, nodes, pods), "PodTopologySpread").values()) == {100}


def test_pod_affinity(ask):
    nodes = [node("a"), node("b")]
    pods = [pod("p", {"app": "a"}, nodeName="a")]
    asked = pod(affinity=required("podAffinity", term({"app": "a"})))
    assert refused(ask(asked, nodes, pods)) == {
        "a": FITS, "b": {"InterPodAffinity": ["node(s) didn't match pod affinity rules"]}}
    asked = pod(affinity=required("podAntiAffinity", term({"app": "a"})))
    assert refused(ask(asked, nodes, pods)) == {
        "a": {"InterPodAffinity": ["node(s) didn't match pod anti-affinity rules"]}, "b": FITS}
    pods[0]["spec"]["affinity"] = required("podAntiAffinity", term({"app": "x"}))
    assert refused(ask(pod(labels={"app": "x"}), nodes, pods)) == {
        "a": {"InterPodAffinity": ["node(s) didn't satisfy existing pods anti-affinity rules"]},
        "b": FITS}
    first = pod(labels={"app": "f"}, affinity=required("podAffinity", term({"app": "f"})))
    assert refused(ask(first, nodes, pods)) == {"a": FITS, "b": FITS}


def test_preferred_pods(ask):
    nodes = [node("a"), node("b"), node("c")]
    pods = [pod("p", {"app": "a"}, nodeName="a"), pod("q", {"app": "b"}, nodeName="b")]

    def prefers(kind, weight, value):
        return {kind: {"preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": weight, "podAffinityTerm": term({"app": value})}]}}
    asked = pod(affinity={**prefers("podAffinity", 30, "a"), **prefers("podAntiAffinity", 10, "b")})
    assert scores(ask(asked, nodes, pods), "InterPodAffinity") == {"a": 100, "b": 0, "c": 25}
    # A required term of a running pod counts 1, a preferred one its weight.
    pods[0]["spec"]["affinity"] = required("podAffinity", term({"app": "x"}))
    pods[1]["spec"]["affinity"] = prefers("podAffinity", 4, "x")
    answer = ask(pod(labels={"app": "x"}), nodes, pods)
    assert scores(answer, "InterPodAffinity") == {"a": 25, "b": 100, "c": 0}


def test_image_locality(ask):
    image = [{"names": ["nginx:latest"], "sizeBytes": 1000 * 1024 * 1024}]
    answer = ask(pod(), [node("a", images=image), node("b")])
    # One of two nodes has it, so half its size counts: (500 - 23) of (1000 - 23) MiB.
    assert scores(answer, "ImageLocality") == {"a": 48, "b": 0}


def test_gates(ask):
    gated = pod(schedulingGates=[{"name": "example.com/a"}, {"name": "example.com/b"}])
    reason = ["waiting for scheduling gates: [example.com/a example.com/b]"]
    answer = ask(gated, [node("a"), node("b")])
    assert refused(answer) == {name: {"SchedulingGates": reason} for name in "ab"}
    assert all("scores" not in found for found in answer.values())


def test_each_plugin_is_asked_on_its_own(ask):
    nodes = [node("a", unschedulable=True, taints=[{"key": "k", "effect": "NoSchedule"}])]
    answer = refused(ask(pod(nodeSelector={"no": "where"}, requests={"cpu": "9"}), nodes))["a"]
    assert set(answer) == {"NodeUnschedulable", "TaintToleration", "NodeAffinity",
                           "NodeResourcesFit"}


def test_a_cluster_leaves_nothing_behind(ask):
    """The answers to one case do not depend on those before."""
    storage = {"persistentVolumeClaims": [claim("one", volume="pv")],
               "persistentVolumes": [volume("pv")], "storageClasses": [storage_class("wait")]}
    assert refused(ask(pod(volumes=uses("one")), [node("a")], **storage)) == {"a": FITS}
    assert "VolumeBinding" in refused(ask(pod(volumes=uses("one")), [node("a")]))["a"]
    assert set(ask(pod(), [node("b")])) == {"b"}


def test_what_cannot_be_read(askkube):
    with askkube("place") as plugins:
        for text in ("{", '{"nodes":[]}', '{"pod":{"spec":{"nodeNames":"a"}}}'):
            assert set(plugins.ask_line(text)) == {"error"}, text
        assert plugins.ask({"nodes": [], "pods": [], "pod": pod()}) == {"nodes": {}}


def test_check(askkube):
    case = clusters.case(1, 1)
    with askkube("check") as rules:
        assert rules.ask(case) == {"faults": []}
        case["pod"]["spec"]["containers"][0]["name"] = "Wrong Name"
        assert "spec.containers[0].name" in rules.ask(case)["faults"][0]


def test_a_fault_is_found_and_shrunk(askkube):
    """A scheduler that lets terminating pods count for spread is told apart, with a small case."""
    def ours(plugins, case):
        case = copy.deepcopy(case)
        for one in case["pods"]:
            one["metadata"].pop("deletionTimestamp", None)
        answer = plugins.ask(case)
        for found in answer["nodes"].values():
            reasons = [reason for plugin in found["refused"].values() for reason in plugin]
            found["refused"] = reasons[0] if reasons else None
        return answer

    with askkube("place") as plugins:
        def found(case):
            return differences(ours(plugins, case), plugins.ask(case))
        number = next(n for n in range(3000) if any(
            difference.kind in ("stricter", "laxer") for difference in found(clusters.case(1, n))))
        case = clusters.case(1, number)
        difference = next(iter(found(case)))
        small = shrink(case, lambda smaller: difference in found(smaller))
        assert difference in found(small)
    assert len(small["pods"]) <= 5 and len(small["nodes"]) <= 4
    assert len(json.dumps(small)) < len(json.dumps(case)) / 2
    assert any("deletionTimestamp" in one["metadata"] for one in small["pods"])
