"""Packets against fluid: where each turns unstable, on coarse grids with a fixed seed.

The edge is the shortest RTT from which on the settled queue swings by a quarter of its set point
(standard deviation, the packets' noise at the shortest RTT taken off). A hundred sources of QCN
have none: they swing at any RTT.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest

import qcnlab
from qcnlab.analysis import Boundary, Dcqcn, Qcn, boundary, modelled
from qcnlab.analysis.boundary import _highest_capacity, _star, beyond_noise, edge

SCENARIO = "og-hotspot-2src-10g-to-500m-rtt200us"


def test_qcn_turns_unstable_where_the_fluid_does() -> None:
    few, many = [20e-6, 300e-6, 450e-6, 600e-6], [20e-6, 150e-6, 250e-6]
    for sources, rtts_s in (((2, 5, 10, 20), few), ((50,), many)):
        edges = boundary(qcnlab.load(SCENARIO), sources=sources, rtts_s=rtts_s, reps=1)
        assert edges.ratio() == pytest.approx(np.ones(len(sources)), abs=0.3)


def test_no_rtt_is_stable_for_a_hundred_sources_of_qcn() -> None:
    """Their byte counter cycles, 12 ms long, keep packets and fluid swinging."""
    rtts_s = [20e-6, 300e-6]
    edges = boundary(qcnlab.load(SCENARIO), sources=(100,), rtts_s=rtts_s, reps=1)
    for swing in (edges.packets_swing, edges.fluid_swing):
        assert (swing >= 0.25).all()
    assert edges.behaviour("packets") == edges.behaviour("fluid") == ("swings",)
    assert np.isnan(edges["packets_s"]).all()
    assert np.isnan(edges["fluid_s"]).all()


def test_ecm_turns_unstable_where_the_fluid_does_for_any_number_of_sources() -> None:
    ecm = qcnlab.load(SCENARIO).with_({"scheme.name": "ecm", "scheme.preset": "DECK001"})
    rtts_s = [14e-6, 22e-6, 30e-6, 38e-6]
    edges = boundary(ecm, sources=(2, 10, 100), rtts_s=rtts_s, reps=1)
    assert edges.ratio() == pytest.approx(np.ones(3), abs=0.3)


def test_dcqcn_turns_unstable_as_published_and_rests_nowhere_beyond_its_ramp() -> None:
    """Zhu and others, CoNEXT 2016: ten sources are stable at 4 us and swing at 85 us."""
    marks = {"scheme.name": "dcqcn", "scheme.preset": "SIGCOMM2015", "traffic.0.frame": "1000 B"}
    star = qcnlab.load("one-source-into-9g-rtt200us").with_(
        {**marks, "topology.rate": "40 Gb/s", "topology.bottleneck_rate": "40 Gb/s"},
        {"topology.sources": 10, "topology.buffer": "10 MB"},
    )
    edges = boundary(star, sources=(10, 20), rtts_s=[4e-6, 85e-6], reps=1)
    assert edges.behaviour("packets") == edges.behaviour("fluid") == ("turns unstable", "no rest")
    # Linear theory's edge lies between; with twenty sources the ramp ends below what they need.
    assert 4e-6 < edges["linear_s"][0] < 85e-6
    for swing in (edges.packets_swing, edges.fluid_swing):
        assert np.isnan(swing[1]).all()
    assert edges.plot().axes


def test_a_fabric_is_swept_as_a_star_with_its_bottleneck() -> None:
    fabric = qcnlab.load("ig-4-culprits-1-victim-150kb-rtt5us")
    rtts_s = [20e-6, 300e-6, 450e-6]
    edges = boundary(fabric, sources=(5,), rtts_s=rtts_s, reps=1)
    assert edges.title == ("Edge of stability, qcn_byte_counter, 10 Gb/s, star for core->edge5")
    assert edges.behaviour("packets") == ("turns unstable",)
    star = qcnlab.load(SCENARIO).with_(
        {"scheme.name": "qcn_byte_counter", "scheme.preset": "IBM_ZRL", "topology.sources": 5}
    )
    same = boundary(star.with_("traffic.0.frame=1500 B"), sources=(5,), rtts_s=rtts_s, reps=1)
    assert same["packets_s"] == pytest.approx(edges["packets_s"])


def test_the_published_cycles_forget_why_many_sources_swing() -> None:
    """One thing at a time: a hundred sources at 100 us, where the packets swing."""
    model = Qcn(sources=100, delay_s=100e-6, first_cycle="kept")
    swings = {}
    for cycles in ("published", "remembered"):
        run = model.fluid(0.8, every_s=20e-6, sampling="fixed", cycles=cycles)
        swings[cycles] = run.after(0.5)["queue_bytes"].std() / model.set_point_bytes
    assert swings["published"] < 0.001
    assert swings["remembered"] > 0.25


def test_noise_steadies_the_fluid() -> None:
    scenario = qcnlab.load(SCENARIO)
    model = Qcn(sources=12, frame_bytes=1000, w=2.0)
    # 12 sources put the queue off by one frame; F weighs two samples with 3 and -2.
    assert model.arrival_spread_bytes == pytest.approx(1000 * math.sqrt(13))
    rtts_s = [20e-6, 400e-6, 550e-6]
    edges = [
        boundary(scenario, sources=(20,), rtts_s=rtts_s, reps=1, noise=noise)["fluid_s"][0]
        for noise in (False, True)
    ]
    assert edges[1] > 1.05 * edges[0]


def test_ten_sources_of_dcqcn_are_bistable_below_their_linear_edge() -> None:
    """At 35 us, between 20 and 62 us, the fluid rests from two starts and swings from the third."""
    model = Dcqcn(sources=10, delay_s=35e-6)
    level = model.queue_level()
    runs = [model.fluid(0.2, every_s=20e-6, start=start).after(0.12) for start in model.starts()]
    swings = [float(run["queue_bytes"].std() / level) for run in runs]
    assert max(swings[:2]) < 0.02
    assert swings[2] == pytest.approx(0.60, abs=0.02)
    rows = np.array([[0.0, min(swings)]]), np.array([[0.0, max(swings)]])
    edges = Boundary(
        "edges", {"sources": np.array([10.0])}, {}, (4e-6, 35e-6), rows[0], rows[0],
        fluid_largest_swing=rows[1],
    )  # fmt: skip
    assert edges.bistable().tolist() == [[False, True]]
    assert edges.behaviour("fluid") == ("steady",)


def test_many_flows_have_less_noise_and_the_same_limit_cycle() -> None:
    """Four times flows, capacity, buffer and ramp: noise falls, the swing at 40 us stays at 0.6."""
    marks = {"scheme.name": "dcqcn", "scheme.preset": "SIGCOMM2015", "traffic.0.frame": "1000 B"}
    scenario = qcnlab.load("one-source-into-9g-rtt200us").with_(
        {**marks, "topology.rate": "40 Gb/s", "topology.bottleneck_rate": "40 Gb/s"},
        {"topology.sources": 10, "topology.buffer": "10 MB"},
    )
    known = modelled.read(scenario)
    contenders = _highest_capacity(known)
    model = known.kind.from_scenario(known.base["scheme"], contenders).with_(sources=10)
    shares = {}
    for rtt_s in (4e-6, 40e-6):
        for factor in (1, 4):
            star = _star(known, contenders, model, rtt_s, factor)
            short = star.with_("warmup=0.1 s", "duration=0.2 s")
            queues = qcnlab.run(short, reps=1).queues.to_polars()
            settled = queues.filter(pl.col("time_s") >= 0.1)["queue_bytes"].cast(pl.Float64)
            shares[rtt_s, factor] = settled.to_numpy().std() / factor / model.queue_level()
    # 0.31 and 0.21 of the level over 0.2 s of a fixed seed; a limit cycle of 0.60 in both.
    assert shares[4e-6, 4] < 0.85 * shares[4e-6, 1]
    assert shares[40e-6, 4] == pytest.approx(shares[40e-6, 1], rel=0.1)


def test_a_growth_of_four_percent_beyond_noise_is_no_swing() -> None:
    """sqrt(1.04^2 - 1) = 0.2857 of a level as large as the noise; sqrt(1.3^2 - 1) = 0.8307."""
    deviation, noise, level = np.array([1.0, 1.04, 1.3]), np.array([1.0]), np.array([1.0])
    swing = beyond_noise(deviation, noise, level)
    assert swing[0] == 0
    assert swing[1] < 0.25
    assert swing[2] == pytest.approx(0.8307, abs=1e-4)
    # Without noise to take off, the share is the deviation over the level.
    assert beyond_noise(np.array([0.5]), np.array([0.0]), level)[0] == 0.5


def test_the_edge_is_interpolated_from_the_last_rtt_below() -> None:
    assert math.isnan(edge([1.0, 2.0], np.array([0.3, 0.4])))
    assert math.isnan(edge([1.0, 2.0], np.array([0.1, 0.2])))
    # From 0.05 at 2 to 0.45 at 4, 0.25 is half way.
    assert edge([1.0, 2.0, 4.0], np.array([0.3, 0.05, 0.45])) == pytest.approx(3.0)


def test_no_edge_says_whether_it_is_steady_or_swings() -> None:
    rows = np.array([[0.1, 0.2, 0.1], [0.3, 0.4, 0.3], [0.1, 0.4, 0.1], [0.1, 0.2, 0.3]])
    columns = {"sources": np.arange(4.0)}
    edges = Boundary("edges", columns, {}, (1.0, 2.0, 3.0), rows, rows[::-1])
    words = ("steady", "swings", "steady again", "turns unstable")
    assert edges.behaviour("packets") == words
    assert edges.behaviour("fluid") == words[::-1]
    for row, word in zip(rows, words, strict=True):
        assert math.isnan(edge(edges.rtts_s, row)) == (word != "turns unstable")
    with pytest.raises(qcnlab.AnalysisError, match="packets and fluid have"):
        edges.behaviour("linear")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"rtts_s": [3e-4, 2e-4]}, "must be above 0, rise, and be two or more"),
        ({"rtts_s": [3e-4]}, "must be above 0, rise, and be two or more"),
        ({"sources": (0,)}, "one source and one replication"),
        ({"flows_factor": 0}, "flows_factor is 0; it must be 1 or more"),
        ({"flows_factor": 2}, "QCN: flows_factor is 2; only DCQCN scales, use 1"),
    ],
)
def test_sweeps_that_cannot_be_are_refused(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(qcnlab.AnalysisError, match=words):
        boundary(qcnlab.load(SCENARIO), **arguments)
