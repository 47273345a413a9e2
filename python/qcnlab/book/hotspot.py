"""Measures of the book's words, over the windows of a case's hotspot.

Each takes one replication, a case's `Hot` and a window in s. Queue measures are in set points, so
that one number means the same in every chapter.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from qcnlab import _core
from qcnlab.book import shares
from qcnlab.book.traces import Losses, traces
from qcnlab.book.view import View, inside
from qcnlab.runs.facts import facts

if TYPE_CHECKING:
    from qcnlab.book.cases import Hot
    from qcnlab.results.result import Result

HELD_MS = 10.0
"""Recovered: the level holds over a millisecond and over this."""
SETTLED_MS, SETTLED_SET_POINTS = 50.0, 1.0
"""Settled: for so long no sample is further than this above the queue's later mean."""
NOISE_BYTES = 750.0
"""Half a frame: smaller deviations of a queue are noise of its sampling."""
FIRST_MS = 10.0
"""The start of a hotspot, which does not count as underrun."""


def _span(view: View) -> float:
    low, high = np.quantile(view.queue, (0.05, 0.95))
    return float(high - low)


def _swing(view: View) -> float:
    """Return how far the highest samples of 10 ms are above the lowest, less the outermost 5 %."""
    size = max(1, round(HELD_MS / view.queue_ms))
    whole = max(1, len(view.queue) // size)
    parts = np.array_split(view.queue[: whole * size], whole)
    highest, lowest = ([float(of(part)) for part in parts] for of in (np.max, np.min))
    return float(np.quantile(highest, 0.95) - np.quantile(lowest, 0.05))


def _growth(view: View) -> float:
    third, fourth = np.array_split(view.queue, 2)
    floor = NOISE_BYTES / view.hot.set_point
    return max(float(fourth.std()), floor) / max(float(third.std()), floor)


def _error(view: View) -> float:
    """Return the deviation, with what the mean is below the set point: empty is not calm."""
    short = max(0.0, 1.0 - float(view.queue.mean()))
    return math.hypot(float(view.queue.std()), short)


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
    served = replace(view, window=(low, high)).total
    return 1.0 - float(served.mean()) / (view.limit or _capacity(view))


def _capacity(view: View) -> float:
    """Return what the hot link can serve, Gb/s: during the hotspot, or outside it."""
    low, high = view.window
    outside = high <= view.hot.start_s or low >= view.hot.end_s
    return view.hot.after if outside else view.hot.rate


def _recovery(view: View, share: float) -> float:
    """Return the core's recovery: the time to the bin that the level lasts from."""
    total = np.ascontiguousarray(view.total, dtype=np.float64)
    level = share * (view.limit or view.hot.after)
    first = _core.recovery_bin(total, level, view.bin_ms * 1e-3, HELD_MS * 1e-3)
    return math.inf if first is None else first * view.bin_ms


def _transient(view: View) -> float:
    """Return the time until no sample of 50 ms is far above the queue's later mean."""
    queue = view.queue
    later = float(queue[len(queue) // 2 :].mean()) + SETTLED_SET_POINTS
    held = max(1, round(SETTLED_MS / view.queue_ms))
    above = np.concatenate(([-1], np.flatnonzero(queue > later), [len(queue)]))
    start = above[:-1] + 1
    good = start[above[1:] - start >= held]
    whole = (view.window[1] - view.window[0]) * 1e3
    return float(good[0]) * view.queue_ms if len(good) else whole


def _reaction(view: View) -> float:
    """Time to the first maximum of the queue's 1 ms means that a fall of a tenth follows."""
    means = view.by_ms(1.0)
    highest = np.maximum.accumulate(means)
    fallen = np.flatnonzero((highest > 0) & (means <= 0.9 * highest))
    return float(np.argmax(means[: fallen[0]]) + 1) if len(fallen) else math.inf


def _frames(losses: Losses, view: View) -> float:
    return float(losses.frames[inside(losses.time_s, view.window)].sum())


def _last_loss(view: View) -> float:
    """Return the time from the window's start to the last frame that the network drops in it."""
    last = view.traces.lost.last_s[inside(view.traces.lost.last_s, view.window)]
    return float(last.max() - view.window[0]) * 1e3 if len(last) else 0.0


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
    "error": Shape(
        "set points",
        "hss",
        "Root mean square of the hot queue's difference from its mean, or from the set point where "
        "the mean is below it: an empty queue is one set point off.",
        _error,
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
    "swing": Shape(
        "set points",
        "hss",
        "95 % quantile of the largest samples of 10 ms of the hot queue less the 5 % quantile of "
        "the smallest: peaks of a queue that is mostly empty count.",
        _swing,
    ),
    "growth": Shape(
        "",
        "hss",
        "Deviation of the hot queue in the window's second half, as a share of the first; below "
        "half a frame of 1500 octets it counts as that.",
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
        "What the hot link could have served and did not, without the hotspot's first 10 ms. "
        "Outside the hotspot: of what link and offered load allow.",
        _underrun,
        True,
    ),
    "recovery": Shape(
        "ms",
        "rec",
        "From the end of the hotspot until its flows carry 95 % of what link and offered load "
        "allow over 1 ms and over 10 ms: recovery_ms.",
        lambda view: _recovery(view, 0.95),
    ),
    "recovery_90": Shape("ms", "rec", "As recovery, 90 %.", lambda view: _recovery(view, 0.90)),
    "recovery_99": Shape("ms", "rec", "As recovery, 99 %.", lambda view: _recovery(view, 0.99)),
    "transient": Shape(
        "ms",
        "hs",
        "From the start of the hotspot to the first 50 ms in which no sample of the hot queue is "
        "more than one set point above its mean in the hotspot's second half; the hotspot's length "
        "if there are none.",
        _transient,
    ),
    "last_loss": Shape(
        "ms",
        "down",
        "From the start of the hotspot to the last frame that the network drops in its first half; "
        "0 if it drops none.",
        _last_loss,
    ),
    "reaction": Shape(
        "ms",
        "hs",
        "From the start of the hotspot to the first maximum of the hot queue's means of 1 ms that "
        "a fall of a tenth follows.",
        _reaction,
    ),
    "fairness": Shape("", "hss", "Jain's index of the flows' mean rates.", shares.jain),
    "largest_by_smallest": Shape(
        "", "hss", "Largest by smallest mean rate of the flows.", shares.ratio
    ),
    "fluctuation": Shape(
        "",
        "hss",
        "Deviation of a flow's rate in bins of 10 ms by its mean, averaged over flows.",
        shares.fluctuation,
    ),
    "lost_frames": Shape(
        "frames",
        "hs",
        "Frames that the network drops.",
        lambda view: _frames(view.traces.lost, view),
    ),
    "refused_frames": Shape(
        "frames",
        "hs",
        "Frames that the queues of their sources refuse, which the network never has.",
        lambda view: _frames(view.traces.refused, view),
    ),
    "carried": Shape(
        "Gb/s", "hss", "Mean rate of the flows together.", lambda view: float(view.total.mean())
    ),
    "chain_underrun": Shape(
        "",
        "hss",
        "Underrun, mean over the twenty hotspots of the chain.",
        shares.chain_underrun,
        True,
    ),
    "chain_worst": Shape(
        "",
        "hss",
        "Underrun, the largest of the twenty hotspots of the chain.",
        shares.chain_worst,
        True,
    ),
    "lead": Shape(
        "",
        "hss",
        "Mean rate of the flows named, the least of them, by the largest of the other flows.",
        shares.lead,
    ),
    "fairness_by_bin": Shape(
        "",
        "hss",
        "Jain's index of the flows' rates in a bin, median over bins.",
        shares.jain_by_bin,
    ),
    "apart": Shape(
        "ms",
        "hs",
        "From the start of the window to the first bin in which the flows' rates are within the "
        "limit, in Gb/s.",
        shares.apart,
    ),
    "silence": Shape(
        "ms", "hs", "The longest time for which one of the flows delivers nothing.", shares.silence
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
