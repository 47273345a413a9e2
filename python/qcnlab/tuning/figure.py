"""The figure of a search: the scores of its trials, or the front of several objectives."""

from __future__ import annotations

import math
import textwrap
from itertools import combinations
from statistics import median
from typing import TYPE_CHECKING, Literal, Protocol

from matplotlib.ticker import MaxNLocator, NullFormatter

from qcnlab import catalogue
from qcnlab.figures.notebook import ShownFigure
from qcnlab.figures.plots import FAINT, SOURCES, TITLE, style
from qcnlab.printing import text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from qcnlab.tuning.goals import Constraint, Objective
    from qcnlab.tuning.trial import Trial

WIDE = 20.0
"""An axis is logarithmic if its largest score is more than so many times the median."""
CLOSE = 0.05
"""Numbers of trials nearer than this share of both axes would stand on each other."""
ACROSS = 3
"""So many pairs of objectives stand beside each other."""
ABOUT = 100
"""Characters in a line of the words above the axes."""


class Trials(Protocol):
    """What is drawn of a search."""

    @property
    def objectives(self) -> Sequence[Objective]:
        """What is made small or large."""

    @property
    def constraints(self) -> Sequence[Constraint]:
        """The bounds that are kept."""

    @property
    def baseline(self) -> Trial:
        """The scenario as it is."""

    @property
    def trials(self) -> list[Trial]:
        """The trials in order."""

    @property
    def front(self) -> list[Trial]:
        """The trials that no other one beats."""


def tuning_figure(tuned: Trials, name: str, searched: str) -> Figure:
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


def _over_trials(plane: Axes, tuned: Trials) -> None:
    trials = _finite(tuned)
    _marks(plane, tuned, lambda trial: (trial.number, trial.scores[0]))
    line = _best(tuned, trials)
    if line:
        across, up = zip(*line, strict=True)
        plane.plot(
            across, up, color=SOURCES[1], lw=1.2, label="best so far", drawstyle="steps-post"
        )
    plane.set_xlabel("trial")
    plane.xaxis.set_major_locator(MaxNLocator(integer=True))
    _score_axis(plane, "y", tuned, 0)
    if trials:
        plane.legend(loc="best")


def _one_over_other(plane: Axes, tuned: Trials, pair: tuple[int, int]) -> None:
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
    _numbered(plane, tuned, pair)
    _score_axis(plane, "x", tuned, across)
    _score_axis(plane, "y", tuned, up)
    if _finite(tuned):
        plane.legend(loc="best")


def _numbered(plane: Axes, tuned: Trials, pair: tuple[int, int]) -> None:
    """Write the numbers of trials beside the front, where they do not stand on each other."""
    scores = [trial.scores for trial in _finite(tuned)]
    if not scores:
        return
    spans = [max(each[i] for each in scores) - min(each[i] for each in scores) for i in pair]
    # On the side where no trial is better.
    across, up = (-3.0 if tuned.objectives[i].smallest else 3.0 for i in pair)
    told: list[tuple[float, ...]] = []
    for trial in tuned.front:
        at = tuple(trial.scores[i] for i in pair)
        close = any(
            all(abs(a - b) < CLOSE * span for a, b, span in zip(at, other, spans, strict=True))
            for other in told
        )
        if trial.number and not close:
            told.append(at)
            plane.annotate(
                str(trial.number), (at[0], at[1]), (across, up),
                textcoords="offset points", fontsize=7, color=FAINT,
                ha="right" if across < 0 else "left", va="top" if up < 0 else "bottom",
            )  # fmt: skip


def _score_axis(plane: Axes, which: Literal["x", "y"], tuned: Trials, number: int) -> None:
    """Name an axis, make it logarithmic if scores span decades, and write out its numbers."""
    axis = plane.xaxis if which == "x" else plane.yaxis
    axis.set_label_text(_axis(tuned.objectives[number]))
    scores = [trial.scores[number] for trial in _finite(tuned)]
    if scores and min(scores) > 0 and max(scores) > WIDE * median(scores):
        (plane.set_xscale if which == "x" else plane.set_yscale)("log")
        axis.set_minor_formatter(NullFormatter())
    axis.set_major_formatter(lambda value, _: text.number(value))


def _finite(tuned: Trials) -> list[Trial]:
    return [t for t in (tuned.baseline, *tuned.trials) if all(map(math.isfinite, t.scores))]


def _marks(plane: Axes, tuned: Trials, at: Callable[[Trial], tuple[float, float]]) -> None:
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


def _best(tuned: Trials, trials: list[Trial]) -> list[tuple[float, float]]:
    """Return the best score so far, by trial, to the last trial."""
    [objective] = tuned.objectives
    best: list[tuple[float, float]] = []
    for trial in trials:
        if trial.kept and (not best or objective.better(trial.scores[0], best[-1][1])):
            best.append((trial.number, trial.scores[0]))
    return [*best, (len(tuned.trials), best[-1][1])] if best else []


def _axis(objective: Objective) -> str:
    known = next(each for each in catalogue.metrics() if each.name == objective.metric)
    return str(known.title) + (f" ({known.unit})" if known.unit else "")
