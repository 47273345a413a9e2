"""Traces of all ranks as operations that wait for each other."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from qcnlab.formats.chakra import trace
from qcnlab.formats.chakra.system import members
from qcnlab.formats.chakra.trace import Node
from qcnlab.formats.lines import FormatError, shown
from qcnlab.formats.messages import MOST_OCTETS
from qcnlab.formats.schedules import collectives
from qcnlab.formats.schedules.collectives import ALL_TO_ALL, Collective, Span
from qcnlab.formats.schedules.operations import CALC, RECV, SEND, Rank

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from qcnlab.formats.chakra.schema import Messages

US = 10**6
LONGEST_MICROS = 10**12
KINDS = {
    0: collectives.ALL_REDUCE,
    2: collectives.ALL_GATHER,
    6: collectives.ALL_TO_ALL,
    7: collectives.REDUCE_SCATTER,
    8: collectives.REDUCE_SCATTER,
}
"""Collectives by their numbers in the schema."""
OTHERS = {1: "REDUCE", 3: "GATHER", 4: "SCATTER", 5: "BROADCAST", 9: "BARRIER"}


@dataclass
class Part:
    """A node among the operations of its rank.

    Attributes
    ----------
    name : bytes
        What the trace calls it.
    kind : int
        Its type by the schema.
    span : Span
        Its first and its last operation.
    waits : tuple of int
        The nodes that it waits for, by their positions in the file.
    replayed : str
        Of a collective that takes the time that it took: its kind.
    call : tuple, optional
        Of another collective: its number among all, and what it is.
    sends : range
        The operations among which its messages are.
    """

    name: bytes
    kind: int
    span: Span
    waits: tuple[int, ...] = ()
    replayed: str = ""
    call: tuple[int, Collective] | None = None
    sends: range = range(0)


@dataclass
class Traces:
    """What the traces of all ranks say.

    Attributes
    ----------
    ranks : list of Rank
        Their operations.
    nodes : int
        How many nodes they have.
    collectives : Counter
        How many collectives of each kind and number of ranks.
    replayed : Counter
        Collectives of kinds that take the time they took.
    instant : int
        Computations without a duration.
    memory : int
        Loads and stores.
    passed : int
        Nodes of other types, which take no time.
    ungrouped : set of str
        Groups that no file names: all ranks.
    parts : list of list of Part
        For each rank its nodes, in the order of the file.
    """

    ranks: list[Rank]
    nodes: int = 0
    collectives: Counter[tuple[str, int]] = field(default_factory=Counter)
    replayed: Counter[str] = field(default_factory=Counter)
    instant: int = 0
    memory: int = 0
    passed: int = 0
    ungrouped: set[str] = field(default_factory=set)
    parts: list[list[Part]] = field(default_factory=list)


Call = tuple[int, Span, int, int]
"""A rank's part in a collective: the rank, where it begins and ends, its kind and its octets."""


class _Reader:
    def __init__(
        self, paths: Sequence[Path], groups: dict[str, tuple[int, ...]], algorithms: dict[str, str]
    ) -> None:
        self.out = Traces([Rank(path, unit="node") for path in paths])
        self.groups, self.algorithms = groups, algorithms
        self.calls: dict[str, dict[int, list[Call]]] = {}
        self.begins: list[dict[int, Part]] = []

    def rank(self, number: int, nodes: Iterable[Node]) -> None:
        """Add the operations of a rank."""
        rank = self.out.ranks[number]
        spans: dict[int, Span] = {}
        waits: list[tuple[Node, Span]] = []
        parts: list[Part] = []
        positions: dict[int, int] = {}
        for node in nodes:
            self.out.nodes += 1
            if node.id in spans:
                raise FormatError(f"{rank.path}, node {node.id}: the number is there twice")
            spans[node.id] = self.node(number, rank, node)
            waits.append((node, spans[node.id]))
            positions[node.id] = len(parts)
            parts.append(self.part(rank, node, spans[node.id]))
            if len(spans) > trace.MOST_NODES:
                raise FormatError(f"{rank.path}: more than {trace.MOST_NODES} nodes")
        for (node, where), part in zip(waits, parts, strict=True):
            for before in node.after:
                if before not in spans:
                    raise FormatError(
                        f"{rank.path}, node {node.id}: it waits for node {before}, which is "
                        "not there"
                    )
            if node.after:
                ends = [spans[before].end for before in node.after]
                rank.after.setdefault(where.begin, []).extend(ends)
                part.waits = tuple(positions[before] for before in node.after)
        self.out.parts.append(parts)
        self.begins.append({part.span.begin: part for part in parts})

    def part(self, rank: Rank, node: Node, where: Span) -> Part:
        """Return a node as the part that it is of its rank's operations."""
        replayed = ""
        if node.kind == trace.COLLECTIVE:
            replayed = OTHERS.get(self.whole(rank, node, b"comm_type", 0), "").lower()
        sends = range(where.begin, where.end + 1) if node.kind == trace.SEND else range(0)
        return Part(node.name, node.kind, where, replayed=replayed, sends=sends)

    def node(self, number: int, rank: Rank, node: Node) -> Span:
        """Add a node; return where it begins and ends."""
        if node.micros > LONGEST_MICROS:
            raise self.fault(
                rank, node, f"duration_micros {node.micros} is more than {LONGEST_MICROS}"
            )
        if node.kind in (trace.SEND, trace.RECEIVE):
            at = self.message(number, rank, node)
            return Span(at, at)
        if node.kind == trace.COLLECTIVE and self.whole(rank, node, b"comm_type", 0) in KINDS:
            return self.collective(number, rank, node)
        micros = node.micros
        if node.kind == trace.COLLECTIVE:
            kind = self.whole(rank, node, b"comm_type", 0)
            if kind not in OTHERS:
                raise self.fault(rank, node, f"comm_type {kind}: there are 0 to 9")
            self.out.replayed[OTHERS[kind]] += 1
        elif node.kind in (trace.LOAD, trace.STORE):
            self.out.memory += 1
        elif node.kind == trace.COMPUTE:
            self.out.instant += micros == 0
        else:
            if node.kind == trace.METADATA and node.values:
                self.named_groups(rank, node)
            self.out.passed += 1
            micros = 0
        at = rank.add(CALC, micros * US, line=node.id)
        return Span(at, at)

    def message(self, number: int, rank: Rank, node: Node) -> int:
        sends = node.kind == trace.SEND
        own, other = (b"comm_src", b"comm_dst") if sends else (b"comm_dst", b"comm_src")
        if self.whole(rank, node, own, number) != number:
            raise self.fault(rank, node, f"{own.decode()} is not {number}, whose trace this is")
        peer = self.whole(rank, node, other, None)
        if not 0 <= peer < len(self.out.ranks):
            raise self.fault(
                rank,
                node,
                f"{other.decode()} {peer}: there are ranks 0 to {len(self.out.ranks) - 1}",
            )
        octets = self.whole(rank, node, b"comm_size", None)
        tag = self.whole(rank, node, b"comm_tag", 0)
        if not 0 <= tag < collectives.FIRST:
            raise self.fault(rank, node, f"comm_tag {tag} is not from 0 to {collectives.FIRST - 1}")
        return rank.add(SEND if sends else RECV, octets, peer, tag, node.id)

    def collective(self, number: int, rank: Rank, node: Node) -> Span:
        name = node.attributes.get(b"pg_name")
        group = name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name or "")
        where = collectives.span(rank, (), node.id)
        kind, octets = (self.whole(rank, node, key, None) for key in (b"comm_type", b"comm_size"))
        self.calls.setdefault(group, {}).setdefault(number, []).append(
            (number, where, kind, octets)
        )
        return where

    def named_groups(self, rank: Rank, node: Node) -> None:
        """Take groups of ranks that a trace of PyTorch names: a list of JSON inside another."""
        try:
            said = json.loads(node.values[2:-2])
            pairs = [(str(each["pg_name"]), each["ranks"]) for each in said]
        except (ValueError, TypeError, KeyError, RecursionError):
            return
        count = len(self.out.ranks)
        for name, value in pairs:
            where = f"{rank.path}, node {node.id}: group {shown(name.encode())}"
            self.groups[name] = members(value or list(range(count)), count, where)

    def whole(self, rank: Rank, node: Node, key: bytes, default: int | None) -> int:
        value = node.attributes.get(key, default)
        if value is None:
            raise self.fault(rank, node, f"{key.decode()} is missing")
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST_OCTETS:
            raise self.fault(
                rank, node, f"{key.decode()}: {shown(str(value).encode())} is no whole number"
            )
        return value

    def fault(self, rank: Rank, node: Node, message: str) -> FormatError:
        return FormatError(f"{rank.path}, node {node.id}: {message}")

    def expand(self) -> None:
        """Add the messages of collectives: the n-th of a group is the n-th at each of its ranks."""
        ranks, number = self.out.ranks, 0
        for group, calls in self.calls.items():
            everybody = self.groups.get(group)
            if everybody is None:
                if self.groups and group:
                    first = next(iter(calls.values()))[0]
                    raise ranks[first[0]].fault(
                        first[1].begin, f"no group is called {shown(group.encode())}"
                    )
                everybody = tuple(range(len(ranks)))
                if group:
                    self.out.ungrouped.add(group)
            stranger = next((rank for rank in calls if rank not in everybody), None)
            if stranger is not None:
                first = calls[stranger][0]
                raise ranks[stranger].fault(
                    first[1].begin, f"rank {stranger} is not in group {shown(group.encode())}"
                )
            for turn in range(max(map(len, calls.values()))):
                self.one(
                    group,
                    [calls.get(rank, [])[turn : turn + 1] for rank in everybody],
                    everybody,
                    number,
                )
                number += 1

    def one(
        self, group: str, parts: list[list[Call]], everybody: tuple[int, ...], number: int
    ) -> None:
        ranks = self.out.ranks
        there = [part[0] for part in parts if part]
        missing = [rank for rank, part in zip(everybody, parts, strict=True) if not part]
        if missing:
            raise ranks[there[0][0]].fault(
                there[0][1].begin,
                f"rank {missing[0]} is in the group and has no such collective: it would never end",
            )
        kinds = {(kind, octets) for _, _, kind, octets in there}
        if len(kinds) > 1:
            other = next(part for part in there if part[2:] != there[0][2:])
            raise ranks[other[0]].fault(
                other[1].begin,
                f"comm_type {other[2]} and {other[3]} octets, and rank {there[0][0]} has "
                f"{there[0][2]} and {there[0][3]} in this collective",
            )
        kind = KINDS[there[0][2]]
        octets = there[0][3] * (len(everybody) if kind == collectives.ALL_GATHER else 1)
        algorithm, count = self.algorithms[kind], len(everybody)
        if algorithm == collectives.HALVING and (count & (count - 1) or kind == ALL_TO_ALL):
            raise ranks[there[0][0]].fault(
                there[0][1].begin,
                f"{kind} of {count} ranks as {algorithm}: it is for 2, 4, 8, .. ranks, and not for "
                "all-to-all: name another in --system",
            )
        what = Collective(kind, octets, everybody, algorithm)
        firsts = [len(ranks[part[0]].kinds) for part in there]
        collectives.expand(ranks, what, [part[1] for part in there], number)
        for first, (rank, where, *_) in zip(firsts, there, strict=True):
            part = self.begins[rank][where.begin]
            part.call, part.sends = (number, what), range(first, len(ranks[rank].kinds))
        self.out.collectives[kind, len(everybody)] += 1


def read(
    paths: Sequence[Path],
    classes: Messages,
    groups: dict[str, tuple[int, ...]],
    algorithms: dict[str, str],
    *,
    control: bool,
) -> Traces:
    """Read the traces of all ranks.

    Parameters
    ----------
    paths : sequence of Path
        The trace of rank 0 and on.
    classes : dict
        The messages, of `schema.messages`.
    groups : dict
        The ranks of groups, by their names.
    algorithms : dict
        How each kind of collective is carried out.
    control : bool
        Whether a node waits for its control dependencies, too.

    Raises
    ------
    FormatError
        If a trace cannot be read, a node waits for one that is not there, or the collectives of
        ranks do not agree.
    """
    reader = _Reader(paths, groups, algorithms)
    for number, path in enumerate(paths):
        reader.rank(number, trace.read(path, classes, control=control))
    reader.expand()
    return reader.out
