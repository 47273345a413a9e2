"""The vocabulary of the book: one meaning for each word that a claim uses (`book/words.toml`)."""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from qcnlab.book.hotspot import MEASURES
from qcnlab.book.toml_table import BookError, TomlTable

if TYPE_CHECKING:
    from pathlib import Path

TESTS = (
    "order",
    "equivalence",
    "gain",
    "number",
    "floor",
    "formula",
    "every",
    "always",
    "limit",
    "all",
    "any",
    "neither",
)
PAIRED = ("order", "equivalence", "gain")
OF_NUMBERS = ("number", "floor", "formula", "every")
"""Tests that hold our runs against a printed number."""
FILE = "words.toml"


@dataclass(frozen=True)
class Part:
    """One measure of a composite word with its limit."""

    of: str
    during: str
    above: float
    below: float


@dataclass(frozen=True)
class Word:
    """A word of a deck or paper and what it demands of the runs."""

    name: str
    meaning: str
    test: str
    side: str = ""
    ratio: float = 1.0
    ratios: tuple[float, float] = (-math.inf, math.inf)
    of: float | None = None
    parts: tuple[Part, ...] = ()
    words: tuple[Word, ...] = ()

    @property
    def composite(self) -> bool:
        """Whether the word names its measures itself."""
        return bool(self.parts or self.words)


def read(folder: Path) -> dict[str, Word]:
    """Read a folder's vocabulary. Raises `BookError`, which names the word."""
    path = folder / FILE
    try:
        tree = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BookError(f"{path}: {error}") from error
    words: dict[str, Word] = {}
    for name in tree:
        words[name] = _word(name, TomlTable(f"{path}, word '{name}'", tree[name]), words)
    return words


def _word(name: str, table: TomlTable, known: dict[str, Word]) -> Word:
    test = table.one_of("test", TESTS)
    named = table.words("words", [])
    for other in named:
        if other not in known:
            table.refuse(f"there is no word '{other}' before it")
    ratio = table.number("ratio")
    word = Word(
        name,
        table.text("meaning"),
        test,
        table.one_of("side", ("above", "below", ""), ""),
        1.0 if ratio is None else ratio,
        table.pair("ratios") or (-math.inf, math.inf),
        table.number("of"),
        tuple(_part(each) for each in table.array("parts")),
        tuple(known[other] for other in named),
    )
    table.end()
    if (test == "order") != bool(word.side):
        table.refuse("a word of order, and no other, has a side")
    if (test in ("all", "any")) != bool(word.parts):
        table.refuse("a word of the test all or any, and no other, has parts")
    return word


def _part(table: TomlTable) -> Part:
    of = table.one_of("of", tuple(MEASURES))
    above, below = table.number("above"), table.number("below")
    if (above is None) == (below is None):
        table.refuse("a part is either above or below its limit")
    part = Part(
        of,
        table.text("during", MEASURES[of].window),
        -math.inf if above is None else above,
        math.inf if below is None else below,
    )
    table.end()
    return part
