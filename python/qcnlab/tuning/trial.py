"""One trial of a search: a set of values, and what its runs gave."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from qcnlab.tuning.goals import Runs


class Search(TypedDict):
    """What identifies a search: what its manifest holds.

    Attributes
    ----------
    build : str
        Digest of the core.
    name, scenario : str
        The scenario's name, and as a command names it.
    points : str
        Digest of what is run.
    changes : list of str
        What is set.
    space, over : dict
        What is searched, and the conditions, as text by their keys.
    objectives : list
        Each a metric, and whether it is made small.
    constraints : list of str
        The bounds.
    conditions, replications, seed : int
        How many conditions, runs of each, and the seed.
    mean : bool
        Whether a score is the mean of the conditions, not the worst.
    """

    build: str
    name: str
    scenario: str
    points: str
    changes: list[str]
    space: dict[str, str]
    objectives: list[list[str | bool]]
    constraints: list[str]
    over: dict[str, str]
    conditions: int
    mean: bool
    replications: int
    seed: int


@dataclass(frozen=True)
class Trial:
    """One set of values, and what its runs gave.

    Examples
    --------
    >>> import qcnlab
    >>> qcnlab.Trial(1, {"scheme.cp.w": "4"}, {}, (1500.0,), violation=0.0).kept
    True
    """

    number: int
    """Counted from 1; 0 is the scenario as it is."""
    values: dict[str, str]
    """What is set, by key."""
    metrics: dict[str, Runs]
    """The metrics that are asked for, of each condition and replication."""
    scores: tuple[float, ...]
    """What the objectives come to."""
    violation: float
    """The sum of what bounds are exceeded by; 0 if all are kept."""
    refused: str | None = None
    """Why the scenario cannot have these values."""

    @property
    def kept(self) -> bool:
        """Whether it ran and kept all bounds."""
        return self.refused is None and self.violation == 0
