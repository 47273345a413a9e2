"""From tables of a run to the values of a measure: traces, windows, units, what has no value."""

from __future__ import annotations

import importlib
import math
import pkgutil
from dataclasses import is_dataclass, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

from made_up_run import made_up_summary
from qcnlab import book
from qcnlab.book import completion, hotspot, measures, traces, trials, values, variants
from qcnlab.book.cases import Case, Hot
from qcnlab.book.intervals import quantile
from qcnlab.book.measures import MEASURES
from qcnlab.book.runner import CaseResult
from qcnlab.book.values import values_of
from qcnlab.book.view import View, blocks

if TYPE_CHECKING:
    from qcnlab.book.entries import Chapter

INF, NAN = math.inf, math.nan
HOT = Hot(1.0, 3.0, 5.0, 10.0, 100.0, "", 1.0, 8.0)
CASE = Case("a", "s", (), 3, "", "", (), HOT)


class Recorded:
    """A run of two replications at the port p, with these tables."""

    def __init__(self, **tables: dict[str, list[Any]]) -> None:
        self.tables = {name: pl.DataFrame(columns) for name, columns in tables.items()}
        self._tables = {"queues": 1}
        self.summary = made_up_summary(ends=[1.0, 1.0])

    def table(self, name: str) -> Any:
        return SimpleNamespace(to_polars=lambda: self.tables[name])

    def forget_tables(self) -> None:
        self._tables.clear()


def recorded() -> Any:
    return Recorded(
        queues={
            "replication": [0, 0, 0, 1, 1],
            "port": ["p", "q", "p", "p", "q"],
            "time_s": [0.0, 0.0, 1.0, 0.0, 1.0],
            "queue_bytes": [10, 99, 20, 30, 77],
        },
        throughput={
            "replication": [0, 0, 1, 1, 0, 0],
            "source": ["b", "b", "a", "a", "a", "a"],
            "time_s": [0.0, 1.0, 0.0, 1.0, 1.0, 0.0],
            "rate_bps": [1e9, 2e9, 5e9, 6e9, 4e9, 3e9],
        },
        drops={
            "replication": [1, 0, 1, 1],
            "time_s": [0.5, 0.25, 0.75, 0.5],
            "last_s": [0.6, 0.35, 0.85, 0.7],
            "kind": ["dropped", "dropped", "dropped", "refused"],
            "frames": [2, 3, 4, 8],
        },
    )


def test_what_was_read_cannot_be_changed() -> None:
    """Every dataclass of the book is frozen: traces and results are kept and shared."""
    of_book: list[Any] = [
        kind
        for module in pkgutil.iter_modules(book.__path__, "qcnlab.book.")
        for kind in vars(importlib.import_module(module.name)).values()
        if isinstance(kind, type) and kind.__module__ == module.name and is_dataclass(kind)
    ]
    assert len(of_book) > 25
    loose = [kind.__name__ for kind in of_book if not kind.__dataclass_params__.frozen]
    assert loose == []


def test_traces_of_each_replication() -> None:
    run = recorded()
    first, second = traces.traces(run)
    assert (first.queue_s.tolist(), first.queue.tolist()) == ([0, 1], [10, 20])
    assert second.queue.tolist() == [30]
    # Rates by flow in Gb/s, flows and bins in order.
    assert list(first.flows) == ["a", "b"]
    assert {name: rate.tolist() for name, rate in first.flows.items()} == {"a": [3, 4], "b": [1, 2]}
    assert {name: rate.tolist() for name, rate in second.flows.items()} == {"a": [5, 6]}
    assert first.bin_s.tolist() == second.bin_s.tolist() == [0, 1]
    assert (first.lost.time_s.tolist(), first.lost.frames.tolist()) == ([0.25], [3])
    assert (first.lost.last_s.tolist(), first.refused.frames.tolist()) == ([0.35], [])
    assert (second.lost.time_s.tolist(), second.lost.frames.tolist()) == ([0.5, 0.75], [2, 4])
    assert (second.refused.last_s.tolist(), second.refused.frames.tolist()) == ([0.7], [8])
    # The tables that they are from are not kept.
    assert run._tables == {}


def test_a_case_is_measured_once_and_each_asks_for_as_many_runs_as_it_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[tuple[Any, ...]] = []

    def measured(result: object, *rest: object) -> list[float]:
        asked.append((result, *rest))
        return [float(len(asked)), 7.0]

    monkeypatch.setattr(measures, "values", measured)
    one, other = recorded(), recorded()
    case = CaseResult(CASE, one, {})
    assert values_of(case, "drops", (0.0, 1.0), "a*", 2.0) == [1.0, 7.0]
    assert values_of(replace(case, most=1), "drops", (0.0, 1.0), "a*", 2.0) == [1.0]
    assert values_of(replace(case, most=None), "drops", (0.0, 1.0), "a*", 2.0) == [1.0, 7.0]
    assert len(asked) == 1
    # Another measure, window, flows, limit or result is measured anew.
    assert values_of(case, "jain", (0.0, 1.0), "a*", 2.0)[0] == 2.0
    assert values_of(case, "drops", (0.0, 2.0), "a*", 2.0)[0] == 3.0
    assert values_of(case, "drops", (0.0, 1.0), "b*", 2.0)[0] == 4.0
    assert values_of(case, "drops", (0.0, 1.0), "a*", 3.0)[0] == 5.0
    assert values_of(case, "drops", None, "a*", 2.0)[0] == 6.0
    assert values_of(CaseResult(CASE, other, {}), "drops", (0.0, 1.0), "a*", 2.0)[0] == 7.0
    # What is handed out can be changed by whoever asked.
    values_of(case, "jain", (0.0, 1.0), "a*", 2.0).clear()
    assert values_of(case, "jain", (0.0, 1.0), "a*", 2.0) == [2.0, 7.0]


def test_the_tables_of_the_results_used_last_stay_open() -> None:
    opened = values._Opened()
    several = [recorded() for _ in range(values.OPEN + 1)]
    for one in several[:-1]:
        opened.use(one)
    opened.use(several[0])
    assert all(one._tables for one in several)
    opened.use(several[-1])
    # The second is the one unused for longest.
    assert [bool(one._tables) for one in several] == [True, False, *[True] * (values.OPEN - 1)]


def test_a_replication_in_which_nothing_is_delivered_has_no_bins() -> None:
    run = recorded()
    run.tables["throughput"] = run.tables["throughput"].filter(pl.col("replication") == 0)
    _, second = traces.traces(run)
    assert (second.bin_s.tolist(), second.flows) == ([], {})


def test_many_flows_and_replications_stay_in_order() -> None:
    """Flow 7 of replication 3 delivers 307 Gb/s; the queue of replication 3 is 3 B."""
    each = [(rep, flow) for rep in range(60) for flow in range(20)]
    run: Any = Recorded(
        queues={
            "replication": [*range(60)] * 2,
            "port": ["p"] * 60 + ["q"] * 60,
            "time_s": [0.0] * 120,
            "queue_bytes": [*range(60)] * 2,
        },
        throughput={
            "replication": [rep for rep, _ in each],
            "source": [f"h{flow:02}" for _, flow in each],
            "time_s": [0.0] * len(each),
            "rate_bps": [(100 * rep + flow) * 1e9 for rep, flow in each],
        },
        drops={
            "replication": [0],
            "time_s": [0.0],
            "last_s": [0.0],
            "kind": ["dropped"],
            "frames": [1],
        },
    )
    run.summary = made_up_summary(ends=[1.0] * 60)
    for rep, one in enumerate(traces.traces(run)):
        assert list(one.flows) == [f"h{flow:02}" for flow in range(20)]
        assert [float(rate[0]) for rate in one.flows.values()] == pytest.approx(
            [100 * rep + flow for flow in range(20)]
        )
    for port in ("", "q"):
        assert [queue.tolist() for _, queue in traces.queues(run, port)] == [
            [rep] for rep in range(60)
        ]


def test_queues_of_the_bottleneck_or_of_a_named_port() -> None:
    run = recorded()
    assert [queue.tolist() for _, queue in traces.queues(run)] == [[10, 20], [30]]
    assert [(time.tolist(), queue.tolist()) for time, queue in traces.queues(run, "q")] == [
        ([0], [99]),
        ([1], [77]),
    ]


def test_flows_that_match_any_of_some_globs() -> None:
    first = traces.traces(recorded())[0]
    assert first.names("") == ["a", "b"]
    assert first.names("b x*") == ["b"]
    assert first.crossing("b a").tolist() == [[3, 4], [1, 2]]


def test_a_measure_of_the_hotspot_sees_bins_and_samples_in_milliseconds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[View] = []

    def of(view: View) -> float:
        asked.append(view)
        return float(len(asked))

    shape = replace(hotspot.MEASURES["level"], of=of)
    monkeypatch.setitem(hotspot.MEASURES, "level", shape)
    known = SimpleNamespace(throughput_bin_s=0.5e-3, queue_every_s=20e-6)
    monkeypatch.setattr(hotspot, "facts", lambda _: known)
    assert hotspot.values(recorded(), HOT, "level", (1.0, 2.0), "a*", 3.0) == [1.0, 2.0]
    first = asked[0]
    assert (first.bin_ms, first.queue_ms) == pytest.approx((0.5, 0.02))
    assert first.window == (1.0, 2.0)
    assert (first.patterns, first.limit, first.hot) == ("a*", 3.0, HOT)


def test_the_window_of_a_value(monkeypatch: pytest.MonkeyPatch) -> None:
    """By its name, by its times, or the measure's own; `most` replications from the first count."""
    asked: list[Any] = []

    def of_hotspot(result: Any, hot: Hot, of: str, window: Any, flows: str, limit: Any) -> Any:
        asked.append(window)
        return [1.0, 2.0, 3.0]

    def of_core(result: Any, of: str, window: Any, flows: str, limit: Any) -> Any:
        asked.append(window)
        return [4.0, 5.0, 6.0]

    monkeypatch.setattr(hotspot, "values", of_hotspot)
    monkeypatch.setattr(measures, "values", of_core)
    of = CaseResult(CASE, recorded(), {})
    assert values_of(of, "level") == [1.0, 2.0, 3.0]
    assert values_of(of, "level", "rec") == [1.0, 2.0, 3.0]
    assert values_of(replace(of, most=2), "level", (0.5, 1.5)) == [1.0, 2.0]
    # The second half of the hotspot is the level's own; after it comes the rest.
    assert asked == [(2.0, 3.0), (3.0, 5.0), (0.5, 1.5)]
    asked.clear()
    assert values_of(replace(of, most=1), "jain", "hs") == [4.0]
    assert values_of(of, "jain", (0.0, 1.0)) == [4.0, 5.0, 6.0]
    assert values_of(of, "jain") == [4.0, 5.0, 6.0]
    calm = CaseResult(replace(CASE, hot=None), recorded(), {})
    assert values_of(calm, "jain", "hs") == [4.0, 5.0, 6.0]
    assert asked == [(1.0, 3.0), (0.0, 1.0), None, None]
    # Without a hotspot its measures have no value.
    assert math.isnan(values_of(calm, "level")[0])


def test_what_stands_for_a_value_that_there_is_none_of(monkeypatch: pytest.MonkeyPatch) -> None:
    run = recorded()
    values: dict[str, list[float | None]] = {
        "recovery_ms": [3.0, None],
        "jain": [None, 0.5],
        "drops": [2, 3],
    }
    run.summary = made_up_summary(ends=[1.0, 1.0], metrics=values)
    assert measures.values(run, "recovery_ms", None) == [3.0, INF]
    assert measures.values(run, "drops", None) == [2.0, 3.0]
    assert math.isnan(measures.values(run, "jain", None)[0])
    asked: list[Any] = []

    def windowed(result: Any, of: str, during: Any, *, flows: list[str], limit: float) -> Any:
        asked.append((of, during, flows, limit))
        return [None, 1.0]

    monkeypatch.setattr(measures, "in_window", windowed)
    assert measures.values(run, "rate_ratio", (0.0, 1.0)) == [INF, 1.0]
    assert math.isnan(measures.values(run, "jain", (0.0, 1.0), "a* b", 2.0)[0])
    assert measures.values(run, "ramp_ms", (0.0, 1.0)) == [INF, 1.0]
    measures.values(run, "drops", (0.0, 1.0))
    # Over a window drops are those at the bottleneck.
    assert asked == [
        ("rate_ratio", (0.0, 1.0), [], 0.0),
        ("jain", (0.0, 1.0), ["a*", "b"], 2.0),
        ("ramp_ms", (0.0, 1.0), [], 0.0),
        ("bottleneck_drops", (0.0, 1.0), [], 0.0),
    ]
    with pytest.raises(KeyError, match="messages cannot be taken over a window"):
        measures.values(run, "messages", (0.0, 1.0))


def test_measures_of_tables_and_of_completion_are_taken_of_every_replication(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = recorded()
    about, _ = measures.OF_TABLES["push_backs"]
    monkeypatch.setitem(measures.OF_TABLES, "push_backs", (about, lambda _, rep: 10.0 + rep))
    assert measures.values(run, "push_backs", None) == [10.0, 11.0]
    unit, about, _ = completion.MEASURES["back_ms"]
    of: Any = lambda _, rep, limit: rep + limit  # noqa: E731
    monkeypatch.setitem(completion.MEASURES, "back_ms", (unit, about, of))
    assert measures.values(run, "back_ms", None, limit=0.5) == [0.5, 1.5]


def test_octets_are_shown_in_kilobytes_and_two_shares_in_percent() -> None:
    percent = {"queue_empty_frac", "rate_swing"}
    for name, measure in MEASURES.items():
        if measure.unit == "B":
            assert (measure.scale, measure.shown) == (1e-3, "KB"), name
        elif name in percent:
            assert (measure.scale, measure.shown) == (100, "%"), name
        else:
            assert (measure.scale, measure.shown) == (1.0, ""), name
        assert measures.known(name)
    assert not measures.known("nothing")


def test_measures_with_a_window_and_of_the_whole_run() -> None:
    assert all(measures.known(name) for name in MEASURES)
    both = {name for name, measure in MEASURES.items() if measure.core and measure.windowed}
    assert both == {*measures.WINDOWED, "drops"}
    alone = {name for name, measure in MEASURES.items() if not measure.core}
    assert alone == {
        "queue_spread_bytes", "first_fall_ms", "regain_ms", "ramp_ms", "lowest_bin_gbps",
        "rate_swing", "bottleneck_drops",
    }  # fmt: skip
    # A time in a window that never came is infinite; so is a ratio by a rate of 0.
    never = {name for name, measure in MEASURES.items() if measure.missing == INF}
    assert never == {"first_fall_ms", "regain_ms", "ramp_ms", "rate_ratio"}


def test_quantiles_between_values() -> None:
    # Positions 0.25 * 3 = 0.75 and 1.5 of four values; infinite ones survive.
    assert quantile([1.0, 3.0, 5.0, 9.0], 0.25) == 2.5
    assert quantile([1.0, 3.0, 5.0, 9.0], 0.5) == 4.0
    assert quantile([1.0, INF, INF, INF], 0.5) == INF
    assert quantile([1.0, 3.0, INF], 0.5) == 3.0


def test_of_a_trial_as_few_replications_count_as_a_changed_case_has() -> None:
    claimed: Any = SimpleNamespace(claimed=("a",))
    chapter: Chapter = SimpleNamespace(  # type: ignore[assignment]
        name="deck009",
        rows=(claimed,),
        cases={"a": replace(CASE, replications=10), "b": replace(CASE, name="b")},
    )
    book: Any = SimpleNamespace(chapters=(chapter,))
    of = {name: CaseResult(case, None, {}) for name, case in chapter.cases.items()}
    cut = trials._cut(book, {"deck009": of})["deck009"]
    assert {name: one.most for name, one in cut.items()} == {
        "a": variants.REPLICATIONS,
        "b": variants.SHOWN_REPLICATIONS,
    }
    assert (variants.REPLICATIONS, variants.COSTLY_REPLICATIONS) == (4, 2)


NONE = traces.Losses(np.zeros(0), np.zeros(0), np.zeros(0))


def test_the_window_of_a_view_and_its_means() -> None:
    every = np.arange(6, dtype=np.float64)
    one = traces.Traces(every, every * 10, every, {"x": every}, NONE, NONE)
    view = View(one, HOT, (1.0, 4.0), 1000.0, 500.0, "", None)
    assert view.queue.tolist() == [1.0, 2.0, 3.0]
    # Samples of 500 ms: two make a second, and a mean of less is a sample itself.
    assert view.by_ms(1000.0).tolist() == [1.5]
    assert view.by_ms(1.0).tolist() == [1.0, 2.0, 3.0]
    assert blocks(np.array([1.0, 3.0, 6.0, 8.0, 100.0]), 2).tolist() == [2.0, 7.0]
