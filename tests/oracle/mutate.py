"""Mutated pod templates: each differs from a base in one place or two.

The API server's own OpenAPI document says which fields there are and of what type, so that fields
no base has are tried too. What a field may get comes from its type, from its name, and from what
the bases have in fields of the same type. The same seed gives the same templates.
"""

import copy
import json
import random
from dataclasses import dataclass

CORE = "io.k8s.api.core.v1."
ROOT_TYPE = CORE + "PodTemplateSpec"
REF = "#/components/schemas/"
# Of metadata nothing but labels and annotations is looked at.
SKIPPED_FIELDS = {"managedFields", "creationTimestamp", "deletionTimestamp", "generation", "uid",
                  "deletionGracePeriodSeconds", "selfLink", "resourceVersion"}

TEXTS = ["", "a", "Wrong", "a" * 63, "a" * 64, "a" * 253, "a" * 254, "-a", "a-", "a.b", "a..b",
         "a_b", "a b", "A", "1", "a/b", "a/b/c", "/a", "/a/", "a/", "..", ".", "...", "../a",
         "a/../b", "a/..b", "..a", "a:b", "a:", "\u00e4", " a", "a\n", "example.com/a", "1.2.3.4",
         "Example.com/a", "example.com/" + "a" * 63, "example.com/" + "a" * 64, "*", "a=b", "a$b"]
# For fields whose name ends so, in lower case.
TEXTS_BY_NAME = {
    "path": ["/", "//", "a//b", "./a", "a/.", "C:\\a", "/a/../b", "metadata.name", "..a/b",
             "metadata.labels", "metadata.labels['a']", "metadata.labels['']", "metadata.uid",
             "metadata.annotations['A/b']", "metadata.annotations['a']['b']", "spec.nodeName",
             "metadata.labels['a b']", "status.hostIPs", "status.podIPs", "spec.schedulerName",
             "metadata.namespace", "metadata.annotations[a]", "metadata.generation"],
    "ip": ["1.2.3.256", "01.2.3.4", "::1", "::", "::ffff:1.2.3.4", "fe80::1%eth0", "1.2.3", "0.0.0.0",
           "127.0.0.1", "224.0.0.1", "fe80::1", "2001:db8::1", "169.254.1.1"],
    "ips": [], "operator": ["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Equal", "in"],
    "effect": ["NoSchedule", "PreferNoSchedule", "NoExecute"],
    "policy": ["Always", "Never", "OnFailure", "IfNotPresent", "ClusterFirst", "None", "Default",
               "ClusterFirstWithHostNet", "Honor", "Ignore", "File", "NotRequired", "Merge",
               "RestartContainer", "PreemptLowerPriority", "OnRootMismatch", "Strict", "Recursive",
               "MountOption"],
    "resource": ["limits.cpu", "limits.memory", "limits.ephemeral-storage", "requests.cpu",
                 "requests.memory", "requests.ephemeral-storage", "limits.hugepages-2Mi", "cpu",
                 "requests.hugepages-1Gi", "limits.hugepages-", "limits.example.com/gpu"],
    "signal": ["SIGTERM", "SIGKILL", "SIGRTMIN+1", "SIGRTMAX", "TERM", "SIGUSR3"],
    "type": ["Localhost", "RuntimeDefault", "Unconfined", "Directory", "File", "Socket", "BlockDevice",
             "CharDevice", "FileOrCreate", "DirectoryOrCreate"],
    "kind": ["Shared", "Dedicated", "Managed", "PersistentVolumeClaim", "VolumeSnapshot"],
    "mode": ["Filesystem", "Block", "None", "ReadOnly", "ReadWrite", "ThickProvisioned"],
    "medium": ["Memory", "HugePages", "HugePages-2Mi", "HugePages-1Gi", "HugePages-3", "HugePages-"],
    "protocol": ["TCP", "UDP", "SCTP", "tcp", "HTTP"],
    "scheme": ["HTTP", "HTTPS", "http"],
    "iqn": ["iqn.2001-04.com.example", "eui.0123456789abcdef", "naa.0123456789abcdef", "eui.1",
            "naa.1", "iqn.x"],
    "uri": ["https://example.com/d.vhd", "/subscriptions/1", "http://example.com"],
    "registry": ["a:1", "a:1,b:2", "a,b", ":1", "a:"],
    "portal": ["a:1", "10.0.0.1"],
    "action": ["Restart", "RestartAllContainers"],
    "unsatisfiable": ["DoNotSchedule", "ScheduleAnyway"],
    "unsatisfiableconstraint": [],
    "key": ["metadata.name", "metadata.namespace", "CAPS", "a-b_c.d", "=", "..a", "a\\b"],
    "value": ["true", "$(X)", "a" * 1000],
    "name": ["main", "metadata.name", "x" * 15, "x" * 16, "123", "1a", "a--b", "kernel.shm",
             "net.a", "net/ipv4/tcp.x", "fs.mqueue.a", "cpu", "memory", "hugepages-2Mi", "requests.cpu",
             "windows", "linux", "NT AUTHORITY\\SYSTEM", "dom\\user", "a\\b\\c", "u" * 104, "u" * 105,
             "user.", "example.com", "$(A)", "A=B", "1A", "A B", "X-Header", "X Header", "system-node-critical"],
    "mountpropagation": ["None", "HostToContainer", "Bidirectional"],
    "recursivereadonly": ["Disabled", "IfPossible", "Enabled"],
    "procmount": ["Default", "Unmasked"],
    "storagemode": ["ThinProvisioned", "ThickProvisioned"],
    "apiversion": ["v1", "v2", "apps/v1"],
    "domain": [], "hostnameoverride": ["a.b.c", "a" * 64 + ".b", "A.b"],
    "keytype": ["RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519", "RSA2048"],
    "signername": ["example.com/s", "kubernetes.io/s", "a", "example.com/"],
    "gmsacredentialspec": ["a" * (64 << 10), "a" * ((64 << 10) + 1)],
    "prefix": ["P_", "1", "a=b", "a-b"], "image": [" busybox", "busybox ", "a@sha256:1"],
    "group": ["storage.k8s.io", "Upper.io"],
    "localhostprofile": ["/abs", "a/../b", " x", "a" * 4095, "a" * 4096],
    "servicename": [], "service": ["svc"],
}
NUMBERS = {"int32": [0, 1, -1, 2, 100, 101, 255, 256, 511, 512, 65535, 65536, 2147483647,
                     -2147483648],
           "int64": [0, 1, -1, 2, 100, 599, 600, 3599, 3600, 4294967295, 4294967296, 2147483647,
                     2147483648, 9223372036854775807, -9223372036854775808]}
# How many of the random templates get two mutations; half of these in one object.
TWO_SHARE = 0.5
# The API server cannot decode these, so there is little to compare.
WRONG_SHARE = 0.05
WRONG_TYPE = {"int32": 2147483648, "int64": "1", "text": 1, "bool": "true", "object": "x", "list": {},
              "map": "x", "quantity": "x", "intstr": 2147483648}
QUANTITIES = ["0", "1", "2", "-1", "1m", "1500m", "0.5", "1.5", "1Gi", "2Mi", "3Mi", "4Mi", "1e3",
              "100k", "1E", "9223372036854775807", "1n", "0.1m", 1, 3]
INT_OR_TEXT = [0, 1, -1, 65535, 65536, "http", "main", "", "80", "x" * 15, "x" * 16, "A", "1a",
               "a--b", "-a", "a_b", "http "]
RESOURCE_NAMES = ["cpu", "memory", "storage", "pods", "ephemeral-storage", "hugepages-2Mi",
                  "hugepages-1Gi", "hugepages-3Mi", "hugepages-", "hugepages-x", "gpu",
                  "example.com/gpu", "kubernetes.io/x", "a.kubernetes.io/x", "requests.cpu",
                  "requests.example.com/x", "limits.cpu", "count/pods", "attachable-volumes-x",
                  "example.com/" + "g" * 63, "example.com/" + "g" * 64, "Example.com/gpu", "/gpu", "",
                  "example.com/", "example.com/a/b", "g pu", "cpu ", "example.com/" + "a" * 55,
                  "node.example.com/x", "services", "requests.storage"]
KEYS = ["a", "", "A", "a b", "a/b", "a/b/c", "/a", "a/", "Example.com/a", "example.com/a", "a" * 63,
        "a" * 64, "example.com/" + "a" * 64, "-a", "a_b.c", "\u00e4"]
ANNOTATIONS = {
    "kubernetes.io/config.mirror": ["x"],
    "controller.kubernetes.io/pod-deletion-cost": ["0", "", "-2147483648", "2147483648", "+1", "01",
                                                   "a", "-0"],
    "scheduler.alpha.kubernetes.io/tolerations": ["[]", "x", "[{}]", '[{"key":"a","operator":"X"}]',
                                                  '[{"key":"a","value":"b"}]'],
    "seccomp.security.alpha.kubernetes.io/pod": ["runtime/default", "unconfined", "localhost/a",
                                                 "localhost//a", "localhost/../a", "x",
                                                 "docker/default"],
    "container.seccomp.security.alpha.kubernetes.io/main": ["runtime/default", "x"],
    "container.apparmor.security.beta.kubernetes.io/main": ["runtime/default", "unconfined",
                                                            "localhost/a", "localhost/", "x", ""],
    "container.apparmor.security.beta.kubernetes.io/nobody": ["runtime/default", "x"],
    "example.com/big": ["a" * (255 << 10), "a" * (256 << 10)],
}


@dataclass(frozen=True)
class Kind:
    """The type of a value: `what` is object, list, map, text, int32, ...; `of` a type or an item."""

    what: str
    of: object = None


class Schema:
    """The types of an OpenAPI v3 document."""

    def __init__(self, document):
        self.schemas = document["components"]["schemas"]

    def kind(self, node):
        """The Kind of a schema node."""
        node = node.get("allOf", [node])[0]
        if "$ref" in node:
            return self._named(node["$ref"].removeprefix(REF))
        if node.get("type") == "array":
            return Kind("list", self.kind(node["items"]))
        if node.get("type") == "object":
            return Kind("map", self.kind(node["additionalProperties"]))
        return Kind({"integer": node.get("format", "int32"), "boolean": "bool"}.get(
            node["type"], "text"))

    def _named(self, name):
        schema = self.schemas[name]
        if "properties" in schema:
            return Kind("object", name)
        return Kind({"Quantity": "quantity", "IntOrString": "intstr"}.get(name.split(".")[-1],
                                                                         "other"))

    def fields(self, name):
        """(name, Kind) of each field of a type."""
        return [(field, self.kind(node))
                for field, node in sorted(self.schemas[name]["properties"].items())
                if field not in SKIPPED_FIELDS]


@dataclass(frozen=True)
class Site:
    """A place in a template: `present` or a field that is absent."""

    path: tuple
    kind: Kind
    owner: str      # type and field that it belongs to
    field: str      # name of the field
    present: bool


def sites(schema, value, kind, path=(), owner="", field=""):
    """Every place in a value, itself first."""
    if path:
        yield Site(path, kind, owner, field, True)
    if kind.what == "object" and isinstance(value, dict):
        for name, inner in schema.fields(kind.of):
            where = f"{kind.of.split('.')[-1]}.{name}"
            if value.get(name) is not None:
                yield from sites(schema, value[name], inner, (*path, name), where, name)
            else:
                yield Site((*path, name), inner, where, name, False)
    elif kind.what in ("list", "map") and isinstance(value, (list, dict)):
        keys = range(len(value)) if kind.what == "list" else sorted(value)
        for key in keys:
            yield from sites(schema, value[key], kind.of, (*path, key), owner + "[]", field)


def look_up(tree, path):
    """The value at a path; KeyError, IndexError or TypeError if there is none."""
    for step in path:
        tree = tree[step]
    return tree


@dataclass
class Mutation:
    """Another value at a site; DELETE takes it away."""

    site: Site
    value: object
    essential: bool = False     # tried in every run

    @property
    def key(self):
        """What makes two mutations the same but for where in the bases they are."""
        return self.site.owner, self.site.present, json.dumps(self.value)

    def apply(self, tree):
        """Changes the tree; False if the place is gone."""
        try:
            parent = look_up(tree, self.site.path[:-1])
            step = self.site.path[-1]
            if isinstance(parent, list) and step >= len(parent):
                return False
            if self.value == DELETE:
                del parent[step]
            else:
                parent[step] = copy.deepcopy(self.value)
            return True
        except (KeyError, IndexError, TypeError):
            return False

    def __str__(self):
        shown = "(deleted)" if self.value == DELETE else json.dumps(self.value)
        shown = shown if len(shown) <= 200 else f"{shown[:200]}... ({len(shown)} bytes)"
        path = "".join(f"[{s}]" if isinstance(s, int) else f".{s}" for s in self.site.path)
        return f"{path[1:]} = {shown}"


DELETE = "\0delete"


class Generator:
    """All mutations of the bases, and templates drawn from them."""

    def __init__(self, schema, bases, seed):
        self.schema = schema
        self.bases = {name: make() for name, make in bases.items()}
        self.random = random.Random(seed)
        self.samples = {}
        for name in self.bases:
            for site in self._sites(name):
                if site.present:
                    found = self.samples.setdefault(site.owner, [])
                    value = look_up(self.bases[name], site.path)
                    if value not in found:
                        found.append(value)
        self.mutations = {name: [m for site in self._sites(name) for m in self._of(site, name)]
                          for name in self.bases}
        self.by_field = {}
        for name, mutations in self.mutations.items():
            pools = {}
            for mutation in mutations:
                pools.setdefault(mutation.site.owner, []).append(mutation)
            self.by_field[name] = list(pools.values())
        self.near = {}
        for name, mutations in self.mutations.items():
            for mutation in mutations:
                self.near.setdefault((name, mutation.site.path[:-1]), []).append(mutation)

    def _sites(self, base):
        return sites(self.schema, self.bases[base], Kind("object", ROOT_TYPE))

    def _of(self, site, base):
        """The mutations of one site."""
        seen = []
        if site.present:
            seen += [Mutation(site, None, True)]
            seen += [Mutation(site, DELETE, True)]
        old = look_up(self.bases[base], site.path) if site.present else None
        for essential, values in ((True, self._main_values(site, old)),
                                  (False, self._more_values(site))):
            seen += [Mutation(site, value, essential) for value in values if value != old]
        return seen

    def _main_values(self, site, old):
        """Values that are always tried at a place of this kind."""
        what = site.kind.what
        yield from self.samples.get(site.owner, [])[:3]
        if what == "text":
            yield from ("", "Wrong", "a b", "a" * 64, "a" * 254)
        elif what in NUMBERS:
            yield from (0, -1, NUMBERS[what][-2])
        elif what == "bool":
            yield from (True, False)
        elif what == "quantity":
            yield from ("-1", "0", "0.5", "1Gi")
        elif what == "intstr":
            yield from (0, 65536, "", "a b")
        elif what == "object":
            yield {}
        elif what in ("list", "map"):
            yield from self._collections(site, old)

    def _collections(self, site, old):
        """Lists and maps: empty, with a null or an empty item, one item twice."""
        item = site.kind.of
        empty = {"text": "", "object": {}, "quantity": "1"}.get(item.what, 1)
        if site.kind.what == "map":
            yield {}
            for key in self._keys(site):
                yield {**(old or {}), key: empty}
            return
        yield from ([], [empty], [*(old or []), empty])
        if old:
            yield [*old, old[0]]

    def _keys(self, site):
        return RESOURCE_NAMES if site.kind.of.what == "quantity" else KEYS

    def _more_values(self, site):
        """Values that are tried now and then."""
        what = site.kind.what
        if self.random.random() < WRONG_SHARE:
            yield WRONG_TYPE.get(what, [1])
        yield from self.samples.get(site.owner, [])[3:]
        if what == "text":
            yield from TEXTS
            lower = site.field.lower()
            for end, texts in TEXTS_BY_NAME.items():
                if lower.endswith(end):
                    yield from texts
        elif what in NUMBERS:
            yield from NUMBERS[what]
        elif what == "quantity":
            yield from QUANTITIES
        elif what == "intstr":
            yield from INT_OR_TEXT
        elif what == "list":
            yield [None]
            if site.kind.of.what == "text":
                yield from ([text] for text in TEXTS)
                yield from ([f"10.0.0.{n}" for n in range(count)] for count in (3, 4))
                yield from ([f"a{n}.example.com" for n in range(count)] for count in (32, 33))
                yield from (["a" * size, *[f"{n:02}" + "b" * 61 for n in range(31)]]
                            for size in (32, 33))
        elif what == "map":
            yield from self._maps(site)

    def _maps(self, site):
        keys = self._keys(site)
        values = QUANTITIES if site.kind.of.what == "quantity" else TEXTS
        for key in keys[:12]:
            for value in values:
                yield {key: value}
        if site.field == "annotations":
            for key, texts in ANNOTATIONS.items():
                yield from ({key: text} for text in texts)

    def templates(self, count):
        """Yields (description, template) count times: what is essential, then a random choice."""
        seen = set()
        made = 0
        for base, mutation in self._singles():
            if made == count:
                return
            tree = copy.deepcopy(self.bases[base])
            if mutation.apply(tree):
                made += 1
                seen.add(json.dumps(tree))
                yield f"{base}: {mutation}", tree
        names = sorted(self.bases)
        while made < count:
            base = self.random.choice(names)
            chosen = [self._any(base)]
            if self.random.random() < TWO_SHARE:
                chosen.append(self._any(base) if self.random.random() < 0.5
                              else self.random.choice(self.near[base, chosen[0].site.path[:-1]]))
            tree = copy.deepcopy(self.bases[base])
            if not all([mutation.apply(tree) for mutation in chosen]):
                continue
            text = json.dumps(tree)
            if text in seen:
                continue
            seen.add(text)
            made += 1
            yield f"{base}: {'; '.join(map(str, chosen))}", tree

    def _any(self, base):
        """A random mutation: every field is as likely, however many values there are for it."""
        return self.random.choice(self.random.choice(self.by_field[base]))

    def _singles(self):
        """The essential mutations, each once although several bases may have its place."""
        pools = {}
        for base, mutations in self.mutations.items():
            for mutation in mutations:
                if mutation.essential:
                    pools.setdefault(mutation.key, []).append((base, mutation))
        for key in sorted(pools):
            yield self.random.choice(pools[key])
