#!/usr/bin/env python3
"""How far completion times of flow-level runs are off those of packets.

Each scenario is run with packets, over RoCE with DCQCN and PFC, and at the flow level, with the
same flows. Prints the ratios of their metrics, flow level by packets, and the ratio of completion
times of single flows. With --write they go into the file that `qcnlab run --flow-level` prints.

    python benches/flow_level.py [--only WORDS] [--write]
"""

import argparse
import statistics
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import qcnlab
from qcnlab.runs import flow_level

AGAINST = (
    "RoCE, DCQCN and PFC at 100 Gb/s, fat-trees, flows at half of the hosts' links, all-reduce of "
    "1 MB a rank"
)
COMMON = """\
[topology]
kind = "fat_tree"
k = {k}
rate = "100 Gb/s"
delay = "1 us"

[shared_buffer]
kind = "hpcc_simulator"
size = "32 MiB"

[pause]
kind = "priority"
priorities = "3"
rule = "dynamic"

[scheme]
name = "dcqcn"
preset = "HPCC_SIMULATOR"

[record]
tables = false
throughput_bin = "1 ms"

[[traffic]]
transport = "roce"
frame = "1048 B"
headers = "48 B"
ack_frame = "60 B"
cn_tag = false
priority = 3
"""
FLOWS = """\
arrivals = "flows"
from = "host*"
to = "host*"
load = {load}
sizes = "{sizes}"
"""
RING = """\
arrivals = "collective"
operation = "all_reduce"
size = "{size}"
"""


@dataclass(frozen=True)
class Case:
    """A scenario, and the words that the error is printed with."""

    traffic: str
    k: int
    arrivals: str
    head: str

    @property
    def hosts(self) -> int:
        """Hosts of the fat-tree."""
        return self.k**3 // 4

    def scenario(self) -> qcnlab.Scenario:
        """Return the scenario."""
        text = f'title = "{self.traffic}"\n{self.head}\n{COMMON.format(k=self.k)}{self.arrivals}'
        return qcnlab.Scenario.from_toml(text)


def cases() -> list[Case]:
    """Return what is measured."""
    made = []
    for k, arrivals_ms in ((4, 10), (8, 3)):
        head = f'duration = "100 ms"\nstop_arrivals = "{arrivals_ms} ms"\ndrain = true'
        made += [
            Case(words, k, FLOWS.format(load=0.5, sizes=sizes), head)
            for words, sizes in (("WebSearch", "web_search"), ("Hadoop", "fb_hadoop"))
        ]
        ring = RING.format(size=f"{k**3 // 4} MB")
        made.append(Case("ring all-reduce", k, ring, 'duration = "100 ms"\ndrain = true'))
    return made


def measure(case: Case) -> dict[str, str | int | float]:
    """Run a case both ways; return ratios of metrics, flow level by packets."""
    scenario = case.scenario()
    began = time.process_time()
    packets = qcnlab.run(scenario, reps=1, jobs=1)
    middle = time.process_time()
    fluid = qcnlab.run(scenario, reps=1, jobs=1, flow_level=True)
    ended = time.process_time()
    row: dict[str, str | int | float] = {
        "traffic": case.traffic,
        "hosts": case.hosts,
        "flows": int(packets.metric("started") or 0),
    }
    for name in ("fct_mean_ms", "fct_p99_ms", "slowdown_mean", "slowdown_p99"):
        row[name] = round((fluid.metric(name) or 0.0) / (packets.metric(name) or 1.0), 3)
    took = [each.flows.to_polars()["completion_s"].to_list() for each in (fluid, packets)]
    ratios = sorted(a / b for a, b in zip(*took, strict=True) if a is not None and b is not None)
    if len(ratios) < len(took[0]):
        sys.exit(f"{case.traffic}: {len(took[0]) - len(ratios)} flows did not end in both runs")
    row["single_p5"] = round(ratios[len(ratios) // 20], 3)
    row["single_median"] = round(statistics.median(ratios), 3)
    row["single_p95"] = round(ratios[-1 - len(ratios) // 20], 3)
    print(row, f"CPU {middle - began:.1f} s and {ended - middle:.2f} s", flush=True)
    return row


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description="Hold flow-level runs against packets.")
    parser.add_argument("--only", default="", help="cases whose words begin so")
    parser.add_argument("--write", action="store_true", help="write the file of the package")
    options = parser.parse_args()
    rows = [measure(case) for case in cases() if case.traffic.startswith(options.only)]
    if not options.write:
        return
    lines = [
        "# Metrics of flow-level runs by those of packets: `benches/flow_level.py --write`.",
        f'against = "{AGAINST}"',
    ]
    for row in rows:
        lines += ["", "[[row]]"]
        lines += [
            f'{key} = "{value}"' if isinstance(value, str) else f"{key} = {value}"
            for key, value in row.items()
        ]
    file = Path(flow_level.__file__).with_name(flow_level.FILE)
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
