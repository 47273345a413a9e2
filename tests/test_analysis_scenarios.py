"""How models read scenarios, what sweeps and overlays make of traces: by hand, on small tables."""

from __future__ import annotations

import importlib
import math
import pkgutil
import sys
from dataclasses import is_dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

import qcnlab
from qcnlab.analysis import (
    Boundary,
    Dcqcn,
    Ecm,
    Qcn,
    Timely,
    boundary,
    command,
    left_out,
    modelled,
    overlay,
)
from qcnlab.analysis.bottleneck import Contenders, MinMeanMax, Phase
from qcnlab.analysis.boundary import (
    _fluid_swings,
    _line_rate,
    _linear,
    _packets_std,
    _rtts_s,
    _star,
)
from qcnlab.analysis.fluid import trajectory
from qcnlab.analysis.model import ScenarioModel
from qcnlab.analysis.overlay import Overlay, _rates, _start, _trace
from qcnlab.analysis.responses import Response, Trajectory

overlay_module: Any = sys.modules[overlay.__module__]
HOTSPOT = "og-hotspot-2src-10g-to-500m-rtt200us"
NAN = math.nan


def all_of(value: float) -> MinMeanMax:
    return MinMeanMax(value, value, value)


CONTENDERS = Contenders(
    sends_bps={"a": 8e9, "b": 4e9, "c": 6e9},
    traffic=(0,),
    capacity_bps=5e9,
    light=(0, 0.0),
    uncontrolled=(0, 0.0),
    sends=MinMeanMax(4e9, 6e9, 8e9),
    link_bps=10e9,
    frame_bytes=MinMeanMax(1000.0, 1500.0, 2000.0),
    loop_delay_s=MinMeanMax(10e-6, 20e-6, 30e-6),
    round_trip_s=MinMeanMax(40e-6, 50e-6, 60e-6),
)
QCN: dict[str, Any] = {
    "cp": {
        "set_point": 33_000, "w": 2, "fb_bits": 6, "quantizer": "linear", "sample_base": 150_000,
    },
    "rp": {
        "gd": 1 / 128, "byte_reset": 150_000, "threshold": 4, "ai_rate": 6e6, "clock": "both",
        "short_cycles": True, "target_rate_reduction": True,
    },
}  # fmt: skip


def test_models_and_answers_cannot_be_changed() -> None:
    """Every dataclass of the analysis is frozen: `with_` makes another."""
    of_analysis: list[Any] = [
        kind
        for module in pkgutil.iter_modules(qcnlab.analysis.__path__, "qcnlab.analysis.")
        for kind in vars(importlib.import_module(module.name)).values()
        if isinstance(kind, type) and kind.__module__ == module.name and is_dataclass(kind)
    ]
    assert len(of_analysis) > 20
    loose = [kind.__name__ for kind in of_analysis if not kind.__dataclass_params__.frozen]
    assert loose == []


# Values that differ from source to source.


def test_values_are_uniform_but_for_rounding() -> None:
    assert all_of(3.0).uniform and all_of(0.0).uniform
    assert MinMeanMax(2.0, 2.0, 2.0 + 1e-9).uniform
    assert not MinMeanMax(2.0, 2.0, 2.0 + 3e-9).uniform
    assert MinMeanMax(1e-6, 5e-4, 1e-3).spans() == "1 us to 1 ms"


# Models of schemes.


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
    assert model.noise() == {"feedback_spread_bytes": pytest.approx(spread)}
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


def test_a_trajectory_has_4000_rows_after_its_start() -> None:
    run = trajectory("qcn", {}, 0.01)
    assert (len(run), run["time_s"][-1], run.title) == (4001, pytest.approx(0.01), "qcn")
    short = trajectory("qcn", {}, 0.01, every_s=0.001, title="q")
    assert (len(short), short.title) == (11, "q")
    assert short.units["time_s"] == "s"


# What a scenario has and a model has not.


def test_what_of_the_contenders_is_not_in_a_model() -> None:
    alike = replace(
        CONTENDERS, sends=all_of(6e9), frame_bytes=all_of(1500.0), loop_delay_s=all_of(2e-5)
    )
    assert list(left_out.of_contenders(alike, alike.loop_delay_s)) == []
    said = list(left_out.of_contenders(CONTENDERS, CONTENDERS.loop_delay_s))
    assert said == [
        "unequal RTTs (10 us to 30 us; the model takes their mean)",
        "unequal offers (4 to 8 Gb/s; the model takes their mean)",
        "frames of several sizes (1000 to 2000 B; the model takes the mean, 1500 B)",
    ]
    taken = replace(alike, light=(2, 5e8), uncontrolled=(1, 1e9))
    assert list(left_out.of_contenders(taken, taken.loop_delay_s)) == [
        "samples of 2 flows of less than half its fair share, whose 0.5 Gb/s are taken off the "
        "link",
        "samples of 1 flow of what no reaction point slows, whose 1 Gb/s are taken off the link",
    ]


def test_what_of_the_traffic_and_fabric_is_not_in_a_model() -> None:
    tree: dict[str, Any] = {
        "traffic": [
            {"kind": "saturated"},
            {"kind": "poisson"},
            {"kind": "tcp"},
            {"kind": "on_off"},
        ],
        "feedback": {"kind": "ideal"},
    }
    assert list(left_out.of_traffic(tree, CONTENDERS)) == []
    every = replace(CONTENDERS, traffic=(0, 1, 2, 3))
    said = " ".join(left_out.of_traffic(tree, every))
    assert [word in said for word in ("TCP's window", "at random", "mean rate")] == [True] * 3
    assert list(left_out.of_fabric(tree)) == []
    fabric: dict[str, Any] = {
        "feedback": {"kind": "frames"},
        "routing": {"multipath": "frame"},
        "switch": [{"output_buffer": "1 MB"}, {"input_memory": "1 MB"}],
        "pause": {"kind": "none"},
        "adapter": [{"max_rps": 0}],
    }
    assert [words.split()[0] for words in left_out.of_fabric(fabric)] == ["length", "frames", "the"]
    paused = {**tree, "pause": [{"kind": "none"}, {"kind": "pfc"}], "adapter": {"max_rps": 2}}
    assert list(left_out.of_fabric(paused)) == [
        "PAUSE",
        "flows that share a limiter, but for their number",
    ]
    assert list(left_out.of_fabric({**tree, "routing": {"multipath": "flow"}})) == []


# A scenario as its model sees it.


def phase(name: str, capacity: float, contenders: Contenders | None = CONTENDERS) -> Phase:
    of = None if contenders is None else replace(contenders, capacity_bps=capacity)
    return Phase(name, 0.1, 0.3, capacity, of)


def known(*phases: Phase, **receiver: Any) -> Any:
    base = {"scheme": {**QCN, "rp": QCN["rp"] | {"min_rate": 1e7} | receiver}, "duration": 1.0}
    tree = {
        "scheme": {"name": "qcn"},
        "traffic": [{"kind": "saturated"}],
        "feedback": {"kind": "ideal"},
    }
    port = SimpleNamespace(port="a->b", phases=phases, flows=3, buffer_bytes=150e3)
    return modelled.ModelledScenario("s", "S", port, tree, base, Qcn)  # type: ignore[arg-type]


def test_the_first_congested_hotspot_is_analysed_else_the_first_congested_phase() -> None:
    calm = phase("outside the hotspot", 10e9, None)
    free, hot, later = (
        phase("outside the hotspot", 10e9),
        phase("hotspot", 5e8),
        phase("hotspot", 1e9),
    )
    assert known(calm, free, hot, later).congested() is hot
    assert known(calm, free).congested() is free
    assert known(calm, phase("hotspot", 1e9, None), free).congested() is free
    with pytest.raises(qcnlab.AnalysisError, match="s, hotspot: no equilibrium: a->b is not cong"):
        known(free).contenders(phase("hotspot", 1e9, None))


def test_limiters_must_let_more_pass_than_the_port_carries() -> None:
    # Three sources of 6 Gb/s on average: 18 Gb/s, or three times their limit.
    at = phase("hotspot", 3e9)
    assert known(at).line_rate_bps(at) == 6e9
    assert known(at, max_rate=2e9).line_rate_bps(at) == 2e9
    assert known(at, max_rate=9e9).line_rate_bps(at) == 6e9
    assert known(at, max_rate=1.001e9).model(at).capacity_bps == 3e9
    with pytest.raises(qcnlab.AnalysisError, match=r"at most 3 Gb/s pass and a->b carries 3 Gb/s"):
        known(at, max_rate=1e9).model(at)
    assert known(at).feedback_delay(at).mean == 20e-6


# Sweeps.


def test_the_rtts_of_a_sweep_are_about_the_median_edge() -> None:
    assert _rtts_s(np.array([1e-4, 3e-4, NAN, 2e-4])) == pytest.approx(
        [2e-5, 1e-4, 1.4e-4, 1.7e-4, 2e-4, 2.3e-4, 2.6e-4, 3e-4, 3.4e-4, 4e-4, 4.6e-4]
    )
    # Without an edge, and with one at 0, 40 us stand for it.
    for none in ([NAN], [0.0, NAN]):
        assert _rtts_s(np.array(none))[4] == pytest.approx(40e-6)
    # Whole nanoseconds.
    assert _rtts_s(np.array([1.23456789e-4]))[4] == 1.23457e-4


def test_no_source_of_qcn_sends_more_than_twice_its_share() -> None:
    def line(link: float, sources: int, kind: type[ScenarioModel]) -> float:
        of: Any = SimpleNamespace(kind=kind)
        return _line_rate(of, replace(CONTENDERS, capacity_bps=5e9, link_bps=link), sources)

    assert (line(10e9, 4, Qcn), line(10e9, 1, Qcn)) == (2.5e9, 10e9)
    # A link slower than the bottleneck stands for one as fast.
    assert (line(1e9, 1, Qcn), line(1e9, 4, Ecm), line(10e9, 4, Ecm)) == (5e9, 5e9, 10e9)


def test_the_edge_of_linear_theory_is_the_first_of_the_published_loops() -> None:
    both = {name: loop.critical_delay() for name, loop in Ecm(sources=2).loops().items()}
    assert _linear(Ecm(sources=2)) == min(both.values())  # type: ignore[type-var]
    assert _linear(Qcn(sources=10, first_cycle="kept")) == pytest.approx(284e-6, rel=0.01)
    assert math.isnan(_linear(Dcqcn(sources=64)))

    class Steady:
        def published_loops(self) -> dict[str, Any]:
            return {"a": qcnlab.analysis.Loop([0.5], [1, 1])}

    assert math.isnan(_linear(Steady()))  # type: ignore[arg-type]


def test_the_swing_of_the_packets_is_the_median_deviation_after_a_second() -> None:
    """Deviations of 1, 3 and 2 from 1 s on; before it, and of the sample, others."""
    frame = pl.DataFrame({
        "replication": [0] * 4 + [1] * 3 + [2] * 2,
        "time_s": [0.5, 0.99, 1.0, 1.5, 0.2, 1.1, 1.2, 1.0, 2.0],
        "queue_bytes": [900, 900, 10, 12, 900, 10, 16, 10, 14],
    })  # fmt: skip
    result = SimpleNamespace(queues=SimpleNamespace(to_polars=lambda: frame))
    assert _packets_std(result) == 2


def test_the_swing_of_the_fluid_is_its_smallest_and_largest_of_several_starts() -> None:
    """A queue of level -+ swing from 0.5 s on; the delay is the swing, in levels of 10 B."""

    class Swinging:
        def __init__(self, starts: list[Any], delay: float = 0.0) -> None:
            self._starts, self.delay = starts, delay

        def with_(self, *, delay_s: float) -> Any:
            return Swinging(self._starts, delay_s)

        def starts(self) -> list[Any]:
            return self._starts

        def edge_switches(self, noise: bool) -> dict[str, Any]:
            return {"noise": noise}

        def fluid(self, end_s: float, *, every_s: float, start: Any, **switches: Any) -> Any:
            assert (end_s, every_s) == (0.8, 20e-6)
            assert switches == {"noise": True, "line_rate_bps": 7e9}
            time = np.array([0.0, 0.4, 0.5, 0.6])
            swing = 10 * self.delay * start
            queue = np.array([1e6, -1e6, 10 - swing, 10 + swing])
            return Trajectory("t", {"time_s": time, "queue_bytes": queue}, {}, "m")

    rtts, levels = [1.0, 3.0], np.array([10.0, NAN])
    models: Any = [Swinging([1, 2]), Swinging([1, 2])]
    least, most = _fluid_swings(models, levels, rtts, [7e9, 7e9], noise=True)
    assert most is not None
    assert least[0].tolist() == [1, 3]
    assert most[0].tolist() == [2, 6]
    assert np.isnan(least[1]).all()
    alone: Any = [Swinging([1])]
    assert _fluid_swings(alone, levels[:1], rtts, [7e9], noise=True)[1] is None


def test_the_star_of_a_sweep() -> None:
    scenario = modelled.read(qcnlab.load(HOTSPOT))
    contenders = replace(CONTENDERS, capacity_bps=5e8, frame_bytes=all_of(1200.0))
    star = _star(scenario, contenders, Qcn(sources=4), 150e-6).to_dict()
    assert (star["duration"], star["warmup"]) == ("2 s", "1 s")
    topology = star["topology"]
    assert (topology["sources"], topology["rate"], topology["rtt"]) == (4, "10 Gb/s", "150 us")
    assert (topology["bottleneck_rate"], topology["buffer"]) == ("500 Mb/s", "1 MB")
    assert star["scheme"]["rp"]["max_rate"] == "250 Mb/s"
    assert star["record"]["queue_every"] == "20 us"
    (traffic,) = star["traffic"]
    assert (traffic["frame"], traffic["start_jitter"]) == ("1200 B", "12 us")


def test_the_star_of_dcqcn_with_more_of_everything() -> None:
    scenario = modelled.read(
        qcnlab.load(HOTSPOT).with_({"scheme.name": "dcqcn", "scheme.preset": "SIGCOMM2015"})
    )
    model = Dcqcn(sources=3, k_min_bytes=5e3, k_max_bytes=2e5)
    star = _star(scenario, replace(CONTENDERS, capacity_bps=4e9), model, 8e-6, 4).to_dict()
    topology = star["topology"]
    assert (topology["sources"], topology["bottleneck_rate"]) == (12, "16 Gb/s")
    assert (topology["buffer"], topology["rate"], topology["sink_delay"]) == (
        "40 MB", "10 Gb/s", "0 s",
    )  # fmt: skip
    marks = star["scheme"]["cp"]
    assert (marks["k_min"], marks["k_max"]) == ("20 KB", "800 KB")


def edges(**changes: Any) -> Boundary:
    """Return edges of 2 and 5 sources over three RTTs; the packets of 5 swing at each."""
    base = Boundary(
        "Edges",
        {
            "sources": np.array([2.0, 5.0]),
            "linear_s": np.array([1.5e-4, NAN]),
            "fluid_s": np.array([2e-4, 1e-4]),
            "packets_s": np.array([3e-4, NAN]),
        },
        {},
        (1e-4, 2e-4, 4e-4),
        np.array([[0.1, 0.2, 0.3], [0.3, 0.4, 0.5]]),
        np.array([[0.1, 0.25, 0.3], [0.2, 0.3, NAN]]),
    )
    return replace(base, **changes)


def test_the_packets_edge_over_the_fluids() -> None:
    ratio = edges().ratio()
    assert ratio[0] == pytest.approx(1.5)
    assert math.isnan(ratio[1])


def test_the_text_of_a_sweep() -> None:
    lines = command._boundary_text(edges()).splitlines()
    cells = [line.split() for line in lines if line.strip().startswith(("2 ", "5 "))]
    assert cells == [
        ["2", "150", "us", "200", "us", "300", "us", "1.50"],
        ["5", "none", "100", "us", "swings", "none"],
    ]
    said = " ".join(lines)
    assert "by a quarter of its set point" in said
    assert "RTTs from 100 us to 400 us were run" in said
    assert "No rest" not in said and "bistable" not in said


def test_the_text_of_a_sweep_without_a_set_point_names_where_the_fluid_is_bistable() -> None:
    largest = np.array([[0.1, 0.6, 0.7], [0.3, 0.6, 0.7]])
    least = np.array([[0.1, 0.1, 0.1], [0.3, 0.1, 0.3]])
    asked = edges(has_set_point=False, fluid_largest_swing=largest, fluid_swing=least)
    said = " ".join(command._boundary_text(asked).split())
    assert "by a quarter of its resting level" in said
    assert "No rest: the ramp of marks ends below what so many sources need." in said
    assert "N = 2: the fluid is bistable from 200 us to 400 us;" in said
    assert "N = 5: the fluid is bistable from 200 us to 200 us;" in said
    # Just a quarter is a swing, from below it is rest.
    edge = replace(asked, fluid_swing=np.array([[0.25, 0.24]]),
                   fluid_largest_swing=np.array([[0.3, 0.25]]))  # fmt: skip
    assert edge.bistable().tolist() == [[False, True]]
    assert not edges().bistable().any()


def test_the_summary_of_a_sweep_has_no_number_where_there_is_no_edge() -> None:
    scenario: Any = SimpleNamespace(name="s")
    summary = command._boundary_summary(scenario, edges())
    assert (summary["scenario"], summary["title"]) == ("s", "Edges")
    assert summary["edges"] == [
        {"sources": 2.0, "linear_s": 1.5e-4, "fluid_s": 2e-4, "packets_s": 3e-4,
         "fluid": "turns unstable", "packets": "turns unstable"},
        {"sources": 5.0, "linear_s": None, "fluid_s": 1e-4, "packets_s": None,
         "fluid": "no rest", "packets": "swings"},
    ]  # fmt: skip
    assert summary["rtts_s"] == [1e-4, 2e-4, 4e-4]
    assert summary["fluid_swing"][1] == [0.2, 0.3, None]
    assert summary["fluid_bistable"] == [[False] * 3] * 2


def test_a_sweep_runs_three_replications_unless_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    asked: list[Any] = []

    def watched(scenario: Any, **arguments: Any) -> Boundary:
        asked.append(arguments)
        return edges()

    monkeypatch.setattr(command, "boundary", watched)
    monkeypatch.setattr(command, "_write", lambda *rest: None)
    scenario: Any = SimpleNamespace(name="s")
    command.sweep(scenario, tmp_path, 7, None, 2)
    command.sweep(scenario, tmp_path, None, 5, None)
    assert asked == [
        {"reps": 3, "seed": 7, "jobs": 2},
        {"reps": 5, "seed": None, "jobs": None},
    ]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"sources": ()}, "one source and one replication"),
        ({"reps": 0}, "one source and one replication"),
        ({"rtts_s": [0.0, 1e-4]}, "must be above 0, rise, and be two or more"),
        ({"rtts_s": [1e-4, 1e-4]}, "must be above 0, rise, and be two or more"),
    ],
)
def test_sweeps_of_nothing_are_refused(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(qcnlab.AnalysisError, match=words):
        boundary(qcnlab.load(HOTSPOT), **arguments)


def test_a_sweep_of_hand_made_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Packets deviate by 3.3, 3.3 and 33 KB; their noise at the first RTT is taken off.

    sqrt(33^2 - 3.3^2) / 33 = 0.995: a quarter is reached from 200 us on by 0.25 / 0.995 of 200 us.
    The fluid stands at 0, 0.5 and 0.5: half way from 100 to 200 us.
    """
    from qcnlab import api

    deviations = iter([3.3e3, 3.3e3, 33e3])
    ran: list[Any] = []

    def run_many(stars: Any, **arguments: Any) -> list[None]:
        ran.append((len(list(stars)), arguments))
        return [None] * 3

    source = sys.modules[boundary.__module__]
    monkeypatch.setattr(api, "run_many", run_many)
    monkeypatch.setattr(source, "_packets_std", lambda _: next(deviations))
    fluid = np.array([[0.0, 0.5, 0.5]])
    monkeypatch.setattr(source, "_fluid_swings", lambda *rest: (fluid, None))
    answer = boundary(
        qcnlab.load(HOTSPOT), sources=(2,), rtts_s=[1e-4, 2e-4, 4e-4], reps=2, seed=3, jobs=1
    )
    assert ran == [(3, {"reps": 2, "seed": 3, "jobs": 1})]
    assert answer.packets_swing[0] == pytest.approx([0, 0, math.sqrt(0.99)])
    assert answer["packets_s"][0] == pytest.approx(2e-4 + 2e-4 * 0.25 / math.sqrt(0.99))
    assert answer["fluid_s"][0] == pytest.approx(1.5e-4)
    assert answer["linear_s"][0] == pytest.approx(212e-6, rel=0.01)
    assert answer["sources"].tolist() == [2]
    assert answer.units == {"linear_s": "s", "fluid_s": "s", "packets_s": "s"}
    assert answer.title == "Edge of stability, qcn, 10 Gb/s, star for switch->sink"
    assert answer.has_set_point and answer.fluid_largest_swing is None
    # Where the fluid swings at the first RTT too, nothing is taken off.
    deviations = iter([3.3e3, 3.3e3, 33e3])
    fluid = np.array([[0.25, 0.5, 0.5]])
    answer = boundary(qcnlab.load(HOTSPOT), sources=(2,), rtts_s=[1e-4, 2e-4, 4e-4], reps=1)
    assert answer.packets_swing[0] == pytest.approx([0.1, 0.1, 1.0])


# Overlays.


def test_the_trace_of_an_overlay_is_the_drawn_time_and_the_sum_of_rates() -> None:
    queues = pl.DataFrame({"time_s": [0.3, 0.1, 0.2, 0.4], "queue_bytes": [3, 1, 2, 4]})
    result: Any = SimpleNamespace(queues=SimpleNamespace(to_polars=lambda: queues))
    sources = pl.DataFrame({
        "time_s": [0.1, 0.1, 0.2, 0.2, 0.3],
        "current_rate_bps": [1e9, 2e9, 3e9, 4e9, 9e9],
    })  # fmt: skip
    queue, rate = _trace(result, sources, 0.1, 0.2)
    assert (queue["time_s"].tolist(), queue["queue_bytes"].tolist()) == ([0.1, 0.2], [1, 2])
    assert (rate["time_s"].tolist(), rate["rate_bps"].tolist()) == ([0.1, 0.2], [3e9, 7e9])
    assert (queue.units, rate.units) == (
        {"time_s": "s", "queue_bytes": "B"}, {"time_s": "s", "rate_bps": "bit/s"},
    )  # fmt: skip


def test_a_source_sends_no_more_than_it_is_offered() -> None:
    frame = pl.DataFrame({
        "source": ["a", "b", "b", "other"],
        "current_rate_bps": [10_000_000_000, 3_000_000_000, 5_000_000_000, 1],
    })  # fmt: skip
    result: Any = SimpleNamespace(rates=SimpleNamespace(to_polars=lambda: frame))
    rates = _rates(result, CONTENDERS)
    assert rates.sort("source", "current_rate_bps")["current_rate_bps"].to_list() == [8e9, 3e9, 4e9]


def test_the_fluid_starts_from_the_last_sample_of_the_packets() -> None:
    queues = pl.DataFrame({"time_s": [0.1, 0.2, 0.3], "queue_bytes": [1, 20, 300]})
    result: Any = SimpleNamespace(queues=SimpleNamespace(to_polars=lambda: queues))
    rates = pl.DataFrame({
        "time_s": [0.1, 0.2, 0.2, 0.3],
        "current_rate_bps": [1e9, 2e9, 4e9, 9e9],
        "target_rate_bps": [1e9, 4e9, 6e9, 9e9],
    })  # fmt: skip
    model = Qcn()
    for at in (0.2, 0.25):
        assert _start(result, rates, at, model) == model.initial(20, 3e9, 5e9)
    # Before all samples: the first.
    assert _start(result, rates, 0.05, model) == model.initial(1, 1e9, 1e9)


def test_the_comparison_is_over_the_second_half_of_what_is_drawn() -> None:
    """From 1 to 3 s: from 2 s on. The packets have 0, 4 and 8 there, the fluid 0.5 and 1."""
    packets = Response(
        "p",
        {"time_s": np.array([1.0, 1.9, 2.0, 2.5, 3.0]), "queue_bytes": np.array([9, 9, 0, 4, 8.0])},
        {},
    )
    fluid = Trajectory(
        "f",
        {"time_s": np.array([1.0, 2.0, 3.0]), "queue_bytes": np.array([7, 0.5, 1.0])},
        {},
        "qcn",
    )
    at = phase("hotspot", 5e8)
    one: Any = None
    asked = Overlay(known(at), (), at, packets, packets, fluid, one)
    assert asked.comparison() == {
        "packets_queue_mean_bytes": 4,
        "packets_queue_std_bytes": pytest.approx(math.sqrt(32 / 3)),
        "packets_queue_empty_frac": pytest.approx(1 / 3),
        "fluid_queue_mean_bytes": 0.75,
        "fluid_queue_std_bytes": 0.25,
        "fluid_queue_empty_frac": 0.5,
    }
    text = command._comparison_text(asked)
    assert text.splitlines()[-1] == "(drawn: 1 s to 3 s)"
    assert [
        line.split() for line in text.splitlines() if line.startswith(("packets", "fluid"))
    ] == [
        ["packets", "0.00", "0.00", "33.3"],
        ["fluid", "0.00", "0.00", "50.0"],
    ]
    summary = asked.summary()
    assert summary["drawn"]["start_s"] == 0.1
    assert summary["drawn"]["end_s"] == 0.3
    assert summary["drawn"]["loop_delay_s"] == {"min": 10e-6, "mean": 20e-6, "max": 30e-6}
    assert (summary["scheme"], summary["port"], summary["phases"]) == ("qcn", "a->b", [])


def test_one_verdict_for_each_capacity_the_analysed_phase_first() -> None:
    free, hot, again = phase("outside the hotspot", 5e9), phase("hotspot", 5e8), phase("x", 5e9)
    calm = phase("outside the hotspot", 10e9, None)
    verdicts = overlay_module._verdicts(known(calm, free, hot, again))
    assert [each.phase for each in verdicts] == [hot, free]
    assert [each.model.capacity_bps for each in verdicts] == [5e8, 5e9]
    critical = verdicts[0].critical_delays()
    assert critical["sources"].tolist() == [1, 2, 5, 10, 20, 50, 100, 400]
    assert critical.units == {"as_published_s": "s", "first_cycle_kept_s": "s"}
    assert critical.title == "Critical RTT, 0.5 Gb/s"
    ten = verdicts[0].model.with_(sources=10).critical_delays()["as published"]
    assert critical["as_published_s"][3] == ten


def test_the_buffer_goes_to_a_fluid_that_has_one() -> None:
    at = known(phase("hotspot", 5e8))
    assert overlay_module._buffer(at, Qcn()) == {"buffer_bytes": 150e3}
    assert overlay_module._buffer(at, Dcqcn()) == {}
    at.bottleneck.buffer_bytes = None
    assert overlay_module._buffer(at, Qcn()) == {}


def test_traces_of_an_overlay_are_fine_enough_and_fit_into_memory() -> None:
    """0.2 s in 1000 points are 200 us; a second of 8000 flows in two million rows is 4 ms."""
    asked: list[Any] = []
    scenario: Any = SimpleNamespace(with_=asked.append)
    at = known(phase("hotspot", 5e8))
    at.base["record"] = {"queue_every": 1e-3, "rates_every": 5e-5}
    overlay_module._recorded(scenario, at, 0.2)
    at.bottleneck.flows = 8000
    at.base["record"] = {"queue_every": 1e-2, "rates_every": 1e-3}
    overlay_module._recorded(scenario, at, 0.2)
    shared = {"record.tables": True, "record.bottleneck": "a->b", "record.queues": "a->b"}
    assert asked == [
        shared | {"record.queue_every": "200000 ns", "record.rates_every": "50000 ns"},
        shared | {"record.queue_every": "4000000 ns", "record.rates_every": "1000000 ns"},
    ]


def test_the_rtt_in_words_names_a_range_where_sources_differ() -> None:
    at = phase("hotspot", 5e8)
    assert command._rtt_text(known(at), at) == "20 us (10 us to 30 us)"
    alike = phase("hotspot", 5e8, replace(CONTENDERS, loop_delay_s=all_of(2e-5)))
    assert command._rtt_text(known(alike), alike) == "20 us"


def test_the_verdict_of_a_phase_in_words() -> None:
    at = phase("hotspot", 5e8)
    all_known = known(at)
    (verdict,) = overlay_module._verdicts(all_known)
    lines = command._verdict_text(all_known, verdict).splitlines()
    assert lines[0] == "hotspot: 3 sources, 0.5 Gb/s, RTT 20 us (10 us to 30 us)"
    rest = verdict.equilibrium
    assert lines[2] == f"rests at {rest.queue_bytes / 1e3:.4g} KB, 0.1667 Gb/s each"
    row = next(line for line in lines if line.startswith("as published")).split()
    margins = verdict.loops["as published"]
    assert row[2] == ("yes" if margins.stable else "no")
    assert row[3] == f"{margins.phase_margin_deg:.1f}"
    assert row[4] == f"{margins.gain_margin:.2f}"
    numbers = next(line for line in lines if line.startswith("critical RTT at N")).split()
    assert numbers[-8:] == ["1", "2", "5", "10", "20", "50", "100", "400"]
