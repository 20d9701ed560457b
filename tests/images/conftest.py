"""Fixtures of the image tests: the images of the last commit, built and unpacked once."""

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
for folder in (HERE, ROOT / "images", ROOT / "tests" / "cluster", ROOT / "tests" / "integration"):
    sys.path.insert(0, str(folder))

import images  # noqa: E402


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """{program: Image} of the last commit, unpacked."""
    folder = tmp_path_factory.mktemp("images")
    found = images.build(folder / "out")
    for image in found.values():
        images.unpack(image, folder)
    return found


@pytest.fixture(params=images.PROGRAMS)
def image(request, built):
    """Each image."""
    return built[request.param]
