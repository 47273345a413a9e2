"""Linear models of QCN, ECM, DCQCN and TIMELY against published and computed tables."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import qcnlab
from qcnlab.analysis import (
    Dcqcn,
    Ecm,
    Loop,
    Qcn,
    Timely,
    averaging_means,
    derivative_means,
    with_averaging,
)

if TYPE_CHECKING:
    from qcnlab.analysis.fluid import State

SOURCES = (1, 2, 5, 10, 20, 50, 100, 400)
CRITICAL_US: list[tuple[dict[str, float], tuple[float, ...]]] = [
    ({}, (159, 211, 260, 284, 299, 309, 312, 315)),
    ({"sampling_probability": 0.1}, (22.6, 23.3, 23.7, 23.9, 23.9, 24.0, 24.0, 24.0)),
    ({"w": 8.0}, (202, 362, 651, 852, 999, 1117, 1165, 1205)),
    ({"w": 32.0}, (207, 404, 942, 1650, 2537, 3569, 4094, 4617)),
]


@pytest.mark.parametrize(("changes", "row"), CRITICAL_US)
def test_critical_rtt_of_qcn(changes: dict[str, Any], row: tuple[float, ...]) -> None:
    delays_s = [Qcn(sources=n, **changes).critical_delay() for n in SOURCES]
    assert [1e6 * each for each in delays_s if each] == pytest.approx(row, rel=0.005)


@pytest.mark.parametrize("factor", [0.1, 10])
def test_critical_rtt_scales_as_one_over_capacity(factor: float) -> None:
    for n in (1, 10):
        base = Qcn(sources=n)
        scaled = base.with_(capacity_bps=1e10 * factor, ai_rate_bps=5e6 * factor)
        ours, theirs = base.critical_delay(), scaled.critical_delay()
        assert ours is not None
        assert theirs == pytest.approx(ours / factor, rel=1e-9)


def test_the_loop_of_ten_sources_by_hand() -> None:
    # C = 833333 frames/s: K = 0.5/110 * 0.01 * C^2 / 10, z = 0.01 C / 2, gamma = 0.01 C / 10.
    loop = Qcn(sources=10).loop()
    assert loop.num[0] == pytest.approx(3.1566e6 / 4166.7, rel=1e-4)
    assert loop.num[-1] == pytest.approx(3.1566e6 * 833.33, rel=1e-4)
    assert loop.den == pytest.approx([1, 1073.9, 3.80, 0], rel=1e-3)
    margins = loop.with_delay(0).margins()
    assert margins.gain_crossover_rad_per_s == pytest.approx(1804.4, abs=0.1)
    assert margins.phase_margin_deg == pytest.approx(29.39, abs=0.01)


def test_qcn_rests_just_above_its_set_point() -> None:
    rest = Qcn(sources=10).equilibrium()
    assert rest.current_rate_bps == pytest.approx(1e9)
    assert 33_000 < rest.queue_bytes < 33_010
    assert rest.target_rate_bps > rest.current_rate_bps


def test_averaging_holds_where_plain_aimd_of_equal_gain_does_not() -> None:
    for n in (1, 2, 10, 100):
        for w in (0.0, 0.5, 1.0, 2.0):
            model = Qcn(sources=n, w=w, gain_per_byte=0.5 / 165e3)
            with_it, without = model.critical_delay(), model.without_averaging().critical_delay()
            assert with_it is not None and without is not None
            assert with_it > 1.15 * without
    # Without the queue's change (w = 0) plain AIMD has next to no room for delay.
    bare = Qcn(sources=10, w=0, gain_per_byte=0.5 / 165e3)
    assert (bare.critical_delay() or 0) > 50e-6
    assert (bare.without_averaging().critical_delay() or 0) < 1e-6


def test_averaging_is_a_proportional_and_derivative_controller() -> None:
    random = np.random.default_rng(3)
    for _ in range(20):
        errors = random.normal(size=500).cumsum()
        gain = random.uniform(0.01, 3)
        theirs = derivative_means(errors, gain, 10.0)
        assert averaging_means(errors, gain, 10.0) == pytest.approx(theirs, abs=1e-9)


def test_averaging_wrapped_round_a_loop_raises_its_critical_delay() -> None:
    for lag_s in (0.2, 1.0, 5.0):
        plain = Loop([1], [lag_s, 1, 0])
        wrapped = with_averaging(plain, 0.5)
        half = Loop([0.5], [lag_s, 1, 0])
        ours, plains, halves = (each.critical_delay() for each in (wrapped, plain, half))
        assert ours is not None and plains is not None and halves is not None
        assert ours > halves > plains


def test_ecm_needs_its_lead_to_outlast_the_delay() -> None:
    model = Ecm(sources=2, delay_s=10e-6)
    # One message per 18 KB at 10 Gb/s: 14.4 us; k = 2 intervals.
    assert model.lead_s == pytest.approx(28.8e-6)
    assert model.messages_per_s == pytest.approx(1 / 14.4e-6 / 2)
    # n = Gi Ru / (14.4 us * 512 bit): 0.53333e6 / 7.3728e-3.
    assert model.stiffness("increase") == pytest.approx(7.2337e7, rel=1e-4)
    # n = Gd C / (2 * 14.4 us * 512 bit).
    assert model.stiffness("decrease") == pytest.approx(1.8085e8, rel=1e-4)
    assert not model.is_node("increase")
    assert all(each.stable for each in model.margins().values())
    assert not any(each.stable for each in model.with_(delay_s=200e-6).margins().values())
    for gi in (0.53333, 0.0053333):
        assert 27e-6 < model.with_(gi=gi).critical_delay() < model.lead_s


MARGINS_DEG = {
    0.0: (26.62, 13.41, 4.76, 9.63, 27.37, 43.47, 56.48),
    50e-6: (8.26, -0.75, -6.58, -0.95, 15.73, 29.55, 39.81),
    100e-6: (-10.10, -14.91, -17.93, -11.54, 4.09, 15.63, 23.14),
}


@pytest.mark.parametrize(("delay", "row"), MARGINS_DEG.items())
def test_published_margins_of_dcqcn(delay: float, row: tuple[float, ...]) -> None:
    for n, degrees in zip((2, 4, 10, 20, 40, 64, 100), row, strict=True):
        margins = Dcqcn(sources=n, delay_s=delay).margins(formal=True)
        assert margins.phase_margin_deg == pytest.approx(degrees, abs=0.1)
        assert margins.stable == (degrees > 0)


def test_exact_and_taylor_points_of_dcqcn() -> None:
    exact = {2: 7.770e-4, 10: 6.032e-3, 20: 1.435e-2, 64: 5.906e-2}
    taylor = {2: 9.247e-4, 10: 7.849e-3, 20: 1.976e-2, 64: 9.312e-2}
    for n in exact:
        model = Dcqcn(sources=n)
        assert model.marking_probability() == pytest.approx(exact[n], rel=1e-3)
        assert model.taylor_probability() == pytest.approx(taylor[n], rel=1e-3)
    assert Dcqcn(sources=2).equilibrium().queue_bytes == pytest.approx(20.15e3, rel=1e-3)
    assert Dcqcn(sources=10).equilibrium().queue_bytes == pytest.approx(122.6e3, rel=1e-3)


def test_a_saturated_ramp_has_no_equilibrium() -> None:
    for ask in (Dcqcn(sources=64).equilibrium, Dcqcn(sources=64).loop, Dcqcn(sources=64).margins):
        with pytest.raises(qcnlab.AnalysisError, match=r"the ramp ends at p_max 0\.01"):
            ask()
    wide_ramp = Dcqcn(sources=64, p_max=0.1).equilibrium()
    assert wide_ramp.queue_bytes == pytest.approx(120.2e3, rel=1e-3)


PATCHED = {2: -1.95, 4: 5.25, 10: 28.53, 18: 42.92, 20: 41.58, 38: 3.22, 40: -1.31, 50: -22.26}


@pytest.mark.parametrize(("n", "degrees"), PATCHED.items())
def test_published_margins_of_patched_timely(n: int, degrees: float) -> None:
    margins = Timely(sources=n).margins()
    assert margins.phase_margin_deg == pytest.approx(degrees, abs=0.1)
    assert margins.stable == (degrees > 0)
    assert margins.critical_delay_s is None


def test_patched_timely_rests_exactly_where_published() -> None:
    queues = [Timely(sources=n).equilibrium().queue_bytes for n in (2, 10, 20, 40)]
    assert queues == pytest.approx([78.125e3, 140.625e3, 218.75e3, 375e3], rel=1e-12)


def test_timely_itself_has_no_fixed_point() -> None:
    with pytest.raises(qcnlab.AnalysisError, match="TIMELY: no equilibrium"):
        Timely.original().equilibrium()
    with pytest.raises(qcnlab.AnalysisError, match="above C Thigh"):
        Timely(sources=80).equilibrium()


def test_qcn_without_equilibrium() -> None:
    with pytest.raises(qcnlab.AnalysisError, match="no equilibrium: 5 sources need feedback"):
        Qcn(sources=5, ai_rate_bps=1e15).loop()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Qcn(delay_s=-1e-6), "QCN: delay_s is -1e-06; it must be 0 or more"),
        (lambda: Qcn(sources=0), "QCN: sources is 0; it must be above 0"),
        (lambda: Qcn(sampling_probability=1), "sampling_probability is 1; it must be between"),
        (lambda: Ecm(w=-1), "ECM: w is -1"),
        (lambda: Ecm().stiffness("both"), "neither 'increase' nor 'decrease'"),  # type: ignore[arg-type]
        (lambda: Dcqcn(k_min_bytes=3e5), "k_max_bytes must be above k_min_bytes"),
        (lambda: Dcqcn(p_max=math.inf), "p_max is inf"),
        (lambda: Timely(beta=0), "patched TIMELY: beta is 0"),
        (lambda: with_averaging(Loop([1], [1, 0]), 0), "the cycle is 0 s"),
    ],
)
def test_what_cannot_be_is_refused(make: Any, words: str) -> None:
    with pytest.raises(qcnlab.AnalysisError, match=words):
        make()


@pytest.mark.parametrize(("n", "edge_us"), [(2, 281), (10, 352), (100, 372)])
def test_a_kept_first_cycle_in_the_loop_and_in_the_fluid(n: int, edge_us: float) -> None:
    model = Qcn(sources=n, first_cycle="kept", gain_per_byte=63 / 128 / 165e3)
    critical = model.critical_delay()
    assert critical is not None
    assert 1e6 * critical == pytest.approx(edge_us, abs=1)
    published = model.with_(first_cycle="restarted").critical_delay()
    assert published is not None and critical > published
    clamps = ("one_sided", "clip_feedback", "clamp_target", "rate_cap", "clamp_queue")
    rest = model.equilibrium()
    start: State = {"from": "equilibrium", "queue_bytes": rest.queue_bytes + 1e-3}
    for factor, grows in ((0.97, False), (1.03, True)):
        run = model.with_(delay_s=factor * critical).fluid(
            0.12, start=start, sampling="fixed", **dict.fromkeys(clamps, False)
        )
        off = np.abs(run["queue_bytes"] - rest.queue_bytes)
        assert (off[3000:].max() > off[1000:2000].max()) == grows
        assert run["target_rate_bps"][0] == pytest.approx(rest.target_rate_bps, rel=1e-12)


def test_ten_seconds_of_the_fluid_take_less_than_one_of_the_processor() -> None:
    taken = []
    for _ in range(3):
        begun = time.process_time()
        Qcn(sources=10).fluid(10.0)
        taken.append(time.process_time() - begun)
    assert min(taken) < 1


def test_the_rest_of_qcn_with_a_kept_first_cycle() -> None:
    """By hand, for frames of 1500 octets: p = 0.01, cycles of 100 frames, five of them.

    Four cycles after the kept one: eta = p / (0.99^-100 - 1) and zeta = eta 0.99^(4 * 100) / 2,
    since 1 + 100 p = 2. The target is zeta R_AI / p above what sources send, for the share of
    frames in later cycles; the kept cycle adds 100 eta of it.
    """
    model = Qcn(
        sources=10, capacity_bps=10e9, frame_bytes=1500, sampling_probability=0.01,
        cycle_bytes=150e3, fast_recovery_cycles=5, ai_rate_bps=5e6, first_cycle="kept",
    )  # fmt: skip
    eta = 0.01 / (0.99**-100 - 1)
    zeta = eta * 0.99**400 / 2
    gap = zeta * 5e6 / 0.01
    rest = model.equilibrium()
    assert rest.current_rate_bps == pytest.approx(1e9)
    assert rest.target_rate_bps == pytest.approx(1e9 + gap * (1 + 100 * eta))
    # The rise, eta times the gap in frames/s for each frame, is cut by Gd p F for each of them.
    share, rise = 1e9 / 12_000, eta * gap / 12_000
    assert rest.feedback_bytes == pytest.approx(rise / (model.cut_per_byte * 0.01 * share))
    restarted = model.with_(first_cycle="restarted").equilibrium()
    zeta = eta * 0.99**500
    assert restarted.target_rate_bps == pytest.approx(1e9 + zeta * 5e6 / 0.01)
