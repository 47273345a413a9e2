"""Polynomials, crossings of poles, and what a loop says of itself: by hand."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import control
import numpy as np
import pytest
from scipy.special import gammainc

import qcnlab
from qcnlab.analysis import LagLoop, Loop, checks, polynomials, stability, steps, with_averaging
from qcnlab.analysis.responses import Response, Step, Trajectory
from qcnlab.analysis.spans import span
from qcnlab.analysis.stability import Crossing, winding_count


def listed(coefficients: Any) -> list[float]:
    return [float(each) for each in coefficients]


def test_times_as_people_read_them() -> None:
    assert (span(284.2e-6), span(0.015), span(1.5)) == ("284.2 us", "15 ms", "1.5 s")
    # A thousand of a unit is one of the next.
    assert (span(999e-6), span(1e-3), span(0.999), span(1.0)) == ("999 us", "1 ms", "999 ms", "1 s")
    assert (span(-5e-4), span(-0.5), span(0.0)) == ("-500 us", "-500 ms", "0 us")
    assert (span(19, ""), span(1e-3, "min"), span(2, "min")) == ("19", "0.001 min", "2 min")


def test_polynomials_by_hand() -> None:
    assert listed(polynomials.tidy([0, 0, 2, 0])) == [2, 0]
    assert listed(polynomials.tidy([0, 0])) == [0]
    # (s + 1) (s + 2) (s + 3).
    assert listed(polynomials.product([1, 1], [1, 2], [1, 3])) == [1, 6, 11, 6]
    # s^2 + 1, and -s^2 + s + 1 with it.
    assert listed(polynomials.total([1, 0, 1], [-1, 1, 1])) == [1, 2]
    # (2 s)^2 + 3 (2 s) + 5.
    assert listed(polynomials.stretched(np.array([1.0, 3.0, 5.0]), 2.0)) == [4, 6, 5]


def test_the_squared_size_on_the_imaginary_axis() -> None:
    # P = s^3 + 2 s^2 + 3 s + 4 is (4 - 2 x) + jw (3 - x) with x = w^2, so that
    # |P|^2 = (4 - 2 x)^2 + x (3 - x)^2 = x^3 - 2 x^2 - 7 x + 16.
    assert listed(polynomials.squared_size(np.array([1.0, 2.0, 3.0, 4.0]))) == [1, -2, -7, 16]
    # s^4 is w^4, and so is its square w^8 = x^4; of a number it is the square.
    assert listed(polynomials.squared_size(np.array([1.0, 0.0, 0.0, 0.0, 0.0]))) == [1, 0, 0, 0, 0]
    assert listed(polynomials.squared_size(np.array([5.0]))) == [25]


def test_the_natural_frequency_is_the_mean_of_the_roots() -> None:
    # 2 s^2 + 8 has roots +-2j; s (s + 6) leaves 6; s^2 and a number leave none.
    assert polynomials.natural_frequency(np.array([2.0, 0.0, 8.0])) == 2
    assert polynomials.natural_frequency(np.array([1.0, 6.0, 0.0])) == 6
    assert polynomials.natural_frequency(np.array([1.0, 0.0, 0.0])) == 1
    assert polynomials.natural_frequency(np.array([3.0])) == 1


def test_positive_roots_are_real_above_zero_and_rising() -> None:
    # (x - 4) (x - 1) (x + 2) = x^3 - 3 x^2 - 6 x + 8; x (x - 1); x^2 + 1; x^2 - 2 x + 2: 1 +- j.
    assert listed(polynomials.positive_roots(np.array([1.0, -3, -6, 8]))) == pytest.approx([1, 4])
    assert listed(polynomials.positive_roots(np.array([1.0, -1.0, 0.0]))) == pytest.approx([1])
    assert listed(polynomials.positive_roots(np.array([1.0, -3.0]))) == [3]
    for none in ([1.0, 0.0, 1.0], [1.0, -2.0, 2.0], [5.0]):
        assert polynomials.positive_roots(np.array(none)).size == 0


def test_poles_cross_again_every_period() -> None:
    # Of 2 pi rad/s the period is 1 s: at 0.25, 1.25, 2.25 s.
    crossing = Crossing(2 * math.pi, 0.25, 1)
    ends = [0.2, 0.25, 0.26, 1.24, 1.25, 1.26, 2.26]
    assert [crossing.times_before(end) for end in ends] == [0, 0, 1, 1, 1, 2, 3]


def test_neutral_loops() -> None:
    def neutral(num: list[float], den: list[float]) -> bool:
        return stability.is_neutral_and_unstable(np.array(num), np.array(den))

    # |L| at high frequency: infinite, 1, 1.5, 1.5, 0.9, 0, 0.
    grows, one, more, turned = ([1.0, 0.0], [1.0]), [1.0, 2.0], [1.5, 0.0], [-1.5, 0.0]
    assert neutral(*grows)
    assert all(neutral(num, [1.0, 3.0]) for num in (one, more, turned))
    assert not any(neutral(num, [1.0, 3.0]) for num in ([0.9, 4.0], [-0.9, 0.0], [1.0], [5.0]))


def test_gain_crossovers_by_hand() -> None:
    # 2 / s at 2; 12 / (3 s (s + 1)): w^2 (w^2 + 1) = 16, so that w^2 = (sqrt 65 - 1) / 2.
    assert listed(stability.gain_crossovers(np.array([2.0]), np.array([1.0, 0.0]))) == [2]
    crossed = stability.gain_crossovers(np.array([12.0]), np.array([3.0, 3.0, 0.0]))
    assert listed(crossed) == pytest.approx([math.sqrt((math.sqrt(65) - 1) / 2)])
    # 3 / (s^2 + 5): |5 - w^2| = 3 at sqrt 2 and sqrt 8.
    crossed = stability.gain_crossovers(np.array([3.0]), np.array([1.0, 0.0, 5.0]))
    assert listed(crossed) == pytest.approx([math.sqrt(2), math.sqrt(8)])
    assert stability.gain_crossovers(np.array([0.5]), np.array([1.0, 1.0])).size == 0


def test_an_oscillator_leaves_the_axis_with_any_delay_and_comes_back() -> None:
    """1 / (s^2 + 3): |3 - x| = 1 at x = w^2 = 4, where L = -1, and at 2, where L = 1.

    |D|^2 - |N|^2 = (x - 3)^2 - 1 rises at 4 and falls at 2. Poles leave at 2 rad/s at once and
    every pi s, and come back at sqrt 2 rad/s after half a turn, pi / sqrt 2 = 2.22 s, and every
    4.44 s.
    """
    num, den = np.array([1.0]), np.array([1.0, 0.0, 3.0])
    back, out = stability.crossings(num, den)
    assert (back.frequency, back.delay_s, back.direction) == pytest.approx(
        (math.sqrt(2), math.pi / math.sqrt(2), -1)
    )
    assert (out.frequency, out.delay_s, out.direction) == pytest.approx((2, 0, 1))
    # On the axis; out; back; out again at 3.14; a second pair at 6.28; one back at 6.66.
    delays = [0.0, 0.1, 2.2, 2.3, 3.1, 3.2, 6.2, 6.3, 6.6, 6.7]
    poles = [stability.unstable_poles(num, den, delay) for delay in delays]
    assert poles == [2, 2, 2, 0, 0, 2, 2, 4, 4, 2]
    assert stability.critical_delay(num, den) == 0


def test_positive_feedback_steadies_an_oscillator_with_a_little_delay() -> None:
    """-1 / (s^2 + 3): L = -1 at sqrt 2, where poles come back at once; L = 1 at 2 rad/s.

    They leave there after pi / 2, and every pi s; those at sqrt 2 come back every 4.44 s.
    """
    num, den = np.array([-1.0]), np.array([1.0, 0.0, 3.0])
    delays = [0.0, 1e-3, 1.5, 1.6, 4.4, 4.5, 4.7, 4.8]
    poles = [stability.unstable_poles(num, den, delay) for delay in delays]
    assert poles == [2, 0, 0, 2, 2, 0, 0, 2]
    assert stability.critical_delay(num, den) == 0


@pytest.mark.parametrize("scale", [1.0, 1e6])
def test_a_pole_on_the_axis_crosses_at_once_whatever_the_rounding(scale: float) -> None:
    """(k - b s) / (s^2 + b s + a) closed is s^2 + a + k: on the axis at w = sqrt(a + k).

    L is -1 there but for rounding, which may put the crossing a whole turn later.
    """
    for a, k, b in product((1.3, 2.7, 5.1), (0.2, 0.7, 1.1), (0.0, 0.1, 0.3, 0.9)):
        num = polynomials.tidy([-b * scale, k * scale**2])
        den = np.array([1.0, b * scale, a * scale**2])
        last = stability.crossings(num, den)[-1]
        assert last.frequency == pytest.approx(scale * math.sqrt(a + k))
        assert last.delay_s * last.frequency == pytest.approx(0, abs=1e-8)
        assert last.direction == 1
        assert [stability.unstable_poles(num, den, d / scale) for d in (0.0, 1e-3)] == [2, 2]


@pytest.mark.parametrize("scale", [1.0, 1e6, 1e-6])
def test_a_pole_is_on_the_axis_within_a_billionth_of_the_natural_frequency(scale: float) -> None:
    """s^2 + 2 d s + scale^2 has its poles at -d +- j scale: the scale is their frequency."""
    nothing = np.array([0.0])
    for share, on_axis in ((1e-10, 2), (1e-8, 0)):
        den = np.array([1.0, 2 * share * scale, scale**2])
        assert stability.unstable_poles(nothing, den, 0.0) == on_axis
    near = np.array([1.0, 2e-10 * scale, scale**2])
    assert stability.critical_delay(nothing, near) == 0


def test_the_critical_delay_is_the_first_outward_crossing() -> None:
    # 2 / s: at 2 rad/s after a quarter turn, pi / 4 s. 1 / (s - 1) + 1 = s / (s - 1): on the axis.
    assert stability.critical_delay(np.array([2.0]), np.array([1.0, 0.0])) == pytest.approx(
        math.pi / 4
    )
    assert stability.critical_delay(np.array([1.0]), np.array([1.0, -1.0])) == 0
    assert stability.critical_delay(np.array([0.5]), np.array([1.0, 1.0])) is None
    # 3 / (s^2 + s + 5): |.|^2 = (5 - x)^2 + x = 9 at x = 4.5 -+ sqrt(17) / 2, back at the first.
    num, den = np.array([3.0]), np.array([1.0, 1.0, 5.0])
    x = 4.5 + math.sqrt(17) / 2
    w = math.sqrt(x)
    behind = math.pi - math.atan2(w, 5 - x)
    assert stability.critical_delay(num, den) == pytest.approx(behind / w)


@pytest.mark.parametrize("scale", [1.0, 1e6, 1e-6])
def test_poles_of_a_loop_do_not_depend_on_the_unit_of_time(scale: float) -> None:
    # 2 e^{-s d} / s crosses at 2 rad/s after pi / 4 = 0.785 s, and again pi = 3.14 s later.
    num, den = np.array([2 * scale]), np.array([1.0, 0.0])
    delays = (0.0, 0.7, 0.8, 3.9, 4.0)
    poles = [stability.unstable_poles(num, den, delay / scale) for delay in delays]
    assert poles == [0, 0, 2, 2, 4]


def test_winding_counts_the_poles_of_several_delays() -> None:
    # 2 e^{-s d} / s turns unstable at pi / 4 = 0.785 s; by two halves of it as one loop.
    for delay, poles in ((0.7, 0), (0.85, 2), (3.8, 2), (4.0, 4)):
        loop = Loop.of_terms([([1.0], delay), ([1.0], delay)], [1.0, 0.0])
        assert loop.unstable_poles() == poles
        assert loop.stable() == (poles == 0)


def test_a_winding_count_is_of_the_whole_grid() -> None:
    """(jw + 1)^3 turns by 0, 3/4 pi and 3/2 pi at 0, 1 and 1e6 rad/s; (jw - 1)^3 by as much back.

    Three times a quarter turn, less what is turned, in half turns: 0, and 3.
    """
    grid = np.array([0.0, 1.0, 1e6])

    def thrice(root: float) -> Any:
        return lambda frequency: (1j * frequency - root) ** 3

    assert [winding_count(thrice(root), 3, grid) for root in (-1.0, 1.0)] == [0, 3]


def test_margins_of_two_equal_delays_are_those_of_one() -> None:
    """2 e^{-s/2} / s crosses 1 at 2 rad/s, with 90 degrees less 1 rad: (pi/2 - 1) / 2 s are left.

    Its phase is -180 degrees at pi rad/s, where |L| = 2 / pi.
    """
    both = Loop.of_terms([([1.0], 0.5), ([1.0], 0.5)], [1.0, 0.0]).margins()
    one = Loop([2.0], [1.0, 0.0], 0.5).margins()
    for margins in (both, one):
        assert (margins.stable, margins.unstable_poles) == (True, 0)
        assert margins.gain_crossover_rad_per_s == pytest.approx(2)
        assert margins.phase_margin_deg == pytest.approx(90 - math.degrees(1))
        assert margins.delay_margin_s == pytest.approx((math.pi / 2 - 1) / 2)
        assert margins.gain_margin == pytest.approx(math.pi / 2)
        assert margins.phase_crossover_rad_per_s == pytest.approx(math.pi)
    assert both.critical_delay_s is None
    assert one.critical_delay_s == pytest.approx(math.pi / 4)
    assert (both.verdict, one.verdict) == (
        "stable",
        "stable at delay 500 ms; critical delay 785.4 ms",
    )


def test_of_several_crossovers_the_smallest_margin_counts() -> None:
    # 3 / (s^2 + s / 10 + 5): crossovers near sqrt 2, before the resonance, and near sqrt 8, behind.
    margins = Loop([3.0], [1.0, 0.1, 5.0]).margins()
    # x^2 - 9.99 x + 16 = 0: x = 4.995 +- sqrt(4.995^2 - 16).
    x = 4.995 + math.sqrt(4.995**2 - 16)
    assert margins.gain_crossover_rad_per_s == pytest.approx(math.sqrt(x))
    phase = math.degrees(math.atan2(0.1 * math.sqrt(x), x - 5))
    assert margins.phase_margin_deg == pytest.approx(phase)


def test_the_verdict_of_a_loop_in_words() -> None:
    def verdict(*arguments: Any, **more: Any) -> str:
        return Loop(*arguments, **more).margins().verdict

    assert verdict([0.5], [1, 1], 1.0) == "stable; stable with any delay"
    assert verdict([1], [1, 0], 2.0) == (
        "unstable, 2 poles in the right half plane at delay 2 s; critical delay 1.571 s"
    )
    assert verdict([1], [1, 0], 1.0, time_unit="") == "stable at delay 1; critical delay 1.571"
    assert verdict([1], [1, -2]) == (
        "unstable, 1 poles in the right half plane; unstable without delay too"
    )
    # Stable without delay, and with none: |L| stays at 2.
    assert verdict([2, 1], [1, 1]) == "stable"
    neutral = "unstable with any delay above 0: |L| {} at high frequency (neutral loop)"
    assert verdict([2, 1], [1, 1], 0.1) == neutral.format("stays at 2")
    assert verdict([2, 1, 0], [1, 1], 0.1) == neutral.format("grows")


def test_a_neutral_loop_of_several_delays_is_not_decided() -> None:
    with pytest.raises(qcnlab.AnalysisError, match="a neutral loop of several delays"):
        Loop.of_terms([([0.1, 1], 1.0), ([1], 2.0)], [1, 1]).unstable_poles()
    assert not Loop.of_terms([([1], 1.0), ([1], 2.0)], [1, 1]).neutral


def test_what_a_loop_says_of_itself() -> None:
    loop = Loop([2], [1, 1, 0], 0.3, title="plant")
    assert repr(loop) == "<Loop plant: order 2, delay 0.3>"
    several = Loop.of_terms([([1], 0.4), ([1], 0.1)], [1, 0])
    assert repr(several) == "<Loop loop: order 1, delay 0.4, 0.1>"
    assert (several.delay_s, loop.with_delay(0.7).delay_s) == (0.1, 0.7)
    # 2 e^{-0.3 s} / (s (s + 1)) at s = 1: e^{-0.3}; three times that.
    assert complex(loop(1.0)) == pytest.approx(math.exp(-0.3))
    assert complex(loop.scaled(3)(1.0)) == pytest.approx(3 * math.exp(-0.3))
    bare = Loop([2], [1, 1], time_unit="")
    for response in (bare.bode(), bare.nyquist()):
        assert response.units["frequency_rad_per_s"] == "rad/time"
    assert loop.nyquist().units == {"frequency_rad_per_s": "rad/s"}


def test_the_phase_of_several_delays_is_unwrapped() -> None:
    # e^{-s} / s as two halves: -90 degrees less 1 rad for each rad/s, over several turns.
    frequency = np.linspace(0.1, 20, 2000)
    bode = Loop.of_terms([([0.5], 1.0), ([0.5], 1.0)], [1, 0]).bode(frequency)
    assert bode["phase_deg"] == pytest.approx(-90 - np.degrees(frequency))
    assert bode["gain"] == pytest.approx(1 / frequency)


def test_the_grid_reaches_four_decades_beyond_the_roots() -> None:
    # A root at 1 rad/s and no crossover: 8 decades of 400.
    grid = Loop([0.5], [1, 1]).grid()
    assert (grid[0], grid[-1], len(grid)) == (pytest.approx(1e-4), pytest.approx(1e4), 3200)
    # Over a delay of 1 s, 80 frequencies a turn more, up to 50 turns.
    fine = Loop([0.5], [1, 1], 1.0).grid()
    assert len(fine) == 3200 + 3999
    assert np.diff(fine[(fine > 100) & (fine < 314)]).max() <= math.pi / 40 * (1 + 1e-9)
    # Of several delays the longest: from pi / 80 on.
    several = Loop.of_terms([([0.5], 1.0), ([0.1], 2.0)], [1, 1]).grid()
    assert np.abs(several - math.pi / 80).min() < 1e-15
    # Roots of the numerator and the crossover count, too: 2 / s has 2 rad/s alone.
    assert Loop([2], [1, 0]).grid()[0] == pytest.approx(1e-4)
    assert Loop([2], [1, 0]).grid()[-1] == pytest.approx(2e4)
    assert Loop([0.01, 1.0], [1, 200]).grid()[[0, -1]] == pytest.approx([1e-2, 2e6])


def test_a_pade_approximation_of_order_four_unless_another_is_asked_for() -> None:
    loop = Loop([1], [1, 1], 0.3)
    assert len(loop.to_control().den[0][0]) == 1 + 1 + 4
    assert len(loop.to_control(pade=2).den[0][0]) == 1 + 1 + 2
    bare: Any = Loop([1], [1, 1]).to_control()
    assert isinstance(bare, control.TransferFunction)
    assert len(bare.den[0][0]) == 1 + 1


def test_gains_at_both_ends_of_the_axis_of_several_delays() -> None:
    # -(e^{-s} + e^{-2 s}) / (s + 4): 4 - 2 k is 0 at k = 2, the only gain below 4.
    loop = Loop.of_terms([([-1], 1.0), ([-1], 2.0)], [1, 4])
    margins = loop.margins()
    assert margins.gain_margin == pytest.approx(2)
    assert margins.phase_crossover_rad_per_s is None


# Step responses.


def test_the_step_of_a_loop_that_passes_at_once() -> None:
    """L = (2 s + 1) / (s + 1): L / (1 + L) = (2 s + 1) / (3 s + 2) = 1/2 + (1/6) e^{-2 t / 3}."""
    step = Loop([2, 1], [1, 1]).step(6)
    assert step["output"] == pytest.approx(0.5 + np.exp(-2 * step["time_s"] / 3) / 6, abs=1e-12)
    assert step.final == pytest.approx(0.5)
    # From 2/3 down to 1/2: a third too high.
    assert step.overshoot == pytest.approx(1 / 3)


def test_the_step_of_a_proportional_loop_is_at_its_end_at_once() -> None:
    step = Loop([3], [1]).step(1)
    assert step["output"] == pytest.approx(0.75)


def test_the_step_of_a_loop_of_second_order() -> None:
    # 2 / (s (s + 3)) closed is 2 / ((s + 1) (s + 2)): 1 - 2 e^-t + e^-2t.
    step = Loop([2], [1, 3, 0]).step(5)
    fall = np.exp(-step["time_s"])
    assert step["output"] == pytest.approx(1 - 2 * fall + fall**2, abs=1e-12)


def test_the_step_of_a_loop_of_second_order_with_delay() -> None:
    """L / (1 + L) = L - L^2 + L^3 - L^4 ..., where L^k = e^{-k s} / (s + 1)^(2 k).

    The step of 1 / (s + 1)^n is the regularised lower incomplete gamma function P(n, t).
    """
    step = Loop([1], [1, 2, 1], 1).step(4.5)
    late = [np.maximum(step["time_s"] - k, 0) for k in range(1, 5)]
    by_hand = sum((-1) ** k * gammainc(2 * k + 2, each) for k, each in enumerate(late))
    assert step["output"] == pytest.approx(by_hand, abs=1e-8)


def test_the_step_of_a_loop_with_lead_and_delay() -> None:
    """L = (1 + 1 / (s + 1)) e^{-s} / 2, and L / (1 + L) = L - L^2 + L^3 up to 4 s.

    With f = e^-t the steps of the powers of (1 + 1 / (s + 1)) / 2 are 1 - f / 2,
    1 - (3 + t) f / 4 and 1 - (7 + 4 t + t^2 / 2) f / 8.
    """
    step = Loop([1, 2], [2, 2], 1).step(3.995)
    first, second, third = (step["time_s"] - delay for delay in (1, 2, 3))
    by_hand = np.where(first > 0, 1 - np.exp(-first) / 2, 0)
    by_hand -= np.where(second > 0, 1 - (3 + second) * np.exp(-second) / 4, 0)
    more = 7 + 4 * third + third**2 / 2
    by_hand += np.where(third > 0, 1 - more * np.exp(-third) / 8, 0)
    # The output jumps at whole seconds.
    inside = np.abs(step["time_s"] - np.round(step["time_s"])) > 1e-3
    assert step["output"][inside] == pytest.approx(by_hand[inside], abs=1e-8)


def test_two_million_steps_are_not_too_many() -> None:
    assert steps._count(2.0, 1e-6) == 2_000_000
    with pytest.raises(qcnlab.AnalysisError, match=r"2,000,001 steps of 1e-06 s .* are too many"):
        steps._count(2.000_001, 1e-6)


def test_ends_and_steps_of_step_responses() -> None:
    def times(*arguments: Any, **more: Any) -> tuple[float, float, int]:
        time = Loop(*arguments).step(**more)["time_s"]
        return float(time[1]), float(time[-1]), len(time)

    # 1 / s crosses 1 at 1 rad/s: twenty times 1 s, in 2000 steps; with a delay of 0.5 s twenty
    # times 1.5 s, in hundredths of the delay.
    assert times([1], [1, 0]) == pytest.approx((0.01, 20, 2001))
    assert times([1], [1, 0], 0.5) == pytest.approx((0.005, 30, 6001))
    # Without a crossover the pole counts, at 1 / 2 rad/s.
    assert times([0.5], [2, 1]) == pytest.approx((0.02, 40, 2001))
    # A twentieth of the shortest lag, 1 ms, of denominator or numerator.
    assert times([1], [0.001, 1, 0], end_s=0.2) == pytest.approx((5e-5, 0.2, 4001))
    assert times([1], [0.001, 1, 0], 1.0, end_s=0.1) == pytest.approx((5e-5, 0.1, 2001))
    assert times([0.001, 1], [1, 1, 0], end_s=0.2) == pytest.approx((5e-5, 0.2, 4001))
    # What is asked for, as long as it divides the delay: 0.5 / 0.003 is 167 steps.
    assert times([1], [1, 0], end_s=1, every_s=0.001) == pytest.approx((0.001, 1, 1001))
    assert times([1], [1, 0], 0.5, end_s=1, every_s=0.003) == pytest.approx((0.5 / 167, 1, 335))
    assert times([1], [1, 0], 0.5, end_s=1, every_s=1.0) == pytest.approx((0.005, 1, 201))
    unit = Loop([1], [1, 0], 0.5, time_unit="ms").step(1)
    assert (unit.units, len(unit.columns)) == ({"time_s": "ms"}, 2)
    assert Loop([1], [1, 0], 0.5, time_unit="").step(1).units == {}


@pytest.mark.parametrize(
    ("loop", "end", "words"),
    [
        (Loop([1], [1, 0]), 0.0, "ends at 0 s; it must be above 0"),
        (Loop([1], [1, 0]), math.inf, "ends at inf s; it must be above 0"),
        (Loop([1, 0, 0], [1, 1]), 1.0, "L grows with frequency"),
        (Loop([-1, 1], [1, 1]), 1.0, r"1 \+ L is 0 at high frequency"),
        (Loop([-1, 2], [1, 3]), 1.0, r"1 \+ L is 0 at high frequency"),
        (Loop([2, 1], [1, 1], 0.1), 1.0, "no step response is computed"),
    ],
)
def test_step_responses_that_there_are_none_of(loop: Loop, end: float, words: str) -> None:
    with pytest.raises(qcnlab.AnalysisError, match=words):
        loop.step(end)


def test_a_step_that_stays_below_its_end_has_no_overshoot() -> None:
    rising = Step("s", {"time_s": np.arange(3.0), "output": np.array([0, 0.3, 0.5])}, {}, 0.5)
    assert rising.overshoot == 0
    beyond = Step("s", {"time_s": np.arange(3.0), "output": np.array([0, 0.6, 0.5])}, {}, 0.5)
    assert beyond.overshoot == pytest.approx(0.2)


def test_rows_of_a_trajectory_from_a_time_on() -> None:
    columns = {"time_s": np.array([0.0, 1.0, 2.0]), "queue_bytes": np.array([5.0, 6.0, 7.0])}
    whole = Trajectory("t", columns, {"time_s": "s"}, "qcn", 3.0)
    later = whole.after(1.0)
    assert listed(later["queue_bytes"]) == [6, 7]
    assert (later.title, later.units, later.model, later.unbounded_s) == (
        "t", {"time_s": "s"}, "qcn", 3.0,
    )  # fmt: skip
    assert len(whole) == 3


def test_responses_draw_a_panel_for_each_column() -> None:
    names = ("time_s", "a", "b", "c", "queue_bytes", "rate_bps")
    columns = {name: np.arange(3.0) for name in names}
    assert len(Response("r", columns, {}).plot().axes) == 5
    # Of a trajectory queue and rate alone, or all where it has neither.
    assert len(Trajectory("t", columns, {}, "m").plot().axes) == 2
    other = {name: columns[name] for name in ("time_s", "a", "b")}
    assert len(Trajectory("t", other, {}, "m").plot().axes) == 2


# Small models.


def test_averaging_halves_a_loop_and_gives_it_a_lead() -> None:
    # 2 / (s (s + 1)) (1 + s / 4) / 2 with T = 0.5 is (s / 4 + 1) / (s (s + 1)).
    loop = with_averaging(Loop([2], [1, 1, 0], 0.1, title="plant", time_unit="ms"), 0.5)
    assert listed(loop.num) == [0.25, 1]
    assert (listed(loop.den), loop.delay_s, loop.time_unit) == ([1, 1, 0], 0.1, "ms")
    assert loop.title == "plant, averaged every 0.5 s"
    with pytest.raises(qcnlab.AnalysisError, match="the cycle is -1 s"):
        with_averaging(loop, -1)


def test_names_of_lag_loops() -> None:
    assert LagLoop(1.5, 2, 0.5).label() == "K 1.5, T 2, delay 0.5"
    assert LagLoop(1.5, 2, 0.5, w=0.1, form="lead").label() == "K 1.5, T 2, delay 0.5, w 0.1"
    # K (w T s + 1) / (T s + 1), and over s.
    assert listed(LagLoop(1.5, 2, 0.5, w=0.1, form="lead").loop().num) == pytest.approx([0.3, 1.5])
    assert listed(LagLoop(1.5, 2, 0.5).loop().den) == [2, 1]
    assert listed(LagLoop(1.5, 2, 0.5, form="integrator").loop().den) == [2, 1, 0]
    sampled = LagLoop.sampled(1.5, 1.0, 1e3, 0.0, w=0.1, form="lead", time_unit="")
    assert (sampled.lag, sampled.w, sampled.form, sampled.time_unit) == (1e-3, 0.1, "lead", "")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: LagLoop(0, 1, 1), "gain 0 and lag 1 must be above 0"),
        (lambda: LagLoop(math.inf, 1, 1), "gain inf and lag 1 must be above 0"),
        (lambda: LagLoop(1.5, 1, 0, w=-1, form="lead"), "w is -1; it must be 0 or more"),
        (lambda: LagLoop(1.5, 1, 0, w=math.inf, form="lead"), "w is inf"),
        (lambda: LagLoop.sampled(1, 0, 1e6, 0), "is no sampling"),
        (lambda: LagLoop.sampled(1, 0.1, 0, 0), "is no sampling"),
        (lambda: Loop([1], [1, 1], math.inf), "delay is inf; it must be 0 or more"),
        (lambda: Loop([1], [0, 0]), "the loop is 0 or has no denominator"),
        (lambda: Loop([1], [1, math.nan]), "a coefficient is not a number"),
        (lambda: checks.above_zero("M", a=1, b=0), "M: b is 0; it must be above 0"),
        (lambda: checks.above_zero("M", a=math.inf), "M: a is inf; it must be above 0"),
        (lambda: checks.not_negative("M", a=0, b=-1), "M: b is -1; it must be 0 or more"),
        (lambda: checks.not_negative("M", a=math.inf), "M: a is inf; it must be 0 or more"),
        (lambda: checks.probability("M", a=0), "M: a is 0; it must be between 0 and 1"),
        (lambda: checks.probability("M", a=1), "M: a is 1; it must be between 0 and 1"),
    ],
)
def test_values_out_of_their_range_are_refused(make: Any, words: str) -> None:
    with pytest.raises(qcnlab.AnalysisError, match=words):
        make()
    checks.probability("M", a=0.5)
