"""What `meta.json` holds: how a run was made, and the units of its tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, NotRequired, TypedDict

if TYPE_CHECKING:
    from qcnlab.runs.live_account import Account


class Versions(TypedDict):
    """Versions of what made a run."""

    qcnlab: str
    python: str
    polars: str


class Meta(TypedDict):
    """How a run was made: versions, the command's words, date, times in s, units by table.

    `wall_s` is `None` where several runs were made at once; `quick` is of a demonstration, `live`
    what a live run measured of itself.
    """

    format: int
    scenario: str
    hash: str
    seed: int
    replications: int
    versions: Versions
    command: list[str]
    date: str
    wall_s: float | None
    cpu_s: float
    units: dict[str, dict[str, str]]
    quick: NotRequired[bool]
    live: NotRequired[Account]
