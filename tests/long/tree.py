"""What the long tests say of the tree that they ran on."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def commit(*paths):
    """The commit of the tree, marked when what is below one of these paths differs from it."""
    def git(*words):
        return subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True, check=True).stdout.strip()
    changed = git("status", "--porcelain", "--", *paths)
    return git("rev-parse", "--short", "HEAD") + (" with changes" if changed else "")
