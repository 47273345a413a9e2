"""Where the initial transient of a run ends."""

from __future__ import annotations

import json

import numpy as np
import pytest

from conftest import CommandLine
from qcnlab.warmup import mser5

ONE_SOURCE = "one-source-into-9g-rtt10us"


def by_definition(values: list[float]) -> int | None:
    """Return what `mser5` does, from the sum of squares behind each cut."""
    means = np.asarray(values[: len(values) // 5 * 5]).reshape(-1, 5).mean(axis=1)
    half = len(means) // 2
    errors = [
        ((means[d:] - means[d:].mean()) ** 2).sum() / (len(means) - d) ** 2 for d in range(half)
    ]
    cut = int(np.argmin(errors))
    return None if cut == half - 1 else 5 * cut


def test_a_step_is_left_out_to_the_mean_of_five() -> None:
    # 12 values of 100: the third mean of five has two of them, (2 * 100 + 3 * 1) / 5 = 40.6.
    assert mser5([100.0] * 12 + [1.0] * 88) == 15


def of_means(*means: float) -> list[float]:
    """Return a series with these means: five values about each."""
    return [value for mean in means for value in (mean - 1, mean - 1, mean, mean + 1, mean + 1)]


def test_the_cut_with_the_least_error_worked_by_hand() -> None:
    """Means of five of 10, 2, 0, 2, 0, 2, 0, 2, 0, 2: the squares' sum over the number's square.

    With all ten the mean is 2: 64 + 5 * 0 + 4 * 4 = 80, over 100 is 0.8. Without the first the sum
    is 10 over 9: 20 - 100 / 9 = 8.889, over 81 is 0.110. Without two the mean is 1: 8 / 64 = 0.125;
    without three 16 - 64 / 7 = 6.857, over 49 is 0.140; without four 6 / 36 = 0.167. One is cut.
    """
    series = of_means(10, 2, 0, 2, 0, 2, 0, 2, 0, 2)
    assert mser5(series) == 5
    # Values that make no whole mean of five are not looked at.
    assert mser5([*series, 1e9, 1e9, 1e9, 1e9]) == 5


def test_a_cut_at_the_last_mean_of_the_first_half_tells_nothing() -> None:
    # Of ten means four may be cut. Behind three of 9 all are 0; behind four, that is the last cut.
    assert mser5(of_means(9, 9, 9, 0, 0, 0, 0, 0, 0, 0)) == 15
    assert mser5(of_means(9, 9, 9, 9, 0, 0, 0, 0, 0, 0)) is None


def test_ten_means_of_five_are_enough() -> None:
    assert mser5([3.0] * 50) == 0
    assert mser5([3.0] * 49) is None


def test_a_series_that_is_steady_has_no_transient() -> None:
    assert mser5([3.0] * 100) == 0


@pytest.mark.parametrize("values", [[float(k) for k in range(200)], [1.0] * 49])
def test_a_series_that_rises_or_is_short_tells_nothing(values: list[float]) -> None:
    assert mser5(values) is None


def test_sums_from_the_end_give_what_the_definition_gives() -> None:
    dice = np.random.default_rng(1)
    for size in range(50, 350, 7):
        decay = 5 * np.exp(-np.arange(size) / dice.uniform(1, 60))
        values = (dice.normal(size=size) + decay).tolist()
        assert mser5(values) == by_definition(values)


def test_the_command_holds_the_scenarios_warm_up_against_it(cli: CommandLine) -> None:
    words = ("warmup", ONE_SOURCE, "-s", "duration=100 ms", "-s", "warmup=100 us", "--reps", "2")
    done = cli(*words)
    assert done.returncode == 0, done.stderr
    assert "in 2 of 2 replications" in done.stdout
    told = json.loads(cli(*words, "--json").stdout)
    ends = [each["end_s"] for each in told["replications"]]
    assert told["suggested_s"] == max(ends)
    assert told["warmup_s"] == 0.0001
    assert ("is too short" in done.stdout) == (max(ends) > 0.0001)
