"""Scenarios and runs."""

from __future__ import annotations

import json
import time
from difflib import get_close_matches
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qcnlab import _core
from qcnlab.errors import scenario_error
from qcnlab.progress import Bar
from qcnlab.results import Result, from_outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


MOST_REPS, MOST_JOBS, MOST_SEED = 1_000_000, 1024, 2**64 - 1
"""The highest replications, threads and seed that `run` takes."""


class Scenario:
    """A checked, resolved scenario: what is built, what happens to it, what is recorded.

    Immutable; `with_` gives a changed one. Made by `qcnlab.load`, `from_toml` or `from_dict`.
    """

    __slots__ = ("_core",)

    def __init__(self, core: _core.Scenario) -> None:
        self._core = core

    @classmethod
    def from_toml(cls, text: str, name: str = "<text>") -> Scenario:
        """Read a scenario from TOML text; `name` stands for the file in messages.

        Raises `ScenarioError`.
        """
        return cls(_core.Scenario.parse(text, name))

    @classmethod
    def from_dict(cls, tree: Mapping[str, Any], name: str = "<dict>") -> Scenario:
        """Build a scenario from nested mappings of the same shape as the TOML.

        Quantities are text with a unit: `{"topology": {"rtt": "200 us"}}`. Raises `ScenarioError`.
        """
        return cls(_core.Scenario.from_json(json.dumps(tree), name))

    def with_(self, *changes: str | Mapping[str, Any]) -> Scenario:
        """Give a scenario with some keys changed, checked as a whole.

        A change is `"dotted.key=value"` or a mapping: `with_("topology.rtt=200 us")`,
        `with_({"scheme.cp.w": 2, "seed": 7})`. Raises `ScenarioError` for a key or value that
        cannot be.
        """
        assignments: list[str] = []
        for change in changes:
            if isinstance(change, str):
                assignments.append(change)
            else:
                assignments += [f"{key}={_toml_value(value)}" for key, value in change.items()]
        return Scenario(self._core.override(assignments))

    @property
    def name(self) -> str:
        """The name, a sentence in lower case."""
        return self._core.name

    @property
    def title(self) -> str:
        """One line for people."""
        return self._core.title

    @property
    def hash(self) -> str:
        """64 hex digits over the resolved scenario and the core's version, without the seed."""
        return self._core.hash

    @property
    def seed(self) -> int:
        """The seed used when `run` is given none."""
        return self._core.seed

    @property
    def replications(self) -> int:
        """The number of replications made when `run` is given none."""
        return self._core.replications

    def memory(self, *, reps: int | None = None, jobs: int | None = None) -> dict[str, int]:
        """Estimate the octets that running and writing tables takes, by what they are for.

        `reps` and `jobs` as in `run`. The sum is within a factor of four of what is taken, mostly
        above: buffers may fill, and the number of messages is a guess. `run` refuses what exceeds
        the memory that is there.
        """
        within("reps", reps, 1, MOST_REPS)
        within("jobs", jobs, 1, MOST_JOBS)
        return dict(self._core.memory(replications=reps, jobs=jobs))

    def bottleneck(self) -> dict[str, Any]:
        """Give the one port where it congests, and who meets there, without a run.

        `port`, `rate_bps` (outside hotspots), `buffer_bytes` (`None` without limit), `flows` (how
        many there are in all) and `phases`: times `from_s` to `until_s` with the port's `rate_bps`
        and its `crowd` (`None` while it is not congested). A crowd: `sources`, the limiters of
        flows that want half their fair share or more (each with its first `flow` and what it
        `sends_bps` at most), their entries of `traffic`, the `capacity_bps` left for them, flows
        that want less (`light`) or that nothing slows (`unslowed`) with their `rate_bps`, and with
        least, mean and greatest: `sends_bps`, `frame_bytes`, `loop_delay_s` (to the port and back)
        and `round_trip_s` (to the receiver and back); `link_bps` is the slowest of their own links.
        Raises `AnalysisError` where nothing is congested, several ports are, or sources change.
        """
        found: dict[str, Any] = json.loads(self._core.bottleneck())
        return found

    def to_toml(self) -> str:
        """Write the resolved scenario: every key, every unit. `from_toml` gives the same back."""
        return self._core.to_toml()

    def to_dict(self) -> dict[str, Any]:
        """Give the resolved scenario as nested dictionaries, quantities as text with a unit."""
        tree: dict[str, Any] = json.loads(self._core.to_json())
        return tree

    def __eq__(self, other: object) -> bool:
        """Compare the resolved contents."""
        return isinstance(other, Scenario) and self._core == other._core

    def __hash__(self) -> int:
        """Agree with `==`."""
        return hash(self._core.hash)

    def __repr__(self) -> str:
        """Tell name and title."""
        return f"<Scenario {self.name}: {self.title}>"


def load(source: str | PathLike[str]) -> Scenario:
    """Load a scenario file, or a shipped scenario by its name.

    Text with a slash or ending in `.toml`, and any path object, is a file; other text is the
    name of a shipped scenario (`qcnlab list scenarios`). Raises `ScenarioError` when there is
    no such file or name, or what it says cannot be; the message tells file, line and column.
    """
    text = fspath(source)
    if isinstance(source, str) and not _is_path(text):
        return Scenario(_core.Scenario.shipped(text))
    return Scenario(_core.Scenario.from_bytes(_read(text), text))


def run(
    scenario: Scenario,
    *,
    reps: int | None = None,
    seed: int | None = None,
    jobs: int | None = None,
    progress: bool | None = None,
) -> Result:
    """Run all replications of a scenario; the GIL is released meanwhile.

    `reps` and `seed` default to the scenario's own, `jobs` (threads) to all cores. The result
    does not depend on `jobs`. `progress`: show a bar on stderr once two seconds have passed;
    by default if stderr is a terminal or this is a notebook. Raises `ValueError` for a number
    that cannot be, `LawViolation` if a conservation law breaks; Ctrl-C ends it within a second.
    """
    return run_many([scenario], reps=reps, seed=seed, jobs=jobs, progress=progress)[0]


def run_many(
    scenarios: Iterable[Scenario],
    *,
    reps: int | None = None,
    seed: int | None = None,
    jobs: int | None = None,
    progress: bool | None = None,
) -> list[Result]:
    """Run several scenarios on one pool of threads and give a result for each, in order.

    Random streams are keyed by seed, replication and component, so scenarios that differ only
    in their scheme meet the same random numbers. The rest is as in `run`; `meta["wall_s"]` of
    each result is the wall time of the whole call.
    """
    within("reps", reps, 1, MOST_REPS)
    within("jobs", jobs, 1, MOST_JOBS)
    within("seed", seed, 0, MOST_SEED)
    cores = [_core_of(scenario) for scenario in scenarios]
    label = cores[0].name if len(cores) == 1 else f"{len(cores)} scenarios"
    started = time.perf_counter()
    with Bar(label, progress) as bar:
        outcomes = _core.run(cores, seed=seed, replications=reps, jobs=jobs, progress=bar)
    wall_s = time.perf_counter() - started
    return [from_outcome(outcome, wall_s) for outcome in outcomes]


def within(name: str, value: int | None, low: int, high: int) -> None:
    """Raise `ValueError` if `value` is given and not from `low` to `high`."""
    if value is not None and not low <= value <= high:
        raise ValueError(f"{name} is {value}; it must be from {low} to {high}")


def _core_of(scenario: Scenario) -> _core.Scenario:
    if not isinstance(scenario, Scenario):
        raise TypeError(f"{scenario!r} is not a Scenario; qcnlab.load(...) gives one")
    return scenario._core


def _is_path(text: str) -> bool:
    return "/" in text or "\\" in text or text.endswith(".toml")


def _toml_value(value: object) -> str:
    if isinstance(value, str | bool | int | float | list | tuple):
        return json.dumps(value)
    return json.dumps(str(value))


def _read(name: str) -> bytes:
    try:
        return Path(name).read_bytes()
    except FileNotFoundError:
        raise scenario_error(
            "there is no such file", file=name, hint=_near(Path(name).stem)
        ) from None
    except OSError as error:
        own = Path(name) / "config.toml"
        hint = f"a run folder keeps its scenario as '{own}'" if own.exists() else None
        raise scenario_error(f"cannot be read: {error.strerror}", file=name, hint=hint) from error


def _near(stem: str) -> str:
    names = [entry["name"] for entry in json.loads(_core.scenarios())]
    near = get_close_matches(stem, names, n=3, cutoff=0.5)
    if near:
        return "shipped scenarios with a similar name (give it without .toml): " + ", ".join(near)
    return "`qcnlab list scenarios` shows the shipped ones"
