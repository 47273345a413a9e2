"""`pg_profile_lookup.ini`: SONiC's table of headroom by the port's speed and the cable's length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from qcnlab.formats.lines import lines
from qcnlab.formats.sonic.values import Value

if TYPE_CHECKING:
    from pathlib import Path

MOST_SPEED = 10**7
"""Mb/s."""


@dataclass(frozen=True)
class Row:
    """A row: what a lossless class of a port has.

    Attributes
    ----------
    speed : int
        Of the port, Mb/s.
    cable : str
        As it is written: rows are looked up by this text, `40m`.
    values : dict
        `size`, `xon`, `xoff` and, where there is a seventh column, `xon_offset`, in octets; and
        `threshold`, which is `dynamic_th` or `static_th` as the pool's mode has it.
    """

    speed: int
    cable: str
    values: dict[str, Value]


COLUMNS = ("speed", "cable", "size", "xon", "xoff", "threshold", "xon_offset")


def read(path: Path) -> dict[tuple[int, str], Row]:
    """Read the table.

    Parameters
    ----------
    path : Path
        A file of 6 or 7 columns between blanks; lines that begin with # are passed over.

    Returns
    -------
    dict
        Rows by speed in Mb/s and cable.

    Raises
    ------
    FormatError
        For another number of columns, a value that is none, and a row that stands twice.
    """
    out: dict[tuple[int, str], Row] = {}
    for line in lines(path):
        if len(line.words) not in (6, 7):
            raise line.fault(
                f"{len(line.words)} columns; a row has 6 or 7: {' '.join(COLUMNS)}, in octets"
            )
        words = [word.decode("utf-8", "backslashreplace") for word in line.words]
        cells = {
            name: Value(word, path, line.number) for name, word in zip(COLUMNS, words, strict=False)
        }
        speed = cells["speed"].whole("speed in Mb/s", MOST_SPEED, 1)
        cells["cable"].metres()
        for name in ("size", "xon", "xoff", "xon_offset"):
            if name in cells:
                cells[name].octets(name)
        if (speed, cells["cable"].text) in out:
            raise line.fault(f"speed {speed} with cable {cells['cable'].text} has a row already")
        out[speed, cells["cable"].text] = Row(speed, cells["cable"].text, cells)
    return out
