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
    from qcnlab.formats.schedules.messages import Message, Schedule
    from qcnlab.formats.schedules.operations import Rank


def files(out: Path) -> Path:
    """Return the list that goes beside a scenario, after both may be written."""
    check_name(out)
    lists = out.with_suffix(".flows.csv")
    for file, kind in ((out, SCENARIO), (lists, FLOWS)):
        writable(file, kind)
    return lists


def write(
    ranks: Sequence[Rank],
    plan: Schedule,
    fabric: Fabric,
    out: Path,
    end: int,
    report: Report,
    head: str | None = None,
) -> None:
    """Write a scenario and its list of messages, and say so in a report.

    `head` is a line of the list that says what its messages belong to.

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
        rows.write("\n".join([FLOWS_MARK, *([head] if head else []), COLUMNS, ""]))
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
        if message.longest >= end:
            rank, at = message.position
            raise ranks[rank].fault(
                at,
                f"it starts {time_text(message.longest)} after what it waits for, and the run "
                f"lasts {time_text(end)}: give a longer --duration",
            )
        name = str(number + 1) if number in awaited else ""
        after = " ".join(_waits(message))
        ends = f"{fabric.hosts[message.source]},{fabric.hosts[message.target]}"
        yield f"{ends},{message.octets} B,{time_text(message.delay)},,{name},{after}\n"


def _waits(message: Message) -> Iterator[str]:
    """Yield what a list says of those that a message waits for, beyond the delay of all."""
    if not message.after:
        return
    common = message.delay
    for before, delay in sorted(message.after.items()):
        yield f"{before + 1}{_plus(delay - common)}"
    # A time that is no later than the longest delay passes anyhow.
    if message.earliest > message.longest_wait:
        yield _plus(message.earliest - common)


def _plus(delay: int) -> str:
    return f"+{time_text(delay).replace(' ', '')}" if delay else ""


def tell(plan: Schedule, report: Report) -> None:
    """Say in a report what became of a schedule, and what of it nothing says."""
    waiting = sum(bool(message.after) for message in plan.messages)
    report.mapped += [
        ("sends and their receives", f"{counted(len(plan.messages), 'message')}, a list over roce"),
        ("what an operation waits for", f"column after, of {counted(waiting, 'message')}"),
        (
            "computation between messages",
            "start, and + in after: so long after what a message waits for",
        ),
    ]
    matches = plan.matches
    notes = (
        (plan.own, "message", "from a rank to itself", "no link carries it: it takes no time"),
        (plan.empty, "message", "of 0 octets", "1 octet: a message has one"),
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
