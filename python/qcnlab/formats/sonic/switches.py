"""A switch as its tables describe it: ports, buffers, classes, thresholds, watchdogs."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from qcnlab.formats.sonic.tables import Entry, Tables
from qcnlab.formats.sonic.values import Value, reference
from qcnlab.headroom.platforms import Platform, platforms

if TYPE_CHECKING:
    from qcnlab.formats.sonic.profiles import Row

CLASSES = 8
MOST_SPEED = 10**7
MOST_WATCHDOG = 10**6
LOOKED_UP = "pg_profile_lookup.ini"
HWSKUS = (
    ("SN2700", "SN2700"), ("SN4600C", "SN4700"), ("SN4700", "SN4700"), ("SN5600", "SN5600"),
    ("SN5640", "SN5640"), ("SN6600", "SN6600"), ("7060CX", "Tomahawk"), ("S6100", "Tomahawk"),
    ("7260CX3", "Tomahawk2"), ("S6000", "Trident2"), ("7050QX", "Trident2"),
    ("7060X6", "Tomahawk5"),
)  # fmt: skip
"""What the hwsku of a device contains, and the platform that it is."""
MELLANOX = ("MSN", "SN2", "SN3", "SN4", "SN5", "SN6", "MLNX", "NVIDIA", "MELLANOX")
"""What hwskus of switches contain whose pools exclude what groups have to themselves."""


@dataclass(frozen=True)
class Profile:
    """A buffer profile: sizes in octets.

    Attributes
    ----------
    name : str
        Its name, or the row of the lookup table.
    at : Value
        Where it stands.
    pool : str
        The pool it draws on.
    size : int
        What a group or queue has to itself.
    xoff, xon, xon_offset : int, optional
        Headroom; a profile with `xoff` is one of a lossless class.
    dynamic_th : int, optional
        The exponent of alpha.
    static_th : int, optional
        A fixed limit.
    values : dict
        The same as they stand in files.
    """

    name: str
    at: Value
    pool: str
    size: int
    xoff: int | None
    xon: int | None
    xon_offset: int | None
    dynamic_th: int | None
    static_th: int | None
    values: dict[str, Value]

    @property
    def lossless(self) -> bool:
        """Whether a class with it has headroom."""
        return bool(self.xoff)


@dataclass(frozen=True)
class Pool:
    """A buffer pool: sizes in octets; `size` is `None` where SONiC computes it."""

    name: str
    at: Value
    size: int | None
    xoff: int
    ingress: bool
    dynamic: bool


@dataclass(frozen=True)
class Port:
    """A port: `speed` in Mb/s, `cable` in metres."""

    name: str
    at: Value
    speed: int | None
    mtu: int
    up: bool
    wide: bool
    cable: int | None
    cable_at: Value | None
    neighbor: str | None
    neighbor_port: str | None
    neighbor_at: Value | None


@dataclass(frozen=True)
class Wred:
    """Thresholds of a queue in octets, and the greatest probability in percent."""

    name: str
    at: Value
    k_min: int
    k_max: int
    percent: int
    marks: bool
    drops: bool


@dataclass(frozen=True)
class Watchdog:
    """The PFC watchdog of a port: times in ms."""

    at: Value
    detection: int
    restoration: int | None
    action: str
    poll: int | None
    poll_at: Value | None


class Group(NamedTuple):
    """A priority group of a port, with the profile that it has and where that is said."""

    port: str
    number: int
    profile: Profile
    at: Value


@dataclass
class Switch:
    """A switch.

    Attributes
    ----------
    name : str
        Its hostname.
    tables : Tables
        All that its files say.
    rows : dict
        Its lookup table, by speed in Mb/s and cable.
    """

    name: str
    tables: Tables = field(default_factory=Tables)
    rows: dict[tuple[int, str], Row] = field(default_factory=dict)
    _numbered: dict[str, dict[tuple[str, int], Entry]] = field(default_factory=dict)

    @cached_property
    def hwsku(self) -> Value | None:
        """The model of the device."""
        for entry in self.tables.table("DEVICE_METADATA").values():
            if "hwsku" in entry.fields:
                return entry.fields["hwsku"]
        return None

    @cached_property
    def platform(self) -> Platform | None:
        """The platform, where it is known."""
        sku = self.hwsku.text.upper() if self.hwsku else ""
        name = next((known for part, known in HWSKUS if part in sku), None)
        return platforms().get(name) if name else None

    @property
    def reserves_apart(self) -> bool:
        """Whether pools exclude what groups have to themselves, as on Mellanox' switches."""
        sku = self.hwsku.text.upper() if self.hwsku else ""
        return any(part in sku for part in MELLANOX)

    @cached_property
    def ports(self) -> dict[str, Port]:
        """The ports, by name."""
        cables = {
            port: value
            for entry in self.tables.table("CABLE_LENGTH").values()
            for port, value in entry.fields.items()
        }
        neighbors = self.tables.table("DEVICE_NEIGHBOR")
        out = {}
        for (name, *_), entry in self.tables.table("PORT").items():
            fields = entry.fields
            cable = cables.get(name)
            far = neighbors.get((name,))
            serial = fields.get("lanes")
            out[name] = Port(
                name=name,
                at=entry.key,
                speed=_whole(entry, "speed", MOST_SPEED, 1),
                mtu=_whole(entry, "mtu", 65_535, 64) or 9100,
                up=fields["admin_status"].text != "down" if "admin_status" in fields else True,
                wide=serial is not None and serial.text.count(",") == 7,
                cable=cable.metres(f"cable of {name}") if cable else None,
                cable_at=cable,
                neighbor=far.require("name").text if far else None,
                neighbor_port=far.fields["port"].text if far and "port" in far.fields else None,
                neighbor_at=far.key if far else None,
            )
        for (name, *_), entry in neighbors.items():
            if name not in out:
                raise entry.key.fault(f"DEVICE_NEIGHBOR names '{name}', which PORT has not")
        return out

    @cached_property
    def pools(self) -> dict[str, Pool]:
        """The buffer pools, by name."""
        return {
            name: Pool(
                name=name,
                at=entry.key,
                size=_octets(entry, "size"),
                xoff=_octets(entry, "xoff") or 0,
                ingress=entry.fields["type"].text != "egress" if "type" in entry.fields else True,
                dynamic="mode" not in entry.fields or entry.fields["mode"].text != "static",
            )
            for (name, *_), entry in self.tables.table("BUFFER_POOL").items()
        }

    @cached_property
    def profiles(self) -> dict[str, Profile]:
        """The buffer profiles, by name."""
        return {
            name: _profile(name, entry.key, entry.fields)
            for (name, *_), entry in self.tables.table("BUFFER_PROFILE").items()
        }

    def numbered(self, table: str) -> dict[tuple[str, int], Entry]:
        """Return the rows of a table by port and number.

        Keys of switches of several chips begin with a host and a chip; those of other hosts are
        left out, and counted as unread.
        """
        if table not in self._numbered:
            out = self._numbered[table] = {}
            for key, entry in self.tables.table(table).items():
                if len(key) == 2 or key[0] == self.name:
                    out[key[-2], int(key[-1])] = entry
                else:
                    what = (table, f"of {key[0]}")
                    self.tables.unread[what] = self.tables.unread.get(what, 0) + 1
        return self._numbered[table]

    @cached_property
    def groups(self) -> dict[tuple[str, int], Group]:
        """The priority groups that have a profile, by port and number.

        A lossless class without a row of its own has the row of the lookup table, as SONiC's buffer
        manager sets it; where there is none the class has no headroom.
        """
        out: dict[tuple[str, int], Group] = {}
        for (port, number), entry in self.numbered("BUFFER_PG").items():
            if port not in self.ports:
                continue
            profile = self._named(entry, "profile")
            if profile is not None:
                out[port, number] = Group(port, number, profile, entry.fields["profile"])
        for name, at in self.ports.items():
            row = self.row(at)
            if row is None:
                continue
            for priority in self.pfc(name):
                number = self.mapped(name, "pfc_to_pg_map", priority)
                if (name, number) not in out:
                    out[name, number] = Group(
                        name, number, self._looked_up(row), row.values["xoff"]
                    )
        return out

    def row(self, port: Port) -> Row | None:
        """Return the row of the lookup table for a port."""
        if port.speed is None or port.cable_at is None:
            return None
        return self.rows.get((port.speed, port.cable_at.text))

    def _looked_up(self, row: Row) -> Profile:
        pool = next((each for each in self.pools.values() if each.name == LOSSLESS), None)
        kind = "static_th" if pool is not None and not pool.dynamic else "dynamic_th"
        kept = ("size", "xon", "xoff", "xon_offset")
        values: dict[str, Value] = {
            name: value for name, value in row.values.items() if name in kept
        }
        values[kind] = row.values["threshold"]
        values["pool"] = Value(LOSSLESS, row.values["xoff"].path, row.values["xoff"].line)
        return _profile(f"{row.speed} {row.cable}", row.values["xoff"], values)

    def _named(self, entry: Entry, name: str) -> Profile | None:
        """Return the profile that a row names; `None` for NULL, which means: to be computed."""
        value = entry.fields.get(name)
        if value is None:
            return None
        known = reference(value.text)
        if known in ("", "NULL"):
            return None
        if known not in self.profiles:
            raise value.fault(f"'{known[:60]}' is no row of BUFFER_PROFILE of {self.name}")
        return self.profiles[known]

    @cached_property
    def queue_profiles(self) -> dict[tuple[str, int], Profile]:
        """The profiles of queues, by port and number."""
        out = {}
        for (port, number), entry in self.numbered("BUFFER_QUEUE").items():
            profile = self._named(entry, "profile")
            if profile is not None and port in self.ports:
                out[port, number] = profile
        return out

    def qos(self, port: str, name: str) -> Value | None:
        """Return a field of a port's row in PORT_QOS_MAP, or of that of all ports."""
        maps = self.tables.table("PORT_QOS_MAP")
        for key in ((port,), ("global",)):
            entry = maps.get(key)
            if entry is not None and name in entry.fields:
                return entry.fields[name]
        return None

    def pfc(self, port: str) -> list[int]:
        """Return the classes in which a port has PFC."""
        value = self.qos(port, "pfc_enable")
        return value.numbers(f"pfc_enable of {port}", CLASSES - 1) if value else []

    def row_of_map(self, port: str, name: str) -> Entry | None:
        """Return the map that a port has; `None` where it has none.

        Raises
        ------
        FormatError
            If the map that it names is not there.
        """
        value = self.qos(port, name)
        if value is None:
            return None
        known = reference(value.text)
        entry = self.tables.table(MAPS[name]).get((known,))
        if entry is None:
            raise value.fault(f"{name}: '{known[:60]}' is no row of {MAPS[name]} of {self.name}")
        return entry

    def mapped(self, port: str, name: str, number: int) -> int:
        """Return what a map of a port makes of a number: the same where there is no map."""
        entry = self.row_of_map(port, name)
        value = entry.fields.get(str(number)) if entry else None
        return value.whole(f"{name} of {number}", 255) if value else number

    def traffic_class(self, port: str, dscp: int) -> tuple[int, Value] | None:
        """Return the traffic class of a DSCP and where it is said; `None` without a map."""
        entry = self.row_of_map(port, "dscp_to_tc_map")
        value = entry.fields.get(str(dscp)) if entry else None
        return (value.whole(f"class of DSCP {dscp}", CLASSES - 1), value) if value else None

    def wred(self, port: str, queue: int) -> Wred | None:
        """Return the WRED profile of a queue."""
        entry = self.numbered("QUEUE").get((port, queue))
        value = entry.fields.get("wred_profile") if entry else None
        if value is None or reference(value.text) in ("", "NULL"):
            return None
        known = reference(value.text)
        row = self.tables.table("WRED_PROFILE").get((known,))
        if row is None:
            raise value.fault(f"'{known[:60]}' is no row of WRED_PROFILE of {self.name}")
        low, high = _octets(row, "green_min_threshold"), _octets(row, "green_max_threshold")
        ecn = row.fields["ecn"].text if "ecn" in row.fields else "ecn_none"
        dropping = row.fields.get("wred_green_enable")
        return Wred(
            name=known,
            at=row.fields.get("green_max_threshold", row.key),
            k_min=low or 0,
            k_max=high or 0,
            percent=100 if (value := row.fields.get("green_drop_probability")) is None
            else value.whole("green_drop_probability", 100),
            marks="green" in ecn or ecn == "ecn_all",
            drops=dropping is not None and dropping.flag("wred_green_enable"),
        )  # fmt: skip

    def scheduler(self, port: str, queue: int) -> Entry | None:
        """Return the scheduler's row of a queue."""
        entry = self.numbered("QUEUE").get((port, queue))
        value = entry.fields.get("scheduler") if entry else None
        if value is None:
            return None
        row = self.tables.table("SCHEDULER").get((reference(value.text),))
        if row is None:
            raise value.fault(f"{value.shown()} is no row of SCHEDULER of {self.name}")
        return row

    def watchdog(self, port: str) -> Watchdog | None:
        """Return the watchdog of a port."""
        table = self.tables.table("PFC_WD")
        entry = table.get((port,))
        if entry is None:
            return None
        everywhere = table.get(("GLOBAL",))
        poll_at = everywhere.fields.get("POLL_INTERVAL") if everywhere else None
        detection = entry.require("detection_time")
        action = entry.fields.get("action")
        return Watchdog(
            at=detection,
            detection=detection.whole("detection_time in ms", MOST_WATCHDOG, 1),
            restoration=_whole(entry, "restoration_time", MOST_WATCHDOG, 1),
            action=action.text if action else "drop",
            poll=poll_at.whole("POLL_INTERVAL in ms", MOST_WATCHDOG, 1) if poll_at else None,
            poll_at=poll_at,
        )


LOSSLESS = "ingress_lossless_pool"
MAPS = {
    "dscp_to_tc_map": "DSCP_TO_TC_MAP",
    "tc_to_pg_map": "TC_TO_PRIORITY_GROUP_MAP",
    "tc_to_queue_map": "TC_TO_QUEUE_MAP",
    "pfc_to_pg_map": "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP",
    "pfc_to_queue_map": "MAP_PFC_PRIORITY_TO_QUEUE",
}
"""Fields of PORT_QOS_MAP, and the tables that they name rows of."""


def _profile(name: str, at: Value, fields: dict[str, Value]) -> Profile:
    entry = Entry(at, fields)
    dynamic, static = fields.get("dynamic_th"), fields.get("static_th")
    return Profile(
        name=name,
        at=at,
        pool=reference(fields["pool"].text) if "pool" in fields else "",
        size=_octets(entry, "size") or 0,
        xoff=_octets(entry, "xoff"),
        xon=_octets(entry, "xon"),
        xon_offset=_octets(entry, "xon_offset"),
        dynamic_th=dynamic.signed("dynamic_th", -8, 7) if dynamic else None,
        static_th=static.octets("static_th") if static else None,
        values=fields,
    )


def _octets(entry: Entry, name: str) -> int | None:
    value = entry.fields.get(name)
    return value.octets(name) if value is not None else None


def _whole(entry: Entry, name: str, most: int, least: int = 0) -> int | None:
    value = entry.fields.get(name)
    return value.whole(name, most, least) if value is not None else None
