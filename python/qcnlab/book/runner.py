"""Runs the cases of a book, each once, and keeps what they gave.

A finished case is a folder named after the scenario's hash, the seed, the replications and the
compiled core; it is written under another name and renamed, so one that is there is complete. The
next run takes it from there. Another core, scenario or seed is another folder.
"""

from __future__ import annotations

import shutil
from concurrent.futures import FIRST_COMPLETED, wait
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from qcnlab import _core
from qcnlab.book.cases import SEED
from qcnlab.book.models import MODELS
from qcnlab.errors import Error, FolderError
from qcnlab.files.folders import NewFolder, core_digest, write_json
from qcnlab.printing.progress import Bar
from qcnlab.results.result import Result, from_outcome, open_run
from qcnlab.runs.run_files import write_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from concurrent.futures import Future

    from qcnlab.api import Scenario
    from qcnlab.book.cases import Case
    from qcnlab.book.entries import Book
    from qcnlab.sweeps.clusters import Crew

CACHE = Path("runs/book")
"""Where finished cases are kept."""
TABLES = ("queues", "throughput", "drops")
"""The tables of a case that are kept, beside those it names itself."""
QUICK_REPLICATIONS = 20
BATCH = 4
AHEAD = 2
"""Cases handed out for each worker of a cluster: one runs, one waits."""


@dataclass(frozen=True)
class CaseResult:
    """The result of a case, or the numbers of its model."""

    case: Case
    result: Result | None
    numbers: dict[str, float]
    most: int | None = None
    """How many replications, from the first, count; `None`: all."""


@dataclass(frozen=True)
class _Task:
    scenario: Scenario
    replications: int
    folder: Path
    tables: tuple[str, ...]

    @property
    def cost(self) -> float:
        """A guess at the work, in any unit: seconds of traffic of each sender."""
        return self.replications * self.scenario._core.duration_s


def results(
    book: Book,
    *,
    quick: bool = False,
    seed: int = SEED,
    jobs: int | None = None,
    folder: Path = CACHE,
    progress: bool | None = None,
    finished: bool = False,
    crew: Crew | None = None,
) -> dict[str, dict[str, CaseResult]]:
    """Run what is missing of a book's cases; give what each case gave, by chapter and name.

    `finished`: run nothing, and leave out what is missing.

    All cases have one `seed`, so cases that differ only in their scheme meet the same random
    numbers. `quick`: at most 20 replications of each. `folder` keeps finished cases. `crew`: the
    workers of a cluster, in place of this machine's cores. Raises `LawViolation`, and `FolderError`
    if `folder` cannot be written.
    """
    tasks: dict[Path, _Task] = {}
    folders: dict[tuple[str, str], Path] = {}
    for chapter in book.chapters:
        for name in dict.fromkeys(name for row in chapter.rows for name in row.cases):
            case = chapter.cases[name]
            if case.model:
                continue
            count = min(case.replications, QUICK_REPLICATIONS) if quick else case.replications
            task = _task(case, count, seed, folder)
            folders[chapter.name, name] = task.folder
            tasks.setdefault(task.folder, task)
    missing = {path for path in tasks if _read(path) is None}
    if not finished:
        wanted = [tasks[path] for path in tasks if path in missing]
        if wanted:
            _make(folder)
        if crew is None:
            _run(wanted, seed, jobs, progress)
        else:
            _run_on(crew, wanted, seed)
        missing = set()
    return {
        chapter.name: {
            name: _case_result(chapter.cases[name], folders.get((chapter.name, name)))
            for row in chapter.rows
            for name in row.cases
            if folders.get((chapter.name, name)) not in missing
        }
        for chapter in book.chapters
    }


def _make(folder: Path) -> None:
    """Make the folder of cases before any runs, so that none is lost for want of it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FolderError(f"cannot write the folder '{folder}': {error.strerror}") from error


def is_kept(case: Case, folder: Path, seed: int = SEED) -> bool:
    """Return whether a case has been run and is kept in `folder`."""
    return _read(_task(case, case.replications, seed, folder).folder) is not None


def _task(case: Case, count: int, seed: int, folder: Path) -> _Task:
    scenario = case.build()
    name = f"{scenario.hash[:16]}-seed{seed}-reps{count}-{core_digest()[:8]}"
    return _Task(scenario, count, folder / "-".join([name, *case.keep]), (*TABLES, *case.keep))


def _case_result(case: Case, folder: Path | None) -> CaseResult:
    if folder is None:
        return CaseResult(case, None, MODELS[case.model](case.changes))
    result = _read(folder)
    if result is None:
        raise FolderError(f"'{folder}' was removed while the book was run")
    return CaseResult(case, result, {})


def _read(folder: Path) -> Result | None:
    try:
        return _opened(folder, (folder / "meta.json").stat().st_mtime_ns)
    except (FolderError, OSError):
        return None


@lru_cache(maxsize=4096)
def _opened(folder: Path, _written_ns: int) -> Result:
    """Open a case once, so that its traces are read once."""
    return open_run(folder)


def forget() -> None:
    """Let go of all cases that were read, with their traces: of thousands they fill the memory."""
    _opened.cache_clear()


def _run(tasks: Sequence[_Task], seed: int, jobs: int | None, progress: bool | None) -> None:
    total = sum(task.cost for task in tasks)
    done = 0.0
    with Bar(f"{len(tasks)} cases", progress) as bar:
        for batch in _batches(tasks):
            cost = sum(task.cost for task in batch)
            start, share = done / total, cost / total
            for task, result in _together(batch, seed, jobs, partial(_move, bar, start, share)):
                _keep(result, task)
            done += cost


def _run_on(crew: Crew, tasks: Sequence[_Task], seed: int) -> None:
    """Run cases on the workers of a cluster, each as one task; keep them as they come."""
    build = core_digest()
    left = iter(tasks)
    under_way: dict[Future[Result], _Task] = {}
    while True:
        for task in islice(left, max(1, AHEAD * crew.workers()) - len(under_way)):
            future = crew.executor.submit(_elsewhere, task, seed, build)
            under_way[future] = task
        if not under_way:
            return
        done, _ = wait(under_way, return_when=FIRST_COMPLETED)
        for future in done:
            _keep(future.result(), under_way.pop(future))


def _elsewhere(task: _Task, seed: int, build: str) -> Result:
    """Run a case on a worker. Raises `Error` if it has another build of qcnlab."""
    if core_digest() != build:
        raise Error("a worker has another build of qcnlab: install the same wheel there")
    ((_, result),) = _together([task], seed, 1, _nothing)
    return result


def _nothing(_fraction: float, _messages: int, _of: int) -> None:
    """Move no bar."""


def _move(bar: Bar, start: float, share: float, fraction: float, messages: int, of: int) -> None:
    """Move a bar by one batch of several; the messages of one batch are not those of all."""
    bar(start + share * fraction)


def _batches(tasks: Sequence[_Task]) -> Iterable[list[_Task]]:
    by_count: dict[int, list[_Task]] = {}
    for task in tasks:
        by_count.setdefault(task.replications, []).append(task)
    for group in by_count.values():
        yield from (group[start : start + BATCH] for start in range(0, len(group), BATCH))


def _together(
    batch: list[_Task], seed: int, jobs: int | None, progress: Callable[[float, int, int], None]
) -> Iterable[tuple[_Task, Result]]:
    outcomes = _core.run(
        [task.scenario._core for task in batch],
        seed=seed,
        replications=batch[0].replications,
        jobs=jobs,
        progress=progress,
    )
    for task, outcome in zip(batch, outcomes, strict=True):
        yield task, from_outcome(outcome, 0.0)


def _keep(result: Result, task: _Task) -> None:
    if task.folder.exists():
        shutil.rmtree(task.folder)
    new = NewFolder(task.folder)
    with new:
        (new.path / "config.toml").write_text(result.config, encoding="utf-8")
        write_json(new.path / "summary.json", result.summary.to_dict())
        for name in task.tables:
            write_table(new.path / f"{name}.parquet", result.table(name))
        write_json(new.path / "meta.json", {**result.meta, "wall_s": None})
