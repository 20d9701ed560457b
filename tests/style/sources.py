"""The C files that the gates look at, and C text without comments and strings."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = ("common", "certs", "webhook", "controller", "scheduler")

# Comments and string or character literals, in the order in which they open.
OPAQUE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)


def product_files():
    """The sources and headers of the library and the three binaries."""
    return sorted(path for folder in PRODUCT for path in (ROOT / folder).rglob("*.[ch]"))


def test_files():
    """The C sources and headers of the tests."""
    return sorted((ROOT / "tests").rglob("*.[ch]"))


def bare(text):
    """The text with comments and literals blanked; every line stays in its place."""
    def blank(match):
        found = match.group()
        if found.startswith("/"):
            return re.sub(r"[^\n]", " ", found)
        return found[0] + " " * (len(found) - 2) + found[-1]
    return OPAQUE.sub(blank, text)


def name_of(path):
    """The path as a reader of a message wants it."""
    return str(path.relative_to(ROOT))


def finish(problems, summary):
    """Prints the problems or the summary, and ends the gate."""
    for problem in problems:
        print(problem)
    if problems:
        sys.exit(1)
    print(summary)
