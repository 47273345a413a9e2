"""Values that callers give: numbers and arrays of any library become Python's own types."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from os import PathLike, fspath
from typing import Any

from qcnlab.errors import scenario_error

MOST_REPS, MOST_JOBS, MOST_SEED = 1_000_000, 1024, 2**64 - 1
"""The highest replications, threads and seed that a run takes."""


def within(name: str, value: object, low: int, high: int) -> int | None:
    """Return a whole number from `low` to `high` as an `int`; `None` stays.

    Raises `TypeError` for what is no whole number, `ValueError` for one out of range.

    >>> within("reps", 5, 1, 10)
    5
    >>> within("reps", 2.5, 1, 10)
    Traceback (most recent call last):
        ...
    TypeError: reps is 2.5; it must be a whole number
    """
    if value is None:
        return None
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{name} is {value!r}; it must be a whole number") from None
    if not low <= number <= high:
        raise ValueError(f"{name} is {number}; it must be from {low} to {high}")
    return number


def plain(key: str, value: object) -> Any:
    """Return the value of a scenario's key as text, `bool`, `int`, `float`, lists and dicts.

    Takes scalars and arrays of numpy and whatever has `tolist`, numbers such as fractions, and
    paths. Raises `ScenarioError` that names `key` for `None` and everything else.

    >>> from fractions import Fraction
    >>> plain("scheme.cp.w", (2, Fraction(1, 2)))
    [2, 0.5]
    """
    if isinstance(value, str | bool):
        return str(value) if isinstance(value, str) else value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    if isinstance(value, Mapping):
        return {str(name): plain(f"{key}.{name}", each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(key, each) for each in value]
    if isinstance(value, PathLike):
        return str(fspath(value))
    unpacked = getattr(value, "tolist", None)
    if callable(unpacked):
        return plain(key, unpacked())
    hint = "leave the key out for its default" if value is None else None
    raise scenario_error(f"'{key}' is {_named(value)}, which no scenario has", hint=hint)


def several(key: str, values: object) -> list[Any]:
    """Return the values of a key that varies, each as `plain` does.

    Raises `ScenarioError` for a single value, which may be text.
    """
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise scenario_error(
            f"'{key}' is varied over {_named(values)}", hint=f"give a list: {{{key!r}: [...]}}"
        )
    return [plain(key, value) for value in values]


def _named(value: object) -> str:
    if value is None or isinstance(value, str | bool | int | float):
        return repr(value)
    return f"of type {type(value).__name__}"
