"""Completion times as figures: slowdown over size, and distributions."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Protocol

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullLocator

from qcnlab.figures.notebook import ShownFigure
from qcnlab.figures.plots import INK, SOURCES, TITLE, source_style, style
from qcnlab.printing import text

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from matplotlib.axes import Axes

    from qcnlab.runs.percentiles import Group

MOST_TICKS = 10
COLUMN = (3.3, 2.3)
"""Width and height of a figure in one column of a paper, in."""
MARKS = ("o", "s", "D", "v", "P", "X")
"""The marks of runs, so that they can be told apart without colour."""
NEAR = 5.0
"""Times whose largest is less than so many times the smallest have a linear axis."""
FEW = 300.0
"""A logarithmic axis up to so many times its lowest value has 1, 2 and 5 of each decade."""
CLASSES = 4
"""One run's flows are drawn in so many classes of size at most."""
LINES = {50: "-", 95: (0, (4, 1.2)), 99: (0, (1, 1))}
"""The dashes of percentiles."""


class Completed(Protocol):
    """What is drawn of the flows of a run."""

    name: str
    """The scenario's name."""
    by: str
    """What the groups are of: size, entry or all."""
    buckets: str
    """The share of the flows that each group has, or the sizes that part the groups."""
    groups: list[Group]
    """The groups that have flows."""
    flows: pl.DataFrame
    """A row for each flow that started: `size_bytes`, `took_s`, `finished`."""
    replications: int
    """The number of replications, whose flows are pooled."""

    @property
    def heading(self) -> str:
        """What the groups are of, in a word."""

    @property
    def base_words(self) -> str:
        """What slowdowns are measured against, in a few words."""

    @property
    def started(self) -> int:
        """The number of flows of a size that started."""

    @property
    def finished(self) -> int:
        """The number of those that finished."""


def completion_figure(runs: Sequence[tuple[str, Completed]]) -> Figure:
    """Draw slowdowns by group, and the distribution of completion times, of one run or several.

    Parameters
    ----------
    runs : sequence of tuple
        A name and the completions of each run, grouped alike.

    Returns
    -------
    matplotlib.figure.Figure
        Percentiles that are lower bounds are triangles; a distribution goes on dotted, at the
        share of flows that finished, where the others did not.
    """
    with style():
        figure = ShownFigure(figsize=(9.0, 4.4), layout="constrained")
        left, right = figure.subplots(1, 2)
        draw_slowdowns(left, runs)
        draw_distributions(right, runs)
        figure.suptitle(_title(runs), x=0.01, ha="left")
    return figure


def cdf_figure(runs: Sequence[tuple[str, Completed]]) -> Figure:
    """Draw the distribution of completion times for one column of a paper, without a title.

    Parameters
    ----------
    runs : sequence of tuple
        A name and the completions of each run.

    Returns
    -------
    matplotlib.figure.Figure
        Runs differ in dashes as well as in colour, so that they survive a print in grey.
    """
    with style():
        figure = ShownFigure(figsize=COLUMN, layout="constrained")
        axes = figure.subplots()
        draw_distributions(axes, runs)
        pooled = pooled_words([each for _, each in runs])
        axes.set_ylabel(f"share of flows,\n{pooled}" if pooled else "share of flows")
        axes.tick_params(labelsize=8)
        axes.legend(loc="best", fontsize=8)
    return figure


def slowdown_figure(runs: Sequence[tuple[str, Completed]]) -> Figure:
    """Draw slowdowns over the size of flows for one column of a paper, without a title.

    Parameters
    ----------
    runs : sequence of tuple
        A name and the completions of each run, grouped alike.

    Returns
    -------
    matplotlib.figure.Figure
        Sizes are on a logarithmic axis, each group at its largest. Runs differ in marks as well as
        in colour.
    """
    with style():
        figure = ShownFigure(figsize=COLUMN, layout="constrained")
        axes = figure.subplots()
        draw_slowdowns(axes, runs, to_scale=True)
        pooled = pooled_words([each for _, each in runs])
        axes.set_ylabel(f"slowdown,\n{pooled}" if pooled else "slowdown")
        axes.tick_params(labelsize=8)
        legend = axes.get_legend()
        if legend is not None:
            # Beside the curves, which leave no corner free.
            named = [
                (h, t.get_text())
                for h, t in zip(legend.legend_handles, legend.get_texts(), strict=True)
                if h
            ]
            legend.remove()
            figure.legend(
                *zip(*named, strict=True), loc="outside upper center", ncols=3, fontsize=8
            )
    return figure


def pooled_words(completions: Sequence[Completed]) -> str:
    """Say of how many replications the flows are; nothing of one.

    >>> pooled_words([])
    ''
    """
    counts = sorted({each.replications for each in completions})
    if not counts or counts == [1]:
        return ""
    most = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else f"{counts[0]}"
    return f"{most} replications pooled"


def draw_slowdowns(
    axes: Axes, runs: Sequence[tuple[str, Completed]], *, to_scale: bool = False
) -> None:
    """Draw the percentiles of slowdowns of each group, with `to_scale` over the size of flows."""
    to_scale = to_scale and runs[0][1].by == "size"
    percents = list(runs[0][1].groups[0].slowdown)
    shown = percents if len(runs) == 1 else [percents[0], percents[-1]]
    bounded = False
    for number, (_, completions) in enumerate(runs):
        for index, percent in enumerate(shown):
            color = SOURCES[(number if len(runs) > 1 else index) % len(SOURCES)]
            groups = completions.groups
            values = [group.slowdown[percent] for group in groups]
            y = [bound.value for bound in values]
            line = LINES[percent]
            by_size = completions.by == "size"
            x = [group.largest_bytes if to_scale else i for i, group in enumerate(groups)]
            own = MARKS[number % len(MARKS)]
            axes.plot(x, y, color=color, lw=1.0 if by_size else 0, ls=line)
            for at_least, mark in ((False, own), (True, "^")):
                at = [i for i, bound in enumerate(values) if bound.at_least is at_least]
                bounded |= at_least and bool(at)
                axes.plot(
                    [x[i] for i in at],
                    [y[i] for i in at],
                    ls="none",
                    marker=mark,
                    ms=5 if at_least else 3,
                    mfc="white" if at_least else color,
                    mec=color,
                )
    first = runs[0][1]
    axes.set_yscale("log")
    _plain(axes, "y")
    axes.set_ylabel(f"slowdown (by {first.base_words})")
    if to_scale:
        _size_axis(axes, runs)
    else:
        _group_axis(axes, first)
    handles = []
    if len(runs) == 1:
        handles = [
            Line2D([], [], color=SOURCES[i], ls=LINES[p], marker="o", ms=3, label=f"p{p}")
            for i, p in enumerate(shown)
        ]
    else:
        handles = [
            Line2D([], [], color=SOURCES[i % len(SOURCES)], ls="none", ms=3, label=label,
                   marker=MARKS[i % len(MARKS)])
            for i, (label, _) in enumerate(runs)
        ]  # fmt: skip
        handles += [Line2D([], [], color=INK, ls=LINES[p], label=f"p{p}") for p in shown]
    if bounded:
        handles.append(
            Line2D(
                [],
                [],
                ls="none",
                marker="^",
                mfc="white",
                mec=INK,
                ms=5,
                label="at least (unfinished flows)",
            )
        )
    axes.legend(handles=handles, loc="best")


def draw_distributions(axes: Axes, runs: Sequence[tuple[str, Completed]]) -> None:
    """Draw the share of flows that finished within a time: of runs, or of one's sizes."""
    lines: list[tuple[str, list[float], list[bool]]] = []
    if len(runs) == 1:
        lines = _classes(runs[0][1])
    else:
        for label, completions in runs:
            frame = completions.flows
            lines.append((label, frame["took_s"].to_list(), frame["finished"].to_list()))
    open_ends: list[tuple[float, float, str]] = []
    for number, (label, took, finished) in enumerate(lines):
        done = np.sort([each for each, ended in zip(took, finished, strict=True) if ended])
        left = len(took) - len(done)
        share = np.arange(1, len(done) + 1) / len(took)
        label += f" ({left:,} of {len(took):,} unfinished)" if left else f" ({len(took):,})"
        line_style = source_style(number)
        if len(done):
            axes.step(done, share, where="post", lw=1.2, label=label, **line_style)
            if left:
                open_ends.append((done[-1], share[-1], line_style["color"]))
        else:
            axes.plot([], [], label=label, **line_style)
    known = [each for _, took, _ in lines for each in took if each > 0]
    if max(known, default=1.0) >= NEAR * min(known, default=1.0):
        axes.set_xscale("log")
        few = max(known) < FEW * min(known)
        axes.xaxis.set_major_locator(LogLocator(10, subs=(1.0, 2.0, 5.0) if few else (1.0,)))
    else:
        axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: text.duration(value, 3)))
    axes.set_xlabel("completion time")
    end = axes.get_xlim()[1]
    for start, level, color in open_ends:
        axes.plot([start, end], [level, level], color=color, lw=0.8, ls=(0, (1, 2)))
    axes.set_xlim(right=end)
    axes.set_ylabel("share of flows that finished within it")
    axes.set_ylim(0, 1.02)
    axes.legend(loc="best", fontsize=7)


def _classes(completions: Completed) -> list[tuple[str, list[float], list[bool]]]:
    """Return the flows of a run by its groups, at most four; of sizes, neighbours put together."""
    frame = completions.flows
    if completions.by != "size":
        return [("all flows", frame["took_s"].to_list(), frame["finished"].to_list())]
    import polars as pl

    step = -(-len(completions.groups) // CLASSES)
    lines = []
    for start in range(0, len(completions.groups), step):
        part = completions.groups[start : start + step]
        low = part[0].smallest_bytes if start == 0 else completions.groups[start - 1].largest_bytes
        high = part[-1].largest_bytes
        above = pl.col("size_bytes") >= low if start == 0 else pl.col("size_bytes") > low
        flows = frame.filter(above & (pl.col("size_bytes") <= high))
        if not len(flows):
            continue
        label = (
            f"up to {text.size(high)}" if start == 0 else f"{text.size(low)} to {text.size(high)}"
        )
        lines.append((label, flows["took_s"].to_list(), flows["finished"].to_list()))
    return lines


def _group_axis(axes: Axes, completions: Completed) -> None:
    groups = completions.groups
    step = -(-len(groups) // MOST_TICKS)
    last = (len(groups) - 1) % step
    ticks = list(range(last, len(groups), step))
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_minor_locator(NullLocator())
    by_share = completions.by == "size" and completions.buckets.strip().endswith("%")
    axes.set_xticklabels(
        [_tick(groups[i], by_share=by_share) for i in ticks], rotation=45, ha="right"
    )
    if by_share:
        axes.set_xlabel(f"largest size of each {completions.buckets} of the flows")
    else:
        axes.set_xlabel(completions.heading)
    axes.margins(x=0.03)


def _size_axis(axes: Axes, runs: Sequence[tuple[str, Completed]]) -> None:
    sizes = [group.largest_bytes for _, each in runs for group in each.groups]
    if max(sizes) > min(sizes):
        axes.set_xscale("log")
        few = max(sizes) < FEW * min(sizes)
        axes.xaxis.set_major_locator(LogLocator(10, subs=(1.0, 3.0) if few else (1.0,)))
        axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: text.size(round(value))))
    axes.set_xlabel("size of flows (largest of a group)")


def _tick(group: Group, *, by_share: bool) -> str:
    return text.size(group.largest_bytes) if by_share else group.label


def _plain(axes: Axes, which: str) -> None:
    """Write numbers of a logarithmic axis as 1, 10, 100; of few decades more of them."""
    axis = axes.yaxis if which == "y" else axes.xaxis
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    low, high = axis.get_view_interval()
    if high < 12 * low:
        axis.set_minor_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    else:
        axis.set_minor_locator(NullLocator())
        if high < FEW * low:
            axis.set_major_locator(LogLocator(10, subs=(1.0, 2.0, 5.0)))


def _title(runs: Sequence[tuple[str, Completed]]) -> str:
    pooled = pooled_words([each for _, each in runs])
    more = f", {pooled}" if pooled else ""
    if len(runs) > 1:
        return f"Slowdown by size, and completion times{more}"
    completions = runs[0][1]
    finished = f"{completions.finished:,} of {completions.started:,} flows finished{more}"
    return textwrap.fill(f"{completions.name}: {finished}", TITLE)
