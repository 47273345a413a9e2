#!/usr/bin/env python3
"""Run the same workload on ns-2 and on qcnlab in turn; print the ratio of frame-hops a CPU second.

ns-2 comes from Debian (apt-get install ns2). Both count the whole process, start-up included, in
CPU time of that process; each pair runs back to back, because the speed of shared machines drifts.

    python benches/peers.py          median of 5 pairs
"""

import resource
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

PAIRS = 5
SECONDS = 2
HERE = Path(__file__).parent
OURS = HERE.parent / "target/release/examples/workload"
WORKLOADS = {"W1": ("w1-10-senders-cbr", 10), "W2": ("w2-100-senders-cbr", 100)}
SCHEDULERS = ("Splay", "Heap", "Calendar")


def cpu_s(command: list[str]) -> tuple[float, list[str]]:
    """Run a command: its CPU seconds and the words it prints."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return spent, run.stdout.split()


def ours(scenario: str) -> float:
    """Frame-hops a CPU second of qcnlab."""
    spent, words = cpu_s([str(OURS), scenario, f"duration={SECONDS} s"])
    return int(words[0]) / spent


def ns2(senders: int, scheduler: str) -> float:
    """Packet-hops a CPU second of ns-2."""
    script = str(HERE / "peers/ns2-cbr.tcl")
    spent, words = cpu_s(["ns", script, str(senders), str(SECONDS), scheduler])
    return float(words[1]) / spent


def main() -> None:
    """Measure pairs and print."""
    if shutil.which("ns") is None:
        sys.exit("ns-2 is missing (Debian: apt-get install ns2)")
    if not OURS.exists():
        sys.exit("build ours first: cargo build --release -p qcnlab-lab --example workload")
    print("workload  M hops/CPU s: qcnlab   ns-2 (scheduler)   ratio  range")
    for name, (scenario, senders) in WORKLOADS.items():
        best = max(SCHEDULERS, key=lambda scheduler: ns2(senders, scheduler))
        pairs = [(ours(scenario), ns2(senders, best)) for _ in range(PAIRS)]
        ratios = sorted(a / b for a, b in pairs)
        left, right = (statistics.median(side) / 1e6 for side in zip(*pairs, strict=True))
        print(
            f"{name:8s} {left:22.1f} {right:6.2f} ({best})"
            f" {statistics.median(ratios):12.1f}  {ratios[0]:.1f}..{ratios[-1]:.1f}"
        )


if __name__ == "__main__":
    main()
