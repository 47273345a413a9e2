"""Which flows of a matrix wait for which, by its triggers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from qcnlab.formats.lines import FormatError

if TYPE_CHECKING:
    from pathlib import Path

    from qcnlab.formats.htsim.matrix import Connection, Matrix


@dataclass
class Waits:
    """Flows that wait.

    Attributes
    ----------
    after : dict
        For each flow that waits, by its line, the lines of those that it waits for.
    names : dict
        For each flow that others wait for, by its line, its name.
    early, late : int
        Waits that end here when the message has arrived, there when it is acknowledged; and the
        other way round.
    """

    after: dict[int, list[int]] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)
    early: int = 0
    late: int = 0


def waits(matrix: Matrix, flows: list[Connection]) -> Waits:
    """Return which flows wait for which.

    Parameters
    ----------
    matrix : Matrix
        Has the triggers.
    flows : list of Connection
        Those that a trigger starts, or that fire one.

    Raises
    ------
    FormatError
        If a trigger is unknown, does not fire as often as its kind allows, or never; if flows wait
        in a circle, or the host of one would not know of the other; if a number is there twice.
    """
    result, ids = Waits(), dict[int, int]()
    firing: dict[int, list[tuple[Connection, bool]]] = {}
    for flow in flows:
        if flow.id and ids.setdefault(flow.id, flow.line) != flow.line:
            raise _fault(
                matrix.path, flow.line, f"id {flow.id} is there already, in line {ids[flow.id]}"
            )
        for number, received in ((flow.sent, False), (flow.received, True)):
            if number:
                _known(matrix, flow, number)
                firing.setdefault(number, []).append((flow, received))
    for number, trigger in matrix.triggers.items():
        _check_count(
            matrix.path,
            number,
            trigger.line,
            trigger.kind,
            trigger.fires,
            len(firing.get(number, ())),
        )
    for flow in flows:
        if flow.trigger:
            _known(matrix, flow, flow.trigger)
            result.after[flow.line] = _after(matrix, flow, firing.get(flow.trigger, []), result)
    circle = _circle(result.after)
    if circle is not None:
        raise _fault(
            matrix.path, circle, "the flow waits for itself, through its trigger: break the circle"
        )
    return result


def _fault(path: Path, line: int, message: str) -> FormatError:
    return FormatError(f"{path}, line {line}: {message}")


def _known(matrix: Matrix, flow: Connection, number: int) -> None:
    if number not in matrix.triggers:
        raise _fault(
            matrix.path,
            flow.line,
            f"no line has trigger {number}: add 'trigger id {number} oneshot'",
        )


def _check_count(path: Path, number: int, line: int, kind: bytes, count: int, fires: int) -> None:
    if kind == b"barrier":
        if fires != count:
            raise _fault(
                path,
                line,
                f"trigger {number} waits for {count}, and {fires} fire it: correct its count",
            )
    elif fires > 1:
        said = (
            "fires once there"
            if kind == b"oneshot"
            else "starts its flows each time there, and here a flow starts once"
        )
        raise _fault(path, line, f"trigger {number} is fired {fires} times: it {said}")


def _after(
    matrix: Matrix, flow: Connection, firing: list[tuple[Connection, bool]], result: Waits
) -> list[int]:
    if not firing:
        raise _fault(
            matrix.path,
            flow.line,
            f"no flow fires trigger {flow.trigger}, so this one would never start",
        )
    for before, received in firing:
        if flow.source not in (before.source, before.target):
            raise _fault(
                matrix.path,
                flow.line,
                f"trigger {flow.trigger} starts it after the flow in line {before.line}, of which "
                f"its host {flow.source} knows nothing: a flow that tells it must be in the matrix",
            )
        result.early += not received and flow.source != before.source
        result.late += received and flow.source == before.source
        result.names[before.line] = str(before.id) if before.id else f"line{before.line}"
    return list(dict.fromkeys(before.line for before, _ in firing))


def _circle(after: dict[int, list[int]]) -> int | None:
    """Return a flow that waits for itself, by its line, if there is one."""
    done: set[int] = set()
    for first in after:
        way: list[tuple[int, int]] = [(first, 0)]
        on: set[int] = {first}
        while way:
            flow, index = way.pop()
            befores = after.get(flow, [])
            while index < len(befores) and befores[index] in done:
                index += 1
            if index == len(befores):
                done.add(flow)
                on.discard(flow)
            elif befores[index] in on:
                return befores[index]
            else:
                way += [(flow, index + 1), (befores[index], 0)]
                on.add(befores[index])
    return None
