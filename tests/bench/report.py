"""What fanout prints: a line for each run, and the Markdown report of all shapes of one call."""

import statistics

import costs
import verdicts
from verdicts import ours, used_triples

IN_TURN = ("A gang is complete once all its pods are created. \"In turn\" is the same run's creates, dealt "
           "out to the jobs in turn at the very times at which they succeeded: plain round-robin with this "
           "run's create curve.")


def progress(label, run):
    """One line about a run that has ended."""
    used = ", ".join(f"{name} {one['cpu_s']:.1f}" for name, one in run["usage"].items()
                     if one["cpu_s"] >= 0.05)
    return (f"{label} {run['mode']}: {run['whole_run_s']:.2f} s, "
            f"{run['bound_per_s']:.0f} bound/s, {run['pod_creates']} pods created, "
            f"{run['binds']} bound, {run['conflicts']} conflicts, Job and PodGroup writes "
            f"{run['budget']['written']} of {run['budget']['allowed']}, gap "
            f"{run['gap']['seconds']:.2f} s, CPU s: {used}")


# Pieces


def table(header, rows):
    """A Markdown table."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows])


def number(value, text="{:.2f}"):
    """A number as text, "-" for None."""
    return "-" if value is None else text.format(value)


def verdict_table(rows):
    """The table of targets."""
    def word(check):
        return "yes" if check["met"] else "**no**" if check["required"] else "no"
    return table(["What", "Target", "Found", "Met"],
                 [[c["what"], c["target"], c["found"], word(c)] for c in rows])


def image(name, text):
    """A plot in the folder of the report."""
    return f"![{text}]({name}.svg)"


def shape_title(data):
    """20x500, 100 nodes."""
    shape = data["shape"]
    return f"{shape['jobs']} x {shape['pods']}" + (f", {shape['nodes']} nodes"
                                                  if shape.get("nodes") else "")


# Of triples


def all_runs(data):
    """(number, triple or None, run) of every run, those of repeated triples among them."""
    for index, made in enumerate(data.get("triples", ())):
        repeated = "" if index in data["used"] else " (repeated)"
        for run in made["runs"]:
            yield f"{made['number']}.{made['attempt']}{repeated}", made, run
    if data.get("in_turn"):
        yield "-", None, data["in_turn"]
    for index, run in enumerate(data.get("runs", ())):
        yield str(index + 1), None, run


def every_run(data):
    """All runs, a row for each."""
    rows = []
    for label, made, run in all_runs(data):
        budget = run["budget"]
        rows.append([label, run["mode"], f"{run['whole_run_s']:.2f}", f"{run['bound_per_s']:.0f}",
                     f"{run['creates']['per_s']:.0f}", run["pod_posts"], run["binds"],
                     run["conflicts"], f"{budget['written']} / {budget['allowed']}",
                     f"{run['events_in_run']} / {run['apart']['events']}",
                     f"{run['gap']['seconds']:.2f}", number(run["variation"]),
                     f"{made['ratio']:.2f}" if made and run is made["runs"][1] else ""])
    return table(["No.", "Run", "Whole run s", "bound/s", "create/s", "pod POSTs", "binds",
                  "409", "Job + PodGroup writes / budget", "Events in run / all", "gap s",
                  "variation", "ratio"], rows)


def gangs(data):
    """When gangs were complete, a row for each run; nothing for gangs of one pod or one gang."""
    rows = []
    for label, _, run in all_runs(data):
        found = run["gangs"]
        if verdicts.gang_mean(run) is None:
            continue
        row = [label, run["mode"]]
        for kind in ("created", "in_turn", "bound"):
            row += [number(found[kind] and found[kind]["mean_s"]),
                    number(found[kind] and found[kind]["last_s"])]
        rows.append(row + [number(verdicts.gang_mean(run))])
    if not rows:
        return None
    return table(["No.", "Run", "created: mean s", "last s", "in turn: mean s", "last s",
                  "bound: mean s", "last s", "created / in turn"], rows)


def processes(runs):
    """The names of all processes of some runs, in order of appearance."""
    return list(dict.fromkeys(name for run in runs for name in run["usage"]))


def usage(modes):
    """CPU and memory of each process: medians of the runs of each mode, {mode: runs}."""
    rows = []
    for name in processes([run for runs in modes.values() for run in runs]):
        row = [name]
        for runs in modes.values():
            found = [run["usage"][name] for run in runs if name in run["usage"]]
            row += ([f"{statistics.median(one['cpu_s'] for one in found):.2f}",
                     f"{statistics.median(one['rss_peak_mib'] for one in found):.1f}"]
                    if found else ["-", "-"])
        rows.append(row)
    header = [text for mode in modes for text in (f"{mode}: CPU s", "RSS peak MiB")]
    return table(["Process", *header], rows)


def flow(runs):
    """How creates and binds of some runs went, side by side."""
    rows = []
    for run in runs:
        for what, key in (("pod creates", "creates"), ("binds", "binds_load")):
            load = run[key]
            rows.append([run["mode"], what, f"{load['span_s']:.2f}", f"{load['per_s']:.0f}",
                         f"{load['in_flight']:.1f}", f"{load['p50_ms']:.1f}",
                         f"{load['p99_ms']:.1f}"])
    return table(["Run", "Requests", "over s", "per s", "in flight (mean)", "p50 ms", "p99 ms"],
                 rows)


def waiting(run):
    """Where a run waited, and its milestones."""
    return "\n".join([
        f"No write was in flight for {run['idle']['seconds']:.2f} s of "
        f"{run['whole_run_s']:.2f} s. The longest such spans:", "",
        table(["s", "at s", "after", "before"],
              [[f"{span['seconds']:.3f}", f"{span['from_s']:.2f}", span["after"], span["before"]]
               for span in run["idle"]["longest"]]),
        "", table(["Write", "first at s", "last answered at s"],
                  [[key, f"{first:.2f}", f"{last:.2f}"] for key, (first, last)
                   in sorted(run["milestones"].items(), key=lambda item: item[1])])])


def requests(run):
    """Who asked for what in a run."""
    return table(["Client", "Verb", "Resource", "Code", "Count"], run["requests"])


# Whole reports


def summary(datas):
    """One row for each shape."""
    rows = []
    for data in datas:
        runs = ours(data)
        rows.append([verdicts.shape_of(data).name, f"{verdicts.ratio(data):.2f}",
                     f"{verdicts.create_rate(data):.2f}",
                     f"{verdicts.median(runs, lambda run: run['gap']['seconds']):.2f}",
                     number(runs[0]["variation"]), number(verdicts.bare(data)[0]["variation"]),
                     number(verdicts.gang_mean(runs[0])),
                     max(run["surplus_creates"] for run in verdicts.all_ours(data)),
                     f"{verdicts.median(runs, verdicts.cpu_share):.1%}",
                     "yes" if verdicts.all_met(verdicts.checks(data)) else "**no**"])
    return table(["Shape", "whole run, in bare runs", "create rate, of bare", "gap s",
                  "variation", "bare", "gangs: created / in turn", "surplus", "CPU share",
                  "all required met"], rows)


def cost_of_pod(runs):
    """What a pod cost in a triple, its first bare run and ours."""
    if not all(run.get("costs") for run in runs[:2]):
        return []
    return ["### What a pod costs", "Per pod, in the first counting triple; bytes, seats and etcd from the "
            "metrics of the API server and etcd. Creates of pods and of their bindings are one there.",
            table(["What", "bare", "ours"], costs.table_rows(*runs[:2]))]


def over_budget(data):
    """The jobs that wrote more than they may, if any."""
    lines = [f"- {job}: {written} writes, {allowed} allowed" for run in verdicts.all_ours(data)
             for job, (written, allowed) in run["budget"]["over"].items()]
    return ["### Jobs over their budget", "\n".join(lines)] if lines else []


def shape_section(data, plot):
    """All about one shape; plot is the name of its picture or None."""
    first = ours(data)[0]
    found = gangs(data)
    modes = {"bare": verdicts.bare(data), "ours": ours(data)}
    return [f"## {shape_title(data)}", *([image(plot, f"Curves of {shape_title(data)}")] if plot else []),
            "### Targets", verdict_table(verdicts.checks(data)),
            "### All runs", every_run(data),
            *(["### Complete gangs", IN_TURN, found] if found else []),
            "### CPU and memory", "Medians of the runs that count.", usage(modes),
            *cost_of_pod(used_triples(data)[0]["runs"]),
            "### How the requests ran", "The first counting triple.",
            flow(used_triples(data)[0]["runs"][:2]), waiting(first),
            "### Requests of our run in the first counting triple", requests(first),
            *over_budget(data)]


def origin(data):
    """Commit, command, machine."""
    return "\n".join(f"- {key}: {value}" for key, value in data["provenance"].items())


def markdown(datas, plots):
    """The report of shapes; plots is {shape name: name of its picture}, "all" that of all."""
    title = shape_title(datas[0]) if len(datas) == 1 else ", ".join(
        verdicts.shape_of(data).name for data in datas)
    parts = [f"# Fan-out {title}", origin(datas[0]),
             "Counts and times are from the API server's audit log; the README of tests/bench says how "
             "each is defined."]
    if len(datas) > 1:
        parts += ["## All shapes", *([image(plots["all"], "Curves of all shapes")]
                                     if "all" in plots else []), summary(datas)]
    for data in datas:
        parts += shape_section(data, plots.get(verdicts.shape_of(data).name))
    return "\n\n".join(parts) + "\n"
