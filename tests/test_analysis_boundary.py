"""Packets against fluid: where each turns unstable, on coarse grids with a fixed seed.

The edge is the shortest RTT from which on the settled queue swings by a quarter of its set point
(standard deviation, the packets' noise at the shortest RTT taken off).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import qcnlab
from qcnlab.analysis import Qcn, boundary
from qcnlab.analysis.boundary import edge

SCENARIO = "og-hotspot-2src-10g-to-500m-rtt200us"


def test_qcn_turns_unstable_where_the_fluid_does() -> None:
    rtts_s = [150e-6, 300e-6, 375e-6, 425e-6, 475e-6, 550e-6]
    found = boundary(qcnlab.load(SCENARIO), sources=(2, 5, 10, 20), rtts_s=rtts_s, reps=1)
    assert found.ratio() == pytest.approx(np.ones(4), abs=0.3)
    assert (found["linear_s"] < found["fluid_s"]).all()


def test_ecm_turns_unstable_where_the_fluid_does_for_any_number_of_sources() -> None:
    ecm = qcnlab.load(SCENARIO).with_({"scheme.name": "ecm", "scheme.preset": "DECK001"})
    rtts_s = [14e-6, 22e-6, 30e-6, 38e-6]
    found = boundary(ecm, sources=(2, 10, 100), rtts_s=rtts_s, reps=1)
    assert found.ratio() == pytest.approx(np.ones(3), abs=0.3)


def test_many_sources_of_qcn_are_steadier_than_the_fluid() -> None:
    rtts_s = [150e-6, 250e-6, 375e-6]
    found = boundary(qcnlab.load(SCENARIO), sources=(50, 100), rtts_s=rtts_s, reps=1)
    assert (found["fluid_s"] < 375e-6).all()
    assert (found.packets_swing < 0.25).all()


def test_noise_steadies_the_fluid() -> None:
    scenario = qcnlab.load(SCENARIO)
    model = Qcn(sources=12, frame_bytes=1000, w=2.0)
    # 12 sources put the queue off by one frame; F weighs two samples with 3 and -2.
    assert model.arrival_spread_bytes == pytest.approx(1000 * math.sqrt(13))
    rtts_s = [150e-6, 300e-6, 450e-6]
    edges = [
        boundary(scenario, sources=(20,), rtts_s=rtts_s, reps=1, noise=noise)["fluid_s"][0]
        for noise in (False, True)
    ]
    assert edges[1] > 1.05 * edges[0]


def test_the_edge_is_interpolated_from_the_last_rtt_below() -> None:
    assert math.isnan(edge([1.0, 2.0], np.array([0.3, 0.4])))
    assert math.isnan(edge([1.0, 2.0], np.array([0.1, 0.2])))
    # From 0.05 at 2 to 0.45 at 4, 0.25 is half way.
    assert edge([1.0, 2.0, 4.0], np.array([0.3, 0.05, 0.45])) == pytest.approx(3.0)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"rtts_s": [3e-4, 2e-4]}, "must be above 0, rise, and be two or more"),
        ({"rtts_s": [3e-4]}, "must be above 0, rise, and be two or more"),
        ({"sources": (0,)}, "one source and one replication"),
    ],
)
def test_sweeps_that_cannot_be_are_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(qcnlab.AnalysisError, match=words):
        boundary(qcnlab.load(SCENARIO), **given)
