"""Where a scenario congests, as the laboratory finds it from graph, ways and rates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from qcnlab._core import AnalysisError
from qcnlab.analysis.given import span

if TYPE_CHECKING:
    from qcnlab.api import Scenario


@dataclass(frozen=True)
class Extent:
    """Least, mean and max of something that sources differ in."""

    min: float
    """The smallest value."""
    mean: float
    """What the model takes."""
    max: float
    """The largest value."""

    @property
    def one(self) -> bool:
        """Whether all are equal, but for rounding."""
        return self.max - self.min <= 1e-9 * abs(self.max)

    def spans(self) -> str:
        """Write times, s, from the min to the max."""
        return f"{span(self.min)} to {span(self.max)}"


@dataclass(frozen=True)
class Crowd:
    """Those who meet at the congested port. Rates count frame octets."""

    sends_bps: dict[str, float]
    """The first flow of each source, and what that source sends at most, bit/s."""
    traffic: tuple[int, ...]
    """Entries of traffic of their flows, from 0."""
    capacity_bps: float
    """What is left of the port for them, bit/s."""
    light: tuple[int, float]
    """Flows that want less than half their fair share, and what they take, bit/s."""
    unslowed: tuple[int, float]
    """Flows that no reaction point slows, and what they take, bit/s."""
    sends: Extent
    """What a source sends at most, bit/s."""
    link_bps: float
    """The slowest of the sources' links, bit/s."""
    frame_bytes: Extent
    """Octets of a frame."""
    loop_delay_s: Extent
    """From a source to the port and back, s."""
    round_trip_s: Extent
    """From a source to its receiver and back, s."""

    def delay_s(self, scheme: str) -> Extent:
        """Give how long a rate takes to be answered, s: DCQCN's marks go on to the receiver."""
        return self.round_trip_s if scheme == "dcqcn" else self.loop_delay_s


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
    """What the port serves for the sources, bit/s; its rate while it is not congested."""
    crowd: Crowd | None
    """Who meets there; `None` while it is not congested."""


@dataclass(frozen=True)
class Place:
    """The congested port."""

    port: str
    """Its name."""
    rate_bps: float
    """Its rate outside hotspots, bit/s."""
    buffer_bytes: float | None
    """Its buffer, B; `None` if it has none of its own."""
    flows: int
    """Flows of the scenario, wherever they go."""
    phases: tuple[Phase, ...]
    """Phases in order of time, the warm-up left out; one has a crowd at min."""


def find(scenario: Scenario) -> Place:
    """Give where a scenario congests; raises `AnalysisError` if there is no single port."""
    try:
        found = scenario.bottleneck()
    except AnalysisError as refusal:
        raise AnalysisError(f"{scenario.name}: no single bottleneck: {refusal}") from None
    rate, phases = found["rate_bps"], found["phases"]
    steady = all(each["rate_bps"] == rate for each in phases)
    return Place(
        port=found["port"],
        rate_bps=rate,
        buffer_bytes=found["buffer_bytes"],
        flows=found["flows"],
        phases=tuple(_phase(each, rate, steady) for each in phases),
    )


def _phase(given: dict[str, Any], rate_bps: float, steady: bool) -> Phase:
    names = ("whole run" if steady else "outside the hotspot", "hotspot")
    crowd = None if given["contenders"] is None else _crowd(given["contenders"])
    return Phase(
        name=names[given["rate_bps"] != rate_bps],
        start_s=given["from_s"],
        end_s=given["until_s"],
        capacity_bps=given["rate_bps"] if crowd is None else crowd.capacity_bps,
        crowd=crowd,
    )


def _crowd(given: dict[str, Any]) -> Crowd:
    return Crowd(
        sends_bps={each["flow"]: each["sends_bps"] for each in given["sources"]},
        traffic=tuple(given["traffic"]),
        capacity_bps=given["capacity_bps"],
        light=(given["light"]["flows"], given["light"]["rate_bps"]),
        unslowed=(given["uncontrolled"]["flows"], given["uncontrolled"]["rate_bps"]),
        sends=Extent(**given["sends_bps"]),
        link_bps=given["link_bps"],
        frame_bytes=Extent(**given["frame_bytes"]),
        loop_delay_s=Extent(**given["loop_delay_s"]),
        round_trip_s=Extent(**given["round_trip_s"]),
    )
