"""What a claim can look at: the laboratory's metrics, and measures over a time window.

A measure with a window is taken from the tables of one replication, by the same words as the metric
of its name: queue samples and throughput bins that begin inside the window.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from qcnlab import catalogue
from qcnlab.book.models import MEASURES as OF_MODELS
from qcnlab.facts import facts
from qcnlab.results import Result

Array = NDArray[np.float64]


class Glimpse:
    """One replication of a result through a window: the queue and the flows' rates."""

    def __init__(
        self,
        result: Result,
        replication: int,
        during: tuple[float, float],
        flows: str = "",
        limit: float | None = None,
    ) -> None:
        self._result = result
        self._replication = replication
        self._during = during
        self._flows = flows
        self.limit = limit
        self._port = str(result.summary["bottleneck"]["port"])

    def _cut(self, name: str) -> pl.DataFrame:
        low, high = self._during
        return (
            self._result.table(name)
            .to_polars()
            .filter(
                (pl.col("replication") == self._replication)
                & (pl.col("time_s") >= low - 1e-12)
                & (pl.col("time_s") < high - 1e-12)
            )
        )

    @cached_property
    def queue(self) -> Array:
        """Samples of the bottleneck's queue, B."""
        frame = self._cut("queues").with_columns(pl.col("port").cast(pl.String))
        samples = frame.filter(pl.col("port") == self._port)["queue_bytes"].to_numpy()
        return np.asarray(samples, dtype=np.float64)

    @cached_property
    def queue_step_ms(self) -> float:
        """Time between two samples, ms."""
        low, high = self._during
        return (high - low) * 1e3 / max(len(self.queue), 1)

    @cached_property
    def _throughput(self) -> pl.DataFrame:
        frame = self._cut("throughput").with_columns(pl.col("source").cast(pl.String))
        if self._flows:
            globs = self._flows.split()
            names = [n for n in frame["source"].unique() if any(fnmatchcase(n, g) for g in globs)]
            frame = frame.filter(pl.col("source").is_in(names))
        return frame.sort("source", "time_s")

    @cached_property
    def names(self) -> list[str]:
        """The flows looked at, in the order of their rates."""
        return self._throughput["source"].unique(maintain_order=True).to_list()

    @cached_property
    def rates(self) -> Array:
        """Rates of the flows looked at, Gb/s; shape (flows, bins)."""
        frame = self._throughput
        flows = len(self.names)
        rates: Array = frame["rate_bps"].to_numpy() * 1e-9
        return np.reshape(rates, (flows, -1)) if flows else np.zeros((0, 0))

    @cached_property
    def total(self) -> Array:
        """Rates of all flows looked at together, Gb/s by bin."""
        return np.asarray(self.rates.sum(axis=0))

    @cached_property
    def bin_ms(self) -> float:
        """Width of a throughput bin, ms."""
        low, high = self._during
        return float((high - low) * 1e3 / max(self.rates.shape[1], 1))

    @cached_property
    def drops(self) -> float:
        """Frames dropped at the bottleneck."""
        frame = self._cut("drops").filter(pl.col("port").cast(pl.String) == self._port)
        return float(np.sum(frame["frames"].to_numpy()))


@dataclass(frozen=True)
class Measure:
    """Something that a claim can look at."""

    unit: str
    about: str
    of: Callable[[Glimpse], float] | None
    """How it is taken over a window; `None`: the laboratory's metric only."""
    core: bool
    """Whether the laboratory has a metric of this name for the whole run."""
    scale: float = 1.0
    """What a value is multiplied with for tables, into `shown`."""
    shown: str = ""
    """The unit in tables; `unit` if empty."""


def _jain(rates: Array) -> float:
    mean = rates.mean(axis=1)
    squares = float((mean**2).sum())
    return float(mean.sum()) ** 2 / (len(mean) * squares) if squares else math.nan


def _ratio(view: Glimpse) -> float:
    mean = view.rates.mean(axis=1)
    return float(mean.max() / mean.min()) if mean.min() > 0 else math.inf


def _swing(view: Glimpse) -> float:
    means, deviations = view.rates.mean(axis=1), view.rates.std(axis=1)
    return float((deviations / np.maximum(means, 1e-12)).mean())


def _first_fall(view: Glimpse) -> float:
    """Time until the queue first falls to `limit` octets after having been above it."""
    above = np.flatnonzero(view.queue > (view.limit or 0.0))
    if not len(above):
        return 0.0
    after = np.flatnonzero(view.queue[above[0] :] <= (view.limit or 0.0))
    return float(above[0] + after[0]) * view.queue_step_ms if len(after) else math.inf


def _until(view: Glimpse) -> float:
    """Time until ten bins in a row carry `limit` Gb/s or more."""
    wide = max(1, round(10.0 / view.bin_ms))
    good = np.convolve(view.total >= (view.limit or 0.0), np.ones(wide), "valid") > wide - 0.5
    first = np.flatnonzero(good)
    return float(first[0] + 1) * view.bin_ms if len(first) else math.inf


def _ramp(view: Glimpse) -> float:
    """Time from twice `limit` Gb/s to 95 % of the highest bin."""
    total = view.total
    start = np.flatnonzero(total >= 2 * (view.limit or 0.0))
    end = np.flatnonzero(total >= 0.95 * total.max())
    return float(end[0] - start[0]) * view.bin_ms if len(start) and len(end) else math.inf


def _spread(view: Glimpse) -> float:
    low, high = np.quantile(view.queue, (0.05, 0.95))
    return float(high - low)


SIX_FRAMES, HELD_S = 9000, 0.010


def _cuts_while_available(result: Result, replication: int) -> float:
    """Messages of negative feedback from a port whose queue had been short for 10 ms.

    Short at the message too: the frame that is sampled may make the queue long enough.
    """
    set_point = facts(result).set_point_bytes or 0.0
    mine = pl.col("replication") == replication
    messages = (
        result.table("messages")
        .to_polars()
        .filter(mine & (pl.col("fb") < 0) & (pl.col("q_off_bytes") > set_point - SIX_FRAMES))
    )
    queue = result.table("queues").to_polars().filter(mine)
    long = queue.filter(pl.col("queue_bytes") >= SIX_FRAMES)["time_s"].to_numpy()
    times = messages["time_s"].to_numpy()
    before = np.searchsorted(long, times, "right") - 1
    since = (
        np.where(before >= 0, times - long[np.maximum(before, 0)], times) if len(long) else times
    )
    return float((since > HELD_S + 1e-3).sum())


def _push_backs(result: Result, replication: int) -> float:
    """Messages that are no feedback of congestion."""
    messages = result.table("messages").to_polars().filter(pl.col("replication") == replication)
    return float((messages["kind"].cast(pl.String) == "push-back").sum())


def _kb(about: str, of: Callable[[Glimpse], float] | None) -> Measure:
    return Measure("B", about, of, False, 1e-3, "KB")


WINDOWED: dict[str, Measure] = {
    "queue_mean_bytes": _kb("Mean of the queue samples.", lambda v: float(v.queue.mean())),
    "queue_std_bytes": _kb("Deviation of the queue samples.", lambda v: float(v.queue.std())),
    "queue_max_bytes": _kb("Largest queue sample.", lambda v: float(v.queue.max())),
    "queue_spread_bytes": _kb("95 % quantile of the queue samples less the 5 % one.", _spread),
    "queue_empty_frac": Measure(
        "", "Share of empty queue samples.", lambda v: float((v.queue == 0).mean()), False, 100, "%"
    ),
    "first_fall_ms": Measure(
        "ms",
        "From the start of the window until the queue, once above the limit, falls back to it.",
        _first_fall,
        False,
    ),
    "regain_ms": Measure(
        "ms",
        "From the start of the window to the end of the first bin from which on the flows looked "
        "at carry the limit (Gb/s) together for 10 ms.",
        _until,
        False,
    ),
    "ramp_ms": Measure(
        "ms",
        "From the first bin at twice the limit (Gb/s) to the first at 95 % of the highest.",
        _ramp,
        False,
    ),
    "bottleneck_gbps": Measure(
        "Gb/s",
        "Mean rate of the flows looked at, together.",
        lambda v: float(v.total.mean()),
        False,
    ),
    "lowest_bin_gbps": Measure(
        "Gb/s",
        "The bin in which the flows looked at got least together.",
        lambda v: float(v.total.min()),
        False,
    ),
    "jain": Measure("", "Jain's index of the flows' mean rates.", lambda v: _jain(v.rates), False),
    "rate_ratio": Measure("", "Largest by smallest mean rate of the flows.", _ratio, False),
    "rate_swing": Measure(
        "",
        "Deviation of a flow's rate from bin to bin as a share of its mean, averaged over flows.",
        _swing,
        False,
        100,
        "%",
    ),
    "drops": Measure("frames", "Frames discarded at the bottleneck.", lambda v: v.drops, False),
}


def _all() -> dict[str, Measure]:
    table = dict(WINDOWED)
    for metric in catalogue.metrics():
        name, over_window = metric["name"], WINDOWED.get(metric["name"])
        byte = metric["unit"] == "B"
        table[name] = Measure(
            metric["unit"],
            metric["about"],
            None if over_window is None else over_window.of,
            True,
            over_window.scale if over_window else 1e-3 if byte else 1.0,
            over_window.shown if over_window else "KB" if byte else "",
        )
    for name, about in OF_MODELS.items():
        table[name] = Measure("", about, None, True)
    for name, (about, _) in OF_TABLES.items():
        table[name] = Measure("", about, None, True)
    return table


OF_TABLES: dict[str, tuple[str, Callable[[Result, int], float]]] = {
    "cuts_while_available": (
        "Messages of negative feedback sent while the queue had been below six frames for 11 ms.",
        _cuts_while_available,
    ),
    "push_backs": ("Messages of a port without bandwidth that is not congested.", _push_backs),
}
"""Measures of whole tables; the case keeps its messages."""

MEASURES: dict[str, Measure] = _all()
"""Every measure by name."""


def known(name: str) -> bool:
    """Tell whether there is a measure of this name."""
    return name in MEASURES


def values(
    result: Result,
    of: str,
    during: tuple[float, float] | None,
    flows: str = "",
    limit: float | None = None,
) -> list[float]:
    """Give the measure of every replication; a time that never came is infinite."""
    measure = MEASURES[of]
    count = int(result.summary["replications"])
    if of in OF_TABLES:
        return [OF_TABLES[of][1](result, rep) for rep in range(count)]
    if during is None:
        missing = math.inf if measure.unit == "ms" else math.nan
        found = result.summary["metrics"][of]["values"]
        return [missing if value is None else float(value) for value in found]
    if measure.of is None:
        raise KeyError(f"{of} cannot be taken over a window")
    return [measure.of(Glimpse(result, rep, during, flows, limit)) for rep in range(count)]
