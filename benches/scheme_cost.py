#!/usr/bin/env python3
"""Count what each scheme costs: instructions a frame-hop of 16 senders over RoCE into one link.

As `gate.py` counts, under callgrind and with start-up left out; nothing is accepted or refused. The
load is that of `star-16-senders-roce.toml` with selective repeat, which some schemes ask for. A
scheme has its first preset, DCQCN that of the file. PFC stands behind all of them: what it and
repeats cost is in the count, so a scheme that lets the queue fill costs more.

    python benches/scheme_cost.py            all schemes of the catalogue
    python benches/scheme_cost.py bfc hpcc   these

Needs valgrind, and the example built: cargo build --release -p qcnlab-lab --example workload.
"""

import os
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor

import gate

from qcnlab import catalogue

SHORT, LONG = "1 ms", "2 ms"


def cost(name: str) -> float:
    """Return the instructions a frame-hop with a scheme."""
    keys = [gate.ROCE, f"scheme.name={name}", "traffic.recovery=selective_repeat"]
    return gate.per_hop(keys, SHORT, LONG)


def main() -> int:
    """Measure, and print a row for each scheme."""
    known = [entry.name for entry in catalogue.schemes()]
    wanted = sys.argv[1:] or known
    if unknown := [name for name in wanted if name not in known]:
        sys.exit(f"scheme_cost: {', '.join(unknown)}: not one of {', '.join(known)}")
    if shutil.which("valgrind") is None:
        sys.exit("scheme_cost: valgrind is missing (Debian: apt-get install valgrind)")
    if not gate.WORKLOAD.exists():
        sys.exit(
            "scheme_cost: build it first: cargo build --release -p qcnlab-lab --example workload"
        )
    print("| scheme | instructions a frame-hop |\n|---|---:|")
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, count in zip(wanted, pool.map(cost, wanted), strict=True):
            print(f"| {name} | {count:.0f} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
