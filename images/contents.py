#!/usr/bin/env python3
"""What is in an image: a binary, the shared libraries that it needs, and little more, out of a Debian root.

    images/contents.py ROOT BINARY FOLDER      lays it out in a folder, as images/Containerfile does

ROOT is / on a Debian 13, or an unpacked root (debian.py). A library is found as the dynamic linker finds it, and its
package by dpkg's lists. Beside libraries there are the certificate authorities that Debian trusts, the names of
users and hosts' sources, and of each package the licence and an entry that scanners read.
"""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

USER = 65532
PASSWD = f"root:x:0:0:root:/:/usr/sbin/nologin\npumice:x:{USER}:{USER}:Pumice:/:/usr/sbin/nologin\n"
GROUP = f"root:x:0:\npumice:x:{USER}:\n"
NSSWITCH = "passwd: files\ngroup: files\nhosts: files dns\n"
AUTHORITIES = "/usr/share/ca-certificates/mozilla"
# The C library loads this one by itself when a thread is ended; nothing names it.
UNNAMED = ("libgcc_s.so.1",)
# Of these packages something is in every image beside libraries.
ALWAYS = ("base-files", "ca-certificates")
FIELDS = ("Package", "Source", "Version", "Architecture", "Maintainer", "Section", "Homepage", "Rebuilt-From",
          "Rebuilt-With")


@dataclass
class Entry:
    """A file, link or folder of the image: `data`, or the target of a `link`, or neither."""
    path: str
    mode: int = 0o755
    data: bytes = None
    link: str = None
    # The name of the Debian package whose file it is, or of which it was made.
    package: str = None
    made: bool = False


class Root:
    """A Debian root with dpkg's records."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.packages = {}
        for stanza in self.read("/var/lib/dpkg/status").decode().split("\n\n"):
            fields = dict(re.findall(r"^([\w-]+): (.*)$", stanza, re.M))
            if fields.get("Status") == "install ok installed":
                self.packages[fields["Package"]] = fields
        self.owners = {}
        for path in sorted(self.host("/var/lib/dpkg/info").glob("*.list")):
            for line in path.read_text().splitlines():
                self.owners.setdefault(self.in_usr(line), path.stem.partition(":")[0])

    def host(self, path):
        """Where a path of the root is on this machine; links of the last part are not followed."""
        return self.folder / path.lstrip("/")

    def read(self, path):
        """The content of a file, behind links, too."""
        return self.host(self.resolve(path)).read_bytes()

    def in_usr(self, path):
        """The name of a path with / merged into /usr, which lists of packages do not all know."""
        return re.sub(r"^/(s?bin|lib\w*)(?=/)", r"/usr/\1", path)

    def steps(self, path):
        """The links on the way to what a path names, and the path that is none, as the root sees them."""
        for _ in range(40):
            head = ""
            for part in path.strip("/").split("/"):
                head += "/" + part
                if self.host(head).is_symlink():
                    break
            else:
                yield path
                return
            yield head
            target = os.readlink(self.host(head))
            path = os.path.normpath(os.path.join(os.path.dirname(head), target) + path[len(head):])
        raise ValueError(f"{path} is a circle of links")

    def resolve(self, path):
        """The path behind all links."""
        return list(self.steps(path))[-1]

    def exists(self, path):
        """Whether there is something behind a path's links."""
        return os.path.lexists(self.host(self.resolve(path)))

    def owner(self, path):
        """The package that a file is of. KeyError if none is."""
        return self.owners[self.in_usr(path)]


def readelf(option, file):
    """What readelf says of a file."""
    return subprocess.run(["readelf", "--wide", option, file], capture_output=True, text=True, check=True,
                          env={**os.environ, "LC_ALL": "C"}).stdout


def needed(file):
    """The libraries that an ELF file names."""
    return re.findall(r"\(NEEDED\).*\[(.*)\]", readelf("--dynamic", file))


def interpreter(file):
    """The path of the dynamic linker that an ELF program names."""
    return re.search(r"program interpreter: (.*)\]", readelf("--program-headers", file)).group(1)


class Contents:
    """The entries of an image by path: `add...` puts one in with all that leads to it."""

    def __init__(self, root):
        self.root = root
        self.entries = {}

    def put(self, entry):
        """An entry, and the folders above it."""
        above = os.path.dirname(entry.path)
        if above != "/" and above not in self.entries:
            self.put(Entry(above))
        self.entries[entry.path] = entry

    def write(self, path, text, mode=0o644, package=None):
        """A file that is made for the image."""
        self.put(Entry(path, mode, text.encode() if isinstance(text, str) else text, package=package, made=True))

    def add(self, path):
        """A file of the root, and the links on the way to it."""
        *links, last = self.root.steps(path)
        for link in links:
            self.put(Entry(link, 0o777, link=os.readlink(self.root.host(link)), package=self.root.owner(link)))
        file = self.root.host(last)
        mode = 0o755 if os.access(file, os.X_OK) else 0o644
        self.put(Entry(last, mode, file.read_bytes(), package=self.root.owner(last)))
        return file

    def library_folders(self):
        """Where the dynamic linker looks."""
        lib = self.root.host("/usr/lib")
        return [f"/usr/lib/{found.name}" for found in sorted(lib.glob("*-linux-gnu*"))] + ["/usr/lib"]

    def add_libraries(self, names):
        """Libraries by the names that programs have for them, and what these need in turn."""
        waiting, known = list(names), set()
        while waiting:
            name = waiting.pop()
            if name in known:
                continue
            known.add(name)
            path = next((f"{folder}/{name}" for folder in self.library_folders()
                         if self.root.exists(f"{folder}/{name}")), None)
            if path is None:
                raise FileNotFoundError(f"no package of the root has the library {name}")
            waiting.extend(needed(self.add(path)))

    def add_authorities(self):
        """One file of all certificate authorities, where libcurl of Debian looks for it."""
        folder = self.root.host(AUTHORITIES)
        texts = [path.read_text().rstrip("\n") + "\n" for path in sorted(folder.glob("*.crt"))]
        self.write("/etc/ssl/certs/ca-certificates.crt", "".join(texts), package="ca-certificates")

    def add_records(self):
        """What is to be known of each package: its licence, and the texts that this refers to; name and version."""
        names = {entry.package for entry in self.entries.values() if entry.package} | set(ALWAYS)
        first = {}
        for name in sorted(names):
            text = self.root.read(f"/usr/share/doc/{name}/copyright")
            path = f"/usr/share/doc/{name}/copyright"
            # Packages of one source have one text.
            if first.setdefault(text, name) == name:
                self.write(path, text, package=name)
            else:
                self.put(Entry(path, 0o777, link=f"../{first[text]}/copyright", package=name, made=True))
            for licence in sorted(set(re.findall(rb"/usr/share/common-licenses/[\w.+-]*\w\+?", text))):
                if self.root.exists(licence.decode()):
                    self.add(licence.decode())
            fields = self.root.packages[name]
            self.write(f"/var/lib/dpkg/status.d/{name}",
                       "".join(f"{field}: {fields[field]}\n" for field in FIELDS if field in fields), package=name)

    def packages(self):
        """{name: fields} of the packages of which something is in the image."""
        names = {entry.package for entry in self.entries.values() if entry.package}
        return {name: self.root.packages[name] for name in sorted(names)}


def of_debian(root, binary):
    """The entries beside our own, which change with Debian's packages alone."""
    contents = Contents(root)
    contents.add(interpreter(binary))
    contents.add_libraries([*needed(binary), *UNNAMED])
    for path in ("/etc/os-release", "/etc/debian_version"):
        contents.add(path)
    contents.add_authorities()
    contents.write("/etc/passwd", PASSWD)
    contents.write("/etc/group", GROUP)
    contents.write("/etc/nsswitch.conf", NSSWITCH)
    contents.add_records()
    return contents


def of_ours(name, binary, licence):
    """The entries that are ours: the binary and our licence. `name` is the program's."""
    contents = Contents(None)
    contents.write(f"/usr/bin/{name}", Path(binary).read_bytes(), mode=0o755)
    contents.write("/usr/share/doc/pumice/copyright", Path(licence).read_bytes())
    return contents


def lay_out(entries, folder):
    """Writes entries into a new folder."""
    Path(folder).mkdir(parents=True)
    for path, entry in sorted(entries.items()):
        place = Path(folder) / path.lstrip("/")
        if entry.link is not None:
            place.symlink_to(entry.link)
        elif entry.data is None:
            place.mkdir(parents=True, exist_ok=True)
        else:
            place.write_bytes(entry.data)
            place.chmod(entry.mode)


def main():
    root, binary, folder = sys.argv[1:]
    licence = Path(__file__).resolve().parents[1] / "LICENSE"
    both = {**of_debian(Root(root), binary).entries, **of_ours(Path(binary).name, binary, licence).entries}
    lay_out(both, folder)


if __name__ == "__main__":
    main()
