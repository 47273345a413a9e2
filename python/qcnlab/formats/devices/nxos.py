"""Switches of Cisco: lines of NX-OS."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qcnlab.formats.devices.settings import blocks, fabric, told, without_cables

if TYPE_CHECKING:
    from qcnlab.formats.devices.settings import Settings
    from qcnlab.formats.report import Report

POLICY = "QCNLAB"
KB = 1000


def nxos(source: str) -> tuple[list[str], Report]:
    """Return what a scenario says of its switches' ports as lines of NX-OS.

    Parameters
    ----------
    source : str
        A scenario file or name.
    """
    known = without_cables(fabric(source))
    numbers = {id(port): index for index, (port, _) in enumerate(known.groups, 1)}
    classes = sorted({each for port, _ in known.groups for each in port.pfc})
    lines = _network(classes, known.frame, known.report)
    lines += blocks(known, "!", lambda port, report: _block(port, report, numbers[id(port)]))
    known.report.not_modelled.append(
        ("class-map type qos, match dscp", "a scenario has classes, no DSCPs")
    )
    return told(known, lines)


def _network(classes: list[int], frame: int, report: Report) -> list[str]:
    """Return the policy of the whole switch: which classes lose nothing."""
    out: list[str] = []
    for each in classes:
        if not each:
            report.not_modelled.append(("PFC in class 0", "no class-map of class 0 is known here"))
            continue
        out += [
            f"  class type network-qos c-8q-nq{each}",
            "    ! PFC, as [[pause]] priorities",
            f"    pause pfc-cos {each}",
        ]
    if not out:
        return []
    report.not_modelled.append(
        (f"frames of {frame} B", "mtu of a class-map has to hold your longest packet; not written")
    )
    name = f"{POLICY}-NETWORK"
    head = ["! of each switch", f"policy-map type network-qos {name}"]
    return [*head, *out, "system qos", f"  service-policy type network-qos {name}", "!"]


def _block(port: Settings, report: Report, group: int) -> list[str]:
    name = f"{POLICY}-OUT-{group}"
    weights, marks = dict(port.weights), dict(port.marks)
    whole = sum(weights.values())
    inside: list[str] = []
    for queue in sorted(marks.keys() | weights.keys()):
        if not queue:
            report.not_modelled.append(
                ("queue 0", "its class is the default, which other policies share; not written")
            )
            continue
        inside.append(f"  class type queuing c-out-8q-q{queue}")
        if queue in marks:
            mark = marks[queue]
            ends = [max(1, round(each / KB)) for each in (mark.k_min, mark.k_max)]
            percent = max(1, round(mark.percent))
            if [KB * each for each in ends] != [mark.k_min, mark.k_max]:
                report.not_modelled.append(
                    (f"k_min {mark.k_min} B, k_max {mark.k_max} B",
                     f"whole kbytes: {ends[0]} and {ends[1]}")
                )  # fmt: skip
            if percent != mark.percent:
                report.not_modelled.append(
                    (f"p_max {mark.percent:g} %", f"whole percent: {percent}")
                )
            inside += [
                "    ! kbytes, taken as 1000 octets; percent; weight 0: the queue as it is",
                f"    random-detect minimum-threshold {ends[0]} kbytes maximum-threshold {ends[1]} "
                f"kbytes drop-probability {percent} weight 0 ecn",
            ]
        if queue in weights:
            share = round(100 * weights[queue] / whole)
            inside += [
                f"    ! percent of the link: weight {weights[queue]} of {whole}",
                f"    bandwidth remaining percent {share}",
            ]
    out = [f"policy-map type queuing {name}", *inside] if inside else []
    service = [f"  service-policy type queuing output {name}"] if inside else []
    if port.pfc:
        service = ["  ! PFC on the port", "  priority-flow-control mode on", *service]
    if service:
        out += ["interface INTERFACE", *service]
    if port.watermarks is not None:
        marks_of = port.watermarks
        out += [
            "! octets: buffer-size is high + headroom, for the ingress class of the group",
            f"! pause buffer-size {marks_of.high + marks_of.headroom} pause-threshold "
            f"{marks_of.high} resume-threshold {marks_of.low}",
        ]
        report.not_modelled.append(
            ("[[pause]] high, low, headroom", "written as a comment: its class-map is each model's")
        )
    if port.watchdog is not None:
        report.not_modelled.append(
            ("[[watchdog]]", "the unit of NX-OS' intervals is not certain here; not written")
        )
    return out
