"""Measure the switch of live runs beside two other forwarders: `make bench-live`.

The kernel's bridge and a plain forwarder on packet sockets join the same two links between the same
namespaces. The three are measured in turn, so that a machine that is used by others spoils none of
them alone; medians are printed. Takes a minute and a half. Linux, root or user namespaces, and the
example built: cargo build --release -p qcnlab-live --example forwarders.

    python benches/live_speed.py [--repeats 9] [--page docs/reference/live-speed.md]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from live_pages import ROOT, wrapped, written_by

FORWARDERS = ROOT / "target/release/examples/forwarders"
HEAD = (
    "frame, B", "forwarder", "thousand frames/s", "Mb/s", "CPU a frame, us",
    "frames/s of one core", "latency, us", "latency of 99 %, us",
)  # fmt: skip


def rows(measurements: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    """Return a row for each size and forwarder: medians [least..most] over repeats."""
    groups: dict[tuple[int, str], list[dict[str, Any]]] = {}
    for each in measurements:
        groups.setdefault((each["octets"], each["forwarder"]), []).append(each)
    table = []
    for (octets, forwarder), all_of in groups.items():
        rates = [each["frames_per_s"] for each in all_of]
        cpu = [each["cpu_ns"] / 1e3 for each in all_of]
        table.append(
            (
                str(octets),
                forwarder,
                spread([rate / 1e3 for rate in rates], 0),
                f"{statistics.median(rates) * octets * 8 / 1e6:,.0f}",
                spread(cpu, 2),
                f"{1e6 / statistics.median(cpu):,.0f}",
                spread([each["latency_p50_ns"] / 1e3 for each in all_of], 0),
                spread([each["latency_p99_ns"] / 1e3 for each in all_of], 0),
            )
        )
    return table


def spread(values: list[float], digits: int) -> str:
    """Return a median with the least and the most."""
    middle, low, high = statistics.median(values), min(values), max(values)
    return f"{middle:.{digits}f} [{low:.{digits}f}..{high:.{digits}f}]"


def markdown(table: list[tuple[str, ...]]) -> str:
    """Return rows as a table."""
    lines = [HEAD, tuple("---" for _ in HEAD), *table]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def page(table: list[tuple[str, ...]], repeats: int, load: float) -> str:
    """Return the page: what, when, on which build and machine, and the table."""
    paragraphs = (
        f"{written_by('bench-live')}, load average "
        f"{load:.1f} when it began. Medians [least..most] of {repeats} rounds, in each of which "
        "the three take turns on the same two veth pairs between three namespaces, with the same "
        "frames: an 802.1Q tag, a CN-TAG, UDP.",
        "The switch is that of live runs, with QCN's congestion points, on links that are never "
        "the bottleneck. The packet socket is a thread that puts on one link what comes over the "
        "other: what any forwarder in user space pays. The kernel bridge has no thread.",
        "Frames a second are those that arrive while a sender sends as fast as it can; on a "
        "machine that others use they say little. CPU a frame is what a frame costs while others "
        "wait, and the column behind it what one core does with that. Latency is that of single "
        "frames 1 ms apart, sender and receiver and both wake-ups included.",
    )
    body = "\n\n".join(wrapped(each) for each in paragraphs)
    return f"# What the live switch costs\n\n{body}\n\n{markdown(table)}\n"


def main() -> int:
    """Measure, print, and write the page if asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=9, help="rounds (default 9)")
    parser.add_argument("--page", type=Path, help="write the page here")
    options = parser.parse_args()
    if not FORWARDERS.exists():
        print("build it first: cargo build --release -p qcnlab-live --example forwarders")
        return 2
    load = os.getloadavg()[0]
    done = subprocess.run(
        [str(FORWARDERS), "--repeats", str(options.repeats)],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        return done.returncode
    table = rows([json.loads(line) for line in done.stdout.splitlines()])
    print(markdown(table))
    if options.page:
        options.page.write_text(page(table, options.repeats, load), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
