"""TIMELY and patched TIMELY: fixed points and margins.

Y. Zhu, M. Ghobadi, V. Misra and J. Padhye, "ECN or Delay: Lessons Learnt from Analysis of DCQCN and
TIMELY", CoNEXT 2016. TIMELY's rates follow the gradient of the delay and have no fixed point, or
infinitely many; the patch adds the queue's distance from q' = C Tlow and has one:

    q* = q' + N delta q' / (beta C)

Its linear loop has two delays, that of the answer t' and one gradient interval t* more:

    L(s) = (n1 + n2 e^{-s t*}) e^{-s t'} / (Seg s + delta / 2)
    n2 = -R delta alpha / (s Dmin (Seg s + alpha R)),  n1 = R^2 beta N / (2 q' s) - n2
    t* = max(Seg / R, Dmin),  t' = q* / C + MTU / C + propagation
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from qcnlab._core import AnalysisError
from qcnlab.analysis import given
from qcnlab.analysis.loops import Loop, Margins
from qcnlab.analysis.polynomials import product, total
from qcnlab.text import counted

if TYPE_CHECKING:
    from qcnlab.analysis.responses import Trajectory


@dataclass(frozen=True)
class TimelyPoint:
    """Where patched TIMELY rests."""

    queue_bytes: float
    """Queue, B."""
    rate_bps: float
    """Rate of each source, bit/s."""


@dataclass(frozen=True)
class Timely:
    """TIMELY with N sources; defaults are the paper's patched values at 10 Gb/s.

    Raises `AnalysisError` for a value out of its range.
    """

    sources: int = 10
    """N."""
    capacity_bps: float = 10e9
    """C, bit/s."""
    propagation_s: float = 0.0
    """Propagation delay of the answer, s."""
    t_low_s: float = 50e-6
    """Tlow, s."""
    t_high_s: float = 500e-6
    """Thigh, s."""
    min_rtt_s: float = 20e-6
    """Dmin, s."""
    segment_bytes: float = 16e3
    """Seg, B."""
    frame_bytes: float = 1000.0
    """MTU, B."""
    alpha: float = 0.875
    """Weight of a new gradient sample."""
    beta: float = 0.008
    """Decrease factor."""
    delta_bps: float = 10e6
    """Additive increase, bit/s."""
    patched: bool = True
    """Whether the queue's distance from C Tlow counts."""

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        names = self.__dataclass_fields__
        loose = {"propagation_s", "patched"}
        given.above_zero(self._name, **{n: getattr(self, n) for n in names if n not in loose})
        given.not_negative(self._name, propagation_s=self.propagation_s)

    @classmethod
    def original(cls, **changes: Any) -> Timely:
        """Give TIMELY without the patch: segments of 64 KB, beta 0.8, with `changes`."""
        return replace(cls(segment_bytes=64e3, beta=0.8, patched=False), **changes)

    def with_(self, **changes: Any) -> Timely:
        """Give the model with some values changed."""
        return replace(self, **changes)

    def fixed_point(self) -> TimelyPoint:
        """Give the rest point; raises `AnalysisError` without the patch, which has none of its own.

        Raises it too where q* is beyond C Thigh, where the decrease of the third branch rules.
        """
        if not self.patched:
            raise AnalysisError(
                "TIMELY: no equilibrium: rates rest wherever the gradient is 0, in any shares; "
                "the patched form has one"
            )
        low = self.capacity_bps * self.t_low_s / 8
        queue = low * (1 + self.sources * self.delta_bps / (self.beta * self.capacity_bps))
        high = self.capacity_bps * self.t_high_s / 8
        if queue > high:
            raise AnalysisError(
                f"{self._name}: no equilibrium: {self.sources} sources need a queue of "
                f"{queue:.3g} B, and above C Thigh = {high:.3g} B every source slows down"
            )
        return TimelyPoint(queue, self.capacity_bps / self.sources)

    def loop(self) -> Loop:
        """Give the open loop; raises `AnalysisError` as `fixed_point` does."""
        rest = self.fixed_point()
        segment, rate, capacity = 8 * self.segment_bytes, rest.rate_bps, self.capacity_bps
        low = capacity * self.t_low_s
        gradient = rate * self.delta_bps * self.alpha
        offset = rate**2 * self.beta * self.sources / (2 * low)
        filtered = product([self.min_rtt_s], [segment, self.alpha * rate])
        den = product(filtered, [1.0, 0.0], [segment, self.delta_bps / 2])
        interval = max(segment / rate, self.min_rtt_s)
        answer = 8 * (rest.queue_bytes + self.frame_bytes) / capacity + self.propagation_s
        terms = [
            (total(filtered * offset, [gradient]), answer),
            (total([-gradient]), answer + interval),
        ]
        return Loop.of_terms(terms, den, title=self._title())

    def margins(self) -> Margins:
        """Give the loop's margins."""
        return self.loop().margins()

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
        name = "timely_patched" if self.patched else "timely"
        return trajectory(
            name, values, end_s, every_s=every_s, step_s=step_s, start=start, title=self._title()
        )

    def parameters(self) -> dict[str, Any]:
        """Give the model's parameters as the core names them."""
        names = (name for name in self.__dataclass_fields__ if name != "patched")
        return {name: getattr(self, name) for name in names}

    @property
    def _name(self) -> str:
        return "patched TIMELY" if self.patched else "TIMELY"

    def _title(self) -> str:
        return f"{self._name}, {counted(self.sources, 'source')}, {self.capacity_bps / 1e9:g} Gb/s"
