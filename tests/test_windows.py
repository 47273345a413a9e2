"""Metrics over a window: the definitions of the core on a result's tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import qcnlab
from conftest import HOTSPOT
from made_up_run import META, made_up_summary
from qcnlab.runs.summary import BottleneckPort
from qcnlab.runs.tables import Table
from qcnlab.runs.windows import at_port, flow_names, in_window, rows_of_flows

CHANGES = ("warmup=2 ms", "hotspot.0.from=3 ms", "hotspot.0.until=5 ms", "duration=9 ms")


@pytest.fixture(scope="module")
def result() -> qcnlab.Result:
    return qcnlab.run(qcnlab.load(HOTSPOT).with_(*CHANGES), reps=2)


def test_a_window_of_the_definition_gives_the_metric(result: qcnlab.Result) -> None:
    # The hotspot is queue_during's own window; from the end of warm-up to the end is the rates'.
    during = result.metric("queue_mean_bytes", window=(0.003, 0.005))
    assert during == result.metric("queue_during_bytes")
    whole = (0.002, 0.009)
    for name in ("bottleneck_gbps", "rate_ratio"):
        assert result.metric(name, window=whole) == result.metric(name)


def test_flows_are_chosen_by_patterns(result: qcnlab.Result) -> None:
    both = result.metric("bottleneck_gbps", window=(0.002, 0.009))
    each = [
        result.metric("bottleneck_gbps", window=(0.002, 0.009), flows=[f"source{i}"])
        for i in (1, 2)
    ]
    assert both is not None and None not in each
    assert result.metric("jain", window=(0.002, 0.009), flows=["source1"]) == 1.0
    # Medians of two replications add up, being means.
    assert sum(value for value in each if value is not None) == pytest.approx(both)


def test_a_result_read_back_has_the_same_metrics(result: qcnlab.Result, tmp_path: Path) -> None:
    again = qcnlab.open_run(result.save(tmp_path / "run"))
    for name in ("queue_std_bytes", "queue_spread_bytes", "rate_swing"):
        window = (0.002, 0.009)
        assert again.metric(name, window=window) == result.metric(name, window=window)


@pytest.mark.parametrize(
    ("name", "window", "words"),
    [
        ("recovery_ms", (0, 1), "'recovery_ms' is a metric of the whole run; it has no window"),
        ("queue_men_bytes", (0, 1), "did you mean 'queue_mean_bytes'"),
        ("jain", (1, 1), "the window from 1 s to 1 s is empty"),
        ("regain_ms", (0, 1), "'regain_ms' needs a limit, in Gb/s"),
    ],
)
def test_what_has_no_value_is_refused(
    result: qcnlab.Result, name: str, window: tuple[float, float], words: str
) -> None:
    with pytest.raises(qcnlab.AnalysisError, match=words):
        result.metric(name, window=window)


CONFIG = """
[scheme]
name = "none"
[record]
queue_every = "1 ms"
throughput_bin = "1 ms"
"""
Row = tuple[Any, ...]


def table(name: str, columns: str, *made: Row) -> Table:
    frame = pl.DataFrame(list(made), schema=columns.split(), orient="row")
    return Table(name, frame, frame.columns, {}, len(frame))


def of_tables(replications: int = 2) -> qcnlab.Result:
    """Two replications of 4 ms: queues, throughput of three flows, and drops, by hand."""
    queue = {("a", 0): (100, 300, 500, 700), ("b", 0): (9, 9, 9, 9), ("a", 1): (20, 40, 60, 80)}
    gbps = {"zeta": (8, 8, 2, 2), "alpha": (1, 1, 3, 3), "beta": (1, 1, 1, 1)}
    made = {
        "queues": table(
            "queues", "replication time_s port queue_bytes",
            *((k, 0.001 * i, port, each)
              for (port, k), values in queue.items() for i, each in enumerate(values)),
        ),
        "throughput": table(
            "throughput", "replication time_s source rate_bps",
            *((k, 0.001 * i, flow, each * 1e9 / (k + 1))
              for k in (0, 1) for flow, values in gbps.items() for i, each in enumerate(values)),
        ),
        "drops": table(
            "drops", "replication time_s port kind frames",
            (0, 0.0, "a", "dropped", 5), (0, 0.001, "a", "dropped", 7),
            (0, 0.001, "b", "dropped", 100), (0, 0.001, "a", "refused", 1000),
            (0, 0.003, "a", "dropped", 11),
        ),
    }  # fmt: skip
    summary = made_up_summary(
        flows=3, bottleneck=BottleneckPort("a", 1e10, 1000), ends=[0.004] * replications
    )
    return qcnlab.Result(CONFIG, summary, META, made.__getitem__)


def test_each_replication_counts_its_own_rows_of_the_bottleneck() -> None:
    made = of_tables()
    # From 1 ms and before 3 ms: (300 + 500) / 2, and (40 + 60) / 2.
    assert in_window(made, "queue_mean_bytes", (0.001, 0.003)) == [400, 50]
    assert in_window(made, "queue_max_bytes", (0.0, 0.002)) == [300, 40]
    assert in_window(made, "bottleneck_drops", (0.001, 0.003)) == [7, 0]
    assert in_window(made, "bottleneck_drops", (0.0, 0.004)) == [23, 0]
    # What a replication that recorded nothing would have is missing, or zero where things count.
    three = of_tables(replications=3)
    assert in_window(three, "queue_mean_bytes", (0.001, 0.003)) == [400, 50, None]
    assert in_window(three, "bottleneck_drops", (0.0, 0.004)) == [23, 0, 0]
    # The first is above 80 B and stays there; the second never is.
    assert in_window(made, "first_fall_ms", (0.0, 0.004), limit=80) == [None, 0]


def test_throughput_counts_the_flows_that_are_asked_for() -> None:
    made = of_tables()

    def gbps(*flows: str) -> list[float | None]:
        return in_window(made, "bottleneck_gbps", (0.001, 0.003), flows=flows)

    # In the two bins 8 + 1 + 1 and 2 + 3 + 1 Gb/s: 8 in the mean, and half in the second run.
    assert gbps() == pytest.approx([8, 4])
    assert gbps("zeta") == pytest.approx([5, 2.5])
    assert gbps("*eta") == pytest.approx([6, 3])
    assert gbps("alpha", "beta") == pytest.approx([3, 1.5])
    # Means of 5, 2 and 1: 64 / (3 * 30), and of 2 and 1: 9 / (2 * 5).
    jain = in_window(made, "jain", (0.001, 0.003))
    assert jain == pytest.approx([64 / 90] * 2)
    two = in_window(made, "jain", (0.001, 0.003), flows=("alpha", "b*"))
    assert two == pytest.approx([0.9, 0.9])
    assert in_window(made, "rate_ratio", (0.001, 0.003)) == pytest.approx([5, 5])


def test_rows_of_a_port_and_flows() -> None:
    made = of_tables()

    def rows(made: Any, table: str, replication: int) -> pl.DataFrame:
        frame: pl.DataFrame = made.table(table).to_polars()
        return frame.filter(pl.col("replication") == replication)

    queues = rows(made, "queues", 0)
    assert at_port(queues, "b")["queue_bytes"].to_list() == [9, 9, 9, 9]
    assert at_port(rows(made, "queues", 1), "b").is_empty()
    throughput = rows(made, "throughput", 0)
    assert flow_names(rows_of_flows(throughput, ())) == ["alpha", "beta", "zeta"]
    assert flow_names(rows_of_flows(throughput, ("z*", "b*"))) == ["beta", "zeta"]
    assert rows_of_flows(throughput, ("z*",))["rate_bps"].to_list() == [8e9, 8e9, 2e9, 2e9]
    assert rows_of_flows(throughput, ("Z*",)).is_empty()
    # By flow, then by time, whatever the order of the rows.
    mixed = rows_of_flows(throughput.reverse(), ())
    assert mixed["source"].to_list() == ["alpha"] * 4 + ["beta"] * 4 + ["zeta"] * 4
    assert mixed["time_s"].to_list() == [0.001 * i for i in range(4)] * 3
    # Names keep the order of the rows.
    many = [f"source{n}" for n in range(200, 0, -1)]
    assert flow_names(pl.DataFrame({"source": many})) == many
