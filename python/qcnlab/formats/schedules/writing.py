"""A schedule of ranks as a scenario: its list of messages, and what a report says of it."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from qcnlab.files.folders import whole as whole_file
from qcnlab.files.outputs import FLOWS, SCENARIO, writable
from qcnlab.formats.fabrics import Fabric, named
from qcnlab.formats.lines import FormatError
from qcnlab.formats.messages import COLUMNS, SENT
from qcnlab.formats.numbers import time_text
from qcnlab.formats.scenarios import FLOWS_MARK, NO_FLOWS, check, check_name
from qcnlab.printing.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from qcnlab.formats.report import Report
    from qcnlab.formats.schedules.messages import Schedule
    from qcnlab.formats.schedules.operations import Rank


def files(out: Path) -> Path:
    """Return the list that goes beside a scenario, after both may be written."""
    check_name(out)
    lists = out.with_suffix(".flows.csv")
    for file, kind in ((out, SCENARIO), (lists, FLOWS)):
        writable(file, kind)
    return lists


def write(
    ranks: Sequence[Rank], plan: Schedule, fabric: Fabric, out: Path, end: int, report: Report
) -> None:
    """Write a scenario and its list of messages, and say so in a report.

    Raises
    ------
    FormatError
        If nothing is sent, a message starts at the end or later, or a scenario cannot say it.
    FolderError
        If a file cannot be written, or something else is in its stead.
    """
    lists = files(out)
    if not plan.messages:
        raise FormatError(f"{ranks[0].path}: no rank sends anything to another")
    check(fabric.text(NO_FLOWS, len(plan.messages)), ranks[0].path)
    with ExitStack() as stack:
        rows = stack.enter_context(
            stack.enter_context(whole_file(lists)).open("w", encoding="utf-8")
        )
        rows.write(f"{FLOWS_MARK}\n{COLUMNS}\n")
        rows.writelines(_rows(ranks, plan, fabric, end))
        text = fabric.text(named(lists), len(plan.messages))
        stack.enter_context(whole_file(out)).write_text(text, encoding="utf-8")
    report.mapped.append(fabric.said)
    if fabric.alone:
        report.not_modelled.append(SENT)
    report.written += [
        (str(out), "the scenario"),
        (str(lists), counted(len(plan.messages), "message")),
    ]


def _rows(ranks: Sequence[Rank], plan: Schedule, fabric: Fabric, end: int) -> Iterator[str]:
    awaited = {before for message in plan.messages for before in message.after}
    for number, message in enumerate(plan.messages):
        if message.delay >= end:
            rank, at = message.position
            raise ranks[rank].fault(
                at,
                f"it starts {time_text(message.delay)} after what it waits for, and the run lasts "
                f"{time_text(end)}: give a longer --duration",
            )
        name = str(number + 1) if number in awaited else ""
        after = " ".join(str(before + 1) for before in sorted(message.after))
        ends = f"{fabric.hosts[message.source]},{fabric.hosts[message.target]}"
        yield f"{ends},{message.octets} B,{time_text(message.delay)},,{name},{after}\n"


def tell(plan: Schedule, report: Report) -> None:
    """Say in a report what became of a schedule, and what of it nothing says."""
    waiting = sum(bool(message.after) for message in plan.messages)
    report.mapped += [
        ("sends and their receives", f"{counted(len(plan.messages), 'message')}, a list over roce"),
        ("what an operation waits for", f"column after, of {counted(waiting, 'message')}"),
        ("computation between messages", "start: so long after what a message waits for"),
    ]
    matches = plan.matches
    notes = (
        (plan.own, "message", "from a rank to itself", "no link carries it: it takes no time"),
        (plan.empty, "message", "of 0 octets", "1 octet: a message has one"),
        (
            plan.late,
            "message",
            "after others with different delays",
            f"the longest delay after all: up to {time_text(plan.latest)} later than there",
        ),
        (matches.unreceived, "message", "that no receive takes", "sent all the same"),
        (
            matches.any,
            "receive",
            "from any rank or of any tag",
            "the first message in the files that fits",
        ),
        (matches.unequal, "receive", "of another size than its send", "the size of the send"),
        (
            plan.idle,
            "rank",
            "with computation after the last message",
            "a run ends with the messages",
        ),
    )
    report.not_modelled += [
        (f"{counted(count, noun)} {what}", why) for count, noun, what, why in notes if count
    ]
    report.not_modelled += [
        (
            "receives that are late (rendezvous)",
            "a message is sent whether or not its receive waits",
        ),
        ("operations of a rank that wait for its CPU", "they go on at the same time"),
    ]
