"""The congestion tree: which links PAUSE stopped, for how long, because of which queue."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
from matplotlib.figure import Figure

from qcnlab.figures.notebook import ShownFigure
from qcnlab.figures.plots import FAINT, INK, SOURCES, one, style
from qcnlab.printing.text import counted
from qcnlab.runs.facts import facts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes

    from qcnlab.runs.recorded import Recorded

MOST = 24
"""So many links are drawn at most, those that were stopped longest."""


def congestion_tree(result: Recorded, replication: int = 0) -> pl.DataFrame:
    """Sum the pauses of one replication.

    Parameters
    ----------
    result : Recorded
        The run.
    replication : int, default 0
        Counted from 0.

    Returns
    -------
    polars.DataFrame
        A row for each `port` that was stopped and each port `because` of whose queue it was,
        longest first: `priority` (null for the whole link), `stops`, `paused_s` (s), and
        `paused_frac`, the share of the run.

    Raises
    ------
    IndexError
        If there is no such replication.
    """
    count = result.summary.replications
    if not 0 <= replication < count:
        raise IndexError(f"no replication {replication}: there are {count}, numbered from 0")
    pauses = one(result.pauses.to_polars(), replication)
    lasted = (pl.col("until_s") - pl.col("time_s")).sum()
    end = facts(result).duration_s
    return (
        pauses.group_by("port", "because", "priority")
        .agg(pl.len().alias("stops"), lasted.alias("paused_s"))
        .with_columns((pl.col("paused_s") / end).alias("paused_frac"))
        .sort(["paused_s", "port", "because"], descending=[True, False, False])
    )


def tree_figure(result: Recorded, replication: int = 0) -> Figure:
    """Draw which link stopped which: each stands left of the one whose queue stopped it."""
    tree = congestion_tree(result, replication)
    shown = shown_part(tree)
    positions = tree_positions(shown)
    rows = 1 + max((row for _, row in positions.values()), default=0)
    with style():
        figure = ShownFigure(figsize=(7.2, 1.6 + 0.42 * rows), layout="constrained")
        axes = figure.add_subplot()
        axes.set_axis_off()
        _draw(axes, shown, positions)
        pauses = result.tree.get("pause", [])
        tables = [pauses] if isinstance(pauses, dict) else pauses
        by_class = any(each["kind"] == "priority" for each in tables)
        links = counted(tree["port"].n_unique(), "link")
        title = f"Stopped by {'PFC' if by_class else 'PAUSE'}: {links}"
        axes.set_title(title, loc="left")
        left_out = len(tree) - len(shown)
        words = "An arrow leads from a stopped link to the queue that stopped it; share of the run."
        if left_out:
            words += f" {left_out} of {len(tree)} left out, stopped for shorter."
        axes.text(0, -0.02, words, transform=axes.transAxes, color=FAINT, va="top", fontsize=8)
    return figure


def shown_part(tree: pl.DataFrame, most: int = MOST) -> pl.DataFrame:
    """Return the rows that are drawn: the longest stops, each with its way to the root.

    A row is taken only together with what stopped the link that it names, and so on, so that no
    link looks like a root that is not one.

    Parameters
    ----------
    tree : polars.DataFrame
        What `congestion_tree` returned: longest first.
    most : int, default 24
        So many rows at most, unless the way of the first one is longer.

    Returns
    -------
    polars.DataFrame
        Rows of `tree`, in its order.
    """
    ports = tree["port"].cast(pl.String).to_list()
    causes = tree["because"].cast(pl.String).to_list()
    main: dict[str, int] = {}
    for index, port in enumerate(ports):
        main.setdefault(port, index)
    taken: dict[int, None] = {}
    for index in range(len(ports)):
        way = [index]
        above = main.get(causes[index])
        while above is not None and above not in taken and above not in way:
            way.append(above)
            above = main.get(causes[above])
        new = [each for each in way if each not in taken]
        if not taken or len(taken) + len(new) <= most:
            taken.update(dict.fromkeys(new))
    return tree[sorted(taken)]


def tree_positions(tree: pl.DataFrame) -> Mapping[str, tuple[int, int]]:
    """Return the column and row of each link; congestion starts in column 0."""
    stopped_by: dict[str, str] = {}
    for row in tree.iter_rows(named=True):
        stopped_by.setdefault(row["port"], row["because"])
    depth: dict[str, int] = {}
    for port in [*stopped_by, *stopped_by.values()]:
        seen = [port]
        while seen[-1] in stopped_by and stopped_by[seen[-1]] not in seen:
            seen.append(stopped_by[seen[-1]])
        depth[port] = len(seen) - 1
    order = sorted(depth, key=lambda port: (depth[port], _row_key(port, stopped_by, depth)))
    rows: dict[int, int] = {}
    positions = {}
    for port in order:
        column = depth[port]
        positions[port] = (column, rows.get(column, 0))
        rows[column] = rows.get(column, 0) + 1
    return positions


def _row_key(port: str, stopped_by: Mapping[str, str], depth: Mapping[str, int]) -> list[str]:
    """Return the way from the root to `port`; it ends where a circle closes."""
    way = [port]
    while depth[way[-1]] > 0 and stopped_by.get(way[-1], port) not in way:
        way.append(stopped_by[way[-1]])
    return way[::-1]


def _draw(axes: Axes, tree: pl.DataFrame, positions: Mapping[str, tuple[int, int]]) -> None:
    columns = 1 + max((column for column, _ in positions.values()), default=0)
    counts = [sum(1 for c, _ in positions.values() if c == column) for column in range(columns)]
    tallest = max(counts, default=1)

    def spot(port: str) -> tuple[float, float]:
        column, row = positions[port]
        return float(columns - 1 - column), -(row + 0.5) * tallest / counts[column]

    share: dict[str, float] = {}
    for row in tree.iter_rows(named=True):
        share[row["port"]] = share.get(row["port"], 0.0) + row["paused_frac"]
        (x0, y0), (x1, y1) = spot(row["port"]), spot(row["because"])
        width = 0.6 + 2.4 * row["paused_frac"]
        arrow = {
            "arrowstyle": "-|>",
            "color": SOURCES[0],
            "lw": width,
            "mutation_scale": 11,
        }
        near, far = x0 + 0.27, x1 - 0.27
        if x1 <= x0:
            near, far = x0, x1
        axes.annotate("", (far, y1), (near, y0), arrowprops={**arrow, "shrinkA": 0, "shrinkB": 0})
    for port in positions:
        x, y = spot(port)
        words = f"{port}\n{100 * share[port]:.0f} %" if port in share else port
        box = {
            "boxstyle": "round,pad=0.3",
            "fc": "white",
            "ec": INK if port in share else SOURCES[1],
        }
        axes.text(x, y, words, ha="center", va="center", color=INK, fontsize=8, bbox=box)
    axes.set_xlim(-0.5, columns - 0.5)
    axes.set_ylim(-tallest - 0.2, 0.2)
