"""Switches' configurations as the tables of a scenario."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from qcnlab.formats.sonic.tables import short
from qcnlab.printing.text import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from qcnlab.formats.report import Report
    from qcnlab.formats.sonic.network import Network
    from qcnlab.formats.sonic.reading import Fabric
    from qcnlab.formats.sonic.switches import Group, Pool, Switch

CLASSES = 8
SHOWN = 3


def lossless(fabric: Fabric, net: Network) -> list[int]:
    """Return the classes that have PFC at any linked port of any switch."""
    return sorted(
        {
            priority
            for name, switch in fabric.switches.items()
            for port in net.ports.get(name, {})
            for priority in switch.pfc(port)
        }
    )


def buffers(switch: Switch, net: Network, used: int, report: Report) -> list[str]:
    """Return the table of a switch's shared buffer.

    Parameters
    ----------
    switch : Switch
        The switch.
    net : Network
        Its links count.
    used : int
        The lossless class of the scenario's traffic: the size is that of its groups.
    report : Report
        Gets what was read and what is not modelled.
    """
    name, linked = switch.name, net.ports.get(switch.name, {})
    groups = {
        port: switch.groups.get((port, switch.mapped(port, "pfc_to_pg_map", used)))
        for port in linked
    }
    known = [group for group in groups.values() if group is not None and group.profile.lossless]
    lacking = sorted(port for port, group in groups.items() if group not in known)
    if not known:
        report.not_modelled.append(
            (
                f"{name}: buffer",
                f"no port has a profile with headroom for class {used} (profile NULL means that "
                "SONiC computes it while it runs): no limits, no pauses",
            )
        )
        return []
    if lacking:
        report.not_modelled.append(
            (
                f"{name}: {counted(len(lacking), 'port')} without headroom for class {used}, "
                f"{_some(lacking)}",
                "a switch has one buffer here, and they have that of the others; see qcnlab lint",
            )
        )
    pool = switch.pools.get(known[0].profile.pool)
    if pool is None:
        at = known[0].profile.at
        raise at.fault(f"pool '{short(known[0].profile.pool)}' is no row of BUFFER_POOL of {name}")
    private = pool.xoff == 0
    reserve = _agreed(
        known, lambda group: _reserve(switch, group, private=private), f"{name}: size", "B",
        report, largest=True,
    )  # fmt: skip
    headroom = _agreed(
        known, lambda group: group.profile.xoff or 0, f"{name}: xoff", "B", report, largest=True
    )
    xon = _agreed(known, lambda group: group.profile.xon or 0, f"{name}: xon", "B", report)
    offset = _agreed(
        known, lambda group: group.profile.xon_offset or 0, f"{name}: xon_offset", "B", report
    )
    shared = shared_part(switch, pool)
    links = len(set(linked.values()))
    size = shared + reserve * links + (headroom * links if private else pool.xoff)
    out = [
        "[[shared_buffer]]",
        f'only = "{name}"',
        f'size = "{size} B"  # {shared} B to share, and what {counted(links, "link")} keep in '
        f"class {used}",
        f'reserve = "{reserve} B"',
        f"pg_alpha = {_alpha(switch, known, shared, report)}",
        f'headroom = "{headroom} B"',
    ]
    if not private:
        out.append(f'headroom_pool = "{pool.xoff} B"')
    out += [f'xon = "{xon} B"', f'xon_offset = "{offset} B"']
    if switch.platform is not None:
        out.append(f'cell = "{switch.platform.cell} B"  # {switch.platform.name}')
    elif switch.hwsku is None:
        report.not_modelled.append((f"{name}: cells", "no hwsku: octets are counted"))
    else:
        report.not_modelled.append(
            (
                f"{name}: cells of {switch.hwsku.shown()} ({switch.hwsku.where})",
                "the platform is not known here: octets are counted",
            )
        )
    where = "beside" if switch.reserves_apart else "within"
    report.mapped.append(
        (
            f"{name}: BUFFER_POOL {pool.name} size {pool.size}, xoff {pool.xoff}",
            f"[[shared_buffer]] size {size} B; what groups keep is {where} the pool",
        )
    )
    return [*out, ""]


def shared_part(switch: Switch, pool: Pool) -> int:
    """Return the octets of a pool that all of its groups share.

    Pools of Mellanox' switches exclude what groups have to themselves; others include it, as SAI
    says. The headroom that groups share is beside either.

    Raises
    ------
    FormatError
        If nothing is left, and if the pool has no size.
    """
    if pool.size is None:
        raise pool.at.fault(
            f"pool '{short(pool.name)}' has no size: SONiC computes it while it runs; add what "
            "'show buffer configuration' prints, in octets"
        )
    if switch.reserves_apart:
        return pool.size
    kept = kept_apart(switch, pool)
    if kept >= pool.size:
        raise pool.at.fault(
            f"pool '{short(pool.name)}' of {switch.name} has {pool.size} B, and its groups keep "
            f"{kept} B of them: nothing is left to share; see qcnlab lint"
        )
    return pool.size - kept


def kept_apart(switch: Switch, pool: Pool) -> int:
    """Return what the groups of a pool have to themselves, in octets, with their headroom."""
    return sum(
        group.profile.size + ((group.profile.xoff or 0) if pool.xoff == 0 else 0)
        for group in switch.groups.values()
        if group.profile.pool == pool.name
    ) - sum(
        min(group.profile.xoff or 0, group.profile.size)
        for group in switch.groups.values()
        if group.profile.pool == pool.name and switch.reserves_apart and pool.xoff == 0
    )


def _reserve(switch: Switch, group: Group, *, private: bool) -> int:
    """Return what a group has to itself beside its headroom.

    Mellanox' profiles have the headroom in `size`, where each group has its own.
    """
    profile = group.profile
    inside = switch.reserves_apart and private and profile.size >= (profile.xoff or 0)
    return profile.size - (profile.xoff or 0) if inside else profile.size


def _alpha(switch: Switch, groups: list[Group], shared: int, report: Report) -> str:
    def exponent(group: Group) -> int:
        if group.profile.dynamic_th is not None:
            return group.profile.dynamic_th
        limit = group.profile.static_th or 0
        part = min(limit / shared, 0.99)
        near = min(range(-8, 8), key=lambda each: abs(2.0**each / (1 + 2.0**each) - part))
        report.not_modelled.append(
            (
                f"{switch.name}: static_th {limit} ({group.profile.at.where})",
                f"thresholds are dynamic here: alpha 2^{near}, which stops one group alone nearest",
            )
        )
        return near

    chosen = _agreed(groups, exponent, f"{switch.name}: dynamic_th", "", report)
    report.mapped.append((f"{switch.name}: dynamic_th {chosen}", f"pg_alpha 2^{chosen}"))
    return f"{2.0**chosen:.10g}"


def pauses(switches: list[Switch], net: Network, reaction: str, report: Report) -> list[str]:
    """Return the tables of pauses: switches with the same classes share one.

    Parameters
    ----------
    switches : list of Switch
        Those with a buffer whose groups have limits.
    net : Network
        Their links count.
    reaction : str
        The time from a pause frame's end to its effect.
    report : Report
        Gets what was read and what is not modelled.
    """
    by_classes: dict[tuple[int, ...], list[str]] = {}
    for switch in switches:
        name, ports = switch.name, net.ports.get(switch.name, {})
        sets = Counter(tuple(switch.pfc(port)) for port in ports)
        chosen = tuple(sorted({priority for classes in sets for priority in classes}))
        if len(sets) > 1:
            report.not_modelled.append(
                (
                    f"{name}: pfc_enable differs by port",
                    f"a switch has PFC on all of its links or none here: {_classes(chosen)}",
                )
            )
        if chosen:
            by_classes.setdefault(chosen, []).append(name)
    out = []
    for classes, names in by_classes.items():
        out += [
            "[[pause]]", f'only = "{", ".join(names)}"', 'kind = "priority"', 'rule = "dynamic"',
            f'priorities = "{_classes(classes)}"', f'reaction = "{reaction}"', "",
        ]  # fmt: skip
        report.mapped.append(
            (f"pfc_enable {_classes(classes)} of {_some(names)}", "[[pause]], rule dynamic")
        )
    return out


def watchdogs(fabric: Fabric, net: Network, report: Report) -> list[str]:
    """Return the tables of watchdogs."""
    by_times: dict[tuple[int, int, int | None, str], list[str]] = {}
    for name, switch in fabric.switches.items():
        ports = net.ports.get(name, {})
        known = [dog for port in ports if (dog := switch.watchdog(port)) is not None]
        if not known:
            continue
        if len(known) < len(ports):
            report.not_modelled.append(
                (f"{name}: PFC_WD on {len(known)} of {len(ports)} ports", "a switch has it on all")
            )
        partly = {
            port: guarded
            for port in ports
            if (guarded := switch.qos(port, "pfcwd_sw_enable")) is not None
            and set(switch.pfc(port)) - set(guarded.numbers("pfcwd_sw_enable", CLASSES - 1))
        }
        if partly:
            at = next(iter(partly.values()))
            report.not_modelled.append(
                (
                    f"{name}: pfcwd_sw_enable {at.shown()} at {counted(len(partly), 'port')} "
                    f"({at.where})",
                    "a watchdog looks at all classes that pauses stop",
                )
            )
        dog = known[0]
        for other in known[1:]:
            if (other.detection, other.action) != (dog.detection, dog.action):
                report.not_modelled.append(
                    (f"{name}: PFC_WD differs by port ({other.at.where})", "the first port counts")
                )
                break
        if dog.action == "alert":
            report.not_modelled.append((f"{name}: PFC_WD action alert", "it changes no frame"))
            continue
        if dog.action not in ("drop", "forward"):
            raise dog.at.fault(f"action '{short(dog.action)}' is none of drop, forward, alert")
        restoration = dog.restoration or 2 * dog.detection
        by_times.setdefault((dog.detection, restoration, dog.poll, dog.action), []).append(name)
    out = []
    for (detection, restoration, poll, action), names in by_times.items():
        out += [
            "[[watchdog]]", f'only = "{", ".join(names)}"', f'detect_after = "{detection} ms"',
            f'restore_after = "{restoration} ms"', f'action = "{action}"',
        ]  # fmt: skip
        out += [f'poll = "{poll} ms"'] if poll is not None else []
        out.append("")
        report.mapped.append((f"PFC_WD {detection}/{restoration} ms", "[[watchdog]]"))
    return out


def thresholds(fabric: Fabric, net: Network, classes: list[int], report: Report) -> list[str]:
    """Return the tables of WRED for the lossless classes' queues."""
    out: list[str] = []
    for name, switch in fabric.switches.items():
        ports = net.ports.get(name, {})
        for priority in classes:
            by_values: dict[tuple[int, int, int], list[str]] = {}
            for port, far in ports.items():
                wred = switch.wred(port, switch.mapped(port, "pfc_to_queue_map", priority))
                if wred is None or not wred.marks:
                    what = "no WRED profile" if wred is None else f"WRED {wred.name} marks nothing"
                    report.not_modelled.append(
                        (
                            f"{name} {port}: {what} in class {priority}",
                            "its queue marks by scheme.cp here",
                        )
                    )
                    continue
                values = (wred.k_min, wred.k_max, wred.percent)
                by_values.setdefault(values, []).append(far)
                if wred.k_min > wred.k_max:
                    raise wred.at.fault(
                        f"green_max_threshold {wred.k_max} is below green_min_threshold "
                        f"{wred.k_min}: exchange them"
                    )
            for (k_min, k_max, percent), nodes in by_values.items():
                whole = len(nodes) == len(ports)
                names = "*" if whole else None
                selected = (
                    f"{name}->*" if names else ", ".join(f"{name}->{far}" for far in set(nodes))
                )
                out += [
                    "[[wred]]", f'ports = "{selected}"', f'priorities = "{priority}"',
                    f'k_min = "{k_min} B"', f'k_max = "{k_max} B"', f"p_max = {percent / 100:g}",
                    "",
                ]  # fmt: skip
                report.mapped.append(
                    (f"{name}: WRED_PROFILE green {k_min}/{k_max} B, {percent} %",
                     f"[[wred]] of class {priority}")
                )  # fmt: skip
    return out


def weights(fabric: Fabric, net: Network, report: Report) -> list[str]:
    """Return the tables of switches whose classes share links by weight."""
    by_weights: dict[tuple[tuple[int, int], ...], list[str]] = {}
    for name, switch in fabric.switches.items():
        ports = list(net.ports.get(name, {}))
        sets = []
        for port in ports:
            listed = []
            for queue in range(CLASSES):
                row = switch.scheduler(port, queue)
                if row is None or row.fields.get("type") is None:
                    continue
                if row.fields["type"].text in ("DWRR", "WRR") and "weight" in row.fields:
                    listed.append((queue, row.fields["weight"].whole("weight", 100, 1)))
            sets.append(tuple(listed))
        if len(set(sets)) > 1:
            report.not_modelled.append((f"{name}: schedulers differ by port", "the first counts"))
        if sets and sets[0]:
            by_weights.setdefault(sets[0], []).append(name)
    out = []
    for shares, names in by_weights.items():
        told = ", ".join(f"{queue}: {weight}" for queue, weight in shares)
        out += ["[[switch]]", f'only = "{", ".join(names)}"', f'weights = "{told}"', ""]
        report.mapped.append((f"SCHEDULER {told}", "[[switch]] weights"))
    return out


def _agreed(
    groups: list[Group],
    number: Callable[[Group], int],
    what: str,
    unit: str,
    report: Report,
    *,
    largest: bool = False,
) -> int:
    """Return the number that most groups have, or the largest; tell where they differ."""
    counts = Counter(number(group) for group in groups)
    chosen = max(counts) if largest else counts.most_common(1)[0][0]
    if len(counts) > 1:
        values = ", ".join(f"{value} {unit}".strip() for value in sorted(counts))
        rule = "the largest; what is shared stays the same" if largest else "that of most ports"
        report.not_modelled.append(
            (f"{what} differs by port: {values}", f"a switch has one here: {chosen}, {rule}")
        )
    return chosen


def _classes(classes: Iterable[int]) -> str:
    return ",".join(map(str, classes))


def _some(names: list[str]) -> str:
    shown = ", ".join(names[:SHOWN])
    return shown if len(names) <= SHOWN else f"{shown} and others"
