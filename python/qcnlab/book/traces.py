"""Traces of a case for the book's figures: one replication within a window."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from qcnlab import windows

if TYPE_CHECKING:
    import polars as pl

    from qcnlab.results import Result

Array = NDArray[np.float64]


def queue(result: Result, window: tuple[float, float]) -> Array:
    """Return the first replication's queue samples of the bottleneck in a window, B."""
    port = str(result.summary["bottleneck"]["port"])
    frame = _cut(windows.at_port(windows.rows(result, "queues", 0), port), window)
    return np.asarray(frame["queue_bytes"].to_numpy(), dtype=np.float64)


def rates(result: Result, window: tuple[float, float], flows: str) -> tuple[list[str], Array]:
    """Return names and rates of the first replication's flows in a window.

    `flows` has patterns of names; all flows without one. Rates are in Gb/s, shape (flows, bins).
    """
    frame = windows.of_flows(_cut(windows.rows(result, "throughput", 0), window), flows.split())
    names = windows.flow_names(frame)
    each: Array = frame["rate_bps"].to_numpy() * 1e-9
    return names, np.reshape(each, (len(names), -1)) if names else np.zeros((0, 0))


def _cut(frame: pl.DataFrame, window: tuple[float, float]) -> pl.DataFrame:
    import polars as pl

    low, high = window
    return frame.filter((pl.col("time_s") >= low - 1e-12) & (pl.col("time_s") < high - 1e-12))
