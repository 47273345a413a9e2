#!/usr/bin/env python3
"""Gate the engine on instructions a frame-hop, which noise on the machine does not change.

Each workload runs twice under callgrind, short and long; the difference of the two, divided by the
difference in frame-hops, leaves start-up out. As many run at a time as there are cores.
`benches/instructions.json` holds the accepted counts and the compiler they were taken with. A count
more than MARGIN above its accepted one fails.

    python benches/gate.py           check
    python benches/gate.py --bless   write the counts as they are now

Needs valgrind, and the example built: cargo build --release -p qcnlab-lab --example workload.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

MARGIN = 0.05
HERE = Path(__file__).parent
ACCEPTED = HERE / "instructions.json"
WORKLOAD = HERE.parent / "target/release/examples/workload"
HOTSPOT = [
    "og-hotspot-2src-10g-to-500m-rtt10us",
    "warmup=1 ms",
    "hotspot.from=5 ms",
    "hotspot.until=10 ms",
]
PAUSE = str(HERE / "incast-16-senders-pause.toml")
ROCE = str(HERE / "star-16-senders-roce.toml")
TRIMMING = str(HERE / "star-16-senders-trimming.toml")
FAT_TREE = str(HERE / "fat-tree-16-hosts-roce.toml")
FAT_TREE_PFC = str(HERE / "fat-tree-16-hosts-pfc.toml")
WORKLOADS = {
    "w1: ten constant senders, no control": (["w1-10-senders-cbr"], "10 ms", "30 ms"),
    "w4: fat-tree of 4-port switches": (["w4-fat-tree-k4-cbr"], "1 ms", "3 ms"),
    "w5: ten constant senders, QCN": (["w1-10-senders-cbr", "scheme.name=qcn"], "10 ms", "30 ms"),
    "w5: ten constant senders, QCN and PFC": (["w5-10-senders-cbr-qcn-pfc"], "10 ms", "30 ms"),
    "w6: two sources, QCN, hotspot": (HOTSPOT, "15 ms", "35 ms"),
    "w9: incast of 16 senders, PAUSE alone": ([PAUSE], "1 ms", "3 ms"),
    "w10: 16 senders, RoCE, DCQCN, PFC": ([ROCE], "3 ms", "6 ms"),
    "w10: 16 senders, RoCE, HPCC, PFC": ([ROCE, "scheme.name=hpcc"], "3 ms", "6 ms"),
    "w11: fat-tree, RoCE, DCQCN, PFC": ([FAT_TREE], "500 us", "1500 us"),
    "w11: fat-tree, RoCE, TIMELY, PFC": ([FAT_TREE, "scheme.name=timely"], "500 us", "1500 us"),
    "w11: fat-tree, PFC alone": ([FAT_TREE_PFC], "500 us", "1500 us"),
    "w13: 16 senders, RoCE, packets cut": ([TRIMMING], "1 ms", "3 ms"),
}


def count(arguments: list[str], duration: str) -> tuple[int, int]:
    """Return instructions and frame-hops of one run."""
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", str(WORKLOAD)]
    run = subprocess.run(
        [*command, *arguments, f"duration={duration}"], capture_output=True, text=True, check=True
    )
    collected = re.search(r"Collected : (\d+)", run.stderr)
    if collected is None:
        sys.exit(f"callgrind printed no count:\n{run.stderr}")
    return int(collected[1]), int(run.stdout.split()[0])


def per_hop(arguments: list[str], short: str, long: str) -> float:
    """Return instructions a frame-hop, start-up left out."""
    low, high = count(arguments, short), count(arguments, long)
    return (high[0] - low[0]) / (high[1] - low[1])


def main() -> int:
    """Measure, and compare or write."""
    if shutil.which("valgrind") is None:
        print("gate: valgrind is missing (Debian: apt-get install valgrind); nothing was checked")
        return 0
    if not WORKLOAD.exists():
        sys.exit("gate: build it first: cargo build --release -p qcnlab-lab --example workload")
    compiler = subprocess.run(
        ["rustc", "--version"], capture_output=True, text=True, check=True
    ).stdout.strip()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        counts = pool.map(lambda workload: per_hop(*workload), WORKLOADS.values())
        measured = {name: round(count, 1) for name, count in zip(WORKLOADS, counts, strict=True)}
    if "--bless" in sys.argv:
        ACCEPTED.write_text(
            json.dumps({"compiler": compiler, "instructions_per_hop": measured}, indent=2) + "\n"
        )
        print(f"gate: wrote {ACCEPTED}")
        return 0
    accepted = json.loads(ACCEPTED.read_text())
    same_compiler = accepted["compiler"] == compiler
    failed = False
    print("instructions a frame-hop                 accepted  measured  change")
    for name, now in measured.items():
        before = accepted["instructions_per_hop"][name]
        change = now / before - 1
        failed |= change > MARGIN
        print(f"{name:38s} {before:10.1f} {now:9.1f}  {change:+.1%}")
    if failed and not same_compiler:
        print("gate: over the margin, but with another compiler than the accepted counts")
        return 0
    if failed:
        print(f"gate: more than {MARGIN:.0%} above: find the cause, or bless and say why")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
