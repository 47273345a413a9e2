"""What a rule says, and what rules ask of a fabric."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from qcnlab.formats.sonic.adapters import Adapter
    from qcnlab.formats.sonic.reading import Fabric
    from qcnlab.formats.sonic.switches import Group, Port, Profile, Switch
    from qcnlab.formats.sonic.values import Value

ERROR, WARNING = "error", "warning"
CLASSES = 8


@dataclass(frozen=True)
class Finding:
    """What is wrong.

    Attributes
    ----------
    severity : str
        `error` loses frames, pauses or deadlocks; `warning` may.
    device : str
        The switch or host.
    at : Value
        The value at fault, with file and line.
    message : str
        What is wrong, and what to do.
    formula : str, optional
        The sum with its numbers.
    port : str, optional
        The port; ports with the same finding are told together.
    """

    severity: str
    device: str
    at: Value
    message: str
    formula: str | None = None
    port: str | None = None


class Rule(NamedTuple):
    """A rule: its name, why it matters, and the function that applies it."""

    name: str
    why: str
    check: Callable[[Site], Iterator[Finding]]


def adding(rules: list[Rule]) -> Callable[[Callable[[Site], Iterator[Finding]]], Rule]:
    """Return a decorator that adds a function to rules.

    Its name is the rule's, and its docstring says why it matters.
    """

    def add(check: Callable[[Site], Iterator[Finding]]) -> Rule:
        name = check.__name__.lstrip("_").replace("_", "-")
        rules.append(Rule(name, (check.__doc__ or "").strip(), check))
        return rules[-1]

    return add


class End(NamedTuple):
    """A port of a switch with a link."""

    switch: Switch
    port: Port


@dataclass
class Site:
    """A fabric as rules see it.

    Attributes
    ----------
    fabric : Fabric
        Its devices.
    not_judged : list
        What a rule could not judge, with why: a rule adds to it.
    """

    fabric: Fabric
    not_judged: list[tuple[str, str]] = field(default_factory=list)

    def leave(self, what: str, why: str) -> None:
        """Tell once that something could not be judged."""
        if (what, why) not in self.not_judged:
            self.not_judged.append((what, why))

    @cached_property
    def ends(self) -> list[End]:
        """All ports with a link that is up."""
        return [
            End(switch, port)
            for switch in self.fabric.switches.values()
            for port in switch.ports.values()
            if port.neighbor is not None and port.up
        ]

    def ends_of(self, name: str) -> list[End]:
        """Return the ports of a switch with a link."""
        return [end for end in self.ends if end.switch.name == name]

    def towards(self, name: str) -> list[End]:
        """Return the ports whose link goes to a device."""
        return [end for end in self.ends if end.port.neighbor == name]

    def other(self, end: End) -> End | None:
        """Return the other end of a link, where its switch was read and names this one."""
        far = self.fabric.switches.get(end.port.neighbor or "")
        if far is None:
            return None
        back = [
            port
            for port in far.ports.values()
            if port.neighbor == end.switch.name
            and port.neighbor_port in (None, end.port.name)
            and end.port.neighbor_port in (None, port.name)
        ]
        return End(far, back[0]) if back else None

    @cached_property
    def lossless(self) -> list[int]:
        """The classes that at least half of all linked ports of switches have PFC in."""
        count = Counter(priority for end in self.ends for priority in end.switch.pfc(end.port.name))
        return sorted(each for each, ports in count.items() if 2 * ports >= len(self.ends))

    def group(self, end: End, priority: int) -> Group | None:
        """Return the priority group in which a port has a class's frames."""
        number = end.switch.mapped(end.port.name, "pfc_to_pg_map", priority)
        return end.switch.groups.get((end.port.name, number))

    def queue(self, end: End, priority: int) -> Profile | None:
        """Return the profile of the queue in which a port has a class's frames."""
        number = end.switch.mapped(end.port.name, "pfc_to_queue_map", priority)
        return end.switch.queue_profiles.get((end.port.name, number))

    def queue_value(self, end: End, priority: int) -> Value:
        """Return where that profile is said."""
        number = end.switch.mapped(end.port.name, "pfc_to_queue_map", priority)
        entry = end.switch.numbered("BUFFER_QUEUE").get((end.port.name, number))
        return entry.fields["profile"] if entry is not None else end.port.at

    def used(self, end: End, priority: int) -> bool:
        """Return whether any DSCP leads to a class at a port; true where DSCPs are not mapped."""
        entry = end.switch.row_of_map(end.port.name, "dscp_to_tc_map")
        return entry is None or any(
            value.whole("class of a DSCP", CLASSES - 1) == priority
            for value in entry.fields.values()
        )

    def classified(self, end: End, dscp: int) -> tuple[tuple[int, int, int], Value] | None:
        """Return class, group and queue of a DSCP at a port, and where its class is said."""
        known = end.switch.traffic_class(end.port.name, dscp)
        if known is None:
            return None
        name = end.port.name
        group = end.switch.mapped(name, "tc_to_pg_map", known[0])
        queue = end.switch.mapped(name, "tc_to_queue_map", known[0])
        return (known[0], group, queue), known[1]

    @cached_property
    def dscps(self) -> dict[int, tuple[int, int, int]]:
        """Class, group and queue of each DSCP, as most linked ports have it."""
        out = {}
        for dscp in range(64):
            count = Counter(
                known[0] for end in self.ends if (known := self.classified(end, dscp)) is not None
            )
            if count:
                out[dscp] = count.most_common(1)[0][0]
        return out

    def hosts(self) -> Iterator[tuple[Adapter, list[End]]]:
        """Yield each adapter that was read with the ports of switches towards its host."""
        for adapter in self.fabric.adapters.values():
            yield adapter, self.towards(adapter.name)


def pfc_value(end: End) -> Value:
    """Return where a port's classes with PFC are said, or else the port itself."""
    return end.switch.qos(end.port.name, "pfc_enable") or end.port.at
