"""A scenario simulated and live, side by side, at the same scale."""

from __future__ import annotations

import statistics
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict

import polars
from matplotlib.figure import Figure

from qcnlab import api
from qcnlab.figures.notebook import ShownFigure
from qcnlab.figures.plots import TITLE, LineStyle, envelope, one, source_style, style
from qcnlab.live.running import INVALID, SCALE, run, slowed
from qcnlab.metrics import MetricValues, having
from qcnlab.printing import text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from qcnlab.api import Scenario
    from qcnlab.results.result import Result

MOST_POINTS = 400
"""Points of a line of the figure: of more the least and the most of each pixel are drawn."""


class SimulatedAndLive(TypedDict):
    """A metric simulated and live: medians, least and most; `ratio` is live by simulated."""

    metric: str
    unit: str
    simulated: float | None
    simulated_min: float | None
    simulated_max: float | None
    live: float | None
    live_min: float | None
    live_max: float | None
    live_values: list[float | None]
    ratio: float | None


@dataclass(frozen=True)
class Comparison:
    """A scenario simulated and live.

    Attributes
    ----------
    simulated : Result
        The slowed scenario, simulated, all replications.
    live : list of Result
        The slowed scenario, live: a result for each run, in the order in which they were made.
    scale : int
        By how much it was slowed.
    """

    simulated: Result
    live: list[Result]
    scale: int

    @property
    def valid(self) -> bool:
        """Whether the timing of a live run at least lies within the limits."""
        return any(_is_valid(run) for run in self.live)

    @property
    def used(self) -> list[Result]:
        """The live runs whose numbers count: those with valid timing, or all where none has it."""
        return [run for run in self.live if _is_valid(run)] or self.live

    def rows(self) -> list[SimulatedAndLive]:
        """Return a row for each metric: medians and spreads of both, and their ratio."""
        rows: list[SimulatedAndLive] = []
        for name in having("live"):
            simulated = self.simulated.summary.metrics[name]
            values = [run.summary.metrics[name].median for run in self.used]
            known = [value for value in values if value is not None]
            value = statistics.median(known) if known else None
            middle = simulated.median
            # Medians of the runs that have a value say nothing where others have none.
            all_known = None not in values and None not in simulated.values
            rows.append(
                {
                    "metric": name,
                    "unit": simulated.unit,
                    "simulated": middle,
                    "simulated_min": simulated.min,
                    "simulated_max": simulated.max,
                    "live": value,
                    "live_min": min(known, default=None),
                    "live_max": max(known, default=None),
                    "live_values": values,
                    "ratio": value / middle if value is not None and middle and all_known else None,
                }
            )
        return rows

    def table(self) -> str:
        """Return the rows as text, with the verdict on the timing of the live runs."""
        rows = []
        for row in self.rows():
            metric = self.simulated.summary.metrics[row["metric"]]
            live = MetricValues.of(row["unit"], row["live_values"])
            ratio = "-" if row["ratio"] is None else f"{row['ratio']:.3g}"
            spread, value = text.spread(metric, row["metric"]), text.spread(live, row["metric"])
            rows.append((row["metric"], row["unit"], spread, value, ratio))
        head = ("metric", "unit", "simulated", "live", "live / simulated")
        return text.table(head, rows, left=2) + "\n\n" + self.runs_text()

    def runs_text(self) -> str:
        """Return how many runs the medians are of, how many are valid, and what was left out."""
        count = self.simulated.summary.replications
        valid, used = sum(map(_is_valid, self.live)), text.counted(len(self.used), "live run")
        words = f"medians [least..most] of {count} replications and of {used}"
        words += f"; valid timing: {valid} of {len(self.live)}"
        if not valid:
            return f"{words}\n{INVALID}: the numbers of the live runs are not to be used."
        left = len(self.live) > valid
        return f"{words}, the others are {INVALID} and left out" if left else words

    def figure(self) -> Figure:
        """Draw throughput, queue and rates of both over the scenario's own time."""
        with style():
            figure = ShownFigure(figsize=(7.2, 6.2), layout="constrained")
            axes = figure.subplots(3, 1, sharex=True)
            thin: LineStyle = {"lw": 0.8, "alpha": 0.8}
            count = len(self.used)
            for number, result in enumerate(self.used):
                label = f"live, {text.counted(count, 'run')}" if number == 0 else None
                self._draw(axes, result, 0, {**source_style(1), **thin, "label": label})
            shown = min(count, self.simulated.summary.replications)
            for number in range(shown):
                label = f"simulated, {text.counted(shown, 'run')}" if number == 0 else None
                line: LineStyle = {**source_style(0), **thin, "label": label}
                self._draw(axes, self.simulated, number, line)
            for plane, words in zip(
                axes, ("bottleneck, Mb/s", "queue, KB", "mean current rate, Mb/s"), strict=True
            ):
                plane.set_ylabel(words)
            axes[0].legend(loc="lower right")
            axes[-1].set_xlabel(
                f"time of the scenario, ms (the live run took {self.scale} times as long)"
            )
            label = "" if self.valid else f"{INVALID}: "
            title = f"{label}{self.simulated.name}, live and simulated at 1/{self.scale}"
            figure.suptitle(textwrap.fill(title, TITLE), x=0.01, ha="left")
        return figure

    def _draw(self, axes: Any, result: Result, replication: int, line: LineStyle) -> None:
        throughput = one(result.throughput.to_polars(), replication)
        _plot(axes[0], _by_time(throughput, "rate_bps", total=True), self.scale, 1e-6, line)
        queues = one(result.queues.to_polars(), replication)
        port = result.summary.bottleneck.port
        queues = queues.filter(polars.col("port").cast(polars.String) == port)
        _plot(axes[1], _by_time(queues, "queue_bytes", total=True), self.scale, 1e-3, line)
        rates = one(result.rates.to_polars(), replication)
        _plot(axes[2], _by_time(rates, "current_rate_bps", total=False), self.scale, 1e-6, line)


def _by_time(frame: polars.DataFrame, column: str, *, total: bool) -> polars.DataFrame:
    grouped = frame.group_by("time_s", maintain_order=True)
    values = polars.col(column).sum() if total else polars.col(column).mean()
    return grouped.agg(values.alias("value")).sort("time_s")


def _plot(axes: Axes, frame: polars.DataFrame, scale: int, unit: float, line: LineStyle) -> None:
    time_ms = frame["time_s"].to_numpy() * 1e3 / scale
    axes.plot(*envelope(time_ms, frame["value"].to_numpy() * unit, MOST_POINTS), **line)


def compare(
    scenario: Scenario,
    *,
    scale: int = SCALE,
    seed: int | None = None,
    reps: int = 30,
    live_reps: int = 3,
) -> Comparison:
    """Run a scenario live several times, and simulate it at the same scale.

    A live run with INVALID TIMING is made once more; what was made is kept.

    Parameters
    ----------
    scenario : Scenario
        The scenario.
    scale : int, default 100
        As in `qcnlab.live.run`.
    seed : int, optional
        Seed of the simulation and of the first live run, the next ones take those that follow;
        the scenario's own by default.
    reps : int, default 30
        Replications of the simulation.
    live_reps : int, default 3
        Live runs.

    Returns
    -------
    Comparison
        Both results.

    Raises
    ------
    Error
        If the machine cannot, or the scenario has what the data plane has not.
    """
    slow = slowed(scenario, scale)
    first = slow.seed if seed is None else seed
    live: list[Result] = []
    for number in range(live_reps):
        label = f"{scenario.name}, live {number + 1} of {live_reps}"
        live.append(run(scenario, scale=scale, seed=first + number, label=label))
        if not _is_valid(live[-1]):
            again = f"{label}, again"
            live.append(run(scenario, scale=scale, seed=first + number, label=again))
    simulated = api.run(slow, reps=reps, seed=seed)
    return Comparison(simulated, live, scale)


def _is_valid(live: Result) -> bool:
    return bool(live.meta["live"]["timing"]["valid"])
