"""The figure of a collective operation: the chain of messages that its slowest rank waited for."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from qcnlab.figures.notebook import ShownFigure
from qcnlab.figures.plots import INK, TITLE, style
from qcnlab.printing import text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from qcnlab.runs.collective_runs import ChainLink, EndedRun

Part = tuple[tuple[str, ...], str, str, str]

PARTS: tuple[Part, ...] = (
    (("later_start_s", "computation_s"), "computation, later starts", "#f1ede4", "...."),
    (("waiting_at_sender_s",), "waiting at the sender", "#D55E00", "////"),
    (("serialisation_s", "propagation_s"), "serialisation, propagation", "#9fc6e3", ""),
    (("waiting_in_network_s",), "waiting in the network", "#1c3f5f", ""),
    (("acknowledgement_s",), "acknowledgement", "#ffffff", "xxxx"),
)
"""What the bar of a message consists of, in this order: parts, label, colour, hatch."""
CAUSES: tuple[Part, ...] = (
    (("later_start_s", "computation_s"), "computation, later starts", "#f1ede4", "...."),
    (("rate_limits_s",), "rate limits", "#D55E00", "////"),
    (("retransmission_s",), "retransmission", "#8c510a", "\\\\\\\\"),
    (("queueing_s",), "queueing", "#1c3f5f", ""),
    (("pauses_s",), "pauses", "#7b3294", "++++"),
    (("serialisation_s", "propagation_s"), "serialisation, propagation", "#9fc6e3", ""),
    (("acknowledgement_s",), "acknowledgement", "#ffffff", "xxxx"),
)
"""The same of a scenario with ``record.waits``, cause by cause."""
UNITS = ((1.0, "s"), (1e3, "ms"), (1e6, "us"), (1e9, "ns"))
"""The axis has the largest of them in which the operation takes at least one."""
FEW_RANKS = 16
"""So many ranks have their hosts' names beside them."""
THICK = 0.72
"""Height of a bar, ranks."""


def collective_figure(name: str, record: EndedRun) -> Figure:
    """Draw the chain of messages of the slowest rank of an operation that ended.

    Parameters
    ----------
    name : str
        The scenario's name.
    record : EndedRun
        One of `Collectives.records` that ended.

    Returns
    -------
    matplotlib.figure.Figure
        A row for each rank. A bar stands at the rank that sends a message, from when the message
        before it was there until it is there itself; what it consists of is drawn one after the
        other, however it came in time.
    """
    chain, ranks = record.slowest.chain, record.ranks
    scale, unit = next(
        each for each in UNITS if record.completion_s * each[0] >= 1 or each is UNITS[-1]
    )
    with style():
        height = min(6.5, max(3.2, 1.7 + 0.28 * ranks))
        figure = ShownFigure(figsize=(7.2, height), layout="constrained")
        axes = figure.subplots()
        began = record.began_s
        known = PARTS if record.slowest.causes is None else CAUSES
        used = _draw_chain(axes, chain, began, scale, known)
        bound = record.lower_bound_s * scale
        axes.axvline(bound, color=INK, lw=1.0, ls=(0, (4, 2)))
        _draw_ends(axes, record, scale)
        _draw_longest(axes, record, began, scale)
        axes.set_xlim(0, record.completion_s * scale * 1.02)
        axes.set_ylim(ranks - 0.4, -0.6)
        if ranks <= FEW_RANKS:
            axes.set_yticks(
                range(ranks), [f"{rank}, {host}" for rank, host in enumerate(record.hosts)]
            )
        else:
            axes.yaxis.set_major_locator(MaxNLocator(8, integer=True))
        axes.set_ylabel("rank that sends" + (", its host" if ranks <= FEW_RANKS else ""))
        axes.set_xlabel(f"from the start of the operation, {unit}")
        axes.grid(visible=False, axis="y")
        handles: list[Any] = [
            Patch(facecolor=color, hatch=hatch, edgecolor=INK, lw=0.6, label=label)
            for number, (_, label, color, hatch) in enumerate(known)
            if number in used
        ]
        handles += [
            axes.plot([], [], color=INK, lw=1.0, ls=(0, (4, 2)), label="lower bound")[0],
            axes.plot([], [], color=INK, marker="|", ls="none", ms=9, mew=1.2, label="rank done")[
                0
            ],
        ]
        figure.legend(handles=handles, loc="outside lower center", ncols=3, fontsize=8)
        figure.suptitle(_title(name, record), x=0.01, ha="left")
    return figure


def _draw_chain(
    axes: Axes, chain: Sequence[ChainLink], began: float, scale: float, known: Sequence[Part]
) -> set[int]:
    """Draw the messages; returns the positions in `known` of the parts that any has."""
    used = set()
    until = 0.0
    for link in chain:
        at = until
        parts_of = link.parts if known is PARTS or link.causes is None else link.causes
        for number, (parts, _, color, hatch) in enumerate(known):
            took = sum(getattr(parts_of, part) for part in parts)
            if took <= 0:
                continue
            used.add(number)
            axes.broken_barh(
                [(at * scale, took * scale)],
                (link.from_rank - THICK / 2, THICK),
                facecolor=color,
                hatch=hatch,
                edgecolor=INK,
                lw=0.3,
            )
            at += took
        until = link.until_s - began
    return used


def _draw_ends(axes: Axes, record: EndedRun, scale: float) -> None:
    """Draw when each rank had completed the last round."""
    ends = record.rounds[-1].ranks_completed_s
    known = [(at, rank) for rank, at in enumerate(ends) if at is not None]
    axes.plot(
        [(at - record.began_s) * scale for at, _ in known],
        [rank for _, rank in known],
        color=INK,
        zorder=3,
        marker="|",
        ls="none",
        ms=9 if record.ranks <= FEW_RANKS else 3,
        mew=1.2,
    )


def _draw_longest(axes: Axes, record: EndedRun, began: float, scale: float) -> None:
    """Name the port where the chain waited longest, beside that message."""
    slowest = record.slowest
    link = slowest.chain[slowest.longest_wait]
    waited = link.waited_s
    if waited < 0.5e-12:
        return
    middle = (link.until_s - began - waited / 2) * scale
    low = link.from_rank < record.ranks / 2
    axes.annotate(
        f"longest wait: {text.duration(waited, 3)}, {link.message}\n{_where(link)}",
        (middle, link.from_rank + (THICK / 2 if low else -THICK / 2)),
        xytext=(0, -16 if low else 16),
        textcoords="offset points",
        ha="center",
        va="top" if low else "bottom",
        fontsize=8,
        arrowprops={"arrowstyle": "-", "color": INK, "lw": 0.6},
        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 1.5},
    )


def _where(link: ChainLink) -> str:
    """Return the port where a message waited longest, or else the busiest of its way."""
    if link.causes is None:
        return f"busiest port of its way: {link.busiest_port}"
    return f"longest at port {link.causes.ports[0].port}"


def _title(name: str, record: EndedRun) -> str:
    took, ratio = text.duration(record.completion_s, 4), text.number(round(record.ratio, 3))
    head = (
        f"{record.operation} ({record.algorithm}), {text.size(record.size_bytes)}, "
        f"{record.ranks} ranks: {took}, {ratio} times the lower bound"
    )
    return f"{textwrap.shorten(name, TITLE, placeholder=' ...')}\n{head}"
