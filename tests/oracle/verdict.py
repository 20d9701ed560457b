"""What each side says about a template, and where the two differ."""

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field

KINDS = {"FieldValueInvalid": "Invalid value", "FieldValueRequired": "Required value",
         "FieldValueDuplicate": "Duplicate value", "FieldValueNotSupported": "Unsupported value",
         "FieldValueForbidden": "Forbidden", "FieldValueNotFound": "Not found",
         "FieldValueTooLong": "Too long", "FieldValueTooMany": "Too many",
         "FieldValueTypeInvalid": "Invalid value", "InternalError": "Internal error"}
OURS = re.compile(rf"(.*?): ({'|'.join(sorted(set(KINDS.values())))})(?:: |$)", re.DOTALL)
INDEX = re.compile(r"\[\d+\]")


@dataclass
class Verdict:
    """Allowed, or the set of (field, kind) that is wrong. `undecoded`: the API server's decoder
    refused the JSON. `partial`: there are more faults than were told."""

    allowed: bool
    faults: frozenset = frozenset()
    texts: list = field(default_factory=list)
    undecoded: bool = False
    partial: bool = False


def of_server(code, answer):
    """The verdict in an answer of the API server; ValueError for one that is none."""
    if code == 201:
        return Verdict(True)
    if code == 400:
        return Verdict(False, undecoded=True, texts=[answer["message"]])
    if code != 422:
        raise ValueError(f"HTTP {code}: {answer}")
    causes = answer.get("details", {}).get("causes", [])
    faults = frozenset((cause["field"], KINDS[cause["reason"]]) for cause in causes)
    return Verdict(False, faults, [f"{c['field']}: {c['message']}" for c in causes])


def of_ours(answer):
    """The verdict in a line of admission_probe."""
    faults = set()
    for text in answer["errors"]:
        found = OURS.match(text)
        faults.add(found.groups() if found else (text, "no kind"))
    return Verdict(answer["allowed"], frozenset(faults), answer["errors"],
                   partial=answer["dropped"] > 0)


@dataclass(frozen=True)
class Difference:
    """One fault that only one side finds. `effect` tells what follows for the template."""

    side: str       # ours or server: who finds it
    effect: str     # stricter, laxer (we are), or path: both refuse
    field: str      # with [*] for indexes
    kind: str


def differences(ours, server):
    """The set of Differences of two verdicts."""
    if ours.allowed != server.allowed:
        effect = "stricter" if server.allowed else "laxer"
    else:
        effect = "path"
    found = [("ours", fault) for fault in ours.faults - server.faults]
    if not ours.partial:
        found += [("server", fault) for fault in server.faults - ours.faults]
    if ours.allowed != server.allowed and not found:
        found = [("ours" if server.allowed else "server", ("", "no field"))]
    return {Difference(side, effect, INDEX.sub("[*]", where), kind) for side, (where, kind) in found}


@dataclass(frozen=True)
class Known:
    """A row of the list of known disagreements; "*" in `field` stands for any text."""

    side: str
    field: str
    kind: str
    reason: str

    def covers(self, difference):
        pattern = ".*".join(map(re.escape, self.field.split("*")))
        return (self.side == difference.side and self.kind in ("*", difference.kind)
                and re.fullmatch(pattern, difference.field, re.DOTALL) is not None)


def read_known(path):
    """The rows of the Markdown table in a file whose first column is `ours` or `server`."""
    rows = []
    for line in path.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("|") and cells[0] in ("ours", "server"):
            rows.append(Known(cells[0], *(cell.strip("`") for cell in cells[1:3]), cells[3]))
    return rows


class Tally:
    """Counts the comparisons and keeps an example of each difference."""

    def __init__(self, known):
        self.known = known
        self.counts = Counter()
        self.groups = Counter()
        self.examples = {}
        self.used = defaultdict(int)

    def add(self, description, ours, server):
        """Compares the two verdicts about one template."""
        if server.undecoded:
            self.counts["not decoded"] += 1
            return
        found = differences(ours, server)
        if not found:
            self.counts["agree: allowed" if server.allowed else "agree: refused"] += 1
            return
        self.counts[next(iter(found)).effect] += 1
        for difference in found:
            self.groups[difference] += 1
            texts = (ours if difference.side == "ours" else server).texts
            self.examples.setdefault(difference, (description, self._text(difference, texts)))

    @staticmethod
    def _text(difference, texts):
        """The text that tells of the difference."""
        for text in texts:
            if INDEX.sub("[*]", text).startswith(difference.field) and difference.kind in text:
                return text
        return texts[0] if texts else ""

    def known_by(self, difference):
        """The first row that covers it, or None."""
        for row in self.known:
            if row.covers(difference):
                return row
        return None

    def unknown(self):
        """The differences that no row covers, the most frequent first."""
        return [(difference, n) for difference, n in self.groups.most_common()
                if self.known_by(difference) is None]

    def unused(self):
        """Rows that covered nothing."""
        return [row for row in self.known
                if not any(row.covers(difference) for difference in self.groups)]

    def table(self, only_unknown=False):
        """The counts, and a line for each group of differences with an example."""
        lines = [f"{n:7}  {name}" for name, n in sorted(self.counts.items())]
        for difference, n in self.groups.most_common():
            row = self.known_by(difference)
            if only_unknown and row:
                continue
            description, text = self.examples[difference]
            lines += [f"{n:7}  {'known' if row else 'NEW':5} {difference.effect:8} "
                      f"{difference.side:6} {difference.kind:17} {difference.field}",
                      f"{'':9}{description[:300]}", f"{'':9}{text[:300]}"]
        return "\n".join(lines)
