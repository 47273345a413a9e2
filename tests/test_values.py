"""Values from Python: numbers of numpy are taken, what no scenario has is refused in words."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import qcnlab
from qcnlab.values import plain, several, within

W = "scheme.cp.w"


@pytest.mark.parametrize(
    "value",
    [2.5, np.float64(2.5), np.float32(2.5), np.array(2.5), Fraction(5, 2), "2.5", np.str_("2.5")],
    ids=lambda value: type(value).__name__,
)
def test_numbers_of_any_library_are_one_number(short: qcnlab.Scenario, value: object) -> None:
    assert short.with_({W: value}) == short.with_(f"{W}=2.5")


def test_whole_numbers_and_flags(short: qcnlab.Scenario) -> None:
    changed = short.with_({"topology.sources": np.int32(5), "record.tables": np.bool_(False)})
    assert changed == short.with_("topology.sources=5", "record.tables=false")
    tree = {**short.to_dict(), "seed": np.uint64(7), "title": Path("a/b")}
    assert qcnlab.Scenario.from_dict(tree).seed == 7
    result = qcnlab.run(short, reps=np.int64(1), seed=np.int16(3), jobs=np.int8(1))  # type: ignore[arg-type]
    assert result.summary.seed == 3


def test_arrays_are_varied(short: qcnlab.Scenario) -> None:
    swept = qcnlab.sweep(short, vary={"topology.sources": np.arange(2, 4), W: np.array([1.5])})
    assert swept.vary == {"topology.sources": [2, 3], W: [1.5]}


REFUSED: dict[str, tuple[object, str]] = {
    "nothing": ({W: None}, r"'scheme\.cp\.w' is None.*\n.*leave the key out"),
    "a set": ({W: {1, 2}}, r"'scheme\.cp\.w' is of type set"),
    "octets": ({W: b"2"}, "of type bytes"),
    "a complex number": ({W: 1j}, "of type complex"),
    "an object in a list": ({"traffic.from": ["host1", object()]}, "of type object"),
    "a number for changes": (5, "5 is no change"),
    "nothing for changes": (None, "None is no change"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_no_scenario_has_is_refused_in_words(short: qcnlab.Scenario, case: str) -> None:
    change, words = REFUSED[case]
    with pytest.raises(qcnlab.ScenarioError, match=words):
        short.with_(change)  # type: ignore[arg-type]


VARIED: dict[str, tuple[Any, str]] = {
    "nothing": (None, "None does not say what varies"),
    "a text of values": ({"topology.rtt": "10 us"}, r"varied over '10 us'\n.*give a list"),
    "one number": ({W: 4}, "varied over 4"),
    "nothing among values": ({"topology.rtt": ["10 us", None]}, "'topology.rtt' is None"),
}


@pytest.mark.parametrize("case", VARIED)
def test_what_does_not_vary_is_refused_in_words(short: qcnlab.Scenario, case: str) -> None:
    vary, words = VARIED[case]
    with pytest.raises(qcnlab.ScenarioError, match=words):
        qcnlab.sweep(short, vary=vary)


@pytest.mark.parametrize("tree", [None, 5, [], "topology"])
def test_a_scenario_is_a_mapping(tree: Any) -> None:
    with pytest.raises(qcnlab.ScenarioError, match="a mapping of keys to values, not"):
        qcnlab.Scenario.from_dict(tree)


@pytest.mark.parametrize(
    ("name", "value"), [("reps", 2.5), ("reps", "2"), ("seed", np.float64(1)), ("jobs", True)]
)
def test_counts_are_whole(short: qcnlab.Scenario, name: str, value: object) -> None:
    arguments: dict[str, Any] = {name: value}
    with pytest.raises(TypeError, match=f"{name} is .*; it must be a whole number"):
        qcnlab.run(short, **arguments)
    with pytest.raises(TypeError, match=f"{name} is .*; it must be a whole number"):
        qcnlab.sweep(short, vary={"seed": [1]}, **arguments)


def test_none_is_no_scenario() -> None:
    with pytest.raises(TypeError, match="None is no scenario: give the name of one, or a file"):
        qcnlab.load(None)  # type: ignore[arg-type]


def test_both_ends_of_a_range_belong_to_it() -> None:
    assert [within("reps", number, 1, 10) for number in (1, 10)] == [1, 10]
    assert within("reps", None, 1, 10) is None
    assert type(within("reps", np.int64(3), 1, 10)) is int
    for number in (0, 11):
        with pytest.raises(ValueError, match=f"reps is {number}; it must be from 1 to 10"):
            within("reps", number, 1, 10)


def test_values_become_pythons_own_types() -> None:
    inputs = {"a": (np.int64(1), True, np.float32(0.5)), 2: np.str_("x"), "path": Path("a/b")}
    told = plain("key", inputs)
    assert told == {"a": [1, True, 0.5], "2": "x", "path": "a/b"}
    assert [type(value) for value in told["a"]] == [int, bool, float]
    assert type(told["2"]) is str
    # What is wrong is named with the keys that lead to it.
    with pytest.raises(qcnlab.ScenarioError, match=r"'key\.a' is None"):
        plain("key", {"a": None})


def test_what_varies_is_a_list_of_values() -> None:
    assert several("seed", range(2)) == [0, 1]
    assert several("seed", (n for n in (np.int8(3), 0.5))) == [3, 0.5]
    for one in ("12", b"12", {"a": 1}, 12):
        with pytest.raises(qcnlab.ScenarioError, match="'seed' is varied over "):
            several("seed", one)
