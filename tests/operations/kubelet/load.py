"""Users who create jobs all the time, and what became of their jobs and calls."""

import itertools
import threading
import time
from collections import Counter

from harness.objects import job, task
from harness.pumice import ADMITTED_JOB
from harness.wait import wait_until
from harness.witness import Witness

PODS = 3
NO_WEBHOOK = "failed calling webhook"


class Load:
    """Creates a gang in `ns` every so many seconds, and asks twenty times a second whether a job would be let in.

    names  of the jobs that were let in; they begin with `prefix`, which no other Load has
    calls  (begin, seconds, error or None) of each call, by time.monotonic()
    """

    _numbers = itertools.count()

    def __init__(self, api, ns, every=0.5, pace=0.05):
        self.api, self.ns = api, ns
        self.prefix = f"load{next(self._numbers)}x"
        self.calls, self.names = [], []
        self.witness = Witness(api, ns)
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._repeat, args=(function, seconds), daemon=True)
                         for function, seconds in ((self._create, every), (self._ask, pace))]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        for thread in self._threads:
            thread.join(30)

    def _repeat(self, function, seconds):
        following = time.monotonic()
        while not self._over.is_set():
            begin = time.monotonic()
            try:
                function()
                error = None
            except Exception as caught:  # pylint: disable=broad-except
                error = str(caught)
            self.calls.append((begin, time.monotonic() - begin, error))
            following = max(following + seconds, time.monotonic())
            self._over.wait(following - time.monotonic())

    def _create(self):
        name = f"{self.prefix}{len(self.names)}"
        script = "sleep 1" if len(self.names) % 3 else "sleep 8"
        self.api.create_job(self.ns, job(name, [task("main", replicas=PODS, script=script)]))
        self.names.append(name)

    def _ask(self):
        self.api.create_job("default", ADMITTED_JOB, dry_run="All")

    # What is judged

    def errors(self):
        """The messages of calls that failed for another reason than a webhook that is away."""
        return sorted({error for _, _, error in self.calls if error and NO_WEBHOOK not in error})

    def refusals(self):
        """[(begin, seconds)] of each time in which calls were refused for want of a webhook."""
        found, begin = [], None
        for at, took, error in sorted(self.calls):
            if error and NO_WEBHOOK in error:
                begin = at if begin is None else begin
            elif begin is not None:
                found.append((begin, at + took - begin))
                begin = None
        return found

    def wait_done(self, timeout=120):
        """Waits until each job that was let in has been completed."""
        def left():
            phases = {found["metadata"]["name"]: found.get("status", {}).get("state", {}).get("phase", "")
                      for found in self.api.jobs(self.ns)}
            return {name: phases.get(name, "lost") for name in self.names if phases.get(name) != "Completed"}
        wait_until(lambda: not left(), timeout, lambda: f"all {len(self.names)} jobs to be completed: {left()}",
                   interval=0.5)

    def faults(self):
        """What is wrong with the pods that have ever been there: each index of a job comes once, on one node."""
        self.witness.settle()
        lives = [life for life in self.witness.snapshot().values() if life.name.startswith(self.prefix)]
        wanted = Counter(f"{name}-main-{index}" for name in self.names for index in range(PODS))
        made = Counter(life.name for life in lives)
        return ([f"pod {name} came {made[name]} times instead of {wanted[name]}"
                 for name in sorted(made.keys() | wanted.keys()) if made[name] != wanted[name]] +
                [f"pod {life.name} was bound to {sorted(life.nodes)}" for life in lives if len(life.nodes) != 1] +
                [f"pod {life.name} was deleted before its end" for life in lives
                 if life.deleted and not 0 < life.ended <= life.deleted])
