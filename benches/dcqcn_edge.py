#!/usr/bin/env python3
"""Packets of DCQCN about its edge: noise or limit cycle, as the page on DCQCN's edge has it.

The queue's deviation in levels, for M times the flows, capacity, buffer and thresholds: noise falls
as one over the root of M, a limit cycle stays. One run each, of 0.4 s for two sources and 0.3 s for
the others; the first 0.1 s do not count.

    python benches/dcqcn_edge.py [--svg FILE] [--most M]
"""

import argparse
from pathlib import Path

import numpy as np
import polars as pl

import qcnlab
from qcnlab.analysis import modelled
from qcnlab.analysis.boundary import _highest_capacity, _star
from qcnlab.figures import plots

POINTS = [(2, us) for us in (4, 16, 24, 60, 110)]
POINTS += [(5, us) for us in (4, 24)] + [(10, us) for us in (4, 16, 24, 40)]
RTTS_US = (4, 16, 24, 40, 60, 110)
FACTORS = (1, 4, 16)
SETTLED_S = 0.1


def deviations(points: list[tuple[int, int]], factors: list[int]) -> dict[tuple[int, int], list]:
    """Return the deviation in levels by sources and RTT, us, for each factor; print each."""
    marks = {"scheme.name": "dcqcn", "scheme.preset": "SIGCOMM2015", "traffic.0.frame": "1000 B"}
    scenario = qcnlab.load("one-source-into-9g-rtt200us").with_(
        {**marks, "topology.rate": "40 Gb/s", "topology.bottleneck_rate": "40 Gb/s"},
        {"topology.sources": 10, "topology.buffer": "10 MB"},
    )
    known = modelled.read(scenario)
    contenders = _highest_capacity(known)
    base = known.kind.from_scenario(known.base["scheme"], contenders)
    rows_by_point: dict[tuple[int, int], list] = {point: [] for point in points}
    for factor in factors:
        for sources, rtt_us in points:
            model = base.with_(sources=sources)
            star = _star(known, contenders, model, rtt_us * 1e-6, factor)
            end = "0.4 s" if sources == 2 else "0.3 s"
            short = star.with_(f"warmup={SETTLED_S} s", f"duration={end}")
            queues = qcnlab.run(short, reps=1, jobs=1).queues.to_polars()
            settled = queues.filter(pl.col("time_s") >= SETTLED_S)["queue_bytes"].cast(pl.Float64)
            share = float(settled.std(ddof=0)) / factor / model.queue_level()
            rows_by_point[sources, rtt_us].append(share)
            print(f"{sources} sources, {rtt_us} us, M = {factor}: {share:.2f}", flush=True)
    return rows_by_point


def draw(rows_by_point: dict[tuple[int, int], list], factors: list[int], to: Path) -> None:
    """Draw the deviation over M, a panel for each number of sources."""
    from matplotlib.figure import Figure

    with plots.style():
        figure = Figure(figsize=(9.0, 3.2), layout="constrained")
        panels = figure.subplots(1, 3, sharey=True)
        for axes, sources in zip(panels, (2, 5, 10), strict=True):
            rows = {rtt: row for (n, rtt), row in rows_by_point.items() if n == sources}
            for rtt_us, row in rows.items():
                pen = plots.source_style(RTTS_US.index(rtt_us))
                axes.plot(factors, row, marker="o", ms=4, lw=1.2, label=f"{rtt_us} us", **pen)
            noise = rows[4][0] / np.sqrt(factors)
            axes.plot(
                factors,
                noise,
                color=plots.INK,
                lw=0.8,
                ls=(0, (1, 2)),
                label="4 us by the root of M",
            )
            axes.set_xscale("log", base=2)
            axes.set_yscale("log", base=2)
            axes.set_xticks(factors, [str(factor) for factor in factors])
            ticks = (0.125, 0.25, 0.5, 1.0)
            axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
            axes.minorticks_off()
            axes.set_title(f"{sources} sources", color=plots.INK)
            axes.set_xlabel("M times the flows")
            axes.legend(loc="lower left", fontsize=7)
        panels[0].set_ylabel("deviation of the queue (levels)")
        figure.savefig(to, metadata={"Date": None} if to.suffix == ".svg" else None)


def main() -> None:
    """Run all points, print the page's rows, and draw them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--svg", type=Path, help="draw the table into this file")
    parser.add_argument("--most", type=int, default=16, help="leave larger M out")
    arguments = parser.parse_args()
    factors = [factor for factor in FACTORS if factor <= arguments.most]
    rows_by_point = deviations(POINTS, factors)
    for (sources, rtt_us), row in rows_by_point.items():
        print(f"| {sources} | {rtt_us} us | " + " | ".join(f"{share:.2f}" for share in row) + " |")
    if arguments.svg:
        draw(rows_by_point, factors, arguments.svg)


if __name__ == "__main__":
    main()
