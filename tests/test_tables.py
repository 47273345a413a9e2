"""Tables: shapes, units, conversions, and the same buffers for every reader."""

from __future__ import annotations

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import qcnlab

COLUMNS = {
    "queues": ["replication", "time_s", "port", "queue_bytes"],
    "rates": ["replication", "time_s", "source", "current_rate_bps", "target_rate_bps"],
    "throughput": ["replication", "time_s", "source", "rate_bps"],
    "messages": [
        "replication", "time_s", "port", "source", "kind", "fb", "q_off_bytes", "q_delta_bytes",
    ],
    "drops": ["replication", "time_s", "port", "source", "frames", "bytes"],
    "pauses": ["replication", "time_s", "until_s", "port", "priority", "because"],
    "flows": [
        "replication", "source", "size_bytes", "finished_s", "slowdown", "delivered_bytes",
        "max_min_bps", "proportional_bps",
        "sent_frames", "delivered_frames", "dropped_frames", "refused_frames", "goodput_bytes",
        "retransmitted_frames", "fast_retransmits", "timeouts",
    ],
    "windows": ["replication", "time_s", "source", "window_bytes", "flight_bytes"],
    "metrics": ["replication", "metric", "value", "unit"],
}  # fmt: skip
UNITS = {"_s": "s", "_bytes": "B", "_bps": "bit/s"}


@pytest.mark.parametrize("name", COLUMNS)
def test_columns_and_units(result: qcnlab.Result, name: str) -> None:
    table = result.table(name)
    assert table.columns == COLUMNS[name]
    for column in table.columns:
        suffix = "_" + column.rsplit("_", 1)[-1] if "_" in column else ""
        if suffix in UNITS:
            assert table.units[column] == UNITS[suffix], column


@pytest.mark.parametrize("name", COLUMNS)
def test_every_reader_sees_the_same(result: qcnlab.Result, name: str) -> None:
    table = result.table(name)
    frame = table.to_polars()
    assert frame.columns == table.columns
    assert len(table) == len(frame) == len(table.to_pandas()) == pa.table(table).num_rows
    arrays = table.to_numpy()
    assert list(arrays) == table.columns
    for column, array in arrays.items():
        assert array.shape == (len(table),)
        missing = [None if value != value else value for value in array.tolist()]
        assert missing == frame[column].to_list()
    assert list(table.to_pandas().columns) == table.columns


def test_two_readers_share_one_buffer(result: qcnlab.Result) -> None:
    def addresses(array: pa.ChunkedArray) -> list[int]:
        return [chunk.buffers()[1].address for chunk in array.chunks]

    for table, column in ((result.queues, "queue_bytes"), (result.rates, "current_rate_bps")):
        first = addresses(pa.table(table)[column])
        second = addresses(pa.table(table)[column])
        third = addresses(pa.table(table.to_polars())[column])
        assert first
        assert first == second == third


def test_the_table_outlives_its_result(short: qcnlab.Scenario) -> None:
    queues = qcnlab.run(short, reps=1).queues.to_numpy()["queue_bytes"]
    assert queues.max() > 0


def test_times_and_values_are_plausible(result: qcnlab.Result) -> None:
    queues = result.queues.to_polars()
    assert queues["replication"].unique().sort().to_list() == [0, 1, 2]
    assert result.queues.to_numpy()["queue_bytes"].max() <= 150_000
    throughput = result.throughput.to_numpy()
    assert np.all(throughput["rate_bps"] >= 0)
    assert throughput["rate_bps"].max() <= 10e9 * 1.001
    for _, one in queues.group_by("replication"):
        assert one["time_s"].is_sorted()


def test_repr_tells_rows_and_units(result: qcnlab.Result) -> None:
    assert repr(result.queues).startswith(f"<Table queues: {len(result.queues)} rows")
    assert "queue_bytes [B]" in repr(result.queues)


def test_an_unknown_table_is_refused(result: qcnlab.Result) -> None:
    with pytest.raises(KeyError, match="queues"):
        result.table("queue")


def test_polars_needs_no_help(result: qcnlab.Result) -> None:
    assert pl.DataFrame(result.metrics).equals(result.metrics.to_polars())
