"""Confidence intervals: hand-worked order statistics, pairs of replications, and the tables."""

from __future__ import annotations

import csv
import io
import math
from math import comb

import pytest

import qcnlab
from conftest import HOTSPOT, SHORT_FLAGS, CommandLine
from qcnlab.metrics import texts
from qcnlab.runs import intervals
from qcnlab.runs.intervals import Interval, difference_interval, median_interval

pytest.importorskip("scipy")


@pytest.mark.parametrize("count", range(6, 41))
def test_a_median_lies_between_order_statistics(count: int) -> None:
    # How many of n values lie below the median is binomial with p = 1/2. The interval from the
    # k-th to the (n + 1 - k)-th value misses it with probability 2 P(fewer than k): k is the
    # largest for which that is at most 5 %.
    below = [sum(comb(count, i) for i in range(k)) / 2**count for k in range(1, count // 2 + 1)]
    k = max(k for k, tail in enumerate(below, 1) if 2 * tail <= 0.05)
    values = [float(number) for number in range(1, count + 1)]
    interval = median_interval(list(reversed(values)))
    assert (interval.low, interval.high) == (k, count + 1 - k)
    assert interval.runs == count


def test_few_values_have_no_interval() -> None:
    # Five values: even the whole range misses the median with 2 / 32 = 6.25 %.
    assert median_interval([1.0, 2.0, 3.0, 4.0, 5.0]) == Interval(3.0, None, None, 5)
    assert median_interval([1.0, 2.0, 3.0, 4.0, 5.0], 0.9) == Interval(3.0, 1.0, 5.0, 5)
    assert median_interval([None, None]) == Interval(None, None, None, 0)
    assert str(median_interval([1.0, 2.0])) == "1.5 of 2, too few for an interval"
    for level in (0.0, 1.0, 95.0):
        with pytest.raises(qcnlab.AnalysisError, match="between 0 and 1"):
            median_interval([1.0], level)


def test_pairs_tell_what_medians_do_not() -> None:
    luck = [10.0, 50.0, 90.0, 20.0, 70.0, 30.0, 60.0, 80.0]
    one, other = [each + 1 for each in luck], luck
    assert median_interval(one).low is not None
    assert median_interval(other).low is not None
    # The intervals of the medians overlap almost entirely; each pair differs by exactly 1.
    difference = difference_interval(one, other)
    assert (difference.median, difference.low, difference.high) == (1, 1, 1)
    assert difference.excludes_zero
    with pytest.raises(qcnlab.AnalysisError, match="8 and 7 replications have no pairs"):
        difference_interval(one, other[:7])


def test_points_of_a_sweep_are_paired(short: qcnlab.Scenario) -> None:
    swept = qcnlab.sweep(short, vary={"scheme.cp.w": [2, 4]}, reps=6)
    one, other = (swept.over(point, "queue_mean_bytes").values for point in (1, 0))
    expected = difference_interval(one, other)
    assert swept.difference(1, 0, "queue_mean_bytes") == expected
    assert swept.interval(0, "queue_mean_bytes") == median_interval(other)
    assert f"{median_interval(other)}" in swept.text(200, ["queue_mean_bytes"], level=0.95)
    seeds = qcnlab.sweep(short, vary={"seed": [1, 2]}, reps=1)
    with pytest.raises(qcnlab.AnalysisError, match="different seeds have no pairs"):
        seeds.difference(1, 0, "drops")


@pytest.mark.parametrize(
    ("level", "count"), [(0.49, 2), (0.5, 3), (0.74, 3), (0.75, 4), (0.9, 5), (0.95, 6), (0.99, 8)]
)
def test_an_interval_takes_as_many_values_as_its_level_asks(level: float, count: int) -> None:
    """All n on one side: once in 2^(n - 1) times."""
    values = [float(value) for value in range(count)]
    assert intervals.least(level) == count
    assert (median_interval(values, level).low, median_interval(values, level).high) == (
        0,
        count - 1,
    )
    if count > 2:
        assert median_interval(values[1:], level).low is None


@pytest.mark.parametrize("level", [0.0, 1.0, 1.5, -0.1, math.nan])
def test_a_level_that_is_none_is_refused(level: float) -> None:
    with pytest.raises(qcnlab.AnalysisError, match="lies between 0 and 1"):
        intervals.least(level)


def test_sweeps_have_intervals_from_what_the_level_asks(short: qcnlab.Scenario) -> None:
    swept = qcnlab.sweep(short, vary={"scheme.cp.w": [2, 4]}, reps=3)
    assert f"{swept.interval(0, 'queue_mean_bytes', 0.5)}" in swept.text(
        200, ["queue_mean_bytes"], level=0.5
    )
    text = swept.text(200, ["queue_mean_bytes"], level=0.99)
    assert "Median [least..largest] where there are fewer than 8 runs." in text
    assert "confidence interval" not in text


def test_an_interval_of_lower_bounds_says_so() -> None:
    """A flow of 10 MB takes 8.9 ms over 9 Gb/s: in 1 ms its time is not known, in 20 ms it is."""
    base = qcnlab.load("one-source-into-9g-rtt10us").with_("warmup=0 s", "traffic.size=10 MB")
    swept = qcnlab.sweep(base, vary={"duration": ["1 ms", "20 ms"]}, reps=3)
    known = [name for name in texts("at_least_if") if swept.over(1, name).median is not None]
    assert known
    for name in known:
        for level in (0.5, None):
            rows = swept.cells(140, [name], level)[2]
            said = [any(cell.startswith(">= ") for cell in row) for row in rows]
            assert said == [True, False], (name, level)


def test_compare_shows_intervals_and_differences(cli: CommandLine) -> None:
    words = ("compare", HOTSPOT, *SHORT_FLAGS, "-s", "scheme.cp.w=2,4", "--reps", "6")
    done = cli(*words, "--metric", "queue_mean_bytes", "--intervals")
    assert done.returncode == 0, done.stderr
    assert "of 6" in done.stdout
    assert "w 4 - w 2" in done.stdout
    assert "median [its confidence interval, 95 %] of so many runs" in " ".join(done.stdout.split())
    rows = csv.DictReader(
        io.StringIO(cli(*words, "--metric", "queue_mean_bytes", "--intervals", "--csv").stdout)
    )
    first, second = rows
    assert (float(first["difference"]), second["replications"]) == (0.0, "6")
    assert float(second["difference_low"]) <= float(second["difference"])
    assert float(second["low"]) <= float(second["median"]) <= float(second["high"])


def test_sweep_shows_intervals(cli: CommandLine) -> None:
    vary = ("--vary", "scheme.cp.w=2,4", "--reps", "6", "--metric", "drops", "--intervals")
    done = cli("sweep", HOTSPOT, *SHORT_FLAGS, *vary)
    assert done.returncode == 0, done.stderr
    assert "of 6" in done.stdout
    assert "Median [its confidence interval, 95 %] of so many runs." in done.stdout


def test_an_interval_is_a_value_and_needs_both_ends() -> None:
    assert len({Interval(1.0, 0.5, 2.0, 8), Interval(1.0, 0.5, 2.0, 8)}) == 1
    with pytest.raises(AttributeError, match="cannot assign"):
        Interval(1.0, 0.5, 2.0, 8).low = 0.0  # type: ignore[misc]
    for half in (Interval(1.0, None, 2.0, 8), Interval(1.0, 0.5, None, 8)):
        assert str(half) == "1 of 8, too few for an interval"


def test_an_interval_with_one_end_is_none() -> None:
    # Of five the first and the last miss the median with 2 / 32: at 93.75 % exactly there is an
    # upper end alone, and below it both.
    five = [1.0, 2.0, 3.0, 4.0, 5.0]
    assert median_interval(five, 0.9375) == Interval(3.0, None, None, 5)
    assert median_interval(five, 0.9374) == Interval(3.0, 1.0, 5.0, 5)
