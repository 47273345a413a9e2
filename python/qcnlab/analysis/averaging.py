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
    """Return the mean of R over each cycle under the averaging principle.

    Parameters
    ----------
    errors : array_like, shape (cycles,)
        Errors e[n].
    gain : float
        K.
    start : float
        R at the beginning.

    Returns
    -------
    numpy.ndarray, shape (cycles,)
        Mean of R in each cycle.

    Examples
    --------
    >>> averaging_means([1.0, 0.0], gain=1.0)
    array([-0.75, -0.5 ])
    """
    means, rate = [], start
    for error in np.asarray(errors, dtype=float):
        before, cut = rate, rate - gain * error
        rate = (cut + before) / 2
        means.append((cut + rate) / 2)
    return np.array(means)


def derivative_means(errors: Sequence[float] | Array, gain: float, start: float = 0.0) -> Array:
    """Return the output of the equivalent proportional and derivative controller in each cycle.

    The output falls by K (e[n] / 2 + (e[n] - e[n-1]) / 4) each cycle, with e[-1] = 0.

    Parameters
    ----------
    errors : array_like, shape (cycles,)
        Errors e[n].
    gain : float
        K.
    start : float
        Output at the beginning.

    Returns
    -------
    numpy.ndarray, shape (cycles,)
        Output in each cycle.

    Examples
    --------
    >>> derivative_means([1.0, 0.0], gain=1.0)
    array([-0.75, -0.5 ])
    """
    error = np.asarray(errors, dtype=float)
    change = np.diff(error, prepend=0.0)
    return np.asarray(start - gain * np.cumsum(error / 2 + change / 4))


def with_averaging(loop: Loop, cycle_s: float) -> Loop:
    """Return a loop whose controller's output is averaged in each cycle: L (1 + s T / 2) / 2.

    Parameters
    ----------
    loop : Loop
        A loop of one delay.
    cycle_s : float
        T, s.

    Raises
    ------
    AnalysisError
        The cycle is not above 0, or the loop has several delays.

    Examples
    --------
    >>> plain = Loop([1], [1, 1, 0])
    >>> with_averaging(plain, 0.5).critical_delay() > plain.critical_delay()
    True
    """
    if not cycle_s > 0:
        raise AnalysisError(f"the cycle is {cycle_s:g} s; it must be above 0")
    num = product(loop.num, [cycle_s / 4, 0.5])
    title = f"{loop.title}, averaged every {cycle_s:g} s"
    return Loop(num, loop.den, loop.delay_s, title=title, time_unit=loop.time_unit)
