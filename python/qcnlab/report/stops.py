"""The congestion tree of a report: which link stopped which, over time."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from qcnlab.figures.plots import one
from qcnlab.figures.tree import congestion_tree, shown_part, tree_positions
from qcnlab.report.traces import covered, merged, nice

if TYPE_CHECKING:
    from qcnlab.report.charts import Sheet
    from qcnlab.results.result import Result

STEPS = 40
"""About so many steps the slider has."""
WIDE, TALL, BOX, HIGH = 210.0, 46.0, 132.0, 26.0


def tree(sheet: Sheet, result: Result) -> str:
    """Draw the tree of the first replication with a slider of time; empty without pauses."""
    pauses = one(result.pauses.to_polars(), 0)
    if not len(pauses):
        return ""
    pauses = pauses.with_columns(pl.col("port").cast(pl.String), pl.col("because").cast(pl.String))
    whole = congestion_tree(result, 0)
    shown = shown_part(whole)
    positions = tree_positions(shown)
    bin_s = nice(sheet.end_s / STEPS)
    bins = max(int(np.ceil(sheet.end_s / bin_s - 1e-9)), 1)
    edges = np.arange(bins + 1, dtype=np.float64) * bin_s
    kept = []
    pairs = dict.fromkeys(zip(shown["port"].cast(pl.String), shown["because"].cast(pl.String),
                              strict=True))  # fmt: skip
    for port, because in pairs:
        part = pauses.filter((pl.col("port") == port) & (pl.col("because") == because))
        start, end = merged(part["time_s"].to_numpy(), part["until_s"].to_numpy(), 0.0)
        shares = covered(start, end, edges)
        total = float((end - start).sum()) / sheet.end_s
        kept.append((port, because, total, shares))
    number = len(sheet.trees)
    sheet.trees.append(
        {
            "id": f"tree{number}",
            "bin": bin_s,
            "edges": [
                {"total": round(total, 5), "shares": [round(float(s), 4) for s in shares]}
                for _, _, total, shares in kept
            ],
        }
    )
    columns = 1 + max(column for column, _ in positions.values())
    counts = [sum(1 for c, _ in positions.values() if c == column) for column in range(columns)]
    tallest = max(counts)

    def spot(port: str) -> tuple[float, float]:
        column, row = positions[port]
        y = (row + 0.5) * tallest / counts[column] * TALL
        return (columns - 1 - column) * WIDE + BOX / 2 + 2, y

    parts = []
    for index, (port, because, _, _) in enumerate(kept):
        (x0, y0), (x1, y1) = spot(port), spot(because)
        near, far = (x0 + BOX / 2, x1 - BOX / 2) if x1 > x0 else (x0, x1)
        parts.append(f'<path data-edge="{index}" d="M{near:.0f} {y0:.0f}L{far:.0f} {y1:.0f}"/>')
        x, y = near + (far - near) * 0.3, y0 + (y1 - y0) * 0.3
        parts.append(f'<text class="share" data-edge="{index}" x="{x:.0f}" y="{y - 4:.0f}"></text>')
    for port in positions:
        x, y = spot(port)
        parts.append(
            f'<rect x="{x - BOX / 2:.0f}" y="{y - HIGH / 2:.0f}" width="{BOX:.0f}" '
            f'height="{HIGH:.0f}" rx="5"/><text x="{x:.0f}" y="{y + 4:.0f}">{escape(port)}</text>'
        )
    left = len(whole) - len(shown)
    note = (
        "Each stopped link stands left of the link whose queue stopped it; the share says for how "
        "much of the time shown. Where a tree spreads, links stop that carry nothing to its root."
    )
    if left:
        note += f" {left} of {len(whole)} pairs of links, stopped for shorter, are left out."
    width, height = (columns - 1) * WIDE + BOX + 4, tallest * TALL
    return (
        f'<section class="tree chart" id="tree{number}"><h3>Congestion tree</h3>'
        f'<p class="note">{escape(note)}</p><div class="row"><button type="button">Play</button>'
        f'<input type="range" min="-1" max="{bins - 1}" value="-1" aria-label="time">'
        f"<output></output></div>"
        f'<div class="wide"><svg viewBox="0 0 {width:.0f} {height:.0f}" role="img" '
        f'style="max-width:{width:.0f}px;min-width:{min(width, 420):.0f}px" '
        f'aria-label="Which link stopped which" font-size="11">{"".join(parts)}</svg></div>'
        "</section>"
    )
