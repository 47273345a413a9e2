"""Step responses of loops with one delay, by the method of steps.

The rational part x' = A x + B u, y0 = C x + D u advances exactly from grid point to grid point. The
error u(t) = 1 - y0(t - d) is known over one delay ahead and enters as the parabola through the two
ends and the middle of each step, whose value comes from cubic Hermite interpolation of y0. Grid
points hit every multiple of the delay, where u may jump, so no step crosses a jump.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from qcnlab._core import AnalysisError
from qcnlab.analysis.optional import require
from qcnlab.analysis.polynomials import Array, natural_frequency
from qcnlab.analysis.responses import Step
from qcnlab.analysis.stability import gain_crossovers, is_neutral_and_unstable

if TYPE_CHECKING:
    from qcnlab.analysis.open_loop import OpenLoop

PER_DELAY = 100
PER_LAG = 20
MOST = 2_000_000


def closed_step(loop: OpenLoop, end_s: float | None, every_s: float | None) -> Step:
    """Return the step response; `Loop.step` says more."""
    num, den, delay = loop.num, loop.den, loop.delay_s
    if delay > 0 and is_neutral_and_unstable(num, den):
        raise AnalysisError(f"{loop.title}: {loop.margins().verdict}; no step response is computed")
    if num.size > den.size:
        raise AnalysisError(f"{loop.title}: L grows with frequency; it has no step response")
    lag = 1 / max(_fastest(den), _fastest(num))
    end = end_s if end_s is not None else 20 * (delay + 1 / _pace(num, den))
    if not (end > 0 and math.isfinite(end)):
        raise AnalysisError(
            f"{loop.title}: the step response ends at {end:g} s; it must be above 0"
        )
    if delay == 0:
        time, output = _without_delay(num, den, end, min(every_s or end / 2000, lag / PER_LAG))
    else:
        longest = min(every_s or math.inf, delay / PER_DELAY, lag / PER_LAG)
        time, output = _with_delay(num, den, delay, end, delay / math.ceil(delay / longest))
    units = {"time_s": loop.time_unit} if loop.time_unit else {}
    return Step(loop.title, {"time_s": time, "output": output}, units, _final(num, den, loop))


def _fastest(polynomial: Array) -> float:
    sizes = np.abs(np.roots(polynomial))
    return float(sizes.max()) if sizes.any() else natural_frequency(polynomial)


def _pace(num: Array, den: Array) -> float:
    """Return the frequency, rad/s, that sets the pace of the closed loop."""
    crossovers = gain_crossovers(num, den)
    return float(crossovers[0]) if crossovers.size else natural_frequency(den)


def _final(num: Array, den: Array, loop: OpenLoop) -> float | None:
    if not loop.stable():
        return None
    return float(num[-1] / (num[-1] + den[-1]))


def _state_space(num: Array, den: Array) -> tuple[Array, Array, Array, float]:
    """Return the controllable form A, B, C, D of num / den."""
    lead = den[0]
    num, den = np.concatenate([np.zeros(den.size - num.size), num]) / lead, den / lead
    order, through = den.size - 1, float(num[0])
    a, b = np.eye(order, k=1), np.zeros(order)
    if order:
        a[-1], b[-1] = -den[:0:-1], 1.0
    return a, b, (num[1:] - den[1:] * through)[::-1], through


def _advance(a: Array, step: float) -> list[Array]:
    """Return e^{A h} and the integrals of e^{A (h-t)} (t/h)^k dt, k = 0, 1, 2."""
    n = len(a)
    block = np.zeros((4 * n, 4 * n))
    block[:n, :n] = a * step
    for k in range(3):
        block[k * n : (k + 1) * n, (k + 1) * n : (k + 2) * n] = np.eye(n)
    whole = require("scipy.linalg").expm(block)
    pieces = np.split(whole[:n], 4, axis=1)
    return [pieces[0], *(pieces[k + 1] * step * math.factorial(k) for k in range(3))]


def _without_delay(num: Array, den: Array, end: float, step: float) -> tuple[Array, Array]:
    size = np.concatenate([np.zeros(den.size - num.size), num])
    if den[0] + size[0] == 0:
        raise AnalysisError("1 + L is 0 at high frequency; the loop has no step response")
    a, b, c, through = _state_space(size, den + size)
    count = _count(end, step)
    move, push = _advance(a, step)[:2]
    states = np.zeros((count + 1, b.size))
    for i in range(count):
        states[i + 1] = move @ states[i] + push @ b
    return np.arange(count + 1, dtype=float) * step, states @ c + through


def _with_delay(
    num: Array, den: Array, delay: float, end: float, step: float
) -> tuple[Array, Array]:
    a, b, c, through = _state_space(num, den)
    per = round(delay / step)
    rounds = math.ceil(_count(end, step) / per)
    move, first, second, third = _advance(a, step)
    left, middle, right = (
        (first - 3 * second + 2 * third) @ b,
        (4 * second - 4 * third) @ b,
        (2 * third - second) @ b,
    )
    state = np.zeros(b.size)
    error, half = np.ones(per + 1), np.ones(per)
    slope = np.zeros(per + 1)
    output = np.zeros(rounds * per + 1)
    for delays in range(rounds):
        forcing = np.outer(error[:-1], left) + np.outer(half, middle) + np.outer(error[1:], right)
        states = np.empty((per + 1, b.size))
        states[0] = state
        for i in range(per):
            states[i + 1] = move @ states[i] + forcing[i]
        state = states[-1]
        before = states @ c + through * error
        rise = (states @ a.T + np.outer(error, b)) @ c + through * slope
        centre = (before[:-1] + before[1:]) / 2 + step * (rise[:-1] - rise[1:]) / 8
        error, half, slope = 1 - before, 1 - centre, -rise
        if delays + 1 < rounds:
            output[(delays + 1) * per : (delays + 2) * per + 1] = before
    last = _count(end, step)
    return np.arange(last + 1, dtype=float) * step, output[: last + 1]


def _count(end: float, step: float) -> int:
    count = math.ceil(end / step - 1e-9)
    if count > MOST:
        raise AnalysisError(f"{count:,} steps of {step:.3g} s to {end:.3g} s are too many")
    return count
