"""`qcnlab export htsim`: the flows that a scenario lists, as a connection matrix."""

from __future__ import annotations

import csv
import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from qcnlab import _core, api
from qcnlab.folders import NewFolder
from qcnlab.formats.lines import FormatError
from qcnlab.formats.report import Report
from qcnlab.text import counted

if TYPE_CHECKING:
    from pathlib import Path

NAMED = re.compile(r"host(0|[1-9][0-9]{0,5})")
Cause = tuple[int, bool]
"""A flow by its position, and whether its arrival counts (else its acknowledgement)."""


class Flow(NamedTuple):
    """A flow of a list."""

    source: str
    target: str
    octets: int
    start: int
    """ps; of one that waits, how long after."""
    id: str
    after: tuple[str, ...]


def convert(source: str, out: Path) -> Report:
    """Write the flows that a scenario lists as a connection matrix, times in ps.

    Parameters
    ----------
    source : str
        A scenario file, or the name of a shipped one.
    out : Path
        A new folder.

    Returns
    -------
    Report
        What was written, and what a matrix cannot say.

    Raises
    ------
    FormatError
        If there is nothing that a matrix can say.
    FolderError
        If the folder cannot be written.
    """
    scenario = _core.Scenario.parse(api.load(source).to_toml(), source)
    whole = json.loads(scenario.to_base_json())
    hosts = [
        node["name"] for node in json.loads(scenario.network())["nodes"] if node["role"] == "host"
    ]
    report = Report(read=[(source, "a scenario")])
    flows = _listed(whole["traffic"], report)
    if not flows:
        raise FormatError(f"{source}: no traffic of kind list or roce_list: a matrix lists flows")
    triggers, kept = _triggers(flows, report)
    numbers = _numbers(hosts)
    with NewFolder(out) as folder:
        _write(folder.path / "flows.cm", flows, kept, triggers, numbers)
        with (folder.path / "nodes.csv").open("w", encoding="utf-8") as file:
            file.write("node,name\n")
            file.writelines(f"{numbers[host]},{host}\n" for host in hosts)
    report.written += [
        (str(out / "flows.cm"), f"{counted(len(kept), 'connection')}, times in ps"),
        (str(out / "nodes.csv"), "names of nodes"),
    ]
    report.not_modelled.append(
        ("network, scheme, classes", "a .topo file and options of their command say them")
    )
    return report


def _numbers(hosts: list[str]) -> dict[str, int]:
    named = [NAMED.fullmatch(host) for host in hosts]
    if all(named):
        return {host: int(host.removeprefix("host")) for host in hosts}
    return {host: number for number, host in enumerate(hosts)}


def _listed(entries: list[dict[str, Any]], report: Report) -> list[Flow]:
    flows: list[Flow] = []
    for index, entry in enumerate(entries):
        if not entry["kind"].endswith("list"):
            report.not_modelled.append(
                (f"traffic.{index}, kind {entry['kind']}", "not a list: a matrix has listed flows")
            )
            continue
        text = (each for each in entry["flows"].splitlines() if each.strip() and each[0] != "#")
        for row in csv.DictReader(text, skipinitialspace=True):
            size, start = (_core.quantity(row[key]) for key in ("size", "start"))
            if size is None or start is None:
                raise FormatError(f"'{row['size']}', '{row['start']}': no size and time")
            after = tuple(f"{index}/{id_}" for id_ in (row.get("after") or "").split())
            id_ = (row.get("id") or "").strip()
            flows.append(
                Flow(
                    row["from"].strip(),
                    row["to"].strip(),
                    round(size[0]),
                    round(start[0] * 10**12),
                    f"{index}/{id_}" if id_ else "",
                    after,
                )
            )
    return flows


def _triggers(
    flows: list[Flow], report: Report
) -> tuple[dict[frozenset[Cause], int], dict[int, frozenset[Cause]]]:
    """Return the triggers by what fires them, and for each flow that is written what it waits for.

    A flow fires one trigger when it has arrived, and one when it is acknowledged: what waits for
    more is left out, and so is what waits for that.
    """
    positions = {flow.id: index for index, flow in enumerate(flows) if flow.id}
    triggers: dict[frozenset[Cause], int] = {}
    fired: dict[Cause, frozenset[Cause]] = {}
    kept: dict[int, frozenset[Cause]] = {}
    delayed = shared = lost = 0
    for index in _in_order(flows, positions):
        flow = flows[index]
        causes = frozenset(
            (positions[id_], flows[positions[id_]].target == flow.source) for id_ in flow.after
        )
        if any(position not in kept for position, _ in causes):
            lost += 1
        elif causes and flow.start:
            delayed += 1
        elif any(fired.get(cause, causes) != causes for cause in causes):
            shared += 1
        else:
            kept[index] = causes
            if causes:
                triggers.setdefault(causes, len(triggers) + 1)
                fired.update(dict.fromkeys(causes, causes))
    notes = (
        (delayed, "that wait and start later still", "a trigger starts a flow at once"),
        (shared, "that wait for part of what others wait for", "a flow there fires one trigger"),
        (lost, "that wait for one of these", "left out with them"),
    )
    report.not_modelled += [
        (f"{counted(count, 'flow')} {what}", f"{why}: not in the matrix")
        for count, what, why in notes
        if count
    ]
    return triggers, kept


def _in_order(flows: list[Flow], positions: dict[str, int]) -> list[int]:
    """Return positions of flows, each after those that it waits for."""
    open_ = [len(set(flow.after)) for flow in flows]
    waiters: dict[int, list[int]] = {}
    for index, flow in enumerate(flows):
        for id_ in set(flow.after):
            waiters.setdefault(positions[id_], []).append(index)
    order = [index for index, count in enumerate(open_) if count == 0]
    for index in order:
        for waiter in waiters.get(index, ()):
            open_[waiter] -= 1
            if open_[waiter] == 0:
                order.append(waiter)
    return order


def _write(
    path: Path,
    flows: list[Flow],
    kept: dict[int, frozenset[Cause]],
    triggers: dict[frozenset[Cause], int],
    numbers: dict[str, int],
) -> None:
    fires: dict[int, list[str]] = {}
    for causes, number in triggers.items():
        for position, arrived in sorted(causes):
            word = "recv_done_trigger" if arrived else "send_done_trigger"
            fires.setdefault(position, []).append(f" {word} {number}")
    with path.open("w", encoding="ascii") as file:
        file.write(f"Nodes {max(numbers.values()) + 1}\nConnections {len(kept)}\n")
        if triggers:
            file.write(f"Triggers {len(triggers)}\n")
        for causes, number in triggers.items():
            kind = "oneshot" if len(causes) == 1 else f"barrier count {len(causes)}"
            file.write(f"trigger id {number} {kind}\n")
        for index in sorted(kept):
            flow, causes = flows[index], kept[index]
            when = f"trigger {triggers[causes]}" if causes else f"start {flow.start}"
            ends = f"{numbers[flow.source]}->{numbers[flow.target]}"
            done = "".join(fires.get(index, []))
            file.write(f"{ends} id {index + 1} {when} size {flow.octets}{done}\n")
