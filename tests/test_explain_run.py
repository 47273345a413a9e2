"""`qcnlab explain-run`: roots of pauses, victims, senders that slowed down, parts of slow flows."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl
import pytest

import qcnlab
from conftest import HOTSPOT, ROOT, SHORT, CommandLine
from qcnlab.results import explanation as explaining
from qcnlab.results.explanation import (
    Stops,
    _Flow,
    _limited,
    _parts,
    _paused,
    _root,
    _Run,
    _slow,
    explanation,
)
from qcnlab.results.explanation_text import lines
from qcnlab.runs.explained import Explanation
from qcnlab.runs.tables import Table
from test_blocks import blocks
from typed_dicts import unlike

if TYPE_CHECKING:
    from pathlib import Path

VICTIM = "victim-of-pfc-40g"


@pytest.fixture(scope="module")
def paused() -> qcnlab.Result:
    """PFC alone, five senders through t1, one of them a victim."""
    scenario = qcnlab.load(VICTIM).with_("scheme.name=none", "warmup=1 ms", "duration=3 ms")
    return qcnlab.run(scenario, reps=2, progress=False)


@pytest.fixture(scope="module")
def controlled() -> qcnlab.Result:
    """DCQCN in an incast to one host, flows of a size."""
    scenario = qcnlab.load("incast-16-to-1-100g").with_("duration=4 ms")
    return qcnlab.run(scenario, reps=1, progress=False)


def stops(*known: tuple[float, float, str]) -> Stops:
    out = Stops()
    for start, end, cause in known:
        out.add(start, end, cause)
    return out


def test_stops_that_overlap_count_once() -> None:
    known = stops((1, 3, "a"), (2, 4, "a"), (4, 5, "b"), (4.5, 6, "a"))
    assert list(zip(known.starts, known.ends, known.causes, strict=True)) == [
        (1, 4, "a"), (4, 5, "b"), (5, 6, "a"),
    ]  # fmt: skip
    assert known.within(0, 10) == pytest.approx(5)
    assert known.within(3.5, 4.25) == pytest.approx(0.75)
    assert known.within(6, 9) == known.within(0, 1) == known.within(3, 2) == 0


def test_a_cause_is_what_stopped_longest_in_the_time() -> None:
    known = stops((1, 2, "a"), (3, 5, "b"))
    assert known.cause_within(0, 10) == "b"
    assert known.cause_within(1.5, 3.2) == "a"
    assert known.cause_within(2, 3) is None and known.cause_within(5, 9) is None


def test_roots_follow_what_stopped_meanwhile() -> None:
    known: dict[tuple[str, int | None], Stops] = {
        ("b", 3): stops((0, 4, "c")),
        ("c", 3): stops((2, 3, "d")),
        ("x", 3): stops((0, 9, "y")),
        ("y", 3): stops((0, 9, "x")),
    }
    # From 5 s to 6 s: b was stopped from 4 s on backwards, outside the second before.
    assert _root(known, "b", 3, 5, 6) == "b"
    # From 4.5 s to 6 s counts what was from 3 s on: b, because of c, which went on at 3 s.
    assert _root(known, "b", 3, 4.5, 6) == "c"
    assert _root(known, "b", 3, 3, 4) == "d"
    assert _root(known, "b", 4, 3, 4) == "b"
    # A circle ends where it closes.
    assert _root(known, "x", 3, 1, 2) == "y"


def flow(
    start: float,
    finished: float | None,
    delivered: int = 0,
    alone: float = 1.0,
    name: str = "h15->vr",
) -> _Flow:
    """Return a row of the table of flows."""
    slowdown = None if finished is None else (finished - start) / alone
    return _Flow(name, 3, 10_000, start, finished, alone, slowdown, delivered, 0)


def test_a_link_that_is_stopped_as_a_whole_stops_its_flow(paused: qcnlab.Result) -> None:
    run = _Run(paused, 0)
    known: dict[tuple[str, int | None], Stops] = {
        ("h15->t1", None): stops((0, 2, "a"), (3, 9, "b")),
        ("h15->t1", 4): stops((0, 9, "c")),
        ("h14->t1", 3): stops((0, 9, "c")),
    }
    # From 1 s to 4 s: a second of each; another class and another port are no concern of it.
    assert _paused(run, flow(1, 4), known) == (2, [("h15->t1", None)])
    known["h15->t1", 3] = known.pop(("h15->t1", None))
    assert _paused(run, flow(1, 4), known) == (2, [("h15->t1", 3)])


def test_parts_are_of_the_flows_own_link(paused: qcnlab.Result) -> None:
    run = _Run(paused, 0)
    run.rates["h15->t1"], run.end_s = 8e9, 10.0
    # 2 GB at 8 Gb/s take 2 s, whatever the bottleneck has; of a flow that finished alone counts.
    late = _parts(run, flow(1, None, 2 * 10**9, 5.0), {}, None)
    assert (late["sending_s"], late["lasted_s"], late["rest_s"]) == (2, 9, 7)
    assert late["finished"] is False and late["limited_s"] is None
    done = _parts(run, flow(1, 4, 2 * 10**9, 2.5), {}, None)
    assert (done["sending_s"], done["lasted_s"], done["rest_s"]) == (2.5, 3, 0.5)
    # Half the rate of its link all along: half of the time.
    rates = pl.DataFrame({"time_s": [1.0, 2.0, 3.0], "current_rate_bps": [4e9, 4e9, 4e9]})
    assert _parts(run, flow(1, 4), {}, rates)["limited_s"] == pytest.approx(1.5)


def test_flows_that_start_after_the_end_are_not_slow(paused: qcnlab.Result) -> None:
    run = _Run(paused, 0)
    run.end_s = 5.0
    rows = [flow(1, 2, name="h11->r"), flow(2, None, name="h15->vr"), flow(6, None, name="h12->r")]
    told = _slow(run, pl.DataFrame([row._asdict() for row in rows]), {}, 9)
    assert [each["flow"] for each in told] == ["h15->vr", "h11->r"]


def test_a_replication_has_its_own_end_and_drops(paused: qcnlab.Result) -> None:
    first, second = paused.summary.ends
    summary = replace(paused.summary, ends=(first, replace(second, end_s=0.002)))
    frames = {"replication": [0, 1, 1], "time_s": [1e-4, 3e-4, 2e-4], "frames": [9, 3, 4]}
    frame = pl.DataFrame({**frames, "port": ["a->b", "t4->r", "t2->vr"], "source": ["x"] * 3})
    drops = Table("drops", frame, frame.columns, {}, 3)
    result = qcnlab.Result(
        paused.config,
        summary,
        paused.meta,
        lambda name: drops if name == "drops" else paused.table(name),
    )
    told = explanation(result, 1, flows=100)
    assert (told["end_s"], told["drops"]) == (0.002, 7)
    assert told["first"]["drop"] == {"time_s": 2e-4, "port": "t2->vr", "source": "x"}
    assert "7 frames were lost, the first at t2->vr at 200 us." in lines(told)[2:][0:9]
    assert max(each["lasted_s"] for each in told["slow"]) <= 0.002
    assert explanation(result, 0)["end_s"] == 0.003


def test_of_many_pauses_the_first_are_followed(
    paused: qcnlab.Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = explanation(paused)["pauses"]
    monkeypatch.setattr(explaining, "MOST_PAUSES", 5)
    told = explanation(paused)
    assert told["pauses"] == 5
    assert told["left_out"] == [f"{count - 5} later pauses of {count}"]
    assert lines(told)[-1] == f"Left out: {count - 5} later pauses of {count}"


def test_time_at_a_lower_rate_by_hand() -> None:
    rates = pl.DataFrame(
        {"time_s": [0.0, 1.0, 2.0, 3.0], "current_rate_bps": [10.0, 5.0, 2.5, 10.0]}
    )
    # Half a second lost from 1 s to 2 s, three quarters from 2 s to 3 s.
    assert _limited(rates, 10, 0, 4, []) == pytest.approx(1.25)
    assert _limited(rates, 10, 0.5, 2.5, []) == pytest.approx(0.5 + 0.375)
    # A pause from 1 s to 2 s takes the second that the rate would have taken half of.
    assert _limited(rates, 10, 0, 4, [stops((1, 2, "a"))]) == pytest.approx(0.75)
    assert _limited(rates, 10, 0.1, 0.9, []) is None
    assert _limited(None, 10, 0, 4, []) is None
    # A sample without a rate says nothing: of 1 s to 2 s nothing is known.
    gap = rates.with_columns(current_rate_bps=pl.Series([10.0, None, 2.5, 10.0]))
    assert _limited(gap, 10, 0, 4, []) == pytest.approx(0.75)


def test_the_victim_is_told_from_the_culprits(paused: qcnlab.Result) -> None:
    told = explanation(paused, flows=100)
    pause = told["first"]["pause"]
    assert pause is not None and pause["port"] in {"t1->l1", "t1->l2"}
    assert told["first"]["drop"] is None and told["first"]["signal"] is None
    assert told["roots"][0]["port"] == "t4->r"
    crossing = {each["flow"]: each["crosses"] for each in told["stopped"]}
    assert crossing["h15->vr"] == "no"
    assert crossing["h11->r"] == "yes"
    (slow,) = [each for each in told["slow"] if each["flow"] == "h15->vr"]
    assert slow["paused_s"] > 0.5 * slow["lasted_s"]
    assert any("h15->vr is a victim" in line for line in lines(told))


def test_stops_of_roots_are_all_stops(paused: qcnlab.Result) -> None:
    for replication in (0, 1):
        told = explanation(paused, replication)
        table = paused.pauses.to_polars().filter(pl.col("replication") == replication)
        total = 0.0
        for (_port,), part in table.sort("time_s").group_by(["port"]):
            end = 0.0
            for a, b in part.select("time_s", "until_s").iter_rows():
                total += max(b, end) - max(a, end)
                end = max(b, end)
        assert sum(root["stopped_s"] for root in told["roots"]) == pytest.approx(total)
        assert told["replication"] == replication
    assert explanation(paused, 0)["roots"] != explanation(paused, 1)["roots"]


def parts_sum(told: Explanation) -> None:
    for each in told["slow"]:
        parts = (each["sending_s"], each["paused_s"], each["limited_s"] or 0.0, each["rest_s"])
        assert sum(parts) - each["over_s"] == pytest.approx(each["lasted_s"])
        assert min(parts) >= 0


def test_parts_are_the_whole(paused: qcnlab.Result, controlled: qcnlab.Result) -> None:
    parts_sum(explanation(paused, flows=100))
    parts_sum(explanation(controlled, flows=100))


def test_senders_that_slowed_down(controlled: qcnlab.Result) -> None:
    told = explanation(controlled, flows=3)
    rates = controlled.rates.to_polars().with_columns(pl.col("source").cast(pl.String))
    least: dict[str, float] = {}
    falls: dict[str, int] = {}
    first: dict[str, float] = {}
    before: dict[str, float] = {}
    for row in rates.sort("time_s").iter_rows(named=True):
        source, rate = row["source"], row["current_rate_bps"]
        if rate < before.get(source, 0):
            falls[source] = falls.get(source, 0) + 1
            first.setdefault(source, row["time_s"])
        before[source] = rate
        least[source] = min(rate, least.get(source, rate))
    assert told["cut_flows"] == len(falls) == 16 and len(told["cut"]) == 3
    means = rates.group_by("source").agg(pl.col("current_rate_bps").mean())
    assert told["cut"][0]["mean_rate_bps"] == means["current_rate_bps"].min()
    for each in told["cut"]:
        source = each["source"]
        assert (each["falls"], each["first_s"]) == (falls[source], first[source])
        assert each["least_rate_bps"] == least[source]
        # DCQCN's port marks frames; no message is listed.
        assert each["signals"] is None
    cut = told["first"]["cut"]
    assert cut is not None and cut["time_s"] == min(first.values())
    assert all(each["finished"] is False for each in told["slow"])
    assert sum(each["limited_s"] or 0.0 for each in told["slow"]) > 0


def test_finished_flows_are_in_the_order_of_their_slowdown() -> None:
    scenario = qcnlab.load("incast-16-to-1-100g")
    result = qcnlab.run(scenario, reps=1, progress=False)
    told = explanation(result, flows=16)
    parts_sum(told)
    slowdowns = [each["slowdown"] or 0.0 for each in told["slow"] if each["finished"]]
    assert slowdowns and slowdowns == sorted(slowdowns, reverse=True)


def test_where_a_flow_may_go(paused: qcnlab.Result) -> None:
    run = _Run(paused, 0)
    assert run.own_port("h15->vr") == "h15->t1"
    assert run.crosses("h15->vr", "h15->t1") == "yes"
    assert run.crosses("h15->vr", "t2->vr") == "yes"
    assert run.crosses("h15->vr", "t4->r") == "no"
    # Two leaves above t1: one of them, by a hash.
    assert run.crosses("h15->vr", "t1->l1") == run.crosses("h15->vr#2", "t1->l2") == "maybe"
    # Against its direction.
    assert run.crosses("h15->vr", "l1->t1") == "no"
    assert run.crosses("h31->r", "t4->r") == "yes"


def test_a_star_and_a_run_without_pauses() -> None:
    result = qcnlab.run(qcnlab.load(HOTSPOT).with_(*SHORT), reps=1, progress=False)
    told = explanation(result)
    assert told["first"]["pause"] is None and told["roots"] == [] == told["stopped"]
    signal = told["first"]["signal"]
    assert signal is not None and signal["port"] == "switch->sink"
    assert _Run(result, 0).own_port("source1") == "source1->switch"
    text = "\n".join(lines(told))
    assert "Nothing was paused." in text and "2 senders slowed down" in text
    messages = result.messages.to_polars()
    assert sum(each["signals"] or 0 for each in told["cut"]) == len(messages) > 0
    parts_sum(told)


def test_the_command(paused: qcnlab.Result, cli: CommandLine, tmp_path: Path) -> None:
    paused.save(tmp_path / "run")
    done = cli("explain-run", "run", "--replication", "1", "--flows", "2")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{VICTIM}, replication 1, 3 ms\n\nThe queue at ")
    assert "and 5 flows stopped for shorter" in done.stdout or "stopped for shorter" in done.stdout
    told = json.loads(cli("explain-run", "run", "--json").stdout)
    assert told == json.loads(json.dumps(explanation(paused)))
    assert unlike(told, Explanation) == []
    wrong = cli("explain-run", "run", "--replication", "2")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert wrong.stderr == "error: run: no replication 2: there are 2, numbered from 0\n"
    assert cli("explain-run", "nowhere").returncode == 2


def test_the_guide_prints_what_the_command_does(cli: CommandLine) -> None:
    page = ROOT / "docs/guide/what-happened.md"
    commands, printed = blocks(page)
    for line in commands.commands:
        done = cli(*shlex.split(line)[1:])
        assert done.returncode == 0, done.stderr
    assert done.stdout == printed.text


def test_the_figure_has_the_parts_of_each_slow_flow(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from matplotlib.patches import Rectangle

    from qcnlab.figures.explanation import explanation_figure

    here = CommandLine(tmp_path)
    words = ("-s", "scheme.name=none", "-s", "duration=2 ms", "-s", "warmup=1 ms", "--reps", "1")
    assert here("run", "victim-of-pfc-40g", *words, "-o", "v").returncode == 0
    done = here("explain-run", "v", "--json", "-o", "time.png")
    assert done.returncode == 0 and (tmp_path / "time.png").exists()
    told = json.loads(done.stdout)
    left, right = explanation_figure(told).axes
    bars = [each for each in right.patches if isinstance(each, Rectangle)]
    for row, flow in enumerate(told["slow"]):
        own = [bar for bar in bars if abs(bar.get_y() + bar.get_height() / 2 - row) < 0.1]
        assert sum(bar.get_width() for bar in own) == pytest.approx(1e3 * flow["lasted_s"])
    stopped = [bar.get_width() for bar in left.patches if isinstance(bar, Rectangle)]
    assert stopped == pytest.approx([1e3 * root["stopped_s"] for root in told["roots"]])
    told["roots"], told["slow"] = [], []
    bare = explanation_figure(told)
    assert [axes.texts[0].get_text() for axes in bare.axes] == [
        "no link was stopped", "no flow has a time",
    ]  # fmt: skip
