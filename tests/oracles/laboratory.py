"""The networks of the second implementations as scenarios of the laboratory."""

from __future__ import annotations

from collections.abc import Sequence

from switch import Setting, Transfer

import qcnlab

HORIZON = 900_000_000_000
"""Duration of a run, ps; all flows have ended by then."""


def scenario(
    setting: Setting,
    transfers: Sequence[Transfer],
    *,
    switch: str,
    traffic: str,
    scheme: str = 'name = "none"',
) -> qcnlab.Scenario:
    """Return the scenario: what its tables say of switch, traffic and scheme is TOML."""
    links = "".join(
        f'[[link]]\nfrom = "{host}"\nto = "switch"\ndelay = "{delay} ps"\n'
        for host, delay in setting.delays.items()
    )
    rows = "\n".join(f"{t.source},{t.to},{t.size} B,{t.start} ps," for t in transfers)
    return qcnlab.Scenario.from_toml(f"""title = "Hosts at a switch"
duration = "{HORIZON} ps"
[topology]
kind = "graph"
rate = "{setting.rate_bps} b/s"
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
