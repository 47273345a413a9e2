"""Deck 004's view of QCN: a loop with a dominant lag and a delay.

The congestion point samples a share Ps of the frames, so it sees the queue through a lag
T = 1 / (Ps n lambda), n flows of lambda frames/s each; the feedback takes a delay tau (slides 33 to
37). The slides print no loop gain; K is a parameter here, and w is the weight of the queue's change
over one sampling interval, which puts a zero at -1 / (w T).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

from qcnlab._core import AnalysisError
from qcnlab.analysis.loops import Loop, Margins
from qcnlab.analysis.optional import require
from qcnlab.analysis.responses import Step

Form = Literal["lag", "lead", "integrator"]
FORMS: tuple[Form, ...] = ("lag", "lead", "integrator")

DECK_DELAY, DECK_INVERSE_SAMPLING = 19.0, 2.0
"""Slide 34 holds the RTT at 19 and varies Ps; slide 36 holds 1/Ps at 2 and varies the RTT."""


@dataclass(frozen=True)
class LagLoop:
    """One of three loops over lag T and delay tau, in any one unit of time.

    `"lag"`: K e^{-s tau} / (1 + s T); `"lead"`: the same times 1 + s w T; `"integrator"`: that
    over s, with the queue's integration, where K is in 1 / time.

    Raises
    ------
    AnalysisError
        A gain or lag is not above 0, a delay or w is below 0, or the form is none of the three.

    Examples
    --------
    >>> loop = LagLoop(gain=2.0, lag=1.0, delay=0.5)
    >>> loop.margins().stable, round(loop.critical_ratio(), 3)
    (True, 1.209)
    """

    gain: float
    """K."""
    lag: float
    """T."""
    delay: float
    """tau."""
    w: float = 0.0
    """Weight of the queue's change."""
    form: Form = "lag"
    """One of `"lag"`, `"lead"` and `"integrator"`."""
    time_unit: str = "s"
    """Unit of lag and delay, for figures; empty for the slides' bare numbers."""

    def __post_init__(self) -> None:
        """Refuse values out of their range."""
        if self.form not in FORMS:
            raise AnalysisError(f"form '{self.form}' is none of {', '.join(FORMS)}")
        if not (self.gain > 0 and self.lag > 0 and math.isfinite(self.gain * self.lag)):
            raise AnalysisError(f"gain {self.gain:g} and lag {self.lag:g} must be above 0")
        if not (self.w >= 0 and math.isfinite(self.w)):
            raise AnalysisError(f"w is {self.w:g}; it must be 0 or more")
        if self.form == "lag" and self.w:
            raise AnalysisError(f"form 'lag' has no w; '{FORMS[1]}' has (w is {self.w:g})")
        self.loop()

    @classmethod
    def sampled(
        cls,
        gain: float,
        sampling_probability: float,
        frames_per_s: float,
        delay: float,
        *,
        w: float = 0.0,
        form: Form = "lag",
        time_unit: str = "s",
    ) -> LagLoop:
        """Return the loop of T = 1 / (`sampling_probability` * `frames_per_s`).

        At 10 Gb/s of 1500 B frames and 1 % the lag is 120 us.

        Parameters
        ----------
        gain : float
            K.
        sampling_probability : float
            Ps, above 0 and at most 1.
        frames_per_s : float
            n lambda, the frames of all flows together, 1/s.
        delay : float
            tau, s.
        w, form, time_unit
            As in `LagLoop`.

        Raises
        ------
        AnalysisError
            The sampling is none, or `LagLoop` refuses a value.

        Examples
        --------
        >>> round(1e6 * LagLoop.sampled(1.0, 0.01, 10e9 / 12000, 200e-6).lag)
        120
        """
        if not (0 < sampling_probability <= 1 and frames_per_s > 0):
            raise AnalysisError(
                f"sampling {sampling_probability:g} of {frames_per_s:g} frames/s is no sampling: "
                "the probability must be above 0 and at most 1, the frames/s above 0"
            )
        lag = 1 / (sampling_probability * frames_per_s)
        return cls(gain, lag, delay, w=w, form=form, time_unit=time_unit)

    def loop(self) -> Loop:
        """Return the open loop."""
        num = [self.gain * self.w * self.lag, self.gain]
        den = [self.lag, 1.0] if self.form != "integrator" else [self.lag, 1.0, 0.0]
        return Loop(num, den, self.delay, title=self.label(), time_unit=self.time_unit)

    def label(self) -> str:
        """Return the loop's numbers as text."""
        weight = f", w {self.w:g}" if self.form != "lag" else ""
        return f"K {self.gain:g}, T {self.lag:g}, delay {self.delay:g}{weight}"

    def margins(self) -> Margins:
        """Return the margins of `loop`."""
        return self.loop().margins()

    def critical_ratio(self) -> float | None:
        """Return the critical tau / T; 0 if any delay destabilises, `None` if none does."""
        critical = self.loop().critical_delay()
        return None if critical is None else critical / self.lag

    def step(self, end: float | None = None) -> Step:
        """Return the response to a unit step of the set point; raises as `Loop.step` does."""
        return self.loop().step(end)


def ultimate_gain(ratio: float) -> float:
    """Return the gain at which form `"lag"` turns unstable for a ratio of delay to lag.

    It is the smallest K > 1 with (pi - arccos(1/K)) / sqrt(K^2 - 1) = tau / T.

    Parameters
    ----------
    ratio : float
        tau / T, above 0.

    Raises
    ------
    AnalysisError
        The ratio is not above 0.

    Examples
    --------
    >>> round(ultimate_gain(1.0), 4)
    2.2618
    """
    if not (ratio > 0 and math.isfinite(ratio)):
        raise AnalysisError(f"tau / T is {ratio:g}; it must be above 0")

    def excess(angle: float) -> float:
        return angle * ratio + math.atan(angle) - math.pi

    # At the edge w T = x: x tau/T + atan(x) = pi and K = sqrt(1 + x^2).
    edge = require("scipy.optimize").brentq(excess, 0.0, math.pi / ratio, xtol=1e-14)
    return math.hypot(1.0, edge)


def sampling_family(
    gain: float, inverse_sampling: tuple[float, ...] = (2, 10, 19, 40, 100)
) -> list[LagLoop]:
    """Return slide 34's family of loops: delay 19, and one T = 1/Ps each."""
    return [LagLoop(gain, each, DECK_DELAY, time_unit="") for each in inverse_sampling]


def delay_family(gain: float, delays: tuple[float, ...] = (0.5, 1, 2, 4, 8)) -> list[LagLoop]:
    """Return slide 36's family of loops: T = 1/Ps = 2, and one delay each."""
    first = LagLoop(gain, DECK_INVERSE_SAMPLING, delays[0], time_unit="")
    return [replace(first, delay=each) for each in delays]
