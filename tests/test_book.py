"""The validation book: what it may say, how claims are judged, that a changed law is noticed."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from conftest import HOTSPOT, ROOT, SHORT, CommandLine
from qcnlab import book
from qcnlab.book import command, runner
from qcnlab.book.verdicts import Values
from qcnlab.results import Result

if TYPE_CHECKING:
    from collections.abc import Callable

ROWS = {"deck000": 14, "deck001": 15, "deck002": 8, "deck003": 10, "deck004": 53}

HEAD = f"""
title = "A deck"

[cases."{{kind}}"]
scenario = "{HOTSPOT}"
set = {json.dumps(list(SHORT))}
replications = 2
because = "short"
kind = {{ qcn = [], ecm = ["scheme.name=ecm"] }}
"""
ROW = """
[[row]]
id = "9.1"
slide = "1"
what = "a queue"
published = "short"
kind = "verdict"
status = "holds"
because = "it is"
claims = [{ of = "queue_mean_bytes", case = "qcn", during = [0.003, 0.009], below = 150e3 }]
figure = { form = "queue", cases = ["qcn", "ecm"] }
"""


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str], Path]:
    def put(text: str) -> Path:
        (tmp_path / "book").mkdir(exist_ok=True)
        (tmp_path / "book" / "deck009.toml").write_text(text)
        return tmp_path / "book"

    return put


@pytest.fixture(scope="session")
def whole() -> book.Book:
    return book.load(ROOT / "book")


def test_every_published_row_has_an_entry(whole: book.Book) -> None:
    assert {deck.name: len(deck.rows) for deck in whole.decks} == ROWS
    for deck in whole.decks:
        wanted = [f"{int(deck.name[4:])}.{number}" for number in range(1, ROWS[deck.name] + 1)]
        if deck.name == "deck000":
            wanted = [f"0.{number}" for number in range(1, 15)]
        assert [row.id for row in deck.rows] == wanted


def test_quick_rows_are_in_every_deck(whole: book.Book) -> None:
    quick = whole.only((), quick=True)
    assert [deck.name for deck in quick.decks] == list(ROWS)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("published", "pubished", "row 9.1: 'published' is missing"),
        ('slide = "1"', 'slide = "1"\nslid = "2"', "unknown key 'slid'; did you mean 'slide'?"),
        ("queue_mean_bytes", "queue_men_bytes", "there is no measure 'queue_men_bytes'"),
        ('case = "qcn"', 'case = "qcm"', "there is no case 'qcm'"),
        ("below = 150e3", "blow = 150e3", "a claim has either 'in' or one or both"),
        ("below = 150e3", "in = [2, 1]", "'in' is two numbers in order"),
        ('"holds"', '"open"', "an open row has no claims"),
        ('"holds"', '"fails"', "has a remark that says why"),
        (HOTSPOT, "no-such-scenario", "case 'qcn' cannot be built"),
        ("warmup=2 ms", "warmup=2 m", "case 'qcn' cannot be built"),
        ('kind = "verdict"', 'kind = "vedict"', "'kind' is one of number, invariant"),
        ("replications = 2", "replications = 0", "a whole number above 0"),
    ],
)
def test_what_is_wrong_is_refused_with_file_and_row(
    write: Callable[[str], Path], old: str, new: str, said: str
) -> None:
    text = HEAD + ROW
    assert old in text
    with pytest.raises(book.BookError) as error:
        book.load(write(text.replace(old, new)))
    assert "deck009.toml" in str(error.value)
    assert said in str(error.value)


def claim(band: tuple[float, float], runs: tuple[float, float]) -> book.Claim:
    return book.Claim("rec95_ms", "a", None, band, runs, None, "", None)


def judged(values: list[float | None], of: book.Claim) -> bool:
    summary = {"replications": len(values), "metrics": {"rec95_ms": {"values": values}}}
    result = Result("", summary, {}, lambda name: pytest.fail(name))
    case = book.Case("a", "", (), 1, "", "", False)
    row = book.Row("1", "d", "", "", "", "number", "holds", (of,), "", (), "", None, False)
    deck = book.Deck("d", "", Path(), {"a": case}, (row,))
    found = {"d": {"a": runner.CaseResult(case, result, {})}}
    return book.judge(book.Book((deck,)), found)[0].holds


def test_a_claim_holds_by_median_and_nine_runs_in_ten() -> None:
    nine: list[float | None] = [10.0] * 9
    assert judged([*nine, 99], claim((9, 11), (5, 20)))
    assert not judged([*nine[:8], 99, 99], claim((9, 11), (5, 20)))
    assert not judged([12.0] * 10, claim((9, 11), (5, 20)))
    assert not judged([None] * 10, claim((9, 11), (5, 20)))
    assert judged([*nine, None], claim((9, 11), (5, 20)))


def test_values_are_summed_up_with_those_that_never_came() -> None:
    assert Values.of([3.0, 1.0, math.inf]).median == 3.0
    assert Values.of([1.0, math.inf]).median == math.inf
    assert math.isnan(Values.of([1.0, math.nan]).median)


def test_finished_cases_are_kept_and_halves_are_not(
    write: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = book.load(write(HEAD + ROW))
    place = tmp_path / "cache"
    first = runner.results(rows, folder=place)
    assert len(list(place.iterdir())) == 2
    half = next(place.iterdir())
    (half / "meta.json").unlink()
    ran: list[int] = []
    run = runner._together

    def watched(batch: list[runner._Task], *rest: object) -> object:
        ran.append(len(batch))
        return run(batch, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(runner, "_together", watched)
    again = runner.results(rows, folder=place)
    assert ran == [1]
    for name, found in first["deck009"].items():
        other = again["deck009"][name].result
        assert found.result is not None and other is not None
        assert found.result.summary == other.summary


def test_validate_prints_a_table_and_writes_pages(
    write: Callable[[str], Path], cli: CommandLine
) -> None:
    place = str(write(HEAD + ROW))
    done = cli("validate", "--book", place, "--pages", "pages")
    assert done.returncode == 0, done.stderr
    assert "1 row: 1 order holds" in done.stdout
    assert "![a queue](img/9-1.svg)" in (cli.folder / "pages" / "deck009.md").read_text()
    assert (cli.folder / "pages" / "img" / "9-1.svg").stat().st_size < 60_000
    assert "| order holds | 1 |" in (cli.folder / "pages" / "README.md").read_text()
    told = json.loads(cli("validate", "9.1", "--book", place, "--json").stdout)
    assert told["rows"][0]["checks"][0]["holds"] is True


def test_validate_fails_if_a_row_does(write: Callable[[str], Path], cli: CommandLine) -> None:
    place = str(write(HEAD + ROW.replace("below = 150e3", "above = 150e3")))
    done = cli("validate", "--book", place)
    assert done.returncode == 1
    assert "not reproduced (expected to hold)" in done.stdout
    assert cli("validate", "9.9", "--book", place).returncode == 2


MUTATIONS = {
    "gain doubled": ["scheme.rp.gd=0.015625"],
    "three cycles of fast recovery": ["scheme.rp.threshold=3"],
    "no hyper-active increase": ["scheme.rp.hai_rate=0 b/s"],
    "timer half as long": ["scheme.rp.time_reset=7.5 ms"],
    "set point of 26 KB": ["scheme.cp.set_point=26 KB"],
    "samples every 450 KB": ["scheme.cp.sample_base=450 KB", "scheme.cp.adaptive_sampling=false"],
}
WATCHED = ("1.5", "1.6", "1.14")


@pytest.mark.parametrize("name", ["as it is", *MUTATIONS])
def test_a_changed_law_fails_a_quick_row(whole: book.Book, name: str, tmp_path: Path) -> None:
    deck = whole.only(WATCHED).decks[0]
    changes = MUTATIONS.get(name, [])
    cases = {
        key: replace(case, changes=(*case.changes, *changes)) for key, case in deck.cases.items()
    }
    rows = tuple(replace(row, readings=(), figure=None) for row in deck.rows)
    mutated = book.Book((replace(deck, cases=cases, rows=rows),))
    judged = book.judge(mutated, runner.results(mutated, quick=True, folder=tmp_path))
    assert all(each.holds for each in judged) == (name == "as it is")


def test_the_quick_row_of_theory(tmp_path: Path) -> None:
    told, words, holds = command.validate(
        ["4.39", "4.43"], book=ROOT / "book", cache=tmp_path / "cache"
    )
    assert holds and told["count"] == {**told["count"], "matches": 1, "order holds": 1}
    assert "2.0 Gb/s" in words
