"""Tables: shapes, units, conversions, and the same values for every reader."""

from __future__ import annotations

import pickle

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import qcnlab
from qcnlab.runs import tables
from qcnlab.runs.tables import NAMES, Table

COLUMNS = {
    "queues": ["replication", "time_s", "port", "queue_bytes"],
    "rates": ["replication", "time_s", "source", "current_rate_bps", "target_rate_bps"],
    "throughput": ["replication", "time_s", "source", "rate_bps"],
    "messages": [
        "replication", "time_s", "port", "source", "kind", "fb", "q_off_bytes", "q_delta_bytes",
    ],
    "drops": [
        "replication", "time_s", "last_s", "port", "source", "kind", "frames", "bytes",
    ],
    "pauses": ["replication", "time_s", "until_s", "port", "priority", "because"],
    "flows": [
        "replication", "source", "traffic", "priority", "size_bytes", "start_s", "received_s",
        "finished_s", "completion_s", "alone_s", "standalone_s", "slowdown", "delivered_bytes",
        "max_min_bps", "proportional_bps",
        "sent_frames", "delivered_frames", "dropped_frames", "refused_frames", "goodput_bytes",
        "retransmitted_frames", "spurious_frames", "reorder_peak_frames", "fast_retransmits",
        "timeouts",
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


@pytest.mark.parametrize(
    ("name", "said"),
    [("dropz", "no metric 'dropz'; did you mean drops"), ("", "no metric ''; `qcnlab list")],
)
def test_an_unknown_metric_is_told_with_the_nearest(
    result: qcnlab.Result, name: str, said: str
) -> None:
    with pytest.raises(KeyError, match=said):
        result.metric(name)


def test_polars_needs_no_help(result: qcnlab.Result) -> None:
    assert pl.DataFrame(result.metrics).equals(result.metrics.to_polars())


# One constant source: a frame of 12,000 bit each 5 us over 10 Gb/s (1.2 us) and a way of 5 us to
# the switch; there the link serves 1.2 Gb/s, a frame in 10 us. Frame k (from 0) arrives at
# 6.2 + 5 k us; transmissions end at 16.2 + 10 j us. The queue holds ten frames, the one in
# transmission included.
OVERLOAD = """
duration = "10 ms"
[topology]
kind = "star"
sources = 1
rate = "10 Gb/s"
bottleneck_rate = "1.2 Gb/s"
rtt = "10 us"
buffer = "15 KB"
[[traffic]]
arrivals = "constant"
rate = "2.4 Gb/s"
frame = "1500 B"
[scheme]
name = "none"
[record]
queue_every = "10 us"
throughput_bin = "1 ms"
"""


@pytest.fixture(scope="module")
def overload() -> qcnlab.Result:
    return qcnlab.run(qcnlab.Scenario.from_toml(OVERLOAD), reps=1)


def test_the_queue_of_an_overload_worked_by_hand(overload: qcnlab.Result) -> None:
    queues = overload.queues.to_numpy()
    # Two frames arrive and one leaves in 10 us: one more at each sample, until there are ten.
    assert queues["queue_bytes"].tolist() == [1500 * min(k, 10) for k in range(1000)]
    np.testing.assert_allclose(queues["time_s"], 1e-5 * np.arange(1000), rtol=1e-12)
    assert overload.metric("queue_max_bytes") == 15_000
    # (1500 + ... + 13500 + 990 * 15000) / 1000 = (67,500 + 14,850,000) / 1000
    assert overload.metric("queue_mean_bytes") == pytest.approx(14_917.5)
    assert overload.metric("queue_empty_frac") == 1 / 1000


def test_the_drops_and_the_throughput_of_an_overload_worked_by_hand(
    overload: qcnlab.Result,
) -> None:
    drops, throughput = overload.drops.to_polars(), overload.throughput.to_polars()
    # In the first ms 199 frames arrive, 99 leave and 10 stay; later 200 arrive and 100 leave.
    assert drops["frames"].to_list() == [90] + 9 * [100]
    assert drops["bytes"].to_list() == [135_000] + 9 * [150_000]
    assert drops["time_s"].to_list() == pytest.approx([1e-3 * k for k in range(10)])
    assert set(drops["port"]) == {"switch->sink"}
    # 99 frames in the first ms, 100 in each other one: 12,000 bit * 100 / 1 ms = 1.2 Gb/s.
    assert throughput["rate_bps"].to_list() == pytest.approx([1.188e9] + 9 * [1.2e9])


def test_the_flow_of_an_overload_worked_by_hand(overload: qcnlab.Result) -> None:
    [flow] = overload.flows.to_polars().rows(named=True)
    # Sent: one each 5 us in 10 ms. Delivered: transmissions end at 16.2 + 10 j us, and 5 us later
    # the frame is there: j up to 997. On the way: 1 to the switch, 10 in it, 1 to the sink.
    counts = {key: flow[f"{key}_frames"] for key in ("sent", "delivered", "dropped", "refused")}
    assert counts == {"sent": 2000, "delivered": 998, "dropped": 990, "refused": 0}
    assert flow["sent_frames"] - flow["delivered_frames"] - flow["dropped_frames"] == 1 + 10 + 1
    assert flow["delivered_bytes"] == 998 * 1500
    assert (flow["max_min_bps"], flow["size_bytes"], flow["timeouts"]) == (1.2e9, None, None)


def test_sums_of_tables_are_the_engines_counts(result: qcnlab.Result) -> None:
    flows, drops = result.flows.to_polars(), result.drops.to_polars()
    counters = result.summary.counters
    for kind in ("sent", "delivered", "dropped", "refused"):
        assert flows[f"{kind}_frames"].sum() == getattr(counters, f"frames_{kind}"), kind
    assert 0 < drops["frames"].sum() == counters.frames_dropped
    assert (drops["bytes"] == 1500 * drops["frames"]).all()
    by = ["replication", "source"]
    lost = {row[:2]: row[2] for row in drops.group_by(by).agg(pl.col("frames").sum()).rows()}
    assert lost == {row[:2]: row[2] for row in flows.select(*by, "dropped_frames").rows()}
    assert 0 < len(result.messages) == counters.messages_sent


def test_metrics_are_what_the_tables_say(result: qcnlab.Result) -> None:
    queues, throughput = result.queues.to_polars(), result.throughput.to_polars()
    drops, messages = result.drops.to_polars(), result.messages.to_polars()
    during = pl.col("time_s").is_between(0.01 - 1e-9, 0.025 - 1e-9)
    for replication in range(3):
        values = {
            name: metric.values[replication] for name, metric in result.summary.metrics.items()
        }
        this = pl.col("replication") == replication
        assert drops.filter(this)["frames"].sum() == values["drops"]
        assert len(messages.filter(this)) == values["messages"]
        # 30 bins of 0.5 ms at a service rate of 0.5 Gb/s; 76 bins from the end of warm-up.
        hot = float(throughput.filter(this & during)["rate_bps"].sum())
        assert hot / 30 / 0.5e9 == pytest.approx(values["util_during"])
        warm = float(throughput.filter(this & (pl.col("time_s") > 0.002 - 1e-9))["rate_bps"].sum())
        assert warm / 76 / 1e9 == pytest.approx(values["bottleneck_gbps"])
        mean = queues.filter(this & during)["queue_bytes"].mean()
        assert mean == pytest.approx(values["queue_during_bytes"])


def test_messages_carry_the_feedback_that_deck_001_quantizes(result: qcnlab.Result) -> None:
    messages = result.messages.to_polars()
    # Fb = q_off - w q_delta with w = 2; 6 bits over (2 w + 1) q_sp = 5 * 33 KB = 165 KB, rounded
    # towards zero: q_off = -51,000 and q_delta = 10,500 are 72,000 * 63 / 165,000 = 27.49.
    for offset, delta, feedback in messages["q_off_bytes", "q_delta_bytes", "fb"].rows():
        assert feedback == -min(63, (2 * delta - offset) * 63 // 165_000)
    assert {*messages["kind"]} == {"CNM"}


def test_rates_begin_at_the_links_rate_and_stay_within_bounds(result: qcnlab.Result) -> None:
    rates = result.rates.to_polars()
    first = rates.filter(pl.col("time_s") == 0)
    assert len(first) == 3 * 2
    assert first["current_rate_bps"].to_list() == 6 * [10_000_000_000]
    # The preset's least rate is 10 Mb/s.
    assert rates["current_rate_bps"].is_between(10_000_000, 10_000_000_000).all()
    assert (rates["target_rate_bps"] >= rates["current_rate_bps"]).all()


def test_every_reader_reads_the_same_values(result: qcnlab.Result) -> None:
    for name in COLUMNS:
        frame = result.table(name).to_polars()
        arrow = pa.table(result.table(name))
        pandas = result.table(name).to_pandas()
        for column in frame.columns:
            values = frame[column].to_list()
            assert arrow[column].to_pylist() == values, (name, column)
            missing = pandas[column].isna()
            assert [
                None if no else value for value, no in zip(pandas[column], missing, strict=True)
            ] == values


def test_missing_numbers_stay_missing() -> None:
    values = np.array([7, 0, 9], dtype=np.int32).tobytes()
    series = tables._series("x", "Int32", values, bytes([1, 0, 1]), None)
    assert series.to_list() == [7, None, 9]
    assert series.dtype == pl.Int32
    whole = tables._series("x", "Int32", values, None, None)
    assert whole.to_list() == [7, 0, 9]
    words = np.array([1, 0, 1], dtype=np.uint32).tobytes()
    named = tables._series("x", "UInt32", words, None, ["a", "b", "never met"])
    assert named.to_list() == ["b", "a", "b"]
    assert named.dtype == pl.Categorical


def test_columns_are_moved_once_and_asked_for_often() -> None:
    scenario = qcnlab.load("one-source-into-9g-rtt10us").with_("duration=3 ms", "warmup=1 ms")
    queues = qcnlab.run(scenario, reps=1, seed=0).queues
    first, again = queues.to_polars(), queues.to_polars()
    assert len(first) == len(queues) > 0
    assert first.equals(again)
    assert pa.table(queues).num_rows == len(queues)


def test_a_table_goes_to_another_process_whole(overload: qcnlab.Result) -> None:
    queues = overload.queues
    again = pickle.loads(pickle.dumps(queues))
    assert (again.name, len(again), again.columns, again.units) == (
        "queues", 1000, queues.columns, queues.units,
    )  # fmt: skip
    assert again.to_polars().equals(queues.to_polars())
    assert repr(again) == repr(queues)


def test_a_table_made_by_hand() -> None:
    frame = pl.DataFrame({"time_s": [0.5, None], "port": ["a", "b"]})
    table = Table("made", frame, ["time_s", "port"], {"time_s": "s", "port": ""}, 2)
    assert repr(table) == "<Table made: 2 rows; time_s [s], port>"
    arrays = table.to_numpy()
    # Missing numbers are not numbers, and texts are texts.
    assert np.isnan(arrays["time_s"][1])
    assert arrays["port"].tolist() == ["a", "b"]
    assert pa.table(table).column_names == ["time_s", "port"]


def test_the_units_of_a_run_are_those_of_its_tables() -> None:
    result = qcnlab.run(
        qcnlab.load("one-source-into-9g-rtt10us").with_("duration=3 ms", "warmup=1 ms")
    )
    assert result.meta["units"] == {name: result.table(name).units for name in NAMES}
    assert result.meta["units"]["queues"] == {"time_s": "s", "queue_bytes": "B"}
