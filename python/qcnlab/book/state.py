"""Write the verdicts that the runs gave into the book's files; what a row said before stays."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from qcnlab.book import evidence
from qcnlab.book.entries import UNRUN

if TYPE_CHECKING:
    from pathlib import Path

    from qcnlab.book.entries import Book, Row
    from qcnlab.book.evidence import Evidence

ROW = re.compile(r"(?m)^(?=\[\[row\]\])")
VERDICT = re.compile(r'(?m)^verdict = "[^"\n]*"\n')
EARLIER = re.compile(r"(?m)^earlier = (\[.*\])\n")


def write(book: Book, recorded: Evidence) -> list[str]:
    """State in each row of `book` what its last run gave; return the rows that say something else.

    A row that has not been run since its claims changed stays as it is. The verdict before is kept
    with the day and commit of the run that ended it.
    """
    changed: dict[Path, dict[str, tuple[Row, str]]] = {}
    for chapter in book.chapters:
        for row in chapter.rows:
            verdict = evidence.verdict(chapter, row, recorded)
            if verdict not in (row.verdict, UNRUN):
                changed.setdefault(chapter.path, {})[row.id] = (row, verdict)
    for path, rows in changed.items():
        parts = ROW.split(path.read_text(encoding="utf-8"))
        path.write_text("".join(_part(part, rows, recorded) for part in parts), encoding="utf-8")
    return [row for rows in changed.values() for row in rows]


def _part(part: str, rows: dict[str, tuple[Row, str]], recorded: Evidence) -> str:
    number = re.search(r'(?m)^id = "([^"\n]+)"', part)
    if number is None or number[1] not in rows:
        return part
    row, verdict = rows[number[1]]
    run = next(run for run in recorded.runs if row.id in run.rows)
    earlier = [*row.earlier, f"{row.verdict} until {run.date}, commit {run.commit}"]
    part = EARLIER.sub("", part)
    said = f'verdict = "{verdict}"\nearlier = {json.dumps(earlier, ensure_ascii=False)}\n'
    return VERDICT.sub(lambda _: said, part, count=1)
