#!/usr/bin/env python3
"""How cost grows with size: time a frame-hop, set-up time, memory; exponents and a figure.

Four series, each of about two million frame-hops a run whatever the size:
 - senders around one switch that share 10.5 Gb/s into 10 Gb/s;
 - flows, one from every host of a switch to every other, 5 Gb/s a host;
 - links in a row that one flow crosses;
 - ports k of the switches of a fat-tree whose hosts send 5 Gb/s across the core.
Throughput is kept in one bin, because each bin of each flow is a row. The exponent is the slope of
the logarithms, by least squares over the larger half of the sizes. Each point is the fastest of
REPEATS runs.

    python benches/growth.py [--svg FILE] [--json FILE]
"""

import argparse
import json
import math
import resource
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
OURS = HERE.parent / "target/release/examples/workload"
SCENARIO = HERE.parent / "target/growth.toml"
REPEATS = 2
FRAME_BITS = 12_000
TAIL = """
[scheme]
name = "none"

[record]
tables = false
throughput_bin = "1 s"
"""
Point = dict[str, float]


def text(duration_s: float, topology: str, traffic: str, switch: str = "") -> str:
    """Write a scenario."""
    us = max(round(duration_s * 1e6), 1)
    head = f'title = "Growth"\nduration = "{us} us"\n\n[topology]\nrate = "10 Gb/s"\n{topology}\n'
    flow = '\n[[traffic]]\narrivals = "constant"\nframe = "1500 B"\nstart_jitter = "10 us"\n'
    return head + switch + "".join(flow + each for each in traffic.split("---")) + TAIL


def senders(count: int) -> str:
    """Return a star of `count` senders."""
    rate = round(10.5e9 / count)
    star = f'kind = "star"\nsources = {count}\nrtt = "40 us"\nbuffer = "150 KB"'
    return text(1.0, star, f'rate = "{rate} b/s"\n').replace('"10 us"', '"5 ms"')


def flows(hosts: int) -> str:
    """Return a switch where every host sends to every other."""
    rate = round(5e9 / (hosts - 1))
    switch = f'kind = "switch"\nhosts = {hosts}\ndelay = "1 us"'
    duration_s = 2e6 / (hosts * 5e9 / FRAME_BITS * 2)
    gap_us = round(FRAME_BITS / rate * 1e6)
    traffic = f'from = "*"\nto = "*"\nrate = "{rate} b/s"\n'
    made = text(duration_s, switch, traffic, '\n[switch]\noutput_buffer = "150 KB"\n')
    return made.replace('"10 us"', f'"{gap_us} us"')


def hops(switches: int) -> str:
    """Return a row of switches that one flow crosses."""
    chain = f'kind = "chain"\nswitches = {switches}\nhosts = 1\ndelay = "1 us"'
    duration_s = 2e6 / ((switches + 1) * 5e9 / FRAME_BITS)
    ends = f'from = "host1"\nto = "host{switches}"\nrate = "5 Gb/s"\n'
    return text(duration_s, chain, ends)


def fat_tree(k: int) -> str:
    """Return a fat-tree whose halves send to each other."""
    hosts = k**3 // 4
    duration_s = max(2e6 / (hosts * 5e9 / FRAME_BITS * 6), 1e-4)
    low, high = f"host{{1..{hosts // 2}}}", f"host{{{hosts // 2 + 1}..{hosts}}}"
    pairs = "---".join(
        f'spread = "paired"\nfrom = "{a}"\nto = "{b}"\nrate = "5 Gb/s"\n'
        for a, b in ((low, high), (high, low))
    )
    tree = f'kind = "fat_tree"\nk = {k}\ndelay = "1 us"'
    return text(duration_s, tree, pairs, '\n[switch]\noutput_buffer = "150 KB"\n')


@dataclass(frozen=True)
class Series:
    """One way to grow."""

    name: str
    sizes: tuple[int, ...]
    scenario: Callable[[int], str]
    # What a size counts, where it is not what is shown.
    shown: Callable[[int], int] = int


SERIES = (
    Series("senders", (10, 30, 100, 300, 1000, 3000, 10_000), senders),
    Series("flows", (11, 33, 101, 180, 317), flows, lambda hosts: hosts * (hosts - 1)),
    Series("links in a row", (2, 5, 10, 20, 50, 100, 200), hops, lambda switches: switches + 1),
    Series("k of a fat-tree", (4, 8, 16, 24, 32), fat_tree),
)
COLUMNS = {"ns_per_hop": "ns a hop", "setup_s": "set-up, s", "mib": "MiB"}


def once(*options: str) -> Point:
    """Run the scenario that is in place."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    line = [str(OURS), *options, str(SCENARIO)]
    run = subprocess.run(line, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if run.returncode != 0:
        sys.exit(f"growth: {SCENARIO} does not run:\n{run.stderr}")
    frame_hops, events, _, cpu_s, kib = (float(word) for word in run.stdout.split())
    spent = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return {
        "frame_hops": frame_hops,
        "events": events,
        "run_s": cpu_s,
        "ns_per_hop": cpu_s / frame_hops * 1e9 if frame_hops else math.nan,
        "setup_s": max(spent - cpu_s, 0.001),
        "mib": kib / 1024,
    }


def measure(series: Series, size: int) -> Point:
    """Return the best of several runs."""
    SCENARIO.write_text(series.scenario(size))
    runs = [once() for _ in range(REPEATS)]
    best = {key: min(run[key] for run in runs) for key in runs[0]}
    return {"size": series.shown(size)} | best


def exponent(points: list[Point], column: str) -> float:
    """Return the slope of the logarithms over the larger half of the sizes."""
    half = points[len(points) // 2 - 1 :]
    xs = [math.log(point["size"]) for point in half]
    ys = [math.log(point[column]) for point in half]
    x, y = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True)) / sum(
        (a - x) ** 2 for a in xs
    )


def draw(measured: dict[str, list[Point]], file: Path) -> None:
    """Draw time a hop and memory, a column for each series."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "qcnlab", "svg.fonttype": "none"})
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, len(measured), figsize=(11, 4.6), sharex="col", sharey="row")
    rows = (("ns_per_hop", (30, 100, 300, 1000)), ("mib", (1, 10, 100)))
    for (name, points), column in zip(measured.items(), axes.T, strict=True):
        sizes = [int(point["size"]) for point in points]
        for axis, (key, ticks) in zip(column, rows, strict=True):
            axis.loglog(sizes, [point[key] for point in points], "o-", color="#1f5fa8")
            axis.minorticks_off()
            axis.set_yticks(ticks, [str(tick) for tick in ticks])
            axis.set_xticks(sizes[::2], [f"{size:,}" for size in sizes[::2]])
            axis.grid(True, alpha=0.3)
            slope = exponent(points, key)
            axis.text(0.05, 0.88, f"exponent {slope:.2f}", transform=axis.transAxes, fontsize=9)
        column[1].set_xlabel(name)
    axes[0][0].set_ylabel("CPU time a frame-hop, ns")
    axes[1][0].set_ylabel("memory above idle, MiB")
    figure.tight_layout()
    figure.savefig(file, metadata={"Date": None})


def main() -> None:
    """Measure, print, draw."""
    parser = argparse.ArgumentParser(description="Measure how cost grows.")
    parser.add_argument("--svg", type=Path, help="draw the figure here")
    parser.add_argument("--json", type=Path, help="write the points here")
    options = parser.parse_args()
    if not OURS.exists():
        sys.exit("build it first: cargo build --release -p qcnlab-lab --example workload")
    measured: dict[str, list[Point]] = {}
    print(f"{'':18s}{'size':>10s}" + "".join(f"{name:>12s}" for name in COLUMNS.values()))
    for series in SERIES:
        points = []
        for size in series.sizes:
            point = measure(series, size)
            points.append(point)
            cells = "".join(f"{point[key]:12.4g}" for key in COLUMNS)
            print(f"{series.name:18s}{point['size']:10,.0f}{cells}", flush=True)
        slopes = "".join(f"{exponent(points, key):12.2f}" for key in COLUMNS)
        print(f"{series.name:18s}{'exponent':>10s}{slopes}")
        measured[series.name] = points
    if options.json:
        options.json.write_text(json.dumps(measured, indent=1) + "\n")
    if options.svg:
        draw(measured, options.svg)


if __name__ == "__main__":
    main()
