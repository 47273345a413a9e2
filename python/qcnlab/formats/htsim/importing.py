"""`qcnlab import htsim`: a connection matrix, with or without a topology, as a scenario."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from qcnlab.files.folders import whole as whole_file
from qcnlab.files.outputs import FLOWS, SCENARIO, writable
from qcnlab.formats.htsim import topology
from qcnlab.formats.htsim.matrix import Connection, Matrix, counts, read, scale
from qcnlab.formats.htsim.triggers import Waits, waits
from qcnlab.formats.lines import FormatError, lines, shown
from qcnlab.formats.messages import COLUMNS, SENT, Setup, length, scenario, star
from qcnlab.formats.numbers import time_text
from qcnlab.formats.report import Report
from qcnlab.formats.scenarios import FEW, FLOWS_MARK, NO_FLOWS, check, check_name, quoted
from qcnlab.printing.text import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

NODES = b"Nodes"
TREE = (b"tiers", b"podsize", b"tier")


class Options(NamedTuple):
    """What the files do not say.

    Attributes
    ----------
    times : str
        The unit of a matrix's times: ``ps`` or ``us``.
    setup : Setup
        How long the run lasts, the packets, and the network if no topology says it.
    """

    times: str
    setup: Setup


def convert(files: Sequence[Path], out: Path, options: Options) -> Report:
    """Make a scenario of a connection matrix of htsim.

    Parameters
    ----------
    files : sequence of Path
        A matrix, and a topology if there is one, in any order; each is told from its first lines.
    out : Path
        The scenario's file, which ends in ``.toml``; the list of flows goes beside it.
    options : Options
        What the files do not say.

    Returns
    -------
    Report
        What was read, what it became, and what nothing says.

    Raises
    ------
    FormatError
        If a file is not what it should be, or is missing.
    FolderError
        If a file cannot be written, or something else is in its stead.
    """
    check_name(out)
    lists = out.with_suffix(".flows.csv")
    for file, kind in ((out, SCENARIO), (lists, FLOWS)):
        writable(file, kind)
    roles = _roles(files)
    matrix = Matrix(roles["matrix"], scale(options.times))
    end = length(options.setup)
    report = Report()
    tree = topology.read(roles["tree"]) if "tree" in roles else None
    waiting = Waits()
    said = counts(matrix.path)
    matrix.nodes, matrix.connections = said[b"Nodes"], said[b"Connections"]
    if said.get(b"Triggers") or said.get(b"Failures"):
        waiting = waits(matrix, [flow for flow in read(matrix) if _waits(flow)])
    if tree is None:
        network = star(matrix.nodes, options.setup, "a connection matrix says")
        if matrix.failures:
            raise matrix.failures[0][0].fault("a failed link, but no topology: name its .topo file")
    else:
        if options.setup.rate is not None or options.setup.delay is not None:
            raise FormatError("--rate and --delay are the topology's: leave them out")
        if matrix.nodes > tree.hosts:
            raise FormatError(
                f"{matrix.path}: {matrix.nodes} nodes, but {tree.path} has {tree.hosts}: name the "
                "topology that it is for"
            )
        network = tree.tables(_failed(matrix, tree))
        topology.tell(tree, report)

    def text(line: str) -> str:
        source = "files of htsim"
        paths = list(roles.values())
        return scenario(paths, source, network, line, matrix.connections, options.setup)

    check(text(NO_FLOWS), matrix.path)
    matrix = Matrix(roles["matrix"], scale(options.times))
    with ExitStack() as stack:
        rows = stack.enter_context(
            stack.enter_context(whole_file(lists)).open("w", encoding="ascii")
        )
        rows.write(f"{FLOWS_MARK}\n{COLUMNS}\n")
        for flow in read(matrix):
            rows.write(_row(matrix, flow, waiting, end))
        stack.enter_context(whole_file(out)).write_text(
            text(f"flows = {quoted(lists.name)}"), encoding="utf-8"
        )
    _tell(report, matrix, waiting, tree is None, options)
    report.written += [
        (str(out), "the scenario"),
        (str(lists), counted(matrix.connections, "flow")),
    ]
    return report


def _roles(files: Sequence[Path]) -> dict[str, Path]:
    """Tell a matrix from a topology: both begin with their nodes."""
    roles: dict[str, Path] = {}
    for path in files:
        rows = lines(path)
        head = [line for _, line in zip(range(2), rows, strict=False)]
        if not head:
            raise FormatError(f"{path}: the file is empty")
        words = [line.words[0].lower() for line in head]
        if NODES.lower() not in words and words[0] not in (*TREE, b"connections"):
            raise head[0].fault(
                f"{shown(head[0].words[0])} begins neither a matrix nor a topology: both begin "
                "with Nodes"
            )
        role = "tree" if any(word in TREE for word in words) else "matrix"
        if role in roles:
            what = "a topology" if role == "tree" else "a matrix"
            raise FormatError(f"'{roles[role]}' and '{path}' are both {what}: name one of them")
        roles[role] = path
    if "matrix" not in roles:
        raise FormatError("no connection matrix among the files: name one")
    return roles


def _waits(flow: Connection) -> bool:
    return bool(flow.trigger or flow.sent or flow.received)


def _failed(matrix: Matrix, tree: topology.Tree) -> set[tuple[int, int]]:
    """Return the links of a tree that a matrix says have failed, each with its two ends."""
    known, failed = set(tree.aggregation_links()), set[tuple[int, int]]()
    for line, switch, uplink in matrix.failures:
        core = switch % tree.aggregations * tree.aggregations + uplink
        if (switch, core) not in known:
            raise line.fault(
                f"link {uplink} of aggregation switch {switch} goes to core {core} by htsim's "
                "count, and the topology has no such link"
            )
        if (switch, core) in failed:
            raise line.fault(f"the link of agg{switch} and core{core} has failed already")
        failed.add((switch, core))
    return failed


def _row(matrix: Matrix, flow: Connection, waiting: Waits, end: int) -> str:
    if flow.start >= end:
        raise FormatError(
            f"{matrix.path}, line {flow.line}: the flow starts at {time_text(flow.start)}, and the "
            f"run lasts {time_text(end)}: give a longer --duration, or another unit of --times"
        )
    after = " ".join(waiting.names[line] for line in waiting.after.get(flow.line, ()))
    return (
        f"host{flow.source},host{flow.target},{flow.octets} B,{time_text(flow.start)},,"
        f"{waiting.names.get(flow.line, '')},{after}\n"
    )


def _tell(report: Report, matrix: Matrix, waiting: Waits, alone: bool, options: Options) -> None:
    what = [counted(matrix.connections, "connection")]
    what += [
        counted(len(each), noun)
        for each, noun in ((matrix.triggers, "trigger"), (matrix.failures, "failed link"))
        if each
    ]
    report.read.insert(0, (str(matrix.path), ", ".join(what)))
    report.mapped += [
        ("connections", "[[traffic]], a list over roce; node N is hostN"),
        ("start", f"in {options.times}, as --times says"),
    ]
    if matrix.triggers:
        report.mapped.append(
            (
                "triggers",
                f"column after, of {counted(len(waiting.after), 'flow')}",
            )
        )
    if matrix.failures:
        report.mapped.append(
            (counted(len(matrix.failures), "failed link"), "no such link, or one less in a bundle")
        )
    if matrix.connections > FEW:
        report.mapped.append(
            (f"more than {FEW} flows", "[record] one bin for rates and throughput")
        )
    if alone and options.setup.rate is not None and options.setup.delay is not None:
        report.mapped.append(
            (
                "--rate and --delay",
                f"{counted(matrix.nodes, 'host')} around one switch, without limits of its queues",
            )
        )
    report.mapped.append(("--mtu", f"packets with {options.setup.mtu} octets of data"))
    notes = (
        (matrix.wrapped, "size", "of 2^31 octets and more", "htsim cannot read them: exact here"),
        (matrix.rounded, "start", "finer than a ps", "cut to whole ps"),
        (matrix.inexact, "start", "that htsim rounds to 24 bits", "exact here"),
        (matrix.priorities, "flow", "with prio", "all flows have one priority"),
        (
            waiting.early,
            "wait",
            "for all to be acknowledged, at the receiver",
            "there it ends when all has arrived",
        ),
        (
            waiting.late,
            "wait",
            "for all to arrive, at the sender",
            "it ends when all is acknowledged",
        ),
    )
    report.not_modelled += [
        (f"{counted(count, noun)} {text}", why) for count, noun, text, why in notes if count
    ]
    report.not_modelled += [
        SENT,
        (
            "transport, queues, trimming, marks",
            "options of htsim's command say them, not its files",
        ),
    ]
