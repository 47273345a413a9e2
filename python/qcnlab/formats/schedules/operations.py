"""What ranks do: they send, receive and compute, each operation after others of its rank."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from qcnlab.formats.lines import FormatError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

SEND, RECV, CALC = 1, 2, 3
ANY = -1
"""Any source, or any tag."""


@dataclass
class Rank:
    """The operations of a rank, in the order of its file.

    Attributes
    ----------
    path : Path
        The file.
    kinds : list of int
        `SEND`, `RECV` or `CALC`.
    sizes : list of int
        Octets of a message; how long a computation takes, ps.
    peers, tags : list of int
        The other rank and the tag of a message; `ANY` in a receive.
    after, begun : dict
        For each operation that waits, those that must have ended, or begun, before it.
    lines : list of int
        Where it stands; empty if the file does not say.
    unit : str
        What `lines` counts.
    """

    path: Path
    kinds: list[int] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    peers: list[int] = field(default_factory=list)
    tags: list[int] = field(default_factory=list)
    after: dict[int, list[int]] = field(default_factory=dict)
    begun: dict[int, list[int]] = field(default_factory=dict)
    lines: list[int] = field(default_factory=list)
    unit: str = "line"

    def add(
        self, kind: int, size: int, peer: int = 0, tag: int = 0, line: int | None = None
    ) -> int:
        """Add an operation; return its position."""
        self.kinds.append(kind)
        self.sizes.append(size)
        self.peers.append(peer)
        self.tags.append(tag)
        if line is not None:
            self.lines.append(line)
        return len(self.kinds) - 1

    def fault(self, operation: int, message: str) -> FormatError:
        """Return the error that names an operation."""
        at = f"{self.unit} {self.lines[operation]}" if self.lines else f"operation {operation}"
        return FormatError(f"{self.path}, {at}: {message}")

    def waits(self, operation: int) -> list[int]:
        """Return the operations that must have ended or begun before one."""
        return [*self.after.get(operation, ()), *self.begun.get(operation, ())]


Position = tuple[int, int]
"""A rank, and the position of its operation."""


class Matches(NamedTuple):
    """Which message each receive takes.

    Attributes
    ----------
    sends : dict
        For each receive the send whose message it takes.
    unreceived : int
        Sends that no receive takes.
    any : int
        Receives from any source or of any tag.
    unequal : int
        Receives of another size than the send.
    """

    sends: dict[Position, Position]
    unreceived: int
    any: int
    unequal: int


def match(ranks: Sequence[Rank]) -> Matches:
    """Say which receive takes which message: by source and tag, in the order of the files.

    A receive from any source, or of any tag, takes the first message that no other does: what a
    run there would take depends on its times.

    Raises
    ------
    FormatError
        If a receive has no send: it would never end. If a rank is none of the ranks.
    """
    queues: dict[tuple[int, int, int], deque[Position]] = {}
    count = 0
    for number, rank in enumerate(ranks):
        for at, kind in enumerate(rank.kinds):
            if kind == CALC:
                continue
            peer = rank.peers[at]
            if not (0 <= peer < len(ranks) or (kind == RECV and peer == ANY)):
                raise rank.fault(at, f"rank {peer}: there are ranks 0 to {len(ranks) - 1}")
            if kind == SEND:
                count += 1
                key = (number, peer, rank.tags[at])
                queues.setdefault(key, deque()).append((number, at))
    sends: dict[Position, Position] = {}
    later: list[Position] = []
    for number, rank in enumerate(ranks):
        for at, kind in enumerate(rank.kinds):
            if kind != RECV:
                continue
            if ANY in (rank.peers[at], rank.tags[at]):
                later.append((number, at))
                continue
            queue = queues.get((rank.peers[at], number, rank.tags[at]))
            if not queue:
                raise _unmatched(rank, at)
            sends[number, at] = queue.popleft()
    _match_any(ranks, queues, later, sends)
    unequal = sum(
        ranks[to].sizes[at] != ranks[source].sizes[send]
        for (to, at), (source, send) in sends.items()
    )
    return Matches(sends, count - len(sends), len(later), unequal)


def _match_any(
    ranks: Sequence[Rank],
    queues: dict[tuple[int, int, int], deque[Position]],
    later: list[Position],
    sends: dict[Position, Position],
) -> None:
    """Match receives from any source or of any tag with what is left."""
    if not later:
        return
    left: dict[tuple[int, int, int], deque[Position]] = {}
    for position in sorted(each for queue in queues.values() for each in queue):
        source, at = position
        peer, tag = ranks[source].peers[at], ranks[source].tags[at]
        for key in ((ANY, peer, tag), (source, peer, ANY), (ANY, peer, ANY)):
            left.setdefault(key, deque()).append(position)
    taken: set[Position] = set()
    for to, at in later:
        queue = left.get((ranks[to].peers[at], to, ranks[to].tags[at]), deque())
        while queue and queue[0] in taken:
            queue.popleft()
        if not queue:
            raise _unmatched(ranks[to], at)
        taken.add(queue[0])
        sends[to, at] = queue.popleft()


def _unmatched(rank: Rank, at: int) -> FormatError:
    source = "any rank" if rank.peers[at] == ANY else f"rank {rank.peers[at]}"
    tag = "any tag" if rank.tags[at] == ANY else f"tag {rank.tags[at]}"
    return rank.fault(
        at, f"no send from {source} with {tag} is left for this receive: it never ends"
    )
