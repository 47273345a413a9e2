"""What other readings and changed laws make of the rows: `readings.json`, `laws.json`.

`qcnlab validate --readings` and `--laws` write them. A row is judged as it is and with the change,
both with as few replications; both verdicts are kept.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from qcnlab.book import provenance, tables, variants
from qcnlab.book.provenance import Runs
from qcnlab.book.toml_table import BookError
from qcnlab.book.verdicts import judge

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from qcnlab.book.comparisons import Check
    from qcnlab.book.entries import Book, Row
    from qcnlab.book.provenance import Build
    from qcnlab.book.runner import CaseResult
    from qcnlab.book.variants import Variant
    from qcnlab.book.verdicts import Judged

    Results = dict[str, dict[str, CaseResult]]
    RunCases = Callable[[Book], Results]


READABLE = 0.05
"""A difference that can be read off a plot."""


@dataclass(frozen=True)
class Kind:
    """A list of variants: where it is, what its rows are."""

    key: str
    """The key of its tables."""
    listed: str
    written: str
    shown: bool
    """Whether what a row shows without a claim counts, too."""


READINGS = Kind("reading", variants.READINGS, "readings.json", shown=True)
LAWS = Kind("law", variants.LAWS, "laws.json", shown=False)


@dataclass(frozen=True)
class Outcome:
    """One row under one variant."""

    claims: str
    """Fingerprint of the claims and cases, as they are."""
    before: tuple[str, ...]
    """Verdicts of its claims as they are."""
    after: tuple[str, ...]
    """Verdicts with the change."""
    worst: str
    """The worst measure with the change, in words; empty if the row has no claim."""
    shown: tuple[str, ...]
    """What it shows of the changed cases."""
    moved: bool = False
    """Whether a claim's measure leaves the range that it has as it is, by 5 % or more."""

    @property
    def lost(self) -> int:
        """How many claims held, and do not with the change."""
        pairs = zip(self.before, self.after, strict=True)
        return sum(before == "holds" != after for before, after in pairs)

    @property
    def won(self) -> int:
        """How many claims hold with the change only."""
        pairs = zip(self.before, self.after, strict=True)
        return sum(before != "holds" == after for before, after in pairs)


Trial = Runs[Outcome]
"""One variant over all rows that it touches."""


def run(kind: Kind, book: Book, book_folder: Path, build: Build, run_cases: RunCases) -> Path:
    """Run all variants of a kind on the rows of `book`; return the file of what came out.

    The file is written after each variant; what it has of other rows and variants stays. Raises
    `BookError` if the repository changes meanwhile.
    """
    listed = variants.read(book_folder / kind.listed, kind.key)
    chosen = book if kind.shown else _watching(book, run_cases)
    for variant in listed:
        rows = _outcomes(kind, chosen, variant, run_cases)
        if provenance.build(book_folder) != build:
            raise BookError("the repository changed during the run: nothing is written")
        known = read(kind, book_folder)
        known[variant.name] = known.get(variant.name, Trial()).with_today(build, rows)
        _write(
            book_folder / kind.written, {v.name: known[v.name] for v in listed if v.name in known}
        )
    return book_folder / kind.written


def prune(kind: Kind, book: Book, book_folder: Path) -> None:
    """Leave out what a trial gave of rows whose claims, cases or rules have changed since."""
    digests = {row.id: chapter.digest(row) for chapter in book.chapters for row in chapter.rows}
    known = read(kind, book_folder)
    kept = {
        name: trial.only(lambda row, one: digests.get(row) == one.claims)
        for name, trial in known.items()
    }
    if kept != known:
        _write(
            book_folder / kind.written, {name: trial for name, trial in kept.items() if trial.runs}
        )


def touched(kind: Kind, book: Book, book_folder: Path) -> dict[str, set[str]]:
    """Return the rows that each variant of a kind touches."""
    return {
        variant.name: {
            row.id
            for chapter in variants.changed(book, variant, shown=kind.shown).chapters
            for row in chapter.rows
        }
        for variant in variants.read(book_folder / kind.listed, kind.key)
    }


def _watching(book: Book, run_cases: RunCases) -> Book:
    """Keep the rows that laws are held against: those that are reproduced, and the quick ones."""
    held = {each.row.id for each in judge(book, run_cases(book)) if each.row.said and each.holds}

    def kept(row: Row) -> bool:
        return row.id in held or (bool(row.said) and row.quick)

    chapters = [
        replace(chapter, rows=tuple(filter(kept, chapter.rows))) for chapter in book.chapters
    ]
    return replace(book, chapters=tuple(chapter for chapter in chapters if chapter.rows))


def _outcomes(kind: Kind, book: Book, variant: Variant, run_cases: RunCases) -> dict[str, Outcome]:
    with_it = variants.changed(book, variant, shown=kind.shown)
    as_is = variants.unchanged(book, with_it)
    after = judge(with_it, _cut(book, run_cases(with_it)), few=True)
    before = judge(as_is, _cut(book, run_cases(as_is)), few=True)
    digests = {row.id: chapter.digest(row) for chapter in as_is.chapters for row in chapter.rows}
    touched = {
        (chapter.name, name)
        for chapter in with_it.chapters
        for base in book.chapters
        if base.name == chapter.name
        for name, case in chapter.cases.items()
        if case != base.cases[name]
    }
    return {
        one.row.id: Outcome(
            digests[one.row.id],
            one.verdicts,
            other.verdicts,
            _worst(other),
            tuple(_shown(other, touched)),
            any(_moves(*pair) for pair in zip(one.checks, other.checks, strict=True)),
        )
        for one, other in zip(before, after, strict=True)
        if _was_run(one, other)
    }


def _was_run(one: Judged, other: Judged) -> bool:
    """Return whether all was run that an outcome tells, as it is and with the change."""
    judged = not one.row.said or bool(one.verdicts and other.verdicts)
    return judged and len(other.shown) == len(other.row.shown)


def _cut(book: Book, results: Results) -> Results:
    """Let as few replications of every case count as a changed case has."""
    chapters = {chapter.name: chapter for chapter in book.chapters}
    return {
        name: {
            case: replace(result, most=variants.most(chapters[name], chapters[name].cases[case]))
            for case, result in several.items()
        }
        for name, several in results.items()
    }


def _worst(judged: Judged) -> str:
    worst = judged.worst
    return "" if worst is None else f"{tables.name_of(worst)}: {tables.spread(worst)}"


def _moves(before: Check, after: Check) -> bool:
    """Return whether the median leaves the range of the values as they are, by 5 % or more."""
    values, median = before.values, after.values.median
    if math.isnan(values.median) or math.isnan(median):
        return math.isnan(values.median) != math.isnan(median)
    outside = not values.low <= median <= values.high
    return outside and not math.isclose(median, values.median, rel_tol=READABLE)


def _shown(judged: Judged, touched: set[tuple[str, str]]) -> list[str]:
    return [
        f"{one.reading.name}: {tables.shown(one)}"
        for one in judged.shown
        if (judged.row.chapter, one.reading.case) in touched
    ]


def _write(path: Path, trials: Mapping[str, Trial]) -> None:
    tree = {name: [run.tree() for run in trial.runs] for name, trial in trials.items()}
    path.write_text(json.dumps(tree, indent=1) + "\n", encoding="utf-8")


def read(kind: Kind, book_folder: Path) -> dict[str, Trial]:
    """Read what a run wrote; nothing if there was none. Raises `BookError` for a damaged file."""
    path = book_folder / kind.written
    if not path.exists():
        return {}
    try:
        tree = json.loads(path.read_text(encoding="utf-8"))
        return {
            name: Trial(tuple(provenance.read_run(Outcome, run) for run in runs))
            for name, runs in tree.items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise BookError(f"{path}: {error}; qcnlab validate --{kind.key}s writes it") from error
