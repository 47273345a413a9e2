"""What is wanted of a trial: metrics to make small or large, and bounds to keep."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

from qcnlab import _core
from qcnlab.errors import scenario_error
from qcnlab.sweeps.result import check_metric

BOUND = re.compile(r"(?P<metric>\w+)\s*(?P<sign><=|>=|=)\s*(?P<number>.+)")

Runs = Sequence[Sequence["float | None"]]
"""A metric of each condition and replication."""


@dataclass(frozen=True)
class Objective:
    """A metric that is made small or large."""

    metric: str
    smallest: bool

    def score(self, runs: Runs, mean: bool) -> float:
        """Return the median of each condition, and of these the worst or the mean.

        Infinite if a run does not have the metric.

        >>> Objective("drops", True).score([[1.0, 2.0, 9.0], [3.0, 4.0, 5.0]], mean=False)
        4.0
        """
        nothing = math.inf if self.smallest else -math.inf
        medians = [
            nothing if any(each is None for each in one) else median(map(float, filter_none(one)))
            for one in runs
        ]
        if mean:
            return fmean(medians)
        return max(medians) if self.smallest else min(medians)

    def better(self, one: float, other: float) -> bool:
        """Return whether the score `one` is better than `other`."""
        return one < other if self.smallest else one > other


@dataclass(frozen=True)
class Constraint:
    """A bound that every run has to keep."""

    metric: str
    sign: str
    bound: float

    def violation(self, runs: Runs) -> float:
        """Return by how much the worst run exceeds the bound; 0 if all keep it.

        >>> Constraint("jain", ">=", 0.9).violation([[0.95, 0.8]]) > 0.09
        True
        """
        values = [value for one in runs for value in one]
        if any(value is None for value in values):
            return math.inf
        return max(self._excess(value) for value in filter_none(values))

    def worst(self, runs: Runs) -> float | None:
        """Return the value that exceeds the bound most, `None` if a run does not have the metric.

        >>> Constraint("jain", ">=", 0.9).worst([[0.95, 0.8], [0.85, 1.0]])
        0.8
        """
        values = [value for one in runs for value in one]
        if any(value is None for value in values):
            return None
        return max(filter_none(values), key=self._excess, default=None)

    def _excess(self, value: float) -> float:
        over = value - self.bound
        if self.sign == "=":
            return abs(over)
        return max(0.0, over if self.sign == "<=" else -over)

    def __str__(self) -> str:
        """Return the bound as it is given."""
        return f"{self.metric}{self.sign}{self.bound:g}"


def filter_none(values: Sequence[float | None]) -> list[float]:
    """Return the values that are there."""
    return [value for value in values if value is not None]


def read_constraint(text: str) -> Constraint:
    """Read `drops=0`, `jain>=0.9` or `queue_max_bytes<=100 KB`; raises `ScenarioError`."""
    matched = BOUND.fullmatch(text.strip())
    number = None if matched is None else _number(matched["number"])
    if matched is None or number is None:
        raise scenario_error(
            "a bound is a metric, one of = <= >= and a finite number",
            hint="as in --subject-to drops=0 or --subject-to 'jain>=0.9'",
            argument=f'in --subject-to "{text}"',
        )
    check_metric(matched["metric"])
    return Constraint(matched["metric"], matched["sign"], number)


def _number(text: str) -> float | None:
    """Return a number; octets may have a unit."""
    quantity = _core.quantity(text)
    if quantity is not None:
        return quantity[0] if quantity[1] == "B" else None
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
