"""When runs ended and why: at their duration, drained, or in a deadlock."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qcnlab.metrics import texts
from qcnlab.printing.text import counted, duration

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from qcnlab.metrics import MetricValues
    from qcnlab.runs.summary import Ending, Summary


def is_lower_bound(metrics: Mapping[str, MetricValues], name: str) -> bool:
    """Return whether a metric of a summary is a lower bound: what it counts did not all end."""
    count = texts("at_least_if").get(name)
    return count is not None and bool(metrics[count].max)


def flows(metrics: Mapping[str, MetricValues]) -> str:
    """Say how many flows of a size finished, and what that means; nothing where there are none."""
    started, unfinished = metrics["started"], metrics["unfinished"]
    if not started.max:
        return ""
    all_, left = started.total, unfinished.total
    said = f"{all_ - left:,.0f} of {all_:,.0f} flows of a size finished"
    never = metrics["never_started"].total if "never_started" in metrics else 0
    if never:
        said += f", and {never:,.0f} more never started"
    if not left:
        return f"{said}."
    return (
        f"{said}. Those that did not count with their time\nup to the end of the run, or alone "
        "if that is more: completion times and slowdowns after >= are lower bounds."
    )


def lines(summary: Summary, *, drains: bool, stopped_by: str) -> list[str]:
    """Say in words when the replications of a run ended, where that is not simply its duration.

    Parameters
    ----------
    summary : Summary
        A run's summary.
    drains : bool
        Whether the scenario has `drain = true`.
    stopped_by : str
        What stops its links: PFC or PAUSE.

    Returns
    -------
    list of str
        No line for a run that lasted its duration as it was meant to.
    """
    ends = summary.ends
    said = []
    if drains:
        said += _drained(summary)
    for replication, end in enumerate(ends):
        if end.why == "deadlock":
            where = f"replication {replication}: " if len(ends) > 1 else ""
            said.append(where + deadlock(end, stopped_by))
    return said


def deadlock(end: Ending, stopped_by: str) -> str:
    """Say in words where and when a run stood still."""
    closed_s = end.end_s if end.closed_s is None else end.closed_s
    return (
        f"deadlock found at {duration(end.end_s)}: {', '.join(end.circle)} stopped by "
        f"{stopped_by}, each waiting for the next and the last for the first; the last of them was "
        f"stopped at {duration(closed_s)}. Tables and metrics are of the time before."
    )


def _drained(summary: Summary) -> list[str]:
    ends = summary.ends
    drained = [end.end_s for end in ends if end.why == "drained"]
    over = [i for i, end in enumerate(ends) if end.why == "duration"]
    said = []
    if drained:
        many = f"{counted(len(drained), 'replication')} of {len(ends)} drained, " if over else ""
        said.append(f"{many or 'drained, '}end at {_range(drained)}")
    if over:
        unfinished = [summary.metrics["unfinished"].values[i] or 0.0 for i in over]
        left = (
            f"{min(unfinished):g} to {max(unfinished):g}"
            if min(unfinished) < max(unfinished)
            else f"{unfinished[0]:g}"
        )
        flows_ = "flow" if left == "1" else "flows"
        metric = summary.metrics.get("never_started")
        never = sum(metric.values[i] or 0.0 for i in over) if metric else 0
        more = f" and {never:,.0f} never started" if never else ""
        at = duration(ends[over[0]].end_s)
        who = "" if len(over) == len(ends) else f"{counted(len(over), 'replication')} "
        said.append(
            f"{who}not drained: stopped at {at}, the duration, with {left} {flows_} unfinished"
            f"{more}"
        )
    return said


def _range(seconds: Sequence[float]) -> str:
    low, high = duration(min(seconds)), duration(max(seconds))
    return low if low == high else f"{low} to {high}"
