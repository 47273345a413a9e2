"""The compiled core: scenarios, runs and catalogues. Catalogue answers are JSON text."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "AnalysisError",
    "Capture",
    "Dice",
    "Error",
    "Frames",
    "Grid",
    "LawViolation",
    "Outcome",
    "Scenario",
    "ScenarioError",
    "Table",
    "__version__",
    "conform",
    "fluid",
    "fluid_models",
    "headroom",
    "live_doctor",
    "live_run",
    "live_slowed",
    "live_stand",
    "metric_in_window",
    "metrics",
    "mib",
    "parameters",
    "quantity",
    "recovery_bin",
    "run",
    "run_captured",
    "run_each",
    "scenarios",
    "schema",
    "schemes",
    "sizes",
    "window_metrics",
]

__version__: str

class Error(Exception):
    """The base of every error a caller can cause."""

class ScenarioError(Error, ValueError):
    """A scenario file, an override or a name that cannot be used; `str` gives the whole message."""

    file: str | None
    line: int | None
    column: int | None
    message: str
    hint: str | None

class AnalysisError(Error, ValueError):
    """A model that cannot be solved as asked: a name, a value, an equilibrium or a step."""

class LawViolation(Error, RuntimeError):
    """Conservation, or a scheme's contract, was broken during a run."""

@final
class Dice:
    """Random numbers of one machine, each from its own stream."""

    def uniform(self, /, low: float, high: float) -> float:
        """Draw a number from `low` to `high`, evenly spread."""
    def below(self, /, n: int) -> int:
        """Draw a whole number from 0 to n - 1."""
    def exponential(self, /) -> float:
        """Draw an exponentially distributed number of mean 1."""
    def jitter(self, /, width: float) -> float:
        """Draw a factor around 1 whose full width is `width`: 0.3 gives 0.85 to 1.15."""

@final
class Scenario:
    """A checked, resolved, immutable scenario."""

    @staticmethod
    def parse(text: str, name: str = "<text>") -> Scenario: ...
    @staticmethod
    def from_bytes(octets: bytes, name: str = "<text>") -> Scenario: ...
    @staticmethod
    def from_json(text: str, name: str = "<json>") -> Scenario: ...
    @staticmethod
    def shipped(name: str) -> Scenario: ...
    def override(self, assignments: Sequence[str]) -> Scenario: ...
    def source(self) -> tuple[str, str]:
        """Return the name of its file and the JSON from which `from_json` makes it again."""
    def to_toml(self) -> str: ...
    def to_json(self) -> str: ...
    def value(self, key: str) -> str | None:
        """Return the value of a dotted key of the resolved scenario as JSON, if it has one."""
    def to_base_json(self) -> str:
        """Return the resolved scenario as JSON, quantities as numbers in octets, bit/s or s."""
    def memory(
        self,
        *,
        replications: int | None = None,
        jobs: int | None = None,
        flow_level: bool = False,
    ) -> list[tuple[str, int]]: ...
    def warnings(self) -> list[str]:
        """Return what a reader of the results should know beforehand."""
    def headrooms(self) -> list[str]:
        """Return what nodes keep for what comes after a pause, a line for each kind of node."""
    def thresholds(self) -> list[str]:
        """Return the dynamic thresholds of shared buffers, a line for each kind of switch."""
    def captures(self) -> str:
        """Return what the captures that are replayed hold, as a JSON array."""
    def bottleneck(self) -> str:
        """Return where it congests, as JSON; raises `AnalysisError` without a single bottleneck."""
    def deadlock(
        self,
        failures: int,
        *,
        all_pairs: bool = False,
        bounce: bool = False,
        most_cases: int = 2000,
    ) -> str:
        """Return which buffers wait for one another in a circle by the routes, as JSON."""
    def network(self) -> str:
        """Return nodes, links, watermarks and the ports that flows take, as JSON."""
    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def hash(self) -> str: ...
    @property
    def seed(self) -> int: ...
    @property
    def replications(self) -> int: ...
    @property
    def duration_s(self) -> float: ...
    def __eq__(self, other: object, /) -> bool: ...

@final
class Grid:
    """One scenario under every combination of the assignments of some axes."""

    def __new__(
        cls,
        base: Scenario,
        before: Sequence[str],
        axes: Sequence[Sequence[str]],
        after: Sequence[str],
    ) -> Grid: ...
    def check(self, start: int, stop: int) -> tuple[int, int, int]:
        """Check the points at positions of the core's own order.

        Return the simulated time of one run at each that can be run, in ps, the number of points
        that cannot be run, and how often a network was built.
        """
    def along(self, axis: int, key: str, hashed: bool) -> list[tuple[str | None, str | None]]:
        """Return what the scenarios have at each value of an axis, the others at their first.

        The value of a key as JSON and, if `hashed`, the hash. All points can be run.
        """
    def refusals(self, most: int) -> tuple[int, list[tuple[int, int, ScenarioError]]]:
        """Return how many reasons there are why points that were checked cannot be run.

        Of the first `most` also the first point, the number of points, and the error.
        """

@final
class Table:
    """Columns that are taken one by one."""

    @property
    def name(self) -> str: ...
    @property
    def columns(self) -> list[str]: ...
    @property
    def units(self) -> dict[str, str]: ...
    def __len__(self, /) -> int: ...
    def take(self, index: int) -> tuple[str, bytes, bytes | None, list[str] | None]: ...

@final
class Capture:
    """What a run writes into a capture, and when that ends."""

    def __new__(
        cls,
        file: str,
        ports: str,
        *,
        whole: bool = False,
        snap_len: int | None = None,
        max_frames: int | None = None,
        max_size: int | None = None,
        from_s: float = 0.0,
        until_s: float | None = None,
    ) -> Capture: ...
    def size(self, scenario: Scenario, seed: int | None = None) -> int:
        """Estimate the octets of the file."""

@final
class Frames:
    """The frames of a capture, each as JSON."""

    def __new__(cls, file: str) -> Frames: ...
    def read(self, count: int) -> tuple[list[str], str | None]:
        """Return the next frames, `count` at most, and the fault that ends them, if one does."""

def conform(
    file: str,
    of: str,
    *,
    scheme: str,
    preset: str,
    set: Sequence[str],
    stamps_s: float,
    clock_ppm: float | None,
    pacing_bytes: int,
    reaction_s: float,
    jitter: float | None,
    queue_bytes: int,
    uncaptured_bytes: int | None,
    rate_bps: int | None,
    interface: str | None,
    backlogged: bool,
    starts_free: bool,
    delay_s: float | None,
    buffer_bytes: int | None,
) -> str:
    """Return the report, as JSON, of a capture held against the law of an "rp" or a "cp"."""

@final
class Outcome:
    """What one scenario gave over its replications."""

    @property
    def scenario(self) -> Scenario: ...
    @property
    def seed(self) -> int: ...
    @property
    def replications(self) -> int: ...
    def table(self, name: str) -> Table: ...
    def units(self) -> dict[str, dict[str, str]]:
        """Return the units of the columns of every table, of those that have one."""

    def summary(self) -> str: ...
    def managed(self) -> str | None:
        """Return what was counted for managed objects as JSON; `None` without messages."""

def run(
    scenarios: Sequence[Scenario],
    *,
    seed: int | None = None,
    replications: int | None = None,
    jobs: int | None = None,
    flow_level: bool = False,
    progress: Callable[[float, int, int], None] | None = None,
) -> list[Outcome]:
    """Run all replications of all scenarios.

    `progress` gets the share of the work that is done, how many messages are complete and how many
    there are: 0 of 0 of runs that are not over with their messages.
    """

def run_captured(
    scenario: Scenario,
    capture: Capture,
    *,
    seed: int | None = None,
    replications: int | None = None,
    jobs: int | None = None,
    progress: Callable[[float, int, int], None] | None = None,
) -> tuple[Outcome, tuple[list[str], int, int, str | None, str | None]]:
    """Run as `run`, and capture the first replication.

    The second value is of the capture: ports, frames, octets, the limit that ended it, and why it
    could not be written to its end.
    """

def run_each(
    scenarios: Sequence[Scenario],
    tasks: Sequence[tuple[int, int]],
    ended: Callable[[list[tuple[int, list[float | None] | Exception]]], None],
    *,
    seed: int | None = None,
    jobs: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> None:
    """Run tasks, each an index in `scenarios` and a replication; tell `ended` of those that ended.

    `ended` gets several at once, in the order they ended: each one's index in `tasks` with its
    metrics or, where it failed, the error. An exception it raises stops all.
    """

def schemes() -> str: ...
def scenarios() -> str: ...
def mib(scenario: Scenario, seed: int, managed: str, replication: int) -> str:
    """Return the managed objects of a replication as JSON; raise `ValueError` where it has none."""

def headroom(
    *,
    rate_bps: int,
    delay_ps: int,
    latency_ps: int,
    reaction_ps: int,
    longest_bytes: int,
    blocking_bytes: int,
    cell_bytes: int,
    others: Sequence[int],
) -> str:
    """Return the headroom of a paused link as JSON: terms, sum, and what runs lose with it.

    `others` are headrooms in octets that run, too.
    """

def metrics() -> str: ...
def sizes() -> str: ...
def window_metrics() -> str: ...
def metric_in_window(
    name: str,
    window: tuple[float, float],
    *,
    queue: tuple[NDArray[np.float64], NDArray[np.uint64], float],
    throughput: tuple[
        NDArray[np.float64], NDArray[np.uint32], NDArray[np.float64], int, float, float
    ],
    drops: tuple[NDArray[np.float64], NDArray[np.uint64]],
    limit: float | None = None,
) -> float | None:
    """Return a metric of one replication over a window, s; `None` where it has no value.

    `queue`: times, s (f64), octets (u64), and the time between two samples, s; `throughput`: starts
    of bins, s (f64), indices of flows (u32), rates, bit/s (f64), the number of flows, the length of
    a bin, s, and how long a level must last, s; `drops`: times, s (f64), and frames (u64). Raises
    `AnalysisError`.
    """

def parameters() -> str: ...
def recovery_bin(
    carried: NDArray[np.float64], level: float, bin_s: float, hold_s: float
) -> int | None:
    """Return the bin from which on `carried` is at `level` over 1 ms and over `hold_s`, s.

    All bins are `bin_s` long; `None` if there is none. The same search gives `recovery_ms`.
    """

def quantity(text: str) -> tuple[float, str] | None:
    """Return a quantity's number in `B`, `bit/s` or `s`, and that unit; `None` for other text."""

def schema() -> str: ...
def fluid(
    model: str,
    parameters: str,
    *,
    end_s: float,
    step_s: float | None = None,
    every_s: float,
    initial: str | None = None,
) -> tuple[Table, float | None]: ...
def fluid_models() -> str: ...
def live_doctor() -> str:
    """Return what this machine can do of live runs, as JSON; not as root, in a user namespace."""

def live_slowed(scenario: Scenario, scale: int) -> Scenario:
    """Return the scenario as it is run live at a scale."""

def live_run(
    scenario: Scenario,
    *,
    scale: int,
    traffic: str = "own",
    limiter: str = "adapter",
    seed: int | None = None,
    capture: tuple[Path, int] | None = None,
    progress: Callable[[float], object] | None = None,
) -> tuple[Outcome, str]:
    """Run live; return the outcome and its own account as JSON.

    `capture` is a file and the octets of each frame that it keeps.
    """

def live_stand(
    scenario: Scenario,
    show: Callable[[str, list[tuple[str, str]], str], object],
    *,
    scale: int,
    traffic: str = "none",
    prefix: str = "",
) -> None:
    """Leave the network of a scenario standing until a signal comes.

    `show` gets what the network shows as JSON, names and addresses of its hosts, and the name of
    the switches' namespace.
    """
