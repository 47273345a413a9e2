"""`qcnlab validate`: run the book and its controls, print them, say what is not borne out."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qcnlab.book import evidence, laws
from qcnlab.book.entries import UNRUN
from qcnlab.book.reader import folder, load
from qcnlab.book.runner import CACHE, results
from qcnlab.book.tables import as_json, text_tables
from qcnlab.book.verdicts import judge, judge_same

if TYPE_CHECKING:
    from collections.abc import Callable

    from qcnlab.book.entries import Book
    from qcnlab.book.runner import CaseResult
    from qcnlab.book.verdicts import Judged

    Run = Callable[[Book], dict[str, dict[str, CaseResult]]]


def validate(
    wanted: list[str],
    *,
    quick: bool = False,
    controls: bool = False,
    finished: bool = False,
    jobs: int | None = None,
    cache: Path | None = None,
    pages: Path | None = None,
    book: Path | None = None,
) -> tuple[dict[str, Any], str, bool]:
    """Run rows or decks; return JSON, text, and whether the runs bear out every verdict.

    `controls` runs every row without congestion control and with the compared cases made equal,
    too, and writes `evidence.json` into the book's folder; the rows that hold there without saying
    why are listed and make the answer false. `finished` runs nothing: rows with a case that has not
    been run are "not run yet". `cache` keeps finished cases (`runs/book`); `pages` is
    a folder for Markdown and figures. Raises `BookError`, `FolderError`, `LawViolation`.
    """
    chosen = load(book).only(tuple(wanted), quick=quick)
    run = partial(results, jobs=jobs, folder=cache or CACHE, finished=finished)
    case_results = run(chosen, quick=quick)
    judged = judge(chosen, case_results)
    words = text_tables(chosen, judged)
    fine = all(each.borne_out or each.row.verdict == UNRUN for each in judged)
    if controls:
        rows = _controls(chosen, judged, run)
        book_folder = folder(book)
        path = evidence.write(book_folder, chosen, rows)
        faults = evidence.faults(chosen, evidence.read(book_folder))
        words += "\n\n" + "\n".join([*faults, str(path)])
        fine = fine and not faults
    if pages is not None:
        from qcnlab.book.pages import write

        book_folder = folder(book)
        recorded = evidence.read(book_folder)
        paths = write(chosen, judged, case_results, pages, recorded, laws.read(book_folder))
        words += "\n\n" + "\n".join(str(path) for path in paths)
    return as_json(judged), words, fine


def _controls(chosen: Book, judged: list[Judged], run: Run) -> dict[str, evidence.RowEvidence]:
    """Judge rows without control, and with what they compare made equal."""
    off = chosen.without_control()
    without = judge(off, run(off))
    equal = judge_same(chosen, run(chosen))
    return evidence.gather(chosen, judged, without, equal)
