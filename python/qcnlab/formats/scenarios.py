"""What formats share that make scenarios: text for TOML, a check before anything is written."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from qcnlab import _core
from qcnlab.files.outputs import FLOWS, SCENARIO
from qcnlab.formats.lines import FormatError
from qcnlab.formats.numbers import time_text

if TYPE_CHECKING:
    from pathlib import Path

MARK = SCENARIO.marks[0].decode()
FLOWS_MARK = FLOWS.marks[0].decode()
FEW = 20_000
"""Flows whose rates and throughputs are recorded in bins."""
NO_FLOWS = 'flows = "from,to,size,start\\n"'
"""A list without flows, in the stead of one that is not written yet."""


def quoted(text: str) -> str:
    r"""Return text as a string of TOML; characters that cannot be printed become ?.

    >>> quoted('a "b"\x00')
    '"a \\"b\\"?"'
    """
    safe = "".join(char if char.isprintable() else "?" for char in text)
    return json.dumps(safe.encode("utf-8", "replace").decode(), ensure_ascii=False)


def check_name(out: Path) -> None:
    """Raise `FormatError` for a scenario's file that does not end in ``.toml``."""
    if out.suffix != ".toml":
        raise FormatError(f"'{out}' does not end in .toml: name a scenario file with -o")


def check(text: str, source: Path | str) -> None:
    """Refuse what a scenario cannot say, before it is written.

    Parameters
    ----------
    text : str
        The scenario, which names no file.
    source : Path or str
        What it was made of.

    Raises
    ------
    FormatError
        With the words of the scenario's check.
    """
    try:
        _core.Scenario.parse(text, "scenario.toml")
    except _core.ScenarioError as error:
        hint = f"; {error.hint}" if error.hint else ""
        raise FormatError(f"{source}: a scenario cannot say this: {error.message}{hint}") from None


def record(flows: int, end: int) -> list[str]:
    """Return the table `[record]` of a run of many flows: one bin for the run, or the tables burst.

    Parameters
    ----------
    flows : int
        How many.
    end : int
        How long the run lasts, ps.
    """
    if flows <= FEW:
        return []
    whole = time_text(end)
    return ["[record]", f'rates_every = "{whole}"', f'throughput_bin = "{whole}"', ""]
