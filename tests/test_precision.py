"""Replications until a stated precision: how many, and where it was not reached."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import qcnlab
from conftest import HOTSPOT, SHORT_FLAGS, CommandLine
from qcnlab import Precision
from qcnlab.sweeps.precision import read_precision, told

TABLES = ("metrics.parquet", "metrics.csv", "runs.jsonl", "sweep.svg")
VARY: dict[str, list[object]] = {"topology.rtt": ["10 us", "0.5 ms"]}
# The first point reaches it in some round, the second one in none.
WANTED = Precision("queue_mean_bytes", share=0.03, least=6, most=20)
ONE_TO_TEN = [float(value) for value in range(1, 11)]


def sweep(scenario: qcnlab.Scenario, out: Path, on: object = None) -> qcnlab.Sweep:
    return qcnlab.sweep(scenario, vary=VARY, seed=3, out=out, on=on, precision=WANTED)


def files(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in TABLES}


def test_a_median_is_known_by_its_wider_side() -> None:
    # The interval of 1 to 10 is 2 to 9 (median_interval), 3.5 to either side of 5.5: 63.6 %.
    assert Precision("drops", 0.64).reached(ONE_TO_TEN)
    assert not Precision("drops", 0.63).reached(ONE_TO_TEN)
    assert told(Precision("drops", 0.63), ONE_TO_TEN) == "64 %, not reached"


def test_a_mean_is_known_by_students_interval() -> None:
    # Mean 5.5, variance 82.5 / 9 = 9.1667, standard error sqrt(0.91667) = 0.95743,
    # t(97.5 %, 9) = 2.26216: 2.1659 to either side, 39.4 %.
    assert Precision("drops", 0.394, of="mean").reached(ONE_TO_TEN)
    assert not Precision("drops", 0.393, of="mean").reached(ONE_TO_TEN)


def test_equal_values_are_known_and_too_few_are_not() -> None:
    for of in ("median", "mean"):
        assert Precision("drops", 0.01, of=of).reached([0.0] * 6)
        assert not Precision("drops", 0.01, of=of).reached([None] * 6)
        assert told(Precision("drops", 0.01, of=of), [None] * 6) == "none, not reached"
    # Of five values none has an interval of 95 %: both ends are outside with 2 / 2^5 = 6.25 %.
    assert not Precision("drops", 0.01).reached([7.0] * 5)


def test_rounds_grow_by_half_and_end_at_the_most() -> None:
    never = Precision("drops", 0.01, least=4, most=20)
    asked = [never.runs(ONE_TO_TEN[:0])]
    while asked[-1] < 20:
        asked.append(never.runs([float(k) for k in range(asked[-1])]))
    assert asked == [4, 6, 9, 13, 19, 20]
    assert never.runs([float(k) for k in range(20)]) == 20


def test_the_most_may_be_the_least() -> None:
    """Then there is one round of as many, whether it is enough or not."""
    for values in ([], [5.0] * 6, [float(k) for k in range(6)]):
        assert Precision("drops", 0.01, least=6, most=6).runs(values) == 6
    with pytest.raises(qcnlab.ScenarioError, match="at least 6 and at most 5 replications"):
        Precision("drops", 0.01, least=6, most=5)
    assert Precision("drops", 0.01, least=2, most=2).runs([]) == 2
    with pytest.raises(qcnlab.ScenarioError, match="at least 1 and at most 5"):
        Precision("drops", 0.01, least=1, most=5)


def test_a_round_that_would_reach_the_most_is_the_last_one() -> None:
    # 4, 6, 9: with 9 as the most the third round is it; with 10 there is one more.
    rising = [float(k) for k in range(20)]
    assert [Precision("drops", 0.01, least=4, most=9).runs(rising[:n]) for n in (0, 4, 6, 9)] == [
        4, 6, 9, 9,
    ]  # fmt: skip
    assert Precision("drops", 0.01, least=4, most=10).runs(rising[:9]) == 10
    # Enough in the last round is enough, and never more than the most.
    assert Precision("drops", 0.01, least=4, most=9).runs([1.0, 2.0] * 3 + [5.0] * 14) == 9


def test_the_most_is_never_below_what_each_point_gets() -> None:
    assert read_precision("5%", "drops", 300, None).most == 300
    assert read_precision("5%", "drops", 300, 300).most == 300
    known = read_precision("5%", "drops", None, None)
    assert (known.least, known.most) == (10, 200)


def test_a_round_that_is_enough_is_the_last_one() -> None:
    # Eight equal values are enough in the round of 6; the rest does not count.
    assert Precision("drops", 0.01, least=4, most=20).runs([5.0] * 6 + [9.0, 1.0]) == 6


@pytest.mark.parametrize(
    ("written", "share", "of"),
    [("5%", 0.05, "median"), (" 2.5 % of mean", 0.025, "mean"), ("1% of median", 0.01, "median")],
)
def test_how_it_is_written(written: str, share: float, of: str) -> None:
    known = read_precision(written, "drops", None, None)
    assert known.share == pytest.approx(share)
    assert known.of == of


@pytest.mark.parametrize("written", ["5", "5% of mode", "0%", "100%", "", "-1%"])
def test_what_is_no_precision_is_refused(written: str) -> None:
    with pytest.raises(qcnlab.ScenarioError):
        read_precision(written, "drops", None, None)


def test_the_same_runs_here_on_an_executor_and_after_a_stop(
    short: qcnlab.Scenario, tmp_path: Path
) -> None:
    swept = sweep(short, tmp_path / "here")
    steady, swinging = swept.runs
    assert WANTED.least <= steady < swinging == WANTED.most
    assert swept.to_polars().height == steady + swinging
    assert [len(swept.over(point, "drops").values) for point in (0, 1)] == swept.runs
    assert swept.difference(1, 0, "queue_mean_bytes").runs == steady
    here = files(tmp_path / "here")
    with ThreadPoolExecutor(2) as pool:
        sweep(short, tmp_path / "pool", pool)
    assert files(tmp_path / "pool") == here

    stopped = tmp_path / "pool" / "runs.jsonl"
    lines = stopped.read_bytes().splitlines(keepends=True)
    stopped.write_bytes(b"".join([lines[0], *lines[4:9]]))
    with pytest.raises(qcnlab.FolderError, match="is not complete"):
        qcnlab.open_sweep(tmp_path / "pool")
    sweep(short, tmp_path / "pool")
    assert files(tmp_path / "pool") == here
    assert qcnlab.open_sweep(tmp_path / "pool").runs == [steady, swinging]


def test_the_command_says_what_was_reached(cli: CommandLine) -> None:
    words = ("sweep", HOTSPOT, *SHORT_FLAGS, "--vary", "topology.rtt=10 us,0.5 ms", "--seed", "3")
    wanted = ("--metric", "queue_mean_bytes", "--precision", "3%", "--reps", "6", "--most", "20")
    planned = cli(*words, *wanted, "--dry-run")
    assert "2 points, 6 to 20 replications each: 12 runs to 40 runs" in planned.stdout
    done = cli(*words, *wanted, "-o", "out")
    assert done.returncode == 0, done.stderr
    assert "not reached of 20" in done.stdout
    assert "1 of 2 points did not reach it: topology.rtt=500 us." in done.stdout
    known = json.loads((cli.folder / "out" / "sweep.json").read_text(encoding="utf-8"))
    assert "--precision 3% --most 20" in known["command"]
    other = cli(*words, *wanted[:3], "4%", *wanted[4:], "-o", "out")
    assert other.returncode == 2
    assert "precision: there" in other.stderr


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--precision", "5%"), "a precision is of a metric"),
        (("--most", "20"), "--most goes with --precision"),
        (
            ("--precision", "5%", "--metric", "drops", "--reps", "300", "--most", "20"),
            "at least 300",
        ),
        (("--precision", "five", "--metric", "drops"), "'five' is no precision"),
    ],
)
def test_what_cannot_be_wanted_is_refused(
    cli: CommandLine, flags: tuple[str, ...], words: str
) -> None:
    done = cli("sweep", HOTSPOT, *SHORT_FLAGS, "--vary", "seed=1,2", *flags)
    assert done.returncode == 2
    assert words in done.stderr
    assert cli.left() == []


def test_replications_and_a_precision_exclude_each_other(short: qcnlab.Scenario) -> None:
    with pytest.raises(ValueError, match="reps cannot be given"):
        qcnlab.sweep(short, vary=VARY, reps=3, precision=WANTED)


def test_a_precision_of_no_metric_is_refused(short: qcnlab.Scenario) -> None:
    with pytest.raises(qcnlab.ScenarioError, match="there is no metric 'queue_men_bytes'"):
        qcnlab.sweep(short, vary=VARY, precision=Precision("queue_men_bytes", 0.1))
