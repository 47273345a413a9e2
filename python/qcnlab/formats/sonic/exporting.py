"""A scenario as what a fabric's configurations lack: CONFIG_DB of switches, mlxconfig of hosts."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from decimal import Decimal
from math import ceil, log2
from typing import TYPE_CHECKING, Any

from qcnlab import api
from qcnlab.formats.lines import FormatError
from qcnlab.formats.report import Report, together
from qcnlab.formats.sonic.network import MBPS, NS_PER_METRE
from qcnlab.formats.sonic.selecting import selects
from qcnlab.formats.sonic.switches import LOSSLESS, MELLANOX
from qcnlab.printing.text import counted
from qcnlab.runs.facts import base, tables_of
from qcnlab.runs.network import Network

if TYPE_CHECKING:
    from pathlib import Path

    from qcnlab.records import JsonObject

PROFILE, RED, DEVICE = "qcnlab_lossless", "QCNLAB", "DEVICE"
FASTEST_FOUR = 100_000
"""Mb/s up to which a port has 4 serial connections, as its name counts them."""
EXPONENTS = range(-8, 8)

Tables = dict[str, dict[str, dict[str, str]]]


@dataclass
class Site:
    """A scenario as its export reads it.

    Attributes
    ----------
    tree : dict
        The resolved scenario.
    network : Network
        Its nodes and links.
    report : Report
        Where everything is told.
    hwsku : str, optional
        The model of the switch that is exported.
    """

    tree: JsonObject
    network: Network
    report: Report
    hwsku: str | None = None
    links: dict[str, list[tuple[str, int, int]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Take each node's links: the other end, rate in Mb/s, cable in m."""
        for link in self.network.links:
            a, b = link.a, link.b
            rate, rest = divmod(link.rate_bps, MBPS)
            if rest:
                raise FormatError(f"link {a} to {b}: {link.rate_bps} b/s are no whole Mb/s")
            ns = Decimal(str(link.delay_s)) * 10**9
            cable = ceil(ns / NS_PER_METRE)
            if cable * NS_PER_METRE != ns:
                self.report.not_modelled.append(
                    (f"link {a} to {b}: delay {ns:f} ns", f"no whole metres of 5 ns: {cable} m")
                )
            self.links.setdefault(a, []).append((b, rate, cable))
            self.links.setdefault(b, []).append((a, rate, cable))

    def tables(self, name: str) -> list[JsonObject]:
        """Return the tables of a name, one or several."""
        return tables_of(self.tree, name)

    def first_table(self, name: str, key: str, node: str) -> JsonObject | None:
        """Return the first table of a name whose `key` selects a node or port."""
        for table in self.tables(name):
            if selects(table.get(key, "*"), node):
                return table
        return None


def convert(source: str, out: Path, hwsku: str | None) -> Report:
    """Write what a scenario says of switches as CONFIG_DB, a folder for each.

    Parameters
    ----------
    source : str
        A scenario file or name.
    out : Path
        A new folder.
    hwsku : str, optional
        The model of all switches, such as ``ACS-MSN4700``: pools of Mellanox' exclude what groups
        keep.

    Returns
    -------
    Report
        What was written, each value with its unit, and what a configuration cannot say.

    Raises
    ------
    FormatError
        If the folder is there, or a switch has something that no row can say.
    """
    site = site_of(api.load(source))
    if out.exists():
        raise FormatError(f"'{out}' is there already: name a new folder with -o")
    names = [node.name for node in site.network.switches]
    if not names:
        raise FormatError(f"{source}: it has no switch")
    write({name: rows_of(site, name, hwsku) for name in names}, out, site.report)
    return site.report


def site_of(scenario: api.Scenario) -> Site:
    """Return a scenario as its export reads it.

    Parameters
    ----------
    scenario : Scenario
        With or without switches.
    """
    return Site(scenario.to_dict(), Network.of(scenario._core), Report())


def write(made: dict[str, Tables], out: Path, report: Report) -> None:
    """Write the tables of switches, a folder for each, and finish the report.

    Parameters
    ----------
    made : dict
        Tables by the switches' names.
    out : Path
        The folder of all.
    report : Report
        Gets a line for each file.
    """
    for name, tables in made.items():
        folder = out / name
        folder.mkdir(parents=True)
        path = folder / "config_db.json"
        path.write_text(json.dumps(tables, indent=2) + "\n", encoding="utf-8")
        count = sum(len(rows) for rows in tables.values())
        report.written.append((str(path), f"{counted(count, 'row')} to merge"))
    report.not_modelled.append(
        ("[[traffic]], [scheme], [record]", "no switch's: qcnlab export mlxconfig has the hosts'")
    )
    report.mapped = together(report.mapped)
    report.not_modelled = together(report.not_modelled)


def rows_of(site: Site, name: str, hwsku: str | None) -> Tables:
    """Return the rows of CONFIG_DB that a scenario says of a switch.

    Parameters
    ----------
    site : Site
        The scenario. Its report gets what was said, and what no row can say.
    name : str
        The switch.
    hwsku : str, optional
        Its model.
    """
    site.hwsku = hwsku
    localhost = {"hostname": name} | ({"hwsku": site.hwsku} if site.hwsku else {})
    tables: Tables = {"DEVICE_METADATA": {"localhost": localhost}}
    for table in ("PORT", "CABLE_LENGTH", "DEVICE_NEIGHBOR"):
        tables[table] = {}
    cables = tables["CABLE_LENGTH"]["AZURE"] = {}
    ports, at = [], 0
    for far, rate, cable in site.links.get(name, []):
        serial = 4 if rate <= FASTEST_FOUR else 8
        port = f"Ethernet{at}"
        tables["PORT"][port] = {
            "lanes": ",".join(str(at + each) for each in range(serial)), "speed": str(rate),
        }  # fmt: skip
        cables[port] = f"{cable}m"
        tables["DEVICE_NEIGHBOR"][port] = {"name": far}
        ports.append((port, far))
        at += serial
    pause = site.first_table("pause", "only", name)
    classes = classes_of(pause) if pause and pause["kind"] == "priority" else []
    if classes:
        tables["PORT_QOS_MAP"] = {
            port: {"pfc_enable": ",".join(map(str, classes))} for port, _ in ports
        }
        site.report.mapped.append((f"{name}: [[pause]] priorities", f"pfc_enable {classes}"))
    _buffers(site, name, ports, classes, pause, tables)
    _thresholds(site, name, ports, classes, tables)
    _watchdog(site, name, ports, tables)
    _weights(site, name, ports, tables)
    return tables


def _buffers(
    site: Site, name: str, ports: list[tuple[str, str]], classes: list[int],
    pause: JsonObject | None, tables: Tables,
) -> None:  # fmt: skip
    buffer = site.first_table("shared_buffer", "only", name)
    if buffer is None:
        site.report.not_modelled.append((f"{name}: no [[shared_buffer]]", "no rows of buffers"))
        return
    if buffer["kind"] != "dynamic" or pause is None or pause.get("rule") != "dynamic":
        raise FormatError(
            f"switch {name}: only [[shared_buffer]] of kind dynamic with [[pause]] of rule dynamic "
            "can be said by pools and profiles; write its numbers out"
        )
    if buffer.get("pg_alpha") is None or buffer.get("headroom") is None:
        raise FormatError(
            f"switch {name}: [[shared_buffer]] has no pg_alpha or no headroom: write both"
        )
    exponent = round(log2(buffer["pg_alpha"]))
    if exponent not in EXPONENTS:
        raise FormatError(f"switch {name}: pg_alpha {buffer['pg_alpha']} is not from 2^-8 to 2^7")
    mellanox = site.hwsku is not None and any(part in site.hwsku.upper() for part in MELLANOX)
    size, reserve, xoff = (_octets(buffer, key) for key in ("size", "reserve", "headroom"))
    pool_xoff = _octets(buffer, "headroom_pool") if "headroom_pool" in buffer else 0
    private = pool_xoff == 0
    links = len(ports)
    shared = size - reserve * links - (xoff * links if private else pool_xoff)
    kept = reserve + (xoff if private else 0)
    pool = shared if mellanox else shared + kept * links * len(classes)
    inside = xoff if mellanox and private else 0
    tables["BUFFER_POOL"] = {
        LOSSLESS: {"type": "ingress", "mode": "dynamic", "size": str(pool)}
        | ({"xoff": str(pool_xoff)} if pool_xoff else {})
    }
    tables["BUFFER_PROFILE"] = {
        PROFILE: {
            "pool": LOSSLESS,
            "size": str(reserve + inside),
            "xon": str(_octets(buffer, "xon")),
            "xoff": str(xoff),
            "xon_offset": str(_octets(buffer, "xon_offset")),
            "dynamic_th": str(exponent),
        }
    }
    tables["BUFFER_PG"] = {
        f"{port}|{priority}": {"profile": PROFILE} for port, _ in ports for priority in classes
    }
    site.report.mapped.append(
        (f"{name}: [[shared_buffer]] size {size} B",
         f"BUFFER_POOL size {pool}, xoff {pool_xoff} octets; profile xoff {xoff}, th {exponent}")
    )  # fmt: skip
    if "cell" in buffer and site.hwsku is None:
        site.report.not_modelled.append(
            (f"{name}: cell {buffer['cell']}", "the model says it: --hwsku")
        )
    if buffer.get("queue_alpha") is not None:
        site.report.not_modelled.append((f"{name}: queue_alpha", "egress pools are not written"))


def _thresholds(
    site: Site, name: str, ports: list[tuple[str, str]], classes: list[int], tables: Tables
) -> None:
    marks = site.tree["scheme"].get("cp", {}) if site.tree["scheme"]["name"] == "dcqcn" else {}
    for port, far in ports:
        for priority in classes:
            table = next(
                (each for each in site.tables("wred")
                 if selects(each["ports"], f"{name}->{far}")
                 and priority in classes_of(each)), marks,
            )  # fmt: skip
            if "k_min" not in table:
                continue
            percent = round(100 * table["p_max"])
            row = {
                "ecn": "ecn_all", "wred_green_enable": "true",
                "green_min_threshold": str(_octets(table, "k_min")),
                "green_max_threshold": str(_octets(table, "k_max")),
                "green_drop_probability": str(percent),
            }  # fmt: skip
            if percent != 100 * table["p_max"]:
                site.report.not_modelled.append(
                    (f"{name}: p_max {table['p_max']:g}", f"percent are whole: {percent}")
                )
            profiles = tables.setdefault("WRED_PROFILE", {})
            known = next((key for key, each in profiles.items() if each == row), None)
            if known is None:
                known = RED if not profiles else f"{RED}_{len(profiles) + 1}"
                profiles[known] = row
                site.report.mapped.append(
                    (f"{name}: k_min {table['k_min']}, k_max {table['k_max']}",
                     f"WRED_PROFILE green {row['green_min_threshold']}/"
                     f"{row['green_max_threshold']} octets, {percent} %")
                )  # fmt: skip
            tables.setdefault("QUEUE", {})[f"{port}|{priority}"] = {"wred_profile": known}


def _watchdog(site: Site, name: str, ports: list[tuple[str, str]], tables: Tables) -> None:
    table = site.first_table("watchdog", "only", name)
    if table is None:
        return
    times = {
        key: _milliseconds(site, name, table[key])
        for key in ("detect_after", "restore_after", "poll")
        if key in table
    }
    rows = tables["PFC_WD"] = {
        port: {
            "action": table["action"],
            "detection_time": times["detect_after"],
            "restoration_time": times["restore_after"],
        }
        for port, _ in ports
    }
    if "poll" in times:
        rows["GLOBAL"] = {"POLL_INTERVAL": times["poll"]}
    site.report.mapped.append((f"{name}: [[watchdog]]", f"PFC_WD, ms: {times['detect_after']}"))


def _weights(site: Site, name: str, ports: list[tuple[str, str]], tables: Tables) -> None:
    table = site.first_table("switch", "only", name)
    if table is None or not table.get("weights"):
        return
    for part in table["weights"].split(","):
        queue, _, weight = (each.strip() for each in part.partition(":"))
        scheduler = f"qcnlab.{weight}"
        tables.setdefault("SCHEDULER", {})[scheduler] = {"type": "DWRR", "weight": weight}
        for port, _ in ports:
            row = tables.setdefault("QUEUE", {}).setdefault(f"{port}|{queue}", {})
            row["scheduler"] = scheduler
    site.report.mapped.append((f"{name}: weights {table['weights']}", "SCHEDULER, DWRR"))


def classes_of(table: JsonObject) -> list[int]:
    """Return the classes of a table, all eight where it names none.

    Parameters
    ----------
    table : dict
        With `priorities` such as ``0..2,5``.
    """
    out: set[int] = set()
    for part in table.get("priorities", "0..7").split(","):
        first, dots, last = part.strip().partition("..")
        out |= set(range(int(first), int(last if dots else first) + 1))
    return sorted(out)


def _octets(table: JsonObject, key: str) -> int:
    return int(base(table[key])) if key in table else 0


def _milliseconds(site: Site, name: str, text: str) -> str:
    exact = base(text) * 1000
    whole = max(1, ceil(exact - 1e-9))
    if abs(whole - exact) > 1e-9:
        site.report.not_modelled.append((f"{name}: {text}", f"times are whole ms: {whole} ms"))
    return str(whole)


CARD = """
duration = "1 ms"
[topology]
kind = "star"
sources = 1
rate = "1 Gb/s"
rtt = "1 us"
buffer = "1 MB"
[[traffic]]
arrivals = "saturated"
frame = "1000 B"
[scheme]
name = "dcqcn"
preset = "CONNECTX"
"""
"""A scenario whose parameters are those of a card."""
US, RATE = 10**-6, 10**6
LINES: tuple[tuple[str, str, str], ...] = (
    ("time_reset", "RPG_TIME_RESET", "us: the timer of increase"),
    ("byte_reset", "RPG_BYTE_RESET", "{unit} B: the byte counter of increase; 0 is off"),
    ("threshold", "RPG_THRESHOLD", "stages of fast recovery"),
    ("ai_rate", "RPG_AI_RATE", "Mb/s: additive increase"),
    ("hai_rate", "RPG_HAI_RATE", "Mb/s: hyper increase"),
    ("cut_share", "RPG_GD", "a CNP takes alpha x 2^(10 - this) off the rate"),
    ("min_dec_fac", "RPG_MIN_DEC_FAC", "percent that a cut leaves at least"),
    ("min_rate", "RPG_MIN_RATE", "Mb/s: the least rate"),
    ("first_rate", "RATE_TO_SET_ON_FIRST_CNP", "Mb/s; 0 is the link's"),
    ("g", "DCE_TCP_G", "of 1024: 1 - g"),
    ("alpha_period", "DCE_TCP_RTT", "us: the period of alpha"),
    ("reduce_period", "RATE_REDUCE_MONITOR_PERIOD", "us between two cuts"),
    ("alpha_initial", "INITIAL_ALPHA_VALUE", "of 1024"),
    ("cnp_interval", "MIN_TIME_BETWEEN_CNPS", "us between two CNPs of a receiver"),
)
"""Keys of `scheme.rp`, the words of mlxconfig, and the unit and meaning of each."""
MICROSECONDS = {"time_reset", "alpha_period", "reduce_period", "cnp_interval"}
MEGABITS = {"ai_rate", "hai_rate", "min_rate", "first_rate"}


def mlxconfig(source: str, unit: int) -> tuple[list[str], Report]:
    """Return the commands that set what a scenario says of DCQCN's senders and receivers.

    Parameters
    ----------
    source : str
        A scenario file or name, of scheme dcqcn.
    unit : int
        Octets that `rpg_byte_reset` counts in.

    Returns
    -------
    tuple
        Lines, each with its unit and meaning as a comment, and what was told besides.

    Raises
    ------
    FormatError
        For a scenario of another scheme.
    """
    tree = api.load(source).to_dict()
    name = tree["scheme"]["name"]
    if name != "dcqcn":
        raise FormatError(f"{source}: scheme {name}; mlxconfig has parameters of dcqcn alone")
    rp, report, out = tree["scheme"]["rp"], Report(), []
    clamp = rp.get("clamp", "always")
    flags = {
        "CLAMP_TGT_RATE": clamp == "always",
        "CLAMP_TGT_RATE_AFTER_TIME_INC": clamp != "after_byte_increase",
    }
    for word, on in flags.items():
        out.append(_line(word, int(on), f"rp.clamp = {clamp}"))
    for key, word, meaning in LINES:
        value, exact = _value(key, rp.get(key), unit)
        if abs(value - exact) > 1e-6 * max(1.0, abs(exact)):
            report.not_modelled.append((f"rp.{key} = {rp.get(key)}", f"{word} is whole: {value}"))
        out.append(_line(word, value, meaning.format(unit=unit)))
    feedback = tree.get("feedback", {})
    if feedback.get("kind") == "frames":
        out.append(_line("CNP_802P_PRIO", feedback["priority"], "class of CNPs"))
    card = api.Scenario.from_toml(CARD).to_dict()["scheme"]["rp"]
    said = {key for key, _, _ in LINES} | {"clamp"}
    for key in sorted((rp.keys() | card.keys()) - said):
        if rp.get(key) != card.get(key):
            report.not_modelled.append(
                (f"rp.{key} = {rp.get(key, 'none')}", f"cards have {card.get(key, 'none')}")
            )
    return out, report


def _line(word: str, value: int, meaning: str) -> str:
    return f"mlxconfig -y -d {DEVICE} set {word}_P1={value}  # {meaning}"


def _value(key: str, told: Any, unit: int) -> tuple[int, float]:
    """Return a parameter as the card counts it: whole, and exact."""
    if told is None or told == "none":
        return 0, 0.0
    if key in MICROSECONDS:
        exact = base(told) / US
    elif key in MEGABITS:
        exact = base(told) / RATE
    elif key == "byte_reset":
        exact = base(told) / unit
    elif key == "cut_share":
        exact = 10 - log2(told)
    elif key == "min_dec_fac":
        exact = 100 * told
    elif key == "g":
        exact = 1024 * (1 - told)
    elif key == "alpha_initial":
        exact = 1024 * told
    else:
        exact = float(told)
    return round(exact), exact
