"""Counts of what a row is about: a claim about something that never happened cannot hold."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from qcnlab.book.comparisons import FAILS, HOLDS, Check
from qcnlab.book.entries import Claim
from qcnlab.book.values import Values, values_of
from qcnlab.book.words import Word

if TYPE_CHECKING:
    from collections.abc import Mapping

    from qcnlab.book.runner import CaseResult

EVENTS = {
    "messages": "messages",
    "pause_frames": "pause frames",
    "drops": "lost in the network",
    "refused": "refused at sources",
    "timeouts": "timeouts",
}
"""The metrics that every row reports of its cases, and what they are called there."""


HAPPENS = Word("happens", "what the claim is about happens in one of its cases", "always")


def happened(claim: Claim, results: Mapping[str, CaseResult]) -> list[Check]:
    """Return a check for each event that a claim is about.

    It fails if no replication of any of the claim's cases has the event: cases that differ only in
    a mechanism that never acts are the same runs.
    """
    checks = []
    for of in claim.about:
        each = {name: Values.of(values_of(results[name], of)) for name in claim.cases}
        case = max(each, key=lambda name: max(each[name].each, default=-math.inf))
        verdict = HOLDS if any(value > 0 for value in each[case].each) else FAILS
        event = Claim(
            claim.entry, HAPPENS, of, case, None, ("", ""), None, "", None,
            math.nan, 0.0, 0.0, math.inf, 1.0,
        )  # fmt: skip
        checks.append(Check(event, of, (0.0, math.inf), each[case], None, verdict))
    return checks


def counted(result: CaseResult) -> list[float]:
    """Return the medians of `EVENTS` over a case's replications; none of a model."""
    if result.result is None:
        return []
    return [Values.of(values_of(result, of)).median for of in EVENTS]
