"""The metrics of a result as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qcnlab import catalogue, endings, text
from qcnlab.facts import facts

if TYPE_CHECKING:
    from qcnlab.results import Result

OF_HOTSPOT = frozenset(
    (
        "recovery_ms", "rec95_ms", "rec95s_ms", "onset_ms", "util_during", "util_after",
        "queue_during_bytes",
    )
)  # fmt: skip
"""Metrics that a run without a hotspot cannot have."""


def metrics_text(result: Result) -> str:
    """Return title, scheme and metrics of a result, as `qcnlab run` prints them."""
    summary = result.summary
    hot = bool(facts(result).hotspots)
    titles = {entry["name"]: entry["title"] for entry in catalogue.metrics()}
    rows = [
        (name, titles.get(name, ""), metric["unit"], _value(summary["metrics"], name, hot))
        for name, metric in summary["metrics"].items()
    ]
    preset = f" ({summary['preset']})" if summary["preset"] else ""
    reps = summary["replications"]
    many = text.counted(reps, "replication")
    called = summary["title"] or summary["scenario"]
    head = f"{called}\nscheme {summary['scheme']}{preset}, {many}, seed {summary['seed']}"
    for line in endings.lines(summary, drains=facts(result).drains):
        head += f"\n{line}"
    value = "value" if reps == 1 else "median [min..max]"
    note = endings.flows(summary["metrics"])
    note = f"\n\n{note}" if note else ""
    return head + "\n\n" + text.table(("metric", "meaning", "unit", value), rows, left=4) + note


def _value(metrics: dict[str, dict[str, Any]], name: str, hot: bool) -> str:
    metric = metrics[name]
    if not hot and metric["median"] is None and name in OF_HOTSPOT:
        return "no hotspot"
    return text.spread(metric, name, at_least=endings.is_lower_bound(metrics, name))
