"""The values of a measure over a case's replications, and how they are summed up."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from qcnlab.book import hotspot, measures
from qcnlab.book.intervals import quantile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qcnlab.book.entries import Window
    from qcnlab.book.runner import CaseResult


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
        named = during or hotspot.MEASURES[of].window
        window = hot.window(named) if isinstance(named, str) else named
        return hotspot.values(case_result.result, hot, of, window, flows, limit)[: case_result.most]
    if isinstance(during, str):
        during = hot.window(during) if hot else None
    return measures.values(case_result.result, of, during, flows, limit)[: case_result.most]


def unit_of(of: str) -> tuple[float, str]:
    """Return factor and unit in which a measure's values are shown."""
    if of in hotspot.MEASURES:
        shape = hotspot.MEASURES[of]
        return (100.0, "%") if shape.percent else (1.0, shape.unit)
    measure = measures.MEASURES[of]
    return measure.scale, measure.shown or measure.unit
