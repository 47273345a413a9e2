#!/usr/bin/env python3
"""Run the workloads and print frame-hops a CPU second, events a hop and memory.

Each workload runs in a process of its own; the table shows the median of ROUNDS runs. Raw rows, the
machine and the commit go to benches/runs/DATE/. Wall time on a shared machine is noise: compare
figures of one table only.
"""

import json
import os
import platform
import statistics
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

ROUNDS = 5
HERE = Path(__file__).parent
BASELINE = "og-hotspot-2src-10g-to-500m-rtt10us"
WORKLOADS = {
    "W1  10 constant senders": ["w1-10-senders-cbr", "duration=2 s"],
    "W2  100 constant senders": ["w2-100-senders-cbr", "duration=2 s"],
    "W5  W1 with QCN": ["w1-10-senders-cbr", "duration=2 s", "scheme.name=qcn"],
    "W6  deck 001, QCN, 2.5 s": [BASELINE, "record.tables=false"],
}
CHILD = """
import json, resource, sys, time
import qcnlab
idle = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
name, *changes = sys.argv[1:]
scenario = qcnlab.load(name).with_(*changes)
start = time.perf_counter()
summary = qcnlab._core.run([scenario._core], replications=1, jobs=1)[0].summary()
row = {"summary": json.loads(summary), "wall_s": time.perf_counter() - start}
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps(row | {"rss_above_idle_mib": (peak - idle) / 1024}))
"""


def measure(arguments: list[str]) -> dict[str, float]:
    """Run one workload once in a fresh process."""
    run = subprocess.run(
        [sys.executable, "-c", CHILD, *arguments], capture_output=True, text=True, check=True
    )
    row = json.loads(run.stdout)
    counters, cpu_s = row["summary"]["counters"], row["summary"]["cpu_s"]
    return {
        "frame_hops": counters["frame_hops"],
        "events": counters["events"],
        "cpu_s": cpu_s,
        "wall_s": row["wall_s"],
        "mhops_per_cpu_s": counters["frame_hops"] / cpu_s / 1e6,
        "rss_above_idle_mib": row["rss_above_idle_mib"],
    }


def sweep(jobs: int) -> float:
    """Run W8, 200 short runs, on `jobs` threads; give wall seconds."""
    import qcnlab

    scenario = qcnlab.load(BASELINE).with_(
        "duration=60 ms",
        "warmup=5 ms",
        "hotspot.from=10 ms",
        "hotspot.until=40 ms",
        "record.tables=false",
    )
    start = time.perf_counter()
    qcnlab.run(scenario, reps=200, jobs=jobs, progress=False)
    return time.perf_counter() - start


def output(*command: str) -> str:
    """Give what a command prints, or nothing."""
    run = subprocess.run(command, capture_output=True, text=True, cwd=HERE, check=False)
    return run.stdout.strip()


def archive(rows: list[dict[str, object]]) -> Path:
    """Write the rows, the machine and the commit to a dated folder."""
    folder = HERE / "runs" / datetime.now(UTC).strftime("%Y-%m-%dT%H%M%SZ")
    folder.mkdir(parents=True)
    machine = {
        "commit": output("git", "describe", "--always", "--dirty"),
        "cpu": output("sh", "-c", "grep -m1 'model name' /proc/cpuinfo | cut -d: -f2"),
        "cores": os.cpu_count(),
        "rustc": output("rustc", "--version"),
        "python": platform.python_version(),
        "rounds": ROUNDS,
    }
    (folder / "machine.json").write_text(json.dumps(machine, indent=2) + "\n")
    (folder / "rows.json").write_text(json.dumps(rows, indent=2) + "\n")
    return folder


def main() -> None:
    """Measure, print, write."""
    rows: list[dict[str, object]] = []
    print("workload                     M hops/CPU s         range  events/hop  MiB above idle")
    for name, arguments in WORKLOADS.items():
        rounds = [measure(arguments) for _ in range(ROUNDS)]
        rows += [{"workload": name, **row} for row in rounds]
        rates = sorted(row["mhops_per_cpu_s"] for row in rounds)
        memory = max(row["rss_above_idle_mib"] for row in rounds)
        events = rounds[0]["events"] / rounds[0]["frame_hops"]
        spread = f"{rates[0]:.1f}..{rates[-1]:.1f}"
        middle = statistics.median(rates)
        print(f"{name:28s} {middle:12.1f} {spread:>13s} {events:11.2f} {memory:15.1f}")
    pairs = [(sweep(1), sweep(2)) for _ in range(3)]
    rows += [{"workload": "W8", "wall_s_1_job": one, "wall_s_2_jobs": two} for one, two in pairs]
    ratio = statistics.median(one / two for one, two in pairs)
    print(f"W8  200 short runs           2 threads are {ratio:.2f} times as fast as 1")
    print(f"\n{archive(rows)}")


if __name__ == "__main__":
    main()
