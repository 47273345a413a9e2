"""Files of ASTRA-sim beside a trace: system, logical topology, network, groups of ranks."""

from __future__ import annotations

import json
import re
from math import prod
from typing import TYPE_CHECKING, Any

from qcnlab.formats.lines import FormatError, refuse_packed, shown
from qcnlab.formats.schedules.collectives import ALGORITHMS, ALL_TO_ALL, DIRECT, KINDS, RING

if TYPE_CHECKING:
    from pathlib import Path

    from qcnlab.formats.report import Report
    from qcnlab.records import JsonObject

LARGEST = 1 << 24
"""The most octets that such a file may have."""
IMPLEMENTATION = "-implementation"
ARRAY = re.compile(r"^(\w+)\s*:\s*\[([^\]]*)\]\s*(?:#.*)?$")
DEFAULTS = {kind: DIRECT if kind == ALL_TO_ALL else RING for kind in KINDS}
"""How collectives are carried out where no file says it."""


def _text(path: Path) -> str:
    data = path.read_bytes()
    refuse_packed(path, data)
    return data.decode("utf-8")


def _json(path: Path) -> Any:
    try:
        if path.stat().st_size > LARGEST:
            raise FormatError(f"{path}: the file has more than {LARGEST} octets")
        return json.loads(_text(path))
    except OSError as error:
        raise FormatError(f"cannot read '{path}': {error.strerror or error}") from error
    except RecursionError:
        raise FormatError(f"{path}: it is nested too deeply") from None
    except ValueError as error:
        line = getattr(error, "lineno", 1)
        raise FormatError(f"{path}, line {line}: no JSON: {error}".splitlines()[0]) from None


def _object(path: Path) -> JsonObject:
    said = _json(path)
    if not isinstance(said, dict):
        raise FormatError(f"{path}: it is no object of JSON, {{..}}")
    return said


def algorithms(path: Path | None, report: Report) -> dict[str, str]:
    """Return how each kind of collective is carried out, by a system file.

    Raises
    ------
    FormatError
        If an algorithm is not known here, or a kind has several for several dimensions.
    """
    out = dict(DEFAULTS)
    if path is None:
        told = ", ".join(f"{kind} {algorithm}" for kind, algorithm in out.items())
        report.mapped.append(("no system file", told))
        return out
    report.read.append((str(path), "ASTRA-sim's system"))
    for key, value in _object(path).items():
        kind = key.removesuffix(IMPLEMENTATION)
        if not key.endswith(IMPLEMENTATION) or kind not in KINDS:
            report.not_modelled.append((f"{key} {_short(value)}", "no counterpart here"))
            continue
        values = value if isinstance(value, list) else [value]
        if not values or any(each not in ALGORITHMS for each in values):
            raise FormatError(
                f"{path}: {key}: {_short(value)}: there are {', '.join(ALGORITHMS)} here"
            )
        if len(set(values)) > 1:
            raise FormatError(
                f"{path}: {key}: {_short(value)}: a collective has one algorithm here, over all "
                "its ranks"
            )
        out[kind] = values[0]
        report.mapped.append((f"{key} {_short(value)}", f"{kind} as {values[0]}"))
        if (kind, values[0]) == (ALL_TO_ALL, RING):
            report.not_modelled.append(
                ("all-to-all passed on round a ring", "in rounds, each part straight to its rank")
            )
        if len(values) > 1:
            report.not_modelled.append((f"{len(values)} dimensions of {key}", "one over all ranks"))
    return out


def _short(value: Any) -> str:
    return shown(json.dumps(value, ensure_ascii=True).encode())[1:-1]


def check_dimensions(path: Path, ranks: int, report: Report) -> None:
    """Hold a logical topology against the number of ranks; raise `FormatError` if they differ."""
    dimensions = _object(path).get("logical-dims")
    if not isinstance(dimensions, list) or not dimensions:
        raise FormatError(f"{path}: logical-dims is missing: it is a list such as ['8', '2']")
    sizes = []
    for each in dimensions:
        text = str(each)
        if not (text.isascii() and text.isdigit() and len(text) < 7) or int(text) == 0:
            raise FormatError(f"{path}: logical-dims: {_short(each)} is no number of ranks")
        sizes.append(int(text))
    if prod(sizes) != ranks:
        raise FormatError(f"{path}: logical-dims are {prod(sizes)} ranks, and there are {ranks}")
    report.read.append((str(path), f"logical topology: {' by '.join(map(str, sizes))}"))
    if len(sizes) > 1:
        report.not_modelled.append(
            (f"{len(sizes)} logical dimensions", "a collective is one schedule over all its ranks")
        )


def network(path: Path, ranks: int, report: Report) -> tuple[str, str]:
    """Return rate and delay of hosts' links, by a network file of the analytical backend.

    Raises
    ------
    FormatError
        If it has other than one dimension, which is a switch, or another number of ranks.
    """
    said = _object(path) if path.suffix == ".json" else _arrays(path)
    values = {}
    for key in ("topology", "npus_count", "bandwidth", "latency"):
        value = said.get(key)
        if not isinstance(value, list) or not value:
            raise FormatError(f"{path}: {key} is missing: it is a list")
        values[key] = value
    if len(values["topology"]) != 1 or str(values["topology"][0]) != "Switch":
        raise FormatError(
            f"{path}: topology {_short(values['topology'])}: a host has one link here, so only one "
            "Switch can be said: take the fabric of a scenario with --network"
        )
    numbers = []
    for key in ("npus_count", "bandwidth", "latency"):
        text = str(values[key][0])
        if len(values[key]) != 1 or re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,6})?", text) is None:
            raise FormatError(f"{path}: {key}: {_short(values[key])} is not one number")
        numbers.append(text)
    count, bandwidth, latency = numbers
    if float(count) != ranks:
        raise FormatError(f"{path}: npus_count is {count}, and there are {ranks} ranks")
    if float(bandwidth) == 0:
        raise FormatError(f"{path}: bandwidth: 0 would send nothing")
    report.read.append((str(path), f"network: a switch, {bandwidth} GB/s, {latency} ns"))
    report.mapped.append(("bandwidth", f"{bandwidth} GB/s of 10^9 octets for each link, each way"))
    report.mapped.append(("latency", f"{latency} ns for each link: twice on a way"))
    report.not_modelled += [
        (f"{key} {_short(value)}", "no counterpart here")
        for key, value in said.items()
        if key not in values
    ]
    return f"{round(float(bandwidth) * 8 * 10**9)}b/s", f"{latency}ns"


def _arrays(path: Path) -> dict[str, list[str]]:
    """Read lines such as ``bandwidth: [ 400.0 ]  # GB/s``."""
    try:
        if path.stat().st_size > LARGEST:
            raise FormatError(f"{path}: the file has more than {LARGEST} octets")
        text = _text(path)
    except OSError as error:
        raise FormatError(f"cannot read '{path}': {error.strerror or error}") from error
    except UnicodeDecodeError:
        raise FormatError(f"{path}: it is not UTF-8: save it as UTF-8") from None
    out: dict[str, list[str]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.strip()
        if not bare or bare.startswith("#"):
            continue
        parts = ARRAY.match(bare)
        if parts is None:
            raise FormatError(
                f"{path}, line {number}: {shown(bare.encode())} is no key with a list, such as "
                "bandwidth: [ 400.0 ]"
            )
        if parts[1] in out:
            raise FormatError(f"{path}, line {number}: {parts[1]} is there twice")
        out[parts[1]] = [each.strip().strip("\"'") for each in parts[2].split(",")]
    return out


def groups(path: Path | None, ranks: int, report: Report) -> dict[str, tuple[int, ...]]:
    """Return the ranks of each group by its name, by a file of groups.

    Raises
    ------
    FormatError
        If a group has no ranks, the same twice, or one that is not there.
    """
    if path is None:
        return {}
    out = {
        name: members(value, ranks, f"{path}: group {_short(name)}")
        for name, value in _object(path).items()
    }
    report.read.append((str(path), f"groups of ranks: {len(out)}"))
    return out


def members(value: Any, ranks: int, where: str) -> tuple[int, ...]:
    """Return the ranks of a group; raise `FormatError` where they are none."""
    if not isinstance(value, list) or not value:
        raise FormatError(f"{where}: it is a list of ranks")
    for each in value:
        if not isinstance(each, int) or isinstance(each, bool) or not 0 <= each < ranks:
            raise FormatError(f"{where}: {_short(each)}: there are ranks 0 to {ranks - 1}")
    if len(set(value)) < len(value):
        raise FormatError(f"{where}: a rank is there twice")
    return tuple(value)
