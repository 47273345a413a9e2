"""What the README says of the book is so, and it explains its terms."""

from __future__ import annotations

import re

import pytest

from conftest import ROOT

README = (ROOT / "README.md").read_text()

VERDICTS = (
    "number reproduced",
    "order reproduced",
    "drawn for comparison",
    "not reproduced",
    "not run yet",
)


def test_the_counts_of_the_book_are_the_books() -> None:
    book = (ROOT / "docs/book/README.md").read_text()
    counts = {
        word: count[1]
        for word in VERDICTS
        if (count := re.search(rf"^\| {word} \| (\d+) \|", book, re.MULTILINE))
    }
    rows = re.search(r"^(\d+) rows:", book, re.MULTILINE)
    assert rows is not None
    # A verdict that no row has is left out of the page: here "not run".
    number, order, drawn, missed = counts.values()
    assert list(counts) == list(VERDICTS)[:4]
    flat = " ".join(README.split())
    assert (
        f"Of {rows[1]} rows {number} reproduce a printed number, {order} reproduce an order or a "
        f"verdict in words, {drawn} are drawn for comparison, and {missed} do not reproduce."
        in flat
    )


@pytest.mark.parametrize(
    "term", ["QCN", "CNM", "hotspot", "RTT", "ECM", "PAUSE", "PFC", "fluid model", "reconstruction"]
)
def test_a_term_is_explained_where_it_first_stands(term: str) -> None:
    """Explained terms are emphasised, or are the short form in brackets of words that are."""
    before = README[: README.index(term)]
    assert before.endswith(("*", "(")), f"{term} first stands after: {before[-60:]}"


def test_the_decks_are_introduced_before_the_first_is_named() -> None:
    assert README.index("slide decks** are") < README.index("deck 00")
