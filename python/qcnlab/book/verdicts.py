"""Whether claims hold, and what that makes of a row."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from qcnlab.book import hotspot, measures
from qcnlab.book.entries import DRAWN, MISSED, NUMBER, ORDER, UNRUN, Book, Claim, Reading, Row
from qcnlab.book.words import OF_NUMBERS, PAIRED, Word
from qcnlab.facts import facts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from qcnlab.book.entries import Window
    from qcnlab.book.runner import CaseResult

HOLDS, FAILS, UNDECIDED = "holds", "fails", "undecided"
ORDER_LEVEL, EQUIVALENCE_LEVEL = 0.95, 0.90


@dataclass(frozen=True)
class Values:
    """Median, quartiles and range over replications."""

    median: float
    low: float
    high: float
    each: tuple[float, ...]
    first_quartile: float
    third_quartile: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Values:
        """Sum `values` up; one that is not a number makes all of them so."""
        each = tuple(values)
        if not each or any(math.isnan(value) for value in values):
            return cls(math.nan, math.nan, math.nan, each, math.nan, math.nan)
        ordered = sorted(values)
        return cls(
            _quantile(ordered, 0.5),
            ordered[0],
            ordered[-1],
            each,
            _quantile(ordered, 0.25),
            _quantile(ordered, 0.75),
        )


def _quantile(ordered: Sequence[float], share: float) -> float:
    """Return a quantile by linear interpolation, which infinite values survive."""
    position = share * (len(ordered) - 1)
    low, high = ordered[math.floor(position)], ordered[math.ceil(position)]
    return low if low == high else low + (high - low) * (position - math.floor(position))


@dataclass(frozen=True)
class Check:
    """A claim, or one measure of its word, with the values of our runs."""

    claim: Claim
    of: str
    limits: tuple[float, float]
    """What the test demands of the values: of a comparison, of their ratio."""
    values: Values
    """Of a comparison: of the ratio of paired replications."""
    interval: tuple[float, float] | None
    """Of a comparison: the confidence interval that decides."""
    verdict: str

    @property
    def holds(self) -> bool:
        """Whether the runs bear it out."""
        return self.verdict == HOLDS


@dataclass(frozen=True)
class Shown:
    """A reading with its values."""

    reading: Reading
    values: Values


@dataclass(frozen=True)
class Judged:
    """A row with its checks."""

    row: Row
    checks: tuple[Check, ...]
    """One for each measure of each claim."""
    verdicts: tuple[str, ...]
    """One for each claim; one for all claims of which at least one must hold."""
    shown: tuple[Shown, ...]

    @property
    def holds(self) -> bool:
        """Whether every claim holds, of a row that was run."""
        return bool(self.verdicts) and all(verdict == HOLDS for verdict in self.verdicts)

    @property
    def verdict(self) -> str:
        """What the runs make of the row."""
        if not self.row.claims:
            return DRAWN
        if not self.verdicts:
            return UNRUN
        if not self.holds:
            return MISSED
        numbers = any(claim.word.test in OF_NUMBERS for claim in self.row.claims)
        return NUMBER if numbers else ORDER

    @property
    def off(self) -> tuple[Check, ...]:
        """The printed numbers that hold but do not lie between the quartiles of our runs."""
        return tuple(
            check
            for check in self.checks
            if check.claim.word.test == "number"
            and check.holds
            and not _between_quartiles(check.claim.printed, check.values)
        )

    @property
    def borne_out(self) -> bool:
        """Whether the runs bear out the verdict that the row states."""
        return self.row.verdict == self.verdict and bool(self.off) <= bool(self.row.off_by)

    @property
    def worst(self) -> Check | None:
        """The check to show if only one is: the first that does not hold, or the first."""
        failed = [check for check in self.checks if not check.holds and not check.claim.either]
        return next(iter([*failed, *self.checks]), None)


def judge(book: Book, results: Mapping[str, Mapping[str, CaseResult]]) -> list[Judged]:
    """Judge every row of `book` by the results of its cases."""
    return [_row(row, results[deck.name]) for deck in book.decks for row in deck.rows]


def judge_same(book: Book, results: Mapping[str, Mapping[str, CaseResult]]) -> list[Judged]:
    """Judge with the compared cases made equal: both are the second, with other random numbers.

    The first half of its replications stands for the one, the second half for the other.
    """
    return [_row(row, results[deck.name], same=True) for deck in book.decks for row in deck.rows]


def _row(row: Row, results: Mapping[str, CaseResult], *, same: bool = False) -> Judged:
    """Judge a row; one of which a claimed case has not been run has no verdicts."""
    run = set(row.claimed) <= set(results)
    each = [_claim(claim, results, same=same) for claim in row.claims if run]
    return Judged(
        row,
        tuple(check for _, checks in each for check in checks),
        _verdicts(row, [verdict for verdict, _ in each]) if run else (),
        tuple(
            Shown(reading, _shown(reading, results[reading.case]))
            for reading in row.shown
            if reading.case in results
        ),
    )


def _verdicts(row: Row, said: Sequence[str]) -> tuple[str, ...]:
    """Return a verdict for each claim, and one for those that stand for "at least one of them"."""
    alone = [one for claim, one in zip(row.claims, said, strict=True) if not claim.either]
    together: dict[str, list[str]] = {}
    for claim, one in zip(row.claims, said, strict=True):
        if claim.either:
            together.setdefault(claim.either, []).append(one)
    best = (HOLDS, UNDECIDED, FAILS)
    return (*alone, *(min(several, key=best.index) for several in together.values()))


def _shown(reading: Reading, result: CaseResult) -> Values:
    return Values.of(values_of(result, reading.of, reading.during, reading.flows, reading.limit))


def _claim(
    claim: Claim, results: Mapping[str, CaseResult], *, same: bool
) -> tuple[str, list[Check]]:
    if claim.word.test in PAIRED:
        check = _paired(claim, results, same=same)
        return check.verdict, [check]
    return _of_word(claim, claim.word, results[claim.case])


def _of_word(claim: Claim, word: Word, result: CaseResult) -> tuple[str, list[Check]]:
    if word.words:
        inner = [_of_word(claim, other, result) for other in word.words]
        checks = [check for _, part in inner for check in part]
        said = [verdict for verdict, _ in inner]
        if HOLDS in said:
            return FAILS, checks
        return (UNDECIDED if UNDECIDED in said else HOLDS), checks
    if not word.parts:
        check = _single(claim, claim.of, claim.during, _limits(claim), result)
        return check.verdict, [check]
    checks = [
        _single(claim, part.of, claim.during or part.during, (part.above, part.below), result)
        for part in word.parts
    ]
    said = [check.verdict for check in checks]
    best, worst = (HOLDS, FAILS) if word.test == "any" else (FAILS, HOLDS)
    if best in said:
        return best, checks
    return (UNDECIDED if UNDECIDED in said else worst), checks


def _limits(claim: Claim) -> tuple[float, float]:
    if claim.word.test == "every":
        exact = claim.printed if claim.word.of is None else claim.word.of
        return exact, exact
    if claim.word.test == "number":
        return claim.printed - claim.within, claim.printed + claim.within
    if claim.word.test == "floor":
        return claim.printed, math.inf
    return claim.above, claim.below


def _single(
    claim: Claim, of: str, during: Window | None, limits: tuple[float, float], result: CaseResult
) -> Check:
    values = Values.of(values_of(result, of, during, claim.flows, claim.limit))
    test = claim.word.test if not claim.word.composite else "limit"
    return Check(claim, of, limits, values, None, SINGLE[test](values, limits, claim))


def _between_quartiles(number: float, values: Values) -> bool:
    return values.first_quartile <= number <= values.third_quartile


def _number(values: Values, limits: tuple[float, float], claim: Claim) -> str:
    if math.isnan(values.median):
        return FAILS
    near = limits[0] <= values.median <= limits[1]
    if not near and not _between_quartiles(claim.printed, values):
        return FAILS
    wide = values.third_quartile - values.first_quartile > claim.printed / 2
    return UNDECIDED if wide else HOLDS


def _floor(values: Values, limits: tuple[float, float], _: Claim) -> str:
    finite = math.isfinite(values.median)
    if finite and values.first_quartile >= limits[0]:
        return HOLDS
    return UNDECIDED if finite and values.median >= limits[0] else FAILS


def _every(values: Values, limits: tuple[float, float], _: Claim) -> str:
    return HOLDS if all(limits[0] <= value <= limits[1] for value in values.each) else FAILS


def _always(values: Values, limits: tuple[float, float], _: Claim) -> str:
    return HOLDS if all(limits[0] < value < limits[1] for value in values.each) else FAILS


def _limit(values: Values, limits: tuple[float, float], _: Claim) -> str:
    def inside(value: float) -> bool:
        return limits[0] < value < limits[1] or (value == math.inf == limits[1])

    if not inside(values.median):
        return FAILS
    both = inside(values.first_quartile) and inside(values.third_quartile)
    return HOLDS if both else UNDECIDED


SINGLE = {
    "number": _number,
    "floor": _floor,
    "every": _every,
    "always": _always,
    "limit": _limit,
}
"""Tests of one case's values."""


def _paired(claim: Claim, results: Mapping[str, CaseResult], *, same: bool) -> Check:
    definitions = (
        ("recovery_90", "recovery_99")
        if (claim.of, claim.word.test) == ("recovery", "order")
        else ()
    )
    first = _compare(claim, results, same=same)
    others = [_compare(replace(claim, of=of), results, same=same).verdict for of in definitions]
    if any(other != first.verdict for other in others):
        return replace(first, verdict=UNDECIDED)
    return first


def _compare(claim: Claim, results: Mapping[str, CaseResult], *, same: bool) -> Check:
    other = results[claim.than or ""]
    theirs = values_of(other, claim.of, claim.during, claim.flows, claim.limit)
    if same:
        half = len(theirs) // 2
        ours, theirs = theirs[:half], theirs[half : 2 * half]
    else:
        ours = values_of(results[claim.case], claim.of, claim.during, claim.flows, claim.limit)
    pairs = min(len(ours), len(theirs))
    longest = _longest(other)
    x = np.array([longest if value == math.inf else value for value in ours[:pairs]])
    y = np.array([longest if value == math.inf else value for value in theirs[:pairs]])
    ratios = Values.of([_ratio(a, b) for a, b in zip(x, y, strict=True)])
    if claim.word.test == "order":
        return _order(claim, x, y, ratios)
    limits = claim.word.ratios
    if math.isnan(ratios.median):
        return Check(claim, claim.of, limits, ratios, None, FAILS)
    low, high = interval(np.array(ratios.each), EQUIVALENCE_LEVEL)
    inside = limits[0] < low and high < limits[1]
    outside = high <= limits[0] or low >= limits[1]
    verdict = HOLDS if inside else FAILS if outside else UNDECIDED
    return Check(claim, claim.of, limits, ratios, (low, high), verdict)


def _order(claim: Claim, x: hotspot.Array, y: hotspot.Array, ratios: Values) -> Check:
    larger, smaller = (x, y) if claim.word.side == "above" else (y, x)
    limits = (
        (claim.ratio, math.inf) if claim.word.side == "above" else (-math.inf, 1.0 / claim.ratio)
    )
    low, high = interval(larger - smaller, ORDER_LEVEL)
    apart = float(np.median(larger)) >= claim.ratio * float(np.median(smaller))
    if low > 0 and apart and np.median(larger) > np.median(smaller):
        verdict = HOLDS
    else:
        verdict = UNDECIDED if low <= 0 < high and apart else FAILS
    signed = (low, high) if claim.word.side == "above" else (-high, -low)
    return Check(claim, claim.of, limits, ratios, signed, verdict)


def interval(differences: hotspot.Array, level: float) -> tuple[float, float]:
    """Return the t interval of the mean, by scipy; one that does not vary is its mean alone.

    One replication, or one that is not a number, gives no interval: minus to plus infinity.
    """
    from scipy import stats

    if len(differences) < 2 or not np.all(np.isfinite(differences)):
        return -math.inf, math.inf
    if np.ptp(differences) == 0:
        return float(differences[0]), float(differences[0])
    bounds = stats.ttest_1samp(differences, 0.0).confidence_interval(level)
    return float(bounds.low), float(bounds.high)


def _longest(other: CaseResult) -> float:
    """Stand for a time that never came: the length of the run, ms."""
    return math.inf if other.result is None else facts(other.result).duration_s * 1e3


def values_of(
    case_result: CaseResult,
    of: str,
    during: Window | None = None,
    flows: str = "",
    limit: float | None = None,
) -> list[float]:
    """Return a measure of a case by replication; a time that never came is infinite."""
    if case_result.result is None:
        return [case_result.numbers.get(of, math.nan)]
    if of in hotspot.MEASURES:
        hot = case_result.case.hot
        if hot is None:
            return [math.nan]
        named = during or hotspot.MEASURES[of].window
        window = hot.window(named) if isinstance(named, str) else named
        return hotspot.values(case_result.result, hot, of, window, flows, limit)
    if isinstance(during, str):
        during = case_result.case.hot.window(during) if case_result.case.hot else None
    return measures.values(case_result.result, of, during, flows, limit)


def _ratio(one: float, other: float) -> float:
    if other == 0:
        return 1.0 if one == 0 else math.inf
    return one / other


def unit_of(of: str) -> tuple[float, str]:
    """Return factor and unit in which a measure's values are shown."""
    if of in hotspot.MEASURES:
        shape = hotspot.MEASURES[of]
        return (100.0, "%") if shape.percent else (1.0, shape.unit)
    measure = measures.MEASURES[of]
    return measure.scale, measure.shown or measure.unit
