"""What the README says of the book is so, and it explains its terms."""

from __future__ import annotations

import re

import pytest

from conftest import ROOT
from qcnlab.book import evidence
from qcnlab.printing.text import number

README = (ROOT / "README.md").read_text()

VERDICTS = (
    "reproduced",
    "partly reproduced",
    "not reproduced",
    "undecided",
    "drawn for comparison",
)
NUMBERS = {
    "ECM, Gi 0.53333, RTT 10 us": "1.1",
    "ECM, Gi 0.0053333, RTT 200 us": "1.3",
    "QCN, RTT 10 us": "1.5",
    "QCN, RTT 200 us": "1.7",
    "network card, from 0.5 Gb/s": "2.1",
    "network card, from 1 Gb/s": "2.2",
    "QCN, byte counter alone, RTT 40 us": "0.12",
    "the same, RTT 500 us": "0.1",
    "QCN-SONAR, RTT 500 us": "0.2",
    "path-based notices, RTT 40 us": "0.13",
    "its simulation, from 0.5 Gb/s": "2.3",
    "its simulation, from 1 Gb/s": "2.5",
}
"""The rows of the book whose printed numbers the README has, by their names there."""


def test_the_counts_of_the_book_are_the_books() -> None:
    book = (ROOT / "docs/book/README.md").read_text()
    counts = [
        count[1]
        for word in VERDICTS
        if (count := re.search(rf"^\| {word} \| (\d+) \|", book, re.MULTILINE))
    ]
    rows = re.search(r"^(\d+) rows:", book, re.MULTILINE)
    assert rows is not None
    reproduced, partly, missed, undecided, drawn = counts
    assert (
        f"Of {rows[1]} rows {reproduced} are reproduced, {partly} partly, {missed} not, "
        f"{undecided} are undecided, and {drawn} are drawn for comparison."
    ) in " ".join(README.split())


def test_the_numbers_beside_the_printed_ones_are_those_of_the_book() -> None:
    recorded = evidence.read(ROOT / "book").rows
    cells = [cell.strip() for cell in README.split("|")]
    for name, row in NUMBERS.items():
        printed, ours, ratio = cells[cells.index(name) + 1 :][:3]
        (one,) = recorded[row].numbers
        assert one.median is not None and one.ratio is not None
        assert printed.replace("+", "") == f"{number(one.printed, 3)} ms", name
        assert (ours, ratio) == (f"{number(one.median, 3)} ms", number(one.ratio, 3)), name


@pytest.mark.parametrize(
    "term", ["QCN", "CNM", "hotspot", "RTT", "ECM", "PAUSE", "PFC", "fluid model", "reconstruction"]
)
def test_a_term_is_explained_where_it_first_stands(term: str) -> None:
    """Explained terms are emphasised, or are the short form in brackets of words that are."""
    before = README[: README.index(term)]
    assert before.endswith(("*", "(")), f"{term} first stands after: {before[-60:]}"


def test_the_decks_are_introduced_before_the_first_is_named() -> None:
    assert README.index("slide decks** are") < README.index("deck 00")
