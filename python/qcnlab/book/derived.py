"""The entries of `book/claims`: what a reviewer derived from each deck or paper alone."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from qcnlab.book.entries import Book

HEADING = re.compile(r"^### (?P<id>\d{3}-\d+-\w+) · (?P<title>.*)$", re.MULTILINE)
STATUS = re.compile(r"Status: (.+?)\.?$", re.MULTILINE)
QUOTE = re.compile(r"^- Quote: (.+)$", re.MULTILINE)
CLAIM = "claim"


@dataclass(frozen=True)
class Entry:
    """One entry."""

    id: str
    """Chapter, slide and letter: `001-16-a`."""
    title: str
    status: str
    quote: str
    """The slide's words; empty where it has none."""


def read(book_folder: Path, chapter: str) -> list[Entry]:
    """Return the entries of a chapter; none if the book has no such file."""
    path = book_folder / "claims" / f"{chapter}.md"
    if not path.exists():
        return []
    text = path.read_text(encoding="utf-8")
    headings = list(HEADING.finditer(text))
    ends = [*(each.start() for each in headings[1:]), len(text)]
    return [
        _entry(heading, text[heading.end() : end])
        for heading, end in zip(headings, ends, strict=True)
    ]


def _entry(heading: re.Match[str], body: str) -> Entry:
    status, quote = STATUS.search(body), QUOTE.search(body)
    return Entry(
        heading["id"],
        heading["title"].rpartition(" · ")[0] or heading["title"],
        status[1] if status else "",
        quote[1].strip() if quote else "",
    )


def without_row(book: Book, book_folder: Path) -> dict[str, list[Entry]]:
    """Return, by chapter, the entries that are claims and that no row of the book tests."""
    named = {
        claim.entry for chapter in book.chapters for row in chapter.rows for claim in row.claims
    }
    return {
        chapter.name: [
            entry
            for entry in read(book_folder, chapter.name)
            if entry.status.startswith(CLAIM) and entry.id not in named
        ]
        for chapter in book.chapters
    }
