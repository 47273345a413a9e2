"""What a search gave: its trials, the best of them, a table and a figure."""

from __future__ import annotations

import shlex
from itertools import product
from typing import TYPE_CHECKING

from qcnlab.errors import MissingPackage, ScenarioError, scenario_error
from qcnlab.printing import text
from qcnlab.runs import intervals
from qcnlab.sweeps.grid import read
from qcnlab.tuning.goals import Constraint, Objective
from qcnlab.tuning.space import in_words
from qcnlab.tuning.trial import Trial

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from matplotlib.figure import Figure

    from qcnlab.runs.intervals import Interval
    from qcnlab.tuning.trial import Search


MOST_DRAWN = 4
"""So many objectives are drawn, each over each other one."""


class Tuning:
    """All trials of a search. Comes from `qcnlab.tune`.

    Examples
    --------
    >>> import qcnlab
    >>> scenario = qcnlab.load("one-source-into-9g-rtt10us").with_("duration=10 ms", "warmup=1 ms")
    >>> tuned = qcnlab.tune(
    ...     scenario, vary={"scheme.cp.w": "0.5..8.0"}, minimize="queue_std_bytes", trials=3, reps=1
    ... )
    >>> tuned
    <Tuning one-source-into-9g-rtt10us: 3 trials>
    >>> tuned.baseline.values, sorted(tuned.best.metrics)
    ({}, ['queue_std_bytes'])
    """

    def __init__(
        self,
        known: Search,
        objectives: Sequence[Objective],
        constraints: Sequence[Constraint],
        trials: Sequence[Trial],
    ) -> None:
        self._known = known
        self._trials = list(trials)
        self.objectives = tuple(objectives)
        """What is made small or large."""
        self.constraints = tuple(constraints)
        """What is kept."""
        self.again: dict[int, Trial] = {}
        """Of one objective the baseline and the best trial with the next seed, by number.

        The best of many trials is partly luck with its random numbers; this is without.
        """

    @property
    def baseline(self) -> Trial:
        """The scenario as it is."""
        return self._trials[0]

    @property
    def trials(self) -> list[Trial]:
        """All trials, in their order, without the baseline."""
        return self._trials[1:]

    @property
    def front(self) -> list[Trial]:
        """The trials that keep all bounds and that no other one beats in every objective.

        With one objective this is the best trial; of equal ones the first.
        """
        kept = [trial for trial in self._trials if trial.kept]
        front = [one for one in kept if not any(self._beats(other, one) for other in kept)]
        return sorted(front, key=lambda trial: trial.scores)

    @property
    def best(self) -> Trial:
        """The best trial of one objective.

        Raises `ScenarioError` if no trial keeps all bounds, or where there are several objectives.
        """
        if len(self.objectives) > 1:
            raise scenario_error("several objectives have no best trial", hint="front has them all")
        if not self.front:
            raise scenario_error("no trial keeps all bounds", hint="more trials, or wider bounds")
        return self.front[0]

    @property
    def conditions(self) -> list[str]:
        """The conditions in words, `topology.rtt=10 us`; one empty text without any."""
        texts = [f"{key}={value}" for key, value in self._known["over"].items()]
        values = read(texts, "--over")
        named = [[f"{key}={value}" for value in each] for key, each in values.items()]
        return [", ".join(each) for each in product(*named)]

    def differences(
        self, trial: Trial, metric: str, level: float = intervals.LEVEL
    ) -> list[Interval]:
        """Return by how much a trial's metric exceeds that of the scenario as it is.

        The two are compared replication by replication, which meet the same random numbers; with
        the next seed where both were run with it (`again`).

        Parameters
        ----------
        trial : Trial
            One of `trials` that was not refused.
        metric : str
            One of an objective or a bound.
        level : float, default 0.95
            The confidence level.

        Returns
        -------
        list of Interval
            One for each condition.

        Raises
        ------
        ScenarioError
            Of a trial that was refused, and of another metric.
        MissingPackage
            Without scipy.
        """
        both = {0, trial.number} <= self.again.keys()
        one, base = (self.again[trial.number], self.again[0]) if both else (trial, self.baseline)
        if metric not in one.metrics or metric not in base.metrics:
            raise scenario_error(f"trial {trial.number} has no metric '{metric}'")
        pairs = zip(one.metrics[metric], base.metrics[metric], strict=True)
        return [intervals.difference_interval(a, b, level) for a, b in pairs]

    def command(self, trial: Trial) -> str:
        """Return the command that runs a trial again.

        Parameters
        ----------
        trial : Trial
            One of `trials`, or `baseline`.

        Returns
        -------
        str
            `qcnlab sweep` over the conditions, or `qcnlab run` if there are none.
        """
        known = self._known
        over = [
            word for key, value in known["over"].items() for word in ("--vary", f"{key}={value}")
        ]
        if over:
            metrics = [each.metric for each in self.objectives]
            metrics += [each.metric for each in self.constraints]
            over += [word for metric in dict.fromkeys(metrics) for word in ("--metric", metric)]
        changes = [*known["changes"], *(f"{key}={value}" for key, value in trial.values.items())]
        return shlex.join(
            [
                "qcnlab",
                "sweep" if over else "run",
                known["scenario"],
                *(word for change in changes for word in ("-s", change)),
                *over,
                *("--reps", str(known["replications"]), "--seed", str(known["seed"])),
            ]
        )

    def to_polars(self) -> pl.DataFrame:
        """Return a row for each trial.

        Returns
        -------
        polars.DataFrame
            `trial` (0 is the scenario as it is), the keys, a column for each objective, `kept`,
            `violation`, `refused`, and `command`, which runs the trial again.
        """
        import polars as pl

        keys = list(self._known["space"])
        rows = [
            {
                "trial": trial.number,
                **{key: trial.values.get(key) for key in keys},
                **{
                    objective.metric: score if trial.refused is None else None
                    for objective, score in zip(self.objectives, trial.scores, strict=True)
                },
                "kept": trial.kept,
                "violation": trial.violation if trial.refused is None else None,
                "refused": trial.refused,
                "command": self.command(trial),
            }
            for trial in self._trials
        ]
        return pl.DataFrame(rows, infer_schema_length=None)

    def text(self) -> str:
        """Return the baseline and the best trials as a table, and the commands that run them.

        Returns
        -------
        str
            Lines without spaces at their ends.
        """
        known = self._known
        keys = list(known["space"])
        front, nearest = self.front, self._nearest()
        shown = [self.baseline, *(trial for trial in front or [nearest] if trial.number)]
        rows = [
            [
                str(trial.number) if trial.number else "as it is",
                *(trial.values.get(key, "") for key in keys),
                *(text.number(score) for score in trial.scores),
                *(["yes" if trial.kept else "no"] if self.constraints else []),
                *([text.number(self.again[trial.number].scores[0])] if self.again else []),
            ]
            for trial in shown
        ]
        header = ["trial", *keys, *(each.metric for each in self.objectives)]
        header += ["bounds kept"] if self.constraints else []
        header += [f"with seed {known['seed'] + 1}"] if self.again else []
        runs = known["conditions"] * known["replications"]
        goal = ", ".join(
            f"{'minimize' if each.smallest else 'maximize'} {each.metric}"
            for each in self.objectives
        )
        bounds = ", ".join(map(str, self.constraints))
        lines = [
            f"{known['name']}: {goal}{f', subject to {bounds}' if bounds else ''}",
            f"{text.counted(len(self.trials), 'trial')}, {text.counted(runs, 'run')} each: "
            f"{text.counted(known['conditions'], 'condition')}, "
            f"{text.counted(known['replications'], 'replication')}, seed {known['seed']}; "
            f"a score is the {'mean' if known['mean'] else 'worst'} of the conditions' medians",
            "",
            text.table(header, rows, left=1 + len(keys)),
            "",
        ]
        if not front:
            lines += [f"No trial keeps all bounds. {self._missed(nearest)}", ""]
        elif front == [self.baseline]:
            lines += ["No trial beats the scenario as it is.", ""]
        if refused := [trial for trial in self.trials if trial.refused is not None]:
            lines += [
                f"{text.counted(len(refused), 'trial')} of {len(self.trials)} cannot be run; "
                f"trial {refused[0].number}:",
                *(f"  {line}" for line in str(refused[0].refused).rstrip().splitlines()),
                "",
            ]
        lines += [self.command(trial) for trial in shown[1:]]
        if self.again and shown[1:]:
            lines += ["", *self._told(shown[1])]
        return "\n".join(lines).rstrip("\n")

    def _nearest(self) -> Trial:
        """Return the trial, or the scenario as it is, that exceeds its bounds least."""
        ran = [trial for trial in self._trials if trial.refused is None]
        return min(ran, key=lambda trial: trial.violation, default=self.baseline)

    def _missed(self, trial: Trial) -> str:
        """Return which bounds a trial does not keep, in words."""
        told = []
        for bound in self.constraints:
            runs = trial.metrics.get(bound.metric, [])
            if bound.violation(runs) > 0:
                worst = bound.worst(runs)
                words = "a run does not have it" if worst is None else text.number(worst)
                told.append(f"{bound}: {words}")
        name = f"Trial {trial.number}" if trial.number else "The scenario as it is"
        return f"{name} comes nearest ({'; '.join(told)})."

    def _told(self, best: Trial) -> list[str]:
        """Return by how much the best trial differs, in words; nothing without scipy."""
        metric = self.objectives[0].metric
        try:
            differences = self.differences(best, metric)
        except (MissingPackage, ScenarioError):
            return []
        seed = self._known["seed"] + 1
        head = (
            f"{metric} of trial {best.number} less that of the scenario as it is, with seed {seed}:"
        )
        conditions = zip(self.conditions, differences, strict=True)
        told = [f"  {name + ': ' if name else ''}{each}" for name, each in conditions]
        return [head, *told, "Median [95 % interval] of the differences of so many pairs of runs."]

    def plot(self) -> Figure:
        """Draw the scores of all trials; of several objectives each over each other, and the front.

        Returns
        -------
        matplotlib.figure.Figure
            It belongs to no window; `figure.savefig(path)` writes it.

        Raises
        ------
        ScenarioError
            Of more than four objectives.
        """
        from qcnlab.tuning.figure import tuning_figure

        if len(self.objectives) > MOST_DRAWN:
            raise scenario_error(f"a figure shows {MOST_DRAWN} objectives at most")
        known = self._known
        searched = in_words(known["space"])
        scores = f"medians of {text.counted(known['replications'], 'run')}"
        if known["conditions"] > 1:
            which = "mean" if known["mean"] else "worst"
            scores = f"{which} of {known['conditions']} conditions, {scores}"
        return tuning_figure(self, known["name"], f"{searched} ({scores})")

    def _beats(self, one: Trial, other: Trial) -> bool:
        """Return whether `one` is better or, if it is as good in all objectives, earlier."""
        if one.scores == other.scores:
            return one.number < other.number
        pairs = list(zip(self.objectives, one.scores, other.scores, strict=True))
        return not any(objective.better(b, a) for objective, a, b in pairs)

    def __repr__(self) -> str:
        """Return scenario and number of trials."""
        return f"<Tuning {self._known['name']}: {text.counted(len(self.trials), 'trial')}>"
