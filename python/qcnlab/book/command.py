"""`qcnlab validate`: run the book, print it, say whether what should hold holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from qcnlab.book.entries import load
from qcnlab.book.runner import CACHE, results
from qcnlab.book.tables import as_json, text_tables
from qcnlab.book.verdicts import judge


def validate(
    wanted: list[str],
    *,
    quick: bool = False,
    jobs: int | None = None,
    cache: Path | None = None,
    pages: Path | None = None,
    book: Path | None = None,
) -> tuple[dict[str, Any], str, bool]:
    """Run rows or decks; give JSON, text, and whether every row that should hold does.

    `cache` keeps finished cases (`runs/book`); `pages` is a folder for Markdown and figures.
    Raises `BookError`, `FolderError`, `LawViolation`.
    """
    chosen = load(book).only(tuple(wanted), quick=quick)
    found = results(chosen, quick=quick, jobs=jobs, folder=cache or CACHE)
    judged = judge(chosen, found)
    words = text_tables(chosen, judged)
    if pages is not None:
        from qcnlab.book.pages import write

        paths = write(chosen, judged, found, pages)
        words += "\n\n" + "\n".join(str(path) for path in paths)
    return as_json(judged), words, not any(each.failed for each in judged)
