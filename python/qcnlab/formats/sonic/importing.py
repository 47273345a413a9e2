"""Configurations of a fabric as a scenario."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from qcnlab.files.outputs import SCENARIO, writable
from qcnlab.formats.lines import FormatError, shown
from qcnlab.formats.numbers import NumberFault, time, time_text
from qcnlab.formats.report import Report, together
from qcnlab.formats.scenarios import MARK, check, check_name
from qcnlab.formats.sonic import control, mapping, network
from qcnlab.formats.sonic.reading import Fabric, read
from qcnlab.printing.text import counted

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from qcnlab.formats.sonic.network import Network

FRAME, HEADERS = 1086, 62
SENDERS = 8
SIZE = "1 MB"
UNITS = (64, 1)
CNP = 7


@dataclass(frozen=True)
class Options:
    """What the files do not say.

    Attributes
    ----------
    duration : str
        How long the run lasts.
    reaction : str
        The time from a pause frame's end to its effect.
    byte_reset_unit : int
        Octets that `rpg_byte_reset` counts in.
    """

    duration: str = "5 ms"
    reaction: str = "0 s"
    byte_reset_unit: int = control.COUNTER_UNIT


def convert(words: Sequence[str], out: Path, options: Options) -> Report:
    """Make a scenario of the configurations of a fabric.

    Parameters
    ----------
    words : sequence of str
        Files and folders, or ``DEVICE=FILE``; each file is told from what it holds.
    out : Path
        The scenario's file, which ends in ``.toml``.
    options : Options
        What the files do not say.

    Returns
    -------
    Report
        What was read, what it became, and what nothing says.

    Raises
    ------
    FormatError
        For files that cannot be read, that contradict one another, or that a scenario cannot say;
        nothing is written then.
    """
    check_name(out)
    duration, reaction = (
        _time("--duration", options.duration),
        _time("--reaction", options.reaction),
    )
    if options.byte_reset_unit not in UNITS:
        raise FormatError(
            f"--byte-reset-unit {options.byte_reset_unit}: rpg_byte_reset counts in 64 B or in 1 B"
        )
    report = Report()
    fabric = read(words, report)
    text, _ = scenario_of(
        fabric, replace(options, duration=time_text(duration), reaction=time_text(reaction)), report
    )
    check(text, words[0])
    report.mapped = together(report.mapped)
    report.not_modelled = together(report.not_modelled)
    with writable(out, SCENARIO).open("w", encoding="utf-8") as file:
        file.write(text)
    report.written.append((str(out), "the scenario"))
    return report


def scenario_of(fabric: Fabric, options: Options, report: Report) -> tuple[str, Network]:
    """Return the scenario of a fabric as TOML, and the network that its switches name.

    Parameters
    ----------
    fabric : Fabric
        As its files describe it.
    options : Options
        What the files do not say.
    report : Report
        Gets what each value became, and what nothing says.
    """
    net = network.network(fabric, report)
    counts = f"# switches: {len(fabric.switches)}; adapters: {len(fabric.adapters)}"
    return "\n".join([MARK, counts, "", *_tables(fabric, net, options, report)]), net


def _tables(fabric: Fabric, net: Network, options: Options, report: Report) -> list[str]:
    duration, reaction = options.duration, options.reaction
    classes = mapping.lossless(fabric, net)
    used = classes[0] if classes else 0
    if not classes:
        report.not_modelled.append(("PFC", "no linked port has pfc_enable: nothing is paused"))
    parts = [f'duration = "{duration}"', "", "[topology]", 'kind = "graph"', ""]
    parts += network.links(net, report)
    limited = []
    for switch in fabric.switches.values():
        if classes and switch.name in net.ports:
            buffer = mapping.buffers(switch, net, used, report)
            parts += buffer
            limited += [switch] if buffer else []
    parts += mapping.pauses(limited, net, reaction, report)
    parts += mapping.watchdogs(fabric, net, report)
    parts += mapping.thresholds(fabric, net, classes, report)
    parts += mapping.weights(fabric, net, report)
    scheme, priority = control.control(fabric, options.byte_reset_unit, report)
    if priority is not None:
        parts += ["[feedback]", 'kind = "frames"', f"priority = {priority}", ""]
        report.mapped.append((f"cnp_802p_prio {priority}", f"[feedback] priority {priority}"))
    parts += _traffic(net, used, report)
    parts += scheme
    _rest(fabric, report)
    if classes and reaction == "0 s":
        report.not_modelled.append(
            ("how fast ports obey a pause", "no file says it: 0 s; --reaction sets it")
        )
    return parts


def _traffic(net: Network, used: int, report: Report) -> list[str]:
    """Return traffic that files do not say: an incast, to be replaced."""
    if len(net.hosts) < 2:
        raise FormatError(
            f"the network has {counted(len(net.hosts), 'host')}: traffic needs two; a neighbour "
            "without a configuration of its own is one"
        )
    senders, last = net.hosts[:-1], net.hosts[-1]
    report.not_modelled.append(
        (
            "traffic",
            f"no file says it: an incast of {min(SENDERS, len(senders))} hosts to {last} in class "
            f"{used}, to be replaced in [[traffic]]",
        )
    )
    return [
        "# No configuration says the traffic: replace it by yours.",
        "[[traffic]]",
        'arrivals = "incast"',
        'transport = "roce"',
        f'from = "{", ".join(senders)}"',
        f'to = "{last}"',
        f'frame = "{FRAME} B"',
        f'headers = "{HEADERS} B"',
        f'size = "{SIZE}"',
        f"senders = {min(SENDERS, len(senders))}",
        'period = "1 ms"',
        f"priority = {used}",
        "cn_tag = false",
        "",
    ]


def _rest(fabric: Fabric, report: Report) -> None:
    """Tell the tables and fields that nothing reads, together where several switches have them."""
    tables: Counter[str] = Counter()
    fields: Counter[tuple[str, str]] = Counter()
    for switch in fabric.switches.values():
        tables.update({name: count for name, (count, _) in switch.tables.others.items()})
        fields.update(switch.tables.unread)
    for name, count in sorted(tables.items()):
        report.not_modelled.append(
            (f"table {shown(name.encode('utf-8', 'backslashreplace'))[1:-1]}, "
             f"{counted(count, 'row')}", "not of congestion management")
        )  # fmt: skip
    for (table, name), count in sorted(fields.items()):
        what = f"{table} {shown(name.encode('utf-8', 'backslashreplace'))[1:-1]}"
        report.not_modelled.append((f"{what}, in {counted(count, 'row')}", "no counterpart here"))
    lossy = {
        table: sum(len(switch.tables.table(table)) for switch in fabric.switches.values())
        for table in ("BUFFER_QUEUE", "DSCP_TO_TC_MAP", "TC_TO_PRIORITY_GROUP_MAP")
    }
    why = {
        "BUFFER_QUEUE": "queues of classes with PFC have no limit of their own here",
        "DSCP_TO_TC_MAP": "traffic names its class here; qcnlab lint reads the maps",
        "TC_TO_PRIORITY_GROUP_MAP": "a class is its own group; qcnlab lint reads the maps",
    }
    for table, count in lossy.items():
        if count:
            report.not_modelled.append((f"{table}, {counted(count, 'row')}", why[table]))


def _time(option: str, text: str) -> int:
    try:
        return time(text.replace(" ", "").encode("utf-8", "backslashreplace"), option)
    except NumberFault as fault:
        raise FormatError(f"{fault}: write a time with its unit") from None
