"""The style gates find what they are there to find."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
GOOD = "int add(int a, int b)\n{\n    return a + b;\n}\n"


@pytest.fixture
def tree(tmp_path):
    """A tree with the gates and one good source."""
    shutil.copytree(HERE, tmp_path / "tests" / "style")
    shutil.copy(HERE.parents[1] / ".clang-format", tmp_path)
    for folder in ("common", "certs", "webhook", "controller", "scheduler"):
        (tmp_path / folder).mkdir()
    (tmp_path / "common" / "good.c").write_text(GOOD)
    return tmp_path


def gate(tree, name):
    """The exit code and output of a gate."""
    done = subprocess.run([tree / "tests" / "style" / name], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT,
                          env={**os.environ, "PUMICE_BUILD": str(tree / "build")})
    return done.returncode, done.stdout


def function(lines):
    """A function of so many lines of code."""
    return "int f(void)\n{\n" + "    step();\n" * (lines - 3) + "}\n"


def test_a_good_tree_passes(tree):
    for name in ("check-banned", "check-sizes", "check-format", "check-scripts"):
        assert gate(tree, name)[0] == 0, name


@pytest.mark.parametrize("call, found", [
    ("strcpy(a, b);", True), ("system (a);", True), ("assert(a);", True), ("gmtime(&t);", True),
    ("gmtime_r(&t, &r);", False), ("static_assert(1);", False), ("/* strcpy(a, b) */;", False),
    ('say("system(x)");', False), ("ops->signal(a);", False), ("loop.signal(a);", False)])
def test_banned_calls(tree, call, found):
    (tree / "common" / "bad.c").write_text(f"void f(void)\n{{\n    {call}\n}}\n")
    code, output = gate(tree, "check-banned")
    assert code == (1 if found else 0)
    assert ("common/bad.c:3" in output) == found


def test_a_test_may_assert(tree):
    (tree / "tests" / "test_x.c").write_text("void f(void)\n{\n    assert(1);\n}\n")
    assert gate(tree, "check-banned")[0] == 0


@pytest.mark.parametrize("lines, code", [(80, 0), (81, 1)])
def test_longest_function(tree, lines, code):
    text = GOOD * 40 + function(lines)  # enough short ones that one long one is less than 3 %
    (tree / "common" / "long.c").write_text(text)
    assert gate(tree, "check-sizes")[0] == code


@pytest.mark.parametrize("lines, code", [(60, 0), (61, 1)])
def test_share_of_long_functions(tree, lines, code):
    (tree / "common" / "long.c").write_text(GOOD * 20 + function(lines))
    assert gate(tree, "check-sizes")[0] == code


@pytest.mark.parametrize("lines, code", [(15, 0), (16, 1)])
def test_median_function(tree, lines, code):
    (tree / "common" / "good.c").write_text(function(lines))
    assert gate(tree, "check-sizes")[0] == code


@pytest.mark.parametrize("folder, lines, code", [
    ("common", 600, 0), ("common", 601, 1), ("tests", 700, 0), ("tests", 701, 1)])
def test_longest_file(tree, folder, lines, code):
    (tree / folder / "file.h").write_text("int x;\n" * lines)
    assert gate(tree, "check-sizes")[0] == code


def test_format(tree):
    (tree / "common" / "bad.c").write_text(GOOD.replace("    return", "  return"))
    code, output = gate(tree, "check-format")
    assert code == 1 and "common/bad.c:2" in output


@pytest.mark.parametrize("text, problem", [
    ("#!/bin/bash\nset -euo pipefail\nif true\n", "unexpected end of file"),
    ("#!/bin/bash\necho\n", "has no line"),
    ("#!/usr/bin/env python3\ndef f(:\n", "bad:2")])
def test_scripts(tree, text, problem):
    (tree / "common" / "bad").write_text(text)
    code, output = gate(tree, "check-scripts")
    assert code == 1 and problem in output


@pytest.mark.parametrize("command, problem", [
    ("cc -Werror -Wconversion -c good.c", None), ("cc -Wconversion -c good.c", "without -Werror")])
def test_compiled(tree, command, problem):
    (tree / "build").mkdir()
    (tree / "build" / "compile_commands.json").write_text(
        '[{"directory": "%s", "file": "good.c", "command": "%s"}]' % (tree / "common", command))
    code, output = gate(tree, "check-compiled")
    assert (code == 1 and problem in output) if problem else code == 0
    (tree / "common" / "forgotten.c").write_text(GOOD)
    assert "common/forgotten.c: no target" in gate(tree, "check-compiled")[1]


@pytest.mark.parametrize("cell, problem", [
    ("`test_x.c::one`", None), ("`test_x.py::two`", None), ("by hand", "no test"),
    ("`test_x.c::three`", "no test test_x.c::three"), ("`test_y.c::one`", "no test test_y.c::one")])
def test_table_of_tests(tree, cell, problem):
    (tree / "docs").mkdir()
    (tree / "docs" / "controller-tests.md").write_text(f"| Item | Tests |\n|---|---|\n| a | {cell} |\n")
    (tree / "tests" / "test_x.c").write_text(
        "static void one(void **state)\n{\n}\nstatic void three(void **state)\n{\n}\nRUN(one);\n")
    (tree / "tests" / "test_x.py").write_text("def two():\n    pass\n")
    code, output = gate(tree, "check-test-table")
    assert (code == 1 and problem in output) if problem else code == 0
    (tree / "docs" / "other-tests.md").write_text("| Item | Tests |\n|---|---|\n| b | `test_z.c::one` |\n")
    code, output = gate(tree, "check-test-table")
    assert code == 1 and "docs/other-tests.md: there is no test test_z.c::one" in output
