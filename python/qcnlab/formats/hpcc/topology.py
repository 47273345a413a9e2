"""Topology files of HPCC's simulator: nodes, which of them are switches, and links.

The first line has the numbers of nodes, switches and links, then come the numbers of the switches,
then a line for each link: ``<a> <b> <rate> <delay> <error rate>``, such as ``0 320 100Gbps 1us 0``.
Nodes are counted from 0; those that are no switches are hosts. PowerTCP's copies have a fourth
number in the first line, and ConWeave's text behind the last link.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple, TextIO

from qcnlab.formats.lines import FormatError, Line, lines, shown
from qcnlab.formats.names import Node, name, pattern
from qcnlab.formats.numbers import NumberFault, decimal, rate, rate_text, time, time_text, whole
from qcnlab.printing.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from qcnlab.formats.report import Report

MOST_NODES = 1 << 16
"""Nodes that addresses there have room for."""
MOST_LINKS = 1 << 22
FIRST = "<nodes> <switches> <links>"
LINK = "<a> <b> <rate> <delay> <error rate>"


class Link(NamedTuple):
    """A link between two nodes."""

    a: int
    b: int
    rate: int
    """bit/s, in each direction."""
    delay: int
    """ps."""
    error_rate: Decimal = Decimal(0)
    """Part of the packets that it loses."""


@dataclass
class Topology:
    """What a topology file says."""

    nodes: int
    switches: list[int]
    links: list[Link]
    extra: list[str] = field(default_factory=list)
    """What the file has that the simulator of HPCC does not read."""
    _kinds: list[str] = field(init=False, repr=False)
    _parts: list[int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Note the kind of each node, and which are connected."""
        self._kinds = ["host"] * self.nodes
        for switch in self.switches:
            self._kinds[switch] = "switch"
        self._parts = list(range(self.nodes))
        for link in self.links:
            self._parts[self._part(link.a)] = self._part(link.b)

    def node(self, number: int) -> Node:
        """Return a node with its kind."""
        return self._kinds[number], number

    def hosts(self) -> list[int]:
        """Return the hosts that have a link."""
        linked = {end for link in self.links for end in link[:2]}
        return [number for number in sorted(linked) if self._kinds[number] == "host"]

    def connected(self, a: int, b: int) -> bool:
        """Return whether links lead from one node to another."""
        return self._part(a) == self._part(b)

    def ports(self) -> Iterator[tuple[int, int, int]]:
        """Yield the ports of switches with several links: switch, node beyond, rate in bit/s."""
        degree = self.degrees()
        for link in self.links:
            for end, other in ((link.a, link.b), (link.b, link.a)):
                if self._kinds[end] == "switch" and degree[end] > 1:
                    yield end, other, link.rate

    def degrees(self) -> list[int]:
        """Return how many links each node has."""
        degree = [0] * self.nodes
        for link in self.links:
            degree[link.a] += 1
            degree[link.b] += 1
        return degree

    def _part(self, node: int) -> int:
        parts = self._parts
        while parts[node] != node:
            parts[node] = parts[parts[node]]
            node = parts[node]
        return node


def read(path: Path) -> Topology:
    """Read a topology file.

    Raises
    ------
    FormatError
        If its numbers do not agree, a node is out of range, a link is there twice or leads nowhere,
        or a host has no link of its own.
    """
    rows = lines(path)
    head = next(rows, None)
    if head is None:
        raise FormatError(f"{path}: the file is empty: its first line is {FIRST}")
    try:
        return _read(path, head, rows)
    except NumberFault as fault:
        raise FormatError(f"{path}, {fault}") from None


def _read(path: Path, head: Line, rows: Iterator[Line]) -> Topology:
    if len(head.words) == 6:
        raise head.fault(
            "six words begin SimAI's topology, in which a GPU has links to several switches: a "
            "host here has one link"
        )
    if len(head.words) not in (3, 4):
        raise head.fault(f"{len(head.words)} words: the first line is {FIRST}")
    counts = (MOST_NODES, MOST_NODES, MOST_LINKS)
    nodes, switches, links = (
        _whole(head, index, what, most)
        for index, (what, most) in enumerate(
            zip(("nodes", "switches", "links"), counts, strict=True)
        )
    )
    if switches > nodes:
        raise head.fault(f"{switches} switches are more than {nodes} nodes")
    extra = []
    if len(head.words) == 4:
        extra.append(f"the fourth number of its first line, {shown(head.words[3])}")
    kinds = _switches(path, rows, switches, nodes)
    ends: dict[tuple[int, int], int] = {}
    first: dict[int, int] = {}
    read_links: list[Link] = []
    for line in rows:
        if len(read_links) == links:
            if line.words[0].isdigit():
                raise head.miscounted(links, "link", links, line.number)
            extra.append(
                f"line {line.number}, behind the last link: {shown(b' '.join(line.words))}"
            )
            continue
        read_links.append(_link(line, nodes, set(kinds), ends, first))
    if len(read_links) < links:
        raise head.miscounted(links, "link", len(read_links))
    return Topology(nodes, kinds, read_links, extra)


def _switches(path: Path, rows: Iterator[Line], count: int, nodes: int) -> list[int]:
    """Read the numbers of the switches, which may stand in several lines."""
    known: dict[int, None] = {}
    while len(known) < count:
        line = next(rows, None)
        if line is None:
            raise FormatError(
                f"{path}: {count} switches are said to follow, but there are {len(known)}: the "
                "file is cut off"
            )
        for index in range(len(line.words)):
            number = _whole(line, index, "switch", nodes - 1)
            if number in known:
                raise line.fault(f"switch {number} is there twice")
            known[number] = None
        if len(known) > count:
            raise line.fault(f"{len(known)} switches, but the first line says {count}")
    return list(known)


def _link(
    line: Line,
    nodes: int,
    switches: set[int],
    ends: dict[tuple[int, int], int],
    first: dict[int, int],
) -> Link:
    if len(line.words) != 5:
        raise line.fault(f"{len(line.words)} words: a link is {LINK}")
    a, b = (_whole(line, index, "node", nodes - 1) for index in (0, 1))
    if a == b:
        raise line.fault(f"node {a} has a link to itself")
    before = ends.setdefault((min(a, b), max(a, b)), line.number)
    if before != line.number:
        raise line.fault(
            f"nodes {a} and {b} have a link already, in line {before}: two nodes have one link "
            "here; make it one of their rates together"
        )
    for end in (a, b):
        if end not in switches and first.setdefault(end, line.number) != line.number:
            raise line.fault(
                f"host {end} has a link already, in line {first[end]}: a host here has one; name "
                "it among the switches if it is one"
            )
    try:
        return Link(
            a,
            b,
            rate(line.words[2]),
            time(line.words[3], "delay"),
            decimal(line.words[4], "error rate"),
        )
    except NumberFault as fault:
        raise line.fault(str(fault)) from None


def _whole(line: Line, index: int, what: str, most: int) -> int:
    try:
        return whole(line.words[index], what, most)
    except NumberFault as fault:
        raise line.fault(str(fault)) from None


def tables(topology: Topology) -> list[str]:
    """Return the lines of a scenario that say the same network."""
    out = ["[topology]", 'kind = "graph"']
    for group in _groups(topology.links):
        a, b = (
            [
                topology.node(number)
                for number in dict.fromkeys(getattr(link, end) for link in group)
            ]
            for end in ("a", "b")
        )
        out += [
            "",
            "[[link]]",
            f'from = "{pattern(a)}"',
            f'to = "{pattern(b)}"',
            f'rate = "{rate_text(group[0].rate)}"',
            f'delay = "{time_text(group[0].delay)}"',
        ]
    return out


def _groups(links: Iterable[Link]) -> Iterator[list[Link]]:
    """Yield links that follow each other with one end and all else in common: one `[[link]]`."""
    group: list[Link] = []
    ends = {"a", "b"}
    for link in links:
        same = {end for end in ends if group and getattr(link, end) == getattr(group[0], end)}
        if same and (link.rate, link.delay) == (group[0].rate, group[0].delay):
            group.append(link)
            ends = same
        else:
            if group:
                yield group
            group, ends = [link], {"a", "b"}
    if group:
        yield group


def tell(topology: Topology, path: Path, report: Report) -> None:
    """Add what a topology file holds to a report, and what of it nothing says here."""
    switches, links = len(topology.switches), len(topology.links)
    hosts = topology.nodes - switches
    report.read.append((str(path), f"topology: {switches} switches, {hosts} hosts, {links} links"))
    report.mapped.append(
        ("nodes and links", "[topology] kind graph, [[link]]; hostN and switchN by their numbers")
    )
    report.not_modelled += [(each, "HPCC's simulator does not read it") for each in topology.extra]
    lossy = [link for link in topology.links if link.error_rate]
    if lossy:
        most = max(link.error_rate for link in lossy)
        report.not_modelled.append(
            (f"error rates of {counted(len(lossy), 'link')}, up to {most}", "links lose nothing")
        )
    degree = topology.degrees()
    alone = [topology.node(node) for node in range(topology.nodes) if degree[node] == 0]
    if alone:
        report.not_modelled.append((f"nodes without a link: {_some(alone)}", "they are left out"))
    ends = [topology.node(node) for node in topology.switches if degree[node] == 1]
    if ends:
        report.not_modelled.append(
            (f"switches with one link: {_some(ends)}", "they forward nothing, and count as hosts")
        )


def _some(nodes: Sequence[Node]) -> str:
    return pattern(nodes) if len(nodes) <= 8 else f"{name(nodes[0])} and {len(nodes) - 1} more"


def write(topology: Topology, file: TextIO) -> None:
    """Write a topology file.

    Parameters
    ----------
    topology : Topology
        Rates are written in whole bit/s where they are no whole Gb/s, delays in ns or ps.
    file : TextIO
        Where it goes.
    """
    file.write(f"{topology.nodes} {len(topology.switches)} {len(topology.links)}\n")
    file.write(" ".join(map(str, topology.switches)) + "\n")
    for link in topology.links:
        speed = f"{link.rate // 10**9}Gbps" if link.rate % 10**9 == 0 else f"{link.rate}bps"
        delay = time_text(link.delay).replace(" ", "")
        file.write(f"{link.a} {link.b} {speed} {delay} {link.error_rate:f}\n")
