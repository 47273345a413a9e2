"""What hosts' adapters print: mlxconfig, sysfs and debugfs of ConnectX, mlnx_qos, dcb."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from qcnlab.formats.lines import FormatError
from qcnlab.formats.sonic.values import Value, bare
from qcnlab.printing.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from qcnlab.formats.sonic.json_text import Item, Object

CLASSES = 8
PARAMETERS = frozenset(
    {
        "clamp_tgt_rate_after_time_inc", "clamp_tgt_rate", "rpg_time_reset", "rpg_byte_reset",
        "rpg_threshold", "rpg_max_rate", "rpg_ai_rate", "rpg_hai_rate", "rpg_gd",
        "rpg_min_dec_fac", "rpg_min_rate", "rate_to_set_on_first_cnp", "dce_tcp_g", "dce_tcp_rtt",
        "rate_reduce_monitor_period", "initial_alpha_value", "min_time_between_cnps", "cnp_dscp",
        "cnp_802p_prio", "roce_cc_prio_mask", "roce_cc_algorithm",
    }
)  # fmt: skip
"""Parameters of congestion control by the names that sysfs has; mlxconfig has them in capitals."""
DEBUGFS = {
    "rp_clamp_tgt_rate_ati": "clamp_tgt_rate_after_time_inc",
    "rp_clamp_tgt_rate": "clamp_tgt_rate",
    "np_cnp_prio": "cnp_802p_prio",
    **{f"rp_{name[4:]}": name for name in PARAMETERS if name.startswith("rpg_")},
    **{f"np_{name}": name for name in ("min_time_between_cnps", "cnp_dscp")},
    **{
        f"rp_{name}": name
        for name in (
            "rate_to_set_on_first_cnp", "dce_tcp_g", "dce_tcp_rtt", "rate_reduce_monitor_period",
            "initial_alpha_value",
        )
    },
}  # fmt: skip
"""Names below debugfs' `cc_params`, by which the same parameters are known."""
MLXCONFIG = re.compile(r"\s*\*?\s*([A-Z][A-Z0-9_]*?)(?:_P([1-9]))?\s+(\S.*?)\s*$")
GREPPED = re.compile(r"\s*(\S*/)?((?:ecn/roce_[rn]p|cc_params)/[\w/]+)\s*[:=]\s*(\S.*?)\s*$")
HEADED = re.compile(r"==> (?:\S*/)?((?:ecn/roce_[rn]p|cc_params)/[\w/]+) <==\s*$")
SHAPES = re.compile(
    r"\s*(?:#|-+$|==>"
    r"|(?:sudo\s+)?(?:mlxconfig|mlnx_qos|dcb|grep|tail|cat|echo|ip|ethtool|cma_roce_tos|mst|sysctl)\s"
    r"|\*?\s*[A-Z][A-Z0-9_]+\s+[\w(]\S*(?:\s+\S+\s+\S+)?\s*$"
    r"|(?:Device|Name|Description|Configurations|Priority|PFC|DCBX|Receive|Buffers|Cable|DSCP)\b"
    r"|(?:prio|tc|priority|buffer|enabled|default|dscp2prio|supported)\b|[0-7][\s,]"
    r"|\S*/?(?:ecn/roce_[rn]p|cc_params)/|[0-9]+\s*$)"
)
"""Lines of these programs' prints, and commands and comments of a script that calls them."""
ENABLE = re.compile(r"ecn/roce_([rn]p)/enable/([0-7])$")
DSCP_LINE = re.compile(r"\s*prio:([0-7])\s+dscp:([0-9, ]*)$")
TC_LINE = re.compile(r"\s*tc:\s*([0-7]) ratelimit:.*tsa:\s*(\w+)(?:, bw:\s*([0-9]+)%)?")
PRIORITY_LINE = re.compile(r"\s*priority:\s+([0-7])\s*$")
SET = re.compile(r"\s*mlxconfig\s.*\sset\s+([^#]*)")
DCB_SET = re.compile(r"\s*dcb\s+pfc\s+set\s+dev\s+\S+\s+([^#]*)")
QOS_SET = re.compile(r"\s*mlnx_qos\s+-i\s+\S+\s+(--[^#]*)")
COLUMNS_OF_QUERY = re.compile(r"(?i)\bdefault\b.*\bcurrent\b.*\bnext")


@dataclass
class Adapter:
    """What is known of a host's adapter.

    Attributes
    ----------
    name : str
        The host.
    parameters : dict
        Of congestion control, by the names of `PARAMETERS`.
    reacts, notifies : dict
        Whether congestion control is on, by class: as sender, as receiver.
    pfc : dict
        Whether PFC is on, by class.
    dscp : dict
        The class of a DSCP.
    classes_of : dict
        The traffic class of each priority.
    tsa : dict
        How traffic classes share the link: `ets`, `strict`, `vendor`.
    share : dict
        Percent that a traffic class of `ets` has.
    buffers : dict
        Octets of each receive buffer.
    buffer_of : dict
        The receive buffer of each class.
    trust : Value, optional
        `dscp` or `pcp`: by what frames are classified.
    cable : Value, optional
        Length that the adapter computes its own headroom for, metres.
    told : list
        What was read and is not modelled, with why.
    """

    name: str
    parameters: dict[str, Value] = field(default_factory=dict)
    reacts: dict[int, Value] = field(default_factory=dict)
    notifies: dict[int, Value] = field(default_factory=dict)
    pfc: dict[int, Value] = field(default_factory=dict)
    dscp: dict[int, Value] = field(default_factory=dict)
    classes_of: dict[int, Value] = field(default_factory=dict)
    tsa: dict[int, Value] = field(default_factory=dict)
    share: dict[int, Value] = field(default_factory=dict)
    buffers: dict[int, Value] = field(default_factory=dict)
    buffer_of: dict[int, Value] = field(default_factory=dict)
    trust: Value | None = None
    cable: Value | None = None
    told: list[tuple[str, str]] = field(default_factory=list)

    def put(self, kind: dict[int, Value], number: int, value: Value, what: str) -> None:
        """Set what a class or DSCP has; raise `FormatError` if another file says otherwise."""
        before = kind.setdefault(number, value)
        if bare(before.text) != bare(value.text):
            raise value.fault(
                f"{what} {number} of {self.name} is {value.shown()}, but {before.where} has "
                f"{before.shown()}: keep one"
            )

    def parameter(self, name: str, value: Value) -> None:
        """Set a parameter; raise `FormatError` if another file says otherwise."""
        before = self.parameters.setdefault(name, value)
        if bare(before.text) != bare(value.text):
            raise value.fault(
                f"{name} of {self.name} is {value.shown()}, but {before.where} has "
                f"{before.shown()}: keep one"
            )


def kind(text: str) -> str | None:
    """Return what a text is: `mlxconfig`, `mlnx_qos`, `dcb commands` or `sysfs`, or `None`.

    A page or a program that quotes a few lines of them is none: most lines must be such.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    known = _first_kind(lines)
    if known is None or 2 * sum(bool(SHAPES.match(line)) for line in lines) < len(lines):
        return None
    return known


def _first_kind(lines: list[str]) -> str | None:
    for line in lines:
        if QOS_SET.match(line):
            return "mlnx_qos"
        if DCB_SET.match(line):
            return "dcb commands"
        if line.startswith(("DCBX mode:", "Priority trust state:", "PFC configuration:")):
            return "mlnx_qos"
        if GREPPED.match(line) or HEADED.match(line):
            return "sysfs"
        if (
            SET.match(line)
            or line.startswith(("Device #", "Device type:"))
            or line.strip() == "Configurations:"
        ):
            return "mlxconfig"
        at = MLXCONFIG.match(line)
        if at and at[1].lower() in PARAMETERS:
            return "mlxconfig"
    return None


def take_mlxconfig(adapter: Adapter, path: Path, text: str) -> int:
    """Take what ``mlxconfig -d DEVICE q`` prints, with ``-e`` or without; return how much it was.

    Lines of a script, ``mlxconfig -d DEVICE set NAME=VALUE``, count, too.

    Of two ports the first counts; where the second differs that is told. With ``-e`` the current
    value counts, and a next one that differs is told.
    """
    current = False
    second: dict[str, Value] = {}
    others = taken = 0
    for number, line in enumerate(text.splitlines(), 1):
        if COLUMNS_OF_QUERY.search(line):
            current = True
            continue
        if command := SET.match(line):
            for word in command[1].split():
                name, _, told = word.partition("=")
                name = name.lower().removesuffix("_p1")
                if name in PARAMETERS:
                    adapter.parameter(name, Value(told, path, number))
                    taken += 1
                else:
                    others += 1
            continue
        at = MLXCONFIG.match(line)
        if at is None:
            continue
        name = at[1].lower()
        if name not in PARAMETERS:
            others += 1
            continue
        words = at[3].split()
        if len(words) not in (1, 3) or (len(words) == 3) != current:
            raise Value(at[3], path, number).fault(
                f"{at[1]}: '{at[3][:40]}' is neither one value nor default, current and next: "
                "query with mlxconfig -d DEVICE q, or with -e"
            )
        value = Value(words[1] if current else words[0], path, number)
        if current and bare(words[2]) != bare(words[1]):
            adapter.told.append(
                (
                    f"{adapter.name}: {name} {words[2][:20]} after the next start ({value.where})",
                    f"the current value counts: {words[1][:20]}",
                )
            )
        taken += 1
        if at[2] in (None, "1"):
            adapter.parameter(name, value)
        else:
            second[name] = value
    for name, value in second.items():
        first = adapter.parameters.get(name)
        if first is None:
            adapter.parameter(name, value)
        elif bare(first.text) != bare(value.text):
            adapter.told.append(
                (
                    f"{adapter.name}: {name} {value.text[:20]} of the second port ({value.where})",
                    f"a host has one port here, and its first has {first.text[:20]}",
                )
            )
    _others(adapter, others)
    _refuse_nothing(taken, path, "parameter of congestion control")
    return taken


def take_sysfs(adapter: Adapter, path: Path, text: str) -> int:
    """Take files of sysfs or debugfs, as ``grep -r . ecn`` or ``tail -n +1 ecn/*/*`` print them."""
    others = taken = 0
    for name, value in _sysfs_lines(path, text):
        at = ENABLE.search(name)
        parameter = name.rpartition("/")[2]
        parameter = DEBUGFS.get(parameter, parameter)
        taken += 1
        if at:
            value.flag(name)
            what = "congestion control of class"
            adapter.put(
                adapter.reacts if at[1] == "rp" else adapter.notifies, int(at[2]), value, what
            )
        elif parameter in PARAMETERS:
            adapter.parameter(parameter, value)
        else:
            others += 1
    _others(adapter, others)
    _refuse_nothing(taken, path, "file of ecn/roce_rp, ecn/roce_np or cc_params")
    return taken - others


def take_mlnx_qos(adapter: Adapter, path: Path, text: str) -> int:
    """Take what ``mlnx_qos -i INTERFACE`` prints, or a script of its commands."""
    taken = 0
    traffic_class: Value | None = None
    for number, line in enumerate(text.splitlines(), 1):
        label, colon, rest = line.strip().partition(":")
        value = Value(rest.strip(), path, number)
        if command := QOS_SET.match(line):
            _qos_command(adapter, command[1].split(), path, number)
        elif colon and label == "Priority trust state":
            adapter.trust = value
        elif colon and label == "Cable len":
            value.whole("Cable len in metres", CLASSES * 10**5)
            adapter.cable = value
        elif label == "Receive buffer size (bytes)":
            for index, size in enumerate(_list(rest.partition("total_size")[0], path, number)):
                size.octets("receive buffer")
                adapter.put(adapter.buffers, index, size, "receive buffer")
        elif dscp := DSCP_LINE.match(line):
            for word in _list(dscp[2], path, number):
                adapter.put(
                    adapter.dscp, word.whole("DSCP", 63), Value(dscp[1], path, number), "DSCP"
                )
        elif line.split()[:1] in (["enabled"], ["buffer"]):
            words = [Value(word, path, number) for word in line.split()[1:]]
            if len(words) != CLASSES:
                raise value.fault(f"{len(words)} values; PFC configuration has one for each of 8")
            on = line.split()[0] == "enabled"
            for index, word in enumerate(words):
                word.whole("enabled" if on else "buffer", 1 if on else CLASSES - 1)
                kind = adapter.pfc if on else adapter.buffer_of
                adapter.put(kind, index, word, "PFC of class" if on else "buffer of class")
        elif shared := TC_LINE.match(line):
            traffic_class = Value(shared[1], path, number)
            adapter.put(adapter.tsa, int(shared[1]), Value(shared[2], path, number), "tsa of tc")
            if shared[3]:
                adapter.put(adapter.share, int(shared[1]), Value(shared[3], path, number), "bw")
        elif (priority := PRIORITY_LINE.match(line)) and traffic_class is not None:
            adapter.put(adapter.classes_of, int(priority[1]), traffic_class, "tc of priority")
        else:
            continue
        taken += 1
    _refuse_nothing(taken, path, "setting")
    return taken


def take_dcb_commands(adapter: Adapter, path: Path, text: str) -> int:
    """Take a script of ``dcb pfc set dev INTERFACE prio-pfc all:off 3:on``."""
    taken = 0
    for number, line in enumerate(text.splitlines(), 1):
        command = DCB_SET.match(line)
        words = command[1].split() if command else []
        if not words:
            continue
        if words[0] != "prio-pfc":
            raise Value(words[0], path, number).fault(
                f"dcb pfc set has '{words[0][:40]}' here; prio-pfc is read"
            )
        told: dict[int, Value] = {}
        for word in words[1:]:
            name, _, state = word.partition(":")
            flag = Value(state, path, number)
            bit = Value(str(int(flag.flag("prio-pfc"))), path, number)
            known = range(CLASSES) if name == "all" else [
                Value(name, path, number).whole("priority", CLASSES - 1)
            ]  # fmt: skip
            told |= dict.fromkeys(known, bit)
        for priority, bit in sorted(told.items()):
            adapter.put(adapter.pfc, priority, bit, "PFC of class")
        taken += 1
    _refuse_nothing(taken, path, "dcb pfc set")
    return taken


def _qos_command(adapter: Adapter, words: list[str], path: Path, number: int) -> None:
    """Take the options of a command of mlnx_qos that adapters are judged by."""
    for option, told in zip(words[::2], [*words[1::2], ""], strict=False):
        value = Value(told, path, number)
        if option == "--pfc":
            flags = _list(told, path, number)
            if len(flags) != CLASSES:
                raise value.fault(f"--pfc {value.shown()}: it has one of 0 and 1 for each of 8")
            for priority, flag in enumerate(flags):
                flag.whole("--pfc", 1)
                adapter.put(adapter.pfc, priority, flag, "PFC of class")
        elif option == "--cable_len":
            value.whole("--cable_len in metres", CLASSES * 10**5)
            adapter.cable = value
        elif option == "--trust":
            adapter.trust = value
        else:
            adapter.told.append(
                (f"{adapter.name}: mlnx_qos {option[:20]} ({value.where})", "not read of commands")
            )


def take_dcb(adapter: Adapter, path: Path, content: Object) -> int:
    """Take what ``dcb -j pfc|ets|buffer|app show dev INTERFACE`` prints."""
    taken = 0
    for name, (key, item) in content.items():
        taken += 1
        if name == "prio_pfc":
            for index, value in enumerate(_eight(key, item)):
                value.flag(name)
                flag = Value(str(int(value.flag(name))), value.path, value.line)
                adapter.put(adapter.pfc, index, flag, "PFC of class")
        elif name in ("prio_tc", "prio_buffer", "tc_tsa", "tc_bw", "buffer_size"):
            kinds = {
                "prio_tc": adapter.classes_of, "prio_buffer": adapter.buffer_of,
                "tc_tsa": adapter.tsa, "tc_bw": adapter.share, "buffer_size": adapter.buffers,
            }  # fmt: skip
            for index, value in enumerate(_eight(key, item)):
                if name != "tc_tsa":
                    value.whole(name, 10**9)
                adapter.put(kinds[name], index, value, name)
        elif name == "dscp_prio":
            for dscp, priority in _pairs(key, item):
                priority.whole("priority", CLASSES - 1)
                adapter.put(adapter.dscp, dscp.whole("DSCP", 63), priority, "DSCP")
        else:
            taken -= 1
            why = "a capability or counter" if name != "delay" else "see mlnx_qos' Cable len"
            if name not in ("pfc_cap", "ets_cap", "total_size"):
                adapter.told.append((f"{adapter.name}: dcb's {name} ({key.where})", why))
    return taken


DCB = frozenset({"prio_pfc", "tc_tsa", "prio_buffer", "dscp_prio", "default_prio", "pcp_prio"})
"""Keys of which an object of dcb has one at least."""


def _sysfs_lines(path: Path, text: str) -> Iterator[tuple[str, Value]]:
    heading = None
    for number, line in enumerate(text.splitlines(), 1):
        if headed := HEADED.match(line):
            heading = headed[1]
        elif grepped := GREPPED.match(line):
            yield grepped[2], Value(grepped[3], path, number)
            heading = None
        elif heading is not None and line.strip():
            yield heading, Value(line.strip(), path, number)
            heading = None


def _list(text: str, path: Path, number: int) -> list[Value]:
    return [Value(part.strip(), path, number) for part in text.split(",") if part.strip()]


def _eight(key: Value, item: Item) -> list[Value]:
    values = [each for each in item if isinstance(each, Value)] if isinstance(item, list) else []
    if len(values) != CLASSES:
        raise key.fault(f"{key.text} has {len(values)} values; it has one for each of 8")
    return values


def _pairs(key: Value, item: Item) -> Iterator[tuple[Value, Value]]:
    for pair in item if isinstance(item, list) else [item]:
        if not isinstance(pair, list) or len(pair) != 2:
            raise key.fault(f"{key.text} has something else than pairs of DSCP and priority")
        first, second = pair
        if not isinstance(first, Value) or not isinstance(second, Value):
            raise key.fault(f"{key.text} has something else than pairs of DSCP and priority")
        yield first, second


def _others(adapter: Adapter, count: int) -> None:
    if count:
        adapter.told.append(
            (
                f"{adapter.name}: {counted(count, 'other parameter')}",
                "not of congestion control here",
            )
        )


def _refuse_nothing(taken: int, path: Path, what: str) -> None:
    if not taken:
        raise FormatError(f"{path}: no {what} in it: is it the whole output?")
