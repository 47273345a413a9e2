"""The messages that a scenario lists, for formats that list messages."""

from __future__ import annotations

import csv
import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from qcnlab import _core, api
from qcnlab.formats.lines import FormatError
from qcnlab.runs.network import Network

if TYPE_CHECKING:
    from qcnlab.formats.report import Report

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


class Listed(NamedTuple):
    """What a scenario lists.

    Attributes
    ----------
    flows : list of Flow
        Of all its lists, in their order.
    numbers : dict
        The number of each host by its name: that in its name if all have one.
    """

    flows: list[Flow]
    numbers: dict[str, int]


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
    for index, entry in enumerate(json.loads(scenario.to_base_json())["traffic"]):
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
    if all(NAMED.fullmatch(host) for host in hosts):
        return Listed(flows, {host: int(host.removeprefix("host")) for host in hosts})
    return Listed(flows, {host: number for number, host in enumerate(hosts)})


def _flows(entry: dict[str, Any], first: int) -> list[Flow]:
    text = (each for each in entry["flows"].splitlines() if each.strip() and each[0] != "#")
    rows = list(csv.DictReader(text, skipinitialspace=True))
    ids = {(row.get("id") or "").strip(): first + at for at, row in enumerate(rows)}
    flows = []
    for row in rows:
        size, start = (_core.quantity(row[key]) for key in ("size", "start"))
        if size is None or start is None:
            raise FormatError(f"'{row['size']}', '{row['start']}': no size and time")
        after = tuple(dict.fromkeys(ids[name] for name in (row.get("after") or "").split()))
        ends = row["from"].strip(), row["to"].strip()
        flows.append(Flow(*ends, round(size[0]), round(start[0] * 10**12), after))
    return flows
