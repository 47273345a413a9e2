"""Models behind rows of theory: from parameters to named numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from qcnlab.analysis import Dcqcn, LagLoop, Timely

MEASURES = {
    "stable": "1 if the closed loop is stable, else 0.",
    "critical_ratio": "Delay by lag at which the loop turns unstable; infinite if never.",
    "overshoot": "Overshoot of the step response as a share of its final value.",
    "share_hot": "Fair share of a hot flow, Gb/s.",
    "share_cold": "Fair share of a cold flow, Gb/s.",
    "phase_margin": "Phase margin of the published linear loop, degrees.",
}
"""The numbers that models return, with their meaning."""


def numbers(changes: Sequence[str], names: Sequence[str]) -> dict[str, float]:
    """Return `name=value` settings as numbers; raises `ValueError` for any other text."""
    settings: dict[str, float] = {}
    for change in changes:
        name, _, value = change.partition("=")
        if name not in names:
            raise ValueError(f"'{name}' is none of {', '.join(names)}")
        settings[name] = float(value)
    return settings


def loop_of(changes: Sequence[str]) -> LagLoop:
    """Return deck 004's loop of a lag and a delay: `gain`, `lag`, `delay`, `w` (0: no lead)."""
    from qcnlab.analysis import LagLoop

    values = numbers(changes, ("gain", "lag", "delay", "w"))
    w = values.get("w", 0.0)
    form: Literal["lead", "lag"] = "lead" if w else "lag"
    return LagLoop(values["gain"], values["lag"], values["delay"], w, form=form, time_unit="")


def lag_loop(changes: Sequence[str]) -> dict[str, float]:
    """Return stability, critical delay and overshoot of the loop of `loop_of`."""
    loop = loop_of(changes)
    critical = loop.critical_ratio()
    stable = loop.margins().stable
    return {
        "stable": float(stable),
        "critical_ratio": math.inf if critical is None else critical,
        "overshoot": float(loop.step().overshoot) if stable else math.inf,
    }


def parking_lot(changes: Sequence[str]) -> dict[str, float]:
    """Return the fair shares of deck 004's parking lot.

    `rate` (Gb/s) of each of two links, `hot` flows over both and one cold flow over each;
    `proportional` 0 for max-min shares, 1 for those that make the sum of logarithms largest.
    """
    values = {"rate": 10.0, "hot": 4.0, "proportional": 0.0}
    values |= numbers(changes, tuple(values))
    rate, hot = values["rate"], values["hot"]
    # Max-min: both links are shared by all that cross them. Proportional: a hot flow pays the
    # price 1/cold of both links, so hot = cold / 2, and hot flows and a cold one fill a link.
    share = rate / (hot + 2.0) if values["proportional"] else rate / (hot + 1.0)
    return {"share_hot": share, "share_cold": rate - hot * share}


def dcqcn_of(changes: Sequence[str]) -> Dcqcn:
    """Return DCQCN's published loop: `sources`, `delay_us`."""
    from qcnlab.analysis import Dcqcn

    values = numbers(changes, ("sources", "delay_us"))
    return Dcqcn(sources=int(values["sources"]), delay_s=values["delay_us"] * 1e-6)


def dcqcn_margin(changes: Sequence[str]) -> dict[str, float]:
    """Return the phase margin of the loop of `dcqcn_of`.

    Of published curves that go on where nothing rests, the formal one.
    """
    return {"phase_margin": _degrees(dcqcn_of(changes).margins(formal=True).phase_margin_deg)}


def timely_of(changes: Sequence[str]) -> Timely:
    """Return patched TIMELY's published loop: `sources`, no propagation."""
    from qcnlab.analysis import Timely

    values = numbers(changes, ("sources",))
    return Timely(sources=int(values["sources"]), propagation_s=0.0)


def timely_margin(changes: Sequence[str]) -> dict[str, float]:
    """Return the phase margin of the loop of `timely_of`."""
    return {"phase_margin": _degrees(timely_of(changes).margins().phase_margin_deg)}


def _degrees(margin: float | None) -> float:
    return math.inf if margin is None else margin


MODELS: dict[str, Callable[[Sequence[str]], dict[str, float]]] = {
    "dcqcn_margin": dcqcn_margin,
    "lag_loop": lag_loop,
    "parking_lot": parking_lot,
    "timely_margin": timely_margin,
}
"""Every model by name."""

CHECKS: dict[str, Callable[[Sequence[str]], object]] = {
    "dcqcn_margin": dcqcn_of,
    "lag_loop": loop_of,
    "timely_margin": timely_of,
}
"""What refuses a model's settings as the model does, where its numbers take long."""
