"""What the book's traces show: read off the axes, against the tables of the run."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from matplotlib.colors import to_rgb
from matplotlib.lines import Line2D

import qcnlab
from conftest import HOTSPOT, SHORT
from qcnlab.book import trace_figures
from qcnlab.book.cases import Case, Hot
from qcnlab.book.entries import Figure
from qcnlab.book.runner import CaseResult
from qcnlab.figures import plots

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

    from qcnlab.results.result import Result

HOT = Hot(0.01, 0.025, 0.04, 33e3, 150e3, "", 0.5, 10.0)


@pytest.fixture(scope="module")
def result() -> Result:
    return qcnlab.run(qcnlab.load(HOTSPOT).with_(*SHORT), reps=2, seed=1)


def figure(form: str, **changes: Any) -> Figure:
    base = Figure(form, ("a",), ("QCN",), None, "Gb/s", "", "", (), None)
    return replace(base, **changes)


def drawn(result: Result, asked: Figure, hot: Hot | None = HOT) -> Canvas:
    cases = {
        name: CaseResult(Case(name, HOTSPOT, SHORT, 2, "", "", (), hot), result, {})
        for name in asked.cases
    }
    return trace_figures.draw(asked, cases)


def shown(axes: Axes) -> list[np.ndarray]:
    """Return the heights of each filled band, lowest and highest by column."""
    return [np.array(band.get_paths()[0].vertices)[:, 1] for band in axes.collections]


def words(canvas: Canvas) -> list[str]:
    return [text.get_text() for text in canvas.legends[0].get_texts()]


def test_columns_keep_the_least_and_the_largest_and_fill_gaps() -> None:
    time, value = np.array([0.0, 0.1, 0.2, 1.0, 3.0]), np.array([5.0, 1.0, 3.0, 2.0, 7.0])
    low, high = trace_figures._columns(time, value, np.array([0.0, 1.0, 2.0, 3.0, 4.0]))
    # The sample at 1.0 belongs to the second column; the third has none, and takes the last one.
    assert (low.tolist(), high.tolist()) == ([1.0, 2.0, 2.0, 7.0], [5.0, 2.0, 2.0, 7.0])
    low, _ = trace_figures._columns(np.array([1.5]), np.array([4.0]), np.array([0.0, 1.0, 2.0]))
    assert np.isnan(low[0])
    assert low[1] == 4.0


def test_a_queue_in_kilobytes_with_its_set_point(result: Result) -> None:
    canvas = drawn(result, figure("queue"))
    (axes,) = canvas.axes
    queues = result.queues.to_polars().filter(
        pl.col("port").cast(pl.String) == result.summary.bottleneck.port
    )
    highest = float(queues["queue_bytes"].to_numpy().max()) / 1e3
    band, one = shown(axes)
    assert (band.min(), band.max()) == pytest.approx((0.0, highest))
    first = queues.filter(pl.col("replication") == 0)["queue_bytes"].to_numpy().max()
    assert one.max() == pytest.approx(float(first) / 1e3)
    lines = [np.asarray(line.get_ydata())[0] for line in axes.lines]
    assert lines == [pytest.approx(33.0)]
    assert axes.get_ylim() == pytest.approx((0.0, 1.05 * highest))
    assert axes.get_xlim() == pytest.approx((0.0, 0.04))
    assert (axes.get_ylabel(), axes.get_xlabel()) == ("queue (KB)", "time (s)")
    assert (axes.get_title(), axes.get_visible()) == ("QCN", True)
    # The hotspot, from 10 to 25 ms, is shaded once.
    [shade] = axes.patches
    assert shade.get_extents().transformed(axes.transData.inverted()).intervalx == pytest.approx(
        (0.010, 0.025)
    )
    assert words(canvas) == ["one run", "range of 2 runs", "set point", "hotspot"]


def test_a_queue_on_a_logarithmic_axis_is_in_octets(result: Result) -> None:
    canvas = drawn(result, figure("queue-log", window=(0.005, 0.03)))
    (axes,) = canvas.axes
    assert (axes.get_yscale(), axes.get_ylabel()) == ("log", "queue (B)")
    assert axes.get_ylim() == pytest.approx((1e3, 2e7))
    assert axes.get_xlim() == pytest.approx((0.005, 0.03))
    # An empty queue is drawn at the lower end.
    assert min(band.min() for band in shown(axes)) == 1e3
    assert [np.asarray(line.get_ydata())[0] for line in axes.lines] == [pytest.approx(33e3)]


def test_throughput_is_the_sum_of_the_flows(result: Result) -> None:
    sums = (
        result.throughput.to_polars()
        .group_by("replication", "time_s")
        .agg(pl.col("rate_bps").sum())
    )
    highest = float(sums["rate_bps"].to_numpy().max()) * 1e-9
    for unit, factor in (("Gb/s", 1.0), ("MB/s", 125.0)):
        (axes,) = drawn(result, figure("throughput", unit=unit)).axes
        assert max(band.max() for band in shown(axes)) == pytest.approx(highest * factor)
        assert axes.get_ylabel() == f"throughput\n({unit})"


def test_flows_have_a_line_each(result: Result) -> None:
    canvas = drawn(result, figure("flows", unit="MB/s"))
    (axes,) = canvas.axes
    rates = result.throughput.to_polars().filter(pl.col("replication") == 0)
    names = rates["source"].cast(pl.String).unique().sort().to_list()
    assert words(canvas) == [*names, "hotspot"]
    assert len(axes.lines) == len(names) == 2
    for name, line in zip(names, axes.lines, strict=True):
        own = rates.filter(pl.col("source").cast(pl.String) == name).sort("time_s")
        assert np.asarray(line.get_ydata()) == pytest.approx(own["rate_bps"].to_numpy() * 125e-9)
        assert np.asarray(line.get_xdata()) == pytest.approx(own["time_s"].to_numpy())
    colours = [line.get_color() for line in axes.lines]
    assert colours[0] != colours[1]
    one = drawn(result, figure("flows", flows=names[1]))
    assert words(one) == [names[1], "hotspot"]


def test_many_flows_have_one_name(result: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plots, "SOURCES", plots.SOURCES[:1])
    canvas = drawn(result, figure("flows"))
    assert words(canvas) == ["each of 2 flows, one run", "hotspot"]
    lines: Any = [*canvas.axes[0].lines, *canvas.legends[0].get_lines()]
    assert {(line.get_color(), line.get_linestyle()) for line in lines} == {(plots.SOURCES[0], "-")}
    assert [line.get_linewidth() for line in lines] == [0.8, 0.8, 1.0]


def test_as_many_flows_as_colours_have_one_each(
    result: Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plots, "SOURCES", plots.SOURCES[:2])
    canvas = drawn(result, figure("flows"))
    assert [line.get_color() for line in canvas.axes[0].lines] == [*plots.SOURCES]
    assert len(words(canvas)) == 3


def test_the_band_of_all_runs_goes_from_the_least_to_the_largest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two columns, of two samples each: 1 to 4 and 2 to 6 of one run, 3 to 5 and 0 to 1 of another.

    Together they go from 1 to 5 and from 0 to 6.
    """
    monkeypatch.setattr(trace_figures, "PIXELS", 2)
    time = np.array([0.0, 0.25, 0.5, 0.75])
    series = [(time, np.array([1.0, 4.0, 2.0, 6.0])), (time, np.array([3.0, 5.0, 0.0, 1.0]))]
    axes: Any = Bands()
    trace_figures._band(axes, (0.0, 1.0), series)
    assert axes.drawn == [
        ([0.0, 0.5], [1.0, 0.0], [5.0, 6.0]),
        ([0.0, 0.5], [1.0, 2.0], [4.0, 6.0]),
    ]


class Bands:
    """Axes that keep the bands that they are asked to fill."""

    def __init__(self) -> None:
        self.drawn: list[tuple[list[float], ...]] = []

    def fill_between(self, *edges: np.ndarray, **_: object) -> None:
        """Keep where a band begins, its lower edge and its upper one."""
        self.drawn.append(tuple(edge.tolist() for edge in edges))


def test_panels_for_cases_and_ports(result: Result) -> None:
    port = str(result.summary.bottleneck.port)
    two = figure("queue", cases=("a", "b"), names=("A", "B"), ports=(port, port))
    canvas = drawn(result, two)
    assert [axes.get_title() for axes in canvas.axes] == [
        f"A: {port}",
        f"A: {port}",
        f"B: {port}",
        f"B: {port}",
    ]
    # Four stand one below the other, each 1.4 inches high; each names its axis.
    assert tuple(canvas.get_size_inches()) == pytest.approx((6.4, 0.65 + 4 * 1.4))
    assert [axes.get_ylabel() for axes in canvas.axes] == ["queue (KB)"] * 4
    first, *others = canvas.axes
    assert all(first.get_shared_x_axes().joined(first, axes) for axes in others)
    assert all(first.get_shared_y_axes().joined(first, axes) for axes in others)
    assert [axes.get_xlabel() for axes in canvas.axes] == ["", "", "", "time (s)"]


def test_more_than_four_panels_stand_in_three_columns(result: Result) -> None:
    names = ("A", "B", "C", "D", "E")
    canvas = drawn(result, figure("queue", cases=names, names=names))
    assert [axes.get_visible() for axes in canvas.axes] == [True] * 5 + [False]
    assert tuple(canvas.get_size_inches()) == pytest.approx((9.0, 0.65 + 2 * 1.25))
    labels = [axes.get_ylabel() for axes in canvas.axes]
    assert labels == ["queue (KB)", "", "", "queue (KB)", "", ""]


def test_a_published_mark_stands_after_the_end_of_the_hotspot(result: Result) -> None:
    canvas = drawn(result, figure("throughput", mark=5.0))
    (axes,) = canvas.axes
    at = [np.asarray(line.get_xdata())[0] for line in axes.lines]
    assert at == [pytest.approx(0.030)]
    assert words(canvas) == ["one run", "range of 2 runs", "hotspot", "published: 5 ms"]


def test_a_legend_has_four_columns_at_most(result: Result) -> None:
    def entries_and_columns(asked: Figure) -> tuple[int, int]:
        canvas = drawn(result, asked)
        legend: Any = canvas.legends[0]
        return len(words(canvas)), legend._ncols

    assert entries_and_columns(figure("queue", mark=5.0)) == (5, 4)
    assert entries_and_columns(figure("throughput")) == (3, 3)


def test_one_run_has_no_range(result: Result) -> None:
    alone = qcnlab.run(qcnlab.load(HOTSPOT).with_(*SHORT), reps=1, seed=1)
    canvas = drawn(alone, figure("throughput"))
    assert words(canvas) == ["one run", "hotspot"]
    assert len(canvas.axes[0].collections) == 1
    for line in drawn(alone, figure("flows")).axes[0].lines:
        times = np.unique(alone.throughput.to_polars()["time_s"].to_numpy())
        assert np.asarray(line.get_xdata()) == pytest.approx(times)


def test_a_figure_has_a_name_for_each_case(result: Result) -> None:
    with pytest.raises(ValueError, match="shorter"):
        drawn(result, figure("queue", cases=("a", "b"), names=("A",)))


def test_a_hotspot_of_sources_is_shaded_where_it_begins_in_the_figure(result: Result) -> None:
    """A port's own hotspot is shaded by what is known of the run, and not twice."""
    asked = figure("throughput")
    case = CaseResult(Case("a", HOTSPOT, SHORT, 2, "", "", (), HOT), result, {})
    assert trace_figures._overloaded(asked, case) is False
    steady = qcnlab.run(
        qcnlab.load("one-source-into-9g-rtt200us").with_("warmup=1 ms", "duration=5 ms"), reps=1
    )
    calm = replace(case, result=steady)
    assert trace_figures._overloaded(asked, calm)
    assert not trace_figures._overloaded(replace(asked, window=(0.01, 0.04)), calm)
    assert trace_figures._overloaded(replace(asked, window=(0.009, 0.04)), calm)
    assert not trace_figures._overloaded(asked, replace(calm, case=replace(calm.case, hot=None)))
    assert not trace_figures._overloaded(asked, replace(calm, result=None))
    # It lies behind the curves, from 10 to 25 ms.
    [shade] = drawn(steady, asked).axes[0].patches
    axes = shade.axes
    assert shade.get_zorder() == 0
    assert axes is not None
    assert shade.get_extents().transformed(axes.transData.inverted()).intervalx == pytest.approx(
        (0.010, 0.025)
    )
    assert not drawn(steady, replace(asked, window=(0.01, 0.04))).axes[0].patches


def test_the_set_point_line_looks_like_its_name(result: Result) -> None:
    canvas = drawn(result, figure("queue"))
    handle = next(entry for entry in canvas.legends[0].get_lines() if isinstance(entry, Line2D))
    line = canvas.axes[0].lines[0]
    assert (handle.get_color(), handle.get_linewidth()) == (line.get_color(), line.get_linewidth())


def test_the_ticks_of_the_time_axis_are_round_and_at_most_seven(result: Result) -> None:
    locator = drawn(result, figure("queue")).axes[0].xaxis.get_major_locator()
    # Six steps at most, of 1, 2, 2.5 or 5 and powers of ten.
    for end, step in ((0.6, 0.1), (0.7, 0.2), (1.2, 0.2), (1.5, 0.25), (3.0, 0.5), (6.0, 1.0)):
        ticks = [tick for tick in locator.tick_values(0, end) if tick <= end + 1e-9]
        assert np.diff(ticks) == pytest.approx(step)


def test_the_pens_of_bands_and_lines(result: Result) -> None:
    canvas = drawn(result, figure("queue", mark=5.0))
    (axes,) = canvas.axes
    light, dark = axes.collections
    assert (light.get_alpha(), dark.get_alpha()) == (0.25, None)
    assert [float(np.ravel(band.get_linewidth())[0]) for band in (light, dark)] == [0.0, 0.6]
    # One colour, that of their names in the legend.
    bands: list[Any] = [light, dark, *canvas.legends[0].get_patches()[:2]]
    colours = [band.get_facecolor() for band in bands] + [dark.get_edgecolor()]
    blue = pytest.approx(to_rgb("#0072B2"))
    assert [np.ravel(colour)[:3] for colour in colours] == [blue] * 5
    # 500 columns over 40 ms: the last begins 80 us before the end.
    edges = np.asarray(light.get_paths()[0].vertices)[:, 0]
    assert (edges.min(), edges.max()) == pytest.approx((0.0, 0.04 - 80e-6))
    # The set point is dashed 4 to 2, the published mark 3 to 2, both as in the legend.
    handles: Any = canvas.legends[0].get_lines()
    lines: Any = [*axes.lines, *handles]
    pens = [(line.get_linewidth(), line._unscaled_dash_pattern) for line in lines]
    assert pens == [(0.7, (0, (4, 2))), (1.0, (0, (3, 2)))] * 2
    flows: Any = drawn(result, figure("flows")).axes[0].lines
    assert [line.get_linewidth() for line in flows] == [0.8, 0.8]
    named: Any = drawn(result, figure("flows")).legends[0].get_lines()
    assert [line.get_linewidth() for line in named] == [1.0, 1.0]


def test_the_legend_of_figures_of_nothing_and_of_unequal_runs(result: Result) -> None:
    def said(*results: Result | None) -> list[object]:
        case = Case("a", HOTSPOT, SHORT, 2, "", "", (), HOT)
        cases = [CaseResult(case, each, {}) for each in results]
        return [handle.get_label() for handle in trace_figures._legend(figure("queue"), cases)]

    assert said() == said(None) == ["one run"]
    alone = qcnlab.run(qcnlab.load(HOTSPOT).with_(*SHORT), reps=1, seed=1)
    assert said(result, alone) == ["one run", "range over runs", "set point", "hotspot"]
    assert said(alone, result)[1] == "range over runs"
    assert trace_figures._flow_legend(figure("flows"), []) == []
