"""One trial of a search: a set of values, and what its runs gave."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from qcnlab.tuning.goals import Runs


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
