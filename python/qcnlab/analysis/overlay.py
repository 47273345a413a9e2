"""A scenario's packets beside its models: margins, critical RTTs, and the fluid over the trace."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qcnlab._core import AnalysisError
from qcnlab.analysis import setting
from qcnlab.analysis.dcqcn import Dcqcn
from qcnlab.analysis.loops import Margins
from qcnlab.analysis.qcn import Qcn
from qcnlab.analysis.responses import Response, Trajectory
from qcnlab.facts import base

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

    from qcnlab.analysis.place import Crowd, Phase
    from qcnlab.analysis.setting import Model, Setting
    from qcnlab.api import Scenario
    from qcnlab.results import Result

SOURCES = (1, 2, 5, 10, 20, 50, 100, 400)
SHOWN_S = 0.2
ROWS = 4000
POINTS, MOST_ROWS = 1000, 2e6


@dataclass(frozen=True)
class Verdict:
    """What linear theory says of one phase of a scenario."""

    phase: Phase
    """When, and at which capacity."""
    model: Model
    """The model at the scenario's parameters."""
    loops: dict[str, Margins]
    """Loop to margins: two readings of QCN's first cycle, or ECM's two regions."""
    equilibrium: dict[str, float]
    """Where it rests; keys end in their unit."""

    def critical_delays(self) -> Response:
        """Give the critical RTT for other N: `sources`, and a column, s, for each loop."""
        columns: dict[str, Any] = {"sources": np.array(SOURCES, dtype=float)}
        for name in self.loops:
            found_s = [_critical_delay(self.model.with_(sources=n), name) for n in SOURCES]
            column = f"{name.replace(' ', '_')}_s"
            columns[column] = np.array([math.nan if each is None else each for each in found_s])
        units = {name: "s" for name in columns if name != "sources"}
        return Response(f"Critical RTT, {self.phase.capacity_bps / 1e9:g} Gb/s", columns, units)


@dataclass(frozen=True)
class Overlay:
    """Packets and theory of one scenario. Comes from `qcnlab.analysis.overlay`."""

    setting: Setting
    """The scenario as a model sees it."""
    verdicts: tuple[Verdict, ...]
    """One for each capacity, as far as it is congested."""
    phase: Phase
    """The phase that is drawn."""
    packets: Response
    """Packet trace of the drawn phase: `time_s`, `queue_bytes`; of replication 0."""
    packet_rates: Response
    """`time_s`, `rate_bps`: current rates of all sources together, each at most what it sends."""
    fluid: Trajectory
    """The fluid model over the same time, from the packets' state at its start."""
    result: Result
    """The run itself."""

    def summary(self) -> dict[str, Any]:
        """Give everything but the trajectories as plain values, for JSON."""
        return {
            "scenario": self.setting.name,
            "title": self.setting.title,
            "scheme": self.setting.scheme,
            "port": self.setting.place.port,
            "left_out": list(self.setting.left_out()),
            "phases": [
                {
                    **_plain(self.setting, each.phase),
                    "parameters": each.model.parameters(),
                    "equilibrium": each.equilibrium,
                    "loops": {name: asdict(margins) for name, margins in each.loops.items()},
                    "critical_rtt": {
                        name: [None if math.isnan(value) else value for value in values]
                        for name, values in each.critical_delays().columns.items()
                    },
                }
                for each in self.verdicts
            ],
            "drawn": {**_plain(self.setting, self.phase), **self.comparison()},
        }

    def comparison(self) -> dict[str, float]:
        """Compare packets and fluid over the second half of what is drawn; keys end in units."""
        half = (self.fluid["time_s"][0] + self.fluid["time_s"][-1]) / 2
        answer: dict[str, float] = {}
        for name, given in (("packets", self.packets), ("fluid", self.fluid)):
            queue = given["queue_bytes"][given["time_s"] >= half]
            answer[f"{name}_queue_mean_bytes"] = float(queue.mean())
            answer[f"{name}_queue_std_bytes"] = float(queue.std())
            answer[f"{name}_queue_empty_frac"] = float((queue < 1).mean())
        return answer

    def plot(self) -> Figure:
        """Draw queue and rates, the fluid over the packets."""
        from qcnlab.analysis.overlay_figure import overlay_figure

        return overlay_figure(self)


def overlay(scenario: Scenario, *, seed: int | None = None, shown_s: float = SHOWN_S) -> Overlay:
    """Run one replication of a single-bottleneck scenario and lay its models beside it.

    The scheme is qcn, qcn_byte_counter, ecm or dcqcn, on any topology, with one congested port
    (`Scenario.bottleneck`). Drawn is the first hotspot, or the first congested time after the
    warm-up if there is none, at most `shown_s` seconds; the fluid starts there from the packets'
    queue and mean rates, QCN's feedback spread by arrivals (`Qcn.arrival_spread_bytes`). `seed`:
    the scenario's own if not given. Raises `AnalysisError` if no model describes the scenario, or
    not just one port is congested.
    """
    import qcnlab

    known = setting.read(scenario)
    phase = known.congested()
    model = known.model(phase)
    loops_of(model)
    end = min(phase.end_s, phase.start_s + shown_s)
    result = qcnlab.run(_recorded(scenario, known, end - phase.start_s), reps=1, seed=seed)
    sources = _rates(result, known.crowd(phase))
    packets, rates = _trace(result, sources, phase.start_s, end)
    fluid = model.fluid(
        end - phase.start_s,
        every_s=(end - phase.start_s) / ROWS,
        start=_start(result, sources, phase.start_s, model),
        line_rate_bps=known.line_rate_bps(phase),
        min_rate_bps=base(known.tree["scheme"]["rp"]["min_rate"]),
        **({} if isinstance(model, Dcqcn) else _buffer(known)),
        **_noise(model),
    )
    shifted = {**fluid.columns, "time_s": fluid["time_s"] + phase.start_s}
    return Overlay(
        setting=known,
        verdicts=_verdicts(known),
        phase=phase,
        packets=packets,
        packet_rates=rates,
        fluid=Trajectory(fluid.title, shifted, fluid.units, fluid.model),
        result=result,
    )


def _plain(known: Setting, phase: Phase) -> dict[str, Any]:
    """Give a congested phase as plain values: times, capacity, and the sources' loop delays."""
    return {
        "name": phase.name,
        "start_s": phase.start_s,
        "end_s": phase.end_s,
        "capacity_bps": phase.capacity_bps,
        "loop_delay_s": asdict(known.crowd(phase).delay_s(known.scheme)),
    }


def _critical_delay(model: Model, name: str) -> float | None:
    """Give the critical RTT, s; `None` too where DCQCN's ramp is saturated and nothing rests."""
    try:
        critical: float | None = loops_of(model)[name].critical_delay()
    except AnalysisError:
        if isinstance(model, Dcqcn):
            return None
        raise
    return critical


def loops_of(model: Model) -> dict[str, Any]:
    """Give a model's open loops by name."""
    if isinstance(model, Qcn):
        published = model.with_(first_cycle="restarted")
        return {"as published": published.loop(), "first cycle kept": model.loop()}
    if isinstance(model, Dcqcn):
        return {"as published": model.loop()}
    return {"increase": model.loop("increase"), "decrease": model.loop("decrease")}


def _verdicts(known: Setting) -> tuple[Verdict, ...]:
    found: dict[float, Verdict] = {}
    for phase in sorted(known.phases, key=lambda each: each != known.congested()):
        if phase.capacity_bps in found:
            continue
        try:
            model = known.model(phase)
            loops = loops_of(model)
        except AnalysisError:
            continue
        margins = {name: loop.margins() for name, loop in loops.items()}
        found[phase.capacity_bps] = Verdict(phase, model, margins, _equilibrium(model))
    return tuple(found.values())


def _equilibrium(model: Model) -> dict[str, float]:
    if isinstance(model, Qcn):
        return asdict(model.equilibrium())
    if isinstance(model, Dcqcn):
        rest = asdict(model.fixed_point())
        return {"current_rate_bps": rest.pop("rate_bps"), **rest}
    return {
        "queue_bytes": model.set_point_bytes,
        "current_rate_bps": model.capacity_bps / model.sources,
    }


def _buffer(known: Setting) -> dict[str, float]:
    buffer = known.place.buffer_bytes
    return {} if buffer is None else {"buffer_bytes": buffer}


def _noise(model: Model) -> dict[str, float]:
    return {"feedback_spread_bytes": model.arrival_spread_bytes} if isinstance(model, Qcn) else {}


def _recorded(scenario: Scenario, known: Setting, shown_s: float) -> Scenario:
    """Give the scenario with traces fine enough for the figure, and short enough for memory."""
    duration, place = base(known.tree["duration"]), known.place
    every_s = max(shown_s / POINTS, duration * place.flows / MOST_ROWS)
    changes: dict[str, Any] = {"record.tables": True}
    changes |= {"record.bottleneck": place.port, "record.queues": place.port}
    for key in ("queue_every", "rates_every"):
        given_s = base(known.tree["record"][key])
        changes[f"record.{key}"] = f"{min(given_s, every_s) * 1e9:.0f} ns"
    return scenario.with_(changes)


def _rates(result: Result, crowd: Crowd) -> pl.DataFrame:
    """Give the rates of the sources at the congested port, each at most what it sends."""
    import polars as pl

    sends = pl.DataFrame({"source": list(crowd.sends_bps), "most": list(crowd.sends_bps.values())})
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


def _start(result: Result, sources: pl.DataFrame, at: float, model: Model) -> dict[str, Any]:
    """Give queue and mean rates of the packets at the time nearest before `at`."""
    import polars as pl

    def last(frame: pl.DataFrame) -> pl.DataFrame:
        before = frame.filter(pl.col("time_s") <= at)
        kept = before if len(before) else frame
        when = kept["time_s"].max() if len(before) else kept["time_s"].min()
        return kept.filter(pl.col("time_s") == when)

    rates = last(sources)
    start: dict[str, Any] = {
        "queue_bytes": _mean(last(result.queues.to_polars())["queue_bytes"]),
        "current_rate_bps": _mean(rates["current_rate_bps"]),
    }
    if isinstance(model, Dcqcn):
        start["rates_bps"] = [start.pop("current_rate_bps")] * model.sources
    if isinstance(model, Qcn):
        start["target_rate_bps"] = _mean(rates["target_rate_bps"])
    return start


def _mean(column: Any) -> float:
    return float(column.mean())
