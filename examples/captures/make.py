"""Write ten captures of one congestion point: right, lossy, and with one wrong field each.

    python examples/captures/make.py FOLDER

A run of two senders at a hotspot is captured on all ports; the other nine are that capture with
octets changed or frames left out, always the same ones.
"""

from __future__ import annotations

import struct
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SCENARIO = "og-hotspot-2src-10g-to-500m-rtt10us"
SHORT = [
    "duration=12 ms",
    "warmup=1 ms",
    "hotspot.from=2 ms",
    "hotspot.until=10 ms",
    "topology.rate=1 Gb/s",
    "hotspot.rate=200 Mb/s",
    "scheme.preset=IEEE_8021Q",
]
ENHANCED_PACKET, HEADER = 6, 28
TENTH = 10
"""The message of the congestion point that is changed, from 1."""

# Octets of a message behind its 802.1Q tag and its CN-TAG.
DESTINATION, TAG = 5, 14
VERSION, FEEDBACK, CPID, OFFSET, GROWTH = 22, 23, 31, 33, 35
FAULTS = {
    "wrong-version": (VERSION, 0x10),
    "wrong-reserved": (VERSION, 0x08),
    "wrong-feedback": (FEEDBACK, 0x04),
    "wrong-cpid": (CPID, 0x01),
    "wrong-offset": (OFFSET, 0x20),
    "wrong-growth": (GROWTH, 0x40),
    "wrong-priority": (TAG, 0x20),
    "wrong-receiver": (DESTINATION, 0x03),
}
"""Each with the octet of the message that is changed, and the bits of it that are turned over."""


def blocks(capture: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the blocks of a pcapng file, each with its type."""
    at = 0
    while at < len(capture):
        kind, length = struct.unpack_from("<II", capture, at)
        yield kind, capture[at : at + length]
        at += length


def is_message(octets: bytes | bytearray) -> bool:
    """Whether a frame is a CNM behind a tag and a CN-TAG."""
    return octets[16:18] == b"\x22\xe9" and octets[20:22] == b"\x22\xe7"


def changed(capture: bytes, change: Callable[[bytearray, int], bool]) -> bytes:
    """Return a capture whose frames went through `change`, which may leave them out.

    `change` has a frame's octets and the number of the message that it is, 0 if it is none. A
    message crosses two links; both copies have its number.
    """
    written: list[bytes] = []
    seen: dict[bytes, int] = {}
    for kind, block in blocks(capture):
        if kind != ENHANCED_PACKET:
            written.append(block)
            continue
        (kept,) = struct.unpack_from("<I", block, 20)
        octets = bytearray(block[HEADER : HEADER + kept])
        number = 0
        if is_message(octets):
            number = seen.setdefault(bytes(octets), len(seen) + 1)
        if change(octets, number):
            written.append(block[:HEADER] + bytes(octets) + block[HEADER + kept :])
    return b"".join(written)


def turned(octet: int, bits: int) -> Callable[[bytearray, int], bool]:
    """Return a change that turns bits of one message over."""

    def change(octets: bytearray, number: int) -> bool:
        if number == TENTH:
            octets[octet] ^= bits
        return True

    return change


def lossy(share: int = 100) -> Callable[[bytearray, int], bool]:
    """Return a change that leaves out one frame in `share`, by a generator of random numbers."""
    state = 7

    def change(_octets: bytearray, _number: int) -> bool:
        nonlocal state
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (state >> 33) % share != 0

    return change


def make(folder: Path) -> list[Path]:
    """Write the captures into `folder`; return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    run = folder / "run"
    overrides = [word for change in SHORT for word in ("-s", change)]
    command = [sys.executable, "-m", "qcnlab", "run", SCENARIO, *overrides, "--reps", "1"]
    subprocess.run(
        [*command, "--capture", "*", "--capture-snap", "128", "-o", str(run)], check=True,
        stdout=subprocess.DEVNULL,
    )  # fmt: skip
    whole = next(run.glob("**/*.pcapng")).read_bytes()
    captures = {"right": whole, "lossy": changed(whole, lossy())}
    captures |= {name: changed(whole, turned(*fault)) for name, fault in FAULTS.items()}
    paths = [folder / f"{name}.pcapng" for name in captures]
    for path, octets in zip(paths, captures.values(), strict=True):
        path.write_bytes(octets)
    return paths


if __name__ == "__main__":
    for path in make(Path(sys.argv[1])):
        print(path)
