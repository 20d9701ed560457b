"""The volumes of a pod, as folders that its containers mount; kept up to date while it runs.

As with a kubelet, the files of a volume are symbolic links through "..data", which one rename turns to the next
version: a reader never sees half of it.
"""

import os
import shutil
import time
from datetime import datetime, timezone
from pathlib import Path

from harness.container import data_of, project

from . import linux

# Of its life a token has so much behind it when it is replaced.
RENEW_AT = 0.8


class NotYet(Exception):
    """Something that a volume needs is not there yet."""


def field(pod, path):
    """The field of a pod that the downward API names."""
    value = pod
    for member in path.split("."):
        value = value[member]
    return str(value)


class Token:
    """A token of the pod's service account, bound to the pod, and renewed in time."""

    def __init__(self, plane, pod, source):
        self._plane, self._source, self._metadata = plane, source, pod["metadata"]
        self._account = pod["spec"]["serviceAccountName"]
        self._text, self._renew_at = None, 0.0

    def text(self):
        """The token to use now."""
        if time.time() >= self._renew_at:
            self._request()
        return self._text

    def _request(self):
        seconds = self._source.get("expirationSeconds", 3600)
        audience = self._source.get("audience")
        path = f"/api/v1/namespaces/{self._metadata['namespace']}/serviceaccounts/{self._account}/token"
        status = self._plane.request("POST", path, {
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {
                "audiences": [audience] if audience else [], "expirationSeconds": seconds, "boundObjectRef": {
                    "apiVersion": "v1", "kind": "Pod", "name": self._metadata["name"],
                    "uid": self._metadata["uid"]}}})["status"]
        expires = datetime.strptime(status["expirationTimestamp"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc)
        self._text = status["token"]
        self._renew_at = time.time() + RENEW_AT * (expires.timestamp() - time.time())


class Volume:
    """One volume in a folder. `configmaps` and `secrets` are functions that give an object by its name, or None."""

    def __init__(self, folder, spec, pod, plane, configmaps, secrets):
        self.folder = folder
        self._pod, self._plane = pod, plane
        self._objects = {"configMap": configmaps, "secret": secrets}
        self._tokens = {}
        self._kind, = spec.keys() - {"name"}
        self._spec = spec[self._kind]
        self._owner = pod["spec"].get("securityContext", {}).get("runAsUser", 0)
        self._written, self._version = None, 0
        folder.mkdir(parents=True)

    def refresh(self):
        """Brings the files up to date. NotYet if what they are made of is missing."""
        if self._kind == "emptyDir":
            self.folder.chmod(0o777)
            return
        content = self._content(self._kind, self._spec)
        if content != self._written:
            self._write(content)
            self._written = content

    def _content(self, kind, source):
        """{path: (mode, bytes)} of one source."""
        if kind == "projected":
            return {path: entry for one in source["sources"] for member, inner in one.items()
                    for path, entry in self._content(member, {"defaultMode": source["defaultMode"], **inner}).items()}
        if kind == "serviceAccountToken":
            token = self._tokens.setdefault(source["path"], Token(self._plane, self._pod, source))
            return {source["path"]: (0o600, token.text().encode())}
        if kind == "downwardAPI":
            return {item["path"]: (source["defaultMode"], field(self._pod, item["fieldRef"]["fieldPath"]).encode())
                    for item in source["items"]}
        if kind in self._objects:
            return self._of_object(kind, source)
        raise ValueError(f"volumes of the kind {kind} are not known here")

    def _of_object(self, kind, source):
        name = source.get("secretName") or source["name"]
        found = self._objects[kind](name)
        if found is None:
            if source.get("optional"):
                return {}
            raise NotYet(f"{kind} {name} is not there")
        return project(source, data_of(found, "data" if kind == "secret" else "binaryData"))

    def _write(self, content):
        self._version += 1
        folder, old = self.folder / f"..{self._version}", self.folder / f"..{self._version - 1}"
        for path, (mode, data) in content.items():
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
            file.chmod(mode)
            if linux.mapped(self._owner):
                os.chown(file, self._owner, -1)
        self._turn("..data", folder.name)
        tops = {Path(path).parts[0] for path in content}
        for top in tops:
            if not (self.folder / top).is_symlink():
                (self.folder / top).symlink_to(f"..data/{top}")
        for link in self.folder.iterdir():
            if not link.name.startswith("..") and link.name not in tops:
                link.unlink()
        shutil.rmtree(old, ignore_errors=True)

    def _turn(self, link, target):
        part = self.folder / "..part"
        part.symlink_to(target)
        part.rename(self.folder / link)
