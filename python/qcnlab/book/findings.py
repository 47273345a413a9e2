"""The page of what the decks and papers do not give: rows of which some claim does not hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qcnlab.book.entries import MISSED, OPEN, PARTLY
from qcnlab.book.markdown import anchor
from qcnlab.printing.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence, Set

    from qcnlab.book.entries import Book
    from qcnlab.book.front_page import Told
    from qcnlab.book.trials import Trial

FILE = "not-given.md"
INTRODUCTION = """\
# What the decks do not give

These rows have a claim that does not hold in our runs, or that they leave open. Each says what we
get, and what came of the other readings that were tried on it: the values of a parameter that its
source leaves open. Where no reading serves the row, nothing that we tried within the printed facts
does. [The book](README.md) has the rules and all rows."""
PARTS = (
    (MISSED, "No claim holds"),
    (OPEN, "Undecided"),
    (PARTLY, "Some claims hold, and some do not"),
)


def page(
    book: Book,
    told: Sequence[Told],
    readings: Mapping[str, Trial],
    touched: Mapping[str, Set[str]],
) -> str:
    """Return the page, by the record of the book's rows and of its other readings.

    `touched`: the rows that each reading touches, whether or not it was run.
    """
    lines = [INTRODUCTION]
    for verdict, title in PARTS:
        rows = [each for each in told if each.verdict == verdict and each.recorded is not None]
        if rows:
            lines += ["", f"## {title}: {counted(len(rows), 'row')}"]
        for chapter in book.chapters:
            own = [each for each in rows if each.row.chapter == chapter.name]
            if own:
                lines += ["", f"### {chapter.title}"]
            for each in own:
                lines += ["", *_row(each, readings, touched)]
    return "\n".join(lines) + "\n"


def _row(
    each: Told, readings: Mapping[str, Trial], touched: Mapping[str, Set[str]]
) -> Iterator[str]:
    row, ran = each.row, each.recorded
    assert ran is not None
    link = f"[{row.id}]({row.chapter}.md#{anchor(row.id)})"
    open_ = f", {ran.undecided} undecided" if ran.undecided else ""
    yield f"**{link}. {row.what}.** Published: {row.published}."
    held = f"{ran.held} of {counted(ran.of, 'claim')}"
    yield f"{held} hold{open_}. Worst: {ran.ours}; demanded: {ran.demanded}."
    if row.remark:
        yield row.remark
    yield _tried(row.id, readings, touched)


def _tried(row: str, readings: Mapping[str, Trial], touched: Mapping[str, Set[str]]) -> str:
    """Write which other readings make more claims of a row hold."""
    tried = {name: trial.rows[row] for name, trial in readings.items() if row in trial.rows}
    several = sum(row in rows for rows in touched.values())
    if not tried:
        if not several:
            return "No other reading touches it."
        return f"{counted(several, 'other reading')} of it: not run by these rules."
    better = [name for name, outcome in tried.items() if outcome.won > outcome.lost]
    if not better:
        return f"Of {counted(len(tried), 'other reading')} none makes more of its claims hold."
    names = "; ".join(f'"{name}"' for name in better)
    return f"More claims hold with {names}, of {counted(len(tried), 'other reading')}."
