"""Drawing: thinning keeps extremes, figures are the same each time."""

from __future__ import annotations

import os
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import qcnlab
from qcnlab.figures import plots


def test_thinning_keeps_the_extremes() -> None:
    rng = np.random.default_rng(1)
    time = np.arange(100_000, dtype=np.float64) * 1e-4
    value: np.ndarray[Any, np.dtype[np.float64]] = rng.standard_normal(time.size)
    thin_time, thin = plots.envelope(time, value, 500)
    assert len(thin) <= 510
    assert thin.max() == value.max()
    assert thin.min() == value.min()
    assert np.all(np.diff(thin_time) > 0)
    assert (thin_time[0], thin_time[-1]) == (time[0], time[-1])


def test_a_short_series_stays_whole() -> None:
    time = np.arange(5.0)
    assert plots.envelope(time, time)[1] is time


def test_the_figure_of_a_run(result: qcnlab.Result, tmp_path: Path) -> None:
    texts = []
    for name in ("a.svg", "b.svg"):
        plots.save(result.plot(), tmp_path / name)
        texts.append((tmp_path / name).read_text(encoding="utf-8"))
    assert texts[0] == texts[1]
    assert not re.search(r"<dc:date>|Created with", texts[0])
    for words in (
        "queue at switch-&gt;sink (KB)",
        "throughput (Gb/s)",
        "rate (Gb/s)",
        "time (ms)",
        "set point",
    ):
        assert words in texts[0]


@pytest.mark.parametrize("name", ["a.svg", "a.png", "a.pdf"])
def test_a_character_without_a_glyph_is_no_warning(tmp_path: Path, name: str) -> None:
    figure = Figure(layout="constrained")
    figure.suptitle("\u4f60\u597d")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        plots.save(figure, tmp_path / name)
    assert not told


def test_drawing_leaves_the_callers_style_alone(result: qcnlab.Result) -> None:
    import matplotlib as mpl

    with mpl.rc_context({"font.size": 23.0}):
        result.plot()
        assert mpl.rcParams["font.size"] == 23.0


def test_each_curve_is_of_the_replication_that_is_drawn(result: qcnlab.Result) -> None:
    """Curves are short enough to stay whole; a bin in steps ends with its value once more."""

    def under(axes: Axes) -> float:
        """Return the sum over all curves."""
        curves = [line for line in axes.lines if len(np.asarray(line.get_xdata())) > 2]
        steps = [line.get_drawstyle() == "steps-post" for line in curves]
        values = [np.asarray(line.get_ydata()) for line in curves]
        return float(sum(y[: len(y) - step].sum() for y, step in zip(values, steps, strict=True)))

    for replication in range(3):
        queue, throughput, rates = (
            table.to_polars().filter(pl.col("replication") == replication)
            for table in (result.queues, result.throughput, result.rates)
        )
        both = rates["current_rate_bps"].to_numpy() + rates["target_rate_bps"].to_numpy()
        # Throughput has a curve for each source, and one for all.
        expected = (
            queue["queue_bytes"].to_numpy().sum() / 1e3,
            2 * throughput["rate_bps"].to_numpy().sum() / 1e9,
            both.sum() / 1e9,
        )
        drawn = [under(axes) for axes in result.plot(replication).axes]
        assert drawn == pytest.approx(expected), replication


@pytest.mark.parametrize("replication", [-1, 3])
def test_a_replication_that_was_not_run(result: qcnlab.Result, replication: int) -> None:
    with pytest.raises(IndexError, match="there are 3"):
        result.plot(replication)


def test_many_sources_are_drawn_as_a_band(short: qcnlab.Scenario) -> None:
    figure = qcnlab.run(short.with_({"topology.sources": 12}), reps=1).plot()
    labels = figure.axes[2].get_legend_handles_labels()[1]
    assert labels == ["12 sources, range", "median current rate"]


def test_two_drawings_of_one_folder_do_not_collide(
    result: qcnlab.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process draws the same file while this one is in the middle of it."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    path = tmp_path / "run.svg"
    print_svg: Any = FigureCanvasSVG.print_svg
    mine, theirs = os.getpid(), os.getppid()

    def interrupted(self: FigureCanvasSVG, file: Path, **options: Any) -> None:
        print_svg(self, file, **options)
        if os.getpid() == mine:
            monkeypatch.setattr(os, "getpid", lambda: theirs)
            plots.save(result.plot(), path)
            monkeypatch.setattr(os, "getpid", lambda: mine)
            assert path.read_bytes() == file.read_bytes()

    monkeypatch.setattr(FigureCanvasSVG, "print_svg", interrupted)
    plots.save(result.plot(), path)
    assert [file.name for file in tmp_path.iterdir()] == ["run.svg"]
    assert path.read_bytes().endswith(b"</svg>\n")


def test_a_drawing_that_fails_leaves_the_file_as_it_was(
    result: qcnlab.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    def broken(self: FigureCanvasSVG, file: Path, **options: Any) -> None:
        file.write_bytes(b"<svg")
        raise OSError

    path = tmp_path / "run.svg"
    path.write_bytes(b"whole")
    monkeypatch.setattr(FigureCanvasSVG, "print_svg", broken)
    with pytest.raises(OSError):
        plots.save(result.plot(), path)
    assert [file.name for file in tmp_path.iterdir()] == ["run.svg"]
    assert path.read_bytes() == b"whole"
