"""Numbers: checked as callers give them, written for people."""

from __future__ import annotations

import math

from qcnlab._core import AnalysisError


def span(seconds: float, unit: str = "s") -> str:
    """Write a time for people: 284.2 us, 15 ms; as it is where `unit` is not s.

    >>> span(0.00028424), span(0.015), span(19, "")
    ('284.2 us', '15 ms', '19')
    """
    if unit != "s":
        return f"{seconds:.4g} {unit}".rstrip()
    for factor, word in ((1e6, "us"), (1e3, "ms")):
        if abs(seconds) * factor < 1000:
            return f"{seconds * factor:.4g} {word}"
    return f"{seconds:.4g} s"


def above_zero(model: str, **values: float) -> None:
    """Raise `AnalysisError` for the first value that is not a number above 0."""
    for name, value in values.items():
        if not (value > 0 and math.isfinite(value)):
            raise AnalysisError(f"{model}: {name} is {value:g}; it must be above 0")


def not_negative(model: str, **values: float) -> None:
    """Raise `AnalysisError` for the first value that is not a number of 0 or more."""
    for name, value in values.items():
        if not (value >= 0 and math.isfinite(value)):
            raise AnalysisError(f"{model}: {name} is {value:g}; it must be 0 or more")


def probability(model: str, **values: float) -> None:
    """Raise `AnalysisError` for the first value that is not strictly between 0 and 1."""
    for name, value in values.items():
        if not 0 < value < 1:
            raise AnalysisError(f"{model}: {name} is {value:g}; it must be between 0 and 1")
