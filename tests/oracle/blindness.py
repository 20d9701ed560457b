"""Schedulers that do not see something: each changes a case into what such a one would see.

If what it does not see never changed an answer, the cases would prove nothing about it.
"""

import copy

from features import KINDS, pod_terms


def without(*path):
    """Drops a member of the pod's spec."""
    def change(case):
        holder = case["pod"]["spec"]
        for step in path[:-1]:
            holder = holder.get(step, {})
        holder.pop(path[-1], None)
    return change


def in_constraints(field, value=None):
    """Drops a field of all topology spread constraints, or sets it."""
    def change(case):
        for constraint in case["pod"]["spec"].get("topologySpreadConstraints", ()):
            constraint.pop(field, None)
            if value is not None:
                constraint[field] = value
    return change


def in_terms(field, value=None):
    """Drops a field of all pod affinity terms of the pod, or sets it."""
    def change(case):
        for *_, term in pod_terms(case["pod"]):
            term.pop(field, None)
            if value is not None:
                term[field] = value
    return change


def in_tolerations(field):
    """Drops a field of all tolerations."""
    def change(case):
        for toleration in case["pod"]["spec"].get("tolerations", ()):
            toleration.pop(field, None)
    return change


def in_ports(field, value):
    """Sets a field of all ports."""
    def change(case):
        for pod in (case["pod"], *case["pods"]):
            spec = pod["spec"]
            for container in spec["containers"] + spec.get("initContainers", []):
                for port in container.get("ports", ()):
                    port[field] = value
    return change


def in_metadata(field):
    """Drops a member of the metadata of running pods."""
    def change(case):
        for pod in case["pods"]:
            pod["metadata"].pop(field, None)
    return change


def no_end(case):
    """Finished pods run."""
    for pod in case["pods"]:
        pod["status"]["phase"] = "Running"


def no_symmetry(case):
    """Running pods have no affinity."""
    for pod in case["pods"]:
        pod["spec"].pop("affinity", None)


def no_namespaces(case):
    """All is in one namespace."""
    for pod in (case["pod"], *case["pods"]):
        pod["metadata"]["namespace"] = "default"


def no_namespace_labels(case):
    """Namespaces have no labels."""
    for namespace in case["namespaces"]:
        namespace["metadata"]["labels"] = {}


def no_empty_selector(case):
    """{} is taken for no selector."""
    constraints = case["pod"]["spec"].get("topologySpreadConstraints", [])
    for holder in (*constraints, *(term for *_, term in pod_terms(case["pod"]))):
        if holder.get("labelSelector") == {}:
            del holder["labelSelector"]


def no_weights(case):
    """All preferred terms weigh the same."""
    spec = case["pod"]["spec"].get("affinity", {})
    for kind in ("nodeAffinity", *KINDS):
        for term in spec.get(kind, {}).get("preferredDuringSchedulingIgnoredDuringExecution", ()):
            term["weight"] = 1


def no_sidecars(case):
    """Sidecars are init containers."""
    for container in case["pod"]["spec"].get("initContainers", ()):
        container.pop("restartPolicy", None)


def no_empty_terms(case):
    """Empty terms of node affinity do not stand beside others."""
    terms = case["pod"]["spec"].get("affinity", {}).get("nodeAffinity", {}).get(
        "requiredDuringSchedulingIgnoredDuringExecution", {}).get("nodeSelectorTerms", [])
    if any(terms):
        terms[:] = [term for term in terms if term]


def no_operator(operator, other):
    """An operator of node affinity is taken for another."""
    def change(case):
        own = case["pod"]["spec"].get("affinity", {}).get("nodeAffinity", {})
        for term in own.get("requiredDuringSchedulingIgnoredDuringExecution", {}).get(
                "nodeSelectorTerms", ()):
            for requirement in term.get("matchExpressions", ()):
                if requirement["operator"] == operator:
                    requirement["operator"] = other
    return change


def in_classes(field, value=None):
    """Drops a field of all storage classes, or sets it."""
    def change(case):
        for found in case["storageClasses"]:
            found.pop(field, None)
            if value is not None:
                found[field] = value
    return change


def in_volumes(field):
    """Drops a field of the spec of all volumes."""
    def change(case):
        for volume in case["persistentVolumes"]:
            volume["spec"].pop(field, None)
    return change


def in_claims(field):
    """Drops a field of the spec of all claims."""
    def change(case):
        for claim in case["persistentVolumeClaims"]:
            claim["spec"].pop(field, None)
    return change


def in_annotations(name):
    """Drops an annotation of all claims."""
    def change(case):
        for claim in case["persistentVolumeClaims"]:
            claim["metadata"].get("annotations", {}).pop(name, None)
    return change


def no_volume_labels(case):
    """Volumes have no labels."""
    for volume in case["persistentVolumes"]:
        volume["metadata"]["labels"] = {}


def no_limits(case):
    """Nodes may have as many volumes as they like."""
    case["csiNodes"] = []


def no_phase(case):
    """All volumes are to be had."""
    for volume in case["persistentVolumes"]:
        volume["status"]["phase"] = "Available"


def no_deletion(case):
    """Claims that are deleted stay."""
    for claim in case["persistentVolumeClaims"]:
        claim["metadata"].pop("deletionTimestamp", None)


def no_owners(case):
    """Claims have no owners."""
    for claim in case["persistentVolumeClaims"]:
        claim["metadata"].pop("ownerReferences", None)


MAIN = {
    "tolerations": without("tolerations"), "toleration value": in_tolerations("value"),
    "toleration effect": in_tolerations("effect"),
    "nodeSelector": without("nodeSelector"),
    "node affinity": without("affinity", "nodeAffinity"), "weights": no_weights,
    "empty node terms": no_empty_terms, "Gt": no_operator("Gt", "Lt"),
    "NotIn": no_operator("NotIn", "In"), "DoesNotExist": no_operator("DoesNotExist", "Exists"),
    "pod affinity": without("affinity", "podAffinity"),
    "pod anti-affinity": without("affinity", "podAntiAffinity"), "symmetry": no_symmetry,
    "namespaces of terms": in_terms("namespaces"),
    "namespaceSelector of terms": in_terms("namespaceSelector"),
    "all namespaces": in_terms("namespaceSelector", {}), "labels of namespaces": no_namespace_labels,
    "namespaces": no_namespaces, "empty selectors": no_empty_selector,
    "labels of running pods": in_metadata("labels"),
    "minDomains": in_constraints("minDomains"), "maxSkew": in_constraints("maxSkew", 1),
    "nodeAffinityPolicy": in_constraints("nodeAffinityPolicy"),
    "nodeTaintsPolicy": in_constraints("nodeTaintsPolicy"),
    "whenUnsatisfiable": in_constraints("whenUnsatisfiable", "ScheduleAnyway"),
    "terminating pods": in_metadata("deletionTimestamp"), "finished pods": no_end,
    "protocol": in_ports("protocol", "TCP"), "hostIP": in_ports("hostIP", ""),
    "init containers": without("initContainers"), "sidecars": no_sidecars,
    "overhead": without("overhead"), "pod-level resources": without("resources"),
    "image volumes": without("volumes"), "gates": without("schedulingGates"),
}
STORAGE = {
    "binding mode": in_classes("volumeBindingMode", "WaitForFirstConsumer"),
    "allowedTopologies": in_classes("allowedTopologies"),
    "node affinity of volumes": in_volumes("nodeAffinity"), "claimRef": in_volumes("claimRef"),
    "labels of volumes": no_volume_labels, "phase of volumes": no_phase,
    "volumeName": in_claims("volumeName"), "selector of claims": in_claims("selector"),
    "volumeMode of claims": in_claims("volumeMode"),
    "access modes of claims": in_claims("accessModes"),
    "selected node": in_annotations("volume.kubernetes.io/selected-node"),
    "bind completed": in_annotations("pv.kubernetes.io/bind-completed"),
    "limits of drivers": no_limits, "deleted claims": no_deletion, "owners of claims": no_owners,
}


def seen(case, change):
    """The case as it is seen; None if that is no difference."""
    other = copy.deepcopy(case)
    change(other)
    return other if other != case else None
