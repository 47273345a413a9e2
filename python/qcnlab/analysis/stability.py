"""When a loop with delay is stable: exact for one delay, a winding count for several.

Source for one delay: K. Walton and J. E. Marshall, "Direct method for TDS stability analysis",
IEE Proceedings D 134(2), 1987. The roots of D(s) + N(s) e^{-s d} cross the imaginary axis only
where |D(jw)| = |N(jw)|, whatever d is; the sign of the slope of |D|^2 - |N|^2 is their direction.
Source for several: A. V. Mikhailov's criterion, the growth of the argument of D + sum N e^{-s d}.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from qcnlab.analysis.polynomials import (
    Array,
    natural_frequency,
    positive_roots,
    squared_size,
    stretched,
    total,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from qcnlab.analysis.polynomials import Complex

EDGE = 1e-9


@dataclass(frozen=True)
class Crossing:
    """A frequency at which closed-loop poles cross the imaginary axis."""

    frequency: float
    """rad/s."""
    delay_s: float
    """The shortest delay at which they cross; they cross again every 2 pi / frequency."""
    direction: int
    """+1 to the right half plane, -1 back."""

    def times_before(self, delay_s: float) -> int:
        """Return the number of crossings at delays from just above 0 to below `delay_s`."""
        period = 2 * math.pi / self.frequency
        ahead = (delay_s * (1 - EDGE) - self.delay_s) / period
        return max(0, math.floor(ahead) + 1)


def is_neutral_and_unstable(num: Array, den: Array) -> bool:
    """Tell whether |L| stays at 1 or more at high frequency, so that any delay destabilises."""
    return num.size > den.size or (num.size == den.size and abs(num[0]) >= abs(den[0]))


def gain_crossovers(num: Array, den: Array) -> Array:
    """Return the frequencies, rad/s, at which |N(jw)| = |D(jw)|."""
    unit = natural_frequency(den)
    scaled_num, scaled_den = stretched(num, unit), stretched(den, unit)
    size = abs(scaled_den[0])
    balance = total(squared_size(scaled_den / size), -squared_size(scaled_num / size))
    return np.sqrt(positive_roots(balance)) * unit


def crossings(num: Array, den: Array) -> list[Crossing]:
    """Return every frequency at which poles cross, for a loop N / D e^{-s d}."""
    balance = total(squared_size(den), -squared_size(num))
    slope = np.polyder(balance)
    each = []
    for frequency in gain_crossovers(num, den):
        loop = np.polyval(num, 1j * frequency) / np.polyval(den, 1j * frequency)
        direction = int(np.sign(np.polyval(slope, frequency**2)))
        if direction:
            each.append(
                Crossing(float(frequency), _first_delay(complex(loop), frequency), direction)
            )
    return each


def _first_delay(loop: complex, frequency: float) -> float:
    """Return the shortest delay, s, that turns L(jw) = `loop` of size 1 to -1.

    A pole that lies on the axis without delay crosses at 0, though L is -1 but for rounding.
    """
    share = 0.5 + float(np.angle(loop)) / (2 * math.pi)
    return 0.0 if share > 1 - EDGE else share * 2 * math.pi / float(frequency)


def unstable_poles(num: Array, den: Array, delay_s: float) -> int:
    """Return the number of closed-loop poles in the right half plane for a loop N / D e^{-s d}.

    Poles on the axis count as unstable. The loop must not be neutral with a gain of 1 or more.
    """
    poles = np.roots(total(den, num))
    unit = natural_frequency(den)
    count = int((poles.real > -EDGE * unit).sum())
    if delay_s <= 0:
        return count
    for crossing in crossings(num, den):
        on_axis_at_0 = crossing.delay_s * crossing.frequency < EDGE
        moved = 2 * crossing.times_before(delay_s)
        if crossing.direction == 1:
            count += moved - (2 if on_axis_at_0 else 0)
        else:
            count -= moved
    return max(0, count)


def critical_delay(num: Array, den: Array) -> float | None:
    """Return the delay, s, at which the loop N / D e^{-s d} turns unstable.

    0 if it is unstable without delay or with any; `None` if no delay makes it so.
    """
    poles = np.roots(total(den, num))
    if is_neutral_and_unstable(num, den) or (poles.real > -EDGE * natural_frequency(den)).any():
        return 0.0
    outward = [crossing.delay_s for crossing in crossings(num, den) if crossing.direction == 1]
    return min(outward, default=None)


def winding_count(characteristic: Callable[[Array], Complex], order: int, grid: Array) -> int:
    """Return the number of zeros of a characteristic function in the right half plane.

    `characteristic(frequency)` gives its values at jw; `order` is the highest power of s, which no
    delayed term has; `grid` (rad/s) reaches from where the function is still to where that power
    rules.
    """
    values = characteristic(grid)
    turned = float(np.unwrap(np.angle(values))[-1] - np.angle(values[0]))
    return round((order * math.pi / 2 - turned) / math.pi)
