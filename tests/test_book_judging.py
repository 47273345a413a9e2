"""How the book judges values, by hand: verdicts of one case, of two, and of a row."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from qcnlab.book import comparisons, measures, runner, values, verdicts
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
    verdict, _ = verdicts._of_word(claim(word, **changes), word, of_model(m=value, n=value))
    return verdict


def test_values_between_their_quartiles() -> None:
    # Positions 0.75, 1.5 and 2.25 of 10, 20, 30, 50.
    four = Values.of([50.0, 10.0, 30.0, 20.0])
    assert (four.low, four.first_quartile, four.median) == (10.0, 17.5, 25.0)
    assert (four.third_quartile, four.high) == (35.0, 50.0)
    assert four.each == (50.0, 10.0, 30.0, 20.0)
    assert [four.between_quartiles(n) for n in (17.4, 17.5, 35.0, 35.1)] == [
        False,
        True,
        True,
        False,
    ]
    assert math.isnan(Values.of([]).median)
    for missing in range(3):
        each = [1.0, 2.0, 3.0]
        each[missing] = math.nan
        assert math.isnan(Values.of(each).median)


def test_a_number_is_near_within_half_a_digit_or_between_the_quartiles() -> None:
    def number(each: list[float], printed: float, within: float) -> str:
        limits = printed - within, printed + within
        word = Word("number", "", "number")
        return verdicts._number(Values.of(each), limits, claim(word, printed=printed))

    assert number([10.0] * 3, 10.5, 0.5) == HOLDS
    assert number([10.0] * 3, 9.5, 0.5) == HOLDS
    assert number([10.0] * 3, 10.6, 0.5) == FAILS
    # Quartiles 9 and 12: 12 lies between them, 12.1 does not.
    assert number([8.0, 10.0, 14.0], 12.0, 0.5) == HOLDS
    assert number([8.0, 10.0, 14.0], 12.1, 0.5) == FAILS
    # Quartiles 7 and 12 are 5 apart: half of 10, and more than half of 9.
    assert number([4.0, 10.0, 14.0], 10.0, 0.5) == HOLDS
    assert number([4.0, 10.0, 14.0], 9.0, 1.0) == UNDECIDED
    # The same below zero.
    assert number([-14.0, -10.0, -4.0], -10.0, 0.5) == HOLDS
    assert number([-14.0, -10.0, -4.0], -9.0, 1.0) == UNDECIDED
    assert number([-0.752], -0.75, 0.005) == HOLDS
    assert number([math.nan], 10.0, 0.5) == FAILS


def test_a_floor_holds_where_the_first_quartile_reaches_it() -> None:
    def floor(each: list[float]) -> str:
        return verdicts._floor(Values.of(each), (10.0, INF), claim(Word("f", "", "floor")))

    assert floor([9.0, 11.0, 12.0]) == HOLDS
    assert floor([8.0, 10.0, 12.0]) == UNDECIDED
    assert floor([8.0, 9.9, 12.0]) == FAILS
    assert floor([INF, INF, INF]) == FAILS


def test_every_value_within_limits_or_strictly_within() -> None:
    word = claim(Word("e", "", "every"))
    for each, every, always in (
        ([1.0, 2.0], HOLDS, FAILS),
        ([1.5, 1.9], HOLDS, HOLDS),
        ([0.9, 1.5], FAILS, FAILS),
        ([1.5, 2.0], HOLDS, FAILS),
        ([1.0, 1.5], HOLDS, FAILS),
        ([1.5, 2.1], FAILS, FAILS),
    ):
        assert verdicts._every(Values.of(each), (1.0, 2.0), word) == every
        assert verdicts._always(Values.of(each), (1.0, 2.0), word) == always


def test_a_limit_is_strict_and_infinity_is_within_no_limit() -> None:
    def limit(each: list[float], low: float, high: float) -> str:
        return verdicts._limit(Values.of(each), (low, high), claim(Word("l", "", "limit")))

    assert limit([1.0, 2.0, 3.0], 1.0, 3.0) == HOLDS
    assert limit([1.0, 2.0, 3.0], 1.5, 3.0) == UNDECIDED
    assert limit([1.0, 2.0, 3.0], 1.0, 2.5) == UNDECIDED
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
        verdicts._of_word(claim(word, during=during), word, of_model(m=1.0))
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
        verdict, checks = verdicts._of_word(claim(word, of="", phases=phases), word, of_model())
        return verdict, [check.claim.during for check in checks]

    assert judge(stable) == (HOLDS, ["hss", "hs"])
    assert judge(stable, "pre", "hss") == (FAILS, ["pre", "pre", "hss", "hss"])
    assert judge(stable, "hss") == (HOLDS, ["hss", "hss"])
    assert judge(unstable, "pre", "hss")[0] == HOLDS


def test_what_is_undecided_of_several_measures(monkeypatch: pytest.MonkeyPatch) -> None:
    each = {"m": [1.0, 2.0, 3.0], "n": [1.0, 1.0, 1.0]}
    monkeypatch.setattr(verdicts, "values_of", lambda _, of, *rest: each[of])
    # Of m: above 1.5 holds for the median and not for the first quartile.
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


def order(side: str, x: list[float], y: list[float], ratio: float = 1.0) -> Check:
    asked = claim(Word("w", "", "order", side=side), ratio=ratio)
    ratios = Values.of([a / b for a, b in zip(x, y, strict=True)])
    return comparisons._order(asked, np.array(x), np.array(y), ratios, 0.95)


def test_an_order_needs_both_the_interval_and_the_ratio() -> None:
    more, less = [12.0, 13.0, 14.0], [9.0, 10.0, 11.0]
    assert order("above", more, less).verdict == HOLDS
    assert order("below", less, more).verdict == HOLDS
    assert order("below", more, less).verdict == FAILS
    # The medians are 13 and 10: 1.3 times is reached, 1.31 times is not.
    assert order("above", more, less, 1.3).verdict == HOLDS
    assert order("above", more, less, 1.31).verdict == FAILS
    assert order("above", more, less, 1.3).limits == (1.3, INF)
    assert order("below", less, more, 1.25).limits == (-INF, 0.8)
    # Differences 1, 5 and 0: mean 2, deviation 2.65, so 2 +- 6.6.
    assert order("above", [10.0, 15.0, 11.0], [9.0, 10.0, 11.0]).verdict == UNDECIDED
    assert order("above", [10.0] * 3, [10.0] * 3).verdict == FAILS
    # 3 every time: an interval of one point, with the sign of x - y.
    assert order("below", less, more).interval == (-3.0, -3.0)


def test_an_interval_that_begins_at_zero_decides_no_order(monkeypatch: pytest.MonkeyPatch) -> None:
    def told(low: float, high: float, larger: list[float]) -> str:
        monkeypatch.setattr(comparisons, "interval", lambda differences, level: (low, high))
        return order("above", larger, [9.0, 10.0, 11.0]).verdict

    # The medians are 13 and 10; then 10 and 10, which is no order whatever the interval says.
    assert [told(*both, [12.0, 13.0, 14.0]) for both in ((1, 2), (0, 2), (-1, 2), (-1, 0))] == [
        HOLDS, UNDECIDED, UNDECIDED, FAILS,
    ]  # fmt: skip
    assert told(1, 2, [9.0, 10.0, 90.0]) == FAILS
    # A median of less is no order either, though the interval leaves it open.
    assert told(-1, 2, [8.0, 9.0, 90.0]) == FAILS


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
    x, y = comparisons._pair(asked, ("a", "b"), results, same=False)
    assert (x.tolist(), y.tolist()) == ([1.0, 40.0, 3.0, 9.0], [4.0, 5.0, 6.0, 7.0])
    x, y = comparisons._pair(asked, ("a", "b"), results, same=True)
    assert (x.tolist(), y.tolist()) == ([4.0, 5.0], [6.0, 7.0])


def test_recovery_holds_only_where_90_and_99_percent_say_so_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told = {"recovery": HOLDS, "recovery_90": HOLDS, "recovery_99": HOLDS}
    levels = []

    def compare(asked: Claim, results: Any, *, same: bool, level: float) -> Check:
        levels.append(level)
        nothing = Values.of([])
        return Check(asked, asked.of, (0.0, 0.0), nothing, None, told[asked.of])

    monkeypatch.setattr(comparisons, "_compare", compare)
    asked = claim(Word("w", "", "order"), of="recovery")
    assert comparisons.paired(asked, {}, same=False).verdict == HOLDS
    assert levels == [pytest.approx(0.95)] * 3
    for other in ("recovery_90", "recovery_99"):
        told = {"recovery": HOLDS, "recovery_90": HOLDS, "recovery_99": HOLDS, other: FAILS}
        assert comparisons.paired(asked, {}, same=False).verdict == UNDECIDED
    # Of two claims one is enough: 1 - 0.05 / 2. Only an order of recovery asks for the others.
    levels.clear()
    gain = claim(Word("w", "", "gain"), of="recovery")
    assert comparisons.paired(gain, {}, same=False, several=2).verdict == HOLDS
    assert levels == [pytest.approx(0.975)]


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
        runner._move(bar, 0.2, 0.4, fraction)
    assert at == pytest.approx([0.2, 0.4, 0.6])


def test_values_that_do_not_vary_have_themselves_as_interval() -> None:
    # The sum of three times 0.1 over 3 is a last digit more than 0.1.
    assert comparisons.interval(np.array([0.1] * 3), 0.95) == (0.1, 0.1)
    # 1 is 1e-13 of 1e13: apart by rounding alone, so their mean stands for both.
    close = np.array([1e13 - 0.5, 1e13 + 0.5])
    assert comparisons.interval(close, 0.95) == (1e13, 1e13)
    # 2 is more: t(0.975, 1) = 12.706 times the deviation 1.414 over the root of 2, so 12.706.
    low, high = comparisons.interval(np.array([1e13 - 1, 1e13 + 1]), 0.95)
    assert (low - 1e13, high - 1e13) == pytest.approx((-12.706, 12.706), abs=0.01)
    # What never came, or is not a number, leaves everything open.
    for open_ in (INF, -INF, math.nan):
        for each in ([1.0, open_], [open_, 1.0], [1.0, open_, 2.0]):
            assert comparisons.interval(np.array(each), 0.95) == (-INF, INF)


def test_a_word_demands_only_what_it_says() -> None:
    plain = Word("w", "", "limit")
    assert (plain.ratio, plain.ratios, plain.composite) == (1.0, (-INF, INF), False)
