"""Images as the Open Container Initiative lays them out: layers, configuration, manifest, and an archive of them.

The same entries give the same bytes: entries are sorted, owners are root, times are given, and JSON has no spaces.
"""

import hashlib
import io
import json
import tarfile
import time

CONFIG = "application/vnd.oci.image.config.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"


def dump(value):
    """JSON in one form."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def digest(data):
    """The digest of a blob."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def when(seconds):
    """A time as JSON has it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def member(tar, name, mode, seconds, data=None, link=None):
    """Puts one entry into a tar; a name without data and link is a folder."""
    info = tarfile.TarInfo(name)
    info.mode, info.mtime = mode, seconds
    if link is not None:
        info.type, info.linkname = tarfile.SYMTYPE, link
    elif data is None:
        info.type = tarfile.DIRTYPE
    else:
        info.size = len(data)
    tar.addfile(info, io.BytesIO(data) if data is not None else None)


def layer(entries, seconds):
    """A tar of entries (contents.py), all of one time."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for path, entry in sorted(entries.items()):
            member(tar, path.lstrip("/"), entry.mode, seconds, entry.data, entry.link)
    return buffer.getvalue()


class Image:
    """An image of layers [(what it is, tar, tar.gz)], to be known as `name`:`tag`."""

    def __init__(self, name, tag, architecture, seconds, layers, settings):
        self.name, self.tag, self.seconds = name, tag, seconds
        self.layers = layers
        self.config = dump({
            "architecture": architecture, "os": "linux", "created": when(seconds), "config": settings,
            "rootfs": {"type": "layers", "diff_ids": [digest(tar) for _, tar, _ in layers]},
            "history": [{"created": when(seconds), "created_by": "images/build", "comment": text}
                        for text, _, _ in layers]})
        self.manifest = dump({
            "schemaVersion": 2, "mediaType": MANIFEST, "config": self._descriptor(CONFIG, self.config),
            "layers": [self._descriptor(LAYER, packed) for _, _, packed in layers],
            "annotations": settings["Labels"]})
        self.digest = digest(self.manifest)

    @staticmethod
    def _descriptor(kind, data, **more):
        return {"mediaType": kind, "digest": digest(data), "size": len(data), **more}

    def _index(self):
        """The manifest, with the names that engines look for."""
        names = {"io.containerd.image.name": f"docker.io/{self.name}:{self.tag}",
                 "org.opencontainers.image.ref.name": self.tag}
        return dump({"schemaVersion": 2, "mediaType": INDEX,
                     "manifests": [self._descriptor(MANIFEST, self.manifest, annotations=names)]})

    def _older(self):
        """What an engine that knows Docker's own archives alone reads instead."""
        def blob(data):
            return "blobs/sha256/" + digest(data).partition(":")[2]
        return dump([{"Config": blob(self.config), "RepoTags": [f"{self.name}:{self.tag}"],
                      "Layers": [blob(packed) for _, _, packed in self.layers]}])

    def archive(self, path):
        """Writes the image as one file."""
        blobs = [self.config, self.manifest, *(packed for _, _, packed in self.layers)]
        files = {"oci-layout": dump({"imageLayoutVersion": "1.0.0"}), "index.json": self._index(),
                 "manifest.json": self._older(),
                 **{"blobs/sha256/" + digest(blob).partition(":")[2]: blob for blob in blobs}}
        with tarfile.open(path, mode="w", format=tarfile.USTAR_FORMAT) as tar:
            for folder in ("blobs", "blobs/sha256"):
                member(tar, folder, 0o755, self.seconds)
            for name, data in sorted(files.items()):
                member(tar, name, 0o644, self.seconds, data)
