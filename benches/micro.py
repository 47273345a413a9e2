#!/usr/bin/env python3
"""Print instructions a call, of each scheme's machines and of the pending events.

Counts come from callgrind, from two runs of different length, so start-up is left out; they are the
same on every run. What scheme `none` shows is the loop around the calls. Walks the registry, so a
new scheme is in the table by itself. Needs valgrind, and the example built: cargo build --release
-p qcnlab-sim --example calls.

    python benches/micro.py [--json FILE]
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

CALLS = Path(__file__).parent.parent / "target/release/examples/calls"
SHORT, LONG = 2_000, 12_000
WHATS = ("arrival", "sent", "signal")
PENDING = (10, 100, 1_000, 10_000, 100_000)


def count(what: str, name: str, calls: int) -> int | None:
    """Return the instructions of a run, or nothing where the call does not exist."""
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", str(CALLS)]
    run = subprocess.run(
        [*command, what, name, str(calls)], capture_output=True, text=True, check=False
    )
    collected = re.search(r"Collected : (\d+)", run.stderr)
    return int(collected[1]) if run.returncode == 0 and collected else None


def per_call(what: str, name: str) -> float | None:
    """Return instructions a call."""
    short, long = count(what, name, SHORT), count(what, name, LONG)
    return None if short is None or long is None else (long - short) / (LONG - SHORT)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Count instructions a call.")
    parser.add_argument("--json", type=Path, help="write the counts here")
    options = parser.parse_args()
    if shutil.which("valgrind") is None:
        print("valgrind is missing (Debian: apt-get install valgrind); nothing was counted")
        return 2
    if not CALLS.exists():
        print("build it first: cargo build --release -p qcnlab-sim --example calls")
        return 2
    listed = subprocess.run([str(CALLS), "list"], capture_output=True, text=True, check=True)
    table: dict[str, dict[str, float | None]] = {}
    print(f"{'instructions a call':22s}" + "".join(f"{what:>10s}" for what in WHATS))
    for scheme in listed.stdout.split():
        row = {what: per_call(what, scheme) for what in WHATS}
        table[scheme] = row
        cells = ("-" if value is None else f"{value:.1f}" for value in row.values())
        print(f"{scheme:22s}" + "".join(f"{cell:>10s}" for cell in cells), flush=True)
    print("\npending events    take the earliest and set it anew")
    for pending in PENDING:
        value = per_call("wheel", str(pending))
        table[f"wheel {pending}"] = {"turn": value}
        print(f"{pending:14,d}    {value:.1f}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(table, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
