"""The nodes of traces as the tasks of a training step, which `qcnlab step` tells the times of.

A collective is one task of all its ranks, a message one of its sender and its receiver, and a
computation one of all ranks whose traces have it under the same name.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

from qcnlab.formats.chakra import trace
from qcnlab.formats.schedules.operations import CALC, SEND
from qcnlab.formats.schedules.steps import NO_TASK, TracedNode, TracedTask, traced_line
from qcnlab.printing import text

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from qcnlab.formats.chakra.ranks import Part, Traces
    from qcnlab.formats.schedules.messages import Schedule

MOST_NODES = 2_000_000
"""Of more nodes no times are told: the list would have more lines of them than of messages."""
LONGEST_NAME = 60


def line_of(read: Traces, plan: Schedule, hosts: Sequence[str]) -> str | None:
    """Return the line of a list from which `qcnlab step` knows the nodes that messages belong to.

    Parameters
    ----------
    read : Traces
        What the traces say.
    plan : Schedule
        Their messages.
    hosts : sequence of str
        The host of each rank.

    Returns
    -------
    str or None
        `None` of more than `MOST_NODES` nodes.
    """
    if read.nodes > MOST_NODES:
        return None
    tasks = _Tasks(read, plan)
    nodes = [tasks.rank(rank) for rank in range(len(read.ranks))]
    return traced_line(tasks.told, nodes, hosts)


class _Tasks:
    """The tasks of all ranks, by what makes two nodes the same one."""

    def __init__(self, read: Traces, plan: Schedule) -> None:
        self.read = read
        self.plan = plan
        self.told: list[TracedTask] = []
        self.numbers: dict[Hashable, int] = {}
        self.names: Counter[str] = Counter()

    def rank(self, rank: int) -> list[TracedNode]:
        """Return the nodes of a rank, in the order of its messages."""
        seen: Counter[tuple[int, bytes]] = Counter()
        out = []
        operations, parts = self.read.ranks[rank], self.read.parts[rank]
        begins = {part.span.begin: part for part in parts}
        for part in parts:
            time = 0
            if part.call is None and operations.kinds[part.span.begin] == CALC:
                time = operations.sizes[part.span.begin]
            seen[part.kind, part.name] += 1
            task = self.task(rank, part, time, seen[part.kind, part.name])
            sends = [
                at
                for at in part.sends
                if operations.kinds[at] == SEND and operations.peers[at] != rank
            ]
            ends = set(operations.after.get(part.span.end, ())) | {part.span.end}
            last = sum(at in ends for at in sends)
            waits = part.waits
            if operations.peers[part.span.begin] == rank and part.kind == trace.RECEIVE:
                # Of a message from a rank to itself: it is there when it is sent.
                _, send = self.plan.matches.sends[rank, part.span.begin]
                waits = (*waits, *begins[send].waits)
            out.append(TracedNode(task, time, sends, last, waits))
        return out

    def task(self, rank: int, part: Part, time: int, turn: int) -> int:
        """Return the task that a node belongs to; `NO_TASK` of one that takes no time."""
        if part.call is not None:
            number, what = part.call
            told = TracedTask(
                self.name(part), collective=what.kind, octets=what.octets, ranks=len(what.members),
                stride=_stride(what.members), algorithm=what.algorithm,
            )  # fmt: skip
            return self.number(("collective", number), told)
        if part.kind in (trace.SEND, trace.RECEIVE):
            return self.message(rank, part)
        if time == 0:
            return NO_TASK
        told = TracedTask(self.name(part), compute_ps=time)
        if part.replayed:
            taken = f"{part.replayed}, the time that it took"
            told = TracedTask(self.name(part), collective=part.replayed, what=taken)
        number = self.number((part.kind, part.name, turn), told)
        self.longest(self.told[number], time)
        return number

    def message(self, rank: int, part: Part) -> int:
        """Return the task of a send and its receive; `NO_TASK` of one from a rank to itself."""
        at = part.span.begin
        peer = self.read.ranks[rank].peers[at]
        if peer == rank:
            return NO_TASK
        source, send = (rank, at)
        if part.kind == trace.RECEIVE:
            source, send = self.plan.matches.sends[rank, at]
        sender = self.read.ranks[source]
        octets, target = sender.sizes[send], sender.peers[send]
        what = f"{text.size(octets)} from rank {source} to {target}"
        told = TracedTask(
            self.name(part), collective="message", octets=octets, ranks=2, what=what
        )  # fmt: skip
        return self.number(("message", source, send), told)

    def number(self, key: Hashable, told: TracedTask) -> int:
        """Return the number of a task, which is new or has been told for another of its nodes."""
        if key not in self.numbers:
            self.numbers[key] = len(self.told)
            self.names[told.name] += 1
            turn = self.names[told.name]
            told.name = told.name if turn == 1 else f"{told.name} ({turn})"
            self.told.append(told)
        return self.numbers[key]

    def longest(self, told: TracedTask, time: int) -> None:
        """Note that a computation takes ranks different times."""
        if told.compute_ps is not None and told.compute_ps != time:
            told.compute_ps = max(told.compute_ps, time)
            told.what = f"compute {text.duration(told.compute_ps / 1e12)} at most"

    def name(self, part: Part) -> str:
        """Return what the trace calls a node, as text that can be shown."""
        said = "".join(
            each if each.isprintable() else " " for each in part.name.decode("utf-8", "replace")
        )
        return " ".join(said.split())[:LONGEST_NAME] or "node"


def _stride(members: Sequence[int]) -> int | None:
    """Return how far apart ranks are, if each is as far from the one before."""
    steps = {after - before for before, after in pairwise(members)}
    return steps.pop() if len(steps) == 1 else None
