"""Run a shipped scenario, look at its tables, keep a figure.

    two sources --10 Gb/s--> [queue] --10, then 0.5, then 10 Gb/s--> sink

Run it with `python examples/01_first_run.py`, or paste it into a notebook.
"""

import tempfile
from pathlib import Path

import polars as pl

import qcnlab

# Load a scenario and run it three times with different random streams.
scenario = qcnlab.load("og-hotspot-2src-10g-to-500m-rtt10us")
result = qcnlab.run(scenario, reps=3, seed=1)

# Every metric has a median over the replications; `qcnlab explain recovery_ms` defines it.
recovery_ms = result.metric("recovery_ms")
print(f"{scenario.title}\nrecovered after {recovery_ms} ms")
assert recovery_ms is not None
assert 40 < recovery_ms < 140

# Tables are Arrow: polars, pandas, pyarrow and DuckDB read them without a copy.
queues = result.queues.to_polars()
longest = queues.group_by("replication").agg(pl.col("queue_bytes").max()).sort("replication")
print(longest)
assert (longest["queue_bytes"] <= 150_000).all()

# The same numbers as plain arrays.
times = result.throughput.to_numpy()["time_s"]
assert times.min() >= 0

# A figure, and a run folder that can be read back.
with tempfile.TemporaryDirectory() as folder:
    result.plot().savefig(Path(folder) / "run.png")
    saved = result.save(Path(folder) / "run")
    again = qcnlab.open_run(saved)
    assert again.summary == result.summary
    print(sorted(path.name for path in saved.iterdir()))
