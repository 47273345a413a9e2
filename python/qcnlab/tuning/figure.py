"""The figure of a search: the scores of its trials, or the front of several objectives."""

from __future__ import annotations

import math
import textwrap
from itertools import combinations
from typing import TYPE_CHECKING

from qcnlab import catalogue, text
from qcnlab.notebook import ShownFigure
from qcnlab.plots import FAINT, SOURCES, TITLE, style

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from qcnlab.tuning.goals import Objective
    from qcnlab.tuning.result import Trial, Tuning

ACROSS = 3
"""So many pairs of objectives stand beside each other."""
ABOUT = 100
"""Characters in a line of the words above the axes."""


def tuning_figure(tuned: Tuning, name: str, searched: str) -> Figure:
    """Draw the scores over the trials, or each objective over each other one."""
    pairs = list(combinations(range(len(tuned.objectives)), 2))
    rows = max(1, -(-len(pairs) // ACROSS))
    across = -(-max(1, len(pairs)) // rows)
    with style():
        size = (6.4, 4.0) if rows * across == 1 else (4.0 * across, 3.4 * rows)
        figure = ShownFigure(figsize=size, layout="constrained")
        planes = figure.subplots(rows, across, squeeze=False).flat
        if not pairs:
            _over_trials(next(planes), tuned)
        for pair in pairs:
            _one_over_other(next(planes), tuned, pair)
        figure.suptitle(textwrap.fill(name, TITLE), x=0.01, ha="left")
        words = textwrap.fill(searched, ABOUT * across)
        if len(pairs) < 2:
            figure.axes[0].set_title(words, color=FAINT, fontsize=8)
        else:
            figure.supxlabel(words, color=FAINT, fontsize=8)
    return figure


def _over_trials(plane: Axes, tuned: Tuning) -> None:
    trials = _finite(tuned)
    _marks(plane, tuned, lambda trial: (trial.number, trial.scores[0]))
    line = _best(tuned, trials)
    if line:
        across, up = zip(*line, strict=True)
        plane.plot(
            across, up, color=SOURCES[1], lw=1.2, label="best so far", drawstyle="steps-post"
        )
    plane.set_xlabel("trial")
    _score_axis(plane, tuned, 0, trials)


def _one_over_other(plane: Axes, tuned: Tuning, pair: tuple[int, int]) -> None:
    across, up = pair
    _marks(plane, tuned, lambda trial: (trial.scores[across], trial.scores[up]))
    front = [(trial.scores[across], trial.scores[up]) for trial in tuned.front]
    if front and len(tuned.objectives) == 2:
        plane.plot(*zip(*front, strict=True), color=SOURCES[1], lw=1.2, label="front")
    elif front:
        # Seen from one side the front of three is no line.
        plane.plot(
            *zip(*front, strict=True),
            ls="none", marker="o", ms=7, mfc="none", mec=SOURCES[1], label="front",
        )  # fmt: skip
    plane.set_xlabel(_axis(tuned.objectives[across]))
    _score_axis(plane, tuned, up, _finite(tuned))


def _score_axis(plane: Axes, tuned: Tuning, number: int, trials: list[Trial]) -> None:
    plane.set_ylabel(_axis(tuned.objectives[number]))
    up = tuple(trial.scores[number] for trial in trials)
    if up and min(up) > 0 and max(up) > 20 * min(up):
        plane.set_yscale("log")
    else:
        plane.yaxis.set_major_formatter(lambda value, _: text.number(value))
    if trials:
        plane.legend(loc="best")


def _finite(tuned: Tuning) -> list[Trial]:
    return [t for t in (tuned.baseline, *tuned.trials) if all(map(math.isfinite, t.scores))]


def _marks(plane: Axes, tuned: Tuning, at: Callable[[Trial], tuple[float, float]]) -> None:
    """Mark the trials, hollow where bounds are not kept, and the scenario as it is."""
    full = "bounds kept" if tuned.constraints else "trial"
    for kept, face, words in ((True, SOURCES[0], full), (False, "white", "bounds not kept")):
        marked = [at(trial) for trial in _finite(tuned) if trial.number and trial.kept == kept]
        if marked:
            plane.plot(
                *zip(*marked, strict=True),
                ls="none", marker="o", ms=4, mec=SOURCES[0], mfc=face, label=words,
            )  # fmt: skip
    for trial in _finite(tuned)[:1]:
        if trial.number == 0:
            plane.plot(*at(trial), "D", ms=7, mfc="none", mec="black", label="as it is")


def _best(tuned: Tuning, trials: list[Trial]) -> list[tuple[float, float]]:
    """Return the best score so far, by trial, to the last trial."""
    [objective] = tuned.objectives
    best: list[tuple[float, float]] = []
    for trial in trials:
        if trial.kept and (not best or objective.better(trial.scores[0], best[-1][1])):
            best.append((trial.number, trial.scores[0]))
    return [*best, (len(tuned.trials), best[-1][1])] if best else []


def _axis(objective: Objective) -> str:
    known = next(each for each in catalogue.metrics() if each["name"] == objective.metric)
    return str(known["title"]) + (f" ({known['unit']})" if known["unit"] else "")
