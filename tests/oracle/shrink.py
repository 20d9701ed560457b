"""Makes a case smaller while something about it stays true."""

import copy

# Lists of which one element at least has to stay, and members that make no sense without.
KEEP_ONE = {"containers", "nodes", "nodeSelectorTerms", "accessModes", "values", "drivers", "names",
            "requiredDuringSchedulingIgnoredDuringExecution"}
KEEP = {"metadata", "name", "namespace", "uid", "spec", "status", "phase", "nodeName", "key",
        "operator", "effect", "topologyKey", "weight", "preference", "podAffinityTerm", "maxSkew",
        "whenUnsatisfiable", "containers", "image", "allocatable", "capacity", "pods", "protocol",
        "containerPort", "nodeSelectorTerms", "sizeBytes", "reference", "provisioner",
        "volumeBindingMode", "accessModes", "storage", "resources", "requests", "driver",
        "volumeHandle", "claimName", "nodeID", "topologyKeys", "count", "drivers", "path", "required",
        "persistentVolumeReclaimPolicy", "storageClassName", "matchLabelExpressions", "values",
        "volumeClaimTemplate", "pod", "nodes"}


class Budget:
    """So many questions, and no more."""

    def __init__(self, holds, most):
        self.holds, self.left = holds, most

    def ask(self, case):
        """Whether it still holds for a case; False once there is nothing left to spend."""
        if self.left <= 0:
            return False
        self.left -= 1
        return self.holds(case)


def shrink(case, holds, most=2000):
    """The smallest case that is found with `most` questions of which holds(case) is true; it is of
    the one that is given, which is left alone. Running pods go first, then nodes with theirs, then
    everything else, one element of a list and one member at a time."""
    budget = Budget(holds, most)
    size = None
    while size != len(str(case)) and budget.left > 0:
        size = len(str(case))
        case = fewer(case, "pods", budget)
        case = fewer_nodes(case, budget)
        for name in ("persistentVolumeClaims", "persistentVolumes", "storageClasses", "csiNodes",
                     "namespaces"):
            case = fewer(case, name, budget)
        case = plainer(case, budget)
    return case


def fewer(case, name, budget):
    """Takes elements of a list away: halves first, then ever smaller parts."""
    part = len(case[name])
    while part >= 1:
        at = 0
        while at < len(case[name]):
            smaller = {**case, name: case[name][:at] + case[name][at + part:]}
            if budget.ask(smaller):
                case = smaller
            else:
                at += part
        part //= 2
    return case


def fewer_nodes(case, budget):
    """Takes nodes away, and the pods on them."""
    for node in list(case["nodes"]):
        name = node["metadata"]["name"]
        smaller = {**case, "nodes": [n for n in case["nodes"] if n["metadata"]["name"] != name],
                   "pods": [p for p in case["pods"] if p["spec"]["nodeName"] != name]}
        if smaller["nodes"] and budget.ask(smaller):
            case = smaller
    return case


def places(value, path=()):
    """Paths of all that might be taken away, the largest parts first; a case keeps its members."""
    if isinstance(value, dict):
        for key in value:
            if path and key not in KEEP:
                yield (*path, key)
        for key, inner in value.items():
            yield from places(inner, (*path, key))
    elif isinstance(value, list):
        yield from ((*path, i) for i in reversed(range(len(value))))
        for i, inner in enumerate(value):
            yield from places(inner, (*path, i))


def without(case, path):
    """A copy without what is at a path; None if it is not there any more, or has to stay."""
    smaller = copy.deepcopy(case)
    holder = smaller
    try:
        for step in path[:-1]:
            holder = holder[step]
        if isinstance(holder, list) and len(holder) == 1 and path[-2] in KEEP_ONE:
            return None
        del holder[path[-1]]
    except (KeyError, IndexError, TypeError):
        return None
    return smaller


def plainer(case, budget):
    """Takes parts of objects away, one at a time, until none can go."""
    gone = True
    while gone and budget.left > 0:
        gone = False
        for path in list(places(case)):
            smaller = without(case, path)
            if smaller is not None and smaller != case and budget.ask(smaller):
                case, gone = smaller, True
    return case
