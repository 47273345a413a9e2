"""Distributions of flow sizes as HPCC's generator of traffic reads them.

A line is ``<octets> <percent>``: the first has 0 percent, the last 100, and sizes between two lines
are evenly spread. PowerTCP's copies count from 0 to 1.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from qcnlab.files.folders import whole as whole_file
from qcnlab.files.outputs import SIZES, writable
from qcnlab.formats.lines import FormatError, lines
from qcnlab.formats.numbers import NumberFault, decimal, whole

if TYPE_CHECKING:
    from pathlib import Path

MOST_LINES = 100_000
MOST_OCTETS = 1 << 50
MARK = SIZES.marks[0].decode()
ROW = "<octets> <percent>"


def read(path: Path) -> tuple[list[tuple[int, Decimal]], int]:
    """Read a distribution.

    Returns
    -------
    tuple
        Sizes in octets, each with the part of flows up to it, from 0 to 1; and what the file counts
        to, 100 or 1.

    Raises
    ------
    FormatError
        If a line is no size with its percent, they fall, or they do not go from 0 to 100, or 1.
    """
    points: list[tuple[int, Decimal]] = []
    number = 0
    for line in lines(path):
        number = line.number
        if len(line.words) != 2:
            raise line.fault(f"{len(line.words)} words: a line is {ROW}")
        if len(points) == MOST_LINES:
            raise line.fault(f"a distribution has at most {MOST_LINES} lines")
        try:
            point = whole(line.words[0], "octets", MOST_OCTETS), decimal(line.words[1], "percent")
        except NumberFault as fault:
            raise line.fault(str(fault)) from None
        if not points and point[1]:
            raise line.fault(f"the first line has {point[1]} percent: it is <octets> 0")
        if points and (point[0] < points[-1][0] or point[1] < points[-1][1] or point == points[-1]):
            raise line.fault("octets and percent grow from line to line")
        points.append(point)
    if not points or points[-1][1] not in (1, 100):
        last = f"{points[-1][1]} percent" if points else "nothing"
        raise FormatError(
            f"{path}, line {number}: the file ends at {last}: it must end at 100, or 1"
        )
    total = int(points[-1][1])
    return [(octets, part / total) for octets, part in points], total


def convert(path: Path, file: Path) -> int:
    """Write a distribution as a table of sizes for scenarios; return what it counts to, 100 or 1.

    Raises
    ------
    FormatError
        As `read`.
    FolderError
        If the table cannot be written, or something else is in its stead.
    """
    points, total = read(path)
    with whole_file(writable(file, SIZES)) as partial, partial.open("w", encoding="ascii") as out:
        out.write(f"{MARK}\nsize,part\n")
        out.writelines(f"{octets} B,{part:f}\n" for octets, part in points)
    return total
