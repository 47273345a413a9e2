"""The book's bars and steps, read off the axes."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from made_up_book import CASE, INF
from qcnlab.book import figures
from qcnlab.book.entries import Figure
from qcnlab.book.runner import CaseResult


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
