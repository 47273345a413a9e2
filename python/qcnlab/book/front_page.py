"""The book's first page: counts, rules, controls, changed laws, readings, what is missing."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from qcnlab.book import evidence
from qcnlab.book.entries import DRAWN, MISSED, OPEN, PARTLY, REPRODUCED, UNRUN
from qcnlab.book.markdown import anchor, cells, header
from qcnlab.text import counted, number

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from qcnlab.book.derived import Entry
    from qcnlab.book.entries import Book, Row
    from qcnlab.book.evidence import Evidence, NumberEvidence, RowEvidence, Run
    from qcnlab.book.trials import Outcome, Trial

MEANING = {
    REPRODUCED: "every claim that the source makes in the row holds in our runs",
    PARTLY: "some claims hold, and the page says which",
    MISSED: "no claim holds: what we get is said",
    OPEN: "no claim holds yet, and more runs may decide: how many is said",
    DRAWN: "the slide has a plot without a number or a word that single runs could tell: no claim",
    UNRUN: "the claim is fixed and its runs are not done",
}
INTRODUCTION = """\
Every result of the five decks beside what this laboratory gets, and results of three papers on RoCE
as far as we could read of them. The page opens with what holds; row by row it says what does not.
`make validate` runs all of it, and writes these pages; `qcnlab validate 1.5` runs one row and
explains it. The rows stand in `book/` as data."""
WRITTEN_AFTER = """\
**These rules were written after an earlier set of results was known.** The rules before them asked
that a printed run lie between the quartiles of ours, which a perfect simulator misses every second
time, and that limits hold which no source states. Each row's section keeps its earlier verdicts."""
LAWS_INTRODUCTION = """\
A row that stays the same whatever the law says proves little. The rows below were run with one law
changed at a time:"""
LAWS_READ = """\
A cell says how many of the row's claims that held do no longer: `2/4` is two of four. `m` says that
none is lost, but that a measure leaves the range that it had, by 5 % or more; `.` that none does.
An empty cell is a law that the row's schemes do not have; `?` was not run. Both runs have four
replications, two where a run takes seconds of a core, and the median of these decides a word: other
claims may hold here than in the row."""
READINGS_INTRODUCTION = """\
What a deck or a paper leaves open is a parameter. Other readings were run with the rows that they
touch; the row's section says what came out, and `qcnlab validate 4.2 --readings` runs those of
one row. Here: the rows of which fewer or more claims hold with it, both with as few
replications."""
UNUSED = """\
The reviewer derived {count} more claims that no row tests: repeats in other words, rules of a
scheme that its unit tests hold, scenarios that no slide describes, and results that we have not
run. They are neither reproduced nor missed."""
RULES = """\
## Rules of evidence

* **Claims come from the decks and papers alone.** A reviewer who had not seen our numbers derived
  them, in `book/claims`; each claim names its entry there (`001-16-a`: deck, slide, letter). Of the
  papers we had summaries: what those only remember makes no claim. Each row says when its claims
  were fixed, and at which commit; later changes stand beside them with their reason, those too that
  were made when the results were known.
* **A printed number is one run of theirs.** It agrees if it lies in the central 95 % of single runs
  of ours, widened by half of its last digit (or by what the drawing can tell), and our median is
  within 20 % of it, so that a wide spread buys nothing. That takes 40 runs for the numbers of decks
  000 to 002, 20 elsewhere, and 10 in a quick row. A quantity that does not vary, or varies little,
  agrees within 5 %. A closed form has a tolerance of its own, which its row states.
* **A word is decided by an interval**, which more runs narrow: the 95 % interval of a median, or of
  the mean of paired differences (scipy's t interval). Wholly on the word's side: it holds; wholly
  on the other: it fails; otherwise it is undecided, and the row says how many runs would decide.
  Each word has one meaning in the whole book, in the table at the end.
* **A claim is what the source says.** Limits and factors that a reviewer added are marked as limits
  of ours. They are shown with their reason, and decide nothing. A word of degree, such as "much",
  keeps its factor, since without one it says nothing more than the plain word.
* **One set of parameters for a scheme in a deck or paper.** Where it prints none, the choice is
  made once and said at the top of its file. Other readings are run with every row that they touch,
  and change no verdict. `qcnlab infer` searches them: [what it chose](../concepts/readings.md).
* **A claim must be able to fail.** Each row is run again without congestion control, and with the
  compared cases made equal (one half of the second case's replications against the other). A row
  that holds there says why, or the book's test refuses it.
* **A claim rests on ten replications or more**, with random numbers, starts and the order of
  simultaneous arrivals drawn anew in each. What is only shown has fewer.
* **What a plot is taken to show is our reading**, and is marked so. It makes no claim unless words
  of its source stand behind it.
* Medians are over replications; brackets hold quartiles; figures show one replication dark and the
  range of all of them light, as a band by pixel."""
LIMITS = """\
## What this cannot show

* Decks and papers print single runs, without seeds and often without parameters. A number missed by
  a few percent may be chance of theirs or of ours; a step that no slide prints decides some
  recovery times.
* With ten replications a word may stay undecided that more would decide. We did not add
  replications where a row was close: that would be a second look.
* A single printed run can agree with a wrong law by chance: one in twenty runs of a right law does
  not agree, and many wrong ones would.
* The limits for words such as stable are choices. They were made without our numbers, but another
  reviewer's would differ, and some rows would with them.
* Reviewer and book are of one project. What makes the entries worth something is that they can be
  read: each stands beside the words of its slide.
* {reworded} were changed after their first results were known: to the words of their entries, to
  stricter ones, or back to those of the slide. Each says why; the runs on this page came later.
* They print no table of queue lengths or rates, so nothing here tests the engine to a percent.
  [What was held against what](../reference/verified.md) lists the tests that do."""


@dataclass(frozen=True)
class Told:
    """A row with what its last run gave."""

    row: Row
    verdict: str
    recorded: RowEvidence | None


def front_page(
    book: Book,
    recorded: Evidence,
    readings: tuple[Mapping[str, Trial], Collection[str]],
    laws: tuple[Mapping[str, Trial], Mapping[str, set[str]]],
    unused: Mapping[str, Sequence[Entry]],
) -> str:
    """Return the first page of the whole book, by its record.

    `readings` are what came of each, and the names of all; `laws` what came of each, and which rows
    each touches.
    """
    told = tell(book, recorded)
    parts = [
        *_counts(book, told),
        *_claims(told),
        *_numbers(told),
        *_reproduced(told, laws[0]),
        *_partly(told),
        RULES,
        "",
        WRITTEN_AFTER,
        *_controls(book, told, recorded),
        *_laws(told, *laws),
        *_readings(*readings),
        *_missed(told),
        *_unused(unused),
        LIMITS.format(reworded=_reworded(book)),
        *_words(book),
    ]
    return "\n".join(parts) + "\n"


def tell(book: Book, recorded: Evidence) -> list[Told]:
    """Return every row of the book with what its last run gave."""
    return [
        Told(row, evidence.verdict(chapter, row, recorded), recorded.rows.get(row.id))
        for chapter in book.chapters
        for row in chapter.rows
    ]


def _counts(book: Book, told: Sequence[Told]) -> list[str]:
    count = Counter(each.verdict for each in told)
    names = [name for name in MEANING if name != UNRUN or count[UNRUN]]
    lines = [
        "# The validation book",
        "",
        INTRODUCTION,
        "",
        f"{counted(len(told), 'row')}:",
        "",
        *header("verdict", "rows", "meaning"),
        *(cells(name, str(count[name]), MEANING[name]) for name in names),
        "",
        *header("deck or paper", *names),
    ]
    for chapter in book.chapters:
        own = Counter(each.verdict for each in told if each.row.chapter == chapter.name)
        link = f"[{chapter.title}]({chapter.name}.md)"
        lines.append(cells(link, *(str(own[name]) for name in names)))
    return [*lines, ""]


def _claims(told: Sequence[Told]) -> list[str]:
    """Count the claims that hold: printed numbers and printed words."""
    ran = [each.recorded for each in told if each.verdict not in (DRAWN, UNRUN) and each.recorded]
    numbers = sum(len(each.numbers) for each in ran)
    numbers_held = sum(each.numbers_held for each in ran)
    words = sum(each.of for each in ran) - numbers
    words_held = sum(each.held for each in ran) - numbers_held
    undecided = sum(each.undecided for each in ran)
    idle = sum(each.held_without for each in ran)
    return [
        f"**{numbers_held} of {counted(numbers, 'printed number')} and {words_held} of "
        f"{counted(words, 'printed word')} hold.** {counted(undecided, 'claim')} of the others are "
        f"undecided. Of those that hold {idle} would hold without congestion control as well: they "
        "say that a mechanism does no harm.",
        "",
    ]


def _numbers(told: Sequence[Told]) -> list[str]:
    lines = [
        "## Every printed number beside ours",
        "",
        "Ours is the median, with the central 95 % of our single runs. The ratio is our median by",
        "the printed number. The percentile is where the printed number stands among our runs: 50",
        "is their middle; below 2.5 or above 97.5 it lies outside the range in brackets.",
        "",
        *header("row", "what", "printed", "ours", "ratio", "percentile", "runs", ""),
    ]
    for each in told:
        if each.recorded is not None and each.verdict not in (DRAWN, UNRUN):
            lines += [_number(each, one) for one in each.recorded.numbers]
    return [*lines, ""]


def _number(each: Told, one: NumberEvidence) -> str:
    ours = _figure(one.median)
    if one.low is not None or one.high is not None:
        ours += f" [{_figure(one.low)}..{_figure(one.high)}]"
    ratio = "" if one.ratio is None else number(one.ratio, 3)
    percentile = "" if one.percentile is None else f"{one.percentile:.0f}"
    verdict = one.verdict if one.verdict == "holds" else f"**{one.verdict}**"
    printed = f"{_figure(one.printed)} {one.unit}".strip()
    return cells(_link(each), one.what, printed, ours, ratio, percentile, str(one.runs), verdict)


def _figure(value: float | None) -> str:
    return "never" if value is None else number(value, 3)


def _partly(told: Sequence[Told]) -> list[str]:
    lines = [
        "## Partly reproduced and undecided",
        "",
        *header("row", "what", "published", "claims that hold", "undecided", "worst", "demanded"),
    ]
    for each in told:
        if each.verdict in (PARTLY, OPEN) and each.recorded is not None:
            row, ran = each.row, each.recorded
            share = f"{ran.held} of {ran.of}"
            lines.append(
                cells(
                    _link(each),
                    row.what,
                    row.published,
                    share,
                    str(ran.undecided or ""),
                    ran.ours,
                    ran.demanded,
                )
            )
    return [*lines, ""]


def _reproduced(told: Sequence[Told], laws: Mapping[str, Trial]) -> list[str]:
    lines = [
        "## Reproduced",
        "",
        "With the control under which the row holds as well, and how many of the changed laws",
        "below make a claim of it fail, of those that touch it.",
        "",
        *header("row", "published", "one measure of ours", "demanded", "also holds", "laws"),
    ]
    for each in told:
        if each.verdict != REPRODUCED or each.recorded is None:
            continue
        touched = [trial.rows[each.row.id] for trial in laws.values() if each.row.id in trial.rows]
        noticed = sum(outcome.lost > 0 for outcome in touched)
        lines.append(
            cells(
                _link(each),
                each.row.published,
                each.recorded.ours,
                each.recorded.demanded,
                _held(each.recorded),
                f"{noticed} of {len(touched)}" if touched else "",
            )
        )
    return [*lines, ""]


def _controls(book: Book, told: Sequence[Told], recorded: Evidence) -> list[str]:
    held = [each for each in told if each.verdict == REPRODUCED]
    lines = [
        "",
        "## Controls",
        "",
        *(_ran(book, run) for run in recorded.runs),
        "",
        f"Of {len(held)} rows that are reproduced these hold under a control, too. They say that a",
        "mechanism does no harm, not that it does something:",
        "",
        *header("row", "holds", "because"),
    ]
    for each in held:
        said = _held(each.recorded)
        if said:
            lines.append(cells(_link(each), said, each.row.holds_without_control))
    return [*lines, ""]


def _ran(book: Book, run: Run) -> str:
    names = [
        chapter.name for chapter in book.chapters if any(row.id in run.rows for row in chapter.rows)
    ]
    return (
        f"* {counted(len(run.rows), 'row')} with claims ({', '.join(names)}): commit {run.commit}, "
        f"core of SHA-256 {run.core}..., by {run.date}"
    )


def _held(recorded: RowEvidence | None) -> str:
    if recorded is None:
        return "controls not run"
    parts = []
    if recorded.without_control:
        parts.append("without control")
    if recorded.made_equal:
        parts.append("with equal cases")
    return " and ".join(parts)


def _laws(
    told: Sequence[Told], laws: Mapping[str, Trial], touched: Mapping[str, set[str]]
) -> list[str]:
    if not laws:
        return []
    columns = [chr(ord("A") + index) for index in range(len(touched))]
    lines = [
        "## Which law each row watches",
        "",
        LAWS_INTRODUCTION,
        "",
        *(f"* {column}: {name}" for column, name in zip(columns, touched, strict=True)),
        "",
        f"{LAWS_READ} {_commits(laws)}",
        "",
        *header("row", "verdict", *columns),
    ]
    deaf = []
    for each in told:
        row = each.row.id
        outcomes = {name: laws[name].rows[row] for name in laws if row in laws[name].rows}
        if not outcomes:
            continue
        if each.verdict == REPRODUCED and not any(one.lost for one in outcomes.values()):
            deaf.append(_link(each))
        marks = [
            _mark(outcomes[name]) if name in outcomes else "?" if row in rows else ""
            for name, rows in touched.items()
        ]
        lines.append(cells(_link(each), each.verdict, *marks))
    reproduced = [each for each in told if each.verdict == REPRODUCED]
    unrun = [
        _link(one) for one in reproduced if not any(one.row.id in t.rows for t in laws.values())
    ]
    missing = f" Not run: {', '.join(unrun)}." if unrun else ""
    left = sum(name not in laws for name in touched)
    return [*lines, "", _deaf(", ".join(deaf), left, len(touched)) + missing, ""]


def _deaf(rows: str, left: int, laws: int) -> str:
    if left:
        yet = f"{left} of {counted(laws, 'law')} were not run since the rules of verdicts changed. "
        if rows:
            yet += f"No claim of {rows} fails under any of those that were."
        return yet.rstrip()
    if not rows:
        return "Every reproduced row notices at least one of them."
    return (
        f"**No claim of {rows} fails under any of them.** What these rows reproduce would be "
        "reproduced by other laws as well; they prove little."
    )


def _mark(outcome: Outcome) -> str:
    if outcome.lost:
        return f"{outcome.lost}/{sum(before == 'holds' for before in outcome.before)}"
    return "m" if outcome.moved else "."


def _commits(several: Mapping[str, Trial]) -> str:
    commits = sorted({run.commit for trial in several.values() for run in trial.runs})
    return f"They ran at commit {' and '.join(commits)}."


def _readings(readings: Mapping[str, Trial], listed: Collection[str]) -> list[str]:
    if not readings:
        return []
    left = [name for name in listed if name not in readings]
    missing = (
        f" {len(left)} of {counted(len(listed), 'reading')} were not run since the rules of "
        "verdicts changed, and are not here."
        if left
        else ""
    )
    lines = [
        "## Other readings",
        "",
        f"{READINGS_INTRODUCTION} {_commits(readings)}{missing}",
        "",
        *header("reading", "rows", "fewer claims hold", "more claims hold"),
    ]
    for name, trial in readings.items():
        fewer = [row for row, outcome in trial.rows.items() if outcome.lost > outcome.won]
        more = [row for row, outcome in trial.rows.items() if outcome.won > outcome.lost]
        lines.append(cells(name, str(len(trial.rows)), ", ".join(fewer), ", ".join(more)))
    return [*lines, ""]


def _missed(told: Sequence[Told]) -> list[str]:
    lines = [
        "## Not reproduced",
        "",
        "[What the decks do not give](not-given.md) says what was tried on these and those above.",
        "",
        *header("row", "what", "published", "ours, worst", "demanded"),
    ]
    for each in told:
        if each.verdict == MISSED and each.recorded is not None:
            row, ran = each.row, each.recorded
            lines.append(cells(_link(each), row.what, row.published, ran.ours, ran.demanded))
    return [*lines, ""]


def _unused(unused: Mapping[str, Sequence[Entry]]) -> list[str]:
    count = sum(len(entries) for entries in unused.values())
    if not count:
        return []
    lines = [
        "## Entries without a row",
        "",
        UNUSED.format(count=count),
        "",
        *header("entry", "slide", "status", "words"),
    ]
    for entries in unused.values():
        lines += [cells(one.id, one.title, one.status, one.quote) for one in entries]
    return [*lines, ""]


def _reworded(book: Book) -> str:
    rows = [row for chapter in book.chapters for row in chapter.rows]
    ids = [r.id for r in rows if any(change.date > r.fixed.date for change in r.changes)]
    return f"The claims of {counted(len(ids), 'row')} ({', '.join(ids)})"


def _words(book: Book) -> list[str]:
    lines = ["", "## Words", "", *header("word", "meaning")]
    return lines + [cells(word.name, word.meaning) for word in book.words.values()]


def _link(each: Told) -> str:
    return f"[{each.row.id}]({each.row.chapter}.md#{anchor(each.row.id)})"
