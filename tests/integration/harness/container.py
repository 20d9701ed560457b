"""What the processes of a pod see, as the kubelet and the cluster's DNS lay it out for them.

KWOK's nodes start no containers. This module does what the kubelet would do with a pod and with the ConfigMaps
and Secrets that it names: environment, command lines, files of mounted volumes, host name. What Kubernetes adds
to every pod (variables of Services, the token of the service account) is left out.
"""

import base64
import re

REFERENCE = re.compile(r"\$(?:\$|\(([-._a-zA-Z][-._a-zA-Z0-9]*)\))")


def expand(text, env):
    """Replaces $(NAME) by the variable of that name, if there is one; $$ is a dollar sign."""
    def one(match):
        if match.group(1) is None:
            return "$"
        return env.get(match.group(1), match.group(0))
    return REFERENCE.sub(one, text)


class Cluster:
    """The objects of one namespace that pods refer to, as the API gives them."""

    def __init__(self, namespace, pods, config_maps, secrets, services):
        self.namespace = namespace
        self.pods = {pod["metadata"]["name"]: pod for pod in pods}
        self.config_maps = {one["metadata"]["name"]: data_of(one) for one in config_maps}
        self.secrets = {one["metadata"]["name"]: data_of(one, encoded="data") for one in secrets}
        self.services = {one["metadata"]["name"]: one["spec"] for one in services}

    # Names

    def host(self, pod):
        """(host name, full name) as they stand in /etc/hosts and /etc/hostname."""
        spec = pod["spec"]
        host = spec.get("hostname", pod["metadata"]["name"])
        subdomain = spec.get("subdomain")
        return host, f"{host}.{subdomain}.{self.namespace}.svc.cluster.local" if subdomain else host

    def names(self):
        """What DNS answers in this namespace: {name: the pods behind it}."""
        found = {}
        for name, service in self.services.items():
            members = [pod for pod in self.pods.values() if "selector" in service and
                       service["selector"].items() <= pod["metadata"].get("labels", {}).items()]
            found[name] = sorted(pod["metadata"]["name"] for pod in members)
            if service.get("clusterIP") != "None":
                continue
            for pod in members:
                if pod["spec"].get("hostname") and pod["spec"].get("subdomain") == name:
                    found[f"{pod['spec']['hostname']}.{name}"] = [pod["metadata"]["name"]]
        return found

    # Containers

    def containers(self, pod, member):
        """The containers of a pod in the member "containers" or "initContainers", one dictionary each."""
        return [self._container(pod, one) for one in pod["spec"].get(member, [])]

    def _container(self, pod, container):
        env = self._env(pod, container)
        lines = {member: [expand(word, env) for word in container[member]]
                 for member in ("command", "args") if member in container}
        files = self.files(pod, container)
        return {"name": container["name"], "image": container["image"], **lines,
                "env": [f"{name}={value}" for name, value in env.items()],
                "ports": [f"{port['containerPort']}/{port.get('protocol', 'TCP')} {port.get('name', '')}".strip()
                          for port in container.get("ports", [])],
                "files": [f"{mode:04o} {path}" for path, (mode, _) in sorted(files.items())]}

    def _env(self, pod, container):
        """The variables by name in the order in which they are set; a later one sees the earlier ones."""
        env = {}
        for one in container.get("env", []):
            source = one.get("valueFrom")
            env.pop(one["name"], None)
            env[one["name"]] = self._source(pod, source) if source else expand(one.get("value", ""), env)
        return env

    def _source(self, pod, source):
        if "configMapKeyRef" in source:
            reference = source["configMapKeyRef"]
            return self.config_maps[reference["name"]][reference["key"]].decode()
        if "secretKeyRef" in source:
            reference = source["secretKeyRef"]
            return self.secrets[reference["name"]][reference["key"]].decode()
        value = pod
        for member in source["fieldRef"]["fieldPath"].split("."):
            value = value[member]
        return value

    def files(self, pod, container):
        """{path: (mode, content)} of the mounted ConfigMaps and Secrets."""
        volumes = {volume["name"]: volume for volume in pod["spec"].get("volumes", [])}
        found = {}
        for mount in container.get("volumeMounts", []):
            inside = self._volume(volumes[mount["name"]])
            below = mount.get("subPath", "")
            for path, entry in inside.items():
                if path == below:
                    found[mount["mountPath"]] = entry
                elif not below or path.startswith(below + "/"):
                    found[f"{mount['mountPath']}/{path[len(below):].lstrip('/')}"] = entry
        return found

    def _volume(self, volume):
        if "configMap" in volume:
            return project(volume["configMap"], self.config_maps[volume["configMap"]["name"]])
        if "secret" in volume:
            return project(volume["secret"], self.secrets[volume["secret"]["secretName"]])
        return {}


def data_of(found, encoded="binaryData"):
    """The entries of a ConfigMap or Secret as bytes; those in the member `encoded` are in Base64."""
    plain = {} if encoded == "data" else found.get("data") or {}
    return {**{key: text.encode() for key, text in plain.items()},
            **{key: base64.b64decode(text) for key, text in (found.get(encoded) or {}).items()}}


def project(source, data):
    """The files of a volume: {path: (mode, content)}. A key that is asked for and missing is a KeyError."""
    mode = source.get("defaultMode", 0o644)
    if "items" not in source:
        return {key: (mode, content) for key, content in data.items()}
    return {item["path"]: (item.get("mode", mode), data[item["key"]]) for item in source["items"]}
