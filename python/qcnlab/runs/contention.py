"""The one port that a scenario congests, and who contends for it, as the core tells it."""

from __future__ import annotations

from dataclasses import dataclass

from qcnlab.records import Record


@dataclass(frozen=True, slots=True)
class MinMeanMax(Record):
    """A quantity that differs from source to source.

    Attributes
    ----------
    min, mean, max : float
        Over the contenders; models take the mean.
    """

    min: float
    mean: float
    max: float

    @property
    def uniform(self) -> bool:
        """Whether all values are equal, but for rounding."""
        return self.max - self.min <= 1e-9 * abs(self.max)


@dataclass(frozen=True, slots=True)
class ControlledSource(Record):
    """The limiter of controlled flows that demand half their fair share or more.

    Attributes
    ----------
    flow : str
        Its first flow.
    sends_bps : float
        The rate that it offers.
    """

    flow: str
    sends_bps: float


@dataclass(frozen=True, slots=True)
class CrossingFlows(Record):
    """Flows that cross the port and do not contend for it.

    Attributes
    ----------
    flows : int
        How many.
    rate_bps : float
        What they take together.
    """

    flows: int
    rate_bps: float


@dataclass(frozen=True, slots=True)
class Contention(Record):
    """The sources that contend for a port.

    Attributes
    ----------
    sources : tuple of ControlledSource
        One for each limiter.
    traffic : tuple of int
        Entries of the scenario's traffic that they are of.
    capacity_bps : float
        The rate that is left for them.
    light, uncontrolled : CrossingFlows
        Flows that demand less, and those that have no reaction point.
    sends_bps, frame_bytes : MinMeanMax
        What the sources offer, and the octets of their frames.
    link_bps : float
        The slowest of the sources' links.
    loop_delay_s, round_trip_s : MinMeanMax
        To the port and back, and to the receiver and back.
    """

    sources: tuple[ControlledSource, ...]
    traffic: tuple[int, ...]
    capacity_bps: float
    light: CrossingFlows
    uncontrolled: CrossingFlows
    sends_bps: MinMeanMax
    link_bps: float
    frame_bytes: MinMeanMax
    loop_delay_s: MinMeanMax
    round_trip_s: MinMeanMax


@dataclass(frozen=True, slots=True)
class PortPhase(Record):
    """A time in which the port has one rate.

    Attributes
    ----------
    from_s, until_s : float
        When it begins and ends.
    rate_bps : float
        The port's.
    contenders : Contention, optional
        `None` while it is not congested.
    """

    from_s: float
    until_s: float
    rate_bps: float
    contenders: Contention | None


@dataclass(frozen=True, slots=True)
class CongestedPort(Record):
    """The one port that a scenario congests.

    Attributes
    ----------
    port : str
        Its name.
    rate_bps : float
        Outside hotspots.
    buffer_bytes : float, optional
        `None` without a limit.
    flows : int
        Of the whole scenario.
    phases : tuple of PortPhase
        In order of time.
    """

    port: str
    rate_bps: float
    buffer_bytes: float | None
    flows: int
    phases: tuple[PortPhase, ...]
