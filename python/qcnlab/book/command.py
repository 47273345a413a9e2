"""`qcnlab validate`: run the book and its controls, print them, say what is not borne out."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from qcnlab.book import evidence, provenance, trials
from qcnlab.book import state as states
from qcnlab.book.entries import UNRUN
from qcnlab.book.reader import folder, load
from qcnlab.book.row_text import row_text
from qcnlab.book.runner import CACHE, results
from qcnlab.book.tables import as_json, text_tables
from qcnlab.book.verdicts import judge, judge_same
from qcnlab.files.outputs import writable_pages
from qcnlab.printing.text import counted

if TYPE_CHECKING:
    from collections.abc import Callable

    from qcnlab.book.entries import Book
    from qcnlab.book.runner import CaseResult
    from qcnlab.book.verdicts import Judged

    Run = Callable[[Book], dict[str, dict[str, CaseResult]]]

SINGLE = 3
"""So many rows are explained one by one, and not in a table."""


def validate(
    wanted: list[str],
    *,
    quick: bool = False,
    controls: bool = False,
    readings: bool = False,
    laws: bool = False,
    state: bool = False,
    finished: bool = False,
    jobs: int | None = None,
    cache: Path | None = None,
    pages: Path | None = None,
    book: Path | None = None,
) -> tuple[dict[str, object], str, bool]:
    """Run rows or chapters; return JSON, text, and whether the runs bear out every verdict.

    `controls` runs every row without congestion control and with the compared cases made equal,
    too, and writes `evidence.json` into the book's folder; the rows that hold there without
    saying why are listed and make the answer false. `readings` and `laws` run rows with each of
    `readings.toml` and `laws.toml`, and write `readings.json` and `laws.json`. `state` writes
    into the book's rows the verdicts that its evidence has, and drops what readings and laws
    gave of rows that have changed since. `finished` runs nothing: rows with a case that has not
    been run are "not run yet". `cache` keeps finished cases (`runs/book`); `pages` is a folder
    for Markdown and figures. Raises `BookError`, `FolderError`, `LawViolation`.
    """
    if pages is not None:
        writable_pages(pages)
    chosen = load(book).only(tuple(wanted), quick=quick)
    book_folder = folder(book)
    recording = controls or readings or laws
    build = provenance.build(book_folder) if recording else None
    run = partial(results, quick=quick, jobs=jobs, folder=cache or CACHE, finished=finished)
    case_results = run(chosen)
    judged = judge(chosen, case_results)
    if 0 < len(judged) <= SINGLE:
        words = "\n\n".join(map(row_text, judged))
    else:
        words = text_tables(chosen, judged)
    fine = all(each.borne_out or each.row.verdict == UNRUN for each in judged)
    if build is not None and controls:
        rows = _controls(chosen, judged, run)
        path = evidence.write(book_folder, chosen, rows, build)
        faults = evidence.faults(chosen, evidence.read(book_folder))
        words += "\n\n" + "\n".join([*faults, str(path)])
        fine = fine and not faults
    for kind, asked in ((trials.READINGS, readings), (trials.LAWS, laws)):
        if build is not None and asked:
            path = trials.run(kind, chosen, book_folder, build, run)
            words += f"\n\n{path}"
    if state:
        written = states.write(chosen, evidence.read(book_folder))
        whole = load(book)
        for kind in (trials.READINGS, trials.LAWS):
            trials.prune(kind, whole, book_folder)
        words += f"\n\n{counted(len(written), 'row')} restated: {', '.join(written) or 'none'}"
        chosen = whole.only(tuple(wanted), quick=quick)
        judged = judge(chosen, case_results)
        fine = all(each.borne_out or each.row.verdict == UNRUN for each in judged)
    if pages is not None:
        from qcnlab.book.pages import write

        paths = write(chosen, judged, case_results, pages, book_folder)
        words += "\n\n" + "\n".join(str(path) for path in paths)
    return as_json(judged), words, fine


def _controls(chosen: Book, judged: list[Judged], run: Run) -> dict[str, evidence.RowEvidence]:
    """Judge rows without control, and with what they compare made equal."""
    off = chosen.without_control()
    without = judge(off, run(off))
    equal = judge_same(chosen, run(chosen))
    return evidence.gather(chosen, judged, without, equal)
