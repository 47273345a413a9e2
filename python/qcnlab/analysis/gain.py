"""How far the gain of a loop may rise, or must fall, to the edge of stability.

As the gain k of k L grows, closed-loop poles cross the imaginary axis only where k L(jw) = -1:
where L is real and negative, or beyond all frequencies where |k L| of a neutral loop reaches 1.
Between two such gains the number of poles in the right half plane is constant, and is counted
with the exact delay (`qcnlab.analysis.stability`): Nyquist's encirclements, gain by gain.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from qcnlab.analysis.optional import require

if TYPE_CHECKING:
    from collections.abc import Callable

    from qcnlab.analysis.open_loop import OpenLoop
    from qcnlab.analysis.polynomials import Array

Edge = tuple[float, float | None]
"""A gain at which poles may cross, and the frequency, rad/s, if it is one."""


def gain_margin(loop: OpenLoop) -> Edge | tuple[None, None]:
    """Return the gain margin of a loop and the frequency, rad/s, at which its poles cross there.

    A stable loop turns unstable at that gain, above 1. An unstable loop is stable just below it,
    and it is the largest such gain below 1. (None, None) if there is none. Raises `AnalysisError`
    as `Loop.unstable_poles` does.
    """
    edges, steady = _edges(loop), loop.stable()
    side = [edge for edge in edges if (edge[0] > 1) == steady]
    outward = side if steady else side[::-1]
    beyond = 4.0 if steady else 0.25
    nexts = [edge[0] for edge in outward[1:]] + [edge[0] * beyond for edge in outward[-1:]]
    for edge, following in zip(outward, nexts, strict=True):
        if loop.scaled(math.sqrt(edge[0] * following)).stable() != steady:
            return edge
    return None, None


def crossovers(values: Array, function: Callable[[float], float], grid: Array) -> list[float]:
    """Return where `function`, with `values` on `grid`, changes its sign."""
    changes = np.flatnonzero(np.sign(values[:-1]) * np.sign(values[1:]) < 0)
    brentq = require("scipy.optimize").brentq
    return [brentq(function, grid[i], grid[i + 1], xtol=1e-15, rtol=1e-14) for i in changes]


def _edges(loop: OpenLoop) -> list[Edge]:
    """Return the gains at which poles may cross, rising, without repetitions."""
    grid = loop.grid()

    def imaginary(frequency: float) -> float:
        return float(loop(1j * frequency).imag)

    edges: list[Edge] = []
    for frequency in crossovers(loop(1j * grid).imag, imaginary, grid):
        real = float(loop(1j * frequency).real)
        if real < 0:
            edges.append((-1 / real, frequency))
    edges += [(gain, None) for gain in _ends(loop)]
    edges.sort(key=lambda edge: edge[0])
    apart = [True, *(b[0] > a[0] * (1 + 1e-9) for a, b in pairwise(edges))]
    return [edge for edge, new in zip(edges, apart, strict=False) if new]


def _ends(loop: OpenLoop) -> list[float]:
    """Return the gains at which poles cross at frequency 0, and beyond all frequencies."""
    at_zero, gains = sum(float(num[-1]) for num, _ in loop.terms), []
    if loop.den[-1] and at_zero / loop.den[-1] < 0:
        gains.append(-float(loop.den[-1]) / at_zero)
    if len(loop.terms) == 1 and loop.num.size == loop.den.size:
        top = float(loop.num[0] / loop.den[0])
        if loop.delay_s > 0 or top < 0:
            gains.append(1 / abs(top))
    return gains
