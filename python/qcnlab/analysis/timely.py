"""TIMELY and patched TIMELY: fixed points and margins.

Y. Zhu, M. Ghobadi, V. Misra and J. Padhye, "ECN or Delay: Lessons Learnt from Analysis of DCQCN and
TIMELY", CoNEXT 2016. TIMELY's rates follow the gradient of the delay and have no fixed point, or
infinitely many; the patch adds the queue's distance from q' = C Tlow and has one:

    q* = q' + N delta q' / (beta C)

Its linear loop has two delays, that of the answer t' and one gradient interval t* more:

    L(s) = (n1 + n2 e^{-s t*}) e^{-s t'} / (Seg s + delta / 2)
    n2 = -R delta alpha / (s Dmin (Seg s + alpha R)),  n1 = R^2 beta N / (2 q' s) - n2
    t* = max(Seg / R, Dmin),  t' = q* / C + MTU / C + propagation

That is the published loop. The exact linearisation of the same equations, which the fluid follows,
has four times that n2: the slope of w = 2 g + 1/2 is 2, and it weighs the increase delta and the
equal decrease beta R (q* - q') / q' alike. Its Seg is R t*, so that it holds too where Dmin is
longer than Seg / R.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from qcnlab._core import AnalysisError
from qcnlab.analysis import checks
from qcnlab.analysis.fluid import numbers
from qcnlab.analysis.loops import Loop, Margins
from qcnlab.analysis.model import Equilibrium, Model
from qcnlab.analysis.polynomials import product, total

if TYPE_CHECKING:
    from qcnlab.analysis.fluid import Settings, State

CORE, ORIGINAL = numbers("timely_patched"), numbers("timely")


@dataclass(frozen=True)
class Timely(Model):
    """TIMELY with N sources.

    Defaults are the core's: the paper's patched values at 10 Gb/s.

    Raises
    ------
    AnalysisError
        A value is out of its range.

    Examples
    --------
    >>> Timely(sources=10).margins().stable, Timely(sources=40).margins().stable
    (True, False)
    """

    NAME: ClassVar[str] = "TIMELY"
    FLUID: ClassVar[str] = "timely"

    sources: int = 10
    """N."""
    capacity_bps: float = CORE["capacity_bps"]
    """C, bit/s."""
    propagation_s: float = CORE["propagation_s"]
    """Propagation delay of the answer, s."""
    t_low_s: float = CORE["t_low_s"]
    """Tlow, s."""
    t_high_s: float = CORE["t_high_s"]
    """Thigh, s."""
    min_rtt_s: float = CORE["min_rtt_s"]
    """Dmin, s."""
    segment_bytes: float = CORE["segment_bytes"]
    """Seg, B."""
    frame_bytes: float = CORE["frame_bytes"]
    """MTU, B."""
    alpha: float = CORE["alpha"]
    """Weight of a new gradient sample."""
    beta: float = CORE["beta"]
    """Decrease factor."""
    delta_bps: float = CORE["delta_bps"]
    """Additive increase, bit/s."""
    patched: bool = True
    """Whether the queue's distance from C Tlow counts."""

    def __post_init__(self) -> None:
        """Refuse values out of their range."""
        names = [each.name for each in fields(self)]
        loose = {"propagation_s", "patched"}
        checks.above_zero(self._name, **{n: getattr(self, n) for n in names if n not in loose})
        checks.not_negative(self._name, propagation_s=self.propagation_s)

    @classmethod
    def original(cls, **changes: Any) -> Self:
        """Return TIMELY without the patch, with its own segments and beta, and `changes`."""
        segment, beta = ORIGINAL["segment_bytes"], ORIGINAL["beta"]
        return replace(cls(segment_bytes=segment, beta=beta, patched=False), **changes)

    def equilibrium(self) -> Equilibrium:
        """Return the state of rest.

        Raises
        ------
        AnalysisError
            TIMELY is not patched, which leaves it without one, or the queue of rest is above
            C Thigh, where the third branch cuts the rates.
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
        return Equilibrium(queue, self.capacity_bps / self.sources)

    def initial(self, queue_bytes: float, current_rate_bps: float, target_rate_bps: float) -> State:
        """Return the fluid's initial state for a queue, B, and a source's mean rate, bit/s."""
        return {"queue_bytes": queue_bytes, "rates_bps": [current_rate_bps] * self.sources}

    def loops(self) -> dict[str, Loop]:
        """Return the published and the exact loop; raises as `equilibrium` does."""
        return {"as published": self.loop(), "exact": self.loop(form="exact")}

    def loop(self, *, form: Literal["published", "exact"] = "published") -> Loop:
        """Return an open loop, which has two delays.

        Parameters
        ----------
        form : {"published", "exact"}
            The published loop, or the exact linearisation of the fluid's equations.

        Raises
        ------
        AnalysisError
            There is no equilibrium, or `form` is neither of the two.
        """
        if form not in ("published", "exact"):
            raise AnalysisError(f"{self._name}: form is '{form}'; it must be published or exact")
        rest = self.equilibrium()
        rate, capacity = rest.current_rate_bps, self.capacity_bps
        interval = max(8 * self.segment_bytes / rate, self.min_rtt_s)
        segment, slope = (
            (8 * self.segment_bytes, 1) if form == "published" else (rate * interval, 4)
        )
        low = capacity * self.t_low_s
        gradient = slope * rate * self.delta_bps * self.alpha
        offset = rate**2 * self.beta * self.sources / (2 * low)
        filtered = product([self.min_rtt_s], [segment, self.alpha * rate])
        den = product(filtered, [1.0, 0.0], [segment, self.delta_bps / 2])
        answer = 8 * (rest.queue_bytes + self.frame_bytes) / capacity + self.propagation_s
        terms = [
            (total(filtered * offset, [gradient]), answer),
            (total([-gradient]), answer + interval),
        ]
        return Loop.of_terms(terms, den, title=self.title(self._name))

    def margins(self, *, form: Literal["published", "exact"] = "published") -> Margins:
        """Return the margins of `loop`; raises as it does."""
        return self.loop(form=form).margins()

    def parameters(self) -> Settings:
        """Return the parameters by the names of the fluid model."""
        values = super().parameters()
        del values["patched"]
        return values

    @property
    def fluid_name(self) -> str:
        """The name of the fluid model in the core."""
        return "timely_patched" if self.patched else "timely"

    @property
    def _name(self) -> str:
        return "patched TIMELY" if self.patched else "TIMELY"
