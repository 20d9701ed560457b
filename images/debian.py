"""A Debian 13 root in which images are built: unpacked packages in the cache folder, nothing of the machine's own.

Packages come from the mirror that the machine's APT uses, through an APT with folders of its own, which checks
signatures as ever. They are unpacked and not configured: no script of theirs runs, so this needs no root. The root
is keyed by the names, versions and checksums of its packages; a newer package upstream makes another root.
"""

import fcntl
import functools
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import sources

RELEASE = "trixie"
PROJECT = Path(__file__).resolve().parents[1]
# What compiles, packs and makes the image's own files; libraries are those of tests/packages.txt.
TOOLS = ("base-files", "bash", "binutils", "ca-certificates", "cmake", "coreutils", "dash", "gcc", "gzip", "libc6-dev",
         "libgcc-s1", "ninja-build", "pkg-config")
KEYRINGS = ("/usr/share/keyrings/debian-archive-keyring.gpg", "/usr/share/keyrings/debian-archive-keyring.pgp")
UNUSED_DAYS = 14


class BuildError(RuntimeError):
    """Something that a build needs is missing or failed; the message says what."""


def say(text):
    """Tells of progress on stderr."""
    os.write(2, f"images: {text}\n".encode())


def run(*words, **options):
    """Runs a command and returns what it prints; its messages go to stderr. BuildError if it fails."""
    words = [str(word) for word in words]
    try:
        done = subprocess.run(words, stdout=subprocess.PIPE, check=False, **options)
    except FileNotFoundError:
        raise BuildError(f"there is no program {words[0]} on this machine; images/README.md says what is needed, "
                         "and images/Containerfile is for other machines") from None
    if done.returncode != 0:
        raise BuildError(f"{' '.join(words)[:200]} failed with exit code {done.returncode}")
    return done.stdout


def cache_folder():
    """Where roots are kept, as the tests keep what they download."""
    default = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "pumice"
    return Path(os.environ.get("PUMICE_CACHE", default))


def libraries():
    """The development packages that building Pumice needs."""
    names = []
    for line in (PROJECT / "tests" / "packages.txt").read_text().splitlines():
        words = line.split()
        if len(words) == 1 and words[0].startswith("lib"):
            names.append(words[0])
    return names


def wanted_packages():
    """What has to be in the root; what these need comes by itself."""
    return sorted({*TOOLS, *sources.TOOLS, *libraries()})


def mirrors():
    """(archive, security archive) of the machine's APT."""
    listed = run("apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", text=True).split()

    def of(name):
        return next((uri for uri in listed if uri.rstrip("/").endswith("/" + name)), None)
    if of("debian") is None:
        raise BuildError("this machine's APT knows no mirror of Debian; name one with --mirror")
    return of("debian"), of("debian-security")


class Apt:
    """An APT with folders of its own, which knows Debian 13 alone and thinks that nothing is installed.

    With a mirror of the caller's, such as that of one day, the date of its lists is not looked at.
    """

    def __init__(self, folder, mirror=None, security=None):
        self.folder = folder
        self.architecture = run("dpkg", "--print-architecture", text=True).strip()
        for part in ("lists/partial", "archives/partial", "nothing/partial", "sources"):
            (folder / part).mkdir(parents=True, exist_ok=True)
        (folder / "status").touch()
        keyring = next((path for path in KEYRINGS if os.path.exists(path)), None)
        if keyring is None:
            raise BuildError("the package debian-archive-keyring is missing")
        dated = mirror is not None
        if not dated:
            mirror, security = mirrors()
        options = f"[signed-by={keyring}{' check-valid-until=no' if dated else ''}]"
        places = [f"{options} {mirror} {suite} main" for suite in (RELEASE, f"{RELEASE}-updates")]
        if security:
            places.append(f"{options} {security} {RELEASE}-security main")
        lines = [f"{kind} {place}" for place in places for kind in ("deb", "deb-src")]
        (folder / "sources.list").write_text("\n".join(lines) + "\n")

    def get(self, *words, archives="archives", program="apt-get", **options):
        """Runs apt-get, or another program of APT, and returns what it prints."""
        settings = {
            "APT::Architecture": self.architecture, "APT::Architectures": self.architecture,
            "APT::Install-Recommends": "false", "APT::Sandbox::User": "root", "Acquire::Languages": "none",
            "Acquire::ForceHash": "SHA256", "Acquire::Retries": "3",
            "Debug::NoLocking": "true", "Dir::Cache::archives": self.folder / archives,
            "Dir::Cache::pkgcache": "", "Dir::Cache::srcpkgcache": "", "Dir::Etc::preferences": "/dev/null",
            "Dir::Etc::preferencesparts": "/dev/null", "Dir::Etc::sourcelist": self.folder / "sources.list",
            "Dir::Etc::sourceparts": "/dev/null", "Dir::State::lists": self.folder / "lists",
            "Dir::State::status": self.folder / "status"}
        options_of_apt = [f"-o{name}={value}" for name, value in settings.items()]
        return run(program, "-qq", *options_of_apt, *words, text=True, **options)

    def resolve(self, wanted, newest=False, asked=()):
        """What has to be unpacked for these packages, and what is built anew: sorted lines "FILE SHA256".

        Of what is built anew the newest version is taken of which the mirrors have the sources; with `newest` it has
        to be that of the packages, and with the lines of an earlier build, `asked`, that of then.
        """
        lines = self._named("install", *wanted)
        words = source_words(asked)
        if not all(self._has_sources(*word.split("=")) for word in words):
            raise BuildError("the mirrors no more have the sources that were asked for")
        words = words or [self._choose(recipe, lines, newest) for recipe in sources.RECIPES]
        return lines + self._named("source", "--only-source", *words)

    def _choose(self, recipe, lines, newest):
        """The word for apt-get that asks for the sources of a library."""
        versions = dict(word.split("=") for word in pinned(lines))
        wanted = sources.version_of({"Version": versions[recipe.package]})
        for version in self._source_versions(recipe.source, wanted):
            if not self._has_sources(recipe.source, version):
                continue
            if version != wanted and newest:
                raise BuildError(f"the mirrors have the sources of {recipe.source} {version}, not of {wanted}")
            if version != wanted:
                say(f"WARNING: {recipe.source} is built of {version}, for the mirrors have no sources of {wanted}: what "
                    "that one repairs is not repaired in these images (--newest fails instead)")
            return f"{recipe.source}={version}"
        raise BuildError(f"the mirrors have no sources of {recipe.source} {wanted}")

    def _source_versions(self, source, first):
        """The versions of a source package that APT knows, from `first` downwards."""
        told = self.get("showsrc", "--only-source", source, program="apt-cache")
        known = {first, *re.findall(r"^Version: (\S+)$", told, re.M)}
        return sorted((one for one in known if compare(one, first) <= 0), key=functools.cmp_to_key(compare), reverse=True)

    def _has_sources(self, source, version):
        """Whether the mirrors have a source package; it is there then."""
        folder, word = self.folder / "sources", f"{source}={version}"
        try:
            self.get("--download-only", "--only-source", "source", word, cwd=folder, stderr=subprocess.DEVNULL)
        except BuildError:
            pass  # it may be a signature that is missing
        files = [line.split() for line in self._named("source", "--only-source", word)]
        return all((folder / file).exists() and sha256(folder / file) == checksum for file, checksum in files)

    def _named(self, *words):
        """The files that APT would download, as resolve() has them."""
        printed = self.get("--print-uris", *words, archives="nothing")
        found = re.findall(r"^'[^']*' (\S+) \d+ SHA256:([0-9a-f]{64})$", printed, re.M)
        if not found:
            raise BuildError("APT names no packages with SHA-256 checksums")
        # Upstream's signatures are not needed: a source package names the checksums of its files, and is signed itself.
        return sorted(f"{file} {checksum}" for file, checksum in found if not file.endswith(".asc"))

    def download(self, wanted, files):
        """Downloads packages, and keeps no others; returns the folder."""
        self.get("--yes", "--download-only", "install", *wanted)
        archives = self.folder / "archives"
        for path in archives.glob("*.deb"):
            if path.name not in files:
                path.unlink()
        return archives

    def copy_sources(self, files, folder):
        """Copies files of source packages, which resolve() downloaded, and keeps no others."""
        for path in (self.folder / "sources").iterdir():
            if path.name in files:
                shutil.copyfile(path, folder / path.name)
            else:
                path.unlink()


def compare(one, other):
    """Below, at or above 0, as one version of Debian's is older than the other, the same or newer."""
    for relation, result in (("lt", -1), ("gt", 1)):
        if subprocess.run(["dpkg", "--compare-versions", one, relation, other], check=False).returncode == 0:
            return result
    return 0


def source_words(lines):
    """Words for apt-get that ask for the sources among the lines of a packages.txt."""
    found = (re.match(r"([^_]+)_(.+)\.dsc ", line) for line in lines)
    return [f"{match.group(1)}={match.group(2)}" for match in found if match]


def sha256(file):
    """The checksum of a file."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def check(file, checksum):
    """BuildError if a file is another one than it was said to be."""
    found = sha256(file)
    if found != checksum:
        raise BuildError(f"{file.name} has the checksum {found} instead of {checksum}")


def unpack(archive, root, status):
    """Unpacks one package, and writes what dpkg would know of it."""
    info = root / "var/lib/dpkg/info"
    control = run("dpkg-deb", "--field", archive, text=True)
    fields = dict(re.findall(r"^([\w-]+): (.*)$", control, re.M))
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", archive], stdout=subprocess.PIPE) as package:
        listed = run("tar", "-x", "-v", "-p", "--no-same-owner", "--keep-directory-symlink", "-C", root,
                     stdin=package.stdout, text=True)
    if package.returncode != 0:
        raise BuildError(f"{archive} cannot be unpacked")
    info.mkdir(parents=True, exist_ok=True)
    same = f":{fields['Architecture']}" if fields.get("Multi-Arch") == "same" else ""
    (info / f"{fields['Package']}{same}.list").write_text(re.sub(r"^\./?", "/", listed, flags=re.M))
    status.write(control.rstrip("\n").replace("\n", "\nStatus: install ok installed\n", 1) + "\n\n")


def make_root(apt, lines, root):
    """Makes a root of the packages that `lines` tell of; it appears whole or not at all."""
    checksums = dict(line.split() for line in lines)
    say(f"making a Debian 13 root of {len(lines)} packages, once: {root}")
    archives = apt.download(pinned(lines), checksums)
    partial = root.with_name(root.name + ".partial")
    remove(partial)
    (partial / "var/lib/dpkg").mkdir(parents=True)
    with open(partial / "var/lib/dpkg/status", "w", encoding="utf-8") as status:
        # The links of / into /usr come first.
        packages = [file for file in checksums if file.endswith(".deb")]
        for file in sorted(packages, key=lambda name: (not name.startswith("base-files_"), name)):
            check(archives / file, checksums[file])
            unpack(archives / file, partial, status)
    (partial / "packages.txt").write_text("\n".join(lines) + "\n")
    for place in ("proc", "dev", "tmp", "work"):
        (partial / place).mkdir(exist_ok=True)
    rebuild(apt, checksums, partial)
    partial.rename(root)


def rebuild(apt, checksums, root):
    """Builds some of the root's libraries anew from their sources."""
    say(f"building {', '.join(recipe.source for recipe in sources.RECIPES)} from Debian's sources, once")
    work = Path(tempfile.mkdtemp(prefix=".sources-", dir=root.parent))
    try:
        needed = [file for file in checksums if not file.endswith(".deb")]
        apt.copy_sources(needed, work)
        for file in needed:
            check(work / file, checksums[file])
        sources.rebuild(root, work, "/work", lambda *words: inside(root, work, "bash", *words))
    finally:
        remove(work)


def remove(folder):
    """Removes a root or what is left of one; packages bring folders that cannot be written."""
    if folder.exists():
        run("chmod", "-R", "u+rwX", folder)
        shutil.rmtree(folder)


def remove_unused(folder):
    """Removes roots that no build has used for a while."""
    for root in folder.glob("root-*"):
        if (root / "packages.txt").stat().st_mtime < time.time() - UNUSED_DAYS * 86400:
            remove(root)


def pinned(lines):
    """Words for apt-get that ask for exactly the packages of a packages.txt."""
    words = []
    for line in lines:
        if not line.split()[0].endswith(".deb"):
            continue
        name, version, _ = line.split()[0].split("_")
        words.append(f"{name}={version.replace('%3a', ':')}")
    return words


def find_root(update=True, packages=None, mirror=None, security=None, newest=False):
    """The root of the newest packages, or of those in a file `packages`; made if it is not there.

    With update=False what APT knew last time is taken as the newest. `newest` is Apt.resolve's.
    """
    folder = cache_folder() / "images"
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        asked = packages.read_text().splitlines() if packages else None
        apt = Apt(folder / "apt", mirror, security)
        wanted = pinned(asked) if asked else wanted_packages()
        if update or not list((folder / "apt" / "lists").glob("*Sources*")):
            apt.get("update")
        lines = apt.resolve(wanted, newest, asked or ())
        if asked and lines != asked:
            raise BuildError(f"the mirror has other packages than those in {packages}")
        # Libraries that are built in another way make another root, too.
        how = [repr(sources.RECIPES), sources.BUILD]
        key = hashlib.sha256("\n".join([apt.architecture, *lines, *how]).encode()).hexdigest()[:12]
        root = folder / f"root-{key}"
        if not root.exists():
            make_root(apt, lines, root)
        os.utime(root / "packages.txt")
        remove_unused(folder)
    return root


INSIDE = """
root=$1 work=$2
shift 2
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/tmp"
mount --bind "$work" "$root/work"
exec chroot "$root" /usr/bin/env -i HOME=/tmp LC_ALL=C PATH=/usr/sbin:/usr/bin "$@"
"""


def inside(root, work, *words, **options):
    """Runs a command in the root, where the folder `work` is /work; returns what it prints, as bytes.

    Mounts and processes live in namespaces and end with them. Without root it takes a user namespace.
    """
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    return run("unshare", *user, "--mount", "--pid", "--fork", "--kill-child", "sh", "-euc", INSIDE, "inside", root,
               work, *words, **options)
