"""Whether claims hold, and what that makes of a row."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from qcnlab.book.entries import KINDS, Book, Claim, Reading, Row
from qcnlab.book.measures import MEASURES, values

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from qcnlab.book.runner import CaseResult

SHARE_OF_RUNS = 0.9
"""The share of replications that must lie in the wider band."""


@dataclass(frozen=True)
class Values:
    """Median and range over replications."""

    median: float
    low: float
    high: float
    each: tuple[float, ...]

    @classmethod
    def of(cls, values: Sequence[float]) -> Values:
        """Sum `values` up; one that is not a number makes all of them so."""
        if any(math.isnan(value) for value in values):
            return cls(math.nan, math.nan, math.nan, tuple(values))
        ordered = sorted(values)
        low, high = ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]
        middle = low if low == high else (low + high) / 2
        return cls(middle, ordered[0], ordered[-1], tuple(values))


@dataclass(frozen=True)
class Check:
    """A claim with what was found."""

    claim: Claim
    found: Values
    holds: bool


@dataclass(frozen=True)
class Shown:
    """A reading with what was found."""

    reading: Reading
    found: Values


@dataclass(frozen=True)
class Judged:
    """A row with its checks and verdict."""

    row: Row
    checks: tuple[Check, ...]
    readings: tuple[Shown, ...]

    @property
    def holds(self) -> bool:
        """Whether every claim holds."""
        return all(check.holds for check in self.checks)

    @property
    def verdict(self) -> str:
        """One of the five words: matches, order holds, drawn again, not reproduced, open."""
        if self.row.status == "open":
            return "open"
        return KINDS[self.row.kind] if self.holds else "not reproduced"

    @property
    def failed(self) -> bool:
        """Whether the row should hold and does not."""
        return self.row.status == "holds" and not self.holds

    @property
    def surprise(self) -> bool:
        """Whether the row is known to fail and holds."""
        return self.row.status == "fails" and self.holds


def judge(book: Book, found: Mapping[str, Mapping[str, CaseResult]]) -> list[Judged]:
    """Judge every row of `book` by what its cases gave."""
    return [
        Judged(
            row,
            tuple(_check(claim, found[deck.name]) for claim in row.claims),
            tuple(_show(reading, found[deck.name]) for reading in row.readings),
        )
        for deck in book.decks
        for row in deck.rows
    ]


def _show(reading: Reading, found: Mapping[str, CaseResult]) -> Shown:
    case = found[reading.case]
    taken = _values(case, reading.of, reading.during, reading.flows, reading.limit)
    return Shown(reading, Values.of(taken))


def _check(claim: Claim, found: Mapping[str, CaseResult]) -> Check:
    ours = _of(claim, found[claim.case])
    if claim.over is not None:
        theirs = _of(claim, found[claim.over])
        ours = [_ratio(a, b) for a, b in zip(ours, theirs, strict=True)]
    summed = Values.of(ours)
    inside = np.mean([claim.runs[0] <= value <= claim.runs[1] for value in ours])
    holds = claim.band[0] <= summed.median <= claim.band[1] and inside >= SHARE_OF_RUNS
    return Check(claim, summed, bool(holds))


def _of(claim: Claim, found: CaseResult) -> list[float]:
    return _values(found, claim.of, claim.during, claim.flows, claim.limit)


def _values(
    found: CaseResult,
    of: str,
    during: tuple[float, float] | None = None,
    flows: str = "",
    limit: float | None = None,
) -> list[float]:
    if found.result is None:
        return [found.numbers.get(of, math.nan)]
    return values(found.result, of, during, flows, limit)


def _ratio(one: float, other: float) -> float:
    if math.isinf(one) and math.isinf(other):
        return math.nan
    if other == 0:
        return math.nan if one == 0 else math.inf
    return one / other


def unit_of(claim: Claim) -> tuple[float, str]:
    """Return factor and unit in which a claim's values are shown."""
    measure = MEASURES[claim.of]
    if claim.over is not None:
        return 1.0, ""
    return measure.scale, measure.shown or measure.unit
