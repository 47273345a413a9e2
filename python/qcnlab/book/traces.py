"""Traces of a case's replications: queues, rates of flows, drops."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from qcnlab.runs.windows import at_port, by_replication

if TYPE_CHECKING:
    from qcnlab.results.result import Result

Array = NDArray[np.float64]

KEPT = 16
"""Results whose traces stay in memory at most."""


@dataclass(frozen=True)
class Losses:
    """Frames by bin, port and flow: start of the bin and time of the last of them, s; how many."""

    time_s: Array
    last_s: Array
    frames: Array


@dataclass(frozen=True)
class Traces:
    """One replication: times in s, the hot queue in B, rates in Gb/s."""

    queue_s: Array
    queue: Array
    bin_s: Array
    flows: dict[str, Array]
    lost: Losses
    """Frames that the network dropped."""
    refused: Losses
    """Frames that the queue of their source refused: the network never had them."""

    def crossing(self, patterns: str) -> Array:
        """Return rates of the flows that match, shape (flows, bins)."""
        return np.array([self.flows[name] for name in self.names(patterns)])

    def names(self, patterns: str) -> list[str]:
        """Return the names of the flows that match any of some globs; all without a glob."""
        globs = patterns.split()
        return [
            name
            for name in self.flows
            if not globs or any(fnmatchcase(name, glob) for glob in globs)
        ]


@lru_cache(maxsize=KEPT)
def traces(result: Result) -> list[Traces]:
    """Return the traces of every replication; the tables that they are from are not kept."""
    port = result.summary.bottleneck.port
    count = result.summary.replications
    queues = by_replication(at_port(_own(result, "queues"), port))
    drops = by_replication(_own(result, "drops"))
    times, flows = _rates(result, count)
    result.forget_tables()
    return [_one(queues(index), times[index], flows[index], drops(index)) for index in range(count)]


def _rates(result: Result, count: int) -> tuple[list[Array], list[dict[str, Array]]]:
    """Return by replication the bins' times and each flow's rate in Gb/s."""
    source = pl.col("source").cast(pl.String)
    bins = _own(result, "throughput").sort("replication", source, "time_s")
    time, rate = bins["time_s"].to_numpy(), bins["rate_bps"].to_numpy() * 1e-9
    groups = bins.group_by("replication", source, maintain_order=True).len()
    times: list[Array] = [np.zeros(0)] * count
    flows: list[dict[str, Array]] = [{} for _ in range(count)]
    stop = 0
    for replication, name, length in groups.iter_rows():
        start, stop = stop, stop + length
        times[replication] = time[start:stop]
        flows[replication][name] = rate[start:stop]
    return times, flows


def _own(result: Result, table: str) -> pl.DataFrame:
    return result.table(table).to_polars()


def _one(queue: pl.DataFrame, times: Array, flows: dict[str, Array], drops: pl.DataFrame) -> Traces:
    return Traces(
        queue["time_s"].to_numpy(),
        queue["queue_bytes"].to_numpy().astype(float),
        times,
        flows,
        _losses(drops, "dropped"),
        _losses(drops, "refused"),
    )


def _losses(drops: pl.DataFrame, kind: str) -> Losses:
    mine = drops.filter(pl.col("kind").cast(pl.String) == kind)
    return Losses(
        mine["time_s"].to_numpy(),
        mine["last_s"].to_numpy(),
        mine["frames"].to_numpy().astype(float),
    )


def queues(result: Result, port: str = "") -> list[tuple[Array, Array]]:
    """Return every replication's times in s and queue in B, at `port` or the bottleneck."""
    if not port:
        return [(each.queue_s, each.queue) for each in traces(result)]
    table = at_port(_own(result, "queues"), port)
    parts = table.partition_by("replication", maintain_order=True)
    return [
        (part["time_s"].to_numpy(), part["queue_bytes"].to_numpy().astype(float)) for part in parts
    ]
