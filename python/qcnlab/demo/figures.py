"""The figures of the demonstration: every scheme against the others, at each round-trip time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from qcnlab.figures.plots import (
    DASHES,
    FAINT,
    INK,
    SHADE,
    LineStyle,
    draw_queue,
    draw_rates,
    draw_throughput,
    name_hotspot,
    one,
    panels,
    save,
    style,
    time_axis,
)
from qcnlab.metrics import never
from qcnlab.printing import text
from qcnlab.runs.facts import Facts, facts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes

    from qcnlab.demo.cells import Cell, Demo, Row

LINES: dict[str, LineStyle] = {
    "none": {"color": "#8a8a8a", "ls": DASHES[2], "lw": 1.2},
    "ecm": {"color": "#D55E00", "ls": DASHES[1], "lw": 1.2},
    "ecm-adjusted": {"color": "#B8860B", "ls": DASHES[3], "lw": 1.2},
    "qcn-byte-counter": {"color": "#56B4E9", "ls": (0, (8, 2)), "lw": 1.2},
    "qcn-timer": {"color": "#009E73", "ls": (0, (2, 1)), "lw": 1.4},
    "qcn": {"color": "#0072B2", "ls": "-", "lw": 1.8},
}
WIDTH, RIGHT = 7.2, 0.14
"""Width of a figure, and its margin at the right, in inches."""
FIGURES = ("recovery", "return", "queue", "throughput", "rates")
TITLES = {
    "recovery": "QCN recovers alike at both round-trip times; ECM needs a gain for each",
    "return": "How the bandwidth comes back: fast and swinging, steady and slow, or QCN",
    "queue": "Queue: at 200 us ECM's large gain swings, while QCN keeps near its set point",
    "throughput": "Throughput: at 200 us ECM loses bandwidth or time; QCN recovers and stays",
    "rates": "Rate limiters: current rate (solid) and target rate (dotted) of each source",
}


def draw_all(demo: Demo, folder: Path, suffixes: Sequence[str]) -> list[Path]:
    """Write every figure in each format into `folder/figures`; return the paths."""
    figures = folder / "figures"
    figures.mkdir(exist_ok=True)
    make: dict[str, Callable[[Demo], Figure]] = {
        "recovery": recovery_figure,
        "queue": queue_figure,
        "throughput": throughput_figure,
        "rates": rates_figure,
        "return": return_figure,
    }
    paths: list[Path] = []
    for name in FIGURES:
        figure = make[name](demo)
        paths += [save(figure, figures / f"{name}{suffix}") for suffix in suffixes]
    return paths


def queue_figure(demo: Demo) -> Figure:
    """Draw the queue of the first replication, a row per scheme, a column per RTT."""

    def draw(axes: Axes, cell: Cell, known: Facts) -> None:
        frame = one(cell.result.queues.to_polars(), 0)
        draw_queue(axes, frame, known, _color(cell.row), name_set_point=False)
        axes.set_yticks([0, 50, 100, 150])
        if known.set_point_bytes is not None:
            _inside(axes, known, 0.9, f"set point {known.set_point_bytes / 1e3:g} KB")

    return _grid(demo, demo.rows, "queue", "KB", draw)


def throughput_figure(demo: Demo) -> Figure:
    """Draw the link's throughput in the first replication, with the recovery time."""

    def draw(axes: Axes, cell: Cell, known: Facts) -> None:
        frame = one(cell.result.throughput.to_polars(), 0)
        draw_throughput(axes, frame, known, _color(cell.row), each=False)
        axes.set_yticks([0, 5, 10])
        took = cell.metrics["recovery_ms"].values[0]
        if took is None:
            _inside(axes, known, 0.6, never("recovery_ms"))
            return
        end = known.hotspots[0].end_s
        axes.axvline(end + took / 1e3, color=INK, lw=0.7, ls=(0, (2, 2)))
        _inside(axes, known, 0.6, f"recovers in {text.number(took, 3)} ms")

    return _grid(demo, demo.rows, "throughput", "Gb/s", draw, hotspot_at=0.85)


def rates_figure(demo: Demo) -> Figure:
    """Draw the rates of both limiters in the first replication, of schemes that limit rates."""
    rows = [row for row in demo.rows if _limits(demo.cell(row, demo.rtts[0]))]

    def draw(axes: Axes, cell: Cell, known: Facts) -> None:
        draw_rates(axes, one(cell.result.rates.to_polars(), 0), known)
        axes.set_ylim(0.008, 25)
        axes.set_yticks([0.01, 0.1, 1, 10])

    figure = _grid(demo, rows, "rates", "Gb/s", draw, hotspot_at=0.8, bottom=0.72)
    with style():
        handles, labels = figure.axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="lower right", ncols=4)
    return figure


def return_figure(demo: Demo) -> Figure:
    """Draw the throughput of all schemes over each other, from the end of the hotspot on."""
    with style():
        figure, axes = _one_line(len(demo.rtts), 3.4, 0.52, sharex=False)
        for panel, rtt in zip(axes, demo.rtts, strict=True):
            for row in demo.rows:
                _draw_return(panel, demo.cell(row, rtt))
            panel.set_title(f"RTT {rtt}")
            panel.set_xlabel("time since the end of the hotspot (ms)")
            panel.set_ylim(0, 10.6)
        axes[0].set_ylabel("throughput (Gb/s)")
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="lower center", ncols=3)
        _title(figure, "return")
    return figure


def recovery_figure(demo: Demo) -> Figure:
    """Draw every replication's recovery time, the median, and the value deck 001 prints."""
    with style():
        figure, axes = _one_line(len(demo.rtts), 3.0, 1.25, sharex=True)
        rows = demo.rows
        for panel, rtt in zip(axes, demo.rtts, strict=True):
            for height, row in enumerate(rows):
                _draw_recovery(panel, demo.cell(row, rtt), height)
            panel.set_title(f"RTT {rtt}")
            _log_ms(panel)
            panel.set_yticks(range(len(rows)), [row.label for row in rows])
            panel.set_ylim(len(rows) - 0.4, -0.6)
            panel.grid(axis="y", visible=False)
        handles, labels = axes[-1].get_legend_handles_labels()
        known = dict(zip(labels, handles, strict=True))
        figure.legend(known.values(), known.keys(), loc="lower center", ncols=3)
        _title(figure, "recovery")
    return figure


def _grid(
    demo: Demo,
    rows: list[Row],
    name: str,
    unit: str,
    draw: Callable[[Axes, Cell, Facts], None],
    hotspot_at: float = 0.5,
    bottom: float = 0.46,
) -> Figure:
    with style():
        figure, grid = _fixed_grid(len(rows), len(demo.rtts), bottom)
        for line, row in zip(grid, rows, strict=True):
            for axes, rtt in zip(line, demo.rtts, strict=True):
                cell = demo.cell(row, rtt)
                known = facts(cell.result)
                draw(axes, cell, known)
                axes.set_ylabel(unit if rtt == demo.rtts[0] else "")
                if rtt == demo.rtts[0]:
                    axes.set_title(row.label, color=_color(row), fontweight="bold", pad=3)
                time_axis(axes, known)
                if row is not rows[-1]:
                    axes.set_xlabel("")
                if row is rows[0]:
                    axes.set_title(f"RTT {rtt}", loc="right", fontweight="bold", pad=3)
                    name_hotspot(axes, known, hotspot_at)
        _title(figure, name)
    return figure


def _fixed_grid(rows: int, columns: int, bottom: float) -> tuple[Figure, Sequence[Sequence[Axes]]]:
    """Return a grid with margins in inches; a computed layout would take longer than drawing."""
    top, panel, gap = 0.52, 0.8, 0.28
    height = top + bottom + rows * panel + (rows - 1) * gap
    figure = Figure(figsize=(WIDTH, height))
    grid = panels(figure, rows, columns, sharex=True, sharey=True)
    _margins(figure, columns, (0.52, top, bottom), gap)
    figure.subplots_adjust(hspace=gap / panel)
    return figure, grid


def _one_line(
    columns: int, height: float, left: float, *, sharex: bool
) -> tuple[Figure, Sequence[Axes]]:
    """Return a figure of one line of panels above a legend of two lines; lengths in inches."""
    figure = Figure(figsize=(WIDTH, height))
    axes = panels(figure, 1, columns, sharex=sharex, sharey=True)[0]
    _margins(figure, columns, (left, 0.52, 0.84), 0.28)
    return figure, axes


def _margins(figure: Figure, columns: int, edges: tuple[float, float, float], gap: float) -> None:
    """Set the margins at left, top and bottom and the gap between columns, in inches."""
    left, top, bottom = edges
    across = (WIDTH - left - RIGHT - (columns - 1) * gap) / columns
    height = figure.get_figheight()
    figure.subplots_adjust(
        left=left / WIDTH,
        right=1 - RIGHT / WIDTH,
        top=1 - top / height,
        bottom=bottom / height,
        wspace=gap / across,
    )


def _limits(cell: Cell) -> bool:
    return cell.result.rates.to_polars()["current_rate_bps"].n_unique() > 1


def _title(figure: Figure, name: str) -> None:
    figure.suptitle(TITLES[name], x=0.01, y=1 - 0.06 / figure.get_figheight(), ha="left")


def _color(row: Row) -> str:
    return str(LINES[row.key]["color"])


def _inside(axes: Axes, known: Facts, y: float, words: str) -> None:
    """Write `words` at the right edge of the last hotspot's shade, at height `y`."""
    axes.text(
        known.hotspots[-1].end_s - known.duration_s * 0.012,
        y,
        words,
        transform=axes.get_xaxis_transform(),
        ha="right",
        va="top",
        fontsize=7,
        bbox={"boxstyle": "square,pad=0.15", "fc": SHADE, "alpha": 0.85},
    )


def _draw_return(axes: Axes, cell: Cell) -> None:
    known = facts(cell.result)
    end = known.hotspots[-1].end_s
    total = (
        one(cell.result.throughput.to_polars(), 0)
        .filter(pl.col("time_s") >= end - 0.03)
        .group_by("time_s")
        .agg(pl.col("rate_bps").sum())
        .sort("time_s")
    )
    time = (total["time_s"].to_numpy() - end) * 1e3
    axes.plot(time, total["rate_bps"].to_numpy() / 1e9, label=cell.row.label, **LINES[cell.row.key])
    axes.set_xlim(-20, min(300.0, (known.duration_s - end) * 1e3))


def _draw_recovery(axes: Axes, cell: Cell, height: int) -> None:
    metric = cell.metrics["recovery_ms"]
    times_ms = metric.known
    color = _color(cell.row)
    if metric.median is not None:
        axes.plot([min(times_ms), max(times_ms)], [height, height], color=color, lw=1.2)
        axes.plot(
            times_ms, [height] * len(times_ms), "o", ms=4, mfc="none", mec=color, mew=0.7,
            label="one replication",
        )  # fmt: skip
        axes.plot(metric.median, height, "|", ms=13, mew=2.2, color=color, label="median")
    missing = len(metric.values) - len(times_ms)
    if missing:
        words = "did not recover" if not times_ms else f"{missing} did not recover"
        axes.text(0.99, height, words, transform=axes.get_yaxis_transform(), ha="right",
                  va="center", fontsize=7.5, color=FAINT)  # fmt: skip
    if cell.published_ms is not None:
        axes.plot(
            cell.published_ms, height, "D", ms=6, mfc="white", mec=INK, mew=1.1,
            label="published in deck 001",
        )  # fmt: skip


def _log_ms(axes: Axes) -> None:
    axes.set_xscale("log")
    axes.set_xlim(0.8, 1000)
    axes.xaxis.set_major_locator(FixedLocator([1, 3, 10, 30, 100, 300, 1000]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_xlabel("recovery time (ms)")
