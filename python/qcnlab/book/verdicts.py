"""Whether claims hold, and what that makes of a row."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from qcnlab.book.comparisons import FAILS, HOLDS, UNDECIDED, Check, paired
from qcnlab.book.counts import happened
from qcnlab.book.entries import (
    DRAWN,
    MISSED,
    OPEN,
    PARTLY,
    REPRODUCED,
    UNRUN,
    Book,
    Claim,
    Reading,
    Row,
)
from qcnlab.book.intervals import central, inside, median_interval, runs_for_median, varies
from qcnlab.book.values import Values, values_of
from qcnlab.book.words import PAIRED, Word

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from qcnlab.book.entries import Window
    from qcnlab.book.runner import CaseResult

NEAR = 0.20
"""How far our median may be from a printed number that is one run of theirs."""
EXACT = 0.05
"""How far it may be in any case, however little our runs vary."""
LEAST, LEAST_QUICK = 20, 10
"""Runs of ours that a printed number takes at least, and of a row of the quick subset."""


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
    """One for each measure of each claim, limits of ours included."""
    verdicts: tuple[str, ...]
    """One for each claim of the source; one for all claims of which at least one must hold."""
    shown: tuple[Shown, ...]

    @property
    def holds(self) -> bool:
        """Whether every claim holds, of a row that was run."""
        return bool(self.verdicts) and all(verdict == HOLDS for verdict in self.verdicts)

    @property
    def held(self) -> int:
        """How many claims hold."""
        return self.verdicts.count(HOLDS)

    @property
    def verdict(self) -> str:
        """What the runs make of the row."""
        if not self.row.said:
            return DRAWN
        if not self.verdicts:
            return UNRUN
        if self.holds:
            return REPRODUCED
        if self.held:
            return PARTLY
        return OPEN if UNDECIDED in self.verdicts else MISSED

    @property
    def told(self) -> str:
        """The verdict with how many of the claims hold, if some do and some do not."""
        if self.verdict != PARTLY:
            return self.verdict
        open_ = self.verdicts.count(UNDECIDED)
        undecided = f", {open_} undecided" if open_ else ""
        return f"{PARTLY}: {self.held} of {len(self.verdicts)} claims{undecided}"

    @property
    def numbers(self) -> tuple[Check, ...]:
        """The printed numbers beside ours."""
        return tuple(check for check in self.checks if check.is_number and not check.claim.ours)

    @property
    def borne_out(self) -> bool:
        """Whether the runs bear out the verdict that the row states."""
        return self.row.verdict == self.verdict

    @property
    def worst(self) -> Check | None:
        """The check to show if only one is: of a claim that does not hold, or the first."""
        said = [check for check in self.checks if not check.claim.ours]
        missed = [c for c in said if c.of_claim != HOLDS and not c.claim.either]
        failed = [check for check in missed if not check.holds]
        return next(iter([*failed, *missed, *said, *self.checks]), None)


def judge(
    book: Book,
    results: Mapping[str, Mapping[str, CaseResult]],
    *,
    few: bool | Sequence[bool] = False,
) -> list[Judged]:
    """Judge every row of `book` by the results of its cases.

    `few`, of all rows or of each in their order: from too few runs for a verdict, to compare laws
    or readings; the median of the runs stands for the true one, and a printed number asks for no
    least number of runs.
    """
    rows = [(row, results[chapter.name]) for chapter in book.chapters for row in chapter.rows]
    each = [few] * len(rows) if isinstance(few, bool) else few
    return [_row(row, of, few=its) for (row, of), its in zip(rows, each, strict=True)]


def judge_same(book: Book, results: Mapping[str, Mapping[str, CaseResult]]) -> list[Judged]:
    """Judge with the compared cases made equal: both are the second, with other random numbers.

    The first half of its replications stands for the one, the second half for the other.
    """
    return [
        _row(row, results[chapter.name], same=True)
        for chapter in book.chapters
        for row in chapter.rows
    ]


def _row(
    row: Row, results: Mapping[str, CaseResult], *, same: bool = False, few: bool = False
) -> Judged:
    """Judge a row; one of which a claimed case has not been run has no verdicts."""
    run = set(row.claimed) <= set(results)
    several = Counter(claim.either for claim in row.said if claim.either)
    least = 1 if few else LEAST_QUICK if row.quick else LEAST
    each = [
        _claim(claim, results, _Rules(same, several.get(claim.either, 1), least, few=few))
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
    pairs = [pair for pair in zip(row.claims, said, strict=True) if not pair[0].ours]
    alone = [one for claim, one in pairs if not claim.either]
    together: dict[str, list[str]] = {}
    for claim, one in pairs:
        if claim.either:
            together.setdefault(claim.either, []).append(one)
    best = (HOLDS, UNDECIDED, FAILS)
    return (*alone, *(min(several, key=best.index) for several in together.values()))


def _shown(reading: Reading, result: CaseResult) -> Values:
    return Values.of(values_of(result, reading.of, reading.during, reading.flows, reading.limit))


@dataclass(frozen=True)
class _Rules:
    """How a claim is judged."""

    same: bool
    """Whether the compared cases are made equal."""
    several: int
    """Of so many claims one is enough."""
    least: int
    """Runs that a printed number takes."""
    few: bool
    """Whether the median of the runs stands for the true one."""


def _claim(
    claim: Claim, results: Mapping[str, CaseResult], rules: _Rules
) -> tuple[str, list[Check]]:
    events = happened(claim, results)
    verdict, checks = _said(claim, results, rules)
    return (verdict if all(each.holds for each in events) else FAILS), [*events, *checks]


def _said(
    claim: Claim, results: Mapping[str, CaseResult], rules: _Rules
) -> tuple[str, list[Check]]:
    if claim.word.test in PAIRED:
        check = paired(claim, results, same=rules.same, several=rules.several)
        return check.verdict, [check]
    return _of_word(claim, claim.word, results[claim.case], rules)


def _of_word(
    claim: Claim, word: Word, result: CaseResult, rules: _Rules
) -> tuple[str, list[Check]]:
    if word.words:
        inner = [_of_word(claim, other, result, rules) for other in word.words]
        checks = [check for _, part in inner for check in part]
        said = [verdict for verdict, _ in inner]
        if HOLDS in said:
            return FAILS, checks
        return (UNDECIDED if UNDECIDED in said else HOLDS), checks
    if not word.parts:
        check = _single(claim, claim.of, claim.during, _limits(claim), result, rules)
        return check.verdict, [check]
    checks = [
        _single(
            replace(claim, during=during), part.of, during, (part.above, part.below), result, rules
        )
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
    if claim.word.test in ("number", "formula"):
        return claim.printed - claim.within, claim.printed + claim.within
    if claim.word.test == "floor":
        return claim.printed, math.inf
    return claim.above, claim.below


def _single(
    claim: Claim,
    of: str,
    during: Window | None,
    limits: tuple[float, float],
    result: CaseResult,
    rules: _Rules,
) -> Check:
    values = Values.of(values_of(result, of, during, claim.flows, claim.limit))
    test = claim.word.test if not claim.word.composite else "limit"
    check = Check(claim, of, limits, values, None, FAILS)
    if not values.each or any(math.isnan(value) for value in values.each):
        return check
    return SINGLE[test](check, rules)


def _number(check: Check, rules: _Rules) -> Check:
    """Hold one printed run against the spread of ours, and our median against it."""
    printed, within, values = check.claim.printed, check.claim.within, check.values
    off = abs(values.median - printed)
    exact = off <= max(within, EXACT * abs(printed))
    if not varies(values.each):
        return replace(check, verdict=HOLDS if exact else FAILS)
    low, high = range_ = central(values.each)
    among = low - within <= printed <= high + within
    near = off <= max(within, NEAR * abs(printed))
    return _enough(check, range_, rules, fits=exact or (among and near))


def _floor(check: Check, rules: _Rules) -> Check:
    """Hold a number printed with "+" against ours: that run of theirs took at least so long."""
    printed, values = check.claim.printed, check.values
    range_ = central(values.each)
    fits = range_[1] >= printed and values.median >= (1 - NEAR) * printed
    return _enough(check, range_, rules, fits=fits)


def _enough(check: Check, range_: tuple[float, float], rules: _Rules, *, fits: bool) -> Check:
    """Return a number's verdict, which takes a least number of runs to hold."""
    if fits and len(check.values.each) < rules.least:
        return replace(check, interval=range_, verdict=UNDECIDED, decide=rules.least)
    return replace(check, interval=range_, verdict=HOLDS if fits else FAILS)


def _formula(check: Check, _: _Rules) -> Check:
    """Hold the median against a closed form, within the claim's own tolerance."""
    low, high = check.limits
    median = check.values.median
    return replace(check, verdict=HOLDS if low <= median <= high else FAILS)


def _every(check: Check, _: _Rules) -> Check:
    low, high = check.limits
    every = all(low <= value <= high for value in check.values.each)
    return replace(check, verdict=HOLDS if every else FAILS)


def _always(check: Check, _: _Rules) -> Check:
    low, high = check.limits
    always = all(low < value < high for value in check.values.each)
    return replace(check, verdict=HOLDS if always else FAILS)


def _limit(check: Check, rules: _Rules) -> Check:
    """Hold the interval of the median against the limits."""
    low, high = check.limits
    values = check.values
    bounds = (values.median,) * 2 if rules.few else median_interval(values.each)
    if all(inside(bound, low, high) for bound in bounds):
        return replace(check, interval=bounds, verdict=HOLDS)
    if bounds[1] <= low or bounds[0] >= high:
        return replace(check, interval=bounds, verdict=FAILS)
    decide = runs_for_median(values.each, low, high)
    return replace(check, interval=bounds, verdict=UNDECIDED, decide=decide)


SINGLE = {
    "number": _number,
    "floor": _floor,
    "formula": _formula,
    "every": _every,
    "always": _always,
    "limit": _limit,
}
"""Tests of one case's values."""
