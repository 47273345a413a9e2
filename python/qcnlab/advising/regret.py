"""Regret: how much worse a candidate does in a case than the case's own best.

With v the value of a candidate in a case and b the best value there, regret is |v - b| / s. The
scale s is |b|. Where the best is 0, which no factor can express, s is what the present settings
have there, or where that is 0, too, the largest value. A candidate without a value, since a run did
not have the metric, has an infinite regret there. A case in which no candidate has a value says
nothing and does not count.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Regrets:
    """The regrets of candidates, which are counted from 0; 0 are the present settings.

    Attributes
    ----------
    best : tuple of float or None
        By case, the best value; `None` where no candidate has one.
    scale : tuple of float
        By case, what a regret of 1 is, in the metric's unit.
    of : tuple of tuple of float
        By candidate and case; 0 in cases that do not count.
    """

    best: tuple[float | None, ...]
    scale: tuple[float, ...]
    of: tuple[tuple[float, ...], ...]

    def worst(self, candidate: int) -> float:
        """Return the largest regret of a candidate."""
        return max(self.of[candidate], default=0.0)

    def mean(self, candidate: int) -> float:
        """Return the mean of a candidate's regrets over the cases that count."""
        counted = [r for r, b in zip(self.of[candidate], self.best, strict=True) if b is not None]
        return sum(counted) / len(counted) if counted else 0.0

    def worst_case(self, candidate: int) -> int:
        """Return the case in which a candidate's regret is largest, the first of equal ones."""
        return max(range(len(self.best)), key=lambda case: (self.of[candidate][case], -case))

    def robust(self, candidates: Sequence[int]) -> int:
        """Return the candidate whose largest regret is least.

        Of equal ones the one with the least mean, and then the first: the present settings stay
        where nothing is better.

        Parameters
        ----------
        candidates : sequence of int
            Those that may be chosen, one at least.
        """
        return min(candidates, key=lambda each: (self.worst(each), self.mean(each), each))


def regrets(
    values: Sequence[Sequence[float]], *, smallest: bool, eligible: Sequence[bool] | None = None
) -> Regrets:
    """Return the regrets of candidates.

    Parameters
    ----------
    values : sequence of sequence of float
        By candidate and case; infinite or NaN where a candidate has no value.
    smallest : bool
        Whether small values are good.
    eligible : sequence of bool, optional
        By candidate, whether it may be a case's best; all if left out. Where none is, all are.

    Returns
    -------
    Regrets
        By candidate and case.

    Examples
    --------
    >>> regrets([[4.0, 3.0], [2.0, 6.0]], smallest=True).of
    ((1.0, 0.0), (0.0, 1.0))
    """
    count = len(values[0]) if values else 0
    known = [True] * len(values) if eligible is None or not any(eligible) else list(eligible)
    best: list[float | None] = []
    scale: list[float] = []
    for case in range(count):
        column = [row[case] for row in values]
        own = [v for v, good in zip(column, known, strict=True) if good and math.isfinite(v)]
        own = own or [v for v in column if math.isfinite(v)]
        if not own:
            best.append(None)
            scale.append(1.0)
            continue
        chosen = min(own) if smallest else max(own)
        largest = max(abs(v) for v in column if math.isfinite(v))
        present = abs(column[0]) if math.isfinite(column[0]) else 0.0
        best.append(chosen)
        scale.append(abs(chosen) or present or largest or 1.0)
    of = tuple(
        tuple(_one(v, b, s, smallest) for v, b, s in zip(row, best, scale, strict=True))
        for row in values
    )
    return Regrets(tuple(best), tuple(scale), of)


def _one(value: float, best: float | None, scale: float, smallest: bool) -> float:
    if best is None:
        return 0.0
    if not math.isfinite(value):
        return math.inf
    over = value - best if smallest else best - value
    # One that breaks a bound may be better than the best that keeps them.
    return max(over, 0.0) / scale
