"""What the demo shows: bars that grow while jobs run, and the timeline at the end."""

import os
import shutil
import sys

from watcher import POD_STEPS

BAR = 8


def bar(done, total):
    """A bar such as "###.....  3/8"."""
    filled = BAR * done // total if total else 0
    return f"{'#' * filled}{'.' * (BAR - filled)} {done:2}/{total:<2}"


def job_line(job):
    """One job on one line."""
    if job.refusal is not None:
        return f"  {job.name:15} refused by admission"
    if job.sent is None:
        return f"  {job.name:15} not sent yet"
    bars = "  ".join(f"{step} {bar(job.count(step), job.total)}" for step in POD_STEPS)
    return f"  {job.name:15} {bars}  {job.phase}"


class Progress:
    """The jobs' lines: redrawn in place on a terminal, printed when they change elsewhere."""

    def __init__(self):
        self.live = sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        self.shown = []

    def show(self, jobs):
        """Shows the lines of the jobs as they are now."""
        lines = [job_line(job) for job in jobs]
        if lines == self.shown:
            return
        if self.live:
            width = shutil.get_terminal_size().columns - 1
            up = f"\x1b[{len(self.shown)}A" if self.shown else ""
            body = "\n".join(f"\r{line[:width]}\x1b[K" for line in lines)
            print(f"{up}{body}", flush=True)
        else:
            for line in lines:
                if line not in self.shown:
                    print(line, flush=True)
        self.shown = lines


def span(job, step):
    """First and last time of a step of a job's pods, since the job was sent."""
    times = sorted(job.pods[step].values())
    if not times:
        return "-"
    first, last = times[0] - job.sent, times[-1] - job.sent
    count = "" if len(times) == job.total else f" ({len(times)} of {job.total})"
    return f"{first:.2f} to {last:.2f}{count}"


def since(job, moment):
    """A time since the job was sent."""
    return "-" if moment is None else f"{moment - job.sent:.2f}"


def timeline(jobs, admission):
    """The steps of all jobs as a table."""
    def answered(job):
        return ("refused at " if job.refusal is not None else "") + since(job, job.answered)
    rows = [("created, admission passed" if admission else "created, without admission", answered),
            ("admitted by the queue", lambda job: since(job, job.admitted))]
    rows += [(f"pods {step}", lambda job, step=step: span(job, step)) for step in POD_STEPS]
    rows += [("job finished", lambda job: since(job, job.finished)),
             ("phase", lambda job: job.phase or "-")]
    text = f"{'':28}" + "".join(f"{job.name:22}" for job in jobs)
    for title, value in rows:
        text += f"\n{title:28}" + "".join(f"{value(job):22}" for job in jobs)
    return "\n".join(line.rstrip() for line in text.splitlines())
