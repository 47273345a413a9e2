"""What the validation book writes down: which build ran, which entries have no row, its pages."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from conftest import ROOT
from qcnlab import book
from qcnlab.book import derived, front_page, markdown, provenance, trials
from qcnlab.book.trials import Outcome


def git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    done = subprocess.run(
        ["git", *who, *words], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "deck009.toml").write_text("title = 'x'\n")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "-m", "x")
    return tmp_path


def test_evidence_names_the_commit_that_runs(repository: Path) -> None:
    build = provenance.build(repository / "book")
    assert build.commit == git(repository, "rev-parse", "--short", "HEAD")
    assert len(build.core) == 12


def test_a_tree_with_changes_is_refused_but_not_what_a_run_writes(repository: Path) -> None:
    (repository / "book" / "evidence.json").write_text("{}")
    (repository / "docs" / "book").mkdir(parents=True)
    (repository / "docs" / "book" / "README.md").write_text("x")
    assert provenance.build(repository / "book").commit != provenance.UNKNOWN
    (repository / "book" / "deck009.toml").write_text("title = 'y'\n")
    with pytest.raises(book.BookError, match=r"'book/deck009.toml' is not as it was committed"):
        provenance.build(repository / "book")


def test_outside_a_repository_the_commit_is_not_known(tmp_path: Path) -> None:
    assert provenance.build(tmp_path).commit == provenance.UNKNOWN


def test_entries_are_read_with_their_status() -> None:
    entries = {each.id: each for each in derived.read(ROOT / "book", "deck001")}
    # The tally at the end: 42 entries, 23 claims and two more in a scenario of ours.
    assert len(entries) == 42
    assert sum(each.status.startswith("claim") for each in entries.values()) == 25
    assert entries["001-16-a"].quote.startswith('"Recovery time = 94 msec"')
    assert entries["001-3-b"].status == "not testable from the deck"


def test_entries_without_a_row_are_those_that_no_claim_names() -> None:
    whole = book.load(ROOT / "book")
    unused = {each.id for each in derived.without_row(whole, ROOT / "book")["deck001"]}
    assert "001-16-a" not in unused
    assert "001-3-a" in unused


def test_an_outcome_counts_claims_that_are_lost_and_won() -> None:
    outcome = Outcome("", ("holds", "holds", "fails"), ("holds", "undecided", "holds"), "", ())
    assert (outcome.lost, outcome.won) == (1, 1)
    # A change leaves no claim without a verdict.
    short = replace(outcome, after=outcome.after[:-1])
    for count in ("lost", "won"):
        with pytest.raises(ValueError, match="zip"):
            getattr(short, count)


@pytest.mark.parametrize(
    ("after", "moved", "mark"),
    [(("fails", "holds"), True, "1/2"), (("holds",) * 2, True, "m"), (("holds",) * 2, False, ".")],
)
def test_a_cell_of_the_laws_says_how_many_claims_are_lost(
    after: tuple[str, ...], moved: bool, mark: str
) -> None:
    assert front_page._mark(Outcome("", ("holds", "holds"), after, "", (), moved)) == mark


def test_no_row_of_a_trial_has_other_claims_than_the_book(tmp_path: Path) -> None:
    whole = book.load(ROOT / "book")
    digests = {row.id: chapter.digest(row) for chapter in whole.chapters for row in chapter.rows}
    for kind in (trials.READINGS, trials.LAWS):
        for name, trial in trials.read(kind, ROOT / "book").items():
            stale = [row for row, one in trial.rows.items() if one.claims != digests[row]]
            assert stale == [], f"{name}: qcnlab validate --{kind.key}s"


def test_figures_are_lean() -> None:
    images = list((ROOT / "docs" / "book" / "img").iterdir())
    assert [path.name for path in images if path.stat().st_size > 150_000] == []
    assert sum(path.stat().st_size for path in images) < 4_000_000


def test_a_bar_in_a_cell_does_not_end_it() -> None:
    assert markdown.cells("a|b", "c") == "| a\\|b | c |"
    assert markdown.anchor("4.21") == "row-4-21"
