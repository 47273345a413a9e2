"""What the bar over a run says, and what a run of messages says of how far it is."""

from pathlib import Path
from typing import Any

import pytest

import qcnlab
from qcnlab import _core
from qcnlab.book import runner
from qcnlab.files.folders import core_digest
from qcnlab.printing import progress

TWO_BURSTS = """
title = "Two bursts of eight messages"
duration = "500 ms"
stop_arrivals = "2 ms"
drain = {drain}

[topology]
kind = "switch"
hosts = 9
rate = "10 Gb/s"
delay = "1 us"

[[traffic]]
arrivals = "incast"
transport = "roce"
from = "host*"
to = "host9"
senders = 8
size = "2 MB"
period = "1 ms"
frame = "1048 B"
headers = "48 B"
priority = 3

[scheme]
name = "none"

[record]
tables = false
"""


def told(drain: str) -> list[tuple[Any, ...]]:
    """Run it once, and return what the progress was told."""
    calls: list[tuple[Any, ...]] = []
    scenario = qcnlab.Scenario.from_toml(TWO_BURSTS.format(drain=drain))
    _core.run(
        [scenario._core],
        replications=1,
        jobs=1,
        progress=lambda *said: calls.append(said),
    )
    return calls


def test_a_run_of_messages_counts_them() -> None:
    """All sixteen are complete at the end; on the way the share is that of those complete."""
    calls = told("true")
    assert calls[-1] == (1.0, 16, 16)
    for share, done, all_ in calls[:-1]:
        assert all_ == 16
        assert share <= 1.0
        assert share == pytest.approx(done / 16, abs=1e-9) or share == 1.0


def test_a_run_that_ends_with_its_time_counts_none() -> None:
    assert told("false")[-1] == (1.0, 0, 0)


def test_cases_of_messages_move_the_bar_of_the_book_and_run_on_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One and two replications are two batches: the bar is at a third after the first.

    It is not told the messages, for those of one batch are not those of all.
    """
    moved: list[tuple[float, ...]] = []

    class Moved(progress.Bar):
        def __call__(self, *said: float) -> None:
            moved.append(said)

    monkeypatch.setattr(runner, "Bar", Moved)
    scenario = qcnlab.Scenario.from_toml(TWO_BURSTS.format(drain="true"))
    tasks = [runner._Task(scenario, reps, tmp_path / str(reps), ()) for reps in (1, 2)]
    runner._run(tasks, 5, 1, True)
    assert all(len(said) == 1 for said in moved)
    shares = [share for (share,) in moved]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert any(share == pytest.approx(1 / 3) for share in shares)
    on_worker = runner._elsewhere(tasks[0], 5, core_digest())
    assert (on_worker.metric("started"), on_worker.metric("unfinished")) == (16, 0)
    assert qcnlab.open_run(tmp_path / "1").metric("fct_mean_ms") == on_worker.metric("fct_mean_ms")


def test_the_bar_says_how_many_messages_are_complete_and_what_is_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A quarter after 30 s: 90 s are left. Before two seconds there is no bar."""
    shown: list[tuple[str, float, str]] = []

    class Shown:
        def __init__(self, *_: Any) -> None: ...

        def show(self, label: str, fraction: float, left: str) -> None:
            shown.append((label, fraction, left))

        def remove(self) -> None: ...

    now = [100.0]
    monkeypatch.setattr(progress, "_Terminal", Shown)
    monkeypatch.setattr("qcnlab.printing.progress.time.monotonic", lambda: now[0])
    with progress.Bar("incast", enabled=True) as bar:
        now[0] = 101.9
        bar(0.1, 1, 10)
        now[0] = 130.0
        bar(0.25, 250_000, 1_000_000)
        bar(0.25)
        bar(0.0, 0, 1_000_000)
    assert shown == [
        ("incast", 0.25, "250,000 of 1,000,000 messages, 1:30 left"),
        ("incast", 0.25, "1:30 left"),
        ("incast", 0.0, "0 of 1,000,000 messages"),
    ]
