"""Flow files of HPCC's simulator: a count, then a line for each flow.

A line is ``<src> <dst> <priority> <destination port> <octets> <start in seconds>``, such as
``0 1 3 100 200000 2.0``. By habit port 100 is for flows that count and 200 for incasts beside them,
and times begin at 2 s.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TextIO

from qcnlab.files.folders import whole as whole_file
from qcnlab.files.outputs import FLOWS, writable
from qcnlab.formats.lines import FormatError, Line, lines
from qcnlab.formats.numbers import NumberFault, seconds, time_text, whole
from qcnlab.formats.scenarios import FLOWS_MARK
from qcnlab.printing.text import counted

if TYPE_CHECKING:
    from pathlib import Path

    from qcnlab.formats.hpcc.topology import Topology
    from qcnlab.formats.report import Report

MOST_FLOWS = 1_000_000
"""Flows that a run can have."""
MOST_OCTETS = 1 << 50
WRAPS = 1 << 32
"""Sizes wrap there from so many octets on."""
MOST_PORT = (1 << 16) - 1
MOST_FILES = 8
"""Destination ports that have a list of their own."""
FLOW = "<src> <dst> <priority> <destination port> <octets> <start in s>"
PORT = "destination port"
LONGEST_MARK = 80
"""Characters that hold the first line of a list of ours: the rest may be long."""


@dataclass
class Lists:
    """The lists of flows that a flow file became.

    Attributes
    ----------
    files : dict
        The list of each destination port; `None` for the ports beyond the first `MOST_FILES`.
    flows : int
        Flows in all lists.
    priorities : set of int
        Their classes.
    late : int
        Flows that start at the end of the run or later, and are in no list.
    unsorted, rounded, wrapped : int
        Flows that start before the one above them; whose start is no whole number of ps; that are
        longer than the simulator can count.
    """

    files: dict[int | None, Path] = field(default_factory=dict)
    flows: int = 0
    priorities: set[int] = field(default_factory=set)
    late: int = 0
    unsorted: int = 0
    rounded: int = 0
    wrapped: int = 0


def convert(path: Path, topology: Topology, origin: int, end: int, stem: Path) -> Lists:
    """Read a flow file and write its flows as lists of a scenario, line by line.

    Parameters
    ----------
    path : Path
        The flow file.
    topology : Topology
        The network they are for.
    origin : int
        The time there that is 0 here, ps.
    end : int
        How long the run lasts, ps.
    stem : Path
        What the lists are called; ``.port100.csv`` is added for destination port 100.

    Returns
    -------
    Lists
        What was written.

    Raises
    ------
    FormatError
        If a line is no flow, or the file does not have as many as it says.
    FolderError
        If a list cannot be written, or something else is in its stead.
    """
    rows = lines(path)
    head = next(rows, None)
    if head is None:
        raise FormatError(f"{path}: the file is empty: its first line is the number of flows")
    if len(head.words) != 1:
        raise head.fault(f"{len(head.words)} words: the first line is the number of flows")
    try:
        count = whole(head.words[0], "flows", MOST_FLOWS)
    except NumberFault as fault:
        raise head.fault(f"{fault}: a run can have {MOST_FLOWS} flows") from None
    made, total = Lists(), 0
    linked = set(topology.hosts())
    ports: dict[int | None, TextIO] = {}
    before = origin
    with ExitStack() as stack:
        for line in rows:
            if total == count:
                raise head.miscounted(count, "flow", total, line.number)
            total += 1
            try:
                source, target, priority, port, octets, start = _flow(line, made)
            except NumberFault as fault:
                raise line.fault(str(fault)) from None
            _check_ends(line, source, target, topology, linked)
            if start < origin:
                raise line.fault(
                    f"the flow starts at {time_text(start)}, before {time_text(origin)}, which is "
                    "0 here: give --origin, as in --origin '0 s'"
                )
            made.unsorted += start < before
            before = start
            if start - origin >= end:
                made.late += 1
                continue
            if (list_ := ports.get(port) or ports.get(None)) is None:
                key = port if len(ports) < MOST_FILES else None
                file = stem.with_name(
                    f"{stem.name}.flows.csv" if key is None else f"{stem.name}.port{key}.csv"
                )
                made.files[key] = file
                list_ = ports[key] = stack.enter_context(
                    stack.enter_context(whole_file(writable(file, FLOWS))).open(
                        "w", encoding="ascii"
                    )
                )
                beyond = "other destination ports" if key is None else f"{PORT} {key}"
                list_.write(f"{FLOWS_MARK}, {beyond}\nfrom,to,size,start,class\n")
            made.flows += 1
            made.priorities.add(priority)
            list_.write(
                f"host{source},host{target},{octets} B,{time_text(start - origin)},{priority}\n"
            )
        if total < count:
            raise head.miscounted(count, "flow", total)
    return made


def _flow(line: Line, made: Lists) -> tuple[int, int, int, int, int, int]:
    words = line.words
    if len(words) != 6:
        raise line.fault(f"{len(words)} words: a flow is {FLOW}")
    source, target = whole(words[0], "src", 10**9), whole(words[1], "dst", 10**9)
    if words[2] == b"0":
        raise line.fault("priority 0 is for control frames there: give data a priority from 1 to 7")
    priority = whole(words[2], "priority", 7, 1)
    port = whole(words[3], PORT, MOST_PORT)
    octets = whole(words[4], "octets", MOST_OCTETS, 1)
    start, rounded = seconds(words[5], "start")
    made.rounded += rounded
    made.wrapped += octets >= WRAPS
    return source, target, priority, port, octets, start


def _check_ends(line: Line, source: int, target: int, topology: Topology, linked: set[int]) -> None:
    for number in (source, target):
        if number not in linked:
            if number >= topology.nodes:
                raise line.fault(f"node {number}: the topology has nodes 0 to {topology.nodes - 1}")
            what = "a switch" if topology.node(number)[0] == "switch" else "a host without a link"
            raise line.fault(f"node {number} is {what}: flows go between hosts")
    if source == target:
        raise line.fault(f"host {source} sends to itself: name another host")
    if not topology.connected(source, target):
        raise line.fault(f"no links lead from host {source} to host {target}")


def tell(made: Lists, path: Path, origin: int, end: int, report: Report) -> None:
    """Add what a flow file holds to a report, and what of it nothing says here."""
    report.read.append((str(path), counted(made.flows + made.late, "flow")))
    for port, file in made.files.items():
        ports = "other destination ports" if port is None else f"{PORT} {port}"
        report.mapped.append((f"flows, {ports}", f"[[traffic]], a list over roce, {file.name}"))
        report.written.append((str(file), f"flows, {ports}"))
    report.mapped.append(
        ("start times", f"{time_text(origin)} less: {time_text(origin)} is 0 here")
    )
    if None in made.files:
        report.not_modelled.append(
            (f"destination ports beyond the first {MOST_FILES}", "their flows are one list")
        )
    notes = (
        (
            made.late,
            "flow",
            f"from {time_text(origin + end)} on, the end",
            "they never start there, too",
        ),
        (made.unsorted, "flow", "below one that starts later", "each starts at its time"),
        (made.rounded, "start", "finer than a ps", "rounded to whole ps"),
        (
            made.wrapped,
            "flow",
            f"of {WRAPS} octets and more",
            "not cut to 32 bits, as they are there",
        ),
    )
    report.not_modelled += [
        (f"{counted(count, noun)} {what}", why) for count, noun, what, why in notes if count
    ]


def port_of(list_: str) -> int | None:
    r"""Return the destination port that a list of `convert` is for, if its first line says one.

    >>> port_of("# flows by qcnlab import, destination port 200\nfrom,to,size,start\n")
    200
    """
    first = list_[:LONGEST_MARK].partition("\n")[0]
    head = f"{FLOWS_MARK}, {PORT} "
    return int(first.removeprefix(head)) if first.startswith(head) else None
