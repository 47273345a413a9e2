"""Replications that end at times of their own: drained, or stopped at the duration."""

from __future__ import annotations

import polars as pl
import pytest

import qcnlab
from qcnlab.runs.facts import ended, facts
from qcnlab.runs.windows import in_window

DRAINED = """title = "Two flows that start when they like"
duration = "50 ms"
drain = true
[topology]
kind = "star"
sources = 2
rate = "10 Gb/s"
rtt = "4 us"
buffer = "1 MB"
[[traffic]]
arrivals = "list"
start_jitter = "1 ms"
frame = "1500 B"
flows = '''
from,to,size,start
source1,sink,150 KB,0 s
source2,sink,300 KB,0 s
'''
[scheme]
name = "none"
[record]
throughput_bin = "50 us"
queue_every = "50 us"
"""


def end_times(result: qcnlab.Result) -> list[float]:
    return [end.end_s for end in result.summary.ends]


@pytest.mark.parametrize(
    ("seed", "latest", "said"),
    [
        (2, 0, "drained, end at 516.098 us to 864.848 us"),
        (3, 2, "drained, end at 593.78 us to 871.067 us"),
        (5, 2, "drained, end at 966.13 us to 1.03684 ms"),
    ],
)
def test_each_replication_ends_with_its_own_last_flow(seed: int, latest: int, said: str) -> None:
    result = qcnlab.run(qcnlab.Scenario.from_toml(DRAINED), reps=3, seed=seed, progress=False)
    ends = end_times(result)
    flows = result.flows.to_polars()
    last = flows.group_by("replication", maintain_order=True).agg(pl.col("finished_s").max())
    assert last["finished_s"].to_list() == pytest.approx(ends)
    assert facts(result).duration_s == max(ends) == ends[latest]
    assert ended(result) == [said]


def test_those_that_drain_and_those_that_do_not_are_told_apart() -> None:
    """With seed 2 replications end at 865, 691 and 516 us: at 700 us the first is stopped."""
    scenario = qcnlab.Scenario.from_toml(DRAINED).with_("duration=700 us")
    result = qcnlab.run(scenario, reps=3, seed=2, progress=False)
    assert [end.why for end in result.summary.ends] == ["duration", "drained", "drained"]
    assert ended(result) == [
        "2 replications of 3 drained, end at 516.098 us to 690.547 us",
        "1 replication not drained: stopped at 700 us, the duration, with 1 flow unfinished",
    ]
    # The second has bins up to its own end, the third none of that time.
    lowest = in_window(result, "lowest_bin_gbps", (0.0006, 0.0007))
    assert lowest == [pytest.approx(5.28), pytest.approx(9.84), None]


def test_the_first_of_those_that_did_not_drain_says_when() -> None:
    """With seed 3 the first two have drained by 850 us, and the last has not."""
    scenario = qcnlab.Scenario.from_toml(DRAINED).with_("duration=850 us")
    result = qcnlab.run(scenario, reps=3, seed=3, progress=False)
    ends = result.summary.ends
    assert [end.why for end in ends] == ["drained", "drained", "duration"]
    assert ended(result) == [
        "2 replications of 3 drained, end at 593.78 us to 839.439 us",
        "1 replication not drained: stopped at 850 us, the duration, with 1 flow unfinished",
    ]


@pytest.mark.parametrize(
    ("seed", "window", "lacks"),
    [
        (3, (0.0006, 0.0007), 0),
        (5, (0.00097, 0.000985), 1),
        (2, (0.0006, 0.0007), 2),
    ],
)
def test_a_replication_that_ended_before_a_window_has_no_part_in_its_median(
    seed: int, window: tuple[float, float], lacks: int
) -> None:
    scenario = qcnlab.Scenario.from_toml(DRAINED).with_("record.queue_every=5 us")
    result = qcnlab.run(scenario, reps=3, seed=seed, progress=False)
    values = in_window(result, "queue_mean_bytes", window)
    known = [value for value in values if value is not None]
    assert [replication for replication, value in enumerate(values) if value is None] == [lacks]
    assert result.metric("queue_mean_bytes", window=window) == sum(known) / 2
