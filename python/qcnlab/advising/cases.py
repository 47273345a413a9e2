"""The worst cases of a scenario: an incast, a failed link, a slow receiver."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from qcnlab.api import Scenario
from qcnlab.errors import ScenarioError
from qcnlab.printing import text
from qcnlab.runs.facts import base, tables_of
from qcnlab.runs.network import Network

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qcnlab.records import JsonObject

OWN = "own"
NAMES = (OWN, "incast", "failed-link", "slow-receiver")
"""Names of the cases."""
FEWEST, MOST_SENDERS = 2, 32
BURST_S, HELD_S = 40e-6, 80e-6
"""What each sender of an incast sends, and what a slow receiver holds, as time of its link."""
SHARE = 2
"""A slow receiver reads at its link's rate divided by this."""
BITS = 8
CARRIED = {
    "roce": (
        "recovery", "headers", "ack_frame", "ack_every", "ack_delay", "nack_interval", "rto",
        "rto_low", "rto_low_packets", "frame", "priority", "controlled", "cn_tag",
    ),
    "tcp": ("flavour", "headers", "initial_window", "frame", "priority", "controlled", "cn_tag"),
    "none": ("frame", "priority", "controlled", "cn_tag"),
}  # fmt: skip
"""Keys of traffic that an incast takes over, by its transport."""


@dataclass(frozen=True)
class Case:
    """A scenario that settings have to do well in.

    Attributes
    ----------
    name : str
        One of `NAMES`.
    told : str
        In what it differs from the scenario itself.
    scenario : Scenario
        What is run.
    """

    name: str
    told: str
    scenario: Scenario


class NoCase(Exception):
    """A case that a scenario does not have, and why."""


def derive(
    scenario: Scenario, names: Sequence[str] = NAMES
) -> tuple[list[Case], list[tuple[str, str]]]:
    """Return the cases of a scenario, and those that it does not have.

    Parameters
    ----------
    scenario : Scenario
        The fabric with its own traffic.
    names : sequence of str
        Which cases, of `NAMES`.

    Returns
    -------
    tuple
        The cases in the order of `NAMES`; and the names of those that cannot be, each with why.
    """
    made: list[Case] = []
    lacking: list[tuple[str, str]] = []
    makers = {"incast": _incast, "failed-link": _failed_link, "slow-receiver": _slow_receiver}
    for name in (each for each in NAMES if each in names):
        if name == OWN:
            made.append(Case(OWN, "the scenario as it is", scenario))
            continue
        tree = scenario.to_dict()
        try:
            told = makers[name](tree, _Network(scenario, tree))
            made.append(Case(name, told, Scenario.from_dict(tree, f"{scenario.name}-{name}")))
        except NoCase as why:
            lacking.append((name, str(why)))
        except ScenarioError as error:
            lacking.append((name, f"the scenario cannot have it: {error.message}"))
    return made, lacking


class _Network:
    """The nodes of a scenario, and the host that receives most flows: the victim."""

    def __init__(self, scenario: Scenario, tree: JsonObject) -> None:
        known = Network.of(scenario._core)
        self.names = known.names
        self.roles = known.roles
        self.rates: dict[tuple[str, str], int] = {}
        self.near: dict[str, list[str]] = defaultdict(list)
        for link in known.links:
            a, b = link.a, link.b
            self.rates[a, b] = self.rates[b, a] = link.rate_bps
            self.near[a].append(b)
            self.near[b].append(a)
        self.hosts = [node.name for node in known.hosts]
        most = max((node.receives for node in known.hosts), default=0)
        last = [node.name for node in known.hosts if node.receives == most]
        self.victim: str = last[-1] if last else ""
        self.duration_s = base(tree["duration"])
        self.arrivals_s = base(tree["stop_arrivals"]) if "stop_arrivals" in tree else None

    @property
    def rate_bps(self) -> int:
        """The rate of the victim's link."""
        return self.rates[self.victim, self.near[self.victim][0]]

    def distances(self, start: str, without: tuple[str, str] | None = None) -> dict[str, int]:
        """Return the fewest links from a node to each other, with one link down."""
        down = set() if without is None else {without, without[::-1]}
        out, edge = {start: 0}, [start]
        while edge:
            edge = [
                other
                for here in edge
                if here == start or self.roles[here] == "switch"
                for other in self.near[here]
                if other not in out
                and (here, other) not in down
                and out.setdefault(other, out[here] + 1)
            ]
        return out


def _incast(tree: JsonObject, net: _Network) -> str:
    senders = [host for host in net.hosts if host != net.victim]
    count = min(len(senders), MOST_SENDERS)
    if count < FEWEST:
        raise NoCase("an incast takes three hosts")
    entries = tables_of(tree, "traffic")
    own = next((each for each in entries if each.get("controlled", True)), entries[0])
    transport = own["transport"]
    whole = net.arrivals_s or net.duration_s
    burst_s = min(BURST_S, whole / (4 * count))
    size = round(net.rate_bps * burst_s / BITS)
    entries.append(
        {
            "arrivals": "incast",
            "transport": transport,
            "from": ", ".join(senders),
            "to": net.victim,
            "size": f"{size} B",
            "senders": count,
            "period": _time(whole / 2),
            "start": _time(whole / 4),
            **{key: own[key] for key in CARRIED[transport] if key in own},
        }
    )
    tree["traffic"] = entries
    return (
        f"twice {count} hosts send {text.size(size)} each to {net.victim} at once, beside its own "
        "traffic"
    )


def _failed_link(tree: JsonObject, net: _Network) -> str:
    away = net.distances(net.victim)
    trunks = sorted(
        {
            (away.get(a, 0), a, b)
            for a, b in net.rates
            if net.roles[a] == net.roles[b] == "switch" and away.get(a, 0) < away.get(b, 0)
        }
    )
    if not trunks:
        raise NoCase("no link joins two switches")
    for _, a, b in trunks:
        if set(net.hosts) <= net.distances(net.victim, (a, b)).keys():
            break
    else:
        raise NoCase("without any of its links some hosts would be cut off")
    tree["failure"] = [
        *tables_of(tree, "failure"),
        {"link": f"{a}->{b}", "from": "0 s", "until": tree["duration"]},
    ]
    routing = tree.setdefault("routing", {})
    routing.setdefault("converges_after", "0 s")
    return (
        f"{a}->{b} is down from the start; routes are repaired "
        f"{'at once' if routing['converges_after'] == '0 s' else routing['converges_after']}"
    )


def _slow_receiver(tree: JsonObject, net: _Network) -> str:
    pauses = tables_of(tree, "pause")
    own = next((each for each in pauses if each.get("kind", "none") != "none"), None)
    if own is None:
        raise NoCase("nothing is paused: frames that a host does not read are lost")
    rate = net.rate_bps
    held = round(rate * HELD_S / BITS)
    adapters = tables_of(tree, "adapter")
    first = next((each for each in adapters if each.get("only", "*") == "*"), {})
    read = {
        "only": net.victim,
        "receive_rate": f"{rate // SHARE} b/s",
        "receive_buffer": f"{held} B",
    }
    tree["adapter"] = [{**first, **read}, *adapters]
    kept = {key: own[key] for key in ("kind", "priorities", "reaction") if key in own}
    tree["pause"] = [{"only": net.victim, "rule": "watermarks", **kept}, *pauses]
    return (
        f"{net.victim} reads at {text.rate(rate // SHARE)}, half of its link, and pauses the link "
        f"before it holds {text.size(held)}"
    )


def _time(seconds: float) -> str:
    return f"{round(seconds * 1e9)} ns"
