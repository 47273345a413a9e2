#!/usr/bin/env python3
"""Where the instructions go: by phase of a frame's way, for each workload, in instructions a hop.

Two runs under callgrind, short and long; their difference leaves set-up out. An instruction counts
for the source file it was written in, also where it was inlined; what the standard library brings
(bounds checks, comparisons, vectors) is a row of its own. Needs valgrind, and the example built
with line tables in a folder of its own, as `make bench-phases` does.

    python benches/phases.py
"""

import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from gate import FAT_TREE, HERE, HOTSPOT, PAUSE, ROCE

WORKLOAD = HERE.parent / "target/lines/release/examples/workload"
RUNS = {
    "W1": (["w1-10-senders-cbr"], "10 ms", "30 ms"),
    "W3": (["w3-9-senders-tcp-reno"], "10 ms", "30 ms"),
    "W4": (["w4-fat-tree-k4-cbr"], "1 ms", "3 ms"),
    "W5": (["w5-10-senders-cbr-qcn"], "10 ms", "30 ms"),
    "W5 PFC": (["w5-10-senders-cbr-qcn-pfc"], "10 ms", "30 ms"),
    "W6": (HOTSPOT, "15 ms", "35 ms"),
    "W9": ([PAUSE], "1 ms", "3 ms"),
    "W10": ([ROCE], "3 ms", "6 ms"),
    "HPCC": ([ROCE, "scheme.name=hpcc"], "3 ms", "6 ms"),
    "W11": ([FAT_TREE], "500 us", "1500 us"),
}
PHASES = {
    "pending events": r"sim/src/wheel\.rs",
    "dispatch": r"sim/src/(ids|engine/(mod|schedule|stepping|changes|effects))\.rs",
    "sources, limiters": (
        r"sim/src/(source|replay|rate_limiter|adapter|sender|engine/hosts|engine/shortcuts/(mod|on_demand|own_links)"
        r"|engine/senders/(mod|serving|releasing|on_demand|feeding))\.rs|schemes/src/driver/"
    ),
    "ports, links": (
        r"sim/src/(port|frame|path|path_choice|reps|wred|engine/(arriving|routing)"
        r"|engine/network/(mod|adaptive|arriving|ports|queueing|questions|routes|domain|failures|points)"
        r"|engine/(shortcuts|network)/(counting_sinks|ignored_departures))\.rs"
    ),
    "priority queues": (
        r"sim/src/(priority_queues|flow_queues|isolation|deficit_round_robin|heads_share|engine/shortcuts/computed_departures"
        r"|engine/network/(starting|transmission|scheduling|flow_scheduling))\.rs"
    ),
    "pauses, input buffers": (
        r"sim/src/(input_buffer|shared_buffer|watchdog|engine/shortcuts/allowances"
        r"|engine/network/(pausing|backpressure|isolating|failing_queues|deadlock|freeing|admitting|shared_memory|watching))\.rs"
    ),
    "TCP, RoCE": (
        r"sim/src/(tcp/|roce/|connection|queue_pair|packets|arrived|engine/(dependencies|granting)"
        r"|engine/senders/(queue_pairs|connections|messages))"
    ),
    "signals": r"sim/src/engine/(signalling|feedback)\.rs",
    "schemes": r"crates/schemes/",
    "records": (
        r"sim/src/(recorder|trace|audit|departure|course|engine/(accounts|recording|periodic|finish|ending|capturing|following)"
        r"|engine/network/(audit|captured|state|in_tests))\.rs|crates/(lab|scenario|network|traffic)/"
    ),
    "units": r"crates/units/",
    "standard library": r"/library/|rustc/",
}


def costs(file: Path) -> Counter[str]:
    """Sum a callgrind file's own costs by source file."""
    names: dict[str, str] = {}
    total: Counter[str] = Counter()
    current, skip = "", False
    for line in file.read_text().splitlines():
        if match := re.match(r"(fl|fi|fe)=\((\d+)\)(?: (.*))?", line):
            if match[3]:
                names[match[2]] = match[3]
            current = names[match[2]]
        elif line.startswith("calls="):
            skip = True
        elif re.match(r"[+\-*\d]", line):
            if not skip:
                total[current] += int(line.split()[1])
            skip = False
        elif match := re.match(r"(?:cfi|cfl)=\((\d+)\) (.*)", line):
            names[match[1]] = match[2]
    return total


def run(arguments: list[str], duration: str) -> tuple[Counter[str], int]:
    """Return costs by source file, and frame-hops, of one run."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "callgrind.out"
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", str(WORKLOAD)]
        done = subprocess.run(
            [*command, *arguments, f"duration={duration}"],
            capture_output=True,
            text=True,
            check=True,
        )
        counted = costs(out)
        if not tells_files(counted):
            sys.exit(f"phases: {WORKLOAD} has no line tables; build it by `make bench-phases`")
        return counted, int(done.stdout.split()[0])


def tells_files(counted: Counter[str]) -> bool:
    """Return whether the program says which source file its instructions are from."""
    return any("sim/src/engine/" in file for file in counted)


def phase(file: str) -> str:
    """Return the phase a source file belongs to."""
    for name, pattern in PHASES.items():
        if re.search(pattern, file):
            return name
    return "else"


def main() -> None:
    """Measure and print."""
    if shutil.which("valgrind") is None:
        sys.exit("valgrind is missing (Debian: apt-get install valgrind); nothing was counted")
    if not WORKLOAD.exists():
        sys.exit("phases: build it first, by `make bench-phases`")
    table: dict[str, Counter[str]] = {}
    for name, (arguments, short, long) in RUNS.items():
        (low, low_hops), (high, high_hops) = run(arguments, short), run(arguments, long)
        column: Counter[str] = Counter()
        for file in high:
            column[phase(file)] += high[file] - low[file]
        hops = high_hops - low_hops
        table[name] = Counter({key: round(value / hops) for key, value in column.items()})
    print(f"{'instructions a hop':22s}" + "".join(f"{name:>8s}" for name in table))
    for row in [*PHASES, "else"]:
        print(f"{row:22s}" + "".join(f"{column[row]:8,d}" for column in table.values()))
    print(f"{'in all':22s}" + "".join(f"{column.total():8,d}" for column in table.values()))


if __name__ == "__main__":
    main()
