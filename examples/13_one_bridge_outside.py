"""Show what an edge of a congestion notification domain keeps out, and what happens without it.

Two near hosts sit inside the domain, two far hosts behind a bridge that takes no part; all share
one port. Run it with `python examples/13_one_bridge_outside.py [FOLDER]`; with a folder it draws
the rates there.
"""

import sys
from pathlib import Path

import polars as pl
from matplotlib.figure import Figure

import qcnlab
from qcnlab.figures.plots import save

base = qcnlab.load("one-bridge-outside-the-domain")
CASES = {
    "all take part": ["domain.outside="],
    "old outside, edge": [],
    "old and far outside, edge": ["domain.outside=old, far*"],
    "old and far outside, no edge": ["domain.outside=old, far*", "defence.mode=interior"],
}
SOURCES = ("near1->sink", "near2->sink", "far1->sink", "far2->sink")
rates: dict[str, list[float]] = {}
print(f"{'Gb/s':30}" + "".join(f"{source:>13}" for source in SOURCES) + "     lost  messages")
for words, changes in CASES.items():
    result = qcnlab.run(base.with_(*changes), progress=False)
    late = result.throughput.to_polars().filter(pl.col("time_s") >= 0.1)
    means = {s: late.filter(pl.col("source") == s)["rate_bps"].mean() for s in SOURCES}
    rates[words] = [float(str(means[source])) / 1e9 for source in SOURCES]
    counters = result.summary.counters
    lost = (counters.frames_dropped or 0) / counters.frames_sent
    shown = "".join(f"{rate:>13.3f}" for rate in rates[words])
    print(f"{words:30}{shown}{lost:>9.1%}{counters.messages_sent:>10}")

# The edge leaves the near hosts what they had; without it they starve at the least rate.
assert min(rates["old and far outside, edge"][:2]) > 2.9
assert max(rates["old and far outside, no edge"][:2]) < 0.1

if len(sys.argv) > 1:
    figure = Figure(figsize=(7.2, 3.0), layout="constrained")
    axes = figure.subplots()
    for column, source in enumerate(SOURCES):
        heights = [row + 0.2 * (column - 1.5) for row in range(len(CASES))]
        axes.barh(heights, [rates[words][column] for words in CASES], 0.18, label=source[:-6])
    axes.set_yticks(range(len(CASES)), list(CASES))
    axes.invert_yaxis()
    axes.set_xlabel("delivered, Gb/s")
    axes.legend(frameon=False)
    for suffix in (".svg", ".png"):
        save(figure, Path(sys.argv[1]) / f"domain{suffix}")
