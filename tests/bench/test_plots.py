"""Plots of small data made by hand: that they are drawn, with what is in them, and alike each time."""

import argparse

import pytest

import fanout
import plots
import rawdata
import sweep
import verdicts
from test_fanout import data_of
from test_foreign import data as foreign_data
from test_probe import data as probe_data
from test_sweep import data as sweep_data
from test_trouble import data as trouble_data


def words(folder, name):
    """The text of a plot; its PNG has to be one."""
    assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    return (folder / f"{name}.svg").read_text()


def test_a_shape_is_drawn_beside_the_bare_limit(tmp_path):
    assert plots.draw_shape(data_of(), tmp_path / "one") == "one"
    text = words(tmp_path, "one")
    for wanted in ("pods created", "pods bound", "pods running", "creates per second",
                   "gangs with all pods created", "Pumice", "bare limit", "same creates in turn"):
        assert wanted in text
    assert "round-robin" not in text


def test_a_bare_run_in_turn_is_drawn_with_the_gangs(tmp_path):
    data = data_of()
    data["in_turn"] = {**data["triples"][0]["runs"][0], "mode": "in-turn"}
    plots.draw_shape(data, tmp_path / "one")
    assert "bare, round-robin" in words(tmp_path, "one")


def test_one_job_has_no_gangs_to_compare(tmp_path):
    data = data_of()
    data["shape"]["jobs"] = 1
    for run in data["triples"][0]["runs"]:
        run["jobs"] = 1
    plots.draw_shape(data, tmp_path / "one")
    assert "gangs with" not in words(tmp_path, "one")


def test_the_same_data_give_the_same_files(tmp_path):
    for name in ("a", "b"):
        plots.draw_shape(data_of(), tmp_path / name)
    for suffix in (".svg", ".png"):
        assert (tmp_path / f"a{suffix}").read_bytes() == (tmp_path / f"b{suffix}").read_bytes()


def test_the_triple_with_the_median_ratio_is_drawn():
    data = data_of()
    for ratio in (3.0, 0.5):
        data["triples"].append({**data["triples"][0], "ratio": ratio})
    data["used"] = [0, 1, 2]
    assert verdicts.middle(data)["ratio"] == data["triples"][0]["ratio"] == 1.0


def test_all_shapes_are_drawn_in_one_picture(tmp_path):
    other = data_of(ours=3.6)
    other["shape"] = {"jobs": 7, "pods": 9, "nodes": 2}
    plots.draw_all([data_of(), other], tmp_path / "all")
    text = words(tmp_path, "all")
    assert "2 jobs x 2 pods: 1.00 bare runs" in text
    assert "7 jobs x 9 pods: 1.20 bare runs" in text


def test_others_are_drawn_with_our_runs_beside(tmp_path):
    data = {**foreign_data("watch"), "beside": [data_of()]}
    plots.draw_foreign(data, tmp_path / "one")
    text = words(tmp_path, "one")
    assert "measured" in text
    assert "beside: Pumice" in text
    assert "beside: bare limit" in text


def test_probes_and_sweeps_are_drawn(tmp_path):
    plots.draw_probe(probe_data(), tmp_path / "probe")
    assert "Job received to pod created" in words(tmp_path, "probe")
    data = sweep_data()
    data["runs"] += sweep_data(delay=50)["runs"]
    plots.draw_sweep(data, tmp_path / "sweep")
    text = words(tmp_path, "sweep")
    assert "+50 ms" in text and "controller, adaptive" in text


def options(folder, **change):
    return argparse.Namespace(**{"out": folder, "no_plots": False, "resume": False, "nodes": 2,
                                 **change})


def test_reports_of_raw_data_are_written_with_their_plots(tmp_path, capsys):
    other = data_of()
    other["shape"] = {"jobs": 1, "pods": 4, "nodes": 2}
    assert fanout.again([data_of(), other], options(tmp_path)) == 0
    text = (tmp_path / "2026-01-02-fanout.md").read_text()
    assert capsys.readouterr().out.strip() == text.strip()
    for name in ("2026-01-02-fanout", "2026-01-02-fanout-2x2", "2026-01-02-fanout-1x4"):
        assert f"({name}.svg)" in text
        assert (tmp_path / f"{name}.svg").exists()
    assert "| 2x2 | 1.00 |" in text


def test_without_plots_a_report_has_none(tmp_path):
    assert fanout.again([data_of()], options(tmp_path, no_plots=True)) == 0
    assert [one.name for one in tmp_path.iterdir()] == ["2026-01-02-fanout-2x2.md"]
    assert "![" not in (tmp_path / "2026-01-02-fanout-2x2.md").read_text()


def test_each_kind_of_raw_data_gets_its_own_report(tmp_path):
    found = [probe_data(), sweep_data(), foreign_data("audit"), trouble_data()]
    found[1]["runs"][0].update(per_s=1.0)
    found[1]["runs"][-1].update(per_s=1.0)
    assert sweep.adaptive(found[1], 0)[0] == 1.0
    assert fanout.again(found, options(tmp_path)) == 1  # the sweep's target is not met
    assert sorted(one.name for one in tmp_path.glob("*.md")) == [
        "2026-01-02-foreign-1x2.md", "2026-01-02-probe-1x4.md", "2026-01-02-sweep-1x10.md",
        "2026-01-02-trouble-1x1550.md"]


@pytest.mark.parametrize("change, found", [
    ({}, True), ({"nodes": 3}, False), ({"resume": False}, False)])
def test_a_finished_shape_of_this_commit_and_nodes_is_not_run_again(tmp_path, monkeypatch, change,
                                                                    found):
    data = {**data_of(), "finished": "2026-01-02T04:00:00"}
    rawdata.save(tmp_path / "2026-01-02-fanout-2x2.json", data)
    monkeypatch.setattr(rawdata, "provenance", lambda *_: {"commit": "abc"})
    given = options(tmp_path, **{"resume": True, **change})
    assert (fanout.finished(fanout.shapes.Shape(2, 2), given) is not None) == found
    assert fanout.finished(fanout.shapes.Shape(2, 3), given) is None


def test_an_unfinished_shape_or_one_of_a_changed_tree_is_run_again(tmp_path, monkeypatch):
    rawdata.save(tmp_path / "2026-01-02-fanout-2x2.json", data_of())
    given = options(tmp_path, resume=True)
    monkeypatch.setattr(rawdata, "provenance", lambda *_: {"commit": "abc"})
    assert fanout.finished(fanout.shapes.Shape(2, 2), given) is None
    rawdata.save(tmp_path / "2026-01-02-fanout-2x2.json", {**data_of(), "finished": "now"})
    monkeypatch.setattr(rawdata, "provenance", lambda *_: {"commit": "abc with changes"})
    assert fanout.finished(fanout.shapes.Shape(2, 2), given) is None
