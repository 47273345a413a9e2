"""What the last runs of the book's rows and of their controls gave: `book/evidence.json`.

`qcnlab validate --controls` writes it. The book's test reads it, so that a claim that holds without
control, a verdict that its runs do not bear out and a claim changed since are refused at once.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from qcnlab.book import provenance, tables
from qcnlab.book.comparisons import HOLDS, UNDECIDED
from qcnlab.book.entries import DRAWN, MISSED, REPRODUCED, UNRUN
from qcnlab.book.toml_table import BookError
from qcnlab.book.values import unit_of
from qcnlab.book.words import PAIRED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from qcnlab.book.comparisons import Check
    from qcnlab.book.entries import Book, Chapter, Row
    from qcnlab.book.provenance import Build
    from qcnlab.book.verdicts import Judged

FILE = "evidence.json"


@dataclass(frozen=True)
class NumberEvidence:
    """A printed number beside ours, in the unit in which it is shown."""

    entry: str
    what: str
    unit: str
    printed: float
    median: float | None
    """`None`: never, or not measured."""
    low: float | None
    high: float | None
    """The central 95 % of our single runs."""
    ratio: float | None
    """Our median by the printed number."""
    percentile: float | None
    """Which percentile of our runs the printed number is; `None`: they do not vary."""
    runs: int
    verdict: str


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
    ours: str
    """One measure of the row, the worst if it is not reproduced, in words."""
    demanded: str
    """What was demanded of it."""
    held: int = 0
    """How many claims hold."""
    undecided: int = 0
    """How many are undecided."""
    of: int = 0
    """How many claims there are."""
    held_without: int = 0
    """How many of those that hold do so without congestion control, too."""
    numbers: tuple[NumberEvidence, ...] = ()

    @property
    def numbers_held(self) -> int:
        """How many printed numbers hold."""
        return sum(number.verdict == HOLDS for number in self.numbers)


Run = provenance.Run[RowEvidence]
"""Rows that one build gave."""
Evidence = provenance.Runs[RowEvidence]
"""What every row gave when it was last run."""


def gather(
    book: Book, judged: Sequence[Judged], off: Sequence[Judged], same: Sequence[Judged]
) -> dict[str, RowEvidence]:
    """Return what the rows of `book` gave, as it is, without control, and made equal."""
    digests = {row.id: chapter.digest(row) for chapter in book.chapters for row in chapter.rows}
    packets = {
        row.id: any(not chapter.cases[name].model for name in row.claimed)
        for chapter in book.chapters
        for row in chapter.rows
    }
    return {
        each.row.id: RowEvidence(
            digests[each.row.id],
            each.verdict,
            without.holds if packets[each.row.id] else None,
            equal.holds if any(c.word.test in PAIRED for c in each.row.said) else None,
            *_measure(each),
            each.held,
            each.verdicts.count(UNDECIDED),
            len(each.verdicts),
            _both(each, without) if packets[each.row.id] else 0,
            tuple(_number(check) for check in each.numbers),
        )
        for each, without, equal in zip(judged, off, same, strict=True)
        if each.verdicts and without.verdicts
    }


def _both(judged: Judged, without: Judged) -> int:
    pairs = zip(judged.verdicts, without.verdicts, strict=True)
    return sum(one == other == HOLDS for one, other in pairs)


def _number(check: Check) -> NumberEvidence:
    factor, unit = unit_of(check.of)
    low, high = (None, None) if check.interval is None else map(_finite, check.interval)
    varies = check.interval is not None
    return NumberEvidence(
        check.claim.entry,
        tables.name_of(check),
        unit,
        check.claim.printed * factor,
        _scaled(check.values.median, factor),
        _scaled(low, factor),
        _scaled(high, factor),
        _finite(check.ratio),
        _finite(check.percentile) if varies else None,
        len(check.values.each),
        check.verdict,
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _scaled(value: float | None, factor: float) -> float | None:
    return None if value is None or not math.isfinite(value) else value * factor


def _measure(judged: Judged) -> tuple[str, str]:
    worst = judged.worst
    if worst is None:
        return "", ""
    ours = f"{tables.name_of(worst)}: {tables.spread(worst)}"
    if worst.of_claim != HOLDS:
        ours += f" ({worst.claim.word.name}: {worst.of_claim})"
    return ours, tables.demand(worst)


def write(book_folder: Path, chosen: Book, rows: Mapping[str, RowEvidence], build: Build) -> Path:
    """Write the evidence of the chosen rows.

    What the file has of other rows stays, with the build that gave it. Raises `BookError` if the
    repository has changed since `build` was asked for.
    """
    if provenance.build(book_folder) != build:
        raise BookError("the repository changed during the run: no evidence is written")
    path = book_folder / FILE
    wanted = {row.id for chapter in chosen.chapters for row in chapter.rows}
    before = read(book_folder) if path.exists() else Evidence()
    now = before.with_today(build, rows, instead=wanted)
    tree = [run.tree() for run in now.runs]
    path.write_text(json.dumps(tree, indent=1) + "\n", encoding="utf-8")
    return path


def read(book_folder: Path) -> Evidence:
    """Read a book's evidence. Raises `BookError` if it is missing or damaged."""
    path = book_folder / FILE
    try:
        tree = json.loads(path.read_text(encoding="utf-8"))
        return Evidence(tuple(provenance.read_run(RowEvidence, each) for each in tree))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise BookError(f"{path}: {error}; qcnlab validate --controls writes it") from error


def verdict(chapter: Chapter, row: Row, evidence: Evidence) -> str:
    """Return what the last run made of a row; "not run yet" if its claims have changed since."""
    if not row.said:
        return DRAWN
    recorded = evidence.rows.get(row.id)
    return recorded.verdict if recorded and recorded.claims == chapter.digest(row) else UNRUN


def faults(book: Book, evidence: Evidence) -> list[str]:
    """Return what is wrong with rows by their evidence, in sentences."""
    return [
        f"row {row.id}: {fault}"
        for chapter in book.chapters
        for row in chapter.rows
        if row.said
        for fault in _faults(row, chapter.digest(row), evidence.rows.get(row.id))
    ]


def _faults(row: Row, digest: str, recorded: RowEvidence | None) -> list[str]:
    if recorded is None or recorded.claims != digest:
        return ["its claims have not been run since they were changed: qcnlab validate --controls"]
    said = []
    if recorded.verdict != row.verdict:
        said.append(f"it says '{row.verdict}', and its runs '{recorded.verdict}'")
    if row.verdict == REPRODUCED and not row.holds_without_control:
        if recorded.without_control:
            said.append("it holds without congestion control, and does not say why")
        if recorded.made_equal:
            said.append("it holds with the compared cases made equal, and does not say why")
    if row.verdict == MISSED and not row.remark:
        said.append("it is not reproduced, and does not say what we get")
    return said
