"""Shapes on the command line, and raw data on disk."""

import json

import pytest

import rawdata
import shapes
from shapes import Shape


def test_shapes_are_read_from_texts_and_sets():
    assert shapes.parse(["20x500,1x10000", "3x4"]) == [Shape(20, 500), Shape(1, 10000), Shape(3, 4)]
    assert shapes.parse(["full"]) == [Shape(10000, 1), Shape(500, 20), Shape(20, 500),
                                      Shape(1, 10000)]
    assert all(shape.total == 2000 for shape in shapes.parse(["small"]))
    assert shapes.parse([]) == []


def test_a_shape_that_is_named_twice_is_run_once():
    assert shapes.parse(["3x4", "3x4"]) == [Shape(3, 4)]


@pytest.mark.parametrize("text", ["20", "x5", "5x", "0x5", "5x0", "-1x5", "2x3x4", "", "big"])
def test_what_is_no_shape_is_refused(text):
    with pytest.raises(ValueError, match="is no shape"):
        shapes.parse([text])


def test_raw_data_come_back_as_they_were_but_for_late_digits(tmp_path):
    data = {"a": [{"b": {"c": [1, 2.123456789, None, "x [ y ]"]}}], "empty": {}, "list": [],
            "deep": [[[[[[1.5]]]]]]}
    path = tmp_path / "raw.json"
    rawdata.save(path, data)
    data["a"][0]["b"]["c"][1] = 2.1235
    assert rawdata.load(path) == data
    assert [one.name for one in tmp_path.iterdir()] == ["raw.json"]


def test_inner_levels_take_one_line():
    value = {"triples": [{"runs": [{"curve": list(range(500))}]}]}
    text = rawdata.encode(value)
    assert json.loads(text) == value
    assert len(text.splitlines()) == 11
