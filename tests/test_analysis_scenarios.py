"""What models take from a scenario and what they leave out, on scenarios made by hand."""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import is_dataclass, replace
from typing import Any

import pytest

import qcnlab
from modelled_bottleneck import CONTENDERS, all_of, known, phase
from qcnlab.analysis import left_out
from qcnlab.analysis.spans import spans
from qcnlab.runs.contention import MinMeanMax


def test_models_and_answers_cannot_be_changed() -> None:
    """Every dataclass of the analysis is frozen: `with_` makes another."""
    of_analysis: list[Any] = [
        kind
        for module in pkgutil.iter_modules(qcnlab.analysis.__path__, "qcnlab.analysis.")
        for kind in vars(importlib.import_module(module.name)).values()
        if isinstance(kind, type) and kind.__module__ == module.name and is_dataclass(kind)
    ]
    assert len(of_analysis) > 20
    loose = [kind.__name__ for kind in of_analysis if not kind.__dataclass_params__.frozen]
    assert loose == []


# Values that differ from source to source.


def test_values_are_uniform_but_for_rounding() -> None:
    assert all_of(3.0).uniform and all_of(0.0).uniform
    assert MinMeanMax(2.0, 2.0, 2.0 + 1e-9).uniform
    assert not MinMeanMax(2.0, 2.0, 2.0 + 3e-9).uniform
    assert spans(MinMeanMax(1e-6, 5e-4, 1e-3)) == "1 us to 1 ms"


def test_what_of_the_contenders_is_not_in_a_model() -> None:
    alike = replace(
        CONTENDERS, sends=all_of(6e9), frame_bytes=all_of(1500.0), loop_delay_s=all_of(2e-5)
    )
    assert list(left_out.contenders_left_out(alike, alike.loop_delay_s)) == []
    said = list(left_out.contenders_left_out(CONTENDERS, CONTENDERS.loop_delay_s))
    assert said == [
        "unequal RTTs (10 us to 30 us; the model takes their mean)",
        "unequal offers (4 to 8 Gb/s; the model takes their mean)",
        "frames of several sizes (1000 to 2000 B; the model takes the mean, 1500 B)",
    ]
    taken = replace(alike, light=(2, 5e8), uncontrolled=(1, 1e9))
    assert list(left_out.contenders_left_out(taken, taken.loop_delay_s)) == [
        "samples of 2 flows of less than half its fair share, whose 0.5 Gb/s are taken off the "
        "link",
        "samples of 1 flow of what no reaction point slows, whose 1 Gb/s are taken off the link",
    ]


def test_what_of_the_traffic_and_fabric_is_not_in_a_model() -> None:
    tree: dict[str, Any] = {
        "traffic": [
            {"arrivals": "saturated"},
            {"arrivals": "poisson"},
            {"arrivals": "saturated", "transport": "tcp"},
            {"arrivals": "on_off"},
        ],
        "feedback": {"kind": "ideal"},
    }
    assert list(left_out.traffic_left_out(tree, CONTENDERS)) == []
    every = replace(CONTENDERS, traffic=(0, 1, 2, 3))
    said = " ".join(left_out.traffic_left_out(tree, every))
    assert [word in said for word in ("TCP's window", "at random", "mean rate")] == [True] * 3
    assert list(left_out.fabric_left_out(tree)) == []
    fabric: dict[str, Any] = {
        "feedback": {"kind": "frames"},
        "routing": {"multipath": "frame"},
        "switch": [{"output_buffer": "1 MB"}, {"input_memory": "1 MB"}],
        "pause": {"kind": "none"},
        "adapter": [{"max_rps": 0}],
    }
    assert [words.split()[0] for words in left_out.fabric_left_out(fabric)] == [
        "length",
        "frames",
        "the",
    ]
    paused = {**tree, "pause": [{"kind": "none"}, {"kind": "link"}], "adapter": {"max_rps": 2}}
    assert list(left_out.fabric_left_out(paused)) == [
        "PAUSE",
        "flows that share a limiter, but for their number",
    ]
    assert list(left_out.fabric_left_out({**tree, "routing": {"multipath": "flow"}})) == []


def test_the_first_congested_hotspot_is_analysed_else_the_first_congested_phase() -> None:
    calm = phase("outside the hotspot", 10e9, None)
    free, hot, later = (
        phase("outside the hotspot", 10e9),
        phase("hotspot", 5e8),
        phase("hotspot", 1e9),
    )
    assert known(calm, free, hot, later).congested() is hot
    assert known(calm, free).congested() is free
    assert known(calm, phase("hotspot", 1e9, None), free).congested() is free
    with pytest.raises(qcnlab.AnalysisError, match="s, hotspot: no equilibrium: a->b is not cong"):
        known(free).contenders(phase("hotspot", 1e9, None))


def test_limiters_must_let_more_pass_than_the_port_carries() -> None:
    # Three sources of 6 Gb/s on average: 18 Gb/s, or three times their limit.
    at = phase("hotspot", 3e9)
    assert known(at).line_rate_bps(at) == 6e9
    assert known(at, max_rate=2e9).line_rate_bps(at) == 2e9
    assert known(at, max_rate=9e9).line_rate_bps(at) == 6e9
    assert known(at, max_rate=1.001e9).model(at).capacity_bps == 3e9
    with pytest.raises(qcnlab.AnalysisError, match=r"at most 3 Gb/s pass and a->b carries 3 Gb/s"):
        known(at, max_rate=1e9).model(at)
    assert known(at).feedback_delay(at).mean == 20e-6
