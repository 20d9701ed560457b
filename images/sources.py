#!/usr/bin/env python3
"""Libraries of Debian 13 built anew from Debian's own source packages, with less in them.

    images/sources.py FOLDER       on a Debian 13, in place; the source packages are downloaded into the folder

Debian's libcurl is linked to LDAP, Kerberos, SSH, RTMP and HTTP/3, its GnuTLS to p11-kit and tables of Unicode: no
program of ours uses them, and they are a third of an image. So both are built once more from the source packages of the
versions that the root has, Debian's patches among them, and put where Debian's own build was. Soname and versions
of symbols stay, so programs may be linked to either. dpkg's records then tell of it (Rebuilt-From, Rebuilt-With), and
name the package and the version that was built, since those are what Debian's notices of defects name.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

# Needed beside the compiler.
TOOLS = ("diffutils", "findutils", "grep", "make", "mawk", "patch", "sed", "tar", "xz-utils")


@dataclass(frozen=True)
class Recipe:
    """How a library is built: `steps` are of Bash, in the unpacked sources, "$@" are the options."""
    source: str
    package: str
    library: str
    options: tuple
    steps: str


RECIPES = (
    Recipe("curl", "libcurl4t64", "libcurl.so.4", (
        "-DHTTP_ONLY=ON", "-DCURL_USE_OPENSSL=ON", "-DUSE_NGHTTP2=ON", "-DCURL_USE_GSSAPI=OFF", "-DCURL_USE_LIBPSL=OFF",
        "-DCURL_USE_LIBSSH2=OFF", "-DUSE_LIBIDN2=OFF", "-DCURL_ZLIB=OFF", "-DCURL_BROTLI=OFF", "-DCURL_ZSTD=OFF",
        "-DCURL_LIBCURL_VERSIONED_SYMBOLS=ON", "-DCURL_CA_BUNDLE=/etc/ssl/certs/ca-certificates.crt",
        "-DCURL_CA_PATH=/etc/ssl/certs"), """
cmake -S . -B slim -G Ninja --log-level=WARNING -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_COMPILER=gcc \
    -DBUILD_CURL_EXE=OFF -DBUILD_TESTING=OFF -DBUILD_LIBCURL_DOCS=OFF -DBUILD_MISC_DOCS=OFF -DENABLE_CURL_MANUAL=OFF \
    -DCMAKE_SHARED_LINKER_FLAGS="$LDFLAGS" "$@"
cmake --build slim --target libcurl_shared -- --quiet
"""),
    Recipe("gnutls28", "libgnutls30t64", "libgnutls.so.30", (
        "--without-p11-kit", "--without-idn", "--with-included-unistring", "--without-brotli", "--without-zstd",
        "--without-zlib", "--without-tpm", "--without-tpm2",
        "--with-default-trust-store-file=/etc/ssl/certs/ca-certificates.crt"), """
./configure --quiet --prefix=/usr --disable-static --disable-doc --disable-tools --disable-tests --disable-cxx \
    --disable-nls --disable-libdane --disable-rpath AWK=mawk CC=gcc "$@"
# What Debian's patches change is newer than what was generated; its generators are not needed for C sources.
for part in gl lib; do
    make --quiet -C "$part" -j"$(nproc)" AUTOCONF=: AUTOMAKE=: ACLOCAL=: AUTOHEADER=: MAKEINFO=: >/dev/null
done
"""),
)
# The flags of Debian's own builds that programs are hardened by.
BUILD = """
exec >&2
export SOURCE_DATE_EPOCH=0 LC_ALL=C
export CFLAGS="-O2 -g0 -fstack-protector-strong -fstack-clash-protection -Wformat -Werror=format-security"
export CPPFLAGS="-D_FORTIFY_SOURCE=2" LDFLAGS="-Wl,-z,relro -Wl,-z,now"
case $(uname -m) in
    x86_64) CFLAGS+=" -fcf-protection" ;;
    aarch64) CFLAGS+=" -mbranch-protection=standard" ;;
esac
folder=$1 source=$2 library=$3 steps=$4
shift 4
mkdir "$folder/$source"
cd "$folder/$source"
for file in "$folder/$source"_*.orig.tar.?z; do
    tar -x --no-same-owner --strip-components=1 -f "$file"
done
tar -x --no-same-owner -f "$(echo "$folder/$source"_*.debian.tar.xz)"
sed 's/[[:space:]]*#.*//; /^[[:space:]]*$/d' debian/patches/series | while read -r file rest; do
    patch --quiet --force -p1 <"debian/patches/$file"
done
. /dev/stdin <<<"$steps"
built=$(find . -name "$library.*" -type f ! -name '*T')
strip --strip-unneeded -o "$folder/$library" "$built"
"""


def version_of(fields):
    """The version of the source package that a package was built of, by its control fields."""
    named = re.search(r"\((.*)\)", fields.get("Source", ""))
    return named.group(1) if named else re.sub(r"\+b\d+$", "", fields["Version"])


def description(folder, recipe):
    """The file that names a source package's others, and its SHA-256."""
    path, = Path(folder).glob(f"{recipe.source}_*.dsc")
    return path.name, hashlib.sha256(path.read_bytes()).hexdigest()


def replace(root, library, built):
    """Puts a library where Debian's build of it is; the name must be the same."""
    link, = Path(root, "usr/lib").glob(f"*-linux-gnu*/{library}")
    target = link.parent / os.readlink(link)
    target.unlink()
    shutil.copyfile(built, target)
    target.chmod(0o644)


def record(root, recipe, file, checksum):
    """Writes into dpkg's records of what a library was built, and the version that it has by that."""
    status = Path(root, "var/lib/dpkg/status")
    head, found, rest = status.read_text().partition(f"Package: {recipe.package}\n")
    if not found:
        raise ValueError(f"{status} has no package {recipe.package}")
    stanza, end, rest = rest.partition("\n\n")
    version = file.removeprefix(f"{recipe.source}_").removesuffix(".dsc")
    if version_of(dict(re.findall(r"^([\w-]+): (.*)$", stanza, re.M))) != version:
        stanza = re.sub(r"^Version: .*$", f"Version: {version}", stanza, flags=re.M)
        stanza = re.sub(r"^Source: .*$", f"Source: {recipe.source}", stanza, flags=re.M)
    said = f"Rebuilt-From: {file} {checksum}\nRebuilt-With: {' '.join(recipe.options)}\n"
    status.write_text(head + found + said + stanza + end + rest)


def rebuild(root, folder, seen, bash):
    """Builds the libraries from the source packages in a folder, and puts them into the root.

    The root sees the folder as `seen`; bash(*words) runs Bash there.
    """
    for recipe in RECIPES:
        bash("-euc", BUILD, "rebuild", seen, recipe.source, recipe.library, recipe.steps, *recipe.options)
        replace(root, recipe.library, Path(folder) / recipe.library)
        record(root, recipe, *description(folder, recipe))


def main():
    folder = Path(sys.argv[1]).resolve()
    for recipe in RECIPES:
        version = subprocess.run(["dpkg-query", "-W", "-f", "${source:Version}", recipe.package], check=True, text=True,
                                 stdout=subprocess.PIPE).stdout
        subprocess.run(["apt-get", "source", "--download-only", "--only-source", f"{recipe.source}={version}"],
                       cwd=folder, check=True)
    rebuild("/", folder, folder, lambda *words: subprocess.run(["bash", *words], check=True))


if __name__ == "__main__":
    main()
