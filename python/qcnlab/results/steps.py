"""Training steps of a run: when each rank computed and communicated, and what was exposed.

A scenario that `qcnlab import step`, `import simai` or `import chakra` made has a list whose first
lines say which task each message belongs to. With the times of its messages that gives the time of
every task.
"""

from __future__ import annotations

import csv
import json
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Any, NamedTuple

from qcnlab.errors import AnalysisError
from qcnlab.printing import text
from qcnlab.runs.training_steps import MARK

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from matplotlib.figure import Figure

    from qcnlab.runs.recorded import Recorded
    from qcnlab.runs.training_steps import StepLine, StepRecord, StepSummary, Task, TaskRecord

PS = 1e12
Interval = tuple[int, int]
"""When a task begins and ends at a rank, ps."""


class Timeline(NamedTuple):
    """When each rank did what in one replication.

    Attributes
    ----------
    replication : int
        From 0.
    tasks : list of dict
        For each task of each step, for each rank that has it, its interval; `None`: it did not end.
    """

    replication: int
    tasks: list[dict[int, Interval | None]]


class Node(NamedTuple):
    """What a rank does: a task's part, or nothing but waiting."""

    task: int
    """Its task among those of all steps; -1 of one that takes no time."""
    time: int
    """What it takes without messages, ps."""
    sends: int
    """How many messages it sends."""
    last: int
    """How many of these, from the last one on, its end waits for."""
    waits: list[int]
    """The nodes of its rank that it waits for."""


class Program(NamedTuple):
    """What a rank does in all steps."""

    nodes: list[Node]
    order: Iterable[int]
    """The nodes, each after those that it waits for."""
    senders: Iterable[int]
    """The nodes that send, in the order of the rank's messages."""


class Steps:
    """The training steps of a run.

    Comes from `Result.steps`.
    """

    def __init__(self, result: Recorded) -> None:
        self.name = result.name
        entry, listed = _listed(result)
        told = next(line for line in listed.splitlines() if line.startswith(MARK))
        self._known: StepLine = json.loads(told.removeprefix(MARK))
        self._rows = list(csv.DictReader(
            line for line in listed.splitlines() if line.strip() and line[0] != "#"
        ))  # fmt: skip
        self.timelines = [self._timeline(number, rows) for number, rows in _messages(result, entry)]

    @property
    def hosts(self) -> list[str]:
        """The host of each rank."""
        return list(self._known["hosts"])

    @property
    def tasks(self) -> list[Task]:
        """The tasks of a step."""
        return list(self._known["tasks"])

    def records(self) -> list[StepRecord]:
        """Return what is known of each step in each replication.

        Returns
        -------
        list of dict
            `replication`, `step`, `ranks`, `iteration_s` (from the end of the step before, or the
            start of the run, to the last end of a task; `None`: it did not end), `last_rank`,
            `computing_s` and `exposed_s` of that rank, which are the whole, `exposed_mean_s` over
            all ranks, and `tasks`: `name`, what it is, `began_s` and `ended_s` of the first and
            last rank that has it, `longest_s` at any rank, and of collectives and messages
            `exposed_s` at the last rank, if that has it.
        """
        return [
            self._record(each, step)
            for each in self.timelines
            for step in range(self._known["steps"])
        ]

    def summary(self) -> StepSummary:
        """Return all of it as JSON holds it."""
        return {"scenario": self.name, "hosts": self.hosts, "steps": self.records()}

    def text(self) -> str:
        """Return iteration times, exposed communication and the tasks as tables."""
        return "\n\n".join(self._told(record) for record in self.records())

    def plot(self) -> Figure:
        """Draw when each rank computed and communicated: a Gantt figure of the first replication.

        Raises
        ------
        AnalysisError
            If no task ended.
        """
        from qcnlab.figures.steps import step_figure

        first = self.timelines[0]
        if not any(each for task in first.tasks for each in task.values()):
            raise AnalysisError(
                f"no task of '{self.name}' ended: there is nothing to draw. Give it a longer "
                "duration"
            )
        return step_figure(self.name, self.hosts, self.tasks, first.tasks, self.records())

    def _program(self, rank: int) -> Program:
        """Return what a rank does."""
        known = self._known
        if "nodes" in known:
            nodes = [Node(*each) for each in known["nodes"][rank]]
            return Program(nodes, known["order"][rank], known["senders"][rank])
        tasks, waits = known["tasks"], known["waits"]
        sends, last = (
            each[rank if len(each) > 1 else 0] for each in (known["sends"], known["last"])
        )
        nodes = [
            Node(at, tasks[at % len(tasks)].get("compute_ps", 0), sends[at], last[at], befores)
            for at, befores in enumerate(waits)
        ]
        return Program(nodes, range(len(nodes)), range(len(nodes)))

    def _timeline(self, replication: int, rows: list[_Times]) -> Timeline:
        hosts = self._known["hosts"]
        if len(rows) != len(self._rows):
            raise AnalysisError(
                f"'{self.name}' has {len(rows)} messages of {len(self._rows)} that its step lists: "
                "run it without stop_arrivals"
            )
        ranks = {host: rank for rank, host in enumerate(hosts)}
        programs = [self._program(rank) for rank in range(len(hosts))]
        received: dict[tuple[int, int], list[int | None]] = {}
        ended: dict[tuple[int, int], list[int | None]] = {}
        at = 0
        for rank, program in enumerate(programs):
            for position in program.senders:
                node = program.nodes[position]
                for number in range(at, at + node.sends):
                    target = ranks[self._rows[number]["to"].strip()]
                    received.setdefault((target, node.task), []).append(rows[number].received)
                at += node.sends
                final = rows[at - node.last : at]
                ended[rank, position] = [each.finished for each in final]
        out: list[dict[int, Interval | None]] = [
            {} for _ in range(len(self.tasks) * self._known["steps"])
        ]
        for rank, program in enumerate(programs):
            intervals: list[Interval | None] = [None] * len(program.nodes)
            for position in program.order:
                node = program.nodes[position]
                ends = [*received.get((rank, node.task), []), *ended.get((rank, position), [])]
                intervals[position] = _interval(
                    [intervals[each] for each in node.waits], node.time, ends
                )
                if node.task >= 0:
                    out[node.task][rank] = intervals[position]
        return Timeline(replication, out)

    def _record(self, line: Timeline, step: int) -> StepRecord:
        tasks, count = self.tasks, len(self.tasks)
        own = line.tasks[step * count : (step + 1) * count]
        ranks = range(len(self.hosts))
        before = [_end(line.tasks[: step * count], rank) for rank in ranks]
        out: StepRecord = {
            "replication": line.replication,
            "step": step,
            "ranks": len(self.hosts),
            "iteration_s": None,
            "last_rank": None,
            "computing_s": None,
            "exposed_s": None,
            "exposed_mean_s": None,
            "tasks": [_task(task, row) for task, row in zip(tasks, own, strict=True)],
        }
        if any(each is None for row in own for each in row.values()):
            return out
        ends = [max(_end(own, rank), before[rank]) for rank in ranks]
        last = max(ranks, key=lambda rank: ends[rank])
        computing = [
            row for task, row in zip(tasks, own, strict=True) if "compute_ps" in task
        ]  # fmt: skip
        exposed = []
        for rank, end in enumerate(ends):
            busy = _union([row.get(rank) for row in computing])
            exposed.append(end - before[rank] - sum(b - a for a, b in busy))
            if rank == last:
                free = _rest((before[rank], end), busy)
                out["computing_s"] = sum(b - a for a, b in busy) / PS
                for told, task, row in zip(out["tasks"], tasks, own, strict=True):
                    if "compute_ps" not in task and rank in row:
                        shown, free = _taken(free, row.get(rank))
                        told["exposed_s"] = shown / PS
        return out | {
            "iteration_s": (ends[last] - (max(before) if step else 0)) / PS,
            "last_rank": last,
            "exposed_s": exposed[last] / PS,
            "exposed_mean_s": sum(exposed) / len(exposed) / PS,
        }

    def _told(self, record: StepRecord) -> str:
        count = self._known["steps"]
        of = f", step {record['step']} of {count}" if count > 1 else ""
        head = f"{self.name}{of}, replication {record['replication']}: {record['ranks']} ranks"
        computing, exposed = record["computing_s"], record["exposed_s"]
        iteration, mean = record["iteration_s"], record["exposed_mean_s"]
        last = record["last_rank"]
        lines = [f"{head}: did not end"]
        if not (
            iteration is None
            or mean is None
            or computing is None
            or exposed is None
            or last is None
        ):
            part = 100 * exposed / (exposed + computing)
            lines = [
                f"{head}: iteration time {text.duration(iteration)}",
                f"last is rank {last} on {self.hosts[last]}: it computes for "
                f"{text.duration(computing)}, and {text.duration(exposed)} "
                f"({part:.1f} %) are exposed communication; in the mean of all ranks "
                f"{text.duration(round(mean, 12))}",
            ]
        tasks = record["tasks"]
        shown = [
            tasks[at]
            for at in _longest(
                [
                    # One that did not end comes first.
                    float("inf")
                    if each["longest_s"] is None
                    else max(each["longest_s"], each.get("exposed_s") or 0)
                    for each in tasks
                ]
            )
        ]
        rows = [
            [
                each["name"],
                each["what"],
                _shown(each["began_s"]),
                _shown(each["ended_s"]),
                _shown(each["longest_s"]),
                _shown(each.get("exposed_s")) if "exposed_s" in each else "",
            ]
            for each in shown
        ]
        header = ("task", "what", "first\nbegins", "last\nends", "longest", "exposed")
        left = len(tasks) - len(shown)
        more = f"\n{text.counted(left, 'shorter task')} more: --json has all" if left else ""
        return "\n".join([*lines, "", text.table(header, rows, left=2) + more])

    def __repr__(self) -> str:
        """Return the scenario and the number of steps."""
        return f"<Steps {self.name}: {text.counted(self._known['steps'], 'step')}>"


class _Times(NamedTuple):
    """When the last octet of a message was there, and when its sender knew, ps."""

    received: int | None
    finished: int | None


MOST_SHOWN = 40
"""So many tasks are in the table."""


def _longest(weights: list[float]) -> list[int]:
    """Return the positions of the tasks that a table shows, in their order: the weightiest.

    >>> weights = [float(number % 50) for number in range(100)]
    >>> len(_longest(weights)), min(weights[each] for each in _longest(weights))
    (40, 30.0)
    """
    heavy = sorted(range(len(weights)), key=lambda at: weights[at])[-MOST_SHOWN:]
    return sorted(heavy)


def _interval(befores: list[Interval | None], time: int, ends: list[int | None]) -> Interval | None:
    """Return when a node begins and ends: after others, a time, and its messages.

    >>> _interval([(0, 5), (2, 9)], 3, [11]), _interval([], 3, []), _interval([None], 3, [])
    ((9, 12), (0, 3), None)
    """
    begin, last = 0, 0
    for before in befores:
        if before is None:
            return None
        begin = max(begin, before[1])
    for end in ends:
        if end is None:
            return None
        last = max(last, end)
    return begin, max(begin + time, last)


def _end(tasks: list[dict[int, Interval | None]], rank: int) -> int:
    """Return when the last of a rank's tasks that ended did so, ps; 0 if none did."""
    return max((each[1] for row in tasks if (each := row.get(rank)) is not None), default=0)


def has_steps(result: Recorded) -> bool:
    """Return whether a run's list says what task its messages belong to."""
    return any(MARK in each.get("flows", "")[:LOOKED] for each in result.tree.get("traffic", []))


LOOKED = 200
"""The line begins within so many letters of a list."""


def _listed(result: Recorded) -> tuple[int, str]:
    for number, each in enumerate(result.tree.get("traffic", [])):
        listed = each.get("flows", "")
        if MARK in listed[:LOOKED]:
            return number, listed
    raise AnalysisError(
        f"'{result.name}' has no training step: qcnlab import step, import simai and import chakra "
        "make scenarios that have"
    )


def _messages(result: Recorded, entry: int) -> Iterator[tuple[int, list[_Times]]]:
    """Yield the times of an entry's messages, by replication."""
    table = result.flows.to_polars().filter(_of(entry))
    for (number,), rows in table.group_by("replication", maintain_order=True):
        columns = [
            [None if each is None else round(each * PS) for each in rows[name].to_list()]
            for name in ("received_s", "finished_s")
        ]
        yield int(str(number)), [_Times(*each) for each in zip(*columns, strict=True)]


def _of(entry: int) -> Any:
    import polars as pl

    return pl.col("traffic") == entry


def _task(task: Task, row: dict[int, Interval | None]) -> TaskRecord:
    known = [each for each in row.values() if each is not None]
    whole = len(known) == len(row)
    if "compute_ps" in task:
        what = f"compute {text.duration(task['compute_ps'] / PS)}"
    elif "what" not in task:
        what = f"{task['collective']} of {text.size(task['octets'])}, {task['ranks']} ranks"
    else:
        what = task["collective"]
    out: TaskRecord = {
        "name": task["name"],
        "what": task.get("what", what),
        "began_s": min(each[0] for each in known) / PS if known else None,
        "ended_s": max(each[1] for each in known) / PS if whole else None,
        "longest_s": max(b - a for a, b in known) / PS if whole else None,
    }
    if "compute_ps" in task:
        return out | {"compute_s": task["compute_ps"] / PS}
    return out | {
        "collective": task.get("collective"),
        "octets": task.get("octets"),
        "ranks": task.get("ranks"),
        "stride": task.get("stride"),
        "algorithm": task.get("algorithm"),
        "exposed_s": None,
    }


def _shown(seconds: float | None) -> str:
    return "-" if seconds is None else text.duration(seconds)


def _union(intervals: list[Interval | None]) -> list[Interval]:
    """Return intervals without their overlaps, in order.

    >>> _union([(5, 7), (0, 2), (1, 3), None])
    [(0, 3), (5, 7)]
    """
    out: list[Interval] = []
    for begin, end in sorted(each for each in intervals if each is not None):
        if out and begin <= out[-1][1]:
            out[-1] = out[-1][0], max(end, out[-1][1])
        else:
            out.append((begin, end))
    return out


def _rest(whole: Interval, busy: list[Interval]) -> list[Interval]:
    """Return what is left of an interval.

    >>> _rest((0, 10), [(0, 3), (5, 7)])
    [(3, 5), (7, 10)]
    """
    out, at = [], whole[0]
    for begin, end in [*busy, (whole[1], whole[1])]:
        if begin > at:
            out.append((at, begin))
        at = max(at, end)
    return out


def _taken(free: list[Interval], own: Interval | None) -> tuple[int, list[Interval]]:
    """Return how much of the free times an interval takes, and what is left of them.

    >>> _taken([(1, 2), (3, 5), (7, 10)], (4, 8))
    (2, [(1, 2), (3, 4), (8, 10)])
    """
    if own is None or own[0] >= own[1]:
        return 0, free
    first = bisect_right(free, own[0], key=lambda each: each[1])
    stop = bisect_left(free, own[1], key=lambda each: each[0])
    took, left = 0, []
    for begin, end in free[first:stop]:
        low, high = max(begin, own[0]), min(end, own[1])
        took += high - low
        left += [each for each in ((begin, low), (high, end)) if each[0] < each[1]]
    return took, [*free[:first], *left, *free[stop:]]
