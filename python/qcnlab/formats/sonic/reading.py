"""The files of a fabric: which each is, and whose."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from qcnlab.formats.lines import FormatError
from qcnlab.formats.sonic import adapters, profiles
from qcnlab.formats.sonic.adapters import Adapter
from qcnlab.formats.sonic.json_text import content, objects
from qcnlab.formats.sonic.switches import Switch
from qcnlab.formats.sonic.tables import Tables, is_tables, short
from qcnlab.printing.text import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qcnlab.formats.report import Report
    from qcnlab.formats.sonic.json_text import Object
    from qcnlab.formats.sonic.profiles import Row

MOST_FILES = 10_000
NUMBERS = re.compile(r"([0-9]{1,18})")
KINDS = (
    "CONFIG_DB, buffers.json, qos.json, pg_profile_lookup.ini, mlxconfig -d DEVICE q, "
    "grep -r . ecn, mlnx_qos -i INTERFACE, dcb -j"
)


@dataclass
class File:
    """A file that was read.

    Attributes
    ----------
    path : Path
        Its name.
    owner : str, optional
        The device that the words of the command give it to.
    kind : str
        What it is.
    """

    path: Path
    owner: str | None
    kind: str
    text: str = ""
    content: list[Object] = field(default_factory=list)
    rows: dict[tuple[int, str], Row] = field(default_factory=dict)


@dataclass
class Fabric:
    """The devices that files describe.

    Attributes
    ----------
    switches, adapters : dict
        By name, in the order of the names.
    skipped : list of Path
        Files of folders that are none of these.
    """

    switches: dict[str, Switch] = field(default_factory=dict)
    adapters: dict[str, Adapter] = field(default_factory=dict)
    skipped: list[Path] = field(default_factory=list)


def read(words: Sequence[str], report: Report) -> Fabric:
    """Read the files of a fabric.

    Parameters
    ----------
    words : sequence of str
        Files and folders, or ``DEVICE=FILE``. A file without a hostname belongs to the device that
        its name begins with, as ``leaf1.qos.json``, or that its folder has the name of, or whose
        CONFIG_DB is alone in its folder.
    report : Report
        Gets a line for each file.

    Returns
    -------
    Fabric
        All devices.

    Raises
    ------
    FormatError
        For a file that is none of these, or of an unknown device; and for files that contradict.
    """
    files, skipped = _files(words)
    fabric = Fabric(skipped=skipped)
    tables = [file for file in files if file.kind == "tables"]
    homes: dict[Path, set[str]] = {}
    for file in tables:
        name = file.owner or _hostname(file)
        if name is not None:
            file.owner = name
            fabric.switches.setdefault(name, Switch(name))
            homes.setdefault(file.path.parent, set()).add(name)
    for file in tables:
        if file.owner is None:
            file.owner = _owner(file, set(fabric.switches), homes)
        if file.owner is None and not fabric.switches:
            file.owner = _first_part(file.path)
            homes.setdefault(file.path.parent, set()).add(file.owner)
        switch = fabric.switches.setdefault(_known(file, "switch"), Switch(_known(file, "switch")))
        count = _take_tables(switch.tables, file)
        report.read.append((str(file.path), f"{switch.name}: {counted(count, 'table')}"))
    for file in files:
        if file.kind == "rows":
            file.owner = file.owner or _owner(file, set(fabric.switches), homes)
            switch = fabric.switches.setdefault(
                _known(file, "switch"), Switch(_known(file, "switch"))
            )
            _take_rows(switch, file)
            what = f"{switch.name}: {counted(len(file.rows), 'row')} of headroom"
            report.read.append((str(file.path), what))
    hosts = _hosts(fabric)
    for file in files:
        if file.kind not in ("tables", "rows"):
            file.owner = file.owner or _owner(file, hosts, {})
            if file.owner is None and not fabric.switches:
                file.owner = _first_part(file.path)
            name = _known(file, "host")
            if name in fabric.switches:
                raise FormatError(
                    f"{file.path}: it is of an adapter, but '{short(name)}' is a switch: write "
                    "HOST=FILE"
                )
            adapter = fabric.adapters.setdefault(name, Adapter(name))
            count = _take_adapter(adapter, file)
            report.read.append(
                (str(file.path), f"{name}: {counted(count, 'setting')} of {file.kind}")
            )
    for path in fabric.skipped:
        report.not_modelled.append((str(path), f"none of {KINDS}"))
    fabric.switches = dict(sorted(fabric.switches.items(), key=_natural))
    fabric.adapters = dict(sorted(fabric.adapters.items(), key=_natural))
    return fabric


def _files(words: Sequence[str]) -> tuple[list[File], list[Path]]:
    out: list[File] = []
    skipped: list[Path] = []
    for word in words:
        path, owner = Path(word), None
        name, equals, rest = word.partition("=")
        if equals and not path.exists():
            path, owner = Path(rest), name
        if path.is_dir():
            inside = sorted(each for each in path.rglob("*") if each.is_file())
            inside = [each for each in inside if not each.name.startswith(".")]
            if not inside:
                raise FormatError(f"{path}: the folder has no files")
            for each in inside[: MOST_FILES + 1]:
                file = _file(each, owner, strict=False)
                if file is None:
                    skipped.append(each)
                else:
                    out.append(file)
        else:
            known = _file(path, owner, strict=True)
            out += [known] if known is not None else []
    if len(out) > MOST_FILES:
        raise FormatError(f"more than {MOST_FILES} files: name those of one fabric")
    twice = [path for path, count in Counter(file.path.resolve() for file in out).items()
             if count > 1]  # fmt: skip
    if twice:
        raise FormatError(f"{twice[0]}: the file is named twice: name it once")
    if not out:
        raise FormatError(f"{words[0]}: no file in it is one of {KINDS}")
    return out, skipped


def _file(path: Path, owner: str | None, *, strict: bool) -> File | None:
    """Return a file by what it holds; `None` where it is none of them and need not be."""
    if path.suffix == ".ini":
        return File(path, owner, "rows", rows=profiles.read(path))
    try:
        text = content(path)
    except FormatError:
        if strict:
            raise
        return None
    if text.lstrip()[:1] == "{":
        if "{%" in text or "{{" in text:
            raise FormatError(f"{path}: it is a template: render it first (sonic-cfggen)")
        inner = objects(path, text)
        if any(is_tables(each) for each in inner):
            return File(path, owner, "tables", content=inner)
        if any(set(each) & adapters.DCB for each in inner):
            return File(path, owner, "dcb", content=inner)
    else:
        kind = adapters.kind(text)
        if kind is not None:
            return File(path, owner, kind, text=text)
    if strict:
        raise FormatError(f"{path}: it is none of {KINDS}")
    return None


def natural(name: str) -> list[tuple[int, str]]:
    """Return what sorts names by their numbers: host2 before host10."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in NUMBERS.split(name)]


def _natural(item: tuple[str, object]) -> list[tuple[int, str]]:
    return natural(item[0])


def _hostname(file: File) -> str | None:
    for each in file.content:
        for metadata in ("DEVICE_METADATA", "DEVICE_METADATA|localhost"):
            if metadata in each:
                probe = Tables()
                probe.take({metadata: each[metadata]}, file.path)
                for entry in probe.table("DEVICE_METADATA").values():
                    if "hostname" in entry.fields:
                        return entry.fields["hostname"].text
    return None


def _first_part(path: Path) -> str:
    return path.name.partition(".")[0]


def _owner(file: File, known: set[str], homes: dict[Path, set[str]]) -> str | None:
    for name in (_first_part(file.path), file.path.resolve().parent.name):
        if name in known:
            return name
    here = homes.get(file.path.parent, set())
    return next(iter(here)) if len(here) == 1 else None


def _known(file: File, what: str) -> str:
    if file.owner is None:
        raise FormatError(
            f"{file.path}: which {what} is it of? write {what.upper()}={file.path.name}, or name "
            f"the file {what.upper()}.{file.path.name}"
        )
    return file.owner


def _take_tables(tables: Tables, file: File) -> int:
    before = set(tables.rows) | set(tables.others)
    count = 0
    for each in file.content:
        count += len({key.partition("|")[0] for key in each})
        tables.take(each, file.path)
    return max(count, len((set(tables.rows) | set(tables.others)) - before))


def _take_rows(switch: Switch, file: File) -> None:
    for key, row in file.rows.items():
        before = switch.rows.setdefault(key, row)
        for name, value in row.values.items():
            there = before.values.get(name)
            if there is None or there.text != value.text:
                raise value.fault(
                    f"{name} of speed {key[0]} with cable {key[1]} is {value.shown()}, but "
                    f"{before.values['size'].where} says otherwise: keep one"
                )


def _take_adapter(adapter: Adapter, file: File) -> int:
    if file.kind == "mlxconfig":
        return adapters.take_mlxconfig(adapter, file.path, file.text)
    if file.kind == "sysfs":
        return adapters.take_sysfs(adapter, file.path, file.text)
    if file.kind == "dcb commands":
        return adapters.take_dcb_commands(adapter, file.path, file.text)
    if file.kind == "mlnx_qos":
        return adapters.take_mlnx_qos(adapter, file.path, file.text)
    return sum(adapters.take_dcb(adapter, file.path, each) for each in file.content)


def _hosts(fabric: Fabric) -> set[str]:
    """Return the neighbours of switches whose own configuration was not read."""
    return {
        port.neighbor
        for switch in fabric.switches.values()
        for port in switch.ports.values()
        if port.neighbor is not None and port.neighbor not in fabric.switches
    }
