"""Which buffers wait for one another in a circle, as the core tells it."""

from __future__ import annotations

from dataclasses import dataclass

from qcnlab.records import Record


@dataclass(frozen=True, slots=True)
class Wait(Record):
    """Frames that came over a link and wait for the next one.

    Attributes
    ----------
    link, next : str
        The link that is stopped, and the one that its frames leave by: ``switch1->switch2``.
    flows : tuple of str, optional
        Whose frames; `None` where any host sends to any other.
    """

    link: str
    next: str
    flows: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Circle(Record):
    """Links each of which waits for the next, and the last for the first.

    Attributes
    ----------
    class_ : int, optional
        The class; `None` where pauses stop whole links.
    waits : tuple of Wait
        A shortest circle.
    links : tuple of str
        All links that wait in it or in a larger one.
    """

    class_: int | None
    waits: tuple[Wait, ...]
    links: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CircularCase(Record):
    """A case that has a circle.

    Attributes
    ----------
    down : tuple of str
        The links that are down.
    circles : tuple of Circle
        One at least.
    """

    down: tuple[str, ...]
    circles: tuple[Circle, ...]


@dataclass(frozen=True, slots=True)
class CaseCount(Record):
    """How many cases of a number of failed links there are.

    Attributes
    ----------
    own : bool
        Whether they are the scenario's own failures.
    failures : int
        Links that are down.
    possible : float
        Cases that there are.
    checked, circular : int
        Cases that were checked, and those that have a circle.
    """

    own: bool
    failures: int
    possible: float
    checked: int
    circular: int


@dataclass(frozen=True, slots=True)
class Crossing(Record):
    """A way across a switch.

    Attributes
    ----------
    from_, at, to : str
        The node before, the switch, and the node behind it.
    """

    from_: str
    at: str
    to: str


@dataclass(frozen=True, slots=True)
class CircularWaits(Record):
    """Whether PFC can stop a network for ever, by its routes.

    Attributes
    ----------
    scenario : str
        Its name.
    free : bool
        Whether no case that was checked has a circle.
    failures : int
        Links that are down at the same time, at most.
    all_pairs, bounce : bool
        What was asked.
    trunks, buffers : int
        Links between switches, and buffers behind them.
    cases : tuple of CaseCount
        By the number of failed links; the scenario's own failures apart.
    circular : tuple of CircularCase
        The cases that have a circle.
    remedy : tuple of Crossing
        Crossings of switches without which no circle is left.
    watchdogs : bool
        Whether a switch has a watchdog.
    expiring : bool
        Whether some pauses end by themselves, and count for nothing here.
    """

    scenario: str
    free: bool
    failures: int
    all_pairs: bool
    bounce: bool
    trunks: int
    buffers: int
    cases: tuple[CaseCount, ...]
    circular: tuple[CircularCase, ...]
    remedy: tuple[Crossing, ...]
    watchdogs: bool
    expiring: bool
