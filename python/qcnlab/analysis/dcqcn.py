"""DCQCN: exact fixed point, and the published linear loop.

Y. Zhu, M. Ghobadi, V. Misra and J. Padhye, "ECN or Delay: Lessons Learnt from Analysis of DCQCN and
TIMELY", CoNEXT 2016. Rates in frames/s, N equal sources with Rc = C / N, marking probability p. At
rest

    a^2 alpha / ((b + d) (c + e)) = tau^2 RAI Rc
    a = 1 - (1-p)^(tau Rc),  alpha = 1 - (1-p)^(tau' Rc),
    b = p / ((1-p)^-B - 1),  c = b (1-p)^(F B),
    d = p / ((1-p)^(-T Rc) - 1),  e = d (1-p)^(F T Rc)

with the cut interval tau, the alpha timer tau', byte counter B, timer T, F fast recovery steps.
The published margins use a Taylor expansion of the loop, at the Taylor value of p, which lies 19 to
58 % above the exact one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from qcnlab._core import AnalysisError
from qcnlab.analysis import given
from qcnlab.analysis.loops import Loop, Margins
from qcnlab.analysis.need import need
from qcnlab.analysis.polynomials import product, total
from qcnlab.text import counted

if TYPE_CHECKING:
    from qcnlab.analysis.responses import Trajectory

NAME = "DCQCN"


@dataclass(frozen=True)
class DcqcnPoint:
    """Where DCQCN rests."""

    marking_probability: float
    """p."""
    queue_bytes: float
    """Queue, B."""
    rate_bps: float
    """Rate of each source, bit/s."""
    target_rate_bps: float
    """Target rate of each source, bit/s."""
    alpha: float
    """The sources' estimate of congestion."""


@dataclass(frozen=True)
class Dcqcn:
    """DCQCN with N equal sources; defaults are the paper's at 40 Gb/s.

    Raises `AnalysisError` for a value out of its range.
    """

    sources: int = 10
    """N."""
    capacity_bps: float = 40e9
    """C, bit/s."""
    delay_s: float = 4e-6
    """Delay of the marks, s."""
    frame_bytes: float = 1000.0
    """Octets of a frame."""
    k_min_bytes: float = 5e3
    """Queue at which marking begins, B."""
    k_max_bytes: float = 200e3
    """Queue at which the ramp of marking ends, B."""
    p_max: float = 0.01
    """Marking probability at the end of the ramp."""
    g: float = 1 / 256
    """Weight of a new sample in alpha."""
    cut_interval_s: float = 50e-6
    """tau: at most one notification in this time, s."""
    alpha_interval_s: float = 55e-6
    """tau', s."""
    timer_s: float = 55e-6
    """T, s."""
    cycle_bytes: float = 10e6
    """B."""
    fast_recovery_cycles: int = 5
    """F."""
    ai_rate_bps: float = 40e6
    """RAI, bit/s."""

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        names = self.__dataclass_fields__
        loose = {"delay_s", "k_min_bytes", "p_max", "g"}
        given.above_zero(NAME, **{n: getattr(self, n) for n in names if n not in loose})
        given.not_negative(NAME, delay_s=self.delay_s, k_min_bytes=self.k_min_bytes)
        given.probability(NAME, g=self.g)
        if not 0 < self.p_max <= 1:
            raise AnalysisError(
                f"{NAME}: p_max is {self.p_max:g}; it must be above 0 and at most 1"
            )
        if self.k_max_bytes <= self.k_min_bytes:
            raise AnalysisError(f"{NAME}: k_max_bytes must be above k_min_bytes")

    def with_(self, **changes: Any) -> Dcqcn:
        """Give the model with some values changed."""
        return replace(self, **changes)

    def marking_probability(self) -> float:
        """Give the exact p at rest, whether or not the marking ramp reaches it."""
        share, bits = self._share(), 8 * self.frame_bytes
        goal = math.log(self.cut_interval_s**2 * self.ai_rate_bps / bits * share)

        def excess(log_p: float) -> float:
            return self._log_balance(math.exp(log_p)) - goal

        found = need("scipy.optimize").brentq(
            excess, math.log(1e-15), math.log(1 - 1e-9), xtol=1e-14
        )
        return math.exp(found)

    def taylor_probability(self) -> float:
        """Give the published approximation of p: [RAI N^2 / (tau' C^2) (1/B + N/(T C))^2]^(1/3)."""
        share, bits = self._share(), 8 * self.frame_bytes
        events = self.frame_bytes / self.cycle_bytes + 1 / (self.timer_s * share)
        increase = self.ai_rate_bps / bits / (self.alpha_interval_s * share**2)
        return float((increase * events**2) ** (1 / 3))

    def fixed_point(self) -> DcqcnPoint:
        """Give the exact rest point.

        Raises `AnalysisError` if it needs more marking than the ramp gives: there is none then.
        """
        p = self.marking_probability()
        self._refuse_saturation(p)
        a, _, c, _, e = self._parts(p)
        share, bits = self._share(), 8 * self.frame_bytes
        gap = (c + e) * self.cut_interval_s * self.ai_rate_bps / bits / a * share
        return DcqcnPoint(
            marking_probability=p,
            queue_bytes=self.k_min_bytes + p / self.p_max * (self.k_max_bytes - self.k_min_bytes),
            rate_bps=share * bits,
            target_rate_bps=(share + gap) * bits,
            alpha=self._alpha(p),
        )

    def loop(self, *, formal: bool = False) -> Loop:
        """Give the published loop, at the Taylor value of p.

        Where that p is above `p_max` the ramp is saturated and nothing rests there; the published
        curves go on formally. `formal`: do so too, instead of raising `AnalysisError`.
        """
        p = self.taylor_probability()
        if not formal:
            self._refuse_saturation(p)
        num, den = self._published(p)
        return Loop(num, den, self.delay_s, title=self._title())

    def margins(self, *, formal: bool = False) -> Margins:
        """Give the published loop's margins; `formal` as in `loop`."""
        return self.loop(formal=formal).margins()

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
            "dcqcn", values, end_s, every_s=every_s, step_s=step_s, start=start, title=self._title()
        )

    def parameters(self) -> dict[str, Any]:
        """Give the model's parameters as the core names them."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    def _share(self) -> float:
        return self.capacity_bps / (8 * self.frame_bytes) / self.sources

    def _alpha(self, p: float) -> float:
        return -math.expm1(self.alpha_interval_s * self._share() * math.log1p(-p))

    def _logs(self, p: float) -> tuple[float, float, float, float]:
        """Give the logarithms of b, c, d, e."""
        quiet = -math.log1p(-p)
        counted = self.cycle_bytes / self.frame_bytes * quiet
        timed = self.timer_s * self._share() * quiet
        steps = self.fast_recovery_cycles
        b, d = math.log(p) - _log_expm1(counted), math.log(p) - _log_expm1(timed)
        return b, b - steps * counted, d, d - steps * timed

    def _log_balance(self, p: float) -> float:
        b, c, d, e = self._logs(p)
        a = -math.expm1(self.cut_interval_s * self._share() * math.log1p(-p))
        return float(
            2 * math.log(a) + math.log(self._alpha(p)) - np.logaddexp(b, d) - np.logaddexp(c, e)
        )

    def _parts(self, p: float) -> tuple[float, float, float, float, float]:
        a = -math.expm1(self.cut_interval_s * self._share() * math.log1p(-p))
        b, c, d, e = (math.exp(value) for value in self._logs(p))
        return a, b, c, d, e

    def _refuse_saturation(self, p: float) -> None:
        if p > self.p_max:
            raise AnalysisError(
                f"{NAME}: no equilibrium: {self.sources} sources need a marking probability of "
                f"{p:.3g}, and the ramp ends at p_max {self.p_max:g}; "
                "raise p_max or lower ai_rate_bps"
            )

    def _published(self, p: float) -> tuple[Any, Any]:
        """Give numerator and denominator of the loop, as in the authors' `stability.m`."""
        n, bits = float(self.sources), 8 * self.frame_bytes
        c = self.capacity_bps / bits
        rc, rai = c / n, self.ai_rate_bps / bits
        a, _, slow, _, fast = self._parts(p)
        rt = rc * (1 + (slow + fast) * self.cut_interval_s * rai / a)
        alpha, steps = self._alpha(p), self.fast_recovery_cycles
        events = self.frame_bytes / self.cycle_bytes + 1 / (self.timer_s * rc)
        ramp = (self.k_max_bytes - self.k_min_bytes) / self.frame_bytes
        k, half = n * self.p_max / ramp, 0.5 + events / 4
        late = (1 + 2 * steps + events / 2) * rai
        up = events * rc / 2 - half * p * rc
        aa = (-(rc**2) * alpha / 2 - half * (rc * rt - rc**2)) * k
        bb = -p * rc * alpha / 2 - up
        cc = -p * rc * alpha / 2 - events * rc / 2 + events * rt / 2 + half * p * (rc - rt)
        dd = -p * rc**2 * self.g * c * k / 2
        ee = up * (p * rc + events * rai)
        ff = up * (-p * rt + p * rc + events * rai - late * p)
        gg = up * (-rc * rt + rc**2 - late * rc) * k
        slope, pole, s = [n, self.g * c], [1.0, p * rc], [1.0, 0.0]
        num = total(
            product(slope, pole, [aa]), product(slope, pole, s, [bb]), product(pole, [dd]),
            product(slope, s, [ff]), product(slope, [gg]),
        )  # fmt: skip
        den = total(
            product(s, s, slope, pole, [-1.0]), product(slope, pole, s, [cc]),
            product(s, slope, [ee]),
        )  # fmt: skip
        return num, den

    def _title(self) -> str:
        rate = f"{self.capacity_bps / 1e9:g} Gb/s"
        return (
            f"{NAME}, {counted(self.sources, 'source')}, {rate}, delay {given.span(self.delay_s)}"
        )


def _log_expm1(x: float) -> float:
    return x + math.log(-math.expm1(-x))
