"""Numbers and demands of the book as its tables write them, and measures of whole tables."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from made_up_book import row
from qcnlab.book import measures, tables
from qcnlab.book.comparisons import HOLDS, UNDECIDED, Check
from qcnlab.book.entries import Claim
from qcnlab.book.row_text import row_text
from qcnlab.book.values import Values
from qcnlab.book.verdicts import Judged
from qcnlab.book.words import Word

INF = math.inf


def check(test: str, of: str = "recovery", **changes: Any) -> Check:
    limits = changes.pop("limits", (-INF, INF))
    interval = changes.pop("interval", None)
    each = changes.pop("each", [3.0])
    word = Word("short", "", test)
    base = Claim(
        "1-1-a", word, of, "a", None, ("", ""), None, "", None, math.nan, 0.0, -INF, INF, 1.0
    )
    return Check(replace(base, **changes), of, limits, Values.of(each), interval, HOLDS)


def test_numbers_of_a_table() -> None:
    assert [tables.figure(v) for v in (math.nan, INF, -INF, 12.345)] == [
        "none",
        "never",
        "-",
        "12.3",
    ]
    assert [tables.figure_signed(v) for v in (INF, -INF, 0.00042, -0.00042, 0.0, -1.234)] == [
        "inf",
        "-inf",
        "0.0004",
        "-0.0004",
        "0",
        "-1.23",
    ]
    # Only below a thousandth one digit is enough; a zero has no sign.
    assert [tables.figure_signed(v) for v in (0.00123, -0.5678, -0.0)] == ["0.00123", "-0.568", "0"]


def test_median_and_quartiles() -> None:
    of = Values.of
    assert tables.spread_of(of([1.0, 2.0, 3.0]), 1.0, "ms") == "2 [1.5..2.5] ms"
    assert tables.spread_of(of([2.0, 2.0]), 10.0, "ms") == "20 ms"
    assert tables.spread_of(of([2.0]), 1.0, "") == "2"
    assert tables.spread_of(of([INF, INF]), 1.0, "ms") == "never"
    assert tables.spread_of(of([1.0, 2.0, INF, INF, INF]), 1.0, "ms") == "never [2..never] ms"
    # Shares are in percent; a ratio of paired runs has no unit, a gain has the measure's.
    assert tables.spread(check("limit", "underrun", each=[0.125])) == "12.5 %"
    assert tables.spread(check("order", "underrun", each=[0.125])) == "0.125"
    assert tables.spread(check("gain", "underrun", each=[0.125])) == "12.5 %"


def test_what_is_demanded() -> None:
    assert tables.demand(check("number", printed=4.0)) == "4 ms"
    assert tables.demand(check("number", "underrun", printed=0.04)) == "4 %"
    assert tables.demand(check("limit", limits=(-INF, 5.0))) == "< 5 ms"
    assert tables.demand(check("limit", limits=(5.0, INF))) == "> 5 ms"
    assert tables.demand(check("limit", "underrun", limits=(-INF, 0.05))) == "< 5 %"
    assert tables.demand(check("floor", printed=5.0, limits=(5.0, INF))) == "5+ ms"
    assert tables.demand(check("limit", limits=(2.0, 5.0))) == "2..5 ms"
    assert tables.demand(check("every", limits=(2.0, 2.0))) == "2 ms"
    assert tables.demand(check("order", limits=(1.05, INF))) == "> 1.05"
    assert tables.demand(check("order", limits=(-INF, 0.95))) == "< 0.95"
    assert tables.demand(check("equivalence", limits=(0.8, 1.25))) == "0.8..1.25"
    assert tables.demand(check("gain", "underrun", limits=(0.0, INF))) == "> 0 %"


def test_the_interval_that_decides() -> None:
    assert tables.decided_by(check("limit")) == ""
    assert tables.decided_by(check("order", interval=(-1.0, 2.5))) == "-1..2.5 ms"
    assert tables.decided_by(check("order", "underrun", interval=(0.1, 0.2))) == "10..20 %"
    assert tables.decided_by(check("equivalence", "underrun", interval=(0.9, INF))) == "0.9..inf"


def test_what_stands_beside_a_printed_number_and_what_would_decide() -> None:
    known = check("number", printed=4.0, each=[2.0, 3.0, 4.0, 5.0], interval=(2.0, 5.0))
    assert tables.decided_by(known) == "2..5 ms; ratio 0.875; percentile 62"
    # Nothing varies: no percentile. A printed 0 has no ratio.
    assert tables.decided_by(check("number", printed=4.0)) == "ratio 0.75"
    assert tables.decided_by(check("number", printed=0.0)) == ""
    open_ = replace(check("order", interval=(-1.0, 2.5), than="b"), verdict=UNDECIDED)
    assert tables.decided_by(open_) == "-1..2.5 ms; more than 1000 runs would decide"
    never = replace(open_, interval=None)
    assert tables.decided_by(never) == "neither came in any run: longer runs may decide"
    soon = replace(open_, decide=40)
    assert tables.decided_by(soon) == "-1..2.5 ms; about 40 runs would decide"


def test_what_a_check_is_about() -> None:
    plain = check("limit", "queue_mean_bytes")
    assert tables.name_of(plain) == "queue mean bytes: a"
    assert tables.name_of(check("order", than="b", during="hss")) == "recovery (hss): a / b"
    timed = check("limit", during=(0.5, 1.25), flows="h*")
    assert tables.name_of(timed) == "recovery (0.5 to 1.25 s) of h*: a"
    gain = check("gain", than="b", over=("c", "d"))
    assert tables.name_of(gain) == "recovery: b less a, less the same of c"


def judged(*checks: Check, borne_out: bool = True) -> Any:
    row = SimpleNamespace(id="9.1", published="short", verdict="not reproduced")
    return SimpleNamespace(
        row=row,
        verdict="partly reproduced",
        told="partly reproduced: 1 of 2 claims",
        checks=checks,
        borne_out=borne_out,
    )


def test_lines_of_a_row_name_it_once() -> None:
    one = check("limit", limits=(-INF, 5.0))
    two = replace(one, verdict=UNDECIDED, interval=(1.0, 6.0), decide=12)
    ours = replace(one, claim=replace(one.claim, ours="why"))
    said = "partly reproduced: 1\nof 2 claims"
    assert tables.lines(judged(one, two, ours)) == [
        ("9.1", "short", "short", "recovery: a", "3 ms", "< 5 ms", "", said),
        (
            "", "", "short", "recovery: a", "3 ms undecided", "< 5 ms",
            "1..6 ms; about 12 runs would decide", "",
        ),
        ("", "", "short (a limit of ours)", "recovery: a", "3 ms", "< 5 ms", "", ""),
    ]  # fmt: skip
    said += "\n(the row says: not reproduced)"
    assert tables.lines(judged(borne_out=False)) == [("9.1", "short", "", "", "", "", "", said)]


def test_counts_name_every_verdict() -> None:
    counts = tables.count([judged(), judged()])
    assert counts["partly reproduced"] == 2
    assert sum(counts.values()) == 2
    assert tables.counted([judged(), judged()]) == "2 rows: 2 partly reproduced"
    assert tables.text_of("a" * 20 + " " + "b" * 20) == "a" * 20 + "\n" + "b" * 20
    # A line has 34 characters at most.
    assert tables.text_of("a" * 16 + " " + "b" * 17) == "a" * 16 + " " + "b" * 17
    assert tables.text_of("a" * 17 + " " + "b" * 17) == "a" * 17 + "\n" + "b" * 17


def test_json_has_no_infinities() -> None:
    told = tables._check(check("limit", limits=(-INF, 5.0), each=[1.0, 3.0], interval=(0.0, INF)))
    assert json.loads(json.dumps(told, allow_nan=False)) == {
        "entry": "1-1-a",
        "word": "short",
        "of": "recovery",
        "case": "a",
        "than": None,
        "during": None,
        "flows": "",
        "limits": [None, 5.0],
        "interval": [0.0, None],
        "verdict": "holds",
        "printed": None,
        "ratio": None,
        "percentile": None,
        "runs_that_decide": None,
        "limit_of_ours": None,
        "median": 2.0,
        "first_quartile": 1.5,
        "third_quartile": 2.5,
        "min": 1.0,
        "max": 3.0,
        "values": [1.0, 3.0],
    }
    assert tables._check(check("limit"))["interval"] is None
    number = tables._check(check("number", printed=6.0, ours="why", interval=(3.0, 3.0)))
    assert [number[key] for key in ("printed", "ratio", "percentile", "limit_of_ours")] == [
        6.0, 0.5, 100.0, "why",
    ]  # fmt: skip


def test_a_row_explains_itself_on_one_screen() -> None:
    number = replace(
        check("number", printed=4.0, each=[2.0, 3.0, 4.0, 5.0], interval=(2.0, 5.0)),
        of_claim=HOLDS,
    )
    open_ = replace(check("order", interval=(-1.0, 2.5), than="b"), verdict=UNDECIDED, decide=40)
    ours = check("limit", limits=(-INF, 5.0), ours="the slide does not say it")
    many = Judged(
        row("9.1", *(each.claim for each in (number, open_, ours)), remark="What we get.",
            earlier=("not reproduced until 2026-01-31, commit abc",)),
        (number, open_, ours), (HOLDS, UNDECIDED), (),
    )  # fmt: skip
    lines = row_text(many).splitlines()
    assert lines[:4] == [
        "Row 9.1: what (Slide 3)",
        "Published: said",
        "Verdict: partly reproduced: 1 of 2 claims, 1 undecided (the row says: reproduced)",
        "",
    ]
    assert lines[4:6] == [
        "    holds: short, recovery: a",
        "        printed 4 ms; ours 3.5 [2.75..4.25] ms; central 95 % of runs 2..5 ms; "
        "ratio 0.875;",
    ]
    text = " ".join(row_text(many).split())
    assert "undecided: short, recovery: a / b" in text
    assert "interval -1..2.5 ms; about 40 runs would decide" in text
    assert (
        "Limits of ours, which decide nothing: holds: short, recovery: a < 5 ms; ours 3 ms" in text
    )
    assert "the slide does not say it What we get." in text
    assert text.endswith("Earlier verdicts: not reproduced until 2026-01-31, commit abc")
    # What does not vary has no range, and what never came no interval.
    still = replace(many, checks=(check("number", printed=4.0),))
    assert "printed 4 ms; ours 3 ms; ratio 0.75" in row_text(still)
    never = replace(many, checks=(replace(open_, interval=None),))
    assert "; neither came in any run: longer runs may decide" in " ".join(row_text(never).split())
    assert "interval" not in row_text(never)
    # Of many checks those that do not hold are written out.
    more = replace(many, checks=(open_, *[number] * 13), verdicts=(UNDECIDED, *[HOLDS] * 13))
    assert "and 13 more checks, which --json and the book's page list" in row_text(more)
    assert row_text(more).count("recovery: a") == 1
    # As many as fit are written out, whether they hold or not.
    fitting = replace(more, checks=(open_, *[number] * 11), verdicts=(UNDECIDED, *[HOLDS] * 11))
    assert row_text(fitting).count("recovery: a") == 12
    assert "more checks" not in row_text(fitting)


def recorded(
    monkeypatch: pytest.MonkeyPatch,
    set_point: float | None = 33_000.0,
    **frames: dict[str, list[Any]],
) -> Any:
    """Return a run with these tables and this set point, B."""
    monkeypatch.setattr(measures, "facts", lambda _: SimpleNamespace(set_point_bytes=set_point))
    whole = {name: pl.DataFrame(columns) for name, columns in frames.items()}

    def table(name: str) -> Any:
        return SimpleNamespace(to_polars=lambda: whole[name])

    return SimpleNamespace(table=table)


def test_cuts_while_bandwidth_is_available(monkeypatch: pytest.MonkeyPatch) -> None:
    """Six frames are 9000 B: long at 10 ms only. A message counts beyond 11 ms after that.

    At the message the queue must be short, too: the offset from 33 000 B above 24 000 B.
    """
    run = recorded(
        monkeypatch,
        queues={
            "replication": [0, 0, 0, 1],
            "time_s": [0.0, 0.010, 0.015, 0.020],
            "queue_bytes": [8_999, 9_000, 0, 90_000],
        },
        messages={
            "replication": [0, 0, 0, 0, 0, 1],
            "time_s": [0.005, 0.0205, 0.022, 0.023, 0.024, 0.030],
            "fb": [-1, -1, -1, -1, 0, -1],
            "q_off_bytes": [30_000, 30_000, 24_001, 24_000, 30_000, 30_000],
        },
    )
    # 22 ms alone: 5 and 20.5 are too soon, 23 has a long queue, 24 is no cut.
    assert measures._cuts_while_available(run, 0) == 1.0
    never_long = recorded(
        monkeypatch,
        queues={"replication": [0], "time_s": [0.0], "queue_bytes": [0]},
        messages={
            "replication": [0, 0],
            "time_s": [0.011, 0.012],
            "fb": [-1, -1],
            "q_off_bytes": [30_000, 30_000],
        },
    )
    assert measures._cuts_while_available(never_long, 0) == 1.0
    # Without a set point the offset is from an empty queue: 8999 B are short, 9000 are not.
    no_set_point = recorded(
        monkeypatch,
        None,
        queues={"replication": [0], "time_s": [0.0], "queue_bytes": [0]},
        messages={
            "replication": [0, 0],
            "time_s": [0.020, 0.030],
            "fb": [-1, -1],
            "q_off_bytes": [-8_999, -9_000],
        },
    )
    assert measures._cuts_while_available(no_set_point, 0) == 1.0


def test_push_backs_are_counted_by_their_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    run = recorded(
        monkeypatch,
        messages={"replication": [0, 0, 0, 1], "kind": ["push-back", "cnm", "push-back", "cnm"]},
    )
    assert [measures._push_backs(run, index) for index in (0, 1)] == [2.0, 0.0]


def test_frames_from_a_cut_to_hyper_active_increase(monkeypatch: pytest.MonkeyPatch) -> None:
    """Samples of 1 ms at 12 Mb/s are a frame of 12 000 bits each.

    The rate falls to 12 Mb/s at 1 ms and stays; the target jumps by 26 Mb/s at 5 ms. From the
    sample of the cut, at 1 ms, to the one before the jump, at 4 ms, three frames are sent. A step
    of 25 Mb/s is none, nor is one at the highest rate, nor one before any cut.
    """
    mega = 1e6
    rates: dict[str, list[Any]] = {
        "replication": [0] * 8,
        "source": ["a"] * 8,
        "time_s": [index * 1e-3 for index in range(8)],
        "current_rate_bps": [rate * mega for rate in (48, 12, 12, 12, 12, 12, 12, 48)],
        "target_rate_bps": [rate * mega for rate in (10, 10, 35, 35, 35, 61, 100, 200)],
    }
    assert measures._hai_after(recorded(monkeypatch, rates=rates), 0) == pytest.approx(3.0)
    # A cut at 2 ms: two frames to 4 ms.
    later = dict(rates, current_rate_bps=[mega * r for r in (48, 48, 12, 12, 12, 12, 12, 48)])
    assert measures._hai_after(recorded(monkeypatch, rates=later), 0) == pytest.approx(2.0)
    # A jump right after the sample of the cut: nothing is sent between.
    sooner = dict(rates, target_rate_bps=[mega * r for r in (10, 10, 61, 61, 61, 61, 61, 61)])
    assert measures._hai_after(recorded(monkeypatch, rates=sooner), 0) == 0.0
    # Of cuts at 1 and 4 ms the first, when the target jumps at 3 ms: two frames of 24 Mb/s.
    twice = dict(
        rates,
        current_rate_bps=[mega * r for r in (48, 24, 24, 24, 12, 12, 12, 12)],
        target_rate_bps=[mega * r for r in (10, 10, 10, 61, 61, 61, 61, 61)],
    )
    assert measures._hai_after(recorded(monkeypatch, rates=twice), 0) == pytest.approx(2.0)
    # The first of two steps after a cut counts, and the fewest of all sources.
    other = dict(
        rates, source=["b"] * 8, target_rate_bps=[mega * r for r in (0, 0, 0, 0, 30, 30, 60, 60)]
    )
    both = {name: rates[name] + other[name] for name in rates}
    assert measures._hai_after(recorded(monkeypatch, rates=both), 0) == pytest.approx(2.0)
    # The rate is at its highest again, 48 Mb/s, when the target jumps: no increase of a limiter.
    free = dict(rates, current_rate_bps=[mega * r for r in (48, 12, 12, 12, 48, 48, 48, 48)])
    assert math.isnan(measures._hai_after(recorded(monkeypatch, rates=free), 0))
    calm = dict(rates, target_rate_bps=[mega] * 8)
    assert math.isnan(measures._hai_after(recorded(monkeypatch, rates=calm), 0))
    uncut = dict(rates, current_rate_bps=[mega * r for r in (12, 12, 12, 12, 12, 12, 12, 48)])
    assert math.isnan(measures._hai_after(recorded(monkeypatch, rates=uncut), 0))


def test_messages_are_late_within_a_round_trip_of_the_last_to_the_same_source(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Links of 250 us, a round trip of 1 ms. Source a: after 1 and 0.9 ms; b: after 5 ms.

    A message of other feedback and the other replication's do not count, nor do those between
    sources: one of three is late.
    """
    run = recorded(
        monkeypatch,
        messages={
            "replication": [0, 0, 0, 0, 0, 0, 1],
            "time_s": [0.0019, 0.0, 0.001, 0.0002, 0.0052, 0.0015, 0.0021],
            "source": ["a", "a", "a", "b", "b", "a", "a"],
            "fb": [-1, -5, -1, -1, -2, 0, -1],
        },
    )
    run.tree = {"topology": {"delay": "250 us"}}
    assert measures._late_messages(run, 0) == pytest.approx(1 / 3)
    # One message alone follows none.
    assert math.isnan(measures._late_messages(run, 1))
    run.tree = {"topology": {"delay": "249 us"}}
    assert measures._late_messages(run, 0) == pytest.approx(1 / 3)
    run.tree = {"topology": {"delay": "200 us"}}
    assert measures._late_messages(run, 0) == 0.0
