"""Completion times of flows made by hand: starts, ends, bases, groups and formats."""

from __future__ import annotations

import json
from typing import Any

import polars as pl
import pytest

import qcnlab
from made_up_run import META, made_up_summary
from qcnlab.results.completion import Completions, CompletionSummary
from qcnlab.runs.percentiles import Bound, Group, percentile
from qcnlab.runs.tables import Table
from typed_dicts import unlike

CONFIG = '[[traffic]]\narrivals = "list"\n[[traffic]]\narrivals = "poisson"\n'
# A run of two replications that end at 1 and at 2 s.
ENDS = (1.0, 2.0)
Flow = tuple[Any, ...]


def completions(*flows: Flow, **options: str) -> Completions:
    """Return completion times of flows: replication, entry, octets, start, time, alone, HPCC's."""
    columns = ("replication", "traffic", "size_bytes", "start_s", "completion_s", "alone_s",
               "standalone_s")  # fmt: skip
    types = {"replication": pl.UInt32, "size_bytes": pl.UInt64} | dict.fromkeys(
        columns[3:], pl.Float64
    )
    frame = pl.DataFrame(list(flows), schema=columns, schema_overrides=types, orient="row")
    frame = frame.with_columns(pl.lit("host1").alias("source"))
    table = Table("flows", frame, frame.columns, {}, len(frame))
    result = qcnlab.Result(CONFIG, made_up_summary(ends=ENDS), META, {"flows": table}.get)  # type: ignore[arg-type]
    return result.fct(**{"by": "all", **options})


def test_a_flow_starts_before_its_replication_ends() -> None:
    fct = completions(
        (0, 0, 1000, 0.0, 0.5, 0.25, 0.5),
        # It starts as its replication ends, and never at all; the second one goes on until 2 s.
        (0, 0, 1000, 1.0, None, 0.25, 0.5),
        (0, 0, 1000, None, None, 0.25, 0.5),
        (1, 0, 1000, 1.0, None, 0.25, 0.5),
        # A flow without a size is no flow of a size.
        (1, 0, None, 0.0, None, None, None),
    )
    assert (fct.started, fct.finished, fct.never_started) == (2, 1, 2)
    assert fct.flows.rows() == [
        (0, "host1", 0, 1000, 0.5, True, 2.0),
        # From 1 s to the end at 2 s: 1 s at least, four times as long as alone.
        (1, "host1", 0, 1000, 1.0, False, 4.0),
    ]
    assert fct.definitions()[:2] == [
        "1 of 2 flows of a size finished.",
        "2 more never started, and count nowhere.",
    ]
    assert fct.definitions()[-1].startswith("A flow that did not finish counts with its time")


def test_what_all_flows_did_needs_no_bounds() -> None:
    fct = completions((0, 0, 1000, 0.0, 0.5, 0.25, 0.5), (1, 0, 1000, 0.0, 0.5, 0.25, 0.5))
    assert fct.definitions()[0] == "2 of 2 flows of a size finished."
    assert not [line for line in fct.definitions() if "lower bounds" in line or "never" in line]
    assert len(fct.csv().splitlines()) == 2
    with_groups = completions((0, 0, 1000, 0.0, 0.5, 0.25, 0.5), by="size")
    assert with_groups.definitions()[-1] == "Groups: 5% of the flows each, in order of size."


def test_slowdowns_against_each_base() -> None:
    # 0.5 s against 0.25 s alone, and against 1 s as the field's simulator reckons.
    flow = (0, 0, 1000, 0.0, 0.5, 0.25, 1.0)
    for base, slowdown, words in (
        ("alone", 2.0, "time alone"),
        ("standalone", 0.5, "HPCC's standalone time"),
        ("standalone_floored", 1.0, "HPCC's standalone time, at least 1"),
    ):
        fct = completions(flow, base=base)
        assert fct.flows["slowdown"].to_list() == [slowdown]
        assert (fct.base_words, fct.heading) == (words, "flows")
    slow = completions((0, 0, 1000, 0.0, 0.5, 0.25, 0.125), base="standalone_floored")
    assert slow.flows["slowdown"].to_list() == [4.0]


def test_an_unfinished_flow_takes_what_it_takes_alone_at_least() -> None:
    # 0.25 s are left when it starts, and alone it takes 0.5 s.
    fct = completions((0, 0, 1000, 0.75, None, 0.5, 0.5))
    assert fct.flows["took_s"].to_list() == [0.5]
    assert fct.groups[0].fct_s[50] == Bound(0.5, at_least=True)


def test_groups_of_entries_have_their_kinds() -> None:
    flows = [(0, entry, 1000, 0.0, 0.5, 0.5, 0.5) for entry in (1, 0, 1)]
    groups = completions(*flows, by="entry").groups
    assert [(each.label, each.flows) for each in groups] == [
        ("traffic.0 (list)", 1),
        ("traffic.1 (poisson)", 2),
    ]
    assert completions(*flows, by="entry").heading == "traffic entry"
    assert completions(*flows[:1], by="entry").groups[0].label == "traffic.1 (poisson)"


def test_shares_of_many_flows() -> None:
    """A hundred flows of 1 to 100 KB: 7 % of them are 7, and not 7 and a little more."""
    flows = [(0, 0, 1000 * n, 0.0, 0.001 * n, 0.001, 0.001) for n in range(100, 0, -1)]
    groups = completions(*flows, by="size", buckets="7%").groups
    # 14 groups of seven and one of the two that are left.
    assert [each.flows for each in groups] == [7] * 14 + [2]
    assert [each.label for each in (groups[0], groups[-1])] == ["1 KB to 7 KB", "99 KB to 100 KB"]
    # Of seven the fourth is the median: 0.5 * 7 = 3.5; ceil(0.95 * 7) = 7.
    assert [groups[0].fct_s[p].value for p in (50, 95, 99)] == [0.004, 0.007, 0.007]
    assert groups[0].slowdown[50].value == pytest.approx(4.0)
    tenths = completions(*flows, by="size", buckets="0.5%").groups
    # Half a flow each: floor(0.5 i) grows by one each other time.
    assert [each.flows for each in tenths] == [1] * 100


def test_flows_of_one_size_keep_their_order() -> None:
    # A thousand of 1 KB, the k-th of which takes k s, then a thousand of 2 KB: the first fifth are
    # 1 to 400 s, the third 801 to 1000 of 1 KB and 1 to 200 of 2 KB.
    flows = [(1, 0, size, 0.0, float(k), 1.0, 1.0) for size in (2000, 1000) for k in range(1, 1001)]
    groups = completions(*flows, by="size", buckets="20%").groups
    assert [each.fct_s[99].value for each in groups] == [396, 796, 996, 596, 996]
    assert [each.fct_s[50].value for each in groups] == [200, 600, 200, 400, 800]
    assert groups[2].label == "1 KB to 2 KB"


def test_formats_worked_by_hand() -> None:
    fct = completions(
        (0, 0, 1000, 0.0, 0.004, 0.002, 0.002), (0, 0, 2000, 0.999, None, 0.002, 0.002),
        by="size", buckets="1 KB",
    )  # fmt: skip
    # The first took 4 ms and twice what it takes alone; the second takes 2 ms alone, so once.
    header = ["size", "flows", "unfinished", *(f"FCT p{p} (ms)" for p in (50, 95, 99))]
    header += [f"slowdown p{p}" for p in (50, 95, 99)]
    rows = [
        ["up to 1 KB", "1", "0", "4", "4", "4", "2", "2", "2"],
        ["above 1 KB", "1", "1", *[">= 2"] * 3, *[">= 1"] * 3],
    ]
    assert fct.cells() == (header, rows)
    first, second = fct.records()
    assert first == {
        "group": "up to 1 KB", "smallest_bytes": 1000, "largest_bytes": 1000, "flows": 1,
        "finished": 1, "fct_p50_s": 0.004, "fct_p50_at_least": False, "fct_p95_s": 0.004,
        "fct_p95_at_least": False, "fct_p99_s": 0.004, "fct_p99_at_least": False,
        "slowdown_p50": 2.0, "slowdown_p50_at_least": False, "slowdown_p95": 2.0,
        "slowdown_p95_at_least": False, "slowdown_p99": 2.0, "slowdown_p99_at_least": False,
    }  # fmt: skip
    assert (second["finished"], second["fct_p99_s"], second["fct_p99_at_least"]) == (0, 0.002, True)
    assert (second["slowdown_p95"], second["slowdown_p95_at_least"]) == (1.0, True)
    assert fct.to_polars().rows(named=True) == [first, second]
    said = "\n".join(fct.definitions())
    assert fct.text().split("\n\n") == [
        "\n".join(
            [
                "size        flows  unfinished  FCT p50 (ms)  FCT p95 (ms)  FCT p99 (ms)"
                "  slowdown p50  slowdown p95  slowdown p99",
                "----------  -----  ----------  ------------  ------------  ------------"
                "  ------------  ------------  ------------",
                "up to 1 KB      1           0             4             4             4"
                "             2             2             2",
                "above 1 KB      1           1          >= 2          >= 2          >= 2"
                "          >= 1          >= 1          >= 1",
            ]
        ),
        said,
    ]
    assert fct.markdown().startswith("| size | flows |")
    assert fct.markdown().splitlines()[1] == "|---|" + "---:|" * 8
    assert fct.markdown().endswith(said)
    assert r"\begin{tabular}{lrrrrrrrr}" in fct.latex()
    assert r"\caption{made. 1 of 2 flows of a size finished. " in fct.latex()
    assert fct.csv().splitlines()[1].startswith("up to 1 KB,1000,1000,1,1,0.004,false,0.004,false")
    told = fct.summary()
    assert unlike(told, CompletionSummary) == []
    assert json.loads(json.dumps(told)) == told
    assert {key: told[key] for key in ("scenario", "by", "buckets", "base", "percentile")} == {
        "scenario": "made", "by": "size", "buckets": "1 KB", "base": "alone", "percentile": "rank",
    }  # fmt: skip
    assert (told["flows"], told["finished"]) == (2, 1)
    assert told["groups"] == [first, second]
    assert told["definitions"] == fct.definitions()


def test_a_percentile_needs_to_know_what_finished() -> None:
    with pytest.raises(ValueError, match="zip"):
        percentile([1.0, 2.0], [True], 50, "rank")


def test_bounds_and_groups_are_values() -> None:
    # What is equal counts once in a set, and nothing changes afterwards.
    one = Group("g", 1, 2, 3, 3, {}, {})
    assert len({Bound(1.0, at_least=True), Bound(1.0, at_least=True)}) == 1
    for value, name in ((Bound(1.0, at_least=True), "value"), (one, "flows")):
        with pytest.raises(AttributeError, match="cannot assign"):
            setattr(value, name, 2)
