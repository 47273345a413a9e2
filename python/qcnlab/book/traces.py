"""Queues of a case for the book's figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from qcnlab.book import hotspot

if TYPE_CHECKING:
    from qcnlab.book.hotspot import Array
    from qcnlab.results import Result


def queues(result: Result, port: str = "") -> list[tuple[Array, Array]]:
    """Return every replication's times in s and queue in B, at `port` or the bottleneck."""
    if not port:
        return [(each.queue_s, each.queue) for each in hotspot.traces(result)]
    table = result.table("queues").to_polars().filter(pl.col("port").cast(pl.String) == port)
    parts = table.partition_by("replication", maintain_order=True)
    return [
        (part["time_s"].to_numpy(), part["queue_bytes"].to_numpy().astype(float)) for part in parts
    ]
