"""Where the initial transient of a run ends."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest

import qcnlab
from conftest import CommandLine
from made_up_run import META, made_up_summary
from qcnlab import api
from qcnlab.commands import warmup
from qcnlab.commands.warmup import Transient, mser5, transients
from qcnlab.runs.summary import BottleneckPort
from qcnlab.runs.tables import Table

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


def test_a_level_far_from_zero_changes_nothing() -> None:
    # Squares of ten thousand million leave no digits for deviations of one.
    far = [1e10 + value for value in of_means(10, 2, 0, 2, 0, 2, 0, 2, 0, 2)]
    assert mser5(far) == 5


def of_queue(config: str, *replications: list[float]) -> qcnlab.Result:
    """Return a result whose bottleneck has these queues each ms, and another port one of 1 MB."""
    rows = [
        (number, 0.001 * k, port, round(value if port == "a->b" else 1e6))
        for number, values in enumerate(replications)
        for k, value in enumerate(values)
        for port in ("a->b", "b->a")
    ]
    frame = pl.DataFrame(
        rows,
        schema={"replication": pl.UInt32, "time_s": pl.Float64, "port": pl.String,
                "queue_bytes": pl.UInt64},
        orient="row",
    )  # fmt: skip
    queues = Table("queues", frame, frame.columns, {}, len(frame))
    summary = made_up_summary(bottleneck=BottleneckPort("a->b", 1e9, None))
    return qcnlab.Result(config, summary, META, lambda name: queues)


def times_ten(*means: float) -> list[float]:
    return [10 * value for value in of_means(*means)]


def test_the_transients_of_replications_made_by_hand() -> None:
    """The first is the series above times ten: five samples are cut, the sixth is at 5 ms.

    The nine means behind them are 2, 0, 2, 0, 2, 0, 2, 0, 2, of mean 10 / 9, times ten and 20 more.
    The second rises all the time, and ends nowhere.
    """
    steps = [value + 20 for value in times_ten(10, 2, 0, 2, 0, 2, 0, 2, 0, 2)]
    rising = [100.0 * k for k in range(50)]
    first, second = transients(of_queue("", steps, rising))
    assert (first.replication, first.end_s) == (0, 0.005)
    assert first.mean_bytes == pytest.approx(20 + 100 / 9)
    assert second == Transient(1, None, None)
    with pytest.raises(AttributeError, match="cannot assign"):
        first.end_s = 0.0  # type: ignore[misc]


def test_what_comes_with_the_first_hotspot_is_left_out() -> None:
    # Fifty values of 3 up to 49 ms; the sample at 50 ms is the first of the hotspot.
    series = [3.0] * 50 + [900.0] * 50
    hotspots = '[[hotspot]]\nfrom = "70 ms"\n[[hotspot]]\nfrom = "50 ms"\n'
    assert transients(of_queue(hotspots, series)) == [Transient(0, 0.0, 3.0)]
    # With a hotspot at 49 ms there are too few; without one the step in the middle is none.
    assert transients(of_queue('[[hotspot]]\nfrom = "49 ms"\n', series))[0].end_s is None
    assert transients(of_queue("", series))[0].end_s is None


HEAD = "one-source-into-9g-rtt10us: the queue of the bottleneck, before the first hotspot if "


@pytest.mark.parametrize(
    ("told", "own", "said", "suggested"),
    [
        # Of 2, 4 and 3 ms the median is 3, of the queues 30 B.
        (
            [(0.002, 20.0), (0.004, 40.0), (0.003, 30.0)], "4 ms",
            ["the initial transient ends after 3 ms [2..4] in 3 of 3 replications; after it the "
             "queue is 30 B [20..40]", "the scenario's warm-up of 4 ms is enough"], 0.004,
        ),
        (
            [(0.002, 20.0)], "1 ms",
            ["the initial transient ends after 2 ms [2..2] in 1 of 1 replication; after it the "
             "queue is 20 B [20..20]",
             "the scenario's warm-up of 1 ms is too short: -s warmup='2 ms'"], 0.002,
        ),
        (
            [(0.002, 20.0), (None, None)], "1 ms",
            ["the initial transient ends after 2 ms [2..2] in 1 of 2 replications; after it the "
             "queue is 20 B [20..20]",
             "in 1 it does not end in the first half: make the run longer, or take it that this "
             "queue does not settle"], None,
        ),
        (
            [(None, None), (None, None)], "1 ms",
            ["in 2 it does not end in the first half: make the run longer, or take it that this "
             "queue does not settle"], None,
        ),
        ([], "1 ms", [], None),
    ],
    ids=["enough", "too short", "one has none", "none", "no samples"],
)  # fmt: skip
def test_what_the_command_says(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    told: Sequence[tuple[float | None, float | None]],
    own: str,
    said: list[str],
    suggested: float | None,
) -> None:
    asked: dict[str, Any] = {}
    known = [Transient(k, end, mean) for k, (end, mean) in enumerate(told)]
    monkeypatch.setattr(api, "run", lambda ready, **more: asked.update(more, ready=ready))
    monkeypatch.setattr(warmup, "transients", lambda result: known)
    changes = ["duration=100 ms", f"warmup={own}"]
    warmup.warmup(ONE_SOURCE, changes, seed=3, reps=2, jobs=1)
    assert capsys.readouterr().out.splitlines() == [f"{HEAD}there is one", *said]
    assert (asked["seed"], asked["reps"], asked["jobs"]) == (3, 2, 1)
    assert asked["ready"].to_dict()["warmup"] == own
    warmup.warmup(ONE_SOURCE, changes, as_json=True)
    read = json.loads(capsys.readouterr().out)
    assert (read["warmup_s"], read["suggested_s"]) == (float(own[0]) / 1000, suggested)
    assert [tuple(each.values()) for each in read["replications"]] == [
        (k, *both) for k, both in enumerate(told)
    ]


def test_what_is_no_time_is_none() -> None:
    assert (warmup._seconds("2 ms"), warmup._seconds("soon")) == (0.002, 0.0)
