"""Where the report of one shape goes, for what is no triple: probe, sweep, trouble, foreign.

A `kind` is a module with NAME, checks(data) and markdown(data, plot), and a function draw_NAME in
plots.py.
"""

import rawdata
import verdicts


def base_name(kind, data):
    """The name of report, plot and raw data, without an extension."""
    return f"{data['provenance']['date'][:10]}-{kind.NAME}-{verdicts.shape_of(data).name}"


def keep(kind, data, options):
    """Writes the raw data, if they are to be kept."""
    if options.out:
        rawdata.save(options.out / f"{base_name(kind, data)}.json", data)


def publish(kind, data, options):
    """Prints the report, and writes it with plot and raw data; gives the exit code."""
    plot, base = None, base_name(kind, data)
    keep(kind, data, options)
    if options.out and not options.no_plots:
        import plots
        plot = getattr(plots, f"draw_{kind.NAME}")(data, options.out / base)
    text = kind.markdown(data, plot)
    print(text)
    if options.out:
        (options.out / f"{base}.md").write_text(text)
    return 0 if verdicts.all_met(kind.checks(data)) else 1
