"""The figure of a training step: when each rank computed and communicated."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from matplotlib.patches import Patch

from qcnlab.figures.notebook import ShownFigure
from qcnlab.figures.plots import INK, SOURCES, TITLE, style
from qcnlab.printing import text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from qcnlab.runs.training_steps import StepRecord, Task

COMPUTING = "#d9d4c7"
HATCHES = ("", "////", "xxxx", "....", "\\\\\\\\", "++++")
"""Of kinds of collectives, so that they differ without colours."""
MOST_RANKS = 12
"""So many ranks are drawn; of more those that ended last, and first."""
UNITS = ((1.0, "s"), (1e3, "ms"), (1e6, "us"), (1e9, "ns"))
PS = 1e12
HALF = 0.4
"""Height of a rank's computations, and of its collectives below, ranks."""


def step_figure(
    name: str,
    hosts: Sequence[str],
    tasks: Sequence[Task],
    lines: Sequence[dict[int, tuple[int, int] | None]],
    records: Sequence[StepRecord],
) -> Figure:
    """Draw when each rank computed, above, and communicated, below: a Gantt figure.

    Parameters
    ----------
    name : str
        The scenario's.
    hosts : sequence of str
        The host of each rank.
    tasks : sequence of dict
        The tasks of a step.
    lines : sequence
        For each task of each step, for each rank that has it, its interval in ps; `None`: it did
        not end.
    records : sequence of dict
        As `Steps.records` returns them.

    Returns
    -------
    matplotlib.figure.Figure
        It belongs to no window; `figure.savefig(path)` writes it.
    """
    end = max(each[1] for row in lines for each in row.values() if each is not None) / PS
    scale, unit = next(each for each in UNITS if end * each[0] >= 1 or each is UNITS[-1])
    ranks = _chosen(lines, len(hosts))
    kinds = list(dict.fromkeys(
        _kind(task["collective"], task.get("ranks"), task.get("stride"), len(hosts))
        for task in tasks
        if "collective" in task
    ))  # fmt: skip
    with style():
        figure = ShownFigure(figsize=(7.2, 2.0 + 0.32 * len(ranks)), layout="constrained")
        axes = figure.subplots()
        for row, rank in enumerate(ranks):
            for position, intervals in enumerate(lines):
                interval = intervals.get(rank)
                if interval is None or interval[0] == interval[1]:
                    continue
                task = tasks[position % len(tasks)]
                span = [(interval[0] * scale / PS, (interval[1] - interval[0]) * scale / PS)]
                if "compute_ps" in task:
                    axes.broken_barh(
                        span, (row - HALF, HALF), facecolor=COMPUTING, edgecolor=INK, lw=0.4
                    )
                    continue
                called = _kind(
                    task["collective"], task.get("ranks"), task.get("stride"), len(hosts)
                )
                kind = kinds.index(called)
                axes.broken_barh(
                    span, (row, HALF), facecolor=SOURCES[kind % len(SOURCES)],
                    hatch=HATCHES[kind % len(HATCHES)], edgecolor="white", lw=0.4,
                )  # fmt: skip
        for record in records:
            if record["replication"] == records[0]["replication"] and record["iteration_s"]:
                ends = [each["ended_s"] for each in record["tasks"] if each["ended_s"] is not None]
                axes.axvline(max(ends) * scale, color=INK, lw=1.0, ls=(0, (4, 2)))
        axes.set_xlim(0, end * scale * 1.02)
        axes.set_ylim(len(ranks) - 0.4, -0.6)
        axes.set_yticks(range(len(ranks)), [f"{rank}, {hosts[rank]}" for rank in ranks])
        axes.set_ylabel("rank, its host")
        axes.set_xlabel(f"time, {unit}")
        axes.grid(visible=False, axis="y")
        handles: list[Any] = [Patch(facecolor=COMPUTING, edgecolor=INK, lw=0.4, label="computes")]
        handles += [
            Patch(
                facecolor=SOURCES[at % len(SOURCES)], hatch=HATCHES[at % len(HATCHES)],
                edgecolor="white", lw=0.4, label=kind,
            )
            for at, kind in enumerate(kinds)
        ]  # fmt: skip
        handles.append(
            axes.plot([], [], color=INK, lw=1.0, ls=(0, (4, 2)), label="a step has ended")[0]
        )
        figure.legend(handles=handles, loc="outside lower center", ncols=3, fontsize=8)
        figure.suptitle(_title(name, records), x=0.01, ha="left")
    return figure


def _chosen(lines: Sequence[dict[int, tuple[int, int] | None]], count: int) -> list[int]:
    """Return the ranks that are drawn: all, or those that ended last and first."""
    if count <= MOST_RANKS:
        return list(range(count))
    ends = [
        max((each[1] for row in lines if (each := row.get(rank)) is not None), default=0)
        for rank in range(count)
    ]
    order = sorted(range(count), key=lambda rank: ends[rank])
    return sorted([*order[: MOST_RANKS // 2], *order[-MOST_RANKS // 2 :]])


def _kind(collective: str, ranks: int | None, stride: int | None, count: int) -> str:
    """Return what a collective is called in the key: tasks of one kind look the same."""
    if collective == "message":
        return "messages"
    if ranks is None:
        return f"{collective}, the time that it took"
    who = "all ranks" if ranks == count else f"{ranks} ranks"
    apart = f", {stride} apart" if stride is not None and stride > 1 else ""
    return f"{collective}, {who}{apart}"


def _title(name: str, records: Sequence[StepRecord]) -> str:
    head = textwrap.shorten(name, TITLE, placeholder=" ...")
    first = records[0]
    if first["iteration_s"] is None or first["exposed_s"] is None:
        return f"{head}\nthe step did not end"
    return (
        f"{head}\niteration time {text.duration(first['iteration_s'], 4)}, of which "
        f"{text.duration(first['exposed_s'], 4)} exposed communication at the last rank"
    )
