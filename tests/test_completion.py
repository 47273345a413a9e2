"""Completion times and slowdowns: percentiles over finished and unfinished flows, by hand."""

from __future__ import annotations

import csv
import io
import json
import re
from typing import TYPE_CHECKING

import polars
import pytest

import qcnlab
from qcnlab.errors import AnalysisError
from qcnlab.results.completion import Completions
from qcnlab.results.completion_table import CompletionTable
from qcnlab.results.metrics_text import metrics_text
from qcnlab.runs.percentiles import Bound, Group, percentile

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import CommandLine

ALONE = """
title = "Flows that meet nobody"
duration = "1 ms"
[topology]
kind = "switch"
hosts = 4
rate = "10 Gb/s"
delay = "1 us"
[switch]
output_buffer = "1 MB"
[scheme]
name = "none"
"""


def listed(*lists: str) -> qcnlab.Scenario:
    """Return a scenario in which each list of flows is a traffic entry."""
    entry = (
        "[[traffic]]\narrivals = 'list'\nframe = '1500 B'\nflows = '''\nfrom,to,size,start\n{}'''\n"
    )
    return qcnlab.Scenario.from_toml(ALONE + "".join(map(entry.format, lists)), "alone")


FLOWS = """\
host1,host2,1500 B,0 s
host2,host1,15 KB,0 s
host1,host2,150 KB,100 us
"""
LONG = """\
host3,host4,2 MB,100 us
"""


@pytest.fixture(scope="module")
def four() -> qcnlab.Result:
    """Four flows that meet nobody: the last takes 1603.2 us and does not finish.

    One frame takes 2 + 2 x 1.2 = 4.4 us, ten 2 + 11 x 1.2 = 15.2, a hundred 2 + 101 x 1.2 = 123.2.
    """
    return qcnlab.run(listed(FLOWS, LONG))


def test_a_percentile_over_three_flows_one_unfinished() -> None:
    values = [10.0, 20.0, 30.0]
    # The third still runs after 30: the middle one is 20 whenever it ends, the largest 30 at least.
    ended = [True, True, False]
    assert percentile(values, ended, 50, "rank") == Bound(20.0, at_least=False)
    assert percentile(values, ended, 99, "rank") == Bound(30.0, at_least=True)
    # The first still runs after 10: the middle one is 20 if it ends before, up to 30 otherwise.
    early = [False, True, True]
    assert percentile(values, early, 50, "rank") == Bound(20.0, at_least=True)
    assert percentile(values, early, 99, "rank") == Bound(30.0, at_least=True)
    # Rank: 50 % of 4 is the second; element: floor(4 x 0.5) = 2, the third.
    four = [1.0, 2.0, 3.0, 4.0]
    assert percentile(four, [True] * 4, 50, "rank") == Bound(2.0, at_least=False)
    assert percentile(four, [True] * 4, 50, "element") == Bound(3.0, at_least=False)
    hundred = [float(n) for n in range(1, 101)]
    assert percentile(hundred, [True] * 100, 99, "rank").value == 99.0
    assert percentile(hundred, [True] * 100, 99, "element").value == 100.0
    assert percentile([7.0], [True], 99, "element").value == 7.0


def test_flows_in_one_group(four: qcnlab.Result) -> None:
    fct = four.fct(by="all")
    (group,) = fct.groups
    assert (group.flows, group.finished) == (4, 3)
    # Of 4.4, 15.2, 123.2 and the 1603.2 us that the last takes at least the second is p50, the
    # fourth p95 and p99.
    assert group.fct_s[50].value == pytest.approx(15.2e-6)
    assert group.fct_s[99].value == pytest.approx(1603.2e-6)
    assert [group.fct_s[p].at_least for p in (50, 95, 99)] == [False, True, True]
    # Alone they take what they take: slowdowns 1, 1, 1, and 1 or more of the last.
    assert [group.slowdown[p].value for p in (50, 99)] == pytest.approx([1.0, 1.0])
    assert [group.slowdown[p].at_least for p in (50, 99)] == [False, True]
    assert "3 of 4 flows of a size finished." in fct.definitions()
    words = fct.text()
    assert ">= 1,603" in words
    assert "after >= are lower bounds" in words


def test_the_base_of_the_field(four: qcnlab.Result) -> None:
    # 4 us there and back, 2.4 us of a full frame on two links, and octets at 10 Gb/s: 1.2, 12, 120
    # and 1600 us: 7.6, 18.4, 126.4 and 1606.4 us.
    frame = four.fct(by="all", base="standalone").flows
    expected = [4.4 / 7.6, 15.2 / 18.4, 123.2 / 126.4, 1603.2 / 1606.4]
    assert frame["slowdown"].to_list() == pytest.approx(expected)
    floored = four.fct(by="all", base="standalone_floored").flows
    assert floored["slowdown"].to_list() == [1.0] * 4


def test_groups_by_size_and_by_entry(four: qcnlab.Result) -> None:
    halves = four.fct(buckets="50%").groups
    assert [group.label for group in halves] == ["1.5 KB to 15 KB", "150 KB to 2 MB"]
    assert [(group.flows, group.finished) for group in halves] == [(2, 2), (2, 1)]
    # Five per cent of four flows: a group each, and empty ones are left out.
    assert [group.label for group in four.fct().groups] == ["1.5 KB", "15 KB", "150 KB", "2 MB"]
    edges = four.fct(buckets="1500 B, 20 KB").groups
    assert [(group.label, group.flows) for group in edges] == [
        ("up to 1.5 KB", 1),
        ("above 1.5 KB, to 20 KB", 1),
        ("above 20 KB", 2),
    ]
    entries = four.fct(by="entry").groups
    assert [(group.label, group.flows) for group in entries] == [
        ("traffic.0 (list)", 3),
        ("traffic.1 (list)", 1),
    ]


def test_the_metrics_are_those_of_all_flows(four: qcnlab.Result) -> None:
    (group,) = four.fct(by="all").groups
    assert four.metric("fct_p99_ms") == pytest.approx(group.fct_s[99].value * 1e3)
    assert four.metric("slowdown_p99") == pytest.approx(group.slowdown[99].value)
    frame = four.fct(by="all").flows
    assert four.metric("fct_mean_ms") == pytest.approx(sum(frame["took_s"]) / 4 * 1e3)
    assert (four.metric("started"), four.metric("unfinished")) == (4, 1)


def test_every_format_has_every_group(cli: CommandLine, four: qcnlab.Result) -> None:
    four.save(cli.folder / "out")
    plain = cli("fct", "out")
    assert (plain.returncode, plain.stderr) == (0, "")
    assert plain.stdout == four.fct().text() + "\n"
    rows = list(csv.DictReader(io.StringIO(cli("fct", "out", "--csv").stdout)))
    assert [row["flows"] for row in rows] == ["1"] * 4
    assert [row["fct_p50_at_least"] for row in rows] == ["false", "false", "false", "true"]
    assert float(rows[1]["fct_p99_s"]) == pytest.approx(15.2e-6)
    markdown = cli("fct", "out", "--by", "entry", "--md").stdout
    assert markdown.startswith("| traffic entry | flows | unfinished | FCT p50 (ms) |")
    assert "| traffic.1 (list) | 1 | 1 | >= 1.603 |" in markdown
    both = csv.DictReader(io.StringIO(cli("fct", "out", "--by", "size,entry", "--csv").stdout))
    groups = [row.group for row in CompletionTable([four], by="size,entry").rows]
    assert list(dict.fromkeys(row["group"] for row in both)) == groups and len(groups) == 4
    latex = cli("fct", "out", "--latex").stdout
    assert r"2 MB & 1 & 1 & $\geq$ 1.603" in latex
    assert r"\toprule size & flows & unfinished" in latex
    told = json.loads(cli("fct", "out", "--base", "standalone", "--json").stdout)
    assert (told["flows"], told["finished"], told["base"]) == (4, 3, "standalone")
    two = cli("fct", "out", "--csv", "--md")
    assert two.returncode == 2


def test_figures_are_drawn(cli: CommandLine, four: qcnlab.Result) -> None:
    four.save(cli.folder / "out")
    done = cli("fct", "out", "-o", "fct.svg")
    assert done.returncode == 0, done.stderr
    svg = (cli.folder / "fct.svg").read_text(encoding="utf-8")
    assert "slowdown (by time alone)" in svg
    assert "at least (unfinished flows)" in svg
    assert "fct.png" in cli("plot", "out").stdout


def test_what_cannot_be_is_said(four: qcnlab.Result, tmp_path: Path) -> None:
    for options, words in (
        ({"by": "colour"}, "flows are grouped by one of size, entry, all, not 'colour'"),
        ({"base": "ideal"}, "slowdowns are measured against one of alone, standalone"),
        ({"buckets": "0%"}, "a share is written like 5%"),
        ({"buckets": "ten"}, "write 5%, or sizes such as"),
        ({"buckets": "2 KB,1 KB"}, "sizes must rise"),
    ):
        with pytest.raises(AnalysisError, match=words):
            four.fct(**options)
    endless = qcnlab.load("one-source-into-9g-rtt10us").with_("duration=2 ms", "warmup=0 s")
    with pytest.raises(AnalysisError, match="no flow of a size started"):
        qcnlab.run(endless, reps=1).fct()


ENDS = """\
host1,host2,1500 B,0 s
host1,host2,3 KB,100 us
host1,host2,4500 B,200 us
host1,host2,6 KB,300 us
host1,host2,7500 B,400 us
host1,host2,15 KB,999 us
"""


@pytest.fixture(scope="module")
def ends() -> qcnlab.Result:
    """Five flows of k = 1 to 5 frames, each alone: 2 + 1.2 (k + 1) = 4.4, 5.6, 6.8, 8.0, 9.2 us.

    The sixth begins 1 us before the end and would take 15.2 us.
    """
    return qcnlab.run(listed(ENDS), reps=1)


def pair(bound: Bound) -> tuple[object, bool]:
    return bound.value, bound.at_least


def test_flows_count_from_their_start_and_unfinished_ones_at_least_alone(
    ends: qcnlab.Result,
) -> None:
    fct = ends.fct(by="all")
    assert (fct.started, fct.finished) == (6, 5)
    took = fct.flows["took_s"].to_list()
    assert took == pytest.approx([4.4e-6, 5.6e-6, 6.8e-6, 8e-6, 9.2e-6, 15.2e-6])
    assert fct.flows["finished"].to_list() == [True] * 5 + [False]
    (group,) = fct.groups
    assert (group.label, group.smallest_bytes, group.largest_bytes) == ("all flows", 1500, 15_000)
    # The third of six is p50; ceil(0.95 * 6) = 6.
    assert pair(group.fct_s[50]) == (pytest.approx(6.8e-6), False)
    assert pair(group.fct_s[95]) == (pytest.approx(15.2e-6), True)
    # Element 6 / 2 = 3 from 0 is the fourth.
    (group,) = ends.fct(by="all", percentile="element").groups
    assert pair(group.fct_s[50]) == (pytest.approx(8e-6), False)
    assert repr(fct) == "<Completions alone: 5 of 6 flows finished>"


def test_shares_and_edges_of_sizes(ends: qcnlab.Result) -> None:
    def told(buckets: str) -> list[tuple[str, int]]:
        return [(group.label, group.flows) for group in ends.fct(buckets=buckets).groups]

    # 40 % of six: cuts at floor(2.4) = 2 and floor(4.8) = 4; the last group has what is left.
    assert told("40%") == [("1.5 KB to 3 KB", 2), ("4.5 KB to 6 KB", 2), ("7.5 KB to 15 KB", 2)]
    assert told(" 50 % ") == [("1.5 KB to 4.5 KB", 3), ("6 KB to 15 KB", 3)]
    assert told("100%") == [("1.5 KB to 15 KB", 6)]
    # 70 %: floor(4.2) = 4, and two are left.
    assert told("70%") == [("1.5 KB to 6 KB", 4), ("7.5 KB to 15 KB", 2)]
    # A size that is an edge belongs below it.
    assert told("3 KB,6 KB") == [
        ("up to 3 KB", 2),
        ("above 3 KB, to 6 KB", 2),
        ("above 6 KB", 2),
    ]
    # Groups without flows are left out.
    assert told("1 KB,2 KB,20 KB") == [("above 1 KB, to 2 KB", 1), ("above 2 KB, to 20 KB", 5)]
    assert told("1 B,20 KB") == [("above 1 B, to 20 KB", 6)]
    for buckets in ("101%", "-5%", "x%", "0 KB,1 KB", "1 KB,1 KB"):
        with pytest.raises(AnalysisError, match=f"buckets '{buckets}'"):
            ends.fct(buckets=buckets)
    # One size: one group, whatever the share.
    same = listed(re.sub(r"host2,\S+ K?B", "host2,3 KB", ENDS))
    [group] = qcnlab.run(same, reps=1).fct().groups
    assert (group.label, group.flows) == ("3 KB", 6)


def test_the_table_for_people_has_the_unit_of_the_longest_median(ends: qcnlab.Result) -> None:
    header, rows = ends.fct(by="all").cells()
    assert header == [
        "flows", "flows", "unfinished", "FCT p50 (us)", "FCT p95 (us)", "FCT p99 (us)",
        "slowdown p50", "slowdown p95", "slowdown p99",
    ]  # fmt: skip
    assert rows == [
        ["all flows", "6", "1", "6.8", ">= 15.2", ">= 15.2", "1", ">= 1", ">= 1"],
    ]
    told = ends.fct(by="all").summary()
    assert (told["by"], told["buckets"], told["flows"], told["finished"]) == ("all", None, 6, 5)
    assert ends.fct(buckets="50%").summary()["buckets"] == "50%"
    records = ends.fct(by="all").records()
    assert records[0]["fct_p50_s"] == pytest.approx(6.8e-6)
    assert (records[0]["slowdown_p95"], records[0]["slowdown_p95_at_least"]) == (1.0, True)
    words = ends.fct(buckets="50%").definitions()
    assert "Groups: 50% of the flows each, in order of size." in words
    assert not [line for line in ends.fct(buckets="3 KB").definitions() if "Groups:" in line]


@pytest.mark.parametrize(
    ("median", "unit", "shown"),
    [(1.0, "s", "1"), (0.999, "ms", "999"), (1e-3, "ms", "1"), (9e-4, "us", "900"),
     (1e-6, "us", "1"), (5e-7, "us", "0.5")],
)  # fmt: skip
def test_a_unit_begins_at_one_of_it(median: float, unit: str, shown: str) -> None:
    fct = object.__new__(Completions)
    percentiles = dict.fromkeys((50, 95, 99), Bound(median, at_least=False))
    fct.by, fct.groups = "all", [Group("g", 1, 1, 1, 1, percentiles, percentiles)]
    header, [row] = fct.cells()
    assert (header[3], row[3]) == (f"FCT p50 ({unit})", shown)


def test_the_edges_of_percentiles() -> None:
    # None lies below the smallest and none above the largest; 7 % of 100 is 7, and not 7.000..1.
    hundred = [float(n) for n in range(1, 101)]
    finished = [True] * 100
    assert [percentile(hundred, finished, p, "rank").value for p in (0, 7, 100)] == [1, 7, 100]
    assert [percentile(hundred, finished, p, "element").value for p in (0, 7, 100)] == [1, 8, 100]
    # Values need not be in order, and what is not finished may be infinite.
    assert percentile([30.0, 10.0, 20.0], [False, True, True], 50, "rank") == Bound(20.0, False)
    assert Bound(2e-6, at_least=True).words(1e-6) == ">= 2"
    assert Bound(2e-6, at_least=False).words(1e-6) == "2"


def test_flows_that_never_started_are_told() -> None:
    """500 us are five steps of 86 us and a part of the sixth: 64 of the 112 flows wait."""
    ring = qcnlab.load("ring-all-reduce-8-hosts-100g").with_("duration=500 us")
    result = qcnlab.run(ring)
    fct = result.fct()
    assert (fct.finished, fct.started, fct.never_started) == (40, 48, 64)
    assert fct.definitions()[:2] == [
        "40 of 48 flows of a size finished.",
        "64 more never started, and count nowhere.",
    ]
    words = metrics_text(result)
    assert "40 of 48 flows of a size finished, and 64 more never started." in words
    assert "with 8 flows unfinished and 64 never started" in words
    waiting = result.flows.to_polars().filter(polars.col("start_s").is_null())
    assert len(waiting) == 64
    assert waiting["sent_frames"].sum() == 0


def test_completion_comes_first_where_flows_end() -> None:
    ring = qcnlab.load("ring-all-reduce-8-hosts-100g").with_("duration=500 us")
    first = [
        line.split()[0] for line in metrics_text(qcnlab.run(ring)).splitlines() if "_" in line[:12]
    ]
    assert first[:4] == ["fct_mean_ms", "fct_p99_ms", "slowdown_mean", "slowdown_p99"]
    endless = qcnlab.load("one-source-into-9g-rtt10us").with_("duration=2 ms", "warmup=0 s")
    words = metrics_text(qcnlab.run(endless))
    assert "fct_mean_ms" not in words
    assert "queue_mean_bytes" in words
