"""What `qcnlab advise` tells: objects as JSON has them; `None` is infinite, or missing."""

from __future__ import annotations

from typing import TypedDict


class Goal(TypedDict):
    """A metric, and whether it is made small."""

    metric: str
    smallest: bool


class NotSearched(TypedDict):
    """What was not searched, and why."""

    what: str
    why: str


class CaseLeftOut(TypedDict):
    """A case that the scenario does not have, and why."""

    case: str
    why: str


class ToldCase(TypedDict):
    """A case: its file, its best value and trial, and what counts as a regret of 1 there."""

    name: str
    what: str
    file: str
    best: float | None
    best_trial: int | None
    regret_of_1: float | None


class ToldSettings(TypedDict):
    """A trial's settings; `by_case` has the goal, its `regret` and other metrics of each case."""

    trial: int
    settings: dict[str, str]
    kept: bool
    violation: float | None
    worst_regret: float | None
    by_case: dict[str, dict[str, float | None]]


class RobustSettings(ToldSettings):
    """The settings whose largest regret is least; `patch` is what `-s` takes."""

    patch: list[str]


class AsGood(TypedDict):
    """Trials whose largest regret is at most so much larger, and the ranges of their settings."""

    within: float
    trials: list[int]
    ranges: dict[str, list[str]]


class Neighbour(TypedDict):
    """A trial that differs from the robust one in one key."""

    key: str
    value: str
    worst_regret: float | None
    kept: bool
    refused: str | None


class NextSeed(TypedDict):
    """Values of the goal in each case with another seed: as it is, and robust."""

    seed: int
    present: list[float | None]
    robust: list[float | None]


class Unfinished(TypedDict):
    """Cases in which flows did not finish, and how many: as it is, and robust."""

    present: dict[str, float]
    robust: dict[str, float]


class Dominating(TypedDict):
    """Where the time of a run's slowest flows went, s summed over them."""

    trial: int
    case: str
    flows: int
    most: str
    pauses: int
    rates_sampled: bool
    lasted_s: float
    sending_s: float
    paused_s: float
    limited_s: float
    rest_s: float


class AdviceSummary(TypedDict):
    """All that is told; `commands` run each case again, as it is and with the robust settings."""

    scenario: str
    folder: str
    goal: Goal
    bounds: list[str]
    bounds_kept: bool
    trials: int
    refused: int
    replications: int
    seed: int
    searched: dict[str, str]
    not_searched: list[NotSearched]
    cases: list[ToldCase]
    cases_left_out: list[CaseLeftOut]
    present: ToldSettings
    robust: RobustSettings
    as_good: AsGood
    neighbours: list[Neighbour]
    next_seed: NextSeed | None
    unfinished: Unfinished
    dominates: list[Dominating]
    commands: dict[str, dict[str, str]]
    exports: list[str]
