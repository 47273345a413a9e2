"""The book's first page: counts, rules, controls, changed laws, readings, what is missing."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from qcnlab.book import evidence
from qcnlab.book.entries import DRAWN, MISSED, OPEN, PARTLY, REPRODUCED, UNRUN
from qcnlab.book.markdown import anchor, cells, header
from qcnlab.printing.text import counted, number

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from qcnlab.book.derived import Entry
    from qcnlab.book.entries import Book, Row
    from qcnlab.book.evidence import Evidence, NumberEvidence, RowEvidence, Run
    from qcnlab.book.trials import Outcome, Trial

MEANING = {
    REPRODUCED: "every claim that the source makes in the row holds in our runs",
    PARTLY: "some claims hold; the page of the source names them",
    MISSED: "no claim holds; the table below has what we get instead",
    OPEN: "no claim holds yet, but more runs may decide; the row says how many",
    DRAWN: "the slide has a plot, but no number or word that single runs could check: no claim",
    UNRUN: "the claim is fixed, but its runs are not done",
}
INTRODUCTION = """\
Every result of the five decks beside what this laboratory gets, and results of four papers on
RoCE as far as we could read them. A *deck* is a set of slides that somebody showed to the IEEE
802.1 task group; [sources](../reference/sources.md) names them. A *row* is one published result:
a number, a word such as "stable", or a plot. This page has the totals first, then each number,
then what does not hold and why.

`qcnlab validate 1.5` runs one row and explains it. `make validate` runs all rows and writes these
pages. The rows themselves are data, in `book/`. The verdicts alone, `qcnlab validate`, should
take one to two hours of CPU time: reckoned from one replication of some cases, never timed as
a whole. A run that is stopped goes on where it was: `runs/book` keeps finished cases by scenario,
seed, replications and core."""
WRITTEN_AFTER = """\
**We wrote these rules after we had seen an earlier set of results.** The rules before them
asked for too much: a printed run had to lie between the quartiles of ours, which a perfect
simulator misses half of the time, and limits had to hold that no source states. Until 2026-11-24
an order of recovery times also had to be decided at 90 and 99 % of the level, and not at 95 %
alone; now only the reverse order at one of these leaves it undecided. Each row's section keeps the
verdicts of the earlier rules."""
LAWS_INTRODUCTION = """\
A row proves little if it stays the same when the law of the scheme is wrong. So we ran the rows
below again, with one law changed at a time:"""
LAWS_READ = """\
A cell counts the claims that held before and no longer hold: `2/4` is two of four. `m` means that
no claim is lost, but that some measure leaves its earlier range by 5 % or more. `.` means
neither. An empty cell is a law that the row's schemes do not have; `?` was not run. Both runs
have four replications, or two where a run takes seconds of a core. The median of these decides a
word, so other claims may hold here than in the row."""
READINGS_INTRODUCTION = """\
Where a deck or a paper leaves something open, the choice is a parameter of ours. We ran the rows
again with the other choices. The table names the rows in which fewer claims hold, or more; both
runs have the same few replications. Each row's section has what came out, and `qcnlab validate
4.2 --readings` runs the choices of one row."""
UNUSED = """\
The reviewer derived {count} more claims that no row tests. Some repeat others in other words,
some are rules of a scheme that its unit tests check, some are of scenarios that no slide
describes, and some we have not run. We count them neither as reproduced nor as missed."""
RULES = """\
## Rules of evidence

* **Claims come from the decks and papers alone.** A reviewer who had not seen our numbers derived
  them. They are in `book/claims`, and each claim of a row names its entry there (`001-16-a`:
  deck, slide, letter). Of the papers we had summaries; what a summary only remembers makes no
  claim. Each row says when its claims were fixed, and at which commit. A later change is listed
  with its reason, even if we made it when we knew the results.
* **A printed number is one run of theirs.** It agrees if two things are true. First, it lies in
  the central 95 % of our single runs, widened by half of its last digit, or by what the drawing
  can show. Second, our median is within 20 % of it; otherwise a wide spread would let any number
  pass. This takes 40 runs for the numbers of decks 000 to 002, 20 elsewhere, and 10 in a quick
  row. A quantity that varies little agrees within 5 %. Of a closed form the row states the
  tolerance.
* **An interval decides a word.** It is the 95 % interval of a median, or of the mean of paired
  differences (scipy's t interval); more runs make it narrower. If all of it is on the word's
  side, the word holds. If all of it is on the other side, the word fails. Otherwise the word is
  undecided, and the row says how many runs would decide it. Each word has one meaning in the
  whole book; the table at the end has them.
* **A claim is what the source says.** Where a reviewer added a limit or a factor, the page marks
  it as ours, gives its reason, and lets it decide nothing. A word of degree, such as "much",
  keeps its factor, because without one it says no more than the plain word.
* **One set of parameters for a scheme in a deck or paper.** Where the source prints none, we
  chose once, or a search did (`qcnlab infer`), and the top of the source's page says what. Other
  choices are shown beside the rows that they touch, and decide nothing. [What the searches
  found](../concepts/readings.md), and how far to believe it, stands with the readings.
* **A claim must be able to fail.** We run each row again without congestion control, and with the
  compared cases made equal (one half of the second case's replications against the other). If a
  row holds there as well, it says why; the book's test refuses a row that does not.
* **A claim rests on ten replications or more.** Each draws its own random numbers, starts, and
  order of simultaneous arrivals. What makes no claim has fewer.
* **What a plot shows is our reading**, and the page says so. It makes no claim unless words of
  its source say the same.
* Medians are over replications, and brackets hold quartiles. Figures show one replication dark
  and the range of all of them as a light band."""
LIMITS = """\
## What this cannot show

* Decks and papers print single runs, without seeds and often without parameters. A number that we
  miss by a few percent may be chance, theirs or ours. Some recovery times depend on a step that
  no slide prints.
* After ten replications a word may be undecided although more would decide it. We did not add
  replications where a row was close: that would be a second look.
* A single printed run can agree with a wrong law by chance. One in twenty runs of a right law
  does not agree, and many runs of a wrong one would.
* The limits for words such as "stable" are choices. The reviewer made them without our numbers.
  Another reviewer would choose others, and some rows would change.
* The reviewer belongs to the project. You can check the entries yourself: each is printed beside
  the words of its slide.
* {reworded} were changed after their first results were known: to the words of their entries, to
  stricter ones, or back to those of the slide. Each row says why. The runs on this page came
  later.
* The sources print no table of queue lengths or rates, so nothing here tests the engine to a
  percent. [What was held against what](../reference/verified.md) lists the tests that do."""


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
        f"undecided. Of those that hold, {idle} would also hold without congestion control: they "
        "show only that a mechanism does no harm.",
        "",
    ]


def _numbers(told: Sequence[Told]) -> list[str]:
    lines = [
        "## Every printed number beside ours",
        "",
        "Ours is the median, with the central 95 % of our single runs in brackets. The ratio is",
        "our median divided by the printed number. The percentile is the share of our runs below",
        "the printed number: 50 is their middle; below 2.5 or above 97.5 is outside the brackets.",
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
        "'Also holds' names the control under which the row holds as well. 'Laws' counts the",
        "changed laws (below) that touch the row, and those of them that make a claim of it fail.",
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
        f"Of {len(held)} reproduced rows these also hold under a control. They show that a",
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
        "## Which changed laws each row notices",
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
        "reproduced by other laws as well, so they prove little."
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
        "[What the decks do not give](not-given.md) says what we tried on these and those above.",
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
