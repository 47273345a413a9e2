"""GOAL schedules as the binary files that LogGOPSim's ``txt2bin`` writes.

All numbers are little-endian, and nothing is padded. The mark 4223 (8 octets), the number of ranks
(4), the most CPU and network interface (1 each), for each rank where it begins and ends (8 each),
counted from behind the mark. A rank has the number of its operations and of those that wait for
nothing (4 each), the latter's positions (4 each), the operations (39 octets each), and the
positions of those that wait for them.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING

from qcnlab.formats.goal.text import LONGEST_CALC, NS, Schedule
from qcnlab.formats.lines import FormatError
from qcnlab.formats.messages import MOST_HOSTS, MOST_OCTETS
from qcnlab.formats.schedules.operations import ANY, CALC, RECV, SEND, Rank

if TYPE_CHECKING:
    from pathlib import Path

MARK, USED_UP = 4223, 2342
HEAD, LIMITS, COUNTS = Struct("<QIBB"), Struct("<QQ"), Struct("<II")
OPERATION = Struct("<IBIQIBBIIII")
NUMBER = Struct("<I")
BEHIND = 8
"""Octets of the mark, which positions of ranks do not count."""
MAX = (1 << 32) - 1


def is_binary(path: Path) -> bool:
    """Return whether a file has the mark of a binary schedule."""
    try:
        with path.open("rb") as file:
            mark = file.read(BEHIND)
    except OSError as error:
        raise FormatError(f"cannot read '{path}': {error.strerror or error}") from error
    return mark in (each.to_bytes(BEHIND, "little") for each in (MARK, USED_UP))


def read(path: Path) -> Schedule:
    """Read a binary schedule.

    Raises
    ------
    FormatError
        If the file is cut off, or a count or a position leads out of it.
    """
    data = path.read_bytes()
    if len(data) < HEAD.size:
        raise FormatError(f"{path}: the file is cut off: it has {len(data)} octets")
    mark, count, _, _ = HEAD.unpack_from(data)
    if mark == USED_UP:
        raise FormatError(f"{path}: a run of LogGOPSim with --save-mem used it up: write it again")
    if not 1 <= count <= MOST_HOSTS:
        raise FormatError(f"{path}, octet 8: {count} ranks are not from 1 to {MOST_HOSTS}")
    if len(data) < HEAD.size + LIMITS.size * count:
        raise FormatError(f"{path}: the file is cut off: {count} ranks are said to follow")
    ranks, resources = [], 0
    for number in range(count):
        at = HEAD.size + LIMITS.size * number
        start, end = (each + BEHIND for each in LIMITS.unpack_from(data, at))
        if not HEAD.size <= start <= end <= len(data):
            raise FormatError(
                f"{path}, octet {at}: rank {number} lies from {start} to {end}, and the file has "
                f"{len(data)} octets: it is cut off, or the numbers are wrong"
            )
        rank, used = _rank(path, number, memoryview(data)[start:end])
        ranks.append(rank)
        resources += used
    return Schedule(ranks, resources)


def _rank(path: Path, number: int, data: memoryview) -> tuple[Rank, int]:
    def fault(message: str) -> FormatError:
        return FormatError(f"{path}, rank {number}: {message}")

    if len(data) < COUNTS.size:
        raise fault(f"it has {len(data)} octets, too few for its counts")
    count, roots = COUNTS.unpack_from(data)
    first = COUNTS.size + NUMBER.size * roots
    behind = first + OPERATION.size * count
    if behind > len(data):
        raise fault(f"{count} operations are said to follow, but it has {len(data)} octets")
    positions = (len(data) - behind) // NUMBER.size
    rank, resources = Rank(path), 0
    for at in range(count):
        _, kind, peer, size, tag, cpu, nic, *lists = OPERATION.unpack_from(
            data, first + OPERATION.size * at
        )
        if kind not in (SEND, RECV, CALC):
            raise fault(f"operation {at}: type {kind}: there are 1 send, 2 receive and 3 calc")
        most = LONGEST_CALC if kind == CALC else MOST_OCTETS
        if size > most:
            raise fault(f"operation {at}: size {size} is more than {most}")
        if kind == CALC:
            rank.add(CALC, size * NS)
        else:
            wild = kind == RECV
            mark = ANY if wild and tag == MAX else tag
            rank.add(kind, size, ANY if wild and peer == MAX else peer, mark)
        resources += bool(cpu or nic)
        for waits, many, begin in ((rank.after, *lists[:2]), (rank.begun, *lists[2:])):
            if many and begin + many > positions:
                raise fault(f"operation {at}: {many} others wait for it, more than the file has")
            for each in range(begin, begin + many) if many else ():
                (waiter,) = NUMBER.unpack_from(data, behind + NUMBER.size * each)
                if waiter >= count:
                    raise fault(f"operation {at}: {waiter} waits for it: there are {count}")
                waits.setdefault(waiter, []).append(at)
    return rank, resources
