"""The book as Markdown: one page a deck, a figure a row, and a first page with the count."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from qcnlab import plots
from qcnlab.book import tables
from qcnlab.book.figures import draw
from qcnlab.text import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from qcnlab.book.entries import Book, Deck
    from qcnlab.book.runner import CaseResult
    from qcnlab.book.verdicts import Check, Judged, Shown

LONG = re.compile(r"(\d\.\d\d)\d+")
MEANING = {
    "matches": "the printed number, within the band",
    "order holds": "the verdict in words, turned into numbers, holds",
    "drawn again": "the source had a plot only; what its context says of it holds",
    "not reproduced": "a claim does not hold; the row says what was tried",
    "open": "not run",
}


def write(
    book: Book,
    judged: Sequence[Judged],
    found: Mapping[str, Mapping[str, CaseResult]],
    folder: Path,
) -> list[Path]:
    """Write pages and figures of `book` into `folder`; give the pages' paths."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "img").mkdir(exist_ok=True)
    paths = []
    for deck in book.decks:
        own = [each for each in judged if each.row.deck == deck.name]
        path = folder / f"{deck.name}.md"
        path.write_text(_page(deck, own, found[deck.name], folder), encoding="utf-8")
        paths.append(path)
    first = folder / "README.md"
    first.write_text(_first(book, judged), encoding="utf-8")
    return [first, *paths]


def _first(book: Book, judged: Sequence[Judged]) -> str:
    lines = [
        "# The validation book",
        "",
        "Every result of the five decks, with what this laboratory gets. `make validate` runs all",
        "of it and writes these pages; `qcnlab validate 1.5` runs one row. The rows stand in",
        "`book/` as data, with the reason for each band.",
        "",
        f"{counted(len(judged), 'row')}:",
        "",
        "| verdict | rows | meaning |",
        "|---|---|---|",
    ]
    count = tables.count(judged)
    lines += [f"| {word} | {count[word]} | {text} |" for word, text in MEANING.items()]
    names = [word for word in MEANING if count[word]]
    lines += ["", "| deck | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    for deck in book.decks:
        own = tables.count([each for each in judged if each.row.deck == deck.name])
        cells = " | ".join(str(own[name]) for name in names)
        lines.append(f"| [{deck.title}]({deck.name}.md) | {cells} |")
    missed = [each.row for each in judged if each.verdict == "not reproduced"]
    lines += ["", "Not reproduced:", ""]
    lines += [f"* [{row.id}]({row.deck}.md#{_anchor(row.id)}) {row.what}" for row in missed]
    lines += [
        "",
        "A claim holds if its median over the replications lies in the band and at least nine runs",
        "in ten lie in the wider band, which is in brackets where it is another. Ratios are of",
        "paired runs: cases that differ only in their scheme meet the same random numbers.",
    ]
    return "\n".join(lines) + "\n"


def _page(
    deck: Deck, judged: Sequence[Judged], found: Mapping[str, CaseResult], folder: Path
) -> str:
    lines = [f"# {deck.title}", "", tables.counted(judged) + ".", ""]
    lines += ["| row | published | ours: median [range] | verdict |", "|---|---|---|---|"]
    for each in judged:
        ours = tables.spread(each.checks[0]) if each.checks else ""
        row = each.row
        link = f"[{row.id}](#{_anchor(row.id)})"
        lines.append(f"| {link} | {row.published} | {ours} | {each.verdict} |")
    for each in judged:
        lines += ["", *_row(deck, each, found, folder)]
    return "\n".join(lines) + "\n"


def _anchor(row: str) -> str:
    return f"row-{row.replace('.', '-')}"


def _row(deck: Deck, judged: Judged, found: Mapping[str, CaseResult], folder: Path) -> list[str]:
    row = judged.row
    lines = [f"## Row {row.id.replace('.', '-')}", "", f"{row.what}. (Slide {row.slide}.)", ""]
    lines.append(f"Published: {row.published}. Verdict: **{judged.verdict}**.")
    if judged.checks:
        lines += ["", "| measure | ours: median [range] | band | |", "|---|---|---|---|"]
        lines += [_check(check) for check in judged.checks]
    if row.because:
        lines += ["", row.because]
    if judged.readings:
        lines += ["", "| also | measure | median [range] |", "|---|---|---|"]
        lines += [_reading(shown) for shown in judged.readings]
    if row.remark:
        lines += ["", row.remark]
    if row.figure is not None:
        name = f"{row.id.replace('.', '-')}.svg"
        path = plots.save(draw(row.figure, found), folder / "img" / name)
        path.write_text(_rounded(path.read_text(encoding="utf-8")), encoding="utf-8")
        lines += ["", f"![{row.what}](img/{name})"]
    commands = [deck.cases[name].command for name in row.cases if not deck.cases[name].model]
    if commands:
        lines += ["", "<details><summary>Commands</summary>", "", "```"]
        lines += [f"qcnlab validate {row.id}", *commands, "```", "", "</details>"]
    return lines


def _rounded(svg: str) -> str:
    """Cut coordinates to hundredths of a point: half the size, no visible difference."""
    return LONG.sub(r"\1", svg)


def _check(check: Check) -> str:
    word = "holds" if check.holds else "**does not hold**"
    cells = (tables.name_of(check.claim), tables.spread(check), tables.band(check.claim), word)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _reading(shown: Shown) -> str:
    return f"| {shown.reading.name} | {shown.reading.of} | {tables.spread(shown)} |"
