"""The search of `tune` over the cases of a scenario, and the runs around what it chooses."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qcnlab import api
from qcnlab.advising.advice import Advice
from qcnlab.advising.candidates import Part, values_of
from qcnlab.advising.cases import NAMES, derive
from qcnlab.advising.knobs import Space
from qcnlab.advising.regret import regrets
from qcnlab.errors import scenario_error
from qcnlab.files.folders import ROOT, core_digest, write_json, write_whole
from qcnlab.metrics import having
from qcnlab.printing.text import counted, duration
from qcnlab.results.explanation import explanation
from qcnlab.runs.facts import tables_of
from qcnlab.sweeps.executors import check_on
from qcnlab.sweeps.grid import cases as beside_each_other
from qcnlab.sweeps.result import check_metric
from qcnlab.tuning.goals import Constraint, Objective, read_constraint
from qcnlab.tuning.sampler import RescoringSampler
from qcnlab.tuning.searching import MOST_TRIALS, Judge, explore
from qcnlab.tuning.space import check_keys
from qcnlab.tuning.store import Kept
from qcnlab.values import MOST_JOBS, MOST_REPS, MOST_SEED, within

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from os import PathLike

    from qcnlab.advising.cases import Case
    from qcnlab.runs.explained import TimeOfFlow
    from qcnlab.sweeps.grid import Cases
    from qcnlab.tuning.trial import Search, Trial

SIZED = "slowdown_p99"
"""What is made small of traffic whose flows have sizes."""
FLOWS = 5
"""So many of a run's slowest flows say what dominates."""
TIMES: tuple[TimeOfFlow, ...] = (
    "lasted_s",
    "sending_s",
    "paused_s",
    "limited_s",
    "rest_s",
)
"""What is summed over these: how long they lasted, and its parts."""
BROKEN = 1e6
"""A score of a trial that breaks a bound is at least this."""
LARGE, MINUTE = 1e300, 60.0
SPOKEN = (1, 4, 16, 64, 256)
"""After so many trials that were run it is said how long the rest will take."""
PARTS = 2
"""So many trials' runs say where the time of the slowest flows went."""


@dataclass(frozen=True)
class Options:
    """What a search is asked for.

    Attributes
    ----------
    minimize, maximize : str, optional
        The metric; one of them at most.
    subject_to : tuple of str, optional
        Bounds that every run has to keep; `None`: no drops where anything is paused.
    vary : dict
        Keys to ranges or choices, searched instead of the knobs.
    cases : tuple of str
        Of `NAMES`.
    trials : int
        Candidates, besides the scenario as it is.
    around : bool
        Whether the neighbours of the robust settings are run.
    """

    minimize: str | None = None
    maximize: str | None = None
    subject_to: tuple[str, ...] | None = None
    vary: tuple[tuple[str, str], ...] = ()
    cases: tuple[str, ...] = NAMES
    trials: int = 40
    around: bool = True


def advise(
    scenario: api.Scenario,
    *,
    minimize: str | None = None,
    maximize: str | None = None,
    subject_to: str | Sequence[str] | None = None,
    vary: Mapping[str, str] | None = None,
    cases: Sequence[str] = NAMES,
    trials: int = 40,
    flatness: bool = True,
    reps: int = 1,
    seed: int | None = None,
    jobs: int | None = None,
    out: str | PathLike[str] | None = None,
    progress: bool | None = None,
    on: object = None,
) -> Advice:
    """Search settings that do well in a fabric's own traffic and in its worst cases.

    Settings are thresholds, alpha and those of adapters. Worst cases are made of the scenario: an
    incast, a failed link, a slow receiver. The answer is the candidate whose regret, against each
    case's own best, is least where it is largest. Needs Optuna: `pip install 'qcnlab[tune]'`.

    Parameters
    ----------
    scenario : Scenario
        The fabric with its own traffic.
    minimize, maximize : str, optional
        The metric; one of them at most. `slowdown_p99` is made small if neither is there.
    subject_to : str or sequence of str, optional
        Bounds that every run has to keep: ``"drops=0"``. `None`: no drops where anything is paused.
    vary : mapping of str to str, optional
        Keys to ranges or choices, as `tune` has them, searched instead of these settings.
    cases : sequence of str
        Of ``"own"``, ``"incast"``, ``"failed-link"`` and ``"slow-receiver"``.
    trials : int, default 40
        Candidates, besides the scenario as it is.
    flatness : bool, default True
        Whether each of the robust settings is run at its half and its double.
    reps, seed, jobs
        As in `sweep`.
    out : str or path-like, optional
        The folder that keeps each trial, ``runs/advise-NAME`` if not given. The same call with the
        same folder makes only the trials that are missing.
    progress, on
        As in `sweep`.

    Returns
    -------
    Advice
        The trials, the robust one, and what surrounds it.

    Raises
    ------
    ScenarioError
        Where there is nothing to search, and for cases, metrics, bounds and keys that cannot be.
    FolderError
        If `out` is another search's, or cannot be written.
    MissingPackage
        Without Optuna.

    Examples
    --------
    >>> import qcnlab, tempfile
    >>> fabric = qcnlab.load("incast-16-to-1-100g").with_("duration=100 us")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     told = qcnlab.advise(
    ...         fabric, cases=["own"], trials=1, flatness=False, seed=1, out=f"{folder}/advice"
    ...     )
    >>> told, len(told.regrets.of)
    (<Advice incast-16-to-1-100g: 1 trial>, 2)
    """
    unknown = [each for each in cases if each not in NAMES]
    if unknown or not cases:
        raise scenario_error(
            f"cases: {repr(unknown[0]) + ' is' if unknown else 'it has'} none of {', '.join(NAMES)}"
        )
    trials = within("trials", trials, 1, MOST_TRIALS) or 1
    reps, jobs = within("reps", reps, 1, MOST_REPS) or 1, within("jobs", jobs, 1, MOST_JOBS)
    seed = within("seed", seed, 0, MOST_SEED)
    bounds = (subject_to,) if isinstance(subject_to, str) else subject_to
    options = Options(
        minimize,
        maximize,
        None if bounds is None else tuple(bounds),
        tuple((vary or {}).items()),
        tuple(dict.fromkeys(cases)),
        trials,
        around=flatness,
    )
    folder = ROOT / f"advise-{scenario.name}" if out is None else Path(out)
    return search(
        scenario, scenario.name, (), options, folder,
        reps=reps, seed=seed, jobs=jobs, on=on, progress=progress,
    )  # fmt: skip


def search(
    base: api.Scenario,
    called: str,
    changes: Sequence[str],
    options: Options,
    folder: Path,
    *,
    reps: int = 1,
    seed: int | None = None,
    jobs: int | None = None,
    on: object = None,
    progress: bool | None = None,
    say: Callable[[str], object] = lambda line: None,
) -> Advice:
    """Search as `advise` does; `called` and `changes` are how a command names the scenario.

    `say` is told how many runs there are, and how long they will take.
    """
    check_on(on)
    start = base.with_(*changes)
    objective = _objective(options, start)
    constraints = _constraints(options, start)
    space = Space(start, dict(options.vary))
    check_keys([each.key for each in space.dimensions], changes, [])
    made, lacking = derive(start, options.cases)
    if not made:
        raise scenario_error("no case is left", hint="; ".join(f"{a}: {b}" for a, b in lacking))
    drawn_from = start.seed if seed is None else seed
    grid = _grid(made, space)
    known: Search = {
        "build": core_digest()[:16],
        "name": start.name,
        "scenario": called,
        "points": grid({}).digest,
        "changes": list(changes),
        "space": {each.key: " to ".join(each.ends()) for each in space.dimensions},
        "objectives": [[objective.metric, objective.smallest]],
        "constraints": [str(each) for each in constraints],
        "over": {"case": ",".join(case.name for case in made)},
        "conditions": len(made),
        "mean": False,
        "replications": reps,
        "seed": drawn_from,
    }
    goals = (objective, constraints)
    judge = Judge(grid, [objective], constraints, known, jobs, on, having("advised"))
    beside = sum(1 for _ in space.beside({})) if options.around else 0
    sets = 1 + options.trials + beside + 2
    runs = sets * len(made) * reps + 2 * len(made)
    say(
        f"{counted(options.trials, 'trial')}, the scenario as it is, about {beside} neighbours and "
        f"a second look at two of them, in {counted(len(made), 'case')} with "
        f"{counted(reps, 'replication')}: {runs:,} runs"
    )
    with Kept.opened(folder, known) as kept:
        _write_cases(folder, made)
        scores = _Scores(objective, constraints, len(made))

        left = _Left(options.trials, beside + 2 + PARTS, say)

        def told(trial: Trial, seconds: float | None) -> None:
            if not trial.number:
                scores.present = trial
            left.told(trial, seconds)

        sampler = RescoringSampler(space.dimensions, scores, drawn_from)
        done = explore(sampler, judge, options.trials, kept, progress, told)
        advice = Advice(known, start, made, lacking, space, *goals, done, folder)
        number = advice.robust
        name = f"after-{number}" if options.around else f"again-{number}"
        after = _After(folder / name, known)
        with after:
            if options.around:
                for key, values in space.beside(done[number].values):
                    advice.around.append((key, after.run(judge, values)))
            other: Search = {**known, "seed": (drawn_from + 1) % (MOST_SEED + 1)}
            again = Judge(grid, [objective], constraints, other, jobs, on, having("advised"))
            for each in dict.fromkeys((0, number)):
                advice.again[each] = after.run(again, done[each].values)
        advice.parts = _parts(made, space, done, number, drawn_from, jobs, progress)
        _write(advice, folder)
    return advice


class _Left:
    """Says how long a search will still take, by the trials that were run so far.

    The scenario as it is does not count: its runs also start processes, and its settings may keep
    queues, and so events, that those of candidates do not.
    """

    def __init__(self, trials: int, after: int, say: Callable[[str], object]) -> None:
        self._trials, self._after, self._say = trials, after, say
        self._took: list[float] = []

    def told(self, trial: Trial, seconds: float | None) -> None:
        if seconds is None or not trial.number:
            return
        self._took.append(seconds)
        if len(self._took) not in SPOKEN:
            return
        each = sum(self._took) / len(self._took)
        left = each * (self._trials - trial.number + self._after)
        whole = f"{left:.0f} s" if left < MINUTE else f"{left / MINUTE:.0f} min"
        self._say(
            f"trial {trial.number}: {duration(each, 3)} a trial in the mean, about {whole} to go"
        )


class _Scores:
    """The scores of trials: their largest regrets so far; those that break a bound come last."""

    def __init__(self, objective: Objective, bounds: Sequence[Constraint], cases: int) -> None:
        self._objective, self._bounds, self._cases = objective, bounds, cases
        self.present: Trial | None = None

    def __call__(self, trials: Sequence[Trial]) -> list[float]:
        if self.present is None or not trials:
            return []
        every = [self.present, *trials]
        values = [values_of(each, self._objective, self._cases) for each in every]
        eligible = [each.kept for each in every]
        told = regrets(values, smallest=self._objective.smallest, eligible=eligible)
        out = []
        for number, trial in enumerate(trials, 1):
            score = min(told.worst(number), BROKEN / 2)
            out.append(score if trial.kept else min(BROKEN + trial.violation, LARGE))
        return out


class _After:
    """Runs around the robust settings, kept in a folder in their order."""

    def __init__(self, folder: Path, known: Search) -> None:
        self._opened = Kept.opened(folder, known)
        self._count = 0

    def __enter__(self) -> _After:
        self._kept = self._opened.__enter__()
        return self

    def __exit__(self, *left: Any) -> None:
        self._opened.__exit__(*left)

    def run(self, judge: Judge, values: dict[str, str]) -> Trial:
        number, self._count = self._count, self._count + 1
        if number < len(self._kept.trials) and self._kept.trials[number].values == values:
            return self._kept.trials[number]
        trial = judge.trial(number, values)
        self._kept.add(trial)
        return trial


def _grid(made: Sequence[Case], space: Space) -> Callable[[Mapping[str, str]], Cases]:
    scenarios = {case.name: case.scenario for case in made}
    return lambda values: beside_each_other(scenarios, space.changes(values))


def _objective(options: Options, scenario: api.Scenario) -> Objective:
    if options.minimize and options.maximize:
        raise scenario_error(
            "regret is of one metric", hint="give --minimize or --maximize, not both"
        )
    name = options.minimize or options.maximize
    if name is None:
        tree = scenario.to_dict()
        endless = [
            each["arrivals"]
            for each in tree["traffic"]
            if not any(key in each for key in ("size", "sizes", "flows", "file"))
        ]
        if endless:
            raise scenario_error(
                f"traffic with arrivals {endless[0]} has no size, so no completion time",
                hint="say what is wanted: --minimize METRIC or --maximize METRIC",
            )
        name = SIZED
    check_metric(name)
    return Objective(name, options.maximize is None)


def _constraints(options: Options, scenario: api.Scenario) -> list[Constraint]:
    if options.subject_to is not None:
        return [read_constraint(text) for text in options.subject_to]
    pauses = tables_of(scenario.to_dict(), "pause")
    paused = any(each.get("kind", "none") != "none" for each in pauses)
    return [read_constraint("drops=0")] if paused else []


def _parts(
    made: Sequence[Case],
    space: Space,
    done: Sequence[Trial],
    robust: int,
    seed: int,
    jobs: int | None,
    progress: bool | None,
) -> list[Part]:
    """Return where the time of the slowest flows went, as it is and with the robust settings."""
    numbers = list(dict.fromkeys((0, robust)))
    scenarios = [
        case.scenario.with_(*space.changes(done[number].values), "record.tables=true")
        for number in numbers
        for case in made
    ]
    results = api.run_many(scenarios, reps=1, seed=seed, jobs=jobs, progress=progress)
    out = []
    for index, result in enumerate(results):
        told = explanation(result, 0, FLOWS)
        number, case = numbers[index // len(made)], made[index % len(made)]
        slow = told["slow"]
        sums: dict[str, float] = {key: sum(each[key] or 0.0 for each in slow) for key in TIMES}
        sampled = all(each["limited_s"] is not None for each in slow)
        out.append(Part(number, case.name, len(slow), sums, sampled, told["pauses"]))
    return out


def _write_cases(folder: Path, made: Sequence[Case]) -> None:
    (folder / "cases").mkdir(exist_ok=True)
    for case in made:
        write_whole(folder / "cases" / f"{case.name}.toml", case.scenario.to_toml().encode())


def _write(advice: Advice, folder: Path) -> None:
    from qcnlab.advising.figure import advice_figure
    from qcnlab.figures.plots import save

    robust = advice.start.with_(*advice.patch)
    write_whole(folder / "robust.toml", robust.to_toml().encode())
    (folder / "robust").mkdir(exist_ok=True)
    for case in advice.cases:
        file = folder / "robust" / f"{case.name}.toml"
        write_whole(file, case.scenario.with_(*advice.patch).to_toml().encode())
    words = "".join(f"-s {each.replace(' ', '')}\n" for each in advice.patch)
    write_whole(folder / "patch.args", words.encode())
    write_whole(folder / "trials.csv", advice.to_polars().write_csv().encode())
    write_json(folder / "advice.json", advice.summary)
    figure = advice_figure(advice)
    for suffix in (".svg", ".png"):
        save(figure, folder / f"advice{suffix}")
