"""Cases, variants, trials and evidence of the book: which are run, how often, and what is kept."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

from conftest import HOTSPOT, SHORT
from qcnlab.book import (
    completion,
    derived,
    evidence,
    figures,
    models,
    provenance,
    runner,
    variants,
    verdicts,
)
from qcnlab.book.cases import Case, expand, matching
from qcnlab.book.comparisons import FAILS, HOLDS, UNDECIDED, Check
from qcnlab.book.entries import (
    DRAWN,
    MISSED,
    NUMBER,
    ORDER,
    UNRUN,
    Book,
    Chapter,
    Claim,
    Figure,
    Fixed,
    Row,
    as_dict,
)
from qcnlab.book.evidence import Evidence, RowEvidence, Run
from qcnlab.book.reader import load
from qcnlab.book.runner import CaseResult
from qcnlab.book.toml_table import BookError, TomlTable
from qcnlab.book.traces import Traces
from qcnlab.book.values import Values
from qcnlab.book.variants import Part, Variant
from qcnlab.book.verdicts import Judged
from qcnlab.book.words import Word

INF = math.inf
CASE = Case("a", HOTSPOT, SHORT, 10, "", "", ())


def claim(test: str = "limit", **changes: Any) -> Claim:
    base = Claim(
        "009-1-a", Word("short", "", test), "drops", "a", None, ("", ""), None, "", None, math.nan,
        0.0, -INF, INF, 1.0,
    )  # fmt: skip
    return replace(base, **changes)


def row(number: str, *claims: Claim, **changes: Any) -> Row:
    base = Row(
        number, "deck009", "Slide 3", "what", "said", "", ORDER, Fixed("2026-01-31", "abc1234", ""),
        (), claims, "", (), "", "", "", (), False,
    )  # fmt: skip
    return replace(base, **changes)


def chapter(*rows: Row, **cases: Case) -> Chapter:
    return Chapter("deck009", "Nine", Path("deck009.toml"), cases or {"a": CASE}, rows)


def book(*rows: Row, **cases: Case) -> Book:
    return Book((chapter(*rows, **cases),), {})


# Cases.


def tables(text: dict[str, Any]) -> dict[str, TomlTable]:
    return {name: TomlTable(f"deck009.toml, case {name}", tree) for name, tree in text.items()}


FAMILY: dict[str, Any] = {
    "scenario": HOTSPOT,
    "set": list(SHORT),
    "replications": 3,
    "because": "short",
    "kind": {"qcn": [], "ecm": ["scheme.name=ecm"]},
    "rtt": {"10": ["topology.rtt=10 us"], "20": ["topology.rtt=20 us"]},
}


def test_a_family_has_a_case_for_each_combination() -> None:
    cases = expand(tables({"og-{kind}-{rtt}us": FAMILY}))
    assert list(cases) == ["og-qcn-10us", "og-qcn-20us", "og-ecm-10us", "og-ecm-20us"]
    last = cases["og-ecm-20us"]
    assert last.changes == (*SHORT, "scheme.name=ecm", "topology.rtt=20 us")
    assert (last.replications, last.because, last.hot, last.keep) == (3, "short", None, ())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"scenario": "", "model": ""}, "a case has either a scenario or a model"),
        ({"model": "lag_loop"}, "a case has either a scenario or a model"),
        (
            {"scenario": "", "model": "nothing"},
            "there is no model 'nothing'; there are dcqcn_margin",
        ),
        ({"keep": ["queues"]}, "'keep' names tables of messages, rates, flows, not 'queues'"),
        ({"hot": {"until": 1.0}}, "'from' is missing in 'hot'"),
        ({"rtt": None}, "the name has {rtt}, so there must be a table 'rtt'"),
        ({"other": 1}, "unknown key 'other'"),
    ],
)
def test_cases_that_cannot_be_are_refused(change: dict[str, Any], words: str) -> None:
    tree = {key: value for key, value in (FAMILY | change).items() if value not in (None, "")}
    with pytest.raises(BookError) as refused:
        expand(tables({"og-{kind}-{rtt}us": tree}))
    assert words in str(refused.value)


def test_two_cases_of_one_name_are_refused() -> None:
    plain = {key: FAMILY[key] for key in ("scenario", "set", "replications", "because")}
    with pytest.raises(BookError, match="there are two cases 'x'"):
        expand(tables({"x": plain, "{one}": plain | {"one": {"x": []}}}))


def test_the_hotspot_of_a_case() -> None:
    plain = {key: FAMILY[key] for key in ("scenario", "set", "replications", "because")}
    hot = {"from": 0, "until": 0.02, "duration": 0.04, "set_point": 33e3, "rate": 0.5}
    one = expand(tables({"x": plain | {"hot": hot}}))["x"].hot
    assert one is not None
    assert (one.start_s, one.end_s, one.duration_s) == (0, 0.02, 0.04)
    assert (one.set_point, one.full, one.flows, one.rate) == (33e3, INF, "", 0.5)
    assert math.isnan(one.after)
    more = {"full": 1e5, "after": 9.5, "flows": "h*"}
    two = expand(tables({"x": plain | {"hot": hot | more}}))["x"].hot
    assert two is not None
    assert (two.full, two.after, two.flows) == (1e5, 9.5, "h*")


def test_a_case_without_control_has_no_scheme_and_two_replications_at_most() -> None:
    case = replace(CASE, changes=("scheme.name=ecm", "duration=1 s", "scheme.rp.gd=0.1"))
    off = case.without_control()
    assert (off.name, off.replications) == ("a without control", 2)
    assert off.changes == ("duration=1 s", "scheme.name=none")
    assert replace(case, replications=1).without_control().replications == 1
    model = replace(CASE, model="lag_loop")
    assert model.without_control() is model
    assert case.command == (
        f"qcnlab run {HOTSPOT} -s scheme.name=ecm -s 'duration=1 s' -s scheme.rp.gd=0.1 "
        "--seed 1 --reps 10"
    )


def test_patterns_name_cases_with_what_their_braces_stand_for() -> None:
    cases = dict.fromkeys(("qcn-10us", "ecm-10us", "ecm-20us", "qcn-10us-x"), CASE)
    at = TomlTable("deck009.toml", {})
    assert matching(["{kind}-10us"], cases, at) == [
        ("qcn-10us", {"kind": "qcn"}), ("ecm-10us", {"kind": "ecm"}),
    ]  # fmt: skip
    assert matching(["ecm-20us", "qcn-{rtt}"], cases, at) == [
        ("ecm-20us", {}), ("qcn-10us", {"rtt": "10us"}),
    ]  # fmt: skip
    # A dot of a name stands for itself.
    with pytest.raises(BookError, match=r"there is no case 'qcn\.10us'"):
        matching(["qcn.10us"], cases, at)


# Rows, chapters.


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


def test_a_row_is_in_one_chapter_alone(tmp_path: Path) -> None:
    head = 'title = "A deck"\n[[row]]\nid = "9.1"\nslide = "1"\nwhat = "w"\npublished = "p"\n'
    rest = 'verdict = "drawn for comparison"\nfixed = { date = "2026-01-31", commit = "abc1234" }\n'
    (tmp_path / "words.toml").write_text("")
    for name in ("deck009", "paper010"):
        (tmp_path / f"{name}.toml").write_text(head + rest)
    with pytest.raises(BookError, match=r"paper010\.toml: row 9\.1 is in .*deck009\.toml already"):
        load(tmp_path)


# Variants.


def test_parts_name_cases_by_globs_and_leave_some_out() -> None:
    part = Part(("deck00?/qcn-*", "*/ecm"), ("*-20us",), ())
    named = [
        ("deck001", "qcn-10us"),
        ("deck001", "qcn-20us"),
        ("deck010", "qcn-10us"),
        ("x", "ecm"),
    ]
    assert [part.applies(*each) for each in named] == [True, False, False, True]


def test_variants_are_read_in_parts(tmp_path: Path) -> None:
    path = tmp_path / "laws.toml"
    assert variants.read(path, "law") == ()
    path.write_text(
        '[[law]]\nname = "x"\nchanges = "a=1"\n[[law]]\nname = "y"\nof = "b"\nchanges = ["c=2"]\n'
        '[[law]]\nname = "x"\nbut = "d"\nchanges = "e=3"\n'
    )
    x, y = variants.read(path, "law")
    assert x == Variant("x", (Part(("*",), (), ("a=1",)), Part(("*",), ("d",), ("e=3",))))
    assert y == Variant("y", (Part(("b",), (), ("c=2",)),))


def test_how_many_replications_of_a_changed_case_are_compared() -> None:
    of = chapter(row("9.1", claim()), a=CASE, b=replace(CASE, name="b"))

    def most(replications: int) -> int:
        return variants.most(of, replace(CASE, replications=replications))

    # Two of a costly case, which has five or fewer; four of others; never more than it has.
    assert [most(count) for count in (1, 2, 5, 6, 10)] == [1, 2, 2, 4, 4]
    # One of a case without a claim.
    assert variants.most(of, replace(CASE, name="b")) == 1


def test_the_first_part_that_changes_a_case_counts() -> None:
    of = row("9.1", claim())
    first, second = Part(("*",), (), ("seed=1",)), Part(("*",), (), ("scheme.rp.gd*4",))
    whole = book(of)
    changed = variants.changed(whole, Variant("v", (first, second)), shown=False)
    case = changed.chapters[0].cases["a"]
    # QCN's Gd is 1 / 128; the seed is the scenario's anyway or is changed first.
    base = CASE.build().to_dict()
    if base["seed"] == 1:
        assert case.changes[-1] == "scheme.rp.gd=0.03125"
    else:
        assert case.changes[-1] == "seed=1"
    assert case.replications == 4
    assert variants.unchanged(whole, changed).chapters[0].rows == (of,)
    unknown = Variant("v", (Part(("*",), (), ("scheme.rp.nothing*2",)),))
    assert variants.changed(whole, unknown, shown=False).chapters == ()
    refused = Variant("v", (Part(("*",), (), ("scheme.rp.gd=-1",)),))
    assert variants.changed(whole, refused, shown=False).chapters == ()


def test_rows_are_touched_by_what_they_show_only_if_asked() -> None:
    shown: Any = SimpleNamespace(case="a")
    whole = book(row("9.1", shown=(shown,)))
    law = Variant("v", (Part(("*",), (), ("scheme.rp.gd*4",)),))
    assert variants.changed(whole, law, shown=False).chapters == ()
    (one,) = variants.changed(whole, law, shown=True).chapters
    assert one.rows[0].shown == (shown,)


def test_products_of_numbers_and_quantities() -> None:
    assert variants._times(0.0078125, 2.0) == "0.015625"
    assert variants._times("15 ms", 2.0) == "0.03 s"
    assert variants._times("5 Mb/s", 0.5) == "2500000 b/s"
    assert variants._times("150 KB", 3.0) == "450000 B"
    with pytest.raises(BookError, match="'both' is no quantity"):
        variants._times("both", 2.0)
    assert variants._overrides(CASE, ("a=1*2", "scheme.rp.gd*2", "b=1")) == [
        "a=1*2", "scheme.rp.gd=0.015625", "b=1",
    ]  # fmt: skip


# Evidence.


def check(of: Claim, verdict: str = HOLDS, of_claim: str = HOLDS, each: float = 3.0) -> Check:
    return Check(of, of.of, (-INF, 5.0), Values.of([each]), None, verdict, of_claim)


def judged(of: Row, *checks: Check) -> Judged:
    return Judged(of, checks, tuple(one.of_claim for one in checks), ())


def test_what_the_runs_make_of_a_row() -> None:
    printed = claim("number", printed=3.0)
    assert judged(row("9.1")).verdict == DRAWN
    assert Judged(row("9.1", claim()), (), (), ()).verdict == UNRUN
    assert judged(row("9.1", claim()), check(claim())).verdict == ORDER
    assert judged(row("9.1", claim(), printed), check(claim()), check(printed)).verdict == NUMBER
    missed = judged(row("9.1", claim()), check(claim(), UNDECIDED, UNDECIDED))
    assert (missed.verdict, missed.holds) == (MISSED, False)
    assert not Judged(row("9.1", claim()), (), (), ()).holds


def test_a_number_outside_the_quartiles_says_by_how_much_it_is_off() -> None:
    near, far = claim("number", printed=3.0), claim("number", printed=3.2)
    stated = row("9.1", far, verdict=NUMBER)
    assert judged(stated, check(far)).off == (check(far),)
    assert not judged(stated, check(far)).borne_out
    assert judged(replace(stated, off_by="0.2"), check(far)).borne_out
    assert judged(stated, check(near)).off == ()
    assert judged(stated, check(near)).borne_out
    # A limit is no number; a number that fails is not off, it fails.
    assert judged(stated, check(claim())).off == ()
    assert judged(stated, check(far, FAILS, FAILS)).off == ()
    assert not judged(replace(stated, verdict=ORDER), check(near)).borne_out


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
    assert one.claims == whole.chapters[0].digest(packets)
    # Row 9.2 compares cases; its model has no control.
    assert (two.verdict, two.without_control, two.made_equal) == (ORDER, None, False)
    assert not two.ours.endswith(")")


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
    tree = [evidence._tree(run) for run in (old, gone, now)]
    (tmp_path / "evidence.json").write_text(json.dumps(tree))
    evidence.write(tmp_path, whole, {"9.1": told(ORDER), "9.2": told(ORDER)}, build)
    runs = evidence.read(tmp_path).runs
    assert [(run.commit, list(run.rows)) for run in runs] == [
        ("000", ["9.9"]), ("abc1234", ["9.1", "9.2", "9.8"]),
    ]  # fmt: skip
    assert runs[1].rows["9.1"].verdict == ORDER
    assert runs[1].rows["9.8"].verdict == MISSED
    monkeypatch.setattr(provenance, "build", lambda _: None)
    with pytest.raises(BookError, match="the repository changed during the run"):
        evidence.write(tmp_path, whole, {}, build)
    (tmp_path / "evidence.json").write_text("{")
    with pytest.raises(BookError, match="qcnlab validate --controls writes it"):
        evidence.read(tmp_path)


def test_faults_are_of_rows_with_claims() -> None:
    whole = book(row("9.1", claim()), row("9.2"))
    assert evidence.faults(whole, Evidence(())) == [
        "row 9.1: its claims have not been run since they were changed: qcnlab validate --controls"
    ]


# The runner.


def task(count: int, seconds: float = 1.0) -> runner._Task:
    scenario: Any = SimpleNamespace(_core=SimpleNamespace(duration_s=seconds))
    return runner._Task(scenario, count, Path(f"{count}-{seconds}"), ())


def test_batches_have_four_cases_of_as_many_replications() -> None:
    tasks = [task(3), *(task(5) for _ in range(6)), task(3)]
    assert [[each.replications for each in batch] for batch in runner._batches(tasks)] == [
        [3, 3], [5, 5, 5, 5], [5, 5],
    ]  # fmt: skip
    assert task(3, 2.0).cost == 6


def test_the_bar_moves_by_the_share_of_what_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """Costs of 4 and 12: the first batch ends at a quarter."""
    at: list[float] = []

    class Bar:
        def __init__(self, *rest: Any) -> None:
            pass

        def __enter__(self) -> Any:
            return at.append

        def __exit__(self, *rest: Any) -> None:
            pass

    def together(batch: Any, seed: int, jobs: Any, progress: Any) -> Any:
        for fraction in (0.5, 1.0):
            progress(fraction)
        return [(each, None) for each in batch]

    kept: list[Any] = []
    monkeypatch.setattr(runner, "Bar", Bar)
    monkeypatch.setattr(runner, "_together", together)
    monkeypatch.setattr(runner, "_keep", lambda result, of: kept.append(of))
    tasks = [task(2, 2.0), task(4, 1.0), task(4, 2.0)]
    runner._run(tasks, 1, None, False)
    assert at == pytest.approx([0.125, 0.25, 0.625, 1.0])
    assert kept == tasks


def test_a_case_is_kept_by_its_scenario_seed_replications_and_tables(tmp_path: Path) -> None:
    case = replace(CASE, keep=("rates",))
    plain = runner._task(CASE, 3, 1, tmp_path)
    assert plain.tables == ("queues", "throughput", "drops")
    assert runner._task(case, 3, 1, tmp_path).tables == (*plain.tables, "rates")
    hash_, seed, reps, core = plain.folder.name.split("-")
    assert (len(hash_), seed, reps, len(core)) == (16, "seed1", "reps3", 8)
    assert runner._task(case, 3, 1, tmp_path).folder.name == plain.folder.name + "-rates"


def test_quick_runs_have_twenty_replications_at_most(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    monkeypatch.setattr(
        runner, "_run", lambda tasks, *rest: asked.extend(t.replications for t in tasks)
    )
    monkeypatch.setattr(runner, "_case_result", lambda case, folder: case.name)
    whole = book(
        row("9.1", claim(), claim(case="b"), claim(case="m")), a=CASE,
        b=replace(CASE, name="b", replications=30),
        m=replace(CASE, name="m", model="parking_lot", changes=()),
    )  # fmt: skip
    results: Any = runner.results(whole, folder=tmp_path)
    assert results == {"deck009": {"a": "a", "b": "b", "m": "m"}}
    runner.results(whole, folder=tmp_path, quick=True)
    assert asked == [10, 30, 10, 20]
    # Of finished cases nothing is run, and what is missing is left out.
    results = runner.results(whole, folder=tmp_path, finished=True)
    assert results == {"deck009": {"m": "m"}}
    assert len(asked) == 4


# Entries, models, completion times, figures.


def test_entries_of_the_reviewer_end_where_the_next_begins(tmp_path: Path) -> None:
    (tmp_path / "claims").mkdir()
    (tmp_path / "claims" / "deck009.md").write_text(
        '# Nine\n\n### 009-1-a · Recovery · slide\n- Quote: "94 ms" \n- Status: claim.\n'
        "### 009-2-b · Plain\nStatus: shown\n### 009-3-c · Bare\n"
    )
    assert [(e.id, e.title, e.status, e.quote) for e in derived.read(tmp_path, "deck009")] == [
        ("009-1-a", "Recovery", "claim", '"94 ms"'),
        ("009-2-b", "Plain", "shown", ""),
        ("009-3-c", "Bare", "", ""),
    ]
    assert derived.read(tmp_path, "deck010") == []
    whole = book(row("9.1", claim(entry="009-9-z")))
    assert [each.id for each in derived.without_row(whole, tmp_path)["deck009"]] == ["009-1-a"]
    named = book(row("9.1", claim()))
    assert derived.without_row(named, tmp_path) == {"deck009": []}


def test_fair_shares_of_the_parking_lot() -> None:
    """Four hot flows and a cold one on each of two links of 10 Gb/s.

    Max-min: 10 / 5 for each. Proportional: hot is half of cold, 4 hot + 2 hot = 10.
    """
    assert models.parking_lot([]) == {"share_hot": 2.0, "share_cold": 2.0}
    shares = models.parking_lot(["proportional=1"])
    assert shares == pytest.approx({"share_hot": 10 / 6, "share_cold": 20 / 6})
    assert models.parking_lot(["hot=1", "rate=9"]) == {"share_hot": 4.5, "share_cold": 4.5}
    with pytest.raises(ValueError, match="'cold' is none of rate, hot, proportional"):
        models.parking_lot(["cold=1"])


def test_the_lag_loop_of_a_row() -> None:
    """K e^{-s} / (1 + s T): with K = 2 the edge is at tau / T = 1.209, with 1 nowhere."""
    stable = models.lag_loop(["gain=2", "lag=40", "delay=19"])
    assert stable["stable"] == 1
    assert stable["critical_ratio"] == pytest.approx(1.2092, abs=1e-4)
    assert stable["overshoot"] == pytest.approx(0.398, abs=0.005)
    unstable = models.lag_loop(["gain=2", "lag=10", "delay=19"])
    assert (unstable["stable"], unstable["overshoot"]) == (0.0, INF)
    assert models.lag_loop(["gain=1", "lag=10", "delay=19"])["critical_ratio"] == INF
    assert models.loop_of(["gain=2", "lag=1", "delay=1"]).form == "lag"
    lead = models.loop_of(["gain=2", "lag=1", "delay=1", "w=0.1"])
    assert (lead.form, lead.w, lead.time_unit) == ("lead", 0.1, "")
    assert models._degrees(None) == INF


def test_margins_take_their_delays_in_microseconds() -> None:
    at_50 = models.dcqcn_margin(["sources=10", "delay_us=50"])["phase_margin"]
    assert at_50 == pytest.approx(-6.58, abs=0.05)
    # Without propagation: the published curve of ten sources.
    assert models.timely_margin(["sources=10"])["phase_margin"] == pytest.approx(28.53, abs=0.05)


def flows_of(
    visitor: dict[str, list[Any]], monkeypatch: pytest.MonkeyPatch, rates: list[float]
) -> Any:
    """Return a run of one endless flow with these rates, in bins of 20 us, and a visitor."""
    frame = pl.DataFrame(visitor)
    bins = np.arange(len(rates), dtype=np.float64) * 20e-6
    one = Traces(
        np.zeros(0), np.zeros(0), bins,
        {"visitor": np.zeros(len(rates)), "endless": np.array(rates)}, np.zeros(0), np.zeros(0),
    )  # fmt: skip
    monkeypatch.setattr(completion, "traces", lambda _: [one])
    monkeypatch.setattr(completion, "facts", lambda _: SimpleNamespace(throughput_bin_s=20e-6))
    return SimpleNamespace(table=lambda _: SimpleNamespace(to_polars=lambda: frame))


def test_how_long_an_endless_flow_takes_to_have_its_rate_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The visitor stays from 200 us (bin 10) to 410 us, within bin 20.

    Before it 10 Gb/s flow, counted from 100 us on. 9.5 Gb/s must hold for 50 us, two bins of 20:
    they do from bin 24, at 480 us, 70 us after the end. Held for 100 us, five bins, from bin 27 on.
    """
    visitor: dict[str, list[Any]] = {
        "replication": [0], "source": ["visitor"], "size_bytes": [1000], "start_s": [200e-6],
        "finished_s": [410e-6],
    }  # fmt: skip
    rates = [1.0] * 5 + [10.0] * 5 + [5.0] * 14 + [9.5, 9.5, 5.0] + [10.0] * 20
    run = flows_of(visitor, monkeypatch, rates)
    back = completion.MEASURES["back_ms"][2]
    assert back(run, 0, None) == pytest.approx(0.070)
    assert back(run, 0, 0.1) == pytest.approx(27 * 0.02 - 0.41)
    # Never: the rate stays low. At once: it never fell, and a time is not below 0.
    low = flows_of(visitor, monkeypatch, [10.0] * 10 + [9.4] * 30)
    assert back(low, 0, None) == INF
    calm = flows_of(visitor, monkeypatch, [10.0] * 40)
    assert back(calm, 0, None) == 0
    unfinished = flows_of(visitor | {"finished_s": [None]}, monkeypatch, rates)
    assert back(unfinished, 0, None) == INF


def numbers_of(name: str, value: float) -> CaseResult:
    model = replace(CASE, name=name, model="parking_lot", changes=())
    return CaseResult(model, None, {"share_hot": value})


def bars(of: str = "share_hot", names: tuple[str, ...] = ("A", "B")) -> Figure:
    cases = tuple(name.lower() for name in names)
    return Figure("bars", cases, names, None, "Gb/s", "", of, (), None)


def test_bars_show_median_and_range() -> None:
    results = {"a": numbers_of("a", 3.0), "b": numbers_of("b", 5.0)}
    canvas = figures.draw(bars(), results)
    (axes,) = canvas.axes
    widths = [patch.get_width() for patch in axes.patches]  # type: ignore[attr-defined]
    assert widths == [3.0, 5.0]
    assert axes.get_xlim() == pytest.approx((0, 1.15 * 5))
    assert [text.get_text() for text in axes.texts] == ["3", "5"]
    assert [text.get_text() for text in axes.get_yticklabels()] == ["A", "B"]
    # The first stands at the top.
    assert axes.get_ylim()[0] > axes.get_ylim()[1]
    assert axes.get_xlabel() == "share hot: median, and range over runs"
    assert tuple(canvas.get_size_inches()) == pytest.approx((6.4, 0.9 + 2 * 0.25))
    nothing = figures.draw(bars(names=("A",)), {"a": numbers_of("a", 0.0)})
    assert nothing.axes[0].get_xlim() == pytest.approx((0, 1))


def test_bars_leave_out_what_never_came() -> None:
    assert figures._finite([3.0, INF, 1.0, 2.0]) == (2.0, 1.0, 3.0)
    assert figures._finite([INF, math.nan]) == (0.0, 0.0, 0.0)


def test_labels_of_bars_have_their_unit_once() -> None:
    assert figures._label("queue_mean_bytes") == "queue mean (KB)"
    assert figures._label("rec95_ms") == "rec95 (ms)"
    assert figures._label("bottleneck_gbps") == "bottleneck (Gb/s)"
    assert figures._label("share_hot") == "share hot"


def test_steps_have_a_line_for_each_loop_up_to_twenty_delays() -> None:
    changes = ("gain=1.5", "lag=2", "delay=0.5"), ("gain=1.5", "lag=2", "delay=1")
    results = {
        name: CaseResult(replace(CASE, name=name, model="lag_loop", changes=each), None, {})
        for name, each in zip(("a", "b"), changes, strict=True)
    }
    asked = replace(bars(), form="step")
    canvas = figures.draw(asked, results)
    (axes,) = canvas.axes
    ends = [float(np.asarray(line.get_xdata())[-1]) for line in axes.lines]
    assert ends == pytest.approx([10, 20])
    assert [line.get_label() for line in axes.lines] == ["A", "B"]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("time (no unit, as on the slide)", "output")
    assert tuple(canvas.get_size_inches()) == pytest.approx((6.4, 2.9))


def test_claims_that_share_a_name_are_told_how_many_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[int] = []

    def one(of: Claim, results: Any, *, same: bool, several: int) -> Any:
        asked.append(several)
        return HOLDS, [check(of)]

    monkeypatch.setattr(verdicts, "_claim", one)
    of = row("9.1", claim(), claim(either="x"), claim(either="x"), claim(either="y"))
    result: Any = {"a": None}
    told = verdicts._row(of, result)
    assert asked == [1, 2, 2, 1]
    assert told.verdicts == (HOLDS, HOLDS, HOLDS)
    assert [one.of_claim for one in told.checks] == [HOLDS] * 4
    # A row with a case that was not run has no verdict.
    unrun = verdicts._row(row("9.1", claim(), claim(case="b")), result)
    assert (unrun.verdicts, unrun.checks) == ((), ())
