"""The congestion tree: who was stopped because of whom."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest

import qcnlab
from qcnlab.tree import tree_figure

if TYPE_CHECKING:
    from pathlib import Path

SHORT = ["duration=60 ms", "warmup=20 ms", "traffic.0.start=5 ms", "scheme.name=none"]


@pytest.fixture(scope="module")
def paused() -> qcnlab.Result:
    scenario = qcnlab.load("ig-4-culprits-1-victim-pause-1500kb-rtt5us").with_(*SHORT)
    return qcnlab.run(scenario)


def test_congestion_spreads_from_the_hot_port_to_the_victim(paused: qcnlab.Result) -> None:
    tree = paused.congestion_tree()
    root = tree.filter(pl.col("because") == "core->edge5")
    assert set(root["port"]) == {f"edge{i}->core" for i in range(1, 5)}
    # The victim's own link is stopped because of the queue it shares with a culprit.
    assert tree.filter(pl.col("port") == "node1->edge1")["because"].to_list() == ["edge1->core"]
    assert tree["paused_frac"].is_between(0.0, 1.0).all()
    assert tree["stops"].sum() == len(paused.pauses)


def test_the_tree_is_drawn_with_every_link(paused: qcnlab.Result, tmp_path: Path) -> None:
    folder = paused.save(tmp_path / "run")
    from qcnlab.redraw import redraw

    names = [path.name for path in redraw(folder, None)]
    assert names == ["run.svg", "run.png", "tree.svg", "tree.png"]
    words = " ".join(text.get_text() for text in tree_figure(paused).axes[0].texts)
    assert all(f"node{i}->edge" in words for i in range(1, 6))


def test_a_replication_that_is_not_there(paused: qcnlab.Result) -> None:
    with pytest.raises(IndexError, match="counted from 0"):
        paused.congestion_tree(1)
