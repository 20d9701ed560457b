"""Shapes of a fan-out: so many jobs of so many pods, and what is wanted of each."""

from typing import NamedTuple

PODS_PER_NODE = 100  # that runs count on; the nodes hold a few more
MAX_RATIO = 1 / 0.6  # of shapes without a target of their own


class Shape(NamedTuple):
    """So many jobs of so many pods each."""

    jobs: int
    pods: int

    @property
    def name(self):
        """As it is written: 20x500."""
        return f"{self.jobs}x{self.pods}"

    @property
    def total(self):
        """Pods of all jobs."""
        return self.jobs * self.pods


# The four shapes of 10,000 pods with the longest whole run, in bare runs, that each may take.
FULL = {Shape(10000, 1): 1.3, Shape(500, 20): 1.4, Shape(20, 500): 1.25, Shape(1, 10000): 1.25}
SMALL = (Shape(2000, 1), Shape(100, 20), Shape(20, 100), Shape(1, 2000))
SETS = {"full": tuple(FULL), "small": SMALL}


def parse(texts):
    """The shapes of texts such as "20x500,1x10000", "full" and "small"; ValueError for others."""
    found = []
    for word in (word for text in texts for word in text.split(",")):
        if word in SETS:
            found += SETS[word]
            continue
        jobs, cross, pods = word.partition("x")
        if not (cross and jobs.isdecimal() and pods.isdecimal() and int(jobs) and int(pods)):
            raise ValueError(f"{word!r} is no shape: give one such as 20x500, or "
                             f"{' or '.join(SETS)}")
        found.append(Shape(int(jobs), int(pods)))
    return list(dict.fromkeys(found))


def complete_one_job(parser, options, flag, pods):
    """What takes shapes of one job: that of `pods` pods if none is given, but --pods counts."""
    if not options.shape:
        given = options.shapes[0].pods
        options.shapes = [Shape(1, given if given != parser.get_default("pods") else pods)]
    if any(shape.jobs != 1 for shape in options.shapes):
        parser.error(f"{flag} takes shapes of one job")
