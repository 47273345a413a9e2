"""Tables of flows as collectors of NetFlow and others write them: CSV, columns in any order.

A mapping says which column is what: ``src=SRC,dst=DST,bytes=SIZE,start=TIME:ms``. The units of
times must be said; nothing is guessed. Hosts are numbered as they appear and stand around one
switch, because such tables say no network.
"""

from __future__ import annotations

import csv
from contextlib import ExitStack
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING

from qcnlab.files.folders import whole as whole_file
from qcnlab.files.outputs import FLOWS, SCENARIO, writable
from qcnlab.formats.lines import FormatError, Row, rows, shown
from qcnlab.formats.numbers import (
    TIMES,
    NumberFault,
    decimal,
    rate,
    rate_text,
    time,
    time_text,
    whole,
)
from qcnlab.formats.report import Report
from qcnlab.formats.scenarios import (
    FEW,
    FLOWS_MARK,
    MARK,
    NO_FLOWS,
    check,
    check_name,
    quoted,
    record,
)
from qcnlab.printing.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import TextIO

NEEDED = ("src", "dst", "bytes", "start")
ROLES = (*NEEDED, "class")
OCTETS = {"B": 1, "KB": 1000, "MB": 10**6, "GB": 10**9, "KiB": 1024, "MiB": 1 << 20}
"""Units of `bytes`; without one they are octets."""
MOST_FLOWS = 1_000_000
MOST_HOSTS = 100_000
MOST_OCTETS = 1 << 50
FRAME, HEADERS, ACK = 1086, 62, 66
"""Octets of a full packet with 1024 of data, of its headers and of an acknowledgement."""
Record = tuple[str, str, int, int, int]


@dataclass(frozen=True)
class Column:
    """A column that is read."""

    name: str
    scale: int = 1
    """Octets, or ps, of one in it."""


@dataclass(frozen=True)
class Options:
    """What the table does not say.

    Attributes
    ----------
    columns : str
        Which column is what: ``src=SRC,dst=DST,bytes=SIZE,start=TIME:ms``, and ``class=PCP``.
    rate, delay : str
        Of each host's link.
    duration : str
        How long the run lasts at most.
    origin : str, optional
        The time there that is 0 here; by default the start of the earliest flow.
    delimiter : str, default ","
        What stands between cells.
    """

    columns: str
    rate: str
    delay: str
    duration: str
    origin: str | None = None
    delimiter: str = ","


@dataclass
class _Left:
    """Flows that are in no list, and starts that are not exact."""

    own: int = 0
    empty: int = 0
    late: int = 0
    rounded: int = 0
    read: int = 0
    classes: set[int] = field(default_factory=set)


def mapping(text: str) -> dict[str, Column]:
    """Read which column is what.

    Raises
    ------
    FormatError
        If a role is unknown, missing or there twice, or a unit is missing or unknown.

    Examples
    --------
    >>> mapping("src=A,dst=B,bytes=N,start=T:ms")["start"]
    Column(name='T', scale=1000000000)
    """
    columns: dict[str, Column] = {}
    for part in text.split(","):
        role, equals, named = part.strip().partition("=")
        if not equals or not named:
            raise FormatError(
                f"--map: '{part}' is not ROLE=COLUMN: {','.join(ROLES)} are the roles"
            )
        if role not in ROLES:
            near = get_close_matches(role, ROLES, n=1)
            meant = f"; did you mean '{near[0]}'?" if near else ""
            raise FormatError(
                f"--map: no role is called '{role}'{meant}; there are {', '.join(ROLES)}"
            )
        if role in columns:
            raise FormatError(f"--map: '{role}' is there twice: keep one")
        columns[role] = _column(role, named)
    missing = [role for role in NEEDED if role not in columns]
    if missing:
        raise FormatError(f"--map: no column for {', '.join(missing)}: write {missing[0]}=COLUMN")
    return columns


def _column(role: str, named: str) -> Column:
    name, colon, unit = named.rpartition(":")
    units = {each.decode(): scale for each, scale in TIMES.items()} if role == "start" else OCTETS
    if role in ("start", "bytes") and colon and name and unit in units:
        return Column(name, units[unit])
    if role == "start":
        raise FormatError(
            f"--map: start={named} has no unit of time: write start={named}:ms, or s, us, ns, ps"
        )
    return Column(named)


def convert(path: Path, out: Path, options: Options) -> Report:
    """Make a scenario of a table of flows: hosts around one switch, each flow a message over RoCE.

    Parameters
    ----------
    path : Path
        The table. It is read twice.
    out : Path
        The scenario's file, which ends in ``.toml``; beside it go the flows and the hosts.
    options : Options
        What the table does not say.

    Returns
    -------
    Report
        What was read, what it became, and what nothing says.

    Raises
    ------
    FormatError
        If the mapping or a line cannot be read.
    FolderError
        If a file cannot be written, or something else is in its stead.
    """
    check_name(out)
    try:
        speed = rate(options.rate.replace(" ", "").encode(), "--rate")
        delay, end = (
            time(value.replace(" ", "").encode(), name)
            for name, value in (("--delay", options.delay), ("--duration", options.duration))
        )
        origin = None
        if options.origin is not None:
            origin = time(options.origin.replace(" ", "").encode(), "--origin")
    except NumberFault as fault:
        raise FormatError(str(fault)) from None
    if len(options.delimiter) != 1 or not options.delimiter.isascii():
        raise FormatError(f"--delimiter: '{options.delimiter}' is not one character of ASCII")
    report = Report()
    if origin is None:
        origin = min((each[3] for _, each in _records(path, options, _Left())), default=0)
    lists, table = out.with_suffix(".flows.csv"), out.with_suffix(".hosts.csv")
    for file, kind in ((out, SCENARIO), (lists, FLOWS), (table, FLOWS)):
        writable(file, kind)
    left, hosts = _Left(), dict[str, int]()
    with ExitStack() as stack:
        text = stack.enter_context(
            stack.enter_context(whole_file(lists)).open("w", encoding="ascii")
        )
        flows = _write(_records(path, options, left), text, origin, end, hosts, left)
        names = stack.enter_context(
            stack.enter_context(whole_file(table)).open("w", encoding="utf-8")
        )
        names.write(f"{FLOWS_MARK}: hosts\n")
        writer = csv.writer(names, lineterminator="\n")
        writer.writerow(("host", "name"))
        writer.writerows((f"host{number}", name) for name, number in hosts.items())
        body = _scenario(path, lists, len(hosts), flows, speed, delay, end)
        check(body.replace(f"flows = {quoted(lists.name)}", NO_FLOWS), path)
        stack.enter_context(whole_file(out)).write_text(body, encoding="utf-8")
    _tell(report, path, options, left, flows, len(hosts), origin)
    report.written += [
        (str(out), "the scenario"),
        (str(lists), counted(flows, "flow")),
        (str(table), "what each host is called in the table"),
    ]
    return report


def _records(path: Path, options: Options, left: _Left) -> Iterator[tuple[Row, Record]]:
    """Yield the flows of a table: names of the ends, octets, start in ps, class or -1."""
    columns = mapping(options.columns)
    table = rows(path, options.delimiter)
    head = next(table, None)
    if head is None:
        raise FormatError(f"{path}: the file is empty: its first line has the names of columns")
    index = {role: _position(head, column.name) for role, column in columns.items()}
    source, target, size, start = (index[role] for role in NEEDED)
    class_ = index.get("class")
    octets_scale, start_scale = columns["bytes"].scale, columns["start"].scale
    for row in table:
        cells = row.cells
        if len(cells) != len(head.cells):
            raise row.fault(
                f"{counted(len(cells), 'cell')}, where the first line has {len(head.cells)}"
            )
        left.read += 1
        if left.read > MOST_FLOWS:
            raise row.fault(f"a run can have {MOST_FLOWS} flows: leave some out")
        try:
            octets = whole(cells[size].encode(), "bytes", MOST_OCTETS) * octets_scale
            exact = decimal(cells[start].encode("utf-8"), "start") * start_scale
            begun = int(exact)
            left.rounded += begun != exact
            priority = -1 if class_ is None else whole(cells[class_].encode(), "class", 7)
        except NumberFault as fault:
            raise row.fault(str(fault)) from None
        for cell in (cells[source], cells[target]):
            if not cell:
                raise row.fault("a host has no name: the cell is empty")
        yield row, (cells[source], cells[target], octets, begun, priority)


def _position(head: Row, name: str) -> int:
    if name not in head.cells:
        near = get_close_matches(name, head.cells, n=1)
        meant = f"; did you mean {shown(near[0].encode())}?" if near else ""
        raise head.fault(f"no column is called {shown(name.encode())}{meant}")
    if head.cells.count(name) > 1:
        raise head.fault(f"column {shown(name.encode())} is there twice")
    return head.cells.index(name)


def _write(
    records: Iterator[tuple[Row, Record]],
    out: TextIO,
    origin: int,
    end: int,
    hosts: dict[str, int],
    left: _Left,
) -> int:
    """Write flows as a list of a scenario, and number their hosts; return how many flows."""
    count = 0
    out.write(f"{FLOWS_MARK}\nfrom,to,size,start,class\n")
    for row, (source, target, octets, start, class_) in records:
        if start < origin:
            raise row.fault(
                f"the flow starts at {time_text(start)}, before {time_text(origin)}, which is 0 "
                "here: give another --origin, or none"
            )
        left.own += source == target
        left.empty += octets == 0 and source != target
        left.late += start - origin >= end and octets > 0 and source != target
        if source == target or octets == 0 or start - origin >= end:
            continue
        ends = [hosts.setdefault(name, len(hosts) + 1) for name in (source, target)]
        if len(hosts) > MOST_HOSTS:
            raise row.fault(f"more than {MOST_HOSTS} hosts: a network can have no more")
        left.classes.add(max(class_, 0))
        count += 1
        priority = "" if class_ < 0 else str(class_)
        out.write(
            f"host{ends[0]},host{ends[1]},{octets} B,{time_text(start - origin)},{priority}\n"
        )
    return count


def _scenario(
    path: Path, lists: Path, hosts: int, flows: int, speed: int, delay: int, end: int
) -> str:
    if hosts == 0:
        raise FormatError(f"{path}: no flow of an octet or more starts before the end of the run")
    return "\n".join(
        (
            MARK,
            f"title = {quoted(f'From {path.name}')}",
            f'duration = "{time_text(end)}"',
            "drain = true",
            "",
            "[topology]",
            'kind = "switch"',
            f"hosts = {hosts}",
            f'rate = "{rate_text(speed)}"',
            f'delay = "{time_text(delay)}"',
            "",
            "[[traffic]]",
            'arrivals = "list"',
            'transport = "roce"',
            f"flows = {quoted(lists.name)}",
            f'frame = "{FRAME} B"',
            f'headers = "{HEADERS} B"',
            f'ack_frame = "{ACK} B"',
            "cn_tag = false",
            "",
            *record(flows, end),
            "[scheme]",
            'name = "none"',
            "",
        )
    )


def _tell(
    report: Report,
    path: Path,
    options: Options,
    left: _Left,
    flows: int,
    hosts: int,
    origin: int,
) -> None:
    head = next(rows(path, options.delimiter))
    columns = mapping(options.columns)
    report.read.append((str(path), counted(left.read, "flow")))
    units = {"src": "from", "dst": "to", "bytes": "size", "start": "start", "class": "class"}
    report.mapped += [(f"column {each.name}", units[role]) for role, each in columns.items()]
    report.mapped += [
        ("hosts", f"host1 to host{hosts}, around one switch"),
        ("start times", f"{time_text(origin)} less: {time_text(origin)} is 0 here"),
        (counted(flows, "flow"), "[[traffic]], a list over roce"),
    ]
    if flows > FEW:
        report.mapped.append(
            (f"more than {FEW} flows", "[record] one bin for rates and throughput")
        )
    read = {column.name for column in columns.values()}
    unread = [name for name in head.cells if name not in read]
    if unread:
        names = ", ".join(shown(name.encode())[1:-1] for name in unread[:8])
        more = f" and {len(unread) - 8} more" if len(unread) > 8 else ""
        report.not_modelled.append((f"columns {names}{more}", "no role of --map names them"))
    notes = (
        (left.own, "flow", "from a host to itself", "left out: no link carries it"),
        (left.empty, "flow", "of 0 octets", "left out: it has no packet"),
        (left.late, "flow", "from the end of the run on", "left out: give a longer --duration"),
        (left.rounded, "start", "finer than a ps", "cut to whole ps"),
    )
    report.not_modelled += [
        (f"{counted(count, noun)} {what}", why) for count, noun, what, why in notes if count
    ]
    report.not_modelled += [
        ("the network", "one switch without limits of its queues; change [topology]"),
        ("how flows are sent", "each at once, over RoCE without control: -s scheme.name=dcqcn"),
    ]
