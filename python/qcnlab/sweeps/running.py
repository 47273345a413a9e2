"""Run the points of a sweep that are missing; read a sweep back."""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qcnlab import _core, catalogue
from qcnlab.api import Scenario
from qcnlab.errors import Error
from qcnlab.printing.progress import Bar
from qcnlab.printing.text import counted
from qcnlab.sweeps.executors import check_on, executor, run_on
from qcnlab.sweeps.grid import build
from qcnlab.sweeps.manifest import manifest
from qcnlab.sweeps.precision import Precision
from qcnlab.sweeps.result import Sweep, check_metric
from qcnlab.sweeps.runs import Runs
from qcnlab.sweeps.store import Store, read
from qcnlab.values import MOST_JOBS, MOST_REPS, MOST_SEED, within

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from os import PathLike

    from qcnlab.sweeps.clusters import Crew
    from qcnlab.sweeps.grid import Grid
    from qcnlab.sweeps.known import Manifest
    from qcnlab.sweeps.runs import Run, Values

AT_ONCE = 4096
"""So many runs are handed to the core at once; their scenarios are in memory together."""


def sweep(
    scenario: Scenario,
    *,
    vary: Mapping[str, Iterable[object]],
    reps: int | None = None,
    seed: int | None = None,
    jobs: int | None = None,
    out: str | PathLike[str] | None = None,
    fresh: bool = False,
    progress: bool | None = None,
    on: object = None,
    precision: Precision | None = None,
) -> Sweep:
    """Run a scenario at every point of a grid.

    All points are checked before one is run. Replication k meets the same random numbers at every
    point. Traces are not kept; `run` returns those of one point.

    Parameters
    ----------
    scenario : Scenario
        What all points share.
    vary : mapping of str to iterable
        Keys to their values, as `Scenario.with_` takes them; the last key varies fastest.
    reps, seed, jobs
        As in `run`, at each point.
    out : str or path-like, optional
        A folder that keeps each run when it ends. The same call with the same folder runs only what
        is missing, and returns the same table as a sweep that was never stopped. It warns of a
        damaged line and makes its run again. Without `out` nothing is written.
    fresh : bool, default False
        Start the folder over.
    progress : bool, optional
        As in `run`.
    on : executor or client or str, optional
        Where the runs are made: an executor of `concurrent.futures`, a client of Dask, ``"dask"``
        or ``"ray"`` for a cluster of this machine, ``"dask://HOST:PORT"`` or ``"ray://HOST:PORT"``.
        `jobs` is then the number of workers, or of tasks at once. The result is the same to the
        byte.
    precision : Precision, optional
        Instead of `reps`: each point gets replications until its metric is known so well.

    Returns
    -------
    Sweep
        Metrics of every run.

    Raises
    ------
    ScenarioError
        For points that cannot be run, all at once.
    FolderError
        If `out` is the folder of another sweep, or cannot be written.
    ValueError
        For a number out of range.
    Error
        As `run` does, with the point, once all other runs are done.

    Examples
    --------
    >>> import qcnlab
    >>> scenario = qcnlab.load("one-source-into-9g-rtt10us").with_("duration=10 ms", "warmup=1 ms")
    >>> vary = {"scheme.name": ["none", "qcn"], "topology.rtt": ["10 us", "40 us"]}
    >>> qcnlab.sweep(scenario, vary=vary, reps=1).to_polars().shape[0]
    4
    """
    reps = within("reps", reps, 1, MOST_REPS)
    if precision is not None and reps is not None:
        raise ValueError("a precision has its own numbers of replications: reps cannot be given")
    jobs = within("jobs", jobs, 1, MOST_JOBS)
    seed = within("seed", seed, 0, MOST_SEED)
    if not isinstance(scenario, Scenario):
        raise TypeError(f"{scenario!r} is not a Scenario; qcnlab.load(...) returns one")
    check_on(on)
    grid = build(scenario, (), vary, seeded=seed is not None, progress=progress)
    known = describe(grid, precision or reps, seed, "qcnlab.sweep with the same arguments")
    if out is None:
        return perform(grid, known, seed, None, jobs=jobs, progress=progress, on=on)
    store = Store(Path(out), known, fresh=fresh)
    result = perform(grid, known, seed, store, jobs=jobs, progress=progress, on=on)
    for note in store.notes:
        warnings.warn(f"'{out}': {note}", stacklevel=2)
    return result


def open_sweep(folder: str | PathLike[str]) -> Sweep:
    """Read a finished sweep's folder back.

    Parameters
    ----------
    folder : str or path-like
        A folder that `sweep` or ``qcnlab sweep`` wrote.

    Returns
    -------
    Sweep
        Equal to the one that was saved.

    Raises
    ------
    FolderError
        If it is no sweep's folder, or runs are missing; the message says how to go on.

    Examples
    --------
    >>> import qcnlab
    >>> qcnlab.open_sweep("nowhere")
    Traceback (most recent call last):
        ...
    qcnlab.errors.FolderError: 'nowhere' is not a sweep's folder: it has no manifest (sweep.json)
    """
    return Sweep(*read(Path(folder)))


def describe(grid: Grid, reps: int | Precision | None, seed: int | None, command: str) -> Manifest:
    """Return the manifest of a sweep; `command` continues it."""
    names = [entry.name for entry in catalogue.metrics()]
    if isinstance(reps, Precision):
        check_metric(reps.metric)
        within("most", reps.most, 2, MOST_REPS)
    return manifest(grid, reps or grid.scenario(0).replications, seed, names, command)


def perform(
    grid: Grid,
    known: Manifest,
    seed: int | None,
    store: Store | None,
    *,
    jobs: int | None,
    progress: bool | None,
    on: object = None,
) -> Sweep:
    """Run what is missing and keep it in `store`, if there is one, with tables and figure."""
    with nullcontext() if store is None else store.opened():
        runs = Runs(known) if store is None else store.runs
        count, wanted = runs.missing(runs.parts)
        with nullcontext() if on is None or not count else executor(on, jobs) as crew:
            for parts in runs.stretches:
                count, wanted = runs.missing(parts)
                # With a precision what has ended says whether more is wanted.
                while count:
                    _run(
                        grid, wanted, count, seed, runs, store,
                        jobs=jobs, progress=progress, crew=crew,
                    )  # fmt: skip
                    count, wanted = runs.missing(parts)
                if store is not None:
                    store.settle(parts)
        result = Sweep(known, runs)
        if store is not None:
            store.finish()
            result.write_into(store.folder)
    return result


def _run(
    grid: Grid,
    wanted: Iterator[Run],
    count: int,
    seed: int | None,
    runs: Runs,
    store: Store | None,
    *,
    jobs: int | None,
    progress: bool | None,
    crew: Crew | None,
) -> None:
    failed: dict[Run, Exception] = {}

    def ended(batch: Iterable[tuple[Run, Values | Exception]]) -> None:
        whole: list[tuple[Run, Values]] = []
        for run, outcome in batch:
            if isinstance(outcome, Exception):
                failed[run] = outcome
            elif run not in runs:
                whole.append((run, outcome))
        if store is not None:
            store.add(whole)
        else:
            for run, values in whole:
                runs.add(run, values)

    with Bar(f"{count} runs", progress) as bar:
        if crew is None:
            _run_here(grid, wanted, count, seed, ended, jobs, bar)
        else:
            have = len(runs)

            def told(batch: Iterable[tuple[Run, Values | Exception]]) -> None:
                ended(batch)
                bar((len(runs) - have + len(failed)) / count)

            run_on(crew, grid, wanted, count, seed, told)
    if failed:
        raise _at_its_point(grid, failed)


def _run_here(
    grid: Grid,
    wanted: Iterator[Run],
    count: int,
    seed: int | None,
    ended: Callable[[Iterable[tuple[Run, Values | Exception]]], None],
    jobs: int | None,
    bar: Bar,
) -> None:
    """Do runs on the threads of this process."""
    for start in range(0, count, AT_ONCE):
        part = list(islice(wanted, AT_ONCE))
        points = sorted({point for point, _ in part})
        at = {point: index for index, point in enumerate(points)}
        cores = [grid.scenario(point)._core for point in points]
        tasks = [(at[point], replication) for point, replication in part]

        def hand_on(
            batch: list[tuple[int, list[float | None] | Exception]], part: list[Run] = part
        ) -> None:
            ended((part[task], outcome) for task, outcome in batch)

        def tell(share: float, start: int = start, size: int = len(part)) -> None:
            bar((start + share * size) / count)

        _core.run_each(cores, tasks, hand_on, seed=seed, jobs=jobs, progress=tell)


def _at_its_point(grid: Grid, failed: Mapping[Run, Exception]) -> Exception:
    """Return the first failure with its point and the number of failures."""
    first = min(failed)
    error = failed[first]
    if not isinstance(error, Error):
        return error
    others = len(failed) - 1
    more = f"\n({counted(others, 'other run')} failed, too)" if others else ""
    told: Any = type(error)(f"at {grid.label(first[0])}: {str(error).rstrip()}{more}")
    told.__dict__.update(vars(error))
    told.__cause__ = error.__cause__
    return told if isinstance(told, Exception) else error
