"""ECM (BCN) as a second-order system with two gains.

x = q - Qeq, sigma = -(x + k x') with k = w times the sampling interval. With sigma > 0 rates grow
by Gi Ru sigma for each message, with sigma < 0 they shrink by the share Gd sigma, so in each of
the two regions

    x'' + n k x'(t-d) + n x(t-d) = 0,   L(s) = n (1 + k s) e^{-s d} / s^2
    n = f N Gi Ru  (increase)   or   n = f C Gd  (decrease)

with f messages/s to each source. The critical delay is atan(k wc) / wc and never above k: the
weight of the queue's change over one sampling interval must outlast the delay. Source: Y. Lu et
al., "Congestion Control in Networks with No Congestion Drops", Allerton 2006; F. Ren and W. Jiang,
"Phase Plane Analysis of Congestion Control in Data Center Ethernet Networks", ICDCS 2010. The model
has neither drift nor bounds of rates and queue.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, Self

from qcnlab._core import AnalysisError
from qcnlab.analysis import checks
from qcnlab.analysis.fluid import numbers
from qcnlab.analysis.loops import Loop, Margins
from qcnlab.analysis.model import Equilibrium, ScenarioModel, contender_values

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qcnlab.analysis.bottleneck import Contenders
    from qcnlab.analysis.fluid import State
    from qcnlab.records import JsonObject

CORE = numbers("ecm")
PAGE_BYTES: float = CORE["feedback_unit_bytes"]
"""Octets of queue that count as 1 in the gains."""
Region = Literal["increase", "decrease"]
REGIONS: tuple[Region, ...] = ("increase", "decrease")


@dataclass(frozen=True)
class Ecm(ScenarioModel):
    """ECM with N equal sources at one bottleneck.

    Defaults are the core's: deck 001's parameters at 10 Gb/s.

    Raises
    ------
    AnalysisError
        A value is out of its range.

    Examples
    --------
    >>> model = Ecm(sources=2, delay_s=10e-6)
    >>> {region: margins.stable for region, margins in model.margins().items()}
    {'increase': True, 'decrease': True}
    """

    NAME: ClassVar[str] = "ECM"
    FLUID: ClassVar[str] = "ecm"
    SCHEMES: ClassVar[tuple[str, ...]] = ("ecm",)

    sources: int = int(CORE["sources"])
    """N."""
    capacity_bps: float = CORE["capacity_bps"]
    """C, bit/s."""
    delay_s: float = CORE["delay_s"]
    """Loop delay, s."""
    set_point_bytes: float = CORE["set_point_bytes"]
    """Qeq, B."""
    w: float = CORE["w"]
    """Weight of the queue's change."""
    frame_bytes: float = CORE["frame_bytes"]
    """Octets of a frame."""
    sample_bytes: float = CORE["sample_bytes"]
    """Octets between two samples of all sources together."""
    gi: float = CORE["gi"]
    """Increase for each 64-octet page of feedback, in units of `rate_unit_bps`."""
    gd: float = CORE["gd"]
    """Share of the rate that each 64-octet page of feedback cuts."""
    rate_unit_bps: float = CORE["rate_unit_bps"]
    """Ru, bit/s."""

    def __post_init__(self) -> None:
        """Refuse values out of their range."""
        checks.above_zero(
            self.NAME,
            sources=self.sources,
            capacity_bps=self.capacity_bps,
            set_point_bytes=self.set_point_bytes,
            frame_bytes=self.frame_bytes,
            sample_bytes=self.sample_bytes,
            gi=self.gi,
            gd=self.gd,
            rate_unit_bps=self.rate_unit_bps,
        )
        checks.not_negative(self.NAME, delay_s=self.delay_s, w=self.w)

    @classmethod
    def from_scenario(cls, scheme: JsonObject, contenders: Contenders) -> Self:
        """Return the model of contenders under ECM."""
        point, receiver = scheme["cp"], scheme["rp"]
        return cls(
            **contender_values(cls, contenders),
            set_point_bytes=point["set_point"],
            w=float(receiver["w"]),
            sample_bytes=point["sample_base"],
            gi=float(receiver["gi"]),
            gd=float(receiver["gd"]),
            rate_unit_bps=receiver["rate_unit"],
        )

    @classmethod
    def left_out(cls, scheme: JsonObject) -> Iterator[str]:
        """Return what ECM does and the model does not."""
        yield "jitter and the quantizer's steps"
        yield "the spread of the sources' rates"
        yield "drops: a frame that is dropped is not sampled, so a full buffer lasts longer"
        if scheme["rp"]["drift_every"] > 0:
            yield "drift"

    def description(self) -> str:
        """Return set point, weight, sampling and gains as text."""
        return (
            f"Qeq {self.set_point_bytes / 1e3:g} KB, w {self.w:g}, "
            f"a sample every {self.sample_bytes / 1e3:g} KB, "
            f"Gi {self.gi:g}, Gd {self.gd:g}, Ru {self.rate_unit_bps / 1e6:g} Mb/s"
        )

    def initial(self, queue_bytes: float, current_rate_bps: float, target_rate_bps: float) -> State:
        """Return the fluid's initial state for a queue, B, and a source's mean rate, bit/s."""
        return {"queue_bytes": queue_bytes, "current_rate_bps": current_rate_bps}

    def equilibrium(self) -> Equilibrium:
        """Return the state of rest: the queue at its set point, the rates at their share."""
        return Equilibrium(self.set_point_bytes, self.capacity_bps / self.sources)

    @property
    def messages_per_s(self) -> float:
        """Messages to each source at its share of the rate, 1/s."""
        return self.capacity_bps / (8 * self.sample_bytes) / self.sources

    @property
    def lead_s(self) -> float:
        """The slope's weight k: w times the sampling interval, s."""
        return self.w * 8 * self.sample_bytes / self.capacity_bps

    def stiffness(self, region: Region) -> float:
        """Return n of a region, 1/s^2: the rates' acceleration for each unit of the queue."""
        per_bit = self.messages_per_s / (8 * PAGE_BYTES)
        if region == "increase":
            return per_bit * self.sources * self.gi * self.rate_unit_bps
        if region == "decrease":
            return per_bit * self.capacity_bps * self.gd
        raise AnalysisError(f"{self.NAME}: region '{region}' is neither 'increase' nor 'decrease'")

    def is_node(self, region: Region) -> bool:
        """Return whether a region without delay settles without swinging: k^2 n of 4 or more."""
        return self.lead_s**2 * self.stiffness(region) >= 4

    def loop(self, region: Region) -> Loop:
        """Return the open loop of a region at its delay."""
        n, k = self.stiffness(region), self.lead_s
        title = self.title(f"{self.NAME} {region}")
        return Loop([n * k, n], [1.0, 0.0, 0.0], self.delay_s, title=title)

    def loops(self) -> dict[str, Loop]:
        """Return the open loops of both regions."""
        return {region: self.loop(region) for region in REGIONS}

    def margins(self) -> dict[Region, Margins]:
        """Return the margins of both regions."""
        return {region: self.loop(region).margins() for region in REGIONS}

    def critical_delay(self) -> float:
        """Return the RTT, s, at which the first of the two regions turns unstable."""
        both = (self.loop(region).critical_delay() for region in REGIONS)
        return min(critical for critical in both if critical is not None)
