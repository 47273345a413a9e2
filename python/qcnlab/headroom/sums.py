"""The sums of headroom: the standard's annex, Mellanox's formula, and the laboratory's switch.

Everything is in octets; 1 KiB is 1024 octets.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from math import ceil
from typing import TYPE_CHECKING

from qcnlab import _core
from qcnlab.errors import Error
from qcnlab.records import ByName, Record, read

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qcnlab.headroom.platforms import Formula, Platform

KIB = 1024
OVERHEAD = 20
"""Octets of preamble and gap of a frame."""
PAUSE_FRAME = 64
QUANTUM_BITS = 512
FIBRE_S = 5e-9
"""Seconds that a metre of fibre takes; twinax takes 4.76e-9."""
MELLANOX_MPS = 198e6
"""Metres that light goes in a second, in Mellanox's formula."""
MAC_PHY_KIB = 0.8
TILE_NS = 120
SMALL = 64
"""Octets of a small packet."""

RESPONSE = {10: 60, 25: 80, 40: 118, 50: 147, 100: 394, 200: 453, 400: 905, 800: 905}
"""Response time by the rate in Gb/s, in quanta: IEEE 802.3, 31B.3.7; from `UNSURE` on, SONiC's."""
UNSURE = 800
"""The rate in Gb/s from which on no text of 802.3's was read: SONiC counts 905 quanta there."""
MELLANOX_PEER = {10: 67, 25: 80, 40: 118, 50: 147, 100: 394, 200: 453, 400: 905, 800: 905}
"""Response time of the peer by the rate in Gb/s, in quanta: SONiC, asic_table.j2."""
INTERFACE = {10: 8192, 25: 6144, 40: 24576, 100: 122880}
"""Delay of one station's interface by the rate in Gb/s, in bit times, an upper bound."""
G = 10**9


@dataclass(frozen=True)
class Port:
    """A port of a switch whose link is paused by classes."""

    rate_bps: int
    cable_m: float
    mtu: int
    """The longest frame of any class in octets, from its addresses to its FCS."""
    lossless_mtu: int | None = None
    """The longest frame of the paused class; `None` for `mtu`, or what a platform's rows have."""
    reaction_s: float | None = None
    """Time from a pause frame's last octet to its effect; `None` for the response time of 802.3."""
    latency_s: float = 0.0
    """Time from the end of a frame's reception until the switch counts it."""
    small_packets: int | None = None
    """Percent of small packets; `None` for what a platform's rows have."""
    wide: bool = False
    """Whether it has 8 lanes, where a switch of Mellanox counts its pipeline twice."""

    @property
    def class_mtu(self) -> int:
        """The longest frame of the paused class."""
        return self.mtu if self.lossless_mtu is None else self.lossless_mtu

    @property
    def gbps(self) -> int | None:
        """The rate in Gb/s, if it is a whole number of them."""
        return self.rate_bps // G if self.rate_bps % G == 0 else None

    @property
    def delay_s(self) -> float:
        """Propagation over the cable, one way."""
        return self.cable_m * FIBRE_S

    @property
    def response_s(self) -> float:
        """Time from a pause frame's last octet to its effect.

        Raises
        ------
        Error
            If none is published for the rate, and none was given.
        """
        if self.reaction_s is not None:
            return self.reaction_s
        quanta = RESPONSE.get(self.gbps or 0)
        if quanta is None:
            rates = ", ".join(f"{rate}G" for rate in RESPONSE)
            raise Error(
                f"no response time is known for {self.rate_bps / G:g} Gb/s, only for {rates}: "
                "add --reaction TIME, such as --reaction '2 us'"
            )
        return quanta * QUANTUM_BITS / self.rate_bps

    def octets(self, seconds: float) -> float:
        """Return what the link carries in a time."""
        return seconds * self.rate_bps / 8


@dataclass(frozen=True)
class Sum:
    """A headroom and its terms."""

    name: str
    terms: dict[str, float]
    """Octets of each term, by the names in `TERMS`."""
    xoff: int
    """The headroom, as the switch would be given it."""
    xon: int | None = None
    """Octets at which a stopped class goes on."""
    size: int | None = None
    """Octets set apart for the class at the port."""
    sources: dict[str, str] = field(default_factory=dict)
    """Where terms come from."""
    occupancy: float | None = None
    """Octets of cells that an octet on the wire takes, where a vendor's formula counts them."""


@dataclass(frozen=True, slots=True)
class Term(Record):
    """A term of the laboratory's sum, as the core counts it."""

    name: str
    octets: float


@dataclass(frozen=True, slots=True)
class Worst(Record):
    """What the run takes that takes most headroom."""

    bytes: int
    frames: int


@dataclass(frozen=True, slots=True)
class Lost(Record):
    """The frames that a run loses with some headroom."""

    headroom_bytes: int
    frames: int


@dataclass(frozen=True, slots=True)
class Runs(Record):
    """The headroom of the laboratory's switch, and what its runs say of it."""

    terms: tuple[Term, ...]
    headroom_bytes: int
    greediest_frame_bytes: int
    """The frame that takes most of cells."""
    worst: Worst
    lost: tuple[Lost, ...]
    """With the headroom, with what the worst run takes, with a cell less, with each of others."""
    scenario: str
    """The worst run as TOML."""


TERMS = {
    "crossing": "frame that crosses the threshold",
    "blocking": "frame that the pause frame waits for",
    "pause_frame": "pause frame",
    "cable": "cable, there and back",
    "interface": "interfaces of both stations",
    "latency": "latency of the switch",
    "tile": "crossing the chip's tiles",
    "reaction": "response of the peer",
    "begun": "frame of the class that had begun",
    "cells": "whole cells of the frames between",
    "rounding": "rounding",
}
"""The terms of all sums, with their words."""


def standard(port: Port, interface: bool = False) -> Sum:
    """Return the sum of IEEE 802.1Qbb, Annex O (later an annex of 802.1Q).

    Parameters
    ----------
    port : Port
        The port; its latency is no term of the standard's.
    interface : bool, default False
        Whether the delay of both stations' interfaces counts. The response time of 802.3 is
        measured on the wire and may hold it already.

    Raises
    ------
    Error
        If a term is not known for the rate.
    """
    terms = {
        "blocking": float(port.mtu + OVERHEAD),
        "pause_frame": float(PAUSE_FRAME + OVERHEAD),
        "cable": port.octets(2 * port.delay_s),
        "reaction": port.octets(port.response_s),
        "begun": float(port.class_mtu + OVERHEAD),
    }
    if interface:
        bits = INTERFACE.get(port.gbps or 0)
        if bits is None:
            raise Error(f"no interface delay is known for {port.rate_bps / G:g} Gb/s")
        terms["interface"] = 2 * bits / 8
    return _summed("802.1Q annex", terms, {
        "blocking": "MTU + 20 B of preamble and gap",
        "pause_frame": "64 B + 20 B",
        "cable": "5 ns/m of fibre",
        "interface": "upper bound, vendors' texts",
        "reaction": _response_source(port),
        "begun": "MTU of the class + 20 B",
    })  # fmt: skip


def _response_source(port: Port) -> str:
    if port.reaction_s is not None:
        return "your --reaction"
    if (port.gbps or 0) >= UNSURE:
        return f"SONiC, {RESPONSE[port.gbps or 0]} quanta; 802.3's text was not read at this rate"
    return f"802.3 31B.3.7, {RESPONSE[port.gbps or 0]} quanta"


def mellanox(port: Port, platform: Platform, shared_headroom: bool = False) -> Sum:
    """Return what SONiC computes for a switch of Mellanox.

    Parameters
    ----------
    port : Port
        The port.
    platform : Platform
        With a formula.
    shared_headroom : bool, default False
        Whether all groups draw on one headroom: a group's `size` is then XON alone.

    Raises
    ------
    Error
        If the peer's response is not known for the rate.
    """
    formula = platform.formula
    if formula is None:
        raise Error(f"no formula is published for {platform.name}")
    lossless = formula.lossless_mtu if port.lossless_mtu is None else port.lossless_mtu
    small = formula.small_packets if port.small_packets is None else port.small_packets
    occupancy = _occupancy(platform.cell, lossless, small)
    between = {
        "blocking": float(port.mtu),
        "cable": port.octets(2 * port.cable_m / MELLANOX_MPS),
        "interface": MAC_PHY_KIB * KIB,
        "reaction": _peer(port, formula),
    }
    if formula.tile:
        between["tile"] = port.octets(TILE_NS * 1e-9)
    wire = sum(between.values())
    exact = lossless + wire * occupancy
    xoff = ceil(_steady(exact / KIB)) * KIB
    terms = {
        **between,
        "begun": float(lossless),
        "cells": wire * (occupancy - 1),
        "rounding": xoff - exact,
    }
    xon = formula.pipeline_kib * KIB * (2 if port.wide else 1)
    size = xon if shared_headroom else xon + xoff + (port.mtu if port.wide else 0)
    pattern = f"{small} % small packets of {SMALL} B, others of {lossless} B"
    peer = (
        f"{formula.peer_kib} KiB"
        if formula.peer_kib is not None
        else f"asic_table.j2, {MELLANOX_PEER.get(port.gbps or 0, 0)} quanta"
    )
    return Sum(
        f"SONiC {platform.name}",
        terms,
        xoff,
        xon,
        ceil(size / KIB) * KIB,
        {
            "blocking": "port's MTU",
            "cable": "198e6 m/s",
            "interface": "MAC and PHY 0.8 KiB",
            "tile": f"{TILE_NS} ns",
            "reaction": "your --reaction" if port.reaction_s is not None else peer,
            "begun": "MTU of the class",
            "cells": f"cells of {platform.cell} B: {pattern}",
            "rounding": "up to 1 KiB = 1024 B",
        },
        occupancy,
    )


def shipped(port: Port, platform: Platform) -> Sum | None:
    """Return the row that SONiC ships for a rate and a cable; `None` where there is none."""
    for rate, cable, xoff in platform.rows:
        if rate == port.gbps and cable == port.cable_m:
            row = platform.row or ByName({})
            told = {"xoff": platform.source}
            size = row["size"] + xoff
            return Sum(f"SONiC {platform.name}", {}, xoff, row.get("xon"), size, told)
    return None


def laboratory(port: Port, cell: int = 1, others: Sequence[int] = ()) -> tuple[Sum, Runs]:
    """Return the headroom of the laboratory's own switch, with what its runs say of it.

    Parameters
    ----------
    port : Port
        The port.
    cell : int, default 1
        Frames take whole cells of so many octets; 1 for octets.
    others : sequence of int
        Headrooms in octets that run, too.

    Returns
    -------
    tuple
        The sum, and what its runs lose.

    Raises
    ------
    Error
        If no scenario may have such a link.
    """
    answer = _core.headroom(
        rate_bps=port.rate_bps,
        delay_ps=_ps(port.delay_s),
        latency_ps=_ps(port.latency_s),
        reaction_ps=_ps(port.response_s),
        longest_bytes=port.class_mtu,
        blocking_bytes=port.mtu,
        cell_bytes=cell,
        others=others,
    )
    runs = read(Runs, json.loads(answer), "the core's answer")
    terms = {term.name: float(term.octets) for term in runs.terms}
    xoff = runs.headroom_bytes
    rest = xoff - sum(terms.values())
    terms["rounding" if cell == 1 else "cells"] = rest
    sources = {
        "crossing": "MTU of the class + 20 B",
        "blocking": "MTU + 20 B",
        "pause_frame": "64 B + 20 B",
        "cable": "[[link]] delay, 5 ns/m here",
        "latency": "[[switch]] latency",
        "reaction": "[[pause]] reaction",
        "begun": "MTU of the class + 20 B",
        "cells": f"cells of {cell} B: frames of {runs.greediest_frame_bytes} B take most",
        "rounding": "up to 1 B",
    }
    return Sum("laboratory", terms, xoff, sources=sources), runs


def _summed(name: str, terms: dict[str, float], sources: dict[str, str]) -> Sum:
    exact = sum(terms.values())
    xoff = ceil(_steady(exact))
    terms["rounding"] = xoff - exact
    return Sum(name, terms, xoff, sources={**sources, "rounding": "up to 1 B"})


def _occupancy(cell: int, lossless: int, small: int) -> float:
    """Return the octets of cells that an octet on the wire takes, by Mellanox's formula."""
    waste = cell / SMALL if cell > 2 * SMALL else ceil(2 * cell / (1 + cell))
    part = 100 * SMALL / ((small * SMALL + (100 - small) * lossless) / 100)
    return (100 - part + part * waste) / 100


def _peer(port: Port, formula: Formula) -> float:
    if port.reaction_s is not None:
        return port.octets(port.reaction_s)
    if formula.peer_kib is not None:
        return formula.peer_kib * KIB
    quanta = MELLANOX_PEER.get(port.gbps or 0)
    if quanta is None:
        raise Error(
            f"no response time is known for {port.rate_bps / G:g} Gb/s: add --reaction TIME"
        )
    return quanta * QUANTUM_BITS / 8


def _ps(seconds: float) -> int:
    return round(seconds * 1e12)


def _steady(value: float) -> float:
    """Return a sum of floats without the last digits, which would round it up."""
    return round(value, 6)
