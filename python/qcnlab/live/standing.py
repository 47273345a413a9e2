"""A network that stands until Ctrl-C, for a person's own programs, and what it shows."""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

from qcnlab import _core
from qcnlab.live.running import SCALE, Traffic
from qcnlab.printing import text

if TYPE_CHECKING:
    from qcnlab.api import Scenario

EVERY_S = 1.0
"""How often the view is drawn anew, s."""
HOME_AND_CLEAR = "\x1b[H\x1b[J"
"""What a terminal takes to begin anew at its top."""


class SeenPort(TypedDict):
    """What a port of a switch holds, and what it did since the look before."""

    port: str
    queue_bytes: int
    service_rate_bps: int
    sent_bps: float
    dropped: int
    signals: int


class SeenLimiter(TypedDict):
    """What a rate limiter of a host holds, and the signals that it heard since the look before."""

    limiter: str
    current_rate_bps: int
    waiting_bytes: int
    signals: int


class _Port(TypedDict):
    """A port as the core shows it, with what it counted since the start."""

    port: str
    queue_bytes: int
    sent_bytes: int
    dropped_frames: int
    service_rate_bps: int
    signals_sent: int


class _Limiter(TypedDict):
    """A rate limiter as the core shows it, with what it counted since the start."""

    limiter: str
    current_rate_bps: int
    waiting_bytes: int
    signals_heard: int


class _View(TypedDict):
    """What the core shows of a network at one instant."""

    time_s: float
    ports: list[_Port]
    limiters: list[_Limiter]


@dataclass(frozen=True)
class Seen:
    """What a network shows at one instant.

    Attributes
    ----------
    hosts : dict of str to str
        The address of each host's namespace, by its name.
    switches : str
        The name of the switches' namespace.
    time_s : float
        Since the start, s.
    ports : list of SeenPort
        For each port of a switch.
    limiters : list of SeenLimiter
        For each rate limiter of a host.
    """

    hosts: dict[str, str]
    switches: str
    time_s: float
    ports: list[SeenPort]
    limiters: list[SeenLimiter]


@dataclass
class _Differences:
    """Turns counters since the start into rates since the look before."""

    tell: Callable[[Seen], object]
    next: float = 0.0
    before: _View | None = None

    def __call__(self, shown: str, hosts: list[tuple[str, str]], switches: str) -> None:
        """Look, unless it is too soon."""
        if time.monotonic() < self.next:
            return
        self.next = time.monotonic() + EVERY_S
        now: _View = json.loads(shown)
        self.tell(_seen(now, self.before or now, dict(hosts), switches))
        self.before = now


def _seen(now: _View, before: _View, hosts: dict[str, str], switches: str) -> Seen:
    seconds = max(now["time_s"] - before["time_s"], 1e-9)
    ports: list[SeenPort] = [
        {
            "port": port["port"],
            "queue_bytes": port["queue_bytes"],
            "service_rate_bps": port["service_rate_bps"],
            "sent_bps": 8 * (port["sent_bytes"] - old["sent_bytes"]) / seconds,
            "dropped": port["dropped_frames"] - old["dropped_frames"],
            "signals": port["signals_sent"] - old["signals_sent"],
        }
        for port, old in zip(now["ports"], before["ports"], strict=True)
    ]
    limiters: list[SeenLimiter] = [
        {
            "limiter": limiter["limiter"],
            "current_rate_bps": limiter["current_rate_bps"],
            "waiting_bytes": limiter["waiting_bytes"],
            "signals": limiter["signals_heard"] - old["signals_heard"],
        }
        for limiter, old in zip(now["limiters"], before["limiters"], strict=True)
    ]
    return Seen(hosts, switches, now["time_s"], ports, limiters)


def stand(
    scenario: Scenario,
    tell: Callable[[Seen], object],
    *,
    scale: int = SCALE,
    traffic: Traffic = "none",
    prefix: str = "",
) -> None:
    """Leave the network of a scenario standing until Ctrl-C.

    Its namespaces have names that `ip netns` knows: those of the scenario's hosts, and
    `switches`. The names are taken back at the end; those that a killed process left are taken
    back by the next network.

    Parameters
    ----------
    scenario : Scenario
        What to build. Its hotspots happen; its duration does not end the network.
    tell : callable
        Called each second with what the network shows.
    scale : int, default 100
        As in `qcnlab.live.run`.
    traffic : {"own", "iperf3", "none"}, default "none"
        Who makes traffic beside what the user starts.
    prefix : str, optional
        Put before each name.

    Raises
    ------
    Error
        If the machine cannot, a name is taken, or the process is not root's.
    """
    with contextlib.suppress(KeyboardInterrupt):
        _core.live_stand(
            scenario._core, _Differences(tell), scale=scale, traffic=traffic, prefix=prefix
        )


def introduction(seen: Seen) -> str:
    """Return how to use the network: its hosts, and commands to try."""
    names = list(seen.hosts)
    first, last = names[0], names[-1]
    rows = [(name, address) for name, address in seen.hosts.items()]
    return "\n".join(
        [
            text.table(("host (namespace)", "address"), rows, left=2),
            "",
            "In another terminal, for example:",
            f"  ip netns exec {last} iperf3 -s",
            f"  ip netns exec {first} iperf3 -c {seen.hosts[last]} -C reno",
            f"  ip netns exec {seen.switches} tcpdump -e -n -i any ether proto 0x22e7",
            "",
            "Ctrl-C ends the network.",
        ]
    )


def view(seen: Seen) -> str:
    """Return what ports and limiters show, as two tables."""
    ports = [
        (
            port["port"],
            f"{port['service_rate_bps'] / 1e6:.4g}",
            f"{port['sent_bps'] / 1e6:.2f}",
            f"{port['queue_bytes'] / 1e3:.1f}",
            str(port["dropped"]),
            str(port["signals"]),
        )
        for port in seen.ports
    ]
    limiters = [
        (
            limiter["limiter"],
            f"{limiter['current_rate_bps'] / 1e6:.3f}",
            f"{limiter['waiting_bytes'] / 1e3:.1f}",
            str(limiter["signals"]),
        )
        for limiter in seen.limiters
    ]
    above = ("port", "service Mb/s", "sent Mb/s", "queue KB", "drops /s", "CNMs /s")
    parts = [f"{seen.time_s:.0f} s", "", text.table(above, ports)]
    if limiters:
        head = ("rate limiter", "current rate Mb/s", "waiting KB", "CNMs /s")
        parts += ["", text.table(head, limiters)]
    return "\n".join(parts)


@dataclass
class Screen:
    """Draws the view: anew in a terminal; elsewhere the introduction alone."""

    introduced: bool = False

    def __call__(self, seen: Seen) -> None:
        """Draw what is seen."""
        if sys.stdout.isatty():
            print(HOME_AND_CLEAR + introduction(seen) + "\n\n" + view(seen), flush=True)
        elif not self.introduced:
            print(introduction(seen), flush=True)
        self.introduced = True
