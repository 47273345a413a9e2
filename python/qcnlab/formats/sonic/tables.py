"""Tables of a SONiC device: CONFIG_DB in its nested and its flat form."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from qcnlab.formats.lines import shown
from qcnlab.formats.sonic.values import Value, octets

if TYPE_CHECKING:
    from pathlib import Path

    from qcnlab.formats.sonic.json_text import Item, Object

BAR = "|"
FIELDS: dict[str, frozenset[str] | None] = {
    "BUFFER_PG": frozenset({"profile"}),
    "BUFFER_POOL": frozenset({"type", "mode", "size", "xoff"}),
    "BUFFER_PROFILE": frozenset(
        {"pool", "size", "dynamic_th", "static_th", "xoff", "xon", "xon_offset"}
    ),
    "BUFFER_QUEUE": frozenset({"profile"}),
    "CABLE_LENGTH": None,
    "DEFAULT_LOSSLESS_BUFFER_PARAMETER": frozenset({"default_dynamic_th", "over_subscribe_ratio"}),
    "DEVICE_METADATA": frozenset({"hostname", "hwsku", "platform", "type", "buffer_model"}),
    "DEVICE_NEIGHBOR": frozenset({"name", "port"}),
    "DEVICE_NEIGHBOR_METADATA": frozenset({"type", "hwsku"}),
    "DSCP_TO_TC_MAP": None,
    "LOSSLESS_TRAFFIC_PATTERN": frozenset({"mtu", "small_packet_percentage"}),
    "MAP_PFC_PRIORITY_TO_QUEUE": None,
    "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP": None,
    "PFC_WD": frozenset({"action", "detection_time", "restoration_time", "POLL_INTERVAL"}),
    "PORT": frozenset({"speed", "mtu", "lanes", "admin_status"}),
    "PORT_QOS_MAP": frozenset(
        {
            "pfc_enable", "dscp_to_tc_map", "tc_to_pg_map", "tc_to_queue_map", "pfc_to_queue_map",
            "pfc_to_pg_map", "pfcwd_sw_enable",
        }
    ),
    "QUEUE": frozenset({"scheduler", "wred_profile"}),
    "SCHEDULER": frozenset({"type", "weight"}),
    "TC_TO_PRIORITY_GROUP_MAP": None,
    "TC_TO_QUEUE_MAP": None,
    "WRED_PROFILE": frozenset(
        {
            "green_min_threshold", "green_max_threshold", "green_drop_probability",
            "wred_green_enable", "ecn",
        }
    ),
}  # fmt: skip
"""The tables that are read, with their fields; `None`: all of them."""
PLURAL = frozenset({"BUFFER_PG", "BUFFER_QUEUE", "QUEUE"})
"""Tables whose keys are ports and numbers, several of each or ranges."""
PORTS = frozenset({"PORT_QOS_MAP", "PFC_WD"})
"""Tables whose keys are ports, of which there may be several."""
DUMPED = frozenset({"type", "ttl", "expireat", "value"})
"""What redis-dump puts around a row."""


@dataclass
class Entry:
    """A row of a table.

    Attributes
    ----------
    key : Value
        Its key as the file has it.
    fields : dict
        What it says, by the fields' names; lists are joined by commas.
    """

    key: Value
    fields: dict[str, Value]

    def require(self, name: str) -> Value:
        """Return a field; raise `FormatError` if the row has none of that name."""
        try:
            return self.fields[name]
        except KeyError:
            raise self.key.fault(f"'{self.key.text}' has no {name}") from None


@dataclass
class Tables:
    """The tables of one device, of all its files.

    Attributes
    ----------
    rows : dict
        Of each table that is read its rows by their keys; ports and numbers of keys stand apart.
    others : dict
        Of each other table how many rows it has, and the file of its first.
    unread : dict
        Of each table that is read the fields that nothing reads, with how often they stand there.
    """

    rows: dict[str, dict[tuple[str, ...], Entry]] = field(default_factory=dict)
    others: dict[str, tuple[int, Path]] = field(default_factory=dict)
    unread: dict[tuple[str, str], int] = field(default_factory=dict)

    def table(self, name: str) -> dict[tuple[str, ...], Entry]:
        """Return the rows of a table; none where the device has no such table."""
        return self.rows.get(name, {})

    def take(self, content: Object, path: Path) -> None:
        """Take the tables of an object.

        Parameters
        ----------
        content : Object
            As `json_text.objects` returns it.
        path : Path
            Its file.

        Raises
        ------
        FormatError
            For a row that is no object, a key without its parts, and a field that says something
            else elsewhere.
        """
        for key, item in content.values():
            table, bar, rest = key.text.partition(BAR)
            if not isinstance(item, dict):
                raise key.fault(f"'{short(key.text)}' is no object of rows")
            if bar:
                self._row(table, Value(rest, key.path, key.line), _unwrapped(item), path)
            else:
                for name, row in item.values():
                    if not isinstance(row, dict):
                        raise name.fault(f"{table} '{short(name.text)}' is no object of fields")
                    self._row(table, name, row, path)

    def _row(self, table: str, key: Value, row: Object, path: Path) -> None:
        known = FIELDS.get(table, frozenset())
        if table not in FIELDS:
            count, first = self.others.get(table, (0, path))
            self.others[table] = (count + 1, first)
            return
        fields = {}
        for name, (_, item) in row.items():
            bare = name.removesuffix("@")
            if known is None or bare in known:
                fields[bare] = _single(item, key, bare)
            else:
                self.unread[table, bare] = self.unread.get((table, bare), 0) + 1
        rows = self.rows.setdefault(table, {})
        for parts in _keys(table, key):
            there = rows.setdefault(parts, Entry(key, {}))
            for name, value in fields.items():
                before = there.fields.setdefault(name, value)
                if before.text != value.text:
                    raise value.fault(
                        f"{table} '{short(key.text)}' has {name} {value.shown()}, but "
                        f"{before.where} has {before.shown()}: keep one"
                    )


def is_tables(content: Object) -> bool:
    """Return whether an object has tables of CONFIG_DB, nested or flat."""
    return any(key.partition(BAR)[0] in FIELDS for key in content)


def _unwrapped(item: Object) -> Object:
    """Return a row without what redis-dump puts around it."""
    if set(item) <= DUMPED and "value" in item:
        inner = item["value"][1]
        if isinstance(inner, dict):
            return inner
    return item


def _single(item: Item, key: Value, name: str) -> Value:
    if isinstance(item, Value):
        return item
    if isinstance(item, list) and all(isinstance(each, Value) for each in item):
        values = [each for each in item if isinstance(each, Value)]
        first = values[0] if values else key
        return Value(",".join(each.text for each in values), first.path, first.line)
    raise key.fault(f"'{short(key.text)}' has {name} that is neither a text nor a list of texts")


def _keys(table: str, key: Value) -> list[tuple[str, ...]]:
    parts = [part.strip() for part in key.text.split(BAR)]
    if table in PLURAL:
        if len(parts) not in (2, 4):
            raise key.fault(f"{table} '{short(key.text)}' is no key of a port and numbers")
        # Of switches of several chips a key begins with the host and the chip.
        ports, numbers = parts[-2].split(","), parts[-1]
        listed = Value(numbers, key.path, key.line).numbers(f"{table} '{short(key.text)}'", 255)
        return [(*parts[:-2], port.strip(), str(each)) for port in ports for each in listed]
    if table in PORTS:
        return [(*parts[:-1], port.strip()) for port in parts[-1].split(",")]
    return [tuple(parts)]


def short(text: str) -> str:
    """Return text for an error: printable and not long."""
    return shown(octets(text))[1:-1].removesuffix("'")
