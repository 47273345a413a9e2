"""`qcnlab import chakra`: execution traces of all ranks as messages that wait for others."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from qcnlab.formats.chakra import ranks as traces
from qcnlab.formats.chakra import schema, system
from qcnlab.formats.fabrics import fabric
from qcnlab.formats.lines import FormatError
from qcnlab.formats.messages import MOST_HOSTS, Setup, length
from qcnlab.formats.report import Report
from qcnlab.formats.schedules.messages import schedule
from qcnlab.formats.schedules.writing import files, tell, write
from qcnlab.printing.text import counted

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

NAME = re.compile(r"(.*)\.([0-9]{1,6})\.et")


class Options(NamedTuple):
    """What the traces do not say.

    Attributes
    ----------
    setup : Setup
        How long the run lasts, the packets, and the network if no file says it.
    network : str, optional
        A scenario whose network, scheme and transport are taken.
    system, logical, topology, groups : Path, optional
        ASTRA-sim's system file, logical topology, network file, and groups of ranks.
    control : bool, default True
        Whether nodes wait for their control dependencies, too.
    """

    setup: Setup
    network: str | None = None
    system: Path | None = None
    logical: Path | None = None
    topology: Path | None = None
    groups: Path | None = None
    control: bool = True


def convert(paths: Sequence[Path], out: Path, options: Options) -> Report:
    """Make a scenario of Chakra's traces.

    Parameters
    ----------
    paths : sequence of Path
        A trace for each rank, ``<prefix>.<rank>.et``.
    out : Path
        The scenario's file, which ends in ``.toml``; the list of messages goes beside it.
    options : Options
        What the traces do not say.

    Returns
    -------
    Report
        What was read, what it became, and what nothing says.

    Raises
    ------
    FormatError
        If a file cannot be read, a rank is missing, or what a rank does can never end.
    MissingPackage
        Without protobuf.
    FolderError
        If a file cannot be written, or something else is in its stead.
    """
    files(out)
    end = length(options.setup)
    ordered = _by_rank(paths)
    count = len(ordered)
    classes = schema.messages()
    report = Report()
    setup = options.setup
    if options.topology is not None:
        if (setup.rate, setup.delay, options.network) != (None, None, None):
            raise FormatError("--topology says the network: leave --rate, --delay, --network out")
        rate, delay = system.network(options.topology, count, report)
        setup = setup._replace(rate=rate, delay=delay)
    algorithms = system.algorithms(options.system, report)
    if options.logical is not None:
        system.check_dimensions(options.logical, count, report)
    groups = system.groups(options.groups, count, report)
    read = traces.read(ordered, classes, groups, algorithms, control=options.control)
    plan = schedule(read.ranks)
    report.read.insert(
        0, (f"{ordered[0]} and on", f"{counted(count, 'trace')}, {read.nodes} nodes")
    )
    where = fabric(count, setup, options.network, ordered, "Chakra traces")
    from qcnlab.formats.chakra import steps

    head = steps.line_of(read, plan, where.hosts)
    write(read.ranks, plan, where, out, end, report, head)
    _tell(read, report, options.control)
    told = "qcnlab step RUN has the times of its nodes"
    if head is None:
        report.not_modelled.append((f"more than {steps.MOST_NODES} nodes", "no times of a step"))
    else:
        report.mapped.append(("the nodes of the traces", told))
        if plan.idle:
            plan.idle = 0
            report.mapped.append(
                ("computation after the last message", "qcnlab step RUN counts it")
            )
    tell(plan, report)
    return report


def _by_rank(paths: Sequence[Path]) -> list[Path]:
    """Return traces in the order of their ranks, which their names say."""
    ranks: dict[int, Path] = {}
    for path in paths:
        name = NAME.fullmatch(path.name)
        if name is None or int(name[2]) >= MOST_HOSTS:
            raise FormatError(f"'{path}': a trace is called <prefix>.<rank>.et, such as run.0.et")
        before = ranks.setdefault(int(name[2]), path)
        if before != path:
            raise FormatError(f"'{before}' and '{path}' are both of rank {int(name[2])}: name one")
    missing = next((rank for rank in range(len(ranks)) if rank not in ranks), None)
    if missing is not None:
        raise FormatError(
            f"no trace of rank {missing} among {counted(len(ranks), 'trace')}: name those of all"
        )
    return [ranks[rank] for rank in range(len(ranks))]


def _tell(read: traces.Traces, report: Report, control: bool) -> None:
    waits = "data_deps and ctrl_deps" if control else "data_deps"
    report.mapped.append((waits, "what a node waits for"))
    if not control:
        report.not_modelled.append(("ctrl_deps", "left out, as --data-only says"))
    report.mapped.append(("duration_micros of computation", "a delay between messages"))
    for (kind, ranks), count in read.collectives.items():
        report.mapped.append(
            (f"{count} {kind} of {ranks} ranks", "sends and receives of its ranks")
        )
    for name, count in read.replayed.items():
        report.not_modelled.append(
            (f"{counted(count, name)}", "takes the time that it took: no messages")
        )
    notes = (
        (
            read.instant,
            "computation",
            "without duration_micros",
            "takes no time: num_ops and the like are not read",
        ),
        (read.memory, "load or store", "of memory", "takes its duration_micros"),
        (
            read.passed,
            "node",
            "of another type",
            "takes no time; what waits for it waits for what it waits for",
        ),
    )
    report.not_modelled += [
        (f"{counted(count, noun)} {what}", why) for count, noun, what, why in notes if count
    ]
    if read.ungrouped:
        names = ", ".join(sorted(read.ungrouped)[:4])
        report.not_modelled.append((f"pg_name {names}", "all ranks: give --groups for others"))
    if read.collectives:
        report.not_modelled += [
            ("chunks and channels of collectives", "each part is one message"),
            ("when a rank passes a part on", "once its own first is acknowledged, at the earliest"),
        ]
