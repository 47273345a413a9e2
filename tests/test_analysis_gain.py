"""The gains at which poles of a loop may cross the axis, and its gain margin: by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from qcnlab.analysis import Loop, gain


def test_a_function_that_is_0_throughout_changes_its_sign_nowhere() -> None:
    grid = np.array([1.0, 2.0, 3.0])
    assert gain.crossovers(np.zeros(3), lambda _: 0.0, grid) == []
    assert gain.crossovers(grid - 2.5, lambda x: x - 2.5, grid) == pytest.approx([2.5])


@pytest.mark.parametrize("unit", [1.0, 1000.0])
def test_gains_of_a_delayed_integrator_do_not_depend_on_the_unit_of_time(unit: float) -> None:
    """e^{-s} / s is real and negative at w = pi / 2 + 2 pi m, where it is -1 / w."""
    expected = math.pi / 2 + 2 * math.pi * np.arange(6)
    edges = gain._edges(Loop([1.0], [unit, 0.0], unit))[:6]
    assert [k for k, _ in edges] == pytest.approx(expected)
    assert [unit * w for _, w in edges if w is not None] == pytest.approx(expected)


def test_the_gain_of_a_loop_with_several_unstable_poles_must_fall_to_the_lowest_edge() -> None:
    # Gains of 10 e^{-s} / s below 1 are pi / 20 and 5 pi / 20; above the first it is unstable.
    margins = Loop([10.0], [1.0, 0.0], 1.0).margins()
    assert margins.gain_margin == pytest.approx(math.pi / 20)
    assert margins.phase_crossover_rad_per_s == pytest.approx(math.pi / 2)


def test_a_loop_on_the_edge_has_a_gain_margin_of_1() -> None:
    # s + 1 - k is stable below k = 1.
    loop = Loop([-1.0], [1.0, 1.0])
    assert not loop.stable()
    assert loop.margins().gain_margin == 1


def test_a_delayed_all_pass_reaches_1_at_all_frequencies_at_one_gain() -> None:
    # |(s - 1) / (2 (s + 1))| is 1/2 throughout, and -1/2 at frequency 0.
    loop = Loop([1.0, -1.0], [2.0, 2.0], 0.1)
    ((edge, _),) = gain._edges(loop)
    assert edge == pytest.approx(2)
    assert loop.margins().gain_margin == pytest.approx(2)


def test_a_neutral_loop_crosses_where_its_leading_coefficients_are_equal() -> None:
    # k s + 2 k over 4 s + 5 tends to k / 4; without delay it stays positive.
    assert gain._ends(Loop([1.0, 2.0], [4.0, 5.0], 0.1)) == [4]
    assert gain._ends(Loop([-1.0, 2.0], [4.0, 5.0])) == [4]


def test_only_the_last_coefficients_count_at_frequency_0() -> None:
    # s^2 - 2 s + 3 + k is 0 at s = 0 for k = -3 alone, s^2 - 2 s + 3 - k for k = 3.
    assert gain._ends(Loop([1.0], [1.0, -2.0, 3.0])) == []
    assert gain._ends(Loop([-1.0], [1.0, -2.0, 3.0])) == [3]


def test_a_frequency_at_which_a_loop_is_0_is_no_crossing() -> None:
    """(s^2 + 1) / (s + 1)^3 is 0 at 1 rad/s, where its imaginary part turns round.

    s^3 + (3 + k) s^2 + 3 s + 1 + k is stable where 3 (3 + k) > 1 + k, at all gains, by Routh.
    """
    loop = Loop([1.0, 0.0, 1.0], [1.0, 3.0, 3.0, 1.0])
    assert gain._edges(loop) == []
    assert loop.margins().gain_margin is None
