#!/usr/bin/env python3
"""Run workloads on qcnlab, ns-2, ns-3 and a bare loop in turn; print ratios of frame-hops a CPU s.

ns-2 comes from Debian (installed the first time if you are root), ns-3 from PyPI (installed under
target/ the first time; a generic build with assertions on); the bare loop is our own,
crates/sim/examples/bare.rs. A
peer that is not there is left out, and the table says so. All count the whole process, start-up
included, in CPU time of that process; each pair runs back to back, because the speed of shared
machines drifts.

    python benches/peers.py [--pairs N] [--only W3] [--json FILE]
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import ns2
import ns3

HERE = Path(__file__).parent
PROGRAMS = HERE.parent / "target/release/examples"
OURS = PROGRAMS / "workload"
BARE = PROGRAMS / "bare"
SCHEDULERS = ("Splay", "Heap", "Calendar")
Command = list[str]


def ns2_script(script: str, senders: int, seconds: float) -> Callable[[], tuple[str, Command]]:
    """Return a way to find the command for ns-2's fastest scheduler."""

    def find() -> tuple[str, Command]:
        command = [ns2.program(), str(HERE / "peers" / script), str(senders), str(seconds)]
        best = max(SCHEDULERS, key=lambda name: rate([*command, name]))
        return f"ns-2, {best}", [*command, best]

    return find


def ns3_driver(name: str, *options: str) -> Callable[[], tuple[str, Command]]:
    """Return a way to build a driver for ns-3."""
    return lambda: ("ns-3", [str(ns3.driver(name)), *options])


def bare(*arguments: str) -> Callable[[], tuple[str, Command]]:
    """Return a way to find the command for the bare loop."""

    def find() -> tuple[str, Command]:
        if not BARE.exists():
            raise ns3.Missing("build it: cargo build --release -p qcnlab-sim --example bare")
        return "bare loop", [str(BARE), *arguments]

    return find


TCP_NS3 = (
    f"--starts={','.join(f'{i}e-6' for i in range(9))}",
    *("--rate=10000000000", "--near=6.25e-6", "--far=6.25e-6", "--buffer=149"),
    *("--window=65536", "--min-rto=0.01", "--end=0.05"),
)
CASES = (
    ("W1", ["w1-10-senders-cbr", "duration=2 s"], ns2_script("ns2-cbr.tcl", 10, 2)),
    ("W1", ["w1-10-senders-cbr"], ns3_driver("ns3-cbr", "--size=10", "--seconds=0.1")),
    ("W2", ["w2-100-senders-cbr", "duration=2 s"], ns2_script("ns2-cbr.tcl", 100, 2)),
    ("W3", ["w3-9-senders-tcp-reno"], ns2_script("ns2-tcp.tcl", 9, 0.5)),
    ("W3", ["w3-9-senders-tcp-reno"], ns3_driver("ns3-tcp", *TCP_NS3)),
    (
        "W4 k=4",
        ["w4-fat-tree-k4-cbr"],
        ns3_driver("ns3-cbr", "--shape=fat-tree", "--size=4", "--seconds=0.005"),
    ),
    ("W1", ["w1-10-senders-cbr", "duration=2 s"], bare("star", "10", "2")),
    ("W2", ["w2-100-senders-cbr", "duration=2 s"], bare("star", "100", "2")),
    ("W4 k=8", ["w4-fat-tree-k8-cbr"], bare("fat-tree", "8", "0.02")),
    ("W4 k=16", ["w4-fat-tree-k16-cbr"], bare("fat-tree", "16", "0.005")),
)


def rate(command: Command) -> float:
    """Return frame-hops a CPU second of a run, whole process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    if run.stdout.startswith("{"):
        return float(json.loads(run.stdout)["frame_hops"]) / spent
    words = run.stdout.split()
    return float(words[1] if words[0] == "hops" else words[0]) / spent


def main() -> int:
    """Measure pairs and print."""
    parser = argparse.ArgumentParser(description="Compare with ns-2 and ns-3.")
    parser.add_argument("--pairs", type=int, default=5, help="pairs of runs of each case")
    parser.add_argument("--only", default="", help="workloads whose name begins so")
    parser.add_argument("--json", type=Path, help="write the pairs here")
    options = parser.parse_args()
    if options.pairs < 1:
        parser.error("--pairs is 1 or more")
    if not OURS.exists():
        sys.exit("build ours first: cargo build --release -p qcnlab-lab --example workload")
    rows: list[dict[str, object]] = []
    print("          M hops/CPU s: qcnlab   peer                     ratio  range")
    for name, arguments, find in CASES:
        if not name.startswith(options.only):
            continue
        try:
            peer, command = find()
        except ns3.Missing as missing:
            print(f"{name:8s} not compared: {missing}")
            continue
        ours = [str(OURS), *arguments]
        pairs = [(rate(ours), rate(command)) for _ in range(options.pairs)]
        rows += [{"workload": name, "peer": peer, "qcnlab": a, "peers": b} for a, b in pairs]
        ratios = sorted(a / b for a, b in pairs)
        left, right = (statistics.median(side) / 1e6 for side in zip(*pairs, strict=True))
        print(
            f"{name:8s} {left:22.1f} {right:7.3f} {f'({peer})':17s}"
            f" {statistics.median(ratios):8.3g}  {ratios[0]:.3g}..{ratios[-1]:.3g}",
            flush=True,
        )
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")
    if not rows:
        print("no peer is here: nothing was compared", file=sys.stderr)
    return 0 if rows else 2


if __name__ == "__main__":
    sys.exit(main())
