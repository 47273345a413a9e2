"""A scenario simulated and live, side by side, at the same scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars
from matplotlib.figure import Figure

from qcnlab import api, text
from qcnlab.live.running import INVALID, SCALE, run, slowed
from qcnlab.plots import one, source_style, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from qcnlab.api import Scenario
    from qcnlab.results import Result

METRICS = (
    "recovery_ms", "util_before", "util_during", "util_after", "queue_mean_bytes",
    "queue_during_bytes", "queue_max_bytes", "messages", "drops", "jain", "pause_frames",
)  # fmt: skip
"""The metrics that are laid side by side."""


@dataclass(frozen=True)
class Comparison:
    """A scenario simulated and live.

    Attributes
    ----------
    simulated : Result
        The slowed scenario, simulated, all replications.
    live : Result
        The slowed scenario, live.
    scale : int
        By how much it was slowed.
    """

    simulated: Result
    live: Result
    scale: int

    @property
    def valid(self) -> bool:
        """Whether the timing of the live run lies within the limits."""
        return bool(self.live.meta["live"]["timing"]["valid"])

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each metric: both values, and the live one by the simulated median."""
        rows = []
        for name in METRICS:
            simulated = self.simulated.summary["metrics"][name]
            value = self.live.summary["metrics"][name]["median"]
            middle = simulated["median"]
            ratio = value / middle if value is not None and middle else None
            rows.append(
                {
                    "metric": name,
                    "unit": simulated["unit"],
                    "simulated": middle,
                    "simulated_min": simulated["min"],
                    "simulated_max": simulated["max"],
                    "live": value,
                    "ratio": ratio,
                }
            )
        return rows

    def table(self) -> str:
        """Return the rows as text, with the verdict on the live run's timing."""
        rows = []
        for row in self.rows():
            metric = self.simulated.summary["metrics"][row["metric"]]
            live = self.live.summary["metrics"][row["metric"]]
            ratio = "-" if row["ratio"] is None else f"{row['ratio']:.3g}"
            spread, value = text.spread(metric, row["metric"]), text.spread(live, row["metric"])
            rows.append((row["metric"], row["unit"], spread, value, ratio))
        head = ("metric", "unit", "simulated", "live", "live / simulated")
        label = (
            "" if self.valid else f"\n{INVALID}: the numbers of the live run are not to be used."
        )
        return text.table(head, rows, left=2) + label

    def figure(self) -> Figure:
        """Draw throughput, queue and rates of both over the scenario's own time."""
        with style():
            figure = Figure(figsize=(7.2, 6.2), layout="constrained")
            axes = figure.subplots(3, 1, sharex=True)
            for index, (name, result) in enumerate(
                (("simulated", self.simulated), ("live", self.live))
            ):
                line = {**source_style(index), "label": name, "linewidth": 1.0}
                self._draw(axes, result, line)
            for plane, words in zip(
                axes, ("bottleneck, Mb/s", "queue, KB", "mean current rate, Mb/s"), strict=True
            ):
                plane.set_ylabel(words)
            axes[0].legend(loc="lower right")
            axes[-1].set_xlabel(
                f"time of the scenario, ms (the live run took {self.scale} times as long)"
            )
            title = self.simulated.summary["title"] or self.simulated.name
            label = "" if self.valid else f"{INVALID}: "
            figure.suptitle(f"{label}{title}", x=0.01, ha="left")
        return figure

    def _draw(self, axes: Any, result: Result, line: dict[str, Any]) -> None:
        throughput = one(result.throughput.to_polars(), 0)
        _plot(axes[0], _by_time(throughput, "rate_bps", total=True), self.scale, 1e-6, line)
        queues = one(result.queues.to_polars(), 0)
        port = result.summary["bottleneck"]["port"]
        queues = queues.filter(polars.col("port").cast(polars.String) == port)
        _plot(axes[1], _by_time(queues, "queue_bytes", total=True), self.scale, 1e-3, line)
        rates = one(result.rates.to_polars(), 0)
        _plot(axes[2], _by_time(rates, "current_rate_bps", total=False), self.scale, 1e-6, line)


def _by_time(frame: polars.DataFrame, column: str, *, total: bool) -> polars.DataFrame:
    grouped = frame.group_by("time_s", maintain_order=True)
    values = polars.col(column).sum() if total else polars.col(column).mean()
    return grouped.agg(values.alias("value")).sort("time_s")


def _plot(
    axes: Axes, frame: polars.DataFrame, scale: int, unit: float, line: dict[str, Any]
) -> None:
    time_ms = frame["time_s"].to_numpy() * 1e3 / scale
    axes.plot(time_ms, frame["value"].to_numpy() * unit, **line)


def compare(
    scenario: Scenario, *, scale: int = SCALE, seed: int | None = None, reps: int = 5
) -> Comparison:
    """Run a scenario live, and simulate it at the same scale.

    Parameters
    ----------
    scenario : Scenario
        The scenario.
    scale : int, default 100
        As in `qcnlab.live.run`.
    seed : int, optional
        Seed of both; the scenario's own by default.
    reps : int, default 5
        Replications of the simulation; the live run is one.

    Returns
    -------
    Comparison
        Both results.

    Raises
    ------
    Error
        If the machine cannot, or the scenario has what the data plane has not.
    """
    live = run(scenario, scale=scale, seed=seed)
    simulated = api.run(slowed(scenario, scale), reps=reps, seed=seed)
    return Comparison(simulated, live, scale)
