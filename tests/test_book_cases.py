"""Cases and variants of the book: which are run, how often, and with what changed."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from conftest import HOTSPOT, SHORT
from made_up_book import CASE, INF, book, chapter, claim, row
from qcnlab.book import variants
from qcnlab.book.cases import expand, matching
from qcnlab.book.toml_table import BookError, TomlTable
from qcnlab.book.variants import Part, Variant


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
    # A model has no law to change, and stays as it is.
    model = replace(CASE, name="m", model="lag_loop", changes=("beta=2",))
    both = book(of, row("9.2", claim(case="m")), a=CASE, m=model)
    kept = variants.changed(both, Variant("v", (second,)), shown=False)
    assert kept.chapters[0].cases["m"] is model
    assert kept.chapters[0].rows == (of,)
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
