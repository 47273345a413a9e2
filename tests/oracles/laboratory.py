"""The networks of the second implementations as scenarios of the laboratory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import qcnlab

HORIZON = 900_000_000_000
"""Duration of a run, ps; all flows have ended by then."""


class Network(Protocol):
    """Hosts at one switch: the delay of each link one way, ps, and the rate of all."""

    @property
    def delays(self) -> Mapping[str, int]: ...

    @property
    def rate_bps(self) -> int: ...


class Transfer(Protocol):
    """Octets from one host to another, from a time on, ps."""

    @property
    def source(self) -> str: ...

    @property
    def to(self) -> str: ...

    @property
    def size(self) -> int: ...

    @property
    def start(self) -> int: ...


def scenario(
    network: Network,
    transfers: Sequence[Transfer],
    *,
    switch: str,
    traffic: str,
    scheme: str = 'name = "none"',
) -> qcnlab.Scenario:
    """Return the scenario: what its tables say of switch, traffic and scheme is TOML."""
    links = "".join(
        f'[[link]]\nfrom = "{host}"\nto = "switch"\ndelay = "{delay} ps"\n'
        for host, delay in network.delays.items()
    )
    rows = "\n".join(f"{t.source},{t.to},{t.size} B,{t.start} ps," for t in transfers)
    return qcnlab.Scenario.from_toml(f"""title = "Hosts at a switch"
duration = "{HORIZON} ps"
[topology]
kind = "graph"
rate = "{network.rate_bps} b/s"
delay = "1 us"
{links}{switch}
[[traffic]]
{traffic}
flows = '''
from,to,size,start,class
{rows}
'''
[scheme]
{scheme}
""")
