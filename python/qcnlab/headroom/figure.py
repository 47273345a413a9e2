"""The figure of headroom: what each sum is made of, and what runs with it lose."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from qcnlab.figures.notebook import ShownFigure
from qcnlab.figures.plots import FAINT, INK, SOURCES, TITLE, style
from qcnlab.printing import text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure

    from qcnlab.headroom.told import Column, Told

HATCHES = ("", "/////", ".....", "\\\\\\\\\\", "xxxxx")
KB = 1000.0
WIDE = 0.055
"""A term of at least this share of the longest sum has its number inside."""


def headroom_figure(told: Told, words: Mapping[str, str]) -> Figure:
    """Draw each sum as a bar of its terms, and what a run with so much headroom lost.

    Parameters
    ----------
    told : dict
        What `qcnlab headroom` tells as JSON.
    words : mapping of str to str
        Names of terms.

    Returns
    -------
    matplotlib.figure.Figure
        It belongs to no window; `figure.savefig(path)` writes it.
    """
    columns = told["sums"]
    names = [key for key in words if any(_terms(column).get(key) for column in columns)]
    most = max(column["xoff_bytes"] for column in columns)
    lost = [told["laboratory"]["lost_frames"]["with_headroom"]]
    lost = [each["lost_frames"] for each in told["laboratory"]["others"]] + lost
    with style():
        figure = ShownFigure(figsize=(7.2, 2.4 + 0.55 * len(columns)), layout="constrained")
        axes = figure.add_subplot()
        left = [0.0] * len(columns)
        for number, name in enumerate(names):
            widths = [_terms(column).get(name) or 0.0 for column in columns]
            color = SOURCES[number % len(SOURCES)]
            axes.barh(
                range(len(columns)), [each / KB for each in widths], 0.6,
                left=[each / KB for each in left], color=color, label=words[name],
                edgecolor="white", lw=0.6, hatch=HATCHES[number % len(HATCHES)],
            )  # fmt: skip
            for row, width in enumerate(widths):
                if width >= WIDE * most:
                    axes.text(
                        (left[row] + width / 2) / KB, row, f"{width / KB:.1f}", ha="center",
                        va="center", fontsize=7,
                        bbox={"fc": "white", "ec": "none", "pad": 0.8, "alpha": 0.85},
                    )  # fmt: skip
            left = [a + b for a, b in zip(left, widths, strict=True)]
        whole = [0.0 if column["terms"] else column["xoff_bytes"] / KB for column in columns]
        if any(whole):
            axes.barh(
                range(len(columns)), whole, 0.6, color="white", edgecolor=FAINT, hatch="...",
                label="a row as shipped, without terms",
            )  # fmt: skip
        for row, (column, frames) in enumerate(zip(columns, lost, strict=True)):
            ends = f"{text.counted(frames, 'frame')} lost" if frames else "nothing lost"
            axes.text(
                (column["xoff_bytes"] + 0.01 * most) / KB, row,
                f"{column['xoff_bytes']:,} B: {ends}", va="center", fontsize=7,
                color=SOURCES[1] if frames else INK,
            )  # fmt: skip
        axes.set_yticks(range(len(columns)), [column["name"] for column in columns])
        axes.invert_yaxis()
        axes.set_xlim(0.0, 1.35 * most / KB)
        axes.set_xlabel("headroom of one lossless class (KB = 1000 octets)")
        axes.set_title(_setting(told), color=FAINT, fontsize=8, loc="left")
        figure.legend(loc="outside lower left", ncols=2, fontsize=7)
        title = "Headroom by terms, and what runs with the longest delays lose"
        figure.suptitle(textwrap.fill(title, TITLE), x=0.01, ha="left")
    return figure


def _terms(column: Column) -> dict[str, float]:
    return {term["name"]: term["bytes"] for term in column["terms"]}


def _setting(told: Told) -> str:
    platform = told["platform"]
    cells = f", cells of {platform['cell_bytes']} B ({platform['name']})" if platform else ""
    return (
        f"{text.rate(told['rate_bps'])}, {told['cable_m']:g} m, frames of {told['mtu_bytes']} B, "
        f"response {text.duration(told['reaction_s'])}{cells}"
    )
