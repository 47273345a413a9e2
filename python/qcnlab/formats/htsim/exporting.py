"""`qcnlab export htsim`: the flows that a scenario lists, as a connection matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qcnlab.files.folders import NewFolder
from qcnlab.formats.htsim.tree import NoTree, tree
from qcnlab.formats.listed import Flow, listed
from qcnlab.formats.report import Report
from qcnlab.printing.text import counted

if TYPE_CHECKING:
    from pathlib import Path

Cause = tuple[int, bool]
"""A flow by its position, and whether its arrival counts (else its acknowledgement)."""


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
    report = Report()
    said = listed(source, "a matrix", report)
    flows, numbers = said.flows, said.numbers
    triggers, kept = _triggers(flows, report)
    lines: list[str] = []
    try:
        lines, hosts = tree(said.network, said.switches)
        numbers = {host: number for number, host in enumerate(hosts)}
    except NoTree as why:
        report.not_modelled.append(("the network", f"no .topo is written: {why}"))
    with NewFolder(out) as folder:
        if lines:
            (folder.path / "tree.topo").write_text("\n".join([*lines, ""]), encoding="ascii")
        _write(folder.path / "flows.cm", flows, kept, triggers, numbers)
        with (folder.path / "nodes.csv").open("w", encoding="utf-8") as file:
            file.write("node,name\n")
            file.writelines(f"{number},{host}\n" for host, number in numbers.items())
    report.written += [
        (str(out / "flows.cm"), f"{counted(len(kept), 'connection')}, times in ps"),
        (str(out / "nodes.csv"), "names of nodes"),
    ]
    if lines:
        report.written.append((str(out / "tree.topo"), f"the network, {lines[1].lower()}"))
        report.not_modelled.append(
            ("buffers of switches", "queues there have sizes: add Queue_Up and Queue_Down, octets")
        )
    report.not_modelled.append(("scheme, classes", "options of their command say them"))
    return report


def _triggers(
    flows: list[Flow], report: Report
) -> tuple[dict[frozenset[Cause], int], dict[int, frozenset[Cause]]]:
    """Return the triggers by what fires them, and for each flow that is written what it waits for.

    A flow fires one trigger when it has arrived, and one when it is acknowledged: what waits for
    more is left out, and so is what waits for that.
    """
    triggers: dict[frozenset[Cause], int] = {}
    fired: dict[Cause, frozenset[Cause]] = {}
    kept: dict[int, frozenset[Cause]] = {}
    delayed = shared = lost = 0
    for index in _in_order(flows):
        flow = flows[index]
        causes = frozenset((each, flows[each].target == flow.source) for each in flow.after)
        if any(position not in kept for position, _ in causes):
            lost += 1
        elif flow.delayed:
            delayed += 1
        elif any(fired.get(cause, causes) != causes for cause in causes):
            shared += 1
        else:
            kept[index] = causes
            if causes:
                triggers.setdefault(causes, len(triggers) + 1)
                fired.update(dict.fromkeys(causes, causes))
    notes = (
        (delayed, "waiting and starting later still", "a trigger starts a flow at once"),
        (shared, "waiting for part of what others wait for", "a flow there fires one trigger"),
        (lost, "waiting for one of these", "left out with them"),
    )
    report.not_modelled += [
        (f"{counted(count, 'flow')} {what}", f"{why}: not in the matrix")
        for count, what, why in notes
        if count
    ]
    return triggers, kept


def _in_order(flows: list[Flow]) -> list[int]:
    """Return positions of flows, each after those that it waits for."""
    open_ = [len(flow.after) for flow in flows]
    waiters: dict[int, list[int]] = {}
    for index, flow in enumerate(flows):
        for before in flow.after:
            waiters.setdefault(before, []).append(index)
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
