"""The figure of a sweep: a metric over the first key that varies."""

from __future__ import annotations

import math
import re
import textwrap
from typing import TYPE_CHECKING, Protocol

from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from qcnlab import catalogue
from qcnlab.figures.notebook import ShownFigure
from qcnlab.figures.plots import FAINT, TITLE, source_style, style
from qcnlab.metrics import texts
from qcnlab.printing import text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from qcnlab.metrics import Metric, MetricValues
    from qcnlab.sweeps.grid import Axis

MOST_TICKS = 9
BESIDE = 0.08
"""How far apart lines stand at a value without an order."""
MOST_WORDS = 70
"""Letters of what a key is; a longer one is told by its last part alone."""
BOX = 36
"""Characters in a line of the words above the lines' names."""
ABOUT = 96
"""Characters in a line of the words above the axes."""
WIDE = 5.0
"""The axis is logarithmic if its largest value is so many times its smallest, or more."""


class Swept(Protocol):
    """What is drawn of a sweep."""

    @property
    def name(self) -> str:
        """The scenario's name."""

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The keys that vary."""

    @property
    def runs(self) -> list[int]:
        """How many replications each point has."""

    @property
    def replications_in_words(self) -> str:
        """The number of replications, in words."""

    def over(self, point: int, metric: str) -> MetricValues:
        """Return median, range and values of a metric at a point."""

    def deadlocks(self, point: int) -> list[int]:
        """Return the replications of a point that ended in a deadlock."""

    def is_lower_bound(self, point: int, metric: str) -> bool:
        """Return whether a metric of a point is at least so much."""


def sweep_figure(sweep: Swept, metric: str) -> Figure:
    """Draw medians and ranges of `metric`; a line for each value of the second key."""
    axes = sweep.axes
    known = next(entry for entry in catalogue.metrics() if entry.name == metric)
    with style():
        figure = ShownFigure(figsize=(6.4, 4.0), layout="constrained")
        plane = figure.subplots()
        at = _positions(axes[0])
        ordered = _is_ordered(axes[0])
        lines = len(axes[1].values) if len(axes) == 2 else 1
        some, none, bound, stood = False, False, False, False
        lows: list[float] = []
        for line in range(lines):
            points = [sweep.over(i * lines + line, metric) for i in range(len(at))]
            label = axes[1].words[line] if len(axes) == 2 else ""
            marks = [_mark(sweep, i * lines + line, metric) for i in range(len(at))]
            # Values without an order have no line between them and stand side by side.
            beside = 0.0 if ordered else (line - (lines - 1) / 2) * BESIDE
            shifted = [each + beside for each in at]
            color = source_style(line)["color"]
            _line(plane, shifted, points, color, label, marks, joined=ordered)
            bound |= "^" in marks
            stood |= "s" in marks
            lows += [each.min for each in points if each.min is not None]
            some |= any(_lacks(each) and each.median is not None for each in points)
            none |= any(each.median is None for each in points)
        _first_axis(plane, axes[0], at)
        _metric_axis(plane, lows, known)
        if len(axes) == 2:
            title = textwrap.fill(axis_words(axes[1].key), BOX)
            plane.legend(title=title, loc="best", title_fontsize="small")
        keys = " and ".join(axis.key for axis in axes)
        words = f"{known.title[:1].upper()}{known.title[1:]} by {keys}"
        figure.suptitle(textwrap.fill(words, TITLE), x=0.01, ha="left")
        about = _about(sweep, metric, some=some, none=none)
        about += "; triangles: at least so much, flows did not finish" if bound else ""
        about += "; squares: up to a deadlock" if stood else ""
        plane.set_title(textwrap.fill(about, ABOUT), color=FAINT, fontsize=8)
    return figure


def _mark(sweep: Swept, point: int, metric: str) -> str:
    """Return the marker of a point: a square after a deadlock, a triangle for a lower bound."""
    if sweep.deadlocks(point):
        return "s"
    return "^" if sweep.is_lower_bound(point, metric) else "o"


def _is_ordered(axis: Axis) -> bool:
    """Return whether the values of an axis are numbers."""
    values = axis.numbers()
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def _positions(axis: Axis) -> list[float]:
    values = axis.numbers()
    return [float(each) for each in (values if _is_ordered(axis) else range(len(values)))]


def _line(
    plane: Axes,
    at: list[float],
    points: list[MetricValues],
    color: str,
    label: str,
    marks: list[str],
    *,
    joined: bool,
) -> None:
    order = sorted(range(len(at)), key=lambda i: at[i])
    shown = [i for i in order if points[i].median is not None]
    x = [at[i] for i in shown]
    y = [value for i in shown if (value := points[i].median) is not None]
    low = [value for i in shown if (value := points[i].min) is not None]
    high = [value for i in shown if (value := points[i].max) is not None]
    plane.plot(x, y, color=color, lw=1.0 if joined else 0, label=None if not joined else label)
    if not joined:
        plane.plot([], [], color=color, ls="none", marker="o", ms=4, label=label)
    # One line with gaps: a legend keeps clear of lines, and not of what `vlines` draws.
    gaps = [math.nan] * len(x)
    across, up = ([each for three in zip(*of, strict=True) for each in three] for of in (
        (x, x, gaps), (low, high, gaps),
    ))  # fmt: skip
    plane.plot(across, up, color=color, lw=2.5, alpha=0.35, solid_capstyle="butt")
    full = [i for i, point in enumerate(shown) if not _lacks(points[point])]
    hollow = [i for i, point in enumerate(shown) if _lacks(points[point])]
    for picked, face in ((full, color), (hollow, "white")):
        for mark in "o^s":
            marked = [i for i in picked if marks[shown[i]] == mark]
            plane.plot(
                [x[i] for i in marked],
                [y[i] for i in marked],
                ls="none",
                marker=mark,
                ms=4 if mark == "o" else 6,
                mfc=face,
                mec=color,
            )
    gone = [at[i] for i in order if points[i].median is None]
    top = plane.get_xaxis_transform()
    plane.plot(gone, [0.97] * len(gone), ls="none", marker="x", ms=5, mec=color, transform=top)


def _lacks(metric: MetricValues) -> bool:
    return None in metric.values


def _first_axis(plane: Axes, axis: Axis, at: list[float]) -> None:
    if _is_ordered(axis) and min(at) > 0 and max(at) >= WIDE * min(at):
        plane.set_xscale("log")
    step = -(-len(at) // MOST_TICKS)
    ticks = sorted(range(len(at)), key=lambda i: at[i])[::step]
    plane.xaxis.set_major_locator(FixedLocator([at[i] for i in ticks]))
    plane.xaxis.set_minor_locator(NullLocator())
    if not _is_ordered(axis):
        plane.set_xlim(min(at) - 0.5, max(at) + 0.5)
    plane.set_xticklabels([axis.words[i] for i in ticks])
    plane.set_xlabel(axis_words(axis.key))


def axis_words(key: str) -> str:
    """Return what a key is, in words, with its last part.

    >>> axis_words("topology.buffer")
    "room in the bottleneck's queue (buffer)"
    >>> axis_words("scheme.name")
    'which scheme controls congestion (name)'
    >>> axis_words("topology.rtt")
    'propagation from a source to the congestion point and back (rtt)'
    """
    plain = re.sub(r"\.\d+(?=\.|$)", "", key)
    last = plain.rpartition(".")[2]
    for entry in catalogue.parameters():
        if entry.key == plain:
            said = re.split(r"[.;,:(]", str(entry.about), maxsplit=1)[0].strip()
            if len(said) <= MOST_WORDS:
                return f"{said[:1].lower()}{said[1:]} ({last})"
    return last.replace("_", " ")


def _metric_axis(plane: Axes, lows: list[float], known: Metric) -> None:
    unit = f" ({known.unit})" if known.unit else ""
    plane.set_ylabel(f"{known.title}{unit}")
    plane.yaxis.set_major_formatter(FuncFormatter(lambda value, _: text.number(value)))
    low, high = plane.get_ylim()
    if (low > 0 and high < 20 * low) or low < 0 <= min(lows, default=-1):
        plane.set_ylim(0, high)


def _about(sweep: Swept, metric: str, *, some: bool, none: bool) -> str:
    words = sweep.name
    if max(sweep.runs) > 1:
        words += f"; medians and ranges of {sweep.replications_in_words}"
    never = texts("never").get(metric, "have no value")
    if some:
        words += f"; hollow: some {never}"
    if none:
        words += f"; crosses: all {never}"
    return words
