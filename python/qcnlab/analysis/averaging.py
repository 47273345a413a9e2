"""The averaging principle: a second, smaller step back to the average of before and now.

Every T a controller takes R to R - K e[n]; T/2 later it moves half way back to where R was. Seen
from one cycle mean to the next, that is a controller with the gains K/2 on the error and K T / 4 on
its derivative. Source: Alizadeh, Kabbani, Atikoglu and Prabhakar, "Stability Analysis of QCN: The
Averaging Principle", SIGMETRICS 2011.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qcnlab._core import AnalysisError
from qcnlab.analysis.loops import Loop
from qcnlab.analysis.polynomials import Array, product

if TYPE_CHECKING:
    from collections.abc import Sequence


def averaging_means(errors: Sequence[float] | Array, gain: float, start: float = 0.0) -> Array:
    """Give the mean of R over each cycle under the averaging principle.

    `errors` is e[n], shape (cycles,); R begins at `start`. Shape of the answer: (cycles,).
    """
    means, rate = [], start
    for error in np.asarray(errors, dtype=float):
        before, cut = rate, rate - gain * error
        rate = (cut + before) / 2
        means.append((cut + rate) / 2)
    return np.array(means)


def derivative_means(errors: Sequence[float] | Array, gain: float, start: float = 0.0) -> Array:
    """Give what the equivalent proportional and derivative controller does, cycle by cycle.

    Its output falls by K (e[n] / 2 + (e[n] - e[n-1]) / 4) each cycle, with e[-1] = 0, from
    `start`. Arguments and shape as in `averaging_means`.
    """
    error = np.asarray(errors, dtype=float)
    change = np.diff(error, prepend=0.0)
    return np.asarray(start - gain * np.cumsum(error / 2 + change / 4))


def with_averaging(loop: Loop, cycle_s: float) -> Loop:
    """Give `loop` with its controller's output averaged every `cycle_s`: L (1 + s T / 2) / 2.

    Raises `AnalysisError` if the cycle is not above 0 or the loop has several delays.
    """
    if not cycle_s > 0:
        raise AnalysisError(f"the cycle is {cycle_s:g} s; it must be above 0")
    num = product(loop.num, [cycle_s / 4, 0.5])
    title = f"{loop.title}, averaged every {cycle_s:g} s"
    return Loop(num, loop.den, loop.delay_s, title=title, time_unit=loop.time_unit)
