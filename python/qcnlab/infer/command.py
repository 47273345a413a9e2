"""`qcnlab infer`: what the command does, apart from its options."""

from __future__ import annotations

import shlex
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from qcnlab.book.reader import folder, load
from qcnlab.book.toml_table import BookError
from qcnlab.files.outputs import READING, writable
from qcnlab.infer import space as spaces
from qcnlab.infer.progress import Line
from qcnlab.infer.report import Report
from qcnlab.infer.scoring import Judge
from qcnlab.infer.searching import ROUNDS, Plan, Search
from qcnlab.printing.text import counted
from qcnlab.sweeps.executors import check_on, executor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qcnlab.infer.space import Set, Space

CACHE = Path("runs/infer")
"""Where a search keeps what it has judged and run."""


@dataclass(frozen=True)
class Options:
    """What the command line says."""

    wanted: list[str]
    dimensions: list[str]
    held: list[str]
    plan: Plan
    jobs: int | None
    on: str | None
    dry_run: bool
    out: Path | None
    page: Path | None
    book: Path | None


def infer(options: Options) -> tuple[dict[str, object], str]:
    """Search; return JSON and text. Raises `BookError`, `FolderError`, `LawViolation`, `Error`."""
    check_on(options.on)
    if options.page is not None:
        writable(options.page, READING)
    book_folder = folder(options.book)
    whole = load(options.book)
    chosen = whole.only(tuple(options.wanted))
    if not any(row.said for chapter in chosen.chapters for row in chapter.rows):
        raise BookError(
            f"{', '.join(options.wanted)}: no row has a claim, so nothing can be inferred"
        )
    space = spaces.read(book_folder, whole, options.wanted)
    if options.dimensions:
        space = space.only(options.dimensions)
    held = dict(_held(space, text) for text in options.held)
    cache = options.out or CACHE / "-".join(options.wanted)
    with nullcontext() if options.on is None else executor(options.on, options.jobs) as crew:
        judge = Judge(chosen, space, cache, options.jobs, crew)
        if options.dry_run:
            return _dry(judge, options, held)
        with Line() as line:
            line.expect(_expected(judge, options.plan, held).runs)
            judge.progress = line.moved
            search = Search(judge, options.plan, held, line.said, line.done)
            outcome = search.run()
    report = Report(options.wanted, judge, outcome, judge.runs)
    words = report.text()
    if options.page is not None:
        options.page.write_text(report.markdown(_command(options)), encoding="utf-8")
        words += f"\n\n{options.page}"
    return report.tree(), words


def _held(space: Space, text: str) -> tuple[int, int]:
    name, equals, value = text.partition("=")
    if not equals:
        raise BookError(f"'{text}' sets nothing: write DIMENSION=VALUE")
    index = space.find(name.strip())
    return index, space.value(index, value.strip())


def _command(options: Options) -> str:
    plan = options.plan
    words = ["qcnlab", "infer", *options.wanted]
    for name in options.dimensions:
        words += ["--dimension", name]
    for each in options.held:
        words += ["--hold", each]
    words += ["--reps", str(plan.replications), "--final-reps", str(plan.final)]
    words += ["--starts", str(plan.starts), "--pairs", str(plan.pairs)]
    words += ["--finalists", str(plan.finalists), "--seed", str(plan.seed)]
    return shlex.join(words)


def _singles(space: Space, held: dict[int, int]) -> Iterator[Set]:
    start = tuple(held.get(index, 0) for index in range(len(space.dimensions)))
    yield start
    for index, dimension in enumerate(space.dimensions):
        if index not in held:
            for value in range(1, len(dimension.values)):
                yield (*start[:index], value, *start[index + 1 :])


class Expected(NamedTuple):
    """What a search takes: the first pass with its sets, and the whole at most.

    Attributes
    ----------
    sets, first, runs : int
        Sets and runs of the first pass, and runs of the whole.
    first_s, seconds : float
        The same in seconds of one core.
    """

    sets: int
    first: int
    first_s: float
    runs: int
    seconds: float


def _expected(judge: Judge, plan: Plan, held: dict[int, int]) -> Expected:
    singles = list(_singles(judge.space, held))
    first, first_s = judge.missing(singles, plan.replications)
    one, one_s = judge.missing(singles[:1], plan.final)
    # Each round changes at most what the first pass did; a finalist runs all cases again.
    rounds = 1 + (ROUNDS - 1) // 2 + plan.starts * 2
    each, each_s = first / max(1, len(singles)), first_s / max(1, len(singles))
    runs = round(first * rounds + plan.pairs * each + (plan.finalists + 1) * one)
    seconds = first_s * rounds + plan.pairs * each_s + (plan.finalists + 1) * one_s
    return Expected(len(singles), first, first_s, runs, seconds)


def _dry(judge: Judge, options: Options, held: dict[int, int]) -> tuple[dict[str, object], str]:
    """Say how many runs the search takes, and how long: the first pass, and the whole at most."""
    space = judge.space
    expected = _expected(judge, options.plan, held)
    first, first_s, most, most_s = expected.first, expected.first_s, expected.runs, expected.seconds
    workers = options.jobs or _workers(judge)
    tree = {
        "of": options.wanted,
        "dimensions": len(space.dimensions),
        "sets": space.size,
        "rows": len(judge.rows),
        "first_pass": {"sets": expected.sets, "runs": first, "seconds": round(first_s / workers)},
        "about": {"runs": most, "seconds": round(most_s / workers)},
        "timed": judge.timed,
    }
    guess = "as timed here" if judge.timed else "a rough guess: nothing was timed yet"
    words = "\n".join(
        [
            f"{', '.join(options.wanted)}: {counted(len(judge.rows), 'row')} with claims, "
            f"{counted(len(space.dimensions), 'dimension')}, {space.size:,} sets",
            f"first pass, each value alone: {counted(expected.sets, 'set')}, "
            f"{counted(first, 'run')}, "
            f"about {_long(first_s / workers)} on {counted(workers, 'worker')} ({guess})",
            f"the whole search: about {counted(most, 'run')}, {_long(most_s / workers)}",
        ]
    )
    return tree, words


def _workers(judge: Judge) -> int:
    import os

    return judge.crew.workers() if judge.crew else os.cpu_count() or 1


def _long(seconds: float) -> str:
    if seconds < 100:
        return f"{max(1, round(seconds))} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 100 else f"{minutes / 60:.1f} h"
