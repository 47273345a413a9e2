"""The congestion tree: who was stopped because of whom."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import polars as pl
import pytest

import qcnlab
from qcnlab.figures.tree import tree_figure, tree_positions

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
    assert tree["stops"].sum() == len(paused.pauses)


def test_the_tree_sums_the_table_of_pauses(paused: qcnlab.Result) -> None:
    intervals: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for row in paused.pauses.to_polars().iter_rows(named=True):
        assert 0 <= row["time_s"] < row["until_s"] <= 0.06
        intervals.setdefault((row["port"], row["because"]), []).append(
            (row["time_s"], row["until_s"])
        )
    tree = paused.congestion_tree()
    assert tree["paused_s"].is_sorted(descending=True)
    assert len(tree) == len(intervals)
    for row in tree.iter_rows(named=True):
        own = sorted(intervals[row["port"], row["because"]])
        assert row["stops"] == len(own)
        assert row["paused_s"] == pytest.approx(sum(until - since for since, until in own))
        assert row["paused_frac"] == pytest.approx(row["paused_s"] / 0.06)
        # A link is not stopped again before it goes on.
        assert all(until <= since for (_, until), (since, _) in pairwise(own))
    assert max(tree["paused_frac"]) == pytest.approx(paused.metric("paused_frac"))


def test_links_are_stopped_as_long_as_their_excess_takes(paused: qcnlab.Result) -> None:
    # From 5 ms on four culprits of 5 Gb/s share 10 Gb/s, 2.5 Gb/s each. The core's memory for
    # an input takes the other 2.5 Gb/s: 1500 KB * 8 / 2.5 Gb/s = 4.8 ms, full at 9.8 ms.
    first = paused.pauses.to_polars()["time_s"].min()
    assert first == pytest.approx(9.8e-3, rel=0.01)
    share = (60 - 9.8) / 60
    shares = {
        row["port"]: row["paused_frac"] for row in paused.congestion_tree().iter_rows(named=True)
    }
    # A link with a culprit alone carries 2.5 of 10 Gb/s and is stopped for the rest of the time;
    # the one with the victim carries 2.5 Gb/s of each.
    for edge in (2, 3, 4):
        assert shares[f"edge{edge}->core"] == pytest.approx(0.75 * share, rel=0.05)
    assert shares["edge1->core"] == pytest.approx(0.5 * share, rel=0.05)


def test_links_stand_in_columns_by_their_distance_from_the_root() -> None:
    def row(port: str, because: str) -> dict[str, str]:
        return {"port": port, "because": because}

    chain = pl.DataFrame([row("b", "a"), row("c", "b"), row("d", "b"), row("x", "a")])
    assert tree_positions(chain) == {
        "a": (0, 0),
        "b": (1, 0),
        "x": (1, 1),
        "c": (2, 0),
        "d": (2, 1),
    }
    circle = pl.DataFrame([row("a", "b"), row("b", "a")])
    assert set(tree_positions(circle)) == {"a", "b"}


def test_the_tree_is_drawn_with_every_link(paused: qcnlab.Result, tmp_path: Path) -> None:
    folder = paused.save(tmp_path / "run")
    from qcnlab.commands.redraw import redraw

    names = [path.name for path in redraw(folder, None)]
    assert names == ["run.svg", "run.png", "tree.svg", "tree.png"]
    words = " ".join(text.get_text() for text in tree_figure(paused).axes[0].texts)
    assert all(f"node{i}->edge" in words for i in range(1, 6))


def test_a_replication_that_is_not_there(paused: qcnlab.Result) -> None:
    with pytest.raises(IndexError, match="numbered from 0"):
        paused.congestion_tree(1)


def test_each_replication_has_a_tree_of_its_own() -> None:
    """Culprits that start at times of their own stop links for other times in each replication."""
    scenario = qcnlab.load("ig-4-culprits-1-victim-pause-1500kb-rtt5us")
    result = qcnlab.run(scenario.with_(*SHORT, "traffic.0.start_jitter=10 ms"), reps=2)
    sums = []
    for replication in (0, 1):
        rows = result.pauses.to_polars().filter(pl.col("replication") == replication)
        tree = result.congestion_tree(replication)
        lasted = (rows["until_s"] - rows["time_s"]).sum()
        assert tree["stops"].sum() == len(rows) > 0
        assert tree["paused_s"].sum() == pytest.approx(lasted)
        sums.append(lasted)
        (axes,) = tree_figure(result, replication).axes
        most = tree.group_by("port").agg(pl.col("paused_frac").sum()).sort("paused_frac")[-1]
        words = f"{most['port'][0]}\n{100 * most['paused_frac'][0]:.0f} %"
        assert words in [text.get_text() for text in axes.texts]
    assert sums[0] != pytest.approx(sums[1], rel=1e-3)
