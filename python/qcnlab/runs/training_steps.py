"""Training steps: what a list of messages says of them, and what is known of each after a run.

Objects as JSON has them, times in s or ps as their names say. `qcnlab.formats.schedules.steps`
writes the line of a list, and `qcnlab.results.steps.Steps` reads it beside the messages' times.
"""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict

MARK = "# step: "
"""Begins the line of a list that says what its messages belong to."""


class Task(TypedDict):
    """A task of a step: a computation has `compute_ps`, what moves octets `collective`.

    `collective` is the kind of operation, or "message". `octets`, `ranks`, `stride` and `algorithm`
    are there where a step says them, and `what` where a table says something else.
    """

    name: str
    compute_ps: NotRequired[int]
    collective: NotRequired[str]
    octets: NotRequired[int]
    ranks: NotRequired[int]
    stride: NotRequired[int]
    algorithm: NotRequired[str]
    what: NotRequired[str]


class StepLine(TypedDict):
    """The line of a list: tasks, and what each rank does in what order.

    Of a step as all ranks do it there are `waits`, for each task those that it waits for, and
    `sends` and `last`, for each rank (or once for all) how many messages each task sends and how
    many of these its end waits for. Of a trace there are each rank's `nodes` (task, time in ps,
    messages, last ones, nodes waited for), their `order`, and the `senders` among them.
    """

    steps: int
    hosts: list[str]
    tasks: list[Task]
    waits: NotRequired[list[list[int]]]
    sends: NotRequired[list[list[int]]]
    last: NotRequired[list[list[int]]]
    nodes: NotRequired[list[list[list[Any]]]]
    order: NotRequired[list[list[int]]]
    senders: NotRequired[list[list[int]]]


class TaskRecord(TypedDict):
    """A task of one step in one replication; `None` is what did not end."""

    name: str
    what: str
    began_s: float | None
    ended_s: float | None
    longest_s: float | None
    compute_s: NotRequired[float]
    collective: NotRequired[str | None]
    octets: NotRequired[int | None]
    ranks: NotRequired[int | None]
    stride: NotRequired[int | None]
    algorithm: NotRequired[str | None]
    exposed_s: NotRequired[float | None]


class StepRecord(TypedDict):
    """A step in one replication; times are `None` where a task did not end."""

    replication: int
    step: int
    ranks: int
    iteration_s: float | None
    last_rank: int | None
    computing_s: float | None
    exposed_s: float | None
    exposed_mean_s: float | None
    tasks: list[TaskRecord]


class StepSummary(TypedDict):
    """All steps of a run, and the host of each rank."""

    scenario: str
    hosts: list[str]
    steps: list[StepRecord]
