"""DCQCN's rest by hand, and how fast its rates become equal against the poles of their loop."""

from __future__ import annotations

import math

import numpy as np
import pytest

import qcnlab
from qcnlab.analysis import Dcqcn, Loop, dcqcn_linear
from qcnlab.analysis.polynomials import Array


def difference(model: Dcqcn) -> tuple[Array, Array]:
    """Return the loop of the difference of two rates at rest."""
    return dcqcn_linear.difference(model, model.equilibrium().marking_probability)


@pytest.mark.parametrize(("sources", "edge_ms"), [(2, 34.86), (5, 18.44), (10, 11.68)])
def test_differences_grow_from_the_delay_on_at_which_their_loop_turns_unstable(
    sources: int, edge_ms: float
) -> None:
    """The critical delay is where |L| = 1, apart from the search for the root, and so an oracle."""
    num, den = difference(Dcqcn(sources=sources))
    edge_s = Loop(num, den).critical_delay()
    assert edge_s is not None
    assert 1e3 * edge_s == pytest.approx(edge_ms, abs=0.01)
    below, above = (Dcqcn(sources=sources, delay_s=share * edge_s) for share in (0.97, 1.03))
    assert below.convergence_rate().real < 0 < above.convergence_rate().real
    assert below.convergence_s() == pytest.approx(math.log(20) / -below.convergence_rate().real)
    assert above.convergence_s() == math.inf


@pytest.mark.parametrize(
    ("sources", "delay_s"),
    [
        (7, 0.0),
        (7, 1e-4),
        (6, 2.653e-3),
        (7, 1.421e-3),
        (7, 5.79e-3),
        (8, 5.79e-3),
        (7, 0.02),
        (7, 0.4),
    ],
)
def test_no_root_lies_right_of_the_one_that_counts(sources: int, delay_s: float) -> None:
    """With s = z + r the loop of z is num(z + r) e^{-r d} e^{-z d} / den(z + r).

    It has no pole right of the axis where r is just above the root, and one or two just below.
    """
    model = Dcqcn(sources=sources, delay_s=delay_s)
    num, den = difference(model)
    root = model.convergence_rate()

    def poles_right_of(r: float) -> int | None:
        upper, lower = (np.poly1d(each)(np.poly1d([1.0, r])).coeffs.real for each in (num, den))
        return Loop(math.exp(-r * delay_s) * upper, lower, delay_s).unstable_poles()

    assert poles_right_of(root.real + 0.1) == 0
    assert poles_right_of(root.real - 0.1) == (2 if root.imag else 1)


class Told(Dcqcn):
    """DCQCN whose differences grow or shrink at a rate that is given."""

    def convergence_rate(self) -> complex:
        return complex(self.ai_rate_bps - 10, 3.0)


def test_the_time_of_a_difference_is_that_of_the_real_part_of_its_rate() -> None:
    # A share of 1 / e at -0.5 / s takes 2 s; at 0 or above it never comes.
    for rate, time_s in ((-0.5, 2.0), (0.0, math.inf), (0.5, math.inf)):
        assert Told(ai_rate_bps=rate + 10).convergence_s(1 / math.e) == pytest.approx(time_s)


def test_each_source_rests_at_its_share_of_the_capacity() -> None:
    # 40 Gb/s over four.
    assert Dcqcn(sources=4, capacity_bps=40e9).equilibrium().current_rate_bps == 10e9


def test_the_paper_has_ten_sources_at_40_gbps_and_no_set_point() -> None:
    assert (Dcqcn().sources, Dcqcn().capacity_bps) == (10, 40e9)
    assert not Dcqcn.HAS_SET_POINT


def test_a_ramp_that_ends_just_where_the_sources_rest_is_enough() -> None:
    # Its end is then the queue at rest; a ramp that ends lower is not.
    needed = Dcqcn().marking_probability()
    assert Dcqcn(p_max=needed).equilibrium().queue_bytes == pytest.approx(Dcqcn().k_max_bytes)
    with pytest.raises(qcnlab.AnalysisError, match="no equilibrium"):
        Dcqcn(p_max=math.nextafter(needed, 0)).equilibrium()


def test_a_ramp_of_marks_ends_at_certainty_at_most() -> None:
    for p_max in (1.5, 2.0):
        with pytest.raises(qcnlab.AnalysisError, match=r"it must be above 0 and at most 1"):
            Dcqcn(p_max=p_max)
