"""What is wanted of a shape, and what was found. A verdict that is required decides the exit code.

Counts are required of every run. Times, CPU and memory are required at 10,000 pods, for which the
targets are made; in smaller shapes the fixed part of every run weighs more, so there only the
whole run is, and the rest is told.
"""

import statistics

import shapes

SPREAD = 0.15           # of the two bare runs of a triple
MAX_GAP_S = 0.5
MIN_CREATE_RATE = 0.9   # of the bare one, where there is one job
MAX_GANG_MEAN = 0.65    # of plain round-robin
GANG_SHAPE = shapes.Shape(20, 500)
PAIR = ("pumice-controller", "pumice-scheduler")
MAX_CPU_SHARE = 0.10            # of both
MAX_SCHEDULER_CPU_SHARE = 0.05
MAX_RSS_MIB = {"pumice-controller": 64, "pumice-scheduler": 64, "pumice-webhook": 32}


class Verdicts:
    """Collects rows {"what", "target", "found", "met", "required"}."""

    def __init__(self):
        self.rows = []

    def add(self, what, target, found, met, required=True):
        """One row."""
        self.rows.append({"what": what, "target": target, "found": found, "met": met,
                          "required": required})

    def exact(self, runs, what, key, value):
        """A count that has to be right in every run."""
        found = [run[key] for run in runs]
        self.add(what, str(value), ", ".join(map(str, found)), set(found) == {value})

    def most(self, what, limit, found, text, required):
        """A figure that may not be above a limit; text formats one."""
        self.add(what, f"<= {text(limit)}", text(found), found <= limit, required)


def shape_of(data):
    """The shape that data is of."""
    return shapes.Shape(data["shape"]["jobs"], data["shape"]["pods"])


def used_triples(data):
    """The triples that count, repeated ones left out."""
    return [data["triples"][index] for index in data["used"]]


def middle(data):
    """The counting triple whose ratio is the median one (the lower of two)."""
    ordered = sorted(used_triples(data), key=lambda made: made["ratio"])
    return ordered[(len(ordered) - 1) // 2]


def ours(data):
    """Our runs that count."""
    return [made["runs"][1] for made in used_triples(data)]


def all_ours(data):
    """All our runs: a count has to be right in every one."""
    return [made["runs"][1] for made in data["triples"]]


def bare(data):
    """The bare runs that count."""
    return [run for made in used_triples(data) for run in made["runs"][::2]]


def median(runs, figure):
    """The median of a figure, a function of a run."""
    return statistics.median(figure(run) for run in runs)


def ratio(data):
    """Whole run of ours in bare runs."""
    return statistics.median(made["ratio"] for made in used_triples(data))


def create_rate(data):
    """Create rate of ours, as a fraction of the bare one of the same triple."""
    def of(made):
        rates = [run["creates"]["per_s"] for run in made["runs"]]
        return rates[1] / statistics.mean(rates[::2])
    return statistics.median(of(made) for made in used_triples(data))


def gang_mean(run):
    """Mean time to a gang with all its pods, as a fraction of plain round-robin's; or None."""
    found = run["gangs"]
    if run["jobs"] < 2 or run["pods_wanted"] == run["jobs"] or not found["in_turn"]:
        return None
    return found["created"]["mean_s"] / found["in_turn"]["mean_s"]


def cpu_share(run, names=PAIR):
    """CPU of processes, controller and scheduler if not told, as a fraction of the API server's."""
    used = run["usage"]
    return sum(used[name]["cpu_s"] for name in names) / used["kube-apiserver"]["cpu_s"]


def scheduler_cpu_share(run):
    """The same of the scheduler alone."""
    return cpu_share(run, PAIR[1:])


def checks(data):
    """The verdicts of one shape."""
    verdicts = Verdicts()
    check_counts(verdicts, all_ours(data))
    strict = shape_of(data) in shapes.FULL
    check_times(verdicts, data, strict)
    check_resources(verdicts, data, strict)
    return verdicts.rows


def check_counts(verdicts, runs):
    """Counts of every run."""
    wanted = runs[0]["pods_wanted"]
    for what, key, value in (("pod creates", "pod_creates", wanted),
                             ("surplus creates", "surplus_creates", 0),
                             ("binds", "binds", wanted), ("bind requests", "bind_posts", wanted),
                             ("answers 409", "conflicts", 0)):
        verdicts.exact(runs, what, key, value)
    failed = sum(sum(run["failures"].values()) for run in runs)
    verdicts.add("refused writes", "0", str(failed), failed == 0)
    over = sum(run["budget"]["jobs_over"] for run in runs)
    written = ", ".join(f"{run['budget']['written']} of {run['budget']['allowed']}" for run in runs)
    verdicts.add("Job and PodGroup writes", "each job within its budget",
                 f"{written}; {over} jobs over", over == 0)


def check_times(verdicts, data, strict):
    """Whole run, rate, gap, order of gangs."""
    def plain(value):
        return f"{value:.2f}"
    verdicts.most("whole run, in bare runs", data["max_ratio"], ratio(data), plain, True)
    verdicts.most("the two bare runs of a triple differ by", SPREAD,
                  max(made["spread"] for made in used_triples(data)), lambda v: f"{v:.0%}", False)
    if data["shape"]["jobs"] == 1:
        rate = create_rate(data)
        verdicts.add("create rate, of the bare one", f">= {MIN_CREATE_RATE:.0%}", f"{rate:.0%}",
                     rate >= MIN_CREATE_RATE, strict)
    verdicts.most("longest creation gap", MAX_GAP_S,
                  median(ours(data), lambda run: run["gap"]["seconds"]), lambda v: f"{v:.2f} s",
                  strict)
    if gang_mean(ours(data)[0]) is not None:
        verdicts.most("mean time to a complete gang, of plain round-robin's", MAX_GANG_MEAN,
                      median(ours(data), gang_mean), plain, shape_of(data) == GANG_SHAPE)


def check_resources(verdicts, data, strict):
    """CPU and memory."""
    verdicts.most("CPU of controller + scheduler, of the API server's", MAX_CPU_SHARE,
                  median(ours(data), cpu_share), lambda v: f"{v:.1%}", strict)
    verdicts.most("CPU of the scheduler, of the API server's", MAX_SCHEDULER_CPU_SHARE,
                  median(ours(data), scheduler_cpu_share), lambda v: f"{v:.1%}", strict)
    for name, most in MAX_RSS_MIB.items():
        peak = max(run["usage"][name]["rss_peak_mib"] for run in all_ours(data))
        verdicts.most(f"memory of {name}", most, peak, lambda v: f"{v:.4g} MiB", strict)


def all_met(rows):
    """True if nothing that is required is missing."""
    return all(row["met"] for row in rows if row["required"])
