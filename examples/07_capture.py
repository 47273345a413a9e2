"""Capture deck 001's hotspot, print its CNMs, and hold its senders and its port against the law.

Run it with `python examples/07_capture.py`; open the capture in Wireshark after
`qcnlab dissector --install`.
"""

import tempfile
from pathlib import Path

import qcnlab
from qcnlab.captures import Capture, frames, lines, run_captured
from qcnlab.conform import conform

# Messages travel as frames of 128 octets. The capture begins with the run, before any limiter is
# installed.
scenario = qcnlab.load("og-hotspot-2src-10g-to-500m-rtt10us").with_(
    "duration=20 ms", "warmup=1 ms", "hotspot.0.from=10 ms", "hotspot.0.until=15 ms",
    "feedback.kind=frames", "feedback.frame=128 B",
)  # fmt: skip
capture = Capture("*", until_s=0.012)
print(f"the capture takes at most {capture.size(scenario):,} octets")

with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "hotspot.pcapng"
    result, summary = run_captured(scenario, capture, file, reps=1)
    print(f"{summary['frames']:,} frames of {len(summary['ports'])} ports")
    for line in lines(file, frozenset({"cnm"})):
        print(line[:130])
    cnms = [frame for frame in frames(file) if frame["kind"] == "CNM"]
    # The senders do what the law says, frame by frame, and not what another preset says.
    senders = conform(file, "rp", "DECK001")
    other = conform(file, "rp", "IEEE_8021Q")
    # So does the port that sends the messages, although the capture ends in the middle of them.
    port = conform(file, "cp", "DECK001")

for point in senders.reaction_points:
    print(f"{point.sender}: {point.verdict}, {point.on_time_frames} frames on time")
first = other.reaction_points[0]
print(f"by {other.law} it {first.verdict}: {first.why}")
assert senders.verdict == "conforms"
assert other.verdict == "breaks the law"
assert first.best_fit == "qcn DECK001"
print(f"{port.interface}: {port.verdict}, {port.checked_cnms} CNMs checked")
assert port.verdict == "conforms"
# Each message is in the capture where it is sent and where it is heard. The last ones are about
# frames that are still queued when the capture ends: how long the queue was is not known yet.
sent = sum(cnm["direction"] == "sent" for cnm in cnms)
assert port.checked_cnms + port.unlocated_cnms == sent
assert port.checked_cnms > sent / 2

# The link falls from 10 Gb/s to 500 Mb/s at 10 ms: the first messages after it say how bad it is.
after = [cnm for cnm in cnms if (cnm["time_s"] or 0.0) >= 0.01]
assert max(cnm["fb"] or 0 for cnm in after) > 20
# Offset and delta come in units of 64 octets.
told = [octets for cnm in cnms for octets in (cnm["offset_bytes"], cnm["delta_bytes"])]
assert all(octets is not None and octets % 64 == 0 for octets in told)
# The capture changes no result.
assert result.summary.counters.frames_delivered == (
    qcnlab.run(scenario, reps=1).summary.counters.frames_delivered
)
