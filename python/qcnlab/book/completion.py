"""Measures of completion times, of the table of flows, which the case keeps, and of collectives.

The whole run counts. `limit` keeps flows below so many octets; a flow that did not finish counts as
infinite, so that a quantile of few finished flows is not one of the quick ones.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from qcnlab.book.traces import traces
from qcnlab.runs.collective_runs import EndedRun
from qcnlab.runs.facts import facts

if TYPE_CHECKING:
    from collections.abc import Callable

    from qcnlab.results.result import Result

HELD_S, BACK = 50e-6, 0.95
"""A flow is back at its rate when it carries this share of it for this long, or as a claim says."""


def _flows(result: Result, replication: int, limit: float | None) -> pl.DataFrame:
    table = result.table("flows").to_polars()
    mine = (pl.col("replication") == replication) & pl.col("size_bytes").is_not_null()
    return table.filter(mine & (pl.col("size_bytes") < (limit or math.inf)))


def _quantile(share: float, column: str) -> Callable[[Result, int, float | None], float]:
    def of(result: Result, replication: int, limit: float | None) -> float:
        values = np.sort(_flows(result, replication, limit)[column].fill_null(math.inf).to_numpy())
        return float(values[math.ceil(share * len(values)) - 1]) if len(values) else math.nan

    return of


def _ms(of: Callable[[Result, int, float | None], float]) -> Callable[..., float]:
    return lambda result, replication, limit: 1e3 * of(result, replication, limit)


def _field_slowdown(result: Result, replication: int, limit: float | None) -> float:
    """Return the 95 % quantile of completion by completion alone, acknowledgement included."""
    table = _flows(result, replication, limit)
    ratio = table["completion_s"].fill_null(math.inf) / table["standalone_s"]
    values = np.sort(ratio.to_numpy())
    return float(values[math.ceil(0.95 * len(values)) - 1]) if len(values) else math.nan


def _back(result: Result, replication: int, held_ms: float | None) -> float:
    """Return how long after the flow of a size the endless one has its rate back, ms."""
    held_s = HELD_S if held_ms is None else held_ms * 1e-3
    visitor = _flows(result, replication, None)
    start, end = visitor["start_s"].min(), visitor["finished_s"].max()
    if not isinstance(start, float) or not isinstance(end, float):
        return math.inf
    names = set(visitor["source"].cast(pl.String))
    one = traces(result)[replication]
    (rate,) = (values for name, values in one.flows.items() if name not in names)
    step = facts(result).throughput_bin_s
    level = rate[(one.bin_s >= start / 2) & (one.bin_s + step <= start)].mean()
    width = max(1, round(held_s / step))
    first = np.searchsorted(one.bin_s, end - step, "right")
    sums = np.convolve(rate, np.ones(width), "valid")[first:] / width
    good = np.flatnonzero(sums >= BACK * level)
    return float(max(0.0, one.bin_s[first + good[0]] - end)) * 1e3 if len(good) else math.inf


def _bus_bandwidth(result: Result, replication: int, _: float | None) -> float:
    """Return the bus bandwidth of the one collective operation, GB/s; 0 if it did not end."""
    (run,) = (each for each in result.summary.collectives if each.replication == replication)
    if not isinstance(run, EndedRun):
        return 0.0
    return math.nan if run.bus_bandwidth_bps is None else run.bus_bandwidth_bps / 8e9


MEASURES: dict[str, tuple[str, str, Callable[[Result, int, float | None], float]]] = {
    "fct_p50_ms": (
        "ms",
        "Median completion time, of flows below the limit in octets.",
        _ms(_quantile(0.5, "completion_s")),
    ),
    "fct_p90_ms": ("ms", "As fct_p50_ms, 90 % of them.", _ms(_quantile(0.9, "completion_s"))),
    "field_slowdown_p95": (
        "",
        "95 % quantile of completion time by that of the flow alone, up to the acknowledgement.",
        _field_slowdown,
    ),
    "back_ms": (
        "ms",
        "From the end of the flow of a size until the endless one carries 95 % of its rate before "
        "that flow's start, for 50 us or as many ms as the limit.",
        _back,
    ),
    "bus_bandwidth_gbytes": (
        "GB/s",
        "Bus bandwidth of the collective operation, by NCCL's factor; a GB is 10^9 octets.",
        _bus_bandwidth,
    ),
}
"""Unit, meaning and function of every measure."""
