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
from qcnlab.analysis import boundary
from qcnlab.analysis.boundary import edge

SCENARIO = "og-hotspot-2src-10g-to-500m-rtt200us"


def test_few_sources_turn_unstable_where_the_fluid_does() -> None:
    # Small frames: arrivals of 1500 B frames are a noise that steadies one-sided feedback.
    small = qcnlab.load(SCENARIO).with_({"traffic.0.frame": "300 B"})
    rtts_s = [150e-6, 275e-6, 350e-6, 425e-6, 500e-6]
    found = boundary(small, sources=(2, 5, 10), rtts_s=rtts_s, reps=1)
    assert found.ratio() == pytest.approx(np.ones(3), abs=0.3)
    assert (found["linear_s"] < found["fluid_s"]).all()


def test_ecm_turns_unstable_where_the_fluid_does_for_any_number_of_sources() -> None:
    ecm = qcnlab.load(SCENARIO).with_({"scheme.name": "ecm", "scheme.preset": "DECK001"})
    rtts_s = [14e-6, 22e-6, 26e-6, 30e-6, 36e-6]
    found = boundary(ecm, sources=(2, 5, 10, 20, 50, 100), rtts_s=rtts_s, reps=1)
    assert found.ratio() == pytest.approx(np.ones(6), abs=0.3)


def test_many_sources_are_steadier_than_the_fluid() -> None:
    rtts_s = [150e-6, 250e-6, 350e-6]
    found = boundary(qcnlab.load(SCENARIO), sources=(20, 50, 100), rtts_s=rtts_s, reps=1)
    assert (found["fluid_s"] < 350e-6).all()
    assert np.isnan(found["packets_s"]).all()
    assert (found.packets_swing < 0.25).all()


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
