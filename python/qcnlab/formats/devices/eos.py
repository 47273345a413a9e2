"""Switches of Arista: lines of EOS."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qcnlab.formats.devices.settings import blocks, fabric, number, told, without_cables

if TYPE_CHECKING:
    from qcnlab.formats.devices.settings import Settings
    from qcnlab.formats.report import Report

TIMES = (0.01, 60.0)
"""Seconds that a watchdog's times may have."""


def eos(source: str) -> tuple[list[str], Report]:
    """Return what a scenario says of its switches' ports as lines of EOS.

    Parameters
    ----------
    source : str
        A scenario file or name.
    """
    known = without_cables(fabric(source))
    return told(known, blocks(known, "!", _block))


def _block(port: Settings, report: Report) -> list[str]:
    inside: list[str] = []
    if port.pfc:
        inside += ["   ! PFC, as [[pause]] priorities", "   priority-flow-control on"]
        inside += [f"   priority-flow-control priority {each} no-drop" for each in port.pfc]
    weights = dict(port.weights)
    whole = sum(weights.values())
    marks = dict(port.marks)
    for queue in sorted(marks.keys() | weights.keys()):
        inside.append(f"   uc-tx-queue {queue}")
        if queue in marks:
            mark = marks[queue]
            percent = max(1, round(mark.percent))
            if percent != mark.percent:
                report.not_modelled.append(
                    (f"p_max {mark.percent:g} %", f"EOS has whole percent: {percent}")
                )
            inside += [
                "      ! octets; Pmax in percent; weight 0: the queue as it is, not averaged",
                f"      random-detect ecn minimum-threshold {mark.k_min} bytes maximum-threshold "
                f"{mark.k_max} bytes max-mark-probability {percent} weight 0",
            ]
        if queue in weights:
            share = round(100 * weights[queue] / whole)
            inside += [
                f"      ! percent of the link: weight {weights[queue]} of {whole}",
                "      no priority", f"      bandwidth percent {share}",
            ]  # fmt: skip
    lines = ["interface INTERFACE", *inside] if inside else []
    if port.watermarks is not None:
        report.not_modelled.append(
            ("[[pause]] high, low, headroom", "EOS derives them by platform; they are not written")
        )
    return lines + _watchdog(port, report)


def _watchdog(port: Settings, report: Report) -> list[str]:
    dog = port.watchdog
    if dog is None:
        return []
    if dog.action != "drop":
        report.not_modelled.append((f"[[watchdog]] action {dog.action}", "drop alone is known"))
        return []
    out = ["! PFC watchdog of the switch: times in s, as [[watchdog]]"]
    words = (
        ("timeout", "detect_after", dog.detect_s), ("recovery-time", "restore_after", dog.restore_s)
    )  # fmt: skip
    for word, key, seconds in words:
        if TIMES[0] <= seconds <= TIMES[1]:
            out.append(f"priority-flow-control pause watchdog default {word} {number(seconds)}")
        else:
            why = f"EOS has times of {TIMES[0]:g} to {TIMES[1]:g} s"
            report.not_modelled.append((f"[[watchdog]] {key} {number(seconds)} s", why))
    if TIMES[0] <= dog.poll_s <= dog.detect_s / 2:
        out.append(f"priority-flow-control pause watchdog default polling-interval {dog.poll_s:g}")
    else:
        report.not_modelled.append(
            (f"[[watchdog]] poll {number(dog.poll_s)} s", "EOS polls at half of timeout at most")
        )
    return [*out, "priority-flow-control pause watchdog action drop"]
