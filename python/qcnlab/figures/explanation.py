"""The figure of what happened in a run: where congestion began, and where the slowest time went."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from qcnlab.figures.notebook import ShownFigure
from qcnlab.figures.plots import FAINT, INK, SOURCES, TITLE, style
from qcnlab.printing import text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from qcnlab.runs.explained import Explanation, Root, SlowFlow, TimePart

MS = 1e3
ROOTS = 8
"""So many ports where congestion began are drawn, the longest stops first."""
PARTS: tuple[tuple[TimePart, str, str, str], ...] = (
    ("sending_s", "sending", SOURCES[2], ""),
    ("paused_s", "its own link stopped", SOURCES[1], "/////"),
    ("limited_s", "rate below its link's", SOURCES[0], "....."),
    ("rest_s", "the rest: queues, pauses in the network, repeats", "#c9c3b6", ""),
)


def explanation_figure(told: Explanation) -> Figure:
    """Draw the ports where congestion began, and where the time of the slowest flows went.

    Parameters
    ----------
    told : dict
        What `qcnlab explain-run` tells as JSON.

    Returns
    -------
    matplotlib.figure.Figure
        It belongs to no window; `figure.savefig(path)` writes it.
    """
    roots, slow = told["roots"][:ROOTS], told["slow"]
    rows = max(len(roots), len(slow), 2)
    with style():
        figure = ShownFigure(figsize=(9.6, 1.9 + 0.32 * rows), layout="constrained")
        left, right = figure.subplots(1, 2, width_ratios=(1, 1.6))
        _roots(left, roots, len(told["roots"]))
        _slow(right, slow)
        title = f"{told['run']}, replication {told['replication']}"
        figure.suptitle(textwrap.fill(title, TITLE), x=0.01, ha="left")
        if slow:
            figure.legend(*right.get_legend_handles_labels(), loc="outside lower right", ncols=2)
    return figure


def _nothing(axes: Axes, words: str) -> None:
    axes.set_axis_off()
    axes.text(0.0, 0.5, words, color=FAINT, transform=axes.transAxes)


def _roots(axes: Axes, roots: list[Root], count: int) -> None:
    if not roots:
        _nothing(axes, "no link was stopped")
        return
    spans = [each["stopped_s"] * MS for each in roots]
    axes.barh(range(len(roots)), spans, 0.6, color=SOURCES[1])
    for row, (each, span) in enumerate(zip(roots, spans, strict=True)):
        links = text.counted(len(each["links"]), "link")
        axes.text(span, row, f" {links}", va="center", fontsize=7, color=INK)
    axes.set_yticks(range(len(roots)), [each["port"] for each in roots])
    axes.invert_yaxis()
    axes.set_xlim(0.0, 1.3 * max(spans))
    axes.set_xlabel("links stopped because of it, times summed (ms)")
    more = f"; {count - len(roots)} more" if count > len(roots) else ""
    axes.set_title(f"where congestion began{more}", color=FAINT, fontsize=8)


def _slow(axes: Axes, slow: list[SlowFlow]) -> None:
    if not slow:
        _nothing(axes, "no flow has a time")
        return
    left = [0.0] * len(slow)
    for key, words, color, hatch in PARTS:
        widths = [(each[key] or 0.0) * MS for each in slow]
        if not any(widths):
            continue
        axes.barh(
            range(len(slow)), widths, 0.6, left=left, color=color, hatch=hatch, label=words,
            edgecolor="white", lw=0.5,
        )  # fmt: skip
        left = [a + b for a, b in zip(left, widths, strict=True)]
    axes.set_yticks(range(len(slow)), [each["flow"] for each in slow])
    axes.invert_yaxis()
    axes.set_xlabel("how long the flow lasted (ms)")
    unknown = sum(each["limited_s"] is None for each in slow)
    left_out = f"; rates of {unknown} not sampled: in the rest" if unknown else ""
    axes.set_title(f"the slowest flows: where their time went{left_out}", color=FAINT, fontsize=8)
