"""Traces of queues and rates, as bands by pixel.

From the least to the largest value within the pixel, dark for one replication, light for the range
of all. Lines through chosen points would show periods that are not there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from qcnlab.book import traces
from qcnlab.figures import plots
from qcnlab.runs.facts import facts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from qcnlab.book.entries import Figure
    from qcnlab.book.runner import CaseResult
    from qcnlab.book.traces import Array
    from qcnlab.results.result import Result

FORMS = ("queue", "queue-log", "throughput", "flows")
PIXELS = 500
"""Columns of a trace, near the pixels of its axes."""
LOG_BYTES = (1e3, 2e7)
"""The queue axis of deck 004, and a decade more for queues with pause."""
MB_PER_GB = 125.0
WIDE = 4
"""So many panels or fewer stand one below the other; more stand in three columns."""
MOST_COLUMNS = 4
"""Columns of the legend."""
MARK, RANGE_ALPHA = "#b00020", 0.25
SET_POINT = (0, (4, 2))
PUBLISHED = (0, (3, 2))


def draw(figure: Figure, results: Mapping[str, CaseResult]) -> Canvas:
    """Draw a panel for each case and port, with one legend for all."""
    ports = figure.ports or ("",)
    named = zip(figure.cases, figure.names, strict=True)
    each = [(results[case], name, port) for case, name in named for port in ports]
    columns = 1 if len(each) <= WIDE else 3
    rows = -(-len(each) // columns)
    size = (6.4 if columns == 1 else 9.0, 0.65 + (1.4 if columns == 1 else 1.25) * rows)
    canvas = Canvas(figsize=size, layout="constrained")
    grid = plots.panels(canvas, rows, columns, sharex=True, sharey=True)
    panels = [axes for line in grid for axes in line]
    for index, (axes, (case, name, port)) in enumerate(zip(panels, each, strict=False)):
        _panel(axes, figure, case, port, first=index % columns == 0)
        axes.set_title(f"{name}: {port}" if port else name, color=plots.INK)
    for axes in panels[len(each) :]:
        axes.set_visible(False)
    if figure.form != "queue-log":
        highest = max(float(axes.dataLim.y1) for axes in panels[: len(each)])
        panels[0].set_ylim(0, 1.05 * highest)
    handles = _legend(figure, [case for case, _, _ in each])
    columns = min(len(handles), MOST_COLUMNS)
    canvas.legend(handles=handles, loc="outside upper right", ncols=columns)
    for axes in grid[-1]:
        axes.set_xlabel("time (s)")
        axes.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
    return canvas


def _panel(axes: Axes, figure: Figure, case: CaseResult, port: str, *, first: bool) -> None:
    result = case.result
    if result is None:
        return
    plots.shade(axes, facts(result))
    axes.set_xlim(*figure.window or (0.0, facts(result).duration_s))
    if _overloaded(figure, case) and case.case.hot is not None:
        axes.axvspan(case.case.hot.start_s, case.case.hot.end_s, color=plots.SHADE, zorder=0)
    if figure.form.startswith("queue"):
        label = _queue(axes, figure, result, port)
    else:
        label = _rates(axes, figure, result)
    if first:
        axes.set_ylabel(label)
    if figure.mark is not None:
        end = facts(result).hotspots[0].end_s
        axes.axvline(end + figure.mark * 1e-3, color=MARK, lw=1.0, ls=PUBLISHED)


def _overloaded(figure: Figure, case: CaseResult) -> bool:
    """Return whether sources, not a port, make a hotspot that begins in the figure."""
    if case.result is None or case.case.hot is None or facts(case.result).hotspots:
        return False
    return case.case.hot.start_s > (figure.window[0] if figure.window else 0.0)


def _legend(figure: Figure, cases: Sequence[CaseResult]) -> list[Artist]:
    results = [case.result for case in cases if case.result is not None]
    counts = {result.summary.replications for result in results}
    blue = plots.SOURCES[0]
    handles: list[Artist] = []
    if figure.form == "flows":
        handles += _flow_legend(figure, results)
    else:
        handles.append(Patch(color=blue, label="one run"))
        if max(counts, default=1) > 1:
            runs = f"range of {counts.pop()} runs" if len(counts) == 1 else "range over runs"
            handles.append(Patch(color=blue, alpha=RANGE_ALPHA, label=runs))
    if figure.form.startswith("queue") and any(facts(r).set_point_bytes for r in results):
        handles.append(Line2D([], [], color=plots.INK, lw=0.7, ls=SET_POINT, label="set point"))
    if any(facts(r).hotspots for r in results) or any(_overloaded(figure, c) for c in cases):
        handles.append(Patch(color=plots.SHADE, label="hotspot"))
    if figure.mark is not None:
        label = f"published: {figure.mark:g} ms"
        handles.append(Line2D([], [], color=MARK, lw=1.0, ls=PUBLISHED, label=label))
    return handles


def _flow_legend(figure: Figure, results: Sequence[Result]) -> list[Artist]:
    """Name flows that have a colour each; more are one colour with one name."""
    names = _flows(results[0], figure.flows) if results else []
    if len(names) > len(plots.SOURCES):
        label = f"each of {len(names)} flows, one run"
        return [Line2D([], [], color=plots.SOURCES[0], lw=1.0, label=label)]
    return [
        Line2D([], [], lw=1.0, label=name, **plots.source_style(index))
        for index, name in enumerate(names)
    ]


def _flows(result: Result, patterns: str) -> list[str]:
    return traces.traces(result)[0].names(patterns)


def _band(axes: Axes, window: tuple[float, float], series: Sequence[tuple[Array, Array]]) -> None:
    """Draw one replication dark and the range of all of them light, by columns of pixels."""
    low, high = window
    edges = np.linspace(low, high, PIXELS + 1)
    each = [_columns(time, value, edges) for time, value in series]
    bottom = np.nanmin([one[0] for one in each], axis=0)
    top = np.nanmax([one[1] for one in each], axis=0)
    at, color = edges[:-1], plots.SOURCES[0]
    if len(each) > 1:
        axes.fill_between(at, bottom, top, step="post", color=color, alpha=RANGE_ALPHA, lw=0)
    first = each[0]
    axes.fill_between(at, *first, step="post", facecolor=color, edgecolor=color, lw=0.6)


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


def _queue(axes: Axes, figure: Figure, result: Result, port: str) -> str:
    """Draw the queue at a port; return the label of its axis."""
    logarithmic = figure.form == "queue-log"
    scale, least = (1.0, LOG_BYTES[0]) if logarithmic else (1e-3, 0.0)
    set_point = facts(result).set_point_bytes
    series = [
        (time, np.maximum(samples * scale, least)) for time, samples in traces.queues(result, port)
    ]
    _band(axes, axes.get_xlim(), series)
    if set_point is not None:
        axes.axhline(set_point * scale, color=plots.INK, lw=0.7, ls=SET_POINT)
    if logarithmic:
        axes.set_yscale("log")
        axes.set_ylim(*LOG_BYTES)
    return "queue (B)" if logarithmic else "queue (KB)"


def _rates(axes: Axes, figure: Figure, result: Result) -> str:
    """Draw the sum of the flows' rates, or each flow's; return the label of the axis."""
    factor = MB_PER_GB if figure.unit == "MB/s" else 1.0
    every = traces.traces(result)
    if figure.form == "throughput":
        totals = [(one.bin_s, one.crossing(figure.flows).sum(axis=0) * factor) for one in every]
        _band(axes, axes.get_xlim(), totals)
    else:
        rates = every[0].crossing(figure.flows)
        for index, rate in enumerate(rates):
            pen = plots.source_style(index if len(rates) <= len(plots.SOURCES) else 0)
            axes.step(every[0].bin_s, rate * factor, where="post", lw=0.8, **pen)
    return f"throughput\n({figure.unit})"
