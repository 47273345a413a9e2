"""Open loops with exact delay: margins, spectra, stability, step responses."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from qcnlab._core import AnalysisError
from qcnlab.analysis import stability
from qcnlab.analysis.gain import crossovers, gain_margin
from qcnlab.analysis.optional import require
from qcnlab.analysis.polynomials import Array, natural_frequency, tidy
from qcnlab.analysis.responses import Bode, Nyquist, Step
from qcnlab.analysis.spans import span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from qcnlab.analysis.polynomials import Complex

SPAN = 1e4
"""How far the grid of frequencies reaches beyond the loop's own, as a factor."""
PER_DECADE = 400
"""Frequencies of the grid in a decade."""


@dataclass(frozen=True)
class Margins:
    """The margins of a loop: its distance from instability. A margin it lacks is `None`."""

    stable: bool
    """Whether the closed loop is stable at this delay."""
    unstable_poles: int | None
    """Closed-loop poles in the right half plane; `None` if there are infinitely many."""
    phase_margin_deg: float | None
    """180 degrees + phase of L at the gain crossover, -180..180; the smallest in size."""
    gain_margin: float | None
    """Of a stable loop the factor, above 1, by which its gain may rise before it turns unstable; of
    an unstable loop the factor, below 1, to which its gain must fall. `None` if there is none: an
    unstable loop may need a higher gain. A stable loop may turn unstable at a lower gain, too."""
    delay_margin_s: float | None
    """The longest further delay, s; negative if the loop is unstable because of its delay."""
    critical_delay_s: float | None
    """Delay at which the loop turns unstable; `None`: never, or a loop of several delays."""
    gain_crossover_rad_per_s: float | None
    """Where |L| = 1, at the phase margin."""
    phase_crossover_rad_per_s: float | None
    """Where L is real and negative, at the gain margin; `None` too where that is at 0 or beyond
    all frequencies."""
    verdict: str
    """One sentence."""


class Loop:
    """An open loop L(s) = (N_0 e^{-s d_0} + N_1 e^{-s d_1} + ...) / D(s), closed by 1 / (1 + L).

    All methods use the exact delay; only `to_control` has a Pade approximation.

    Parameters
    ----------
    num, den : array_like
        Coefficients of numerator and denominator, highest power first.
    delay : float
        Delay, s.
    title : str
        Title of figures.
    time_unit : str
        Unit of time, for figures.

    Raises
    ------
    AnalysisError
        The delay is negative, the loop is 0, or it is not a fraction of numbers.

    Examples
    --------
    >>> loop = Loop([1.0], [1.0, 0.0], delay=1.0)
    >>> loop.margins().stable, round(loop.critical_delay(), 4)
    (True, 1.5708)
    """

    def __init__(
        self,
        num: Sequence[float] | Array,
        den: Sequence[float] | Array,
        delay: float = 0.0,
        *,
        title: str = "loop",
        time_unit: str = "s",
    ) -> None:
        """Make a loop with one delay."""
        self._set([(tidy(num), float(delay))], tidy(den), title, time_unit)

    @classmethod
    def of_terms(
        cls,
        terms: Sequence[tuple[Sequence[float] | Array, float]],
        den: Sequence[float] | Array,
        *,
        title: str = "loop",
        time_unit: str = "s",
    ) -> Loop:
        """Return a loop of several (numerator, delay) over one denominator; raises as `Loop`."""
        loop = cls.__new__(cls)
        loop._set([(tidy(num), float(d)) for num, d in terms], tidy(den), title, time_unit)
        return loop

    def _set(
        self, terms: list[tuple[Array, float]], den: Array, title: str, time_unit: str
    ) -> None:
        for num, delay in terms:
            if not (delay >= 0 and math.isfinite(delay)):
                raise AnalysisError(f"{title}: delay is {delay:g}; it must be 0 or more")
            if not np.isfinite(num).all() or not np.isfinite(den).all():
                raise AnalysisError(f"{title}: a coefficient is not a number")
        if not den.any() or not any(num.any() for num, _ in terms):
            raise AnalysisError(f"{title}: the loop is 0 or has no denominator")
        self.terms, self.den, self.title, self.time_unit = terms, den, title, time_unit

    @property
    def delay_s(self) -> float:
        """The delay, of several the shortest."""
        return min(delay for _, delay in self.terms)

    @property
    def num(self) -> Array:
        """The numerator; raises `AnalysisError` for a loop of several delays."""
        return self._only("a numerator")

    def with_delay(self, delay: float) -> Loop:
        """Return the loop with another delay, s; raises `AnalysisError` as `Loop` does."""
        return Loop(
            self._only("another delay"), self.den, delay, title=self.title, time_unit=self.time_unit
        )

    def scaled(self, gain: float) -> Loop:
        """Return `gain` times the loop; raises `AnalysisError` for a gain of 0 or no number."""
        terms = [(num * gain, delay) for num, delay in self.terms]
        return Loop.of_terms(terms, self.den, title=self.title, time_unit=self.time_unit)

    def __call__(self, s: complex | NDArray[Any]) -> Complex:
        """Return L(s), of the shape of `s`."""
        points = np.asarray(s, dtype=complex)
        upper = sum(np.polyval(num, points) * np.exp(-points * delay) for num, delay in self.terms)
        return np.asarray(upper / np.polyval(self.den, points), dtype=complex)

    @property
    def neutral(self) -> bool:
        """Whether the delay stands at the highest derivative: |L| does not fall to 0."""
        return any(num.size >= self.den.size for num, _ in self.terms)

    def unstable_poles(self) -> int | None:
        """Return the number of closed-loop poles in the right half plane; `None`: infinite."""
        if len(self.terms) == 1:
            num, delay = self.terms[0]
            if delay > 0 and stability.is_neutral_and_unstable(num, self.den):
                return None
            return stability.unstable_poles(num, self.den, delay)
        return self._winding_count()

    def stable(self) -> bool:
        """Return whether the closed loop is stable at this delay."""
        return self.unstable_poles() == 0

    def critical_delay(self) -> float | None:
        """Return the delay, s, at which the closed loop turns unstable.

        Returns
        -------
        float or None
            0 if any delay makes the loop unstable, `None` if none does.

        Raises
        ------
        AnalysisError
            The loop has several delays.
        """
        return stability.critical_delay(self._only("a critical delay"), self.den)

    def margins(self) -> Margins:
        """Return gain, phase and delay margin, the crossovers and the critical delay."""
        unstable = self.unstable_poles()
        critical = self.critical_delay() if len(self.terms) == 1 else None
        phase, at = self._phase_margin()
        gain, gain_at = gain_margin(self)
        margin = None if critical is None else critical - self.delay_s
        if len(self.terms) > 1 and phase is not None and at is not None:
            margin = math.radians(phase) / at
        return Margins(
            stable=unstable == 0,
            unstable_poles=unstable,
            phase_margin_deg=phase,
            gain_margin=gain,
            delay_margin_s=margin,
            critical_delay_s=critical,
            gain_crossover_rad_per_s=at,
            phase_crossover_rad_per_s=gain_at,
            verdict=self._verdict(unstable, critical),
        )

    def bode(self, frequency: Array | None = None) -> Bode:
        """Return gain and unwrapped phase at `frequency` (rad/s, rising; `grid()` by default)."""
        grid = self.grid() if frequency is None else np.asarray(frequency, dtype=float)
        values = self(1j * grid)
        if len(self.terms) == 1:
            phase = np.unwrap(np.angle(values * np.exp(1j * grid * self.delay_s)))
            phase -= grid * self.delay_s
        else:
            phase = np.unwrap(np.angle(values))
        columns = {
            "frequency_rad_per_s": grid,
            "gain": np.abs(values),
            "phase_deg": np.degrees(phase),
        }
        units = {"frequency_rad_per_s": f"rad/{self.time_unit or 'time'}", "phase_deg": "deg"}
        return Bode(self.title, columns, units)

    def nyquist(self, frequency: Array | None = None) -> Nyquist:
        """Return real and imaginary part of L(jw) at `frequency` (rad/s; `grid()` by default)."""
        grid = self.grid() if frequency is None else np.asarray(frequency, dtype=float)
        values = self(1j * grid)
        columns = {"frequency_rad_per_s": grid, "real": values.real, "imaginary": values.imag}
        units = {"frequency_rad_per_s": f"rad/{self.time_unit or 'time'}"}
        return Nyquist(self.title, columns, units)

    def step(self, end_s: float | None = None, every_s: float | None = None) -> Step:
        """Return the closed loop's response to a unit step of the set point.

        It is computed by the method of steps with the true delay: the rational part advances
        exactly, and the delayed output enters as a parabola over each step.

        Parameters
        ----------
        end_s : float, optional
            End, s; by default twenty times the loop's own times.
        every_s : float, optional
            Longest step, s; at most a hundredth of the delay.

        Raises
        ------
        AnalysisError
            The loop is neutral and unstable with any delay, or it grows with frequency.
        """
        from qcnlab.analysis.steps import closed_step

        return closed_step(self, end_s, every_s)

    def to_control(self, pade: int = 4) -> Any:
        """Return a `control.TransferFunction` with a Pade approximation of order `pade`.

        Raises
        ------
        MissingPackage
            python-control is not installed: `pip install 'qcnlab[analysis]'`.
        """
        control = require("control")
        rational = control.TransferFunction(self._only("one transfer function"), self.den)
        if self.delay_s == 0:
            return rational
        return rational * control.TransferFunction(*control.pade(self.delay_s, pade))

    def plot(self) -> Figure:
        """Return a figure of Bode, Nyquist and step response side by side."""
        from qcnlab.analysis import draw

        return draw.loop(self)

    def __repr__(self) -> str:
        """Return title, order and delays as text."""
        delays = ", ".join(f"{delay:g}" for _, delay in self.terms)
        return f"<Loop {self.title}: order {self.den.size - 1}, delay {delays}>"

    def _only(self, what: str) -> Array:
        if len(self.terms) > 1:
            raise AnalysisError(f"{self.title}: a loop of several delays does not have {what}")
        return self.terms[0][0]

    def grid(self) -> Array:
        """Return frequencies, rad/s, about the loop's roots, with a finer grid over its delays."""
        polynomials = [self.den, *(num for num, _ in self.terms)]
        sizes = np.concatenate([np.abs(np.roots(p)) for p in polynomials])
        sizes = sizes[sizes > 0] if (sizes > 0).any() else np.ones(1)
        sizes = np.append(sizes, self._balances())
        low, high = sizes.min() / SPAN, sizes.max() * SPAN
        decades = math.log10(high / low)
        grid = np.geomspace(low, high, int(decades * PER_DECADE))
        longest = max(delay for _, delay in self.terms)
        if longest > 0:
            periods = np.arange(1, 4000) * (math.pi / 40 / longest)
            grid = np.union1d(grid, periods[periods < high])
        return grid

    def _balances(self) -> Array:
        if len(self.terms) == 1:
            return stability.gain_crossovers(self.terms[0][0], self.den)
        return np.array([natural_frequency(self.den)])

    def _phase_margin(self) -> tuple[float | None, float | None]:
        if len(self.terms) == 1:
            crossed = list(stability.gain_crossovers(self.terms[0][0], self.den))
        else:
            grid = self.grid()

            def excess(frequency: float) -> float:
                return float(np.log(np.abs(self(1j * frequency))))

            crossed = crossovers(np.log(np.abs(self(1j * grid))), excess, grid)
        margins = [(self._margin_at(float(w)), float(w)) for w in crossed]
        return min(margins, key=lambda pair: abs(pair[0]), default=(None, None))

    def _margin_at(self, frequency: float) -> float:
        behind = np.angle(-self(1j * frequency))
        return float(np.degrees(behind))

    def _winding_count(self) -> int:
        if self.neutral:
            raise AnalysisError(f"{self.title}: a neutral loop of several delays is not decided")
        grid = self.grid()

        def characteristic(frequency: Array) -> Complex:
            s = 1j * frequency
            upper = sum(np.polyval(num, s) * np.exp(-s * delay) for num, delay in self.terms)
            return np.asarray(np.polyval(self.den, s) + upper)

        return stability.winding_count(characteristic, self.den.size - 1, grid)

    def _verdict(self, unstable: int | None, critical: float | None) -> str:
        if unstable is None:
            top = abs(self.num[0] / self.den[0]) if self.num.size == self.den.size else math.inf
            size = f"stays at {top:.3g}" if math.isfinite(top) else "grows"
            return f"unstable with any delay above 0: |L| {size} at high frequency (neutral loop)"
        word = "stable" if unstable == 0 else f"unstable, {unstable} poles in the right half plane"
        if len(self.terms) > 1:
            return word
        if critical is None:
            return f"{word}; stable with any delay"
        if critical == 0:
            return f"{word}; unstable without delay too" if unstable else word
        now, edge = span(self.delay_s, self.time_unit), span(critical, self.time_unit)
        return f"{word} at delay {now}; critical delay {edge}"
