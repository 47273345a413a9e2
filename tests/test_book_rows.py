"""Rows and chapters of the book, what runs make of them, and the evidence that is kept."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from made_up_book import CASE, book, chapter, check, claim, judged, row
from qcnlab.book import comparisons, entries, evidence, provenance, trials, verdicts
from qcnlab.book.comparisons import FAILS, HOLDS, UNDECIDED
from qcnlab.book.entries import (
    DRAWN,
    MISSED,
    OPEN,
    PARTLY,
    REPRODUCED,
    UNRUN,
    Book,
    Chapter,
    Claim,
    Reading,
    as_dict,
)
from qcnlab.book.evidence import Evidence, RowEvidence, Run
from qcnlab.book.provenance import read_run
from qcnlab.book.reader import load
from qcnlab.book.runner import CaseResult
from qcnlab.book.toml_table import BookError
from qcnlab.book.values import Values
from qcnlab.book.verdicts import Judged
from qcnlab.book.words import Word


def test_the_cases_of_a_row_are_those_of_claims_readings_and_figures_once_each() -> None:
    gain = claim("gain", case="a", than="b", over=("c", "d"))
    assert gain.cases == ("a", "b", "c", "d")
    shown: Any = SimpleNamespace(case="e")
    drawn: Any = SimpleNamespace(cases=("a", "f"))
    of = row("9.1", claim(), gain, shown=(shown,), figures=(drawn,))
    assert of.claimed == ("a", "b", "c", "d")
    assert of.cases == ("a", "b", "c", "d", "e", "f")
    assert (claim().prints_number, claim(printed=0.0).prints_number) == (False, True)


def test_a_book_of_some_rows() -> None:
    shown: Any = SimpleNamespace(case="a")
    one, two = row("9.1", claim(), quick=True, shown=(shown,)), row("9.2", claim(), shown=(shown,))
    other = Chapter("deck010", "Ten", Path(), {"a": CASE}, (row("10.1", chapter="deck010"),))
    whole = Book((*book(one, two).chapters, other), {})

    def ids(of: Book) -> list[str]:
        return [each.id for part in of.chapters for each in part.rows]

    assert ids(whole.only(())) == ["9.1", "9.2", "10.1"]
    assert ids(whole.only(("9.2",))) == ["9.2"]
    assert ids(whole.only(("deck010", "9.1"))) == ["9.1", "10.1"]
    quick = whole.only((), quick=True)
    assert ids(quick) == ["9.1"]
    # What quick rows show is left out, and of the others it stays.
    assert quick.chapters[0].rows[0].shown == ()
    assert whole.only(("9.2",)).chapters[0].rows[0].shown == (shown,)
    with pytest.raises(BookError, match=r"no row or chapter '9\.3'.*chapters deck009, deck010"):
        whole.only(("9.3",))
    off = whole.without_control()
    assert off.chapters[0].cases["a"].name == "a without control"
    assert off.chapters[0].rows[0].shown == ()
    assert as_dict(one)["fixed"] == {"date": "2026-01-31", "commit": "abc1234"}


def test_a_digest_changes_with_claims_and_cases_that_they_are_about() -> None:
    of = row("9.1", claim())
    same = chapter(of).digest(of)
    assert len(same) == 12
    assert chapter(of, a=CASE, b=replace(CASE, name="b")).digest(of) == same
    assert chapter(of, a=replace(CASE, replications=11)).digest(of) != same
    other = row("9.1", claim(below=5.0))
    assert chapter(other).digest(other) != same
    worded = row("9.1", claim(), remark="more")
    assert chapter(worded).digest(worded) == same
    # What decides counts, and why it does not decide does not.
    ours = row("9.1", claim(ours="why"))
    assert chapter(ours).digest(ours) != same
    other = row("9.1", claim(ours="another reason"))
    assert chapter(other).digest(other) == chapter(ours).digest(ours)


def test_a_digest_changes_with_the_rules_of_verdicts(monkeypatch: pytest.MonkeyPatch) -> None:
    of = row("9.1", claim())
    same = chapter(of).digest(of)
    monkeypatch.setattr(entries, "RULES", "2000-01-01")
    assert chapter(of).digest(of) != same


def test_a_row_is_in_one_chapter_alone(tmp_path: Path) -> None:
    head = 'title = "A deck"\n[[row]]\nid = "9.1"\nslide = "1"\nwhat = "w"\npublished = "p"\n'
    rest = 'verdict = "drawn for comparison"\nfixed = { date = "2026-01-31", commit = "abc1234" }\n'
    (tmp_path / "words.toml").write_text("")
    for name in ("deck009", "paper010"):
        (tmp_path / f"{name}.toml").write_text(head + rest)
    with pytest.raises(BookError, match=r"paper010\.toml: row 9\.1 is in .*deck009\.toml already"):
        load(tmp_path)


def test_what_the_runs_make_of_a_row() -> None:
    holds, fails, open_ = (check(claim(), said, said) for said in (HOLDS, FAILS, UNDECIDED))
    assert judged(row("9.1")).verdict == DRAWN
    # Limits of ours alone make no claim, whatever comes of them.
    assert judged(row("9.1", claim(ours="why")), fails).verdict == DRAWN
    assert Judged(row("9.1", claim()), (), (), ()).verdict == UNRUN

    def verdict(*checks: comparisons.Check) -> str:
        return judged(row("9.1", *(each.claim for each in checks)), *checks).told

    assert verdict(holds, holds) == REPRODUCED
    assert verdict(holds, fails, fails) == f"{PARTLY}: 1 of 3 claims"
    assert verdict(holds, open_) == f"{PARTLY}: 1 of 2 claims, 1 undecided"
    assert verdict(fails, fails) == MISSED
    assert verdict(fails, open_) == OPEN
    missed = judged(row("9.1", claim()), open_)
    assert (missed.verdict, missed.holds, missed.held) == (OPEN, False, 0)
    assert not Judged(row("9.1", claim()), (), (), ()).holds
    stated = judged(row("9.1", claim(), verdict=MISSED), fails)
    assert stated.borne_out and not replace(stated, row=row("9.1", claim())).borne_out


def test_printed_numbers_are_those_of_one_case_that_the_source_says() -> None:
    number = check(claim("number", printed=3.0))
    ours = check(claim("number", printed=3.0, ours="why"))
    factor = check(claim("order", printed=3.0, than="b"))
    of = row("9.1", *(each.claim for each in (number, ours, factor)))
    assert judged(of, number, ours, factor, check(claim())).numbers == (number,)


def test_the_worst_check_is_one_that_fails_of_a_claim_that_does_not_hold() -> None:
    fine, open_, bad = (
        check(claim(of="m"), HOLDS, HOLDS), check(claim(), HOLDS, FAILS),
        check(claim(), FAILS, FAILS),
    )  # fmt: skip
    of = row("9.1", claim())
    assert judged(of, fine, open_, bad).worst is bad
    assert judged(of, fine, open_).worst is open_
    assert judged(of, fine).worst is fine
    assert judged(of).worst is None
    # One of several claims of which one is enough is no worst one.
    either = check(claim(either="x"), FAILS, FAILS)
    assert judged(of, fine, either).worst is fine
    # Nor is a limit of ours.
    ours = check(claim(ours="why"), FAILS, FAILS)
    assert judged(of, ours, fine).worst is fine
    assert judged(of, ours).worst is ours


def test_evidence_of_rows_with_claims_that_were_run() -> None:
    pair = claim("order", case="a", than="b")
    model = replace(CASE, name="b", model="lag_loop")
    packets, theory = row("9.1", claim()), row("9.2", replace(pair, case="b"))
    unrun, drawn = row("9.3", claim()), row("9.4")
    whole = book(packets, theory, unrun, drawn, a=CASE, b=model)
    bad = check(claim(), FAILS, FAILS)
    as_is = [
        judged(packets, bad), judged(theory, check(pair)), Judged(unrun, (), (), ()), judged(drawn),
    ]  # fmt: skip
    off = [judged(packets, check(claim())), *as_is[1:]]
    same = [as_is[0], judged(theory, check(pair, FAILS, FAILS)), *as_is[2:]]
    told = evidence.gather(whole, as_is, off, same)
    assert list(told) == ["9.1", "9.2"]
    one, two = told["9.1"], told["9.2"]
    assert (one.verdict, one.without_control, one.made_equal) == (MISSED, True, None)
    assert (one.ours, one.demanded) == ("drops: a: 3 frames (short: fails)", "< 5 frames")
    assert (one.held, one.of, one.held_without, two.held, two.of) == (0, 1, 0, 1, 1)
    assert one.claims == whole.chapters[0].digest(packets)
    # Row 9.2 compares cases; its model has no control.
    assert (two.verdict, two.without_control, two.made_equal) == (REPRODUCED, None, False)
    assert not two.ours.endswith(")")
    # A control that was not run says nothing, nor does a row that was not.
    off[0], as_is[1] = Judged(packets, (), (), ()), Judged(theory, (), (), ())
    assert evidence.gather(whole, as_is, off, same) == {}
    # As many rows are judged each time.
    with pytest.raises(ValueError, match="zip"):
        evidence.gather(whole, as_is, off, same[:-1])


def test_numbers_of_a_row_are_kept_in_the_unit_in_which_they_are_shown() -> None:
    """A share of 0.04 is 4 %; what never came, and what does not vary, is nothing in JSON."""
    share = claim("number", of="underrun", printed=0.05)
    one = comparisons.Check(
        share, "underrun", (0.0, 0.0), Values.of([0.03, 0.04, math.inf]), (0.03, math.inf), HOLDS
    )
    still = comparisons.Check(share, "underrun", (0.0, 0.0), Values.of([0.04]), None, FAILS)
    of = row("9.1", share, share)
    as_is = [judged(of, replace(one, of_claim=HOLDS), replace(still, of_claim=FAILS))]
    without = [judged(of, *(replace(each, of_claim=HOLDS) for each in (one, still)))]
    kept = evidence.gather(book(of), as_is, without, as_is)["9.1"]
    first, second = kept.numbers
    assert (first.unit, first.high) == ("%", None)
    assert [first.printed, first.median, first.low] == pytest.approx([5.0, 4.0, 3.0])
    assert (first.ratio, first.percentile) == pytest.approx((0.8, 200 / 3))
    assert (first.runs, first.verdict, first.entry) == (3, HOLDS, "009-1-a")
    assert (second.low, second.high, second.percentile, second.verdict) == (None, None, None, FAILS)
    assert (kept.held, kept.of, kept.held_without, kept.numbers_held) == (1, 2, 1, 1)
    # It is read as it was written.
    run = Run("2026-01-31", "abc1234", "0", {"9.1": kept})
    assert read_run(RowEvidence, json.loads(json.dumps(run.tree()))) == run


def test_a_verdict_without_a_check_has_no_measure() -> None:
    assert evidence._measure(Judged(row("9.1", claim()), (), (HOLDS,), ())) == ("", "")


def test_evidence_keeps_what_other_builds_gave_of_other_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build: Any = SimpleNamespace(commit="abc1234", core="0123")
    monkeypatch.setattr(provenance, "build", lambda _: build)
    whole = book(row("9.1", claim()), row("9.2", claim()))

    def told(verdict: str) -> RowEvidence:
        return RowEvidence("digest", verdict, None, None, "", "")

    old = Run("2026-01-01", "000", "0", {"9.1": told(MISSED), "9.9": told(MISSED)})
    gone = Run("2026-01-02", "001", "0", {"9.2": told(MISSED)})
    now = Run("2026-01-03", "abc1234", "0123", {"9.2": told(MISSED), "9.8": told(MISSED)})
    tree = [run.tree() for run in (old, gone, now)]
    (tmp_path / "evidence.json").write_text(json.dumps(tree))
    rows = {"9.1": told(REPRODUCED), "9.2": told(REPRODUCED)}
    assert evidence.write(tmp_path, whole, rows, build) == tmp_path / "evidence.json"
    # A key to a line, a space deeper at each level, so that a commit shows what changed.
    lines = (tmp_path / "evidence.json").read_text(encoding="utf-8").split("\n")
    assert [*lines[:2], *lines[-3:]] == ["[", " {", " }", "]", ""]
    runs = evidence.read(tmp_path).runs
    assert [(run.commit, list(run.rows)) for run in runs] == [
        ("000", ["9.9"]), ("abc1234", ["9.1", "9.2", "9.8"]),
    ]  # fmt: skip
    assert runs[1].rows["9.1"].verdict == REPRODUCED
    assert runs[1].rows["9.8"].verdict == MISSED
    monkeypatch.setattr(provenance, "build", lambda _: None)
    with pytest.raises(BookError, match="the repository changed during the run"):
        evidence.write(tmp_path, whole, {}, build)
    for damaged in ("{", "[1]", "[{}]", '[{"rows": []}]', '[{"rows": {"9.1": {"more": 1}}}]'):
        (tmp_path / "evidence.json").write_text(damaged)
        with pytest.raises(BookError, match="qcnlab validate --controls writes it"):
            evidence.read(tmp_path)


def test_faults_are_of_rows_with_claims() -> None:
    whole = book(row("9.1", claim()), row("9.2"))
    assert evidence.faults(whole, Evidence(())) == [
        "row 9.1: its claims have not been run since they were changed: qcnlab validate --controls"
    ]


def test_claims_that_share_a_name_are_told_how_many_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[int] = []

    def one(of: Claim, results: Any, rules: verdicts._Rules) -> Any:
        asked.append(rules.several)
        return HOLDS, [check(of)]

    monkeypatch.setattr(verdicts, "_claim", one)
    of = row("9.1", claim(), claim(either="x"), claim(either="x"), claim(either="y"))
    result: Any = {"a": None}
    told = verdicts._row(of, result)
    assert asked == [1, 2, 2, 1]
    assert told.verdicts == (HOLDS, HOLDS, HOLDS)
    assert [one.of_claim for one in told.checks] == [HOLDS] * 4
    # A limit of ours is none of several.
    asked.clear()
    verdicts._row(row("9.1", claim(either="x"), claim(either="x", ours="why")), result)
    assert asked == [1, 1]
    # A row with a case that was not run has no verdict.
    unrun = verdicts._row(row("9.1", claim(), claim(case="b")), result)
    assert (unrun.verdicts, unrun.checks) == ((), ())


def test_what_a_row_shows_has_the_values_of_its_case() -> None:
    """A reading of a case that was not run is left out; a row is judged without claims too."""
    seen = [Reading(f"of {case}", "m", case, None, "", None) for case in ("a", "b", "c")]
    results = {case: CaseResult(CASE, None, {"m": value}) for case, value in (("a", 4), ("c", 7))}
    told = verdicts._row(row("9.1", shown=tuple(seen)), results)
    assert [each.reading for each in told.shown] == [seen[0], seen[2]]
    assert [each.values.each for each in told.shown] == [(4,), (7,)]
    assert [each.values.median for each in told.shown] == [4, 7]
    # All rows of all chapters are judged, each by the results of its own.
    several = book(row("9.1", shown=(seen[0],)), row("9.2", shown=(seen[2],)))
    for judge in (verdicts.judge, verdicts.judge_same):
        first, second = judge(several, {"deck009": results})
        assert (first.row, second.row) == several.chapters[0].rows
        assert (first.shown[0].values.median, second.shown[0].values.median) == (4, 7)


def test_laws_are_held_against_rows_that_hold_and_quick_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fails, holds = check(claim(), FAILS, FAILS), check(claim())
    rows = {
        "9.1": (row("9.1", claim()), [holds]),
        "9.2": (row("9.2", claim()), [fails]),
        "9.3": (row("9.3"), []),
        "9.4": (row("9.4", claim(), quick=True), [fails]),
        "9.5": (row("9.5", quick=True), []),
    }
    whole = book(*(of for of, _ in rows.values()))
    other = Chapter("deck010", "Ten", Path(), {"a": CASE}, (row("10.1"),))
    whole = replace(whole, chapters=(*whole.chapters, other))
    monkeypatch.setattr(
        trials, "judge", lambda of, results: [judged(of, *told) for of, told in rows.values()]
    )
    kept = trials._watching(whole, lambda of: {})
    # A chapter of which no row is left is left out.
    assert [[one.id for one in part.rows] for part in kept.chapters] == [["9.1", "9.4"]]


def test_compared_cases_are_made_equal_only_if_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """10 is below 20 every time; the halves of the second case are 20 and 20."""
    each = {"a": [10.0] * 4, "b": [20.0] * 4}
    monkeypatch.setattr(comparisons, "values_of", lambda result, *rest: each[result.case.name])
    less = claim(word=Word("less", "", "order", side="below"), than="b")
    results = {name: CaseResult(replace(CASE, name=name), None, {}) for name in each}
    told = [
        judge(book(row("9.1", less)), {"deck009": results})[0].verdicts
        for judge in (verdicts.judge, verdicts.judge_same)
    ]
    assert told == [(HOLDS,), (FAILS,)]
