"""Reading the book's files, and what is wrong with a row by its evidence."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from conftest import ROOT
from made_up_book import CASE
from qcnlab.book import derived, evidence, reader, state
from qcnlab.book.derived import Entry
from qcnlab.book.entries import DRAWN, MISSED, OPEN, PARTLY, REPRODUCED, UNRUN
from qcnlab.book.evidence import Evidence, RowEvidence, Run
from qcnlab.book.provenance import read_run
from qcnlab.book.toml_table import BookError, TomlTable
from qcnlab.book.words import Word

if TYPE_CHECKING:
    from collections.abc import Callable


def table(**tree: Any) -> TomlTable:
    return TomlTable("deck009.toml", tree)


def test_values_that_are_there_and_that_are_not() -> None:
    keys = table(
        text="a", flag=True, number=2, count=1, pair=[1, 2.5], word="x", words=["x", "y"],
        array=[{"k": 1}], table={"k": 2}, tables={"one": {"k": 3}}, any=[0],
    )  # fmt: skip
    assert (keys.text("text"), keys.one_of("text", ("a", "b")), keys.flag("flag")) == (
        "a",
        "a",
        True,
    )
    assert (keys.number("number"), keys.count("count"), keys.pair("pair")) == (2.0, 1, (1.0, 2.5))
    assert (keys.words("word"), keys.words("words")) == (["x"], ["x", "y"])
    assert [each.number("k") for each in keys.array("array")] == [1.0]
    inner, each = keys.table("table"), keys.tables("tables")
    assert inner is not None
    assert inner.number("k") == 2.0
    assert {name: one.number("k") for name, one in each.items()} == {"one": 3.0}
    assert each["one"].where == "deck009.toml, case one"
    # The first of two may be the second, too.
    assert table(pair=[2, 2]).pair("pair") == (2.0, 2.0)
    assert (keys.value("any"), keys.value("none"), keys.names()[0]) == ([0], None, "text")
    keys.end()
    bare = table()
    assert (bare.text("t", "d"), bare.one_of("t", ("d",), "d"), bare.flag("t")) == ("d", "d", False)
    assert (bare.number("t"), bare.pair("t"), bare.words("t", ["d"])) == (None, None, ["d"])
    assert (bare.array("t"), bare.table("t"), bare.tables("t")) == ([], None, {})


@pytest.mark.parametrize(
    ("ask", "tree", "why"),
    [
        (lambda t: t.text("k"), {}, "'k' is missing"),
        (lambda t: t.text("k"), {"k": 1}, "'k' is a text, not 1"),
        (lambda t: t.one_of("k", ("a", "b")), {"k": "c"}, "'k' is one of a, b, not 'c'"),
        (lambda t: t.flag("k"), {"k": 1}, "'k' is true or false, not 1"),
        (lambda t: t.number("k"), {"k": "1"}, "'k' is a number, not '1'"),
        (lambda t: t.number("k"), {"k": True}, "'k' is a number, not True"),
        (lambda t: t.count("k"), {}, "'k' is missing"),
        (lambda t: t.count("k"), {"k": 0}, "'k' is a whole number above 0, not 0"),
        (lambda t: t.count("k"), {"k": True}, "'k' is a whole number above 0, not True"),
        (lambda t: t.count("k"), {"k": 1.5}, "'k' is a whole number above 0, not 1.5"),
        (lambda t: t.pair("k"), {"k": [1]}, "'k' is two numbers in order"),
        (lambda t: t.pair("k"), {"k": [2, 1]}, "'k' is two numbers in order"),
        (lambda t: t.pair("k"), {"k": [1, "2"]}, "'k' is two numbers in order"),
        (lambda t: t.pair("k"), {"k": [1, True]}, "'k' is two numbers in order"),
        (lambda t: t.pair("k"), {"k": [1, float("nan")]}, "'k' is two numbers in order"),
        (lambda t: t.pair("k"), {"k": 3}, "'k' is two numbers in order"),
        (lambda t: t.words("k"), {}, "'k' is missing"),
        (lambda t: t.words("k"), {"k": [1]}, "'k' is a text or a list of texts"),
        (lambda t: t.words("k"), {"k": 1}, "'k' is a text or a list of texts"),
        (lambda t: t.array("k"), {"k": [1]}, "'k' is a list of tables"),
        (lambda t: t.array("k"), {"k": {}}, "'k' is a list of tables"),
        (lambda t: t.table("k"), {"k": []}, "'k' is a table"),
        (lambda t: t.tables("k"), {"k": {"a": 1}}, "'k' is a table of tables"),
        (lambda t: t.tables("k"), {"k": []}, "'k' is a table of tables"),
    ],
)
def test_what_is_refused(ask: Callable[[TomlTable], Any], tree: dict[str, Any], why: str) -> None:
    with pytest.raises(BookError, match=r"^deck009\.toml: ") as refused:
        ask(table(**tree))
    assert why in str(refused.value)


def test_keys_that_nobody_read_are_refused_with_the_nearest() -> None:
    keys = table(published="a", publishd="b")
    keys.name("9.1")
    assert keys.text("published") == "a"
    with pytest.raises(BookError) as refused:
        keys.end()
    said = "deck009.toml, row 9.1: unknown key 'publishd'; did you mean 'published'?"
    assert str(refused.value) == said
    keys.name("9.2")
    assert keys.where == "deck009.toml, row 9.2"
    with pytest.raises(BookError, match=r"unknown key 'x'$"):
        table(x=1).end()


def row(**changes: Any) -> Any:
    known = {"id": "9.1", "claims": (1,), "said": (1,), "verdict": REPRODUCED, "remark": ""}
    return SimpleNamespace(**(known | {"holds_without_control": ""} | changes))


def recorded(
    verdict: str = REPRODUCED, control: bool | None = False, equal: bool | None = False
) -> RowEvidence:
    return RowEvidence("digest", verdict, control, equal, "", "")


def test_faults_of_a_row() -> None:
    def faults(of: Any, told: RowEvidence | None) -> list[str]:
        return evidence._faults(of, "digest", told)

    assert faults(row(), recorded()) == []
    not_run = ["its claims have not been run since they were changed: qcnlab validate --controls"]
    assert faults(row(), None) == not_run
    assert evidence._faults(row(), "another", recorded()) == not_run
    assert faults(row(), recorded(PARTLY)) == [f"it says '{REPRODUCED}', and its runs '{PARTLY}'"]
    alone = faults(row(), recorded(control=True))
    assert alone == ["it holds without congestion control, and does not say why"]
    same = faults(row(), recorded(equal=True))
    assert same == ["it holds with the compared cases made equal, and does not say why"]
    assert faults(row(holds_without_control="why"), recorded(control=True, equal=True)) == []
    missed = faults(row(verdict=MISSED), recorded(MISSED, control=True))
    assert missed == ["it is not reproduced, and does not say what we get"]
    assert faults(row(verdict=MISSED, remark="more"), recorded(MISSED)) == []


def test_the_last_verdict_counts_while_the_claims_stay() -> None:
    chapter: Any = SimpleNamespace(digest=lambda _: "digest")
    known = Evidence((Run("2026-01-31", "abc1234", "0", {"9.1": recorded(REPRODUCED)}),))
    assert evidence.verdict(chapter, row(), known) == REPRODUCED
    assert evidence.verdict(chapter, row(id="9.2"), known) == UNRUN
    assert evidence.verdict(chapter, row(said=()), known) == DRAWN
    changed: Any = SimpleNamespace(digest=lambda _: "another")
    assert evidence.verdict(changed, row(), known) == UNRUN


STATED = """title = "Nine"

[[row]]
id = "9.1"
verdict = "not reproduced"
remark = "verdict = \"x\""

[[row]]
id = "9.10"
verdict = "undecided"
earlier = ["not reproduced until 2026-01-01, commit 0"]

[[row]]
id = "9.2"
verdict = "drawn for comparison"
"""


def test_rows_are_restated_by_their_last_run_and_keep_what_they_said(tmp_path: Path) -> None:
    path = tmp_path / "deck009.toml"
    path.write_text(STATED)
    rows = (
        row(verdict=MISSED, earlier=()),
        row(id="9.10", verdict=OPEN, earlier=("not reproduced until 2026-01-01, commit 0",)),
        row(id="9.2", said=(), verdict=DRAWN, earlier=()),
        row(id="9.3", verdict=MISSED, earlier=()),
    )
    chapter: Any = SimpleNamespace(path=path, rows=rows, digest=lambda _: "digest")
    book: Any = SimpleNamespace(chapters=(chapter,))
    runs = (
        Run("2026-01-31", "abc1234", "0", {"9.1": recorded(REPRODUCED)}),
        Run("2026-02-01", "def5678", "0", {"9.10": recorded(PARTLY), "9.2": recorded()}),
    )
    assert state.write(book, Evidence(runs)) == ["9.1", "9.10"]
    assert path.read_text() == STATED.replace(
        'verdict = "not reproduced"\n',
        'verdict = "reproduced"\nearlier = ["not reproduced until 2026-01-31, commit abc1234"]\n',
    ).replace(
        'verdict = "undecided"\nearlier = ["not reproduced until 2026-01-01, commit 0"]\n',
        'verdict = "partly reproduced"\nearlier = ["not reproduced until 2026-01-01, commit 0", '
        '"undecided until 2026-02-01, commit def5678"]\n',
    )
    # A row whose claims have changed since its run says what it said.
    stale: Any = SimpleNamespace(path=path, rows=rows, digest=lambda _: "another")
    before = path.read_text()
    assert state.write(SimpleNamespace(chapters=(stale,)), Evidence(runs)) == []  # type: ignore[arg-type]
    assert path.read_text() == before


def test_rows_are_written_in_the_order_of_their_numbers() -> None:
    run = Run("2026-01-31", "abc1234", "0", {name: recorded() for name in ("1.10", "1.9", "0.11")})
    assert list(run.tree()["rows"]) == ["0.11", "1.9", "1.10"]
    assert read_run(RowEvidence, run.tree()) == run
    damaged = run.tree() | {"rows": {"1.9": {"claims": "x", "verdict": 3}}}
    with pytest.raises(ValueError, match=r"^row 1.9: verdict is 3, not text$"):
        read_run(RowEvidence, damaged)


CLAIMS = """# Deck 009

## Common settings
- Status: no entry

### 009-1-a · slide 1 · order
- Status: claim.
- Quote: "QCN recovers"
### 009-2-b · slide 2 A title · of two parts · limit
- Words without a quote. Status: not testable from the deck
### 009-3-c · slide 3
"""


def test_an_entry_has_a_title_without_its_kind(tmp_path: Path) -> None:
    assert derived.read(tmp_path, "deck009") == []
    (tmp_path / "claims").mkdir()
    (tmp_path / "claims" / "deck009.md").write_text(CLAIMS, encoding="utf-8")
    assert derived.read(tmp_path, "deck009") == [
        Entry("009-1-a", "slide 1", "claim", '"QCN recovers"'),
        Entry("009-2-b", "slide 2 A title · of two parts", "not testable from the deck", ""),
        # One that names no kind keeps all of its title.
        Entry("009-3-c", "slide 3", "", ""),
    ]


def test_the_book_is_that_of_the_sources_unless_another_is_here_or_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert reader.folder() == ROOT / "book"
    for name in ("book", "other"):
        (tmp_path / name).mkdir()
        with pytest.raises(BookError, match=f"there is no book in '{name}'"):
            reader.folder(Path(name))
        (tmp_path / name / "paper010.toml").touch()
    assert (reader.folder(), reader.folder(Path("other"))) == (Path("book"), Path("other"))


def test_a_figure_names_its_cases_each_or_by_one_pattern() -> None:
    def names(cases: str, *named: str) -> tuple[str, ...]:
        tree = {"form": "queue", "cases": cases, "names": list(named)}
        return reader._figure(
            TomlTable("x", tree), dict.fromkeys(("qcn-10", "ecm-10", "b"), CASE)
        ).names

    assert names("{kind}-10", "{kind}") == ("QCN", "ECM")
    assert names("{kind}-10", "one", "two") == ("one", "two")
    assert names("b", "two") == ("two",)
    # One case, too, has what its braces stand for.
    assert names("{kind}cn-10", "{kind}") == ("q",)
    with pytest.raises(BookError, match="the figure has 2 cases and 3 names"):
        names("{kind}-10", "one", "two", "three")
    with pytest.raises(BookError, match="the figure has 2 cases and 0 names"):
        names("{kind}-10")


def test_a_gain_is_compared_with_that_between_two_cases_by_name() -> None:
    def gain(*over: str) -> tuple[str, ...]:
        tree = {"word": "more", "of": "drops", "entry": "009-1-a", "case": "{kind}-10"}
        table = TomlTable("x", tree | {"than": "b", "over": list(over)})
        words = {"more": Word("more", "", "gain")}
        cases = dict.fromkeys(("qcn-10", "b", "qcn-20"), CASE)
        (claim,) = reader._claims(table, cases, words)
        return claim.cases

    assert gain("{kind}-20", "b") == ("qcn-10", "b", "qcn-20", "b")
    with pytest.raises(BookError, match="there is no case 'ecm-20' to compare 'qcn-10' with"):
        gain("b", "ecm-20")
    with pytest.raises(BookError, match="there is no case '' to compare 'qcn-10' with"):
        gain("", "b")
    with pytest.raises(BookError, match="'more' needs two cases, over"):
        gain("b")
