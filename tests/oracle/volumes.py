"""Adds storage to a case: classes, drivers of nodes, volumes, claims, and pods that use them.

Every volume of a case has a size of its own, and so has every claim: of several that would do, the
smallest is taken, and which one it is must not be left to chance.
"""

ZONE = "topology.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"
OLD_ZONE = "failure-domain.beta.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"
DRIVER = "csi.example.com"
OTHER_DRIVER = "other.example.com"
BOUND = {"pv.kubernetes.io/bind-completed": "yes"}
SELECTED = "volume.kubernetes.io/selected-node"

# How often a volume of the pod is of each kind.
KINDS = {"boundAffinity": 5, "boundZone": 7, "local": 7, "dynamic": 3, "selected": 2.5, "zonal": 3,
         "once": 5, "ephemeral": 3, "disk": 6, "prebound": 2.5}
# Those with which no node will do, and the share of pods that have none; the others have one.
HOPELESS = {"immediate": 2, "missing": 2, "lost": 1, "noVolume": 1, "noClass": 2, "deleted": 2}
HOPE = 0.7


def add_volumes(rng, case):
    """Gives the pod one to three volumes, and the cluster what belongs to them."""
    Storage(rng, case).make()


def term(key, values, operator="In"):
    """The node affinity of a volume for some values of a label."""
    return {"required": {"nodeSelectorTerms": [
        {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}]}}


class Storage:
    """Makes the storage of one case."""

    def __init__(self, rng, case):
        self.rng, self.case = rng, case
        self.pod = case["pod"]
        self.nodes = case["nodes"]
        self.sizes = rng.sample(range(2, 120), 60)
        self.numbers = iter(range(1000))

    def chance(self, probability):
        """True so often."""
        return self.rng.random() < probability

    def make(self):
        """Adds it all."""
        self.case["storageClasses"] = [
            self._class("local", "kubernetes.io/no-provisioner", "WaitForFirstConsumer"),
            self._class("wait", DRIVER, "WaitForFirstConsumer"),
            self._class("zonal", DRIVER, "WaitForFirstConsumer", self.rng.sample(
                ("z1", "z2", "z3"), self.rng.randint(1, 2))),
            self._class("now", DRIVER, "Immediate")]
        self.case["csiNodes"] = [self._csi_node(node["metadata"]["name"])
                                 for node in self.nodes if self.chance(0.85)]
        for _ in range(self.rng.randint(0, 5)):
            self._free_volume()
        self._others()
        kinds = self.rng.choices(list(KINDS), list(KINDS.values()),
                                 k=self.rng.choices((1, 2, 3), (5, 3, 1))[0])
        if not self.chance(HOPE):
            kinds.insert(self.rng.randint(0, len(kinds)), self.rng.choices(
                list(HOPELESS), list(HOPELESS.values()))[0])
        for kind in kinds:
            getattr(self, "_use_" + kind)()

    # Objects

    def _class(self, name, provisioner, mode, zones=None):
        made = {"metadata": {"name": name}, "provisioner": provisioner,
                "reclaimPolicy": "Delete", "volumeBindingMode": mode}
        if zones:
            made["allowedTopologies"] = [
                {"matchLabelExpressions": [{"key": ZONE, "values": sorted(zones)}]}]
        return made

    def _csi_node(self, name):
        driver = {"name": DRIVER, "nodeID": name, "topologyKeys": None}
        if self.chance(0.75):
            driver["allocatable"] = {"count": self.rng.randint(0, 3)}
        drivers = [driver] if self.chance(0.9) else []
        if self.chance(0.3):
            drivers.append({"name": OTHER_DRIVER, "nodeID": name, "topologyKeys": None,
                            "allocatable": {"count": 1}})
        return {"metadata": {"name": name}, "spec": {"drivers": drivers}}

    def _volume(self, storage_class, phase, **spec):
        number = next(self.numbers)
        volume = {"metadata": {"name": f"pv{number}", "uid": f"uid-pv{number}", "labels": {}},
                  "spec": {"capacity": {"storage": f"{self.sizes.pop()}Gi"},
                           "accessModes": ["ReadWriteOnce"], "volumeMode": "Filesystem",
                           "persistentVolumeReclaimPolicy": "Retain",
                           "storageClassName": storage_class,
                           "csi": {"driver": DRIVER, "volumeHandle": f"handle-{number}"}, **spec},
                  "status": {"phase": phase}}
        self.case["persistentVolumes"].append(volume)
        return volume

    def _claim(self, storage_class, name=None, mode="ReadWriteOnce", **spec):
        number = next(self.numbers)
        claim = {"metadata": {"name": name or f"claim{number}",
                              "namespace": self.pod["metadata"]["namespace"],
                              "uid": f"uid-claim{number}"},
                 "spec": {"accessModes": [mode], "volumeMode": "Filesystem",
                          "resources": {"requests": {"storage": f"{self.sizes.pop()}Gi"}},
                          "storageClassName": storage_class, **spec},
                 "status": {"phase": "Pending"}}
        self.case["persistentVolumeClaims"].append(claim)
        return claim

    def _bind(self, claim, volume):
        claim["spec"]["volumeName"] = volume["metadata"]["name"]
        claim["metadata"]["annotations"] = dict(BOUND)
        claim["status"]["phase"] = "Bound"
        volume["spec"]["claimRef"] = {"kind": "PersistentVolumeClaim", "apiVersion": "v1",
                                      **{key: claim["metadata"][key]
                                         for key in ("name", "namespace", "uid")}}
        volume["status"]["phase"] = "Bound"

    def _mount(self, pod, source):
        volumes = pod["spec"].setdefault("volumes", [])
        volumes.append({"name": f"v{len(volumes)}", **source})

    def _use(self, claim, pod=None):
        self._mount(pod or self.pod, {"persistentVolumeClaim": {
            "claimName": claim["metadata"]["name"]}})

    def _neighbours(self):
        """The pods of the pod's namespace that run."""
        wanted = self.pod["metadata"]["namespace"]
        return [pod for pod in self.case["pods"] if pod["metadata"]["namespace"] == wanted]

    def _reachable(self):
        """A node affinity that some nodes match."""
        key = self.rng.choice((ZONE, HOST, HOST))
        values = sorted({node["metadata"]["labels"].get(key, "none") for node in self.nodes})
        wanted = self.rng.sample(values, self.rng.randint(1, max(1, len(values) // 2)))
        return term(key, sorted(wanted), "NotIn" if self.chance(0.15) else "In")

    # The cluster's own

    def _free_volume(self):
        volume = self._volume("local", self.rng.choices(
            ("Available", "Released"), (6, 1))[0], local={"path": "/mnt/disk"},
            nodeAffinity=self._reachable())
        del volume["spec"]["csi"]
        if self.chance(0.4):
            volume["metadata"]["labels"]["speed"] = self.rng.choice(("fast", "slow"))
        if self.chance(0.3):
            volume["spec"]["accessModes"] = ["ReadWriteOnce", "ReadOnlyMany"]
        if self.chance(0.12):
            volume["spec"]["volumeMode"] = "Block"
        if self.chance(0.12):
            volume["spec"]["claimRef"] = {"kind": "PersistentVolumeClaim", "apiVersion": "v1",
                                          "name": "somebody", "namespace": "default"}

    def _others(self):
        """Claims of pods that run, which count against the limits of nodes."""
        for pod in self._neighbours():
            if self.chance(0.5):
                claim = self._claim("wait")
                self._bind(claim, self._volume("wait", "Bound"))
                self._use(claim, pod)
            if not self.sizes[10:]:
                return

    # What a volume of the pod may be

    def _use_boundAffinity(self):
        claim = self._claim("wait")
        self._bind(claim, self._volume("wait", "Bound", nodeAffinity=self._reachable()))
        self._use(claim)
        if self._neighbours() and self.chance(0.3):
            self._use(claim, self.rng.choice(self._neighbours()))

    def _use_boundZone(self):
        claim = self._claim("now")
        volume = self._volume("now", "Bound")
        zone = self.rng.choice(("z1", "z2", "z3", "z1__z2", "z2__z3"))
        volume["metadata"]["labels"][OLD_ZONE if self.chance(0.4) else ZONE] = zone
        if self.chance(0.2):
            volume["metadata"]["labels"][REGION] = self.rng.choice(("r1", "r2"))
        self._bind(claim, volume)
        self._use(claim)

    def _use_local(self):
        claim = self._claim("local")
        if self.chance(0.35):
            claim["spec"]["selector"] = {"matchLabels": {"speed": self.rng.choice(
                ("fast", "slow"))}}
        if self.chance(0.1):
            claim["spec"]["accessModes"] = ["ReadOnlyMany"]
        if self.chance(0.1):
            claim["spec"]["volumeMode"] = "Block"
        if self.chance(0.75):
            claim["spec"]["resources"]["requests"]["storage"] = f"{next(self.numbers) + 1}Mi"
        self._use(claim)

    def _use_dynamic(self):
        self._use(self._claim("wait"))

    def _use_selected(self):
        claim = self._claim("wait")
        claim["metadata"]["annotations"] = {
            SELECTED: self.rng.choice(self.nodes)["metadata"]["name"]}
        self._use(claim)

    def _use_zonal(self):
        self._use(self._claim("zonal"))

    def _use_once(self):
        claim = self._claim("wait", mode="ReadWriteOncePod")
        self._bind(claim, self._volume("wait", "Bound", accessModes=["ReadWriteOncePod"]))
        self._use(claim)
        if self._neighbours() and self.chance(0.7):
            self._use(claim, self.rng.choice(self._neighbours()))

    def _use_ephemeral(self):
        name = f"v{len(self.pod['spec'].get('volumes', []))}"
        storage_class = self.rng.choice(("wait", "local", "zonal"))
        self._mount(self.pod, {"ephemeral": {"volumeClaimTemplate": {"spec": {
            "accessModes": ["ReadWriteOnce"], "storageClassName": storage_class,
            "volumeMode": "Filesystem", "resources": {"requests": {"storage": "1Gi"}}}}}})
        if self.chance(0.12):
            return
        claim = self._claim(storage_class, f"{self.pod['metadata']['name']}-{name}")
        owner = self.pod["metadata"]
        if self.chance(0.92):
            claim["metadata"]["ownerReferences"] = [
                {"apiVersion": "v1", "kind": "Pod", "name": owner["name"], "uid": owner["uid"],
                 "controller": True, "blockOwnerDeletion": True}]

    def _use_disk(self):
        """A disk that is named in the pod itself, often one that is in use."""
        def disk():
            read_only = self.chance(0.4)
            return self.rng.choice((
                {"gcePersistentDisk": {"pdName": "disk", "readOnly": read_only}},
                {"awsElasticBlockStore": {"volumeID": "vol-1", "readOnly": read_only}},
                {"iscsi": {"targetPortal": "10.0.0.9:3260", "iqn": "iqn.2001-04.com.example:one",
                           "lun": self.rng.randint(0, 1), "readOnly": read_only}},
                {"rbd": {"monitors": self.rng.sample(("m1", "m2", "m3"), 2), "pool": "rbd",
                         "image": self.rng.choice(("one", "two")), "readOnly": read_only}}))
        self._mount(self.pod, disk())
        for pod in self.case["pods"]:
            if self.chance(0.4):
                self._mount(pod, disk())

    def _use_immediate(self):
        self._use(self._claim("now"))

    def _use_missing(self):
        self._mount(self.pod, {"persistentVolumeClaim": {"claimName": "nobody"}})

    def _use_lost(self):
        claim = self._claim("wait", volumeName="gone")
        claim["metadata"]["annotations"] = dict(BOUND)
        claim["status"]["phase"] = "Lost"
        self._use(claim)

    def _use_noVolume(self):
        claim = self._claim("wait", volumeName="gone")
        claim["metadata"]["annotations"] = dict(BOUND)
        claim["status"]["phase"] = "Bound"
        self._use(claim)

    def _use_noClass(self):
        self._use(self._claim(self.rng.choice(("", "unknown"))))

    def _use_deleted(self):
        claim = self._claim("wait")
        self._bind(claim, self._volume("wait", "Bound"))
        claim["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        claim["metadata"]["finalizers"] = ["kubernetes.io/pvc-protection"]
        self._use(claim)

    def _use_prebound(self):
        """A volume that an administrator has meant for the claim."""
        claim = self._claim("local")
        claim["spec"]["resources"]["requests"]["storage"] = f"{next(self.numbers) + 1}Mi"
        volume = self._volume("local", "Available", local={"path": "/mnt/own"},
                              nodeAffinity=self._reachable())
        del volume["spec"]["csi"]
        volume["spec"]["claimRef"] = {"kind": "PersistentVolumeClaim", "apiVersion": "v1",
                                      "name": claim["metadata"]["name"],
                                      "namespace": claim["metadata"]["namespace"]}
        self._use(claim)
