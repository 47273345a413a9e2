"""The network of a scenario: its nodes and links."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from qcnlab._core import Scenario

HOST, SWITCH = "host", "switch"


@dataclass(frozen=True, slots=True)
class Node:
    """A host or a switch.

    Attributes
    ----------
    name : str
        Its name.
    role : str
        ``host`` or ``switch``.
    sends, receives : int
        Flows that begin and end there.
    watermarks : str, optional
        What it keeps free to pause in time, in words.
    """

    name: str
    role: str
    sends: int
    receives: int
    watermarks: str | None


@dataclass(frozen=True, slots=True)
class Link:
    """A link between two nodes.

    Attributes
    ----------
    a, b : str
        Their names.
    rate_bps : int
        Bits a second, each way.
    delay_s : float
        Seconds one way.
    """

    a: str
    b: str
    rate_bps: int
    delay_s: float


@dataclass(frozen=True, slots=True)
class Network:
    """What a scenario connects.

    Attributes
    ----------
    nodes : tuple of Node
        In the scenario's order.
    links : tuple of Link
        Each once.
    ways : tuple of str
        The ports that flows cross, written from->to.
    """

    nodes: tuple[Node, ...]
    links: tuple[Link, ...]
    ways: tuple[str, ...]

    @classmethod
    def of(cls, scenario: Scenario) -> Network:
        """Return the network of a scenario.

        Parameters
        ----------
        scenario : qcnlab._core.Scenario
            As the core read it.
        """
        tree = json.loads(scenario.network())
        nodes = tuple(Node(**node) for node in tree["nodes"])
        names = [node.name for node in nodes]
        links = tuple(
            Link(names[link["a"]], names[link["b"]], link["rate_bps"], link["delay_s"])
            for link in tree["links"]
        )
        return cls(nodes, links, tuple(tree["ways"]))

    @property
    def names(self) -> list[str]:
        """The names of all nodes."""
        return [node.name for node in self.nodes]

    @property
    def roles(self) -> dict[str, str]:
        """The role of each node by its name."""
        return {node.name: node.role for node in self.nodes}

    @property
    def hosts(self) -> list[Node]:
        """The nodes that are hosts."""
        return [node for node in self.nodes if node.role == HOST]

    @property
    def switches(self) -> list[Node]:
        """The nodes that are switches."""
        return [node for node in self.nodes if node.role == SWITCH]
