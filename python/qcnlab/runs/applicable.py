"""Which metrics mean something of a run: it depends on its hotspots, its traffic and its ports.

The others are computed all the same; they stand in `summary.json` and behind ``--all``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from qcnlab.metrics import having

if TYPE_CHECKING:
    from collections.abc import Mapping

    from qcnlab.metrics import MetricValues
    from qcnlab.runs.recorded import Recorded

LEAST_SHARE = 0.5
"""A port that nobody named is the bottleneck where this part of what flows get goes through it."""


def without_meaning(result: Recorded) -> dict[str, str]:
    """Return the metrics that mean nothing of a run, and why.

    Parameters
    ----------
    result : Recorded
        A run.

    Returns
    -------
    dict of str to str
        The reason, as a clause, by the metric's name; a metric that the run has no value of may be
        among them.
    """
    metrics, port = result.summary.metrics, result.summary.bottleneck.port
    reasons: list[tuple[tuple[str, ...], str]] = []
    if result.summary.has_sized_flows:
        reasons.append((having("rates"), "mean rates say little of flows that end"))
    elif result.summary.flows == 1:
        reasons.append((having("several"), "there is one flow"))
    if not has_bottleneck(result):
        why = (
            f"no bottleneck is known, and {port} is one port of many; record.bottleneck in the "
            "scenario names another"
        )
        reasons.append((having("one_port"), why))
    if not result.tree.get("hotspot"):
        reasons.append((having("outside_hotspot"), "there is no hotspot"))
    told: dict[str, str] = {}
    for names, why in reasons:
        told.update({name: why for name in names if name in metrics and name not in told})
    return told


def has_bottleneck(result: Recorded) -> bool:
    """Return whether one port is the bottleneck: named, a star's, or crossed by most.

    Parameters
    ----------
    result : Recorded
        A run.

    Returns
    -------
    bool
        Of a hotspot its port is named.
    """
    tree, metrics = result.tree, result.summary.metrics
    if tree.get("hotspot") or tree.get("record", {}).get("bottleneck"):
        return True
    if tree.get("topology", {}).get("kind", "star") == "star":
        return True
    through, all_ = (_middle(metrics, name) for name in ("bottleneck_gbps", "aggregate_gbps"))
    return through is not None and all_ is not None and through >= LEAST_SHARE * all_


def _middle(metrics: Mapping[str, MetricValues], name: str) -> float | None:
    from statistics import median

    known = metrics[name].known if name in metrics else []
    return median(known) if known else None
