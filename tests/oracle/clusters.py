"""Small clusters and a pod that is to be placed, by chance but the same ones for the same seed.

A case is what askkube reads: nodes, pods that have a node, namespaces, storage objects, and the pod.
Up to four aspects are drawn for each (taints, pod affinity, ...), so that a case is about
something and most of them have both nodes that fit and nodes that do not. Objects are as the API server
keeps them: with the defaults that a scheduler reads, and with `matchLabelKeys` merged into selectors.
"""

import random

from volumes import add_volumes

ZONE = "topology.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"
HOST = "kubernetes.io/hostname"
RACK = "example.com/rack"
CORDONED = "node.kubernetes.io/unschedulable"
GPU = "nvidia.com/gpu"
DONGLE = "example.com/dongle"
REGIONS = {"z1": "r1", "z2": "r1", "z3": "r2"}

NAMESPACES = {"default": {}, "blue": {"team": "x", "env": "prod"},
              "green": {"team": "y", "env": "prod"}, "grey": {"team": "x", "env": "test"}}
POD_LABELS = {"app": ("web", "db", "cache"), "tier": ("a", "b"), "version": ("v1", "v2")}
NODE_LABELS = {"disk": ("ssd", "hdd", "nvme"), "gen": ("1", "2", "3", "5", "8", "old")}
TAINTS = (("dedicated", ("blue", "green")), ("example.com/gpu", ("yes", "")), ("spot", ("", "1")))
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
IMAGES = ("registry.example/app:v1", "registry.example/app", "nginx", "nginx:1.27",
          "localhost:5000/tool", "localhost:5000/tool:2", "example.com/team/big:v3")
PORTS = (53, 8080, 9090)
MIB = 1024 * 1024

# The aspects of a case and how often each is drawn.
ASPECTS = {"taints": 5.5, "cordon": 7, "selector": 2, "affinity": 7.5, "preferredNodes": 4.5,
           "podAffinity": 4.5, "podAntiAffinity": 3.5, "preferredPods": 4, "symmetric": 4.5,
           "spreadHard": 5, "spreadSoft": 6, "ports": 6, "images": 5, "resources": 5, "gates": 2.3}
SPREAD = {"spreadHard", "spreadSoft"}
HOW_MANY = {False: {1: 2, 2: 4, 3: 3, 4: 2}, True: {0: 1, 1: 3, 2: 1}}  # True: with storage


def cases(seed, count, volumes=False):
    """`count` cases of one of the two families."""
    return (case(seed, number, volumes) for number in range(count))


def case(seed, number, volumes=False):
    """One case, the same at any time."""
    rng = random.Random(f"{seed} {number} {volumes}")
    made = Maker(rng, volumes).make()
    if volumes:
        add_volumes(rng, made)
    return made


def draw_aspects(rng, volumes):
    """The set of what a case is about, besides storage."""
    often = HOW_MANY[volumes]
    count = rng.choices(list(often), list(often.values()))[0]
    aspects = set(rng.choices(list(ASPECTS), list(ASPECTS.values()), k=count))
    if aspects & SPREAD and rng.random() < 0.6:
        # So that the policies of constraints have nodes to honor or ignore.
        aspects.add(rng.choice(("taints", "taints", "selector", "affinity")))
    return aspects


class Maker:
    """Makes one case."""

    def __init__(self, rng, volumes):
        self.rng = rng
        self.aspects = draw_aspects(rng, volumes)
        self.nodes = []
        self.pods = []
        self.pod = None

    def chance(self, probability):
        """True so often."""
        return self.rng.random() < probability

    def some(self, values, least, most):
        """Between `least` and `most` different ones of values, in their order."""
        n = min(self.rng.randint(least, most), len(values))
        chosen = set(self.rng.sample(range(len(values)), n))
        return [value for i, value in enumerate(values) if i in chosen]

    def make(self):
        """The case."""
        namespaces = [{"metadata": {"name": name, "labels": {
            "kubernetes.io/metadata.name": name, **labels}}} for name, labels in NAMESPACES.items()]
        self.nodes = [self._node(i) for i in range(self.rng.randint(2, 14))]
        self.pod = self._new_pod("pending")
        self.pods = [self._running(i) for i in range(self._pod_count())]
        self._constrain()
        return {"nodes": self.nodes, "pods": self.pods, "namespaces": namespaces,
                "persistentVolumeClaims": [], "persistentVolumes": [], "storageClasses": [],
                "csiNodes": [], "pod": self.pod}

    def _pod_count(self):
        if self.aspects & {"podAffinity", "podAntiAffinity", "symmetric", *SPREAD}:
            return self.rng.randint(0, min(40, 3 * len(self.nodes) + 4))
        return self.rng.randint(0, min(40, 2 * len(self.nodes)))

    # Nodes

    def _node(self, i):
        name = f"n{i}"
        zone = self.rng.choice(tuple(REGIONS))
        labels = {HOST: name, ZONE: zone, REGION: REGIONS[zone],
                  RACK: f"k{self.rng.randint(1, 3)}",
                  **{key: self.rng.choice(values) for key, values in NODE_LABELS.items()}}
        for key, missing in ((HOST, 0.03), (ZONE, 0.08), (REGION, 0.08), (RACK, 0.3),
                             ("disk", 0.2), ("gen", 0.2)):
            if self.chance(missing):
                del labels[key]
        allocatable = self._allocatable()
        node = {"metadata": {"name": name, "labels": labels}, "spec": {},
                "status": {"capacity": allocatable, "allocatable": allocatable}}
        self._taint(node)
        if "images" in self.aspects:
            node["status"]["images"] = self._node_images()
        return node

    def _allocatable(self):
        amounts = {"cpu": self.rng.choice(("2", "4", "3920m", "8")),
                   "memory": self.rng.choice(("4Gi", "8Gi", "16Gi", "7900M", "8123456789")),
                   "ephemeral-storage": self.rng.choice(("20Gi", "100Gi")),
                   "pods": "110"}
        if "resources" in self.aspects:
            if self.chance(0.3):
                amounts["pods"] = str(self.rng.randint(1, 4))
            if self.chance(0.6):
                amounts[GPU] = self.rng.choice(("1", "4", "8"))
            if self.chance(0.3):
                amounts[DONGLE] = "2"
        return amounts

    def _taint(self, node):
        taints = []
        if "taints" in self.aspects:
            for key, values in TAINTS:
                if self.chance(0.3):
                    taints.append({"key": key, "value": self.rng.choice(values),
                                   "effect": self.rng.choices(EFFECTS, (3, 5, 3))[0]})
        if "cordon" in self.aspects and self.chance(0.45):
            node["spec"]["unschedulable"] = True
            if self.chance(0.35):
                taints.append({"key": CORDONED, "effect": "NoSchedule"})
        for taint in taints:
            if taint.get("value") == "":
                del taint["value"]
        if taints:
            node["spec"]["taints"] = taints

    def _node_images(self):
        images = []
        for image in self.some(IMAGES, 0, 5):
            tagged = image if ":" in image.rsplit("/", 1)[-1] else image + ":latest"
            bare = tagged.rsplit(":", 1)[0]
            images.append({"names": [f"{bare}@sha256:{hash_of(tagged)}", tagged],
                           "sizeBytes": hash_size(tagged) + self.rng.choice((0, 0, 7 * MIB))})
        return images

    # Pods

    def _labels(self):
        labels = {key: self.rng.choice(values) for key, values in POD_LABELS.items()}
        for key in list(labels):
            if self.chance(0.2):
                del labels[key]
        return labels

    def _new_pod(self, name):
        containers = [{"name": f"c{i}", "image": self.rng.choice(IMAGES)}
                      for i in range(self.rng.choices((1, 2, 3), (5, 4, 2))[0])]
        for container in containers:
            if self.chance(0.8):
                container["resources"] = {"requests": self._requests()}
        return {"metadata": {"name": name, "namespace": self.rng.choice(tuple(NAMESPACES)),
                             "uid": f"uid-{name}", "labels": self._labels()},
                "spec": {"containers": containers}, "status": {"phase": "Pending"}}

    def _requests(self):
        return {name: amount for name, amount in (
            ("cpu", self.rng.choice(("0", "10m", "100m", "0.25", "500m", "750m"))),
            ("memory", self.rng.choice(("0", "64Mi", "200M", "512Mi", "1Gi", "1073741825"))))
            if self.chance(0.85)}

    def _running(self, i):
        pod = self._new_pod(f"p{i}")
        pod["spec"]["nodeName"] = self.rng.choice(self.nodes)["metadata"]["name"]
        if self.aspects & SPREAD and self.chance(0.7):
            pod["metadata"]["namespace"] = self.pod["metadata"]["namespace"]
            if self.chance(0.6):
                pod["metadata"]["labels"] = dict(self.pod["metadata"]["labels"])
        pod["status"]["phase"] = "Running" if self.chance(0.8) else "Pending"
        if self.chance(0.07):
            pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
            pod["metadata"]["deletionGracePeriodSeconds"] = 30
        if self.chance(0.06):
            pod["status"]["phase"] = self.rng.choice(("Succeeded", "Failed"))
        if "symmetric" in self.aspects and self.chance(0.25):
            self._pod_terms(pod, self.pod, self.rng.choice(
                ("podAffinity", "podAntiAffinity")), self.chance(0.5))
        if "ports" in self.aspects and self.chance(0.55):
            self._ports(pod)
        if "resources" in self.aspects:
            self._demand(pod, 0.25)
        return pod

    def _constrain(self):
        """What the aspects ask of the pod that is to be placed."""
        spec = self.pod["spec"]
        if "taints" in self.aspects or "cordon" in self.aspects:
            self._tolerate(spec)
        if "selector" in self.aspects:
            spec["nodeSelector"] = self._node_selector()
        if "affinity" in self.aspects:
            terms = [self._node_term() for _ in range(self.rng.choices((1, 2, 3), (5, 3, 2))[0])]
            affinity(spec, "nodeAffinity")["requiredDuringSchedulingIgnoredDuringExecution"] = {
                "nodeSelectorTerms": terms}
        if "preferredNodes" in self.aspects:
            affinity(spec, "nodeAffinity")["preferredDuringSchedulingIgnoredDuringExecution"] = [
                {"weight": self.rng.randint(1, 100), "preference": self._node_term(False)}
                for _ in range(self.rng.randint(1, 3))]
        for kind in ("podAffinity", "podAntiAffinity"):
            if kind in self.aspects:
                self._own_pod_terms(kind)
        if "preferredPods" in self.aspects:
            for kind in self.some(("podAffinity", "podAntiAffinity"), 1, 2):
                self._pod_terms(self.pod, self._target(), kind, False)
        self._spread()
        if "ports" in self.aspects:
            self._ports(self.pod)
        if "images" in self.aspects:
            self._images(spec)
        if "resources" in self.aspects:
            self._demand(self.pod, 1)
        if "gates" in self.aspects:
            spec["schedulingGates"] = [{"name": f"example.com/{gate}"}
                                       for gate in self.some(("quota", "review"), 1, 2)]

    # Taints and node affinity

    def _tolerate(self, spec):
        tolerations = []
        for _ in range(self.rng.randint(0, 3)):
            key, values = self.rng.choice(TAINTS)
            toleration = {"key": key, "operator": "Exists"}
            if self.chance(0.55):
                toleration.update(operator="Equal", value=self.rng.choice((*values, "other")))
            if self.chance(0.55):
                toleration["effect"] = self.rng.choice(EFFECTS)
            tolerations.append(toleration)
        if "cordon" in self.aspects and self.chance(0.35):
            tolerations.append({"key": CORDONED, "operator": "Exists", **self.rng.choice(
                ({}, {"effect": "NoSchedule"}))})
        if self.chance(0.25):
            tolerations.append({"operator": "Exists", **self.rng.choice(
                ({}, {"effect": self.rng.choice(EFFECTS)}))})
        for toleration in tolerations:
            if toleration.get("effect") == "NoExecute" and self.chance(0.5):
                toleration["tolerationSeconds"] = 300
            if toleration.get("value") == "":
                del toleration["value"]
        if tolerations:
            spec["tolerations"] = tolerations

    def _node_selector(self):
        labels = self.rng.choice(self.nodes)["metadata"]["labels"]
        keys = [key for key in labels if key != HOST]
        chosen = {key: labels[key] for key in self.some(keys, 1, 2)}
        if self.chance(0.1):
            chosen["disk"] = "tape"
        return chosen or {"disk": "ssd"}

    def _node_term(self, may_be_empty=True):
        if may_be_empty and self.chance(0.24):
            return {}
        term = {}
        if self.chance(0.85):
            term["matchExpressions"] = [self._node_requirement()
                                        for _ in range(self.rng.randint(1, 3))]
        if "matchExpressions" not in term or self.chance(0.15):
            term["matchFields"] = [self._name_requirement()
                                   for _ in range(self.rng.choices((1, 2), (4, 1))[0])]
        return term

    def _name_requirement(self):
        return {"key": "metadata.name", "operator": self.rng.choice(("In", "In", "NotIn")),
                "values": [self.rng.choice(self.nodes)["metadata"]["name"]]}

    def _node_requirement(self):
        operator = self.rng.choice(("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"))
        if operator in ("Gt", "Lt"):
            return {"key": "gen", "operator": operator,
                    "values": [self.rng.choice(("0", "1", "2", "4", "6"))]}
        key = self.rng.choice(("disk", "gen", RACK, ZONE))
        if operator == "Exists":
            return {"key": key, "operator": operator}
        if operator == "DoesNotExist":
            return {"key": self.rng.choice((key, "legacy", "legacy")), "operator": operator}
        values = sorted({node["metadata"]["labels"].get(key, "none")
                         for node in self.nodes} | {"none"})
        return {"key": key, "operator": operator,
                "values": self.some(values, 1, 3 if operator == "In" else 2)}

    # Pod affinity

    def _target(self):
        """A pod whose labels a term is made for: mostly one that runs."""
        return self.rng.choice(self.pods) if self.pods and self.chance(0.85) else self.pod

    def _own_pod_terms(self, kind):
        if kind == "podAffinity" and self.chance(0.45):
            self.pod["metadata"]["labels"]["app"] = "lonely"
            for _ in range(self.rng.choices((1, 2), (3, 1))[0]):
                term = {"topologyKey": self._topology_key(),
                        "labelSelector": {"matchLabels": {"app": "lonely"}}}
                required_terms(self.pod, kind).append(term)
            return
        self._pod_terms(self.pod, self._target(), kind, True)

    def _pod_terms(self, pod, target, kind, required):
        """Terms of a pod that are mostly about pods like `target`."""
        for i in range(self.rng.choices((1, 2, 3), (6, 3, 1))[0]):
            same = target if i == 0 or self.chance(0.7) else self._target()
            term = self._pod_term(pod, same)
            if required:
                required_terms(pod, kind).append(term)
            else:
                affinity(pod["spec"], kind).setdefault(
                    "preferredDuringSchedulingIgnoredDuringExecution", []).append(
                        {"weight": self.rng.randint(1, 100), "podAffinityTerm": term})

    def _topology_key(self):
        return self.rng.choices((ZONE, HOST, RACK, REGION), (4, 3, 2, 1))[0]

    def _pod_term(self, pod, target):
        term = {"topologyKey": self._topology_key()}
        selector = self._selector(target["metadata"]["labels"], 0.38)
        if selector is not None:
            term["labelSelector"] = selector
        self._namespaces(term, pod, target["metadata"]["namespace"])
        if selector is not None and self.chance(0.35):
            self._label_keys(term, "mismatchLabelKeys" if self.chance(0.5) else "matchLabelKeys",
                             pod)
        return term

    def _namespaces(self, term, pod, wanted):
        other = wanted != pod["metadata"]["namespace"] and self.chance(0.8)
        if not other and self.chance(0.6):
            return
        kind = self.rng.choice(("names", "all", "selector", "selector", "both", "neither"))
        if kind in ("names", "both", "neither"):
            names = {wanted if kind != "neither" else "nowhere"}
            names |= {self.rng.choice(tuple(NAMESPACES))} if self.chance(0.3) else set()
            term["namespaces"] = sorted(names)
        if kind == "all":
            term["namespaceSelector"] = {}
        if kind in ("selector", "both"):
            labels = NAMESPACES[wanted] or {"kubernetes.io/metadata.name": wanted}
            term["namespaceSelector"] = self._selector(labels)

    def _label_keys(self, term, field, pod):
        """Adds a key as the API server does: to the field and, if the pod has it, to the selector."""
        selector, labels = term["labelSelector"], pod["metadata"]["labels"]
        used = set(selector.get("matchLabels", {})) | {
            requirement["key"] for requirement in selector.get("matchExpressions", ())}
        free = [key for key in POD_LABELS if key not in used]
        if not free:
            return
        key = self.rng.choice(free)
        term[field] = [key]
        if key in labels:
            selector.setdefault("matchExpressions", []).append(
                {"key": key, "operator": "NotIn" if field == "mismatchLabelKeys" else "In",
                 "values": [labels[key]]})

    def _selector(self, labels, none=0.0):
        """A label selector that mostly matches labels, or so often None or {}."""
        if self.chance(none):
            return self.rng.choice((None, {}))
        selector = {}
        if self.chance(0.5) and labels:
            key = self.rng.choice(sorted(labels))
            selector["matchLabels"] = {key: labels[key]}
        if not selector or self.chance(0.4):
            selector["matchExpressions"] = [self._label_requirement(labels)
                                            for _ in range(self.rng.choices((1, 2), (3, 1))[0])]
        return selector

    def _label_requirement(self, labels):
        operator = self.rng.choice(("In", "NotIn", "Exists", "DoesNotExist"))
        known = sorted(labels) or ["app"]
        key = self.rng.choice(known)
        if operator == "Exists":
            return {"key": key, "operator": operator}
        if operator == "DoesNotExist":
            return {"key": "legacy" if self.chance(0.75) else key, "operator": operator}
        values = POD_LABELS.get(key, ("x", "y", "prod", "test"))
        if operator == "NotIn":
            others = [value for value in values if value != labels.get(key)] or ["none"]
            return {"key": key, "operator": operator, "values": self.some(others, 1, 2)}
        chosen = {self.rng.choice(values)}
        if self.chance(0.8):
            chosen.add(labels.get(key, "none"))
        return {"key": key, "operator": operator, "values": sorted(chosen)}

    # Topology spread

    def _spread(self):
        constraints, used = [], set()
        for aspect, action in (("spreadHard", "DoNotSchedule"), ("spreadSoft", "ScheduleAnyway")):
            if aspect not in self.aspects:
                continue
            for _ in range(self.rng.choices((1, 2, 3), (5, 3, 1))[0]):
                key = self.rng.choices((ZONE, HOST, RACK), (5, 4, 2))[0]
                if (key, action) not in used:
                    used.add((key, action))
                    constraints.append(self._constraint(key, action))
        if constraints:
            self.rng.shuffle(constraints)
            self.pod["spec"]["topologySpreadConstraints"] = constraints

    def _constraint(self, key, action):
        constraint = {"topologyKey": key, "whenUnsatisfiable": action,
                      "maxSkew": self.rng.choice((1, 1, 2, 3))}
        selector = self._selector(self.pod["metadata"]["labels"], 0.46)
        if selector is not None:
            constraint["labelSelector"] = selector
        if action == "DoNotSchedule" and self.chance(0.45):
            constraint["minDomains"] = self.rng.randint(1, 6)
        if self.chance(0.45):
            constraint["nodeAffinityPolicy"] = self.rng.choice(("Honor", "Ignore"))
        if self.chance(0.45):
            constraint["nodeTaintsPolicy"] = self.rng.choice(("Honor", "Honor", "Ignore"))
        if selector is not None and self.chance(0.35):
            self._label_keys(constraint, "matchLabelKeys", self.pod)
        return constraint

    # Ports, images, amounts

    def _ports(self, pod):
        spec, used = pod["spec"], set()
        if self.chance(0.6):
            spec.setdefault("initContainers", []).append(
                {"name": "proxy", "image": "nginx", "restartPolicy": "Always"})
        for container in spec["containers"] + spec.get("initContainers", []):
            for _ in range(self.rng.choices((0, 1, 2), (2, 5, 2))[0]):
                port = {"containerPort": self.rng.choice(PORTS),
                        "protocol": self.rng.choices(("TCP", "UDP", "SCTP"), (6, 3, 1))[0]}
                if self.chance(0.9):
                    port["hostPort"] = port["containerPort"]
                    ip = self.rng.choices((None, "0.0.0.0", "127.0.0.1", "10.0.0.1", "::"),
                                          (5, 3, 4, 2, 0.5))[0]
                    if ip:
                        port["hostIP"] = ip
                key = (port.get("hostPort"), port["protocol"], port.get("hostIP"))
                if key not in used:
                    used.add(key)
                    container.setdefault("ports", []).append(port)

    def _images(self, spec):
        if self.chance(0.65):
            spec.setdefault("initContainers", []).append(
                {"name": "fetch", "image": self.rng.choice(IMAGES)})
        if self.chance(0.6):
            spec["volumes"] = [{"name": "model", "image": {
                "reference": self.rng.choice(IMAGES), "pullPolicy": "IfNotPresent"}}]

    def _demand(self, pod, share):
        """Amounts beyond the usual, each so often as `share` says."""
        spec = pod["spec"]
        requests = spec["containers"][0].setdefault("resources", {}).setdefault("requests", {})
        whole = self.chance(0.45 * share)
        if not whole and self.chance(0.6 * share):
            requests["cpu"] = self.rng.choice(("1", "1500m", "2500m", "4"))
        if not whole and self.chance(0.4 * share):
            requests["memory"] = self.rng.choice(("2Gi", "3500M", "6Gi"))
        if self.chance(0.45 * share):
            requests["ephemeral-storage"] = self.rng.choice(("1Gi", "15Gi", "30Gi"))
        for name, probability in ((GPU, 0.4), (DONGLE, 0.2)):
            if self.chance(probability * share):
                amount = self.rng.choice(("1", "2"))
                requests[name] = amount
                spec["containers"][0]["resources"].setdefault("limits", {})[name] = amount
        if self.chance(0.5 * share):
            spec["overhead"] = {"cpu": self.rng.choice(("250m", "1")), "memory": "300Mi"}
        if self.chance(0.35 * share):
            spec.setdefault("initContainers", []).append(
                {"name": "setup", "image": "nginx", "resources": {"requests": {
                    "cpu": self.rng.choice(("500m", "2")), "memory": "1Gi"}}})
        if self.chance(0.3 * share):
            spec.setdefault("initContainers", []).insert(0, {
                "name": "sidecar", "image": "nginx", "restartPolicy": "Always",
                "resources": {"requests": {"cpu": "300m", "memory": "128Mi"}}})
        if whole:  # above what the containers may ask for in all
            spec["resources"] = {"requests": self.rng.choice((
                {"cpu": "3"}, {"cpu": "3500m", "memory": "4Gi"}, {"memory": "5Gi"}))}


def affinity(spec, kind):
    """The part of a pod's affinity of a kind, made if there is none."""
    return spec.setdefault("affinity", {}).setdefault(kind, {})


def required_terms(pod, kind):
    """The list of a pod's required terms of a kind."""
    return affinity(pod["spec"], kind).setdefault(
        "requiredDuringSchedulingIgnoredDuringExecution", [])


def hash_of(text):
    """A digest that is the same in every run."""
    return f"{sum(ord(letter) * 131 ** i for i, letter in enumerate(text)) % 16 ** 8:08x}" * 8


def hash_size(text):
    """The size of an image in bytes, from 5 MiB to about 2 GiB, by its name."""
    return int(hash_of(text)[:8], 16) // 2 + 5 * MIB
