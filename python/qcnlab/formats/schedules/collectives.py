"""Collective operations as sends and receives of their ranks.

With n ranks and S octets: a ring passes parts of S / n on, n - 1 times to add up or to gather, and
2 (n - 1) times for both. Halving and doubling exchanges S / 2, S / 4, .. with a partner at half the
distance each time, and the same back. Direct sends each part to its rank at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from qcnlab.formats.schedules.operations import CALC, RECV, SEND, Rank

if TYPE_CHECKING:
    from collections.abc import Sequence

ALL_REDUCE, ALL_GATHER = "all-reduce", "all-gather"
REDUCE_SCATTER, ALL_TO_ALL = "reduce-scatter", "all-to-all"
KINDS = (ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL)
RING, DIRECT, HALVING = "ring", "direct", "halvingDoubling"
ALGORITHMS = (RING, DIRECT, HALVING)
STEPS = 1 << 20
"""Tags that a collective has to itself."""
FIRST = 1 << 40
"""Tags of collectives begin here: programs' own are below."""


class Collective(NamedTuple):
    """An operation of several ranks.

    Attributes
    ----------
    kind : str
        One of `KINDS`.
    octets : int
        S: what is cut into a part for each rank.
    members : tuple of int
        The ranks, in their order.
    algorithm : str
        One of `ALGORITHMS`.
    """

    kind: str
    octets: int
    members: tuple[int, ...]
    algorithm: str


class Span(NamedTuple):
    """Where an operation of a rank begins and ends."""

    begin: int
    end: int


def span(rank: Rank, after: Sequence[int], line: int | None) -> Span:
    """Add the beginning and the end of an operation, which take no time; return them."""
    begin = rank.add(CALC, 0, line=line)
    if after:
        rank.after[begin] = list(after)
    return Span(begin, rank.add(CALC, 0, line=line))


def expand(ranks: Sequence[Rank], what: Collective, spans: Sequence[Span], number: int) -> None:
    """Add the sends and receives of a collective between the beginning and end of each member.

    A member sends on what it has received, once its own first message is acknowledged: then it has
    begun, too. It has ended when its receives have, and its last send.

    Parameters
    ----------
    ranks : sequence of Rank
        All ranks.
    what : Collective
        The operation.
    spans : sequence of Span
        Where it begins and ends, for each member.
    number : int
        How many collectives came before: messages of two are never confused.
    """
    count = len(what.members)
    tag = FIRST + number * STEPS
    parts = [what.octets // count + (part < what.octets % count) for part in range(count)]
    for index, (member, each) in enumerate(zip(what.members, spans, strict=True)):
        steps = _Steps(ranks[member], what.members, index, each, tag)
        if count == 1:
            pass
        elif what.kind == ALL_TO_ALL:
            _all_to_all(steps, parts, what.algorithm == DIRECT)
        elif what.algorithm == DIRECT:
            if what.kind != ALL_GATHER:
                steps.exchange([parts[other] for other in range(count)], parts[index])
            if what.kind != REDUCE_SCATTER:
                steps.exchange([parts[index]] * count, None, parts)
        elif what.algorithm == HALVING and count & (count - 1) == 0:
            _halving(steps, what)
        else:
            rounds = 2 * (count - 1) if what.kind == ALL_REDUCE else count - 1
            for turn in range(rounds):
                part = (index - turn) % count
                steps.step(1, parts[part], -1, parts[(part - 1) % count])
        steps.finish()


class _Steps:
    """The sends and receives of one member, each step after the receives of the one before."""

    def __init__(
        self, rank: Rank, members: tuple[int, ...], index: int, where: Span, tag: int
    ) -> None:
        self.rank, self.members, self.index, self.where = rank, members, index, where
        self.tag = tag
        self.line = rank.lines[where.begin] if rank.lines else None
        self.received: list[int] = []
        self.all: list[int] = []
        self.sent: list[int] = []
        self.first: list[int] = []

    def peer(self, offset: int) -> int:
        return self.members[(self.index + offset) % len(self.members)]

    def send(self, offset: int, octets: int, after: list[int]) -> int:
        at = self.rank.add(SEND, octets, self.peer(offset), self.tag, self.line)
        self.rank.after[at] = [*after, *self.first] if self.first else [self.where.begin]
        return at

    def receive(self, offset: int, octets: int) -> int:
        return self.rank.add(RECV, octets, self.peer(offset), self.tag, self.line)

    def step(self, to: int, octets: int, source: int, received: int) -> None:
        """Send to one member and receive from one, by their distances."""
        self.sent = [self.send(to, octets, self.received)]
        self.first = self.first or self.sent
        self.received = [self.receive(source, received)]
        self.all += self.received
        self.tag += 1

    def exchange(
        self, octets: list[int], received: int | None, each: list[int] | None = None
    ) -> None:
        """Send to all other members at once, and receive from them."""
        count, after = len(self.members), self.received
        others = range(1, count)
        self.sent = [self.send(to, octets[(self.index + to) % count], after) for to in others]
        self.first = self.first or self.sent
        self.received = []
        for source in others:
            got = each[(self.index + source) % count] if each is not None else received
            self.received.append(self.receive(source, got or 0))
        self.all += self.received
        self.tag += 1

    def finish(self) -> None:
        """End the operation after what was sent and received last."""
        self.rank.after[self.where.end] = [*self.all, *self.sent] or [self.where.begin]


def _all_to_all(steps: _Steps, parts: list[int], at_once: bool) -> None:
    """Send a part to each: at once, or in rounds, to the next but one more each time."""
    count = len(parts)
    if at_once:
        steps.exchange(parts, parts[steps.index])
        return
    for turn in range(1, count):
        target = (steps.index + turn) % count
        steps.step(turn, parts[target], -turn, parts[steps.index])


def _halving(steps: _Steps, what: Collective) -> None:
    count, octets = len(steps.members), what.octets
    distances = []
    distance = count // 2
    while distance:
        distances.append(distance)
        distance //= 2
    sizes = [octets * distance // count for distance in distances]
    pairs = list(zip(distances, sizes, strict=True))
    there = pairs if what.kind != ALL_GATHER else []
    back = pairs[::-1] if what.kind != REDUCE_SCATTER else []
    for distance, size in (*there, *back):
        offset = distance if steps.index & distance == 0 else -distance
        steps.step(offset, size, offset, size)
        steps.received = list(steps.all)
