"""The search: Optuna proposes values, a sweep over the conditions judges them, a journal keeps all.

The sampler draws from a seed, so equal searches propose equal values. A search that goes on asks
the sampler again for every trial that is kept and tells it the outcome; it is then where it was.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from qcnlab.api import Scenario
from qcnlab.errors import FolderError, ScenarioError, scenario_error
from qcnlab.files.folders import core_digest, write_whole
from qcnlab.printing.progress import Bar
from qcnlab.sweeps.executors import check_on
from qcnlab.sweeps.grid import build
from qcnlab.sweeps.result import Sweep, check_metric
from qcnlab.sweeps.running import describe, perform
from qcnlab.tuning.goals import Constraint, Objective, read_constraint
from qcnlab.tuning.result import MOST_DRAWN, Tuning
from qcnlab.tuning.sampler import Sampler
from qcnlab.tuning.space import check_keys, read_space
from qcnlab.tuning.store import Kept
from qcnlab.tuning.trial import Trial
from qcnlab.values import MOST_JOBS, MOST_REPS, MOST_SEED, several, within

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from os import PathLike

    from qcnlab.sweeps.grid import Grid
    from qcnlab.tuning.goals import Runs
    from qcnlab.tuning.trial import Search

MOST_TRIALS = 1_000_000


def tune(
    scenario: Scenario,
    *,
    vary: Mapping[str, str],
    minimize: str | Sequence[str] = (),
    maximize: str | Sequence[str] = (),
    subject_to: str | Sequence[str] = (),
    over: Mapping[str, Iterable[object]] | None = None,
    mean: bool = False,
    trials: int = 50,
    reps: int | None = None,
    seed: int | None = None,
    jobs: int | None = None,
    out: str | PathLike[str] | None = None,
    progress: bool | None = None,
    on: object = None,
) -> Tuning:
    """Search for the values of keys that make metrics small or large.

    Every trial runs the scenario with the same random numbers at each condition. Needs Optuna: `pip
    install 'qcnlab[tune]'`.

    Parameters
    ----------
    scenario : Scenario
        What is tuned.
    vary : mapping of str to str
        Keys to what is searched: ``"1 Mb/s..100 Mb/s:log"``, ``"0.5..8.0"``, ``"2..10"`` (whole
        numbers) or ``"a,b,c"``.
    minimize, maximize : str or sequence of str
        Metrics. With several there is a front of trials that no other one beats.
    subject_to : str or sequence of str
        Bounds that every run has to keep: ``"drops=0"``, ``"jain>=0.9"``.
    over : mapping of str to iterable, optional
        Conditions, as `vary` of `sweep`: each trial runs at every combination.
    mean : bool, default False
        A score is the mean over the conditions of their medians, instead of the worst.
    trials : int, default 50
        Trials in all, with those in `out`.
    reps, seed, jobs
        As in `sweep`.
    out : str or path-like, optional
        A folder that keeps each trial when it ends. The same call with the same folder makes only
        the trials that are missing.
    progress, on
        As in `sweep`.

    Returns
    -------
    Tuning
        All trials, and the best of them.

    Raises
    ------
    ScenarioError
        For keys, values, metrics and bounds that cannot be.
    FolderError
        If `out` is another search's, or cannot be written.
    MissingPackage
        Without Optuna.

    Examples
    --------
    >>> import qcnlab
    >>> scenario = qcnlab.load("one-source-into-9g-rtt10us").with_("duration=10 ms", "warmup=1 ms")
    >>> tuned = qcnlab.tune(
    ...     scenario, vary={"scheme.cp.w": "0.5..8.0"}, minimize="queue_std_bytes", trials=2, reps=1
    ... )
    >>> tuned.best.scores <= tuned.baseline.scores
    True
    """
    goals = {"minimize": minimize, "maximize": maximize, "subject_to": subject_to}
    texts = {key: [text] if isinstance(text, str) else list(text) for key, text in goals.items()}
    return search(
        scenario, scenario.name, (), vary, texts, over or {},
        mean=mean, trials=trials, reps=reps, seed=seed, jobs=jobs,
        folder=None if out is None else Path(out), progress=progress, on=on,
    )  # fmt: skip


def search(
    base: Scenario,
    called: str,
    changes: Sequence[str],
    vary: Mapping[str, str],
    goals: Mapping[str, Sequence[str]],
    over: Mapping[str, Iterable[object]],
    *,
    mean: bool,
    trials: int,
    reps: int | None,
    seed: int | None,
    jobs: int | None,
    folder: Path | None,
    progress: bool | None,
    on: object,
) -> Tuning:
    """Search as `tune` does; `called` and `changes` are how the command line names the scenario."""
    trials = within("trials", trials, 1, MOST_TRIALS) or 1
    reps, jobs = within("reps", reps, 1, MOST_REPS), within("jobs", jobs, 1, MOST_JOBS)
    seed = within("seed", seed, 0, MOST_SEED)
    check_on(on)
    space = read_space(vary)
    objectives = _objectives(goals)
    constraints = [read_constraint(text) for text in goals["subject_to"]]
    conditions = {key: several(key, values) for key, values in over.items()}
    check_keys([dimension.key for dimension in space], changes, list(conditions))
    for dimension in space:
        for value in dimension.ends():
            base.with_(*changes, f"{dimension.key}={value}")
    start = base.with_(*changes)
    replications = reps or start.replications
    drawn_from = start.seed if seed is None else seed
    point = build(base, changes, conditions, seeded=True, single=True, progress=False)
    known: Search = {
        "build": core_digest()[:16],
        "name": base.name,
        "scenario": called,
        "points": point.digest,
        "changes": list(changes),
        "space": dict(vary),
        "objectives": [[each.metric, each.smallest] for each in objectives],
        "constraints": [str(each) for each in constraints],
        "over": {axis.key: ",".join(axis.words) for axis in point.axes},
        "conditions": len(point),
        "mean": mean,
        "replications": replications,
        "seed": drawn_from,
    }

    def grid(values: Mapping[str, str]) -> Grid:
        changed = [*changes, *(f"{key}={value}" for key, value in values.items())]
        return build(base, changed, conditions, seeded=True, single=True, progress=False)

    judge = Judge(grid, objectives, constraints, known, jobs, on)
    with nullcontext() if folder is None else Kept.opened(folder, known) as kept:
        sampler = Sampler(space, objectives, bool(constraints), drawn_from)
        done = explore(sampler, judge, trials, kept, progress)
        tuned = Tuning(known, objectives, constraints, done)
        if len(objectives) == 1 and tuned.front and tuned.front[0].number:
            other: Search = {**known, "seed": (drawn_from + 1) % (MOST_SEED + 1)}
            judge = Judge(grid, objectives, constraints, other, jobs, on)
            tuned.again = {
                trial.number: judge.trial(trial.number, trial.values)
                for trial in (tuned.baseline, tuned.front[0])
            }
        if folder is not None:
            _write(tuned, folder)
    return tuned


def _objectives(goals: Mapping[str, Sequence[str]]) -> list[Objective]:
    named = [(name, True) for name in goals["minimize"]]
    named += [(name, False) for name in goals["maximize"]]
    if not named:
        raise scenario_error(
            "nothing is wanted", hint="give --minimize METRIC or --maximize METRIC"
        )
    for name, _ in named:
        check_metric(name)
    twice = [name for name, times in Counter(name for name, _ in named).items() if times > 1]
    if twice:
        raise scenario_error(f"'{twice[0]}' is wanted twice", hint="a metric is one objective")
    return [Objective(name, smallest) for name, smallest in named]


class Proposing(Protocol):
    """Who proposes the next trial, and is told of each."""

    def ask(self) -> dict[str, str]:
        """Return the values of the next trial."""

    def tell(self, trial: Trial) -> None:
        """Take the outcome of the trial that was asked for last."""


def explore(
    sampler: Proposing,
    judge: Judge,
    trials: int,
    kept: Kept | None,
    progress: bool | None,
    told: Callable[[Trial, float | None], object] | None = None,
) -> list[Trial]:
    """Run what is there already, trial 0, and then the trials that a sampler proposes.

    Parameters
    ----------
    sampler : Proposing
        Proposes the trials from 1.
    judge : Judge
        Runs them.
    trials : int
        How many, without trial 0.
    kept : Kept, optional
        A folder: trials that it has are not run again.
    progress : bool, optional
        As in `run`.
    told : callable, optional
        Is told each trial, and how long its runs took in s, `None` if it was kept.

    Returns
    -------
    list of Trial
        All of them, trial 0 first.

    Raises
    ------
    FolderError
        If the folder's trials are not those that the sampler proposes.
    """
    done: list[Trial] = []
    old = [] if kept is None else kept.trials
    with Bar(f"{trials} trials", progress) as bar:
        for number in range(trials + 1):
            values = sampler.ask() if number else {}
            begun, again = time.monotonic(), number < len(old)
            if again:
                trial = old[number]
                if trial.values != values:
                    raise FolderError(
                        f"'{kept.folder if kept else ''}' was made with another version of Optuna; "
                        "go on with that one, or choose another folder with -o DIR"
                    )
            else:
                trial = judge.trial(number, values)
                if kept is not None:
                    kept.add(trial)
            if number:
                sampler.tell(trial)
            if told is not None:
                told(trial, None if again else time.monotonic() - begun)
            done.append(trial)
            bar(number / trials)
    return done


class Judge:
    """Runs a trial at all conditions and says what it came to.

    Parameters
    ----------
    grid : callable
        Returns, for the values of a trial, the conditions as points.
    objectives : sequence of Objective
        What is wanted.
    constraints : sequence of Constraint
        What is to be kept.
    known : mapping
        `replications`, `seed`, `conditions` (their number) and `mean` of the search.
    jobs, on
        As in `sweep`.
    beside : sequence of str, optional
        Metrics that are kept, too.
    """

    def __init__(
        self,
        grid: Callable[[Mapping[str, str]], Grid],
        objectives: Sequence[Objective],
        constraints: Sequence[Constraint],
        known: Search,
        jobs: int | None,
        on: object,
        beside: Sequence[str] = (),
    ) -> None:
        self._grid = grid
        self._objectives = objectives
        self._constraints = constraints
        self._known = known
        self._jobs = jobs
        self._on = on
        self._beside = beside

    def trial(self, number: int, values: dict[str, str]) -> Trial:
        """Return a trial that has been run, or refused."""
        try:
            grid = self._grid(values)
        except ScenarioError as error:
            worst = tuple(math.inf if each.smallest else -math.inf for each in self._objectives)
            return Trial(number, values, {}, worst, math.inf, str(error))
        seed = self._known["seed"]
        manifest = describe(grid, self._known["replications"], seed, "")
        swept = perform(grid, manifest, seed, None, jobs=self._jobs, progress=False, on=self._on)
        goals = (self._objectives, self._constraints)
        return judged(number, values, swept, *goals, self._known, self._beside)


def judged(
    number: int,
    values: dict[str, str],
    swept: Sweep,
    objectives: Sequence[Objective],
    constraints: Sequence[Constraint],
    known: Search,
    beside: Sequence[str] = (),
) -> Trial:
    """Return the trial whose runs are those of a sweep over the conditions."""
    goals: list[Objective | Constraint] = [*objectives, *constraints]
    names = dict.fromkeys([*(goal.metric for goal in goals), *beside])
    points = range(known["conditions"])
    metrics: dict[str, Runs] = {
        name: [swept.over(point, name).values for point in points] for name in names
    }
    scores = tuple(each.score(metrics[each.metric], known["mean"]) for each in objectives)
    violation = sum((each.violation(metrics[each.metric]) for each in constraints), 0.0)
    return Trial(number, values, metrics, scores, violation)


def _write(tuned: Tuning, folder: Path) -> None:
    from qcnlab.figures.plots import save

    write_whole(folder / "trials.csv", tuned.to_polars().write_csv().encode())
    if len(tuned.objectives) <= MOST_DRAWN:
        figure = tuned.plot()
        for suffix in (".svg", ".png"):
            save(figure, folder / f"tune{suffix}")
