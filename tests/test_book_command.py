"""What `qcnlab validate` does with what it is asked for: each part made by hand."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from made_up_book import CASE, book, chapter, check, claim, judged, row
from qcnlab.book import command, evidence, pages, provenance, trials, variants
from qcnlab.book import state as states
from qcnlab.book.comparisons import FAILS, HOLDS
from qcnlab.book.entries import REPRODUCED, UNRUN, Book, Reading
from qcnlab.book.provenance import Run
from qcnlab.book.runner import CACHE, CaseResult
from qcnlab.book.toml_table import BookError
from qcnlab.book.trials import Outcome, Trial

FOLDER = Path("/the/book")


class Asked:
    """What a run of the command asks of its parts; nothing is read, run or written."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *rows: Any, faults: tuple[str, ...] = ()):
        self.calls: list[Any] = []

        def noted(name: str, answer: Any) -> Any:
            def call(*arguments: Any, **more: Any) -> Any:
                self.calls.append((name, arguments, more))
                return answer

            return call

        def only(wanted: Any, **more: Any) -> Any:
            self.calls.append(("only", (wanted,), more))
            return "chosen"

        monkeypatch.setattr(command, "load", lambda folder: SimpleNamespace(only=only))
        monkeypatch.setattr(command, "folder", lambda folder: FOLDER)
        monkeypatch.setattr(provenance, "build", noted("build", "a build"))
        monkeypatch.setattr(command, "results", noted("results", "all results"))
        monkeypatch.setattr(command, "judge", lambda chosen, results: list(rows))
        monkeypatch.setattr(command, "text_tables", lambda chosen, told: "the tables")
        monkeypatch.setattr(command, "row_text", lambda told: "the tables")
        monkeypatch.setattr(command, "SINGLE", 0)
        monkeypatch.setattr(command, "as_json", lambda told: {"rows": len(told)})
        monkeypatch.setattr(command, "_controls", lambda *rest: "of controls")
        monkeypatch.setattr(evidence, "write", noted("evidence", FOLDER / "evidence.json"))
        monkeypatch.setattr(evidence, "read", lambda folder: "evidence")
        monkeypatch.setattr(evidence, "faults", lambda chosen, known: list(faults))
        monkeypatch.setattr(trials, "run", noted("trials", FOLDER / "trial.json"))
        monkeypatch.setattr(pages, "write", noted("pages", [Path("a.md"), Path("b.md")]))

    def of(self, name: str) -> list[Any]:
        return [(arguments, more) for called, arguments, more in self.calls if called == name]


def told(borne_out: bool, verdict: str = REPRODUCED) -> Any:
    return SimpleNamespace(borne_out=borne_out, row=SimpleNamespace(verdict=verdict))


def test_nothing_is_recorded_unless_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Asked(monkeypatch, told(True), told(False, UNRUN))
    # A row that was not run bears nothing out and refutes nothing.
    assert command.validate(["9.1", "deck009"]) == ({"rows": 2}, "the tables", True)
    assert [name for name, _, _ in asked.calls] == ["only", "results"]
    assert asked.of("only") == [((("9.1", "deck009"),), {"quick": False})]
    assert asked.of("results") == [
        (("chosen",), {"quick": False, "jobs": None, "folder": CACHE, "finished": False})
    ]
    more = Asked(monkeypatch, told(True), told(False))
    answer = command.validate([], quick=True, finished=True, jobs=3, cache=Path("kept"))
    assert answer[2] is False
    assert more.of("only") == [(((),), {"quick": True})]
    assert more.of("results")[0][1] == {
        "quick": True, "jobs": 3, "folder": Path("kept"), "finished": True,
    }  # fmt: skip


def test_controls_write_evidence_and_say_what_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Asked(monkeypatch, told(True))
    _, words, fine = command.validate([], controls=True)
    assert (words, fine) == ("the tables\n\n/the/book/evidence.json", True)
    assert asked.of("evidence") == [((FOLDER, "chosen", "of controls", "a build"), {})]
    assert asked.of("build") == [((FOLDER,), {})]
    assert asked.of("trials") == []
    Asked(monkeypatch, told(True), faults=("row 9.1: one", "row 9.2: two"))
    _, words, fine = command.validate([], controls=True)
    assert words.splitlines()[1:] == ["", "row 9.1: one", "row 9.2: two", "/the/book/evidence.json"]
    assert fine is False
    Asked(monkeypatch, told(False))
    assert command.validate([], controls=True)[2] is False


@pytest.mark.parametrize(
    ("options", "kinds"),
    [
        ({"readings": True}, [trials.READINGS]),
        ({"laws": True}, [trials.LAWS]),
        ({"readings": True, "laws": True}, [trials.READINGS, trials.LAWS]),
    ],
)
def test_readings_and_laws_are_run_by_themselves(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, bool], kinds: list[Any]
) -> None:
    asked = Asked(monkeypatch, told(True))
    _, words, _ = command.validate([], **options)  # type: ignore[arg-type]
    each = [arguments for arguments, _ in asked.of("trials")]
    assert [arguments[0] for arguments in each] == kinds
    assert {arguments[1:4] for arguments in each} == {("chosen", FOLDER, "a build")}
    assert isinstance(each[0][4], partial)
    assert words == "the tables" + "\n\n/the/book/trial.json" * len(kinds)
    assert asked.of("evidence") == []
    assert len(asked.of("build")) == 1


def test_rows_are_restated_and_judged_by_what_they_say_now(monkeypatch: pytest.MonkeyPatch) -> None:
    """Row 9.2 said another verdict before; of both trials what is stale goes."""
    asked = Asked(monkeypatch, told(False))
    pruned: list[Any] = []
    monkeypatch.setattr(states, "write", lambda chosen, known: [chosen, known])
    monkeypatch.setattr(trials, "prune", lambda kind, book, folder: pruned.append((kind, folder)))
    answers = iter(([told(False)], [told(True)]))
    monkeypatch.setattr(command, "judge", lambda chosen, results: next(answers))
    _, words, fine = command.validate(["9.2"], state=True, pages=Path("out"))
    assert fine
    assert "2 rows restated: chosen, evidence" in words
    assert pruned == [(trials.READINGS, FOLDER), (trials.LAWS, FOLDER)]
    # The rows are read again, and the pages are of what they say then.
    assert [arguments for arguments, _ in asked.of("only")] == [(("9.2",),)] * 2
    (((_, judged, *_), _),) = asked.of("pages")
    assert judged[0].borne_out
    assert asked.of("build") == asked.of("trials") == []


def test_pages_are_written_where_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    row = told(True)
    asked = Asked(monkeypatch, row)
    _, words, _ = command.validate([], pages=Path("out"))
    assert asked.of("pages") == [(("chosen", [row], "all results", Path("out"), FOLDER), {})]
    assert words == "the tables\n\na.md\nb.md"
    assert asked.of("build") == []


# Trials.

OUTCOME = Outcome("digest", ("holds",), ("fails",), "drops: a: 3", ("x: 2",), True)


def test_what_a_trial_gave_of_rows_that_have_changed_is_left_out(tmp_path: Path) -> None:
    same, other = row("9.1", claim()), row("9.2", claim())
    whole = book(same, other)
    digest = whole.chapters[0].digest(same)
    kept, stale = replace(OUTCOME, claims=digest), OUTCOME
    runs = (
        Run("2026-01-31", "abc1234", "0123", {"9.2": stale}),
        Run("2026-02-01", "def5678", "0123", {"9.1": kept, "9.9": stale}),
    )
    trials._write(
        tmp_path / "laws.json", {"a law": Trial(runs), "another": Trial((replace(runs[0]),))}
    )
    trials.prune(trials.LAWS, whole, tmp_path)
    left = Trial((replace(runs[1], rows={"9.1": kept}),))
    assert trials.read(trials.LAWS, tmp_path) == {"a law": left}


def test_what_a_trial_wrote_is_read_again(tmp_path: Path) -> None:
    trial = Trial((Run("2026-01-31", "abc1234", "0123", {"9.1": OUTCOME}),))
    trials._write(tmp_path / "laws.json", {"a law": trial})
    assert trials.read(trials.LAWS, tmp_path) == {"a law": trial}
    assert trials.read(trials.READINGS, tmp_path) == {}
    lines = (tmp_path / "laws.json").read_text(encoding="utf-8").split("\n")
    assert (lines[:2], lines[-3:]) == (["{", ' "a law": ['], [" ]", "}", ""])
    # What older runs did not say has not moved.
    (tmp_path / "laws.json").write_text(
        (tmp_path / "laws.json").read_text(encoding="utf-8").replace('"moved"', '"other"')
    )
    assert not trials.read(trials.LAWS, tmp_path)["a law"].rows["9.1"].moved
    for damaged in ("{", "[]", '{"a law": [[]]}', '{"a law": [{"rows": []}]}'):
        (tmp_path / "laws.json").write_text(damaged)
        with pytest.raises(BookError, match="qcnlab validate --laws writes it"):
            trials.read(trials.LAWS, tmp_path)


def test_a_run_of_trials_keeps_other_rows_and_drops_other_variants(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build: Any = SimpleNamespace(commit="new", core="0123")
    old = Trial((Run("2026-01-01", "old", "0", {"9.1": OUTCOME, "9.2": OUTCOME}),))
    trials._write(tmp_path / "laws.json", {"first": old, "gone": old})
    (tmp_path / "laws.toml").write_text(
        '[[law]]\nname = "first"\nchanges = "a=1"\n[[law]]\nname = "second"\nchanges = "a=2"\n'
    )
    fresh = Outcome("other", ("holds",), ("holds",), "", ())
    assert not fresh.moved
    watched: list[Any] = []

    def watching(of: Any, run: Any) -> Any:
        watched.append(of)
        return "watched"

    monkeypatch.setattr(trials, "_watching", watching)
    monkeypatch.setattr(trials, "_outcomes", lambda kind, book, variant, run: {"9.2": fresh})
    monkeypatch.setattr(provenance, "build", lambda folder: build)
    whole: Any = "whole"
    path = trials.run(trials.LAWS, whole, tmp_path, build, lambda of: {})
    assert (path, watched) == (tmp_path / "laws.json", ["whole"])
    known = trials.read(trials.LAWS, tmp_path)
    assert list(known) == ["first", "second"]
    assert known["first"].rows == {"9.1": OUTCOME, "9.2": fresh}
    # A row that was not run again keeps the build that ran it.
    before, now = known["first"].runs
    assert before == Run("2026-01-01", "old", "0", {"9.1": OUTCOME})
    assert (now.commit, now.core, now.rows) == ("new", "0123", {"9.2": fresh})
    assert now.date > "2026-01-01"
    assert known["second"].runs == (now,)
    # Readings are of all rows; a repository that changes meanwhile is told.
    (tmp_path / "readings.toml").write_text('[[reading]]\nname = "one"\nchanges = "a=1"\n')
    monkeypatch.setattr(provenance, "build", lambda folder: None)
    with pytest.raises(BookError, match="the repository changed during the run"):
        trials.run(trials.READINGS, whole, tmp_path, build, lambda of: {})
    assert watched == ["whole"]
    assert not (tmp_path / "readings.json").exists()


def test_outcomes_are_of_rows_that_were_run_and_of_those_without_claims(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A law of another case moves the drops of row 9.1 from 3 to 9 frames, and it fails."""
    rows = [row("9.1", claim()), row("9.2", claim()), row("9.3")]
    whole = book(*rows)
    before = [judged(rows[0], check(claim())), judged(rows[1]), judged(rows[2])]
    after = [judged(rows[0], check(claim(), FAILS, FAILS, 9.0)), judged(rows[1]), judged(rows[2])]
    # What was run as it is only has no outcome, and cannot be compared.
    unrun = [judged(rows[0]), judged(rows[1]), replace(after[2], row=row("9.3", shown=(1,)))]
    answers = iter([after, before, unrun, before])
    monkeypatch.setattr(trials, "judge", lambda book, results, few: next(answers))
    monkeypatch.setattr(variants, "changed", lambda book, variant, shown: whole)
    monkeypatch.setattr(variants, "unchanged", lambda book, other: whole)
    variant: Any = None
    told = trials._outcomes(trials.LAWS, whole, variant, lambda of: {})
    assert list(told) == ["9.1", "9.3"]
    one = told["9.1"]
    assert (one.before, one.after, one.moved) == ((HOLDS,), (FAILS,), True)
    assert (one.claims, one.worst) == (whole.chapters[0].digest(rows[0]), "drops: a: 9 frames")
    assert (told["9.3"].before, told["9.3"].worst, told["9.3"].moved) == ((), "", False)
    assert trials._outcomes(trials.LAWS, whole, variant, lambda of: {}) == {}


def test_an_outcome_tells_what_changed_cases_of_its_own_chapter_show() -> None:
    """Of deck 009 b changes, of deck 010 a, which there has more replications; drops become 9."""
    b, more = replace(CASE, name="b"), replace(CASE, replications=20)
    shown = tuple(Reading(f"of {case}", "drops", case, None, "", None) for case in ("a", "b"))
    nine = chapter(row("9.1", shown=shown), a=CASE, b=b)
    rows = (row("10.1", chapter="deck010", shown=shown),)
    ten = replace(chapter(*rows, a=more, b=b), name="deck010")
    whole = Book((nine, ten), {})

    def run_cases(of: Book) -> Any:
        return {
            each.name: {
                name: CaseResult(
                    case, None, {"drops": 3.0 if case.changes == CASE.changes else 9.0}
                )
                for name, case in each.cases.items()
            }
            for each in of.chapters
        }

    part = variants.Part(("deck009/b", "deck010/a"), (), ("scheme.rp.gd*4",))
    told = trials._outcomes(trials.READINGS, whole, variants.Variant("v", (part,)), run_cases)
    assert {name: one.shown for name, one in told.items()} == {
        "9.1": ("of b: 9 frames",), "10.1": ("of a: 9 frames",),
    }  # fmt: skip


def test_the_rows_that_a_variant_touches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "laws.toml").write_text('[[law]]\nname = "one"\nchanges = "a=1"\n')
    asked: list[bool] = []
    part = book(row("9.1"), row("9.2"))

    def changed(of: Any, variant: Any, *, shown: bool) -> Any:
        asked.append(shown)
        return part

    monkeypatch.setattr(variants, "changed", changed)
    assert trials.touched(trials.LAWS, part, tmp_path) == {"one": {"9.1", "9.2"}}
    assert trials.touched(trials.READINGS, part, tmp_path) == {}
    assert asked == [False]
