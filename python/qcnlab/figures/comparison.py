"""The figure of several runs: queue and throughput over time, slowdowns and completion times."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from qcnlab.figures.completion import (
    Completed,
    draw_distributions,
    draw_slowdowns,
    pooled_words,
)
from qcnlab.figures.notebook import ShownFigure
from qcnlab.figures.plots import FAINT, IN_MB, envelope, one, shade, source_style, style, time_axis
from qcnlab.printing import text
from qcnlab.runs.applicable import has_bottleneck
from qcnlab.runs.facts import Facts, facts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from qcnlab.runs.recorded import Recorded

LEGEND = 5
"""So many runs stand in a line of the legend."""


def comparison_figure(
    labels: Sequence[str],
    runs: Sequence[Recorded],
    completions: Sequence[tuple[str, Completed]],
) -> Figure:
    """Draw runs over each other: of each its first replication, and all flows of a size.

    Parameters
    ----------
    labels : sequence of str
        A name for each run.
    runs : sequence of Recorded
        The runs.
    completions : sequence of tuple
        A name and the completions of each run that has flows of a size.

    Returns
    -------
    matplotlib.figure.Figure
        Queue and throughput over time; slowdowns and completion times below, if there are any.
    """
    with style():
        rows = 2 if completions else 1
        figure = ShownFigure(figsize=(9.6, 3.6 * rows + 0.4), layout="constrained")
        grid = figure.subplots(rows, 2, squeeze=False)
        known = [facts(result) for result in runs]
        _draw_queues(grid[0][0], labels, runs, known)
        _draw_throughput(grid[0][1], runs, known)
        if completions:
            draw_slowdowns(grid[1][0], completions)
            draw_distributions(grid[1][1], completions)
        more = any(result.summary.replications > 1 for result in runs)
        lines, labels = grid[0][0].get_legend_handles_labels()
        about = ""
        figure.suptitle(" and ".join([", ".join(labels[:-1]), labels[-1]]),
                        x=0.01, ha="left")  # fmt: skip
        if more:
            about = "over time: the first replication of each run"
            pooled = pooled_words([each for _, each in completions])
            about += f"; slowdowns and completion times: {pooled}" if completions else ""
        legend = figure.legend(
            lines, labels, loc="outside lower left", ncols=LEGEND, title=about or None
        )
        legend.get_title().set_color(FAINT)
        legend.get_title().set_fontsize(8)
    return figure


def _draw_queues(
    axes: Axes, labels: Sequence[str], runs: Sequence[Recorded], known: list[Facts]
) -> None:
    shade(axes, known[0])
    for number, (label, result) in enumerate(zip(labels, runs, strict=True)):
        frame = one(result.queues.to_polars(), 0)
        port = result.summary.bottleneck.port
        part = frame.filter(pl.col("port").cast(pl.String) == port)
        time, queue = envelope(part["time_s"].to_numpy(), part["queue_bytes"].to_numpy() / 1e3)
        axes.plot(time, queue, lw=0.9, label=label, **source_style(number))
        _mark_deadlock(axes, result, number)
    ports = dict.fromkeys(result.summary.bottleneck.port for result in runs)
    axes.set_ylim(bottom=0)
    in_mb = axes.get_ylim()[1] >= IN_MB
    axes.set_ylabel(f"queue ({'MB' if in_mb else 'KB'})")
    scale = 1e3 if in_mb else 1.0
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value / scale:,.6g}"))
    many = "" if all(map(has_bottleneck, runs)) else ", one port of many"
    axes.set_title(f"queue at {', '.join(ports)}{many}", loc="left", fontsize=8, color=FAINT)
    _time_axis(axes, known)


def _draw_throughput(axes: Axes, runs: Sequence[Recorded], known: list[Facts]) -> None:
    shade(axes, known[0])
    for number, result in enumerate(runs):
        frame = one(result.throughput.to_polars(), 0)
        total = frame.group_by("time_s").agg(pl.col("rate_bps").sum()).sort("time_s")
        time, rate = envelope(total["time_s"].to_numpy(), total["rate_bps"].to_numpy() / 1e9)
        axes.plot(time, rate, lw=0.9, **source_style(number))
        _mark_deadlock(axes, result, number)
    bins = dict.fromkeys(text.duration(each.throughput_bin_s) for each in known)
    axes.set_ylabel("throughput (Gb/s)")
    axes.set_ylim(bottom=0)
    axes.set_title(f"all flows, in bins of {', '.join(bins)}", loc="left", fontsize=8, color=FAINT)
    _time_axis(axes, known)


def _mark_deadlock(axes: Axes, result: Recorded, number: int) -> None:
    """Draw a line where the first replication stood still."""
    end = result.summary.ends[0]
    if end.why == "deadlock":
        line_style = source_style(number)
        axes.axvline(end.end_s, color=line_style["color"], lw=0.8, ls=(0, (1, 1)))
        axes.annotate(
            "deadlock",
            (end.end_s, 0.5),
            xycoords=("data", "axes fraction"),
            rotation=90,
            fontsize=7,
            va="center",
            ha="right",
            color=line_style["color"],
        )


def _time_axis(axes: Axes, known: list[Facts]) -> None:
    time_axis(axes, max(known, key=lambda each: each.duration_s))
