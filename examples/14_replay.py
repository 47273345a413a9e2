"""Capture what sources send, replay it, and ask what another scheme would have made of it.

Run it with `python examples/14_replay.py`.
"""

import tempfile
from pathlib import Path

import qcnlab
from qcnlab.captures import Capture, frames, run_captured

NETWORK = """
duration = "20 ms"

[topology]
kind = "star"
sources = 3
rate = "10 Gb/s"
rtt = "20 us"
buffer = "150 KB"

[scheme]
name = "none"
"""
BURSTS = """
[[traffic]]
arrivals = "on_off"
rate = "9 Gb/s"
on = "200 us"
off = "400 us"
start_jitter = "100 us"
frame = "1500 B"
"""
# Addresses of the capture are those of the sources that sent it: 10.0.0.1 is source1.
REPLAY = """
[[traffic]]
arrivals = "capture"
file = "bursts.pcapng"
frame = "1500 B"
hosts = '''
address,host
10.0.0.1,source1
10.0.0.2,source2
10.0.0.3,source3
*,sink
'''
"""


def arrivals(file: Path) -> list[tuple[int, str]]:
    """Return when frames leave the congested port, in ns, and who sent them."""
    return [(f["time_ns"] or 0, f["source"] or "") for f in frames(file) if f["kind"] == "UDP"]


with tempfile.TemporaryDirectory() as folder:
    here = Path(folder)
    bursts = qcnlab.Scenario.from_toml(NETWORK + BURSTS)
    run_captured(bursts, Capture("source*->switch"), here / "bursts.pcapng", reps=1)
    first, _ = run_captured(bursts, Capture("switch->sink"), here / "first.pcapng", reps=1)

    replay = qcnlab.Scenario.from_toml(NETWORK + REPLAY, str(here / "replay.toml"))
    [held] = replay.captures()
    print(f"{held.flows} flows, {held.frames:,} frames, {held.octets:,} octets")
    again, _ = run_captured(replay, Capture("switch->sink"), here / "again.pcapng", reps=1)
    before, after = arrivals(here / "first.pcapng"), arrivals(here / "again.pcapng")

    # The same frames in the same order at the same distances, to the nanosecond of the stamps.
    shift = after[0][0] - before[0][0]
    pairs = list(zip(before, after, strict=False))
    assert len(pairs) > 5_000
    assert all(was[1] == now[1] and abs(now[0] - was[0] - shift) <= 2 for was, now in pairs)
    print(f"{len(pairs):,} frames leave the port as before, {shift:,} ns later")

    # The same traffic under QCN: limiters hold back what would have been lost.
    qcn = qcnlab.run(replay.with_("scheme.name=qcn"), reps=1)
    lost = [run.summary.counters.frames_dropped or 0 for run in (again, qcn)]
    print(f"frames lost without control: {lost[0]:,}, with QCN: {lost[1]:,}")
    assert lost[1] < lost[0] / 2
