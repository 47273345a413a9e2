"""What `qcnlab headroom` tells: objects as JSON has them."""

from __future__ import annotations

from typing import Literal, TypedDict


class ToldTerm(TypedDict):
    """A term of a sum, and where it comes from."""

    name: str
    bytes: float
    bit_times: float
    source: str | None


class Column(TypedDict):
    """A sum and its terms, in octets where no name says else; `source` is of a shipped row."""

    name: str
    terms: list[ToldTerm]
    source: str | None
    xoff_bytes: int
    xon_bytes: int | None
    size_bytes: int | None
    cells: int
    seconds: float


class WorstRun(TypedDict):
    """The run that takes most headroom: octets, frames, and its scenario as TOML."""

    bytes: int
    frames: int
    scenario: str


class LostFrames(TypedDict):
    """Frames that runs lose, by the headroom that they have."""

    with_headroom: int
    with_worst: int
    with_a_cell_less: int


class OtherRun(TypedDict):
    """Frames that a run loses with the headroom of another sum."""

    name: str
    headroom_bytes: int
    lost_frames: int


Difference = Literal["crossing", "latency", "cells", "not_in_memory", "rounding"]
"""What lies between the annex's sum and what the worst run takes."""


class Differences(TypedDict):
    """What lies between the annex's sum and what the worst run takes, in octets."""

    crossing: float
    latency: float
    cells: float
    not_in_memory: float
    rounding: float


class Confirmed(TypedDict):
    """What runs of the laboratory's switch say."""

    cell_bytes: int
    headroom_bytes: int
    worst: WorstRun
    lost_frames: LostFrames
    others: list[OtherRun]
    over_the_annex_bytes: Differences


class Taken(TypedDict):
    """What the headroom of all ports and classes takes of a switch's buffer."""

    name: str
    chip: str
    cell_bytes: int
    buffer_bytes: int | None
    sure: bool
    source: str
    ports: int
    classes: int
    shared_headroom: bool
    sum: str
    size_bytes: int
    total_bytes: int
    shared_headroom_bytes: int | None
    part: float | None


class Told(TypedDict):
    """All that is told of a port's headroom."""

    rate_bps: int
    cable_m: float
    mtu_bytes: int
    lossless_mtu_bytes: int
    reaction_s: float
    latency_s: float
    sums: list[Column]
    with_interfaces_bytes: int | None
    interface_bit_times: int | None
    laboratory: Confirmed
    platform: Taken | None
    notes: list[str]
