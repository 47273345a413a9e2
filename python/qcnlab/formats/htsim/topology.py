"""Topology files of htsim (``.topo``): a tree of two or three tiers of switches.

``Nodes``, ``Tiers`` and ``Podsize`` come first, then a part for each ``Tier``: 0 the switches of
racks (ToR), 1 the aggregation, 2 the core. A tier's speeds and latencies are those of the links
below it.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

from qcnlab.formats.lines import FormatError, Line, lines, shown
from qcnlab.formats.messages import MOST_HOSTS, link
from qcnlab.formats.names import Node, pattern
from qcnlab.formats.numbers import NumberFault, rate_text, time_text, whole
from qcnlab.printing.text import counted

if TYPE_CHECKING:
    from pathlib import Path

    from qcnlab.formats.report import Report

HEAD = ("nodes", "tiers", "podsize")
KEYS = {
    "downlink_speed_gbps": (1, 100_000),
    "radix_down": (1, MOST_HOSTS),
    "radix_up": (1, MOST_HOSTS),
    "queue_up": (0, 1 << 40),
    "queue_down": (0, 1 << 40),
    "oversubscribed": (1, MOST_HOSTS),
    "bundle": (1, 1024),
    "switch_latency_ns": (0, 10**12),
    "downlink_latency_ns": (0, 10**12),
}
"""What a tier can say, with the least and the most."""
NAMES = ("tor", "agg", "core")
GBPS, NS = 10**9, 1000
MOST_LINKS = 1 << 20


@dataclass(frozen=True)
class Tier:
    """What a tier says, in bit/s, ps and octets."""

    rate: int
    delay: int
    down: int
    up: int = 0
    oversubscribed: int = 1
    bundle: int = 1
    latency: int = 0
    queues: tuple[str, ...] = ()


@dataclass(frozen=True)
class Tree:
    """The network of a topology file."""

    path: Path
    hosts: int
    pods: int
    racks: int
    """Switches of racks in a pod."""
    aggregations: int
    """Aggregation switches in a pod; with two tiers there is one pod."""
    cores: int
    tiers: tuple[Tier, ...]

    def aggregation_links(self) -> list[tuple[int, int]]:
        """Return the links between aggregation and core, each with its two numbers."""
        if len(self.tiers) < 3:
            return []
        every = self.tiers[1].up // self.tiers[2].bundle
        return [
            (number, number % self.aggregations + self.aggregations * each)
            for number in range(self.aggregations * self.pods)
            for each in range(every)
        ]

    def tables(self, failed: set[tuple[int, int]]) -> list[str]:
        """Return the tables of a scenario that say the same network.

        Parameters
        ----------
        failed : set of tuple
            Links between aggregation and core of which one is down: a bundle has one less.
        """
        rack, aggregation = self.tiers[:2]
        out = ["[topology]", 'kind = "graph"']
        for number in range(self.racks * self.pods):
            pod = number // self.racks
            hosts = _range("host", number * rack.down, rack.down)
            above = _range("agg", pod * self.aggregations, self.aggregations)
            out += ["", *link(hosts, f"tor{number}", rack.rate, rack.delay)]
            bits = aggregation.rate * aggregation.bundle
            out += ["", *link(f"tor{number}", above, bits, aggregation.delay)]
        if len(self.tiers) == 3:
            core = self.tiers[2]
            groups: dict[tuple[int, int], list[Node]] = {}
            for a, b in self.aggregation_links():
                links = core.bundle - ((a, b) in failed)
                if links:
                    groups.setdefault((a, links), []).append(("core", b))
            for (a, links), nodes in groups.items():
                out += ["", *link(f"agg{a}", pattern(nodes), core.rate * links, core.delay)]
        for tier, kind in zip(self.tiers, NAMES, strict=False):
            if tier.latency:
                count = {"tor": self.racks * self.pods, "core": self.cores}.get(
                    kind, self.aggregations * self.pods
                )
                out += ["", "[[switch]]", f'only = "{_range(kind, 0, count)}"']
                out += [f'latency = "{time_text(tier.latency)}"']
        return out


def _range(kind: str, first: int, count: int) -> str:
    return pattern([(kind, first + number) for number in range(count)])


def read(path: Path) -> Tree:
    """Read a topology file.

    Raises
    ------
    FormatError
        If a line is unknown or there twice, a number is missing, or the numbers make no tree.
    """
    head: dict[str, int] = {}
    tiers: dict[int, dict[str, int]] = {}
    current: dict[str, int] | None = None
    last = 0
    for line in lines(path):
        last = line.number
        key = line.words[0].decode("ascii", "backslashreplace").lower()
        if len(line.words) != 2:
            raise line.fault(f"{counted(len(line.words), 'word')}: a line is a key and its number")
        if key == "tier":
            tier = _whole(line, key, 0, 2)
            if tier in tiers:
                raise line.fault(f"tier {tier} is there twice")
            current = tiers[tier] = {}
            continue
        keys = head if key in HEAD and current is None else current
        bounds = (0, MOST_HOSTS) if keys is head else KEYS.get(key)
        if keys is None or bounds is None:
            raise line.fault(_unknown(key, current is None))
        if key in keys:
            raise line.fault(f"{key} is there twice")
        keys[key] = _whole(line, key, *bounds)
    if last == 0:
        raise FormatError(f"{path}: the file is empty: its first line is Nodes and their number")
    for key in HEAD:
        if not head.get(key):
            raise FormatError(
                f"{path}: {key.capitalize()} is missing: write '{key.capitalize()} N'"
            )
    if head["tiers"] not in (2, 3):
        raise FormatError(f"{path}: Tiers is {head['tiers']}: a tree has 2 or 3")
    return _tree(path, head, tiers)


def _whole(line: Line, key: str, least: int, most: int) -> int:
    try:
        return whole(line.words[1], key, most, least)
    except NumberFault as fault:
        raise line.fault(str(fault)) from None


def _unknown(key: str, head: bool) -> str:
    known = HEAD if head else tuple(KEYS)
    near = get_close_matches(key, known, n=1)
    told = shown(key.encode())
    if near:
        return f"no line begins with {told}; did you mean {near[0]}?"
    where = "before the first Tier" if head else "of a tier"
    return f"no line {where} begins with {told}: there are {', '.join(known)}"


def _tree(path: Path, head: dict[str, int], said: dict[int, dict[str, int]]) -> Tree:
    hosts, count, pod = (head[key] for key in HEAD)
    tiers = tuple(_tier(path, number, count, said.get(number)) for number in range(count))
    if len(said) > count:
        raise FormatError(f"{path}: tier {max(said)} is there, but Tiers is {count}")
    rack, aggregation = tiers[:2]

    def divided(above: int, below: int, what: str) -> int:
        if below == 0 or above % below:
            raise FormatError(f"{path}: {what}: {above} is no multiple of {below}")
        return above // below

    if rack.bundle != 1:
        raise FormatError(f"{path}: Bundle of tier 0 is {rack.bundle}: a host has one link")
    pods = divided(hosts, pod, "Nodes and Podsize")
    if count == 2 and pods != 1:
        raise FormatError(f"{path}: two tiers are one pod: Podsize must be {hosts}, as Nodes is")
    racks = divided(pod, rack.down, "Podsize and Radix_Down of tier 0")
    ups = divided(
        hosts * rack.rate,
        aggregation.rate * rack.oversubscribed,
        "speed of all hosts and of a rack's uplink times Oversubscribed",
    )
    aggregations = divided(
        ups, pods * aggregation.down, "uplinks of racks and Radix_Down of tier 1"
    )
    _agree(path, 0, rack.up, aggregations * aggregation.bundle)
    cores = 0
    if count == 3:
        core = tiers[2]
        ups = divided(
            ups * aggregation.rate,
            core.rate * aggregation.oversubscribed,
            "speed of the aggregation and of its uplinks times Oversubscribed",
        )
        cores = divided(ups, core.down, "uplinks of the aggregation and Radix_Down of tier 2")
        each = divided(cores, aggregations, "switches of tier 2 and of tier 1 in a pod")
        _agree(path, 1, aggregation.up, each * core.bundle)
    links = pods * aggregations * (racks + aggregation.up)
    if links > MOST_LINKS:
        raise FormatError(f"{path}: {links} links between switches are more than {MOST_LINKS}")
    return Tree(path, hosts, pods, racks, aggregations, cores, tiers)


def _agree(path: Path, tier: int, said: int, follows: int) -> None:
    if said != follows:
        raise FormatError(
            f"{path}: Radix_Up of tier {tier} is {said}, but {follows} follows from Nodes, "
            "Podsize, speeds, Oversubscribed and Bundle: correct one of them"
        )


def _tier(path: Path, number: int, count: int, said: dict[str, int] | None) -> Tier:
    if said is None:
        raise FormatError(f"{path}: tier {number} is missing: Tiers is {count}")
    needed = ["downlink_speed_gbps", "downlink_latency_ns", "radix_down"]
    needed += ["radix_up"] if number < count - 1 else []
    for key in needed:
        if key not in said:
            raise FormatError(f"{path}: {key} of tier {number} is missing: add a line")
    if number == 2 and said.get("radix_up"):
        raise FormatError(f"{path}: Radix_Up of tier {number}: the highest tier has no uplinks")
    return Tier(
        said["downlink_speed_gbps"] * GBPS,
        said["downlink_latency_ns"] * NS,
        said["radix_down"],
        said.get("radix_up", 0),
        said.get("oversubscribed", 1),
        said.get("bundle", 1),
        said.get("switch_latency_ns", 0) * NS,
        tuple(f"{key} {said[key]}" for key in ("queue_up", "queue_down") if said.get(key)),
    )


def tell(tree: Tree, report: Report) -> None:
    """Add what a topology file holds to a report, and what of it nothing says here."""
    switches = tree.pods * (tree.racks + tree.aggregations) + tree.cores
    report.read.append(
        (
            str(tree.path),
            f"topology: {tree.hosts} hosts, {switches} switches, {len(tree.tiers)} tiers",
        )
    )
    names = "torN, aggN" + (" and coreN" if tree.cores else "")
    report.mapped.append(
        (
            "Nodes, Tiers, Podsize, Radix_Down, Radix_Up",
            f"[[link]]; hosts are hostN, switches {names}",
        )
    )
    if len(tree.tiers) == 2 and tree.tiers[1].up:
        report.not_modelled.append(
            (f"Radix_Up {tree.tiers[1].up} of tier 1", "the highest tier has no uplinks")
        )
    for number, tier in enumerate(tree.tiers):
        said = f"{rate_text(tier.rate)}, {time_text(tier.delay)}"
        report.mapped.append((f"speed and latency below tier {number}", f"[[link]] {said}"))
        if tier.latency:
            report.mapped.append(
                (
                    f"Switch_Latency_ns of tier {number}",
                    f"[[switch]] latency {time_text(tier.latency)}",
                )
            )
        if tier.oversubscribed > 1:
            report.mapped.append(
                (f"Oversubscribed {tier.oversubscribed} of tier {number}", "as many links less")
            )
        if tier.bundle > 1:
            report.not_modelled.append(
                (
                    f"Bundle {tier.bundle} of tier {number}",
                    f"one link of {tier.bundle} times the rate: two nodes have one link here",
                )
            )
        report.not_modelled += [
            (f"{each} of tier {number}", "queues have no limit: add [[switch]] output_buffer")
            for each in tier.queues
        ]
    report.not_modelled.append(
        ("packets of a flow that take several ways", "each flow takes one: [routing] multipath")
    )
