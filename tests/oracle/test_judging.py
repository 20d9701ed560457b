"""The comparison of placements itself: it must see differences, and make cases small."""

import json

import clusters
from features import Count, features, matches, outcomes
from placement import EXACT, ROUNDED, Difference, Known, Tally, differences, read_known
from shrink import shrink


def scored(**some):
    """All scores, 0 where none is given."""
    return {**dict.fromkeys((*EXACT, *ROUNDED), 0), **some}


def theirs(**nodes):
    """What askkube answers: the refusals of a node, or its scores."""
    return {"nodes": {name: {"refused": {}, "scores": said} if set(said) >= set(EXACT)
                      else {"refused": said} for name, said in nodes.items()}}


def ours(**nodes):
    """What our probe answers: a reason, or scores."""
    return {"nodes": {name: {"refused": said} if isinstance(said, str)
                      else {"refused": None, "scores": said} for name, said in nodes.items()}}


def found(mine, others):
    """The differences as pairs."""
    return {(difference.kind, difference.what) for difference in differences(mine, others)}


def test_agreement():
    assert not found(ours(a="x", b=scored()), theirs(a={"P": ["y"], "Q": ["z", "x"]}, b=scored()))


def test_verdicts_that_differ():
    assert found(ours(a="x"), theirs(a=scored())) == {("stricter", "x")}
    assert found(ours(a=scored()), theirs(a={"Q": ["y"], "P": ["z"]})) == {("laxer", "P, Q")}
    assert found(ours(a="x"), theirs(a={"P": ["y"]})) == {("reason", "x for P")}


def test_scores_that_differ():
    assert found(ours(a=scored(NodeAffinity=99)), theirs(a=scored(NodeAffinity=100))) == {
        ("score", "NodeAffinity")}
    for value, same in ((62, True), (62.99, True), (61.01, True), (63, True), (63.01, False), (60.99, False)):
        assert (not found(ours(a=scored(LeastAllocated=value)),
                          theirs(a=scored(LeastAllocated=62)))) == same, value
    assert found(ours(a=scored(ImageLocality=62.5)), theirs(a=scored(ImageLocality=62)))


def test_scores_say_nothing_where_other_nodes_are_left():
    assert found(ours(a="x", b=scored(NodeAffinity=100)),
                 theirs(a=scored(), b=scored())) == {("stricter", "x")}


def test_answers_that_are_none():
    for mine, others in ((ours(a="x"), {"error": "no"}), ({"error": "no"}, theirs(a={"P": ["x"]})),
                         (ours(), theirs(a={"P": ["x"]}))):
        try:
            differences(mine, others)
        except ValueError:
            continue
        raise AssertionError((mine, others))


def test_known_rows(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("| Kind | What | Features | Why |\n|---|---|---|---|\n"
                    "| score | `NodeAffinity` | `gate`; cordon | because |\n"
                    "| laxer | `P*` | | so |\n| other | x | | y |\n")
    rows = read_known(page)
    assert rows == [Known("score", "NodeAffinity", frozenset({"gate", "cordon"}), "because"),
                    Known("laxer", "P*", frozenset(), "so")]
    score, laxer = Difference("score", "NodeAffinity"), Difference("laxer", "P, Q")
    assert rows[0].covers(score, {"gate", "cordon", "overhead"})
    assert not rows[0].covers(score, {"gate"})
    assert not rows[0].covers(Difference("score", "ImageLocality"), {"gate", "cordon"})
    assert rows[1].covers(laxer, set())
    assert not rows[1].covers(Difference("stricter", "P, Q"), set())
    assert not rows[1].covers(Difference("laxer", "Q"), set())
    stars = Known("reason", "x(s) for *Q*", frozenset(), "so")
    assert stars.covers(Difference("reason", "x(s) for P, Q, R"), set())
    assert not stars.covers(Difference("reason", "x(s) for P, R"), set())


def test_tally():
    case = clusters.case(1, 1)
    tally = Tally([Known("laxer", "P", frozenset(), "so"), Known("score", "x", frozenset(), "so")])
    tally.add("first", case, ours(a=scored()), theirs(a={"P": ["x"]}))
    tally.add("second", case, ours(a=scored()), theirs(a={"Q": ["x"]}))
    tally.add("third", case, ours(a="x"), theirs(a={"Q": ["x"]}))
    assert (tally.cases, tally.agreed) == (3, 1)
    assert list(tally.groups) == [Difference("laxer", "Q")]
    assert set(tally.covered) == {tally.known[0]}
    assert "NEW   laxer    Q" in tally.table() and "known laxer    P" in tally.table()


def test_cases_are_the_same_each_time():
    for storage in (False, True):
        first = [json.dumps(case) for case in clusters.cases(1, 20, storage)]
        assert first == [json.dumps(case) for case in clusters.cases(1, 20, storage)]
        assert first[7] == json.dumps(clusters.case(1, 7, storage))
        assert first != [json.dumps(case) for case in clusters.cases(2, 20, storage)]


def test_sizes_of_volumes_differ():
    """So that which one is taken is not left to chance."""
    for case in clusters.cases(1, 100, volumes=True):
        sizes = [volume["spec"]["capacity"]["storage"] for volume in case["persistentVolumes"]]
        assert len(set(sizes)) == len(sizes)


def test_selectors():
    labels = {"app": "a"}
    assert matches({}, labels) and not matches(None, labels)
    assert matches({"matchLabels": {"app": "a"}}, labels)
    assert not matches({"matchLabels": {"app": "b"}}, labels)
    for operator, key, values, expected in (
            ("In", "app", ["a", "b"], True), ("In", "x", ["a"], False),
            ("NotIn", "app", ["b"], True), ("NotIn", "x", ["b"], True),
            ("NotIn", "app", ["a"], False), ("Exists", "app", None, True),
            ("Exists", "x", None, False), ("DoesNotExist", "x", None, True),
            ("DoesNotExist", "app", None, False)):
        requirement = {"key": key, "operator": operator, **({"values": values} if values else {})}
        assert matches({"matchExpressions": [requirement]}, labels) == expected, requirement


def test_features_are_told_from_the_case():
    case = clusters.case(1, 1)
    assert "gate" not in features({**case, "pod": {**case["pod"], "spec": {"containers": []}}})
    gated = {**case["pod"], "spec": {"containers": [], "schedulingGates": [{"name": "x"}]}}
    assert "gate" in features({**case, "pod": gated})


def test_outcomes():
    assert outcomes(theirs(a={"P": ["x"]}, b={"P": ["x"], "Q": ["y"]}, c=scored(),
                           d=scored(NodeAffinity=3))) == {
        "refuses P", "refuses Q", "decides P", "ranks NodeAffinity",
        "some nodes fit, some do not"}
    assert outcomes(theirs(a={"P": ["x"]})) == {"decides P"}


def test_counts():
    count = Count(("a", "b"))
    for i in range(100):
        count.add({"a"} | ({"b"} if i < 4 else set()))
    assert count.missing() == {"b": 4}
    count.add({"b"})
    assert count.missing() == {"b": 5}
    assert "    100  a" in count.table()


def test_shrinking():
    """All goes that is not needed, and what is given stays as it is."""
    case = next(case for case in clusters.cases(1, 1000) if len(case["pods"]) > 8
                and len(case["nodes"]) > 4 and case["pod"]["spec"].get("affinity"))
    before = json.dumps(case)
    wanted = case["pods"][5]["metadata"]["name"]

    def holds(smaller):
        return (any(pod["metadata"]["name"] == wanted for pod in smaller["pods"])
                and len(smaller["nodes"]) >= 2)
    small = shrink(case, holds)
    assert json.dumps(case) == before and holds(small)
    assert len(small["pods"]) == 1 and len(small["nodes"]) == 2
    assert "affinity" not in small["pod"]["spec"] and not small["namespaces"]
    assert "labels" not in small["nodes"][0]["metadata"]
    assert len(small["pod"]["spec"]["containers"]) == 1


def test_shrinking_ends():
    """It asks no more than it may, and keeps to what it has found."""
    case, asked = clusters.case(1, 3), []

    def holds(smaller):
        asked.append(1)
        return len(asked) % 2 == 0
    shrink(case, holds, most=50)
    assert len(asked) == 50
