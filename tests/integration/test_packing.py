"""Which node a pod gets: binpack fills one node after the other, nodeorder keeps them equally full."""

import pytest

from harness.objects import job, task
from harness.placing import per_node, settled

CONF = """\
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
- plugins:
  - name: predicates
  - name: proportion
{scores}"""

BINPACK = CONF.format(scores="""\
  - name: binpack
    arguments:
      binpack.weight: 10
      binpack.cpu: 0.7
      binpack.memory: 0.3
      binpack.resources: acme.example/gpu
      binpack.resources.acme.example/gpu: 2
""")
SPREADS = {
    "least requested": """\
  - name: nodeorder
    arguments:
      leastrequested.weight: 1
      mostrequested.weight: 0
      balancedresource.weight: 0
""",
    "presets": "  - name: nodeorder\n"}


def place(api, ns, name, pods, **resources):
    """A gang that is placed whole."""
    api.create_job(ns, job(name, [task("w", pods, **resources)]))
    settled(api, ns, {name: pods}, stay=0)


def test_binpack_fills_one_node_after_the_other(api, ns, pool):
    pool(4, BINPACK, cpu="6", memory="12Gi", extended={"acme.example/gpu": "2"})
    place(api, ns, "a", 4, cpu="1", memory="2Gi")
    assert per_node(api, ns) == [4]
    place(api, ns, "b", 1, cpu="1", memory="2Gi")
    assert per_node(api, ns) == [5]
    place(api, ns, "c", 9, cpu="1", memory="2Gi")
    assert per_node(api, ns) == [2, 6, 6]
    place(api, ns, "d", 10, cpu="1", memory="2Gi")
    assert per_node(api, ns) == [6, 6, 6, 6]


def test_binpack_keeps_devices_together(api, ns, pool):
    """Two pods with a device go to one node, though it is the emptier one otherwise."""
    pool(3, BINPACK, cpu="8", memory="16Gi", extended={"acme.example/gpu": "4"})
    gpu = task("w", 1, cpu="100m")
    gpu["template"]["spec"]["containers"][0]["resources"]["limits"] = {"acme.example/gpu": "1"}
    for name in ("a", "b", "c"):
        api.create_job(ns, job(name, [gpu]))
        settled(api, ns, {name: 1}, stay=0)
    assert per_node(api, ns) == [3]


@pytest.mark.parametrize("scores", SPREADS.values(), ids=SPREADS)
def test_nodeorder_keeps_nodes_equally_full(api, ns, pool, scores):
    pool(4, CONF.format(scores=scores), cpu="6", memory="12Gi")
    place(api, ns, "a", 4, cpu="1", memory="2Gi")
    assert per_node(api, ns) == [1, 1, 1, 1]
    place(api, ns, "b", 2, cpu="1", memory="2Gi")
    assert per_node(api, ns) == [1, 1, 2, 2]
    place(api, ns, "c", 6, cpu="1", memory="2Gi")
    assert per_node(api, ns) == [3, 3, 3, 3]
