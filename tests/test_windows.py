"""Metrics over a window: the definitions of the core on a result's tables."""

from __future__ import annotations

from pathlib import Path

import pytest

import qcnlab
from conftest import HOTSPOT

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
