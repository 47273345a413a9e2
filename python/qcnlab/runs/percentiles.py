"""Percentiles of times of flows, of which some did not finish, and groups of flows with them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from qcnlab.printing import text

if TYPE_CHECKING:
    from collections.abc import Sequence

RULES = {
    "rank": "the smallest value that this share of the flows does not exceed",
    "element": (
        "element floor(n p) of n sorted values, counted from 0, as HPCC's fct_analysis.py has it"
    ),
}
"""How percentiles may be taken of sorted values."""


@dataclass(frozen=True)
class Bound:
    """A value, and whether it is exact or a lower bound."""

    value: float
    at_least: bool

    def words(self, scale: float = 1.0) -> str:
        """Return the value divided by `scale`, after `>=` if it is a lower bound."""
        return f"{'>= ' if self.at_least else ''}{text.number(self.value / scale)}"


@dataclass(frozen=True)
class Group:
    """Flows that belong together, smallest first where they are grouped by size."""

    label: str
    smallest_bytes: int
    largest_bytes: int
    flows: int
    finished: int
    fct_s: dict[int, Bound]
    """Percentiles of completion times, s."""
    slowdown: dict[int, Bound]
    """Percentiles of slowdowns."""


def percentile(values: Sequence[float], finished: Sequence[bool], p: float, rule: str) -> Bound:
    """Return a percentile of values of which some are lower bounds.

    Parameters
    ----------
    values : sequence of float
        Completion times or slowdowns; of what did not finish, those so far.
    finished : sequence of bool
        Whether each finished.
    p : float
        In per cent.
    rule : str
        One of `RULES`.

    Returns
    -------
    Bound
        Exact if it is the same whenever the unfinished ones finish.

    Examples
    --------
    >>> percentile([10.0, 20.0, 30.0], [True, True, False], 50, "rank")
    Bound(value=20.0, at_least=False)
    >>> percentile([10.0, 20.0, 5.0], [True, True, False], 50, "rank")
    Bound(value=10.0, at_least=True)
    """
    count = len(values)
    exact = p * count / 100
    at = math.ceil(round(exact, 9)) - 1 if rule == "rank" else math.floor(round(exact, 9))
    at = min(max(at, 0), count - 1)
    lowest = sorted(values)[at]
    never = zip(values, finished, strict=True)
    highest = sorted(value if done else math.inf for value, done in never)[at]
    return Bound(lowest, lowest != highest)
