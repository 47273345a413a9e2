"""What runs say of one run and of their median: central range, intervals, runs that decide."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qcnlab.book.traces import Array

LEVEL = 0.95
"""Level of all intervals but those of sameness."""
ROUNDING = 1e-13
"""Values that differ by no more of their mean than this differ by rounding alone."""
MOST = 1000
"""More runs than these are not asked for."""


def central(values: Sequence[float], level: float = LEVEL) -> tuple[float, float]:
    """Return the range that holds the central share `level` of single runs.

    Its ends are quantiles by linear interpolation; one value that is not a number makes them so.
    """
    if not values or any(math.isnan(value) for value in values):
        return math.nan, math.nan
    ordered = sorted(values)
    tail = (1 - level) / 2
    return quantile(ordered, tail), quantile(ordered, 1 - tail)


def percentile(values: Sequence[float], number: float) -> float:
    """Return which percentile of the values a number is, 0 to 100; equal values count by half."""
    below = sum(value < number for value in values)
    equal = sum(value == number for value in values)
    return 100 * (below + equal / 2) / len(values)


def quantile(ordered: Sequence[float], share: float) -> float:
    """Return a quantile by linear interpolation, which infinite values survive."""
    position = share * (len(ordered) - 1)
    low, high = ordered[math.floor(position)], ordered[math.ceil(position)]
    return low if low == high else low + (high - low) * (position - math.floor(position))


def varies(values: Sequence[float]) -> bool:
    """Return whether values differ by more than rounding."""
    low, high = min(values), max(values)
    if low == high:
        return False
    return math.isinf(high - low) or high - low > ROUNDING * abs(low + high) / 2


def median_interval(values: Sequence[float], level: float = LEVEL) -> tuple[float, float]:
    """Return the interval of the median by order statistics: no form of the spread is assumed.

    It has at least the level. Fewer than six runs have no interval at 95 %: minus to plus infinity.
    Of values that do not vary it is their own.
    """
    from scipy import stats

    if not values or any(math.isnan(value) for value in values):
        return -math.inf, math.inf
    ordered = sorted(values)
    if not varies(ordered):
        return ordered[0], ordered[-1]
    count = len(ordered)
    # The k-th of each end: the chance that the median lies outside is twice that of fewer than k of
    # `count` throws of a coin.
    outside = 2 * stats.binom.cdf(np.arange(count // 2), count, 0.5)
    k = int(np.sum(outside <= 1 - level))
    return (ordered[k - 1], ordered[count - k]) if k else (-math.inf, math.inf)


def mean_interval(differences: Array, level: float) -> tuple[float, float]:
    """Return the t interval of the mean, by scipy; of values that do not vary it is their mean.

    One replication, or one that is not a number, gives no interval: minus to plus infinity.
    """
    from scipy import stats

    if len(differences) < 2 or not np.all(np.isfinite(differences)):
        return -math.inf, math.inf
    mean = float(np.mean(differences))
    if np.ptp(differences) == 0:
        return float(np.min(differences)), float(np.max(differences))
    if np.ptp(differences) <= ROUNDING * abs(mean):
        return mean, mean
    bounds = stats.ttest_1samp(differences, 0.0).confidence_interval(level)
    return float(bounds.low), float(bounds.high)


def runs_for_mean(interval: tuple[float, float], count: int, border: float) -> int | None:
    """Return about how many runs would part a mean from a border; `None`: more than `MOST`.

    The interval narrows as the square root of the number of runs.
    """
    low, high = interval
    if not (math.isfinite(low) and math.isfinite(high)):
        return None
    distance = abs((low + high) / 2 - border)
    half = (high - low) / 2
    return _bounded(count * (half / distance) ** 2) if distance > 0 else None


def inside(value: float, low: float, high: float) -> bool:
    """Return whether a value lies strictly between limits; what never came lies below infinity."""
    return low < value < high or (value == math.inf == high)


def runs_for_median(values: Sequence[float], low: float, high: float) -> int | None:
    """Return about how many runs would part a median from limits; `None`: more than `MOST`.

    If a share p of all runs lies between the limits, the interval of the median leaves them out, or
    lies between them, once 1.96 sqrt(n) / 2 runs are fewer than n |p - 1/2|.
    """
    share = sum(inside(value, low, high) for value in values) / len(values)
    return _bounded((0.98 / (share - 0.5)) ** 2) if share != 0.5 else None


def _bounded(count: float) -> int | None:
    return max(6, math.ceil(count)) if count <= MOST else None
