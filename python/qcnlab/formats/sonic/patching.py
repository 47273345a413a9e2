"""What a scenario changes in a fabric's CONFIG_DB: the fewest rows, by the devices' own names."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from qcnlab import api
from qcnlab.formats.lines import FormatError
from qcnlab.formats.report import Report
from qcnlab.formats.sonic import importing
from qcnlab.formats.sonic.exporting import Tables, rows_of, site_of, write
from qcnlab.formats.sonic.reading import read
from qcnlab.formats.sonic.switches import LOSSLESS
from qcnlab.formats.sonic.tables import BAR
from qcnlab.formats.sonic.values import reference

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from qcnlab.formats.sonic.exporting import Site
    from qcnlab.formats.sonic.network import Network
    from qcnlab.formats.sonic.switches import Switch
    from qcnlab.formats.sonic.tables import Entry

GLOBAL = "GLOBAL"
NAMING = {
    "WRED_PROFILE": ("QUEUE", "wred_profile"),
    "SCHEDULER": ("QUEUE", "scheduler"),
    "BUFFER_PROFILE": ("BUFFER_PG", "profile"),
}
"""Tables of profiles: the table whose rows name them, and the field that does."""
MEANING = {
    "green_min_threshold": "octets: k_min",
    "green_max_threshold": "octets: k_max",
    "green_drop_probability": "percent: p_max",
    "wred_green_enable": "whether queues mark or drop early",
    "ecn": "whether queues mark",
    "dynamic_th": "alpha is 2 to its power: pg_alpha",
    "size": "octets",
    "xoff": "octets: headroom",
    "xon": "octets below which a pause ends",
    "xon_offset": "octets below the limit at which a pause ends",
    "speed": "Mb/s",
    "cable": "metres, 5 ns each",
    "pfc_enable": "classes: priorities of [[pause]]",
    "detection_time": "ms: detect_after",
    "restoration_time": "ms: restore_after",
    "POLL_INTERVAL": "ms: poll",
    "action": "of the watchdog",
    "weight": "share of a queue: weights",
}
"""The unit of each field and what it is in a scenario."""


class Fact(NamedTuple):
    """What a switch's rows say.

    Attributes
    ----------
    table : str
        The table.
    far : str
        The node at the port's other end, or the name of a row that has no port.
    number : int
        The class or queue; -1 for a row that has none.
    field : str
        The field of the row.
    """

    table: str
    far: str
    number: int
    field: str


def patch(source: str, configurations: Sequence[str], out: Path) -> Report:
    """Write the rows of CONFIG_DB that a scenario changes, a folder for each switch that has any.

    The configurations are read as `import` reads them. What their scenario and this one say alike
    stays as it is, whatever the rows are.

    Parameters
    ----------
    source : str
        A scenario file or name: that of these configurations, with other values.
    configurations : sequence of str
        Files and folders, or ``DEVICE=FILE``.
    out : Path
        A new folder.

    Returns
    -------
    Report
        Each field that changes, from what to what, with its unit; and what no row can say.

    Raises
    ------
    FormatError
        If the folder is there, a file cannot be read, or the networks differ.
    """
    if out.exists():
        raise FormatError(f"'{out}' is there already: name a new folder with -o")
    report = Report()
    fabric = read(configurations, report)
    text, net = importing.scenario_of(fabric, importing.Options(), Report())
    before = site_of(api.Scenario.from_toml(text, name="configurations"))
    after = site_of(api.load(source))
    _same_network(before, after, source)
    made = {}
    for name, switch in fabric.switches.items():
        if name not in net.ports:
            continue
        hwsku = switch.hwsku.text if switch.hwsku else None
        was = _facts(rows_of(before, name, hwsku))
        becomes = _facts(rows_of(after, name, hwsku))
        rows = _Rows(switch, net, report)
        rows.take(was, becomes)
        if rows.tables:
            made[name] = rows.tables
    told = set(before.report.not_modelled)
    report.not_modelled += [each for each in after.report.not_modelled if each not in told]
    write(made, out, report)
    if not made:
        report.written.append((str(out), "not written: the configurations say all of it already"))
    return report


def _same_network(before: Site, after: Site, source: str) -> None:
    def ends(site: Site) -> set[tuple[str, str]]:
        return {(name, far) for name, links in site.links.items() for far, _, _ in links}

    for one, other, what in ((before, after, "has no"), (after, before, "has a")):
        for name, far in sorted(ends(one) - ends(other)):
            raise FormatError(
                f"{source} {what} link from {name} to {far}, unlike the configurations: give "
                "those that it comes from"
            )


def _facts(tables: Tables) -> dict[Fact, str]:
    """Return what rows say, by what is at the far ends of ports."""
    far = {port: row["name"] for port, row in tables["DEVICE_NEIGHBOR"].items()}
    out: dict[Fact, str] = {}

    def take(table: str, name: str, number: int, row: Mapping[str, str]) -> None:
        out.update({Fact(table, name, number, field): value for field, value in row.items()})

    for port, row in tables["PORT"].items():
        take("PORT", far[port], -1, {"speed": row["speed"]})
        take("CABLE_LENGTH", far[port], -1, {"cable": tables["CABLE_LENGTH"]["AZURE"][port]})
    for table in ("PORT_QOS_MAP", "PFC_WD"):
        for key, row in tables.get(table, {}).items():
            take(table, far.get(key, key), -1, row)
    take("BUFFER_POOL", LOSSLESS, -1, tables.get("BUFFER_POOL", {}).get(LOSSLESS, {}))
    for table, (users, field) in NAMING.items():
        for key, row in tables.get(users, {}).items():
            port, _, number = key.partition(BAR)
            if field in row:
                take(table, far[port], int(number), tables[table][row[field]])
    return out


class _Rows:
    """The rows of a switch that change.

    Parameters
    ----------
    switch : Switch
        As its files describe it.
    net : Network
        Which of its ports have a link.
    report : Report
        Gets each field that changes.
    """

    def __init__(self, switch: Switch, net: Network, report: Report) -> None:
        self.tables: Tables = {}
        self._switch, self._report = switch, report
        self._linked: dict[str, list[str]] = {}
        for port, far in net.ports[switch.name].items():
            self._linked.setdefault(far, []).append(port)

    def take(self, was: Mapping[Fact, str], becomes: Mapping[Fact, str]) -> None:
        """Take what is said otherwise than before."""
        for fact in sorted(was.keys() - becomes.keys()):
            self._report.not_modelled.append(
                (f"{self._switch.name}: {fact.table} {fact.field} towards {fact.far}",
                 "the scenario has it no more: remove it by hand")
            )  # fmt: skip
        changed = {fact: value for fact, value in becomes.items() if was.get(fact) != value}
        for fact in sorted(changed):
            if fact.table not in NAMING:
                self._plain(fact, was.get(fact), changed[fact])
        for table in NAMING:
            wanted: dict[tuple[str, int], dict[str, str]] = {}
            for fact in sorted(changed):
                if fact.table == table:
                    for port in self._linked[fact.far]:
                        number = self._number(table, port, fact.number)
                        wanted.setdefault((port, number), {})[fact.field] = changed[fact]
            if wanted:
                whole = {fact: value for fact, value in becomes.items() if fact.table == table}
                self._profiles(table, wanted, whole)

    def _number(self, table: str, port: str, priority: int) -> int:
        """Return the group or queue of a class; a scheduler's number is the queue's already."""
        field = {"BUFFER_PROFILE": "pfc_to_pg_map", "WRED_PROFILE": "pfc_to_queue_map"}.get(table)
        return self._switch.mapped(port, field, priority) if field else priority

    def _plain(self, fact: Fact, was: str | None, value: str) -> None:
        """Change a field of a row that no other row names."""
        if fact.table == "BUFFER_POOL":
            self._pool(fact, was, value)
            return
        if fact.far == GLOBAL:
            self._set(fact.table, GLOBAL, fact.field, was, value)
            return
        for port in self._linked[fact.far]:
            if fact.table == "CABLE_LENGTH":
                key = next(
                    (entry.key.text for entry in self._switch.tables.table(fact.table).values()
                     if port in entry.fields), "AZURE",
                )  # fmt: skip
                self._set(fact.table, key, port, was, value, MEANING["cable"])
                continue
            # A row of several ports has all of a switch's, whose links have the same classes and
            # watchdog in a scenario.
            entry = self._switch.tables.table(fact.table).get((port,))
            key = entry.key.text if entry else port
            if fact.field not in self.tables.get(fact.table, {}).get(key, {}):
                self._set(fact.table, key, fact.field, was, value)

    def _pool(self, fact: Fact, was: str | None, value: str) -> None:
        """Change a pool by as much as the scenario's changes: it also holds other groups."""
        entry = self._switch.tables.table("BUFFER_POOL").get((LOSSLESS,))
        own = entry.fields.get(fact.field) if entry else None
        if own is not None and was is not None and fact.field in ("size", "xoff"):
            whole = own.octets(fact.field) + int(value) - int(was)
            self._set("BUFFER_POOL", LOSSLESS, fact.field, own.text, str(whole))
        else:
            self._set("BUFFER_POOL", LOSSLESS, fact.field, own.text if own else None, value)

    def _set(
        self, table: str, key: str, field: str, was: str | None, value: str, meaning: str = ""
    ) -> None:
        self.tables.setdefault(table, {}).setdefault(key, {})[field] = value
        before = "is new" if was is None else f"was {was}"
        self._report.mapped.append(
            (f"{self._switch.name}: {table}|{key} {field} {before}",
             f"{value}  ({meaning or MEANING.get(field, 'as exported')})")
        )  # fmt: skip

    def _profiles(
        self,
        table: str,
        wanted: Mapping[tuple[str, int], dict[str, str]],
        whole: Mapping[Fact, str],
    ) -> None:
        """Change profiles in place where all that have one want the same, and part them if not."""
        users, field = NAMING[table]
        own = {
            at: reference(entry.fields[field].text)
            for at, entry in self._switch.numbered(users).items()
            if field in entry.fields and reference(entry.fields[field].text) not in ("", "NULL")
        }
        linked = {port for ports in self._linked.values() for port in ports}
        wants: dict[str | None, dict[tuple[tuple[str, str], ...], list[tuple[str, int]]]] = {}
        for at, fields in wanted.items():
            changes = tuple(sorted(fields.items()))
            wants.setdefault(own.get(at), {}).setdefault(changes, []).append(at)
        for name, groups in wants.items():
            entry = self._switch.tables.table(table).get((name,)) if name else None
            if name and not entry:
                raise FormatError(f"'{name}' is no row of {table} of {self._switch.name}")
            having = sum(known == name and at[0] in linked for at, known in own.items())
            kept = having > sum(map(len, groups.values()))
            for number, (changes, ends) in enumerate(groups.items()):
                if name and entry and number == 0 and not kept:
                    for changed, value in changes:
                        was = entry.fields.get(changed)
                        self._set(table, name, changed, was.text if was else None, value)
                elif table == "BUFFER_PROFILE" and not name:
                    self._computed(ends, changes)
                else:
                    self._part(table, entry, dict(changes), ends, whole)

    def _computed(
        self, ends: Iterable[tuple[str, int]], changes: Iterable[tuple[str, str]]
    ) -> None:
        said = ", ".join(f"{field} {value}" for field, value in changes)
        self._report.not_modelled += [
            (f"{self._switch.name}: group {number} of {port}: {said}",
             "no row has its profile, which SONiC computes from pg_profile_lookup.ini")
            for port, number in ends
        ]  # fmt: skip

    def _part(
        self,
        table: str,
        entry: Entry | None,
        changes: dict[str, str],
        ends: Sequence[tuple[str, int]],
        whole: Mapping[Fact, str],
    ) -> None:
        """Write a profile of its own for some of those that have one, or that have none yet."""
        users, field = NAMING[table]
        port, number = ends[0]
        if entry is None:
            far = next(name for name, ports in self._linked.items() if port in ports)
            known = {
                fact.field: value
                for fact, value in whole.items()
                if fact.far == far and self._number(table, port, fact.number) == number
            }
            base, why = "QCNLAB", "it had none"
        else:
            known = _whole_row(table, entry)
            base, why = entry.key.text, f"others keep {entry.key.text}"
        name = self._free(table, base)
        self.tables.setdefault(table, {})[name] = known | changes
        said = ", ".join(f"{key} {value}" for key, value in (known | changes).items())
        where = ", ".join(f"{port}{BAR}{number}" for port, number in ends)
        self._report.mapped.append(
            (f"{self._switch.name}: {table}{BAR}{name} of {users} {where} is new", f"{said}; {why}")
        )
        for at in ends:
            self._name(users, field, table, name, at)

    def _free(self, table: str, base: str) -> str:
        taken = {key for (key, *_) in self._switch.tables.table(table)} | set(
            self.tables.get(table, {})
        )
        names = (f"{base}_{count}" for count in range(2, len(taken) + 3))
        return base if base not in taken else next(name for name in names if name not in taken)

    def _name(self, users: str, field: str, table: str, name: str, at: tuple[str, int]) -> None:
        """Let a queue or group have a profile, which may take its row out of one of several."""
        port, number = at
        entry = self._switch.numbered(users).get(at)
        rows = self.tables.setdefault(users, {})
        if entry is None:
            rows.setdefault(f"{port}{BAR}{number}", {})[field] = name
            return
        old = entry.fields.get(field)
        bracketed = old is not None and old.text.startswith("[")
        together = [key for key, each in self._switch.numbered(users).items() if each is entry
                    or each.key == entry.key]  # fmt: skip
        if len(together) > 1:
            told = (
                f"{self._switch.name}: {users}{BAR}{entry.key.text} ({entry.key.where})",
                "ports and numbers of this row differ now: remove it, the patch has a row for each",
            )
            if told not in self._report.not_modelled:
                self._report.not_modelled.append(told)
        for one in together:
            known = _whole_row(users, entry)
            rows.setdefault(f"{one[0]}{BAR}{one[1]}", known)
        rows[f"{port}{BAR}{number}"][field] = f"[{table}{BAR}{name}]" if bracketed else name


def _whole_row(table: str, entry: Entry) -> dict[str, str]:
    """Return a row as its file has it, also the fields that nothing reads here."""
    tree: Any = json.loads(entry.key.path.read_text(encoding="utf-8"))
    flat = tree.get(f"{table}{BAR}{entry.key.text}")
    row = flat.get("value", flat) if flat else tree.get(table, {}).get(entry.key.text, {})
    known = {field: value for field, value in row.items() if isinstance(value, str)}
    return known | {field: value.text for field, value in entry.fields.items()}
