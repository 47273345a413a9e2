"""`qcnlab import goal`: a GOAL schedule as messages that wait for others."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from qcnlab.formats.fabrics import fabric
from qcnlab.formats.goal import binary, text
from qcnlab.formats.messages import Setup, length, span
from qcnlab.formats.numbers import time_text
from qcnlab.formats.report import Report
from qcnlab.formats.schedules.messages import schedule
from qcnlab.formats.schedules.writing import files, tell, write
from qcnlab.printing.text import counted

if TYPE_CHECKING:
    from pathlib import Path


class Options(NamedTuple):
    """What the file does not say.

    Attributes
    ----------
    setup : Setup
        How long the run lasts, the packets, and the network if no scenario says it.
    network : str, optional
        A scenario whose network, scheme and transport are taken.
    overhead : str, default "0 s"
        What sending, and receiving, takes of a rank's time: o of LogGOPS.
    """

    setup: Setup
    network: str | None = None
    overhead: str = "0 s"


def convert(path: Path, out: Path, options: Options) -> Report:
    """Make a scenario of a GOAL schedule, text or binary.

    Parameters
    ----------
    path : Path
        The schedule.
    out : Path
        The scenario's file, which ends in ``.toml``; the list of messages goes beside it.
    options : Options
        What the file does not say.

    Returns
    -------
    Report
        What was read, what it became, and what nothing says.

    Raises
    ------
    FormatError
        If the file cannot be read, or its operations can never end.
    FolderError
        If a file cannot be written, or something else is in its stead.
    """
    files(out)
    end = length(options.setup)
    overhead = span("--overhead", options.overhead)
    is_binary = binary.is_binary(path)
    read = binary.read(path) if is_binary else text.read(path)
    ranks = read.ranks
    plan = schedule(ranks, overhead)
    report = Report()
    operations = sum(len(rank.kinds) for rank in ranks)
    kind = "binary schedule" if is_binary else "schedule"
    report.read.append(
        (str(path), f"{kind}: {counted(len(ranks), 'rank')}, {counted(operations, 'operation')}")
    )
    where = fabric(len(ranks), options.setup, options.network, [path], "GOAL schedules")
    write(ranks, plan, where, out, end, report)
    tell(plan, report)
    report.mapped += [
        ("L, G of LogGOPS", "delays and rates of links: no option of LogGOPSim is read"),
        ("o of LogGOPS", f"--overhead {time_text(overhead)} before a send and after a receive"),
    ]
    report.not_modelled.append(("g, O and S of LogGOPS", "the network sends packet by packet"))
    if read.resources:
        report.not_modelled.append(
            (
                f"cpu or nic of {counted(read.resources, 'operation')}",
                "a rank is one host with one link",
            )
        )
    return report
