"""The figure of advice: regrets by case, and what a change of one setting costs."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING

from qcnlab.advising.terms import AS_IS, GOOD, ROBUST
from qcnlab.figures.notebook import ShownFigure
from qcnlab.figures.plots import FAINT, SOURCES, TITLE, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from qcnlab.advising.candidates import Candidates

PERCENT = 100
HEIGHT = 0.38


def advice_figure(advice: Candidates) -> Figure:
    """Draw regrets by case on the left, and neighbours of the robust settings on the right."""
    tall = max(len(advice.cases), len({key for key, _ in advice.around}))
    with style():
        figure = ShownFigure(figsize=(9.6, 1.8 + 0.5 * tall), layout="constrained")
        left, right = figure.subplots(1, 2)
        _regrets(left, advice)
        _neighbours(right, advice)
        goal = advice.objective
        verb = "minimize" if goal.smallest else "maximize"
        title = f"{advice.known['name']}: {verb} {goal.metric}"
        figure.suptitle(textwrap.fill(title, TITLE), x=0.01, ha="left")
    return figure


def _regrets(plane: Axes, advice: Candidates) -> None:
    names = [case.name for case in advice.cases]
    chosen = ((0, AS_IS), (advice.robust, ROBUST)) if advice.robust else ((0, AS_IS),)
    for offset, (number, label) in enumerate(chosen):
        known = [PERCENT * each for each in advice.regrets.of[number]]
        at = [index + (offset - 0.5) * HEIGHT for index in range(len(names))]
        heights = [each if math.isfinite(each) else 0.0 for each in known]
        plane.barh(at, heights, HEIGHT, color=SOURCES[1 - offset], label=label)
        for y, each in zip(at, known, strict=True):
            words = f" {each:.3g} %" if math.isfinite(each) else " no value"
            plane.text(each if math.isfinite(each) else 0.0, y, words, va="center", fontsize=7)
    plane.set_yticks(range(len(names)), names)
    plane.invert_yaxis()
    plane.margins(x=0.18)
    plane.set_xlabel("regret against the case's own best (%)")
    plane.set_title("by case", color=FAINT, fontsize=8)
    plane.legend(loc="best")


def _neighbours(plane: Axes, advice: Candidates) -> None:
    keys = list(dict.fromkeys(key for key, _ in advice.around))
    base = PERCENT * advice.regrets.worst(advice.robust)
    if not keys or not math.isfinite(base):
        plane.set_axis_off()
        plane.text(0.0, 0.5, "neighbours were not run", color=FAINT, transform=plane.transAxes)
        return
    plane.axvspan(0.0, base + PERCENT * GOOD, color=SOURCES[2], alpha=0.12, lw=0)
    plane.axvline(base, color=SOURCES[0], lw=1.2, label=ROBUST)
    seen: set[str] = set()
    for key, trial in advice.around:
        worst = advice.worst_of(trial)
        # Half stands above the mark and double below, since both may give the same.
        up, edge = (-4, "top") if key in seen else (4, "bottom")
        seen.add(key)
        if trial.refused is None and math.isfinite(worst):
            face = SOURCES[0] if trial.kept else "white"
            at = (PERCENT * worst, keys.index(key))
            plane.plot(*at, marker="o", ms=4, mec=SOURCES[0], mfc=face, ls="none")
            plane.annotate(
                trial.values[key], at, (0, up), textcoords="offset points", fontsize=6,
                ha="center", va=edge, color=FAINT,
            )  # fmt: skip
    plane.set_yticks(range(len(keys)), keys)
    plane.invert_yaxis()
    plane.margins(0.12)
    plane.set_xlabel("largest regret with one setting changed (%)")
    plane.set_title(
        f"how flat: half and double; shaded: {PERCENT * GOOD:g} points", color=FAINT, fontsize=8
    )
