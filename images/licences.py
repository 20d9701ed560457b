"""Licences of Debian packages as SPDX expressions, out of copyright files that machines can read.

Such a file says so in its first line. All licences that it names are joined by AND: it is about the whole source
package, of which an image has a part. Names that SPDX does not have become references with the text that the file
gives.
"""

import re

FORMAT = re.compile(r"^Format(-Specification)?: \S*(copyright-format|dep5)", re.I)
# Names of Debian's that SPDX has under another one. Those in FAMILIES have versions, and + for later ones.
NAMES = {"expat": "MIT", "mit": "MIT", "apache-2.0": "Apache-2.0", "bsd-2-clause": "BSD-2-Clause",
         "bsd-3-clause": "BSD-3-Clause", "bsd-4-clause": "BSD-4-Clause", "isc": "ISC", "zlib": "Zlib",
         "mpl-1.1": "MPL-1.1", "mpl-2.0": "MPL-2.0", "cc0-1.0": "CC0-1.0", "cc0": "CC0-1.0", "curl": "curl",
         "x11": "X11", "fsfap": "FSFAP", "fsful": "FSFUL", "fsfullr": "FSFULLR", "openssl": "OpenSSL",
         "bsl-1.0": "BSL-1.0", "unicode-dfs-2016": "Unicode-DFS-2016", "0bsd": "0BSD", "openldap-2.8": "OLDAP-2.8",
         "oldap-2.8": "OLDAP-2.8", "bsd-4-clause-uc": "BSD-4-Clause-UC"}
FAMILIES = re.compile(r"^(A?GPL|LGPL|GFDL|GFDL-NIV)-?v?(\d(?:\.\d)?)(\+?)$", re.I)


def stanzas(text):
    """The stanzas of a file of fields: [{name: value}], names in lower case, continued lines joined by line ends."""
    found = []
    for part in re.split(r"\n[ \t]*\n", text.strip()):
        fields = {}
        for line in part.splitlines():
            match = re.match(r"([\w-]+):\s*(.*)", line)
            if match:
                name = match.group(1).lower()
                fields[name] = match.group(2)
            elif fields and line[:1] in " \t":
                fields[name] += "\n" + line.strip()
        if fields:
            found.append(fields)
    return found


def spdx_name(name):
    """SPDX's name of one licence of Debian's, or None."""
    family = FAMILIES.match(name)
    if family is None:
        return NAMES.get(name.lower())
    kind, version, later = family.groups()
    kind = kind.upper()
    version += ".0" if "." not in version else ""
    plain, suffix = kind.replace("-NIV", ""), "-or-later" if later else "-only"
    if plain == "GFDL":
        return f"GFDL-{version}{'-no-invariants' if kind != plain else ''}{suffix}"
    return f"{plain}-{version}{suffix}"


class Licences:
    """The licences of one package: `expression`, and `texts` {reference: (Debian's name, text)}."""

    def __init__(self, package, text):
        self.package = package
        self.texts = {}
        self.expression = None
        if FORMAT.match(text.lstrip()):
            self.known = self._texts(stanzas(text))
            self.expression = self._all(stanzas(text))

    @staticmethod
    def _texts(found):
        """{name of a licence: its text}; a stanza of its own is worth more than what stands with files."""
        texts = {}
        for fields in sorted(found, key=lambda fields: "files" not in fields):
            name, _, text = fields.get("license", "").partition("\n")
            if text:
                texts[name.strip().lower()] = text
        return texts

    def _all(self, found):
        named = {fields["license"].partition("\n")[0].strip() for fields in found
                 if "files" in fields and "license" in fields}
        parts = sorted({self._synopsis(name) for name in named if name})
        if len(parts) > 1:
            parts = [f"({part})" if " OR " in part else part for part in parts]
        return " AND ".join(parts) or None

    def _synopsis(self, text):
        """An expression of Debian's: "A or B, and C", where a comma binds less than the words."""
        for separator, word in ((r",\s*and\s", "AND"), (r",\s*or\s", "OR"), (r"\sor\s", "OR"), (r"\sand\s", "AND")):
            parts = re.split(separator, text)
            if len(parts) > 1:
                return f" {word} ".join(f"({one})" if " " in one else one for one in map(self._synopsis, parts))
        return self._one(text.strip())

    def _one(self, name):
        """A licence, perhaps with an exception."""
        known = spdx_name(name)
        if known:
            return known
        reference = "LicenseRef-" + re.sub(r"[^A-Za-z0-9.-]+", "-", f"{self.package}-{name}").strip("-")
        text = self.known.get(name.lower(), f"See /usr/share/doc/{self.package}/copyright in the image.")
        self.texts[reference] = (name, text)
        return reference
