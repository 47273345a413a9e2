"""PAUSE and PFC in captures: a frame is stamped when it leaves, whatever its receiver's reaction.

The frames that a host sends are worked out from the stamps of the pauses that it hears.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import qcnlab
from qcnlab.captures import Capture, run_captured

sys.path.insert(0, str(Path(__file__).parent / "oracles"))
from pcapng import CapturedFrame, read

RATE_GBPS = 25
DELAY_NS = 3300
FRAME_NS = 1500 * 8 / RATE_GBPS
QUANTUM_NS = 512 / RATE_GBPS
PAUSE, PFC = b"\x88\x08\x00\x01", b"\x88\x08\x01\x01"
ROUNDED_NS = 3
"""Stamps of nanoseconds: of a frame, of a pause, and a part of one for half quanta."""


def scenario(kind: str, reaction: str, interval: str) -> qcnlab.Scenario:
    """Three hosts at full rate into a fourth, at a switch that stops them at 60 KB each."""
    priorities = 'priorities = "5"' if kind == "priority" else ""
    return qcnlab.Scenario.from_toml(f"""
title = "Pauses with a reaction time"
duration = "3 ms"
[topology]
kind = "switch"
hosts = 4
rate = "{RATE_GBPS} Gb/s"
delay = "{DELAY_NS} ns"
[[switch]]
input_memory = "4 MB"
[[pause]]
kind = "{kind}"
{priorities}
high = "60 KB"
low = "40 KB"
reaction = "{reaction}"
interval = "{interval}"
[[traffic]]
arrivals = "saturated"
from = "host{{1..3}}"
to = "host4"
frame = "1500 B"
priority = 5
cn_tag = false
[scheme]
name = "none"
""")


def quanta(frame: CapturedFrame) -> int | None:
    """Return the quanta of a pause, of PFC those of priority 5; `None` for what is no pause."""
    control = frame.octets[12:16]
    if control == PAUSE:
        return int.from_bytes(frame.octets[16:18])
    if control == PFC:
        assert frame.octets[16:18] == b"\x00\x20"
        return int.from_bytes(frame.octets[18 + 2 * 5 :][:2])
    return None


def starts(told: list[tuple[int, int]], reaction_ns: int, ends_ns: float) -> list[float]:
    """Return when frames of a sender that always has one start, by the pauses that it hears."""
    changes = [(at + DELAY_NS + reaction_ns, pause * QUANTUM_NS) for at, pause in told]
    now, until, expected = 0.0, 0.0, []
    while now < ends_ns:
        while changes and changes[0][0] <= now:
            effect, length = changes.pop(0)
            until = effect + length
        if until <= now:
            expected.append(now)
            now += FRAME_NS
        else:
            now = min(until, changes[0][0] if changes else until)
    return expected


@pytest.mark.parametrize("interval", ["31 us", "1 ms"])
@pytest.mark.parametrize("reaction_ns", [0, 77, 640, 12_345, 400_000])
@pytest.mark.parametrize("kind", ["priority", "link"])
def test_pauses_are_stamped_when_they_leave(
    tmp_path: Path, *, kind: str, reaction_ns: int, interval: str
) -> None:
    """A host's frames follow from them after the link's delay and the reaction time."""
    file = tmp_path / "pauses.pcapng"
    run, _ = run_captured(
        scenario(kind, f"{reaction_ns} ns", interval), Capture("*"), file, progress=False
    )
    captured = list(read(file))
    stamps = [frame.time_ns for frame in captured]
    assert stamps == sorted(stamps)
    pauses = [frame for frame in captured if quanta(frame) is not None]
    assert len(pauses) == run.metric("pause_frames")
    for host in (1, 2, 3):
        heard = [f for f in pauses if f.port == f"switch->host{host}"]
        assert {frame.direction for frame in heard} == {"sent"}
        told = [(frame.time_ns, quanta(frame) or 0) for frame in heard]
        sent = [
            frame.time_ns - FRAME_NS
            for frame in captured
            if frame.port == f"host{host}->switch" and frame.length == 1500
        ]
        expected = starts(told, reaction_ns, sent[-1] + 1)
        assert len(sent) > 1000
        assert sent == pytest.approx(expected, abs=ROUNDED_NS), host
        assert len(told) > 2


@pytest.mark.parametrize("kind", ["priority", "link"])
def test_the_first_pause_leaves_at_one_time_whatever_the_reaction(
    tmp_path: Path, *, kind: str
) -> None:
    """Until the first takes effect nothing tells the runs apart.

    A host has 60 KB held when the switch has 60 KB more of it than left. Three send 25 Gb/s into
    as many, so a third of what came of each has left: 90 KB sent, 28.8 us and a link's delay.
    """
    first = set()
    for reaction in ("0 s", "77 ns", "12 us", "400 us"):
        file = tmp_path / "first.pcapng"
        run_captured(scenario(kind, reaction, "1 ms"), Capture("switch->host1"), file)
        first.add(next(frame.time_ns for frame in read(file) if quanta(frame)))
    (time_ns,) = first
    assert time_ns == pytest.approx(90_000 * 8 / RATE_GBPS + DELAY_NS, abs=3 * FRAME_NS)
