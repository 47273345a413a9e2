"""The network that the neighbours of switches make."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from qcnlab.formats.lines import FormatError
from qcnlab.formats.numbers import rate_text
from qcnlab.formats.sonic.reading import natural
from qcnlab.formats.sonic.tables import short
from qcnlab.printing.text import counted

if TYPE_CHECKING:
    from qcnlab.formats.report import Report
    from qcnlab.formats.sonic.reading import Fabric
    from qcnlab.formats.sonic.switches import Port

NS_PER_METRE = 5
NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
MBPS = 10**6


class Link(NamedTuple):
    """A link of the network: rate in Mb/s, cable in metres."""

    a: str
    b: str
    rate: int
    cable: int


@dataclass
class Network:
    """What stands between hosts and switches.

    Attributes
    ----------
    links : list of Link
        One for each pair of neighbours.
    hosts : list of str
        Nodes without a configuration of a switch.
    ports : dict
        Of each switch the ports with a link, and the node at its other end.
    """

    links: list[Link] = field(default_factory=list)
    hosts: list[str] = field(default_factory=list)
    ports: dict[str, dict[str, str]] = field(default_factory=dict)


def network(fabric: Fabric, report: Report) -> Network:
    """Return the network that the switches' neighbours make.

    Raises
    ------
    FormatError
        If no switch has a neighbour, if the two ends of a link contradict each other in rate, or
        for names that no node may have.
    """
    out = Network()
    sides: dict[tuple[str, str], dict[str, list[Port]]] = {}
    for name, switch in fabric.switches.items():
        for port in switch.ports.values():
            if port.neighbor is None:
                continue
            for node in (name, port.neighbor):
                if not NAME.fullmatch(node):
                    raise (port.neighbor_at or port.at).fault(
                        f"'{short(node)}' cannot name a node: use letters, digits, '-', '_', '.'"
                    )
            if port.neighbor == name:
                raise (port.neighbor_at or port.at).fault(f"{port.name} is its own neighbour")
            if not port.up:
                report.not_modelled.append(
                    (f"{name} {port.name} ({port.at.where})", "down: its link is left out")
                )
                continue
            ends = (min(name, port.neighbor), max(name, port.neighbor))
            sides.setdefault(ends, {}).setdefault(name, []).append(port)
            out.ports.setdefault(name, {})[port.name] = port.neighbor
    if not sides:
        raise FormatError(
            "no port has a neighbour: the network comes from DEVICE_NEIGHBOR of the switches; add "
            "their CONFIG_DB"
        )
    for (a, b), ports in sorted(
        sides.items(), key=lambda side: [natural(each) for each in side[0]]
    ):
        out.links.append(_link(fabric, a, b, ports, report))
    for name in fabric.switches:
        count = sum(name in link[:2] for link in out.links)
        if count == 1:
            raise FormatError(
                f"switch {name} has one link, and a node with one link is a host here: add the "
                "neighbours that it lacks"
            )
        if count == 0:
            report.not_modelled.append((f"switch {name}", "no port of it has a neighbour"))
    nodes = Counter(node for link in out.links for node in link[:2])
    for node, count in sorted(nodes.items(), key=lambda item: natural(item[0])):
        if node in fabric.switches:
            continue
        out.hosts.append(node)
        if count > 1:
            report.not_modelled.append(
                (
                    f"{node}, with {counted(count, 'link')}",
                    "its configuration was not read: a switch without limits and pauses",
                )
            )
    out.hosts = [node for node in out.hosts if nodes[node] == 1]
    return out


def _link(fabric: Fabric, a: str, b: str, ports: dict[str, list[Port]], report: Report) -> Link:
    """Return one link of all that join two nodes."""
    speeds = {name: [_speed(port) for port in side] for name, side in ports.items()}
    first = speeds.get(a) or speeds[b]
    for name in (a, b):
        if name in fabric.switches and name not in ports:
            report.not_modelled.append(
                (f"link {a} to {b}", f"{name} does not name it in DEVICE_NEIGHBOR; it is there")
            )
    if a in speeds and b in speeds and sorted(speeds[a]) != sorted(speeds[b]):
        port = ports[b][0]
        raise port.at.fault(
            f"{b} has {_speeds(speeds[b])} towards {a}, which has {_speeds(speeds[a])}: correct one"
        )
    if len(first) > 1:
        report.not_modelled.append(
            (
                f"{len(first)} links {a} to {b}",
                "one link of their summed rate: a single flow may fill it",
            )
        )
    cables = [port for side in ports.values() for port in side if port.cable is not None]
    if not cables:
        report.not_modelled.append((f"link {a} to {b}", "no CABLE_LENGTH: 0 m, without delay"))
    lengths = sorted({port.cable or 0 for port in cables})
    if len(lengths) > 1:
        written = ", ".join(f"{each}m" for each in lengths)
        report.not_modelled.append(
            (f"link {a} to {b}: cables {written}", "its ends differ: the longest counts")
        )
    return Link(a, b, sum(first), lengths[-1] if lengths else 0)


def _speed(port: Port) -> int:
    if port.speed is None:
        raise port.at.fault(f"{port.name} has a neighbour and no speed: add its speed in Mb/s")
    return port.speed


def _speeds(speeds: list[int]) -> str:
    return " and ".join(f"{speed} Mb/s" for speed in speeds)


def links(net: Network, report: Report) -> list[str]:
    """Return the tables of the links."""
    out = []
    for link in net.links:
        out += [
            "[[link]]", f'from = "{link.a}"', f'to = "{link.b}"',
            f'rate = "{rate_text(link.rate * MBPS)}"',
            f'delay = "{link.cable * NS_PER_METRE} ns"  # {link.cable} m of fibre', "",
        ]  # fmt: skip
    report.mapped.append(
        ("DEVICE_NEIGHBOR, PORT speed, CABLE_LENGTH",
         f"{counted(len(net.links), 'table')} [[link]], 5 ns/m")
    )  # fmt: skip
    return out
