"""The networks of the second implementations as scenarios of the laboratory."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dynamic_switch import DynamicSetting
from fabric import FabricSetting, Message
from marking import Ramp
from pause_switch import PauseSetting
from switch import Flow, Setting, Transfer

import qcnlab

HPCC_SIMULATOR = """[shared_buffer]
kind = "hpcc_simulator"
size = "{size} B"
[pause]
kind = "priority"
priorities = "0"
rule = "dynamic"
"""
"""Tables of a memory that is shared as in HPCC's simulator."""

WATERMARKS = """[switch]
input_memory = "{memory}"
[pause]
kind = "link"
high = "{high} B"
low = "{low} B"
"""
"""Tables of a memory by inputs."""

DCQCN = """name = "dcqcn"
preset = "SIGCOMM2015"
cp.k_min = "{k} B"
cp.k_max = "{k} B"
cp.p_max = 1
rp.byte_reset = "{byte_reset} B"
rp.alpha_initial = {alpha}
"""
"""DCQCN with one threshold, above which every mark is certain."""

HPCC = """name = "hpcc"
preset = "SIGCOMM2019"
rp.base_rtt = "{base_rtt} ps"
rp.additive_window = "{additive} B"
"""

POWER = """name = "{name}"
preset = "{preset}"
rp.base_rtt = "{tau} ps"
rp.beta = "{beta} B"
"""

SWIFT = """name = "swift"
rp.base_delay = "{base} ps"
rp.fs_max = "{scaling} ps"
"""

NSCC = """name = "nscc"
preset = "UET_HTSIM"
cp.k_min = "{k} B"
cp.k_max = "{k} B"
cp.thresholds_for = "none"
rp.network_rtt = "{network_rtt} ps"
"""

PCN = """name = "pcn"
preset = "NSDI2020"
rp.period = "{period} ps"
"""

PINT = """name = "hpcc_pint"
preset = "HPCC_SIMULATOR"
cp.mean_over = "{base_rtt} ps"
rp.base_rtt = "{base_rtt} ps"
rp.sample = {share}
"""

RCCC = """name = "rccc"
preset = "UET_HTSIM"
rp.network_rtt = "{network_rtt} ps"
rp.counted_header = "62 B"
"""

DCTCP = """name = "dctcp"
preset = "SIGCOMM2010"
cp.threshold = "{k} B"
rp.base_rtt = "{base_rtt} ps"
"""

HORIZON = 900_000_000_000
"""Duration of a run, ps; all flows have ended by then."""


def scenario(
    setting: Setting,
    transfers: Sequence[Transfer],
    *,
    switch: str,
    traffic: str | Callable[[Transfer], str],
    scheme: str = 'name = "none"',
) -> qcnlab.Scenario:
    """Return the scenario: what its tables say of switch, traffic and scheme is TOML.

    `traffic` is of all transfers, or says what each has.
    """
    links = "".join(
        f'[[link]]\nfrom = "{host}"\nto = "switch"\ndelay = "{delay} ps"\n'
        for host, delay in setting.delays.items()
    )
    entries = (
        [(traffic, transfers)]
        if isinstance(traffic, str)
        else [(traffic(transfer), [transfer]) for transfer in transfers]
    )
    tables = "".join(f"[[traffic]]\n{keys}\n{table(listed)}" for keys, listed in entries)
    return qcnlab.Scenario.from_toml(f"""title = "Hosts at a switch"
duration = "{HORIZON} ps"
[topology]
kind = "graph"
rate = "{setting.rate_bps} b/s"
delay = "1 us"
{links}{switch}
{tables}[scheme]
{scheme}
""")


def wred(ramp: Ramp, *, ports: str, priorities: str, mark_at: str = "departure") -> str:
    """Return the table of the thresholds of some queues."""
    return f"""[[wred]]
ports = "{ports}"
priorities = "{priorities}"
k_min = "{ramp.k_min} B"
k_max = "{ramp.k_max} B"
p_max = {ramp.p_max}
mark_at = "{mark_at}"
"""


def frames(flow: Transfer) -> str:
    """Return the traffic of a flow that nothing repairs."""
    assert isinstance(flow, Flow)
    return f'arrivals = "list"\nframe = "{flow.frame_bytes} B"'


def pausing(setting: PauseSetting, flows: Sequence[Flow], more: str = "") -> qcnlab.Scenario:
    """Return the scenario of a switch that pauses its links, or whose ports share memory."""
    if isinstance(setting, DynamicSetting):
        switch = dynamic(setting)
    elif setting.shared_bytes is not None:
        switch = HPCC_SIMULATOR.format(size=setting.shared_bytes)
    else:
        marks = {"high": setting.high_bytes, "low": setting.low_bytes}
        switch = WATERMARKS.format(memory="100 KB", **marks)
    return scenario(setting, flows, switch=switch + more, traffic=frames)


def alpha(exponent: int) -> str:
    """Return a power of two as it is written."""
    return f"{2**exponent}" if exponent >= 0 else f"1/{2**-exponent}"


def dynamic(setting: DynamicSetting) -> str:
    """Return the table of a shared memory with numbers of its own."""
    lines = f"""[shared_buffer]
size = "{setting.shared_bytes} B"
reserve = "{setting.reserve} B"
pg_alpha = "{alpha(setting.exponent)}"
cell = "{setting.cell} B"
"""
    if setting.queue_exponent is not None:
        lines += f'queue_alpha = "{alpha(setting.queue_exponent)}"\n'
    if not setting.stopped:
        return lines
    if setting.pool is not None:
        lines += f'headroom_pool = "{setting.pool} B"\n'
    return f"""{lines}headroom = "{setting.headroom} B"
xon = "{setting.xon} B"
xon_offset = "{setting.xon_offset} B"
[pause]
kind = "priority"
priorities = "{", ".join(map(str, setting.stopped))}"
rule = "dynamic"
"""


def table(transfers: Sequence[Transfer]) -> str:
    """Return the list of transfers."""
    rows = "".join(
        f"{t.source},{t.to},{t.size} B,{t.start} ps,{t.priority if isinstance(t, Flow) else ''}\n"
        for t in transfers
    )
    return f"flows = '''\nfrom,to,size,start,class\n{rows}'''\n"


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
        memory = HPCC_SIMULATOR.format(size=setting.shared_bytes)
    elif setting.high_bytes is not None:
        memory = WATERMARKS.format(memory="10 MB", high=setting.high_bytes, low=setting.low_bytes)
    window = "none" if setting.window_bytes is None else f"{setting.window_bytes} B"
    return qcnlab.Scenario.from_toml(f"""title = "Several switches"
duration = "{HORIZON} ps"
{more}
[topology]
kind = "graph"
{links}{routes}{memory}
[[traffic]]
arrivals = "list"
transport = "roce"
cn_tag = false
frame = "{setting.frame_bytes} B"
headers = "{setting.header_bytes} B"
ack_frame = "{setting.ack_bytes} B"
window_limit = "{window}"
rto = "{setting.rto} ps"
nack_interval = "{setting.nack_interval} ps"
{table(messages)}[scheme]
{scheme}
""")
