"""Models that rows of theory ask: parameters in, named numbers out."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from qcnlab.analysis import LagLoop

MEASURES = {
    "stable": "1 if the closed loop is stable, else 0.",
    "critical_ratio": "Delay by lag at which the loop turns unstable; infinite if never.",
    "overshoot": "Overshoot of the step response as a share of its final value.",
    "share_hot": "Fair share of a hot flow, Gb/s.",
    "share_cold": "Fair share of a cold flow, Gb/s.",
}
"""What a model may answer."""


def numbers(changes: Sequence[str], names: Sequence[str]) -> dict[str, float]:
    """Read `name=value` settings; raises `ValueError` for another name or no number."""
    found: dict[str, float] = {}
    for change in changes:
        name, _, value = change.partition("=")
        if name not in names:
            raise ValueError(f"'{name}' is none of {', '.join(names)}")
        found[name] = float(value)
    return found


def loop_of(changes: Sequence[str]) -> LagLoop:
    """Give deck 004's loop of a lag and a delay: `gain`, `lag`, `delay`, `w` (0: no lead)."""
    from qcnlab.analysis import LagLoop

    given = numbers(changes, ("gain", "lag", "delay", "w"))
    w = given.get("w", 0.0)
    form: Literal["lead", "lag"] = "lead" if w else "lag"
    return LagLoop(given["gain"], given["lag"], given["delay"], w, form=form, time_unit="")


def lag_loop(changes: Sequence[str]) -> dict[str, float]:
    """Stability, critical delay and overshoot of `loop_of` the same."""
    loop = loop_of(changes)
    critical = loop.critical_ratio()
    stable = loop.margins().stable
    return {
        "stable": float(stable),
        "critical_ratio": math.inf if critical is None else critical,
        "overshoot": float(loop.step().overshoot) if stable else math.inf,
    }


def parking_lot(changes: Sequence[str]) -> dict[str, float]:
    """Fair shares of deck 004's parking lot.

    `rate` (Gb/s) of each of two links, `hot` flows over both and one cold flow over each;
    `proportional` 0 for max-min shares, 1 for those that make the sum of logarithms largest.
    """
    given = {"rate": 10.0, "hot": 4.0, "proportional": 0.0}
    given |= numbers(changes, tuple(given))
    rate, hot = given["rate"], given["hot"]
    # Max-min: both links are shared by all that cross them. Proportional: a hot flow pays the
    # price 1/cold of both links, so hot = cold / 2, and hot flows and a cold one fill a link.
    share = rate / (hot + 2.0) if given["proportional"] else rate / (hot + 1.0)
    return {"share_hot": share, "share_cold": rate - hot * share}


MODELS: dict[str, Callable[[Sequence[str]], dict[str, float]]] = {
    "lag_loop": lag_loop,
    "parking_lot": parking_lot,
}
"""Every model by name."""
