"""Licences in Debian's words, and in SPDX's."""

import pytest
from license_expression import get_spdx_licensing

from licences import Licences

HEAD = "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: x\n\n"


def declared(*names):
    """The licences of a package whose stanzas name these."""
    return Licences("x", HEAD + "\n".join(f"Files: {number}\nCopyright: me\nLicense: {name}\n"
                                          for number, name in enumerate(names)))


@pytest.mark.parametrize("name, expression", [
    ("Expat", "MIT"),
    ("GPL-2+", "GPL-2.0-or-later"),
    ("LGPL-2.1", "LGPL-2.1-only"),
    ("LGPL-3+ or GPL-2+", "LGPL-3.0-or-later OR GPL-2.0-or-later"),
    ("GPL-2+ or Expat, and ISC", "(GPL-2.0-or-later OR MIT) AND ISC"),
    ("GPL-1+ or Artistic and Expat", "GPL-1.0-or-later OR (LicenseRef-x-Artistic AND MIT)"),
    ("GFDL-NIV-1.3+", "GFDL-1.3-no-invariants-or-later"),
    ("GPL-2+ with OpenSSL exception", "LicenseRef-x-GPL-2-with-OpenSSL-exception"),
    ("g10-permissive", "LicenseRef-x-g10-permissive"),
])
def test_one_licence(name, expression):
    found = declared(name).expression
    assert found == expression
    get_spdx_licensing().parse(found)


def test_all_licences_of_a_package_hold():
    assert declared("Expat", "curl", "Expat", "GPL-2+ or ISC").expression == \
        "(GPL-2.0-or-later OR ISC) AND MIT AND curl"


def test_texts_of_licences_that_have_no_name():
    text = HEAD + "Files: *\nLicense: odd\n\nFiles: a\nLicense: inline\n Do as you\n .\n like.\n\n" \
                  "License: odd\n Be odd.\n"
    found = Licences("x", text)
    assert found.expression == "LicenseRef-x-inline AND LicenseRef-x-odd"
    assert found.texts == {"LicenseRef-x-odd": ("odd", "Be odd."),
                           "LicenseRef-x-inline": ("inline", "Do as you\n.\nlike.")}


def test_a_text_for_people_declares_nothing():
    assert Licences("x", "This package was put together by me.\nLicense: GPL-2\n").expression is None
