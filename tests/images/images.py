"""Images as the tests see them: built, unpacked with skopeo and umoci, started as a container runtime would."""

import json
import os
import shlex
import shutil
import subprocess
import tarfile
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PROGRAMS = ("pumice-webhook", "pumice-controller", "pumice-scheduler")
SOURCE = "https://git.example.org/pumice"
USER = 65532


@dataclass
class Image:
    """One image: what images/build printed, and where it is."""
    program: str
    digest: str
    size: int
    archive: Path
    bundle: Path = None
    blobs: dict = field(default_factory=dict)

    @property
    def sbom(self):
        """The file that says what is in it."""
        return self.archive.with_suffix(".spdx.json")

    @property
    def rootfs(self):
        """Its unpacked files."""
        return self.bundle / "rootfs"

    def blob(self, digest):
        """A blob of the archive, as bytes."""
        with tarfile.open(self.archive) as archive:
            return archive.extractfile("blobs/sha256/" + digest.removeprefix("sha256:")).read()

    def manifest(self):
        """The manifest."""
        return json.loads(self.blob(self.digest))

    def config(self):
        """The configuration."""
        return json.loads(self.blob(self.manifest()["config"]["digest"]))


def run(*words, **options):
    """A command that must end well; what it prints."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, f"{' '.join(map(str, words))} ended with {done.returncode}: {done.stderr[-3000:]}"
    return done.stdout


def build(out, *arguments, project=ROOT, **options):
    """Runs images/build; returns {program: Image}."""
    printed = run(project / "images" / "build", "--out", out, "--source", SOURCE, *arguments, **options)
    found = [line.split(" ", 3) for line in printed.splitlines()]
    return {name: Image(name, digest, int(size), Path(path)) for name, digest, size, path in found}


def unpack(image, folder):
    """Unpacks an image into a bundle of the folder: root file system and configuration of a runtime."""
    layout = folder / "layout"
    run("skopeo", "--insecure-policy", "copy", "--quiet", f"oci-archive:{image.archive}",
        f"oci:{layout}:{image.program}")
    image.bundle = folder / image.program
    rootless = [] if os.geteuid() == 0 else ["--rootless"]
    run("umoci", "unpack", *rootless, "--image", f"{layout}:{image.program}", image.bundle)
    return image


def command(image, *arguments):
    """The words that run the program of an unpacked image."""
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    return ["unshare", *user, "--mount", str(HERE / "container"), str(image.bundle), *arguments]


def programs(images, folder):
    """A folder of programs that run unpacked images, to be PUMICE_BIN of the integration tests."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for image in images.values():
        path = folder / image.program
        path.write_text(f'#!/bin/sh\nexec {shlex.join(command(image))} "$@"\n')
        path.chmod(0o755)
    return folder
