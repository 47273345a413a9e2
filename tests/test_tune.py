"""Tuning: what is searched, what is wanted, and searches that stop and go on."""

from __future__ import annotations

import json
import math
import shlex
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import qcnlab
from conftest import HOTSPOT, SHORT_FLAGS, CommandLine
from qcnlab.tuning.goals import Constraint, Objective, read_constraint
from qcnlab.tuning.space import Choice, Range, read_space

pytest.importorskip("optuna")

SPACE = {"scheme.cp.set_point": "20 KB..60 KB", "scheme.cp.w": "0.5..8.0"}
OVER: dict[str, list[object]] = {"topology.rtt": ["10 us", "200 us"]}
FILES = ("trials.jsonl", "trials.csv", "tune.svg", "tune.json")


def search(scenario: qcnlab.Scenario, **changed: Any) -> qcnlab.Tuning:
    arguments: dict[str, Any] = {
        "vary": SPACE, "minimize": "queue_mean_bytes", "over": OVER, "trials": 6, "reps": 2,
        "seed": 5,
    }  # fmt: skip
    return qcnlab.tune(scenario, **{**arguments, **changed})


@pytest.fixture(scope="module")
def folder(short: qcnlab.Scenario, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A search of six trials."""
    out = tmp_path_factory.mktemp("tune") / "out"
    search(short, subject_to="bottleneck_gbps>=2.5", out=out)
    return out


@pytest.mark.parametrize(
    ("text", "dimension"),
    [
        ("1 Mb/s..0.1 Gb/s:log", Range("k", 1e6, 1e8, "bit/s", True, False)),
        ("10 us..1 ms", Range("k", 1e-5, 1e-3, "s", False, False)),
        ("2..10", Range("k", 2.0, 10.0, "", False, True)),
        ("2.0..10", Range("k", 2.0, 10.0, "", False, False)),
        ("qcn, ecm", Choice("k", ("qcn", "ecm"))),
    ],
)
def test_what_is_searched(text: str, dimension: object) -> None:
    assert read_space({"k": text}) == [dimension]


@pytest.mark.parametrize(
    ("number", "unit", "text"),
    [
        (12_345_678.9, "bit/s", "12.35 Mb/s"),
        (1.23456e-5, "s", "12.35 us"),
        (33_333.3, "B", "33330 B"),
        (0.123456, "", "0.1235"),
    ],
)
def test_values_have_four_digits_and_units(number: float, unit: str, text: str) -> None:
    assert Range("k", 0.0, 1.0, unit, False, False).written(number) == text


def test_scores_are_medians_of_the_worst_condition_or_their_mean() -> None:
    runs = [[1.0, 2.0, 9.0], [4.0, 3.0, 5.0]]  # medians 2 and 4
    assert Objective("drops", True).score(runs, mean=False) == 4
    assert Objective("drops", False).score(runs, mean=False) == 2
    assert Objective("drops", True).score(runs, mean=True) == 3
    assert Objective("drops", True).score([[1.0, None], [1.0, 1.0]], mean=True) == math.inf
    assert Objective("drops", False).score([[1.0, None]], mean=False) == -math.inf


def test_bounds_hold_for_every_run() -> None:
    runs = [[1.0, 2.0], [4.0, 3.0]]
    assert Constraint("drops", "<=", 4.0).violation(runs) == 0
    assert Constraint("drops", "<=", 3.0).violation(runs) == 1
    assert Constraint("drops", ">=", 3.0).violation(runs) == 2
    assert Constraint("drops", "=", 2.0).violation(runs) == 2
    assert Constraint("drops", "=", 2.0).violation([[None, 2.0]]) == math.inf
    assert read_constraint("queue_max_bytes <= 100 KB").bound == 1e5


def test_it_finds_a_shorter_queue(short: qcnlab.Scenario, folder: Path) -> None:
    tuned = search(short, subject_to="bottleneck_gbps>=2.5", out=folder)
    assert [trial.number for trial in tuned.trials] == [1, 2, 3, 4, 5, 6]
    for trial in (tuned.baseline, *tuned.trials):
        low = min(min(one) for one in trial.metrics["bottleneck_gbps"])  # type: ignore[type-var]
        assert trial.kept == (low is not None and low >= 2.5)
    kept = [trial for trial in (tuned.baseline, *tuned.trials) if trial.kept]
    assert tuned.best.scores == min(trial.scores for trial in kept)
    assert set(tuned.again) == {0, tuned.best.number}
    table = tuned.to_polars()
    assert table["trial"].to_list() == list(range(7))
    assert table["queue_mean_bytes"].to_list() == [
        trial.scores[0] for trial in (tuned.baseline, *tuned.trials)
    ]


def test_it_stops_and_goes_on_to_the_same_bytes(
    short: qcnlab.Scenario, folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    for trials in (2, 6):
        search(short, subject_to="bottleneck_gbps>=2.5", trials=trials, out=out)
    assert all((out / name).read_bytes() == (folder / name).read_bytes() for name in FILES)
    lines = (out / "trials.jsonl").read_bytes()
    (out / "trials.jsonl").write_bytes(lines.replace(b"queue_mean", b"queue_mear", 1))
    search(short, subject_to="bottleneck_gbps>=2.5", jobs=1, out=out)
    assert (out / "trials.jsonl").read_bytes() == lines


@pytest.mark.parametrize("jobs", [2, None])
def test_it_finds_the_same_on_threads_and_on_the_workers_of_a_pool(
    short: qcnlab.Scenario, folder: Path, tmp_path: Path, jobs: int | None
) -> None:
    """Threads or workers of a pool do the runs; what is kept does not say which."""
    out = tmp_path / "out"
    with ThreadPoolExecutor(2) as pool:
        on = None if jobs else pool
        search(short, subject_to="bottleneck_gbps>=2.5", jobs=jobs, on=on, out=out)
    assert all((out / name).read_bytes() == (folder / name).read_bytes() for name in FILES)


def test_without_bounds_it_goes_on_to_the_same_bytes(
    short: qcnlab.Scenario, tmp_path: Path
) -> None:
    for name, stops in (("at once", (2,)), ("with a stop", (1, 2))):
        for trials in stops:
            search(short, over={}, reps=1, trials=trials, out=tmp_path / name)
    for name in FILES:
        assert (tmp_path / "at once" / name).read_bytes() == (
            tmp_path / "with a stop" / name
        ).read_bytes(), name


def test_the_command_of_a_trial_runs_it_again(cli: CommandLine) -> None:
    goals = ("--vary", "scheme.cp.w=0.5..8.0", "--minimize", "queue_std_bytes")
    conditions = ("--over", "topology.rtt=10 us,200 us", "--reps", "2", "--trials", "2")
    done = cli("tune", HOTSPOT, *SHORT_FLAGS, *goals, *conditions, "-o", "out", "--json")
    assert done.returncode == 0, done.stderr
    trial = json.loads(done.stdout)["trials"][2]
    program, *words = shlex.split(trial["command"])
    assert program == "qcnlab"
    swept = json.loads(cli(*words, "--json").stdout)
    medians = [point["metrics"]["queue_std_bytes"]["median"] for point in swept["points"]]
    assert max(medians) == trial["queue_std_bytes"]
    assert words[-6:-4] == ["--metric", "queue_std_bytes"]
    with_goal = cli("tune", HOTSPOT, *SHORT_FLAGS, *goals, "--reps", "1", "--trials", "1")
    assert with_goal.returncode == 0, with_goal.stderr
    assert "as it is" in with_goal.stdout
    assert with_goal.stdout.splitlines()[-1] == f"runs/tune-{HOTSPOT}"


def test_two_objectives_have_a_front(short: qcnlab.Scenario) -> None:
    tuned = search(short, minimize=["queue_mean_bytes", "drops"], trials=5, reps=1)
    with pytest.raises(qcnlab.ScenarioError, match="several objectives have no best trial"):
        _ = tuned.best
    every = [tuned.baseline, *tuned.trials]
    for one in tuned.front:
        assert not any(
            other.scores[0] < one.scores[0] and other.scores[1] < one.scores[1] for other in every
        )
    plane = tuned.plot().axes[0]
    assert (plane.get_xlabel(), plane.get_ylabel()) == ("queue mean (B)", "drops (frames)")
    # Trials of the front have their numbers beside them, unless these stood on each other.
    numbers = [text.get_text() for text in plane.texts]
    front = [str(trial.number) for trial in tuned.front if trial.number]
    assert numbers[:1] == front[:1] and set(numbers) <= set(front)
    assert plane.xaxis.get_major_formatter()(12_500.0, 0) == "12,500"
    assert " ".join(plane.get_title("left").split()) == (
        "scheme.cp.set_point from 20 KB to 60 KB; scheme.cp.w from 0.5 to 8.0 "
        "(worst of 2 conditions, medians of 1 run)"
    )


def test_scores_that_are_never_numbers_leave_an_empty_figure(short: qcnlab.Scenario) -> None:
    """Runs end 1 ms after the hotspot, so that no rate is back for 10 ms."""
    late = short.with_("duration=26 ms", "hotspot.until=25 ms")
    tuned = search(late, minimize=["recovery_ms", "drops"], trials=2, reps=1)
    assert all(math.isinf(trial.scores[0]) for trial in [tuned.baseline, *tuned.trials])
    plane = tuned.plot().axes[0]
    assert plane.get_xlabel().startswith("recovery") and not plane.texts


def test_three_objectives_are_drawn_pair_by_pair(short: qcnlab.Scenario) -> None:
    goals = ["queue_mean_bytes", "drops", "queue_std_bytes"]
    tuned = search(short, minimize=goals, trials=3, reps=1)
    planes = tuned.plot().axes
    assert [plane.get_xlabel().split(" (")[0] for plane in planes] == [
        "queue mean", "queue mean", "drops"
    ]  # fmt: skip
    drawn = next(line for line in planes[2].lines if line.get_label() == "front")
    across, up = (np.asarray(each).tolist() for each in drawn.get_data())
    assert list(zip(across, up, strict=True)) == [trial.scores[1:] for trial in tuned.front]


def test_the_best_is_compared_pair_by_pair_with_the_next_seed(short: qcnlab.Scenario) -> None:
    tuned = search(short, trials=8, reps=6)
    assert tuned.best.number
    best, base = tuned.again[tuned.best.number], tuned.again[0]
    metric = "queue_mean_bytes"
    pairs = zip(best.metrics[metric][1], base.metrics[metric][1], strict=True)
    differences = sorted(a - b for a, b in pairs if a is not None and b is not None)
    near, far = tuned.differences(tuned.best, metric)
    # Of six values the interval of 95 % reaches from the least to the largest.
    assert (far.low, far.high, far.runs) == (differences[0], differences[-1], 6)
    assert far.median == (differences[2] + differences[3]) / 2
    # From the second to the fifth: 1 - 2 * 7 / 64 = 78 %; from the first to the last 97 %.
    _, half = tuned.differences(tuned.best, metric, 0.5)
    assert (half.low, half.high, half.median) == (differences[1], differences[4], far.median)
    assert tuned.differences(tuned.best, metric, 0.99)[1].low is None
    assert tuned.conditions == ["topology.rtt=10 us", "topology.rtt=200 us"]
    assert f"  topology.rtt=10 us: {near}" in tuned.text().splitlines()
    with pytest.raises(qcnlab.ScenarioError, match="has no metric 'drops'"):
        tuned.differences(tuned.best, "drops")


def test_another_search_is_refused(short: qcnlab.Scenario, folder: Path, tmp_path: Path) -> None:
    for changed, words in (
        ({"seed": 6}, "seed: there 5, here 6"),
        ({"reps": 1}, "replications: there 2, here 1"),
        ({"minimize": (), "maximize": "queue_mean_bytes"}, "here maximize queue_mean_bytes"),
        ({"subject_to": ()}, "bounds: there bottleneck_gbps>=2.5, here none"),
        ({"over": {}}, "conditions: there topology.rtt=10 us,200 us, here none"),
        ({"mean": True}, "the mean of the conditions: there no, here yes"),
    ):
        with pytest.raises(qcnlab.FolderError, match=f"holds another search:\n(.|\n)*{words}"):
            search(short, **{"subject_to": "bottleneck_gbps>=2.5", "out": folder} | changed)
    (tmp_path / "mine.txt").write_text("keep")
    with pytest.raises(qcnlab.FolderError, match="is no search's folder and is left as it is"):
        search(short, out=tmp_path)


BAD = {
    "no range": (("--vary", "scheme.cp.w=2"), "one value leaves nothing to search"),
    "a falling range": (("--vary", "scheme.cp.w=8.0..0.5"), "a range rises"),
    "two kinds": (("--vary", "scheme.cp.w=1 us..2 KB"), "quantities of one kind"),
    "a log of zero": (("--vary", "scheme.cp.w=0.0..8.0:log"), "lies above 0"),
    "no key": (("--vary", "0.5..8"), "KEY=LOW..HIGH"),
    "no such key": (("--vary", "scheme.cp.ww=0.5..8.0"), "unknown key 'ww'"),
    "an end that cannot be": (("--vary", "scheme.cp.set_point=1 KB..9 GB"), "override"),
    "a bad bound": (("--vary", "scheme.cp.w=1.0..2.0", "--subject-to", "drops"), "a bound is"),
    "a bound of nan": (
        ("--vary", "scheme.cp.w=1.0..2.0", "--subject-to", "drops=nan"),
        "a finite number",
    ),
    "an infinite bound": (
        ("--vary", "scheme.cp.w=1.0..2.0", "--subject-to", "jain>=-inf"),
        "a finite number",
    ),
    "no such metric": (("--vary", "scheme.cp.w=1.0..2.0", "--minimize", "queue"), "no metric"),
    "twice a key": (("--vary", "scheme.cp.w=1..2", "--vary", "scheme.cp.w=3..4"), "varied twice"),
    "set and searched": (("--vary", "scheme.cp.w=1..2", "-s", "scheme.cp.w=3"), "both set and"),
    "searched over itself": (
        ("--vary", "topology.rtt=1 us..9 us", "--over", "topology.rtt=1 us,2 us"),
        "both searched and a condition",
    ),
    "set over": (
        ("--vary", "scheme.cp.w=1..2", "-s", "topology.rtt=1 us", "--over", "topology.rtt=2 us"),
        "both set and a condition",
    ),
    "a seed": (("--vary", "seed=1..9"), "'seed' cannot be searched"),
    "seeds over": (("--vary", "scheme.cp.w=1..2", "--over", "seed=1,2"), "cannot be a condition"),
    "replications": (("--vary", "replications=1..9"), "--reps"),
    "two ways": (("--vary", "scheme.cp.w=1..2", "--maximize", "drops"), "'drops' is wanted twice"),
    "no cluster": (("--vary", "scheme.cp.w=1.0..2.0", "--on", "x"), "is no cluster"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_searches_are_refused_before_any_run(cli: CommandLine, case: str) -> None:
    arguments, words = BAD[case]
    goal = () if "--minimize" in arguments else ("--minimize", "drops")
    done = cli("tune", HOTSPOT, *SHORT_FLAGS, *goal, *arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert cli.left() == []


def test_bounds_that_no_trial_keeps_are_told_with_the_nearest(
    short: qcnlab.Scenario,
) -> None:
    tuned = search(short, subject_to=["jain>=0", "drops=-5"], trials=3, reps=1)
    assert tuned.front == []
    # Every run drops something, and the trial that drops least exceeds the bound least.
    every = [tuned.baseline, *tuned.trials]
    worst = {trial.number: max(one[0] or 0.0 for one in trial.metrics["drops"]) for trial in every}
    nearest = min(worst, key=lambda number: worst[number])
    name = f"Trial {nearest}" if nearest else "The scenario as it is"
    lines = tuned.text().splitlines()
    assert lines[0].endswith(": minimize queue_mean_bytes, subject to jain>=0, drops=-5")
    told = f"No trial keeps all bounds. {name} comes nearest (drops=-5: {worst[nearest]:,.0f})."
    assert told in lines
    if nearest:
        assert tuned.command(every[nearest]) in lines
    # 15 ms after the hotspot QCN has not recovered.
    never = search(short, subject_to="recovery_ms<=1", trials=1, reps=1)
    told = "The scenario as it is comes nearest (recovery_ms<=1: a run does not have it)."
    assert f"No trial keeps all bounds. {told}" in never.text().splitlines()


def test_trials_that_cannot_be_run_are_told(short: qcnlab.Scenario) -> None:
    # Each value is fine by itself, but a set point lies below the buffer.
    vary = {"scheme.cp.set_point": "100 KB,110 KB", "topology.buffer": "50 KB,60 KB"}
    tuned = search(short, vary=vary, trials=3, reps=1)
    assert tuned.front == [tuned.baseline]
    lines = tuned.text().splitlines()
    at = lines.index("3 trials of 3 cannot be run; trial 1:")
    assert "set point" in "".join(lines[at:])
    assert tuned.to_polars()["refused"].is_null().to_list() == [True, False, False, False]


def test_a_goal_is_needed(cli: CommandLine) -> None:
    done = cli("tune", HOTSPOT, "--vary", "scheme.cp.w=1.0..2.0")
    assert done.returncode == 2
    assert "nothing is wanted" in done.stderr
