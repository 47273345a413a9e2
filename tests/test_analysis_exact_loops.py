"""Exact linear loops of DCQCN and TIMELY beside the published ones: the fluids follow the exact."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import qcnlab
from qcnlab.analysis import Dcqcn, Model, Qcn, Timely, dcqcn_linear

if TYPE_CHECKING:
    from qcnlab.analysis.fluid import State

FORMS: tuple[Any, ...] = ("published", "exact")


def growth(model: Model, end_s: float) -> float:
    """Return the queue's largest distance from rest in the last quarter over that in the second.

    The fluid starts one octet from its equilibrium, where linear theory holds.
    """
    rest = model.equilibrium().queue_bytes
    run = model.fluid(end_s, start={"from": "equilibrium", "queue_bytes": rest + 1}, every_s=1e-5)
    off = np.abs(run["queue_bytes"] - rest)
    rows = len(off)
    return float(off[3 * rows // 4 :].max() / off[rows // 4 : rows // 2].max())


@pytest.mark.parametrize(
    ("sources", "published_us", "exact_us"), [(2, 72.4, 85.6), (5, 37.5, 67.5), (10, 20.8, 62.5)]
)
def test_the_fluid_of_dcqcn_turns_unstable_where_the_exact_loop_does(
    sources: int, published_us: float, exact_us: float
) -> None:
    model = Dcqcn(sources=sources)
    critical = model.critical_delays()
    published_s, exact_s = critical["as published"], critical["exact"]
    assert published_s is not None and exact_s is not None
    assert 1e6 * published_s == pytest.approx(published_us, abs=0.05)
    assert 1e6 * exact_s == pytest.approx(exact_us, abs=0.05)
    assert growth(model.with_(delay_s=0.97 * exact_s), 0.1) < 1
    assert growth(model.with_(delay_s=1.03 * exact_s), 0.1) > 1
    # Between the two edges the published loop is unstable, and the fluid rests.
    between = model.with_(delay_s=(published_s + exact_s) / 2)
    assert not between.margins().stable
    assert between.margins(form="exact").stable
    assert growth(between, 0.1) < 1


def test_the_fluid_of_timely_turns_unstable_where_the_exact_loop_does() -> None:
    """Nineteen sources are the most that rest; the published loop says 39, and 2 not."""
    stable = {
        form: [n for n in range(2, 51) if Timely(sources=n).margins(form=form).stable]
        for form in FORMS
    }
    assert stable["exact"] == list(range(2, 20))
    assert (min(stable["published"]), max(stable["published"])) == (3, 39)
    for sources, grows in ((2, False), (19, False), (22, True), (38, True)):
        assert (growth(Timely(sources=sources), 0.03) > 1) == grows


def test_the_gradient_gain_of_timely_differs_by_a_factor_of_four() -> None:
    """L(s) (Seg s + delta / 2) of the second term is n2, and four times n2.

    With N = 10: R = 1 Gb/s, Seg = 128 kbit, delta = 10 Mb/s, alpha = 0.875, Dmin = 20 us. At
    s = 10^4 / s: n2 = -1e9 * 1e7 * 0.875 / (1e4 * 2e-5 * (1.28e5 * 1e4 + 0.875e9)) = -2.0302e7,
    over 1.28e9 + 5e6 it is -0.015799.
    """
    for form, factor in (("published", 1), ("exact", 4)):
        loop = Timely(sources=10).loop(form=form)  # type: ignore[arg-type]
        num, _ = loop.terms[1]
        value = np.polyval(num, 1e4) / np.polyval(loop.den, 1e4)
        assert value == pytest.approx(-0.015799 * factor, rel=1e-4)


@pytest.mark.parametrize("sources", [2, 10])
@pytest.mark.parametrize("cycle_bytes", [10e6, 1e5])
def test_slopes_of_the_exact_loop_are_those_of_finite_differences(
    sources: int, cycle_bytes: float
) -> None:
    """The equations written out again from the paper, and their differences over small changes.

    With cycles of 10 MB the timer does nearly all; with 100 KB the octets count as well.
    """
    model = Dcqcn(sources=sources, cycle_bytes=cycle_bytes)
    p = model.marking_probability()
    frame_bits = 8 * model.frame_bytes
    rate = model.capacity_bps / frame_bits / sources
    b, f = model.cycle_bytes / model.frame_bytes, model.fast_recovery_cycles
    tau, later, timer = model.cut_interval_s, model.alpha_interval_s, model.timer_s
    rai = model.ai_rate_bps / frame_bits

    def law(own: list[float], p: float, delayed: float) -> np.ndarray[Any, Any]:
        current, target, alpha = own
        q = 1 - p
        cut = 1 - q ** (tau * delayed)
        by_bytes = delayed * p / (q**-b - 1)
        by_timer = delayed * p / (q ** (-timer * delayed) - 1)
        rises = q ** (f * b) * by_bytes + q ** (f * timer * delayed) * by_timer
        return np.array([
            -current * alpha / (2 * tau) * cut + (target - current) / 2 * (by_bytes + by_timer),
            -(target - current) / tau * cut + rai * rises,
            model.g / later * (1 - q ** (later * delayed) - alpha),
        ])  # fmt: skip

    rest = [rate, model.equilibrium().target_rate_bps / frame_bits, model.equilibrium().alpha]
    # At rest nothing moves: on the scale of the largest term, the cut.
    assert np.abs(law(rest, p, rate)).max() < 1e-9 * rate / tau
    at = dcqcn_linear.linear(model, p)
    for column, size in enumerate(rest):
        up, down = list(rest), list(rest)
        up[column] += 1e-5 * size
        down[column] -= 1e-5 * size
        slope = (law(up, p, rate) - law(down, p, rate)) / (2e-5 * size)
        assert [row[column] for row in at.own] == pytest.approx(slope, rel=1e-6, abs=1e-9)
    by_p = (law(rest, p * 1.00001, rate) - law(rest, p * 0.99999, rate)) / (2e-5 * p)
    by_rate = (law(rest, p, rate * 1.00001) - law(rest, p, rate * 0.99999)) / (2e-5 * rate)
    assert at.by_p == pytest.approx(by_p, rel=1e-5)
    assert at.by_rate == pytest.approx(by_rate, rel=1e-5)


@pytest.mark.parametrize("sources", [2, 10])
@pytest.mark.parametrize("cycle_bytes", [10e6, 1e5])
def test_the_published_loop_is_that_of_the_equations_to_first_order_in_p(
    sources: int, cycle_bytes: float
) -> None:
    """To first order 1 - (1-p)^n is n p and p / ((1-p)^-n - 1) is (1 - p (n + 1) / 2) / n.

    Over both counters, of n = B and n = T R, with E = 1 / B + 1 / (T R), which stays as it is:

        Rc' = -Rc alpha p R / 2 + (Rt - Rc) (E R - p R (1 + E / 2)) / 2
        Rt' = -(Rt - Rc) p R + RAI R (E - p (1 + 2 F + E / 2)),    alpha' = g Rc (p - alpha)

    `stability.m` departs from them twice: of Rc' it delays the slope over Rc and not that over R,
    and Rt' feels E RAI of Rc without delay as well.
    """
    model = Dcqcn(sources=sources, cycle_bytes=cycle_bytes)
    p, bits = 0.004, 8 * model.frame_bytes
    rate, rai = model.capacity_bps / bits / sources, model.ai_rate_bps / bits
    often = model.frame_bytes / cycle_bytes + 1 / (model.timer_s * rate)

    def law(current: float, target: float, alpha: float, p: float, heard: float) -> Any:
        gap, steps = target - current, model.fast_recovery_cycles
        rise = heard * (often - p * (1 + often / 2))
        fast = heard * (often - p * (1 + 2 * steps + often / 2))
        return np.array(
            [
                -current * alpha * p * heard / 2 + gap * rise / 2,
                -gap * p * heard + rai * fast,
            ]
        )

    rest = [rate, rate + model.target_gap(p), model.alpha_at(p), p, rate]
    slopes = []
    for index, size in enumerate(rest):
        up, down = list(rest), list(rest)
        up[index] += 1e-4 * size
        down[index] -= 1e-4 * size
        slopes.append((law(*up) - law(*down)) / (2e-4 * size))
    (at_once, of_target), (by_target, fading), (by_alpha, _), (by_p, lifted), (later, pushed) = (
        slopes
    )
    num, den = dcqcn_linear.published(model, p)
    marks = sources * model.p_max * model.frame_bytes / (model.k_max_bytes - model.k_min_bytes)
    for s in (300.0, 2e4j, 1e3 + 5e3j):
        averaged = model.g * rate / (s + model.g * rate)
        delayed = at_once + (by_p + by_alpha * averaged) * marks / s
        delayed += by_target * (pushed + lifted * marks / s) / (s - fading)
        own = later - s + by_target * (of_target + often * rai) / (s - fading)
        assert np.polyval(num, s) / np.polyval(den, s) == pytest.approx(delayed / own, rel=1e-7)


def test_dcqcn_has_loops_wherever_it_rests() -> None:
    """Twelve sources need 8.0e-3 exactly and 1.0e-2 by Taylor; the ramp may end between."""
    for sources in range(2, 16):
        model = Dcqcn(sources=sources)
        exact, taylor = model.marking_probability(), model.taylor_probability()
        assert taylor > exact
        between = model.with_(p_max=(exact + taylor) / 2)
        assert between.equilibrium().marking_probability == pytest.approx(exact)
        assert set(between.loops()) == {"as published", "exact"}
        beyond = model.with_(p_max=0.99 * exact)
        for form in FORMS:
            with pytest.raises(qcnlab.AnalysisError, match="no equilibrium"):
                beyond.loop(form=form)


@pytest.mark.parametrize("model", [Dcqcn(), Timely()])
def test_a_form_that_is_neither_is_refused(model: Any) -> None:
    with pytest.raises(qcnlab.AnalysisError, match="form is 'linear'; it must be published or"):
        model.loop(form="linear")


def test_the_difference_of_two_rates_decays_as_the_convergence_model_says() -> None:
    """The paper's equations for ten sources, two of them 1 % off, by Euler's method in Python.

    From 70 to 90 ms the difference shrinks by exp(-104.64 * 0.02) = 0.1233. The next root, -172,
    has faded by then to e^(-67 * 0.07) = 0.9 % of its part.
    """
    model = Dcqcn(sources=10, delay_s=4e-6)
    rest, bits, step = model.equilibrium(), 8 * model.frame_bytes, 2e-6
    p, f = rest.marking_probability, model.fast_recovery_cycles
    log = math.log1p(-p)
    b, rai = model.cycle_bytes / model.frame_bytes, model.ai_rate_bps / bits
    ends = []
    for factor in (1.01, 0.99):
        current, target, alpha = 5e5 * factor, rest.target_rate_bps / bits, rest.alpha
        past = [current] * 3
        rates = []
        for _ in range(45_000):
            delayed = past.pop(0)
            cut = 1 - math.exp(model.cut_interval_s * delayed * log)
            marked = 1 - math.exp(model.alpha_interval_s * delayed * log)
            by_bytes = delayed * p / math.expm1(-b * log)
            by_timer = delayed * p / math.expm1(-model.timer_s * delayed * log)
            fast = math.exp(f * b * log) * by_bytes
            fast += math.exp(f * model.timer_s * delayed * log) * by_timer
            gap, tau = target - current, model.cut_interval_s
            change = -current * alpha / (2 * tau) * cut + gap / 2 * (by_bytes + by_timer)
            target += step * (-gap / tau * cut + rai * fast)
            alpha += step * model.g / model.alpha_interval_s * (marked - alpha)
            current += step * change
            past.append(current)
            rates.append(current)
        ends.append(rates)
    apart = np.abs(np.array(ends[0]) - np.array(ends[1]))
    assert model.convergence_rate() == pytest.approx(-104.637, abs=0.01)
    assert apart[-1] / apart[34_999] == pytest.approx(math.exp(-104.637 * 0.02), rel=0.05)
    # ln 20 / 104.637 = 28.63 ms; half takes ln 2 / 104.637 = 6.624 ms.
    assert model.convergence_s() == pytest.approx(28.63e-3, abs=1e-5)
    assert model.convergence_s(0.5) == pytest.approx(6.624e-3, abs=1e-6)


def test_shares_of_a_difference_that_cannot_be_are_refused() -> None:
    for share in (0.0, 1.0, -1.0):
        with pytest.raises(qcnlab.AnalysisError, match="share is"):
            Dcqcn().convergence_s(share)


def test_a_fluid_that_grows_is_returned_with_a_flag() -> None:
    """Without clamps, at twice its linear edge of 284 us, QCN's rows end at 10^15 frames."""
    clamps = ("one_sided", "clip_feedback", "clamp_target", "rate_cap", "clamp_queue")
    model = Qcn(sources=10, delay_s=600e-6)
    start: State = {"from": "equilibrium", "queue_bytes": 40e3}
    grown = model.fluid(1.0, start=start, **dict.fromkeys(clamps, False))
    assert grown.unbounded_s is not None
    assert 0 < grown["time_s"][-1] < grown.unbounded_s < 1
    assert np.isfinite(grown["queue_bytes"]).all()
    assert np.abs(grown["queue_bytes"]).max() > 1e9
    assert grown.after(0.001).unbounded_s == grown.unbounded_s
    assert model.fluid(0.1, start=start).unbounded_s is None
