"""Metrics of a result over a window of time, as the core defines them."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from qcnlab import _core
from qcnlab.runs.facts import facts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import polars as pl

    from qcnlab.runs.facts import Facts
    from qcnlab.runs.recorded import Recorded


def in_window(
    result: Recorded,
    name: str,
    window: tuple[float, float],
    *,
    flows: Sequence[str] = (),
    limit: float | None = None,
) -> list[float | None]:
    """Return a metric over a window for every replication.

    Parameters
    ----------
    result : Recorded
        With tables of queues, throughput and drops.
    name : str
        A metric that has a window, such as `queue_mean_bytes`.
    window : tuple of float
        Start and end, s; rows that begin in it count.
    flows : sequence of str
        Patterns (`host1*`) of the flows that metrics of throughput count; by default all flows.
    limit : float, optional
        The level of a metric that needs one.

    Returns
    -------
    list of float or None
        One value for each replication, in the metric's unit; `None` where the window has none.

    Raises
    ------
    AnalysisError
        The metric is unknown or has no window, the window is empty, or a limit is missing.
    """
    known, port = facts(result), result.summary.bottleneck.port
    count = result.summary.replications
    queues = by_replication(at_port(result.table("queues").to_polars(), port))
    bins = by_replication(rows_of_flows(result.table("throughput").to_polars(), flows))
    drops = by_replication(in_network(at_port(result.table("drops").to_polars(), port)))
    return [
        _value(known, name, window, queues(index), bins(index), drops(index), limit)
        for index in range(count)
    ]


def by_replication(frame: pl.DataFrame) -> Callable[[int], pl.DataFrame]:
    """Return what gives the rows of a replication; of one without any it gives an empty frame."""
    parts = frame.partition_by("replication", maintain_order=True, as_dict=True)
    empty = frame.clear()
    return lambda replication: parts.get((replication,), empty)


def _value(
    known: Facts,
    name: str,
    window: tuple[float, float],
    queue: pl.DataFrame,
    bins: pl.DataFrame,
    drops: pl.DataFrame,
    limit: float | None,
) -> float | None:
    names = {name: index for index, name in enumerate(flow_names(bins))}
    index = [names[source] for source in bins["source"]]
    return _core.metric_in_window(
        name,
        window,
        queue=(_reals(queue, "time_s"), _counts(queue, "queue_bytes"), known.queue_every_s),
        throughput=(
            _reals(bins, "time_s"),
            np.array(index, dtype=np.uint32),
            _reals(bins, "rate_bps"),
            len(names),
            known.throughput_bin_s,
            known.recovery_hold_s,
        ),
        drops=(_reals(drops, "time_s"), _counts(drops, "frames")),
        limit=limit,
    )


def at_port(frame: pl.DataFrame, port: str) -> pl.DataFrame:
    """Return the rows of one port."""
    import polars as pl

    return frame.filter(pl.col("port") == port)


def in_network(drops: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of frames that the network dropped; others a source's queue refused."""
    import polars as pl

    return drops.filter(pl.col("kind").cast(pl.String) == "dropped")


def rows_of_flows(frame: pl.DataFrame, patterns: Sequence[str]) -> pl.DataFrame:
    """Return the rows of flows that match a pattern, or of all flows, by flow and time."""
    import polars as pl

    named = frame.with_columns(pl.col("source").cast(pl.String))
    if patterns:
        names = [n for n in named["source"].unique() if any(fnmatchcase(n, p) for p in patterns)]
        named = named.filter(pl.col("source").is_in(names))
    return named.sort("source", "time_s")


def flow_names(frame: pl.DataFrame) -> list[str]:
    """Return the names of a frame's flows in their order."""
    names: list[str] = frame["source"].unique(maintain_order=True).to_list()
    return names


def _reals(frame: pl.DataFrame, column: str) -> NDArray[np.float64]:
    return np.ascontiguousarray(frame[column].to_numpy(), dtype=np.float64)


def _counts(frame: pl.DataFrame, column: str) -> NDArray[np.uint64]:
    return np.ascontiguousarray(frame[column].to_numpy(), dtype=np.uint64)
