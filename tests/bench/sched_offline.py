"""Measures the scheduler without an API server: placements a second, turns and cycles of the loop, memory,
allocations, on generated clusters of 1,000, 5,000 and 20,000 nodes and on recorded ones.

Each line of a table is runs of sched_offline, a process of its own each, with the configuration as shipped. Times
are CPU times of its one thread, the median of the runs; counts have to be the same in every run. Exit code: 0 all
that is required is met, 1 something is not, 2 a run failed.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from datetime import datetime, timezone
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NODES = (1000, 5000, 20000)
GANGS = (1, 10, 100, 1000, 10000)
MIXED = 0  # as a size of gangs: 1, 10, 100 and 1,000 in eight queues
PODS = 20000
# Templates of kube-scheduler's benchmark, and the pods a second that Kubernetes 1.37 asks of them on 5,000 nodes (of
# preferred terms what it asks of required ones). None: nothing is compared.
PERF_KINDS = {"SchedulingBasic": 680, "SchedulingNodeAffinity": 540, "SchedulingDaemonset": None, "Unschedulable": None,
              "SchedulingPodAffinity": 70, "SchedulingPodAntiAffinity": 180, "SchedulingPreferredPodAffinity": 70,
              "SchedulingPreferredPodAntiAffinity": 180, "TopologySpreading": 460, "PreferredTopologySpreading": 460,
              "MixedSchedulingBasePod": 710}
PERF_TIMES = 3      # as many as Kubernetes asks
APART_PODS = 0.4    # pods that must have a node each, a node
APART_RATE = 2000   # placements a second of them, on RATE_NODES nodes

RATE = 20000        # placements a second of gangs, on RATE_NODES nodes
RATE_NODES = 5000
TURN_MS = 20        # while a gang of 10,000 is placed
POD_BYTES = 1088    # with its share of a job, in gangs of 10 and more
NODE_BYTES = 4096   # with what tables keep of it, on NODE_BYTES_NODES and more
NODE_BYTES_NODES = 1000
HOT_ALLOCS = 0.05   # a placement, in gangs of 1,000 and more
GANG_ALLOCS = 16    # a gang of 1 or 10, beside those of its binds
EVICT_NODES = 100   # with ten pods each
EVICT_MS = 50       # to decide on 1,000 victims on 100 nodes
REST_MS = 5         # a cycle at rest while jobs starve that nobody may be evicted for, on 5,000 nodes
EXTENDER_MS = 20    # how much longer jobs may wait that need no extender, while others wait for it
VARIABLE = ("cpu_ns", "placing_ns", "turns", "cycles")  # what may differ between runs


class Failed(Exception):
    """A run that did not come to its end, or differs from the one before."""


def shipped_conf():
    """The scheduler's configuration as the manifests have it."""
    text = (ROOT / "manifests" / "install.yaml").read_text()
    block = re.search(r"^  volcano-scheduler\.conf: \|\n((?:    .*\n)+)", text, re.MULTILINE)
    return re.sub(r"^    ", "", block.group(1), flags=re.MULTILINE)


def preempting(conf):
    """A configuration with the action preempt alone."""
    return re.sub(r'^actions:.*$', 'actions: "preempt"', conf, flags=re.MULTILINE)


class Bench:
    """Runs of sched_offline, and what was required of them."""

    def __init__(self, program, conf, repeat):
        self.program, self.conf, self.repeat = program, conf, repeat
        self.failed = []

    def once(self, **options):
        """One run; what it printed."""
        words = [f"--{key}={value}" if value is not True else f"--{key}" for key, value in options.items()]
        done = subprocess.run([self.program, f"--conf={self.conf}", *words], text=True, stdout=subprocess.PIPE,
                              check=False)
        if done.returncode:
            raise Failed(f"sched_offline {' '.join(words)} ended with {done.returncode}")
        return json.loads(done.stdout)

    def run(self, **options):
        """Some runs; the figures of the one whose CPU time is the median."""
        runs = [self.once(**options) for _ in range(self.repeat)]
        counts = [{key: value for key, value in run.items() if key not in VARIABLE} for run in runs]
        for other in counts[1:]:
            different = [key for key in other if other[key] != counts[0][key] and "bytes" not in key]
            self.require(not different, f"{options}: runs differ in {', '.join(different)}")
        print(f"# {options}: {[round(run['cpu_ns'] / 1e6) for run in runs]} ms", file=sys.stderr, flush=True)
        return sorted(runs, key=lambda run: run["cpu_ns"])[(len(runs) - 1) // 2]

    def require(self, good, text):
        """Notes a requirement; returns the word for a table."""
        if not good:
            self.failed.append(text)
        return "yes" if good else "NO"


def cost(run):
    """CPU a bound pod, in microseconds."""
    return run["cpu_ns"] / 1e3 / max(run["binds"], 1)


def rate(run):
    """Pods bound in a second of CPU time."""
    return 1e6 / cost(run)


def gang_name(gang):
    """A size of gangs, for people."""
    return f"{gang:,}" if gang else "mixed, 8 queues"


def ms(times, key):
    """A time of a summary in milliseconds."""
    return times[f"{key}_ns"] / 1e6


def allocations(run, gang):
    """Allocations of the steps of actions, without those of binds: a placement, or a job's first one."""
    if gang >= 1000:
        return run["hot_allocs"] / max(run["hot"], 1)
    return (run["step_allocs"] - run["bind_allocs"]) / max(run["jobs"], 1)


def check_complete(bench, run, name):
    """All pods that fit somewhere have to be bound."""
    return bench.require(run["waiting"] == run["hopeless"] and run["binds"] == run["pods"] - run["hopeless"],
                         f"{name}: {run['binds']} of {run['pods'] - run['hopeless']} pods were bound")


def check_allocations(bench, run, gang, name):
    """Counts, so they are exact."""
    hot = run["hot_allocs"] / max(run["hot"], 1)
    each = (run["step_allocs"] - run["bind_allocs"]) / max(run["jobs"], 1)
    if gang >= 1000:
        bench.require(hot <= HOT_ALLOCS, f"{name}: {hot:.3f} allocations a placement, at most {HOT_ALLOCS}")
    elif gang in (1, 10):
        bench.require(each <= GANG_ALLOCS, f"{name}: {each:.1f} allocations a gang, at most {GANG_ALLOCS}")


def shape_options(nodes, gang, pods):
    """The options of a shape."""
    return {"nodes": nodes, "gang": gang, "pods": pods, **({"queues": 8} if gang == MIXED else {})}


SHAPE_HEAD = ["| nodes | gangs of | placements/s | CPU a placement, µs | of that choosing a node | nodes looked at | "
              "turn p50 / p99 / longest, ms | longest cycle, ms | allocations | met |",
              "|---|---|---|---|---|---|---|---|---|---|"]


def shape_row(nodes, gang, run, met):
    """A line of the first table."""
    turns = run["turns"]
    choosing = f"{run['placing_ns'] / 1e3 / run['placing']:.2f}" if run["placing"] else "–"
    unit = "a placement" if gang >= 1000 else "a gang"
    return (f"| {nodes:,} | {gang_name(gang)} | {rate(run):,.0f} | {cost(run):.1f} | {choosing} | "
            f"{run['refreshed'] / max(run['placements'], 1):,.1f} | {ms(turns, 'median'):.1f} / "
            f"{ms(turns, 'p99'):.1f} / {ms(turns, 'longest'):.1f} | {ms(run['cycles'], 'longest'):,.0f} | "
            f"{allocations(run, gang):.2f} {unit} | {met} |")


def check_shape(bench, nodes, gang, run):
    """What is required of one shape; the word for its line."""
    name = f"{nodes:,} nodes, gangs of {gang_name(gang)}"
    before = len(bench.failed)
    check_complete(bench, run, name)
    check_allocations(bench, run, gang, name)
    if nodes == RATE_NODES and gang >= 10:
        bench.require(rate(run) >= RATE, f"{name}: {rate(run):,.0f} placements/s, at least {RATE:,}")
    if gang >= 10000:
        longest = ms(run["turns"], "longest")
        bench.require(longest <= TURN_MS, f"{name}: a turn of {longest:.1f} ms, at most {TURN_MS}")
    return "yes" if len(bench.failed) == before else "NO"


def shapes(bench, nodes, gangs, pods):
    """All shapes: the runs and the lines of the table."""
    runs, lines = {}, list(SHAPE_HEAD)
    for count in nodes:
        for gang in gangs:
            run = runs[count, gang] = bench.run(**shape_options(count, gang, pods))
            lines.append(shape_row(count, gang, run, check_shape(bench, count, gang, run)))
    return runs, lines


def growth(bench, runs, nodes, gangs):
    """How the cost of a placement grows with the number of nodes."""
    least, most = min(nodes), max(nodes)
    lines = ["", f"## From {least:,} to {most:,} nodes", "",
             f"The same pods. {most // least} times the nodes: no more than {most // least} times the cost.", "",
             "| gangs of | " + " | ".join(f"µs at {count:,}" for count in nodes) + " | cost grows | nodes looked at "
             "grow | met |", "|---|" + "---|" * (len(nodes) + 3)]
    for gang in gangs:
        first, last = runs[least, gang], runs[most, gang]
        times = cost(last) / cost(first)
        looks = last["refreshed"] / max(first["refreshed"], 1)
        met = bench.require(times <= most / least and looks <= most / least,
                            f"gangs of {gang_name(gang)}: {times:.1f} times the cost, {looks:.1f} times the nodes "
                            f"looked at, for {most // least} times the nodes")
        lines.append(f"| {gang_name(gang)} | " + " | ".join(f"{cost(runs[count, gang]):.1f}" for count in nodes) +
                     f" | {times:.1f} | {looks:.1f} | {met} |")
    return lines


def memory(bench, runs):
    """Bytes of what is kept, by shape."""
    lines = ["", "## Memory", "", "Bytes in use of the allocator: stores, names and cache together. A pod bears its "
             "share of its job. Tables are what is kept of each node for each of the pods' templates.", "",
             "| nodes | gangs of | a pod | of that its job | a running pod of others | a node | its part of tables | "
             "met |", "|---|---|---|---|---|---|---|---|"]
    for (nodes, gang), run in runs.items():
        job = run["job_bytes"] / run["pods"]
        pod, node = run["pod_bytes"] / run["pods"] + job, run["node_bytes"] / run["nodes"]
        tables = run["table_bytes"] / run["nodes"]
        name = f"{nodes:,} nodes, gangs of {gang_name(gang)}"
        met = bench.require((pod <= POD_BYTES or gang < 10) and
                            (node + tables <= NODE_BYTES or nodes < NODE_BYTES_NODES),
                            f"{name}: {pod:.0f} bytes a pod, {node + tables:.0f} a node")
        lines.append(f"| {nodes:,} | {gang_name(gang)} | {pod:,.0f} | {job:,.0f} | "
                     f"{run['other_bytes'] / max(run['others'], 1):,.0f} | {node:,.0f} | {tables:,.0f} | {met} |")
    return lines


def perf_pods(kind, nodes, pods):
    """How many pods of a template there are: those that need a node each cannot be more than nodes."""
    return min(pods, int(APART_PODS * nodes)) if kind == "SchedulingPodAntiAffinity" else pods


def perf_least(kind, nodes):
    """The placements a second that are required of a template."""
    asked = PERF_KINDS[kind]
    if nodes != RATE_NODES or asked is None:
        return 0
    return max(PERF_TIMES * asked, APART_RATE if kind == "SchedulingPodAntiAffinity" else 0)


def perf_templates(bench, nodes, pods):
    """The templates of kube-scheduler's own benchmark."""
    lines = ["", "## Templates of kube-scheduler's benchmark", "",
             f"{nodes:,} nodes of 4 CPUs and 32 GiB, pods that are jobs of their own, no tables filled before. Every "
             f"fiftieth pod of Unschedulable asks for more than any node has. At least: {PERF_TIMES} times what "
             "Kubernetes 1.37 asks of its own scheduler on 5,000 nodes (of preferred terms what it asks of required "
             f"ones), and {APART_RATE:,} of pods that need a node each.", "",
             "| template | pods | placements/s | at least | CPU a placement, µs | turn p50 / p99 / longest, ms | met |",
             "|---|---|---|---|---|---|---|"]
    for kind in PERF_KINDS:
        run = bench.run(kind=kind, nodes=nodes, pods=perf_pods(kind, nodes, pods), gang=1, filled=0, tainted=0)
        turns, least = run["turns"], perf_least(kind, nodes)
        fast = bench.require(rate(run) >= least, f"{kind}: {rate(run):,.0f} placements/s, at least {least:,}")
        complete = check_complete(bench, run, kind)
        lines.append(f"| {kind} | {run['pods']:,} | {rate(run):,.0f} | {least or '–'} | {cost(run):.1f} | "
                     f"{ms(turns, 'median'):.1f} / {ms(turns, 'p99'):.1f} / {ms(turns, 'longest'):.1f} | "
                     f"{'NO' if 'NO' in (fast, complete) else 'yes'} |")
    return lines


def evict_once(bench, **options):
    """One run of sched_evict; what it printed."""
    words = [f"--{key}={value}" for key, value in options.items()]
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as conf:
        conf.write(preempting(Path(bench.conf).read_text()))
        conf.flush()
        done = subprocess.run([bench.program.with_name("sched_evict"), f"--conf={conf.name}", *words], text=True,
                              stdout=subprocess.PIPE, check=False)
    if done.returncode:
        raise Failed(f"sched_evict {' '.join(words)} ended with {done.returncode}")
    return json.loads(done.stdout)


def evict_run(bench, **options):
    """Some runs; the figures of the one whose CPU time is the median. Whom they evict has to be the same."""
    runs = [evict_once(bench, **options) for _ in range(bench.repeat)]
    for other in runs[1:]:
        same = all(other[key] == runs[0][key] for key in ("victims", "places"))
        bench.require(same, f"evict {options}: runs differ in victims or places")
    return sorted(runs, key=lambda run: run["cpu_ns"])[(len(runs) - 1) // 2]


def check_evict(bench, run, limits):
    """What is required of a decision; the word for its line. `limits`: whether times count."""
    name = f"evict, {run['shape']}, {run['nodes']:,} nodes"
    before = len(bench.failed)
    if run["shape"] == "vain":
        rest = run["rest_ns"] / 1e6
        bench.require(rest <= REST_MS or not limits, f"{name}: a cycle at rest takes {rest:.1f} ms, at most {REST_MS}")
    else:
        took = run["cpu_ns"] / 1e6
        bench.require(run["victims"] == run["running"],
                      f"{name}: {run['victims']:,} of {run['running']:,} are evicted")
        bench.require(took <= EVICT_MS or not limits, f"{name}: decided in {took:.1f} ms, at most {EVICT_MS}")
    return "yes" if len(bench.failed) == before else "NO"


def evictions(bench, nodes, vain_nodes, limits):
    """Deciding whom to evict, and that nobody can be."""
    lines = ["", "## Evictions", "",
             "*gangs*: a gang that needs every node for itself, all of them full of gangs of ten on ten nodes each; *pods*: "
             "a gang of as many pods as run, one in the place of each. *vain*: the action preempt, jobs that starve while all "
             f"that runs is as important. At most: {EVICT_MS} ms for a decision on 1,000 victims, {REST_MS} ms for a cycle "
             "at rest.", "",
             "| shape | nodes | running | victims | decided in, ms | steps | longest, ms | met |",
             "|---|---|---|---|---|---|---|---|"]
    for shape in ("gangs", "pods"):
        run = evict_run(bench, shape=shape, nodes=nodes)
        lines.append(f"| {shape} | {run['nodes']:,} | {run['running']:,} | {run['victims']:,} | "
                     f"{run['cpu_ns'] / 1e6:.1f} | {run['steps']:,} | {run['longest_ns'] / 1e6:.2f} | "
                     f"{check_evict(bench, run, limits)} |")
    run = evict_run(bench, shape="vain", nodes=vain_nodes, pods=30)
    return lines + ["", "| shape | nodes | running | first cycles, ms | of that the action | longest step, ms | longest turn, "
                    "ms | cycle at rest, ms | met |", "|---|---|---|---|---|---|---|---|---|",
                    f"| vain | {run['nodes']:,} | {run['running']:,} | {run['first_ns'] / 1e6:,.0f} | "
                    f"{run['cpu_ns'] / 1e6:,.0f} | {run['longest_ns'] / 1e6:.2f} | {run['longest_turn_ns'] / 1e6:.1f} | "
                    f"{run['rest_ns'] / 1e6:.2f} | {check_evict(bench, run, limits)} |"]


def extender_once(bench, **options):
    """One run of sched_extender; what it printed."""
    words = [f"--{key}={value}" for key, value in options.items()]
    done = subprocess.run([bench.program.with_name("sched_extender"), *words], text=True, stdout=subprocess.PIPE,
                          check=False)
    if done.returncode:
        raise Failed(f"sched_extender {' '.join(words)} ended with {done.returncode}")
    return json.loads(done.stdout)


def extender_run(bench, **options):
    """Some runs; the figures of the one whose 99th percentile is the median."""
    runs = [extender_once(bench, **options) for _ in range(bench.repeat)]
    return sorted(runs, key=lambda run: run["p99_ns"])[(len(runs) - 1) // 2]


def check_extender(bench, none, run, limits):
    """What is required beside a run in which nobody needs the extender; the word for its line."""
    before = len(bench.failed)
    for key, words in (("median", "half of them"), ("p99", "99 of 100")):
        more = ms(run, key) - ms(none, key)
        bench.require(more <= EXTENDER_MS or not limits,
                      f"extender, {run['shape']}: {words} wait {more:.1f} ms longer, at most {EXTENDER_MS}")
    return "yes" if len(bench.failed) == before else "NO"


def extenders(bench, nodes, jobs, plain, limits):
    """How long jobs wait that have nothing to do with an extender."""
    lines = ["", "## An extender", "",
             f"{nodes:,} nodes; {jobs:,} gangs of ten, each of its own kind, need an extender that never answers (*hangs*), "
             "refuses each node (*refuses*), or says yes in as many words as may be (*large*). Every 50 ms a gang of ten "
             "comes that does not need it: how long until all of it is bound, in time of the loop's clock and CPU time "
             f"together. At most: {EXTENDER_MS} ms longer than when nobody needs the extender.", "",
             "| shape | asked | waits p50 / p99 / longest, ms | longest turn, ms | met |", "|---|---|---|---|---|"]
    none = None
    for shape in ("none", "hangs", "refuses", "large"):
        run = extender_run(bench, shape=shape, nodes=nodes, jobs=jobs, plain=plain)
        none = none or run
        lines.append(f"| {shape} | {run['asked']:,} | {ms(run, 'median'):.1f} / {ms(run, 'p99'):.1f} / "
                     f"{ms(run, 'longest'):.1f} | {ms(run, 'longest_turn'):.1f} | "
                     f"{check_extender(bench, none, run, limits)} |")
    return lines


def recorded(bench, options):
    """One recorded cluster."""
    extra = {"unbind": True} if options.unbind else {}
    run = bench.run(**{"from": options.recorded}, **extra)
    turns = run["turns"]
    return ["", "## Recorded cluster", "", "| What | Number |", "|---|---|", f"| nodes | {run['nodes']:,} |",
            f"| jobs | {run['jobs']:,} |", f"| pods of ours, of others | {run['pods']:,}, {run['others']:,} |",
            f"| bound, still waiting | {run['binds']:,}, {run['waiting']:,} |",
            f"| placements/s | {rate(run):,.0f} |", f"| CPU a bound pod, µs | {cost(run):.1f} |",
            f"| turn p50 / p99 / longest, ms | {ms(turns, 'median'):.1f} / {ms(turns, 'p99'):.1f} / "
            f"{ms(turns, 'longest'):.1f} |", f"| longest cycle, ms | {ms(run['cycles'], 'longest'):,.0f} |",
            f"| bytes a pod, a node | {run['pod_bytes'] / max(run['pods'], 1):,.0f}, "
            f"{run['node_bytes'] / max(run['nodes'], 1):,.0f} |"]


def provenance(command):
    """Lines that say what was measured, when, how."""
    commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"], text=True, stdout=subprocess.PIPE,
                            check=False).stdout.strip() or "unknown"
    now = datetime.now(timezone.utc)
    return ["# The scheduler without an API server", "", f"Commit {commit}, {now:%Y-%m-%d %H:%M} UTC, "
            f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the end. Made with `{command}`.", "",
            "Every bind is answered a millisecond later, on a virtual clock. Times are CPU times of the one thread: from the lead "
            "to the last answer, with requests rendered, answers and writes of PodGroups."]


def arguments():
    """The command line."""
    parser = argparse.ArgumentParser(prog="sched", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ci", action="store_true", help="small: counts strictly, times as ratios only")
    parser.add_argument("--perf", action="store_true", help="only the templates of kube-scheduler's benchmark, evictions and extenders")
    parser.add_argument("--nodes", type=lambda text: [int(n) for n in text.split(",")], default=list(NODES))
    parser.add_argument("--gangs", type=lambda text: [int(n) for n in text.split(",")], default=[*GANGS, MIXED],
                        help="sizes; 0: mixed, in eight queues")
    parser.add_argument("--pods", type=int, default=PODS)
    parser.add_argument("--repeat", type=int, default=3, metavar="N", help="runs of each line")
    parser.add_argument("--from", dest="recorded", type=Path, metavar="PATH",
                        help="a recorded cluster instead: a file, or a folder of *.json files, of "
                             "`kubectl get nodes,pods,podgroups,queues,priorityclasses -A -o json`")
    parser.add_argument("--unbind", action="store_true", help="place all our pods of it afresh")
    parser.add_argument("--conf", type=Path, help="another volcano-scheduler.conf than the shipped one")
    parser.add_argument("--out", type=Path, help="folder for the report")
    return parser.parse_args()


def ci(bench):
    """A few seconds: what does not depend on the machine. Returns the lines."""
    nodes, gangs = (250, 1000), (1, 10, 1000, MIXED)
    runs, lines = {}, list(SHAPE_HEAD)
    for count in nodes:
        for gang in gangs:
            name = f"{count} nodes, gangs of {gang_name(gang)}"
            run = runs[count, gang] = bench.run(**shape_options(count, gang, 2000))
            met = check_complete(bench, run, name)
            check_allocations(bench, run, gang, name)
            lines.append(shape_row(count, gang, run, met))
    return (lines + growth(bench, runs, nodes, gangs) + memory(bench, runs) + evictions(bench, 20, 200, False) +
            extenders(bench, 200, 20, 20, False))


def waits(bench):
    """Evictions and extenders, at full size."""
    return evictions(bench, EVICT_NODES, RATE_NODES, True) + extenders(bench, RATE_NODES, 200, 400, True)


def measure(bench, options):
    """The lines of the report."""
    if options.recorded:
        return recorded(bench, options)
    if options.ci:
        return ["", *ci(bench)]
    if options.perf:
        return perf_templates(bench, RATE_NODES, PODS // 2) + waits(bench)
    runs, lines = shapes(bench, options.nodes, options.gangs, options.pods)
    return (["", f"## Shapes, {options.pods:,} pods", "",
             "Four shapes of nodes (16 to 96 CPUs), 25 % of them tainted; pods of others hold 30 % of the CPUs on average; "
             "pods of 200 templates; the shipped configuration. *Choosing a node* is from one placement of a gang to its next. *Nodes looked at* is how often a node was "
             "scored for a placement. *Allocations* are those of the actions' steps beside binds.", "", *lines] +
            growth(bench, runs, options.nodes, options.gangs) + memory(bench, runs) +
            perf_templates(bench, RATE_NODES, PODS // 2) + waits(bench))


def main():
    options = arguments()
    build = Path(os.environ.get("PUMICE_BIN", ROOT / "build" / "release"))
    program = build / "tests" / "bench" / "sched_offline"
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as conf:
        conf.write(options.conf.read_text() if options.conf else shipped_conf())
        conf.flush()
        bench = Bench(program, conf.name, 2 if options.ci else options.repeat)
        lines = measure(bench, options)
    words = " ".join(["tests/bench/sched", *sys.argv[1:]])
    lines = provenance(words) + lines + ["", *(f"- not met: {text}" for text in bench.failed)]
    text = "\n".join(lines).rstrip() + "\n"
    print(text)
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        path = options.out / f"{datetime.now(timezone.utc):%Y-%m-%d}-sched-offline.md"
        path.write_text(text)
        print(f"written: {path}")
    return 1 if bench.failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (Failed, OSError) as error:
        print(f"sched: {error}", file=sys.stderr)
        sys.exit(2)
