"""A training step: what ranks compute, and the collectives between, as operations of ranks.

All ranks do the same tasks. A computation follows the one before it. A task waits for the last one
before it that others wait for, and for those that it names; one that overlaps holds up only these.
A step begins at a rank when all of its tasks of the step before have ended.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, NamedTuple, cast

from qcnlab.formats.schedules.collectives import Collective, Span, expand, span
from qcnlab.formats.schedules.operations import CALC, SEND, Rank
from qcnlab.formats.schedules.order import in_order

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from qcnlab.formats.schedules.messages import Schedule
    from qcnlab.runs import training_steps


class Group(NamedTuple):
    """Ranks that carry out a collective: so many, so far apart."""

    ranks: int
    stride: int

    def members(self, count: int) -> list[tuple[int, ...]]:
        """Return the groups among `count` ranks, which are a multiple of ranks times stride."""
        whole = self.ranks * self.stride
        return [
            tuple(range(first + at, first + at + whole, self.stride))
            for first in range(0, count, whole)
            for at in range(self.stride)
        ]


ALONE = Group(1, 1)


@dataclass(frozen=True)
class Task:
    """A computation, or a collective.

    Attributes
    ----------
    name : str
        No other task of the step has it.
    compute : int
        How long each rank computes, ps; 0 of a collective.
    kind, octets, algorithm, group
        Of a collective: as in `Collective`, and who carries it out.
    overlap : bool
        Whether only tasks that name it wait for it.
    after : tuple of int
        Positions of the tasks that it names.
    line : int, optional
        Where it stands.
    """

    name: str
    compute: int = 0
    kind: str | None = None
    octets: int = 0
    algorithm: str = ""
    group: Group = ALONE
    overlap: bool = False
    after: tuple[int, ...] = ()
    line: int | None = None


@dataclass
class Step:
    """Tasks of all ranks.

    Attributes
    ----------
    ranks : int
        How many.
    tasks : list of Task
        In their order.
    steps : int
        How often, one after the other.
    in_turn : bool
        Whether collectives of one group follow each other.
    """

    ranks: int
    tasks: list[Task] = field(default_factory=list)
    steps: int = 1
    in_turn: bool = True


class Built(NamedTuple):
    """Operations of ranks, and which task each belongs to."""

    ranks: list[Rank]
    waits: list[list[int]]
    """For each task of each step the tasks that it waits for, by their positions in all steps."""
    owners: list[list[int]]
    """For each rank the task of each operation."""


def build(step: Step, path: Path) -> Built:
    """Return the operations of all ranks.

    Parameters
    ----------
    step : Step
        Its groups divide its ranks.
    path : Path
        The file, for errors.
    """
    waits = _waits(step)
    ranks = [Rank(path) for _ in range(step.ranks)]
    owners: list[list[int]] = [[] for _ in ranks]
    ends: list[list[int]] = []
    number = 0
    for position, befores in enumerate(waits):
        task = step.tasks[position % len(step.tasks)]
        spans: list[Span] = []
        for index, rank in enumerate(ranks):
            after = [ends[each][index] for each in befores]
            if task.kind is None:
                at = rank.add(CALC, task.compute, line=task.line)
                if after:
                    rank.after[at] = after
                spans.append(Span(at, at))
            else:
                spans.append(span(rank, after, task.line))
        if task.kind is not None:
            for members in task.group.members(step.ranks):
                what = Collective(task.kind, task.octets, members, task.algorithm)
                expand(ranks, what, [spans[each] for each in members], number)
                number += 1
        ends.append([each.end for each in spans])
        for rank, owned in zip(ranks, owners, strict=True):
            owned += [position] * (len(rank.kinds) - len(owned))
    return Built(ranks, waits, owners)


def _waits(step: Step) -> list[list[int]]:
    out: list[list[int]] = []
    count = len(step.tasks)
    before: list[int] = []
    for turn in range(step.steps):
        first, last = turn * count, list(before)
        computed: int | None = None
        of_group: dict[Group, int] = {}
        for number, task in enumerate(step.tasks):
            waits = [*last, *(first + each for each in task.after)]
            if task.kind is None:
                if computed is not None and not task.overlap:
                    waits.append(computed)
            elif step.in_turn and task.group in of_group:
                waits.append(of_group[task.group])
            out.append(sorted(set(waits)))
            if task.kind is not None:
                of_group[task.group] = first + number
            elif not task.overlap:
                computed = first + number
            if not task.overlap:
                last = [first + number]
        awaited = {each for waits in out[first:] for each in waits}
        before = [each for each in range(first, first + count) if each not in awaited]
    return out


def line_of(step: Step, built: Built, plan: Schedule, hosts: Sequence[str]) -> str:
    """Return the line of a list from which `qcnlab step` knows what its messages belong to.

    Parameters
    ----------
    step : Step
        The step.
    built : Built
        Its operations.
    plan : Schedule
        Their messages.
    hosts : sequence of str
        The host of each rank.
    """
    count = len(step.tasks)
    # For each rank and task how many messages it sends, and how many of these its end waits for.
    sends = [[0] * (count * step.steps) for _ in hosts]
    last = [[0] * (count * step.steps) for _ in hosts]
    ends = [_ends(rank) for rank in built.ranks]
    for message in plan.messages:
        rank, at = message.position
        task = built.owners[rank][at]
        sends[rank][task] += 1
        last[rank][task] += at in ends[rank]
    tasks: list[training_steps.Task] = [
        {"name": task.name, "compute_ps": task.compute}
        if task.kind is None
        else {
            "name": task.name, "collective": task.kind, "octets": task.octets,
            "ranks": task.group.ranks, "stride": task.group.stride, "algorithm": task.algorithm,
        }
        for task in step.tasks
    ]  # fmt: skip
    same = all(each == sends[0] for each in sends) and all(each == last[0] for each in last)
    told: training_steps.StepLine = {
        "steps": step.steps,
        "hosts": list(hosts),
        "tasks": tasks,
        "waits": built.waits,
        "sends": sends[:1] if same else sends,
        "last": last[:1] if same else last,
    }
    return _line(told)


def _stated(task: TracedTask) -> training_steps.Task:
    known = {key: value for key, value in asdict(task).items() if value is not None}
    return cast("training_steps.Task", known)


def _line(told: training_steps.StepLine) -> str:
    from qcnlab.runs.training_steps import MARK

    return f"{MARK}{json.dumps(told, separators=(',', ':'))}"


@dataclass
class TracedTask:
    """A task of a trace, as `qcnlab step` tells it.

    Attributes
    ----------
    name : str
        What the trace calls it.
    compute_ps : int, optional
        Of a computation: how long it takes any rank at most.
    collective : str, optional
        Of anything else: its kind, or "message".
    octets, ranks, stride, algorithm : optional
        Of a collective, as a step has it; without a stride its ranks are not equally far apart.
    what : str, optional
        What a table says of it, where that does not follow from the rest.
    """

    name: str
    compute_ps: int | None = None
    collective: str | None = None
    octets: int | None = None
    ranks: int | None = None
    stride: int | None = None
    algorithm: str | None = None
    what: str | None = None


NO_TASK = -1
"""Of a node that takes no time: others wait for it, and no task has it."""


class TracedNode(NamedTuple):
    """A node of a trace, at its rank."""

    task: int
    """Its task, or `NO_TASK`."""
    time: int
    """What it takes without messages, ps."""
    sends: list[int]
    """The operations that send its messages, rising; no other node has one in between."""
    last: int
    """How many of these, from the last one on, its end waits for."""
    waits: tuple[int, ...]
    """The nodes that it waits for, by their positions."""


def traced_line(
    tasks: Sequence[TracedTask], nodes: Sequence[Sequence[TracedNode]], hosts: Sequence[str]
) -> str:
    """Return the line of a list of which each rank does what its trace says.

    Parameters
    ----------
    tasks : sequence of TracedTask
        Those of all ranks.
    nodes : sequence of sequence of TracedNode
        Those of each rank. None waits for itself.
    hosts : sequence of str
        The host of each rank.
    """
    told: training_steps.StepLine = {
        "steps": 1,
        "hosts": list(hosts),
        "tasks": [_stated(task) for task in tasks],
        "nodes": [
            [[*each[:2], len(each.sends), *each[3:]] for each in own] for own in nodes
        ],
        "order": [
            in_order(len(own), [each.waits for each in own].__getitem__) for own in nodes
        ],
        "senders": [
            sorted(
                (at for at, each in enumerate(own) if each.sends), key=lambda at: own[at].sends[0]
            )
            for own in nodes
        ],
    }  # fmt: skip
    return _line(told)


def _ends(rank: Rank) -> set[int]:
    """Return the sends that the end of a collective waits for: computations of no time do."""
    out: set[int] = set()
    for at, befores in rank.after.items():
        if rank.kinds[at] == CALC and rank.sizes[at] == 0:
            out |= {each for each in befores if rank.kinds[each] == SEND}
    return out
