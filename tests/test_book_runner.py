"""The book's runner: batches, its bar, the folders that it keeps, quick runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import qcnlab
from made_up_book import CASE, book, claim, row
from qcnlab.book import models, runner


def task(count: int, seconds: float = 1.0) -> runner._Task:
    scenario: Any = SimpleNamespace(_core=SimpleNamespace(duration_s=seconds))
    return runner._Task(scenario, count, Path(f"{count}-{seconds}"), ())


def test_batches_have_four_cases_of_as_many_replications() -> None:
    tasks = [task(3), *(task(5) for _ in range(6)), task(3)]
    assert [[each.replications for each in batch] for batch in runner._batches(tasks)] == [
        [3, 3], [5, 5, 5, 5], [5, 5],
    ]  # fmt: skip
    assert task(3, 2.0).cost == 6


def test_the_bar_moves_by_the_share_of_what_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """Costs of 4 and 12: the first batch ends at a quarter."""
    at: list[float] = []

    class Bar:
        def __init__(self, *rest: Any) -> None:
            pass

        def __enter__(self) -> Any:
            return at.append

        def __exit__(self, *rest: Any) -> None:
            pass

    def together(batch: Any, seed: int, jobs: Any, progress: Any) -> Any:
        for fraction in (0.5, 1.0):
            progress(fraction, 0, 0)
        return [(each, None) for each in batch]

    kept: list[Any] = []
    monkeypatch.setattr(runner, "Bar", Bar)
    monkeypatch.setattr(runner, "_together", together)
    monkeypatch.setattr(runner, "_keep", lambda result, of: kept.append(of))
    tasks = [task(2, 2.0), task(4, 1.0), task(4, 2.0)]
    runner._run(tasks, 1, None, False)
    assert at == pytest.approx([0.125, 0.25, 0.625, 1.0])
    assert kept == tasks


def test_a_case_is_kept_by_its_scenario_seed_replications_and_tables(tmp_path: Path) -> None:
    case = replace(CASE, keep=("rates",))
    plain = runner._task(CASE, 3, 1, tmp_path)
    assert plain.tables == ("queues", "throughput", "drops")
    assert runner._task(case, 3, 1, tmp_path).tables == (*plain.tables, "rates")
    hash_, seed, reps, core = plain.folder.name.split("-")
    assert (len(hash_), seed, reps, len(core)) == (16, "seed1", "reps3", 8)
    assert runner._task(case, 3, 1, tmp_path).folder.name == plain.folder.name + "-rates"


def test_quick_runs_have_twenty_replications_at_most(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    monkeypatch.setattr(
        runner, "_run", lambda tasks, *rest: asked.extend(t.replications for t in tasks)
    )
    monkeypatch.setattr(runner, "_case_result", lambda case, folder: case.name)
    whole = book(
        row("9.1", claim(), claim(case="b"), claim(case="m")), a=CASE,
        b=replace(CASE, name="b", replications=30),
        m=replace(CASE, name="m", model="parking_lot", changes=()),
    )  # fmt: skip
    results: Any = runner.results(whole, folder=tmp_path)
    assert results == {"deck009": {"a": "a", "b": "b", "m": "m"}}
    runner.results(whole, folder=tmp_path, quick=True)
    assert asked == [10, 30, 10, 20]
    # Of finished cases nothing is run, and what is missing is left out.
    results = runner.results(whole, folder=tmp_path, finished=True)
    assert results == {"deck009": {"m": "m"}}
    assert len(asked) == 4


def test_a_model_gives_numbers_and_a_folder_a_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = replace(CASE, name="m", model="twice", changes=("x=2",))
    monkeypatch.setitem(models.MODELS, "twice", lambda changes: {"n": 2.0 * len(changes)})
    told = runner._case_result(model, None)
    assert (told.case, told.result, told.numbers, told.most) == (model, None, {"n": 2.0}, None)
    known: Any = object()
    monkeypatch.setattr(runner, "_read", lambda folder: known)
    told = runner._case_result(CASE, tmp_path)
    assert (told.case, told.result, told.numbers) == (CASE, known, {})
    monkeypatch.setattr(runner, "_read", lambda folder: None)
    with pytest.raises(qcnlab.FolderError, match="was removed while the book was run"):
        runner._case_result(CASE, tmp_path)
