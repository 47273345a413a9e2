"""Scenarios and runs."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qcnlab import _core
from qcnlab.errors import ScenarioError, scenario_error
from qcnlab.values import MOST_JOBS, MOST_REPS, MOST_SEED, plain, within

if TYPE_CHECKING:
    from collections.abc import Iterable

    from qcnlab.records import JsonObject
    from qcnlab.results.result import Result
    from qcnlab.runs.contention import CongestedPort
    from qcnlab.runs.replayed import ReplayedCapture

MOST_OCTETS = 64 << 20
"""The length of the longest scenario file that is read."""


class Scenario:
    """A checked, resolved scenario: what is built, what happens to it, what is recorded.

    Immutable; `with_` returns a changed one. Made by `qcnlab.load`, `from_toml` or `from_dict`.

    Examples
    --------
    >>> import qcnlab
    >>> scenario = qcnlab.load("og-hotspot-2src-10g-to-500m-rtt10us")
    >>> scenario.with_("topology.rtt=40 us", "seed=7").seed
    7
    """

    __slots__ = ("_core",)

    def __init__(self, core: _core.Scenario) -> None:
        self._core = core

    @classmethod
    def from_toml(cls, text: str, name: str = "<text>") -> Scenario:
        """Return the scenario that TOML text describes.

        Parameters
        ----------
        text : str
            The contents of a scenario file.
        name : str, optional
            Stands for the file's name in messages.

        Returns
        -------
        Scenario
            The scenario, checked and resolved.

        Raises
        ------
        ScenarioError
            If it cannot be run; the message tells line and column.

        Examples
        --------
        >>> import qcnlab
        >>> base = qcnlab.load("one-source-into-9g-rtt10us")
        >>> qcnlab.Scenario.from_toml(base.to_toml(), base.name) == base
        True
        """
        return cls(_core.Scenario.parse(text, name))

    @classmethod
    def from_dict(cls, tree: Mapping[str, Any], name: str = "<dict>") -> Scenario:
        """Return the scenario that nested mappings of the same shape as the TOML describe.

        Parameters
        ----------
        tree : mapping
            Keys to values; quantities are text with a unit: `{"topology": {"rtt": "200 us"}}`.
        name : str, optional
            Stands for the file's name in messages.

        Returns
        -------
        Scenario
            The scenario, checked and resolved.

        Raises
        ------
        ScenarioError
            If it cannot be run.
        """
        if not isinstance(tree, Mapping):
            raise scenario_error(
                f"a scenario is a mapping of keys to values, not {type(tree).__name__}", file=name
            )
        try:
            text = json.dumps({str(key): plain(str(key), value) for key, value in tree.items()})
        except RecursionError:
            raise scenario_error("the mappings are nested too deeply", file=name) from None
        return cls(_core.Scenario.from_json(text, name))

    def with_(self, *changes: str | Mapping[str, Any]) -> Scenario:
        """Return this scenario with some keys changed, checked as a whole.

        Parameters
        ----------
        *changes : str or mapping
            `"dotted.key=value"`, or a mapping of dotted keys to values.

        Returns
        -------
        Scenario
            Another scenario; this one stays as it is.

        Raises
        ------
        ScenarioError
            For a key or value that cannot be.

        Examples
        --------
        >>> import qcnlab
        >>> base = qcnlab.load("one-source-into-9g-rtt10us")
        >>> base.with_("topology.rtt=200 us").to_dict()["topology"]["rtt"]
        '200 us'
        >>> base.with_({"scheme.cp.w": 4, "seed": 7}).seed
        7
        """
        assignments: list[str] = []
        for change in changes:
            if isinstance(change, str):
                assignments.append(change)
            elif not isinstance(change, Mapping):
                raise scenario_error(
                    f"{change!r} is no change", hint='write "key=value" or {"key": value}'
                )
            else:
                assignments += [
                    f"{key}={json.dumps(plain(key, value))}" for key, value in change.items()
                ]
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
        """The seed that `run` uses unless it gets another."""
        return self._core.seed

    @property
    def replications(self) -> int:
        """The number of replications that `run` makes unless it gets another."""
        return self._core.replications

    def memory(self, *, reps: int | None = None, jobs: int | None = None) -> dict[str, int]:
        """Estimate the memory that running and writing tables takes.

        The sum is within a factor of four of what is taken, mostly above: buffers may fill, and the
        number of messages is a guess. `run` refuses what exceeds the memory that is there.

        Parameters
        ----------
        reps : int, optional
            Replications, as in `run`.
        jobs : int, optional
            Threads, as in `run`.

        Returns
        -------
        dict of str to int
            Octets, by what they are for.

        Raises
        ------
        ValueError
            For a number out of range.
        """
        reps = within("reps", reps, 1, MOST_REPS)
        jobs = within("jobs", jobs, 1, MOST_JOBS)
        return dict(self._core.memory(replications=reps, jobs=jobs))

    def warnings(self) -> list[str]:
        """Return what a reader of the results should know beforehand.

        Returns
        -------
        list of str
            A sentence or two each; for example that flows which repair no loss cross queues that
            may overflow, so that some may never finish. ``qcnlab check``, ``run`` and ``sweep``
            print them on stderr.
        """
        return self._core.warnings()

    def headrooms(self) -> list[str]:
        """Return what nodes keep for frames that still come over a link after a pause.

        Returns
        -------
        list of str
            A line for each kind of node that pauses links, under any rule: the octets that it
            keeps for a link and class, and how much links of which rate may bring. ``qcnlab
            check`` and ``run`` print them.
        """
        return self._core.headrooms()

    def thresholds(self) -> list[str]:
        """Return which part of a shared buffer's free octets each link and queue may use.

        Returns
        -------
        list of str
            A line for each kind of switch: how many links of which rate have which ``pg_alpha``
            and ``queue_alpha``. With ``alpha_for`` they double with each doubling of the rate, so
            that a link that is a billionth faster may have twice as much.
        """
        return self._core.thresholds()

    def captures(self) -> tuple[ReplayedCapture, ...]:
        """Return what the captures hold that the scenario replays.

        Returns
        -------
        tuple of ReplayedCapture
            For each its entry of the traffic, file and checksum, what is replayed and when it ends,
            what is passed over, and the hosts that stand for its addresses.
        """
        from qcnlab.records import read
        from qcnlab.runs.replayed import ReplayedCapture

        answer = json.loads(self._core.captures())
        return read(tuple[ReplayedCapture, ...], answer, "the core's answer")

    def bottleneck(self) -> CongestedPort:
        """Return the one port that the scenario congests, and its contenders; no run is made.

        Returns
        -------
        CongestedPort
            The port, its rate outside hotspots and buffer, and its `phases`, each with the port's
            rate and its `contenders` (`None` while it is not congested): who contends, the rate
            left for them, frames and delays.

        Raises
        ------
        AnalysisError
            Nothing is congested, several ports are, or the number of sources changes.
        """
        from qcnlab.records import read
        from qcnlab.runs.contention import CongestedPort

        return read(CongestedPort, json.loads(self._core.bottleneck()), "the core's answer")

    def to_toml(self) -> str:
        """Return the resolved scenario as TOML: every key, every unit.

        Returns
        -------
        str
            Text from which `from_toml` makes an equal scenario.
        """
        return self._core.to_toml()

    def to_dict(self) -> JsonObject:
        """Return the resolved scenario as nested dictionaries.

        Returns
        -------
        dict
            Every key; quantities are text with a unit.
        """
        tree: JsonObject = json.loads(self._core.to_json())
        return tree

    def __eq__(self, other: object) -> bool:
        """Compare the resolved contents."""
        return isinstance(other, Scenario) and self._core == other._core

    def __hash__(self) -> int:
        """Agree with `==`."""
        return hash(self._core.hash)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle what the scenario was made from, so that `with_` works as before.

        Files of flows are read again where it is unpickled.
        """
        return _unpickled, (*self._core.source(),)

    def __repr__(self) -> str:
        """Return name and title."""
        return f"<Scenario {self.name}: {self.title}>"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the title, the main keys, and the rest to unfold."""
        from qcnlab.figures import notebook

        tree = self.to_dict()
        rows = [
            ("scheme", tree["scheme"]["name"]),
            ("topology", tree["topology"]["kind"]),
            ("duration", tree["duration"]),
            ("replications", str(self.replications)),
            ("seed", str(self.seed)),
        ]
        return notebook.part(
            self.title or self.name,
            f"scenario {self.name}, {self.hash[:8]}",
            notebook.table((), rows, left=2),
            notebook.unfolded("every key", self.to_toml()),
        )


def _unpickled(name: str, source: str) -> Scenario:
    return Scenario(_core.Scenario.from_json(source, name))


def load(source: str | PathLike[str]) -> Scenario:
    """Load a scenario file, or a shipped scenario by its name.

    Parameters
    ----------
    source : str or path-like
        Text with a slash or ending in `.toml`, and any path object, is a file; other text is the
        name of a shipped scenario (``qcnlab list scenarios``).

    Returns
    -------
    Scenario
        The scenario, checked and resolved.

    Raises
    ------
    ScenarioError
        When there is no such file or name, or what it says cannot be; the message tells file, line
        and column.

    Examples
    --------
    >>> import qcnlab
    >>> qcnlab.load("one-source-into-9g-rtt10us")
    <Scenario one-source-into-9g-rtt10us: One source of up to 10 Gb/s into a 9 Gb/s link, RTT 10 us>
    """
    if not isinstance(source, str | PathLike):
        raise TypeError(f"{source!r} is no scenario: give the name of one, or a file")
    text = fspath(source)
    if isinstance(source, str) and not _is_path(text):
        return Scenario(_shipped(text))
    return Scenario(_core.Scenario.from_bytes(_read(text), text))


def run(
    scenario: Scenario,
    *,
    reps: int | None = None,
    seed: int | None = None,
    jobs: int | None = None,
    flow_level: bool = False,
    progress: bool | None = None,
) -> Result:
    """Run all replications of a scenario; the GIL is released meanwhile.

    Ctrl-C ends it within a second.

    Parameters
    ----------
    scenario : Scenario
        What to run.
    reps : int, optional
        Replications; the scenario's own by default.
    seed : int, optional
        Seed of all random numbers; the scenario's own by default.
    jobs : int, optional
        Threads; all cores by default. The result does not depend on it.
    flow_level : bool, default False
        Run without packets: flows of a size share links max-min fairly from one arrival or end to
        the next. Gives completion times alone, many times as fast.
    progress : bool, optional
        Show a bar on stderr once two seconds have passed; by default if stderr is a terminal or
        this is a notebook.

    Returns
    -------
    Result
        Tables and metrics of all replications.

    Raises
    ------
    ValueError
        For a number out of range.
    LawViolation
        If a conservation law breaks, or a scheme its contract.
    AnalysisError
        If a scenario has no run without packets, and why.
    Error
        If the run takes more memory than there is.

    Examples
    --------
    >>> import qcnlab
    >>> scenario = qcnlab.load("one-source-into-9g-rtt10us").with_("duration=10 ms", "warmup=1 ms")
    >>> qcnlab.run(scenario, reps=2, seed=3).metric("drops")
    0.0
    """
    return run_many(
        [scenario], reps=reps, seed=seed, jobs=jobs, flow_level=flow_level, progress=progress
    )[0]


def run_many(
    scenarios: Iterable[Scenario],
    *,
    reps: int | None = None,
    seed: int | None = None,
    jobs: int | None = None,
    flow_level: bool = False,
    progress: bool | None = None,
) -> list[Result]:
    """Run several scenarios on one pool of threads.

    Random streams are keyed by seed, replication and component, so scenarios that differ only
    in their scheme meet the same random numbers.

    Parameters
    ----------
    scenarios : iterable of Scenario
        What to run.
    reps, seed, jobs, flow_level, progress
        As in `run`, for each scenario.

    Returns
    -------
    list of Result
        One for each scenario, in order; `meta["wall_s"]` of each is the wall time of the whole
        call.

    Raises
    ------
    ValueError
        For a number out of range.
    LawViolation
        If a conservation law breaks, or a scheme its contract.
    Error
        If the runs take more memory than there is.

    Examples
    --------
    >>> import qcnlab
    >>> base = qcnlab.load("one-source-into-9g-rtt10us").with_("duration=10 ms", "warmup=1 ms")
    >>> schemes = ("none", "qcn")
    >>> results = qcnlab.run_many([base.with_(f"scheme.name={name}") for name in schemes], reps=1)
    >>> [result.summary.scheme for result in results]
    ['none', 'qcn']
    """
    from qcnlab.printing.progress import Bar
    from qcnlab.results.result import from_outcome

    reps = within("reps", reps, 1, MOST_REPS)
    jobs = within("jobs", jobs, 1, MOST_JOBS)
    seed = within("seed", seed, 0, MOST_SEED)
    cores = [_core_of(scenario) for scenario in scenarios]
    label = cores[0].name if len(cores) == 1 else f"{len(cores)} scenarios"
    started = time.perf_counter()
    with Bar(label, progress) as bar:
        outcomes = _core.run(
            cores,
            seed=seed,
            replications=reps,
            jobs=jobs,
            flow_level=flow_level,
            progress=bar,
        )
    wall_s = time.perf_counter() - started
    return [from_outcome(outcome, wall_s) for outcome in outcomes]


def _core_of(scenario: Scenario) -> _core.Scenario:
    if not isinstance(scenario, Scenario):
        raise TypeError(f"{scenario!r} is not a Scenario; qcnlab.load(...) returns one")
    return scenario._core


def _shipped(name: str) -> _core.Scenario:
    """Return a shipped scenario; say how to name the file where there is one of that name."""
    try:
        return _core.Scenario.shipped(name)
    except ScenarioError:
        if _is_file(name):
            raise scenario_error(
                f"unknown scenario '{name}'", hint=f"for the file of that name write ./{name}"
            ) from None
        raise


def _is_file(name: str) -> bool:
    try:
        return Path(name).is_file()
    except OSError:
        return False


def _is_path(text: str) -> bool:
    return "/" in text or "\\" in text or text.endswith(".toml")


def _read(name: str) -> bytes:
    try:
        with Path(name).open("rb") as file:
            octets = file.read(MOST_OCTETS + 1)
    except FileNotFoundError:
        raise scenario_error(
            "there is no such file", file=name, hint=_near(Path(name).stem)
        ) from None
    except OSError as error:
        from qcnlab.files.folders import is_there

        own = Path(name) / "config.toml"
        hint = f"a run folder keeps its scenario as '{own}'" if is_there(own) else None
        raise scenario_error(f"cannot be read: {error.strerror}", file=name, hint=hint) from error
    if len(octets) > MOST_OCTETS:
        raise scenario_error(
            f"the file has more than {MOST_OCTETS >> 20} MiB; no scenario is that long", file=name
        )
    return octets


def _near(stem: str) -> str:
    from difflib import get_close_matches

    names = [entry["name"] for entry in json.loads(_core.scenarios())]
    near = get_close_matches(stem, names, n=3, cutoff=0.5)
    if near:
        return "shipped scenarios with a similar name (give it without .toml): " + ", ".join(near)
    return "`qcnlab list scenarios` shows the shipped ones"
