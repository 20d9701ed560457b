"""The three programs out of their images, confined as pods confine them, run a gang on a real API server."""

import os
from pathlib import Path

import pytest

import images
from cluster import ControlPlane
from harness.api import Api
from harness.objects import job, task
from harness.pumice import Pumice


@pytest.fixture
def product(built, tmp_path):
    """The product out of images on a control plane of its own, with two nodes."""
    plane = ControlPlane(tmp_path / "plane", tied=True)
    plane.start()
    try:
        product = Pumice(plane, folder=images.programs(built, tmp_path / "bin"), tied=True)
        product.apply_manifests()
        plane.start_kwok()
        plane.add_nodes(2)
        product.start()
        yield product
        assert product.stop() == []
    finally:
        product.kill()
        plane.stop()


def status(binary):
    """What the kernel says of a process: {field: text}."""
    lines = Path(f"/proc/{binary.pid()}/status").read_text().splitlines()
    return {name: text.strip() for name, _, text in (line.partition(":") for line in lines)}


def test_a_gang_runs(product):
    for binary in product.all:
        said = status(binary)
        assert os.readlink(f"/proc/{binary.pid()}/exe").endswith(f"/usr/bin/{binary.program}")
        assert {*said["Uid"].split(), *said["Gid"].split()} == {str(images.USER if os.geteuid() == 0 else os.geteuid())}
        assert {said[name].strip("0") for name in ("CapEff", "CapPrm", "CapInh", "CapAmb")} == {""}
        assert said["NoNewPrivs"] == "1"
        mounts = [line.split() for line in Path(f"/proc/{binary.pid()}/mountinfo").read_text().splitlines()]
        assert [fields[5].split(",")[0] for fields in mounts if fields[4] == "/"] == ["ro"]
    client = Api(product.plane)
    try:
        client.create_job("default", job("gang", [task("w", 4, cpu="2")], minimum=4))
        client.wait_phase("default", "gang", "Running", timeout=60)
        client.wait_pods("default", "gang", 4, phase="Running", timeout=60)
    finally:
        client.close()
