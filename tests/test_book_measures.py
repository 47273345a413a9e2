"""The book's measures of rates and of completion times, on numbers worked by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import qcnlab
from qcnlab.book import completion, hotspot, models
from qcnlab.book.cases import Hot
from qcnlab.book.traces import Losses, Traces
from qcnlab.book.view import View
from qcnlab.runs.collective_runs import EndedRun

if TYPE_CHECKING:
    from qcnlab.results.result import Result


NONE = Losses(np.zeros(0), np.zeros(0), np.zeros(0))


def view(flows: dict[str, list[float]], named: str = "", limit: float | None = None) -> Any:
    """Return rates in Gb/s, in bins of 1 ms, and a queue of 0, 10, 20 ... 90 B."""
    bins = np.arange(len(next(iter(flows.values()))), dtype=np.float64) * 1e-3
    traces = Traces(
        np.arange(10, dtype=np.float64) * 1e-3,
        np.arange(10, dtype=np.float64) * 10,
        bins,
        {name: np.array(rates) for name, rates in flows.items()},
        NONE,
        NONE,
    )
    hot = Hot(0.0, 0.1, 0.1, 10.0, 100.0, "", 10.0, 10.0)
    return View(traces, hot, (0.0, 0.1), 1.0, 1.0, named, limit)


OF = {name: shape.of for name, shape in hotspot.MEASURES.items()}


def test_a_flow_leads_by_its_mean_over_the_largest_of_the_others() -> None:
    # Means 6, 3 and 2 Gb/s.
    rates = {"a": [4.0, 8.0], "b": [2.0, 4.0], "c": [2.0, 2.0]}
    assert OF["lead"](view(rates, "a")) == 2.0
    assert OF["lead"](view(rates, "b")) == 0.5
    # The least of those named counts: 3 by 2.
    assert OF["lead"](view(rates, "a b")) == 1.5
    assert OF["lead"](view({"a": [4.0], "b": [0.0]}, "a")) == float("inf")


def test_fairness_by_bin_is_the_median_over_bins_in_which_something_is_carried() -> None:
    # Of two flows: 1 for (5, 5), 0.5 for (10, 0), 0.9 for (4, 2): 36 / (2 * 20). (0, 0) is out.
    rates = {"a": [5.0, 10.0, 4.0, 0.0], "b": [5.0, 0.0, 2.0, 0.0]}
    assert OF["fairness_by_bin"](view(rates)) == pytest.approx(0.9)
    # A bin of little counts like another: 0.25 / (2 * 0.25).
    assert OF["fairness_by_bin"](view({"a": [0.5], "b": [0.0]})) == 0.5


def test_flows_are_apart_until_the_first_bin_within_the_limit() -> None:
    rates = {"a": [10.0, 8.0, 5.2, 5.0], "b": [0.0, 2.0, 4.8, 5.0]}
    assert OF["apart"](view(rates, limit=0.5)) == 2.0
    assert OF["apart"](view(rates, limit=0.1)) == 3.0
    assert OF["apart"](view({"a": [9.0], "b": [1.0]}, limit=0.5)) == float("inf")
    # As far apart as the limit is within it; without a limit they are equal.
    near = {"a": [2.0, 1.5, 1.0], "b": [1.0, 1.0, 1.0]}
    assert OF["apart"](view(near, limit=0.5)) == 1.0
    assert OF["apart"](view(near)) == 2.0


def test_a_quantile_of_the_queue_is_in_set_points() -> None:
    # 0 to 9 set points in ten samples: the 90 % quantile is at 8.1, by linear interpolation.
    assert OF["ninety"](view({"a": [1.0]})) == pytest.approx(8.1)


class Table:
    """A result that has the tables it is given."""

    def __init__(self, **tables: dict[str, list[Any]]) -> None:
        self.tables = tables

    def table(self, name: str) -> Any:
        """Return an object that becomes a data frame."""
        frame = pl.DataFrame(self.tables[name])

        class Frame:
            def to_polars(self) -> pl.DataFrame:
                return frame

        return Frame()


def flows(completion_s: list[float | None]) -> Result:
    count = len(completion_s)
    return Table(  # type: ignore[return-value]
        flows={
            "replication": [0] * count,
            "size_bytes": [1000 * (i + 1) for i in range(count)],
            "completion_s": completion_s,
            "standalone_s": [0.001] * count,
        }
    )


def of(name: str, result: Result, limit: float | None = None) -> float:
    return completion.MEASURES[name][2](result, 0, limit)


def test_quantiles_of_completion_times() -> None:
    ten = flows([0.001 * (i + 1) for i in range(10)])
    assert of("fct_p50_ms", ten) == 5.0
    assert of("fct_p90_ms", ten) == pytest.approx(9.0)
    # Below 4001 octets there are four: 1, 2, 3 and 4 ms.
    assert of("fct_p50_ms", ten, 4001.0) == 2.0
    assert of("field_slowdown_p95", ten) == pytest.approx(10.0)


def test_a_flow_that_did_not_finish_is_no_quick_one() -> None:
    half = flows([0.001, 0.002, None, None])
    assert of("fct_p50_ms", half) == 2.0
    assert of("fct_p90_ms", half) == float("inf")


def test_flows_are_those_of_the_replication_that_have_a_size_below_the_limit() -> None:
    """Of five: 1, 2 and 3 ms with 1, 2 and 3 KB, an endless one, and one of another replication."""
    table: dict[str, list[Any]] = {
        "replication": [0, 0, 0, 0, 1],
        "size_bytes": [1000, 2000, 3000, None, 1000],
        "completion_s": [0.001, 0.002, 0.003, 0.5, 0.7],
        "standalone_s": [0.001, 0.001, 0.001, 0.001, 0.001],
    }
    five: Result = Table(flows=table)  # type: ignore[assignment]
    assert of("fct_p90_ms", five) == pytest.approx(3.0)
    assert of("field_slowdown_p95", five) == pytest.approx(3.0)
    # Below 3000 octets there are two, of which one has 2 ms; below 3001 three.
    assert of("fct_p90_ms", five, 3000.0) == pytest.approx(2.0)
    assert of("fct_p90_ms", five, 3001.0) == pytest.approx(3.0)
    assert np.isnan(of("fct_p50_ms", five, 1000.0))
    assert np.isnan(of("field_slowdown_p95", five, 1000.0))
    assert completion.MEASURES["fct_p50_ms"][2](five, 1, None) == pytest.approx(700.0)


def test_a_quantile_is_the_first_value_that_so_many_do_not_exceed() -> None:
    # Of 20 flows 95 % are 19, of 21 they are 19.95: the 20th; half of five is 2.5: the third.
    for count, nineteen in ((20, 19.0), (21, 20.0)):
        many = flows([0.001 * (i + 1) for i in range(count)])
        assert of("field_slowdown_p95", many) == pytest.approx(nineteen)
    assert of("fct_p50_ms", flows([0.001 * (i + 1) for i in range(5)])) == pytest.approx(3.0)
    # Of another column: 80 % of 1 to 5 KB are four, 80 % of the three below 4 KB are 2.4.
    size = completion._quantile(0.8, "size_bytes")
    five = flows([0.001] * 5)
    assert (size(five, 0, None), size(five, 0, 4000.0)) == (4000.0, 3000.0)
    assert np.isnan(size(five, 0, 1000.0))


def test_margins_of_the_published_loops() -> None:
    # The raw data of the paper's figures have 13.41 and 5.25 degrees.
    dcqcn = models.dcqcn_margin(["sources=4", "delay_us=0"])["phase_margin"]
    timely = models.timely_margin(["sources=4"])["phase_margin"]
    assert dcqcn == pytest.approx(13.41, abs=0.01)
    assert timely == pytest.approx(5.25, abs=0.01)


def test_bus_bandwidth_is_that_of_the_operation() -> None:
    """Eight ranks at 100 Gb/s: 7/4 of 8 MB in 14 steps of 83.4 us and some answers."""
    result = qcnlab.run(qcnlab.load("ring-all-reduce-8-ranks-star-100g"), reps=1, progress=False)
    measure = completion.MEASURES["bus_bandwidth_gbytes"][2]
    (record,) = result.collectives().records()
    assert isinstance(record, EndedRun)
    assert measure(result, 0, None) == pytest.approx(1.75 * 8e6 / record.completion_s / 1e9)
    assert 11.5 < measure(result, 0, None) < 12.5
    short = qcnlab.load("ring-all-reduce-8-ranks-star-100g").with_("duration=100 us")
    assert measure(qcnlab.run(short, reps=1, progress=False), 0, None) == 0.0
