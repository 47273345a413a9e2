"""Switches whose cells, buffers and headroom are known."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path

from qcnlab.errors import Error
from qcnlab.records import ByName, Record, read

FILE = Path(__file__).with_name("platforms.toml")


@dataclass(frozen=True, slots=True)
class Formula(Record):
    """The numbers of Mellanox's formula for a platform."""

    tile: bool
    """Whether crossing tiles of the chip takes time."""
    pipeline_kib: int
    """What the pipeline takes, which is the XON level, in KiB."""
    lossless_mtu: int
    """Octets of a frame of the class, by the pattern of traffic."""
    small_packets: int
    """Percent of small packets, by the pattern of traffic."""
    peer_kib: float | None = None
    """Response time of the peer in KiB; `None` where quanta of 802.3 are counted."""


@dataclass(frozen=True, slots=True)
class Platform(Record):
    """A switch: sizes in octets."""

    name: str
    chip: str
    cell: int
    source: str
    also: tuple[str, ...] = ()
    """Other names of it."""
    buffer: int | None = None
    """The whole chip's, a round number; `None` where it is not known."""
    sure: bool = True
    """Whether cell and buffer were read in a source."""
    note: str | None = None
    shared_headroom: bool = False
    """Whether the shipped rows are for one headroom that all groups draw on."""
    formula: Formula | None = None
    row: ByName[int] | None = None
    """`size`, `xon` and `xon_offset` beside each shipped row."""
    rows: tuple[tuple[int, ...], ...] = ()
    """Rate in Gb/s, cable in m, xoff in octets."""


@cache
def platforms() -> dict[str, Platform]:
    """Return the switches that are known, by each of their names."""
    known: dict[str, Platform] = {}
    listed = tomllib.loads(FILE.read_text(encoding="utf-8"))["platform"]
    for platform in read(tuple[Platform, ...], listed, FILE.name):
        for name in (platform.name, *platform.also):
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
