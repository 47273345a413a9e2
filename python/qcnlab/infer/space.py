"""The space of readings: dimensions with their values, and the printed facts that stay.

A set has one value for each dimension, by its place in the list. The first value of a dimension is
the stated one: the cases as the book has them.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from difflib import get_close_matches
from fnmatch import fnmatchcase
from math import prod
from typing import TYPE_CHECKING

from qcnlab.book.toml_table import BookError, TomlTable
from qcnlab.book.variants import READINGS, Part, by_first, part

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from qcnlab.book.cases import Case, Hot
    from qcnlab.book.entries import Book, Chapter

Set = tuple[int, ...]
"""One value for each dimension of a space."""


@dataclass(frozen=True)
class Lengths:
    """Times of a hotspot that a value has otherwise, s; `None` for those that stay."""

    start_s: float | None = None
    end_s: float | None = None
    duration_s: float | None = None

    def changed(self, hot: Hot) -> Hot:
        """Return a hotspot with these times."""
        return replace(
            hot,
            start_s=hot.start_s if self.start_s is None else self.start_s,
            end_s=hot.end_s if self.end_s is None else self.end_s,
            duration_s=hot.duration_s if self.duration_s is None else self.duration_s,
        )


@dataclass(frozen=True)
class Value:
    """A value of a dimension."""

    name: str
    because: str
    """Why it is plausible; of the stated value empty."""
    parts: tuple[Part, ...]
    """What it changes; of the stated value nothing."""
    lengths: Lengths | None = None
    """What of the cases' hotspot it changes beside: where the windows of the measures lie."""


@dataclass(frozen=True)
class Dimension:
    """Something that the sources leave open."""

    name: str
    asks: str
    sources: str
    """What the sources print of it."""
    cases: Part
    """The cases that it is about."""
    values: tuple[Value, ...]

    def changed(self, chapter: str, case: Case, value: int) -> Case:
        """Return a case with a value; the case itself if the value changes nothing of it."""
        chosen = self.values[value]
        if not self.cases.applies(chapter, case.name):
            return case
        other = by_first(chapter, case, chosen.parts)
        if other is case or case.hot is None or chosen.lengths is None:
            return other
        return replace(other, hot=chosen.lengths.changed(case.hot))


@dataclass(frozen=True)
class Printed:
    """Facts that a source prints."""

    cases: Part
    by: str
    keys: tuple[str, ...]
    allows: tuple[str, ...]
    """The values within what is printed; empty: none but the cases' own."""


@dataclass(frozen=True)
class Space:
    """Dimensions, each with at least two values."""

    dimensions: tuple[Dimension, ...]

    @property
    def stated(self) -> Set:
        """The set that changes nothing."""
        return (0,) * len(self.dimensions)

    @property
    def size(self) -> int:
        """How many sets there are."""
        return prod(len(dimension.values) for dimension in self.dimensions)

    def changed(self, chapter: str, case: Case, chosen: Set) -> Case:
        """Return a case with all values of a set."""
        for dimension, value in zip(self.dimensions, chosen, strict=True):
            case = dimension.changed(chapter, case, value)
        return case

    def touching(self, chapter: str, case: Case) -> tuple[int, ...]:
        """Return the dimensions of which a value changes a case."""
        return tuple(
            index
            for index, dimension in enumerate(self.dimensions)
            if any(
                dimension.changed(chapter, case, value) is not case
                for value in range(1, len(dimension.values))
            )
        )

    def named(self, chosen: Set) -> dict[str, str]:
        """Return a set in words: dimensions and their values."""
        return {
            dimension.name: dimension.values[value].name
            for dimension, value in zip(self.dimensions, chosen, strict=True)
        }

    def find(self, name: str) -> int:
        """Return the place of a dimension. Raises `BookError` for an unknown name."""
        names = [dimension.name for dimension in self.dimensions]
        if name in names:
            return names.index(name)
        raise BookError(f"the space has no dimension '{name}'{_near(name, names)}")

    def value(self, index: int, name: str) -> int:
        """Return the place of a value. Raises `BookError` for an unknown name."""
        dimension = self.dimensions[index]
        names = [value.name for value in dimension.values]
        if name in names:
            return names.index(name)
        raise BookError(f"dimension '{dimension.name}' has no value '{name}'{_near(name, names)}")

    def only(self, names: Sequence[str]) -> Space:
        """Keep the dimensions of these names. Raises `BookError` for an unknown one."""
        kept = {self.find(name) for name in names}
        return Space(tuple(d for index, d in enumerate(self.dimensions) if index in kept))


def _near(name: str, names: Iterable[str]) -> str:
    several = list(names)
    near = get_close_matches(name, several, n=1)
    return f"; did you mean '{near[0]}'?" if near else f"; there are: {', '.join(several)}"


def read(book_folder: Path, book: Book, rows: Sequence[str] = ()) -> Space:
    """Read the space of a book's folder, with what changes the cases of some of its rows, or all.

    Raises `BookError` if a value changes what is printed or changes no case, and if no dimension is
    left.
    """
    path = book_folder / READINGS
    try:
        tree = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BookError(f"{path}: {error}") from error
    table = TomlTable(str(path), tree)
    table.array("reading")
    printed = [_printed(each) for each in table.array("printed")]
    dimensions = [_dimension(each) for each in table.array("dimension")]
    table.end()
    names = [dimension.name for dimension in dimensions]
    for name in names:
        if names.count(name) > 1:
            raise BookError(f"{path}: there are two dimensions '{name}'")
    chosen = book.only(tuple(rows)) if rows else book
    book = book.only(tuple(chapter.name for chapter in chosen.chapters))
    touching = [d for d in dimensions if _touches(d, book)]
    for dimension in touching:
        _check(path, dimension, printed, book)
    kept = [changing for d in touching if len((changing := _changing(d, chosen)).values) > 1]
    if not kept:
        of = ", ".join(rows or (chapter.name for chapter in chosen.chapters))
        raise BookError(f"{path}: the space of {of} is empty: no dimension changes its cases")
    return Space(tuple(kept))


def _dimension(table: TomlTable) -> Dimension:
    name = table.text("name")
    table.where = f"{table.where}, dimension '{name}'"
    cases = Part(tuple(table.words("of")), tuple(table.words("but", [])), ())
    asks, sources, stated = table.text("asks"), table.text("sources"), table.text("stated")
    values = [Value(stated, "", ()), *(_value(each) for each in table.array("value"))]
    table.end()
    if len(values) < 2:
        table.refuse("a dimension has values beside the stated one")
    if len({value.name for value in values}) < len(values):
        table.refuse("two of its values have one name")
    return Dimension(name, asks, sources, cases, tuple(values))


def _value(table: TomlTable) -> Value:
    name, because = table.text("name"), table.text("because")
    if not because.strip():
        table.refuse(f"value '{name}' says why it is plausible: because")
    several = table.array("parts")
    changes = tuple(table.words("changes", []))
    if bool(several) == bool(changes):
        table.refuse(f"value '{name}' has either changes or parts")
    hot = table.table("hot")
    lengths = None if hot is None else _lengths(hot)
    table.end()
    parts = tuple(map(part, several)) if several else (Part(("*",), (), changes),)
    return Value(name, because, parts, lengths)


def _lengths(table: TomlTable) -> Lengths:
    lengths = Lengths(*(table.number(key) for key in ("from", "until", "duration")))
    table.end()
    return lengths


def _printed(table: TomlTable) -> Printed:
    cases = Part(tuple(table.words("of")), tuple(table.words("but", [])), ())
    printed = Printed(
        cases, table.text("by"), tuple(table.words("keys")), tuple(table.words("allows", []))
    )
    table.end()
    return printed


def _claimed(book: Book) -> list[tuple[Chapter, Case]]:
    return [
        (chapter, chapter.cases[name])
        for chapter in book.chapters
        for name in dict.fromkeys(name for row in chapter.rows for name in row.claimed)
    ]


def _touches(dimension: Dimension, book: Book) -> bool:
    return any(dimension.cases.applies(chapter.name, case.name) for chapter, case in _claimed(book))


def _cases(dimension: Dimension, book: Book) -> list[tuple[str, Case]]:
    return [
        (chapter.name, case)
        for chapter, case in _claimed(book)
        if dimension.cases.applies(chapter.name, case.name)
    ]


def _changing(dimension: Dimension, book: Book) -> Dimension:
    """Return the dimension with the values that change cases of these rows."""
    cases = _cases(dimension, book)
    values = [
        value
        for index, value in enumerate(dimension.values)
        if index == 0
        or any(dimension.changed(chapter, case, index) is not case for chapter, case in cases)
    ]
    return replace(dimension, values=tuple(values))


def _check(path: Path, dimension: Dimension, printed: Sequence[Printed], book: Book) -> None:
    cases = _cases(dimension, book)
    for index, value in enumerate(dimension.values[1:], start=1):
        where = f"{path}: dimension '{dimension.name}', value '{value.name}'"
        if all(dimension.changed(chapter, case, index) is case for chapter, case in cases):
            raise BookError(f"{where}: it changes none of the cases that it is about")
        for chapter, case in cases:
            fact = _against(value, chapter, case.name, printed)
            if fact:
                raise BookError(f"{where}: {fact}")


def _against(value: Value, chapter: str, case: str, printed: Sequence[Printed]) -> str:
    """Return which printed fact of a case a value changes; empty if none."""
    for each in value.parts:
        if not each.applies(chapter, case):
            continue
        for change in each.changes:
            key, _, to = change.partition("=")
            key = key.partition("*")[0]
            for fact in printed:
                prints = any(fnmatchcase(key, pattern) for pattern in fact.keys)
                if fact.cases.applies(chapter, case) and prints and to not in fact.allows:
                    allowed = f" ({', '.join(fact.allows)})" if fact.allows else ""
                    return f"{key} of {chapter}/{case} is printed{allowed}: {fact.by}"
    return ""
