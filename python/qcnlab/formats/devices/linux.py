"""PFC of hosts: commands of dcb (iproute2) and of mlnx_qos."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qcnlab.formats.devices.settings import CLASSES, fabric, told

if TYPE_CHECKING:
    from qcnlab.formats.devices.settings import Fabric
    from qcnlab.formats.report import Report

DEVICE = "INTERFACE"
SAME = "hosts obey pauses in the classes in which switches send them"


def dcb(source: str) -> tuple[list[str], Report]:
    """Return the commands of dcb that set hosts' PFC.

    Parameters
    ----------
    source : str
        A scenario file or name.
    """
    known = fabric(source)
    on = " ".join(f"{priority}:on" for priority in known.pfc)
    why = f"PFC in {_classes(known)}: {SAME}"
    lines = [f"dcb pfc set dev {DEVICE} prio-pfc all:off {on}".rstrip() + f"  # {why}"]
    known.report.not_modelled += [
        ("cables", "delay is in bit times by dcb and in metres by mlx5: qcnlab export mlnx_qos"),
        *_unsaid(known, "dcb ets, app"),
    ]
    return told(known, lines)


def mlnx_qos(source: str) -> tuple[list[str], Report]:
    """Return the commands of mlnx_qos that set hosts' PFC and cable.

    Parameters
    ----------
    source : str
        A scenario file or name.
    """
    known = fabric(source)
    flags = ",".join(str(int(priority in known.pfc)) for priority in range(CLASSES))
    lines = [
        f"mlnx_qos -i {DEVICE} --pfc {flags}  # classes 0..7; PFC in {_classes(known)}: {SAME}"
    ]
    lengths = sorted({cable for _, cable in known.hosts})
    if len(lengths) == 1:
        why = "m: from the link's delay, 5 ns/m; the adapter's own headroom follows from it"
        lines.append(f"mlnx_qos -i {DEVICE} --cable_len {lengths[0]}  # {why}")
    else:
        several = ", ".join(f"{length} m" for length in lengths)
        known.report.not_modelled.append(("cables", f"hosts differ: {several}; set each its own"))
    known.report.not_modelled += _unsaid(known, "--dscp2prio, --prio_tc, --tsa, --tcbw")
    return told(known, lines)


def _classes(known: Fabric) -> str:
    return f"class {', '.join(map(str, known.pfc))}" if known.pfc else "no class"


def _unsaid(known: Fabric, words: str) -> list[tuple[str, str]]:
    del known
    return [(words, "a scenario has classes, no DSCPs, and hosts do not share links by weight")]
