"""Packets that overtake one another, beside a second implementation.

Completions, repeats, needless repeats and packets kept are the same, to the picosecond.
"""

from __future__ import annotations

import itertools
import random
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import qcnlab

sys.path.insert(0, str(Path(__file__).parent / "oracles"))
import laboratory
from fabric import Message, Wire
from laboratory import HORIZON
from spray_fabric import IrnSprayFabric, SprayFabric, SpraySetting

SPINES = 3
TEN = 10_000_000_000

Ways = Sequence[tuple[str, ...]]


def drawn(
    seed: int, *, spread: int
) -> tuple[dict[tuple[str, str], Wire], list[Message], list[Ways]]:
    """Draw two racks, spines whose links are up to `spread` ps longer, and two pairs of hosts."""
    draw = random.Random(seed)

    def wire(most: int) -> Wire:
        return Wire(500_000 + draw.randrange(max(most, 1)), TEN)

    links = {(f"a{i}", "leaf1"): wire(100_000) for i in (1, 2)}
    links |= {(f"b{i}", "leaf2"): wire(100_000) for i in (1, 2)}
    for spine in range(SPINES):
        links |= {(leaf, f"spine{spine}"): wire(spread) for leaf in ("leaf1", "leaf2")}
    messages: list[Message] = []
    ways: list[Ways] = []
    for i in (1, 2):
        own: Ways = [
            (f"a{i}", "leaf1", f"spine{spine}", "leaf2", f"b{i}") for spine in range(SPINES)
        ]
        start = 1_000_000_000 + draw.randrange(20_000_000)
        messages.append(Message(f"a{i}", f"b{i}", draw.randrange(30_000, 70_000), start, own[0]))
        ways.append(own)
    return links, messages, ways


def run(
    setting: SpraySetting, messages: list[Message], ways: list[Ways], **keys: str | int
) -> qcnlab.Result:
    """Run the laboratory, where packets take the ways in turn."""
    others = {way for own in ways for way in own[1:]}
    routes = "".join(
        f'[[route]]\nfrom = "{way[0]}"\nto = "{way[-1]}"\nvia = "{", ".join(way[1:-1])}"\n'
        for way in sorted(others)
    )
    made = laboratory.fabric(
        setting, messages, more=f'[routing]\nmultipath = "round_robin"\n{routes}'
    )
    return qcnlab.run(made.with_({f"traffic.{key}": value for key, value in keys.items()}))


def told(result: qcnlab.Result) -> list[tuple[int, int, int, int, int]]:
    """Return when each message ended, ps, and its repeats, timeouts, needless ones and peak."""
    table = result.flows.to_polars()
    columns = ("retransmitted_frames", "timeouts", "spurious_frames", "reorder_peak_frames")
    counts = table.select(columns).rows()
    times = [round(time * 1e12) for time in table["finished_s"].to_list()]
    return [(time, *row) for time, row in zip(times, counts, strict=True)]


def agrees(
    ours: list[tuple[int, int, int, int, int]],
    kind: type[SprayFabric],
    setting: SpraySetting,
    messages: list[Message],
    ways: list[Ways],
) -> bool:
    """Return whether the second implementation says the same, for some choice of the first ways."""
    for first in itertools.product(range(SPINES), repeat=len(messages)):
        network = kind(setting, messages, ways, first)
        rows = zip(network.run(HORIZON), network.duplicates, network.most_kept, strict=True)
        if ours == [
            (one.done or 0, one.retransmitted, one.timeouts, twice, kept)
            for one, twice, kept in rows
        ]:
            return True
    return False


QUEUES = pytest.mark.parametrize("queue_bytes", [7_000, 60_000])
THRESHOLDS = pytest.mark.parametrize("threshold", [1, 2, 3, 6, 1000])
WAITS = pytest.mark.parametrize("wait", [0, 3_000_000])


@THRESHOLDS
@WAITS
@QUEUES
def test_selective_repeat(*, queue_bytes: int, wait: int, threshold: int) -> None:
    hold_selective_repeat(queue_bytes, wait, threshold, 0)


@THRESHOLDS
@WAITS
@QUEUES
def test_selective_repeat_of_another_draw(*, queue_bytes: int, wait: int, threshold: int) -> None:
    hold_selective_repeat(queue_bytes, wait, threshold, 1)


def hold_selective_repeat(queue_bytes: int, wait: int, threshold: int, seed: int) -> None:
    """Short queues lose packets, long ones do not: late packets are there in both."""
    links, messages, ways = drawn(seed, spread=4_000_000)
    setting = SpraySetting(
        links=links, queue_bytes=queue_bytes, threshold=threshold, wait=wait, window_bytes=40_000
    )
    keys: dict[str, str | int] = {
        "reordering_threshold": threshold,
        "reordering_window": f"{wait} ps",
    }
    ours = told(run(setting, messages, ways, recovery="selective_repeat", **keys))
    assert agrees(ours, IrnSprayFabric, setting, messages, ways)
    needless = sum(row[3] for row in ours)
    if threshold == 1 and wait == 0:
        assert needless > 20
    if threshold == 1000:
        assert sum(row[1] for row in ours) == 0 or sum(row[2] for row in ours) > 0


KEPT = pytest.mark.parametrize("kept", [1, 3, 100])
REORDER_WAITS = pytest.mark.parametrize("reorder_wait", [2_000_000, 20_000_000])


@KEPT
@REORDER_WAITS
@QUEUES
def test_go_back_n_with_a_reorder_buffer(*, queue_bytes: int, reorder_wait: int, kept: int) -> None:
    hold_go_back_n(queue_bytes, reorder_wait, kept, 0)


@KEPT
@REORDER_WAITS
@QUEUES
def test_go_back_n_with_a_reorder_buffer_of_another_draw(
    *, queue_bytes: int, reorder_wait: int, kept: int
) -> None:
    hold_go_back_n(queue_bytes, reorder_wait, kept, 1)


def hold_go_back_n(queue_bytes: int, reorder_wait: int, kept: int, seed: int) -> None:
    """A buffer for some packets out of order, and a wait that is too short or long enough."""
    links, messages, ways = drawn(seed, spread=4_000_000)
    setting = SpraySetting(
        links=links,
        queue_bytes=queue_bytes,
        kept=kept,
        reorder_wait=reorder_wait,
        window_bytes=40_000,
    )
    wait = {"reorder_wait": f"{reorder_wait} ps"} if kept else {}
    ours = told(run(setting, messages, ways, reorder_buffer=kept, **wait))
    assert agrees(ours, SprayFabric, setting, messages, ways)
    assert max(row[4] for row in ours) <= kept
    if kept == 100 and reorder_wait == 20_000_000 and queue_bytes == 60_000:
        assert sum(row[1] for row in ours) == 0, "nothing is lost, and what is late is waited for"
