"""The book's figures, in the form of the decks: traces, bars, steps.

A trace is a band by pixel: from the least to the largest value within the pixel, dark for one
replication, light for all. Lines through chosen points would show periods that are not there.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import MaxNLocator

from qcnlab import plots
from qcnlab.book import hotspot, traces
from qcnlab.book.models import loop_of
from qcnlab.book.values import unit_of, values_of
from qcnlab.facts import facts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from matplotlib.axes import Axes

    from qcnlab.book.entries import Figure
    from qcnlab.book.hotspot import Array
    from qcnlab.book.runner import CaseResult
    from qcnlab.results import Result

PIXELS = 500
"""Columns of a trace, near the pixels of its axes."""
LOG_BYTES = (1e3, 2e7)
"""The queue axis of deck 004, and a decade more for queues with pause."""
MB_PER_GB = 125.0
MOST_FLOWS = 12
TRACES = ("queue", "queue-log", "throughput", "flows")
MARK = "#b00020"


def draw(figure: Figure, results: Mapping[str, CaseResult]) -> Canvas:
    """Draw a row's figure from the results of its cases."""
    with plots.style():
        if figure.form in TRACES:
            return _traces(figure, results)
        height = 0.9 + 0.3 * len(figure.cases) if figure.form == "bars" else 2.9
        canvas = Canvas(figsize=(6.4, height), layout="constrained")
        axes = canvas.subplots()
        PENS[figure.form](axes, figure, results)
        return canvas


def _traces(figure: Figure, results: Mapping[str, CaseResult]) -> Canvas:
    ports = figure.ports or ("",)
    each = [(case, name, port) for case, name in _named(figure) for port in ports]
    columns = 1 if len(each) <= 4 else 3
    rows = -(-len(each) // columns)
    size = (6.4 if columns == 1 else 9.0, 0.5 + 1.4 * rows)
    canvas = Canvas(figsize=size, layout="constrained")
    grid = plots.panels(canvas, rows, columns, sharex=True, sharey=True)
    panels = [axes for line in grid for axes in line]
    for axes, (case, name, port) in zip(panels, each, strict=False):
        result = results[case].result
        if result is None:
            continue
        if figure.form.startswith("queue"):
            _queue(axes, figure, result, port)
        else:
            _rates(axes, figure, result)
        axes.set_title(f"{name}: {port}" if port else name, color=plots.INK)
        if figure.mark is not None:
            _mark(axes, figure.mark, result)
    for axes in panels[len(each) :]:
        axes.set_visible(False)
    if figure.form != "queue-log":
        highest = max((float(axes.dataLim.y1) for axes in panels[: len(each)]), default=1.0)
        panels[0].set_ylim(0, 1.05 * highest)
    handles = panels[0].get_legend_handles_labels()
    if 1 < len(handles[0]) <= len(plots.SOURCES):
        canvas.legend(*handles, loc="outside lower center", ncols=3)
    for axes in grid[-1]:
        axes.set_xlabel("time (s)")
        axes.xaxis.set_major_locator(MaxNLocator(6))
    return canvas


def _named(figure: Figure) -> list[tuple[str, str]]:
    return list(zip(figure.cases, figure.names, strict=True))


def _mark(axes: Axes, published_ms: float, result: Result) -> None:
    """Mark the published time after the end of the hotspot."""
    end = facts(result).hotspots[0].end_s
    axes.axvline(end + published_ms * 1e-3, color=MARK, lw=1.0, ls=(0, (3, 2)))
    axes.annotate(
        f"published: {published_ms:g} ms",
        (end + published_ms * 1e-3, 0.08),
        xycoords=("data", "axes fraction"),
        xytext=(3, 0),
        textcoords="offset points",
        color=MARK,
        fontsize=7,
    )


def _window(figure: Figure, result: Result) -> tuple[float, float]:
    return figure.window or (0.0, facts(result).duration_s)


def _band(
    axes: Axes,
    window: tuple[float, float],
    series: Sequence[tuple[Array, Array]],
    color: str,
    label: str = "",
) -> None:
    """Draw one replication dark and the range of all of them light, by columns of pixels."""
    low, high = window
    edges = np.linspace(low, high, PIXELS + 1)
    each = [_columns(time, value, edges) for time, value in series]
    bottom = np.nanmin([one[0] for one in each], axis=0)
    top = np.nanmax([one[1] for one in each], axis=0)
    at = edges[:-1]
    if len(each) > 1:
        axes.fill_between(at, bottom, top, step="post", color=color, alpha=0.25, lw=0)
    first = each[0]
    axes.fill_between(
        at, first[0], first[1], step="post", facecolor=color, edgecolor=color, lw=0.6, label=label
    )


def _columns(time: Array, value: Array, edges: Array) -> tuple[Array, Array]:
    """Return least and largest value by column; a column without a sample takes the one before."""
    starts = np.searchsorted(time, edges[:-1] - 1e-12)
    stops = np.searchsorted(time, edges[1:] - 1e-12)
    low, high = np.full(len(starts), np.nan), np.full(len(starts), np.nan)
    for column, (start, stop) in enumerate(zip(starts, stops, strict=True)):
        part = value[start:stop] if stop > start else value[max(start - 1, 0) : start]
        if len(part):
            low[column], high[column] = part.min(), part.max()
    return low, high


def _queue(axes: Axes, figure: Figure, result: Result, port: str) -> None:
    window = _window(figure, result)
    logarithmic = figure.form == "queue-log"
    scale, least = (1.0, LOG_BYTES[0]) if logarithmic else (1e-3, 0.0)
    known = facts(result)
    plots.shade(axes, known)
    series = [
        (time, np.maximum(samples * scale, least)) for time, samples in traces.queues(result, port)
    ]
    _band(axes, window, series, plots.SOURCES[0])
    if known.set_point_bytes is not None:
        axes.axhline(known.set_point_bytes * scale, color=plots.INK, lw=0.7, ls=(0, (4, 2)))
    if logarithmic:
        axes.set_yscale("log")
        axes.set_ylim(*LOG_BYTES)
        axes.set_ylabel("queue (B)")
    else:
        axes.set_ylabel("queue (KB)")
    axes.set_xlim(*window)


def _rates(axes: Axes, figure: Figure, result: Result) -> None:
    window = _window(figure, result)
    factor = MB_PER_GB if figure.unit == "MB/s" else 1.0
    plots.shade(axes, facts(result))
    every = hotspot.traces(result)
    if figure.form == "throughput":
        totals = [(one.bin_s, one.crossing(figure.flows).sum(axis=0) * factor) for one in every]
        _band(axes, window, totals, plots.SOURCES[0])
    else:
        rates = every[0].crossing(figure.flows)
        for index, rate in enumerate(rates[:MOST_FLOWS]):
            color = plots.SOURCES[index % len(plots.SOURCES)]
            _band(axes, window, [(every[0].bin_s, rate * factor)], color)
    axes.set_xlim(*window)
    axes.set_ylabel(f"throughput\n({figure.unit})")


def _finite(numbers: list[float]) -> tuple[float, float, float]:
    kept = sorted(n for n in numbers if math.isfinite(n)) or [0.0]
    return float(np.median(kept)), kept[0], kept[-1]


def _bars(axes: Axes, figure: Figure, results: Mapping[str, CaseResult]) -> None:
    factor, _ = unit_of(figure.of)
    for index, case in enumerate(figure.cases):
        numbers = [n * factor for n in values_of(results[case], figure.of, figure.window)]
        middle, low, high = _finite(numbers)
        axes.barh(index, middle, color=plots.SOURCES[0], height=0.6)
        axes.plot([low, high], [index, index], color=plots.INK, lw=1.0)
    axes.set_yticks(range(len(figure.cases)), figure.names)
    axes.invert_yaxis()
    axes.set_xlabel(_label(figure.of) + ": median, and range over replications")


def _steps(axes: Axes, figure: Figure, results: Mapping[str, CaseResult]) -> None:
    for index, (case, name) in enumerate(_named(figure)):
        loop = loop_of(results[case].case.changes)
        step = loop.step(20 * loop.delay)
        axes.plot(step["time_s"], step["output"], label=name, **plots.source_style(index))
    axes.set_xlabel("time (no unit, as on the slide)")
    axes.set_ylabel("output")
    axes.legend()


def _label(of: str) -> str:
    _, unit = unit_of(of)
    words = of.removesuffix("_bytes").removesuffix("_ms").removesuffix("_gbps").replace("_", " ")
    return f"{words} ({unit})" if unit else words


PENS: dict[str, Callable[[Axes, Figure, Mapping[str, CaseResult]], None]] = {
    "bars": _bars,
    "step": _steps,
}
