"""The parts of images/build by themselves: tars, ways through links."""

import io
import tarfile

import pytest

import oci
from contents import Contents, Entry, Root, lay_out


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
