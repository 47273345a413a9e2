"""What is printed depends on what a run has: metrics without meaning are named with the reason."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import qcnlab
from qcnlab.metrics import having
from qcnlab.results.metrics_text import metrics_text, telling
from qcnlab.runs.applicable import has_bottleneck, without_meaning

if TYPE_CHECKING:
    from pathlib import Path

HOTSPOT = ("duration=20 ms", "warmup=1 ms", "hotspot.from=5 ms", "hotspot.until=10 ms")


def names(result: qcnlab.Result) -> list[str]:
    return [row[0] for row in telling(result)]


@pytest.fixture(scope="module")
def fabric() -> qcnlab.Result:
    """64 hosts in a leaf-spine, whose flows are drawn and end."""
    base = qcnlab.load("leaf-spine-64-web-search-and-incast-100g")
    return qcnlab.run(base.with_("stop_arrivals=2200 us", "duration=8 ms"), reps=2)


def test_flows_that_end_have_no_fairness_and_a_fabric_no_bottleneck(fabric: qcnlab.Result) -> None:
    why = without_meaning(fabric)
    assert not has_bottleneck(fabric)
    port = fabric.summary.bottleneck.port
    assert f"{port} is one port of many" in why["queue_mean_bytes"]
    assert "flows that end" in why["jain"]
    assert not {"jain", "victim_gbps", *having("one_port")}.intersection(names(fabric))
    assert names(fabric)[:2] == ["fct_mean_ms", "fct_p99_ms"]
    # Nothing is lost: all of it stands in the summary and behind --all.
    assert fabric.summary.metrics["queue_mean_bytes"].median is not None
    words = metrics_text(fabric)
    assert (
        "  queue_mean_bytes, queue_std_bytes, queue_max_bytes, queue_empty_frac: no bott" in words
    )
    assert "The bottleneck is" not in words
    assert "queue_mean_bytes  " in metrics_text(fabric, every=True)
    assert "Not shown" not in metrics_text(fabric, every=True)


def test_a_named_port_is_the_bottleneck(fabric: qcnlab.Result) -> None:
    named = qcnlab.load("leaf-spine-64-web-search-and-incast-100g").with_(
        "stop_arrivals=2200 us", "duration=8 ms", "record.bottleneck=leaf2->host32"
    )
    result = qcnlab.run(named, reps=1)
    assert has_bottleneck(result)
    assert "queue_mean_bytes" in names(result)
    assert "The bottleneck is leaf2->host32." in metrics_text(result)


def test_a_hotspot_has_all_of_its_metrics() -> None:
    base = qcnlab.load("og-hotspot-2src-10g-to-500m-rtt10us").with_(*HOTSPOT)
    result = qcnlab.run(base, reps=1)
    assert without_meaning(result) == {}
    assert {"util_before", "throughput_outside_gbps", "jain", "rate_ratio"} <= set(names(result))
    assert "The bottleneck is switch->sink." in metrics_text(result)


def test_without_a_hotspot_there_is_no_before() -> None:
    base = qcnlab.load("one-source-into-9g-rtt10us").with_("duration=5 ms", "warmup=1 ms")
    result = qcnlab.run(base, reps=1)
    why = without_meaning(result)
    assert why["util_before"] == why["throughput_outside_gbps"] == "there is no hotspot"
    # One flow has nobody to be compared with.
    assert why["jain"] == why["rate_ratio"] == "there is one flow"
    assert set(why) == {"util_before", "throughput_outside_gbps", "jain", "rate_ratio"}
    assert "queue_mean_bytes" in names(result)


def test_half_of_the_traffic_makes_a_bottleneck(tmp_path: Path) -> None:
    """Three senders share a port of 10 Gb/s, and each of two others has 10 Gb/s of its own."""
    text = """
        duration = "4 ms"
        [topology]
        kind = "switch"
        hosts = 8
        rate = "10 Gb/s"
        delay = "1 us"
        [[traffic]]
        arrivals = "saturated"
        frame = "1500 B"
        from = "host1, host2, host3"
        to = "host8"
        {more}
        [scheme]
        name = "none"
    """
    other = (
        '[[traffic]]\narrivals = "saturated"\nframe = "1500 B"\nfrom = "host{}"\nto = "host{}"\n'
    )
    shares = []
    for others in (1, 2):
        more = "".join(other.format(3 + n, 5 + n) for n in range(1, others + 1))
        (tmp_path / "own.toml").write_text(text.format(more=more))
        result = qcnlab.run(qcnlab.load(tmp_path / "own.toml"), reps=1)
        assert result.summary.bottleneck.port == "switch->host8"
        shares.append(has_bottleneck(result))
        assert ("bottleneck_gbps" in names(result)) is shares[-1]
    assert shares == [True, False]


def test_a_comparison_leaves_out_what_means_nothing_in_any_run(fabric: qcnlab.Result) -> None:
    alike = qcnlab.compare([fabric, fabric]).metrics
    assert alike[:4] == ["fct_mean_ms", "fct_p99_ms", "slowdown_mean", "slowdown_p99"]
    assert not {"jain", "queue_mean_bytes"}.intersection(alike)
    base = qcnlab.load("og-hotspot-2src-10g-to-500m-rtt10us").with_(*HOTSPOT)
    mixed = qcnlab.compare([fabric, qcnlab.run(base, reps=1)]).metrics
    assert {"jain", "queue_mean_bytes", "fct_mean_ms"} <= set(mixed)
    # What is asked for is shown.
    asked = qcnlab.compare([fabric, fabric], metrics=["jain"])
    assert asked.metrics == ["jain"]
    assert json.dumps(asked.summary())
