"""A capture in pcapng, read once more: blocks, options and frames, as its draft has them."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SECTION, INTERFACE, FRAME = 0x0A0D0D0A, 1, 6
LITTLE_ENDIAN = 0x1A2B3C4D
COMMENT, NAME_OF_INTERFACE, FLAGS, RESOLUTION = 1, 2, 2, 9
DIRECTIONS = {0: "", 1: "received", 2: "sent"}


@dataclass(frozen=True)
class CapturedFrame:
    """A frame: the interface, when, ns, its octets as far as they were kept, and all it had."""

    port: str
    time_ns: int
    octets: bytes
    length: int
    direction: str
    comment: str


def options(octets: bytes) -> dict[int, bytes]:
    """Return the options of a block; of several with one code the last."""
    values, at = {}, 0
    while at + 4 <= len(octets):
        code, length = struct.unpack_from("<HH", octets, at)
        if code == 0:
            break
        values[code] = octets[at + 4 : at + 4 + length]
        at += 4 + (length + 3) // 4 * 4
    return values


def read(file: Path) -> Iterator[CapturedFrame]:
    """Yield the frames of a little-endian file of one section."""
    capture, at = file.read_bytes(), 0
    ports: list[tuple[str, int]] = []
    while at < len(capture):
        kind, length = struct.unpack_from("<II", capture, at)
        body = capture[at + 8 : at + length - 4]
        assert capture[at + length - 4 : at + length] == struct.pack("<I", length)
        at += length
        if kind == SECTION:
            assert struct.unpack_from("<I", body) == (LITTLE_ENDIAN,)
        elif kind == INTERFACE:
            about = options(body[8:])
            (resolution,) = about.get(RESOLUTION, b"\x06")
            ports.append((about.get(NAME_OF_INTERFACE, b"").decode(), 10 ** (9 - resolution)))
        elif kind == FRAME:
            interface, high, low, kept, whole = struct.unpack_from("<IIIII", body)
            about = options(body[20 + (kept + 3) // 4 * 4 :])
            (flags,) = struct.unpack("<I", about.get(FLAGS, bytes(4)))
            name, step_ns = ports[interface]
            yield CapturedFrame(
                name,
                (high << 32 | low) * step_ns,
                body[20 : 20 + kept],
                whole,
                DIRECTIONS[flags & 3],
                about.get(COMMENT, b"").decode(),
            )
