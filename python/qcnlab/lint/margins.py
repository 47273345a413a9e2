"""How far ECN stands below PFC, port by port."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from qcnlab.formats.lines import FormatError
from qcnlab.formats.sonic.mapping import shared_part
from qcnlab.lint.formulas import most_congested, pause_point

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qcnlab.formats.sonic.switches import Group, Switch, Wred
    from qcnlab.formats.sonic.values import Value
    from qcnlab.lint.findings import End, Site


@dataclass(frozen=True)
class Margin:
    """Thresholds of a class's queues at a port, beside where its group is paused.

    Attributes
    ----------
    end : End
        The port.
    priority : int
        The class.
    wred : Wred
        Where its queue marks.
    at : Value
        Where alpha is said.
    shared : int
        The shared part of the buffer, octets.
    alpha : float
        The group's.
    classes : int
        Lossless classes of the port.
    """

    end: End
    priority: int
    wred: Wred
    at: Value
    shared: int
    alpha: float
    classes: int

    @property
    def point(self) -> float:
        """The queue in octets at which the group is paused, with one congested port."""
        return pause_point(self.shared, self.alpha, self.classes, 1)

    def congested(self, threshold: int) -> float:
        """Return how many congested ports the group may feed until PFC precedes a threshold."""
        return most_congested(threshold, self.shared, self.alpha, self.classes)

    def formula(self) -> str:
        """Return the sum with its numbers."""
        return (
            f"alpha B / (n (1 + alpha P)) = {self.alpha:g} x {self.shared} B / (n (1 + "
            f"{self.alpha:g} x {self.classes})) = {self.point:.0f} B with n = 1 congested port"
        )


def margins(site: Site) -> Iterator[Margin]:
    """Yield the margin of each port and class whose queue marks and whose group has an alpha."""
    for end in site.ends:
        switch, name = end
        priorities = switch.pfc(name.name)
        for priority in priorities:
            group = site.group(end, priority)
            shared, alpha = shared_of(site, switch, group), alpha_of(group)
            wred = switch.wred(name.name, switch.mapped(name.name, "pfc_to_queue_map", priority))
            if group is None or shared is None or wred is None or not wred.marks:
                continue
            if alpha is None:
                site.leave(f"ECN before PFC at {switch.name}", "a static threshold")
                continue
            at = group.profile.values["dynamic_th"]
            yield Margin(end, priority, wred, at, shared, alpha, len(priorities))


def shared_of(site: Site, switch: Switch, group: Group | None) -> int | None:
    """Return the shared part of a group's pool in octets; `None` where it is not known."""
    pool = switch.pools.get(group.profile.pool) if group is not None else None
    if pool is None:
        return None
    try:
        return shared_part(switch, pool)
    except FormatError as fault:
        site.leave(f"thresholds of {switch.name}", str(fault))
        return None


def alpha_of(group: Group | None) -> float | None:
    """Return a group's alpha; `None` where its threshold is static."""
    if group is None or group.profile.dynamic_th is None:
        return None
    return float(2.0**group.profile.dynamic_th)
