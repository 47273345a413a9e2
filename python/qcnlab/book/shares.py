"""Measures of how flows share the hot link, over a window."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from qcnlab.book.view import blocks, inside

if TYPE_CHECKING:
    from qcnlab.book.view import View

BLOCK_MS = 10.0
"""Rates fluctuate from one such mean to the next."""


def jain(view: View) -> float:
    """Return Jain's index of the flows' mean rates."""
    mean = view.rates.mean(axis=1)
    squares = float((mean**2).sum())
    return float(mean.sum()) ** 2 / (len(mean) * squares) if squares else math.nan


def ratio(view: View) -> float:
    """Return the largest by the smallest mean rate."""
    mean = view.rates.mean(axis=1)
    return float(mean.max() / mean.min()) if mean.min() > 0 else math.inf


def fluctuation(view: View) -> float:
    """Return the deviation of a flow's 10 ms means by its mean, averaged over flows."""
    wide = max(1, round(BLOCK_MS / view.bin_ms))
    shares = []
    for rate in view.rates:
        means = blocks(rate, wide)
        shares.append(float(means.std() / means.mean()) if means.mean() > 0 else math.nan)
    return float(np.nanmean(shares))


STAGES, HOSTS = 20, 3


def chain_underrun(view: View) -> float:
    """Return the mean underrun of the hotspots of deck 004's chain."""
    return float(np.mean(_of_chain(view)))


def chain_worst(view: View) -> float:
    """Return the largest underrun of the hotspots of deck 004's chain."""
    return max(_of_chain(view))


def _of_chain(view: View) -> list[float]:
    """Return the underrun of each hotspot of deck 004's chain: 19 trunks and the last link.

    Of the three hosts of a switch the first and the third load the next trunk alone, the second
    all trunks from there to the end.
    """
    rows = inside(view.traces.bin_s, view.window)
    mean = {name: float(rate[rows].mean()) for name, rate in view.traces.flows.items()}
    sent = {int(name.partition("->")[0].removeprefix("host")): mean[name] for name in mean}
    through, unused = 0.0, []
    for first in range(1, HOSTS * (STAGES - 1), HOSTS):
        through += sent[first + 1]
        unused.append(1.0 - (through + sent[first] + sent[first + 2]) / view.hot.rate)
    last = sum(rate for name, rate in mean.items() if name.endswith("->host59"))
    return [*unused, 1.0 - last / view.hot.rate]


def silence(view: View) -> float:
    """Return the longest time for which one of the flows delivers nothing, ms."""
    longest = 0
    for rate in view.rates:
        delivers = np.concatenate(([-1], np.flatnonzero(rate > 0), [len(rate)]))
        longest = max(longest, int(np.diff(delivers).max()) - 1)
    return longest * view.bin_ms


def lead(view: View) -> float:
    """Return the mean rate of the named flow by the largest of the others over the hot link."""
    rows = inside(view.traces.bin_s, view.window)
    named = set(view.traces.names(view.patterns))
    mean = {
        name: float(view.traces.flows[name][rows].mean())
        for name in view.traces.names(view.hot.flows)
    }
    others = max(rate for name, rate in mean.items() if name not in named)
    return min(mean[name] for name in named) / others if others else math.inf


def jain_by_bin(view: View) -> float:
    """Return the median of Jain's index over bins."""
    sums, squares = view.rates.sum(axis=0), (view.rates**2).sum(axis=0)
    carried = squares > 0
    return float(np.median(sums[carried] ** 2 / (len(view.rates) * squares[carried])))


def apart(view: View) -> float:
    """Return the time from the window's start to the first bin of rates within the limit, ms."""
    gap = view.rates.max(axis=0) - view.rates.min(axis=0)
    good = np.flatnonzero(gap <= (view.limit or 0.0))
    return float(good[0]) * view.bin_ms if len(good) else math.inf
