"""The comparison itself: it must be able to see a difference."""

from verdict import Known, Tally, Verdict, differences, of_ours, of_server

CAUSE = {"field": "template.spec.containers[0].name", "reason": "FieldValueRequired",
         "message": "Required value"}
REFUSAL = {"details": {"causes": [CAUSE]}}
ALLOWED = Verdict(True)


def ours(*texts, dropped=0):
    """What the probe answers."""
    return of_ours({"allowed": not texts, "errors": list(texts), "dropped": dropped})


def test_agreement():
    assert of_server(201, None) == ALLOWED
    assert not differences(ours("template.spec.containers[0].name: Required value"),
                           of_server(422, REFUSAL))
    assert not differences(ours(), of_server(201, None))


def test_stricter_and_laxer():
    found = differences(ours("template.x[3]: Invalid value: \"a: b\": no: Forbidden"), ALLOWED)
    assert [(d.side, d.effect, d.field, d.kind) for d in found] == [
        ("ours", "stricter", "template.x[*]", "Invalid value")]
    found = differences(ours(), of_server(422, REFUSAL))
    assert [(d.side, d.effect, d.field, d.kind) for d in found] == [
        ("server", "laxer", "template.spec.containers[*].name", "Required value")]


def test_another_path_or_kind():
    for text in ("template.spec.containers[1].name: Required value",
                 "template.spec.containers[0].name: Invalid value: \"\": no"):
        found = differences(ours(text), of_server(422, REFUSAL))
        assert {d.side for d in found} == {"ours", "server"}
        assert {d.effect for d in found} == {"path"}


def test_refusals_without_a_field_differ():
    found = differences(Verdict(False), ALLOWED)
    assert [(d.effect, d.kind) for d in found] == [("stricter", "no field")]
    assert differences(ours("a text of no form"), of_server(422, REFUSAL))


def test_faults_that_were_not_told_are_not_missed():
    assert not differences(ours("template.spec.containers[0].name: Required value", dropped=3),
                           of_server(422, {"details": {"causes": [
                               CAUSE, {**CAUSE, "field": "template.spec.hostname"}]}}))


def test_known_rows():
    difference = next(iter(differences(ours("template.a[1].b: Forbidden: no"), ALLOWED)))
    assert Known("ours", "template.a[*].b", "Forbidden", "").covers(difference)
    assert Known("ours", "template.*", "*", "").covers(difference)
    for row in (Known("server", "template.*", "*", ""), Known("ours", "template", "*", ""),
                Known("ours", "template.*", "Invalid value", ""), Known("ours", "*.c", "*", "")):
        assert not row.covers(difference)
        tally = Tally([row])
        tally.add("example", ours("template.a[1].b: Forbidden: no"), ALLOWED)
        assert tally.unknown() == [(difference, 1)]
        assert tally.unused() == [row]
    assert "NEW" in tally.table()
