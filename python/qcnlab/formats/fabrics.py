"""Where messages run: between hosts around one switch, or in the fabric of a scenario."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from qcnlab import _core
from qcnlab.formats.lines import FormatError
from qcnlab.formats.messages import Setup, length, scenario, star
from qcnlab.formats.numbers import time_text
from qcnlab.formats.scenarios import FEW, MARK, quoted
from qcnlab.printing.text import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

TRANSPORT = (
    "recovery",
    "headers",
    "ack_frame",
    "ack_every",
    "ack_delay",
    "nack_interval",
    "reordering_threshold",
    "reordering_window",
    "reorder_buffer",
    "reorder_wait",
    "rto",
    "rto_low",
    "rto_low_packets",
    "frame",
    "priority",
    "controlled",
    "cn_tag",
)
"""Keys of a scenario's RoCE traffic that its messages take over."""
LEFT = ("about", "stop_arrivals", "warmup", "record", "hotspot", "replications")
"""Keys that belong to a scenario's own traffic."""


class Fabric(NamedTuple):
    """Hosts, and a scenario around a list of messages between them.

    Attributes
    ----------
    hosts : list of str
        The host of each rank.
    said : tuple of str
        What a report says of it.
    alone : bool
        Whether no scenario says how messages are sent.
    text : Callable
        Returns the scenario for the line that names a list, and the number of its messages.
    """

    hosts: list[str]
    said: tuple[str, str]
    alone: bool
    text: Callable[[str, int], str]


def fabric(
    ranks: int, setup: Setup, network: str | None, files: Sequence[Path], source: str
) -> Fabric:
    """Return where the messages of ranks run: rank 0 on the first host, and so on.

    Parameters
    ----------
    ranks : int
        How many.
    setup : Setup
        What the files do not say.
    network : str, optional
        A scenario file or name; without it the hosts stand around one switch.
    files : sequence of Path
        What was read, for the title.
    source : str
        What kind of files they are.

    Raises
    ------
    FormatError
        If the scenario has fewer hosts than there are ranks, or both are said.
    """
    if network is None:
        tables = star(ranks, setup, f"{source} say")
        return Fabric(
            [f"host{rank}" for rank in range(ranks)],
            ("ranks", f"{counted(ranks, 'host')} around one switch, without limits of its queues"),
            True,
            lambda line, messages: scenario(files, source, tables, line, messages, setup),
        )
    if setup.rate is not None or setup.delay is not None:
        raise FormatError("--rate and --delay are those of --network: leave them out")
    return _of_scenario(ranks, setup, network, files, source)


def _of_scenario(
    ranks: int, setup: Setup, network: str, files: Sequence[Path], source: str
) -> Fabric:
    from qcnlab import api
    from qcnlab.runs.network import Network

    parsed = _core.Scenario.parse(api.load(network).to_toml(), network)
    hosts = [node.name for node in Network.of(parsed).hosts]
    if len(hosts) < ranks:
        raise FormatError(
            f"--network: {network} has {counted(len(hosts), 'host')}, and there are {ranks} ranks"
        )
    whole = json.loads(parsed.to_json())
    transport = next(
        (entry for entry in whole["traffic"] if entry["transport"] == "roce"),
        {"frame": f"{setup.mtu + 62} B", "headers": "62 B", "ack_frame": "66 B", "cn_tag": False},
    )
    entry = {key: transport[key] for key in TRANSPORT if key in transport}
    listed = {"arrivals": "list", "transport": "roce", "flows": "from,to,size,start\n"}
    whole["traffic"] = [{**listed, **entry}]
    names = ", ".join(path.name for path in files[:4]) + (", .." if len(files) > 4 else "")
    for key in LEFT:
        whole.pop(key, None)
    end = time_text(length(setup))
    whole |= {"title": f"From {names}", "source": source, "duration": end, "drain": True}

    def text(line: str, messages: int) -> str:
        if messages > FEW:
            whole["record"] = {"rates_every": end, "throughput_bin": end}
        said = _core.Scenario.from_json(json.dumps(whole)).to_toml()
        before = next(each for each in said.splitlines() if each.startswith("flows = "))
        return f"{MARK}\n{said.replace(before, line, 1)}"

    return Fabric(
        hosts[:ranks],
        ("ranks", f"hosts {hosts[0]} to {hosts[ranks - 1]} of {network}, its scheme and transport"),
        False,
        text,
    )


def named(lists: Path) -> str:
    """Return the line that names a list."""
    return f"flows = {quoted(lists.name)}"
