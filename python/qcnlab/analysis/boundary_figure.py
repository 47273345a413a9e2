"""The figure of an edge of stability."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from qcnlab.analysis.draw import line_style, title
from qcnlab.figures.notebook import ShownFigure
from qcnlab.figures.plots import FAINT, INK, LineStyle, style

if TYPE_CHECKING:
    from qcnlab.analysis.responses import Array


class Edges(Protocol):
    """What is drawn of an edge of stability."""

    @property
    def title(self) -> str:
        """One line for people."""

    @property
    def rtts_s(self) -> tuple[float, ...]:
        """RTTs that were run, s."""

    @property
    def packets_swing(self) -> Array:
        """How far the packets' queue swings, as a share of its level; shape (sources, RTTs)."""

    def __getitem__(self, name: str) -> Array:
        """Return a column: `sources`, `packets_s`, `fluid_s` or `linear_s`."""


def boundary_figure(edges: Edges, swing: float) -> Figure:
    """Return a figure of the edges over N, with a filled mark for each run whose queue swings."""
    n = edges["sources"]
    with style():
        figure = ShownFigure(figsize=(4.6, 3.6), layout="constrained")
        axes = figure.subplots()
        grid_n, grid_rtt = np.meshgrid(n, np.array(edges.rtts_s) * 1e6, indexing="ij")
        swings = edges.packets_swing >= swing
        dots: LineStyle = {"ls": "", "marker": "o", "ms": 4, "mec": FAINT, "mew": 0.8}
        steady = edges.packets_swing < swing
        axes.plot(grid_n[steady], grid_rtt[steady], mfc="white", label="packets: steady", **dots)
        axes.plot(
            grid_n[swings],
            grid_rtt[swings],
            mfc=FAINT,
            label="packets: swings",
            **dots,
        )
        lines: tuple[tuple[str, str, LineStyle], ...] = (
            ("packets_s", "packets, edge", {**line_style(0), "color": INK, "lw": 1.6}),
            ("fluid_s", "fluid with clamps, edge", {**line_style(1), "color": "#0072B2"}),
            ("linear_s", "linear theory, as published", line_style(3) | {"color": "#D55E00"}),
        )
        for name, label, line in lines:
            axes.plot(n, edges[name] * 1e6, label=label, **line)
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(FixedLocator(list(n)))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.set_xlabel("number of sources N")
        axes.set_ylabel("RTT (us)")
        axes.set_ylim(0, max(edges.rtts_s) * 1.06e6)
        figure.legend(loc="outside lower center", ncols=2)
        title(figure, edges.title)
    return figure
