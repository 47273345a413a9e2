"""Runs without packets: what they have no answer to, and how far they were off runs of packets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qcnlab.errors import AnalysisError

if TYPE_CHECKING:
    from qcnlab.runs.summary import Summary

FILE = "flow_level.toml"
"""What `benches/flow_level.py` measured."""
WHAT = (
    "Flow level: flows share links max-min fairly from one arrival or end to the next. There are "
    "no packets, queues, pauses, drops or acknowledgements in each other's way, and no scheme."
)
"""What a run without packets is, in a few words."""


def require_packets(summary: Summary, what: str) -> None:
    """Refuse what a run without packets has no answer to.

    Parameters
    ----------
    summary : Summary
        The run's summary.
    what : str
        What was asked for, as the subject of a sentence.

    Raises
    ------
    AnalysisError
        If the run has no packets.
    """
    if summary.flow_level:
        raise AnalysisError(
            f"{what}: '{summary.scenario}' ran at the flow level, without packets, and has "
            "completion times alone; run it without --flow-level"
        )


def notes(summary: Summary) -> list[str]:
    """Return what a reader of a run without packets should know, a sentence or more each.

    Parameters
    ----------
    summary : Summary
        The run's summary.

    Returns
    -------
    list of str
        Nothing for a run of packets.
    """
    return [WHAT, off_packets()] if summary.flow_level else []


def off_packets() -> str:
    """Return in words how far metrics at the flow level were off those of runs of packets."""
    import tomllib
    from pathlib import Path

    text = Path(__file__).with_name(FILE).read_text(encoding="utf-8")
    measured = tomllib.loads(text)
    rows = measured["row"]
    each = [
        f"{row['traffic']}, {row['hosts']} hosts {_part(row['slowdown_mean'])} and "
        f"{_part(row['slowdown_p99'])}"
        for row in rows
    ]
    return (
        f"Off runs of packets with {measured['against']} (mean and 99 % slowdown): "
        f"{'; '.join(each)}. Elsewhere it is not known how far."
    )


def _part(ratio: float) -> str:
    return f"{100 * (ratio - 1):+.0f} %"
