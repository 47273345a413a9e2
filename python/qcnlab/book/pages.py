"""The book as Markdown: one page a chapter, figures beside its rows, and a first page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from qcnlab.book import derived, evidence, findings, tables, trials
from qcnlab.book.counts import EVENTS, counted
from qcnlab.book.figures import save
from qcnlab.book.front_page import front_page, tell
from qcnlab.book.markdown import anchor, cells, header
from qcnlab.book.reader import load

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from qcnlab.book.comparisons import Check
    from qcnlab.book.entries import Book, Chapter
    from qcnlab.book.evidence import Evidence, RowEvidence
    from qcnlab.book.runner import CaseResult
    from qcnlab.book.trials import Outcome, Trial
    from qcnlab.book.verdicts import Judged, Shown

IMAGES = "img"
NOT_RUN = (
    "<!-- no block of this page is run: rows take seconds to minutes of a core; `make validate` "
    "runs them, and tests check each scenario -->"
)
"""Why the commands on a page are not run by the tests of the documents."""


def write(
    book: Book,
    judged: Sequence[Judged],
    case_results: Mapping[str, Mapping[str, CaseResult]],
    folder: Path,
    book_folder: Path,
) -> list[Path]:
    """Write the first page, and pages and figures of `book`, into `folder`; return their paths.

    The first page and that of what is not given are of the whole book in `book_folder`, by its
    record.
    """
    (folder / IMAGES).mkdir(parents=True, exist_ok=True)
    recorded = evidence.read(book_folder)
    readings = trials.read(trials.READINGS, book_folder)
    laws = trials.read(trials.LAWS, book_folder)
    whole = load(book_folder)
    of_laws = trials.touched(trials.LAWS, whole, book_folder)
    of_readings = trials.touched(trials.READINGS, whole, book_folder)
    first = folder / "README.md"
    unused = derived.without_row(whole, book_folder)
    first.write_text(
        front_page(whole, recorded, (readings, of_readings), (laws, of_laws), unused),
        encoding="utf-8",
    )
    other = folder / findings.FILE
    other.write_text(
        findings.page(whole, tell(whole, recorded), readings, of_readings), encoding="utf-8"
    )
    paths = [first, other]
    for chapter in book.chapters:
        own = [each for each in judged if each.row.chapter == chapter.name]
        page = _Page(chapter, case_results[chapter.name], folder, recorded, readings)
        path = folder / f"{chapter.name}.md"
        path.write_text(page.text(own), encoding="utf-8")
        paths.append(path)
    return paths


CHECKS = ("entry, word", "measure", "ours: median [quartiles]", "demanded", "decided by", "")
"""Columns of a row's checks."""


@dataclass(frozen=True)
class _Page:
    """The page of one chapter."""

    chapter: Chapter
    case_results: Mapping[str, CaseResult]
    folder: Path
    recorded: Evidence
    readings: Mapping[str, Trial]

    def text(self, judged: Sequence[Judged]) -> str:
        lines = [f"# {self.chapter.title}", "", NOT_RUN, "", tables.counted(judged) + ".", ""]
        if self.chapter.chosen:
            lines += [f"Where the source prints nothing: {self.chapter.chosen}", ""]
        lines += header("row", "published", "ours, worst: median [quartiles]", "verdict")
        for each in judged:
            ours = ""
            if each.worst is not None:
                ours = f"{each.worst.of.replace('_', ' ')}: {tables.spread(each.worst)}"
            link = f"[{each.row.id}](#{anchor(each.row.id)})"
            lines.append(cells(link, each.row.published, ours, each.told))
        for each in judged:
            lines += ["", *self._row(each)]
        return "\n".join(lines) + "\n"

    def _row(self, judged: Judged) -> Iterator[str]:
        row = judged.row
        yield from (f"## Row {row.id.replace('.', '-')}", "")
        yield from (f"{row.what}. ({row.location}.)", "")
        yield f"Published: {row.published}. Verdict: **{judged.told}**."
        if row.reading:
            yield from ("", f"Our reading of it: {row.reading}")
        if judged.checks:
            yield ""
            said = [check for check in judged.checks if not check.claim.ours]
            yield from header(*CHECKS)
            yield from map(_check, said)
            yield from _limits_of_ours(judged)
        for words in (row.because, row.remark):
            if words:
                yield from ("", words)
        if judged.shown:
            yield ""
            yield from header("shown, no claim", "measure", "median [quartiles]")
            yield from map(_shown, judged.shown)
        yield from self._counts(judged)
        yield from self._figures(judged)
        yield from self._readings(judged)
        if row.said:
            yield from ("", _history(judged, self.recorded.rows.get(row.id)))
        yield from self._commands(judged)

    def _counts(self, judged: Judged) -> Iterator[str]:
        """Report what happened in the row's cases: medians over replications."""
        run = [name for name in judged.row.cases if name in self.case_results]
        counts = {name: counted(self.case_results[name]) for name in run}
        rows = [
            cells(name, *(tables.figure(each) for each in of)) for name, of in counts.items() if of
        ]
        if rows:
            yield from ("", "<details><summary>What happened, medians of whole runs</summary>", "")
            yield from header("case", *EVENTS.values())
            yield from (*rows, "", "</details>")

    def _figures(self, judged: Judged) -> Iterator[str]:
        row = judged.row
        for index, figure in enumerate(row.figures):
            if set(figure.cases) <= set(self.case_results):
                name = f"{row.id.replace('.', '-')}{f'-{index + 1}' if index else ''}.png"
                save(figure, self.case_results, self.folder / IMAGES / name)
                yield from ("", f"![{row.what}]({IMAGES}/{name})")

    def _readings(self, judged: Judged) -> Iterator[str]:
        row = judged.row
        touching = {
            name: trial.rows[row.id]
            for name, trial in self.readings.items()
            if row.id in trial.rows
        }
        if not touching:
            return
        yield ""
        if row.said:
            yield from header("other reading", "claims that hold", "worst with it")
        else:
            yield from header("other reading", "what it shows then")
        for name, outcome in touching.items():
            if row.said:
                yield cells(name, _held(outcome), outcome.worst)
            else:
                yield cells(name, "; ".join(outcome.shown))

    def _commands(self, judged: Judged) -> Iterator[str]:
        cases = [self.chapter.cases[name] for name in judged.row.cases]
        commands = [case.command for case in cases if not case.model]
        if commands:
            yield from ("", "<details><summary>Commands</summary>", "", "```")
            yield from (f"qcnlab validate {judged.row.id}", *commands)
            yield from ("```", "", "</details>")


def _held(outcome: Outcome) -> str:
    before, after = (
        sum(verdict == "holds" for verdict in verdicts)
        for verdicts in (outcome.before, outcome.after)
    )
    return f"{after} of {len(outcome.after)}, {before} without it"


def _history(judged: Judged, recorded: RowEvidence | None) -> str:
    row = judged.row
    words = f"Fixed {row.fixed.date} at {row.fixed.commit}."
    for change in row.changes:
        at = f" at {change.commit}" if change.commit else ""
        words += f" Changed {change.date}{at}: {change.reason}"
    if row.earlier:
        words += f" Earlier verdicts: {'; '.join(row.earlier)}."
    if recorded is not None:
        states = {True: "holds", False: "does not hold", None: "not asked"}
        words += f" Without control: {states[recorded.without_control]};"
        words += f" with equal cases: {states[recorded.made_equal]}."
        if row.holds_without_control:
            words += f" {row.holds_without_control}"
    return words


def _limits_of_ours(judged: Judged) -> Iterator[str]:
    ours = [check for check in judged.checks if check.claim.ours]
    if ours:
        yield from ("", "Limits of ours, which decide nothing:", "")
        yield from header(*CHECKS, "why it is ours")
        for check in ours:
            yield f"{_check(check)} {check.claim.ours} |"


def _check(check: Check) -> str:
    word = check.claim.word
    parts = f": {check.of_claim}, where this" if word.composite else ""
    return cells(
        f"{check.claim.entry}, {word.name}{parts}",
        tables.name_of(check),
        tables.spread(check),
        tables.demand(check),
        tables.decided_by(check),
        check.verdict if check.holds else f"**{check.verdict}**",
    )


def _shown(shown: Shown) -> str:
    reading = shown.reading
    return cells(reading.name, reading.of.replace("_", " "), tables.shown(shown))
