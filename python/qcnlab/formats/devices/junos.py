"""Switches of Juniper: lines of Junos, in the form of set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qcnlab.formats.devices.settings import blocks, fabric, told

if TYPE_CHECKING:
    from qcnlab.formats.devices.settings import Settings
    from qcnlab.formats.report import Report

SET = "set class-of-service"


def junos(source: str) -> tuple[list[str], Report]:
    """Return what a scenario says of its switches' ports as lines of Junos.

    Parameters
    ----------
    source : str
        A scenario file or name.
    """
    known = fabric(source)
    numbers = {id(port): index for index, (port, _) in enumerate(known.groups, 1)}
    classes = sorted({each for port, _ in known.groups for each in port.pfc})
    lines = []
    if classes:
        lines += ["# of each switch: a class that loses nothing, its queue, its priority of PFC"]
        lines += [
            f"{SET} forwarding-classes class QCNLAB-{each} queue-num {each} no-loss "
            f"pfc-priority {each}"
            for each in classes
        ] + ["#"]
    lines += blocks(known, "#", lambda port, report: _block(port, report, numbers[id(port)]))
    return told(known, lines)


def _block(port: Settings, report: Report, group: int) -> list[str]:
    if port.marks:
        report.not_modelled.append(
            ("k_min, k_max, p_max",
             "Junos has thresholds in percent of a queue's buffer, whose size no scenario says")
        )  # fmt: skip
    if port.weights:
        report.not_modelled.append(("weights", "schedulers of Junos are not written"))
    if port.watchdog is not None:
        report.not_modelled.append(
            ("[[watchdog]]", "times and action of pfc-watchdog are not certain here; not written")
        )
    if not port.pfc:
        return []
    profile = f"{SET} congestion-notification-profile QCNLAB-{group}"
    out = [
        "# m: from the link's delay, 5 ns/m; the switch's headroom follows from it",
        f"{profile} input cable-length {port.cable}",
        "# PFC, as [[pause]] priorities; code points are priorities in three bits",
    ]
    for each in port.pfc:
        out += [
            f"{profile} input ieee-802.1 code-point {each:03b} pfc",
            f"{profile} output ieee-802.1 code-point {each:03b} flow-control-queue {each}",
        ]
    return [*out, f"{SET} interfaces INTERFACE congestion-notification-profile QCNLAB-{group}"]
