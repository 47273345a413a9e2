"""What a scenario says of its devices: of hosts together, of switch ports by equal settings."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from qcnlab import api
from qcnlab.formats.lines import FormatError
from qcnlab.formats.report import Report, together
from qcnlab.formats.sonic.exporting import Site, classes_of, site_of
from qcnlab.formats.sonic.selecting import selects
from qcnlab.runs.facts import base

if TYPE_CHECKING:
    from collections.abc import Callable

    from qcnlab.records import JsonObject

CLASSES = 8
MS, PERCENT = 1000, 100


@dataclass(frozen=True)
class Marks:
    """ECN thresholds of a queue, octets and percent."""

    k_min: int
    k_max: int
    percent: float


@dataclass(frozen=True)
class Watermarks:
    """What a node holds of a link when it pauses it and when it resumes it, octets."""

    high: int
    low: int
    headroom: int


@dataclass(frozen=True)
class Watchdog:
    """Times of a PFC watchdog, s."""

    detect_s: float
    restore_s: float
    poll_s: float
    action: str


@dataclass(frozen=True)
class Settings:
    """What one port of a switch has.

    Attributes
    ----------
    pfc : tuple of int
        Classes that it pauses.
    marks : tuple
        Class and thresholds of each queue that marks.
    weights : tuple
        Queue and weight of each that shares the link by weight.
    watermarks : Watermarks, optional
        Where fixed numbers pause links.
    watchdog : Watchdog, optional
        Of PFC.
    cable : int
        Metres.
    """

    pfc: tuple[int, ...]
    marks: tuple[tuple[int, Marks], ...]
    weights: tuple[tuple[int, int], ...]
    watermarks: Watermarks | None
    watchdog: Watchdog | None
    cable: int


@dataclass(frozen=True)
class Fabric:
    """A scenario's devices.

    Attributes
    ----------
    groups : list
        Settings, with the ports that have them: switch and far end.
    hosts : list of tuple
        Each host with the length of its cable in metres.
    pfc : tuple of int
        Classes that switches pause at hosts' links.
    frame : int
        The longest frame of the scenario's traffic, octets.
    report : Report
        Where it is told what cannot be said.
    """

    groups: list[tuple[Settings, list[tuple[str, str]]]]
    hosts: list[tuple[str, int]]
    pfc: tuple[int, ...]
    frame: int
    report: Report


def fabric(source: str) -> Fabric:
    """Return what a scenario says of its devices.

    Parameters
    ----------
    source : str
        A scenario file or name.

    Raises
    ------
    FormatError
        If it has no switch.
    """
    site = site_of(api.load(source))
    roles = site.network.roles
    if "switch" not in roles.values():
        raise FormatError(f"{source}: it has no switch")
    groups: dict[Settings, list[tuple[str, str]]] = {}
    for name, links in site.links.items():
        if roles[name] == "switch":
            for far, _, cable in links:
                groups.setdefault(_port(site, name, far, cable), []).append((name, far))
    hosts = [(name, site.links[name][0][2]) for name, role in roles.items() if role == "host"]
    at_hosts = {
        priority
        for settings, ports in groups.items()
        if any(roles[far] == "host" for _, far in ports)
        for priority in settings.pfc
    }
    frames = [int(base(each["frame"])) for each in site.tables("traffic") if "frame" in each]
    _shared(site)
    return Fabric(
        list(groups.items()), hosts, tuple(sorted(at_hosts)), max(frames, default=0), site.report
    )


def _port(site: Site, name: str, far: str, cable: int) -> Settings:
    pause = site.first_table("pause", "only", name)
    on = pause is not None and pause.get("kind") == "priority"
    pfc = tuple(classes_of(pause)) if on and pause else ()
    if pause is not None and pause.get("kind") == "link":
        site.report.not_modelled.append(
            (f"{name}: [[pause]] kind link", "802.3x PAUSE of the whole link is not written")
        )
    return Settings(
        pfc,
        tuple(_marks(site, name, far)),
        tuple(_weights(site, name)),
        _watermarks(pause) if on and pause else None,
        _watchdog(site, name),
        cable,
    )


def _marks(site: Site, name: str, far: str) -> list[tuple[int, Marks]]:
    scheme = site.tree["scheme"]
    used = {int(each.get("priority", 0)) for each in site.tables("traffic")}
    own = scheme.get("cp", {}) if scheme["name"] in ("dcqcn", "dctcp") else {}
    out = []
    for priority in range(CLASSES):
        table = next(
            (
                each
                for each in site.tables("wred")
                if selects(each["ports"], f"{name}->{far}") and priority in classes_of(each)
            ),
            own if priority in used else {},
        )
        if all(key in table for key in ("k_min", "k_max", "p_max")):
            k_min, k_max = (int(base(table[key])) for key in ("k_min", "k_max"))
            out.append((priority, Marks(k_min, k_max, PERCENT * table["p_max"])))
    return out


def _weights(site: Site, name: str) -> list[tuple[int, int]]:
    table = site.first_table("switch", "only", name) or {}
    parts = [part.partition(":") for part in str(table.get("weights") or "").split(",") if part]
    return [(int(queue), int(weight)) for queue, _, weight in parts]


def _watermarks(pause: JsonObject) -> Watermarks | None:
    keys = ("high", "low", "headroom")
    if pause.get("rule") != "watermarks" or any(pause.get(key) in (None, "none") for key in keys):
        return None
    return Watermarks(*(int(base(pause[key])) for key in keys))


def _watchdog(site: Site, name: str) -> Watchdog | None:
    table = site.first_table("watchdog", "only", name)
    if table is None:
        return None
    keys = ("detect_after", "restore_after", "poll")
    detect, restore, poll = (base(table[key]) for key in keys)
    return Watchdog(detect, restore, poll, table["action"])


def _shared(site: Site) -> None:
    """Tell of buffers, whose words differ by system and chip."""
    if site.tables("shared_buffer"):
        site.report.not_modelled.append(
            ("[[shared_buffer]]", "pools and alphas are each chip's own: qcnlab export sonic")
        )


def told(fabric: Fabric, lines: list[str]) -> tuple[list[str], Report]:
    """Return lines with the report of what they do not say.

    Parameters
    ----------
    fabric : Fabric
        Whose report it is.
    lines : list of str
        What is printed.
    """
    rest = ("[[traffic]], [scheme], [record]", "no switch's: qcnlab export mlxconfig has hosts'")
    fabric.report.not_modelled.append(rest)
    fabric.report.not_modelled = together(list(dict.fromkeys(fabric.report.not_modelled)))
    return lines, fabric.report


def without_cables(fabric: Fabric) -> Fabric:
    """Return a fabric whose ports are grouped whatever their cables, which some systems ignore.

    Parameters
    ----------
    fabric : Fabric
        As `fabric` returns it.
    """
    groups: dict[Settings, list[tuple[str, str]]] = {}
    for settings, ports in fabric.groups:
        groups.setdefault(replace(settings, cable=0), []).extend(ports)
    return replace(fabric, groups=list(groups.items()))


def blocks(fabric: Fabric, mark: str, block: Callable[[Settings, Report], list[str]]) -> list[str]:
    """Return a block of lines for each group of ports, under a comment that names them.

    Parameters
    ----------
    fabric : Fabric
        Its groups.
    mark : str
        What begins a comment.
    block : callable
        Returns the lines of a group.
    """
    out: list[str] = []
    for settings, ports in fabric.groups:
        lines = block(settings, fabric.report)
        if not lines:
            continue
        by_switch: dict[str, list[str]] = {}
        for switch, far in ports:
            by_switch.setdefault(switch, []).append(far)
        out.append(f"{mark} INTERFACE is each port of")
        out += [f"{mark}   {switch} to {', '.join(far)}" for switch, far in by_switch.items()]
        out += [*lines, mark]
    return out


def number(value: float) -> str:
    """Return a number without zeros at its end.

    >>> number(0.2), number(5.0)
    ('0.2', '5')
    """
    return f"{value:.10g}"
