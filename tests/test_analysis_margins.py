"""Grid, verdict, delay margin and Pade approximation of loops, where one of them alone tells."""

from __future__ import annotations

import math

import pytest

from qcnlab.analysis import Loop


def test_the_grid_is_about_roots_below_1_rad_s_too() -> None:
    # One root at 1 mrad/s and no crossover; no root at all, which 1 rad/s stands for.
    assert Loop([0.5], [1000, 1]).grid()[[0, -1]] == pytest.approx([1e-7, 10])
    assert Loop([0.5], [1]).grid()[[0, -1]] == pytest.approx([1e-4, 1e4])


def test_the_verdict_of_a_neutral_loop_names_the_quotient_of_its_leading_coefficients() -> None:
    # 6 s over 2 s.
    assert "|L| stays at 3 at" in Loop([6, 1], [2, 1], 0.1).margins().verdict
    assert "|L| stays at 3 at" in Loop([-6, 1], [2, 1], 0.1).margins().verdict


def test_the_delay_margin_counts_whole_turns_that_the_phase_margin_does_not() -> None:
    """2 e^{-4 s} / s is 8 rad behind a quarter turn at 2 rad/s: -368.4 degrees, read as -8.4.

    Its delay must fall from 4 s to pi / 4 s, though, until it is stable.
    """
    margins = Loop([2.0], [1.0, 0.0], 4.0).margins()
    assert margins.phase_margin_deg == pytest.approx(90 - math.degrees(8) + 360)
    assert margins.delay_margin_s == pytest.approx(math.pi / 4 - 4)


@pytest.mark.parametrize(("delay", "more"), [(0.0, 0), (1e-9, 4), (1.0, 4)])
def test_a_pade_approximation_adds_its_order_wherever_there_is_a_delay(
    delay: float, more: int
) -> None:
    assert len(Loop([1], [1, 1], delay).to_control().den[0][0]) == 2 + more
