"""Show how PAUSE alone spreads congestion to a victim, and how QCN keeps it at its source.

Four culprits overload one port of the core; a victim shares only the way to the core with one of
them. Run it with `python examples/05_congestion_spreading.py [FOLDER]`; with a folder it writes the
congestion tree there.
"""

import sys
from pathlib import Path

import polars as pl

import qcnlab
from qcnlab.figures.plots import save
from qcnlab.figures.tree import tree_figure

base = qcnlab.load("ig-4-culprits-1-victim-pause-1500kb-rtt5us").with_("duration=0.5 s")
schemes = {"none": "PAUSE alone", "qcn_byte_counter": "PAUSE and QCN"}
results = {}
print(f"{'':14}{'hot port':>10}{'victim':>10}{'drops':>7}{'longest stop of a link':>24}")
for scheme, words in schemes.items():
    changes = ["scheme.name=none"] if scheme == "none" else []
    result = results[scheme] = qcnlab.run(base.with_(*changes))
    hot, victim, drops, paused = (
        result.metric(name) or 0.0
        for name in ("bottleneck_gbps", "victim_gbps", "drops", "paused_frac")
    )
    print(f"{words:14}{hot:>5.2f} Gb/s{victim:>5.2f} Gb/s{drops:>7.0f}{100 * paused:>22.0f} %")

# Nothing is lost either way, and the hot port is busy; but PAUSE alone takes half of the
# victim's 5 Gb/s, because its own link is stopped for a queue it does not even use.
assert all(result.metric("drops") == 0 for result in results.values())
assert (results["none"].metric("victim_gbps") or 0) < 3.0
assert (results["qcn_byte_counter"].metric("victim_gbps") or 0) > 4.9
tree = results["none"].congestion_tree()
[reason] = tree.filter(pl.col("port") == "node1->edge1")["because"]
assert reason == "edge1->core"

if len(sys.argv) > 1:
    for suffix in (".svg", ".png"):
        save(tree_figure(results["none"]), Path(sys.argv[1]) / f"congestion-tree{suffix}")
