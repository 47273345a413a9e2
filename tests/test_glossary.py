"""The glossary stays short, has one meaning for each word, and names types that exist."""

from __future__ import annotations

import re

from conftest import ROOT

PAGE = (ROOT / "docs/reference/glossary.md").read_text(encoding="utf-8")
ROWS = [line.split("|")[1:-1] for line in PAGE.splitlines() if line.startswith("| ")][1:]
WORDS = [word.strip() for row in ROWS for word in row[0].split(",")]


def types() -> set[str]:
    """Return the names of all types in the crates."""
    declared = re.compile(r"\b(?:struct|enum|trait|type|union)\s+(\w+)")
    return {
        name
        for path in (ROOT / "crates").rglob("*.rs")
        for name in declared.findall(path.read_text(encoding="utf-8"))
    }


def test_it_has_at_most_40_rows_of_three_cells() -> None:
    assert 20 <= len(ROWS) <= 40
    for row in ROWS:
        assert len(row) == 3, row
        assert all(cell.strip() for cell in row), row


def test_no_word_stands_twice() -> None:
    words = [word.strip("`").lower() for word in WORDS if not word.startswith("`")]
    assert len(words) == len(set(words))
    names = [word for word in WORDS if word.startswith("`")]
    assert len(names) == len(set(names))


def test_names_of_types_are_types() -> None:
    named = {name for row in ROWS for name in re.findall(r"`([A-Z]\w+)`", "|".join(row))}
    assert len(named) >= 10
    assert named <= types(), sorted(named - types())
