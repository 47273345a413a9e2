"""The network of a scenario as htsim's ``.topo``, where it is a tree of two or three tiers."""

from __future__ import annotations

import re
from collections import defaultdict
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from qcnlab.records import JsonObject
    from qcnlab.runs.network import Link, Network

GBPS, NS = 10**9, 1e-9
RANGE = re.compile(r"(.*)\{(\d+)\.\.(\d+)\}(.*)")


class NoTree(Exception):
    """Why a network is none that a topology file says."""


class Tree(NamedTuple):
    """A topology file.

    Attributes
    ----------
    lines : list of str
        What it says.
    hosts : list of str
        Node 0 and on: the hosts of each rack follow each other.
    """

    lines: list[str]
    hosts: list[str]


class _Level(NamedTuple):
    """The links below the switches of a tier: rate in Gb/s, delay in ns, and how many."""

    rate: int
    delay: int
    down: int


def tree(network: Network, switches: Sequence[JsonObject]) -> Tree:
    """Return the topology file of a network.

    Parameters
    ----------
    network : Network
        Its nodes and links.
    switches : sequence of mapping
        The tables ``[[switch]]`` of its scenario: they say latencies, s.

    Raises
    ------
    NoTree
        If it is no tree in which all switches of a tier are alike.
    """
    near: dict[str, list[str]] = defaultdict(list)
    links: dict[tuple[str, str], Link] = {}
    for link in network.links:
        for a, b in ((link.a, link.b), (link.b, link.a)):
            if (a, b) in links:
                raise NoTree(f"{link.a} and {link.b} have two links")
            near[a].append(b)
            links[a, b] = link
    hosts = {node.name for node in network.hosts}
    if any(len(near[host]) != 1 or near[host][0] in hosts for host in hosts):
        raise NoTree("a host has another number of links to switches than one")
    racks = list(dict.fromkeys(near[node.name][0] for node in network.hosts))
    above = _next(racks, near, {*hosts, *racks})
    cores = _next(above, near, {*racks, *above})
    if not above or set(near) - hosts - {*racks, *above, *cores}:
        raise NoTree("it has not two or three tiers of switches")
    below = {**dict.fromkeys(racks, hosts), **{each: set(racks) for each in above}}
    below |= {each: set(above) for each in cores}
    tiers = [racks, above, *([cores] if cores else [])]
    levels = [_level(tier, below, near, links) for tier in tiers]
    for tier, higher in zip(tiers, [*tiers[1:], []], strict=True):
        for switch in tier:
            if any(each not in below[switch] and each not in higher for each in near[switch]):
                raise NoTree(f"{switch} has a link within its tier, or past the next")
    pods = _pods(racks, near, set(above))
    sizes = {(len(pod), len(set(_above(pod, near, set(above))))) for pod in pods}
    if len(sizes) > 1 or (len(pods) > 1) != bool(cores):
        raise NoTree("its pods differ, or two tiers are several pods")
    ((in_pod, aggregations),) = sizes
    if any(len(_above([rack], near, set(above))) != aggregations for rack in racks):
        raise NoTree("a rack has no link to each switch above it in its pod")
    each = _cores(pods, above, cores, near) if cores else 0
    ordered = [host for pod in pods for rack in pod for host in near[rack] if host in hosts]
    count = len(ordered)
    down = levels[0].down
    shares = [_share(down * levels[0].rate, aggregations * levels[1].rate, "racks")]
    ups = [aggregations]
    if cores:
        shares.append(_share(in_pod * levels[1].rate, each * levels[2].rate, "pods"))
        ups.append(each)
    lines = [f"Nodes {count}", f"Tiers {len(tiers)}", f"Podsize {count // len(pods)}"]
    for number, (tier, level) in enumerate(zip(tiers, levels, strict=True)):
        lines += [
            "", f"Tier {number}", f"Downlink_speed_Gbps {level.rate}",
            f"Radix_Down {level.down}",
        ]  # fmt: skip
        if number < len(ups):
            lines.append(f"Radix_Up {ups[number]}")
            if shares[number] > 1:
                lines.append(f"Oversubscribed {shares[number]}")
        lines += [
            f"Downlink_Latency_ns {level.delay}", f"Switch_Latency_ns {_latency(tier, switches)}",
        ]  # fmt: skip
    return Tree(lines, ordered)


def _next(tier: Sequence[str], near: Mapping[str, list[str]], known: set[str]) -> list[str]:
    return list(dict.fromkeys(
        each for switch in tier for each in near[switch] if each not in known
    ))  # fmt: skip


def _above(tier: Iterable[str], near: Mapping[str, list[str]], higher: set[str]) -> list[str]:
    return [each for switch in tier for each in near[switch] if each in higher]


def _level(
    tier: Sequence[str],
    below: Mapping[str, set[str]],
    near: Mapping[str, list[str]],
    links: Mapping[tuple[str, str], Link],
) -> _Level:
    """Return what all switches of a tier have below them."""
    known = set()
    for switch in tier:
        down = [links[switch, each] for each in near[switch] if each in below[switch]]
        known |= {(link.rate_bps, round(link.delay_s * 1e12), len(down)) for link in down}
    if len(known) != 1:
        raise NoTree(f"links below {tier[0]} and switches like it differ")
    ((rate, delay, count),) = known
    if rate % GBPS or delay % 1000:
        raise NoTree("a rate is no whole number of Gb/s, or a delay none of ns")
    return _Level(rate // GBPS, delay // 1000, count)


def _pods(racks: Sequence[str], near: Mapping[str, list[str]], higher: set[str]) -> list[list[str]]:
    """Return the racks that have a switch above in common."""
    pods: dict[frozenset[str], list[str]] = {}
    for rack in racks:
        pods.setdefault(frozenset(_above([rack], near, higher)), []).append(rack)
    switches = [each for pod in pods for each in pod]
    if len(switches) != len(set(switches)):
        raise NoTree("a rack has no link to each switch above it in its pod")
    return list(pods.values())


def _cores(
    pods: Sequence[Sequence[str]],
    above: Sequence[str],
    cores: Sequence[str],
    near: Mapping[str, list[str]],
) -> int:
    """Return how many cores each switch of the second tier has: the same groups in every pod."""
    groups = set()
    for pod in pods:
        switches = dict.fromkeys(_above(pod, near, set(above)))
        groups.add(frozenset(frozenset(_above([each], near, set(cores))) for each in switches))
    if len(groups) != 1:
        raise NoTree("pods reach the cores in other ways than one another")
    (parts,) = groups
    sizes = {len(part) for part in parts}
    if len(sizes) != 1 or sum(map(len, parts)) != len(cores):
        raise NoTree("switches of a pod share a core")
    return sizes.pop()


def _share(down: int, up: int, what: str) -> int:
    if down % up:
        raise NoTree(f"uplinks of {what} carry no whole part of what is below: {up} of {down} Gb/s")
    return down // up


def _latency(tier: Sequence[str], switches: Sequence[JsonObject]) -> int:
    """Return the latency of a tier's switches, ns."""
    values = set()
    for switch in tier:
        value = 0
        for table in switches:
            if "latency" in table and any(
                fnmatchcase(switch, each) for each in _names(str(table.get("only", "*")))
            ):
                value = round(float(table["latency"]) * 1e12)
        values.add(value)
    if len(values) > 1 or any(value % 1000 for value in values):
        raise NoTree("latencies of a tier's switches differ, or are no whole number of ns")
    return int(values.pop() // 1000)


def _names(pattern: str) -> list[str]:
    """Return the patterns of a list, without ranges.

    >>> _names("agg{0..1}, core*")
    ['agg0', 'agg1', 'core*']
    """
    out = []
    for part in (each.strip() for each in pattern.split(",")):
        parts = RANGE.fullmatch(part)
        if parts is None:
            out.append(part)
        else:
            numbers = range(int(parts[2]), int(parts[3]) + 1)
            out += [f"{parts[1]}{number}{parts[4]}" for number in numbers]
    return out
