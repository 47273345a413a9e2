"""The bottleneck of a scenario: its port, its phases and the sources that contend for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from qcnlab._core import AnalysisError

if TYPE_CHECKING:
    from qcnlab.api import Scenario
    from qcnlab.runs.contention import Contention, MinMeanMax, PortPhase


@dataclass(frozen=True)
class Contenders:
    """The sources that contend for the congested port. Rates count frame octets."""

    sends_bps: dict[str, float]
    """The first flow of each source, and the source's offered rate, bit/s."""
    traffic: tuple[int, ...]
    """Indices of their flows' entries of traffic, from 0."""
    capacity_bps: float
    """Rate of the port that is left for them, bit/s."""
    light: tuple[int, float]
    """Number of flows that demand less than half their fair share, and their rate, bit/s."""
    uncontrolled: tuple[int, float]
    """Number of flows without a reaction point, and their rate, bit/s."""
    sends: MinMeanMax
    """Offered rate of a source, bit/s."""
    link_bps: float
    """Rate of the slowest of the sources' links, bit/s."""
    frame_bytes: MinMeanMax
    """Octets of a frame."""
    loop_delay_s: MinMeanMax
    """Delay from a source to the port and back, s."""
    round_trip_s: MinMeanMax
    """Delay from a source to its receiver and back, s."""


@dataclass(frozen=True)
class Phase:
    """A time during which the bottleneck has one capacity."""

    name: str
    """`"outside the hotspot"`, `"hotspot"` or `"whole run"`."""
    start_s: float
    """Beginning, s."""
    end_s: float
    """End, s."""
    capacity_bps: float
    """Rate of the port that its contenders share, bit/s; its own rate while it has none."""
    contenders: Contenders | None
    """The sources that contend for it; `None` while it is not congested."""


@dataclass(frozen=True)
class Bottleneck:
    """The congested port."""

    port: str
    """Its name."""
    rate_bps: float
    """Its rate outside hotspots, bit/s."""
    buffer_bytes: float | None
    """Its buffer, B; `None` if it has none of its own."""
    flows: int
    """Number of flows of the scenario, whether or not they cross the port."""
    phases: tuple[Phase, ...]
    """Phases in order of time, without the warm-up; at least one has contenders."""


def locate(scenario: Scenario) -> Bottleneck:
    """Return the bottleneck of a scenario; raises `AnalysisError` without a single one."""
    try:
        answer = scenario.bottleneck()
    except AnalysisError as refusal:
        raise AnalysisError(f"{scenario.name}: no single bottleneck: {refusal}") from None
    rate, phases = answer.rate_bps, answer.phases
    constant = all(each.rate_bps == rate for each in phases)
    return Bottleneck(
        port=answer.port,
        rate_bps=rate,
        buffer_bytes=answer.buffer_bytes,
        flows=answer.flows,
        phases=tuple(_phase(each, rate, constant) for each in phases),
    )


def _phase(answer: PortPhase, rate_bps: float, constant: bool) -> Phase:
    names = ("whole run" if constant else "outside the hotspot", "hotspot")
    contenders = None if answer.contenders is None else _contenders(answer.contenders)
    return Phase(
        name=names[answer.rate_bps != rate_bps],
        start_s=answer.from_s,
        end_s=answer.until_s,
        capacity_bps=answer.rate_bps if contenders is None else contenders.capacity_bps,
        contenders=contenders,
    )


def _contenders(answer: Contention) -> Contenders:
    return Contenders(
        sends_bps={each.flow: each.sends_bps for each in answer.sources},
        traffic=answer.traffic,
        capacity_bps=answer.capacity_bps,
        light=(answer.light.flows, answer.light.rate_bps),
        uncontrolled=(answer.uncontrolled.flows, answer.uncontrolled.rate_bps),
        sends=answer.sends_bps,
        link_bps=answer.link_bps,
        frame_bytes=answer.frame_bytes,
        loop_delay_s=answer.loop_delay_s,
        round_trip_s=answer.round_trip_s,
    )
