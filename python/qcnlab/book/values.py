"""The values of a measure over a case's replications, and how they are summed up."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from qcnlab.book import hotspot, measures
from qcnlab.book.intervals import quantile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qcnlab.book.cases import Hot
    from qcnlab.book.entries import Window
    from qcnlab.book.runner import CaseResult
    from qcnlab.results.result import Result

OPEN = 8
"""Results whose tables stay in memory at most; what was measured of the others stays."""


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
            quantile(ordered, 0.5),
            ordered[0],
            ordered[-1],
            each,
            quantile(ordered, 0.25),
            quantile(ordered, 0.75),
        )


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
    hot = case_result.case.hot
    if of in hotspot.MEASURES:
        if hot is None:
            return [math.nan]
        during = during or hotspot.MEASURES[of].window
    if isinstance(during, str):
        during = hot.window(during) if hot else None
    each = _measured(case_result.result, hot, of, during, flows, limit)
    return list(each[: case_result.most])


@lru_cache(maxsize=1 << 17)
def _measured(
    result: Result,
    hot: Hot | None,
    of: str,
    during: tuple[float, float] | None,
    flows: str,
    limit: float | None,
) -> tuple[float, ...]:
    """Measure a case once, whatever rows, controls, laws and readings ask for it."""
    _opened.use(result)
    if hot is not None and during is not None and of in hotspot.MEASURES:
        return tuple(hotspot.values(result, hot, of, during, flows, limit))
    return tuple(measures.values(result, of, during, flows, limit))


class _Opened:
    """The results whose tables are in memory: those used last."""

    def __init__(self) -> None:
        self._results: deque[Result] = deque()

    def use(self, result: Result) -> None:
        """Make `result` the last used; forget the tables of the one unused for longest."""
        if result in self._results:
            self._results.remove(result)
        self._results.append(result)
        if len(self._results) > OPEN:
            self._results.popleft().forget_tables()


_opened = _Opened()


def unit_of(of: str) -> tuple[float, str]:
    """Return factor and unit in which a measure's values are shown."""
    if of in hotspot.MEASURES:
        shape = hotspot.MEASURES[of]
        return (100.0, "%") if shape.percent else (1.0, shape.unit)
    measure = measures.MEASURES[of]
    return measure.scale, measure.shown or measure.unit
