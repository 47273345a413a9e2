"""Switches whose cells, buffers and headroom are known."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

from qcnlab.errors import Error

FILE = Path(__file__).with_name("platforms.toml")


@dataclass(frozen=True)
class Formula:
    """The numbers of Mellanox's formula for a platform."""

    peer_kib: float | None
    """Response time of the peer in KiB; `None` where quanta of 802.3 are counted."""
    tile: bool
    """Whether crossing tiles of the chip takes time."""
    pipeline_kib: int
    """What the pipeline takes, which is the XON level, in KiB."""
    lossless_mtu: int
    """Octets of a frame of the class, by the pattern of traffic."""
    small_packets: int
    """Percent of small packets, by the pattern of traffic."""


@dataclass(frozen=True)
class Platform:
    """A switch: sizes in octets."""

    name: str
    chip: str
    cell: int
    buffer: int | None
    """The whole chip's, a round number; `None` where it is not known."""
    sure: bool
    """Whether cell and buffer were read in a source."""
    source: str
    note: str | None
    shared_headroom: bool
    """Whether the shipped rows are for one headroom that all groups draw on."""
    formula: Formula | None
    row: dict[str, int] | None
    """`size`, `xon` and `xon_offset` beside each shipped row."""
    rows: tuple[tuple[int, int, int], ...]
    """Rate in Gb/s, cable in m, xoff in octets."""


@cache
def platforms() -> dict[str, Platform]:
    """Return the switches that are known, by each of their names."""
    known: dict[str, Platform] = {}
    for entry in tomllib.loads(FILE.read_text(encoding="utf-8"))["platform"]:
        platform = _platform(entry)
        for name in (platform.name, *entry.get("also", ())):
            known[name] = platform
    return known


def platform(name: str) -> Platform:
    """Return a switch by its name, in small or capital letters.

    Parameters
    ----------
    name : str
        Such as `SN5600` or `TH2`.

    Raises
    ------
    Error
        If no such switch is known; the message names those that are.
    """
    known = {each.casefold(): entry for each, entry in platforms().items()}
    try:
        return known[name.replace(" ", "").casefold()]
    except KeyError:
        names = sorted({entry.name for entry in known.values()})
        close = get_close_matches(name.casefold(), known, 1)
        meant = f"did you mean {known[close[0]].name}? " if close else ""
        raise Error(f"no platform '{name}': {meant}known are {', '.join(names)}") from None


def _platform(entry: dict[str, Any]) -> Platform:
    numbers = entry.get("formula")
    formula = None
    if numbers is not None:
        own = {key: value for key, value in numbers.items() if key != "peer"}
        formula = Formula(**{"peer_kib": None, **own})
    return Platform(
        name=entry["name"],
        chip=entry["chip"],
        cell=entry["cell"],
        buffer=entry.get("buffer"),
        sure=entry.get("sure", True),
        source=entry["source"],
        note=entry.get("note"),
        shared_headroom=entry.get("shared_headroom", False),
        formula=formula,
        row=entry.get("row"),
        rows=tuple((rate, cable, xoff) for rate, cable, xoff in entry.get("rows", ())),
    )
