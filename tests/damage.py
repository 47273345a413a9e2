"""Damage to files of a sweep: one bit at a time, flipped in a copy of its folder."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterable
from pathlib import Path

import qcnlab

FLIPS = 30
"""So many bits of each file are flipped."""


def flipped_and_told(folder: Path, out: Path, names: Iterable[str], whole_head: str = "") -> int:
    """Flip bits in a copy of a sweep; return how many were told.

    What is not told must be harmless. The first line of `whole_head` is left alone.
    """
    dice = random.Random(1)
    whole = qcnlab.open_sweep(folder).summary()
    shutil.copytree(folder, out)
    told = 0
    for name in names:
        data = (folder / name).read_bytes()
        start = data.index(b"\n") if name == whole_head else 0
        for _ in range(FLIPS):
            flipped = bytearray(data)
            flipped[dice.randrange(start, len(data))] ^= 1 << dice.randrange(8)
            (out / name).write_bytes(flipped)
            try:
                assert qcnlab.open_sweep(out).summary() == whole, name
            except qcnlab.FolderError as error:
                assert str(out) in str(error)
                told += 1
        (out / name).write_bytes(data)
    return told
