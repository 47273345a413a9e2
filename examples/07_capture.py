"""Capture deck 001's hotspot and print its congestion notification messages.

Run it with `python examples/07_capture.py`; open the capture in Wireshark after
`qcnlab dissector --install`.
"""

import tempfile
from pathlib import Path

import qcnlab
from qcnlab.captures import Capture, frames, lines, run_captured

# Messages travel as frames of 128 octets; the capture is of 3 ms around the start of the hotspot.
scenario = qcnlab.load("og-hotspot-2src-10g-to-500m-rtt10us").with_(
    "duration=60 ms", "warmup=10 ms", "hotspot.0.from=50 ms", "hotspot.0.until=55 ms",
    "feedback.kind=frames", "feedback.frame=128 B",
)  # fmt: skip
capture = Capture("*", from_s=0.049, until_s=0.052)
print(f"the capture takes at most {capture.size(scenario):,} octets")

with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "hotspot.pcapng"
    result, summary = run_captured(scenario, capture, file, reps=1)
    print(f"{summary['frames']:,} frames of {len(summary['ports'])} ports")
    for line in lines(file, frozenset({"cnm"})):
        print(line[:130])
    cnms = [frame for frame in frames(file) if frame["kind"] == "CNM"]

# The link falls from 10 Gb/s to 500 Mb/s at 50 ms: the first messages after it say how bad it is.
after = [cnm for cnm in cnms if cnm["time_s"] >= 0.05]
assert max(cnm["fb"] for cnm in after) > 20
# Offset and delta come in units of 64 octets.
assert all(cnm["offset_bytes"] % 64 == 0 and cnm["delta_bytes"] % 64 == 0 for cnm in cnms)
# The capture changes no result.
assert (
    result.summary["counters"]["frames_delivered"]
    == (qcnlab.run(scenario, reps=1).summary["counters"]["frames_delivered"])
)
