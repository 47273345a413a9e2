"""ECM (BCN) as a second-order system with two gains.

x = q - Qeq, sigma = -(x + k x') with k = w times the sampling interval. With sigma > 0 rates grow
by Gi Ru sigma for each message, with sigma < 0 they shrink by the share Gd sigma, so in each of
the two regions

    x'' + n k x'(t-d) + n x(t-d) = 0,   L(s) = n (1 + k s) e^{-s d} / s^2
    n = f N Gi Ru  (increase)   or   n = f C Gd  (decrease)

with f messages/s to each source. The critical delay is atan(k wc) / wc and never above k: the
weight of the queue's change over one sampling interval must outlast the delay. Source: Y. Lu et
al., "Congestion Control in Networks with No Congestion Drops", Allerton 2006; F. Ren and W. Jiang,
"Phase Plane Analysis of Congestion Control in Data Center Ethernet Networks", ICDCS 2010. Drift and
the bounds of the real thing are not in it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from qcnlab._core import AnalysisError
from qcnlab.analysis import given
from qcnlab.analysis.loops import Loop, Margins
from qcnlab.text import counted

if TYPE_CHECKING:
    from qcnlab.analysis.responses import Trajectory

NAME = "ECM"
PAGE_BYTES = 64
Region = Literal["increase", "decrease"]


@dataclass(frozen=True)
class Ecm:
    """ECM with N equal sources at one bottleneck; defaults are deck 001's at 10 Gb/s.

    Raises `AnalysisError` for a value out of its range.
    """

    sources: int = 2
    """N."""
    capacity_bps: float = 10e9
    """C, bit/s."""
    delay_s: float = 200e-6
    """Loop delay, s."""
    set_point_bytes: float = 24e3
    """Qeq, B."""
    w: float = 2.0
    """Weight of the queue's change."""
    frame_bytes: float = 1500.0
    """Octets of a frame."""
    sample_bytes: float = 18e3
    """Octets between two samples of all sources together."""
    gi: float = 0.53333
    """Increase for each 64-octet page of feedback, in units of `rate_unit_bps`."""
    gd: float = 0.00026667
    """Share of the rate that each 64-octet page of feedback cuts."""
    rate_unit_bps: float = 1e6
    """Ru, bit/s."""

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        given.above_zero(
            NAME,
            sources=self.sources,
            capacity_bps=self.capacity_bps,
            set_point_bytes=self.set_point_bytes,
            frame_bytes=self.frame_bytes,
            sample_bytes=self.sample_bytes,
            gi=self.gi,
            gd=self.gd,
            rate_unit_bps=self.rate_unit_bps,
        )
        given.not_negative(NAME, delay_s=self.delay_s, w=self.w)

    def with_(self, **changes: Any) -> Ecm:
        """Give the model with some values changed."""
        return replace(self, **changes)

    @property
    def messages_per_s(self) -> float:
        """Messages to each source at its share of the rate, 1/s."""
        return self.capacity_bps / (8 * self.sample_bytes) / self.sources

    @property
    def lead_s(self) -> float:
        """The slope's weight k: w times the sampling interval, s."""
        return self.w * 8 * self.sample_bytes / self.capacity_bps

    def stiffness(self, region: Region) -> float:
        """Give n of a region, 1/s^2: how hard the rates answer the queue."""
        per_bit = self.messages_per_s / (8 * PAGE_BYTES)
        if region == "increase":
            return per_bit * self.sources * self.gi * self.rate_unit_bps
        if region == "decrease":
            return per_bit * self.capacity_bps * self.gd
        raise AnalysisError(f"{NAME}: region '{region}' is neither 'increase' nor 'decrease'")

    def is_node(self, region: Region) -> bool:
        """Tell whether a region without delay settles without swinging: k^2 n > 4."""
        return self.lead_s**2 * self.stiffness(region) > 4

    def loop(self, region: Region) -> Loop:
        """Give the open loop of a region at its delay."""
        n, k = self.stiffness(region), self.lead_s
        return Loop([n * k, n], [1.0, 0.0, 0.0], self.delay_s, title=self._title(f"ECM {region}"))

    def margins(self) -> dict[Region, Margins]:
        """Give the margins of both regions."""
        return {region: self.loop(region).margins() for region in ("increase", "decrease")}

    def critical_delay(self) -> float:
        """Give the RTT, s, at which the first of the two regions turns unstable."""
        both = (self.loop(region).critical_delay() for region in ("increase", "decrease"))
        return min(0.0 if critical is None else critical for critical in both)

    def fluid(
        self,
        end_s: float,
        *,
        every_s: float | None = None,
        step_s: float | None = None,
        start: dict[str, Any] | None = None,
        **switches: Any,
    ) -> Trajectory:
        """Integrate the fluid model from 0 to `end_s`, with a row `every_s`.

        `start` and `switches` are the core's (`qcnlab.analysis.fluid_models`); `step_s`:
        integration step. Raises `AnalysisError` for what the core refuses.
        """
        from qcnlab.analysis.fluid import trajectory

        values = {**self.parameters(), **switches}
        return trajectory(
            "ecm",
            values,
            end_s,
            every_s=every_s,
            step_s=step_s,
            start=start,
            title=self._title(NAME),
        )

    def parameters(self) -> dict[str, Any]:
        """Give the model's parameters as the core names them."""
        shared = ("sources", "capacity_bps", "delay_s", "frame_bytes", "set_point_bytes", "w")
        return {
            **{name: getattr(self, name) for name in (*shared, "rate_unit_bps")},
            "increase_gain": self.gi,
            "decrease_gain": self.gd,
            "feedback_unit_bytes": PAGE_BYTES,
            "sampling_probability": self.frame_bytes / self.sample_bytes,
        }

    def _title(self, word: str) -> str:
        rate = f"{self.capacity_bps / 1e9:g} Gb/s"
        return f"{word}, {counted(self.sources, 'source')}, {rate}, RTT {given.span(self.delay_s)}"
