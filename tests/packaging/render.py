"""What manifests/ renders to, with the programs that ./build makes, and what PromQL says."""

import json
import subprocess
from functools import cache
from pathlib import Path

import yaml

HERE = Path(__file__).resolve().parent
MANIFESTS = HERE.parents[1] / "manifests"
CHART = MANIFESTS / "helm/pumice"
NAMESPACE = "volcano-system"


@cache
def folder():
    """The folder with helm, kustomize and promcheck."""
    done = subprocess.run([HERE / "build"], stdout=subprocess.PIPE, text=True, check=True)
    return Path(done.stdout.splitlines()[-1])


def run(program, *arguments, **options):
    """Runs one of the programs; the finished process, whatever its exit code."""
    return subprocess.run([folder() / program, *map(str, arguments)], capture_output=True, text=True, check=False,
                          **options)


def output(program, *arguments, **options):
    """What one of the programs prints. RuntimeError with its messages if it fails."""
    done = run(program, *arguments, **options)
    if done.returncode != 0:
        raise RuntimeError(f"{program} {' '.join(map(str, arguments))}: {done.stderr.strip()}")
    return done.stdout


def documents(text):
    """The objects in a text of YAML."""
    return [document for document in yaml.safe_load_all(text) if document]


def by_name(objects):
    """{(kind, name): object}; each may be there once."""
    table = {(o["kind"], o["metadata"]["name"]): o for o in objects}
    assert len(table) == len(objects), "an object is there twice"
    return table


def kustomize(path):
    """The objects of a folder with a kustomization.yaml, by kind and name."""
    return by_name(documents(output("kustomize", "build", path)))


def helm(*options, values=None, namespace=NAMESPACE, chart=CHART):
    """The objects of the chart with these values, by kind and name."""
    if values is not None:
        options += ("--values", "-")
    return by_name(documents(output("helm", "template", "pumice", chart, "--namespace", namespace, *options,
                                    input=json.dumps(values) if values is not None else None)))


def promcheck(mode, questions):
    """The answers of promcheck, in order (promcheck/main.go)."""
    return json.loads(output("promcheck", mode, input=json.dumps(questions)))
