"""The validation book: every result of decks and papers, with what this laboratory gets.

`book/deck000.toml` and `book/paper005.toml` and their like hold one row per result,
`book/words.toml` what their words mean. `load`
reads them, `results` runs their cases, `judge` compares. `qcnlab validate` does all three.
"""

from qcnlab.book.cases import Case
from qcnlab.book.comparisons import Check
from qcnlab.book.entries import Book, Chapter, Claim, Figure, Reading, Row
from qcnlab.book.reader import load
from qcnlab.book.runner import results
from qcnlab.book.toml_table import BookError
from qcnlab.book.verdicts import Judged, judge

__all__ = [
    "Book",
    "BookError",
    "Case",
    "Chapter",
    "Check",
    "Claim",
    "Figure",
    "Judged",
    "Reading",
    "Row",
    "judge",
    "load",
    "results",
]
