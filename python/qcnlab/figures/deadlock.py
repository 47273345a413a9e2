"""The figure of deadlocks by routes: the network, and in it a circle of links that wait."""

from __future__ import annotations

import math
import textwrap
from collections import defaultdict
from typing import TYPE_CHECKING

from qcnlab.figures.notebook import ShownFigure
from qcnlab.figures.plots import FAINT, INK, SOURCES, TITLE, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from qcnlab.runs.circular_waits import CircularCase, CircularWaits
    from qcnlab.runs.network import Network

Spot = tuple[float, float]

MOST_HOSTS = 24
"""So many hosts are drawn; of more none, but how many a switch has."""
RING, OUTSIDE = 1.0, 1.35
"""Radii of switches and hosts where all switches are alike."""
BEND = 0.16
ABOUT = 96


def deadlock_figure(name: str, network: Network, told: CircularWaits, answer: str) -> Figure:
    """Draw a network, and the first circle of the first case that has one.

    Parameters
    ----------
    name : str
        The scenario's.
    network : Network
        Its nodes and links.
    told : CircularWaits
        What `qcnlab.commands.deadlock.report` returned.
    answer : str
        The same in a sentence.

    Returns
    -------
    matplotlib.figure.Figure
        It belongs to no window; `figure.savefig(path)` writes it.
    """
    roles = network.roles
    pairs = [(link.a, link.b) for link in network.links]
    case = told.circular[0] if told.circular else None
    waits = case.circles[0].waits if case else []
    spots = positions(roles, pairs, {end for wait in waits for end in wait.link.split("->")})
    with style():
        figure = ShownFigure(figsize=(7.2, 5.4), layout="constrained")
        axes = figure.add_subplot()
        axes.set_axis_off()
        down = {frozenset(link.split("->")) for link in (case.down if case else [])}
        for a, b in pairs:
            if a in spots and b in spots:
                broken = frozenset((a, b)) in down
                (x0, y0), (x1, y1) = spots[a], spots[b]
                axes.plot(
                    [x0, x1], [y0, y1], lw=1.0, zorder=1,
                    color=SOURCES[1] if broken else "#d5d0c5", ls=":" if broken else "-",
                )  # fmt: skip
        for number, wait in enumerate(waits, 1):
            _wait(axes, spots, wait.link, number)
        _nodes(axes, spots, roles, pairs)
        axes.set_aspect("equal", adjustable="datalim")
        axes.margins(0.12)
        figure.suptitle(textwrap.fill(name, TITLE), x=0.01, ha="left")
        axes.set_title(textwrap.fill(answer, ABOUT), color=FAINT, fontsize=8, loc="left")
        if case:
            axes.text(
                0.0, -0.02, _words(case), transform=axes.transAxes, color=INK, va="top", fontsize=7
            )
    return figure


def positions(
    roles: dict[str, str], pairs: list[tuple[str, str]], wanted: set[str]
) -> dict[str, Spot]:
    """Return where nodes are drawn: in layers above their hosts, or in a ring.

    Parameters
    ----------
    roles : dict
        `host` or `switch`, by name.
    pairs : list of tuple
        The ends of each link.
    wanted : set of str
        Hosts that are drawn however many there are.

    Returns
    -------
    dict
        Of each node that is drawn.
    """
    near: dict[str, list[str]] = defaultdict(list)
    for a, b in pairs:
        near[a].append(b)
        near[b].append(a)
    hosts = [name for name, role in roles.items() if role == "host"]
    switches = [name for name, role in roles.items() if role != "host"]
    drawn = [host for host in hosts if len(hosts) <= MOST_HOSTS or host in wanted]
    layers = _layers(hosts, near, roles)
    by_layer: dict[int, list[str]] = defaultdict(list)
    for switch in switches:
        by_layer[layers.get(switch, 1)].append(switch)
    if len(by_layer) == 1 and len(switches) > 2:
        return _ring(switches, drawn, near)
    out: dict[str, Spot] = {}
    for layer, members in by_layer.items():
        for index, name in enumerate(members):
            out[name] = ((index + 0.5) / len(members) * 2.4, 0.8 * layer)
    for index, name in enumerate(drawn):
        out[name] = ((index + 0.5) / len(drawn) * 2.4, 0.0)
    return out


def _layers(hosts: list[str], near: dict[str, list[str]], roles: dict[str, str]) -> dict[str, int]:
    """Return the fewest links from any host, by switch."""
    out, edge, distance = {}, hosts, 0
    while edge:
        distance += 1
        further = []
        for here in edge:
            for other in near[here]:
                if roles[other] != "host" and other not in out:
                    out[other] = distance
                    further.append(other)
        edge = further
    return out


def _ring(switches: list[str], hosts: list[str], near: dict[str, list[str]]) -> dict[str, Spot]:
    out: dict[str, Spot] = {}
    angles = {}
    for index, name in enumerate(switches):
        angles[name] = math.pi / 2 - 2 * math.pi * index / len(switches)
        out[name] = (RING * math.cos(angles[name]), RING * math.sin(angles[name]))
    of_switch: dict[str, list[str]] = defaultdict(list)
    for host in hosts:
        of_switch[near[host][0]].append(host)
    for switch, members in of_switch.items():
        step = 2 * math.pi / len(switches) / (len(members) + 1)
        first = angles[switch] - math.pi / len(switches)
        for index, host in enumerate(members, 1):
            angle = first + index * step
            out[host] = (OUTSIDE * math.cos(angle), OUTSIDE * math.sin(angle))
    return out


def _wait(axes: Axes, spots: dict[str, Spot], link: str, number: int) -> None:
    a, _, b = link.partition("->")
    axes.annotate(
        "", spots[b], spots[a], zorder=3,
        arrowprops={
            "arrowstyle": "-|>", "color": SOURCES[1], "lw": 1.8, "shrinkA": 9, "shrinkB": 9,
            "connectionstyle": f"arc3,rad={BEND}",
        },
    )  # fmt: skip
    (x0, y0), (x1, y1) = spots[a], spots[b]
    # The middle of the arc lies beside the middle of the link.
    at = ((x0 + x1) / 2 + BEND / 2 * (y1 - y0), (y0 + y1) / 2 - BEND / 2 * (x1 - x0))
    axes.text(
        *at, str(number), fontsize=8, ha="center", va="center", color=SOURCES[1], zorder=5,
        bbox={"boxstyle": "circle,pad=0.15", "fc": "white", "ec": SOURCES[1], "lw": 0.8},
    )  # fmt: skip


def _nodes(
    axes: Axes, spots: dict[str, Spot], roles: dict[str, str], pairs: list[tuple[str, str]]
) -> None:
    hidden: dict[str, int] = defaultdict(int)
    for a, b in pairs:
        for host, switch in ((a, b), (b, a)):
            if roles[host] == "host" and host not in spots:
                hidden[switch] += 1
    for name, (x, y) in spots.items():
        alone = roles[name] == "host"
        more = f"\n+ {hidden[name]} hosts" if hidden[name] else ""
        axes.text(
            x, y, name + more, ha="center", va="center", zorder=4,
            fontsize=6 if alone else 7.5, color=FAINT if alone else INK,
            bbox={
                "boxstyle": "round,pad=0.2", "fc": "white",
                "ec": "#d5d0c5" if alone else INK, "lw": 0.6 if alone else 0.9,
            },
        )  # fmt: skip
        axes.plot(x, y, alpha=0.0)


def _words(case: CircularCase) -> str:
    """Return what waits for what, numbered as the arrows are."""
    circle = case.circles[0]
    down = f"Dotted: {' and '.join(case.down)} down. " if case.down else ""
    priority = "" if circle.class_ is None else f" in class {circle.class_}"
    lines = [
        f"{number}  {wait.link} waits for {wait.next}"
        + (f" ({wait.flows[0]})" if wait.flows else "")
        for number, wait in enumerate(circle.waits, 1)
    ]
    more = len(case.circles) - 1
    others = f" {more} more in this case." if more else ""
    return "\n".join([f"{down}Each link waits for the next{priority}.{others}", *lines])
