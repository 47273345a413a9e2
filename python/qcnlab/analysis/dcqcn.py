"""DCQCN: exact fixed point, linear loops as published and exact, and how fast rates converge.

Y. Zhu, M. Ghobadi, V. Misra and J. Padhye, "ECN or Delay: Lessons Learnt from Analysis of DCQCN and
TIMELY", CoNEXT 2016. Rates in frames/s, N equal sources with Rc = C / N, marking probability p. At
rest

    a^2 alpha / ((b + d) (c + e)) = tau^2 RAI Rc
    a = 1 - (1-p)^(tau Rc),  alpha = 1 - (1-p)^(tau' Rc),
    b = p / ((1-p)^-B - 1),  c = b (1-p)^(F B),
    d = p / ((1-p)^(-T Rc) - 1),  e = d (1-p)^(F T Rc)

with the cut interval tau, the alpha timer tau', byte counter B, timer T, F fast recovery steps.
The published margins use a Taylor expansion of the loop, at the Taylor value of p, which lies 19 to
58 % above the exact one. The fluid follows the exact loop (`qcnlab.analysis.dcqcn_linear`): with 2,
5 and 10 sources its rest turns unstable at 85.6, 67.5 and 62.5 us, where the published loop says
72.4, 37.5 and 20.8 us.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, ClassVar, Literal, Self

import numpy as np

from qcnlab._core import AnalysisError
from qcnlab.analysis import checks, dcqcn_linear
from qcnlab.analysis.fluid import numbers
from qcnlab.analysis.loops import Loop, Margins
from qcnlab.analysis.model import Equilibrium, ScenarioModel, contender_values
from qcnlab.analysis.optional import require
from qcnlab.analysis.polynomials import product, total
from qcnlab.analysis.spans import span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qcnlab.analysis.bottleneck import Contenders
    from qcnlab.analysis.fluid import State
    from qcnlab.records import JsonObject
    from qcnlab.runs.contention import MinMeanMax

CORE = numbers("dcqcn")


@dataclass(frozen=True)
class DcqcnEquilibrium(Equilibrium):
    """The state in which DCQCN rests."""

    target_rate_bps: float
    """Target rate of each source, bit/s."""
    marking_probability: float
    """p."""
    alpha: float
    """The sources' estimate of congestion."""


@dataclass(frozen=True)
class Dcqcn(ScenarioModel):
    """DCQCN with N equal sources.

    Defaults are the core's: the paper's at 40 Gb/s.

    Raises
    ------
    AnalysisError
        A value is out of its range.

    Examples
    --------
    >>> Dcqcn(sources=2).margins().stable
    True
    >>> round(Dcqcn(sources=10).equilibrium().queue_bytes / 1e3, 1)
    122.6
    """

    NAME: ClassVar[str] = "DCQCN"
    FLUID: ClassVar[str] = "dcqcn"
    SCHEMES: ClassVar[tuple[str, ...]] = ("dcqcn",)
    HAS_SET_POINT: ClassVar[bool] = False
    STAR: ClassVar[JsonObject] = {"buffer": "10 MB", "sink_delay": "0 s"}
    """The receiver is next to the port, so that the star's RTT is the delay of its marks."""

    sources: int = 10
    """N."""
    capacity_bps: float = CORE["capacity_bps"]
    """C, bit/s."""
    delay_s: float = CORE["delay_s"]
    """Delay of the marks, s."""
    frame_bytes: float = CORE["frame_bytes"]
    """Octets of a frame."""
    k_min_bytes: float = CORE["k_min_bytes"]
    """Queue at which marking begins, B."""
    k_max_bytes: float = CORE["k_max_bytes"]
    """Queue at which the ramp of marking ends, B."""
    p_max: float = CORE["p_max"]
    """Marking probability at the end of the ramp."""
    g: float = CORE["g"]
    """Weight of a new sample in alpha."""
    cut_interval_s: float = CORE["cut_interval_s"]
    """tau: at most one notification in this time, s."""
    alpha_interval_s: float = CORE["alpha_interval_s"]
    """tau', s."""
    timer_s: float = CORE["timer_s"]
    """T, s."""
    cycle_bytes: float = CORE["cycle_bytes"]
    """B."""
    fast_recovery_cycles: int = int(CORE["fast_recovery_cycles"])
    """F."""
    ai_rate_bps: float = CORE["ai_rate_bps"]
    """RAI, bit/s."""

    def __post_init__(self) -> None:
        """Refuse values out of their range."""
        names = [each.name for each in fields(self)]
        loose = {"delay_s", "k_min_bytes", "p_max", "g"}
        checks.above_zero(self.NAME, **{n: getattr(self, n) for n in names if n not in loose})
        checks.not_negative(self.NAME, delay_s=self.delay_s, k_min_bytes=self.k_min_bytes)
        checks.probability(self.NAME, g=self.g)
        if not 0 < self.p_max <= 1:
            raise AnalysisError(
                f"{self.NAME}: p_max is {self.p_max:g}; it must be above 0 and at most 1"
            )
        if self.k_max_bytes <= self.k_min_bytes:
            raise AnalysisError(f"{self.NAME}: k_max_bytes must be above k_min_bytes")

    @classmethod
    def refusal(cls, scheme: JsonObject) -> str | None:
        """Return why a scheme is not covered: another form, another cut, or no byte counter."""
        receiver = scheme["rp"]
        as_published = receiver["form"] == "published" and receiver["cut_share"] == 0.5
        if as_published and "byte_reset" in receiver:
            return None
        return "the model has the published form, a cut of alpha / 2, and a byte counter"

    @classmethod
    def from_scenario(cls, scheme: JsonObject, contenders: Contenders) -> Self:
        """Return the model of contenders under DCQCN."""
        point, receiver = scheme["cp"], scheme["rp"]
        return cls(
            **contender_values(cls, contenders),
            k_min_bytes=point["k_min"],
            k_max_bytes=point["k_max"],
            p_max=float(point["p_max"]),
            g=float(receiver["g"]),
            cut_interval_s=receiver["cnp_interval"],
            alpha_interval_s=receiver["alpha_period"],
            timer_s=receiver["time_reset"],
            cycle_bytes=receiver["byte_reset"],
            fast_recovery_cycles=receiver["threshold"],
            ai_rate_bps=receiver["ai_rate"],
        )

    def scaled_scheme(self, scheme: JsonObject, factor: int) -> JsonObject:
        """Return the scheme, as a file has it, with its ramp of marks times `factor`."""
        ramp = {"k_min": self.k_min_bytes, "k_max": self.k_max_bytes}
        scheme["cp"] |= {name: f"{factor * size:.0f} B" for name, size in ramp.items()}
        return scheme

    def starts(self) -> list[State | None]:
        """Return line rates into an empty queue, rest, and the rates of rest into an empty queue.

        With ten sources the last reaches a limit cycle from an RTT of 20 us on, and the first two
        stay at rest up to 62 us.
        """
        rest = self.equilibrium().queue_bytes
        near: State = {"from": "equilibrium", "queue_bytes": 1.01 * rest}
        return [None, near, {"from": "equilibrium", "queue_bytes": 0.0}]

    @classmethod
    def left_out(cls, scheme: JsonObject) -> Iterator[str]:
        """Return what DCQCN does and the model does not."""
        yield "the sources' alpha at the start, taken as 1"
        yield "the spread of the sources' rates"
        yield "single CNPs, only their mean"
        yield "hyper increase"
        yield "the buffer's end"

    @classmethod
    def feedback_delay(cls, contenders: Contenders) -> MinMeanMax:
        """Return the round trip, s: marks go on to the receiver, which answers them."""
        return contenders.round_trip_s

    def description(self) -> str:
        """Return the ramp of marks, gain and increase as text."""
        return (
            f"marking {self.k_min_bytes / 1e3:g} to {self.k_max_bytes / 1e3:g} KB, "
            f"Pmax {100 * self.p_max:g} %, g {self.g:.3g}, RAI {self.ai_rate_bps / 1e6:g} Mb/s\n"
            "critical RTT at N: none where the ramp does not mark enough to hold N sources"
        )

    def initial(self, queue_bytes: float, current_rate_bps: float, target_rate_bps: float) -> State:
        """Return the fluid's initial state for a queue, B, and a source's mean rate, bit/s."""
        return {"queue_bytes": queue_bytes, "rates_bps": [current_rate_bps] * self.sources}

    def marking_probability(self) -> float:
        """Return the exact p at rest, whether or not the marking ramp reaches it."""
        share, bits = self._share(), 8 * self.frame_bytes
        goal = math.log(self.cut_interval_s**2 * self.ai_rate_bps / bits * share)

        def excess(log_p: float) -> float:
            return self._log_balance(math.exp(log_p)) - goal

        log_p = require("scipy.optimize").brentq(
            excess, math.log(1e-15), math.log(1 - 1e-9), xtol=1e-14
        )
        return math.exp(log_p)

    def taylor_probability(self) -> float:
        """Return the published p, approximately [RAI N^2 / (tau' C^2) (1/B + N/(T C))^2]^(1/3)."""
        share, bits = self._share(), 8 * self.frame_bytes
        events = self.frame_bytes / self.cycle_bytes + 1 / (self.timer_s * share)
        increase = self.ai_rate_bps / bits / (self.alpha_interval_s * share**2)
        return float((increase * events**2) ** (1 / 3))

    def equilibrium(self) -> DcqcnEquilibrium:
        """Return the exact state of rest.

        Raises
        ------
        AnalysisError
            The sources need more marking than the ramp gives: there is none.
        """
        p = self.marking_probability()
        self._refuse_saturation(p)
        share, bits = self._share(), 8 * self.frame_bytes
        return DcqcnEquilibrium(
            queue_bytes=self.k_min_bytes + p / self.p_max * (self.k_max_bytes - self.k_min_bytes),
            current_rate_bps=share * bits,
            target_rate_bps=(share + self.target_gap(p)) * bits,
            marking_probability=p,
            alpha=self.alpha_at(p),
        )

    def target_gap(self, p: float) -> float:
        """Return the target rate less the current rate at rest with marking `p`, frames/s."""
        a, _, c, _, e = self._parts(p)
        gap = (c + e) * self.cut_interval_s * self.ai_rate_bps / (8 * self.frame_bytes) / a
        return gap * self._share()

    def alpha_at(self, p: float) -> float:
        """Return alpha at rest with marking `p`."""
        return -math.expm1(self.alpha_interval_s * self._share() * math.log1p(-p))

    def loop(
        self, *, form: Literal["published", "exact"] = "published", formal: bool = False
    ) -> Loop:
        """Return a linear loop of DCQCN.

        Parameters
        ----------
        form : {"published", "exact"}
            The published Taylor expansion at the Taylor value of p, or the exact linearisation of
            the fluid's equations at its equilibrium.
        formal : bool
            Whether to return a loop even where the ramp of marks ends below the exact p. There
            nothing rests, but the published curves go on.

        Raises
        ------
        AnalysisError
            There is no equilibrium, and `formal` is false; or `form` is neither of the two.
        """
        p = self.marking_probability()
        if not formal:
            self._refuse_saturation(p)
        if form == "exact":
            num, den = dcqcn_linear.exact(self, p)
        elif form == "published":
            num, den = dcqcn_linear.published(self, self.taylor_probability())
        else:
            raise AnalysisError(f"{self.NAME}: form is '{form}'; it must be published or exact")
        return Loop(num, den, self.delay_s, title=self.title())

    def loops(self) -> dict[str, Loop]:
        """Return the published and the exact loop; raises as `loop` does."""
        return {"as published": self.loop(), "exact": self.loop(form="exact")}

    def published_loops(self) -> dict[str, Loop]:
        """Return the published loop; raises as `loop` does."""
        return {"as published": self.loop()}

    def margins(
        self, *, form: Literal["published", "exact"] = "published", formal: bool = False
    ) -> Margins:
        """Return the margins of `loop`; raises as it does."""
        return self.loop(form=form, formal=formal).margins()

    def convergence_rate(self) -> complex:
        """Return the rate, 1/s, at which small differences between sources' rates shrink.

        A difference of two rates, with the sum as it is, leaves the queue where it is, so marks
        stay the same for all sources. It decays as exp(s t) with the rightmost root s of the exact
        linear equations at constant p. `convergence_s` turns it into a time.

        Raises
        ------
        AnalysisError
            There is no equilibrium.
        """
        p = self.equilibrium().marking_probability
        num, den = dcqcn_linear.difference(self, p)
        # By Pade e^{-x} is near (x^2 - 6 x + 12) / (x^2 + 6 x + 12), and the root near its.
        lag, late = (
            [self.delay_s**2, 6 * self.delay_s, 12],
            [self.delay_s**2, -6 * self.delay_s, 12],
        )
        near = np.roots(total(product(den, lag), product(num, late)))
        root = complex(max(near, key=lambda each: each.real))
        for _ in range(50):
            delayed = np.polyval(num, root) * np.exp(-root * self.delay_s)
            slope = np.polyval(np.polyder(den), root) - self.delay_s * delayed
            slope += np.polyval(np.polyder(num), root) * np.exp(-root * self.delay_s)
            root -= complex((np.polyval(den, root) + delayed) / slope)
        return root

    def convergence_s(self, share: float = 0.05) -> float:
        """Return the time, s, in which a small difference between rates shrinks to a `share` of it.

        Parameters
        ----------
        share : float
            What is left of the difference, above 0 and below 1.

        Returns
        -------
        float
            The time; infinite if differences do not shrink.

        Raises
        ------
        AnalysisError
            There is no equilibrium, or `share` is out of its range.
        """
        if not 0 < share < 1:
            raise AnalysisError(f"{self.NAME}: share is {share:g}; it must be between 0 and 1")
        decay = -self.convergence_rate().real
        return math.log(1 / share) / decay if decay > 0 else math.inf

    def _share(self) -> float:
        return self.capacity_bps / (8 * self.frame_bytes) / self.sources

    def _logs(self, p: float) -> tuple[float, float, float, float]:
        """Return the logarithms of b, c, d, e."""
        unmarked = -math.log1p(-p)
        counted = self.cycle_bytes / self.frame_bytes * unmarked
        timed = self.timer_s * self._share() * unmarked
        steps = self.fast_recovery_cycles
        b, d = math.log(p) - _log_expm1(counted), math.log(p) - _log_expm1(timed)
        return b, b - steps * counted, d, d - steps * timed

    def _log_balance(self, p: float) -> float:
        b, c, d, e = self._logs(p)
        a = -math.expm1(self.cut_interval_s * self._share() * math.log1p(-p))
        return float(
            2 * math.log(a) + math.log(self.alpha_at(p)) - np.logaddexp(b, d) - np.logaddexp(c, e)
        )

    def _parts(self, p: float) -> tuple[float, float, float, float, float]:
        a = -math.expm1(self.cut_interval_s * self._share() * math.log1p(-p))
        b, c, d, e = (math.exp(value) for value in self._logs(p))
        return a, b, c, d, e

    def _refuse_saturation(self, p: float) -> None:
        if p > self.p_max:
            raise AnalysisError(
                f"{self.NAME}: no equilibrium: {self.sources} sources need a marking probability "
                f"of {p:.3g}, and the ramp ends at p_max {self.p_max:g}; "
                "raise p_max or lower ai_rate_bps"
            )

    def _delay_words(self) -> list[str]:
        return [f"delay {span(self.delay_s)}"]


def _log_expm1(x: float) -> float:
    return x + math.log(-math.expm1(-x))
