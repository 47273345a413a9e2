"""What overlays of fluid and packets make of traces and phases: by hand, on small tables."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from inspect import signature
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

from modelled_bottleneck import CONTENDERS, all_of, known, phase
from qcnlab.analysis import Dcqcn, Qcn, command, overlay
from qcnlab.analysis.overlay import Overlay, _rates, _start, _trace
from qcnlab.analysis.responses import Response, Trajectory

overlay_module: Any = sys.modules[overlay.__module__]


def test_the_trace_of_an_overlay_is_the_drawn_time_and_the_sum_of_rates() -> None:
    queues = pl.DataFrame({"time_s": [0.3, 0.1, 0.2, 0.4], "queue_bytes": [3, 1, 2, 4]})
    result: Any = SimpleNamespace(queues=SimpleNamespace(to_polars=lambda: queues))
    sources = pl.DataFrame({
        "time_s": [0.1, 0.1, 0.2, 0.2, 0.3],
        "current_rate_bps": [1e9, 2e9, 3e9, 4e9, 9e9],
    })  # fmt: skip
    queue, rate = _trace(result, sources, 0.1, 0.2)
    assert (queue["time_s"].tolist(), queue["queue_bytes"].tolist()) == ([0.1, 0.2], [1, 2])
    assert (rate["time_s"].tolist(), rate["rate_bps"].tolist()) == ([0.1, 0.2], [3e9, 7e9])
    assert (queue.units, rate.units) == (
        {"time_s": "s", "queue_bytes": "B"}, {"time_s": "s", "rate_bps": "bit/s"},
    )  # fmt: skip


def test_a_source_sends_no_more_than_it_is_offered() -> None:
    frame = pl.DataFrame({
        "source": ["a", "b", "b", "other"],
        "current_rate_bps": [10_000_000_000, 3_000_000_000, 5_000_000_000, 1],
    })  # fmt: skip
    result: Any = SimpleNamespace(rates=SimpleNamespace(to_polars=lambda: frame))
    rates = _rates(result, CONTENDERS)
    assert rates.sort("source", "current_rate_bps")["current_rate_bps"].to_list() == [8e9, 3e9, 4e9]


def test_the_fluid_starts_from_the_last_sample_of_the_packets() -> None:
    queues = pl.DataFrame({"time_s": [0.1, 0.2, 0.3], "queue_bytes": [1, 20, 300]})
    result: Any = SimpleNamespace(queues=SimpleNamespace(to_polars=lambda: queues))
    rates = pl.DataFrame({
        "time_s": [0.1, 0.2, 0.2, 0.3],
        "current_rate_bps": [1e9, 2e9, 4e9, 9e9],
        "target_rate_bps": [1e9, 4e9, 6e9, 9e9],
    })  # fmt: skip
    model = Qcn()
    for at in (0.2, 0.25):
        assert _start(result, rates, at, model) == model.initial(20, 3e9, 5e9)
    # Before all samples: the first.
    assert _start(result, rates, 0.05, model) == model.initial(1, 1e9, 1e9)


def test_the_comparison_is_over_the_second_half_of_what_is_drawn() -> None:
    """From 1 to 3 s: from 2 s on. The packets have 0, 4 and 8 there, the fluid 0.5 and 1."""
    packets = Response(
        "p",
        {"time_s": np.array([1.0, 1.9, 2.0, 2.5, 3.0]), "queue_bytes": np.array([9, 9, 0, 4, 8.0])},
        {},
    )
    fluid = Trajectory(
        "f",
        {"time_s": np.array([1.0, 2.0, 3.0]), "queue_bytes": np.array([7, 0.5, 1.0])},
        {},
        "qcn",
    )
    at = phase("hotspot", 5e8)
    one: Any = None
    asked = Overlay(known(at), (), at, packets, packets, fluid, one)
    assert asked.comparison() == {
        "packets_queue_mean_bytes": 4,
        "packets_queue_std_bytes": pytest.approx(math.sqrt(32 / 3)),
        "packets_queue_empty_frac": pytest.approx(1 / 3),
        "fluid_queue_mean_bytes": 0.75,
        "fluid_queue_std_bytes": 0.25,
        "fluid_queue_empty_frac": 0.5,
    }
    text = command._comparison_text(asked)
    assert text.splitlines()[-1] == "(drawn: 1 s to 3 s)"
    assert [
        line.split() for line in text.splitlines() if line.startswith(("packets", "fluid"))
    ] == [
        ["packets", "0.00", "0.00", "33.3"],
        ["fluid", "0.00", "0.00", "50.0"],
    ]
    summary = asked.summary()
    assert summary["drawn"]["start_s"] == 0.1
    assert summary["drawn"]["end_s"] == 0.3
    assert summary["drawn"]["loop_delay_s"] == {"min": 10e-6, "mean": 20e-6, "max": 30e-6}
    assert (summary["scheme"], summary["port"], summary["phases"]) == ("qcn", "a->b", [])


def test_one_verdict_for_each_capacity_the_analysed_phase_first() -> None:
    free, hot, again = phase("outside the hotspot", 5e9), phase("hotspot", 5e8), phase("x", 5e9)
    calm = phase("outside the hotspot", 10e9, None)
    verdicts = overlay_module._verdicts(known(calm, free, hot, again))
    assert [each.phase for each in verdicts] == [hot, free]
    assert [each.model.capacity_bps for each in verdicts] == [5e8, 5e9]
    critical = verdicts[0].critical_delays()
    assert critical["sources"].tolist() == [1, 2, 5, 10, 20, 50, 100, 400]
    assert critical.units == {"as_published_s": "s", "first_cycle_kept_s": "s"}
    assert critical.title == "Critical RTT, 0.5 Gb/s"
    ten = verdicts[0].model.with_(sources=10).critical_delays()["as published"]
    assert critical["as_published_s"][3] == ten


def test_an_overlay_shows_a_fifth_of_a_second_by_default() -> None:
    assert signature(overlay).parameters["shown_s"].default == 0.2


def test_the_buffer_goes_to_a_fluid_that_has_one() -> None:
    at = known(phase("hotspot", 5e8))
    assert overlay_module._buffer(at, Qcn()) == {"buffer_bytes": 150e3}
    assert overlay_module._buffer(at, Dcqcn()) == {}
    at.bottleneck.buffer_bytes = None
    assert overlay_module._buffer(at, Qcn()) == {}


def test_traces_of_an_overlay_are_fine_enough_and_fit_into_memory() -> None:
    """0.2 s in 1000 points are 200 us; a second of 8000 flows in two million rows is 4 ms."""
    asked: list[Any] = []
    scenario: Any = SimpleNamespace(with_=asked.append)
    at = known(phase("hotspot", 5e8))
    at.base["record"] = {"queue_every": 1e-3, "rates_every": 5e-5}
    overlay_module._recorded(scenario, at, 0.2)
    at.bottleneck.flows = 8000
    at.base["record"] = {"queue_every": 1e-2, "rates_every": 1e-3}
    overlay_module._recorded(scenario, at, 0.2)
    shared = {"record.tables": True, "record.bottleneck": "a->b", "record.queues": "a->b"}
    assert asked == [
        shared | {"record.queue_every": "200000 ns", "record.rates_every": "50000 ns"},
        shared | {"record.queue_every": "4000000 ns", "record.rates_every": "1000000 ns"},
    ]


def test_the_rtt_in_words_names_a_range_where_sources_differ() -> None:
    at = phase("hotspot", 5e8)
    assert command._rtt_text(known(at), at) == "20 us (10 us to 30 us)"
    alike = phase("hotspot", 5e8, replace(CONTENDERS, loop_delay_s=all_of(2e-5)))
    assert command._rtt_text(known(alike), alike) == "20 us"


def test_the_verdict_of_a_phase_in_words() -> None:
    at = phase("hotspot", 5e8)
    all_known = known(at)
    (verdict,) = overlay_module._verdicts(all_known)
    lines = command._verdict_text(all_known, verdict).splitlines()
    assert lines[0] == "hotspot: 3 sources, 0.5 Gb/s, RTT 20 us (10 us to 30 us)"
    rest = verdict.equilibrium
    assert lines[2] == f"rests at {rest.queue_bytes / 1e3:.4g} KB, 0.1667 Gb/s each"
    row = next(line for line in lines if line.startswith("as published")).split()
    margins = verdict.loops["as published"]
    assert row[2] == ("yes" if margins.stable else "no")
    assert row[3] == f"{margins.phase_margin_deg:.1f}"
    assert row[4] == f"{margins.gain_margin:.2f}"
    numbers = next(line for line in lines if line.startswith("critical RTT at N")).split()
    assert numbers[-8:] == ["1", "2", "5", "10", "20", "50", "100", "400"]
