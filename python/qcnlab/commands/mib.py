"""Managed objects of a run: IEEE8021-CN-MIB as its network answers it, and what Linux shows."""

from __future__ import annotations

import json
import shlex
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Annotated

import typer

from qcnlab import _core
from qcnlab.errors import FolderError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from qcnlab.runs.managed import ManagedObjects, MibRow, Struct, TableKey

PREFIX = "ieee8021Cn"
"""How the name of every object begins."""
TABLES: dict[TableKey, str] = {
    "global": "CnGlobalTable",
    "errored_port": "CnErroredPortTable",
    "component_priority": "CnCompntPriTable",
    "port_priority": "CnPortPriTable",
    "cp": "CnCpTable",
    "cpid_to_interface": "CnCpidToInterfaceTable",
    "rp_port_priority": "CnRpPortPriTable",
    "rp_group": "CnRpGroupTable",
}
"""The tables of the MIB, by their keys."""
STRUCTS: tuple[Struct, ...] = ("ieee_qcn", "ieee_qcn_stats")


def objects(folder: Path, replication: int = 0) -> ManagedObjects:
    """Return the objects of every bridge and host after a replication of a run.

    Parameters
    ----------
    folder : Path
        A run folder.
    replication : int, default 0
        Counted from 0.

    Returns
    -------
    dict
        `nodes`, each with the rows of its tables; an object without an answer holds
        ``{"unanswered": reason}``.

    Raises
    ------
    FolderError
        If the folder has no counts, is damaged, or its scheme has no such objects.
    """
    from qcnlab.results.result import open_run

    result = open_run(folder)
    managed = result.managed
    if managed is None:
        if not _sends_messages(result.summary.scheme):
            raise FolderError(
                f"'{folder}': scheme '{result.summary.scheme}' sends no congestion notification "
                "messages, and IEEE8021-CN-MIB has no object for it"
            )
        command = result.meta.get("command")
        again = f": {shlex.join(command)}" if command else ""
        raise FolderError(
            f"'{folder}' has no managed.json: it was written before qcnlab counted for managed "
            f"objects; run it again{again}"
        )
    try:
        scenario = _core.Scenario.parse(result.config, f"{result.name}.toml")
        text = _core.mib(scenario, result.summary.seed, managed, replication)
    except (_core.ScenarioError, ValueError) as error:
        raise FolderError(f"'{folder}': {error}") from error
    answers: ManagedObjects = json.loads(text)
    return answers


def _sends_messages(scheme: str) -> bool:
    from qcnlab import catalogue

    return all("CNM" in entry.hears for entry in catalogue.schemes() if entry.name == scheme)


def chosen(answers: ManagedObjects, pattern: str | None) -> ManagedObjects:
    """Return the same with the nodes alone whose names match; raise `FolderError` if none does."""
    if pattern is None:
        return answers
    nodes = [node for node in answers["nodes"] if fnmatchcase(node["node"], pattern)]
    if not nodes:
        names = ", ".join(node["node"] for node in answers["nodes"])
        raise FolderError(f"no bridge or host is named '{pattern}'; there are {names}")
    return {**answers, "nodes": nodes}


def lines(answers: ManagedObjects) -> Iterator[str]:
    """Yield the objects as text."""
    priorities = ", ".join(map(str, answers["priorities"])) or "none"
    yield (
        f"{answers['scenario']}, replication {answers['replication']}, "
        f"after {answers['time_s']:g} s; {answers['module']}; "
        f"priorities under congestion control: {priorities}"
    )
    for node in answers["nodes"]:
        yield ""
        yield f"{node['node']}, {node['role']}"
        if "unanswered" in node:
            yield f"  {node['unanswered']}"
            continue
        ports: dict[int | str | None, str] = {
            each["ifIndex"]: each["port"] for each in node["interfaces"]
        }
        for key, table in TABLES.items():
            rows = node.get(key) or []
            for row in [rows] if isinstance(rows, dict) else rows:
                yield from _row(table, row, ports)
            if rows == []:
                yield f"  {table}: no rows"
        for port in node.get("linux", []):
            yield f"  Linux, ifIndex {port['ifIndex']} ({port['port']}), by priority 0 to 7"
            for struct in STRUCTS:
                yield f"    struct {struct}"
                for name, values in port[struct].items():
                    yield from _array(name, values)


def _row(table: str, row: MibRow, ports: Mapping[int | str | None, str]) -> Iterator[str]:
    index = ", ".join(f"{name} {value}" for name, value in row["index"].items())
    port = ports.get(row["index"].get("ifIndex"))
    yield f"  {table} [{index}]" + (f" {port}" if port else "")
    for name, value in row.items():
        if name != "index":
            yield f"    {name:<42} {_value(value)}"


def _array(name: str, values: list[object]) -> Iterator[str]:
    reasons = {value["unanswered"] for value in values if isinstance(value, dict)}
    shown = " ".join("-" if value is None else _short(value) for value in values)
    yield f"      {name:<24} {shown}"
    for reason in sorted(reasons):
        yield f"      {'':<24} ? {reason}"


def _short(value: object) -> str:
    return "?" if isinstance(value, dict) else str(value)


def _value(value: object) -> str:
    if not isinstance(value, dict):
        return str(value)
    if "unanswered" in value:
        return f"unanswered: {value['unanswered']}"
    return f"{value['name']}({value['value']})"


def mib(
    folder: Annotated[str, typer.Argument(metavar="RUN", help="A folder that `qcnlab run` wrote.")],
    node: Annotated[
        str | None,
        typer.Option("--node", metavar="NAME", help="Only these bridges and hosts: 'leaf*'."),
    ] = None,
    replication: Annotated[
        int, typer.Option("--replication", min=0, help="Which replication, from 0.")
    ] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Print what a network manager would read from a run's switches.

    Settings and counters of each switch and host after the run: which priorities are under
    congestion notification, how many messages a queue has sent, how far limiters are down. They are
    the objects of IEEE8021-CN-MIB, as SNMP names them, and of Linux' ieee_qcn.
    """
    from pathlib import Path

    answers = chosen(objects(Path(folder), replication), node)
    if as_json:
        print(json.dumps(answers, indent=2, ensure_ascii=False))
        return
    for line in lines(answers):
        print(line)
