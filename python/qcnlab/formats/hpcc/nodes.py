"""The nodes of a scenario by the numbers that files of HPCC's simulator give them."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from qcnlab._core import Scenario, ScenarioError
from qcnlab.formats.hpcc.topology import MOST_NODES, Link, Topology
from qcnlab.formats.lines import FormatError
from qcnlab.runs.network import SWITCH, Network

NAMED = re.compile(r"(host|switch)(0|[1-9][0-9]{0,5})")
"""Names that an import gave: they have the numbers."""


@dataclass(frozen=True)
class Nodes:
    """The network of a scenario with numbers for names.

    Attributes
    ----------
    topology : Topology
        Nodes and links.
    numbers : dict
        The number of each node by its name.
    """

    topology: Topology
    numbers: dict[str, int]

    def address(self, number: int) -> str:
        """Return a host's address there, in hex: 11.0.1.1 of host 1 is 0b000101."""
        return f"{0x0B000001 + (number // 256 << 16) + (number % 256 << 8):08x}"

    def interfaces(self) -> dict[tuple[str, str], int]:
        """Return the number of each port, from 1 at each node, by its node and the one beyond."""
        names = {number: name for name, number in self.numbers.items()}
        counts: dict[int, int] = {}
        ports = {}
        for link in self.topology.links:
            for end, other in ((link.a, link.b), (link.b, link.a)):
                counts[end] = counts.get(end, 0) + 1
                ports[names[end], names[other]] = counts[end]
        return ports


def nodes(scenario: Scenario) -> Nodes:
    """Return the network of a scenario.

    Nodes that are named as an import names them keep their numbers; others are counted, hosts
    first.

    Raises
    ------
    FormatError
        If there are more nodes than addresses there.
    """
    network = Network.of(_without_lists(scenario))
    names = network.names
    if len(names) > MOST_NODES:
        raise FormatError(f"{len(names)} nodes: addresses there have room for {MOST_NODES}")
    switches = [node.role == SWITCH for node in network.nodes]
    named = [NAMED.fullmatch(name) for name in names]
    numbers = [int(each[2]) for each in named if each]
    if len(set(numbers)) == len(names) and max(numbers) < MOST_NODES:
        switches = [each is not None and each[1] == "switch" for each in named]
    else:
        order = sorted(range(len(names)), key=lambda index: switches[index])
        numbers = [0] * len(names)
        for number, index in enumerate(order):
            numbers[index] = number
    numbers_of = dict(zip(names, numbers, strict=True))
    links = [
        Link(
            numbers_of[link.a],
            numbers_of[link.b],
            link.rate_bps,
            round(link.delay_s * 10**12),
        )
        for link in network.links
    ]
    topology = Topology(
        max(numbers) + 1,
        sorted(number for number, switch in zip(numbers, switches, strict=True) if switch),
        links,
    )
    return Nodes(topology, numbers_of)


def _without_lists(scenario: Scenario) -> Scenario:
    """Return the scenario without the flows of its lists, whose ways nobody asks for here.

    The scenario itself, where others of its keys speak of ports that these flows cross.
    """
    whole = json.loads(scenario.to_json())
    for entry in whole["traffic"]:
        if entry["arrivals"] == "list":
            entry["flows"] = "from,to,size,start\n"
    whole.pop("record", None)
    try:
        return Scenario.from_json(json.dumps(whole))
    except ScenarioError:
        return scenario
