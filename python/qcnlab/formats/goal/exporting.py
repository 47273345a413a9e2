"""`qcnlab export goal`: the messages that a scenario lists, as a GOAL schedule in text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qcnlab.files.folders import NewFolder
from qcnlab.formats.listed import Flow, listed
from qcnlab.formats.report import Report
from qcnlab.printing.text import counted

if TYPE_CHECKING:
    from pathlib import Path

NS = 1000


def convert(source: str, out: Path) -> Report:
    """Write the messages that a scenario lists as a GOAL schedule.

    Parameters
    ----------
    source : str
        A scenario file, or the name of a shipped one.
    out : Path
        A new folder.

    Returns
    -------
    Report
        What was written, and what a schedule cannot say.

    Raises
    ------
    FormatError
        If the scenario lists no messages.
    FolderError
        If the folder cannot be written.
    """
    report = Report()
    said = listed(source, "a schedule", report)
    flows, numbers = said.flows, said.numbers
    ranks = max(numbers.values()) + 1
    statements: list[list[str]] = [[] for _ in range(ranks)]
    waits: list[list[str]] = [[] for _ in range(ranks)]
    finer = 0
    for at, flow in enumerate(flows, 1):
        finer += any(each % NS for each in (flow.start, flow.not_before, *flow.delays))
        _add(statements, waits, at, flow, flows, numbers)
    with NewFolder(out) as folder:
        with (folder.path / "schedule.goal").open("w", encoding="ascii") as file:
            file.write(f"num_ranks {ranks}\n")
            for rank, lines in enumerate(map(list.__add__, statements, waits)):
                file.write(f"\nrank {rank} {{\n")
                file.writelines(f"{line}\n" for line in lines)
                file.write("}\n")
        with (folder.path / "nodes.csv").open("w", encoding="utf-8") as file:
            file.write("rank,name\n")
            file.writelines(f"{number},{host}\n" for host, number in numbers.items())
    report.written += [
        (str(out / "schedule.goal"), f"{counted(ranks, 'rank')}, {counted(len(flows), 'message')}"),
        (str(out / "nodes.csv"), "hosts of ranks"),
    ]
    if finer:
        report.not_modelled.append(
            (f"{counted(finer, 'message')} with a time finer than a ns", "cut to whole ns")
        )
    report.not_modelled.append(
        ("network, scheme, classes", "options of LogGOPSim's command say its model of a network")
    )
    return report


def _add(
    statements: list[list[str]],
    waits: list[list[str]],
    at: int,
    flow: Flow,
    flows: list[Flow],
    numbers: dict[str, int],
) -> None:
    """Add a message: what it waits for, a computation for its delay, the send and its receive.

    What it waits for is a send of its rank, or a receive: they have the number of their message.
    """
    source, target = numbers[flow.source], numbers[flow.target]
    own = statements[source]
    first = f"s{at}"
    if flow.start >= NS:
        first = f"c{at}"
        own.append(f"{first}: calc {flow.start // NS}")
    own.append(f"s{at}: send {flow.octets}b to {target} tag {at}")
    if first != f"s{at}":
        waits[source].append(f"s{at} requires {first}")
    for number, (before, delay) in enumerate(zip(flow.after, flow.delays, strict=True), 1):
        kind = "r" if flows[before].target == flow.source else "s"
        waited = f"{kind}{before + 1}"
        if delay >= NS:
            own.append(f"d{at}_{number}: calc {delay // NS}")
            waits[source].append(f"d{at}_{number} requires {waited}")
            waited = f"d{at}_{number}"
        waits[source].append(f"{first} requires {waited}")
    if flow.not_before >= NS:
        own.append(f"d{at}_0: calc {flow.not_before // NS}")
        waits[source].append(f"{first} requires d{at}_0")
    statements[target].append(f"r{at}: recv {flow.octets}b from {source} tag {at}")
