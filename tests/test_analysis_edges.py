"""The search for the edge of stability: its RTTs, starts, swings, stars, text and numbers."""

from __future__ import annotations

import contextlib
import math
import re
import sys
from dataclasses import replace
from inspect import signature
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

import qcnlab
from modelled_bottleneck import CONTENDERS, all_of, known, phase
from qcnlab.analysis import Boundary, Dcqcn, Ecm, Qcn, boundary, command, modelled
from qcnlab.analysis.boundary import (
    _fluid_swings,
    _line_rate,
    _linear,
    _packets_std,
    _rtts_s,
    _star,
    beyond_noise,
    edge,
)
from qcnlab.analysis.model import ScenarioModel
from qcnlab.analysis.overlay import _verdicts
from qcnlab.analysis.responses import Response, Trajectory
from qcnlab.figures import plots
from qcnlab.printing import progress

HOTSPOT = "og-hotspot-2src-10g-to-500m-rtt200us"
NAN = math.nan


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


def test_the_swing_of_the_fluid_is_its_smallest_and_largest_of_several_starts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A queue of level -+ swing from 0.5 s on; the delay is the swing, in levels of 10 B.

    The bar of the progress has come to 0, 1, 2 and 3 quarters where two models have two delays.
    """
    parts: list[float] = []
    monkeypatch.setattr(progress, "Bar", lambda _: contextlib.nullcontext(parts.append))

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
    assert parts == [0, 0.25, 0.5, 0.75]
    alone: Any = [Swinging([1])]
    assert _fluid_swings(alone, levels[:1], rtts, [7e9], noise=True)[1] is None
    # Sources that rest nowhere are not run, from whatever start.
    assert _fluid_swings(models[1:], levels[1:], rtts, [7e9], noise=True)[1] is None


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
    just = replace(asked, fluid_swing=np.array([[0.25, 0.24]]),
                   fluid_largest_swing=np.array([[0.3, 0.25]]))  # fmt: skip
    assert just.bistable().tolist() == [[False, True]]
    assert not edges().bistable().any()


def test_a_swing_of_just_a_quarter_is_at_the_edge() -> None:
    # From 0.05 at 100 us to 0.25 at 200 us, which is the edge itself.
    at = edges(packets_swing=np.array([[0.05, 0.25]]), rtts_s=(1e-4, 2e-4))
    assert at.behaviour("packets") == ("turns unstable",)
    assert edge(at.rtts_s, at.packets_swing[0]) == pytest.approx(2e-4)


def test_the_critical_delays_of_a_phase_have_a_row_for_each_loop() -> None:
    columns = {
        "sources": np.array([1.0, 2.0]),
        "as_published_s": np.array([2e-4, NAN]),
        "first_cycle_kept_s": np.array([3e-4, 1e-3]),
    }
    told: Any = SimpleNamespace(critical_delays=lambda: Response("t", columns, {}))
    rows = [re.split(r" {2,}", line.strip()) for line in command._critical_text(told).splitlines()]
    assert rows[0] == ["critical RTT at N =", "1", "2"]
    assert rows[-2:] == [
        ["as published", "200 us", "none"], ["first cycle kept", "300 us", "1 ms"],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("delay_s", "stable"), [(2e-5, {True}), (5e-3, {True, False}), (5e-2, {False})]
)
def test_the_gain_margin_of_a_phase_with_an_unstable_loop_is_explained(
    delay_s: float, stable: set[bool]
) -> None:
    # Twenty times the critical delays at 10 Gb/s are about 5 ms at 0.5 Gb/s.
    at = phase("hotspot", 5e8, replace(CONTENDERS, loop_delay_s=all_of(delay_s)))
    (verdict,) = _verdicts(known(at))
    assert {each.stable for each in verdict.loops.values()} == stable
    said = command._verdict_text(known(at), verdict)
    assert ("gain margin of an unstable loop" in said) == (False in stable)


def test_the_written_summary_is_json_that_people_and_programs_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    """Letters stay letters; what is no number is no JSON."""
    monkeypatch.setattr(plots, "save", lambda figure, path: None)
    scenario: Any = SimpleNamespace(to_toml=lambda: "title = 'é'")
    figure: Any = None
    command._write(tmp_path, scenario, {"title": "Überlast"}, "overlay", figure)
    written = (tmp_path / "analysis.json").read_text(encoding="utf-8")
    assert written == '{\n  "title": "Überlast"\n}\n'
    assert (tmp_path / "config.toml").read_text(encoding="utf-8") == "title = 'é'"
    with pytest.raises(ValueError, match="not JSON compliant"):
        command._write(tmp_path, scenario, {"edge": NAN}, "overlay", figure)


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
    # Where the fluid swings at the first RTT too, nothing is taken off: 3.3 B are 1e-4 levels.
    deviations = iter([3.3, 3.3e3, 33e3])
    fluid = np.array([[0.25, 0.5, 0.5]])
    answer = boundary(qcnlab.load(HOTSPOT), sources=(2,), rtts_s=[1e-4, 2e-4, 4e-4], reps=1)
    assert answer.packets_swing[0] == pytest.approx([1e-4, 0.1, 1.0])
    deviations = iter([3.3e3] * 3)
    boundary(qcnlab.load(HOTSPOT), sources=(2,), rtts_s=[1e-4, 2e-4, 4e-4])
    assert ran[-1][1] == {"reps": 3, "seed": None, "jobs": None}


def test_a_sweep_has_two_to_a_hundred_sources_by_default() -> None:
    assert signature(boundary).parameters["sources"].default == (2, 5, 10, 20, 50, 100)


def test_one_source_and_one_replication_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    from qcnlab import api

    source = sys.modules[boundary.__module__]
    monkeypatch.setattr(api, "run_many", lambda stars, **_: [None for _ in stars])
    monkeypatch.setattr(source, "_packets_std", lambda _: 0.0)
    monkeypatch.setattr(source, "_fluid_swings", lambda *_: (np.zeros((1, 2)), None))
    answer = boundary(qcnlab.load(HOTSPOT), sources=(1,), rtts_s=[1e-9, 1e-4], reps=1)
    assert answer["sources"].tolist() == [1]
    with pytest.raises(qcnlab.AnalysisError, match="flows_factor is 0; it must be 1 or more"):
        boundary(qcnlab.load(HOTSPOT), flows_factor=0)


def test_a_deviation_of_growth_times_the_noise_is_confirmed() -> None:
    # 5 is 1.25 times 4: sqrt(5^2 - 4^2) = 3 of a level of 10. 4.99 is less: cut to just below.
    told = beyond_noise(np.array([5.0, 4.99]), np.array([4.0]), np.array([10.0]))
    assert told.tolist() == [0.3, np.nextafter(0.25, 0)]
    # 13 is less than 1.25 times 12: sqrt(13^2 - 12^2) = 5 is just a quarter of 20, and cut too.
    told = beyond_noise(np.array([13.0]), np.array([12.0]), np.array([20.0]))
    assert told.tolist() == [np.nextafter(0.25, 0)]


def test_feedback_of_full_size_is_a_state_of_rest() -> None:
    """Without w full feedback is the set point, and what rest needs does not depend on it."""
    model = Qcn(sources=10, w=0, gain_per_byte=1e-6, set_point_bytes=1e9)
    needed = model.equilibrium().feedback_bytes
    full = model.with_(set_point_bytes=needed)
    assert full.equilibrium().queue_bytes == 2 * needed
    more = model.with_(set_point_bytes=np.nextafter(needed, 0))
    with pytest.raises(qcnlab.AnalysisError, match="no equilibrium: 10 sources need feedback"):
        more.equilibrium()


def test_the_level_of_a_model_without_rest_is_no_number() -> None:
    # Sources beyond the ramp of marks of the default parameters.
    model = Dcqcn(sources=10_000)
    with pytest.raises(qcnlab.AnalysisError, match="no equilibrium"):
        model.equilibrium()
    assert math.isnan(model.queue_level())
    few = model.with_(sources=2)
    assert few.queue_level() == few.equilibrium().queue_bytes


def test_a_sweep_of_sources_that_rest_nowhere_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    # 64 sources need more marks than the published ramp has; with two of them besides they are run.
    from qcnlab import api

    ran: list[int] = []

    def run_many(stars: Any, **arguments: Any) -> list[None]:
        ran.append(len(stars))
        return [None] * len(stars)

    monkeypatch.setattr(api, "run_many", run_many)
    source = sys.modules[boundary.__module__]
    monkeypatch.setattr(source, "_packets_std", lambda _: 0.0)
    monkeypatch.setattr(source, "_fluid_swings", lambda *_: (np.zeros((2, 2)), None))
    change = {"scheme.name": "dcqcn", "scheme.preset": "SIGCOMM2015", "scheme.cp.p_max": 0.01}
    scenario = qcnlab.load(HOTSPOT).with_(change)
    with pytest.raises(qcnlab.AnalysisError, match=r"the ramp ends at p_max 0\.01"):
        boundary(scenario, sources=(640,), rtts_s=[1e-5, 1e-4], reps=1)
    assert ran == []
    boundary(scenario, sources=(2, 640), rtts_s=[1e-5, 1e-4], reps=1)
    assert ran == [2]


def test_a_sweep_of_many_flows_counts_their_deviation_for_one_times_the_flows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of four times the flows a queue deviates by 0 and by two levels: half a level for one."""
    from qcnlab import api

    scenario = qcnlab.load(HOTSPOT).with_(
        {"scheme.name": "dcqcn", "scheme.preset": "SIGCOMM2015", "scheme.cp.p_max": 0.1}
    )
    read = modelled.read(scenario)
    level = read.model(read.phases[0]).with_(sources=2).queue_level()
    deviations = iter([0.0, 2 * level])
    source = sys.modules[boundary.__module__]
    monkeypatch.setattr(api, "run_many", lambda stars, **_: [None for _ in stars])
    monkeypatch.setattr(source, "_packets_std", lambda _: next(deviations))
    noisy: list[bool] = []

    def fluid(*arguments: Any) -> tuple[Any, None]:
        noisy.append(arguments[-1])
        return np.zeros((1, 2)), None

    monkeypatch.setattr(source, "_fluid_swings", fluid)
    answer = boundary(scenario, sources=(2,), rtts_s=[1e-5, 1e-4], reps=1, flows_factor=4)
    assert noisy == [True]
    assert not answer.has_set_point
    assert answer.packets_swing[0] == pytest.approx([0, 0.5])
    assert answer["packets_s"][0] == pytest.approx(5.5e-5)
