"""How the book judges values, by hand: verdicts of one case, of two, and of a row."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from qcnlab.book import comparisons, intervals, measures, runner, tables, values, verdicts
from qcnlab.book.cases import Case, Hot
from qcnlab.book.comparisons import FAILS, HOLDS, UNDECIDED, Check
from qcnlab.book.entries import Claim
from qcnlab.book.runner import CaseResult
from qcnlab.book.values import Values
from qcnlab.book.words import Part, Word

INF = math.inf
CASE = Case("a", "s", (), 3, "", "", ())


def claim(word: Word, **changes: Any) -> Claim:
    base = Claim(
        "1-1-a", word, "m", "a", None, ("", ""), None, "", None, math.nan, 0.0, -INF, INF, 1.0
    )
    return replace(base, **changes)


def of_model(**numbers: float) -> CaseResult:
    """Return the result of a model's case: one value for each measure."""
    return CaseResult(CASE, None, numbers)


def said(word: Word, value: float, **changes: Any) -> str:
    verdict, _ = verdicts._of_word(claim(word, **changes), word, of_model(m=value, n=value), RULES)
    return verdict


RULES = verdicts._Rules(same=False, several=1, least=20, few=False)
FEW = replace(RULES, least=1, few=True)


def test_values_have_their_quartiles() -> None:
    # Positions 0.75, 1.5 and 2.25 of 10, 20, 30, 50.
    four = Values.of([50.0, 10.0, 30.0, 20.0])
    assert (four.low, four.first_quartile, four.median) == (10.0, 17.5, 25.0)
    assert (four.third_quartile, four.high) == (35.0, 50.0)
    assert four.each == (50.0, 10.0, 30.0, 20.0)
    assert math.isnan(Values.of([]).median)
    for missing in range(3):
        each = [1.0, 2.0, 3.0]
        each[missing] = math.nan
        assert math.isnan(Values.of(each).median)


def single(test: str, each: list[float], rules: verdicts._Rules = RULES, **changes: Any) -> Check:
    """Judge the values of one case by a test, as `_single` does."""
    asked = claim(Word("w", "", test), **changes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(verdicts, "values_of", lambda *rest: each)
        return verdicts._single(asked, "m", None, verdicts._limits(asked), of_model(), rules)


EVEN = [float(value) for value in range(81, 121)]
"""81 to 120: 40 runs, the median 100.5, the central 95 % from 81.975 to 119.025."""


def test_a_printed_number_is_one_run_of_theirs() -> None:
    """It lies in the central 95 % of our runs, and our median within 20 % of it."""

    def number(printed: float, within: float = 0.5, each: list[float] = EVEN) -> str:
        return single("number", each, printed=printed, within=within).verdict

    assert [number(n) for n in (81.5, 81.4, 119.5, 119.6)] == [FAILS, FAILS, HOLDS, FAILS]
    # From 83.75 on the median of 100.5 is within 20 % of it; 81.5 lies among the runs, and is not.
    assert [number(n) for n in (83.7, 83.8, 100.5)] == [FAILS, HOLDS, HOLDS]
    # How finely a number is printed widens the range, and the median may be as far off.
    assert [number(79.0, within) for within in (2.9, 21.0, 21.5)] == [FAILS, FAILS, HOLDS]
    wide = [value * 10 - 900 for value in EVEN]
    # The same spread ten times as wide, -90 to 300: the median of 105 is too far from 80.
    assert [number(n, 0.5, wide) for n in (80.0, 90.0, 130.0, 140.0)] == [
        FAILS, HOLDS, HOLDS, FAILS,
    ]  # fmt: skip
    check = single("number", EVEN, printed=90.0)
    assert check.interval == pytest.approx((81.975, 119.025))
    assert (check.ratio, check.percentile) == pytest.approx((100.5 / 90, 100 * 9.5 / 40))
    # Below zero too.
    assert number(-90.0, 0.5, [-value for value in EVEN]) == HOLDS
    assert number(-83.7, 0.5, [-value for value in EVEN]) == FAILS
    assert number(100.0, 0.5, [*EVEN[:20], math.nan, *EVEN[20:]]) == FAILS
    # A time that some of our runs never reach: the median is finite, the upper end is not.
    assert number(100.0, 0.5, [*EVEN, INF]) == HOLDS
    assert number(100.0, 0.5, [INF] * 40) == FAILS


def test_a_quantity_that_varies_little_agrees_within_5_percent() -> None:
    def number(printed: float, each: list[float], within: float = 0.005) -> str:
        return single("number", each, printed=printed, within=within).verdict

    for each in ([100.0], [100.0] * 7, [99.99, 100.0, 100.01] * 9):
        assert [number(n, each) for n in (95.3, 95.0, 105.2, 105.4)] == [
            HOLDS, FAILS, HOLDS, FAILS,
        ]  # fmt: skip
    assert number(-0.75, [-0.752]) == HOLDS
    assert number(-0.752, [-0.75]) == HOLDS
    # A printed 0: nothing but 0 is within 5 %, or half of its last digit.
    assert (number(0.0, [0.0] * 3), number(0.0, [0.1] * 3)) == (HOLDS, FAILS)
    assert number(0.0, [0.1] * 3, 0.5) == HOLDS


def test_a_printed_number_takes_twenty_runs() -> None:
    few = EVEN[10:29]
    assert len(few) == 19
    check = single("number", few, printed=106.0)
    assert (check.verdict, check.decide) == (UNDECIDED, 20)
    assert single("number", EVEN[10:30], printed=106.0).verdict == HOLDS
    # A quick row takes ten; a comparison of laws any; a number far off fails with any.
    assert single("number", few, replace(RULES, least=10), printed=106.0).verdict == HOLDS
    assert single("number", [81.0, 120.0], FEW, printed=106.0).verdict == HOLDS
    assert single("number", few, printed=200.0).verdict == FAILS


def test_a_number_with_a_plus_is_reached_by_runs_of_ours() -> None:
    def floor(printed: float, each: list[float] = EVEN) -> str:
        return single("floor", each, printed=printed).verdict

    # The upper end of the central 95 % is 119.0; the median of 100.5 is 80 % of 125.6.
    assert [floor(n) for n in (50.0, 119.0, 119.1)] == [HOLDS, HOLDS, FAILS]
    wide = [*EVEN, *(200.0 for _ in range(10))]
    assert [floor(n, wide) for n in (130.0, 133.0)] == [HOLDS, FAILS]
    assert floor(350.0, [INF] * 20) == HOLDS
    assert floor(100.0, EVEN[:10]) == FAILS
    assert floor(80.0, EVEN[:10]) == UNDECIDED


def test_a_closed_form_has_its_own_tolerance() -> None:
    def formula(median: float) -> str:
        each = [median - 5, median, median + 50]
        return single("formula", each, printed=100.0, within=5.0).verdict

    assert [formula(m) for m in (94.9, 95.0, 105.0, 105.1)] == [FAILS, HOLDS, HOLDS, FAILS]
    assert single("formula", [100.0, math.nan], printed=100.0, within=5.0).verdict == FAILS


def test_every_value_within_limits_or_strictly_within() -> None:
    for each, every, always in (
        ([1.0, 2.0], HOLDS, FAILS),
        ([1.5, 1.9], HOLDS, HOLDS),
        ([0.9, 1.5], FAILS, FAILS),
        ([1.5, 2.0], HOLDS, FAILS),
        ([1.0, 1.5], HOLDS, FAILS),
        ([1.5, 2.1], FAILS, FAILS),
    ):
        check = Check(claim(Word("e", "", "every")), "m", (1.0, 2.0), Values.of(each), None, FAILS)
        assert verdicts._every(check, RULES).verdict == every
        assert verdicts._always(check, RULES).verdict == always


def test_a_word_is_decided_by_the_interval_of_the_median() -> None:
    """Of ten runs the second lowest and second highest bound it: 2 and 9 of 1 to 10."""
    ten = [float(value) for value in range(10, 0, -1)]

    def limit(low: float, high: float, each: list[float] = ten) -> Check:
        return single("limit", each, above=low, below=high)

    assert limit(0.0, 20.0).interval == (2.0, 9.0)
    assert [limit(low, INF).verdict for low in (1.9, 2.0, 8.9, 9.0)] == [
        HOLDS, UNDECIDED, UNDECIDED, FAILS,
    ]  # fmt: skip
    assert [limit(-INF, high).verdict for high in (9.1, 9.0, 2.1, 2.0)] == [
        HOLDS, UNDECIDED, UNDECIDED, FAILS,
    ]  # fmt: skip
    # Seven of ten are above 3: (0.98 / 0.2) ^ 2 = 24.01 runs would decide.
    assert limit(3.0, INF).decide == 25
    # So are those that never came: seven of ten again.
    assert limit(3.0, INF, [1.0, 2.0, 3.0, *ten[:4], INF, INF, INF]).decide == 25
    # As many above as below: no number of runs is to be seen.
    assert limit(5.5, INF).decide is None
    # Five runs have no interval, whatever they say; six have their range.
    assert limit(0.5, 20.0, ten[:5]).verdict == UNDECIDED
    assert limit(0.5, 20.0, ten[:6]).verdict == HOLDS
    assert limit(0.5, 20.0, [*ten[:5], math.nan]).verdict == FAILS
    # For a comparison of laws the median stands for the true one.
    assert single("limit", ten[:3], FEW, above=8.5).verdict == HOLDS
    assert single("limit", ten[:3], FEW, above=9.0).verdict == FAILS


def test_a_limit_is_strict_and_infinity_is_within_no_limit() -> None:
    def limit(each: list[float], low: float, high: float) -> str:
        return single("limit", each, above=low, below=high).verdict

    assert limit([2.0] * 3, 2.0, 3.0) == FAILS
    assert limit([2.0] * 3, 1.0, 2.0) == FAILS
    assert limit([INF] * 3, 1.0, INF) == HOLDS
    assert limit([INF] * 3, 1.0, 9.0) == FAILS


def test_limits_of_a_claim() -> None:
    def limits(test: str, of: float | None = None, **changes: Any) -> tuple[float, float]:
        return verdicts._limits(claim(Word("w", "", test, of=of), **changes))

    assert limits("every", printed=4.0) == (4.0, 4.0)
    assert limits("every", of=0.0, printed=4.0) == (0.0, 0.0)
    assert limits("number", printed=4.0, within=0.5) == (3.5, 4.5)
    assert limits("formula", printed=4.0, within=0.5) == (3.5, 4.5)
    assert limits("floor", printed=4.0, within=0.5) == (4.0, INF)
    assert limits("limit", printed=4.0, above=1.0, below=2.0) == (1.0, 2.0)


def test_a_word_of_several_measures() -> None:
    def word(test: str, *limits: tuple[float, float]) -> Word:
        parts = tuple(Part("m", "", low, high) for low, high in limits)
        return Word("w", "", test, parts=parts)

    here, there = (0.0, 2.0), (2.0, 4.0)
    assert said(word("all", here, here), 1.0) == HOLDS
    assert said(word("all", here, there), 1.0) == FAILS
    assert said(word("all", there, here), 1.0) == FAILS
    assert said(word("any", here, there), 1.0) == HOLDS
    assert said(word("any", there, there), 1.0) == FAILS
    neither = Word("w", "", "neither", words=(word("all", there), word("all", here)))
    assert (said(neither, 1.0), said(neither, 5.0)) == (FAILS, HOLDS)


def test_a_claim_may_name_another_window_than_its_word(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def values(result: Any, of: str, during: Any, *rest: Any) -> list[float]:
        asked.append(during)
        return [1.0]

    monkeypatch.setattr(verdicts, "values_of", values)
    word = Word("w", "", "all", parts=(Part("m", "rec", 0.0, 2.0),))
    for during in (None, "hs"):
        verdicts._of_word(claim(word, during=during), word, of_model(m=1.0), RULES)
    assert asked == ["rec", "hs"]


def test_a_word_is_judged_in_every_phase_of_its_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    """The queue is calm in the hotspot's second half and swings before it: not stable."""
    measured = {"hss": 0.5, "pre": 3.0, "hs": 0.2}

    def of(_: Any, name: str, during: str, *rest: Any) -> list[float]:
        return [measured[during]]

    monkeypatch.setattr(verdicts, "values_of", of)
    part = Part("m", "hss", -INF, 1.0)
    stable = Word("stable", "", "all", parts=(part, replace(part, during="hs")))
    unstable = Word("not stable", "", "neither", words=(stable,))

    def judge(word: Word, *phases: str) -> tuple[str, list[Any]]:
        verdict, checks = verdicts._of_word(
            claim(word, of="", phases=phases), word, of_model(), RULES
        )
        return verdict, [check.claim.during for check in checks]

    assert judge(stable) == (HOLDS, ["hss", "hs"])
    assert judge(stable, "pre", "hss") == (FAILS, ["pre", "pre", "hss", "hss"])
    assert judge(stable, "hss") == (HOLDS, ["hss", "hss"])
    assert judge(unstable, "pre", "hss")[0] == HOLDS


def test_what_is_undecided_of_several_measures(monkeypatch: pytest.MonkeyPatch) -> None:
    each = {"m": [1.0, 2.0, 3.0], "n": [1.0, 1.0, 1.0]}
    monkeypatch.setattr(verdicts, "values_of", lambda _, of, *rest: each[of])
    # Three values have no interval unless they are the same.
    unsure, sure = Part("m", "", 1.5, INF), Part("n", "", 0.0, 2.0)
    wrong = Part("n", "", 2.0, 3.0)

    def of(test: str, *parts: Part) -> str:
        return said(Word("w", "", test, parts=parts), 0.0)

    assert (of("all", unsure, sure), of("all", unsure, wrong)) == (UNDECIDED, FAILS)
    assert (of("any", unsure, sure), of("any", unsure, wrong)) == (HOLDS, UNDECIDED)
    inner = tuple(Word("i", "", "all", parts=(part,)) for part in (unsure, wrong))
    assert said(Word("w", "", "neither", words=inner), 0.0) == UNDECIDED


def test_the_best_of_claims_that_share_a_name_counts() -> None:
    word = Word("w", "", "limit")
    claims = [claim(word), claim(word, either="x"), claim(word, either="x")]

    class Row:
        def __init__(self) -> None:
            self.claims = claims

    row: Any = Row()
    assert verdicts._verdicts(row, [FAILS, FAILS, HOLDS]) == (FAILS, HOLDS)
    assert verdicts._verdicts(row, [HOLDS, FAILS, UNDECIDED]) == (HOLDS, UNDECIDED)
    assert verdicts._verdicts(row, [UNDECIDED, FAILS, FAILS]) == (UNDECIDED, FAILS)
    # A limit of ours is no claim, alone or among several.
    claims[0] = claim(word, ours="why")
    claims[2] = claim(word, either="x", ours="why")
    assert verdicts._verdicts(row, [FAILS, UNDECIDED, HOLDS]) == (UNDECIDED,)


def order(side: str, x: list[float], y: list[float], ratio: float = 1.0) -> Check:
    asked = claim(Word("w", "", "order", side=side), ratio=ratio)
    ratios = Values.of([a / b for a, b in zip(x, y, strict=True)])
    return comparisons._order(asked, np.array(x), np.array(y), ratios, 0.95)


def test_an_order_is_decided_by_the_interval_of_paired_differences() -> None:
    more, less = [12.0, 13.0, 14.0], [9.0, 10.0, 11.0]
    assert order("above", more, less).verdict == HOLDS
    assert order("below", less, more).verdict == HOLDS
    assert order("below", more, less).verdict == FAILS
    # Differences 1, 5 and 0: mean 2, deviation 2.65, so 2 +- 6.6; (6.57 / 2) ^ 2 * 3 = 32.4.
    open_ = order("above", [10.0, 15.0, 11.0], [9.0, 10.0, 11.0])
    assert (open_.verdict, open_.decide) == (UNDECIDED, 33)
    assert order("above", [10.0] * 3, [10.0] * 3).verdict == FAILS
    # 3 every time: an interval of one point, with the sign of x - y.
    assert order("below", less, more).interval == (-3.0, -3.0)
    # A hundredth more is more, if it is so in every pair: how much it is stands beside it.
    assert order("above", [10.1, 11.1, 12.1], [10.0, 11.0, 12.0]).verdict == HOLDS


def test_a_word_of_degree_is_decided_by_its_factor() -> None:
    """By the larger less the factor times the smaller: 12 - 9 f, 13 - 10 f, 14 - 11 f."""
    more, less = [12.0, 13.0, 14.0], [9.0, 10.0, 11.0]
    # 1.2: 1.2, 1.0 and 0.8, a mean of 1 +- 0.5; 1.3: 0.3, 0 and -0.3; 1.4: -0.6, -1 and -1.4.
    assert [order("above", more, less, f).verdict for f in (1.2, 1.3, 1.4)] == [
        HOLDS, UNDECIDED, FAILS,
    ]  # fmt: skip
    assert [order("below", less, more, f).verdict for f in (1.2, 1.3, 1.4)] == [
        HOLDS, UNDECIDED, FAILS,
    ]  # fmt: skip
    assert order("above", more, less, 1.25).limits == (1.25, INF)
    assert order("below", less, more, 1.25).limits == (-INF, 0.8)


def test_a_missing_value_in_the_middle_decides_no_order() -> None:
    some = [12.0, math.nan, 14.0, 15.0]
    assert order("above", some, [1.0, 2.0, 3.0, 4.0]).verdict == UNDECIDED
    assert order("above", some, [1.0, 2.0, 3.0, 4.0]).decide is None


def test_an_interval_that_begins_at_zero_decides_no_order(monkeypatch: pytest.MonkeyPatch) -> None:
    def told(low: float, high: float) -> str:
        monkeypatch.setattr(comparisons, "mean_interval", lambda differences, level: (low, high))
        return order("above", [12.0, 13.0, 14.0], [9.0, 10.0, 11.0]).verdict

    assert [told(*both) for both in ((1, 2), (0, 2), (-1, 2), (-1, 0))] == [
        HOLDS, UNDECIDED, UNDECIDED, FAILS,
    ]  # fmt: skip


def test_a_gain_holds_above_zero_and_fails_below() -> None:
    def gain(*more: float) -> Check:
        return comparisons._gain(claim(Word("g", "", "gain")), np.array(more))

    assert gain(1.0, 1.0, 1.0).verdict == HOLDS
    assert gain(-1.0, -1.0).verdict == FAILS
    assert gain(0.0, 0.0).verdict == FAILS
    assert gain(-1.0, 2.0).verdict == UNDECIDED
    # Mean 0.033, deviation 0.153 over 3: t(0.975, 2) = 4.303, so 0.033 +- 0.379.
    assert gain(-0.1, 0.0, 0.2).verdict == UNDECIDED
    assert gain(1.0, 1.0).limits == (0.0, INF)


def test_sameness_lies_inside_fails_outside_and_is_open_across() -> None:
    word = Word("same", "", "equivalence", ratios=(0.8, 1.25))

    def same(*ratios: float) -> str:
        return comparisons._equivalence(claim(word), Values.of(ratios)).verdict

    assert (same(1.0, 1.0), same(0.5, 0.5), same(1.25, 1.25)) == (HOLDS, FAILS, FAILS)
    assert same(0.8, 0.8) == FAILS
    assert same(0.7, 1.1) == UNDECIDED
    # Deviation 0.01 over 3: t(0.95, 2) = 2.92, so 0.017 to either side of either limit.
    assert same(0.79, 0.80, 0.81) == UNDECIDED
    assert same(1.24, 1.25, 1.26) == UNDECIDED
    assert same(0.76, 0.77, 0.78) == FAILS
    assert same(1.22, 1.23, 1.24) == HOLDS
    assert same(math.nan) == FAILS


def test_a_time_that_never_came_counts_as_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparisons, "facts", lambda _: SimpleNamespace(duration_s=0.25))
    assert comparisons._longest(CaseResult(CASE, object(), {})) == 250.0  # type: ignore[arg-type]
    assert comparisons._longest(of_model(m=1.0)) == INF


def test_ratios_of_zero() -> None:
    assert comparisons._ratio(0.0, 0.0) == 1.0
    assert comparisons._ratio(1.0, 0.0) == INF
    assert comparisons._ratio(3.0, 4.0) == 0.75


@pytest.mark.parametrize("lacks", ["a", "b", "c", "d"])
def test_gains_are_compared_over_the_replications_that_all_four_cases_have(
    monkeypatch: pytest.MonkeyPatch, lacks: str
) -> None:
    """The gains are 2 and 1, but in a fourth replication, which one of the cases lacks."""
    each = {"a": [1.0, 2.0, 3.0], "b": [3.0, 4.0, 5.0], "c": [1.0] * 3, "d": [2.0] * 3}
    each = {name: values if name == lacks else [*values, 1e9] for name, values in each.items()}
    results = {name: CaseResult(replace(CASE, name=name), None, {}) for name in each}
    monkeypatch.setattr(comparisons, "values_of", lambda result, *rest: each[result.case.name])
    asked = replace(claim(Word("g", "", "gain")), case="a", than="b", over=("c", "d"))
    check = comparisons.paired(asked, results, same=False)
    assert (check.values.each, check.verdict) == ((1.0,) * 3, HOLDS)


def test_pairs_and_halves(monkeypatch: pytest.MonkeyPatch) -> None:
    each = {"a": [1.0, INF, 3.0, 9.0], "b": [4.0, 5.0, 6.0, 7.0, 8.0]}
    results = {name: CaseResult(replace(CASE, name=name), None, {}) for name in each}
    monkeypatch.setattr(comparisons, "values_of", lambda result, *rest: each[result.case.name])
    monkeypatch.setattr(comparisons, "_longest", lambda _: 40.0)
    asked = claim(Word("w", "", "order", side="below"))

    def pair(*, same: bool) -> tuple[list[float], list[float]]:
        values = comparisons._values(asked, ("a", "b"), results, same=same)
        x, y = comparisons._bounded(*values, results["b"])
        return x.tolist(), y.tolist()

    assert pair(same=False) == ([1.0, 40.0, 3.0, 9.0], [4.0, 5.0, 6.0, 7.0])
    assert pair(same=True) == ([4.0, 5.0], [6.0, 7.0])


def test_each_case_is_measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A measure reads whole traces."""
    asked: list[str] = []

    def values(result: CaseResult, *rest: Any) -> list[float]:
        asked.append(result.case.name)
        return [1.0, 2.0, 3.0]

    monkeypatch.setattr(comparisons, "values_of", values)
    monkeypatch.setattr(comparisons, "_longest", lambda _: 40.0)
    results = {name: CaseResult(replace(CASE, name=name), None, {}) for name in "abcd"}
    for test, over in (("order", ("", "")), ("gain", ("c", "d"))):
        word = Word("w", "", test, side="above")
        comparisons._compare(claim(word, than="b", over=over), results, same=False, level=0.95)
    assert sorted(asked) == ["a", "a", "b", "b", "c", "d"]


def test_what_never_came_in_either_case_is_in_no_order(monkeypatch: pytest.MonkeyPatch) -> None:
    each = {"a": [INF, INF, INF], "b": [INF, INF, INF], "c": [INF, 3.0, INF]}
    results = {name: CaseResult(replace(CASE, name=name), None, {}) for name in each}
    monkeypatch.setattr(comparisons, "values_of", lambda result, *rest: each[result.case.name])
    monkeypatch.setattr(comparisons, "_longest", lambda _: 40.0)

    def told(test: str, than: str, **more: Any) -> str:
        asked = claim(Word("w", "", test, **more), than=than)
        return comparisons._compare(asked, results, same=False, level=0.95).verdict

    above = claim(Word("w", "", "order", side="above"), than="b", ratio=2.0)
    check = comparisons._compare(above, results, same=False, level=0.95)
    assert (check.limits, check.interval, check.decide) == ((2.0, INF), None, None)
    assert told("order", "b", side="above") == UNDECIDED
    assert told("equivalence", "b", ratios=(0.8, 1.25)) == UNDECIDED
    # One came: 40, 40 and 40 beside 40, 3 and 40.
    assert told("order", "c", side="below") == UNDECIDED
    each["c"] = [2.0, 3.0, 2.0]
    assert told("order", "c", side="above") == HOLDS


@pytest.mark.parametrize("other", ["recovery_90", "recovery_99"])
@pytest.mark.parametrize(
    ("at_95", "at_other", "verdict", "reverse"),
    [
        (HOLDS, HOLDS, HOLDS, False),
        (FAILS, FAILS, FAILS, False),
        # A share at which the runs cannot tell decides nothing.
        (HOLDS, UNDECIDED, HOLDS, False),
        (FAILS, UNDECIDED, FAILS, False),
        (UNDECIDED, HOLDS, UNDECIDED, False),
        (UNDECIDED, FAILS, UNDECIDED, False),
        # The reverse order leaves it open, and no number of runs would close it.
        (HOLDS, FAILS, UNDECIDED, True),
        (FAILS, HOLDS, UNDECIDED, True),
    ],
)
def test_an_order_of_recovery_is_open_where_another_share_of_the_level_gives_the_reverse(
    monkeypatch: pytest.MonkeyPatch,
    other: str,
    at_95: str,
    at_other: str,
    verdict: str,
    reverse: bool,
) -> None:
    told = {"recovery": at_95, "recovery_90": at_95, "recovery_99": at_95, other: at_other}
    levels = []

    def compare(asked: Claim, results: Any, *, same: bool, level: float) -> Check:
        levels.append(level)
        interval = (1.0, 2.0)
        return Check(
            asked, asked.of, (1.0, INF), Values.of([2.0]), interval, told[asked.of], decide=9
        )

    monkeypatch.setattr(comparisons, "_compare", compare)
    asked = claim(Word("w", "", "order"), of="recovery")
    check = comparisons.paired(asked, {}, same=False)
    assert (check.verdict, check.reversed) == (verdict, reverse)
    assert levels == [pytest.approx(0.95)] * 3
    share = {"recovery_90": "90 %", "recovery_99": "99 %"}[other]
    words = tables.decided_by(check)
    assert (f"{at_other} at {share}" in words) == (at_other != at_95)
    assert ("more runs would not decide" in words) == reverse
    assert ("about 9 runs would decide" in words) == (verdict == UNDECIDED and not reverse)
    if reverse:
        assert f"{at_95} at 95 %" in words


def test_both_other_shares_may_give_the_reverse_of_each_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told = {"recovery": UNDECIDED, "recovery_90": HOLDS, "recovery_99": FAILS}

    def compare(asked: Claim, results: Any, *, same: bool, level: float) -> Check:
        return Check(asked, asked.of, (1.0, INF), Values.of([2.0]), (1.0, 2.0), told[asked.of])

    monkeypatch.setattr(comparisons, "_compare", compare)
    check = comparisons.paired(claim(Word("w", "", "order"), of="recovery"), {}, same=False)
    assert (check.verdict, check.reversed) == (UNDECIDED, True)


def test_only_an_order_of_recovery_is_asked_at_other_shares_of_the_level(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[tuple[str, float]] = []

    def compare(one: Claim, results: Any, *, same: bool, level: float) -> Check:
        asked.append((one.of, round(level, 9)))
        return Check(one, one.of, (0.0, 0.0), Values.of([]), None, HOLDS)

    monkeypatch.setattr(comparisons, "_compare", compare)
    # Of two claims one is enough: 1 - 0.05 / 2.
    gain = claim(Word("w", "", "gain"), of="recovery")
    assert comparisons.paired(gain, {}, same=False, several=2).verdict == HOLDS
    order = claim(Word("w", "", "order"), of="deviation")
    assert comparisons.paired(order, {}, same=False).verdict == HOLDS
    assert asked == [("recovery", 0.975), ("deviation", 0.95)]


def test_the_values_of_a_model_are_its_numbers() -> None:
    assert values.values_of(of_model(m=3.0), "m") == [3.0]
    assert math.isnan(values.values_of(of_model(m=3.0), "n")[0])


def test_units_of_measures_in_tables() -> None:
    assert values.unit_of("queue_mean_bytes") == (1e-3, "KB")
    assert values.unit_of("queue_empty_frac") == (100, "%")
    assert measures.MEASURES["drops"].windowed == "bottleneck_drops"
    assert measures.MEASURES["jain"].windowed == "jain"
    assert not measures.MEASURES["push_backs"].windowed
    assert measures.MEASURES["rate_ratio"].missing == INF


def test_windows_of_a_hotspot() -> None:
    hot = Hot(2.0, 6.0, 10.0, 1.0, 1.0, "", 1.0, 1.0)
    expected = {
        "pre": (1.0, 2.0),
        "hs": (2.0, 6.0),
        "down": (2.0, 4.0),
        "hss": (4.0, 6.0),
        "rec": (6.0, 10.0),
        "end": (8.0, 10.0),
    }
    assert {name: hot.window(name) for name in expected} == expected


def test_a_batch_moves_the_bar_by_its_share() -> None:
    at: list[float] = []
    bar: Any = at.append
    for fraction in (0.0, 0.5, 1.0):
        runner._move(bar, 0.2, 0.4, fraction, 3, 8)
    assert at == pytest.approx([0.2, 0.4, 0.6])


def test_values_that_do_not_vary_have_themselves_as_interval() -> None:
    # The sum of three times 0.1 over 3 is a last digit more than 0.1.
    assert intervals.mean_interval(np.array([0.1] * 3), 0.95) == (0.1, 0.1)
    # 1 is 1e-13 of 1e13: apart by rounding alone, so their mean stands for both.
    close = np.array([1e13 - 0.5, 1e13 + 0.5])
    assert intervals.mean_interval(close, 0.95) == (1e13, 1e13)
    # 2 is more: t(0.975, 1) = 12.706 times the deviation 1.414 over the root of 2, so 12.706.
    low, high = intervals.mean_interval(np.array([1e13 - 1, 1e13 + 1]), 0.95)
    assert (low - 1e13, high - 1e13) == pytest.approx((-12.706, 12.706), abs=0.01)
    # What never came, or is not a number, leaves everything open.
    for open_ in (INF, -INF, math.nan):
        for each in ([1.0, open_], [open_, 1.0], [1.0, open_, 2.0]):
            assert intervals.mean_interval(np.array(each), 0.95) == (-INF, INF)


def test_the_interval_of_a_median_has_at_least_its_level() -> None:
    """Order statistics: of n runs the k-th from either end, by the binomial distribution."""
    # 2 P(fewer than k of n) <= 0.05: n = 6: 2/64; 9: k = 2, 20/512; 20: k = 6, 0.0414; 40: 14.
    for count, k in ((6, 1), (8, 1), (9, 2), (10, 2), (20, 6), (40, 14)):
        values = [float(value) for value in range(count)]
        assert intervals.median_interval(values) == (k - 1, count - k), count
    assert intervals.median_interval([1.0, 2.0, 3.0, 4.0, 5.0]) == (-INF, INF)
    assert intervals.median_interval([3.0]) == (3.0, 3.0)
    assert intervals.median_interval([]) == (-INF, INF)
    assert intervals.median_interval([1.0, INF, 3.0, 4.0, 5.0, INF]) == (1.0, INF)


def test_percentiles_and_central_ranges() -> None:
    assert [intervals.percentile([1.0, 2.0, 2.0, 4.0], n) for n in (0.0, 2.0, 3.0, 9.0)] == [
        0.0, 50.0, 75.0, 100.0,
    ]  # fmt: skip
    assert intervals.central([5.0, 1.0, 3.0], 0.5) == (2.0, 4.0)
    assert intervals.central([2.0]) == (2.0, 2.0)
    assert all(map(math.isnan, intervals.central([1.0, math.nan])))
    assert intervals.varies([1.0, 1.1])
    assert not intervals.varies([0.1 + 0.2, 0.3])
    assert not intervals.varies([INF, INF])
    assert intervals.varies([1.0, INF])
    # More than a thousand runs are not asked for; an interval around the border asks for none.
    assert intervals.runs_for_mean((-9.0, 9.5), 10, 0.0) is None
    assert intervals.runs_for_mean((-1.0, 1.0), 10, 0.0) is None
    assert intervals.runs_for_mean((-1.0, 3.0), 10, 0.0) == 40
    assert intervals.runs_for_mean((-INF, INF), 1, 0.0) is None


def test_a_word_demands_only_what_it_says() -> None:
    plain = Word("w", "", "limit")
    assert (plain.ratio, plain.ratios, plain.composite) == (1.0, (-INF, INF), False)
