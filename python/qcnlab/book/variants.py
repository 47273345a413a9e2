"""The book with something changed in its cases: another reading, or a changed law.

`book/readings.toml` and `book/laws.toml` list them. Each names cases by patterns of chapter and
case and the overrides that change them; `key*2` doubles what a case has. A case that does not take
the change, or has it anyway, stays as it is.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache
from typing import TYPE_CHECKING, Any

from qcnlab import _core
from qcnlab.book.toml_table import BookError, TomlTable
from qcnlab.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from qcnlab.book.cases import Case
    from qcnlab.book.entries import Book, Chapter, Row
    from qcnlab.records import JsonObject

READINGS, LAWS = "readings.toml", "laws.toml"
BESIDE = ("printed", "dimension")
"""What else stands in the file of readings: the space that `qcnlab infer` searches."""
COSTLY = 5
"""A case of so few replications takes seconds of a core in each."""
REPLICATIONS, COSTLY_REPLICATIONS, SHOWN_REPLICATIONS = 4, 2, 1
"""Replications of a changed case, of one that has five in the book, and of one without a claim."""

UNITS = {"bit/s": "b/s"}
"""How scenario files write the core's units, where they differ."""


@dataclass(frozen=True)
class Part:
    """Overrides of the cases that match."""

    of: tuple[str, ...]
    """Globs of `chapter/case`."""
    but: tuple[str, ...]
    """Globs of cases that are left out."""
    changes: tuple[str, ...]

    def applies(self, chapter: str, case: str) -> bool:
        """Return whether it is about a case."""
        name = f"{chapter}/{case}"
        return any(fnmatchcase(name, glob) for glob in self.of) and not any(
            fnmatchcase(name, glob) for glob in self.but
        )


@dataclass(frozen=True)
class Variant:
    """One reading or changed law."""

    name: str
    parts: tuple[Part, ...]


def read(path: Path, key: str) -> tuple[Variant, ...]:
    """Read the variants of a file, tables `[[key]]`; none if there is no such file.

    Raises `BookError`.
    """
    if not path.exists():
        return ()
    try:
        tree = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BookError(f"{path}: {error}") from error
    table = TomlTable(str(path), tree)
    parts: dict[str, list[Part]] = {}
    for each in table.array(key):
        parts.setdefault(each.text("name"), []).append(part(each))
    for other in BESIDE:
        table.array(other)
    table.end()
    return tuple(Variant(name, tuple(several)) for name, several in parts.items())


def part(table: TomlTable) -> Part:
    """Read the overrides of some cases, and of which."""
    read_part = Part(
        tuple(table.words("of", ["*"])),
        tuple(table.words("but", [])),
        tuple(table.words("changes")),
    )
    table.end()
    return read_part


def most(chapter: Chapter, case: Case) -> int:
    """Return how many replications of a case, changed and as it is, are compared."""
    if not any(case.name in row.claimed for row in chapter.rows):
        return SHOWN_REPLICATIONS
    costly = case.replications <= COSTLY
    return min(case.replications, COSTLY_REPLICATIONS if costly else REPLICATIONS)


def changed(book: Book, variant: Variant, *, shown: bool) -> Book:
    """Return the rows of `book` that a variant touches, with their cases changed.

    `shown`: a row is also touched by a case that it only shows.
    """
    chapters = []
    for chapter in book.chapters:
        cases = {name: _changed(chapter, case, variant) for name, case in chapter.cases.items()}
        touched = {name for name, case in cases.items() if case is not chapter.cases[name]}
        rows = [_bare(row, shown=shown) for row in chapter.rows]
        kept = tuple(row for row in rows if touched & set(row.cases))
        if kept:
            chapters.append(replace(chapter, cases=cases, rows=kept))
    return replace(book, chapters=tuple(chapters))


def unchanged(book: Book, other: Book) -> Book:
    """Return the rows of `other`, which a variant touches, as they are in `book`."""
    ids = {row.id for chapter in other.chapters for row in chapter.rows}
    chapters = [
        replace(
            chapter,
            rows=tuple(replace(row, figures=()) for row in chapter.rows if row.id in ids),
        )
        for chapter in book.chapters
    ]
    return replace(book, chapters=tuple(chapter for chapter in chapters if chapter.rows))


def _bare(row: Row, *, shown: bool) -> Row:
    return replace(row, figures=(), shown=row.shown if shown else ())


def _changed(chapter: Chapter, case: Case, variant: Variant) -> Case:
    other = by_first(chapter.name, case, variant.parts)
    return case if other is case else replace(other, replications=most(chapter, case))


def by_first(chapter: str, case: Case, parts: Sequence[Part]) -> Case:
    """Return a case with the overrides of the first of `parts` that is about it and changes it."""
    if case.model:
        return case
    for each in parts:
        if not each.applies(chapter, case.name):
            continue
        changes = _overrides(case, each.changes)
        other = None if changes is None else replace(case, changes=(*case.changes, *changes))
        if other is not None and _differs(other, case):
            return other
    return case


@cache
def _differs(other: Case, case: Case) -> bool:
    try:
        return other.build().hash != case.build().hash
    except ScenarioError:
        return False


def _overrides(case: Case, changes: tuple[str, ...]) -> list[str] | None:
    """Return `changes` with `key*factor` worked out; `None` if the case has no such key."""
    out = []
    for change in changes:
        key, times, factor = change.partition("*")
        if not times or "=" in key:
            out.append(change)
            continue
        value = _value(case, key)
        if value is None:
            return None
        out.append(f"{key}={_times(value, float(factor))}")
    return out


def _value(case: Case, key: str) -> Any:
    tree: Any = _resolved(case)
    for part in key.split("."):
        tree = tree.get(part) if isinstance(tree, dict) else None
    return tree


@cache
def _resolved(case: Case) -> JsonObject:
    return case.build().to_dict()


def _times(value: float | str, factor: float) -> str:
    if not isinstance(value, str):
        return f"{value * factor:.12g}"
    quantity = _core.quantity(value)
    if quantity is None:
        raise BookError(f"'{value}' is no quantity, so it cannot be multiplied")
    number, unit = quantity
    return f"{number * factor:.12g} {UNITS.get(unit, unit)}"
