#!/usr/bin/env python3
"""Run the workloads and print frame-hops a CPU second, events a hop and memory.

Each run has a process of its own. Rounds go through all workloads in turn; ratios are medians over
pairs of runs back to back, because the speed of a shared machine drifts by tens of percent within
seconds. Raw rows, the machine and the commit go to benches/runs/DATE/.

    python benches/bench.py [--rounds N] [--only W4] [--only W12]
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
PROGRAM = HERE.parent / "target/release/examples/workload"
BASELINE = "og-hotspot-2src-10g-to-500m-rtt10us"
CHAIN = "chain-20-stages-pause-1500kb-rtt2us"
PAUSE = str(HERE / "incast-16-senders-pause.toml")
ROCE = str(HERE / "star-16-senders-roce.toml")
PFC = str(HERE / "star-16-senders-pfc.toml")
TRIMMING = str(HERE / "star-16-senders-trimming.toml")
FAT_TREE = str(HERE / "fat-tree-16-hosts-roce.toml")
FAT_TREE_PFC = str(HERE / "fat-tree-16-hosts-pfc.toml")
ALL_REDUCE = str(HERE / "all-reduce-1024-ranks-400g.toml")
MESSAGES = str(HERE / "leaf-spine-320-hosts-million-messages.toml")
OF_64 = ["topology.sources=64", "switch.input_memory=250 kB"]
W1 = ["w1-10-senders-cbr", "duration=2 s"]
TRACES = ["record.tables=true", "record.queue_every=10 us"]
WORKLOADS = {
    "W1  10 constant senders": W1,
    "W1, long: 16 s": [W1[0], "duration=16 s"],
    "W1, all traces": [*W1, *TRACES],
    "W1, unequal rates": ["w1-10-senders-unequal", "duration=2 s"],
    "W2  100 constant senders": ["w2-100-senders-cbr", "duration=2 s"],
    "W3  9 TCP Reno senders": ["w3-9-senders-tcp-reno", "duration=1 s"],
    "W4  fat-tree k = 4": ["w4-fat-tree-k4-cbr", "duration=50 ms"],
    "W4  fat-tree k = 8": ["w4-fat-tree-k8-cbr"],
    "W4  fat-tree k = 16": ["w4-fat-tree-k16-cbr"],
    "W5  W1 with QCN": ["w5-10-senders-cbr-qcn", "duration=2 s"],
    "W5  W1 with QCN and PFC": ["w5-10-senders-cbr-qcn-pfc", "duration=2 s"],
    "W5  unequal rates, QCN": ["w1-10-senders-unequal", "duration=2 s", "scheme.name=qcn"],
    "W6  deck 001, QCN, 2.5 s": [BASELINE, "record.tables=false"],
    "W7  deck 004, 20 stages": [CHAIN, "record.tables=false", "duration=60 ms", "warmup=20 ms"],
    "W9  16 senders, PAUSE alone": [PAUSE, "duration=50 ms"],
    "W10 16, RoCE, DCQCN, PFC": [ROCE, "duration=60 ms"],
    "W10 16, PFC alone": [PFC, "duration=60 ms"],
    "W10 64, RoCE, DCQCN, PFC": [ROCE, *OF_64, "duration=60 ms"],
    "W10 64, PFC alone": [PFC, *OF_64, "duration=60 ms"],
    "W10 16, RoCE, HPCC, PFC": [ROCE, "scheme.name=hpcc", "duration=60 ms"],
    "W11 fat-tree, RoCE, DCQCN": [FAT_TREE],
    "W11 fat-tree, PFC alone": [FAT_TREE_PFC],
    "W13 16, RoCE, packets cut": [TRIMMING, "duration=10 ms"],
    "W14 64 ranks, all-reduce, DCQCN": [
        "all-reduce-64-ranks-leaf-spine-400g",
        "record.tables=false",
    ],
}
LARGE = {
    "W12 320 hosts, 990,000 messages": [MESSAGES],
    "W14 1,024 ranks, all-reduce": [ALL_REDUCE],
    "W14 1,024 ranks, DCQCN": [ALL_REDUCE, "scheme.name=dcqcn"],
}
"""Run only where they are asked for: up to half a minute and 0.7 GB each."""
PAIRS = {
    "all traces": ("W1, all traces", "W1  10 constant senders"),
    "QCN, unequal rates": ("W5  unequal rates, QCN", "W1, unequal rates"),
    "QCN": ("W5  W1 with QCN", "W1  10 constant senders"),
    "QCN and PFC": ("W5  W1 with QCN and PFC", "W1  10 constant senders"),
    "RoCE and DCQCN, 16": ("W10 16, RoCE, DCQCN, PFC", "W10 16, PFC alone"),
    "RoCE and DCQCN, 64": ("W10 64, RoCE, DCQCN, PFC", "W10 64, PFC alone"),
    "RoCE and DCQCN, fat-tree": ("W11 fat-tree, RoCE, DCQCN", "W11 fat-tree, PFC alone"),
}
ROUNDS_OF_PAIRS = 15
GRID = {"scheme.rp.ai_rate": [f"{rate} Mb/s" for rate in range(1, 21)]}
GRID_REPS, SWEEP_PAIRS = 10, 7
SHORTENED = ("duration=60 ms", "warmup=5 ms", "hotspot.from=10 ms", "hotspot.until=40 ms")
Row = dict[str, float]


def measure(arguments: list[str]) -> Row:
    """Run one workload once in a fresh process."""
    start = time.perf_counter()
    run = subprocess.run([str(PROGRAM), *arguments], capture_output=True, text=True, check=True)
    wall_s = time.perf_counter() - start
    hops, events, dropped, cpu_s, kib = (float(word) for word in run.stdout.split())
    return {
        "frame_hops": int(hops),
        "events": int(events),
        "frames_dropped": int(dropped),
        "cpu_s": cpu_s,
        "wall_s": wall_s,
        "mhops_per_cpu_s": hops / cpu_s / 1e6,
        "rss_above_idle_mib": kib / 1024,
    }


class Swept(NamedTuple):
    """What W8 took and gave."""

    wall_s: float
    cpu_s: float
    """Of the process, all threads."""
    alone_s: float
    """CPU time of the thread that starts the runs and collects them: what does not get faster."""
    table: bytes
    """The table of metrics as CSV."""


def measure_sweep(jobs: int, reps: int = GRID_REPS) -> Swept:
    """Run W8, 200 short runs, on `jobs` threads."""
    import qcnlab

    scenario = qcnlab.load(BASELINE).with_(*SHORTENED)
    wall, cpu, alone = time.perf_counter(), time.process_time(), time.thread_time()
    swept = qcnlab.sweep(scenario, vary=GRID, reps=reps, jobs=jobs, progress=False)
    wall_s, cpu_s = time.perf_counter() - wall, time.process_time() - cpu
    return Swept(wall_s, cpu_s, time.thread_time() - alone, swept.to_polars().write_csv().encode())


def idle_wall(run: Swept, jobs: int = 2) -> float:
    """Return the wall time a run would take on idle cores: nobody waits but for the one thread."""
    return run.alone_s + (run.cpu_s - run.alone_s) / jobs


def sweeps() -> tuple[list[dict[str, object]], str]:
    """Run W8 on one thread and on two in turn; give rows and what they say."""
    measure_sweep(2, reps=1)
    pairs = [(measure_sweep(1), measure_sweep(2)) for _ in range(SWEEP_PAIRS)]
    if any(one.table != two.table for one, two in pairs):
        sys.exit("W8: one thread and two give different tables")
    rows: list[dict[str, object]] = [
        {
            "workload": "W8",
            "jobs": jobs,
            "wall_s": run.wall_s,
            "cpu_s": run.cpu_s,
            "alone_s": run.alone_s,
        }
        for pair in pairs
        for jobs, run in zip((1, 2), pair, strict=True)
    ]
    gains = sorted(one.wall_s / two.wall_s for one, two in pairs)
    on_idle = statistics.median(one.cpu_s / idle_wall(two) for one, two in pairs)
    cores = statistics.median(two.cpu_s / two.wall_s for _, two in pairs)
    words = (
        f"W8, a sweep of 200 short runs: 2 threads give the table of 1 and are"
        f" {statistics.median(gains):.2f} times as fast ({gains[0]:.2f}..{gains[-1]:.2f}) on the"
        f" {cores:.2f} cores they got; {on_idle:.2f} by CPU time, as on 2 idle cores"
        f" (load average {os.getloadavg()[0]:.1f} on {os.cpu_count()})"
    )
    return rows, words


def output(*command: str) -> str:
    """Return what a command prints, or nothing."""
    run = subprocess.run(command, capture_output=True, text=True, cwd=HERE, check=False)
    return run.stdout.strip()


def archive(rows: list[dict[str, object]], rounds: int) -> Path:
    """Write the rows, the machine and the commit to a dated folder."""
    folder = HERE / "runs" / datetime.now(UTC).strftime("%Y-%m-%dT%H%M%SZ")
    folder.mkdir(parents=True)
    machine = {
        "commit": output("git", "describe", "--always", "--dirty"),
        "cpu": output("sh", "-c", "grep -m1 'model name' /proc/cpuinfo | cut -d: -f2"),
        "cores": os.cpu_count(),
        "load_average": os.getloadavg()[0],
        "rustc": output("rustc", "--version"),
        "python": platform.python_version(),
        "rounds": rounds,
    }
    (folder / "machine.json").write_text(json.dumps(machine, indent=2) + "\n")
    (folder / "rows.json").write_text(json.dumps(rows, indent=1) + "\n")
    return folder


def line(name: str, rounds: list[Row]) -> str:
    """Return a row of the table."""
    rates = sorted(row["mhops_per_cpu_s"] for row in rounds)
    memory = max(row["rss_above_idle_mib"] for row in rounds)
    events = rounds[0]["events"] / rounds[0]["frame_hops"]
    spread = f"{rates[0]:.1f}..{rates[-1]:.1f}"
    middle = statistics.median(rates)
    return f"{name:28s} {middle:12.1f} {spread:>13s} {events:11.2f} {memory:15.1f}"


def paired(chosen: dict[str, list[str]]) -> tuple[list[dict[str, object]], list[str]]:
    """Run workloads that are compared back to back; give rows and the ratios of their rates."""
    rows: list[dict[str, object]] = []
    words = []
    for what, names in PAIRS.items():
        if any(name not in chosen for name in names):
            continue
        ratios = []
        for _ in range(ROUNDS_OF_PAIRS):
            left, right = (measure(chosen[name]) for name in names)
            ratios.append(left["mhops_per_cpu_s"] / right["mhops_per_cpu_s"])
            rows += [
                {"workload": name, "pair": what, **row}
                for name, row in zip(names, (left, right), strict=True)
            ]
        low, middle, high = statistics.quantiles(ratios, n=4)
        words.append(
            f"with {what}: {middle:.0%} of the rate of {names[1].strip()}"
            f" ({low:.0%}..{high:.0%}, quartiles of {ROUNDS_OF_PAIRS} pairs)"
        )
    return rows, words


def remarks(results: dict[str, list[Row]]) -> list[str]:
    """Return what follows from the rounds of some workloads, where they were run."""
    lines = []
    short, long = (results.get(name) for name in ("W1  10 constant senders", "W1, long: 16 s"))
    if short and long:
        grown = min(row["rss_above_idle_mib"] for row in long)
        grown -= min(row["rss_above_idle_mib"] for row in short)
        lines.append(f"14 s more of simulated time in W1: {grown:.1f} MiB more memory")
    if runs := results.get("W6  deck 001, QCN, 2.5 s"):
        cpu_s = statistics.median(row["cpu_s"] for row in runs)
        lines.append(f"W6: {2.5 / cpu_s:.0f} times as fast as real time")
    return lines


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description="Measure the workloads.")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each workload")
    parser.add_argument(
        "--only", action="append", default=[], help="workloads whose name begins so; repeatable"
    )
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error("--rounds is 1 or more")
    if not PROGRAM.exists():
        sys.exit("build it first: cargo build --release -p qcnlab-lab --example workload")
    begins = tuple(options.only)
    chosen = {name: w for name, w in WORKLOADS.items() if not begins or name.startswith(begins)}
    chosen |= {name: w for name, w in LARGE.items() if begins and name.startswith(begins)}
    for only in begins:
        if only != "W8" and not any(name.startswith(only) for name in chosen):
            parser.error(f"no workload begins with '{only}'")
    results: dict[str, list[Row]] = {name: [] for name in chosen}
    for _ in range(options.rounds):
        for name, arguments in chosen.items():
            results[name].append(measure(arguments))
    print("workload                     M hops/CPU s         range  events/hop  MiB above idle")
    for name, rounds in results.items():
        print(line(name, rounds))
    rows: list[dict[str, object]] = [
        {"workload": name, **row} for name, rounds in results.items() for row in rounds
    ]
    pairs, ratios = paired(chosen)
    rows += pairs
    for remark in [*ratios, *remarks(results)]:
        print(remark)
    if not begins or any("W8".startswith(only) for only in begins):
        more, words = sweeps()
        rows += more
        print(words)
    print(f"\n{archive(rows, options.rounds)}")


if __name__ == "__main__":
    main()
