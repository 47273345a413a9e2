"""Managed objects after a replication: IEEE8021-CN-MIB and Linux' ieee_qcn, as JSON has them.

An object without an answer holds ``{"unanswered": reason}``, one with named values
``{"value": number, "name": word}``.
"""

from __future__ import annotations

from typing import Literal, TypedDict

TableKey = Literal[
    "global",
    "errored_port",
    "component_priority",
    "port_priority",
    "cp",
    "cpid_to_interface",
    "rp_port_priority",
    "rp_group",
]
"""A table of the MIB."""
Struct = Literal["ieee_qcn", "ieee_qcn_stats"]
"""A struct of Linux' dcbnl.h."""


class Interface(TypedDict):
    """A port of a node, counted from 1."""

    ifIndex: int
    port: str


class MibRow(TypedDict):
    """A row of a table: its index, and beside it the objects by their full names."""

    index: dict[str, int | str]


class LinuxPort(TypedDict):
    """What Linux shows of a port: for each member of a struct a value for each priority."""

    ifIndex: int
    port: str
    ieee_qcn: dict[str, list[object]]
    ieee_qcn_stats: dict[str, list[object]]


_Tables = TypedDict(
    "_Tables",
    {
        "unanswered": str,
        "global": MibRow,
        "errored_port": list[MibRow],
        "component_priority": list[MibRow],
        "port_priority": list[MibRow],
        "cp": list[MibRow],
        "cpid_to_interface": list[MibRow],
        "rp_port_priority": list[MibRow],
        "rp_group": list[MibRow],
        "linux": list[LinuxPort],
    },
    total=False,
)


class ManagedNode(_Tables):
    """A bridge or an end station with its tables, or why it has none (`unanswered`)."""

    node: str
    role: str
    interfaces: list[Interface]


class ManagedObjects(TypedDict):
    """The objects of every bridge and host after a replication."""

    module: str
    scenario: str
    seed: int
    replication: int
    time_s: float
    priorities: list[int]
    nodes: list[ManagedNode]
