"""Changed laws: which quick rows notice (`book/laws.toml`)."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from qcnlab.book.toml_table import BookError, TomlTable
from qcnlab.errors import ScenarioError

if TYPE_CHECKING:
    from pathlib import Path

    from qcnlab.book.cases import Case
    from qcnlab.book.entries import Book

FILE = "laws.toml"


@dataclass(frozen=True)
class Law:
    """A law, changed."""

    name: str
    changes: tuple[str, ...]
    """Overrides that change it."""
    rows: tuple[str, ...]
    """Quick rows of which a claim that holds does no longer."""
    because: str
    """Where no row notices: why."""


def read(book_folder: Path) -> tuple[Law, ...]:
    """Read a book's changed laws; none if it has no such file. Raises `BookError`."""
    path = book_folder / FILE
    if not path.exists():
        return ()
    try:
        tree = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BookError(f"{path}: {error}") from error
    table = TomlTable(str(path), tree)
    laws = tuple(_law(each) for each in table.array("law"))
    table.end()
    return laws


def _law(table: TomlTable) -> Law:
    law = Law(
        table.text("name"),
        tuple(table.words("changes")),
        tuple(table.words("rows", [])),
        table.text("because", ""),
    )
    table.end()
    if bool(law.rows) == bool(law.because):
        table.refuse(f"'{law.name}' has either rows that notice or the reason why none does")
    return law


def changed(book: Book, law: Law) -> Book:
    """Return the book with a law changed in every case of QCN that has the parameters."""
    return replace(
        book,
        decks=tuple(
            replace(deck, cases={name: _changed(case, law) for name, case in deck.cases.items()})
            for deck in book.decks
        ),
    )


def _changed(case: Case, law: Law) -> Case:
    if case.model or any(each.startswith("scheme.name=ecm") for each in case.changes):
        return case
    other = replace(case, changes=(*case.changes, *law.changes))
    try:
        other.build()
    except ScenarioError:
        return case
    return other
