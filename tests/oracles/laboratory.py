"""The networks of the second implementations as scenarios of the laboratory."""

from __future__ import annotations

from collections.abc import Sequence

from fabric import FabricSetting, Message
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


def fabric(
    setting: FabricSetting,
    messages: Sequence[Message],
    *,
    scheme: str = 'name = "none"',
    more: str = "",
) -> qcnlab.Scenario:
    """Return the scenario of messages over several switches; `more` is TOML before the links."""
    links = "".join(
        f'[[link]]\nfrom = "{a}"\nto = "{b}"\ndelay = "{wire.delay} ps"\n'
        f'rate = "{wire.rate_bps} b/s"\n'
        for (a, b), wire in setting.links.items()
    )
    ways = {way for message in messages for way in (message.way, message.way[::-1])}
    routes = "".join(
        f'[[route]]\nfrom = "{way[0]}"\nto = "{way[-1]}"\nvia = "{", ".join(way[1:-1])}"\n'
        for way in sorted(ways)
    )
    memory = ""
    if setting.queue_bytes is not None:
        memory = f'[switch]\noutput_buffer = "{setting.queue_bytes} B"\n'
    elif setting.shared_bytes is not None:
        memory = f"""[shared_buffer]
kind = "hpcc_simulator"
size = "{setting.shared_bytes} B"
[pause]
kind = "priority"
priorities = "0"
rule = "dynamic"
"""
    elif setting.high_bytes is not None:
        memory = f"""[switch]
input_memory = "10 MB"
[pause]
kind = "link"
high = "{setting.high_bytes} B"
low = "{setting.low_bytes} B"
"""
    window = "none" if setting.window_bytes is None else f"{setting.window_bytes} B"
    rows = "\n".join(f"{m.source},{m.to},{m.size} B,{m.start} ps," for m in messages)
    return qcnlab.Scenario.from_toml(f"""title = "Several switches"
duration = "{HORIZON} ps"
{more}
[topology]
kind = "graph"
{links}{routes}{memory}
[[traffic]]
kind = "roce_list"
cn_tag = false
frame = "{setting.frame_bytes} B"
headers = "{setting.header_bytes} B"
ack_frame = "{setting.ack_bytes} B"
window_limit = "{window}"
rto = "{setting.rto} ps"
nack_interval = "{setting.nack_interval} ps"
flows = '''
from,to,size,start,class
{rows}
'''
[scheme]
{scheme}
""")
