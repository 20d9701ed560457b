"""What a case is about, told from the case itself, and whether a run has had enough of each.

features(case) names what is asked of the scheduler; outcomes(answer) names the plugins whose word
matters in the answer: "refuses X" where X refuses some nodes and not others, "decides X" where it alone
keeps a node out, "ranks X" where its score tells nodes apart.
"""

from collections import Counter

from clusters import CORDONED, DONGLE, GPU, HOST, ZONE
from volumes import OLD_ZONE, SELECTED

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
KINDS = ("podAffinity", "podAntiAffinity")

# Of these a run must have one case in 20 at least.
MAIN = (
    "cordon", "cordon tolerated",
    "taint NoSchedule", "taint PreferNoSchedule", "taint NoExecute",
    "toleration Exists", "toleration Equal", "toleration of every key",
    "toleration of every effect", "toleration of another value",
    "nodeSelector", *(f"nodeAffinity {operator}" for operator in (*OPERATORS, "Gt", "Lt")),
    "nodeAffinity matchFields", "nodeAffinity several terms", "nodeAffinity empty term",
    "nodeAffinity preferred",
    *(f"{kind} {how}" for kind in KINDS for how in ("required", "preferred")),
    *(f"{kind} {how} of a running pod" for kind in KINDS for how in ("required", "preferred")),
    "pod terms, several", "pod terms, first of its kind",
    "pod term namespaces", "pod term namespaceSelector", "pod term of all namespaces",
    "pod term of its own namespace", "pod term without selector", "pod term empty selector",
    "pod term matchLabelKeys", "pod term mismatchLabelKeys", "pod term missing label",
    *(f"pod term {operator}" for operator in OPERATORS),
    "spread DoNotSchedule", "spread ScheduleAnyway", "spread, several", "spread minDomains",
    "spread nodeAffinityPolicy Ignore", "spread nodeTaintsPolicy Honor", "spread matchLabelKeys",
    "spread over hosts", "spread over zones", "spread missing label", "spread without selector",
    "spread empty selector",
    "terminating pod", "finished pod",
    "port of the host", "port of one address", "port of any address", "port UDP or SCTP",
    "port of a sidecar", "port of a running pod",
    "image with tag", "image without tag", "image of several containers",
    "image of an init container", "image of a volume", "image present",
    "no requests", "overhead", "init container", "sidecar", "extended resource",
    "ephemeral-storage", "pod-level resources", "node full of pods",
    "gate",
)
STORAGE = (
    "bound, node affinity", "bound, zone label", "bound, old zone label", "bound, several zones",
    "bound to no volume", "waits, no provisioner", "waits, provisioner", "waits, zones of the class",
    "waits, node selected", "immediate and unbound", "no claim", "no class", "claim is deleted",
    "ReadWriteOncePod", "ReadWriteOncePod in use", "limit of a driver", "disk in the pod",
    "ephemeral claim", "claim with selector", "volume meant for a claim", "several volumes",
)
OUTCOMES = tuple(f"{what} {name}" for what in ("refuses", "decides") for name in (
    "NodeUnschedulable", "TaintToleration", "NodeAffinity", "NodePorts", "NodeResourcesFit",
    "PodTopologySpread", "InterPodAffinity")) + tuple(f"ranks {name}" for name in (
        "TaintToleration", "NodeAffinity", "InterPodAffinity", "PodTopologySpread", "ImageLocality",
        "LeastAllocated", "MostAllocated", "BalancedAllocation"))
STORAGE_OUTCOMES = tuple(f"{what} {name}" for what in ("refuses", "decides") for name in (
    "VolumeBinding", "VolumeZone", "VolumeRestrictions", "NodeVolumeLimits"))


def matches(selector, labels):
    """Whether a label selector selects labels; None selects nothing."""
    if selector is None:
        return False
    for key, value in selector.get("matchLabels", {}).items():
        if labels.get(key) != value:
            return False
    for requirement in selector.get("matchExpressions", ()):
        key, operator = requirement["key"], requirement["operator"]
        has = key in labels
        listed = has and labels[key] in requirement.get("values", ())
        if not {"In": listed, "NotIn": not listed, "Exists": has, "DoesNotExist": not has}[operator]:
            return False
    return True


def pod_terms(pod, kinds=KINDS, hows=(REQUIRED, PREFERRED)):
    """(kind, how, term) for each pod affinity term of a pod."""
    for kind in kinds:
        for how in hows:
            for term in pod["spec"].get("affinity", {}).get(kind, {}).get(how, ()):
                yield kind, how, term.get("podAffinityTerm", term)


def labels_of(thing):
    """The labels of an object."""
    return thing["metadata"].get("labels", {})


def features(case):
    """The names of what a case is about."""
    found = set()
    for part in (of_taints, of_node_affinity, of_pod_terms, of_spread, of_pods, of_ports, of_images,
                 of_amounts, of_storage):
        found.update(part(case))
    return found


def of_taints(case):
    """Cordons, taints, tolerations, gates."""
    taints = [taint for node in case["nodes"] for taint in node["spec"].get("taints", ())]
    tolerations = case["pod"]["spec"].get("tolerations", ())
    cordoned = any(node["spec"].get("unschedulable") for node in case["nodes"])
    if cordoned:
        yield "cordon"
        if any(t.get("key", CORDONED) == CORDONED for t in tolerations):
            yield "cordon tolerated"
    for taint in taints:
        yield f"taint {taint['effect']}"
    for toleration in tolerations:
        key = toleration.get("key")
        yield f"toleration {toleration['operator']}"
        if key is None:
            yield "toleration of every key"
        if "effect" not in toleration:
            yield "toleration of every effect"
        if toleration["operator"] == "Equal" and any(
                taint["key"] == key and taint.get("value", "") != toleration.get("value", "")
                for taint in taints):
            yield "toleration of another value"
    if case["pod"]["spec"].get("schedulingGates"):
        yield "gate"


def of_node_affinity(case):
    """Selectors and affinity for nodes."""
    spec = case["pod"]["spec"]
    if spec.get("nodeSelector"):
        yield "nodeSelector"
    own = spec.get("affinity", {}).get("nodeAffinity", {})
    if PREFERRED in own:
        yield "nodeAffinity preferred"
    terms = own.get(REQUIRED, {}).get("nodeSelectorTerms", ())
    if len(terms) > 1:
        yield "nodeAffinity several terms"
    for term in terms:
        if not term:
            yield "nodeAffinity empty term"
        if "matchFields" in term:
            yield "nodeAffinity matchFields"
        for requirement in term.get("matchExpressions", ()):
            yield f"nodeAffinity {requirement['operator']}"


def of_pod_terms(case):
    """Affinity between pods."""
    pod = case["pod"]
    for running in case["pods"]:
        for kind, how, _ in pod_terms(running):
            yield f"{kind} {'required' if how == REQUIRED else 'preferred'} of a running pod"
    for kind, how, term in pod_terms(pod):
        yield f"{kind} {'required' if how == REQUIRED else 'preferred'}"
        yield from of_term(case, term)
    for kind in KINDS:
        terms = [term for *_, term in pod_terms(pod, (kind,), (REQUIRED,))]
        if len(terms) > 1:
            yield "pod terms, several"
        if kind == "podAffinity" and terms and first_of_kind(case, terms):
            yield "pod terms, first of its kind"


def of_term(case, term):
    """One term."""
    if "namespaces" in term:
        yield "pod term namespaces"
    if "namespaceSelector" in term:
        yield "pod term namespaceSelector" if term["namespaceSelector"] else \
            "pod term of all namespaces"
    if "namespaces" not in term and "namespaceSelector" not in term:
        yield "pod term of its own namespace"
    for field in ("matchLabelKeys", "mismatchLabelKeys"):
        if field in term:
            yield f"pod term {field}"
    if any(term["topologyKey"] not in labels_of(node) for node in case["nodes"]):
        yield "pod term missing label"
    yield from of_selector("pod term", term)
    for requirement in (term.get("labelSelector") or {}).get("matchExpressions", ()):
        yield f"pod term {requirement['operator']}"


def of_selector(what, holder):
    """A selector that is missing or empty."""
    if "labelSelector" not in holder:
        yield f"{what} without selector"
    elif not holder["labelSelector"]:
        yield f"{what} empty selector"


def first_of_kind(case, terms):
    """Whether the pod matches its own terms, and no running pod of its namespace does."""
    pod = case["pod"]
    return (all("namespaces" not in t and "namespaceSelector" not in t for t in terms)
            and all(matches(t.get("labelSelector"), labels_of(pod)) for t in terms)
            and not any(running["metadata"]["namespace"] == pod["metadata"]["namespace"]
                        and all(matches(t.get("labelSelector"), labels_of(running)) for t in terms)
                        for running in case["pods"]))


def of_spread(case):
    """Topology spread constraints."""
    constraints = case["pod"]["spec"].get("topologySpreadConstraints", ())
    if len(constraints) > 1:
        yield "spread, several"
    for constraint in constraints:
        key = constraint["topologyKey"]
        yield f"spread {constraint['whenUnsatisfiable']}"
        for field, value in (("nodeAffinityPolicy", "Ignore"), ("nodeTaintsPolicy", "Honor")):
            if constraint.get(field) == value:
                yield f"spread {field} {value}"
        for field in ("minDomains", "matchLabelKeys"):
            if field in constraint:
                yield f"spread {field}"
        if key in (HOST, ZONE):
            yield "spread over hosts" if key == HOST else "spread over zones"
        if any(key not in labels_of(node) for node in case["nodes"]):
            yield "spread missing label"
        yield from of_selector("spread", constraint)


def of_pods(case):
    """What pods run, and whether a node holds as many as it may."""
    running = Counter()
    for pod in case["pods"]:
        finished = pod["status"]["phase"] in ("Succeeded", "Failed")
        if finished:
            yield "finished pod"
        else:
            running[pod["spec"]["nodeName"]] += 1
            if "deletionTimestamp" in pod["metadata"]:
                yield "terminating pod"
    for node in case["nodes"]:
        if running[node["metadata"]["name"]] >= int(node["status"]["allocatable"]["pods"]):
            yield "node full of pods"


def host_ports(pod):
    """(container, port) for each port of the host that a pod wants."""
    spec = pod["spec"]
    for container in spec["containers"] + spec.get("initContainers", []):
        for port in container.get("ports", ()):
            if port.get("hostPort"):
                yield container, port


def of_ports(case):
    """Ports of the host."""
    if any(True for pod in case["pods"] for _ in host_ports(pod)):
        yield "port of a running pod"
    for container, port in host_ports(case["pod"]):
        yield "port of the host"
        yield "port of any address" if port.get("hostIP", "0.0.0.0") == "0.0.0.0" else \
            "port of one address"
        if port["protocol"] != "TCP":
            yield "port UDP or SCTP"
        if container.get("restartPolicy") == "Always":
            yield "port of a sidecar"


def of_images(case):
    """Images, where nodes have any."""
    present = {name for node in case["nodes"] for image in node["status"].get("images", ())
               for name in image["names"]}
    if not present:
        return
    spec = case["pod"]["spec"]
    yield from ("image of several containers",) if len(spec["containers"]) > 1 else ()
    yield from ("image of an init container",) if spec.get("initContainers") else ()
    for container in spec["containers"]:
        tagged = ":" in container["image"].rsplit("/", 1)[-1]
        yield "image with tag" if tagged else "image without tag"
        if container["image"] + ("" if tagged else ":latest") in present:
            yield "image present"
    if any("image" in volume for volume in spec.get("volumes", ())):
        yield "image of a volume"


def of_amounts(case):
    """What the pod asks for."""
    spec = case["pod"]["spec"]
    names = set()
    for container in spec["containers"]:
        requests = container.get("resources", {}).get("requests", {})
        names.update(requests)
        if not requests:
            yield "no requests"
    if names & {GPU, DONGLE}:
        yield "extended resource"
    if "ephemeral-storage" in names:
        yield "ephemeral-storage"
    if "overhead" in spec:
        yield "overhead"
    if "resources" in spec:
        yield "pod-level resources"
    for container in spec.get("initContainers", ()):
        yield "sidecar" if container.get("restartPolicy") == "Always" else "init container"


def of_storage(case):
    """What the pod's volumes are."""
    volumes = [v for v in case["pod"]["spec"].get("volumes", ()) if "image" not in v]
    if len(volumes) > 1:
        yield "several volumes"
    if volumes and any("allocatable" in driver for node in case["csiNodes"]
                       for driver in node["spec"]["drivers"]):
        yield "limit of a driver"
    for volume in volumes:
        if "ephemeral" in volume:
            yield "ephemeral claim"
        elif "persistentVolumeClaim" not in volume:
            yield "disk in the pod"
            continue
        yield from of_claim(case, volume)


def of_claim(case, volume):
    """One claim of the pod."""
    pod = case["pod"]["metadata"]
    name = volume.get("persistentVolumeClaim", {}).get("claimName") or \
        f"{pod['name']}-{volume['name']}"
    claim = next((claim for claim in case["persistentVolumeClaims"]
                  if claim["metadata"]["name"] == name
                  and claim["metadata"]["namespace"] == pod["namespace"]), None)
    if claim is None:
        yield "no claim"
        return
    if "deletionTimestamp" in claim["metadata"]:
        yield "claim is deleted"
    if "selector" in claim["spec"]:
        yield "claim with selector"
    if claim["spec"]["accessModes"] == ["ReadWriteOncePod"]:
        yield "ReadWriteOncePod"
        if any(v.get("persistentVolumeClaim", {}).get("claimName") == name
               for running in case["pods"] for v in running["spec"].get("volumes", ())):
            yield "ReadWriteOncePod in use"
    if "volumeName" in claim["spec"]:
        yield from of_bound(case, claim)
    else:
        yield from of_unbound(case, claim)


def of_bound(case, claim):
    """A claim that has a volume, or had one."""
    volume = next((v for v in case["persistentVolumes"]
                   if v["metadata"]["name"] == claim["spec"]["volumeName"]), None)
    if volume is None:
        yield "bound to no volume"
        return
    if "nodeAffinity" in volume["spec"]:
        yield "bound, node affinity"
    labels = labels_of(volume)
    if ZONE in labels:
        yield "bound, zone label"
    if OLD_ZONE in labels:
        yield "bound, old zone label"
    if "__" in labels.get(ZONE, "") + labels.get(OLD_ZONE, ""):
        yield "bound, several zones"


def of_unbound(case, claim):
    """A claim that has no volume yet."""
    found = next((c for c in case["storageClasses"]
                  if c["metadata"]["name"] == claim["spec"]["storageClassName"]), None)
    if found is None:
        yield "no class"
        return
    if found["volumeBindingMode"] == "Immediate":
        yield "immediate and unbound"
        return
    yield "waits, no provisioner" if found["provisioner"] == "kubernetes.io/no-provisioner" else \
        "waits, provisioner"
    if "allowedTopologies" in found:
        yield "waits, zones of the class"
    if SELECTED in claim["metadata"].get("annotations", {}):
        yield "waits, node selected"
    if any(v["spec"].get("claimRef", {}).get("name") == claim["metadata"]["name"]
           for v in case["persistentVolumes"]):
        yield "volume meant for a claim"


def outcomes(answer):
    """The plugins whose word matters in an answer of askkube."""
    found, nodes = set(), answer["nodes"].values()
    refused = Counter(name for node in nodes for name in node["refused"])
    found.update(f"refuses {name}" for name, n in refused.items() if n < len(nodes))
    for node in nodes:
        if len(node["refused"]) == 1:
            found.add(f"decides {next(iter(node['refused']))}")
    scores = [node["scores"] for node in nodes if not node["refused"]]
    for name in scores[0] if scores else ():
        if len({of_node[name] for of_node in scores}) > 1:
            found.add(f"ranks {name}")
    if 0 < len(scores) < len(nodes):
        found.add("some nodes fit, some do not")
    return found


class Count:
    """How many cases of a run have each feature and outcome."""

    def __init__(self, names):
        self.names, self.cases, self.counts = names, 0, Counter()

    def add(self, found):
        """Counts one case."""
        self.cases += 1
        self.counts.update(found)

    def table(self):
        """A line for each."""
        return "\n".join(f"{self.counts[name]:7}  {name}" for name in
                         [*self.names, *sorted(set(self.counts) - set(self.names))])

    def missing(self):
        """Names that fewer than one case in 20 have, and how many do."""
        return {name: self.counts[name] for name in self.names
                if self.counts[name] * 20 < self.cases}
