"""The vocabulary of the book, and the build that its evidence names."""

from __future__ import annotations

import math
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from qcnlab.book import provenance, tables, words
from qcnlab.book.toml_table import BookError


def read(folder: Path, text: str) -> dict[str, words.Word]:
    (folder / "words.toml").write_text(text)
    return words.read(folder)


GOOD = """
["less"]
meaning = "smaller"
test = "order"
side = "below"
ratio = 1.05

["alike"]
meaning = "the same"
test = "equivalence"
ratios = [0.8, 1.25]

["never"]
meaning = "not once"
test = "every"
of = 0

["short"]
meaning = "a short queue"
test = "all"
parts = [{ of = "level", below = 5.0 }, { of = "peak", during = "hs", above = 1.0 }]

["odd"]
meaning = "neither"
test = "neither"
words = ["short", "never"]
"""


def test_words_are_read_with_their_limits(tmp_path: Path) -> None:
    known = read(tmp_path, GOOD)
    assert list(known) == ["less", "alike", "never", "short", "odd"]
    less, alike, never, short, odd = known.values()
    assert (less.side, less.ratio, less.composite) == ("below", 1.05, False)
    assert (alike.ratios, alike.ratio, alike.of, alike.side) == ((0.8, 1.25), 1.0, None, "")
    assert (less.ratios, never.of) == ((-math.inf, math.inf), 0.0)
    level, peak = short.parts
    # A part without a window has its measure's own.
    assert (level.of, level.during, level.above, level.below) == ("level", "hss", -math.inf, 5.0)
    assert (peak.of, peak.during, peak.above, peak.below) == ("peak", "hs", 1.0, math.inf)
    assert short.composite and odd.composite
    assert odd.words == (short, never)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('side = "below"', "", "word 'less': a word of order, and no other, has a side"),
        ("of = 0", 'of = 0\nside = "above"', "word 'never': a word of order, and no other"),
        (
            "ratios = [0.8, 1.25]",
            'parts = [{ of = "level", below = 5 }]',
            "all or any, and no other",
        ),
        ('test = "all"', 'test = "every"', "word 'short': a word of the test all or any"),
        ("below = 5.0", "below = 5.0, above = 1.0", "a part is either above or below its limit"),
        (", below = 5.0", "", "a part is either above or below its limit"),
        ('"short", "never"', '"short", "odd"', "there is no word 'odd' before it"),
        ('of = "level"', 'of = "levels"', "'of' is one of deviation"),
        ('test = "order"', 'test = "orders"', "'test' is one of order"),
        ("ratio = 1.05", "ratios = [2, 1]", "two numbers in order"),
        ("of = 0", "off = 0", "unknown key 'off'; did you mean 'of'?"),
    ],
)
def test_words_that_cannot_be_are_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in GOOD
    with pytest.raises(BookError) as refused:
        read(tmp_path, GOOD.replace(old, new))
    assert said in str(refused.value)
    assert "words.toml" in str(refused.value)


def test_a_core_older_than_its_sources_gives_no_evidence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    core = tmp_path / "core.so"
    (tmp_path / "crates" / "lab").mkdir(parents=True)
    (tmp_path / "scenarios").mkdir()
    law = tmp_path / "crates" / "lab" / "law.rs"
    for path in (core, law, tmp_path / "Cargo.toml", tmp_path / "Cargo.lock"):
        path.write_text("x")
        os.utime(path, (100, 100))
    monkeypatch.setattr(provenance, "_core", SimpleNamespace(__file__=str(core)))
    # As old is not older.
    provenance._refuse_old_core(tmp_path)
    os.utime(law, (101, 101))
    with pytest.raises(BookError, match=r"'crates/lab/law.rs' is newer than the core: build first"):
        provenance._refuse_old_core(tmp_path)
    os.utime(core, (102, 102))
    provenance._refuse_old_core(tmp_path)
    # A core from elsewhere, of an installed package, is not of these sources.
    monkeypatch.setattr(provenance, "_core", SimpleNamespace(__file__="/nowhere/core.so"))
    os.utime(law, (103, 103))
    provenance._refuse_old_core(tmp_path)


def test_the_book_as_text_has_a_table_for_each_chapter() -> None:
    def judged(chapter: str, number: str) -> Any:
        row = SimpleNamespace(id=number, chapter=chapter, published="said")
        verdict = "drawn for comparison"
        return SimpleNamespace(row=row, verdict=verdict, told=verdict, checks=(), borne_out=True)

    chapters = tuple(SimpleNamespace(name=n, title=n.upper()) for n in ("deck009", "paper010"))
    book: Any = SimpleNamespace(chapters=chapters)
    told = tables.text_tables(book, [judged("deck009", "9.1"), judged("paper010", "10.1")])
    first, second, count = told.split("\n\n")
    assert first.splitlines()[0] == "DECK009"
    assert "9.1" in first and "10.1" not in first
    assert second.splitlines()[0] == "PAPER010"
    assert count == "2 rows: 2 drawn for comparison"
    # All columns are aligned to the left.
    head, *rows = [line for line in second.splitlines()[1:] if not set(line) <= set("-─ ")]
    assert head.index("published") == rows[-1].index("said")
