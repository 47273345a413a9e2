"""Runs of a sweep on an executor: processes here, a cluster of Dask or Ray, or any other.

A task is a few runs. It carries what is set at its points, never tables; the text of the scenario,
which all tasks need, goes to each worker of a cluster once. A task comes back with the metrics of
its runs. The process that started the sweep hands out tasks and alone writes the journal, so a task
that is lost or comes back twice changes nothing.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from qcnlab import _core
from qcnlab.errors import Error
from qcnlab.files.folders import core_digest
from qcnlab.sweeps.clusters import WORDS, Crew, client_crew, is_cluster, named

if TYPE_CHECKING:
    from collections.abc import Callable

    from qcnlab.sweeps.grid import Grid
    from qcnlab.sweeps.runs import Run, Values

POLL_S = 0.2
"""How often Ctrl-C and new workers are looked for."""
TASK_S = 1.0
"""Runs are put together until a task takes about so long."""
MOST_IN_A_TASK = 256
AHEAD = 2
"""Tasks handed out for each worker: one runs, one waits, so that none is idle."""

Ended = list[tuple["Run", "Values | Exception"]]


@dataclass(frozen=True)
class Work:
    """Runs for one worker.

    Attributes
    ----------
    build : str
        Digest of the core of the process that hands out the work.
    points : dict
        By point, which scenario it changes, and what is set there.
    """

    build: str
    seed: int | None
    points: dict[int, tuple[int, list[str]]]
    runs: tuple[Run, ...]


def work_on(work: Work, sources: tuple[tuple[str, str], ...]) -> tuple[Ended, float]:
    """Do the runs of `work`, one after the other; also return the seconds that they took.

    `sources` has the name and the text of each scenario that points change.

    Raises `Error` if this process has another build of qcnlab.
    """
    if core_digest() != work.build:
        raise Error(
            f"the worker on {socket.gethostname()} has another build of qcnlab; results of two "
            "builds are not put together: install the same wheel there"
        )
    started = time.perf_counter()
    points = sorted(work.points)
    changed = [work.points[point] for point in points]
    cores = [_base(*sources[source]).override(changes) for source, changes in changed]
    tasks = [(points.index(point), replication) for point, replication in work.runs]
    ended: Ended = []

    def collect(batch: list[tuple[int, list[float | None] | Exception]]) -> None:
        ended.extend((work.runs[task], outcome) for task, outcome in batch)

    _core.run_each(cores, tasks, collect, seed=work.seed, jobs=1)
    return [(run, _portable(outcome)) for run, outcome in ended], time.perf_counter() - started


@lru_cache(maxsize=16)
def _base(name: str, text: str) -> _core.Scenario:
    return _core.Scenario.from_json(text, name)


def _portable(outcome: Values | Exception) -> Values | Exception:
    """Return an outcome that can be pickled: what a scheme of the caller's raises may not be."""
    if isinstance(outcome, Exception) and not isinstance(outcome, Error):
        return Error(f"{type(outcome).__name__}: {outcome}")
    return outcome


def check_on(on: object) -> None:
    """Raise `Error` or `TypeError` for what is no executor; `None` is this process."""
    if isinstance(on, str):
        if not is_cluster(on):
            raise Error(f"'{on}' is no cluster: write {WORDS}")
    elif on is not None and not isinstance(on, Executor) and not hasattr(on, "get_executor"):
        raise TypeError(
            f"{on!r} runs nothing: give 'dask', 'ray', 'dask://HOST:PORT', 'ray://HOST:PORT', a "
            "Dask client, or an executor of concurrent.futures"
        )


@contextmanager
def executor(on: object, jobs: int | None) -> Iterator[Crew]:
    """Yield the workers that `on` names or is.

    `on` is the name of a cluster, a client of Dask, or any executor of `concurrent.futures`.
    """
    if isinstance(on, str):
        with named(on, jobs) as crew:
            yield crew
    elif isinstance(on, Executor):
        yield Crew(on, lambda: jobs or int(getattr(on, "_max_workers", 0)) or os.cpu_count() or 1)
    else:
        yield client_crew(on, jobs)


def run_on(
    crew: Crew,
    grid: Grid,
    wanted: Iterator[Run],
    count: int,
    seed: int | None,
    ended: Callable[[Ended], None],
) -> None:
    """Do the `count` runs that are wanted on what `executor` yields.

    `ended` gets each some time after it ends.

    Raises `Error` when the executor fails: its workers are gone, or are of another build.
    """
    left = count
    build, sources = core_digest(), crew.ship(grid.sources())
    under_way: dict[Future[tuple[Ended, float]], int] = {}
    size = 1
    try:
        while left or under_way:
            while left and len(under_way) < AHEAD * crew.workers():
                runs = tuple(islice(wanted, min(size, left)))
                left -= len(runs)
                points = {
                    point: (grid.source_at(point), grid.changes_at(point)) for point, _ in runs
                }
                work = Work(build, seed, points, runs)
                under_way[crew.executor.submit(work_on, work, sources)] = len(runs)
            done, _ = wait(under_way, timeout=POLL_S, return_when=FIRST_COMPLETED)
            # A failure ends the sweep, so what ended beside it is kept first.
            for future in sorted(done, key=_failed):
                size_of = under_way.pop(future)
                outcome, seconds = _result(future)
                ended(outcome)
                fair = max(1, left // (2 * AHEAD * crew.workers()))
                in_time = round(TASK_S * size_of / max(seconds, 1e-6))
                size = max(1, min(in_time, fair, MOST_IN_A_TASK))
    finally:
        for future in under_way:
            future.cancel()


def _failed(future: Future[tuple[Ended, float]]) -> bool:
    return future.cancelled() or future.exception() is not None


def _result(future: Future[tuple[Ended, float]]) -> tuple[Ended, float]:
    try:
        return future.result()
    except Exception as error:
        # Ray's errors are also of the type of what a task raised, which is their cause.
        cause = getattr(error, "cause", error)
        if isinstance(cause, Error):
            raise cause from None
        raise Error(
            f"the executor failed: {type(error).__name__}: {error}; runs that ended are kept"
        ) from error
