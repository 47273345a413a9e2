"""Loops with delay: against closed forms, python-control, and tables of deck 004's model."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import control
import numpy as np
import pytest
from scipy.special import gammainc

import qcnlab
from qcnlab.analysis import Ecm, LagLoop, Loop, Qcn, delay_family, sampling_family, ultimate_gain
from qcnlab.analysis.polynomials import Array
from qcnlab.analysis.stability import winding_count

GAINS = {1.05: 8.845, 1.25: 3.331, 1.5: 2.058, 2: 1.209, 3: 0.676, 5: 0.362, 10: 0.168}
RATIOS = {0.1: 16.35, 0.5: 3.807, 1: 2.262, 2: 1.520, 5: 1.132, 9.5: 1.0440, 19: 1.0123}


def lag(gain: float, lag: float, delay: float) -> LagLoop:
    return LagLoop(gain, lag, delay)


def closed_form(time: Array, loop: LagLoop, terms: int = 60) -> Array:
    """Return the step of K e^{-s tau} / (1 + s T) as a series of delayed gamma functions.

    L / (1 + L) = L - L^2 + L^3 - ..., and the step of L^k is K^k P(k, (t - k tau) / T) with the
    regularised lower incomplete gamma function P.
    """
    output = np.zeros_like(time)
    for k in range(1, terms):
        late = np.maximum(time - k * loop.delay, 0)
        output -= (-loop.gain) ** k * gammainc(k, late / loop.lag)
    return output


@pytest.mark.parametrize(("gain", "ratio"), GAINS.items())
def test_critical_ratio_of_the_lag_loop(gain: float, ratio: float) -> None:
    exact = (math.pi - math.acos(1 / gain)) / math.sqrt(gain**2 - 1)
    critical_ratio = lag(gain, 120e-6, 10e-6).critical_ratio()
    assert critical_ratio == pytest.approx(exact, rel=1e-10)
    assert critical_ratio == pytest.approx(ratio, abs=6e-4)


def test_delay_equals_lag_at_a_gain_of_2_26183() -> None:
    assert lag(2.26183, 1, 1).critical_ratio() == pytest.approx(1, abs=1e-4)
    assert ultimate_gain(1) == pytest.approx(2.26183, abs=1e-5)


@pytest.mark.parametrize(("ratio", "gain"), RATIOS.items())
def test_ultimate_gain(ratio: float, gain: float) -> None:
    assert ultimate_gain(ratio) == pytest.approx(gain, abs=6e-4 * gain)
    assert lag(ultimate_gain(ratio), 1, 0).critical_ratio() == pytest.approx(ratio, rel=1e-9)


def test_a_gain_up_to_1_is_stable_with_any_delay() -> None:
    margins = lag(1, 1, 1000).margins()
    assert margins.stable
    assert margins.critical_delay_s is None
    assert margins.delay_margin_s is None
    assert "any delay" in margins.verdict


# Overshoot in percent of the final value; the reference values came from an integration that rounds
# up by as much as 0.45 points, so the closed form is the sharper test.
SHARE = [
    (0.9, 2, 19, 90.0), (0.9, 10, 19, 64.0), (0.9, 19, 19, 32.7), (0.9, 40, 19, 5.0),
    (0.9, 100, 19, 0.0), (1.5, 10, 19, 114.7), (1.5, 19, 19, 68.6), (1.5, 40, 19, 22.8),
    (1.5, 100, 19, 0.0), (2, 19, 19, 99.4), (2, 40, 19, 39.8), (2, 100, 19, 0.7),
    (1.5, 2, 0.5, 1.2), (1.5, 2, 1, 25.7), (1.5, 2, 2, 68.8), (1.5, 2, 4, 117.9),
]  # fmt: skip


@pytest.mark.parametrize(("gain", "lag_", "delay", "percent"), SHARE)
def test_overshoot(gain: float, lag_: float, delay: float, percent: float) -> None:
    loop = lag(gain, lag_, delay)
    step = loop.step(6 * (delay + lag_))
    assert step.final == pytest.approx(gain / (1 + gain), rel=1e-12)
    assert 100 * step.overshoot == pytest.approx(percent, abs=0.5)
    exact = closed_form(step["time_s"], loop)
    assert np.abs(step["output"] - exact).max() < 2e-7
    assert len(step) > 500


@pytest.mark.parametrize(
    ("gain", "lag_", "delay"), [(1.5, 2, 19), (2, 2, 19), (2, 10, 19), (1.5, 2, 8)]
)
def test_unstable_loops_have_no_final_value(gain: float, lag_: float, delay: float) -> None:
    step = lag(gain, lag_, delay).step()
    with pytest.raises(qcnlab.AnalysisError, match="unstable, its step has no final value"):
        _ = step.overshoot


def test_a_small_lead_helps_and_a_large_one_hurts() -> None:
    ratios = [LagLoop(1.5, 1, 0, w=w, form="lead").critical_ratio() for w in (0, 0.1, 0.25, 0.4)]
    assert ratios == pytest.approx([2.058, 2.129, 2.119, 1.933], abs=6e-4)


@pytest.mark.parametrize("w", [1 / 1.5, 1, 10])
def test_a_neutral_loop_of_gain_1_or_more_is_unstable_with_any_delay(w: float) -> None:
    loop = LagLoop(1.5, 1, 1e-9, w=w, form="lead")
    margins = loop.margins()
    assert not margins.stable
    assert margins.critical_delay_s == 0
    assert margins.unstable_poles is None
    assert "unstable with any delay" in margins.verdict
    with pytest.raises(qcnlab.AnalysisError, match="neutral loop"):
        loop.step()


INTEGRATOR = {
    0.1: (14.79, 15.71, 16.45, 14.42, 0.62),
    0.5: (2.51, 3.14, 2.70, 0.46, 0.10),
    1.0: (1.15, 1.571, 0.993, 0.212, 0.050),
}


@pytest.mark.parametrize(("gain", "row"), INTEGRATOR.items())
def test_the_best_lead_moves_with_the_gain(gain: float, row: tuple[float, ...]) -> None:
    loops = [LagLoop(gain, 1, 0, w=w, form="integrator") for w in (0, 1, 2, 8, 32)]
    ratios = [loop.critical_ratio() for loop in loops]
    assert ratios == pytest.approx(row, rel=0.01, abs=0.005)
    # w = 1 cancels the lag and leaves K e^{-s tau} / s.
    assert ratios[1] == pytest.approx(math.pi / 2 / gain, rel=1e-9)


def test_sampling_at_10_gbps() -> None:
    for probability, lag_s in ((0.01, 120e-6), (0.1, 12e-6)):
        loop = LagLoop.sampled(1.5, probability, 10e9 / 12000, 40e-6)
        assert loop.lag == pytest.approx(lag_s, rel=1e-12)
    # A frame in two seconds, each sampled.
    assert LagLoop.sampled(1.5, 1.0, 0.5, 0.0).lag == 2


def test_the_slides_families() -> None:
    assert [each.lag for each in sampling_family(1.5)] == [2, 10, 19, 40, 100]
    assert {each.delay for each in sampling_family(1.5)} == {19}
    assert {each.lag for each in delay_family(1.5)} == {2}
    assert [each.delay for each in delay_family(1.5)] == [0.5, 1, 2, 4, 8]
    stable = [each.loop().stable() for each in delay_family(1.5)]
    assert stable == [True, True, True, True, False]
    (alone,) = delay_family(1.5, (3.0,))
    assert (alone.lag, alone.delay) == (2, 3)


def test_step_of_a_loop_with_lead_by_hand() -> None:
    # K (1 + s w T) e^{-s} / (1 + s T) with K = 1/2, T = 1, w = 1 is e^{-s} / 2: y jumps by halves.
    step = LagLoop(0.5, 1, 1, w=1, form="lead").step(5)
    at = step["time_s"]
    for index, value in enumerate([0, 0.5, 0.25, 0.375, 0.3125]):
        inside = (at > index + 0.01) & (at < index + 0.99)
        assert step["output"][inside] == pytest.approx(value, abs=1e-12)


def test_step_of_an_integrator_by_hand() -> None:
    # y' = 1 - y(t-1) after t = 1: t - 1, then (t - 1) - (t - 2)^2 / 2, ...
    step = Loop([1], [1, 0], 1).step(3)
    time, output = step["time_s"], step["output"]
    by_hand = np.maximum(time - 1, 0) - np.maximum(time - 2, 0) ** 2 / 2
    assert output == pytest.approx(by_hand, abs=1e-12)


def test_step_without_delay_is_that_of_python_control() -> None:
    loop = Loop([3, 2], [1, 2, 5, 0])
    step = loop.step(20)
    theirs: Any = control.step_response(control.feedback(loop.to_control(), 1), step["time_s"])
    assert step["output"] == pytest.approx(theirs.outputs, abs=1e-9)


def test_margins_without_delay_are_those_of_python_control() -> None:
    loop = Loop([20], [1, 6, 11, 6])
    gain, phase, _, phase_at, gain_at, _ = control.stability_margins(loop.to_control())
    margins = loop.margins()
    assert margins.gain_margin == pytest.approx(gain, rel=1e-6)
    assert margins.phase_margin_deg == pytest.approx(phase, rel=1e-6)
    assert margins.phase_crossover_rad_per_s == pytest.approx(phase_at, rel=1e-6)
    assert margins.gain_crossover_rad_per_s == pytest.approx(gain_at, rel=1e-6)


def test_phase_margin_with_delay_is_near_a_pade_approximation() -> None:
    loop = Loop([2], [1, 1, 0], 0.3)
    _, phase, *_ = control.stability_margins(loop.to_control(pade=6))
    assert loop.margins().phase_margin_deg == pytest.approx(phase, abs=1e-3)


def test_gain_at_the_gain_margin_is_the_edge() -> None:
    loop = Loop([2], [1, 1, 0], 0.3)
    margin = loop.margins().gain_margin
    assert margin is not None
    assert Loop(loop.num * margin * 0.999, loop.den, 0.3).stable()
    assert not Loop(loop.num * margin * 1.001, loop.den, 0.3).stable()


SCANNED = np.geomspace(1e-6, 1e3, 400)


def test_no_gain_steadies_ecm_beyond_its_lead() -> None:
    for region in ("increase", "decrease"):
        loop = Ecm(sources=2, delay_s=200e-6).loop(region)
        assert loop.margins().gain_margin is None
        assert not any(loop.scaled(gain).stable() for gain in SCANNED)


@pytest.mark.parametrize(("first_cycle", "factor"), [("restarted", 0.0120), ("kept", 0.4848)])
def test_the_gain_of_an_unstable_loop_must_fall(first_cycle: Any, factor: float) -> None:
    loop = Qcn(sources=10, delay_s=500e-6, first_cycle=first_cycle).loop()
    margins = loop.margins()
    assert not margins.stable
    assert margins.gain_margin == pytest.approx(factor, rel=0.01)
    for gain in SCANNED:
        assert loop.scaled(gain).stable() == (gain < margins.gain_margin)


def test_the_gain_of_a_conditionally_stable_loop() -> None:
    # s^3 + k (s + 1)^2 is stable for k > 1/2, by Routh; with a delay up to some gain only.
    num, den = np.array([1.0, 2.0, 1.0]), [1, 0, 0, 0]
    assert Loop(num, den).margins().gain_margin is None
    assert not Loop(0.3 * num, den).stable()
    assert Loop(0.3 * num, den).margins().gain_margin is None
    loop = Loop(num, den, 0.05)
    upper = loop.margins().gain_margin
    assert upper is not None and upper > 1
    assert Loop(100 * num, den, 0.05).margins().gain_margin == pytest.approx(upper / 100)
    (lower,) = {
        g for g, h in pairwise(SCANNED) if loop.scaled(h).stable() > loop.scaled(g).stable()
    }
    for gain in SCANNED:
        assert loop.scaled(gain).stable() == (lower < gain < upper)


def test_gains_at_which_poles_cross_at_the_ends_of_the_axis() -> None:
    # s + 2 - 1 falls to 0 at twice the gain; |L| of (s + 1) / (3 s + 5) reaches 1 at three times.
    assert Loop([-1], [1, 2]).margins().gain_margin == pytest.approx(2)
    assert Loop([1, 1], [3, 5], 0.2).margins().gain_margin == pytest.approx(3, rel=1e-3)


@pytest.mark.parametrize("delay", [0.0, 0.4, 0.9, 1.4, 3.0, 7.7, 20.0])
def test_two_ways_of_counting_poles_agree(delay: float) -> None:
    random = np.random.default_rng(7)
    for _ in range(40):
        roots = -random.exponential(1, 3) * random.choice([1, 1, 1, -0.3], 3)
        den: Array = np.poly(roots).astype(np.float64)
        num = random.normal(size=2)
        loop = Loop(num, den, delay)

        def characteristic(w: Array, num: Array = num, den: Array = den) -> Any:
            return np.polyval(den, 1j * w) + np.polyval(num, 1j * w) * np.exp(-1j * w * delay)

        grid = np.union1d(np.geomspace(1e-5, 1e5, 40_000), np.linspace(0.001, 60, 60_000))
        assert loop.unstable_poles() == winding_count(characteristic, 3, grid)


def test_bode_and_nyquist_are_the_loop() -> None:
    loop = Loop([2], [1, 1, 0], 0.3)
    frequency = np.geomspace(0.01, 10, 50)
    bode, nyquist = loop.bode(frequency), loop.nyquist(frequency)
    values = loop(1j * frequency)
    assert bode["gain"] == pytest.approx(np.abs(values))
    # -90 - atan(w) - 0.3 w, by hand.
    by_hand = -90 - np.degrees(np.arctan(frequency)) - np.degrees(0.3 * frequency)
    assert bode["phase_deg"] == pytest.approx(by_hand)
    assert nyquist["real"] + 1j * nyquist["imaginary"] == pytest.approx(values)


def test_the_phase_of_a_delay_needs_no_fine_frequencies() -> None:
    """-w rad for a delay of 1 s, however many turns lie between two frequencies."""
    bode = Loop([1], [1], 1.0).bode(np.array([1.0, 8.0, 20.0]))
    assert np.radians(bode["phase_deg"]) == pytest.approx([-1, -8, -20])


def test_responses_are_tables_with_units() -> None:
    bode = Loop([2], [1, 1, 0], 0.3).bode()
    assert bode.to_polars().columns == ["frequency_rad_per_s", "gain", "phase_deg"]
    assert bode.units == {"frequency_rad_per_s": "rad/s", "phase_deg": "deg"}
    assert len(bode) == bode.to_polars().height
    with pytest.raises(KeyError, match="there are frequency_rad_per_s, gain, phase_deg"):
        _ = bode["phase"]


def test_every_response_draws() -> None:
    loop = Loop([2], [1, 1, 0], 0.3)
    for each in (loop, loop.bode(), loop.nyquist(), loop.step()):
        assert each.plot().axes


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Loop([1], [1, 1], -1e-6), "delay is -1e-06; it must be 0 or more"),
        (lambda: Loop([0], [1, 1]), "the loop is 0"),
        (lambda: Loop([float("nan")], [1, 1]), "not a number"),
        (lambda: LagLoop(1, 0, 1), "must be above 0"),
        (lambda: LagLoop(1, math.inf, 1), "lag inf must be above 0"),
        (lambda: LagLoop(1, 1, -1), "delay is -1"),
        (lambda: LagLoop(1, 1, 1, w=2), "form 'lag' has no w"),
        (lambda: LagLoop(1, 1, 1, form="third"), "none of lag, lead, integrator"),  # type: ignore[arg-type]
        (lambda: LagLoop.sampled(1, 1.2, 1e6, 0), "no sampling"),
        (lambda: ultimate_gain(0), "above 0"),
        (lambda: Loop([1], [1, 1], 1).step(-1), "must be above 0"),
        (lambda: Loop([1], [1, 1], 1e-9).step(1), "too many"),
        (lambda: Loop.of_terms([([1], 1), ([1], 2)], [1, 1]).critical_delay(), "several delays"),
    ],
)
def test_what_cannot_be_is_refused(make: Any, words: str) -> None:
    with pytest.raises(qcnlab.AnalysisError, match=words) as caught:
        make()
    assert isinstance(caught.value, qcnlab.Error)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("delay", [0.0, 0.01])
def test_the_final_value_is_that_of_the_loop_at_rest(delay: float) -> None:
    """L(0) = 3 / 4, so that 3 / 7 is left of a step; the coefficients of s do not matter."""
    loop = Loop([0.1, 0.2, 3.0], [1.0, 5.0, 7.0, 4.0], delay)
    assert loop.step(end_s=1.0).final == pytest.approx(3 / 7, rel=1e-12)
