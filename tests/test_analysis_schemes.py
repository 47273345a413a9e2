"""What models of schemes take from contenders and parameters: by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest

import qcnlab
from modelled_bottleneck import CONTENDERS, QCN
from qcnlab.analysis import Dcqcn, Ecm, Loop, Qcn, Timely, gain
from qcnlab.analysis.fluid import trajectory
from qcnlab.analysis.optional import require


def test_the_model_of_contenders_under_qcn() -> None:
    """63 levels over (1 + 2 w) 33 KB = 165 KB, cut by 1/128 each; p = 1500 / 150 000 = 1 %."""
    model = Qcn.from_scenario(QCN, CONTENDERS)
    assert (model.sources, model.capacity_bps, model.delay_s) == (3, 5e9, 20e-6)
    assert (model.frame_bytes, model.set_point_bytes, model.w) == (1500, 33_000, 2)
    assert model.cut_per_byte == pytest.approx(63 / 128 / 165_000)
    assert model.sampling_probability == pytest.approx(0.01)
    assert model.sampling_probability_max == pytest.approx(0.01 * 150 / 18.5)
    assert (model.cycle_bytes, model.fast_recovery_cycles) == (150_000, 4)
    assert (model.ai_rate_bps, model.first_cycle) == (6e6, "kept")


def test_a_quantizer_of_whole_bits_has_levels_of_a_power_of_two() -> None:
    # 165 000 has 18 bits: 2^18 / 64 = 4096 octets a level.
    scheme = {**QCN, "cp": QCN["cp"] | {"quantizer": "msb"}}
    assert Qcn.from_scenario(scheme, CONTENDERS).cut_per_byte == pytest.approx(1 / 128 / 4096)


def test_sampling_of_the_fluid_is_never_certain() -> None:
    # 1500 / 10 000 is 15 %; eight times that is more than all.
    scheme = {**QCN, "cp": QCN["cp"] | {"sample_base": 10_000}}
    assert Qcn.from_scenario(scheme, CONTENDERS).sampling_probability_max == 0.999


def test_full_feedback_halves_the_rate_unless_the_gain_is_given() -> None:
    assert Qcn(w=2.0, set_point_bytes=33e3).cut_per_byte == pytest.approx(0.5 / 165e3)
    assert Qcn(gain_per_byte=1e-6).cut_per_byte == 1e-6


def test_what_of_qcn_is_not_in_its_model() -> None:
    plain = {"clock": "byte_counter", "short_cycles": False, "target_rate_reduction": False}
    always = [
        "jitter and the quantizer's steps",
        "the spread of the sources' rates",
        "drops: a frame that is dropped is not sampled, so a full buffer lasts longer",
    ]
    assert list(Qcn.left_out({"rp": plain})) == always
    more = ["timer and hyper-active increase", "short cycles in active increase",
            "target rate reduction"]  # fmt: skip
    assert list(Qcn.left_out(QCN)) == always + more
    assert Qcn.refusal(QCN) is None
    assert "scheme.rp.clock is 'timer'" in str(Qcn.refusal({"rp": {"clock": "timer"}}))


def test_the_star_of_qcn_has_its_byte_counter_alone() -> None:
    scheme = {"name": "qcn", "rp": {"max_rate": "1 Gb/s", "drift_every": "20 ms", "gd": 0.1}}
    assert Qcn.star_scheme(scheme, "2 Gb/s") == {
        "name": "qcn_byte_counter",
        "rp": {
            "drift_every": "0 s", "gd": 0.1, "clock": "byte_counter", "short_cycles": False,
            "target_rate_reduction": False, "max_rate": "2 Gb/s",
        },
    }  # fmt: skip
    other = {"name": "ecm", "rp": {"max_rate": "1 Gb/s", "drift_every": "20 ms"}}
    assert Ecm.star_scheme(other, "2 Gb/s") == {"name": "ecm", "rp": {"drift_every": "0 s"}}


def test_the_fluid_of_qcn_in_a_search_for_the_edge() -> None:
    # Two sources of 1200 octets with w = 0: 1200 sqrt(2 / 12).
    model = Qcn(sources=2, frame_bytes=1200, w=0)
    spread = 1200 / math.sqrt(6)
    assert dict(model.noise()) == {"feedback_spread_bytes": pytest.approx(spread)}
    rest = {"sampling": "fixed", "cycles": "remembered"}
    assert model.edge_switches(noise=True) == rest | {
        "feedback_spread_bytes": pytest.approx(spread)
    }
    assert model.edge_switches(noise=False) == rest | {"feedback_spread_bytes": 0.0}
    assert Ecm().edge_switches(noise=True) == Ecm().noise() == {}
    assert Ecm().starts() == [None]


def test_the_model_of_contenders_under_ecm() -> None:
    scheme: dict[str, Any] = {
        "cp": {"set_point": 33_000, "sample_base": 75_000},
        "rp": {"w": 3, "gi": 0.5, "gd": 0.001, "rate_unit": 2e6, "drift_every": 0.0},
    }
    model = Ecm.from_scenario(scheme, CONTENDERS)
    assert (model.sources, model.capacity_bps, model.delay_s) == (3, 5e9, 20e-6)
    assert (model.frame_bytes, model.set_point_bytes, model.w) == (1500, 33_000, 3)
    assert (model.sample_bytes, model.gi, model.gd, model.rate_unit_bps) == (
        75_000, 0.5, 0.001, 2e6,
    )  # fmt: skip
    assert list(Ecm.left_out(scheme))[-1].startswith("drops")
    scheme["rp"]["drift_every"] = 1e-3
    assert list(Ecm.left_out(scheme))[-1] == "drift"
    rest = model.equilibrium()
    assert rest.queue_bytes == 33_000
    assert rest.current_rate_bps == pytest.approx(5e9 / 3)


def test_the_regions_of_ecm_settle_without_swinging_where_the_lead_is_long() -> None:
    """K^2 n > 4 with k = w 14.4 us; n = 7.23e7 in increase and 1.81e8 in decrease (two sources).

    With w = 14 k is 201.6 us: k^2 n is 2.9 and 7.4; with w = 20, 288 us: 6.0 and 15.
    """
    nodes = {
        w: [Ecm(sources=2, w=w).is_node(region) for region in ("increase", "decrease")]
        for w in (2.0, 14.0, 20.0)
    }
    assert nodes == {2.0: [False, False], 14.0: [False, True], 20.0: [True, True]}


def test_an_unstable_region_of_ecm_has_no_critical_delay() -> None:
    # Without the queue's change both regions swing for ever.
    assert Ecm(w=0.0).critical_delay() == 0


def test_the_model_of_contenders_under_dcqcn_has_their_round_trip() -> None:
    scheme: dict[str, Any] = {
        "cp": {"k_min": 5_000, "k_max": 200_000, "p_max": 0.01},
        "rp": {
            "g": 0.004, "cnp_interval": 50e-6, "alpha_period": 55e-6, "time_reset": 60e-6,
            "byte_reset": 10_000_000, "threshold": 5, "ai_rate": 40e6, "form": "published",
            "cut_share": 0.5,
        },
    }  # fmt: skip
    model = Dcqcn.from_scenario(scheme, CONTENDERS)
    assert (model.delay_s, model.frame_bytes, model.sources) == (50e-6, 1500, 3)
    assert (model.k_min_bytes, model.k_max_bytes, model.p_max, model.g) == (
        5_000, 200_000, 0.01, 0.004,
    )  # fmt: skip
    assert (model.cut_interval_s, model.alpha_interval_s, model.timer_s) == (50e-6, 55e-6, 60e-6)
    assert (model.cycle_bytes, model.fast_recovery_cycles, model.ai_rate_bps) == (1e7, 5, 40e6)
    assert Dcqcn.refusal(scheme) is None
    receiver = scheme["rp"]
    for change in ({"form": "other"}, {"cut_share": 1.0}):
        assert Dcqcn.refusal({"rp": receiver | change}) is not None
    without = {key: value for key, value in receiver.items() if key != "byte_reset"}
    assert Dcqcn.refusal({"rp": without}) is not None


def test_thresholds_of_dcqcn_scale_and_those_of_others_do_not() -> None:
    model = Dcqcn(k_min_bytes=5e3, k_max_bytes=200e3)
    assert model.scaled_scheme({"cp": {"p_max": 0.01}}, 4) == {
        "cp": {"p_max": 0.01, "k_min": "20000 B", "k_max": "800000 B"}
    }
    assert Qcn().scaled_scheme({"cp": {}}, 1) == {"cp": {}}
    with pytest.raises(qcnlab.AnalysisError, match="QCN: flows_factor is 2; only DCQCN scales"):
        Qcn().scaled_scheme({"cp": {}}, 2)


def test_starts_of_dcqcn_are_its_own_near_rest_and_an_empty_queue_at_rest() -> None:
    model = Dcqcn(sources=10)
    rest = model.equilibrium().queue_bytes
    at_rest = {"from": "equilibrium"}
    assert model.starts() == [
        None, at_rest | {"queue_bytes": pytest.approx(1.01 * rest)}, at_rest | {"queue_bytes": 0},
    ]  # fmt: skip


def test_ranges_of_dcqcn_include_their_ends() -> None:
    assert Dcqcn(p_max=1.0).p_max == 1
    with pytest.raises(qcnlab.AnalysisError, match="p_max is 0; it must be above 0 and at most 1"):
        Dcqcn(p_max=0.0)
    with pytest.raises(qcnlab.AnalysisError, match="k_max_bytes must be above"):
        Dcqcn(k_min_bytes=2e5, k_max_bytes=2e5)
    for model in (Dcqcn(delay_s=0.0, k_min_bytes=0.0), Qcn(delay_s=0.0, w=0.0), Ecm(delay_s=0.0)):
        assert model.delay_s == 0
    with pytest.raises(qcnlab.AnalysisError, match="first_cycle is 'x'; it must be 'restarted'"):
        Qcn(first_cycle="x")  # type: ignore[arg-type]


def test_models_in_words() -> None:
    assert Qcn(sampling_probability=0.01).description() == (
        "Qeq 33 KB, w 2, sampling 1 %, Gd 0.00303 per KB, cycle 150 KB, F 5, RAI 5 Mb/s"
    )
    ecm = Ecm(set_point_bytes=33e3, gi=0.5, gd=0.001, sample_bytes=75e3, rate_unit_bps=1e6)
    assert ecm.description() == (
        "Qeq 33 KB, w 2, a sample every 75 KB, Gi 0.5, Gd 0.001, Ru 1 Mb/s"
    )
    first = Dcqcn(k_min_bytes=5e3, k_max_bytes=2e5, p_max=0.01, g=0.25, ai_rate_bps=40e6)
    assert first.description().splitlines()[0] == (
        "marking 5 to 200 KB, Pmax 1 %, g 0.25, RAI 40 Mb/s"
    )
    assert Qcn(sources=2, capacity_bps=5e8, delay_s=2e-4).title() == (
        "QCN, 2 sources, 0.5 Gb/s, RTT 200 us"
    )
    assert Dcqcn(sources=1, capacity_bps=4e10, delay_s=4e-6).title("x") == (
        "x, 1 source, 40 Gb/s, delay 4 us"
    )
    assert Timely(sources=3).title() == "TIMELY, 3 sources, 10 Gb/s"


def test_initial_states_of_the_fluids() -> None:
    state = (1e3, 2e9, 3e9)
    assert Qcn().initial(*state) == {
        "queue_bytes": 1e3, "current_rate_bps": 2e9, "target_rate_bps": 3e9,
    }  # fmt: skip
    assert Ecm().initial(*state) == {"queue_bytes": 1e3, "current_rate_bps": 2e9}
    for model in (Dcqcn(sources=2), Timely(sources=2)):
        assert model.initial(*state) == {"queue_bytes": 1e3, "rates_bps": [2e9, 2e9]}


def test_the_delays_of_timely() -> None:
    """Ten sources rest at 140 625 B: t' = 8 (140 625 + MTU) / C, and 8 * 16 000 B at 1 Gb/s more.

    With a larger Dmin that is the interval.
    """
    model = Timely(sources=10, propagation_s=3e-6, frame_bytes=1000, segment_bytes=16e3)
    (_, first), (_, second) = model.loop().terms
    assert first == pytest.approx(8 * 141_625 / 10e9 + 3e-6)
    assert second - first == pytest.approx(128e-6)
    (_, first), (_, second) = model.with_(min_rtt_s=200e-6).loop().terms
    assert second - first == pytest.approx(200e-6)
    assert (model.fluid_name, "patched" in model.parameters()) == ("timely_patched", False)
    assert Timely.original().fluid_name == "timely"
    assert Timely.original(sources=3).sources == 3


def test_models_have_ten_sources_by_default_and_ecm_two() -> None:
    assert [model().sources for model in (Qcn, Dcqcn, Timely, Ecm)] == [10, 10, 10, 2]


def test_a_trajectory_has_4000_rows_after_its_start() -> None:
    run = trajectory("qcn", {}, 0.01)
    assert (len(run), run["time_s"][-1], run.title) == (4001, pytest.approx(0.01), "qcn")
    short = trajectory("qcn", {}, 0.01, every_s=0.001, title="q")
    assert (len(short), short.title) == (11, "q")
    assert short.units["time_s"] == "s"


def test_verdicts_in_words() -> None:
    # 2 s / s at high frequency; the last coefficients, 5 / 3, are what counts at low frequency.
    neutral = Loop([2.0, 5.0], [1.0, 3.0], 0.1)
    assert neutral.margins().verdict == (
        "unstable with any delay above 0: |L| stays at 2 at high frequency (neutral loop)"
    )
    two = Timely(sources=3).loop()
    assert len(two.terms) == 2
    # Where there are several delays there is no critical one.
    assert two.margins().verdict == "stable"
    zero = Loop([1.0, 0.0], [1.0, 1.0, 1.0])
    assert zero.margins().verdict == "stable; stable with any delay"


def test_a_loop_that_is_0_at_frequency_0_has_no_pole_there_at_any_gain() -> None:
    assert gain._ends(Loop([1.0, 0.0], [1.0, 1.0, 1.0])) == []
    # 1 + g (-2) / 3 = 0 at g = 1.5.
    assert gain._ends(Loop([1.0, -2.0], [1.0, 1.0, 3.0])) == [1.5]


def test_a_loop_of_half_the_size_at_all_frequencies_crosses_there_at_gain_two() -> None:
    # |L| tends to 1/2; poles cross beyond all frequencies if L turns round there or is delayed.
    assert gain._ends(Loop([0.5, 1.0], [1.0, 1.0])) == []
    assert gain._ends(Loop([0.5, 1.0], [1.0, 1.0], 0.1)) == [2.0]
    assert gain._ends(Loop([-0.5, 1.0], [1.0, 1.0])) == [2.0]


def test_margins_and_loops_of_a_model_are_those_of_its_loop() -> None:
    # Ten sources turn unstable at 284 us; half of it is left.
    half = Qcn(sources=10, delay_s=142e-6)
    assert half.margins().critical_delay_s == pytest.approx(284e-6, rel=0.01)
    assert half.margins().stable and not half.with_(delay_s=300e-6).margins().stable
    both = Timely(sources=3).loops()
    assert list(both) == ["as published", "exact"]
    # The exact gradient has four times the gain.
    first, second = (loop.terms[1][0][-1] for loop in both.values())
    assert second == pytest.approx(4 * first)


def test_a_missing_package_is_named_without_its_module() -> None:
    with pytest.raises(qcnlab.MissingPackage, match="this needs no_such_package: pip install"):
        require("no_such_package.linalg.more")


def two_sources() -> Qcn:
    """Return two sources of 6 frames/s each, of frames of 2 octets; half of them are sampled.

    A cycle is of two frames, so that eta = p / (0.5^-2 - 1) = 1/6 and gamma = p R = 3; RAI is 1152
    frames/s. K = Gd p C R = 1/36 * 2 * 0.5 * 12 * 6 = 2, and w / (C p) = 1/2.
    """
    return Qcn(
        sources=2, capacity_bps=12 * 16, frame_bytes=2, set_point_bytes=10, w=3,
        gain_per_byte=1 / 36, sampling_probability=0.5, cycle_bytes=4, fast_recovery_cycles=3,
        ai_rate_bps=1152 * 16,
    )  # fmt: skip


def test_the_loop_of_qcn_by_hand() -> None:
    """Zeta = eta / 4^3 = 1/384 and the gap is 1/384 * 1152 / p = 6 frames/s.

    beta = 3 + (6 + 6) / 6 / 2 = 4, alpha = 1/6 * 1/384 * 1152 * 6 / 2 = 1.5, and the numerator
    2 (s / 2 + 1) (s + 3). The rise, half of eta times the gap, is 1/2; Gd p R = 1/12.
    """
    model = two_sources()
    loop, rest = model.loop(), model.equilibrium()
    assert loop.num == pytest.approx([1, 5, 6])
    assert loop.den == pytest.approx([1, 4, 1.5, 0])
    assert rest.feedback_bytes == pytest.approx(6)
    assert rest.queue_bytes == pytest.approx(16)
    assert (rest.current_rate_bps, rest.target_rate_bps) == pytest.approx((6 * 16, 12 * 16))


def test_the_loop_of_qcn_with_a_kept_first_cycle_by_hand() -> None:
    """Zeta = eta / 4^2 / (1 + 2 p) = 1/192; G = 12, G (1 + 2 eta) = 16 frames/s, c = eta G = 2.

    a = 6 / 2 = 3, b = 3 + 1/6 * 6 / 2 = 3.5 and P = s^2 + 5 s + 4.5. The denominator is
    s (s (s + 3) (s + 3.5) + 2 P), the numerator (s + 2) P. The rise is c, and Gd p R = 1/12.
    """
    model = two_sources().with_(first_cycle="kept")
    loop, rest = model.loop(), model.equilibrium()
    assert loop.num == pytest.approx([1, 7, 14.5, 9])
    assert loop.den == pytest.approx([1, 8.5, 20.5, 9, 0])
    assert rest.feedback_bytes == pytest.approx(24)
    assert rest.queue_bytes == pytest.approx(34)
    assert (rest.current_rate_bps, rest.target_rate_bps) == pytest.approx((6 * 16, 22 * 16))


def test_the_loop_of_plain_aimd_by_hand() -> None:
    # K (s / 2 + 1) = s + 2 over s (s + Gd p F R), where F is 6 octets: 6 / 36 * 0.5 * 6 = 1/2.
    loop = two_sources().without_averaging()
    assert loop.num == pytest.approx([1, 2])
    assert loop.den == pytest.approx([1, 0.5, 0])


def test_full_feedback_of_qcn_has_the_change_of_the_queue_in_it() -> None:
    # Six octets of feedback are full feedback where (1 + 2 * 3) Qeq is.
    edge = two_sources().equilibrium().feedback_bytes / 7
    rest = two_sources().with_(set_point_bytes=1.001 * edge).equilibrium()
    assert rest.feedback_bytes == pytest.approx(6)
    with pytest.raises(qcnlab.AnalysisError, match=r"of 6 B .* full feedback is 5\.99 B"):
        two_sources().with_(set_point_bytes=0.998 * edge).equilibrium()


def test_the_spread_of_arrivals_weighs_two_samples() -> None:
    # Twelve sources move the queue by one frame; 4 and 3 of it are 5 together.
    assert Qcn(sources=12, frame_bytes=1000, w=3).arrival_spread_bytes == pytest.approx(5000)


def test_a_queue_of_rest_at_c_thigh_is_one() -> None:
    # Twice C Tlow, since N delta = beta C, and C Thigh is twice C Tlow.
    model = Timely(
        sources=2, capacity_bps=8, delta_bps=2, beta=0.5, t_low_s=1, t_high_s=2, segment_bytes=1
    )
    assert model.equilibrium().queue_bytes == 2
    with pytest.raises(qcnlab.AnalysisError, match="above C Thigh"):
        model.with_(t_high_s=1.99).equilibrium()
