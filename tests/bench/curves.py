"""Curves of a fan-out run: counts over time, how even they are, and when each gang is complete.

Everything here is arithmetic on times in seconds; nothing is read or written. Curves are kept
small: counts per step, at most POINTS of them, whatever the length of the run.
"""

import math
import statistics
from collections import Counter, deque

STEP = 0.1     # of evenness, and of curves while they are short enough
POINTS = 500   # most steps of a curve that is kept
RANKS = 100    # most points of a curve of gangs


def per_step(times, start, width):
    """How many of the times lie in each step of that width since start."""
    counts = Counter(max(0, int((time - start) / width + 1e-6)) for time in times)
    return [counts[step] for step in range(max(counts) + 1)] if counts else []


def step_for(span):
    """The width of a curve's steps: STEP, or the multiple of it that keeps POINTS."""
    return STEP * -(-(int(span / STEP) + 1) // POINTS)


def curves(kinds, start):
    """{"step_s": ..., kind: counts per step} of {kind: times}; the steps are those of all kinds."""
    last = max((max(times) for times in kinds.values() if times), default=start)
    width = step_for(last - start)
    return {"step_s": round(width, 1),
            **{kind: per_step(times, start, width) for kind, times in kinds.items()}}


def variation(times):
    """Standard deviation over mean of the counts per STEP, from the first to the last of the times.

    The last step is left out, for it is not whole. None if there are less than three whole steps.
    """
    if not times:
        return None
    counts = per_step(times, min(times), STEP)[:-1]
    return statistics.pstdev(counts) / statistics.mean(counts) if len(counts) >= 3 else None


def complete(times_by_job, pods):
    """{job: when its last pod of `pods` was there}; jobs that never were complete are left out."""
    return {job: sorted(times)[pods - 1] for job, times in times_by_job.items()
            if len(times) >= pods}


def round_robin(slots, opened, pods):
    """When gangs would have been complete, had the creates of a run been dealt out in turn.

    slots are the times at which creates of the run succeeded, opened {job: from when on its pods
    could be created}. Each slot goes to the next job in turn of those that are open and lack pods.
    The result is {job: time}.
    """
    coming = deque(sorted((time, job) for job, time in opened.items()))
    turn, made, done = deque(), Counter(), {}
    for slot in sorted(slots):
        while coming and (coming[0][0] <= slot or not turn):
            turn.append(coming.popleft()[1])
        if not turn:
            break
        job = turn.popleft()
        made[job] += 1
        if made[job] == pods:
            done[job] = slot
        else:
            turn.append(job)
    return done


def gang_summary(done, start):
    """Mean, median and last of times of complete gangs, and their curve of [seconds, gangs]."""
    times = sorted(time - start for time in done.values())
    if not times:
        return None
    ranks = sorted({-(-len(times) * point // RANKS) for point in range(1, RANKS + 1)} - {0})
    return {"gangs": len(times), "mean_s": statistics.mean(times),
            "p50_s": statistics.median(times), "last_s": times[-1],
            "curve": [[times[rank - 1], rank] for rank in ranks]}


def spread(values):
    """How many, median, 99th percentile and maximum; percentiles are values that occurred."""
    ordered = sorted(values)
    if not ordered:
        return {"count": 0}
    return {"count": len(ordered), "p50": at(ordered, 0.5), "p99": at(ordered, 0.99),
            "max": ordered[-1]}


def at(ordered, q):
    """The smallest of the sorted values that at least a fraction q of them does not exceed."""
    return ordered[max(0, math.ceil(q * len(ordered) - 1e-9) - 1)]


def summed(counts):
    """The running total of a list of counts."""
    total, found = 0, []
    for count in counts:
        total += count
        found.append(total)
    return found
