"""The figure of a search: the scores of its trials, or the front of two objectives."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING

from qcnlab import catalogue, text
from qcnlab.notebook import ShownFigure
from qcnlab.plots import FAINT, SOURCES, TITLE, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from qcnlab.tuning.goals import Objective
    from qcnlab.tuning.result import Trial, Tuning

ABOUT = 100
"""Characters in a line of the words above the axes."""


def tuning_figure(tuned: Tuning, name: str, searched: str) -> Figure:
    """Draw the scores over the trials, or one objective over the other."""
    trials = [t for t in (tuned.baseline, *tuned.trials) if all(map(math.isfinite, t.scores))]
    two = len(tuned.objectives) == 2
    with style():
        figure = ShownFigure(figsize=(6.4, 4.0), layout="constrained")
        plane = figure.subplots()
        full = "bounds kept" if tuned.constraints else "trial"
        for kept, face, words in ((True, SOURCES[0], full), (False, "white", "bounds not kept")):
            _marks(plane, [t for t in trials if t.number and t.kept == kept], two, face, words)
        if trials and trials[0].number == 0:
            at = (trials[0].scores[0] if two else 0, trials[0].scores[-1])
            plane.plot(*at, "D", ms=7, mfc="none", mec="black", label="as it is")
        line = [(t.scores[0], t.scores[1]) for t in tuned.front] if two else _best(tuned, trials)
        if line:
            across, up = zip(*line, strict=True)
            steps = "default" if two else "steps-post"
            label = "front" if two else "best so far"
            plane.plot(across, up, color=SOURCES[1], lw=1.2, label=label, drawstyle=steps)
        plane.set_xlabel(_axis(tuned.objectives[0]) if two else "trial")
        plane.set_ylabel(_axis(tuned.objectives[-1]))
        up = tuple(trial.scores[-1] for trial in trials)
        if up and min(up) > 0 and max(up) > 20 * min(up):
            plane.set_yscale("log")
        else:
            plane.yaxis.set_major_formatter(lambda value, _: text.number(value))
        if trials:
            plane.legend(loc="best")
        figure.suptitle(textwrap.fill(name, TITLE), x=0.01, ha="left")
        plane.set_title(textwrap.fill(searched, ABOUT), color=FAINT, fontsize=8)
    return figure


def _marks(plane: Axes, trials: list[Trial], two: bool, face: str, words: str) -> None:
    if not trials:
        return
    plane.plot(
        [trial.scores[0] if two else trial.number for trial in trials],
        [trial.scores[-1] for trial in trials],
        ls="none",
        marker="o",
        ms=4,
        mec=SOURCES[0],
        mfc=face,
        label=words,
    )


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
