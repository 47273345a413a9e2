"""A scenario's packets beside its models: margins, critical RTTs, and the fluid over the trace."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from qcnlab._core import AnalysisError
from qcnlab.analysis import fluid as fluids
from qcnlab.analysis import modelled
from qcnlab.analysis.responses import Response, Trajectory
from qcnlab.analysis.verdict import Verdict

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

    from qcnlab.analysis.bottleneck import Contenders, Phase
    from qcnlab.analysis.fluid import Settings, State
    from qcnlab.analysis.model import ScenarioModel
    from qcnlab.analysis.modelled import ModelledScenario
    from qcnlab.api import Scenario
    from qcnlab.results.result import Result

SHOWN_S = 0.2
ROWS = 4000
POINTS, MOST_ROWS = 1000, 2e6


class PhaseSummary(TypedDict):
    """A congested phase as plain values: `loop_delay_s` has the sources' min, mean and max."""

    name: str
    start_s: float
    end_s: float
    capacity_bps: float
    loop_delay_s: dict[str, float]


class VerdictSummary(PhaseSummary):
    """What linear theory says of a phase; loops and critical RTTs, s, by the names of loops."""

    parameters: Settings
    equilibrium: dict[str, float]
    loops: dict[str, dict[str, object]]
    critical_rtt: dict[str, list[float | None]]


class OverlaySummary(TypedDict):
    """An overlay as plain values; `drawn` is a phase with what `Overlay.comparison` returns."""

    scenario: str
    title: str
    scheme: str
    port: str
    left_out: list[str]
    phases: list[VerdictSummary]
    drawn: dict[str, object]


@dataclass(frozen=True)
class Overlay:
    """Packets and theory of one scenario. Comes from `qcnlab.analysis.overlay`."""

    scenario: ModelledScenario
    """The scenario as a model sees it."""
    verdicts: tuple[Verdict, ...]
    """One for each capacity at which the port is congested."""
    phase: Phase
    """The phase that is drawn."""
    packets: Response
    """Packet trace of the drawn phase: `time_s`, `queue_bytes`; of replication 0."""
    packet_rates: Response
    """`time_s`, `rate_bps`: sum of the sources' current rates, each at most its offered rate."""
    fluid: Trajectory
    """The fluid model over the same time, from the packets' state at its start."""
    result: Result
    """The run itself."""

    def summary(self) -> OverlaySummary:
        """Return everything but the trajectories as plain values, for JSON."""
        return {
            "scenario": self.scenario.name,
            "title": self.scenario.title,
            "scheme": self.scenario.scheme,
            "port": self.scenario.bottleneck.port,
            "left_out": list(self.scenario.left_out()),
            "phases": [
                {
                    **_plain(self.scenario, each.phase),
                    "parameters": each.model.parameters(),
                    "equilibrium": asdict(each.equilibrium),
                    "loops": {name: asdict(margins) for name, margins in each.loops.items()},
                    "critical_rtt": {
                        name: [None if math.isnan(value) else value for value in values]
                        for name, values in each.critical_delays().columns.items()
                    },
                }
                for each in self.verdicts
            ],
            "drawn": {**_plain(self.scenario, self.phase), **self.comparison()},
        }

    def comparison(self) -> dict[str, float]:
        """Return mean and deviation of the queue and its share of empty samples.

        Returns
        -------
        dict of str to float
            For `packets` and `fluid`, over the second half of the drawn time; keys end in units.
        """
        half = (self.fluid["time_s"][0] + self.fluid["time_s"][-1]) / 2
        answer: dict[str, float] = {}
        for name, trace in (("packets", self.packets), ("fluid", self.fluid)):
            queue = trace["queue_bytes"][trace["time_s"] >= half]
            answer[f"{name}_queue_mean_bytes"] = float(queue.mean())
            answer[f"{name}_queue_std_bytes"] = float(queue.std())
            answer[f"{name}_queue_empty_frac"] = float((queue < 1).mean())
        return answer

    def plot(self) -> Figure:
        """Return a figure of queue and rates, the fluid over the packets."""
        from qcnlab.analysis.overlay_figure import overlay_figure

        return overlay_figure(self)


def overlay(scenario: Scenario, *, seed: int | None = None, shown_s: float = SHOWN_S) -> Overlay:
    """Run one replication of a scenario and lay the models of its bottleneck beside it.

    The first hotspot is drawn, or the first congested time after the warm-up if there is none. The
    fluid starts there from the packets' queue and mean rates; QCN's feedback is spread by arrivals
    (`Qcn.arrival_spread_bytes`).

    Parameters
    ----------
    scenario : Scenario
        On any topology, with one congested port (`Scenario.bottleneck`) and a scheme that a model
        describes: qcn, qcn_byte_counter, ecm or dcqcn.
    seed : int, optional
        By default the scenario's own.
    shown_s : float
        The longest time that is drawn, s.

    Returns
    -------
    Overlay
        Margins, critical delays, and the trajectories of packets and fluid.

    Raises
    ------
    AnalysisError
        No model describes the scenario, or not just one port is congested.

    Examples
    --------
    >>> import qcnlab
    >>> scenario = qcnlab.load("one-source-into-9g-rtt200us")
    >>> answer = overlay(scenario.with_("warmup=0.1 s", "duration=0.2 s"), shown_s=0.05)
    >>> answer.phase.name, answer.verdicts[0].loops["as published"].stable
    ('whole run', False)
    """
    from qcnlab.api import run

    known = modelled.read(scenario)
    phase = known.congested()
    model = known.model(phase)
    model.loops()
    end = min(phase.end_s, phase.start_s + shown_s)
    drawn_s = end - phase.start_s
    result = run(_recorded(scenario, known, drawn_s), reps=1, seed=seed)
    sources = _rates(result, known.contenders(phase))
    packets, rates = _trace(result, sources, phase.start_s, end)
    fluid = model.fluid(
        drawn_s,
        every_s=drawn_s / ROWS,
        start=_start(result, sources, phase.start_s, model),
        line_rate_bps=known.line_rate_bps(phase),
        min_rate_bps=known.base["scheme"]["rp"]["min_rate"],
        **_buffer(known, model),
        **model.noise(),
    )
    shifted = {**fluid.columns, "time_s": fluid["time_s"] + phase.start_s}
    return Overlay(
        scenario=known,
        verdicts=_verdicts(known),
        phase=phase,
        packets=packets,
        packet_rates=rates,
        fluid=replace(fluid, columns=shifted),
        result=result,
    )


def _plain(known: ModelledScenario, phase: Phase) -> PhaseSummary:
    """Return a congested phase as plain values: times, capacity, and the sources' delays."""
    return {
        "name": phase.name,
        "start_s": phase.start_s,
        "end_s": phase.end_s,
        "capacity_bps": phase.capacity_bps,
        "loop_delay_s": asdict(known.feedback_delay(phase)),
    }


def _verdicts(known: ModelledScenario) -> tuple[Verdict, ...]:
    verdicts: dict[float, Verdict] = {}
    for phase in sorted(known.phases, key=lambda each: each != known.congested()):
        if phase.capacity_bps in verdicts:
            continue
        try:
            model = known.model(phase)
            loops, equilibrium = model.loops(), model.equilibrium()
        except AnalysisError:
            continue
        margins = {name: loop.margins() for name, loop in loops.items()}
        verdicts[phase.capacity_bps] = Verdict(phase, model, margins, equilibrium)
    return tuple(verdicts.values())


def _buffer(known: ModelledScenario, model: ScenarioModel) -> dict[str, float]:
    """Return the port's buffer for a fluid model that has one."""
    buffer = known.bottleneck.buffer_bytes
    has_one = "buffer_bytes" in fluids.defaults(model.fluid_name)
    return {"buffer_bytes": buffer} if has_one and buffer is not None else {}


def _recorded(scenario: Scenario, known: ModelledScenario, shown_s: float) -> Scenario:
    """Return the scenario with traces fine enough for the figure and short enough for memory."""
    port, flows = known.bottleneck.port, known.bottleneck.flows
    every_s = max(shown_s / POINTS, known.base["duration"] * flows / MOST_ROWS)
    changes: dict[str, object] = {
        "record.tables": True,
        "record.bottleneck": port,
        "record.queues": port,
    }
    for key in ("queue_every", "rates_every"):
        own_s = known.base["record"][key]
        changes[f"record.{key}"] = f"{min(own_s, every_s) * 1e9:.0f} ns"
    return scenario.with_(changes)


def _rates(result: Result, contenders: Contenders) -> pl.DataFrame:
    """Return the contenders' rates, each at most its offered rate."""
    import polars as pl

    offered = contenders.sends_bps
    sends = pl.DataFrame({"source": list(offered), "most": list(offered.values())})
    rates = result.rates.to_polars().with_columns(pl.col("source").cast(pl.String))
    current = pl.col("current_rate_bps").cast(pl.Float64)
    return rates.join(sends, on="source").with_columns(pl.min_horizontal(current, "most"))


def _trace(
    result: Result, sources: pl.DataFrame, start: float, end: float
) -> tuple[Response, Response]:
    import polars as pl

    inside = pl.col("time_s").is_between(start, end)
    queue = result.queues.to_polars().filter(inside).sort("time_s")
    rates = (
        sources.filter(inside)
        .group_by("time_s")
        .agg(pl.col("current_rate_bps").sum().alias("rate_bps"))
        .sort("time_s")
    )
    both = []
    for frame, name, unit in ((queue, "queue_bytes", "B"), (rates, "rate_bps", "bit/s")):
        columns = {key: frame[key].to_numpy().astype(np.float64) for key in ("time_s", name)}
        both.append(Response("packets", columns, {"time_s": "s", name: unit}))
    return both[0], both[1]


def _start(result: Result, sources: pl.DataFrame, at: float, model: ScenarioModel) -> State:
    """Return the fluid's initial state: the packets' at the last sample up to `at`."""
    import polars as pl

    def last(frame: pl.DataFrame) -> pl.DataFrame:
        before = frame.filter(pl.col("time_s") <= at)
        kept = before if len(before) else frame
        when = kept["time_s"].max() if len(before) else kept["time_s"].min()
        return kept.filter(pl.col("time_s") == when)

    rates = last(sources)
    return model.initial(
        _mean(last(result.queues.to_polars())["queue_bytes"]),
        _mean(rates["current_rate_bps"]),
        _mean(rates["target_rate_bps"]),
    )


def _mean(column: Any) -> float:
    return float(column.mean())
