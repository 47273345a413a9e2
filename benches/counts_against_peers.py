#!/usr/bin/env python3
"""Hold the drops of constant senders against ns-2 and ns-3: one case must lose the same frames.

Senders of 10.5 Gb/s together share 10 Gb/s with a queue of 150 KB; frames take 1500 B of the wire,
and sender i starts at i x 1.142857 us. Nothing in it is random, and ties are in the order of ports,
so ns-2 and we agree to the frame.
ns-3 sends UDP with headers of its own, and its run ends at another frame: its count may differ by
TOLERANCE. A peer that is not there is left out, and a line says so; exit 1 if counts differ, 2
without any.

    python benches/counts_against_peers.py [--json]
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

import ns2
import ns3

HERE = Path(__file__).parent
OURS = HERE.parent / "target/release/examples/workload"
CASES = (("w1-10-senders-cbr", 10, 1.0, 0.2), ("w2-100-senders-cbr", 100, 1.0, 0.2))
TOLERANCE = 0.001


def words(command: list[str]) -> list[str]:
    """Run a command: the words it prints."""
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    return run.stdout.split()


def ours(scenario: str, seconds: float) -> int:
    """Frames we lose."""
    return int(words([str(OURS), scenario, f"duration={seconds} s", "ties=port_order"])[2])


def by_ns2(senders: int, seconds: float) -> int:
    """Frames ns-2 loses."""
    script = str(HERE / "peers/ns2-cbr.tcl")
    return int(words([ns2.program(), script, str(senders), str(seconds), "Heap"])[3])


def by_ns3(senders: int, seconds: float) -> int:
    """Frames ns-3 loses."""
    command = [str(ns3.driver("ns3-cbr")), f"--size={senders}", f"--seconds={seconds}"]
    return int(words(command)[3])


def main() -> int:
    """Compare and print."""
    parser = argparse.ArgumentParser(description="Compare counts of drops with ns-2 and ns-3.")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args()
    if not OURS.exists():
        sys.exit("build ours first: cargo build --release -p qcnlab-lab --example workload")
    rows = []
    for scenario, senders, long, short in CASES:
        for peer, count, seconds, allowed in (
            ("ns-2", by_ns2, long, 0.0),
            ("ns-3", by_ns3, short, TOLERANCE),
        ):
            try:
                theirs = count(senders, seconds)
            except ns3.Missing as missing:
                print(f"{peer}: not compared: {missing}", file=sys.stderr)
                continue
            mine = ours(scenario, seconds)
            agrees = abs(mine - theirs) <= allowed * max(mine, theirs)
            rows.append(
                {"senders": senders, "seconds": seconds, "peer": peer, "drops": mine}
                | {"peer_drops": theirs, "allowed": allowed, "agrees": agrees}
            )
    if not rows:
        print("no peer is here: nothing was compared", file=sys.stderr)
        return 2
    if options.json:
        print(json.dumps(rows, indent=1))
    else:
        print("senders  seconds  peer   drops: qcnlab    peer  allowed")
        for row in rows:
            print(
                f"{row['senders']:7d} {row['seconds']:8g}  {row['peer']:5s} {row['drops']:15,d}"
                f" {row['peer_drops']:8,d} {100 * row['allowed']:6g} %"
                + ("" if row["agrees"] else "  differs")
            )
    return 0 if all(row["agrees"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
