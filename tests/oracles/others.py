"""Captures as other programs write them: no comments, no statistics, frames with FCS or without."""

from __future__ import annotations

import re
import struct
import zlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pcapng

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

NANOSECONDS = 0xA1B23C4D
ETHERNET = 1
SPEED, FCS_LENGTH = 8, 13
FCS = 4
IPV4 = re.compile(rb"(\x08\x00\x45.)(..)", re.DOTALL)
"""The EtherType of IPv4, and the beginning of a header without options up to its length."""
DIRECTIONS = {"": 0, "received": 1, "sent": 2}


@dataclass(frozen=True)
class Form:
    """How a program writes its captures."""

    classic: bool = False
    """Whether as classic pcap, of one interface."""
    has_fcs: bool = False
    """Whether the frames end with it."""
    of_interface: int | None = None
    """Octets of it that the interface tells; of classic pcap, its header."""
    of_frame: int = 0
    """Octets of it that each frame tells."""
    snap: int | None = 128
    """Octets that are kept; all if `None`."""


def option(code: int, value: bytes) -> bytes:
    """Return an option of a block."""
    return struct.pack("<HH", code, len(value)) + value + bytes(-len(value) % 4)


def block(kind: int, body: bytes) -> bytes:
    """Return a block of pcapng."""
    length = struct.pack("<I", len(body) + 12)
    return struct.pack("<I", kind) + length + body + length


def without_fcs(frame: pcapng.CapturedFrame) -> pcapng.CapturedFrame:
    """Return a frame whose last 4 octets stood for the FCS, as a capture without it has it.

    Its IPv4 packet, and the one that a CNM quotes, end before them.
    """
    whole = frame.length - FCS
    octets = IPV4.sub(_shorter, frame.octets[:whole], count=1)
    return replace(frame, octets=octets, length=whole)


def _shorter(match: re.Match[bytes]) -> bytes:
    return match[1] + struct.pack(">H", int.from_bytes(match[2]) - FCS)


def write(
    file: Path, frames: Iterable[pcapng.CapturedFrame], form: Form, rates_bps: dict[str, int]
) -> None:
    """Write frames that have no FCS; `rates_bps` has the interfaces and their rates."""
    names = list(rates_bps)
    if form.classic:
        told = 0 if form.of_interface is None else form.of_interface // 2 << 28 | 1 << 26
        header = (NANOSECONDS, 2, 4, 0, 0, form.snap or 65_535, ETHERNET | told)
        written = [struct.pack("<IHHiIII", *header)]
    else:
        written = [block(pcapng.SECTION, struct.pack("<IHHq", pcapng.LITTLE_ENDIAN, 1, 0, -1))]
        for name, rate in rates_bps.items():
            options = option(pcapng.NAME_OF_INTERFACE, name.encode())
            options += option(SPEED, struct.pack("<Q", rate)) + option(pcapng.RESOLUTION, b"\x09")
            if form.of_interface is not None:
                options += option(FCS_LENGTH, bytes([form.of_interface]))
            head = struct.pack("<HHI", ETHERNET, 0, form.snap or 0)
            written.append(block(pcapng.INTERFACE, head + options))
    for frame in frames:
        octets, length = frame.octets, frame.length
        if form.has_fcs:
            octets += bytes(length - len(octets))
            octets += struct.pack("<I", zlib.crc32(octets))
            length += FCS
        octets = octets[: form.snap]
        if form.classic:
            stamp = divmod(frame.time_ns, 10**9)
            written.append(struct.pack("<IIII", *stamp, len(octets), length) + octets)
            continue
        stamp = frame.time_ns >> 32, frame.time_ns & 0xFFFFFFFF
        head = struct.pack("<IIIII", names.index(frame.port), *stamp, len(octets), length)
        flags = form.of_frame << 5 | (DIRECTIONS[frame.direction] if form.of_frame else 0)
        options = option(pcapng.FLAGS, struct.pack("<I", flags)) if flags else b""
        written.append(block(pcapng.FRAME, head + octets + bytes(-len(octets) % 4) + options))
    file.write_bytes(b"".join(written))
