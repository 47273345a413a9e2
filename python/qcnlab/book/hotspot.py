"""Measures of the book's words, over the windows of a case's hotspot.

Each takes one replication, a case's `Hot` and a window in s. Queue measures are in set points, so
that one number means the same in every chapter.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from qcnlab.book.traces import Array, Traces, traces
from qcnlab.facts import facts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qcnlab.book.cases import Hot
    from qcnlab.results import Result

STEP_MS, HELD_MS = 1.0, 10.0
"""Recovered: the level holds over the first and over the second, from one instant on."""
SETTLED_MS = 50.0
FIRST_MS = 10.0
"""The start of a hotspot, which does not count as underrun."""


@dataclass(frozen=True)
class View:
    """Traces through a window."""

    traces: Traces
    hot: Hot
    window: tuple[float, float]
    bin_ms: float
    queue_ms: float
    patterns: str
    limit: float | None

    @property
    def queue(self) -> Array:
        """Samples of the hot queue in set points."""
        return self.traces.queue[_inside(self.traces.queue_s, self.window)] / self.hot.set_point

    @property
    def rates(self) -> Array:
        """Rates of the flows, by default of those that cross the hot link, Gb/s."""
        rates = self.traces.crossing(self.patterns or self.hot.flows)
        return rates[:, _inside(self.traces.bin_s, self.window)]

    @property
    def total(self) -> Array:
        """Their sum by bin, Gb/s."""
        return np.asarray(self.rates.sum(axis=0))

    def by_ms(self, width: float) -> Array:
        """Return means of the queue over intervals of `width` ms."""
        return _blocks(self.queue, max(1, round(width / self.queue_ms)))


def _inside(times: Array, window: tuple[float, float]) -> NDArray[np.bool_]:
    return np.asarray((times >= window[0] - 1e-12) & (times < window[1] - 1e-12))


def _blocks(samples: Array, size: int) -> Array:
    whole = len(samples) // size
    return np.asarray(samples[: whole * size].reshape(whole, size).mean(axis=1))


def _running(samples: Array, size: int) -> Array:
    sums = np.cumsum(np.concatenate(([0.0], samples)))
    return np.asarray((sums[size:] - sums[:-size]) / size)


def _span(view: View) -> float:
    low, high = np.quantile(view.queue, (0.05, 0.95))
    return float(high - low)


def _growth(view: View) -> float:
    third, fourth = np.array_split(view.queue, 2)
    before, after = float(third.std()), float(fourth.std())
    return after / before if before else (math.inf if after else 1.0)


def _jitter(view: View) -> float:
    return float(np.abs(np.diff(view.by_ms(1.0))).mean())


def _full(view: View) -> float:
    return float((view.queue >= 0.95 * view.hot.full / view.hot.set_point).mean())


def _alternations(view: View) -> float:
    """Count how often the queue goes from empty to the ceiling of a swing, four set points."""
    ceiling = 0.95 * min(view.hot.full / view.hot.set_point, 4.0)
    high = view.queue >= ceiling
    ends = high[high | (view.queue <= 0.0)]
    return float((~ends[:-1] & ends[1:]).sum())


def _empties(view: View) -> float:
    """Count how often the queue falls to empty."""
    return float((np.diff((view.queue <= 0).astype(int)) > 0).sum())


def _underrun(view: View) -> float:
    low, high = view.window
    if low == view.hot.start_s:
        low += FIRST_MS * 1e-3
    served = View(
        view.traces, view.hot, (low, high), view.bin_ms, view.queue_ms, view.patterns, view.limit
    ).total
    return 1.0 - float(served.mean()) / (view.limit or view.hot.rate)


def _recovery(view: View, share: float) -> float:
    """Time from the window's start until the level lasts, by bins."""
    total, level = view.total, share * (view.limit or view.hot.after)
    short = max(1, round(STEP_MS / view.bin_ms))
    wide = max(short, round(HELD_MS / view.bin_ms))
    if len(total) < wide:
        return math.inf
    held = _running(total, wide) >= level * (1 - 1e-9)
    first = _running(total, short)[: len(held)] >= level * (1 - 1e-9)
    good = np.flatnonzero(held & first)
    return float(good[0]) * view.bin_ms if len(good) else math.inf


def _transient(view: View) -> float:
    """Time from the window's start to the first 50 ms of a queue below two set points, no drops."""
    whole = view.window[1] - view.window[0]
    means = _running(view.queue, max(1, round(SETTLED_MS / view.queue_ms)))
    times = view.window[0] + np.arange(len(means)) * view.queue_ms * 1e-3
    lost = view.traces.drops_s[view.traces.drops > 0]
    edge = np.searchsorted(lost, times - 1e-12), np.searchsorted(lost, times + SETTLED_MS * 1e-3)
    good = np.flatnonzero((means <= 2.0) & (edge[0] == edge[1]))
    return float(times[good[0]] - view.window[0]) * 1e3 if len(good) else whole * 1e3


def _reaction(view: View) -> float:
    """Time to the first maximum of the queue's 1 ms means that a fall of a tenth follows."""
    means = view.by_ms(1.0)
    highest = np.maximum.accumulate(means)
    fallen = np.flatnonzero((highest > 0) & (means <= 0.9 * highest))
    return float(np.argmax(means[: fallen[0]]) + 1) if len(fallen) else math.inf


def _jain(view: View) -> float:
    mean = view.rates.mean(axis=1)
    squares = float((mean**2).sum())
    return float(mean.sum()) ** 2 / (len(mean) * squares) if squares else math.nan


def _ratio(view: View) -> float:
    mean = view.rates.mean(axis=1)
    return float(mean.max() / mean.min()) if mean.min() > 0 else math.inf


def _fluctuation(view: View) -> float:
    wide = max(1, round(HELD_MS / view.bin_ms))
    shares = []
    for rate in view.rates:
        blocks = _blocks(rate, wide)
        shares.append(float(blocks.std() / blocks.mean()) if blocks.mean() > 0 else math.nan)
    return float(np.nanmean(shares))


def _lost(view: View) -> float:
    return float(view.traces.drops[_inside(view.traces.drops_s, view.window)].sum())


STAGES, HOSTS = 20, 3


def _chain_underrun(view: View) -> float:
    """Mean over the hotspots of deck 004's chain: 19 trunks and the last link.

    Of the three hosts of a switch the first and the third load the next trunk alone, the second
    all trunks from there to the end.
    """
    inside = _inside(view.traces.bin_s, view.window)
    mean = {name: float(rate[inside].mean()) for name, rate in view.traces.flows.items()}
    sent = {int(name.partition("->")[0].removeprefix("host")): mean[name] for name in mean}
    through, unused = 0.0, []
    for first in range(1, HOSTS * (STAGES - 1), HOSTS):
        through += sent[first + 1]
        unused.append(1.0 - (through + sent[first] + sent[first + 2]) / view.hot.rate)
    last = sum(rate for name, rate in mean.items() if name.endswith("->host59"))
    return float(np.mean([*unused, 1.0 - last / view.hot.rate]))


def _silence(view: View) -> float:
    """Return the longest time for which one of the flows delivers nothing, ms."""
    longest = 0
    for rate in view.rates:
        run = 0
        for value in rate:
            run = run + 1 if value <= 0 else 0
            longest = max(longest, run)
    return longest * view.bin_ms


def _lead(view: View) -> float:
    """Return the mean rate of the named flow by the largest of the others over the hot link."""
    inside = _inside(view.traces.bin_s, view.window)
    named = set(view.traces.names(view.patterns))
    mean = {
        name: float(view.traces.flows[name][inside].mean())
        for name in view.traces.names(view.hot.flows)
    }
    others = max(rate for name, rate in mean.items() if name not in named)
    return min(mean[name] for name in named) / others if others else math.inf


def _jain_by_bin(view: View) -> float:
    sums, squares = view.rates.sum(axis=0), (view.rates**2).sum(axis=0)
    carried = squares > 0
    return float(np.median(sums[carried] ** 2 / (len(view.rates) * squares[carried])))


def _apart(view: View) -> float:
    """Return the time from the window's start to the first bin of rates within the limit, ms."""
    gap = view.rates.max(axis=0) - view.rates.min(axis=0)
    good = np.flatnonzero(gap <= (view.limit or 0.0))
    return float(good[0]) * view.bin_ms if len(good) else math.inf


@dataclass(frozen=True)
class Shape:
    """A measure: unit, window if a claim names none, what it is."""

    unit: str
    window: str
    about: str
    of: Callable[[View], float]
    percent: bool = False


MEASURES: dict[str, Shape] = {
    "deviation": Shape(
        "set points",
        "hss",
        "Standard deviation of the hot queue.",
        lambda view: float(view.queue.std()),
    ),
    "level": Shape(
        "set points", "hss", "Mean of the hot queue.", lambda view: float(view.queue.mean())
    ),
    "ninety": Shape(
        "set points",
        "hss",
        "90 % quantile of the hot queue.",
        lambda view: float(np.quantile(view.queue, 0.9)),
    ),
    "peak": Shape(
        "set points", "down", "Largest sample of the hot queue.", lambda v: float(v.queue.max())
    ),
    "span": Shape(
        "set points", "hss", "95 % quantile of the hot queue less the 5 % quantile.", _span
    ),
    "growth": Shape(
        "",
        "hss",
        "Deviation of the hot queue in the window's second half, as a share of the first.",
        _growth,
    ),
    "jitter": Shape(
        "set points", "hss", "Mean step of the hot queue between successive means of 1 ms.", _jitter
    ),
    "full_share": Shape(
        "", "hss", "Share of the time at 95 % of the hot queue's limit or above.", _full, True
    ),
    "empty_share": Shape(
        "",
        "hss",
        "Share of the time with an empty hot queue.",
        lambda view: float((view.queue <= 0).mean()),
        True,
    ),
    "alternations": Shape(
        "times",
        "hss",
        "How often the hot queue goes from empty to 95 % of the smaller of its limit and four set "
        "points.",
        _alternations,
    ),
    "empties": Shape("times", "hss", "How often the hot queue falls to empty.", _empties),
    "underrun": Shape(
        "",
        "hs",
        "What the hot link could have served and did not, without the hotspot's first 10 ms.",
        _underrun,
        True,
    ),
    "recovery": Shape(
        "ms",
        "rec",
        "From the end of the hotspot until its flows carry 95 % over 1 ms and over 10 ms.",
        lambda view: _recovery(view, 0.95),
    ),
    "recovery_90": Shape("ms", "rec", "As recovery, 90 %.", lambda view: _recovery(view, 0.90)),
    "recovery_99": Shape("ms", "rec", "As recovery, 99 %.", lambda view: _recovery(view, 0.99)),
    "transient": Shape(
        "ms",
        "hs",
        "From the start of the hotspot to the first 50 ms in which the queue's mean is at most two "
        "set points and no frame is dropped; the hotspot's length if there is none.",
        _transient,
    ),
    "reaction": Shape(
        "ms",
        "hs",
        "From the start of the hotspot to the first maximum of the hot queue's means of 1 ms that "
        "a fall of a tenth follows.",
        _reaction,
    ),
    "fairness": Shape("", "hss", "Jain's index of the flows' mean rates.", _jain),
    "largest_by_smallest": Shape("", "hss", "Largest by smallest mean rate of the flows.", _ratio),
    "fluctuation": Shape(
        "",
        "hss",
        "Deviation of a flow's rate in bins of 10 ms by its mean, averaged over flows.",
        _fluctuation,
    ),
    "lost_frames": Shape("frames", "hs", "Frames dropped in the network.", _lost),
    "carried": Shape(
        "Gb/s", "hss", "Mean rate of the flows together.", lambda view: float(view.total.mean())
    ),
    "chain_underrun": Shape(
        "", "hss", "Underrun, mean over the twenty hotspots of the chain.", _chain_underrun, True
    ),
    "lead": Shape(
        "",
        "hss",
        "Mean rate of the flows named, the least of them, by the largest of the other flows.",
        _lead,
    ),
    "fairness_by_bin": Shape(
        "", "hss", "Jain's index of the flows' rates in a bin, median over bins.", _jain_by_bin
    ),
    "apart": Shape(
        "ms",
        "hs",
        "From the start of the window to the first bin in which the flows' rates are within the "
        "limit, in Gb/s.",
        _apart,
    ),
    "silence": Shape(
        "ms", "hs", "The longest time for which one of the flows delivers nothing.", _silence
    ),
}
"""Every measure by name."""


def values(
    result: Result,
    hot: Hot,
    of: str,
    during: tuple[float, float],
    flows: str = "",
    limit: float | None = None,
) -> list[float]:
    """Return a measure of every replication; a time that never came is infinite."""
    known = facts(result)
    return [
        MEASURES[of].of(
            View(
                each,
                hot,
                during,
                known.throughput_bin_s * 1e3,
                known.queue_every_s * 1e3,
                flows,
                limit,
            )
        )
        for each in traces(result)
    ]
