"""What is told of candidates, and how numbers are written."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from qcnlab.sweeps.grid import quantity

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

GOOD = 0.05
"""A trial is as good as the robust one if its largest regret is larger by at most this."""
AS_IS, ROBUST = "as it is", "robust"


def ends_of(values: Sequence[str]) -> list[str]:
    """Return the least and the largest of values as people write them."""
    ordered = sorted(set(values), key=_sort_key)
    return [ordered[0], ordered[-1]]


def _sort_key(value: str) -> tuple[int, float, str]:
    known = quantity(value)
    if known is not None:
        return (0, known[0], "")
    try:
        return (0, float(value), "")
    except ValueError:
        return (1, 0.0, value)


def shown(settings: Mapping[str, str], key: str) -> str:
    """Return a value for a table: whole numbers with commas.

    Parameters
    ----------
    settings : mapping of str to str
        As `Space.words` returns them.
    key : str
        One of them.
    """
    value = settings[key]
    return f"{int(value):,}" if value.isdecimal() else value


def percent(regret: float) -> str:
    """Return a regret as people say it.

    >>> percent(0.123), percent(float("inf")), percent(4.5)
    ('12 %', 'no value', '450 %')
    """
    if not math.isfinite(regret):
        return "no value"
    return f"{100 * regret:.2g} %" if regret < 1 else f"{100 * regret:.0f} %"
