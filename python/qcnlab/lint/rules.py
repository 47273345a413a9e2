"""Rules for switches. A rule is one function that yields what is wrong; `@rule` adds it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from qcnlab.errors import Error
from qcnlab.formats.sonic.mapping import kept_apart
from qcnlab.formats.sonic.values import Value
from qcnlab.headroom import sums
from qcnlab.lint import adapter_rules
from qcnlab.lint.findings import (
    CLASSES,
    ERROR,
    WARNING,
    End,
    Finding,
    Rule,
    Site,
    adding,
    pfc_value,
)
from qcnlab.lint.formulas import longest_pause
from qcnlab.lint.margins import alpha_of, margins, shared_of
from qcnlab.printing.text import duration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qcnlab.formats.sonic.switches import Pool, Switch

RULES: list[Rule] = []
rule = adding(RULES)
MBPS = 10**6


@rule
def _lossy_hop(site: Site) -> Iterator[Finding]:
    """A lossless class loses frames at the hop that does not pause the one before it."""
    for end in site.ends:
        here = end.switch.pfc(end.port.name)
        for priority in site.lossless:
            if priority not in here:
                count = sum(priority in each.switch.pfc(each.port.name) for each in site.ends)
                yield Finding(
                    ERROR, end.switch.name, pfc_value(end),
                    f"class {priority} has PFC at {count} of {len(site.ends)} linked ports, and "
                    f"not here: add it to pfc_enable",
                    port=end.port.name,
                )  # fmt: skip
        for priority in here:
            if priority not in site.lossless:
                yield Finding(
                    ERROR, end.switch.name, pfc_value(end),
                    f"class {priority} has PFC here, and not at most other ports: take it out, or "
                    "add it there",
                    port=end.port.name,
                )  # fmt: skip


@rule
def _no_headroom(site: Site) -> Iterator[Finding]:
    """PFC without headroom loses what still arrives after the pause."""
    for end in site.ends:
        switch, port = end
        if not switch.tables.table("BUFFER_PG") and not switch.rows:
            site.leave(f"headroom of {switch.name}", "no BUFFER_PG and no lookup table was read")
            continue
        for priority in switch.pfc(port.name):
            group = site.group(end, priority)
            if group is not None and group.profile.lossless:
                continue
            if _computed(switch, port.name, priority):
                site.leave(f"headroom of {switch.name}", "profile NULL: SONiC computes it")
            elif port.cable == 0:
                yield Finding(
                    ERROR, switch.name, port.cable_at or port.at,
                    f"PFC in class {priority}, but a cable of 0m means a port without lossless "
                    "classes: write its length",
                    port=port.name,
                )  # fmt: skip
            elif group is None and switch.rows:
                cable = "no cable" if port.cable_at is None else f"cable {port.cable_at.text}"
                yield Finding(
                    ERROR, switch.name, port.cable_at or port.at,
                    f"PFC in class {priority}, but the lookup table has no row for speed "
                    f"{port.speed} and {cable}: add it",
                    port=port.name,
                )  # fmt: skip
            else:
                profile = "no profile" if group is None else f"profile {group.profile.name}"
                yield Finding(
                    ERROR, switch.name, pfc_value(end) if group is None else group.at,
                    f"PFC in class {priority}, but its group has {profile} without xoff",
                    port=port.name,
                )  # fmt: skip


@rule
def _idle_headroom(site: Site) -> Iterator[Finding]:
    """Headroom that no pause uses takes buffer from all others."""
    for end in site.ends:
        switch, port = end
        used = {
            switch.mapped(port.name, "pfc_to_pg_map", priority)
            for priority in switch.pfc(port.name)
        }
        # A class without PFC at this port alone is a lossy hop, and told there.
        used |= {switch.mapped(port.name, "pfc_to_pg_map", each) for each in site.lossless}
        for (name, number), group in switch.groups.items():
            if name == port.name and number not in used and group.profile.lossless:
                yield Finding(
                    WARNING, switch.name, group.at,
                    f"group {number} has headroom of {group.profile.xoff} B, and no class with PFC",
                    port=port.name,
                )  # fmt: skip


@rule
def _short_headroom(site: Site) -> Iterator[Finding]:
    """Headroom below what still arrives loses frames in the worst case."""
    for end in site.ends:
        switch, port = end
        for priority in switch.pfc(port.name):
            group = site.group(end, priority)
            if group is None or not group.profile.lossless or port.speed is None:
                continue
            if port.cable is None:
                site.leave(f"headroom of {switch.name} {port.name}", "no CABLE_LENGTH")
                continue
            known = _expected(site, end)
            if known is not None and (group.profile.xoff or 0) < known.xoff:
                yield Finding(
                    WARNING, switch.name, group.profile.values.get("xoff", group.at),
                    f"headroom of {group.profile.xoff} B is less than the {known.xoff} B of "
                    f"{known.name} for {port.speed} Mb/s, {port.cable} m, MTU {port.mtu}",
                    f"{_terms(known)} = {known.xoff} B; see qcnlab headroom",
                    port.name,
                )  # fmt: skip


@rule
def _small_pool(site: Site) -> Iterator[Finding]:
    """A pool that is promised twice overflows, and lossless classes lose frames."""
    for switch in site.fabric.switches.values():
        for pool in switch.pools.values():
            if not pool.ingress:
                continue
            if pool.size is None:
                site.leave(f"pool {pool.name} of {switch.name}", "no size: SONiC computes it")
                continue
            kept = kept_apart(switch, pool)
            most = max(
                (g for g in switch.groups.values() if g.profile.pool == pool.name),
                key=lambda each: each.profile.xoff or 0,
                default=None,
            )
            if pool.xoff and most is not None and (most.profile.xoff or 0) > pool.xoff:
                yield Finding(
                    ERROR, switch.name, pool.at,
                    f"the headroom that all groups of pool {pool.name} share, xoff {pool.xoff} B, "
                    f"is less than one of them may need",
                    f"{most.profile.xoff} B ({most.profile.name}) > {pool.xoff} B",
                )  # fmt: skip
            if not switch.reserves_apart:
                if kept >= pool.size:
                    yield Finding(
                        ERROR, switch.name, pool.at,
                        f"pool {pool.name} of {pool.size} B cannot hold what its groups keep",
                        f"{_kept(switch, pool)} = {kept} B >= {pool.size} B",
                    )  # fmt: skip
                continue
            chip = switch.platform.buffer if switch.platform else None
            if chip is None:
                site.leave(f"memory of {switch.name}", "that of its platform is not known")
                continue
            whole = pool.size + kept + pool.xoff
            if whole > chip:
                name = switch.platform.name if switch.platform else ""
                yield Finding(
                    ERROR, switch.name, pool.at,
                    f"pool {pool.name} and what its groups keep are more than the memory of "
                    f"{name}: lower its size",
                    f"{pool.size} B + {_kept(switch, pool)} + {pool.xoff} B shared headroom = "
                    f"{whole} B > {chip} B",
                )  # fmt: skip


@rule
def _late_marks(site: Site) -> Iterator[Finding]:
    """Where PFC pauses before ECN marks, senders never learn of the congestion that pauses them."""
    for margin in margins(site):
        end, wred, point = margin.end, margin.wred, margin.point
        if wred.k_max < point:
            continue
        severity = ERROR if wred.k_min >= point else WARNING
        what = "before ECN marks at all" if severity == ERROR else "before ECN marks each frame"
        yield Finding(
            severity, end.switch.name, margin.at,
            f"PFC pauses {what}: Kmin {wred.k_min} B, Kmax {wred.k_max} B ({wred.at.where}), pause "
            f"at {point:.0f} B",
            margin.formula(), end.port.name,
        )  # fmt: skip


@rule
def _no_marks(site: Site) -> Iterator[Finding]:
    """PFC alone stops congestion only by spreading it."""
    for end in site.ends:
        switch, port = end
        if not switch.tables.table("QUEUE"):
            site.leave(f"ECN of {switch.name}", "no table QUEUE was read")
            continue
        for priority in switch.pfc(port.name):
            if priority not in site.lossless:
                continue
            wred = switch.wred(port.name, switch.mapped(port.name, "pfc_to_queue_map", priority))
            if wred is not None and wred.drops and not wred.marks:
                yield Finding(
                    ERROR, switch.name, wred.at,
                    f"WRED profile {wred.name} drops frames of class {priority} from "
                    f"{wred.k_min} B on, and marks none: write ecn_all",
                    port=port.name,
                )  # fmt: skip
            elif wred is None or not wred.marks:
                name = "no WRED profile" if wred is None else f"WRED profile {wred.name}, ecn off"
                yield Finding(
                    WARNING, switch.name, pfc_value(end) if wred is None else wred.at,
                    f"the queue of class {priority} has {name}: nothing marks its frames",
                    port=port.name,
                )  # fmt: skip


@rule
def _crossed_thresholds(site: Site) -> Iterator[Finding]:
    """Where the least threshold is above the greatest, what a queue marks is not said."""
    for end in site.ends:
        for priority in end.switch.pfc(end.port.name):
            queue = end.switch.mapped(end.port.name, "pfc_to_queue_map", priority)
            wred = end.switch.wred(end.port.name, queue)
            if wred is not None and wred.k_min > wred.k_max:
                yield Finding(
                    ERROR, end.switch.name, wred.at,
                    f"WRED profile {wred.name}: green_min_threshold {wred.k_min} B is above "
                    f"green_max_threshold {wred.k_max} B: exchange them",
                    port=end.port.name,
                )  # fmt: skip


@rule
def _lossy_queue(site: Site) -> Iterator[Finding]:
    """A lossless class that its output queue may drop is lossless only at inputs."""
    pools = {
        each: profile.pool
        for end in site.ends
        for priority in end.switch.pfc(end.port.name)
        if (profile := site.queue(end, priority)) is not None
        for each in [(end.switch.name, end.port.name, priority)]
    }
    counts = Counter((priority, pool) for (*_, priority), pool in pools.items())
    most = dict(key for key, _ in reversed(counts.most_common()))
    for end in site.ends:
        switch, port = end
        for priority in switch.pfc(port.name):
            profile = site.queue(end, priority)
            if profile is None:
                continue
            at = site.queue_value(end, priority)
            if profile.pool != most[priority]:
                yield Finding(
                    ERROR, switch.name, at,
                    f"the queue of class {priority} has profile {profile.name} of pool "
                    f"{profile.pool}, and at most ports it is of pool {most[priority]}: a lossy "
                    "queue drops",
                    port=port.name,
                )  # fmt: skip
                continue
            told = _least_queue(site, end, priority)
            if told is not None:
                formula, limit, held = told
                yield Finding(
                    ERROR, switch.name, profile.values.get("dynamic_th", at),
                    f"the queue of class {priority} (profile {profile.name}) may hold {limit} B, "
                    f"less than the {held} B that links bring before all of them are paused: it "
                    "drops first",
                    formula, port.name,
                )  # fmt: skip


@rule
def _shared_group(site: Site) -> Iterator[Finding]:
    """Frames that nothing pauses fill a lossless group, and stop the class that can be paused."""
    for end in site.ends:
        switch, name = end.switch, end.port.name
        lossless = switch.pfc(name)
        for what, by_class, by_pause in (
            ("group", "tc_to_pg_map", "pfc_to_pg_map"),
            ("queue", "tc_to_queue_map", "pfc_to_queue_map"),
        ):
            row = switch.row_of_map(name, by_class)
            owners = {switch.mapped(name, by_pause, each): each for each in lossless}
            for key, value in row.fields.items() if row is not None else ():
                other = value.whole(f"{by_class} of {key}", 255)
                number = Value(key, value.path, value.line).whole(by_class, CLASSES - 1)
                if number in (*lossless, *site.lossless) or other not in owners:
                    continue
                if not site.used(end, number):
                    continue
                yield Finding(
                    ERROR, switch.name, value,
                    f"frames of class {number}, which has no PFC, are in {what} {other} with those "
                    f"of class {owners[other]}, which has: give them a {what} of their own",
                    port=name,
                )  # fmt: skip


@rule
def _slow_poll(site: Site) -> Iterator[Finding]:
    """A watchdog that looks less often than a storm lasts acts late, or on what is over."""
    for end in site.ends:
        dog = end.switch.watchdog(end.port.name)
        if dog is None or dog.poll is None or dog.poll_at is None:
            continue
        least = min(dog.detection, dog.restoration or dog.detection)
        if dog.poll > least:
            yield Finding(
                ERROR, end.switch.name, dog.poll_at,
                f"POLL_INTERVAL {dog.poll} ms is above detection {dog.detection} ms or restoration "
                f"{dog.restoration} ms: lower it to {least} ms",
                port=end.port.name,
            )  # fmt: skip


@rule
def _hasty_watchdog(site: Site) -> Iterator[Finding]:
    """A watchdog below the longest pause that load alone brings drops lossless frames."""
    for end in site.ends:
        dog, far = end.switch.watchdog(end.port.name), site.other(end)
        if dog is None or far is None:
            continue
        rates = [
            (each.port.speed or 0) * MBPS
            for each in site.ends_of(far.switch.name)
            if each.port.name != far.port.name and each.port.speed
        ]
        for priority in far.switch.pfc(far.port.name):
            group = site.group(far, priority)
            known = shared_of(site, far.switch, group)
            alpha = alpha_of(group)
            if known is None or alpha is None or group is None or not rates:
                continue
            inputs, rate = len(rates), min(rates)
            xoff = group.profile.xoff or 0
            longest = longest_pause(known, alpha, xoff, inputs, rate)
            if longest * 1000 > dog.detection:
                yield Finding(
                    ERROR, end.switch.name, dog.at,
                    f"detection after {dog.detection} ms is below the {duration(longest, 3)} that "
                    f"{far.switch.name} may pause under load alone",
                    f"8 m (alpha B / (1 + m alpha) + xoff) / C = 8 x {inputs} x ({alpha:g} x "
                    f"{known} B / (1 + {inputs} x {alpha:g}) + {xoff} B) / {rate // MBPS} Mb/s = "
                    f"{duration(longest, 3)}, while no port behind it is paused",
                    end.port.name,
                )  # fmt: skip


@rule
def _maps_differ(site: Site) -> Iterator[Finding]:
    """A class that is lossless at one hop and another class at the next is lossless at neither."""
    for dscp, usual in site.dscps.items():
        for end in site.ends:
            known = site.classified(end, dscp)
            if known is None:
                if usual[0] in site.lossless:
                    at = end.switch.qos(end.port.name, "dscp_to_tc_map") or end.port.at
                    yield Finding(
                        ERROR, end.switch.name, at,
                        f"DSCP {dscp} has no class here, and class {usual[0]} at most ports",
                        port=end.port.name,
                    )  # fmt: skip
            elif known[0] != usual and {known[0][0], usual[0]} & set(site.lossless):
                yield Finding(
                    ERROR, end.switch.name, known[1],
                    f"DSCP {dscp} has class, group and queue {_triple(known[0])} here, and "
                    f"{_triple(usual)} at most ports",
                    port=end.port.name,
                )  # fmt: skip


@rule
def _group_mismatch(site: Site) -> Iterator[Finding]:
    """Pauses that protect another group than the one its frames are in protect nothing."""
    for end in site.ends:
        switch, name = end.switch, end.port.name
        for priority in switch.pfc(name):
            for what, by_class, by_pause in (
                ("group", "tc_to_pg_map", "pfc_to_pg_map"),
                ("queue", "tc_to_queue_map", "pfc_to_queue_map"),
            ):
                frames = switch.mapped(name, by_class, priority)
                paused = switch.mapped(name, by_pause, priority)
                if frames != paused:
                    row = switch.row_of_map(name, by_class) or switch.row_of_map(name, by_pause)
                    at = row.fields.get(str(priority), row.key) if row else pfc_value(end)
                    yield Finding(
                        ERROR, switch.name, at,
                        f"frames of class {priority} are in {what} {frames}, and pauses of class "
                        f"{priority} are for {what} {paused}: make both maps agree",
                        port=name,
                    )  # fmt: skip


@rule
def _no_watchdog(site: Site) -> Iterator[Finding]:
    """Where no watchdog stands, one defective card that pauses for ever stops all behind it."""
    if not any(end.switch.watchdog(end.port.name) for end in site.ends):
        if site.ends:
            site.leave("watchdogs", "no port has one")
        return
    for end in site.ends:
        if end.switch.pfc(end.port.name) and end.switch.watchdog(end.port.name) is None:
            yield Finding(
                WARNING, end.switch.name, pfc_value(end),
                "PFC without a watchdog, which other ports have: pfcwd start",
                port=end.port.name,
            )  # fmt: skip
            continue
        guarded = end.switch.qos(end.port.name, "pfcwd_sw_enable")
        if guarded is None or end.switch.watchdog(end.port.name) is None:
            continue
        classes = guarded.numbers("pfcwd_sw_enable", CLASSES - 1)
        for priority in end.switch.pfc(end.port.name):
            if priority not in classes:
                yield Finding(
                    WARNING, end.switch.name, guarded,
                    f"class {priority} has PFC, and the watchdog does not look at it: add it to "
                    "pfcwd_sw_enable",
                    port=end.port.name,
                )  # fmt: skip


@rule
def _ends_differ(site: Site) -> Iterator[Finding]:
    """Headroom follows from the cable: two lengths of one cable are one too little."""
    for end in site.ends:
        far = site.other(end)
        if far is None:
            known = site.fabric.switches.get(end.port.neighbor or "")
            if known is not None and end.port.neighbor_at is not None:
                yield Finding(
                    WARNING, end.switch.name, end.port.neighbor_at,
                    f"{end.port.neighbor} does not name this port as its neighbour",
                    port=end.port.name,
                )  # fmt: skip
            continue
        if (end.switch.name, end.port.name) > (far.switch.name, far.port.name):
            continue
        for what, here, there in (
            ("cable of", end.port.cable, far.port.cable),
            ("speed of", end.port.speed, far.port.speed),
            ("MTU of", end.port.mtu, far.port.mtu),
        ):
            if here is not None and there is not None and here != there:
                at = end.port.cable_at if what == "cable of" else end.port.at
                yield Finding(
                    WARNING, end.switch.name, at or end.port.at,
                    f"{what} {here} here, and {there} at {far.switch.name} {far.port.name} "
                    f"({(far.port.cable_at or far.port.at).where})",
                    port=end.port.name,
                )  # fmt: skip


def _least_queue(site: Site, end: End, priority: int) -> tuple[str, int, int] | None:
    """Return the sum, a queue's limit and what groups bring to it, where it is below that."""
    switch = end.switch
    profile, group = site.queue(end, priority), site.group(end, priority)
    pool = switch.pools.get(profile.pool) if profile is not None else None
    shared, alpha = shared_of(site, switch, group), alpha_of(group)
    inputs = len(site.ends_of(switch.name)) - 1
    if profile is None or pool is None or shared is None or alpha is None or inputs < 1:
        return None
    if profile.static_th is not None:
        limit, told = profile.size + profile.static_th, f"static_th {profile.static_th} B"
    elif profile.dynamic_th is not None and pool.size is not None:
        part = 2.0**profile.dynamic_th
        limit = profile.size + int(part * pool.size / (1 + part))
        told = f"{part:g} x {pool.size} B / (1 + {part:g})"
    else:
        return None
    held = int(inputs * alpha * shared / (1 + inputs * alpha))
    if limit >= held:
        return None
    formula = (
        f"{profile.size} B + {told} = {limit} B < m alpha B / (1 + m alpha) = {inputs} x {alpha:g} "
        f"x {shared} B / (1 + {inputs} x {alpha:g}) = {held} B"
    )
    return formula, limit, held


def _computed(switch: Switch, port: str, priority: int) -> bool:
    """Return whether SONiC computes a group's profile while it runs."""
    number = switch.mapped(port, "pfc_to_pg_map", priority)
    entry = switch.numbered("BUFFER_PG").get((port, number))
    value = entry.fields.get("profile") if entry is not None else None
    return value is not None and value.text == "NULL"


def _expected(site: Site, end: End) -> sums.Sum | None:
    switch, port = end
    assert port.speed is not None and port.cable is not None
    model = sums.Port(port.speed * MBPS, port.cable, port.mtu, wide=port.wide)
    platform = switch.platform
    try:
        if platform is not None and platform.formula is not None:
            return sums.mellanox(model, platform, platform.shared_headroom)
        if platform is not None:
            row = sums.shipped(model, platform)
            if row is None:
                site.leave(
                    f"headroom of {switch.name}",
                    f"SONiC ships no row for {platform.name}, {port.speed} Mb/s, {port.cable} m",
                )  # fmt: skip
            return row
        return sums.standard(model)
    except Error as fault:
        site.leave(f"headroom of {switch.name} {port.name}", str(fault).partition(":")[0])
        return None


def _terms(known: sums.Sum) -> str:
    return " + ".join(f"{octets:.0f} {name}" for name, octets in known.terms.items()) or "its row"


def _kept(switch: Switch, pool: Pool) -> str:
    count = Counter(
        (group.profile.name, group.profile.size, group.profile.xoff or 0)
        for group in switch.groups.values()
        if group.profile.pool == pool.name and (group.profile.size or group.profile.xoff)
    )
    private = pool.xoff == 0 and not switch.reserves_apart
    return " + ".join(
        f"{groups} x {size + (xoff if private else 0)} B ({name})"
        for (name, size, xoff), groups in count.items()
    ) or "0 B"  # fmt: skip


def _triple(numbers: tuple[int, int, int]) -> str:
    return ", ".join(map(str, numbers))


RULES += adapter_rules.RULES
