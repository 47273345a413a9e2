"""Compare ECM at two gains with QCN at a long round-trip time, with common random numbers.

Run it with `python examples/02_compare_schemes.py`.
"""

import qcnlab

base = qcnlab.load("og-hotspot-2src-10g-to-500m-rtt200us")

# A change of scheme names its preset too; everything else stays as it is.
schemes = {
    "ECM, Gi 0.53333": {"scheme.name": "ecm", "scheme.preset": "DECK001"},
    "ECM, Gi 0.0053333": {"scheme.name": "ecm", "scheme.preset": "DECK001_STABILITY_ADJUSTED"},
    "QCN, final form": {"scheme.name": "qcn", "scheme.preset": "DECK001"},
}
scenarios = [base.with_(changes) for changes in schemes.values()]

# One call runs all of them on all cores. Random streams are keyed by seed, replication and
# component, so replication k of each scheme meets the same random numbers.
results = dict(zip(schemes, qcnlab.run_many(scenarios, reps=4, seed=7), strict=True))

print(f"{'scheme':<20}{'recovery, ms':>14}{'queue empty, %':>16}{'outside, Gb/s':>15}")
for label, result in results.items():
    recovery_ms = result.metric("recovery_ms")
    recovery = "did not" if recovery_ms is None else f"{recovery_ms:.0f}"
    empty = 100 * (result.metric("queue_empty_frac") or 0)
    outside = result.metric("throughput_outside_gbps")
    print(f"{label:<20}{recovery:>14}{empty:>16.1f}{outside:>15.2f}")

# The gain that is steady at 200 us is slow; QCN is neither.
qcn = results["QCN, final form"].metric("recovery_ms")
slow = results["ECM, Gi 0.0053333"].metric("recovery_ms")
assert qcn is not None
assert slow is not None
assert qcn < 0.7 * slow
