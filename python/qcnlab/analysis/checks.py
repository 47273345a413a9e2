"""Checks of a model's values."""

from __future__ import annotations

import math

from qcnlab._core import AnalysisError


def above_zero(model: str, **values: float) -> None:
    """Raise `AnalysisError` for the first value that is not a finite number above 0."""
    for name, value in values.items():
        if not (value > 0 and math.isfinite(value)):
            raise AnalysisError(f"{model}: {name} is {value:g}; it must be above 0")


def not_negative(model: str, **values: float) -> None:
    """Raise `AnalysisError` for the first value that is not a finite number of 0 or more."""
    for name, value in values.items():
        if not (value >= 0 and math.isfinite(value)):
            raise AnalysisError(f"{model}: {name} is {value:g}; it must be 0 or more")


def probability(model: str, **values: float) -> None:
    """Raise `AnalysisError` for the first value that is not strictly between 0 and 1."""
    for name, value in values.items():
        if not 0 < value < 1:
            raise AnalysisError(f"{model}: {name} is {value:g}; it must be between 0 and 1")
