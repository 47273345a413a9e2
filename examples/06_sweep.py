"""Sweep the round-trip time for two schemes, stop in the middle, and go on.

Run it with `python examples/06_sweep.py`.
"""

import tempfile
import warnings
from pathlib import Path

import polars as pl

import qcnlab

# A hotspot shorter than deck 001's, so that the sweep takes seconds.
scenario = qcnlab.load("og-hotspot-2src-10g-to-500m-rtt10us").with_(
    "warmup=100 ms", "hotspot.from=200 ms", "hotspot.until=300 ms", "duration=500 ms"
)
vary = {"topology.rtt": ["20 us", "50 us", "200 us"], "scheme.name": ["ecm", "qcn"]}

with tempfile.TemporaryDirectory() as parent:
    out = Path(parent) / "sweep"
    swept = qcnlab.sweep(scenario, vary=vary, reps=3, out=out)
    table = (out / "metrics.parquet").read_bytes()

    # What a kill leaves: a journal with some of the runs, the last one half written.
    journal = (out / "runs.jsonl").read_bytes()
    (out / "runs.jsonl").write_bytes(journal[: len(journal) // 2].rstrip(b"\n"))
    (out / "metrics.parquet").unlink()
    try:
        qcnlab.open_sweep(out)
    except qcnlab.FolderError as error:
        print(f"{error}\n")

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        swept = qcnlab.sweep(scenario, vary=vary, reps=3, out=out)
    print(*(warning.message for warning in told))
    assert (out / "metrics.parquet").read_bytes() == table

print(swept.text(100, ["queue_std_bytes", "recovery_ms"]))

# ECM swings from a round trip of 50 us on; QCN keeps its queue steady at 200 us with the same
# parameters.
spread = (
    pl.DataFrame(swept)
    .group_by("scheme.name", "topology.rtt_s")
    .agg(pl.col("queue_std_bytes").median())
)
deviation = {(name, round(1e6 * rtt_s)): std for name, rtt_s, std in spread.rows()}
assert deviation["ecm", 50] > 5 * deviation["ecm", 20]
assert deviation["qcn", 200] < deviation["ecm", 200] / 2
