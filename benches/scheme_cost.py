#!/usr/bin/env python3
"""Count what each scheme costs: instructions a frame-hop of 16 senders over RoCE into one link.

As `gate.py` counts, under callgrind and with start-up left out; nothing is accepted or refused. The
load is that of `star-16-senders-roce.toml`, with PFC behind it, each scheme with its first preset.

    python benches/scheme_cost.py            all schemes that hear of RoCE, and without one
    python benches/scheme_cost.py bfc hpcc   these

Needs valgrind, and the example built: cargo build --release -p qcnlab-lab --example workload.
"""

import sys

import gate

SCHEMES = (
    "none", "dcqcn", "dctcp", "timely", "hpcc", "hpcc_pint", "powertcp", "theta_powertcp", "swift",
    "pcn", "nscc", "rccc", "bfc", "sfc",
)  # fmt: skip
SHORT, LONG = "1 ms", "2 ms"


def main() -> int:
    """Measure, and print a row for each scheme."""
    unknown = [name for name in sys.argv[1:] if name not in SCHEMES]
    if unknown:
        sys.exit(f"scheme_cost: {', '.join(unknown)}: not one of {', '.join(SCHEMES)}")
    if not gate.WORKLOAD.exists():
        sys.exit(
            "scheme_cost: build it first: cargo build --release -p qcnlab-lab --example workload"
        )
    print("| scheme | instructions a frame-hop |\n|---|---|")
    for name in sys.argv[1:] or SCHEMES:
        # The scenario's preset is DCQCN's: each takes the first of its own.
        keys = [gate.ROCE, f"scheme.name={name}", "traffic.recovery=selective_repeat"]
        print(f"| {name} | {gate.per_hop(keys, SHORT, LONG):.0f} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
