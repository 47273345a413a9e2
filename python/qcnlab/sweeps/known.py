"""What a manifest holds: what identifies a sweep."""

from __future__ import annotations

from typing import Any, TypedDict


class PrecisionEntry(TypedDict):
    """A precision as a manifest has it: the fields of `Precision`."""

    metric: str
    share: float
    least: int
    most: int
    level: float
    of: str


class Stated(TypedDict, total=False):
    """What not every manifest states."""

    precision: PrecisionEntry
    rows_in_a_part: int


class Manifest(Stated):
    """What identifies a sweep, and the command that continues it.

    Attributes
    ----------
    format : int
        Version of the folder's layout.
    qcnlab, core : str
        Version and digest of the core.
    scenario, title : str
        The scenario's name and title.
    vary : dict of str to list
        The values of each key that varies, as the resolved scenario has them.
    replications, seed : int
        Of each point, at most; the seed.
    precision : dict
        There where each point gets as many replications as this takes.
    metrics : list of str
        Columns of the table.
    first_point : str
        The resolved scenario of the first point, as TOML.
    points : str
        Digest of all points.
    rows_in_a_part : int
        There where the table is in parts.
    command : str
        What continues it.
    """

    format: int
    qcnlab: str
    core: str
    scenario: str
    title: str
    vary: dict[str, list[Any]]
    replications: int
    seed: int
    metrics: list[str]
    first_point: str
    points: str
    command: str
