"""Rules for network cards: held against each other and against the switches that they stand at."""

from __future__ import annotations

from collections import Counter
from math import ceil
from typing import TYPE_CHECKING

from qcnlab.formats.sonic.adapters import PARAMETERS
from qcnlab.formats.sonic.values import bare
from qcnlab.lint.findings import ERROR, WARNING, Finding, Rule, Site, adding, pfc_value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qcnlab.formats.sonic.adapters import Adapter
    from qcnlab.lint.findings import End

RULES: list[Rule] = []
rule = adding(RULES)
GBPS = 1000
"""Mb/s."""
LEAST_GBPS = 40
"""The slowest port for which the driver's sum is known, Gb/s."""
CARD_CELL = 128
ALLOWED = PARAMETERS - {"cnp_dscp", "cnp_802p_prio", "roce_cc_prio_mask", "rpg_max_rate"}
"""Parameters in which cards are compared; classes have rules of their own."""


@rule
def _paused_notifications(site: Site) -> Iterator[Finding]:
    """Notifications that wait behind a pause come when it is too late to slow down."""
    if not site.fabric.adapters:
        site.leave("classes of CNPs", "no adapter was read")
    for adapter, _ in site.hosts():
        dscp = adapter.parameters.get("cnp_dscp")
        priority = adapter.parameters.get("cnp_802p_prio")
        known = site.dscps.get(dscp.whole("cnp_dscp", 63)) if dscp is not None else None
        if dscp is not None and known is not None:
            if known[0] in site.lossless:
                yield Finding(
                    ERROR, adapter.name, dscp,
                    f"CNPs have DSCP {dscp.text}, which switches take for class {known[0]}: it can "
                    "be paused; give them a class without PFC",
                )  # fmt: skip
        elif priority is not None:
            if priority.whole("cnp_802p_prio", 7) in site.lossless:
                yield Finding(
                    ERROR, adapter.name, priority,
                    f"CNPs have class {priority.text}, which can be paused; give them another",
                )  # fmt: skip
        else:
            site.leave(f"class of CNPs of {adapter.name}", "no cnp_dscp and no cnp_802p_prio")


@rule
def _adapter_pfc(site: Site) -> Iterator[Finding]:
    """A network card that does not obey a pause overruns the buffer behind it."""
    for adapter, ends in site.hosts():
        if not adapter.pfc:
            site.leave(f"PFC of {adapter.name}", "neither mlnx_qos nor dcb was read")
            continue
        on = [each for each, value in sorted(adapter.pfc.items()) if value.flag("PFC")]
        for end in ends:
            there = end.switch.pfc(end.port.name)
            if on != there:
                at = next(iter(adapter.pfc.values()))
                yield Finding(
                    ERROR, adapter.name, at,
                    f"PFC in {_classes(on)}, and {end.switch.name} {end.port.name} in "
                    f"{_classes(there)} ({pfc_value(end).where})",
                )  # fmt: skip


@rule
def _adapter_map(site: Site) -> Iterator[Finding]:
    """A network card that sends a DSCP in another class than switches pauses the wrong traffic."""
    for adapter, _ in site.hosts():
        for dscp, value in adapter.dscp.items():
            usual = site.dscps.get(dscp)
            number = value.whole("class", 7)
            if usual and number != usual[0] and {number, usual[0]} & set(site.lossless):
                yield Finding(
                    ERROR, adapter.name, value,
                    f"DSCP {dscp} is class {number} here, and class {usual[0]} at switches",
                )  # fmt: skip


@rule
def _adapter_control(site: Site) -> Iterator[Finding]:
    """A sender or receiver that takes no part in congestion control leaves a class to PFC alone."""
    for adapter, _ in site.hosts():
        for what, kind in (("senders", adapter.reacts), ("receivers", adapter.notifies)):
            for priority in site.lossless:
                value = kind.get(priority)
                if value is not None and not value.flag("enable"):
                    yield Finding(
                        ERROR, adapter.name, value,
                        f"congestion control of {what} is off in class {priority}: write 1",
                    )  # fmt: skip
        mask = adapter.parameters.get("roce_cc_prio_mask")
        for priority in site.lossless:
            if mask is not None and not mask.whole("roce_cc_prio_mask", 255) >> priority & 1:
                yield Finding(
                    ERROR, adapter.name, mask,
                    f"ROCE_CC_PRIO_MASK {mask.text} lacks class {priority}: add {1 << priority}",
                )  # fmt: skip


@rule
def _adapter_trust(site: Site) -> Iterator[Finding]:
    """A network card that classifies by PCP takes untagged frames for class 0."""
    for adapter, ends in site.hosts():
        if adapter.trust is None or adapter.trust.text != "pcp":
            continue
        if any(end.switch.qos(end.port.name, "dscp_to_tc_map") is not None for end in ends):
            yield Finding(
                WARNING, adapter.name, adapter.trust,
                "trust state pcp, and its switch classifies by DSCP: mlnx_qos --trust dscp",
            )  # fmt: skip


@rule
def _adapters_differ(site: Site) -> Iterator[Finding]:
    """Of senders that share a queue, those that cut less or rise faster take the others' share."""
    by_speed: dict[int | None, list[Adapter]] = {}
    for adapter, ends in site.hosts():
        speeds = [end.port.speed for end in ends]
        by_speed.setdefault(speeds[0] if speeds else None, []).append(adapter)
    for speed, adapters in by_speed.items():
        for name in sorted(ALLOWED):
            known = {
                each.name: each.parameters[name] for each in adapters if name in each.parameters
            }
            count = Counter(bare(value.text) for value in known.values())
            usual, hosts = count.most_common(1)[0] if count else ("", 0)
            if 2 * hosts <= len(known):
                continue
            for host, value in known.items():
                if bare(value.text) != usual:
                    yield Finding(
                        WARNING, host, value,
                        f"{name} is {value.shown()} here, and {usual} at {hosts} of {len(known)} "
                        f"hosts{'' if speed is None else f' at {speed} Mb/s'}",
                    )  # fmt: skip


@rule
def _adapter_buffer(site: Site) -> Iterator[Finding]:
    """A network card that pauses too late, or for another class's frames, loses its own."""
    for adapter, ends in site.hosts():
        on = [each for each, value in sorted(adapter.pfc.items()) if value.flag("PFC")]
        off = [each for each in adapter.pfc if each not in on]
        for priority in on:
            buffer = adapter.buffer_of.get(priority)
            if buffer is None or priority not in site.lossless:
                continue
            beside = [
                each for each in off
                if each in adapter.buffer_of and adapter.buffer_of[each].text == buffer.text
            ]  # fmt: skip
            if beside:
                yield Finding(
                    ERROR, adapter.name, buffer,
                    f"class {priority} has PFC, and shares receive buffer {buffer.text} with "
                    f"{_classes(beside)}, which has none: mlnx_qos --prio2buffer",
                )  # fmt: skip
            size = adapter.buffers.get(buffer.whole("buffer", 7))
            needed = _needed(adapter, ends)
            if size is not None and needed is not None and size.octets("buffer") < needed[0]:
                yield Finding(
                    ERROR, adapter.name, size,
                    f"receive buffer {buffer.text} of class {priority} has {size.text} B, less "
                    f"than the {needed[0]} B that the driver needs to pause in time",
                    needed[1],
                )  # fmt: skip
        for end in ends:
            if adapter.cable is None or not end.port.cable or not on:
                continue
            length = adapter.cable.whole("Cable len", 10**6)
            if length < end.port.cable:
                yield Finding(
                    WARNING, adapter.name, adapter.cable,
                    f"the card keeps headroom for {length} m, and {end.switch.name} "
                    f"{end.port.name} says {end.port.cable} m: mlnx_qos --cable_len "
                    f"{end.port.cable}",
                )  # fmt: skip


def _needed(adapter: Adapter, ends: list[End]) -> tuple[int, str] | None:
    """Return the least size of a lossless receive buffer, as mlx5's driver has it, and the sum."""
    if not ends or ends[0].port.speed is None or adapter.cable is None:
        return None
    rate, mtu = ends[0].port.speed / GBPS, ends[0].port.mtu
    if rate < LEAST_GBPS:
        return None
    length = adapter.cable.whole("Cable len", 10**6)
    octets = ceil((301 + 2.16 * length) * rate + 2.72 * mtu + mtu + CARD_CELL)
    return octets, (
        f"(301 + 2.16 x {length} m) x {rate:g} Gb/s + 2.72 x {mtu} B + {mtu} B + {CARD_CELL} B = "
        f"{octets} B"
    )


def _classes(classes: list[int]) -> str:
    return f"class {', '.join(map(str, classes))}" if classes else "no class"
