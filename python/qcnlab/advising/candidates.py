"""What a search over cases gave: the robust settings, what they and the present ones cost."""

from __future__ import annotations

import json
import math
import shlex
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from qcnlab.advising.regret import Regrets, regrets
from qcnlab.advising.terms import GOOD, ROBUST, ends_of
from qcnlab.metrics import having, texts
from qcnlab.sweeps.grid import quantity

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import polars as pl

    from qcnlab.advising.cases import Case
    from qcnlab.advising.knobs import Space
    from qcnlab.advising.told import AdviceSummary, ToldCase, ToldSettings
    from qcnlab.api import Scenario
    from qcnlab.tuning.goals import Constraint, Objective
    from qcnlab.tuning.trial import Search, Trial


@dataclass(frozen=True)
class Part:
    """Where the time of a run's slowest flows went.

    Attributes
    ----------
    trial : int
        Whose settings; 0 is the scenario as it is.
    case : str
        Its name.
    flows : int
        How many flows are summed.
    seconds : dict
        `lasted_s`, `sending_s`, `paused_s`, `limited_s` and `rest_s`, summed over the flows.
    sampled : bool
        Whether rates were sampled often enough to know `limited_s` of each.
    pauses : int
        Pauses of the run.
    """

    trial: int
    case: str
    flows: int
    seconds: dict[str, float]
    sampled: bool
    pauses: int

    @property
    def dominates(self) -> str:
        """What took most of the time beyond sending: `pauses`, `marks`, `queue` or `nothing`."""
        parts = {
            "pauses": self.seconds["paused_s"],
            "marks": self.seconds["limited_s"],
            "queue": self.seconds["rest_s"],
        }
        most = max(parts, key=lambda name: parts[name])
        return most if parts[most] > 0 else "nothing"

    def share(self, key: str) -> float | None:
        """Return a part of the time that the flows lasted; `None` without any flow."""
        lasted = self.seconds["lasted_s"]
        return self.seconds[key] / lasted if lasted > 0 else None


def values_of(trial: Trial, objective: Objective, cases: int) -> list[float]:
    """Return a trial's value of the objective in each case; infinite where it has none.

    Parameters
    ----------
    trial : Trial
        The candidate.
    objective : Objective
        What is wanted.
    cases : int
        How many.
    """
    if trial.refused is not None:
        return [math.inf if objective.smallest else -math.inf] * cases
    return [objective.score([one], mean=False) for one in trial.metrics[objective.metric]]


class Candidates:
    """All trials of a search over cases, and the one whose largest regret is least."""

    def __init__(
        self,
        known: Search,
        start: Scenario,
        cases: Sequence[Case],
        lacking: Sequence[tuple[str, str]],
        space: Space,
        objective: Objective,
        constraints: Sequence[Constraint],
        trials: Sequence[Trial],
        folder: Path,
    ) -> None:
        self.known = known
        self.folder = folder
        """What keeps the cases, each trial and the figure."""
        self.start = start
        self.cases = list(cases)
        self.lacking = list(lacking)
        self.space = space
        self.objective = objective
        self.constraints = list(constraints)
        self.trials = list(trials)
        self.around: list[tuple[str, Trial]] = []
        """Neighbours of the robust settings: the key that differs, and the trial."""
        self.again: dict[int, Trial] = {}
        """The scenario as it is and the robust settings with the next seed."""
        self.parts: list[Part] = []
        self.regrets = self._regrets(self.trials)
        kept = [number for number, trial in enumerate(self.trials) if trial.kept]
        ran = [number for number, trial in enumerate(self.trials) if trial.refused is None]
        least = min((self.trials[number].violation for number in ran), default=0.0)
        nearest = [number for number in ran if self.trials[number].violation == least]
        self.kept = bool(kept)
        """Whether any trial keeps all bounds."""
        self.robust = self.regrets.robust(kept or nearest or [0])
        """The number of the robust trial; 0 is the scenario as it is."""

    def _regrets(self, trials: Sequence[Trial]) -> Regrets:
        values = [self.values(trial) for trial in trials]
        eligible = [trial.kept for trial in trials]
        return regrets(values, smallest=self.objective.smallest, eligible=eligible)

    def values(self, trial: Trial) -> list[float]:
        """Return a trial's value of the goal in each case; infinite where a run has none.

        Parameters
        ----------
        trial : Trial
            One of `trials`, or of those around.

        Returns
        -------
        list of float
            In the order of `cases`, in the metric's unit.
        """
        return values_of(trial, self.objective, len(self.cases))

    def worst_of(self, trial: Trial) -> float:
        """Return the largest regret of a trial outside the search, against the same bests.

        Parameters
        ----------
        trial : Trial
            A neighbour of the robust one, say.

        Returns
        -------
        float
            In parts of `regrets.scale` of each case: 0.1 is 10 % worse.
        """
        told = self.regrets
        out = 0.0
        for value, best, scale in zip(self.values(trial), told.best, told.scale, strict=True):
            if best is None:
                continue
            over = value - best if self.objective.smallest else best - value
            out = max(out, math.inf if not math.isfinite(value) else max(over, 0.0) / scale)
        return out

    @property
    def patch(self) -> list[str]:
        """What `-s` sets for the robust settings, without what is so already."""
        changes = self.space.changes(self.trials[self.robust].values)
        return [each for each in changes if not self._so_already(each)]

    def _so_already(self, change: str) -> bool:
        key, _, value = change.partition("=")
        now = json.loads(self.start._core.value(key) or "null")
        if now is None:
            return False
        return quantity(str(now)) == quantity(value) if quantity(value) else str(now) == value

    @property
    def good(self) -> list[int]:
        """Trials that keep all bounds and are nearly as good as the robust one."""
        most = self.regrets.worst(self.robust) + GOOD
        return [
            number
            for number, trial in enumerate(self.trials)
            if trial.kept and self.regrets.worst(number) <= most
        ]

    def command(self, case: Case, *, robust: bool) -> str:
        """Return the command that runs a case again, as it is or with the robust settings.

        Parameters
        ----------
        case : Case
            One of `cases`.
        robust : bool
            With the robust settings.

        Returns
        -------
        str
            A line for a shell.
        """
        known = self.known
        ends = ["--reps", str(known["replications"]), "--seed", str(known["seed"])]
        file = self.folder / ("robust" if robust else "cases") / f"{case.name}.toml"
        return shlex.join(["qcnlab", "run", str(file), *ends])

    @property
    def exports(self) -> list[str]:
        """The commands that write the robust settings as lines to paste."""
        file = shlex.quote(str(self.folder / "robust.toml"))
        tree = self.start.to_dict()
        out = []
        if tree["scheme"]["name"] == "dcqcn":
            out.append(f"qcnlab export mlxconfig {file}")
        if isinstance(tree.get("shared_buffer"), list | dict):
            out.append(f"qcnlab export sonic {file} -o {shlex.quote(str(self.folder / 'sonic'))}")
        return out

    def unfinished(self, number: int) -> list[tuple[str, int]]:
        """Return the cases in which flows did not finish, and how many, if that bounds the goal.

        Parameters
        ----------
        number : int
            Of a trial.

        Returns
        -------
        list of tuple
            Names of cases, and how many flows of each did not finish.
        """
        if self.objective.metric not in texts("at_least_if"):
            return []
        trial = self.trials[number]
        known = [
            (case.name, self.median(trial, "unfinished", index) or 0)
            for index, case in enumerate(self.cases)
        ]
        return [(name, round(count)) for name, count in known if count]

    def to_polars(self) -> pl.DataFrame:
        """Return a row for each trial: what it sets, its value and regret in each case.

        Returns
        -------
        polars.DataFrame
            `trial` (0 is the scenario as it is), what is searched, `CASE METRIC` and `CASE regret`
            for each case, `worst_regret`, `kept` and `refused`.
        """
        import polars as pl

        rows = []
        for number, trial in enumerate(self.trials):
            row: dict[str, object] = {"trial": number, **self.space.words(trial.values)}
            for index, case in enumerate(self.cases):
                row[f"{case.name} {self.objective.metric}"] = _finite(self.values(trial)[index])
                row[f"{case.name} regret"] = _finite(self.regrets.of[number][index])
            row["worst_regret"] = _finite(self.regrets.worst(number))
            rows.append({**row, "kept": trial.kept, "refused": trial.refused})
        return pl.DataFrame(rows, infer_schema_length=None)

    @property
    def summary(self) -> AdviceSummary:
        """All that is told as values for JSON; `None` for what is infinite or missing."""
        good = self.good
        words = [self.space.words(self.trials[number].values) for number in good]
        return {
            "scenario": self.known["scenario"],
            "folder": str(self.folder),
            "goal": {"metric": self.objective.metric, "smallest": self.objective.smallest},
            "bounds": [str(each) for each in self.constraints],
            "bounds_kept": self.kept,
            "trials": len(self.trials) - 1,
            "refused": sum(trial.refused is not None for trial in self.trials),
            "replications": self.known["replications"],
            "seed": self.known["seed"],
            "searched": self.known["space"],
            "not_searched": [{"what": what, "why": why} for what, why in self.space.kept],
            "cases": [self._case(index) for index in range(len(self.cases))],
            "cases_left_out": [{"case": name, "why": why} for name, why in self.lacking],
            "present": self._settings(0),
            "robust": {**self._settings(self.robust), "patch": self.patch},
            "as_good": {
                "within": GOOD,
                "trials": [number for number in good if number],
                "ranges": {key: ends_of([each[key] for each in words]) for key in words[0]}
                if words
                else {},
            },
            "neighbours": [
                {
                    "key": key,
                    "value": trial.values[key],
                    "worst_regret": _finite(self.worst_of(trial)),
                    "kept": trial.kept,
                    "refused": trial.refused,
                }
                for key, trial in self.around
            ],
            "next_seed": {
                "seed": self.known["seed"] + 1,
                "present": [_finite(each) for each in self.values(self.again[0])],
                "robust": [_finite(each) for each in self.values(self.again[self.robust])],
            }
            if self.again
            else None,
            "unfinished": {
                "present": dict(self.unfinished(0)),
                "robust": dict(self.unfinished(self.robust)),
            },
            "dominates": [
                {
                    "trial": part.trial,
                    "case": part.case,
                    "flows": part.flows,
                    "most": part.dominates,
                    "pauses": part.pauses,
                    "rates_sampled": part.sampled,
                    "lasted_s": part.seconds["lasted_s"],
                    "sending_s": part.seconds["sending_s"],
                    "paused_s": part.seconds["paused_s"],
                    "limited_s": part.seconds["limited_s"],
                    "rest_s": part.seconds["rest_s"],
                }
                for part in self.parts
            ],
            "commands": {
                words: {
                    case.name: self.command(case, robust=words == ROBUST) for case in self.cases
                }
                for words in ("present", ROBUST)
            },
            "exports": self.exports,
        }

    def _case(self, index: int) -> ToldCase:
        case, best = self.cases[index], self.regrets.best[index]
        column = [self.values(trial)[index] for trial in self.trials]
        owner = None if best is None else column.index(best)
        return {
            "name": case.name,
            "what": case.told,
            "file": str(self.folder / "cases" / f"{case.name}.toml"),
            "best": best,
            "best_trial": owner,
            "regret_of_1": self.regrets.scale[index] if best is not None else None,
        }

    def _settings(self, number: int) -> ToldSettings:
        trial = self.trials[number]
        return {
            "trial": number,
            "settings": self.space.words(trial.values),
            "kept": trial.kept,
            "violation": _finite(trial.violation),
            "worst_regret": _finite(self.regrets.worst(number)),
            "by_case": {
                case.name: {
                    self.objective.metric: _finite(self.values(trial)[index]),
                    "regret": _finite(self.regrets.of[number][index]),
                    **{
                        name: self.median(trial, name, index)
                        for name in having("advised")
                        if name != self.objective.metric
                    },
                }
                for index, case in enumerate(self.cases)
            },
        }

    def median(self, trial: Trial, metric: str, case: int) -> float | None:
        """Return the median of a metric over a case's runs; `None` where a run has none.

        Parameters
        ----------
        trial : Trial
            One of `trials`.
        metric : str
            Its name.
        case : int
            Which of `cases`.

        Returns
        -------
        float or None
            In the metric's unit.
        """
        known = trial.metrics.get(metric)
        if not known or any(each is None for each in known[case]):
            return None
        return median(float(each) for each in known[case] if each is not None)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
