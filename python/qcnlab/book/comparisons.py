"""Comparisons of two cases in paired replications: order, sameness, and which gain is larger."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from qcnlab.book.intervals import LEVEL, mean_interval, percentile, runs_for_mean
from qcnlab.book.values import Values, values_of
from qcnlab.runs.facts import facts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from qcnlab.book.entries import Claim
    from qcnlab.book.runner import CaseResult
    from qcnlab.book.traces import Array

HOLDS, FAILS, UNDECIDED = "holds", "fails", "undecided"
EQUIVALENCE_LEVEL = 0.90


@dataclass(frozen=True)
class Check:
    """A claim, or one measure of its word, with the values of our runs."""

    claim: Claim
    of: str
    limits: tuple[float, float]
    """What the test demands: of the values, or of a comparison's ratio, differences or gains."""
    values: Values
    """Of a comparison: the ratio of paired replications, or by how much one gain is larger."""
    interval: tuple[float, float] | None
    """What decides: of a printed number the central 95 % of our single runs; of a word the interval
    of the median, or of paired differences; `None`: each run counts."""
    verdict: str
    of_claim: str = ""
    """Verdict of the claim, which for a word of several measures is not that of each."""
    decide: int | None = None
    """If undecided: about how many runs would decide; `None`: more than a thousand, or, without an
    interval, none, because what is compared came in no run."""
    elsewhere: tuple[tuple[str, str], ...] = ()
    """Of an order of recovery times: the other shares of the level at which it is not this verdict.
    Where one share says the reverse of another, all three."""

    @property
    def reversed(self) -> bool:
        """Whether an order of recovery times is the reverse at another share of the level."""
        return {HOLDS, FAILS} <= {verdict for _, verdict in self.elsewhere}

    @property
    def holds(self) -> bool:
        """Whether the runs bear it out."""
        return self.verdict == HOLDS

    @property
    def is_number(self) -> bool:
        """Whether it holds our runs against a printed number."""
        return self.claim.prints_number and self.claim.than is None

    @property
    def ratio(self) -> float:
        """Our median by the printed number; not a number if that is 0."""
        printed = self.claim.printed
        return self.values.median / printed if printed else math.nan

    @property
    def percentile(self) -> float:
        """Which percentile of our single runs the printed number is."""
        return percentile(self.values.each, self.claim.printed)


def paired(
    claim: Claim, results: Mapping[str, CaseResult], *, same: bool, several: int = 1
) -> Check:
    """Judge a comparison.

    `same`: the compared cases made equal. `several`: of so many claims one is enough, so an order
    needs the level 1 - 0.05 / several.
    """
    level = 1 - (1 - LEVEL) / several
    first = _compare(claim, results, same=same, level=level)
    if not claim.orders_recovery:
        return first
    others = {
        share: _compare(replace(claim, of=of), results, same=same, level=level).verdict
        for share, of in (("90 %", "recovery_90"), ("99 %", "recovery_99"))
    }
    if {HOLDS, FAILS} <= {first.verdict, *others.values()}:
        levels = {"90 %": others["90 %"], "95 %": first.verdict, "99 %": others["99 %"]}
        return replace(first, verdict=UNDECIDED, decide=None, elsewhere=tuple(levels.items()))
    elsewhere = tuple(one for one in others.items() if one[1] != first.verdict)
    return replace(first, elsewhere=elsewhere)


def _compare(claim: Claim, results: Mapping[str, CaseResult], *, same: bool, level: float) -> Check:
    cases = (claim.case, claim.than or "")
    ours, theirs = _values(claim, cases, results, same=same)
    x, y = _bounded(ours, theirs, results[cases[1]])
    if claim.word.test == "gain":
        other, than = _bounded(
            *_values(claim, claim.over, results, same=same), results[claim.over[1]]
        )
        pairs = min(len(x), len(other))
        return _gain(claim, (y - x)[:pairs] - (than - other)[:pairs])
    ratios = Values.of([_ratio(a, b) for a, b in zip(x, y, strict=True)])
    if ours and all(value == math.inf for value in (*ours, *theirs)):
        # Neither came in any run: what never came is in no order, and not the same.
        return Check(claim, claim.of, _limits(claim), ratios, None, UNDECIDED)
    if claim.word.test == "order":
        return _order(claim, x, y, ratios, level)
    return _equivalence(claim, ratios)


def _values(
    claim: Claim, cases: tuple[str, str], results: Mapping[str, CaseResult], *, same: bool
) -> tuple[list[float], list[float]]:
    """Return the measure of two cases in paired replications; `same`: halves of the second."""
    theirs = values_of(results[cases[1]], claim.of, claim.during, claim.flows, claim.limit)
    if same:
        half = len(theirs) // 2
        ours, theirs = theirs[:half], theirs[half:]
    else:
        ours = values_of(results[cases[0]], claim.of, claim.during, claim.flows, claim.limit)
    pairs = min(len(ours), len(theirs))
    return ours[:pairs], theirs[:pairs]


def _bounded(ours: list[float], theirs: list[float], other: CaseResult) -> tuple[Array, Array]:
    """Return both with the length of the run, ms, for what never came."""
    longest = _longest(other)
    x, y = (
        np.array([longest if value == math.inf else value for value in values])
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
    """Judge by how far the larger exceeds `ratio` times the smaller, in the mean of pairs."""
    above = claim.word.side == "above"
    larger, smaller = (x, y) if above else (y, x)
    low, high = mean_interval(larger - claim.ratio * smaller, level)
    verdict = HOLDS if low > 0 else FAILS if high <= 0 else UNDECIDED
    decide = runs_for_mean((low, high), len(x), 0.0) if verdict == UNDECIDED else None
    signed = (low, high) if above else (-high, -low)
    return Check(claim, claim.of, _limits(claim), ratios, signed, verdict, decide=decide)


def _limits(claim: Claim) -> tuple[float, float]:
    """Return the limits of the ratio of two cases, by the claim's word."""
    if claim.word.test != "order":
        return claim.word.ratios
    above = claim.word.side == "above"
    return (claim.ratio, math.inf) if above else (-math.inf, 1.0 / claim.ratio)


def _equivalence(claim: Claim, ratios: Values) -> Check:
    limits = _limits(claim)
    if math.isnan(ratios.median):
        return Check(claim, claim.of, limits, ratios, None, FAILS)
    low, high = mean_interval(np.array(ratios.each), EQUIVALENCE_LEVEL)
    inside = limits[0] < low and high < limits[1]
    outside = high <= limits[0] or low >= limits[1]
    verdict = HOLDS if inside else FAILS if outside else UNDECIDED
    border = min(limits, key=lambda limit: abs((low + high) / 2 - limit))
    decide = runs_for_mean((low, high), len(ratios.each), border) if verdict == UNDECIDED else None
    return Check(claim, claim.of, limits, ratios, (low, high), verdict, decide=decide)


def _gain(claim: Claim, more: Array) -> Check:
    """Judge by how much more `case` reduces the measure than the first of `over` does."""
    low, high = mean_interval(more, LEVEL)
    verdict = HOLDS if low > 0 else FAILS if high <= 0 else UNDECIDED
    limits = (0.0, math.inf)
    decide = runs_for_mean((low, high), len(more), 0.0) if verdict == UNDECIDED else None
    return Check(
        claim, claim.of, limits, Values.of(list(more)), (low, high), verdict, decide=decide
    )
