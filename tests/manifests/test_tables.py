"""Tables in the C sources that scripts write: each is what its script would write now."""

import subprocess
import sys
from pathlib import Path

import pytest

BASE = Path(__file__).resolve().parents[2] / "common/base"


def check(folder):
    return subprocess.run([sys.executable, folder / "generate-zones", "--check"], capture_output=True,
                          text=True, check=False)


def test_zone_names():
    done = check(BASE)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("before, after", [('"UTC", ', ""), ('"UTC"', '"UTD"')])
def test_a_change_of_the_zone_names_is_noticed(tmp_path, before, after):
    (tmp_path / "generate-zones").write_text((BASE / "generate-zones").read_text())
    text = (BASE / "zone_names.c").read_text()
    assert before in text
    (tmp_path / "zone_names.c").write_text(text.replace(before, after))
    done = check(tmp_path)
    assert done.returncode == 1
    assert "is not up to date" in done.stderr


def test_regex_names():
    go = subprocess.run([BASE.parents[1] / "tests/cluster/go-toolchain"], stdout=subprocess.PIPE, text=True,
                        check=True).stdout.strip()
    table = (BASE / "regex_names.c").read_text()
    done = subprocess.run([go, "run", "./regexnames"], cwd=BASE.parents[1] / "tests/tools", text=True,
                          stdout=subprocess.PIPE, check=True)
    assert done.stdout == table
