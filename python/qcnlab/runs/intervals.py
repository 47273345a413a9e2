"""Confidence intervals of medians, of paired differences and of means.

The interval of a median lies between two of the sorted values, chosen by the binomial distribution
of how many lie below it: no distribution is assumed and nothing is drawn. Fewer than six values
have no interval of 95 %. That of a mean is Student's. All need scipy:
`pip install 'qcnlab[analysis]'`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from qcnlab.errors import AnalysisError, MissingPackage
from qcnlab.printing import text

if TYPE_CHECKING:
    from collections.abc import Sequence

LEVEL = 0.95
"""The share of intervals that hold the true median."""


def least(level: float) -> int:
    """Return how many values an interval of a median takes at least.

    All n values lie on one side of the median once in 2^(n - 1) times, so from their first to their
    last they hold it with a chance of 1 - 2^(1 - n), which must exceed the level.

    Parameters
    ----------
    level : float
        The confidence level, above 0 and below 1.

    Returns
    -------
    int
        Two or more values.

    Raises
    ------
    AnalysisError
        For a level that is none.

    Examples
    --------
    >>> least(0.95), least(0.9), least(0.5)
    (6, 5, 3)
    """
    _check_level(level)
    count = 2
    while 1 - 2.0 ** (1 - count) <= level:
        count += 1
    return count


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise AnalysisError(f"a confidence level lies between 0 and 1; {level} does not")


LEAST = least(LEVEL)
"""So many values an interval of 95 % takes."""


def too_few(replications: int) -> str | None:
    """Say before runs that they are too few for an interval; `None` where they are enough.

    Parameters
    ----------
    replications : int
        Of the run that has fewest.

    Returns
    -------
    str or None
        One sentence.

    Examples
    --------
    >>> too_few(1)
    'intervals of 95 % take 6 replications or more, and there is 1; ranges are shown (--reps 6)'
    >>> too_few(6)
    """
    if replications >= LEAST:
        return None
    are = "there is 1" if replications == 1 else f"there are {replications}"
    return (
        f"intervals of {100 * LEVEL:g} % take {LEAST} replications or more, and {are}; "
        f"ranges are shown (--reps {LEAST})"
    )


@dataclass(frozen=True)
class Interval:
    """A median with its confidence interval.

    Examples
    --------
    >>> import qcnlab
    >>> print(qcnlab.Interval(5.5, 2.0, 9.0, 10))
    5.5 [2..9] of 10
    """

    median: float | None
    """`None` without values."""
    low: float | None
    """`None` if there are too few values."""
    high: float | None
    """`None` if there are too few values."""
    runs: int
    """The number of values behind it."""

    def __str__(self) -> str:
        """Return `median [low..high] of runs`, as tables have it."""
        if self.median is None:
            return "none"
        middle = text.number(self.median)
        if self.low is None or self.high is None:
            return f"{middle} of {self.runs}, too few for an interval"
        return f"{middle} [{text.number(self.low)}..{text.number(self.high)}] of {self.runs}"

    @property
    def excludes_zero(self) -> bool:
        """Whether the interval lies on one side of zero: of a difference, whether it is told."""
        return self.low is not None and self.high is not None and self.low * self.high > 0


def median_interval(values: Sequence[float | None], level: float = LEVEL) -> Interval:
    """Return the median of the values that are there and its confidence interval.

    Examples
    --------
    Of 1 to 10 at 95 %: with n = 10, P(fewer than 2 of 10 values lie below the median) = 11 / 1024,
    so the second and the ninth value bound it at 1 - 22 / 1024 = 97.9 %.

    >>> median_interval([7.0, 2.0, 9.0, 4.0, 1.0, 6.0, 3.0, 8.0, 10.0, 5.0])
    Interval(median=5.5, low=2.0, high=9.0, runs=10)
    >>> median_interval([3.0, 1.0, None])
    Interval(median=2.0, low=None, high=None, runs=2)
    """
    known = _known(values, level)
    if not known:
        return Interval(None, None, None, 0)
    bounds = _stats().quantile_test(known, q=0, p=0.5).confidence_interval(level)
    low, high = (None if math.isnan(each) else float(each) for each in (bounds.low, bounds.high))
    if low is None or high is None:
        low = high = None
    from statistics import median

    return Interval(float(median(known)), low, high, len(known))


def mean_interval(values: Sequence[float | None], level: float = LEVEL) -> Interval:
    """Return the mean of the values that are there, as `median`, and Student's interval.

    It is exact where the values are normal, and good for the mean of many.

    Examples
    --------
    Of 1, 2, 3: mean 2, standard error 1 / sqrt(3) = 0.5774, t(97.5 %, 2) = 4.3027, so 2 +- 2.4841.

    >>> known = mean_interval([1.0, 2.0, 3.0])
    >>> known.median, round(known.low, 4), round(known.high, 4)
    (2.0, -0.4841, 4.4841)
    """
    known = _known(values, level)
    if not known:
        return Interval(None, None, None, 0)
    from statistics import fmean

    middle = fmean(known)
    if len(known) < 2:
        return Interval(middle, None, None, len(known))
    if min(known) == max(known):
        return Interval(middle, middle, middle, len(known))
    bounds = _stats().ttest_1samp(known, 0.0).confidence_interval(level)
    return Interval(middle, float(bounds.low), float(bounds.high), len(known))


def _known(values: Sequence[float | None], level: float) -> list[float]:
    _check_level(level)
    return [value for value in values if value is not None]


def _stats() -> Any:
    try:
        return import_module("scipy.stats")
    except ImportError as error:
        raise MissingPackage(
            f"confidence intervals need {error.name}: pip install 'qcnlab[analysis]'"
        ) from error


def difference_interval(
    one: Sequence[float | None], other: Sequence[float | None], level: float = LEVEL
) -> Interval:
    """Return the median of `one[k] - other[k]` and its confidence interval.

    Replication k of two runs with one seed meets the same random numbers, so the difference is
    free of most of their luck. Replications that either run lacks are left out.

    Examples
    --------
    >>> difference_interval([2.0, 3.0, None], [1.0, 1.0, 1.0])
    Interval(median=1.5, low=None, high=None, runs=2)
    """
    if len(one) != len(other):
        raise AnalysisError(
            f"runs of {len(one)} and {len(other)} replications have no pairs; run both with as many"
        )
    pairs = zip(one, other, strict=True)
    return median_interval([a - b for a, b in pairs if a is not None and b is not None], level)
