"""`qcnlab export hpcc`: topology and flows of a scenario, and the results of a run."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import TYPE_CHECKING

from qcnlab import _core
from qcnlab.files.folders import NewFolder, is_folder
from qcnlab.formats.hpcc import results, topology
from qcnlab.formats.hpcc.flows import port_of
from qcnlab.formats.hpcc.nodes import Nodes, nodes
from qcnlab.formats.hpcc.results import Flow
from qcnlab.formats.lines import FormatError
from qcnlab.formats.numbers import NumberFault, time
from qcnlab.formats.report import Report
from qcnlab.printing.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from qcnlab.records import JsonObject
    from qcnlab.results.result import Result

PORT = 100
"""The destination port of flows that count, by habit."""


def convert(run: str, out: Path, origin: str, replication: int) -> Report:
    """Write a run or a scenario as files of HPCC's simulator.

    Parameters
    ----------
    run : str
        A run folder, a scenario file or the name of a shipped one.
    out : Path
        A new folder.
    origin : str
        The time there that is 0 here.
    replication : int
        Of a run, which replication, from 0.

    Returns
    -------
    Report
        What was written, and what the files cannot say.

    Raises
    ------
    FormatError
        If there is nothing that the files can say.
    FolderError
        If the folder cannot be written, or `run` is none.
    """
    try:
        shift = time(origin.replace(" ", "").encode(), "--origin")
    except NumberFault as fault:
        raise FormatError(str(fault)) from None
    result: Result | None = None
    if is_folder(Path(run)):
        from qcnlab.results.result import open_run

        result = open_run(run)
        text = result.config
    else:
        from qcnlab import api

        text = api.load(run).to_toml()
    scenario = _core.Scenario.parse(text, f"{result.name}.toml" if result else run)
    network, report = nodes(scenario), Report()
    entries = json.loads(scenario.to_base_json())["traffic"]
    report.read.append((run, "a run" if result is not None else "a scenario"))
    folder = NewFolder(out)
    with folder:
        if result is not None:
            rows = _results(result, replication, network, entries, shift, folder.path, report)
        else:
            if replication:
                raise FormatError("--replication is for runs; this is a scenario")
            rows = _listed(entries, network, shift, report)
        _write_network(folder.path, network, rows, report)
    report.written = [(str(out / name), what) for name, what in report.written]
    return report


def _write_network(path: Path, network: Nodes, rows: list[Flow], report: Report) -> None:
    with (path / "topology.txt").open("w", encoding="ascii") as file:
        topology.write(network.topology, file)
    with (path / "flow.txt").open("w", encoding="ascii") as file:
        file.write(f"{len(rows)}\n")
        for row in rows:
            ends = f"{row.source} {row.target} {row.priority or 3} {row.dport}"
            file.write(f"{ends} {row.octets} {_text(row.start)}\n")
    with (path / "nodes.csv").open("w", encoding="utf-8") as file:
        file.write("node,name,address\n")
        for name, number in sorted(network.numbers.items(), key=lambda each: each[1]):
            file.write(f"{number},{name},{network.address(number)}\n")
    classless = sum(row.priority == 0 for row in rows)
    if classless:
        report.not_modelled.append(
            (f"class 0 of {classless} flows", "priority 3: there 0 is for control frames")
        )
    report.written += [
        ("topology.txt", counted(len(network.topology.links), "link")),
        ("flow.txt", counted(len(rows), "flow")),
        ("nodes.csv", "names of nodes"),
    ]
    report.not_modelled.append(
        (
            "scheme, buffers, pauses",
            "a configuration of theirs says them: write one for these files",
        )
    )


def _results(
    result: Result,
    replication: int,
    network: Nodes,
    entries: list[JsonObject],
    origin: int,
    path: Path,
    report: Report,
) -> list[Flow]:
    """Write what a run gave; return its flows."""
    import polars as pl

    count = result.summary.replications
    if replication >= count:
        raise FormatError(f"--replication {replication}: the run has 0 to {count - 1}")

    def rows_of(name: str) -> pl.DataFrame:
        return result.table(name).to_polars().filter(pl.col("replication") == replication)

    ports = {index: _port(entry) for index, entry in enumerate(entries)}
    table = rows_of("flows")
    rows = results.flows(table, network, ports, origin)
    done = results.write_fct(path / "fct.txt", rows, network)
    report.written.append(("fct.txt", f"completion times of {counted(done, 'flow')}"))
    if endless := table["size_bytes"].null_count():
        report.not_modelled.append(
            (f"{counted(endless, 'flow')} without an end", "their files have none")
        )
    if waiting := len(table) - len(rows) - endless:
        report.not_modelled.append(
            (f"{counted(waiting, 'flow')} that never started", "left out: they have no start")
        )
    if done < len(rows):
        report.not_modelled.append(
            (
                f"{counted(len(rows) - done, 'flow')} that did not finish",
                "in flow.txt, not in fct.txt, as there",
            )
        )
    count = results.write_pfc(path / "pfc.txt", rows_of("pauses"), network, origin)
    report.written.append(("pfc.txt", counted(count, "line")))
    count = results.write_queues(path / "qlen.txt", rows_of("queues"), network, origin)
    report.written.append(
        ("qlen.txt", f"queues of {counted(count, 'port')}, those that were recorded")
    )
    report.not_modelled.append(
        ("queues that were not recorded", "run with -s record.queues='switch*->*' for all")
    )
    report.not_modelled.append(
        ("queues without the packet that is sent", "with it: up to 1 KB more than there")
    )
    return rows


def _listed(entries: list[JsonObject], network: Nodes, origin: int, report: Report) -> list[Flow]:
    """Return the flows that a scenario lists, in the order of their starts."""
    rows: list[Flow] = []
    for index, entry in enumerate(entries):
        arrivals = entry["arrivals"]
        if arrivals != "list":
            report.not_modelled.append(
                (
                    f"traffic.{index}, arrivals {arrivals}",
                    "not a list: export a run, whose flows are drawn",
                )
            )
            continue
        waiting, port = 0, _port(entry)
        for row in csv.DictReader(_data(entry["flows"]), skipinitialspace=True):
            if (row.get("after") or "").strip():
                waiting += 1
                continue
            rows.append(_row(row, int(entry["priority"]), port, network, origin))
        if waiting:
            report.not_modelled.append(
                (
                    f"{waiting} flows of traffic.{index} that wait",
                    "export a run, which has their starts",
                )
            )
    return sorted(rows, key=lambda row: row.start)


def _row(row: dict[str, str], priority: int, port: int, network: Nodes, origin: int) -> Flow:
    octets, start = (_core.quantity(row[key]) for key in ("size", "start"))
    if octets is None or start is None:
        raise FormatError(f"'{row['size']}', '{row['start']}': no size and time")
    return Flow(
        network.numbers[row["from"].strip()],
        network.numbers[row["to"].strip()],
        int(row.get("class") or priority),
        0,
        port,
        round(octets[0]),
        origin + round(start[0] * 10**12),
        None,
        0,
    )


def _data(text: str) -> Iterable[str]:
    """Return the lines of a list that are no comments."""
    return (line for line in text.splitlines() if line.strip() and not line.startswith("#"))


def _port(entry: JsonObject) -> int:
    """Return the destination port of an entry's flows: what its list was imported with, or 100."""
    port = port_of(str(entry.get("flows", "")))
    return PORT if port is None else port


def _text(ps: int) -> str:
    """Return a time in seconds, exactly.

    >>> _text(2_000_010_000_000), _text(2_000_000_000_000)
    ('2.00001', '2.0')
    """
    seconds, rest = divmod(ps, 10**12)
    return f"{seconds}.{f'{rest:012d}'.rstrip('0') or '0'}"
