"""Connection matrices of htsim (``.cm``): flows, triggers that start some of them, failed links.

``Nodes``, ``Connections`` and, where there are some, ``Triggers`` and ``Failures`` come first, then
a line for each: ``0->1 id 1 start 0 size 2000000 send_done_trigger 1``, ``1->2 trigger 1 size
2000000``, ``trigger id 1 oneshot``, ``failure switch_type AGG switch_id 0 link_id 1``. Times are
ps, in matrices of before November 2023 us: a file does not say which.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from qcnlab.formats.lines import FormatError, Line, lines, shown
from qcnlab.formats.messages import MOST_HOSTS, MOST_MESSAGES, MOST_OCTETS
from qcnlab.formats.numbers import TIMES, NumberFault, decimal, time_text, whole
from qcnlab.printing.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HEAD = {
    b"Nodes": MOST_HOSTS,
    b"Connections": MOST_MESSAGES,
    b"Triggers": MOST_MESSAGES,
    b"Failures": MOST_HOSTS,
}
"""What can stand before the first connection, with the most."""
MOST_ID = (1 << 32) - 1
WRAPS = 1 << 31
"""Sizes that htsim cannot read begin here."""
EXACT = 1 << 24
"""Starts that htsim reads exactly end here: it takes them for numbers of single precision."""
CONNECTION = "<src>-><dst> [id <n>] start <time> | trigger <n>, size <octets>"
FIRES = (b"send_done_trigger", b"recv_done_trigger")
KEYS = frozenset((b"id", b"start", b"size", b"trigger", *FIRES, b"prio"))
KINDS = (b"oneshot", b"multishot", b"barrier")
SWITCHES = (b"TOR", b"AGG", b"CORE")


class Connection(NamedTuple):
    """A flow of a matrix."""

    line: int
    source: int
    target: int
    octets: int
    start: int
    """ps."""
    id: int = 0
    """Its number there; 0: it has none."""
    trigger: int = 0
    """What starts it; 0: its time does."""
    sent: int = 0
    """The trigger that it fires when all is acknowledged; 0: none."""
    received: int = 0
    """The trigger that it fires when all has arrived; 0: none."""


class Trigger(NamedTuple):
    """What starts flows when others are complete."""

    line: int
    kind: bytes
    fires: int
    """How often it must be fired."""


@dataclass
class Matrix:
    """A connection matrix without its flows, which are read one by one.

    Attributes
    ----------
    path : Path
        The file.
    scale : int
        One in its times, ps.
    nodes, connections : int
        What its head says.
    triggers : dict
        The triggers by their numbers.
    failures : list
        Of each failed link the line, and the numbers of the aggregation switch and its uplink.
    wrapped, rounded, inexact, priorities : int
        Flows that are longer than htsim can count; whose start is no whole number of ps; whose
        start it would round; that have a priority.
    """

    path: Path
    scale: int
    nodes: int = 0
    connections: int = 0
    triggers: dict[int, Trigger] = field(default_factory=dict)
    failures: list[tuple[Line, int, int]] = field(default_factory=list)
    wrapped: int = 0
    rounded: int = 0
    inexact: int = 0
    priorities: int = 0


def counts(path: Path) -> dict[bytes, int]:
    """Return the numbers that stand before the first connection, such as ``Nodes``."""
    head = _head(path, lines(path))
    _check(path, head)
    return {key: count for key, (_, count) in head.said.items()}


def _check(path: Path, head: _Head) -> None:
    for key in (b"Nodes", b"Connections"):
        if key not in head.said:
            raise FormatError(f"{path}: {key.decode()} is missing: write '{key.decode()} N'")


class _Head(NamedTuple):
    said: dict[bytes, tuple[Line, int]]
    first: Line | None


def read(matrix: Matrix) -> Iterator[Connection]:
    """Read a matrix: its flows are yielded, all else is kept in `matrix`.

    Raises
    ------
    FormatError
        If a line is unknown or says too much or too little, a number is out of range, or there are
        not as many lines of a kind as the head says.
    """
    rows = lines(matrix.path)
    head = _head(matrix.path, rows)
    _check(matrix.path, head)
    matrix.nodes, matrix.connections = (head.said[key][1] for key in (b"Nodes", b"Connections"))
    there = dict.fromkeys((b"Connections", b"Triggers", b"Failures"), 0)
    declared = bool(head.said.get(b"Triggers", (None, 0))[1])
    line = head.first
    try:
        while line is not None:
            first = line.words[0]
            kind = {b"trigger": b"Triggers", b"failure": b"Failures"}.get(first, b"Connections")
            there[kind] += 1
            said, most = head.said.get(kind, (None, 0))
            if there[kind] > most:
                raise _too_many(line, kind, said)
            if kind == b"Connections":
                flow = _connection(line, matrix)
                if not declared and (flow.trigger or flow.sent or flow.received):
                    raise line.fault("a trigger, but no line says Triggers: add 'Triggers N' above")
                yield flow
            elif kind == b"Triggers":
                _trigger(line, matrix)
            else:
                _failure(line, matrix)
            line = next(rows, None)
    except NumberFault as fault:
        raise line.fault(str(fault)) from None  # type: ignore[union-attr]
    for kind, count in there.items():
        said, most = head.said.get(kind, (None, 0))
        if said is not None and count < most:
            raise said.miscounted(most, kind.decode().lower().removesuffix("s"), count)


def _head(path: Path, rows: Iterator[Line]) -> _Head:
    said: dict[bytes, tuple[Line, int]] = {}
    for line in rows:
        key = line.words[0]
        if b"->" in key or key in (b"trigger", b"failure"):
            return _Head(said, line)
        if key not in HEAD:
            raise line.fault(
                f"no line begins with {shown(key)}: Nodes, Connections, Triggers and Failures come "
                "first, then connections such as 0->1"
            )
        if key in said:
            raise line.fault(f"{key.decode()} is there twice")
        if len(line.words) != 2:
            raise line.fault(
                f"{counted(len(line.words), 'word')}: it is {key.decode()} and a number"
            )
        try:
            said[key] = line, whole(line.words[1], key.decode(), HEAD[key], key == b"Nodes")
        except NumberFault as fault:
            raise line.fault(str(fault)) from None
    return _Head(said, None)


def _too_many(line: Line, kind: bytes, said: Line | None) -> FormatError:
    name = kind.decode()
    if said is None:
        return line.fault(f"a {name.lower()[:-1]}, but no line says {name}: add '{name} N' above")
    return said.miscounted(
        whole(said.words[1], name, HEAD[kind]), name.lower()[:-1], 0, line.number
    )


def _connection(line: Line, matrix: Matrix) -> Connection:
    words = line.words
    ends = words[0].split(b"->")
    if len(ends) != 2:
        raise line.fault(f"{shown(words[0])} is no connection: it is {CONNECTION}")
    source, target = (whole(end, "node", matrix.nodes - 1) for end in ends)
    if source == target:
        raise line.fault(f"node {source} sends to itself: name another")
    values = dict(zip(words[1::2], words[2::2], strict=False))
    if 2 * len(values) != len(words) - 1 or not KEYS.issuperset(values):
        raise line.fault(_mistaken(words))
    if b"size" not in values:
        raise line.fault("the flow has no size: add size and its octets")
    if (b"start" in values) == (b"trigger" in values):
        both = "both start and trigger" if b"start" in values else "neither start nor trigger"
        raise line.fault(f"the flow has {both}: a flow has one of them")
    octets = whole(values[b"size"], "size", MOST_OCTETS)
    if octets == 0:
        raise line.fault("size 0 is a flow without end there: write how many octets it sends")
    matrix.wrapped += octets >= WRAPS
    if b"prio" in values:
        whole(values[b"prio"], "prio", MOST_ID)
        matrix.priorities += 1
    start = _start(values[b"start"], matrix) if b"start" in values else 0
    numbers = [
        whole(values[key], key.decode(), MOST_ID, 1) if key in values else 0
        for key in (b"id", b"trigger", *FIRES)
    ]
    return Connection(line.number, source, target, octets, start, *numbers)


def _mistaken(words: list[bytes]) -> str:
    """Return what is wrong with the keys of a connection."""
    for index, key in enumerate(words[1::2]):
        if key == b"addon":
            return "addon: a flow that a trigger makes longer cannot be said here"
        if key not in KEYS:
            return (
                f"no connection has {shown(key)}: it is {CONNECTION}, and send_done_trigger, "
                "recv_done_trigger, prio"
            )
        if key in words[1 : 2 * index + 1 : 2]:
            return f"{key.decode()} is there twice"
    return f"{words[-1].decode()} has no value"


def _start(word: bytes, matrix: Matrix) -> int:
    digits = word.isdigit() and len(word) <= 18
    exact = (int(word) if digits else decimal(word, "start")) * matrix.scale
    start = int(exact)
    if start > 10**18:
        raise NumberFault(f"start: {shown(word)} is later than {time_text(10**18)}")
    matrix.rounded += start != exact
    matrix.inexact += start > EXACT and matrix.scale == 1 and not _is_single(start)
    return start


def _is_single(number: int) -> bool:
    """Return whether a whole number has no more than the 24 bits of single precision."""
    return number >> max(0, number.bit_length() - 24) << max(0, number.bit_length() - 24) == number


def _trigger(line: Line, matrix: Matrix) -> None:
    number, kind, count = 0, b"", None
    words = iter(line.words[1:])
    for word in words:
        if word in KINDS:
            if kind:
                raise line.fault(f"{shown(word)}, but it is {kind.decode()} already: keep one")
            kind = word
        elif word in (b"id", b"count"):
            value = next(words, None)
            if value is None:
                raise line.fault(f"{word.decode()} has no value")
            if word == b"id":
                number = whole(value, "id", MOST_ID, 1)
            else:
                count = whole(value, "count", MOST_ID, 1)
        else:
            raise line.fault(
                f"no trigger has {shown(word)}: it is trigger id <n> and oneshot, multishot or "
                "barrier count <n>"
            )
    if not number or not kind:
        raise line.fault("the trigger has no " + ("kind" if number else "id"))
    if (kind == b"barrier") != (count is not None):
        raise line.fault("a barrier has a count, and no other trigger has one")
    if number in matrix.triggers:
        raise line.fault(
            f"trigger {number} is there already, in line {matrix.triggers[number].line}"
        )
    matrix.triggers[number] = Trigger(line.number, kind, 1 if count is None else count)


def _failure(line: Line, matrix: Matrix) -> None:
    keys = dict(zip(line.words[1::2], line.words[2::2], strict=False))
    if len(line.words) != 7 or keys.keys() != {b"switch_type", b"switch_id", b"link_id"}:
        raise line.fault("it is failure switch_type AGG switch_id <n> link_id <n>")
    kind = keys[b"switch_type"]
    if kind not in SWITCHES:
        raise line.fault(f"switch_type {shown(kind)}: there are TOR, AGG and CORE")
    if kind != b"AGG":
        raise line.fault(f"switch_type {kind.decode()}: only uplinks of AGG can fail there")
    numbers = (whole(keys[key], key.decode(), MOST_HOSTS) for key in (b"switch_id", b"link_id"))
    switch, uplink = numbers
    matrix.failures.append((line, switch, uplink))


def scale(times: str) -> int:
    """Return one of a unit of times, ``ps`` or ``us``, in ps; raise `FormatError` for another."""
    if times not in ("ps", "us"):
        raise FormatError(
            f"--times: '{times}' is neither ps, as matrices since November 2023 have them, nor us"
        )
    return TIMES[times.encode()]
