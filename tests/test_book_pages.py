"""The book's first page and its chapters' pages, on a book of four rows worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from qcnlab.book import findings, front_page, pages, provenance, trials
from qcnlab.book.comparisons import FAILS, HOLDS, UNDECIDED, Check
from qcnlab.book.derived import Entry
from qcnlab.book.entries import DRAWN, MISSED, OPEN, PARTLY, REPRODUCED, UNRUN, Fixed
from qcnlab.book.evidence import Evidence, NumberEvidence, RowEvidence, Run
from qcnlab.book.front_page import Told
from qcnlab.book.trials import Outcome, Trial
from qcnlab.book.values import Values
from qcnlab.book.verdicts import Judged, Shown


def row(number: str, **changes: Any) -> Any:
    known = {
        "id": number, "chapter": "deck009", "what": f"what {number}", "published": f"said {number}",
        "claims": (1,), "said": (1,), "earlier": (), "verdict": REPRODUCED,
        "holds_without_control": f"why {number}",
        "fixed": Fixed("2026-01-31", "abc1234", ""), "changes": (), "quick": False,
        "location": "Slide 3", "reading": "", "because": "", "remark": "",
        "figures": (), "cases": (), "shown": (),
    }  # fmt: skip
    return SimpleNamespace(**(known | changes))


def told(number: str, verdict: str, **changes: Any) -> Told:
    known: dict[str, Any] = {"without_control": False, "made_equal": False}
    recorded = RowEvidence("digest", verdict, **(known | changes), ours="3 ms", demanded="< 5 ms")
    return Told(row(number), verdict, recorded)


def outcome(before: str, after: str, *, moved: bool = False) -> Outcome:
    """Return an outcome by the first letters of its verdicts."""
    words = {"h": HOLDS, "f": FAILS, "u": UNDECIDED}
    return Outcome(
        "digest", tuple(words[one] for one in before), tuple(words[one] for one in after),
        "worst", ("a: 1", "b: 2"), moved,
    )  # fmt: skip


def trial(rows: dict[str, Outcome], commit: str = "abc1234") -> Trial:
    return Trial((provenance.Run("2026-02-01", commit, "0", rows),))


def link(number: str) -> str:
    return f"[{number}](deck009.md#row-{number.replace('.', '-')})"


def table(lines: list[str]) -> list[list[str]]:
    """Return the cells of the rows that name a row of the book."""
    return [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in lines
        if line.startswith("| [9.")
    ]


def test_outcomes_of_a_changed_law() -> None:
    one = outcome("hhuf", "hfhh")
    assert (one.lost, one.won) == (1, 2)
    assert (outcome("hu", "uu").lost, outcome("uf", "fu").won) == (1, 0)
    # Of three claims that held two hold no longer.
    assert front_page._mark(outcome("hhhf", "ffhf")) == "2/3"
    assert front_page._mark(outcome("hf", "hf", moved=True)) == "m"
    assert front_page._mark(outcome("hf", "hf")) == "."


def test_which_law_each_row_watches() -> None:
    """Row 9.1 loses one of two claims, 9.2 none; 9.3 was not run, 9.5 is missed."""
    laws = {
        "gain": trial(
            {"9.1": outcome("hh", "hf"), "9.2": outcome("h", "h"), "9.5": outcome("h", "f")}
        ),
        "timer": trial({"9.1": outcome("hh", "hh", moved=True)}, "def5678"),
    }
    touched = {"gain": {"9.1", "9.2", "9.5"}, "timer": {"9.1", "9.2"}}
    every = [
        told("9.1", REPRODUCED),
        told("9.2", REPRODUCED),
        told("9.3", REPRODUCED),
        told("9.5", MISSED),
    ]
    lines = front_page._laws(every, laws, touched)
    assert [line for line in lines if line.startswith("* ")] == ["* A: gain", "* B: timer"]
    assert table(lines) == [
        [link("9.1"), REPRODUCED, "1/2", "m"],
        [link("9.2"), REPRODUCED, ".", "?"],
        [link("9.5"), MISSED, "1/1", ""],
    ]
    last = lines[-2]
    assert last.startswith(f"**No claim of {link('9.2')} fails under any of them.**")
    assert last.endswith(f" Not run: {link('9.3')}.")
    assert "They ran at commit abc1234 and def5678." in "\n".join(lines)
    assert "| row | verdict | A | B |" in lines
    heard = front_page._laws([told("9.1", REPRODUCED)], laws, touched)
    assert heard[-2] == "Every reproduced row notices at least one of them."
    assert front_page._laws(every, {}, touched) == []
    # A law that was not run may be noticed yet.
    some = front_page._laws(every, laws, touched | {"third": {"9.1"}})
    assert some[-2] == (
        "1 of 3 laws were not run since the rules of verdicts changed. No claim of "
        f"{link('9.2')} fails under any of those that were. Not run: {link('9.3')}."
    )
    # A row that is not reproduced is neither deaf nor unrun.
    missed = front_page._laws(
        [told("9.2", MISSED), told("9.3", MISSED), told("9.1", REPRODUCED)], laws, touched
    )
    assert missed[-2] == "Every reproduced row notices at least one of them."


def test_rows_that_are_reproduced_with_the_laws_that_they_notice() -> None:
    laws = {
        "gain": trial({"9.1": outcome("hh", "hf"), "9.2": outcome("h", "h")}),
        "timer": trial({"9.1": outcome("hh", "hh")}),
    }
    every = [
        told("9.1", REPRODUCED, without_control=True),
        told("9.2", REPRODUCED, without_control=True, made_equal=True),
        told("9.3", REPRODUCED),
        told("9.4", MISSED),
        Told(row("9.6"), REPRODUCED, None),
    ]
    assert table(front_page._reproduced(every, laws)) == [
        [link("9.1"), "said 9.1", "3 ms", "< 5 ms", "without control", "1 of 2"],
        [
            link("9.2"),
            "said 9.2",
            "3 ms",
            "< 5 ms",
            "without control and with equal cases",
            "0 of 1",
        ],
        [link("9.3"), "said 9.3", "3 ms", "< 5 ms", "", ""],
    ]


def test_rows_that_hold_under_a_control() -> None:
    every = [
        told("9.1", REPRODUCED, made_equal=True), told("9.2", REPRODUCED),
        told("9.4", MISSED, made_equal=True), Told(row("9.6"), REPRODUCED, None),
    ]  # fmt: skip
    chapters = (
        SimpleNamespace(name="deck009", rows=(row("9.1"), row("9.2"))),
        SimpleNamespace(name="paper010", rows=(row("10.1"),)),
    )
    book: Any = SimpleNamespace(chapters=chapters)
    run = Run("2026-02-01", "abc1234", "0123", {"9.1": every[0].recorded})  # type: ignore[dict-item]
    lines = front_page._controls(book, every, Evidence((run,)))
    assert table(lines) == [
        [link("9.1"), "with equal cases", "why 9.1"],
        [link("9.6"), "controls not run", "why 9.6"],
    ]
    assert "Of 3 reproduced rows these also hold" in "\n".join(lines)
    assert (
        "* 1 row with claims (deck009): commit abc1234, core of SHA-256 0123..., by 2026-02-01"
        in lines
    )


def test_rows_with_fewer_or_more_claims_in_another_reading() -> None:
    readings = {
        "other": trial(
            {"9.1": outcome("hh", "hf"), "9.2": outcome("u", "h"), "9.3": outcome("hu", "uh")}
        ),
        "third": trial({"9.4": outcome("hh", "ff")}),
    }
    lines = front_page._readings(readings, ["other", "third"])
    assert lines[-4:-1] == [
        "|---|---|---|---|",
        "| other | 3 | 9.1 | 9.2 |",
        "| third | 1 | 9.4 |  |",
    ]
    assert "not run since" not in "\n".join(lines)
    some = front_page._readings(readings, ["other", "third", "fourth"])
    assert some[2].endswith(
        " 1 of 3 readings were not run since the rules of verdicts changed, and are not here."
    )
    assert front_page._readings({}, ["other"]) == []


def test_rows_that_are_not_reproduced_say_what_we_get() -> None:
    every = [told("9.1", REPRODUCED), told("9.4", MISSED), Told(row("9.6"), MISSED, None)]
    assert table(front_page._missed(every)) == [
        [link("9.4"), "what 9.4", "said 9.4", "3 ms", "< 5 ms"]
    ]


def number(verdict: str, **changes: Any) -> NumberEvidence:
    known: dict[str, Any] = {
        "entry": "009-1-a", "what": "recovery: a", "unit": "ms", "printed": 40.0, "median": 37.25,
        "low": 30.0, "high": 44.5, "ratio": 0.93125, "percentile": 61.4, "runs": 40,
    }  # fmt: skip
    return NumberEvidence(**(known | changes), verdict=verdict)


def test_every_printed_number_stands_beside_ours() -> None:
    numbers = (
        number(HOLDS),
        number(FAILS, median=None, high=None, ratio=None, percentile=0.4, runs=20),
        number(FAILS, unit="", low=None, high=None, percentile=None, runs=1),
    )
    every = [
        told("9.1", PARTLY, numbers=numbers, held=3, of=5, undecided=1, held_without=1),
        told("9.2", DRAWN, numbers=numbers), told("9.3", UNRUN, numbers=numbers, held=9, of=9),
        told("9.4", OPEN, held=0, of=2, undecided=2), Told(row("9.6"), MISSED, None),
    ]  # fmt: skip
    one = link("9.1")
    assert table(front_page._numbers(every)) == [
        [one, "recovery: a", "40 ms", "37.2 [30..44.5]", "0.931", "61", "40", "holds"],
        [one, "recovery: a", "40 ms", "never [30..never]", "", "0", "20", "**fails**"],
        [one, "recovery: a", "40", "37.2", "0.931", "", "1", "**fails**"],
    ]
    # One of three numbers, two of four words; three undecided; one needs no control.
    assert front_page._claims(every)[0].startswith(
        "**1 of 3 printed numbers and 2 of 4 printed words hold.** 3 claims of the others are "
        "undecided. Of those that hold, 1 would also hold without congestion control"
    )


def test_rows_that_are_partly_reproduced_say_how_many_claims_hold() -> None:
    every = [
        told("9.1", PARTLY, held=2, of=3), told("9.2", OPEN, held=0, of=2, undecided=1),
        told("9.3", MISSED, held=0, of=2), Told(row("9.6"), PARTLY, None),
    ]  # fmt: skip
    assert table(front_page._partly(every)) == [
        [link("9.1"), "what 9.1", "said 9.1", "2 of 3", "", "3 ms", "< 5 ms"],
        [link("9.2"), "what 9.2", "said 9.2", "0 of 2", "1", "3 ms", "< 5 ms"],
    ]


def test_rows_that_do_not_hold_say_what_was_tried() -> None:
    """Row 9.1 gains a claim with one of two readings, 9.2 with none; 9.3 is touched by none."""
    readings = {
        "other": trial({"9.1": outcome("hu", "hh"), "9.2": outcome("f", "f")}),
        "third": trial({"9.1": outcome("hu", "uh")}),
    }
    every = [
        told("9.0", REPRODUCED), told("9.1", PARTLY, held=1, of=2, undecided=1),
        told("9.2", MISSED, held=0, of=1), told("9.3", OPEN, held=0, of=2, undecided=2),
        told("9.4", DRAWN), Told(row("9.6"), MISSED, None), told("9.7", MISSED, held=0, of=1),
    ]  # fmt: skip
    chapters = (SimpleNamespace(name="deck009", title="Nine"), SimpleNamespace(name="x", title="X"))
    book: Any = SimpleNamespace(chapters=chapters)
    touched = {"other": {"9.1", "9.2", "9.7"}, "third": {"9.1"}}
    text = findings.page(book, every, readings, touched)
    lines = text.splitlines()
    assert [line for line in lines if line.startswith("##")] == [
        "## No claim holds: 2 rows", "### Nine", "## Undecided: 1 row", "### Nine",
        "## Some claims hold, and some do not: 1 row", "### Nine",
    ]  # fmt: skip
    one = lines.index(f"**{link('9.1')}. what 9.1.** Published: said 9.1.")
    assert lines[one + 1 :] == [
        "1 of 2 claims hold, 1 undecided. Worst: 3 ms; demanded: < 5 ms.",
        'More claims hold with "other", of 2 other readings.',
    ]
    assert "0 of 1 claim hold. Worst: 3 ms; demanded: < 5 ms." in lines
    assert "Of 1 other reading none makes more of its claims hold." in lines
    assert "No other reading touches it." in lines
    assert "1 other reading of it: not run by these rules." in lines


def test_entries_without_a_row_are_counted_over_chapters() -> None:
    one, two = (Entry(f"009-{n}-a", f"title {n}", "claim", f"quote {n}") for n in (1, 2))
    lines = front_page._unused({"deck009": [one], "deck010": [], "paper011": [two]})
    assert "derived 2 more claims" in "\n".join(lines)
    assert lines[-3:-1] == [
        "| 009-1-a | title 1 | claim | quote 1 |",
        "| 009-2-a | title 2 | claim | quote 2 |",
    ]
    assert front_page._unused({"deck009": []}) == []


def test_verdicts_are_counted_by_chapter() -> None:
    chapters = (
        SimpleNamespace(name="deck009", title="Nine"), SimpleNamespace(name="deck010", title="Ten"),
    )  # fmt: skip
    book: Any = SimpleNamespace(chapters=chapters)
    other = Told(row("10.1", chapter="deck010"), REPRODUCED, None)
    every = [told("9.1", REPRODUCED), told("9.2", REPRODUCED), told("9.3", REPRODUCED), other]
    lines = front_page._counts(book, every)
    assert "4 rows:" in lines
    counts = [line.split(" | ")[1] for line in lines if line.startswith(f"| {REPRODUCED}")]
    assert counts == ["4"]
    assert lines[-3:-1] == [
        "| [Nine](deck009.md) | 3 | 0 | 0 | 0 | 0 |", "| [Ten](deck010.md) | 1 | 0 | 0 | 0 | 0 |",
    ]  # fmt: skip
    # Rows that were not run have a column where there are some.
    unrun = front_page._counts(book, [*every, Told(row("9.7"), UNRUN, None)])
    assert unrun[-3] == "| [Nine](deck009.md) | 3 | 0 | 0 | 0 | 0 | 1 |"


def test_rows_reworded_after_they_were_fixed_are_named() -> None:
    late, same, early = (
        Fixed(date, "", "why") for date in ("2026-02-01", "2026-01-31", "2026-01-30")
    )
    rows = (
        row("9.1", changes=(late,)), row("9.2", changes=(same,)), row("9.3"),
        row("9.4", changes=(early, late)),
    )  # fmt: skip
    book: Any = SimpleNamespace(chapters=(SimpleNamespace(rows=rows),))
    assert front_page._reworded(book) == "The claims of 2 rows (9.1, 9.4)"


def test_words_have_their_meanings() -> None:
    words = {"short": SimpleNamespace(name="short", meaning="a short queue")}
    book: Any = SimpleNamespace(words=words)
    assert front_page._words(book)[-1] == "| short | a short queue |"


# A chapter's page.


def check(verdict: str = HOLDS, *, composite: bool = False, of_claim: str = HOLDS) -> Check:
    word = SimpleNamespace(name="short", test="limit", composite=composite)
    claim: Any = SimpleNamespace(
        entry="009-1-a", word=word, of="recovery", case="a", than=None, during=None, flows="",
        either="", ours="", prints_number=False,
    )  # fmt: skip
    limits = (-float("inf"), 5.0)
    return Check(claim, "recovery", limits, Values.of([3.0]), None, verdict, of_claim)


def judged(of: Any, *checks: Check, shown: tuple[Any, ...] = ()) -> Judged:
    return Judged(of, checks, tuple(one.verdict for one in checks), shown)


def page(**changes: Any) -> pages._Page:
    chapter: Any = SimpleNamespace(title="Nine", cases={}, chosen="a step of 5")
    known: dict[str, Any] = {
        "chapter": chapter, "case_results": {}, "folder": Path(), "recorded": Evidence(()),
        "readings": {},
    }  # fmt: skip
    return pages._Page(**(known | changes))


def test_the_page_of_a_chapter_has_a_table_and_a_section_for_each_row() -> None:
    one = row("9.1")
    two = row("9.2", claims=(), said=())
    lines = page().text([judged(one, check(FAILS, of_claim=FAILS)), judged(two)]).splitlines()
    assert lines[0] == "# Nine"
    assert "2 rows: 1 not reproduced, 1 drawn for comparison." in lines
    assert lines[6] == "Where the source prints nothing: a step of 5"
    assert "| [9.1](#row-9-1) | said 9.1 | recovery: 3 ms | not reproduced |" in lines
    assert "| [9.2](#row-9-2) | said 9.2 |  | drawn for comparison |" in lines
    assert [line for line in lines if line.startswith("## ")] == ["## Row 9-1", "## Row 9-2"]


def test_the_section_of_a_row() -> None:
    of = row(
        "9.1", claims=(SimpleNamespace(prints_number=True),), reading="a plot", because="why so",
        remark="more",
    )  # fmt: skip
    reading = SimpleNamespace(name="other", of="queue_mean_bytes")
    seen: Any = Shown(reading, Values.of([2000.0]))  # type: ignore[arg-type]
    lines = list(page()._row(judged(of, check(), shown=(seen,))))
    assert lines[:4] == ["## Row 9-1", "", "what 9.1. (Slide 3.)", ""]
    assert lines[4] == f"Published: said 9.1. Verdict: **{REPRODUCED}**."
    assert lines[6] == "Our reading of it: a plot"
    assert "| 009-1-a, short | recovery: a | 3 ms | < 5 ms |  | holds |" in lines
    assert [line for line in lines if line in ("why so", "more")] == ["why so", "more"]
    assert "| other | queue mean bytes | 2 KB |" in lines
    assert "Fixed 2026-01-31 at abc1234." in lines
    bare = list(page()._row(judged(row("9.2", claims=(), said=()))))
    assert bare == [
        "## Row 9-2", "", "what 9.2. (Slide 3.)", "",
        f"Published: said 9.2. Verdict: **{DRAWN}**.",
    ]  # fmt: skip


def test_a_check_that_does_not_hold_is_in_bold() -> None:
    assert pages._check(check(FAILS)).endswith("| **fails** |")
    assert pages._check(check(UNDECIDED, composite=True, of_claim=FAILS)).startswith(
        "| 009-1-a, short: fails, where this | recovery: a |"
    )


def test_how_many_claims_hold_with_another_reading() -> None:
    assert pages._held(outcome("hhuf", "hfff")) == "1 of 4, 2 without it"
    readings = {
        "other": trial({"9.1": outcome("hh", "hf")}),
        "third": trial({"9.9": outcome("h", "h")}),
    }
    with_claims = list(page(readings=readings)._readings(judged(row("9.1"))))
    assert with_claims[-1] == "| other | 1 of 2, 2 without it | worst |"
    assert len(with_claims) == 4
    shown = list(page(readings=readings)._readings(judged(row("9.1", claims=(), said=()))))
    assert shown[-1] == "| other | a: 1; b: 2 |"
    assert list(page(readings=readings)._readings(judged(row("9.2")))) == []


def test_the_history_of_a_row() -> None:
    later = Fixed("2026-02-01", "def5678", "a window was wrong.")
    of = row("9.1", changes=(later, replace(later, commit="", reason="again.")))
    said = pages._history(judged(of), None)
    assert said == (
        "Fixed 2026-01-31 at abc1234. Changed 2026-02-01 at def5678: a window was wrong. "
        "Changed 2026-02-01: again."
    )
    before = row("9.1", earlier=("not reproduced until 2026-02-02, commit abc", "undecided"))
    assert pages._history(judged(before), None).endswith(
        " Earlier verdicts: not reproduced until 2026-02-02, commit abc; undecided."
    )
    recorded = RowEvidence("digest", REPRODUCED, True, None, "", "")
    assert pages._history(judged(of), recorded) == (
        said + " Without control: holds; with equal cases: not asked. why 9.1"
    )
    recorded = RowEvidence("digest", REPRODUCED, False, True, "", "")
    assert pages._history(judged(row("9.1", holds_without_control="")), recorded).endswith(
        " Without control: does not hold; with equal cases: holds."
    )


def test_the_commands_of_a_row_are_those_of_its_scenarios() -> None:
    cases = {
        "a": SimpleNamespace(model="", command="qcnlab run a"),
        "b": SimpleNamespace(model="lag_loop", command="no"),
    }
    chapter: Any = SimpleNamespace(title="Nine", cases=cases, chosen="")
    lines = list(page(chapter=chapter)._commands(judged(row("9.1", cases=("a", "b")))))
    assert lines[4:6] == ["qcnlab validate 9.1", "qcnlab run a"]
    assert len(lines) == 9
    assert list(page(chapter=chapter)._commands(judged(row("9.1", cases=("b",))))) == []


def test_figures_of_a_row_are_numbered_from_the_second_on(monkeypatch: pytest.MonkeyPatch) -> None:
    saved: list[Any] = []
    monkeypatch.setattr(pages, "save", lambda figure, results, path: saved.append(path))
    a, c = SimpleNamespace(cases=("a",)), SimpleNamespace(cases=("a", "c"))
    of = row("9.1", figures=(a, c, a))
    lines = list(page(case_results={"a": None, "b": None})._figures(judged(of)))
    # The second has a case that was not run.
    assert lines == ["", "![what 9.1](img/9-1.png)", "", "![what 9.1](img/9-1-3.png)"]
    assert saved == [Path("img/9-1.png"), Path("img/9-1-3.png")]
    # All cases that were run may be in one figure.
    both = row("9.2", figures=(SimpleNamespace(cases=("b", "a")),))
    lines = list(page(case_results={"a": None, "b": None})._figures(judged(both)))
    assert lines == ["", "![what 9.2](img/9-2.png)"]


# Trials.


def measured(*each: float) -> Check:
    return replace(check(), values=Values.of(each))


def test_a_measure_moves_where_its_median_leaves_the_range_by_five_percent() -> None:
    before = measured(10.0, 12.0, 20.0)
    # The median is 12; 20 is in the range, 21 out of it and 75 % more.
    assert not trials._moves(before, measured(20.0))
    assert not trials._moves(before, measured(10.0))
    assert trials._moves(before, measured(21.0))
    assert trials._moves(before, measured(9.9))
    close = measured(100.0)
    # Within 5 % of the larger: 105.2 less 100 is 4.9 % of 105.2.
    assert not trials._moves(close, measured(105.2))
    assert trials._moves(close, measured(105.3))
    nan = float("nan")
    assert trials._moves(close, measured(nan))
    assert trials._moves(measured(nan), close)
    assert not trials._moves(measured(nan), measured(nan))


def test_what_a_row_shows_is_of_the_changed_cases_alone() -> None:
    def one(case: str, value: float) -> Any:
        reading: Any = SimpleNamespace(name=f"of {case}", of="recovery", case=case)
        return Shown(reading, Values.of([value]))

    of = judged(row("9.1"), check(), shown=(one("a", 1.0), one("b", 2.0)))
    assert trials._shown(of, {("deck009", "b"), ("deck010", "a")}) == ["of b: 2 ms"]
    assert trials._worst(of) == "recovery: a: 3 ms"
    assert trials._worst(judged(row("9.1"))) == ""
