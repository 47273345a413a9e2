"""Whether claims hold, and what that makes of a row."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from qcnlab.book.comparisons import FAILS, HOLDS, UNDECIDED, Check, paired
from qcnlab.book.counts import happened
from qcnlab.book.entries import DRAWN, MISSED, NUMBER, ORDER, UNRUN, Book, Claim, Reading, Row
from qcnlab.book.values import Values, values_of
from qcnlab.book.words import PAIRED, Word

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from qcnlab.book.entries import Window
    from qcnlab.book.runner import CaseResult


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
        return NUMBER if any(claim.prints_number for claim in self.row.claims) else ORDER

    @property
    def off(self) -> tuple[Check, ...]:
        """The printed numbers that hold but do not lie between the quartiles of our runs."""
        return tuple(
            check
            for check in self.checks
            if check.claim.word.test == "number"
            and check.holds
            and not check.values.between_quartiles(check.claim.printed)
        )

    @property
    def borne_out(self) -> bool:
        """Whether the runs bear out the verdict that the row states."""
        return self.row.verdict == self.verdict and bool(self.off) <= bool(self.row.off_by)

    @property
    def worst(self) -> Check | None:
        """The check to show if only one is: of a claim that does not hold, or the first."""
        missed = [c for c in self.checks if c.of_claim != HOLDS and not c.claim.either]
        failed = [check for check in missed if not check.holds]
        return next(iter([*failed, *missed, *self.checks]), None)


def judge(book: Book, results: Mapping[str, Mapping[str, CaseResult]]) -> list[Judged]:
    """Judge every row of `book` by the results of its cases."""
    return [_row(row, results[chapter.name]) for chapter in book.chapters for row in chapter.rows]


def judge_same(book: Book, results: Mapping[str, Mapping[str, CaseResult]]) -> list[Judged]:
    """Judge with the compared cases made equal: both are the second, with other random numbers.

    The first half of its replications stands for the one, the second half for the other.
    """
    return [
        _row(row, results[chapter.name], same=True)
        for chapter in book.chapters
        for row in chapter.rows
    ]


def _row(row: Row, results: Mapping[str, CaseResult], *, same: bool = False) -> Judged:
    """Judge a row; one of which a claimed case has not been run has no verdicts."""
    run = set(row.claimed) <= set(results)
    several = Counter(claim.either for claim in row.claims if claim.either)
    each = [
        _claim(claim, results, same=same, several=several.get(claim.either, 1))
        for claim in row.claims
        if run
    ]
    return Judged(
        row,
        tuple(replace(check, of_claim=said) for said, checks in each for check in checks),
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
    claim: Claim, results: Mapping[str, CaseResult], *, same: bool, several: int
) -> tuple[str, list[Check]]:
    events = happened(claim, results)
    verdict, checks = _said(claim, results, same=same, several=several)
    return (verdict if all(each.holds for each in events) else FAILS), [*events, *checks]


def _said(
    claim: Claim, results: Mapping[str, CaseResult], *, same: bool, several: int
) -> tuple[str, list[Check]]:
    if claim.word.test in PAIRED:
        check = paired(claim, results, same=same, several=several)
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
        _single(replace(claim, during=during), part.of, during, (part.above, part.below), result)
        for phase in claim.phases or ("",)
        for part in word.parts
        for during in [claim.during or phase or part.during]
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


def _number(values: Values, limits: tuple[float, float], claim: Claim) -> str:
    if math.isnan(values.median):
        return FAILS
    near = limits[0] <= values.median <= limits[1]
    if not near and not values.between_quartiles(claim.printed):
        return FAILS
    wide = values.third_quartile - values.first_quartile > abs(claim.printed) / 2
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
