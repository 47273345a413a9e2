"""The book's figures, in the form of the decks: traces by case, bars, lines over RTT, steps."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import MaxNLocator

from qcnlab import plots
from qcnlab.book import traces
from qcnlab.book.measures import MEASURES, values
from qcnlab.book.models import loop_of
from qcnlab.facts import facts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from matplotlib.axes import Axes

    from qcnlab.book.entries import Figure
    from qcnlab.book.runner import CaseResult
    from qcnlab.results import Result

POINTS = 200
"""Points of a trace; enough for a page, few enough for a small file."""
LOG_BYTES = (1e3, 2e6)
"""The queue axis of deck 004."""
MB_PER_GB = 125.0
MOST_FLOWS = 12
TRACES = ("queue", "queue-log", "throughput", "flows")


def draw(figure: Figure, found: Mapping[str, CaseResult]) -> Canvas:
    """Draw a row's figure from what its cases gave (the first replication of traces)."""
    with plots.style():
        if figure.form in TRACES:
            return _traces(figure, found)
        canvas = Canvas(figsize=(6.4, 2.9), layout="constrained")
        axes = canvas.subplots()
        PENS[figure.form](axes, figure, found)
        return canvas


def _traces(figure: Figure, found: Mapping[str, CaseResult]) -> Canvas:
    count = len(figure.cases)
    columns = 1 if count <= 4 else 3
    rows = -(-count // columns)
    size = (6.4 if columns == 1 else 9.0, 0.5 + 1.5 * rows)
    canvas = Canvas(figsize=size, layout="constrained")
    grid = plots.panels(canvas, rows, columns, sharex=True, sharey=True)
    panels = [axes for line in grid for axes in line]
    pen = _queue if figure.form.startswith("queue") else _rates
    for axes, name in zip(panels, figure.cases, strict=False):
        result = found[name].result
        if result is not None:
            pen(axes, figure, result)
        axes.set_title(name, color=plots.INK)
    for axes in panels[count:]:
        axes.set_visible(False)
    if figure.form != "queue-log":
        highest = max((float(axes.dataLim.y1) for axes in panels[:count]), default=1.0)
        panels[0].set_ylim(0, 1.05 * highest)
    if 1 < len(panels[0].get_legend_handles_labels()[0]) <= len(plots.SOURCES):
        canvas.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    for axes in grid[-1]:
        axes.set_xlabel("time (s)")
        axes.xaxis.set_major_locator(MaxNLocator(6))
    return canvas


def _window(figure: Figure, result: Result) -> tuple[float, float]:
    return figure.window or (0.0, facts(result).duration_s)


def _queue(axes: Axes, figure: Figure, result: Result) -> None:
    low, high = _window(figure, result)
    queue = traces.queue(result, (low, high))
    logarithmic = figure.form == "queue-log"
    scale = 1.0 if logarithmic else 1e-3
    time = np.linspace(low, high, len(queue), endpoint=False)
    known = facts(result)
    plots.shade(axes, known)
    at, value = plots.envelope(time, queue * scale, POINTS)
    axes.plot(
        at, np.maximum(value, LOG_BYTES[0] if logarithmic else 0), lw=0.7, color=plots.SOURCES[0]
    )
    if known.set_point_bytes is not None:
        axes.axhline(known.set_point_bytes * scale, color=plots.INK, lw=0.7, ls=(0, (4, 2)))
    if logarithmic:
        axes.set_yscale("log")
        axes.set_ylim(*LOG_BYTES)
        axes.set_ylabel("queue (B)")
    else:
        axes.set_ylabel("queue (KB)")
    axes.set_xlim(low, high)


def _rates(axes: Axes, figure: Figure, result: Result) -> None:
    low, high = _window(figure, result)
    names, rates = traces.rates(result, (low, high), figure.flows)
    factor = MB_PER_GB if figure.unit == "MB/s" else 1.0
    time = np.linspace(low, high, rates.shape[1], endpoint=False)
    plots.shade(axes, facts(result))
    if figure.form == "throughput":
        at, value = plots.envelope(time, rates.sum(axis=0) * factor, POINTS)
        axes.plot(at, value, lw=0.8, color=plots.SOURCES[0])
    else:
        few = max(60, 2 * POINTS // max(1, len(rates)))
        for index, rate in enumerate(rates[:MOST_FLOWS]):
            at, value = plots.envelope(time, rate * factor, few)
            color = plots.SOURCES[index % len(plots.SOURCES)]
            axes.plot(at, value, lw=0.6, color=color, label=names[index])
    axes.set_xlim(low, high)
    axes.set_ylabel(f"throughput\n({figure.unit})")


def _finite(numbers: list[float]) -> tuple[float, float, float]:
    kept = sorted(n for n in numbers if math.isfinite(n)) or [0.0]
    return float(np.median(kept)), kept[0], kept[-1]


def _bars(axes: Axes, figure: Figure, found: Mapping[str, CaseResult]) -> None:
    measure = MEASURES[figure.of]
    for index, name in enumerate(figure.cases):
        result = found[name].result
        if result is None:
            continue
        numbers = [n * measure.scale for n in values(result, figure.of, figure.window)]
        middle, low, high = _finite(numbers)
        axes.barh(index, middle, color=plots.SOURCES[0], height=0.6)
        axes.plot([low, high], [index, index], color=plots.INK, lw=1.0)
    axes.set_yticks(range(len(figure.cases)), figure.cases)
    axes.invert_yaxis()
    axes.set_xlabel(_label(figure.of))


def _lines(axes: Axes, figure: Figure, found: Mapping[str, CaseResult]) -> None:
    measure = MEASURES[figure.of]
    groups: dict[str, list[tuple[float, float]]] = {}
    for name in figure.cases:
        result, match = found[name].result, re.fullmatch(r"(.*)-(\d+)us", name)
        if result is None or match is None:
            continue
        numbers = [n * measure.scale for n in values(result, figure.of, figure.window)]
        groups.setdefault(match[1], []).append((float(match[2]), _finite(numbers)[0]))
    for index, (name, points) in enumerate(groups.items()):
        rtt, value = zip(*sorted(points), strict=True)
        axes.plot(rtt, value, marker="o", ms=3, label=name, **plots.source_style(index))
    axes.set_xscale("log")
    axes.set_xlabel("link RTT (us)")
    axes.set_ylabel(_label(figure.of))
    axes.legend()


def _steps(axes: Axes, figure: Figure, found: Mapping[str, CaseResult]) -> None:
    for index, name in enumerate(figure.cases):
        loop = loop_of(found[name].case.changes)
        step = loop.step(20 * loop.delay)
        at, value = plots.envelope(step["time_s"], step["output"], POINTS)
        axes.plot(at, value, label=name, **plots.source_style(index))
    axes.set_xlabel("time (no unit, as on the slide)")
    axes.set_ylabel("output")
    axes.legend()


def _label(of: str) -> str:
    measure = MEASURES[of]
    unit = measure.shown or measure.unit
    words = of.removesuffix("_bytes").removesuffix("_ms").removesuffix("_gbps").replace("_", " ")
    return f"{words} ({unit})" if unit else words


PENS: dict[str, Callable[[Axes, Figure, Mapping[str, CaseResult]], None]] = {
    "bars": _bars,
    "lines": _lines,
    "step": _steps,
}
