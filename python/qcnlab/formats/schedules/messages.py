"""Messages of a schedule, and when each may start: after others, and a delay.

What a rank computes stands between its messages as a delay. A message starts when each of those
that it waits for is complete, so long after it as that asks for, and not before a time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from qcnlab.formats.messages import MOST_MESSAGES
from qcnlab.formats.schedules.operations import CALC, RECV, SEND, Matches, Position, Rank, match
from qcnlab.formats.schedules.order import in_circle, in_order
from qcnlab.formats.schedules.times import Time, after_message, later, latest, waits

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_WAITS = 5_000_000
MOST_TIMES = 50_000_000
"""So many times of operations are looked at most, to say what all messages wait for."""


@dataclass
class Message:
    """A message between two ranks.

    Attributes
    ----------
    source, target : int
        Ranks.
    octets : int
        More than 0.
    after : dict
        The messages that it waits for, by their positions, each with the delay that it asks for.
    earliest : int
        When it starts at the earliest whatever it waits for, ps.
    position : tuple
        Rank and operation.
    """

    source: int
    target: int
    octets: int
    position: Position
    after: dict[int, int] = field(default_factory=dict)
    earliest: int = 0

    @property
    def delay(self) -> int:
        """How long after all that it waits for it starts at the least, or when, ps."""
        return min(self.after.values()) if self.after else self.earliest

    @property
    def longest_wait(self) -> int:
        """The longest of its delays after others, ps."""
        return max(self.after.values(), default=0)

    @property
    def longest(self) -> int:
        """The longest time that it asks for, ps."""
        return max(self.earliest, self.longest_wait)


@dataclass
class Schedule:
    """The messages of all ranks.

    Attributes
    ----------
    messages : list of Message
        In the order of ranks and operations.
    matches : Matches
        Which receive takes which message.
    own : int
        Messages from a rank to itself, which are none here.
    empty : int
        Messages without octets, which have one here.
    idle : int
        Ranks whose computation no message waits for.
    """

    messages: list[Message]
    matches: Matches
    own: int = 0
    empty: int = 0
    idle: int = 0
    _waits: int = field(default=0, repr=False)
    _times: int = field(default=0, repr=False)


def schedule(ranks: Sequence[Rank], overhead: int = 0) -> Schedule:
    """Return the messages of ranks and what each waits for.

    Parameters
    ----------
    ranks : sequence of Rank
        Rank 0 and on.
    overhead : int, default 0
        What sending, and receiving, takes of a rank's time, ps (LogGOPS: o).

    Raises
    ------
    FormatError
        If a receive has no send, operations wait in a circle, or there are too many messages.
    """
    matches = match(ranks)
    numbers: dict[Position, int] = {}
    out = Schedule([], matches)
    for number, rank in enumerate(ranks):
        for at, kind in enumerate(rank.kinds):
            if kind != SEND:
                continue
            if rank.peers[at] == number:
                out.own += 1
                continue
            if len(out.messages) == MOST_MESSAGES:
                raise rank.fault(at, f"a run can have {MOST_MESSAGES} messages: leave some out")
            numbers[number, at] = len(out.messages)
            octets = rank.sizes[at]
            out.empty += octets == 0
            message = Message(number, rank.peers[at], max(octets, 1), (number, at))
            out.messages.append(message)
    for number, rank in enumerate(ranks):
        _Walk(number, rank, numbers, out, overhead).walk()
    _check_order(ranks, out.messages)
    return out


class _Walk:
    """The operations of one rank, in an order in which each comes after those it waits for."""

    def __init__(
        self,
        number: int,
        rank: Rank,
        numbers: dict[Position, int],
        out: Schedule,
        overhead: int,
    ) -> None:
        self.number, self.rank, self.numbers, self.out = number, rank, numbers, out
        self.overhead = overhead
        self.start: dict[int, Time] = {}
        self.end: dict[int, Time] = {}

    def walk(self) -> None:
        """Note what each message of the rank waits for."""
        rank = self.rank
        last = 0
        users = self.users()
        for at in self.order():
            ends = [self.end[each] for each in rank.after.get(at, ())]
            ends += [self.start[each] for each in rank.begun.get(at, ())]
            self.start[at] = latest(ends)
            self.end[at] = self.after(at, self.start[at])
            self.forget(at, users)
            if rank.kinds[at] == CALC and rank.sizes[at]:
                last = at + 1
        if last and not self.number_of_sends(last):
            self.out.idle += 1

    def befores(self, at: int) -> list[int]:
        """Return the operations of the rank whose times those of one follow from."""
        rank = self.rank
        out = rank.waits(at)
        if rank.kinds[at] == RECV:
            source, send = self.out.matches.sends[self.number, at]
            if source == self.number:
                out.append(send)
        return out

    def users(self) -> list[int]:
        """Return how many operations wait for each."""
        users = [0] * len(self.rank.kinds)
        for at in range(len(users)):
            for each in self.befores(at):
                users[each] += 1
        return users

    def forget(self, at: int, users: list[int]) -> None:
        """Let go of times that nobody asks for any more."""
        befores = self.befores(at)
        for each in befores:
            users[each] -= 1
        for each in (*befores, at):
            if users[each] == 0 and each in self.end:
                del self.start[each], self.end[each]

    def number_of_sends(self, first: int) -> int:
        """Return how many messages the rank sends from an operation on."""
        return sum(kind == SEND for kind in self.rank.kinds[first:])

    def after(self, at: int, start: Time) -> Time:
        """Return when an operation ends that starts at `start`."""
        rank, out = self.rank, self.out
        if rank.kinds[at] == CALC:
            return later(start, rank.sizes[at])
        if rank.kinds[at] == RECV:
            send = out.matches.sends[self.number, at]
            if send[0] == self.number:
                return latest([start, later(self.start[send[1]], 2 * self.overhead)])
            return latest([start, after_message(self.numbers[send], self.overhead)])
        begins = later(start, self.overhead)
        if rank.peers[at] == self.number:
            return begins
        number = self.numbers[self.number, at]
        self.settle(out.messages[number], begins)
        return after_message(number)

    def settle(self, message: Message, begins: Time) -> None:
        """Say what a message waits for: those that others of them imply are left out."""
        out = self.out
        earliest, after, times = waits(begins)
        out._times += times
        if out._times > MOST_TIMES:
            raise self.rank.fault(
                message.position[1],
                f"to say what messages wait for takes more than {MOST_TIMES} steps: operations "
                "before this one that wait for each other count for each message; leave some out",
            )
        if len(after) > 1:
            after = self.needed(after)
        message.after = after
        out._waits += len(after)
        if out._waits > MOST_WAITS:
            raise self.rank.fault(
                message.position[1],
                f"messages wait for others more than {MOST_WAITS} times: too often",
            )
        message.earliest = earliest

    def needed(self, after: dict[int, int]) -> dict[int, int]:
        """Return waits without those that another of them implies, because its sender waited."""
        implied = set()
        for each, delay in after.items():
            message = self.out.messages[each]
            if message.source == self.number:
                implied |= {
                    other
                    for other, wait in message.after.items()
                    if other in after and after[other] <= wait + delay
                }
        return {each: delay for each, delay in after.items() if each not in implied}

    def order(self) -> list[int]:
        """Return the operations so that each comes after those that it waits for."""
        rank = self.rank
        count = len(rank.kinds)
        order = in_order(count, self.befores)
        if len(order) < count:
            at = in_circle(count, self.befores, order)
            raise rank.fault(at, "the operation waits for itself, through others: break the circle")
        return order


def _check_order(ranks: Sequence[Rank], messages: list[Message]) -> None:
    """Raise `FormatError` if a message waits for itself, through others."""
    count = len(messages)

    def befores(number: int) -> dict[int, int]:
        return messages[number].after

    order = in_order(count, befores)
    if len(order) == count:
        return
    number = in_circle(count, befores, order)
    rank, at = messages[number].position
    raise ranks[rank].fault(
        at,
        "the message waits for itself, through messages of other ranks: they would stand still",
    )
