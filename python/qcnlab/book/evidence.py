"""What the last whole run of the book and of its controls gave: `book/evidence.json`.

`qcnlab validate --controls` writes it. The book's test reads it, so that a claim that holds without
control, a verdict that its runs do not bear out and a claim changed since are refused at once.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from qcnlab.book import provenance
from qcnlab.book.entries import MISSED, NUMBER, ORDER
from qcnlab.book.toml_table import BookError
from qcnlab.book.words import PAIRED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from qcnlab.book.entries import Book, Row
    from qcnlab.book.provenance import Build
    from qcnlab.book.verdicts import Judged

FILE = "evidence.json"


@dataclass(frozen=True)
class RowEvidence:
    """What the runs of one row gave."""

    claims: str
    """Fingerprint of the claims and cases that were run."""
    verdict: str
    without_control: bool | None
    """Whether every claim holds without congestion control; `None`: there is nothing to control."""
    made_equal: bool | None
    """Whether every claim holds with the compared cases made equal; `None`: nothing is compared."""


@dataclass(frozen=True)
class Evidence:
    """A run of the whole book."""

    date: str
    commit: str
    core: str
    """The first digits of the compiled core's SHA-256."""
    rows: dict[str, RowEvidence]


def gather(
    book: Book, judged: Sequence[Judged], off: Sequence[Judged], same: Sequence[Judged]
) -> dict[str, RowEvidence]:
    """Return what the rows of `book` gave, as it is, without control, and made equal."""
    digests = {row.id: deck.digest(row) for deck in book.decks for row in deck.rows}
    packets = {
        row.id: any(not deck.cases[name].model for name in row.claimed)
        for deck in book.decks
        for row in deck.rows
    }
    return {
        each.row.id: RowEvidence(
            digests[each.row.id],
            each.verdict,
            without.holds if packets[each.row.id] else None,
            equal.holds if any(c.word.test in PAIRED for c in each.row.claims) else None,
        )
        for each, without, equal in zip(judged, off, same, strict=True)
        if each.verdicts and without.verdicts
    }


def write(book_folder: Path, chosen: Book, rows: Mapping[str, RowEvidence], build: Build) -> Path:
    """Write the evidence of the chosen rows.

    What the file has of other rows stays if the same build gave it. Raises `BookError` if the
    repository has changed since `build` was asked for.
    """
    if provenance.build(book_folder) != build:
        raise BookError("the repository changed during the run: no evidence is written")
    path = book_folder / FILE
    known = _of_build(path, build)
    for deck in chosen.decks:
        for row in deck.rows:
            known.pop(row.id, None)
    tree: dict[str, Any] = {
        "date": datetime.now(UTC).date().isoformat(),
        **asdict(build),
        "rows": {
            name: asdict(row)
            for name, row in sorted({**known, **rows}.items(), key=lambda each: _natural(each[0]))
        },
    }
    path.write_text(json.dumps(tree, indent=1) + "\n", encoding="utf-8")
    return path


def _of_build(path: Path, build: Build) -> dict[str, RowEvidence]:
    if not path.exists():
        return {}
    known = read(path.parent)
    return known.rows if (known.commit, known.core) == (build.commit, build.core) else {}


def _natural(name: str) -> tuple[int, ...]:
    return tuple(int(part) for part in name.split("."))


def read(book_folder: Path) -> Evidence:
    """Read a book's evidence. Raises `BookError` if it is missing or damaged."""
    path = book_folder / FILE
    try:
        tree = json.loads(path.read_text(encoding="utf-8"))
        rows = {name: RowEvidence(**row) for name, row in tree["rows"].items()}
        return Evidence(tree["date"], tree["commit"], tree["core"], rows)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BookError(f"{path}: {error}; qcnlab validate --controls writes it") from error


def faults(book: Book, evidence: Evidence) -> list[str]:
    """Return what is wrong with rows by their evidence, in sentences."""
    return [
        f"row {row.id}: {fault}"
        for deck in book.decks
        for row in deck.rows
        if row.claims
        for fault in _faults(row, deck.digest(row), evidence.rows.get(row.id))
    ]


def _faults(row: Row, digest: str, recorded: RowEvidence | None) -> list[str]:
    if recorded is None or recorded.claims != digest:
        return ["its claims have not been run since they were changed: qcnlab validate --controls"]
    said = []
    if recorded.verdict != row.verdict:
        said.append(f"it says '{row.verdict}', and its runs '{recorded.verdict}'")
    if row.verdict in (NUMBER, ORDER) and not row.holds_without_control:
        if recorded.without_control:
            said.append("it holds without congestion control, and does not say why")
        if recorded.made_equal:
            said.append("it holds with the compared cases made equal, and does not say why")
    if row.verdict == MISSED and not row.remark:
        said.append("it is not reproduced, and does not say what we get")
    return said
