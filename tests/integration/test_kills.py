"""Controllers killed at random moments of a job that restarts and is scaled: see harness/kills.py.

tests/long/controller-kills is the long form, with more pods, kills and seeds.
"""

import pytest

from harness import kills


@pytest.fixture
def no_controller(pumice):
    """Our binaries without their controller, which runs again afterwards."""
    pumice.controller.stop()
    yield pumice
    pumice.controller.start()


def test_controllers_killed_at_random_moments(api, ns, no_controller):
    done = kills.run(api, ns, no_controller, seed=1, pods=60, kills=5, pause=1)
    assert sum(done["kills"].values()) == 5
    assert done["pods"] >= 60 and sum(done["steps"].values()) >= 3


def test_active_controllers_killed_at_random_moments(api, ns, no_controller):
    """The same with shards: the job moves each time that a controller comes or goes."""
    done = kills.run(api, ns, no_controller, seed=2, pods=60, kills=5, pause=1,
                     lease={**kills.LEASE, "shards": "true"})
    assert sum(done["kills"].values()) == 5
    assert done["pods"] >= 60 and sum(done["steps"].values()) >= 3
