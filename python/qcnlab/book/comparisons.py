"""Comparisons of two cases in paired replications: order, sameness, and which gain is larger."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from qcnlab.book.values import Values, values_of
from qcnlab.facts import facts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from qcnlab.book.entries import Claim
    from qcnlab.book.runner import CaseResult
    from qcnlab.book.traces import Array

HOLDS, FAILS, UNDECIDED = "holds", "fails", "undecided"
ORDER_LEVEL, EQUIVALENCE_LEVEL = 0.95, 0.90


@dataclass(frozen=True)
class Check:
    """A claim, or one measure of its word, with the values of our runs."""

    claim: Claim
    of: str
    limits: tuple[float, float]
    """What the test demands of the values: of a comparison, of their ratio or of their gains."""
    values: Values
    """Of a comparison: the ratio of paired replications, or by how much one gain is larger."""
    interval: tuple[float, float] | None
    """Of a comparison: the confidence interval that decides."""
    verdict: str
    of_claim: str = ""
    """Verdict of the claim, which for a word of several measures is not that of each."""

    @property
    def holds(self) -> bool:
        """Whether the runs bear it out."""
        return self.verdict == HOLDS


def paired(
    claim: Claim, results: Mapping[str, CaseResult], *, same: bool, several: int = 1
) -> Check:
    """Judge a comparison.

    `same`: the compared cases made equal. `several`: of so many claims one is enough, so an order
    needs the level 1 - 0.05 / several.
    """
    level = 1 - (1 - ORDER_LEVEL) / several
    first = _compare(claim, results, same=same, level=level)
    if (claim.of, claim.word.test) != ("recovery", "order"):
        return first
    for of in ("recovery_90", "recovery_99"):
        other = _compare(replace(claim, of=of), results, same=same, level=level)
        if other.verdict != first.verdict:
            return replace(first, verdict=UNDECIDED)
    return first


def _compare(claim: Claim, results: Mapping[str, CaseResult], *, same: bool, level: float) -> Check:
    x, y = _pair(claim, (claim.case, claim.than or ""), results, same=same)
    if claim.word.test == "gain":
        other, than = _pair(claim, claim.over, results, same=same)
        pairs = min(len(x), len(other))
        return _gain(claim, (y - x)[:pairs] - (than - other)[:pairs])
    ratios = Values.of([_ratio(a, b) for a, b in zip(x, y, strict=True)])
    if claim.word.test == "order":
        return _order(claim, x, y, ratios, level)
    return _equivalence(claim, ratios)


def _pair(
    claim: Claim, cases: tuple[str, str], results: Mapping[str, CaseResult], *, same: bool
) -> tuple[Array, Array]:
    """Return the measure of two cases in paired replications; `same`: halves of the second."""
    other = results[cases[1]]
    theirs = values_of(other, claim.of, claim.during, claim.flows, claim.limit)
    if same:
        half = len(theirs) // 2
        ours, theirs = theirs[:half], theirs[half:]
    else:
        ours = values_of(results[cases[0]], claim.of, claim.during, claim.flows, claim.limit)
    pairs = min(len(ours), len(theirs))
    longest = _longest(other)
    x, y = (
        np.array([longest if value == math.inf else value for value in values[:pairs]])
        for values in (ours, theirs)
    )
    return x, y


def _longest(other: CaseResult) -> float:
    """Stand for a time that never came: the length of the run, ms."""
    return math.inf if other.result is None else facts(other.result).duration_s * 1e3


def _ratio(one: float, other: float) -> float:
    if other == 0:
        return 1.0 if one == 0 else math.inf
    return one / other


def _order(claim: Claim, x: Array, y: Array, ratios: Values, level: float) -> Check:
    above = claim.word.side == "above"
    larger, smaller = (x, y) if above else (y, x)
    limits = (claim.ratio, math.inf) if above else (-math.inf, 1.0 / claim.ratio)
    low, high = interval(larger - smaller, level)
    apart = float(np.median(larger)) >= claim.ratio * float(np.median(smaller))
    if low > 0 and apart and np.median(larger) > np.median(smaller):
        verdict = HOLDS
    else:
        verdict = UNDECIDED if low <= 0 < high and apart else FAILS
    signed = (low, high) if above else (-high, -low)
    return Check(claim, claim.of, limits, ratios, signed, verdict)


def _equivalence(claim: Claim, ratios: Values) -> Check:
    limits = claim.word.ratios
    if math.isnan(ratios.median):
        return Check(claim, claim.of, limits, ratios, None, FAILS)
    low, high = interval(np.array(ratios.each), EQUIVALENCE_LEVEL)
    inside = limits[0] < low and high < limits[1]
    outside = high <= limits[0] or low >= limits[1]
    verdict = HOLDS if inside else FAILS if outside else UNDECIDED
    return Check(claim, claim.of, limits, ratios, (low, high), verdict)


def _gain(claim: Claim, more: Array) -> Check:
    """Judge by how much more `case` reduces the measure than the first of `over` does."""
    low, high = interval(more, ORDER_LEVEL)
    verdict = HOLDS if low > 0 else FAILS if high <= 0 else UNDECIDED
    limits = (0.0, math.inf)
    return Check(claim, claim.of, limits, Values.of(list(more)), (low, high), verdict)


ROUNDING = 1e-13
"""Values that differ by no more of their mean than this differ by rounding alone."""


def interval(differences: Array, level: float) -> tuple[float, float]:
    """Return the t interval of the mean, by scipy; of values that do not vary it is their mean.

    One replication, or one that is not a number, gives no interval: minus to plus infinity.
    """
    from scipy import stats

    if len(differences) < 2 or not np.all(np.isfinite(differences)):
        return -math.inf, math.inf
    mean = float(np.mean(differences))
    if np.ptp(differences) == 0:
        return float(np.min(differences)), float(np.max(differences))
    if np.ptp(differences) <= ROUNDING * abs(mean):
        return mean, mean
    bounds = stats.ttest_1samp(differences, 0.0).confidence_interval(level)
    return float(bounds.low), float(bounds.high)
