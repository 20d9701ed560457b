"""What fanout prints: a line for each run, and the Markdown report with its verdicts."""

import os
import platform
import statistics
import subprocess
from datetime import datetime, timezone

PROCESSES = ("kube-apiserver", "etcd", "kwok", "kube-controller-manager", "pumice-webhook",
             "pumice-controller", "pumice-scheduler")
MAX_GAP_S = 0.5
MAX_CPU_SHARE = 0.10
MAX_RSS_MIB = {"pumice-controller": 64, "pumice-scheduler": 64, "pumice-webhook": 32}


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


def file_name(data):
    """The name of report and raw data, without an extension."""
    shape = data["shape"]
    return f"{data['provenance']['date'][:10]}-fanout-{shape['jobs']}x{shape['pods']}"


def progress(label, run):
    """One line about a run that has ended."""
    used = ", ".join(f"{name} {one['cpu_s']:.1f}" for name, one in run["usage"].items()
                     if one["cpu_s"] >= 0.05)
    return (f"triple {label} {run['mode']}: {run['whole_run_s']:.2f} s, "
            f"{run['bound_per_s']:.0f} bound/s, {run['pod_creates']} pods created, "
            f"{run['binds']} bound, {run['conflicts']} conflicts, Job and PodGroup writes "
            f"{run['budget']['written']} of {run['budget']['allowed']}, gap "
            f"{run['gap']['seconds']:.2f} s, CPU s: {used}")


def used_triples(data):
    """The triples that count, repeated ones left out."""
    return [data["triples"][index] for index in data["used"]]


def ours(data):
    """Our runs that count."""
    return [made["runs"][1] for made in used_triples(data)]


def all_ours(data):
    """All our runs: a count has to be right in every one."""
    return [made["runs"][1] for made in data["triples"]]


def cpu_share(run):
    """CPU of controller and scheduler as a fraction of the API server's."""
    used = run["usage"]
    return ((used["pumice-controller"]["cpu_s"] + used["pumice-scheduler"]["cpu_s"])
            / used["kube-apiserver"]["cpu_s"])


def checks(data):
    """The verdicts: [{"what", "target", "found", "met", "required"}]."""
    runs, counted = all_ours(data), ours(data)
    wanted = runs[0]["pods_wanted"]
    made = []

    def check(what, target, found, met, required=True):
        made.append({"what": what, "target": target, "found": found, "met": met,
                     "required": required})

    def exact(what, key, value):
        found = [run[key] for run in runs]
        check(what, str(value), ", ".join(map(str, found)), set(found) == {value})
    exact("pod creates", "pod_creates", wanted)
    exact("surplus creates", "surplus_creates", 0)
    exact("binds", "binds", wanted)
    exact("bind requests", "bind_posts", wanted)
    exact("answers 409", "conflicts", 0)
    failed = sum(sum(run["failures"].values()) for run in runs)
    check("refused writes", "0", str(failed), failed == 0)
    over = sum(len(run["budget"]["over"]) for run in runs)
    check("Job and PodGroup writes", "each job within its budget",
          ", ".join(f"{run['budget']['written']} of {run['budget']['allowed']}" for run in runs)
          + f"; {over} jobs over", over == 0)
    ratio = statistics.median(made["ratio"] for made in used_triples(data))
    check("whole run, in bare runs", f"<= {data['max_ratio']:.2f}", f"{ratio:.2f}",
          ratio <= data["max_ratio"])
    spread = max(made["spread"] for made in used_triples(data))
    check("the two bare runs of a triple differ by", "<= 15 %", f"{spread:.0%} at most",
          spread <= 0.15, required=False)
    gap = statistics.median(run["gap"]["seconds"] for run in counted)
    check("longest creation gap", f"<= {MAX_GAP_S} s", f"{gap:.2f} s", gap <= MAX_GAP_S,
          required=False)
    share = statistics.median(cpu_share(run) for run in counted)
    check("CPU of controller + scheduler", f"<= {MAX_CPU_SHARE:.0%} of the API server's",
          f"{share:.1%}", share <= MAX_CPU_SHARE, required=False)
    for name, most in MAX_RSS_MIB.items():
        peak = max(run["usage"][name]["rss_peak_mib"] for run in runs)
        check(f"memory of {name}", f"<= {most} MiB", f"{peak:.1f} MiB", peak <= most,
              required=False)
    return made


def table(header, rows):
    """A Markdown table."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows])


def verdicts(data):
    """The table of targets."""
    def word(check):
        return "yes" if check["met"] else "**no**" if check["required"] else "no"
    return table(["What", "Target", "Found", "Met"],
                 [[c["what"], c["target"], c["found"], word(c)] for c in checks(data)])


def every_run(data):
    """All runs, repeated triples among them."""
    rows = []
    for index, made in enumerate(data["triples"]):
        label = f"{made['number']}.{made['attempt']}"
        for run in made["runs"]:
            repeated = "" if index in data["used"] else " (repeated)"
            rows.append([label + repeated, run["mode"], f"{run['whole_run_s']:.2f}",
                         f"{run['bound_per_s']:.0f}", run["pod_posts"], run["binds"],
                         run["conflicts"],
                         f"{run['budget']['written']} / {run['budget']['allowed']}",
                         f"{run['events_in_run']} / {run['apart']['events']}", f"{run['gap']['seconds']:.2f}",
                         f"{made['ratio']:.2f}" if run["mode"] == "ours" else ""])
    return table(["Triple", "Run", "Whole run s", "bound/s", "pod POSTs", "binds", "409",
                  "Job + PodGroup writes / budget", "Events in run / all", "gap s", "ratio"], rows)


def usage(data):
    """CPU and memory of each process, medians of the runs that count."""
    rows = []
    for name in PROCESSES:
        row = [name]
        for mode in ("bare", "ours"):
            found = [run["usage"][name] for made in used_triples(data) for run in made["runs"]
                     if run["mode"] == mode and name in run["usage"]]
            row += ([f"{statistics.median(one['cpu_s'] for one in found):.2f}",
                     f"{statistics.median(one['rss_peak_mib'] for one in found):.1f}"]
                    if found else ["-", "-"])
        rows.append(row)
    return table(["Process", "bare: CPU s", "RSS peak MiB", "ours: CPU s", "RSS peak MiB"], rows)


def flow(data):
    """How creates and binds ran, the first counting triple's runs side by side."""
    rows = []
    for run in used_triples(data)[0]["runs"][:2]:
        for what, key in (("pod creates", "creates"), ("binds", "binds_load")):
            load = run[key]
            rows.append([run["mode"], what, f"{load['span_s']:.2f}", f"{load['per_s']:.0f}",
                         f"{load['in_flight']:.1f}", f"{load['p50_ms']:.1f}",
                         f"{load['p99_ms']:.1f}"])
    return table(["Run", "Requests", "over s", "per s", "in flight (mean)", "p50 ms", "p99 ms"],
                 rows)


def waiting(run):
    """Where our run waited, and its milestones."""
    lines = [f"In our run of the first counting triple no write was in flight for "
             f"{run['idle']['seconds']:.2f} s of {run['whole_run_s']:.2f} s. The longest such spans:",
             "", table(["s", "at s", "after", "before"],
                       [[f"{span['seconds']:.3f}", f"{span['from_s']:.2f}", span["after"],
                         span["before"]] for span in run["idle"]["longest"]]),
             "", table(["Write", "first at s", "last answered at s"],
                       [[key, f"{first:.2f}", f"{last:.2f}"] for key, (first, last)
                        in sorted(run["milestones"].items(), key=lambda item: item[1])])]
    return "\n".join(lines)


def writers(run):
    """Who wrote what in a run."""
    return table(["Client", "Verb", "Resource", "Code", "Count"], run["writes"])


def markdown(data):
    """The whole report."""
    shape, origin = data["shape"], data["provenance"]
    first = ours(data)[0]
    over = [f"- {job}: {written} writes, {allowed} allowed" for run in all_ours(data)
            for job, (written, allowed) in run["budget"]["over"].items()]
    parts = [
        f"# Fan-out {shape['jobs']} x {shape['pods']}, {shape['nodes']} nodes",
        "\n".join(f"- {key}: {value}" for key, value in origin.items()),
        "Counts and times are from the API server's audit log; the README of tests/bench says how "
        "each is defined.",
        "## Targets", verdicts(data),
        "## All runs", every_run(data),
        "## CPU and memory", "Medians of the runs that count.", usage(data),
        "## How the requests ran", flow(data), waiting(first),
        "## Writes of our run in the first counting triple", writers(first)]
    if over:
        parts += ["## Jobs over their budget", "\n".join(over)]
    return "\n\n".join(parts) + "\n"
