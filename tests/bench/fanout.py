"""Measures fan-out shapes: our binaries against the bare limit of the same API server.

A figure is the median of interleaved triples bare - ours - bare; a triple whose two bare runs
differ by more than 15 % is repeated. Exit code: 0 all that is required is met, 1 something is not,
2 a run did not come to its end.
"""

import argparse
import shlex
import statistics
import subprocess
import sys
import tempfile
from datetime import datetime, timezone
from pathlib import Path

import foreign
import output
import probe
import rawdata
import report
import shapes
import sweep
import trouble
import verdicts
from runs import Bench, BenchError, ProcessError

ROOT = Path(__file__).resolve().parents[2]
WARM_UP_PODS = 5000
OTHERS = (probe, sweep, trouble, foreign)  # what is asked for by an option of that name


def spread(one, other):
    """By what fraction of the shorter one two bare runs differ."""
    low, high = sorted((one["whole_run_s"], other["whole_run_s"]))
    return high / low - 1


def triple(bench, shape, number, save, attempts=3):
    """One triple: {"runs": [bare, ours, bare], "ratio": ...}; repeated if its bare runs differ."""
    for attempt in range(1, attempts + 1):
        runs = []
        for mode in ("bare", "ours", "bare"):
            run = bench.run(mode, shape)
            runs.append(run)
            print(report.progress(f"{shape.name}, triple {number}.{attempt}", run), flush=True)
        bare = statistics.mean((runs[0]["whole_run_s"], runs[2]["whole_run_s"]))
        made = {"number": number, "attempt": attempt, "runs": runs,
                "spread": spread(runs[0], runs[2]), "ratio": runs[1]["whole_run_s"] / bare}
        save(made)
        if made["spread"] <= verdicts.SPREAD:
            break
        print(f"  the bare runs differ by {made['spread']:.0%}", flush=True)
    return made


def new_data(shape, options):
    """Raw data of a shape, without a run."""
    limit = options.max_ratio or shapes.FULL.get(shape, shapes.MAX_RATIO)
    return {"shape": {"jobs": shape.jobs, "pods": shape.pods, "nodes": options.nodes},
            "max_ratio": limit, "provenance": rawdata.provenance(ROOT, options.command),
            "triples": [], "used": []}


def raw_name(data):
    """The name of a shape's raw data and plot, without an extension."""
    return f"{data['provenance']['date'][:10]}-fanout-{verdicts.shape_of(data).name}"


def keep(data, options):
    """Writes the raw data of a shape, if it is to be kept."""
    if options.out:
        rawdata.save(options.out / f"{raw_name(data)}.json", data)


def measure_shape(bench, shape, options):
    """All triples of a shape, and one bare run in turn if it has several gangs."""
    data = new_data(shape, options)
    data["provenance"]["control plane"] = bench.plane.bin.parent.name

    def save(made):
        data["triples"].append(made)
        keep(data, options)
    for number in range(1, options.triples + 1):
        triple(bench, shape, number, save, options.attempts)
        data["used"].append(len(data["triples"]) - 1)
    if shape.jobs > 1 and shape.pods > 1 and not options.ci:
        data["in_turn"] = bench.run("in-turn", shape)
        print(report.progress(shape.name, data["in_turn"]), flush=True)
    data["finished"] = datetime.now(timezone.utc).isoformat(timespec="seconds")
    keep(data, options)
    return data


def finished(shape, options):
    """The newest finished raw data of a shape of this commit and these nodes, or None."""
    commit = rawdata.provenance(ROOT, "")["commit"]
    if not options.resume or " " in commit:
        return None
    for path in sorted(options.out.glob(f"*-fanout-{shape.name}.json"), reverse=True):
        data = rawdata.load(path)
        if (data.get("finished") and data["provenance"]["commit"] == commit
                and data["shape"]["nodes"] == options.nodes):
            return data
    return None


def warm_up(bench, shapes_left):
    """One bare run that counts nowhere: the first one of a control plane is slower than all others.

    (In it KWOK writes many statuses twice, and the API server's and etcd's memory has yet to grow.)
    """
    largest = max(shapes_left, key=lambda shape: shape.total)
    pods = min(largest.total, WARM_UP_PODS)
    print(report.progress("warm-up, counts nowhere", bench.run("bare", shapes.Shape(20, pods // 20))),
          flush=True)


def measure(options, folder):
    """The raw data of all shapes; None after bare runs alone."""
    found = {shape: finished(shape, options) for shape in options.shapes}
    left = [shape for shape in options.shapes if found[shape] is None]
    if left:
        with Bench(folder, options) as bench:
            if not options.ci:
                warm_up(bench, left)
            for shape in left:
                if options.bare_only:
                    for number in range(1, options.triples + 1):
                        print(report.progress(f"{shape.name}, {number}", bench.run("bare", shape)),
                              flush=True)
                else:
                    found[shape] = measure_shape(bench, shape, options)
    return None if options.bare_only else list(found.values())


def draw(datas, options):
    """The plots of a report, {shape name or "all": name}; nothing if no plots are asked for."""
    if not options.out or options.no_plots:
        return {}
    import plots
    made = {verdicts.shape_of(data).name: plots.draw_shape(data, options.out / raw_name(data))
            for data in datas}
    if len(datas) > 1:
        made["all"] = plots.draw_all(datas, options.out / f"{datas[0]['provenance']['date'][:10]}-fanout")
    return made


def publish(datas, options):
    """Prints the report, and writes it with its plots; gives the exit code."""
    made = draw(datas, options)
    text = report.markdown(datas, made)
    print(text)
    if options.out:
        name = raw_name(datas[0]) if len(datas) == 1 else made.get(
            "all", f"{datas[0]['provenance']['date'][:10]}-fanout")
        (options.out / f"{name}.md").write_text(text)
    return 0 if all(verdicts.all_met(verdicts.checks(data)) for data in datas) else 1


def fanout(options, folder):
    """Shapes in triples."""
    datas = measure(options, folder)
    return 0 if datas is None else publish(datas, options)


# The command line


def add_shapes(parser):
    """What is run."""
    parser.add_argument("--shape", action="append", default=[], metavar="JOBSxPODS",
                        help="shapes such as 20x500,1x10000; full: the four of 10,000 pods; small: "
                             "the four of 2,000; repeatable")
    parser.add_argument("--jobs", type=int, default=20)
    parser.add_argument("--pods", type=int, default=100, help="pods of each job")
    parser.add_argument("--nodes", type=int, default=100, help="KWOK nodes")
    parser.add_argument("--triples", type=int,
                        help="triples of a shape (3); runs of --probe (3), --sweep and --foreign (1)")
    parser.add_argument("--attempts", type=int, default=3,
                        help="how often a triple is run at most until its bare runs agree")
    parser.add_argument("--max-ratio", type=float,
                        help="longest whole run allowed, in bare runs (1/0.6; the four shapes of "
                             "10,000 pods have their own)")
    parser.add_argument("--timeout", type=float, help="seconds that one run may take")
    parser.add_argument("--bare-only", action="store_true",
                        help="only bare runs, without our binaries: how fast and how noisy "
                             "this machine is")
    parser.add_argument("--ci", action="store_true",
                        help="one triple of 10 x 40 on 40 nodes: counts strictly, ratio <= 2.5")


def add_output(parser):
    """Where it goes."""
    parser.add_argument("--out", type=Path, help="folder for report, plots and raw data")
    parser.add_argument("--no-plots", action="store_true", help="no plots in --out")
    parser.add_argument("--dir", type=Path, help="keep the control plane's folder, logs included")
    parser.add_argument("--resume", action="store_true",
                        help="shapes whose raw data of this commit are in --out are not run again")
    parser.add_argument("--from", dest="raw", type=Path, nargs="+", metavar="RAW.json",
                        help="run nothing: report and plots of raw data")


def arguments():
    """The command line."""
    parser = argparse.ArgumentParser(prog="fanout", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add_shapes(parser)
    add_output(parser)
    for other in OTHERS:
        other.add_arguments(parser)
    options = parser.parse_args()
    try:
        options.shapes = shapes.parse(options.shape) or [shapes.Shape(options.jobs, options.pods)]
    except ValueError as error:
        parser.error(str(error))
    complete(parser, options)
    return options


def complete(parser, options):
    """Fills in what follows from other options, and refuses what cannot be."""
    if options.ci:
        options.shapes, options.nodes = [shapes.Shape(10, 40)], 40
        options.triples, options.max_ratio = 1, 2.5
    if options.triples is None:
        options.triples = 1 if options.sweep or options.foreign else 3
    if options.resume and not options.out:
        parser.error("--resume needs --out, the folder of the raw data")
    for other in (probe, sweep, trouble):
        other.complete(parser, options)
    most = max(shape.total for shape in options.shapes)
    if most > shapes.PODS_PER_NODE * options.nodes and not options.foreign:
        parser.error(f"a node takes at most {shapes.PODS_PER_NODE} pods here: give more --nodes")
    options.command = shlex.join(["tests/bench/fanout", *sys.argv[1:]])


def again(datas, options):
    """Reports of raw data: one of all triples, and one of each other."""
    others = {module.NAME: module for module in OTHERS}
    codes = [output.publish(others[data["kind"]], data, options) for data in datas
             if data.get("kind") in others]
    triples = [data for data in datas if data.get("kind") not in others]
    for data in triples:
        if not data["used"]:
            raise BenchError(f"the raw data of shape {verdicts.shape_of(data).name} hold no triple "
                             "that came to its end: run the shape again")
    return max(codes + ([publish(triples, options)] if triples else []))


def mode_of(options):
    """The function that does what is asked for."""
    for other in OTHERS:
        if getattr(options, other.NAME):
            return other.main
    return fanout


def main():
    """Runs it and gives the exit code."""
    options = arguments()
    for folder in filter(None, (options.out, options.dir)):
        folder.mkdir(parents=True, exist_ok=True)
    try:
        if options.raw:
            return again([rawdata.load(path) for path in options.raw], options)
        if options.dir:
            return mode_of(options)(options, options.dir)
        with tempfile.TemporaryDirectory(prefix="fanout-") as folder:
            return mode_of(options)(options, folder)
    except (BenchError, ProcessError, AssertionError, subprocess.CalledProcessError) as error:
        print(f"fanout: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
