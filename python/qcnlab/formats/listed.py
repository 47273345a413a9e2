"""The messages that a scenario lists, for formats that list messages."""

from __future__ import annotations

import csv
import json
import re
from typing import TYPE_CHECKING, NamedTuple

from qcnlab import _core, api
from qcnlab.formats.lines import FormatError
from qcnlab.runs.facts import tables_of
from qcnlab.runs.network import Network

if TYPE_CHECKING:
    from qcnlab.formats.report import Report
    from qcnlab.records import JsonObject

NAMED = re.compile(r"host(0|[1-9][0-9]{0,5})")
"""Names that an import gave: they have the numbers."""


class Flow(NamedTuple):
    """A message of a list."""

    source: str
    target: str
    octets: int
    start: int
    """ps; of one that waits, how long after."""
    after: tuple[int, ...]
    """Those that it waits for, by their positions."""
    delays: tuple[int, ...]
    """How long after each of these it may start, ps."""
    not_before: int
    """When it may start at the earliest, ps."""

    @property
    def delayed(self) -> bool:
        """Whether it waits for more than the ends of others."""
        return bool(self.after and (self.start or any(self.delays) or self.not_before))


class Listed(NamedTuple):
    """What a scenario lists.

    Attributes
    ----------
    flows : list of Flow
        Of all its lists, in their order.
    numbers : dict
        The number of each host by its name: that in its name if all have one.
    network : Network
        Nodes and links.
    """

    flows: list[Flow]
    numbers: dict[str, int]
    network: Network
    switches: list[JsonObject]
    """The tables `[[switch]]`."""


def listed(source: str, what: str, report: Report) -> Listed:
    """Return the messages that a scenario lists.

    Parameters
    ----------
    source : str
        A scenario file, or the name of a shipped one.
    what : str
        What lists messages: for the report, and the error.
    report : Report
        Is told of the scenario, and of its other traffic.

    Raises
    ------
    FormatError
        If it lists none.
    """
    scenario = _core.Scenario.parse(api.load(source).to_toml(), source)
    hosts = [node.name for node in Network.of(scenario).hosts]
    report.read.append((source, "a scenario"))
    flows: list[Flow] = []
    tree = json.loads(scenario.to_base_json())
    for index, entry in enumerate(tree["traffic"]):
        if entry["arrivals"] == "list":
            flows += _flows(entry, len(flows))
        else:
            report.not_modelled.append(
                (
                    f"traffic.{index}, arrivals {entry['arrivals']}",
                    f"not a list: {what} has listed messages",
                )
            )
    if not flows:
        raise FormatError(f'{source}: no traffic with arrivals = "list": {what} lists messages')
    network = Network.of(scenario), tables_of(tree, "switch")
    if all(NAMED.fullmatch(host) for host in hosts):
        return Listed(flows, {host: int(host.removeprefix("host")) for host in hosts}, *network)
    return Listed(flows, {host: number for number, host in enumerate(hosts)}, *network)


def _flows(entry: JsonObject, first: int) -> list[Flow]:
    text = (each for each in entry["flows"].splitlines() if each.strip() and each[0] != "#")
    rows = list(csv.DictReader(text, skipinitialspace=True))
    ids = {(row.get("id") or "").strip(): first + at for at, row in enumerate(rows)}
    flows = []
    for row in rows:
        size, start = (_core.quantity(row[key]) for key in ("size", "start"))
        if size is None or start is None:
            raise FormatError(f"'{row['size']}', '{row['start']}': no size and time")
        begins, waits, not_before = round(start[0] * 10**12), dict[int, int](), 0
        for word in (row.get("after") or "").split():
            name, plus, told = word.partition("+")
            delay = _ps(told) if plus else 0
            if name:
                waits[ids[name]] = max(delay, waits.get(ids[name], 0))
            else:
                not_before = max(not_before, delay)
        ends = row["from"].strip(), row["to"].strip()
        after, delays = tuple(waits), tuple(waits.values())
        if not after:
            begins, not_before = begins + not_before, 0
        flows.append(Flow(*ends, round(size[0]), begins, after, delays, not_before))
    return flows


def _ps(text: str) -> int:
    told = _core.quantity(text)
    if told is None or told[1] != "s":
        raise FormatError(f"'{text}' is no time")
    return round(told[0] * 10**12)
