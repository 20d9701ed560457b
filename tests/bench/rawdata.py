"""Raw data of benchmarks: where it goes, and how it is kept small."""

import json
import os
import platform
import subprocess
from datetime import datetime, timezone

DIGITS = 4
OPEN = 5  # levels of a document that are spread over lines


def provenance(root, command):
    """Which commit, command and machine the figures are of."""
    def git(*words):
        done = subprocess.run(["git", "-C", root, *words], capture_output=True, text=True)
        return done.stdout.strip()
    dirty = git("status", "--porcelain", "--untracked-files=no")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {"date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
            "commit": (git("rev-parse", "HEAD") or "unknown") + (" with changes" if dirty else ""),
            "command": command,
            "machine": f"{os.cpu_count()} CPUs, {memory:.0f} GiB, {platform.machine()}, "
                       f"Linux {platform.release()}"}


def rounded(value):
    """The same with no more than DIGITS digits behind each point."""
    if isinstance(value, float):
        return round(value, DIGITS)
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(one) for one in value]
    return value


def encode(value, level=0):
    """JSON whose outer levels have a line for each member, and whose inner ones have none."""
    if level < OPEN and value and isinstance(value, (dict, list)):
        pad = " " * (level + 1)
        if isinstance(value, dict):
            members = [f"{json.dumps(key)}: {encode(one, level + 1)}"
                       for key, one in value.items()]
            begin, end = "{}"
        else:
            members = [encode(one, level + 1) for one in value]
            begin, end = "[]"
        return begin + "\n" + ",\n".join(pad + one for one in members) + "\n" + pad[1:] + end
    return json.dumps(value, separators=(",", ":"))


def save(path, data):
    """Writes raw data, whole or not at all."""
    part = path.with_name(path.name + ".part")
    part.write_text(encode(rounded(data)) + "\n")
    part.rename(path)


def load(path):
    """Raw data that was saved."""
    return json.loads(path.read_text())
