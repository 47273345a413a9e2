"""Times as people read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from qcnlab.runs.contention import MinMeanMax


def span(seconds: float, unit: str = "s") -> str:
    """Return a time as text: 284.2 us, 15 ms; in `unit` as it is where that is not s.

    >>> span(0.00028424), span(0.015), span(19, "")
    ('284.2 us', '15 ms', '19')
    """
    if unit != "s":
        return f"{seconds:.4g} {unit}".rstrip()
    for factor, word in ((1e6, "us"), (1e3, "ms")):
        if abs(seconds) * factor < 1000:
            return f"{seconds * factor:.4g} {word}"
    return f"{seconds:.4g} s"


def spans(times: MinMeanMax) -> str:
    """Return times, s, as text from the least to the largest."""
    return f"{span(times.min)} to {span(times.max)}"
