"""Plots of runs, as SVG and PNG. matplotlib is needed here alone, and imported when one is drawn."""

import report
import verdicts
from curves import summed

OURS, BARE, TURN, OTHER = "#1f5fbf", "#8a8a8a", "#d9822b", "#2b8a4b"
KINDS = ("created", "bound", "running")
PNG_DPI = 110


def figure(width, height):
    """An empty figure whose files are the same each time: no dates, no random names, text as text."""
    import matplotlib
    from matplotlib.figure import Figure
    matplotlib.rcParams.update({
        "svg.fonttype": "none", "svg.hashsalt": "pumice", "font.size": 9, "axes.grid": True,
        "grid.alpha": 0.3, "axes.spines.top": False, "axes.spines.right": False,
        "legend.frameon": False, "path.simplify": True})
    return Figure(figsize=(width, height), layout="constrained")


def save(drawn, base):
    """Writes base.svg and base.png; returns the name without a folder."""
    drawn.savefig(base.with_name(base.name + ".svg"), metadata={"Date": None})
    drawn.savefig(base.with_name(base.name + ".png"), dpi=PNG_DPI, metadata={"Software": None})
    return base.name


class Series:
    """One run in a plot: its name and how it is drawn."""

    def __init__(self, label, run, color, style="-"):
        self.label, self.run, self.color, self.style = label, run, color, style

    def draw(self, axes, x, y, **more):
        """Draws a line in the series' manner."""
        axes.plot(x, y, **{"color": self.color, "linestyle": self.style, "linewidth": 1.5,
                           "label": self.label, **more})


def series_of(data):
    """The runs of a shape that are drawn, ours or the foreign one first."""
    if data.get("triples"):
        runs = verdicts.middle(data)["runs"]
        found = [Series("Pumice", runs[1], OURS), Series("bare limit", runs[0], BARE, "--")]
    else:
        found = [Series("measured", run, OURS) for run in data["runs"][:1]]
    if data.get("in_turn"):
        found.append(Series("bare, round-robin", data["in_turn"], TURN, ":"))
    for beside in data.get("beside", ()):
        found += [Series(f"beside: {one.label}", one.run, OTHER, one.style)
                  for one in series_of(beside)[:2]]
    return found


def steps(run, kind):
    """Seconds and counts of a curve."""
    width, counts = run["curves"]["step_s"], run["curves"][kind]
    return [width * (index + 1) for index in range(len(counts))], counts


def draw_total(axes, series, kind):
    """How many pods there are over time."""
    for one in series:
        times, counts = steps(one.run, kind)
        one.draw(axes, [0, *times], [0, *summed(counts)])
    axes.set(title=f"pods {kind}", xlabel="seconds since the first job", ylim=(0, None), xlim=(0, None))
    axes.legend()


def draw_rate(axes, series):
    """Creates of each step, per second."""
    for one in series:
        times, counts = steps(one.run, "created")
        width = one.run["curves"]["step_s"]
        one.draw(axes, times, [count / width for count in counts], drawstyle="steps-pre",
                 linewidth=1.0)
    axes.set(title="creates per second, in steps of 0.1 s or more", ylim=(0, None), xlim=(0, None),
             xlabel="seconds since the first job")
    axes.legend()


def draw_gangs(axes, series):
    """How many gangs have all their pods over time, and how it would be in turn."""
    def line(one, kind, **more):
        found = one.run["gangs"][kind]
        if found:
            points = [(0, 0), *found["curve"]]
            one.draw(axes, [x for x, _ in points], [y for _, y in points],
                     drawstyle="steps-post", **more)
    for one in series:
        line(one, "created")
    line(series[0], "in_turn", color=TURN, label=f"{series[0].label}: same creates in turn")
    axes.set(title="gangs with all pods created", ylim=(0, None), xlim=(0, None),
             xlabel="seconds since the first job")
    axes.legend()


def draw_shape(data, base):
    """The plot of one shape."""
    series = series_of(data)
    curves = [one for one in series if one.style != ":"]
    with_gangs = verdicts.gang_mean(series[0].run) is not None
    drawn = figure(12, 7)
    grid = drawn.add_gridspec(2, 6)
    for column, kind in enumerate(KINDS):
        draw_total(drawn.add_subplot(grid[0, 2 * column:2 * column + 2]), curves, kind)
    draw_rate(drawn.add_subplot(grid[1, :4 if with_gangs else 6]), curves)
    if with_gangs:
        draw_gangs(drawn.add_subplot(grid[1, 4:]), series)
    drawn.suptitle(f"{data['shape']['jobs']} jobs x {data['shape']['pods']} pods")
    return save(drawn, base)


def draw_all(datas, base):
    """One panel for each shape: pods created and bound."""
    rows = (len(datas) + 1) // 2
    drawn = figure(11, 3.6 * rows)
    for index, data in enumerate(datas):
        axes = drawn.add_subplot(rows, 2, index + 1)
        for one in series_of(data)[:2]:
            for kind, width in (("created", 1.8), ("bound", 0.9)):
                times, counts = steps(one.run, kind)
                one.draw(axes, [0, *times], [0, *summed(counts)], linewidth=width,
                         label=f"{one.label}, {kind}")
        title = f"{data['shape']['jobs']} jobs x {data['shape']['pods']} pods"
        if data.get("triples"):
            title += f": {verdicts.ratio(data):.2f} bare runs"
        axes.set(title=title, xlabel="seconds since the first job", ylabel="pods", ylim=(0, None),
                 xlim=(0, None))
        axes.legend()
    return save(drawn, base)


def draw_foreign(data, base):
    """The plot of runs on a cluster that was there."""
    return draw_shape(data, base)


def draw_probe(data, base):
    """What each probe waited, over time; and the pods of the large job."""
    drawn = figure(10, 6)
    upper, lower = drawn.subplots(2, 1, sharex=True)
    for index, one in enumerate(data["runs"]):
        for kind, color in (("created", OURS), ("bind", OTHER)):
            label = {"created": "Job received to pod created", "bind": "bind request"}[kind]
            for part, marker in (("idle", "."), ("loaded", "x")):
                upper.plot(one[part]["at"], one[part][kind], marker, color=color, markersize=4,
                           label=label if (index, part) == (0, "loaded") else None)
        times, counts = steps({"curves": one["large"]["curve"]}, "created")
        lower.plot([0, *times], [0, *summed(counts)], color=OURS, linewidth=1.2)
    upper.set(title="one-pod jobs, alone before second 0 and then beside a large job",
              ylabel="ms", yscale="log")
    lower.set(title="pods of the large job", xlabel="seconds since the large job was submitted",
              ylim=(0, None))
    upper.legend()
    return save(drawn, base)


def draw_sweep(data, base):
    """Rate and latency over the fixed window, a column for each distance."""
    import sweep
    distances = sweep.delays(data)
    drawn = figure(4 * len(distances) + 1, 6)
    axes = drawn.subplots(2, len(distances), squeeze=False)
    for column, delay in enumerate(distances):
        for row, key in enumerate(("per_s", "p50_ms")):
            draw_distance(axes[row][column], data, delay, key)
        axes[0][column].set(title=f"+{delay} ms", ylim=(0, None))
        axes[1][column].set(xlabel="fixed window", ylim=(0, None))
    axes[0][0].set(ylabel="creates/s")
    axes[1][0].set(ylabel="p50 of a create, ms")
    axes[0][0].legend()
    return save(drawn, base)


def draw_distance(axes, data, delay, key):
    """One figure of the sweep at one distance."""
    import sweep
    for by, color in (("ours", OURS), ("bare", BARE)):
        runs = sorted(sweep.chosen(data, delay, by, fixed=True), key=lambda run: run["window"])
        axes.plot([run["window"] for run in runs], [run[key] for run in runs], "o-", color=color,
                  markersize=3, label=f"{sweep.BY[by]}, fixed")
    value = sweep.adaptive(data, delay)[0 if key == "per_s" else 1]
    axes.axhline(value, color=TURN, linestyle="--", label="controller, adaptive")
    windows = sorted({run["window"] for run in data["runs"] if run["window"] != sweep.ADAPTIVE})
    axes.set_xscale("log", base=2)
    axes.set_xticks(windows, map(str, windows))


def draw_trouble(data, base):
    """Creates a second and the limit of the window, a row for each kind of trouble."""
    drawn = figure(11, 3.2 * len(data["runs"]))
    rows = drawn.subplots(len(data["runs"]), 1, squeeze=False)
    for (axes,), run in zip(rows, data["runs"]):
        times, counts = steps(run, "created")
        width = run["curves"]["step_s"]
        axes.plot(times, [count / width for count in counts], color=OURS, linewidth=1,
                  drawstyle="steps-pre", label="creates/s")
        axes.axvspan(run["begin_s"], run["end_s"], color=TURN, alpha=0.15, label="trouble")
        axes.set(title=f"{run['kind']}: back after {report.number(run['recovered_s'], '{:.1f} s')}",
                 xlabel="seconds since the job was submitted", ylabel="creates/s", ylim=(0, None))
        other = axes.twinx()
        other.plot([at for at, _ in run["limits"]], [limit for _, limit in run["limits"]],
                   color=OTHER, linewidth=1.2, label="limit of the window")
        other.set(ylim=(0, None), ylabel="requests in flight allowed")
        other.grid(False)
        axes.legend(*(first + second for first, second in zip(
            axes.get_legend_handles_labels(), other.get_legend_handles_labels())))
    return save(drawn, base)
