"""Traces through a window of time, as the measures of the book's words see them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from qcnlab.book.traces import Array, Traces

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qcnlab.book.cases import Hot


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
        return self.traces.queue[inside(self.traces.queue_s, self.window)] / self.hot.set_point

    @property
    def rates(self) -> Array:
        """Rates of the flows, by default of those that cross the hot link, Gb/s."""
        rates = self.traces.crossing(self.patterns or self.hot.flows)
        return rates[:, inside(self.traces.bin_s, self.window)]

    @property
    def total(self) -> Array:
        """Their sum by bin, Gb/s."""
        return np.asarray(self.rates.sum(axis=0))

    def by_ms(self, width: float) -> Array:
        """Return means of the queue over intervals of `width` ms."""
        return blocks(self.queue, max(1, round(width / self.queue_ms)))


def inside(times: Array, window: tuple[float, float]) -> NDArray[np.bool_]:
    """Return which times lie in a window, which has its first instant and not its last."""
    return np.asarray((times >= window[0] - 1e-12) & (times < window[1] - 1e-12))


def blocks(samples: Array, size: int) -> Array:
    """Return means of `size` samples each; what makes no whole block is left out."""
    whole = len(samples) // size
    return np.asarray(samples[: whole * size].reshape(whole, size).mean(axis=1))
