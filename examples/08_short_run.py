"""Show recovery in a run of 8 ms on a link of 100 Gb/s, where nothing lasts 10 ms.

Run it with `python examples/08_short_run.py`.
"""

import qcnlab

SHORT = """
title = "Two sources, 100 Gb/s that fall to 20 Gb/s for 2 ms"
duration = "8 ms"
warmup = "1 ms"

[topology]
kind = "star"
sources = 2
rate = "100 Gb/s"
rtt = "10 us"
buffer = "300 KB"

[[traffic]]
arrivals = "saturated"
frame = "1500 B"
start_jitter = "12 us"

[[hotspot]]
from = "2 ms"
until = "4 ms"
rate = "20 Gb/s"

[scheme]
name = "qcn"

[scheme.rp]
time_reset = "150 us"
ai_rate = "50 Mb/s"
hai_rate = "500 Mb/s"

[record]
throughput_bin = "20 us"
queue_every = "10 us"
rates_every = "100 us"
"""

# How long a level must last to count, in place of 10 ms and 10 ms.
HOLDS = {"record.recovery_hold": "200 us", "record.onset_hold": "200 us"}

usual = qcnlab.Scenario.from_toml(SHORT)
slow, quick = qcnlab.run_many([usual, usual.with_(HOLDS)], reps=5)
for name in ("recovery_ms", "onset_ms"):
    print(f"{name:<12} held for 10 ms: {slow.metric(name)}, for 0.2 ms: {quick.metric(name)}")

# 4 ms are left after the hotspot and 2 ms in it: nothing lasts 10 ms there.
assert slow.metric("recovery_ms") is None
assert slow.metric("onset_ms") is None
recovery_ms, onset_ms = quick.metric("recovery_ms"), quick.metric("onset_ms")
assert recovery_ms is not None
assert onset_ms is not None
assert 0.2 < recovery_ms < 3
assert onset_ms < 1
