"""The parts of images/build by themselves: tars, ways through links."""

import io
import tarfile

import pytest

import debian
import oci
import sources
from contents import Contents, Entry, Root, lay_out
from sbom import Sbom


def test_a_tar_hangs_on_its_entries_alone():
    entries = [Entry("/b", 0o644, b"1"), Entry("/a"), Entry("/c", 0o777, link="b")]
    one = oci.layer({entry.path: entry for entry in entries}, 7)
    assert oci.layer({entry.path: entry for entry in reversed(entries)}, 7) == one
    with tarfile.open(fileobj=io.BytesIO(one)) as tar:
        assert [(m.name, m.mode, m.mtime, m.uid, m.type) for m in tar] == [
            ("a", 0o755, 7, 0, tarfile.DIRTYPE), ("b", 0o644, 7, 0, tarfile.REGTYPE),
            ("c", 0o777, 7, 0, tarfile.SYMTYPE)]


@pytest.fixture
def root(tmp_path):
    """A root with two packages, whose links are as Debian has them."""
    for folder in ("usr/lib/x86_64-linux-gnu", "var/lib/dpkg/info", "usr/share/doc/a"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "lib").symlink_to("usr/lib")
    (tmp_path / "usr/lib/x86_64-linux-gnu/liba.so.1").symlink_to("liba.so.1.2")
    (tmp_path / "usr/lib/x86_64-linux-gnu/liba.so.1.2").write_bytes(b"a")
    (tmp_path / "usr/lib/round").symlink_to("/lib/round")
    (tmp_path / "var/lib/dpkg/status").write_text(
        "Package: a\nStatus: install ok installed\nVersion: 1\n\nPackage: gone\nStatus: deinstall ok config-files\n\n"
        "Package: base-files\nStatus: install ok installed\nVersion: 2\n")
    (tmp_path / "var/lib/dpkg/info/a:amd64.list").write_text(
        "/.\n/lib\n/lib/x86_64-linux-gnu/liba.so.1\n/usr/lib/x86_64-linux-gnu/liba.so.1.2\n")
    (tmp_path / "var/lib/dpkg/info/base-files.list").write_text("/.\n/lib\n")
    return Root(tmp_path)


def test_a_file_brings_links_and_folders(root):
    found = Contents(root)
    found.add("/lib/x86_64-linux-gnu/liba.so.1")
    assert {path: (entry.link, entry.data, entry.package) for path, entry in found.entries.items()} == {
        "/lib": ("usr/lib", None, "a"),
        "/usr": (None, None, None), "/usr/lib": (None, None, None), "/usr/lib/x86_64-linux-gnu": (None, None, None),
        "/usr/lib/x86_64-linux-gnu/liba.so.1": ("liba.so.1.2", None, "a"),
        "/usr/lib/x86_64-linux-gnu/liba.so.1.2": (None, b"a", "a")}
    assert list(found.packages()) == ["a"]


def test_what_is_not_there_is_told(root):
    with pytest.raises(ValueError, match="circle"):
        root.resolve("/usr/lib/round")
    with pytest.raises(FileNotFoundError, match="libb.so.3"):
        Contents(root).add_libraries(["libb.so.3"])
    assert set(root.packages) == {"a", "base-files"}


def test_folders_are_written_with_their_links(root, tmp_path):
    found = Contents(root)
    found.add("/lib/x86_64-linux-gnu/liba.so.1")
    lay_out(found.entries, tmp_path / "out")
    assert (tmp_path / "out/lib/x86_64-linux-gnu/liba.so.1").read_bytes() == b"a"


@pytest.mark.parametrize("fields, version", [
    ({"Version": "1:2.3-4"}, "1:2.3-4"), ({"Version": "2.3-4+b1"}, "2.3-4"),
    ({"Version": "5-1", "Source": "other (2.3-4)"}, "2.3-4"),
    ({"Version": "5-1+deb13u2", "Source": "other"}, "5-1+deb13u2")])
def test_the_version_of_the_source(fields, version):
    assert sources.version_of(fields) == version


def test_a_library_that_was_built_anew_is_told_of(root, tmp_path):
    """dpkg's records say of what; the document names the source package, and no checksum of a .deb."""
    recipe = sources.Recipe("src", "a", "liba.so.1", ("--without-b",), "")
    (tmp_path / "built").write_bytes(b"slim")
    sources.replace(tmp_path, recipe.library, tmp_path / "built")
    assert root.read("/usr/lib/x86_64-linux-gnu/liba.so.1") == b"slim"
    sources.record(tmp_path, recipe, "src_1.dsc", "0" * 64)
    assert Root(tmp_path).packages["base-files"]["Version"] == "2"
    fields = Root(tmp_path).packages["a"]
    assert (fields["Rebuilt-From"], fields["Rebuilt-With"]) == ("src_1.dsc " + "0" * 64, "--without-b")
    image = oci.Image("p/x", "1", "amd64", 0, [], {"Labels": {}})
    document = Sbom(image, "r", None)
    document.add_package({**fields, "Architecture": "amd64", "Source": "src"}, "", "f" * 64)
    source, package = document.packages
    assert (source["name"], source["packageFileName"], source["checksums"][0]["checksumValue"]) == (
        "src", "src_1.dsc", "0" * 64)
    assert "checksums" not in package and "--without-b" in package["sourceInfo"]
    assert {"spdxElementId": "SPDXRef-Package-a", "relationshipType": "GENERATED_FROM",
            "relatedSpdxElement": "SPDXRef-DebianSource-src"} in document.relations


def test_a_library_built_of_another_version_is_of_that_version(root, tmp_path):
    """Scanners look at the version, so it has to be that of the code."""
    recipe = sources.Recipe("src", "a", "liba.so.1", (), "")
    sources.record(tmp_path, recipe, "src_0.9-1.dsc", "0" * 64)
    assert Root(tmp_path).packages["a"]["Version"] == "0.9-1"
    assert Root(tmp_path).packages["base-files"]["Version"] == "2"
    with pytest.raises(ValueError, match="no package b"):
        sources.record(tmp_path, sources.Recipe("src", "b", "libb.so.1", (), ""), "src_1.dsc", "0" * 64)


class Mirror(debian.Apt):
    """An APT that knows curl 1-1, 1-2 and 1-3, and has the sources of some."""

    def __init__(self, *there):
        self.there = there

    def _source_versions(self, source, first):
        return [version for version in ("1-3", "1-2", "1-1") if version <= first]

    def _has_sources(self, source, version):
        return version in self.there

    def _named(self, *words):
        if words[0] == "install":
            return ["libcurl4t64_1-2_amd64.deb 0", "libgnutls30t64_1-1_amd64.deb 0"]
        return [f"{word.replace('=', '_')}.dsc 0" for word in words[2:]]


def chosen(mirror, *options):
    """The source packages that are taken."""
    return [line.split()[0] for line in mirror.resolve([], *options) if ".dsc" in line]


def test_the_newest_sources_that_are_there_are_taken(capfd):
    assert chosen(Mirror("1-1", "1-2", "1-3")) == ["curl_1-2.dsc", "gnutls28_1-1.dsc"]
    assert "WARNING" not in capfd.readouterr().err
    assert chosen(Mirror("1-1")) == ["curl_1-1.dsc", "gnutls28_1-1.dsc"]
    assert "curl is built of 1-1, for the mirrors have no sources of 1-2" in capfd.readouterr().err
    with pytest.raises(debian.BuildError, match="the sources of curl 1-1, not of 1-2"):
        chosen(Mirror("1-1"), True)
    with pytest.raises(debian.BuildError, match="no sources of curl 1-2"):
        chosen(Mirror())


def test_an_earlier_builds_sources_are_taken_or_none():
    asked = ["curl_1-1.dsc 0", "gnutls28_1-1.dsc 0", "bash_5_amd64.deb 0"]
    assert chosen(Mirror("1-1", "1-2"), False, asked) == ["curl_1-1.dsc", "gnutls28_1-1.dsc"]
    with pytest.raises(debian.BuildError, match="no more have the sources"):
        chosen(Mirror("1-2"), False, asked)


def test_versions_are_compared_as_debian_does():
    assert [debian.compare(*pair) for pair in (("1-2", "1-10"), ("1", "1"), ("1", "1~rc1"))] == [-1, 0, 1]
