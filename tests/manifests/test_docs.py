"""What the documents name is there: files, headings, metrics, flags and kinds of objects that are installed."""

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/packaging"))

import monitoring  # noqa: E402

PAGES = sorted(path for pattern in ("*.md", "docs/*.md", "manifests/*.md", "images/*.md", "tests/*/*.md") for path in ROOT.glob(pattern))
ABOUT_US = sorted((ROOT / "docs").glob("*.md"))
# Flags of other programs: kubectl and Helm, API servers, autoscalers, CMake, skopeo.
OF_OTHERS = {"all", "all-namespaces", "as", "create-namespace", "dry-run", "field-selector", "for", "ignore-not-found",
             "list", "namespace", "overwrite", "preserve-digests", "previous", "replicas", "timeout", "type", "values",
             "admission-control-config-file", "etcd-compaction-interval", "max-requests-inflight",
             "max-mutating-requests-inflight", "skip-nodes-with-custom-controller-pods", "build", "preset"}


def name_of(path):
    return str(path.relative_to(ROOT))


def prose(path):
    """A page without its blocks of commands."""
    return re.sub(r"^(    |\t).*$", "", path.read_text(), flags=re.M)


def anchors(path):
    """The anchors of a page's headings."""
    return {re.sub(r"[^\w -]", "", heading.replace("`", "")).strip().lower().replace(" ", "-")
            for heading in re.findall(r"^#+ (.*)$", path.read_text(), re.M)}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page):
    wrong = []
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        path = (page.parent / file).resolve() if file else page
        if not path.exists() or (anchor and anchor not in anchors(path)):
            wrong.append(target)
    assert not wrong


@pytest.mark.parametrize("page", ABOUT_US, ids=name_of)
def test_metrics_that_pages_name(page):
    table = monitoring.documented()
    named = set(re.findall(r"`((?:pumice|volcano)_[a-z0-9_]*)", page.read_text()))
    wrong = [name for name in named if monitoring.family(name, table) not in table
             # `pumice_window_*` names all that begin so.
             and not (name.endswith("_") and any(one.startswith(name) for one in table))]
    assert not wrong


def flags():
    """The flags of our programs."""
    found = set()
    for source in ("common/ops/process_flags.c", "webhook/options.c", "controller/options.c", "scheduler/main.c"):
        found |= set(re.findall(r"\{\"([a-z0-9-]+)\", (?:0|'.'), FLAG_", (ROOT / source).read_text()))
    return found


def test_flags_are_found_in_the_sources():
    assert {"kubeconfig", "max-inflight", "node-selector", "creation-chunk", "ca-overlap", "logtostderr"} <= flags()
    assert not flags() & OF_OTHERS


@pytest.mark.parametrize("page", ABOUT_US, ids=name_of)
def test_flags_that_pages_name(page):
    named = set(re.findall(r"(?<![\w-])--([a-z][a-z0-9-]*[a-z0-9])", page.read_text()))
    assert named <= flags() | OF_OTHERS


def test_commands_name_files_that_are_there():
    wrong = []
    for page in PAGES:
        for word in re.findall(r"(?:-f|-k|install \w+) (manifests/[\w./-]+)", page.read_text()):
            if not (ROOT / word).exists():
                wrong.append(f"{name_of(page)}: {word}")
    assert not wrong
