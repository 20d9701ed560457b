"""Long runs against the webhook: a million reviews, and abuse. Started by tests/long/webhook-*.

Exit code: 0 all that is required is met, 1 something is not.
"""

import argparse
import shlex
import sys
import tempfile
from pathlib import Path

from webhook_rig import Rig, provenance, write_report

MEMORY = 128   # MiB, while it is abused
MEMORY_LOAD = 32  # MiB, of honest load
HONEST = 1000  # ms
ATTACKS = {  # name: what it is
    "none": "the honest client alone",
    "half-open": "1,000 clients that send one byte of a ClientHello",
    "slow-header": "600 clients that send a byte of a header each second",
    "slow-body": "600 clients that send a byte of a body each second",
    "length": "8 clients with bodies of 64 MiB and their length",
    "chunked": "8 clients with chunked bodies of 64 MiB",
    "zeros": "8 clients with [0,0,...] of 8 MiB",
    "deep": "8 clients with brackets 100,000 deep",
    "held": "64 clients that send 8 MiB but for the last byte",
    "values": "8 clients with jobs of 240,000 JSON values",
}


def million(rig, options):
    """The lines of a report, and what was not met."""
    run = rig.measure("ours", "--size=4096", f"--count={options.count}", "--new=0.1",
                      "--in-flight=25")
    t, shake = run["latency_ms"], run["handshake_ms"]
    lines = ["| reviews | errors | on new connections | reviews/s | p50 / p95 / p99 / longest, ms | "
             "handshake p50 / p99, ms | CPU a review, µs | peak RSS, MiB |",
             "|---|---|---|---|---|---|---|---|",
             f"| {run['reviews']:,} | {run['errors']} | {run['connections_opened']:,} | "
             f"{run['per_second']:.0f} | {t['p50']:.2f} / {t['p95']:.2f} / {t['p99']:.2f} / "
             f"{t['longest']:.1f} | {shake['p50']:.1f} / {shake['p99']:.1f} | "
             f"{run['cpu_us_per_review']:.0f} | {run['rss_peak_mib']:.1f} |"]
    failed = []
    if run["errors"]:
        failed.append(f"{run['errors']} errors; the first: {run['first_error']}")
    if run["rss_peak_mib"] > MEMORY_LOAD:
        failed.append(f"{run['rss_peak_mib']:.1f} MiB, more than {MEMORY_LOAD}")
    return lines, failed


def abuse_row(run):
    """One row of the table, and what was not met."""
    failed = []
    if run["honest_errors"]:
        failed.append(f"{run['attack']}: {run['honest_errors']} of {run['honest_reviews']} honest "
                      f"reviews failed; the first: {run['first_error']}")
    honest = run["honest_ms"] or {"p50": 0, "p99": 0, "longest": 0}
    if honest["longest"] > HONEST:
        failed.append(f"{run['attack']}: an honest review took {honest['longest']:.0f} ms")
    if run["rss_peak_mib"] > MEMORY:
        failed.append(f"{run['attack']}: {run['rss_peak_mib']:.0f} MiB, more than {MEMORY}")
    results = ", ".join(f"{word} {count:,}" for word, count in sorted(run["results"].items()))
    return (f"| {ATTACKS[run['attack']]} | {run['honest_reviews']} | {run['honest_errors']} | "
            f"{honest['p50']:.1f} / {honest['p99']:.0f} / {honest['longest']:.0f} | "
            f"{run['rss_peak_mib']:.0f} | {run['cpu_share']:.0%} | {results} |"), failed


def abuse(rig, options):
    """The lines of a report, and what was not met."""
    lines = ["A review of 4 KB each 100 ms, on a connection of its own; times with its handshake.", "",
             "| attack | honest reviews | failed | p50 / p99 / longest, ms | peak RSS, MiB | CPU | "
             "what came of the attack |", "|---|---|---|---|---|---|---|"]
    failed = []
    for name in options.attacks or ATTACKS:
        run = rig.run("ours", "abuse", f"--attack={name}", f"--duration={options.seconds}s")
        row, problems = abuse_row(run)
        print(row, flush=True)
        lines.append(row)
        failed += problems
    return lines, failed


def arguments():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("million", "abuse"))
    parser.add_argument("attacks", nargs="*", metavar="ATTACK", help="of abuse: these alone")
    parser.add_argument("--count", type=int, default=1_000_000, help="reviews of million")
    parser.add_argument("--seconds", type=int, default=30, help="of each attack")
    parser.add_argument("--out", type=Path, help="folder for the report")
    return parser.parse_args()


def main():
    """Runs it and reports."""
    options = arguments()
    titles = {"million": "A million reviews", "abuse": "Abuse of the webhook's port"}
    with tempfile.TemporaryDirectory(prefix="pumice-webhook-") as folder, \
            Rig(folder, with_bare=False) as rig:
        lines, failed = {"million": million, "abuse": abuse}[options.what](rig, options)
        command = shlex.join([f"tests/long/webhook-{options.what}", *sys.argv[2:]])
        head = [f"# {titles[options.what]}", "", *provenance(command), ""]
    verdict = [f"**Not met:** {text}" for text in failed] or ["All that is required is met."]
    write_report(options.out, f"webhook-{options.what}", [*head, *lines, "", *verdict])
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
