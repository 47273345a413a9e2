"""The book's figures, in the form of the published ones: traces, bars, steps."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure as Canvas
from PIL import Image

from qcnlab.book import trace_figures
from qcnlab.book.models import loop_of
from qcnlab.book.values import unit_of, values_of
from qcnlab.figures import plots
from qcnlab.printing import text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from matplotlib.axes import Axes

    from qcnlab.book.entries import Figure
    from qcnlab.book.runner import CaseResult

COLORS = 64
"""Colours of a figure's file: blue, its shades and grey, which makes it a third as long."""


def save(figure: Figure, results: Mapping[str, CaseResult], path: Path) -> None:
    """Draw a row's figure from the results of its cases into a PNG of few colours."""
    plots.save(draw(figure, results), path)
    with Image.open(path) as image:
        few = image.convert("RGB").quantize(COLORS, dither=Image.Dither.NONE)
    few.save(path, optimize=True)


def draw(figure: Figure, results: Mapping[str, CaseResult]) -> Canvas:
    """Draw a row's figure from the results of its cases."""
    with plots.style():
        if figure.form in trace_figures.FORMS:
            return trace_figures.draw(figure, results)
        height = 0.9 + 0.25 * len(figure.cases) if figure.form == "bars" else 2.9
        canvas = Canvas(figsize=(6.4, height), layout="constrained")
        PENS[figure.form](canvas.subplots(), figure, results)
        if figure.form == "step":
            canvas.legend(loc="outside upper right", ncols=len(figure.names))
        return canvas


def _bars(axes: Axes, figure: Figure, results: Mapping[str, CaseResult]) -> None:
    factor, _ = unit_of(figure.of)
    highest = 0.0
    for index, case in enumerate(figure.cases):
        numbers = [n * factor for n in values_of(results[case], figure.of, figure.window)]
        middle, low, high = _finite(numbers)
        highest = max(highest, high)
        axes.barh(index, middle, color=plots.SOURCES[0], height=0.6)
        axes.plot([low, high], [index, index], color=plots.INK, lw=1.0)
        axes.annotate(
            text.number(middle, 4),
            (high, index),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize=7,
        )
    axes.set_xlim(0, 1.15 * highest or 1.0)
    axes.ticklabel_format(axis="x", style="plain")
    axes.set_yticks(range(len(figure.cases)), figure.names)
    axes.invert_yaxis()
    axes.set_xlabel(_label(figure.of) + ": median, and range over runs")


def _finite(numbers: list[float]) -> tuple[float, float, float]:
    kept = sorted(n for n in numbers if math.isfinite(n)) or [0.0]
    return float(np.median(kept)), kept[0], kept[-1]


def _steps(axes: Axes, figure: Figure, results: Mapping[str, CaseResult]) -> None:
    for index, (case, name) in enumerate(zip(figure.cases, figure.names, strict=True)):
        loop = loop_of(results[case].case.changes)
        step = loop.step(20 * loop.delay)
        axes.plot(step["time_s"], step["output"], label=name, **plots.source_style(index))
    axes.set_xlabel("time (no unit, as on the slide)")
    axes.set_ylabel("output")


def _label(of: str) -> str:
    _, unit = unit_of(of)
    words = of.removesuffix("_bytes").removesuffix("_ms").removesuffix("_gbps").replace("_", " ")
    return f"{words} ({unit})" if unit and unit not in words else words


PENS: dict[str, Callable[[Axes, Figure, Mapping[str, CaseResult]], None]] = {
    "bars": _bars,
    "step": _steps,
}
