"""What kube-scheduler's plugins and we say about a case, and where the two differ."""

from collections import Counter
from dataclasses import dataclass

from features import features

EXACT = ("TaintToleration", "NodeAffinity", "InterPodAffinity", "PodTopologySpread",
         "ImageLocality")
ROUNDED = ("LeastAllocated", "MostAllocated", "BalancedAllocation")
KINDS = ("stricter", "laxer", "reason", "score")


@dataclass(frozen=True)
class Difference:
    """One way in which the answers differ.

    kind    stricter: we alone refuse a node; laxer: they alone do; reason: both do, and our reason
            is none of theirs; score: both let it be, and value it differently
    what    our reason; the plugins that refuse; our reason and the plugins; the score
    """

    kind: str
    what: str


def same_score(name, ours, theirs):
    """Whether a score of ours is theirs; three may have fractions that theirs has not (79.9999 there is 80 here)."""
    return ours == theirs or (name in ROUNDED and abs(ours - theirs) < 1 + 1e-6)


def differences(ours, theirs):
    """{Difference: text about the first node that has it}; ValueError if an answer is none."""
    for answer in (ours, theirs):
        if "nodes" not in answer:
            raise ValueError(answer.get("error", answer))
    if set(ours["nodes"]) != set(theirs["nodes"]):
        raise ValueError(f"other nodes: {sorted(ours['nodes'])}, {sorted(theirs['nodes'])}")
    found = {}
    for name in sorted(theirs["nodes"]):
        mine, plugins = ours["nodes"][name]["refused"], theirs["nodes"][name]["refused"]
        difference = of_verdicts(mine, plugins)
        if difference:
            found.setdefault(difference, f"{name}: ours {mine!r}, theirs {plugins}")
    # Scores are normalised over the nodes that are left: with others, they say nothing.
    if not any(difference.kind in ("stricter", "laxer") for difference in found):
        for difference, text in of_scores(ours["nodes"], theirs["nodes"]):
            found.setdefault(difference, text)
    return found


def of_verdicts(mine, plugins):
    """The Difference of two verdicts on a node, or None."""
    if mine is None and not plugins:
        return None
    names = ", ".join(sorted(plugins))
    if mine is None:
        return Difference("laxer", names)
    if not plugins:
        return Difference("stricter", mine)
    if any(mine in reasons for reasons in plugins.values()):
        return None
    return Difference("reason", f"{mine} for {names}")


def of_scores(ours, theirs):
    """(Difference, text) for each score of a node that differs."""
    for name in sorted(theirs):
        if theirs[name]["refused"]:
            continue
        mine = ours[name]["scores"]
        for score in (*EXACT, *ROUNDED):
            if not same_score(score, mine[score], theirs[name]["scores"][score]):
                yield Difference("score", score), (f"{name}: ours {mine[score]}, "
                                                   f"theirs {theirs[name]['scores'][score]}")


@dataclass(frozen=True)
class Known:
    """A row of the list of known differences; "*" in `what` stands for any text, and the case must
    have all `features` that the row names."""

    kind: str
    what: str
    features: frozenset
    reason: str

    def covers(self, difference, about):
        """Whether the row is about a difference in a case that is `about` these features."""
        head, star, tail = self.what.partition("*")
        text = difference.what
        same = text == head if not star else (
            len(text) >= len(head) + len(tail) and text.startswith(head) and text.endswith(tail))
        return self.kind == difference.kind and same and self.features <= about


def read_known(path):
    """The rows of the Markdown table in a file whose first column is one of KINDS: kind, what,
    features with ";" between them, and why."""
    rows = []
    for line in path.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("|") and cells[0] in KINDS:
            kind, what, about, reason = (cell.strip("`") for cell in cells)
            names = frozenset(name.strip().strip("`") for name in about.split(";") if name.strip())
            rows.append(Known(kind, what, names, reason))
    return rows


class Tally:
    """Counts the comparisons and keeps an example of each difference that no row covers."""

    def __init__(self, known):
        self.known = known
        self.cases = 0
        self.agreed = 0
        self.verdicts = Counter()
        self.groups = Counter()
        self.covered = Counter()
        self.examples = {}

    def add(self, description, case, ours, theirs):
        """Compares two answers to a case."""
        self.cases += 1
        for node in theirs.get("nodes", {}).values():
            self.verdicts["refused" if node["refused"] else "fits"] += 1
        found = differences(ours, theirs)
        self.agreed += not found
        about = features(case) if found else set()
        for difference, text in found.items():
            row = next((row for row in self.known if row.covers(difference, about)), None)
            if row:
                self.covered[row] += 1
                continue
            self.groups[difference] += 1
            self.examples.setdefault(difference, (description, case, text))

    def table(self):
        """The counts, and a line for each row that covers something and each new difference."""
        lines = [f"{self.cases:7}  cases, {self.agreed} agree in everything",
                 *(f"{n:7}  nodes: {name}" for name, n in sorted(self.verdicts.items()))]
        for row, n in self.covered.most_common():
            lines.append(f"{n:7}  known {row.kind:8} {row.what}")
        for difference, n in self.groups.most_common():
            description, _, text = self.examples[difference]
            lines += [f"{n:7}  NEW   {difference.kind:8} {difference.what}",
                      f"{'':9}{description}, {text[:300]}"]
        return "\n".join(lines)
