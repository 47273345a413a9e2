"""The lines of a sweep's journal.

The first one names the sweep. Each other one is a run that has ended, or a part of the table that
is a file, with a checksum over the line.
"""

from __future__ import annotations

import json
import math
import zlib
from typing import TYPE_CHECKING, NamedTuple

from qcnlab.files.folders import parse_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from qcnlab.sweeps.runs import Run, Values

_PART = b'{"part":'


class PartLine(NamedTuple):
    """What the journal says of a part that is a file."""

    part: int
    sha256: str


def head(sweep: str) -> bytes:
    """Return the first line, which names the sweep."""
    return json.dumps({"sweep": sweep}).encode() + b"\n"


def run_line(run: Run, values: Values) -> bytes:
    """Return the line of a run."""
    return _sealed({"point": run[0], "replication": run[1], "metrics": values})


def part_line(line: PartLine) -> bytes:
    """Return the line of a part."""
    return _sealed(line._asdict())


def lines(path: Path) -> Iterator[bytes]:
    """Yield the lines with their ends; none of a file that is not there."""
    if path.exists():
        with path.open("rb") as file:
            yield from file


def owner(first: bytes) -> str | None:
    """Return the sweep that a first line names, `None` if it is damaged."""
    try:
        return str(parse_json(first)["sweep"])
    except (ValueError, KeyError, TypeError):
        return None


def is_part(line: bytes) -> bool:
    """Return whether a line is one of a part, if it is whole."""
    return line.startswith(_PART)


def read_part(line: bytes) -> PartLine:
    """Return what the line of a part says; raise `ValueError` if it is damaged."""
    try:
        record = parse_json(_unsealed(line))
        return PartLine(_whole_number(record["part"]), str(record["sha256"]))
    except (KeyError, TypeError) as error:
        raise ValueError(line) from error


def read_run(line: bytes, points: int, replications: int, metrics: int) -> tuple[Run, Values]:
    """Return the run of a line; raise `ValueError` if it is damaged or can be none of the sweep."""
    try:
        record = parse_json(_unsealed(line))
        run = (_whole_number(record["point"]), _whole_number(record["replication"]))
        values = [None if each is None else _number(each) for each in record["metrics"]]
    except (KeyError, TypeError, OverflowError) as error:
        raise ValueError(line) from error
    if not (0 <= run[0] < points and 0 <= run[1] < replications and len(values) == metrics):
        raise ValueError(line)
    return run, values


def _sealed(record: Mapping[str, object]) -> bytes:
    text = json.dumps(record, separators=(",", ":")).encode()
    return text[:-1] + b',"sum":"%08x"}\n' % zlib.crc32(text)


def _unsealed(line: bytes) -> bytes:
    """Return the record of a line; raise `ValueError` if its checksum is wrong."""
    record, mark, check = line.rstrip(b"\n").rpartition(b',"sum":"')
    record += b"}"
    if not mark or check != b'%08x"}' % zlib.crc32(record):
        raise ValueError(line)
    return record


def _whole_number(value: object) -> int:
    if type(value) is not int:
        raise TypeError
    return value


def _number(value: object) -> float:
    if type(value) not in (int, float) or not math.isfinite(value):  # type: ignore[arg-type]
        raise ValueError
    return float(value)  # type: ignore[arg-type]
