"""The book as Markdown: one page a deck, a figure a row, and a first page with the count."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qcnlab import plots
from qcnlab.book import evidence, tables
from qcnlab.book.entries import DRAWN, MISSED, NUMBER, ORDER, UNRUN
from qcnlab.book.figures import draw
from qcnlab.text import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from qcnlab.book.comparisons import Check
    from qcnlab.book.entries import Book, Deck
    from qcnlab.book.evidence import Evidence, RowEvidence
    from qcnlab.book.runner import CaseResult
    from qcnlab.book.verdicts import Judged, Shown

MEANING = {
    NUMBER: "the printed number lies between the quartiles of our runs, or the row says how far",
    ORDER: "every word that the slide says of it holds in our runs, none of them a number",
    DRAWN: "the slide has a plot without a number or a verdict: no claim",
    MISSED: "a number or a word does not hold, or our runs do not decide it: what we get is said",
    UNRUN: "the claim is fixed and its runs are not done",
}


def write(
    book: Book,
    judged: Sequence[Judged],
    case_results: Mapping[str, Mapping[str, CaseResult]],
    folder: Path,
    book_folder: Path,
) -> list[Path]:
    """Write pages and figures of `book` into `folder`; return the pages' paths."""
    recorded = evidence.read(book_folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "img").mkdir(exist_ok=True)
    paths = []
    for deck in book.decks:
        own = [each for each in judged if each.row.deck == deck.name]
        path = folder / f"{deck.name}.md"
        path.write_text(
            _page(deck, own, case_results[deck.name], folder, recorded), encoding="utf-8"
        )
        paths.append(path)
    first = folder / "README.md"
    first.write_text(_first(book, judged, recorded), encoding="utf-8")
    return [first, *paths]


def _first(book: Book, judged: Sequence[Judged], recorded: Evidence) -> str:
    count = tables.count(judged)
    lines = [
        "# The validation book",
        "",
        "Every result of the five decks beside what this laboratory gets. `make validate` runs all",
        "of it, its controls too, and writes these pages; `qcnlab validate 1.5` runs one row. The",
        "rows stand in `book/` as data.",
        "",
        f"{counted(len(judged), 'row')}:",
        "",
        "| verdict | rows | meaning |",
        "|---|---|---|",
    ]
    lines += [f"| {word} | {count[word]} | {text} |" for word, text in MEANING.items()]
    names = list(MEANING)
    lines += ["", "| deck | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    for deck in book.decks:
        own = tables.count([each for each in judged if each.row.deck == deck.name])
        cells = " | ".join(str(own[name]) for name in names)
        lines.append(f"| [{deck.title}]({deck.name}.md) | {cells} |")
    lines += [
        "",
        *_rules(),
        "",
        *_controls(judged, recorded),
        "",
        *_missed(judged),
        "",
        *_words(book),
    ]
    return "\n".join(lines) + "\n"


def _rules() -> list[str]:
    return [
        "## Rules of evidence",
        "",
        "* **Claims come from the decks alone.** A reviewer who had not seen our numbers derived",
        "  them, in `book/claims`; each claim names its entry there (`001-16-a`: deck, slide,",
        "  letter). Each row says when",
        "  its claims were fixed, and at which commit, before anyone saw what their runs gave;",
        "  later changes stand beside them with their reason.",
        "* **One meaning for each word**, in the table below. Inequalities are strict. An order is",
        "  decided by paired replications and a confidence interval (scipy's t interval), not by",
        "  two medians. `undecided` is not `holds`.",
        "* **One set of parameters for a scheme in a deck.** Where it prints none, the choice is",
        "  made once and said at the top of the deck's file; other values stand beside the row,",
        "  without a claim.",
        "* **A claim must be able to fail.** Each row is run again without congestion control, and",
        "  with the compared cases made equal (one half of the second case's replications against",
        "  the other). A row that holds there says why, or the book's test refuses it.",
        "* **A claim rests on ten replications or more**, with random numbers, starts and the",
        "  order of simultaneous arrivals drawn anew in each. Five there are where a run takes",
        "  seconds of a core: deck 004's eleven nodes and twenty switches, deck 000's hundreds of",
        "  sources. What is only shown has fewer.",
        "* **What a plot is taken to show is our reading**, and is marked so. It makes no claim",
        "  unless words of the deck stand behind it.",
        "* Medians are over replications; brackets hold quartiles; figures show one replication",
        "  dark and the range of all of them light, as a band by pixel.",
        "",
        "What this cannot show: the decks print single runs, without seeds and often without",
        "parameters, so a number missed by a few percent may be chance of theirs or of ours. A",
        "step that no slide prints decides some recovery times; the rows show how much. With five",
        "or ten replications an order may stay undecided that more would decide. The limits for",
        "words such as stable are choices, too: they were made without our numbers, but another",
        "reviewer's would differ.",
    ]


def _controls(judged: Sequence[Judged], recorded: Evidence) -> list[str]:
    held = [each for each in judged if each.verdict in (NUMBER, ORDER)]
    lines = [
        "## Controls",
        "",
        f"Run on {recorded.date} at commit {recorded.commit}. Of {len(held)} rows that are",
        "reproduced these hold under a control, too:",
        "",
        "| row | holds | because |",
        "|---|---|---|",
    ]
    for each in held:
        said = _held(recorded.rows.get(each.row.id))
        if said:
            lines.append(f"| {_link(each)} | {said} | {each.row.holds_without_control} |")
    return lines


def _held(recorded: RowEvidence | None) -> str:
    if recorded is None:
        return "controls not run"
    parts = []
    if recorded.without_control:
        parts.append("without control")
    if recorded.made_equal:
        parts.append("with equal cases")
    return " and ".join(parts)


def _link(each: Judged) -> str:
    return f"[{each.row.id}]({each.row.deck}.md#{_anchor(each.row.id)})"


def _missed(judged: Sequence[Judged]) -> list[str]:
    lines = ["## Not reproduced", "", "| row | what | published | ours, worst | demanded |"]
    lines.append("|---|---|---|---|---|")
    for each in judged:
        if each.verdict == MISSED and each.worst is not None:
            worst = f"{tables.name_of(each.worst)}: {tables.spread(each.worst)}"
            cells = (
                _link(each),
                each.row.what,
                each.row.published,
                f"{worst} ({each.worst.verdict})",
                tables.demand(each.worst),
            )
            lines.append(_cells(cells))
    return lines


def _words(book: Book) -> list[str]:
    lines = ["## Words", "", "| word | meaning |", "|---|---|"]
    return lines + [_cells((word.name, word.meaning)) for word in book.words.values()]


def _cells(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _page(
    deck: Deck,
    judged: Sequence[Judged],
    case_results: Mapping[str, CaseResult],
    folder: Path,
    recorded: Evidence,
) -> str:
    lines = [f"# {deck.title}", "", tables.counted(judged) + ".", ""]
    lines += [
        "| row | published | ours, worst: median [quartiles] | verdict |",
        "|---|---|---|---|",
    ]
    for each in judged:
        ours = ""
        if each.worst is not None:
            ours = f"{each.worst.of.replace('_', ' ')}: {tables.spread(each.worst)}"
        link = f"[{each.row.id}](#{_anchor(each.row.id)})"
        lines.append(_cells((link, each.row.published, ours, each.verdict)))
    for each in judged:
        lines += ["", *_row(deck, each, case_results, folder, recorded)]
    return "\n".join(lines) + "\n"


def _anchor(row: str) -> str:
    return f"row-{row.replace('.', '-')}"


def _row(
    deck: Deck,
    judged: Judged,
    case_results: Mapping[str, CaseResult],
    folder: Path,
    recorded: Evidence,
) -> list[str]:
    row = judged.row
    lines = [f"## Row {row.id.replace('.', '-')}", "", f"{row.what}. (Slide {row.slide}.)", ""]
    lines.append(f"Published: {row.published}. Verdict: **{judged.verdict}**.")
    if row.reading:
        lines += ["", f"Our reading of it: {row.reading}"]
    if judged.checks:
        lines += [
            "",
            "| entry, word | measure | ours: median [quartiles] | demanded | interval | |",
        ]
        lines += ["|---|---|---|---|---|---|"]
        lines += [_check(check) for check in judged.checks]
    lines += [part for text in (row.because, row.off_by, row.remark) if text for part in ("", text)]
    if judged.shown:
        lines += ["", "| shown, no claim | measure | median [quartiles] |", "|---|---|---|"]
        lines += [_shown(shown) for shown in judged.shown]
    if row.claims:
        lines += ["", _history(judged, recorded.rows.get(row.id))]
    for index, figure in enumerate(row.figures):
        if set(figure.cases) <= set(case_results):
            name = f"{row.id.replace('.', '-')}{f'-{index + 1}' if index else ''}.png"
            plots.save(draw(figure, case_results), folder / "img" / name)
            lines += ["", f"![{row.what}](img/{name})"]
    commands = [deck.cases[name].command for name in row.cases if not deck.cases[name].model]
    if commands:
        lines += ["", "<details><summary>Commands</summary>", "", "```"]
        lines += [f"qcnlab validate {row.id}", *commands, "```", "", "</details>"]
    return lines


def _history(judged: Judged, recorded: RowEvidence | None) -> str:
    row = judged.row
    words = f"Fixed {row.fixed.date} at {row.fixed.commit}."
    for change in row.changes:
        words += f" Changed {change.date}: {change.reason}"
    if recorded is not None:
        states = {True: "holds", False: "does not hold", None: "not asked"}
        words += f" Without control: {states[recorded.without_control]};"
        words += f" with equal cases: {states[recorded.made_equal]}."
        if row.holds_without_control:
            words += f" {row.holds_without_control}"
    return words


def _check(check: Check) -> str:
    said = check.verdict if check.holds else f"**{check.verdict}**"
    return _cells(
        (
            f"{check.claim.entry}, {check.claim.word.name}",
            tables.name_of(check),
            tables.spread(check),
            tables.demand(check),
            tables.decided_by(check),
            said,
        )
    )


def _shown(shown: Shown) -> str:
    reading = shown.reading
    return _cells((reading.name, reading.of.replace("_", " "), tables.shown(shown)))
