"""Where a scenario congests: the one port, how many sources meet there, and how far they are."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from qcnlab.facts import base


@dataclass(frozen=True)
class Place:
    """The congested port as a model sees it."""

    port: str | None
    """Its name; `None` for a star, which has one bottleneck."""
    sources: int
    """Sources whose frames meet there."""
    rtt_s: float
    """Loop delay: from a source to the port and back, s."""
    rate_bps: float
    """Rate of the port outside hotspots, bit/s."""
    buffer_bytes: float | None
    """Its buffer, B; `None` if it has none of its own."""


def find(tree: dict[str, Any]) -> Place | str:
    """Give the place where a resolved scenario congests, or why no model knows it.

    A star has its bottleneck. A chain has one where one trunk is throttled by hotspots, all flows
    cross it from hosts at one switch, and what they send fits through every other link.
    """
    topology = tree["topology"]
    if topology["kind"] == "star":
        return Place(
            port=None,
            sources=int(topology["sources"]),
            rtt_s=base(topology["rtt"]),
            rate_bps=base(topology["bottleneck_rate"]),
            buffer_bytes=base(topology["buffer"]),
        )
    if topology["kind"] != "chain":
        return f"topology '{topology['kind']}': a star, or a chain with one hotspot, is known"
    return _chain(tree)


def _chain(tree: dict[str, Any]) -> Place | str:
    topology = tree["topology"]
    ports = {entry["port"] for entry in tree.get("hotspot", [])}
    hot = re.fullmatch(r"switch(\d+)->switch(\d+)", ports.pop()) if len(ports) == 1 else None
    if hot is None:
        return "a chain needs hotspots at one trunk, as port = 'switch1->switch2'"
    at, to = (int(number) for number in hot.groups())
    way = 1 if to > at else -1
    flows = [_switches(entry, int(topology["hosts"])) for entry in tree["traffic"]]
    if None in flows:
        return "the traffic of a chain must be named flow by flow, as from = 'host1', to = 'host2'"
    crossing = [
        flow for flow in flows if flow and (at - flow[0]) * way >= 0 <= (flow[1] - to) * way
    ]
    starts = {flow[0] for flow in crossing}
    if len(crossing) < len(flows) or len(starts) != 1:
        return f"not all flows cross {hot.group()} from one switch"
    offered = [base(entry["rate"]) for entry in tree["traffic"] if "rate" in entry]
    rates = base(topology["rate"]), base(topology["trunk_rate"])
    if len(offered) < len(flows) or sum(offered) > min(rates):
        return "the flows may congest more than the hotspot; each needs a rate, all must fit a link"
    switches = [entry for entry in tree["switch"] if entry["only"] == "*"]
    if len(switches) != 1 or len(tree["switch"]) != 1:
        return "switches of several kinds"
    buffer = switches[0].get("output_buffer")
    return Place(
        port=hot.group(),
        sources=len(flows),
        rtt_s=_loop_delay(tree, abs(at - starts.pop())),
        rate_bps=rates[1],
        buffer_bytes=None if buffer is None else base(buffer),
    )


def _switches(flow: dict[str, Any], hosts: int) -> tuple[int, int] | None:
    """Give the switches that a flow between two hosts begins and ends at, counted from 1."""
    ends = [re.fullmatch(r"host(\d+)", str(flow.get(key, ""))) for key in ("from", "to")]
    begin, end = (None if each is None else 1 + (int(each[1]) - 1) // hosts for each in ends)
    return None if begin is None or end is None else (begin, end)


def _loop_delay(tree: dict[str, Any], trunks: int) -> float:
    """Give the delay, s, to a port behind so many trunks and back.

    The cables both ways, the switches' latency, and a frame's time on each link to the port.
    """
    topology, frame = tree["topology"], 8 * base(tree["traffic"][0]["frame"])
    cables = base(topology["delay"]) + trunks * base(topology["trunk_delay"])
    sending = frame / base(topology["rate"]) + trunks * frame / base(topology["trunk_rate"])
    latency = base(tree["switch"][0].get("latency", "0 s"))
    return 2 * cables + sending + (1 + 2 * trunks) * latency
