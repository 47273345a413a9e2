#!/usr/bin/env python3
"""What fabrics of 1,024 to 16,000 hosts cost, and one of 101,306 without packets.

Fat-trees (k = 16, 26, 40) at 100 Gb/s run for a millisecond: messages of 64 KB between random
hosts over RoCE, with DCQCN and PFC. Loads are low, so that the largest takes minutes on a busy
machine. Set-up is CPU time of the process outside its run; the scenario is checked and resolved in
it twice. The estimate of memory is printed beside what was taken.

The fat-tree of k = 74 is run at the flow level: a million flows of WebSearch's sizes at 30 % of the
hosts' links, to the end of the last.

Rows, the machine and the commit go to benches/runs/DATE/.

    python benches/fabrics.py [--k 16]
"""

import argparse
import sys

import bench
import flow_level
import growth

import qcnlab

SIZES = {16: 0.02, 26: 0.02, 40: 0.01}
"""The load of the hosts' links by k."""
WITHOUT_PACKETS = 74
"""The k of the fat-tree that is run at the flow level."""
ARRIVALS_MS = 4.3
LOAD = 0.3
MIB = 2**20


def scenario(k: int) -> str:
    """Return the text of a scenario: the fabric that `flow_level.py` measures, at a low load."""
    head = f'title = "Fat-tree with k = {k}, RoCE, DCQCN and PFC"\nduration = "1 ms"\n\n'
    traffic = flow_level.FLOWS.format(load=SIZES[k], sizes="64 KB")
    return head + flow_level.COMMON.format(k=k) + traffic


def measure(k: int) -> dict[str, object]:
    """Run one fabric once."""
    text = scenario(k)
    growth.SCENARIO.write_text(text)
    point = growth.once()
    foreseen = qcnlab.Scenario.from_toml(text).memory(reps=1, jobs=1)
    run_s = point["run_s"]
    return {
        "workload": f"fat-tree, {k**3 // 4:,} hosts, RoCE, DCQCN, PFC",
        "hosts": k**3 // 4,
        "load": SIZES[k],
        "frame_hops": int(point["frame_hops"]),
        "setup_cpu_s": round(point["setup_s"], 2),
        "cpu_s": round(run_s, 2),
        "mhops_per_cpu_s": round(point["frame_hops"] / run_s / 1e6, 2),
        "rss_above_idle_mib": round(point["mib"], 1),
        "foreseen_mib": round(sum(foreseen.values()) / MIB, 1),
    }


def measure_flow_level() -> dict[str, object]:
    """Run the largest fabric once, at the flow level."""
    head = (
        f'title = "Fat-tree with k = {WITHOUT_PACKETS}, flows"\nduration = "1 s"\n'
        f'stop_arrivals = "{ARRIVALS_MS} ms"\ndrain = true\n\n'
    )
    traffic = flow_level.FLOWS.format(load=LOAD, sizes="web_search")
    growth.SCENARIO.write_text(head + flow_level.COMMON.format(k=WITHOUT_PACKETS) + traffic)
    point = growth.once("--flow-level")
    hosts = WITHOUT_PACKETS**3 // 4
    return {
        "workload": f"fat-tree, {hosts:,} hosts, flows of WebSearch's sizes, flow level",
        "hosts": hosts,
        "load": LOAD,
        # An event is the arrival of a flow or its end, and every flow ends.
        "flows": int(point["events"]) // 2,
        "setup_cpu_s": round(point["setup_s"], 2),
        "cpu_s": round(point["run_s"], 2),
        "rss_above_idle_mib": round(point["mib"], 1),
    }


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description="Measure large fabrics.")
    parser.add_argument(
        "--k", type=int, choices=(*SIZES, WITHOUT_PACKETS), action="append", help="only these"
    )
    options = parser.parse_args()
    if not growth.OURS.exists():
        sys.exit("build it first: cargo build --release -p qcnlab-lab --example workload")
    rows = []
    heads = ("set-up, s", "run, s", "M hops/CPU s", "MiB", "foreseen")
    print(f"{'hosts':>8s}" + "".join(f"{head:>14s}" for head in heads))
    for k in options.k or (*SIZES, WITHOUT_PACKETS):
        row = measure_flow_level() if k == WITHOUT_PACKETS else measure(k)
        rows.append(row)
        columns = ("setup_cpu_s", "cpu_s", "mhops_per_cpu_s", "rss_above_idle_mib", "foreseen_mib")
        cells = (f"{row[name]:14.1f}" if name in row else " " * 14 for name in columns)
        told = f"  {row['flows']:,} flows" if "flows" in row else ""
        print(f"{row['hosts']:8,d}" + "".join(cells) + told, flush=True)
    print(f"\n{bench.archive(rows, 1)}")


if __name__ == "__main__":
    main()
