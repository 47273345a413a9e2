"""The figure of an overlay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from matplotlib.figure import Figure

from qcnlab.analysis.draw import time_scale, title
from qcnlab.analysis.spans import span
from qcnlab.figures.notebook import ShownFigure
from qcnlab.figures.plots import FAINT, INK, SOURCES, above, envelope, style
from qcnlab.printing.text import counted

if TYPE_CHECKING:
    from qcnlab.analysis.bottleneck import Phase
    from qcnlab.analysis.modelled import ModelledScenario
    from qcnlab.analysis.responses import Response, Trajectory
    from qcnlab.analysis.verdict import Verdict

PACKETS = {"color": "#9a9a9a", "lw": 0.8, "label": "packets"}
FLUID = {"color": SOURCES[0], "lw": 1.4, "label": "fluid model"}


class Overlaid(Protocol):
    """What is drawn of an overlay."""

    @property
    def scenario(self) -> ModelledScenario:
        """The scenario as a model sees it."""

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """One for each capacity at which the port is congested."""

    @property
    def phase(self) -> Phase:
        """The phase that is drawn."""

    @property
    def packets(self) -> Response:
        """The packets' `time_s` and `queue_bytes`."""

    @property
    def packet_rates(self) -> Response:
        """The packets' `time_s` and `rate_bps`."""

    @property
    def fluid(self) -> Trajectory:
        """The fluid model over the same time."""


def overlay_figure(overlay: Overlaid) -> Figure:
    """Return a figure of queue and summed rates over time, the fluid over the packets."""
    start, end = float(overlay.fluid["time_s"][0]), float(overlay.fluid["time_s"][-1])
    scale, unit = time_scale(end - start)
    with style():
        figure = ShownFigure(figsize=(7.2, 4.2), layout="constrained")
        upper, lower = _pair(figure)
        for axes, name, over, traces in (
            (upper, "queue_bytes", 1e3, overlay.packets),
            (lower, "rate_bps", 1e9, overlay.packet_rates),
        ):
            for trace, line in ((traces, PACKETS), (overlay.fluid, FLUID)):
                time, values = envelope((trace["time_s"] - start) * scale, trace[name] / over)
                axes.plot(time, values, **line)
            axes.margins(x=0)
        level, words = _level(overlay)
        upper.axhline(level, color=INK, lw=0.8, ls=(0, (4, 2)), label=f"{words} {level:.4g} KB")
        capacity = overlay.phase.capacity_bps / 1e9
        lower.axhline(capacity, color=INK, lw=0.8, ls=(0, (4, 2)), label=_link(overlay, capacity))
        if overlay.phase.name == "hotspot":
            lower.set_ylim(0, _top(overlay, capacity))
        else:
            lower.autoscale(axis="y")
        upper.set_ylim(bottom=0)
        upper.set_ylabel("queue (KB)")
        lower.set_ylabel("rates of all sources (Gb/s)")
        lower.set_xlabel(f"time since {_since(overlay)} ({unit})")
        lower.set_xlim(0, (end - start) * scale)
        upper.legend(**above(3))
        lower.legend(**above(3))
        upper.set_title(_theory(overlay), color=FAINT, fontsize=7.5, pad=14)
        title(figure, overlay.scenario.title)
    return figure


def _link(overlay: Overlaid, capacity: float) -> str:
    """Return the port and the capacity left for its contenders, Gb/s."""
    contenders = overlay.scenario.contenders(overlay.phase)
    left = " left" if contenders.light[0] or contenders.uncontrolled[0] else ""
    return f"{overlay.scenario.bottleneck.port} {capacity:.4g} Gb/s{left}"


def _since(overlay: Overlaid) -> str:
    if overlay.phase.name == "hotspot":
        return "start of the hotspot"
    first = overlay.phase == overlay.scenario.phases[0]
    return "end of the warm-up" if first else span(overlay.phase.start_s)


def _level(overlay: Overlaid) -> tuple[float, str]:
    """Return the queue's level, KB, and its name."""
    model = overlay.verdicts[0].model
    return model.queue_level() / 1e3, "set point" if model.HAS_SET_POINT else "rests at"


def _pair(figure: Figure) -> Any:
    return figure.subplots(2, 1, sharex=True)


def _top(overlay: Overlaid, capacity: float) -> float:
    settled = overlay.fluid["rate_bps"][len(overlay.fluid) // 10 :].max() / 1e9
    packets = overlay.packet_rates["rate_bps"][len(overlay.packet_rates) // 10 :].max() / 1e9
    return float(max(1.6 * capacity, 1.1 * min(max(settled, packets), 4 * capacity)))


def _theory(overlay: Overlaid) -> str:
    verdict = overlay.verdicts[0]
    edges = []
    for name, margins in verdict.loops.items():
        critical = margins.critical_delay_s
        edges.append(f"{name} {'none' if critical is None else span(critical)}")
    mean = "" if overlay.scenario.feedback_delay(overlay.phase).uniform else "mean "
    return (
        f"{overlay.scenario.scheme}, {counted(verdict.model.sources, 'source')}, "
        f"{mean}RTT {span(verdict.model.delay_s)}; critical RTT: {', '.join(edges)}"
    )
