"""What an image is made of, as an SPDX 2.3 document in JSON.

Described is the image, by the digest of its manifest. It contains files, each with checksums, and Debian packages, of
each of which it has some of the files: so packages are named with version, licence and checksum of the .deb, and files
say what package they were expanded from. Nothing in it hangs on when or where it was made.
"""

import hashlib
import json
import re

from licences import Licences
from oci import when

NONE = "NOASSERTION"
LICENCE = "Apache-2.0"


def checksums(data, *names):
    """The checksums of some bytes as SPDX has them."""
    return [{"algorithm": name, "checksumValue": hashlib.new(name.lower(), data).hexdigest()} for name in names]


def verification_code(files):
    """SPDX's checksum of a package by its files'."""
    sums = sorted(one["checksumValue"] for file in files for one in file["checksums"] if one["algorithm"] == "SHA1")
    return hashlib.sha1("".join(sums).encode()).hexdigest()


def identifier(kind, name):
    """An element's name within the document."""
    return f"SPDXRef-{kind}-" + re.sub(r"[^A-Za-z0-9.-]", "-", name.replace("+", "plus"))


class Sbom:
    """A document that is being made."""

    def __init__(self, image, revision, source):
        self.image, self.revision, self.source = image, revision, source
        self.program = image.name.rpartition("/")[2]
        self.files, self.packages, self.relations, self.texts = [], [], [], {}

    def relate(self, one, how, other):
        """A relationship of two elements."""
        self.relations.append({"spdxElementId": one, "relationshipType": how, "relatedSpdxElement": other})

    def add_file(self, entry, linked, rebuilt):
        """A file of the image, and where it comes from; our binary is linked to libraries of the packages `linked`,
        and libraries of the packages `rebuilt` were built of the source packages that these lead to."""
        name = f"SPDXRef-File-{len(self.files)}"
        binary = entry.data.startswith(b"\x7fELF")
        self.files.append({
            "SPDXID": name, "fileName": "." + entry.path, "checksums": checksums(entry.data, "SHA1", "SHA256"),
            "fileTypes": ["BINARY" if binary else "TEXT"], "licenseConcluded": NONE, "licenseInfoInFiles": [NONE],
            "copyrightText": NONE})
        self.relate("SPDXRef-Image", "CONTAINS", name)
        if binary and entry.package in rebuilt:
            self.relate(name, "GENERATED_FROM", identifier("DebianSource", rebuilt[entry.package]))
        elif entry.package and not entry.made:
            self.relate(name, "EXPANDED_FROM_ARCHIVE", identifier("Package", entry.package))
        elif entry.package:
            self.relate(name, "GENERATED_FROM", identifier("Package", entry.package))
        elif binary:
            self.relate(name, "GENERATED_FROM", "SPDXRef-Source")
            for package in linked:
                self.relate(name, "DYNAMIC_LINK", identifier("Package", package))

    def add_package(self, fields, copyright_text, checksum):
        """A Debian package: its control fields, its copyright file, the SHA-256 of its .deb."""
        name, version = fields["Package"], fields["Version"]
        licences = Licences(name, copyright_text)
        self.texts.update(licences.texts)
        source, _, source_version = fields.get("Source", name).partition(" ")
        source_version = source_version.strip("()") or version
        purl = f"pkg:deb/debian/{name}@{escaped(version)}?arch={fields['Architecture']}&distro=debian-13"
        origin = {"checksums": [{"algorithm": "SHA256", "checksumValue": checksum}], "supplier": "Organization: Debian",
                  "sourceInfo": f"built from {source} {source_version}"}
        if "Rebuilt-From" in fields:
            origin = self.rebuilt(fields, source, source_version)
        self.packages.append({
            "SPDXID": identifier("Package", name), "name": name, "versionInfo": version, "downloadLocation": NONE,
            "filesAnalyzed": False, **origin,
            "licenseConcluded": NONE, "licenseDeclared": licences.expression or NONE, "copyrightText": NONE,
            "primaryPackagePurpose": "LIBRARY" if name.startswith("lib") else "OTHER",
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                              "referenceLocator": purl}]})
        self.relate("SPDXRef-Image", "CONTAINS", identifier("Package", name))

    def rebuilt(self, fields, source, version):
        """What is said of a package whose library images/build built from Debian's source package (sources.py)."""
        file, checksum = fields["Rebuilt-From"].split()
        name = identifier("DebianSource", source)
        self.packages.append({
            "SPDXID": name, "name": source, "versionInfo": version, "packageFileName": file, "downloadLocation": NONE,
            "filesAnalyzed": False, "checksums": [{"algorithm": "SHA256", "checksumValue": checksum}],
            "supplier": "Organization: Debian", "licenseConcluded": NONE, "licenseDeclared": NONE,
            "copyrightText": NONE, "primaryPackagePurpose": "SOURCE",
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                              "referenceLocator": f"pkg:deb/debian/{source}@{escaped(version)}?arch=source"
                                                  "&distro=debian-13"}]})
        self.relate(identifier("Package", fields["Package"]), "GENERATED_FROM", name)
        return {"supplier": NONE, "originator": "Organization: Debian",
                "sourceInfo": f"built by images/build from Debian's source package {source} {version} ({file}), in "
                              f"place of Debian's own build, with {fields['Rebuilt-With']}"}

    def _image(self):
        return {
            "SPDXID": "SPDXRef-Image", "name": self.program, "versionInfo": self.image.tag, "downloadLocation": NONE,
            "filesAnalyzed": True, "licenseInfoFromFiles": [NONE],
            "packageVerificationCode": {"packageVerificationCodeValue": verification_code(self.files)},
            "checksums": [{"algorithm": "SHA256", "checksumValue": self.image.digest.partition(":")[2]}],
            "licenseConcluded": NONE, "licenseDeclared": LICENCE, "copyrightText": NONE,
            "primaryPackagePurpose": "CONTAINER",
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                              "referenceLocator": f"pkg:oci/{self.program}@{self.image.digest.replace(':', '%3A')}"
                                                  f"?tag={self.image.tag}"}]}

    def _sources(self):
        return {
            "SPDXID": "SPDXRef-Source", "name": "pumice", "versionInfo": self.image.tag,
            "downloadLocation": f"git+{self.source}@{self.revision}" if self.source else NONE, "filesAnalyzed": False,
            "sourceInfo": f"git commit {self.revision}", "licenseConcluded": NONE, "licenseDeclared": LICENCE,
            "copyrightText": NONE, "primaryPackagePurpose": "SOURCE"}

    def text(self):
        """The document."""
        name = self.program
        document = {
            "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
            "name": f"{name}-{self.image.tag}",
            "documentNamespace": f"https://spdx.org/spdxdocs/{name}-{self.image.tag}-"
                                 + self.image.digest.partition(":")[2],
            "creationInfo": {"created": when(self.image.seconds), "creators": ["Tool: pumice-images-build"]},
            "packages": [self._image(), self._sources(), *self.packages], "files": self.files,
            "relationships": [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES",
                               "relatedSpdxElement": "SPDXRef-Image"}, *self.relations],
            "hasExtractedLicensingInfos": [{"licenseId": reference, "name": name, "extractedText": text}
                                           for reference, (name, text) in sorted(self.texts.items())]}
        return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def escaped(version):
    """A version within a package URL."""
    return version.replace("+", "%2B").replace(":", "%3A")


def source_of(fields):
    """The name of the source package that a package is of."""
    return fields.get("Source", fields["Package"]).partition(" ")[0]


def document(image, contents, ours, linked, checksum_of, revision, source):
    """The document of an image: the entries that are Debian's and ours, the packages whose libraries the binary is
    linked to, the SHA-256 of each package's .deb."""
    sbom = Sbom(image, revision, source)
    packages = contents.packages()
    rebuilt = {name: source_of(fields) for name, fields in packages.items() if "Rebuilt-From" in fields}
    for _, entry in sorted({**contents.entries, **ours.entries}.items()):
        if entry.data is not None:
            sbom.add_file(entry, linked, rebuilt)
    for name, fields in packages.items():
        text = contents.root.read(f"/usr/share/doc/{name}/copyright").decode(errors="replace")
        sbom.add_package(fields, text, checksum_of[name])
    return sbom.text()
