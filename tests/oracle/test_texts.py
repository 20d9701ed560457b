"""Our parsers of schedules, patterns, time zones and quantities against Go's libraries."""

import json
import subprocess
from pathlib import Path

import texts

COUNT = 6000
SEED = 1
INT64_MAX = "9223372036854775807"


def compare(probe, askgo, mode, questions, *arguments, same):
    """Both sides' answers to all questions: at least a tenth good and a tenth bad, and no two that
    same(question, theirs, ours) tells apart."""
    theirs = askgo(mode, questions, *arguments)
    assert len(theirs) == len(questions)
    different, good = [], 0
    with probe(mode) as parser:
        for question, go in zip(questions, theirs):
            ours = parser.ask(question)
            good += go["ok"]
            if not same(question, go, ours):
                different.append(f"{question!r}: Go {go}, we {ours}")
    print(f"{mode}: {len(questions)} texts, {good} good, {len(different)} differ")
    assert len(questions) // 10 < good < len(questions) * 9 // 10
    assert not different, f"{len(different)} differ:\n" + "\n".join(different[:30])


def equal(_, theirs, ours):
    """The same members."""
    return theirs == ours


def test_schedules(probe, askgo):
    """The same expressions are right, and name the same minutes, hours, days."""
    compare(probe, askgo, "cron", texts.schedules(COUNT, SEED), same=equal)


def test_patterns(probe, askgo):
    """The same patterns are right and match the same texts. Our limits are ours."""
    limited = []

    def same(question, theirs, ours):
        if ours.get("limit"):
            limited.append(question[0])
            return True
        return theirs == ours
    questions = [[pattern, *texts.REGEX_TEXTS] for pattern in texts.patterns(COUNT, SEED)]
    compare(probe, askgo, "regex", questions, same=same)
    assert len(limited) < COUNT // 100, limited


def test_zones(probe, askgo, go):
    """We know exactly the time zones that Go carries."""
    root = subprocess.run([go, "env", "GOROOT"], stdout=subprocess.PIPE, text=True, check=True)
    database = Path(root.stdout.strip()) / "lib" / "time" / "zoneinfo.zip"
    names = askgo("zones", [], database)
    assert len(names) > 500
    compare(probe, askgo, "zone", texts.zones(names, COUNT // 2, SEED), database, same=equal)


def test_quantities(probe, askgo):
    """The same quantities are right and have the same canonical text.

    Two differences are meant: ours end at an int64 of units, which is where the schedulers of
    Kubernetes look too; and Go takes a suffix without any digit for nothing.
    """
    def same(question, theirs, ours):
        if not any(letter.isdigit() for letter in question.split("e")[0].split("E")[0]):
            return not ours["ok"]
        if theirs.get("large"):
            return ours["ok"] and ours["text"].lstrip("-").startswith(INT64_MAX)
        return theirs["ok"] == ours["ok"] and theirs.get("text", "") == ours["text"]
    compare(probe, askgo, "quantity", texts.quantities(COUNT, SEED), same=same)


def test_answers_are_compared():
    """The comparison itself sees a difference."""
    assert not equal("", {"ok": True, "fields": ["1"]}, {"ok": True, "fields": ["2"]})
    assert json.dumps(texts.schedules(50, 1)) == json.dumps(texts.schedules(50, 1))
