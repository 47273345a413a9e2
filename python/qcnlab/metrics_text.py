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


NOTHING = ("none", "no hotspot")
"""The words for a metric that a run does not have."""


def metrics_text(result: Result) -> str:
    """Return title, scheme and metrics of a result, as `qcnlab run` prints them."""
    note = endings.flows(result.summary["metrics"])
    note = f"\n\n{note}" if note else ""
    return f"{head(result)}\n\n{text.table(header(result), rows(result), left=4)}{note}"


def head(result: Result) -> str:
    """Return title, scheme, replications, seed and how the run ended, a line each."""
    summary = result.summary
    preset = f" ({summary['preset']})" if summary["preset"] else ""
    many = text.counted(summary["replications"], "replication")
    called = summary["title"] or summary["scenario"]
    lines = [called, f"scheme {summary['scheme']}{preset}, {many}, seed {summary['seed']}"]
    return "\n".join([*lines, *endings.lines(summary, drains=facts(result).drains)])


def header(result: Result) -> tuple[str, str, str, str]:
    """Return the titles of the columns of `rows`."""
    value = "value" if result.summary["replications"] == 1 else "median [min..max]"
    return ("metric", "meaning", "unit", value)


def rows(result: Result) -> list[tuple[str, str, str, str]]:
    """Return, for each metric, its name, meaning, unit and values."""
    metrics = result.summary["metrics"]
    hot = bool(facts(result).hotspots)
    titles = {entry["name"]: entry["title"] for entry in catalogue.metrics()}
    return [
        (name, titles.get(name, ""), metric["unit"], _value(metrics, name, hot))
        for name, metric in metrics.items()
    ]


def _value(metrics: dict[str, dict[str, Any]], name: str, hot: bool) -> str:
    metric = metrics[name]
    if not hot and metric["median"] is None and name in OF_HOTSPOT:
        return "no hotspot"
    return text.spread(metric, name, at_least=endings.is_lower_bound(metrics, name))
