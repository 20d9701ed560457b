"""Images: layout, contents, size, what is said of them, and that two builds give the same bytes."""

import hashlib
import io
import json
import os
import re
import shutil
import stat
import subprocess
import tarfile

import pytest
import yaml
from spdx_tools.spdx.model import RelationshipType
from spdx_tools.spdx.parser.parse_anything import parse_file
from spdx_tools.spdx.validation.document_validator import validate_full_spdx_document

import images
from images import ROOT, USER, run

UNPACKED = 20 * 1000 * 1000
PACKED = 9 * 1000 * 1000
LABEL = "org.opencontainers.image."


def commit(*words):
    """Something that git says of the last commit."""
    return run("git", "-C", ROOT, *words).strip()


def version():
    """Pumice's version."""
    return re.search(r"^project\(pumice VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.M).group(1)


def files(image):
    """{path in the image: path on this machine} of regular files."""
    return {"/" + str(path.relative_to(image.rootfs)): path for path in sorted(image.rootfs.rglob("*"))
            if path.is_file() and not path.is_symlink()}


def members(image):
    """All entries of the layers."""
    for layer in image.manifest()["layers"]:
        with tarfile.open(fileobj=io.BytesIO(image.blob(layer["digest"]))) as tar:
            yield from tar.getmembers()


# The archive


def test_the_layout_is_what_other_programs_read(image):
    """skopeo reads it as OCI's and as Docker's archive, and checks digests as it copies; umoci has unpacked it."""
    for kind in ("oci-archive", "docker-archive"):
        found = json.loads(run("skopeo", "inspect", "--config", f"{kind}:{image.archive}"))
        assert found["config"] == image.config()["config"]
    found = json.loads(run("skopeo", "inspect", f"oci-archive:{image.archive}"))
    assert (found["Digest"], found["Os"]) == (image.digest, "linux")
    assert [layer["mediaType"] for layer in image.manifest()["layers"]] == [
        "application/vnd.oci.image.layer.v1.tar+gzip"] * 2


def test_its_name_is_the_one_that_the_deployments_have(image):
    with tarfile.open(image.archive) as archive:
        index = json.load(archive.extractfile("index.json"))
        older = json.load(archive.extractfile("manifest.json"))
    name, = older[0]["RepoTags"]
    install = (ROOT / "manifests/install.yaml").read_text()
    assert f"image: {name}\n" in install
    annotations = index["manifests"][0]["annotations"]
    assert annotations["io.containerd.image.name"] == f"docker.io/{name}"
    assert annotations[LABEL + "ref.name"] == name.partition(":")[2]


def test_the_configuration_says_who_runs_what(image):
    config = image.config()["config"]
    assert config["Entrypoint"] == [f"/usr/bin/{image.program}"]
    assert config["User"] == f"{USER}:{USER}"
    assert config["Labels"].keys() == {LABEL + name for name in (
        "title", "description", "version", "revision", "source", "licenses", "created")}
    assert config["Labels"][LABEL + "title"] == image.program
    assert config["Labels"][LABEL + "version"] == version()
    assert config["Labels"][LABEL + "revision"] == commit("rev-parse", "HEAD")
    assert config["Labels"][LABEL + "source"] == images.SOURCE
    assert config["Labels"][LABEL + "licenses"] == "Apache-2.0"
    assert image.manifest()["annotations"] == config["Labels"]
    pods = [one["spec"]["template"]["spec"] for one in yaml.safe_load_all(
        (ROOT / "manifests/install.yaml").read_text()) if one and one["kind"] == "Deployment"]
    assert {pod["securityContext"]["runAsUser"] for pod in pods} == {USER}


def test_two_builds_give_the_same_bytes(built, tmp_path):
    """The second one is of a clone in another place, by somebody with other habits."""
    clone = tmp_path / "a clone"
    run("git", "clone", "--quiet", "--no-hardlinks", ROOT, clone)
    shutil.copytree(ROOT / "images", clone / "images", dirs_exist_ok=True,
                    ignore=shutil.ignore_patterns("__pycache__"))
    env = {**os.environ, "TZ": "Asia/Tokyo", "LC_ALL": "C", "PYTHONHASHSEED": "1", "CFLAGS": "-O0"}
    again = images.build(tmp_path / "out", "--no-update", project=clone, env=env, umask=0o077)
    for program, image in built.items():
        assert again[program].digest == image.digest, program
        for file in (image.archive, image.sbom, image.archive.parent / "packages.txt"):
            other = again[program].archive.parent / file.name
            assert other.read_bytes() == file.read_bytes(), file.name


# The files


def test_it_is_small(image):
    """Unpacked, and as nodes load it."""
    found = sum(path.stat().st_size for path in files(image).values())
    assert image.size == found
    assert found <= UNPACKED
    assert image.archive.stat().st_size <= PACKED


def test_everything_is_roots_and_nothing_gives_rights(image):
    for one in members(image):
        assert (one.uid, one.gid, one.uname, one.gname) == (0, 0, "", ""), one.name
        assert one.isreg() or one.isdir() or one.issym(), one.name
        assert one.issym() or one.mode in (0o644, 0o755), one.name
        assert one.mtime in (0, int(commit("show", "--no-patch", "--format=%ct", "HEAD"))), one.name
    for path in image.rootfs.rglob("*"):
        assert not path.lstat().st_mode & (stat.S_ISUID | stat.S_ISGID | stat.S_ISVTX), path


def test_there_is_one_program_and_no_shell(image):
    """Beside our binary, only libraries may be executed, among them the dynamic linker."""
    libraries = re.compile(r"/usr/lib/(x86_64|aarch64)-linux-gnu/[\w.+-]*\.so(\.\d+)*")
    can_run = {path for path, file in files(image).items() if os.access(file, os.X_OK) and file.stat().st_mode & 0o111}
    programs = {path for path in can_run if not libraries.fullmatch(path)}
    assert programs == {f"/usr/bin/{image.program}"}
    for path, file in files(image).items():
        assert not file.read_bytes()[:2] == b"#!", path
        assert not re.search(r"/(sh|bash|dash|busybox|apt|apt-get|dpkg|rpm|perl|python3?)$", path), path
    assert [str(path.relative_to(image.rootfs)) for path in (image.rootfs / "usr/bin").iterdir()] == [
        f"usr/bin/{image.program}"]


def test_the_user_has_a_name(image):
    assert f":x:{USER}:{USER}:" in (image.rootfs / "etc/passwd").read_text()
    assert f":x:{USER}:" in (image.rootfs / "etc/group").read_text()


def test_the_binary_is_stripped(image):
    sections = run("readelf", "--wide", "--sections", image.rootfs / f"usr/bin/{image.program}")
    assert ".text" in sections
    assert ".symtab" not in sections and ".debug" not in sections


def test_no_library_is_missing_and_none_too_many(image):
    """The dynamic linker names what it loads; all but one library, which the C library may load, is among it."""
    listed = run(*images.command(image), env={**os.environ, "PUMICE_CONTAINER_ENV": "LD_TRACE_LOADED_OBJECTS=1"})
    assert "not found" not in listed
    loaded = {str((image.rootfs / path.lstrip("/")).resolve()) for path in re.findall(r"(/\S+) \(0x", listed)}
    libraries = {str(path.resolve()) for path in files(image).values()
                 if path.read_bytes()[:4] == b"\x7fELF" and "/usr/lib/" in str(path)}
    assert {path.rpartition("/")[2] for path in libraries - loaded} <= {"libgcc_s.so.1"}
    assert loaded <= libraries


def test_the_program_starts_as_its_user_with_nothing_else(image):
    """With every symbol of every library looked up at once."""
    printed = run(*images.command(image, "--version"), env={**os.environ, "PUMICE_CONTAINER_ENV": "LD_BIND_NOW=1"})
    assert version() in printed


def test_authorities_are_there(image):
    text = (image.rootfs / "etc/ssl/certs/ca-certificates.crt").read_text()
    assert text.count("-----BEGIN CERTIFICATE-----\n") == text.count("-----END CERTIFICATE-----\n") > 100
    run("openssl", "crl2pkcs7", "-nocrl", "-certfile", image.rootfs / "etc/ssl/certs/ca-certificates.crt")


# What is said of them


@pytest.fixture
def document(image):
    return parse_file(str(image.sbom))


def test_the_sbom_is_valid_spdx(document):
    assert document.creation_info.spdx_version == "SPDX-2.3"
    assert [message.validation_message for message in validate_full_spdx_document(document)] == []


def test_the_sbom_describes_this_image(image, document):
    described, = (one.related_spdx_element_id for one in document.relationships
                  if one.relationship_type == RelationshipType.DESCRIBES)
    package, = (one for one in document.packages if one.spdx_id == described)
    assert (package.name, package.version) == (image.program, version())
    assert "sha256:" + package.checksums[0].value == image.digest


def test_the_sbom_has_every_file(image, document):
    said = {one.name.removeprefix("."): {sum.algorithm.name: sum.value for sum in one.checksums}
            for one in document.files}
    found = {path: {"SHA1": hashlib.sha1(file.read_bytes()).hexdigest(),
                    "SHA256": hashlib.sha256(file.read_bytes()).hexdigest()} for path, file in files(image).items()}
    assert said == found


def test_the_sbom_has_every_package(image, document):
    """As the records in the image, which scanners read; and each library is of one of them."""
    records = {}
    for path in (image.rootfs / "var/lib/dpkg/status.d").iterdir():
        fields = dict(re.findall(r"^(\w+): (.*)$", path.read_text(), re.M))
        records[fields["Package"]] = fields["Version"]
    packages = {one.name: one for one in document.packages if one.name not in (image.program, "pumice")}
    built = {one.name: one for one in packages.values() if one.primary_package_purpose.name == "SOURCE"}
    assert set(built) == {"curl", "gnutls28"}
    packages = {name: one for name, one in packages.items() if name not in built}
    assert {name: one.version for name, one in packages.items()} == records
    assert {"libc6", "libcurl4t64", "ca-certificates"} <= records.keys()
    listed = (image.archive.parent / "packages.txt").read_text()
    downloaded = dict(re.findall(r"^([^_]+)_\S+\.deb (\w{64})$", listed, re.M))
    anew = {"libcurl4t64", "libgnutls30t64"}
    assert {name: one.checksums[0].value for name, one in packages.items() if name not in anew} == {
        name: downloaded[name] for name in records.keys() - anew}
    assert {f"{name}_{one.version}.dsc {one.checksums[0].value}" for name, one in built.items()} == set(
        re.findall(r"^\S+\.dsc \w{64}$", listed, re.M))
    sources = {one.spdx_id for one in built.values()}
    origin = {one.spdx_element_id for one in document.relationships
              if one.relationship_type == RelationshipType.EXPANDED_FROM_ARCHIVE
              or one.related_spdx_element_id in sources}
    libraries = {one.spdx_id for one in document.files if ".so" in one.name}
    assert libraries and libraries <= origin


def test_licences(image, document):
    """Every package's text is in the image, and what machines can read of it in the document."""
    declared = {one.name: str(one.license_declared) for one in document.packages}
    assert declared[image.program] == "Apache-2.0"
    assert "curl" in declared["libcurl4t64"]
    packages = {name for name in declared if name not in (image.program, "pumice", "curl", "gnutls28")}
    for name in packages:
        assert (image.rootfs / f"usr/share/doc/{name}/copyright").stat().st_size > 100
    texts = "".join(path.read_text(errors="replace") for path in image.rootfs.glob("usr/share/doc/*/copyright"))
    for named in set(re.findall(r"/usr/share/common-licenses/[\w.+-]*\w", texts)):
        assert (image.rootfs / named.lstrip("/")).exists(), named
    assert (image.rootfs / "usr/share/doc/pumice/copyright").read_text() == (ROOT / "LICENSE").read_text()
    unknown = {name for name in packages if declared[name] == "NOASSERTION"}
    assert len(unknown) < len(packages) / 2, unknown


# The command


def test_only_what_is_asked_for_is_built_and_wrong_wishes_are_told(tmp_path):
    done = subprocess.run([ROOT / "images/build", "--out", tmp_path, "--commit", "no-such-commit"],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "no-such-commit" in done.stderr and not list(tmp_path.iterdir())
    wrong = tmp_path / "packages.txt"
    wrong.write_text("base-files_0_amd64.deb " + "0" * 64 + "\n")
    done = subprocess.run([ROOT / "images/build", "--out", tmp_path / "out", "--no-update", "--packages", wrong],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "base-files" in done.stderr and not (tmp_path / "out").exists()
