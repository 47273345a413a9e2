"""The figure of an overlay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure

from qcnlab.analysis.dcqcn import Dcqcn
from qcnlab.analysis.draw import time_scale, title
from qcnlab.analysis.given import span
from qcnlab.plots import FAINT, INK, SOURCES, above, envelope, style
from qcnlab.text import counted

if TYPE_CHECKING:
    from qcnlab.analysis.overlay import Overlay

PACKETS = {"color": "#9a9a9a", "lw": 0.8, "label": "packets"}
FLUID = {"color": SOURCES[0], "lw": 1.4, "label": "fluid model"}


def overlay_figure(given: Overlay) -> Figure:
    """Draw queue and summed rates over time, the fluid over the packets."""
    start, end = float(given.fluid["time_s"][0]), float(given.fluid["time_s"][-1])
    scale, unit = time_scale(end - start)
    with style():
        figure = Figure(figsize=(7.2, 4.2), layout="constrained")
        upper, lower = _pair(figure)
        for axes, name, over, traces in (
            (upper, "queue_bytes", 1e3, given.packets),
            (lower, "rate_bps", 1e9, given.packet_rates),
        ):
            for trace, look in ((traces, PACKETS), (given.fluid, FLUID)):
                time, values = envelope((trace["time_s"] - start) * scale, trace[name] / over)
                axes.plot(time, values, **look)
            axes.margins(x=0)
        level, words = _level(given)
        upper.axhline(level, color=INK, lw=0.8, ls=(0, (4, 2)), label=f"{words} {level:.4g} KB")
        capacity = given.phase.capacity_bps / 1e9
        lower.axhline(capacity, color=INK, lw=0.8, ls=(0, (4, 2)), label=_link(given, capacity))
        if given.phase.name == "hotspot":
            lower.set_ylim(0, _top(given, capacity))
        else:
            lower.autoscale(axis="y")
        upper.set_ylim(bottom=0)
        upper.set_ylabel("queue (KB)")
        lower.set_ylabel("rates of all sources (Gb/s)")
        lower.set_xlabel(f"time since {_since(given)} ({unit})")
        lower.set_xlim(0, (end - start) * scale)
        upper.legend(**above(3))
        lower.legend(**above(3))
        upper.set_title(_theory(given), color=FAINT, fontsize=7.5, pad=14)
        title(figure, given.setting.title)
    return figure


def _link(given: Overlay, capacity: float) -> str:
    """Name the port, and what it has for the sources, Gb/s; a star's needs no name."""
    star = given.setting.tree["topology"]["kind"] == "star"
    crowd = given.setting.crowd(given.phase)
    left = " left" if crowd.light[0] or crowd.unslowed[0] else ""
    return f"{'link' if star else given.setting.place.port} {capacity:.4g} Gb/s{left}"


def _since(given: Overlay) -> str:
    if given.phase.name == "hotspot":
        return "start of the hotspot"
    first = given.phase == given.setting.phases[0]
    return "end of the warm-up" if first else span(given.phase.start_s)


def _level(given: Overlay) -> tuple[float, str]:
    """Give the queue to aim at, KB, and what it is: DCQCN has no set point but rests somewhere."""
    verdict = given.verdicts[0]
    if isinstance(verdict.model, Dcqcn):
        return verdict.equilibrium["queue_bytes"] / 1e3, "rests at"
    return verdict.model.set_point_bytes / 1e3, "set point"


def _pair(figure: Figure) -> Any:
    return figure.subplots(2, 1, sharex=True)


def _top(given: Overlay, capacity: float) -> float:
    settled = given.fluid["rate_bps"][len(given.fluid) // 10 :].max() / 1e9
    packets = given.packet_rates["rate_bps"][len(given.packet_rates) // 10 :].max() / 1e9
    return float(max(1.6 * capacity, 1.1 * min(max(settled, packets), 4 * capacity)))


def _theory(given: Overlay) -> str:
    verdict = given.verdicts[0]
    edges = []
    for name, margins in verdict.loops.items():
        critical = margins.critical_delay_s
        edges.append(f"{name} {'none' if critical is None else span(critical)}")
    one = given.setting.crowd(given.phase).delay_s(given.setting.scheme).one
    mean = "" if one else "mean "
    return (
        f"{given.setting.scheme}, {counted(verdict.model.sources, 'source')}, "
        f"{mean}RTT {span(verdict.model.delay_s)}; critical RTT: {', '.join(edges)}"
    )
