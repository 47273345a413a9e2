"""The metrics of a result as text."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from qcnlab import catalogue
from qcnlab.catalogue import changes
from qcnlab.metrics import having
from qcnlab.printing import text
from qcnlab.runs import applicable, endings, flow_level
from qcnlab.runs.facts import ended, facts

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from qcnlab.metrics import MetricValues
    from qcnlab.records import JsonObject
    from qcnlab.runs.recorded import Recorded

MOST_CHANGED = 8
"""So many changes of a scenario are told."""
NOTHING = ("none", "no hotspot")
"""The words for a metric that a run does not have."""

SPLIT = """\
Flows cross the bottleneck with only a part of their frames: they take several ways, or their way
changes. Metrics of its throughput, such as util_before and bottleneck_gbps, are none."""
"""Why metrics of throughput are missing where one port does not carry all that flows get."""


def metrics_text(result: Recorded, *, every: bool = False) -> str:
    """Return title, scheme and metrics of a result, as `qcnlab run` prints them.

    Metrics that mean nothing of this run are left out, with the reason, unless `every` is given.
    """
    note = endings.flows(result.summary.metrics)
    note = f"\n\n{note}" if note else ""
    all_, told = rows(result), rows(result) if every else telling(result)
    if _is_split(result.summary.metrics):
        note += f"\n\n{SPLIT}"
    if {row[0] for row in told}.intersection(having("one_port")):
        note += f"\n\nThe bottleneck is {result.summary.bottleneck.port}."
    if result.summary.collectives:
        from qcnlab.results.collectives import Collectives

        note += f"\n\n{Collectives(result).short()}"
    for line in flow_level.notes(result.summary):
        note += f"\n\n{textwrap.fill(line, text.width(), break_on_hyphens=False)}"
    if len(told) < len(all_) and not result.summary.flow_level:
        note += f"\n\nNot shown, but with --all:\n{_not_shown(result, all_)}"
    return f"{head(result)}\n\n{text.table(header(result), told, left=4)}{note}"


def _not_shown(result: Recorded, all_: list[tuple[str, str, str, str]]) -> str:
    """Return how many metrics are none or 0, and which others mean nothing of the run, and why."""
    there = [row[0] for row in all_ if _happened(result, row)]
    none = len(all_) - len(there)
    lines = [f"  {text.counted(none, 'metric')} that {'is' if none == 1 else 'are'} none or 0"]
    told = applicable.without_meaning(result)
    for why in dict.fromkeys(told.values()):
        if names := [name for name in there if told.get(name) == why]:
            lines.append(f"  {', '.join(names)}: {why}")
    columns = text.width()
    return "\n".join(
        textwrap.fill(line, columns, subsequent_indent="    ")
        for line in (lines if none else lines[1:])
    )


def _is_split(metrics: Mapping[str, MetricValues]) -> bool:
    """Return whether metrics of throughput are none because flows cross the bottleneck in part."""
    known = metrics["bottleneck_gbps"].values, metrics["aggregate_gbps"].values
    return any(through is None and all_ is not None for through, all_ in zip(*known, strict=True))


def head(result: Recorded) -> str:
    """Return title, changes, scheme, replications, seed and how the run ended, a line each."""
    summary = result.summary
    preset = f" ({summary.preset})" if summary.preset else ""
    many = text.counted(summary.replications, "replication")
    called = summary.title or summary.scenario
    scheme = f"scheme {summary.scheme}{preset}"
    if summary.flow_level:
        scheme = "flow level, without packets and scheme"
    lines = [called, f"{scheme}, {many}, seed {summary.seed}"]
    changed = changed_words(result.name, result.tree)
    lines += [f"changed: {changed}"] if changed else []
    if summary.lacks:
        without = f"run by an earlier version, without {', '.join(summary.lacks)}; run it again"
        lines.append(textwrap.fill(without, text.width(), subsequent_indent="  "))
    return "\n".join([*lines, *ended(result)])


def changed_words(name: str, tree: JsonObject, but: Collection[str] = ()) -> str:
    """Return in what a scenario differs from the shipped one of its name, in a line.

    Keys in `but`, which vary, are left out. Empty where nothing differs.
    """
    told = [
        each
        for each in changes.differences_from_shipped(name, tree)
        if each.partition("=")[0] not in but
    ]
    more = f" and {len(told) - MOST_CHANGED} more" if len(told) > MOST_CHANGED else ""
    return ", ".join(told[:MOST_CHANGED]) + more


def header(result: Recorded) -> tuple[str, str, str, str]:
    """Return the titles of the columns of `rows`."""
    value = "value" if result.summary.replications == 1 else "median [min..max]"
    return ("metric", "meaning", "unit", value)


def rows(result: Recorded) -> list[tuple[str, str, str, str]]:
    """Return, for each metric, its name, meaning, unit and values."""
    metrics = result.summary.metrics
    hot = bool(facts(result).hotspots)
    titles = {entry.name: entry.title for entry in catalogue.metrics()}
    return [
        (name, titles.get(name, ""), metric.unit, _value(metrics, name, hot))
        for name, metric in metrics.items()
    ]


def telling(result: Recorded) -> list[tuple[str, str, str, str]]:
    """Return the rows of metrics that mean something of a run.

    Without what a run does not have, and without counts of what never happened in it. Where flows
    end, their completion comes first.
    """
    without = applicable.without_meaning(result)
    kept = [row for row in rows(result) if _happened(result, row) and row[0] not in without]
    first = [row for name in having("ending") for row in kept if row[0] == name]
    return [*first, *(row for row in kept if row not in first)]


def _happened(result: Recorded, row: tuple[str, str, str, str]) -> bool:
    name, value = row[0], row[-1]
    counted = name not in having("silent_at_zero") or any(result.summary.metrics[name].values)
    return value not in NOTHING and counted


def _value(metrics: Mapping[str, MetricValues], name: str, hot: bool) -> str:
    metric = metrics[name]
    if not hot and metric.median is None and name in having("of_hotspot"):
        return "no hotspot"
    return text.spread(metric, name, at_least=endings.is_lower_bound(metrics, name))
