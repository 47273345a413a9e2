"""What a scenario has and its model has not, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qcnlab.facts import base
from qcnlab.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qcnlab.analysis.place import Crowd


def left_out(scheme: str, tree: dict[str, Any], crowd: Crowd) -> tuple[str, ...]:
    """Name what the model of a crowd leaves out; `tree` is the resolved scenario."""
    return (
        *_of_scheme(scheme, tree["scheme"]["rp"]),
        *_of_crowd(scheme, crowd),
        *_of_traffic(tree, crowd),
        *_of_fabric(tree),
    )


def _of_scheme(scheme: str, receiver: dict[str, Any]) -> Iterator[str]:
    if scheme == "dcqcn":
        yield "the sources' alpha at the start, taken as 1"
        yield "the spread of the sources' rates"
        yield "single CNPs, only their mean"
        yield "hyper increase"
        yield "the buffer's end"
        return
    yield "jitter and the quantizer's steps"
    yield "the spread of the sources' rates"
    yield "drops: a frame that is dropped is not sampled, so a full buffer lasts longer"
    if scheme == "ecm":
        if base(receiver["drift_every"]) > 0:
            yield "drift"
        return
    if receiver["clock"] == "both":
        yield "timer and hyper-active increase"
    if receiver.get("short_cycles"):
        yield "short cycles in active increase"
    if receiver.get("target_rate_reduction"):
        yield "target rate reduction"


def _of_crowd(scheme: str, crowd: Crowd) -> Iterator[str]:
    delays = crowd.delay_s(scheme)
    if not delays.one:
        yield f"unequal RTTs ({delays.spans()}; the model takes their mean)"
    sends = crowd.sends
    if not sends.one:
        least, greatest = sends.min / 1e9, sends.max / 1e9
        yield f"unequal offers ({least:.4g} to {greatest:.4g} Gb/s; the model takes their mean)"
    frames = crowd.frame_bytes
    if not frames.one:
        yield (
            f"frames of several sizes ({frames.min:g} to {frames.max:g} B; "
            f"the model takes the mean, {frames.mean:.4g} B)"
        )
    for (flows, rate), what in (
        (crowd.light, "less than half its fair share"),
        (crowd.unslowed, "what no reaction point slows"),
    ):
        if flows:
            yield (
                f"samples of {counted(flows, 'flow')} of {what}, whose {rate / 1e9:.4g} Gb/s "
                "are taken off the link"
            )


def _of_traffic(tree: dict[str, Any], crowd: Crowd) -> Iterator[str]:
    kinds = {tree["traffic"][entry]["kind"] for entry in crowd.traffic}
    if "tcp" in kinds:
        yield "TCP's window: sources are taken to send what their limiters allow"
    if "poisson" in kinds:
        yield "arrivals at random"
    if "on_off" in kinds:
        yield "bursts: sources are taken to send their mean rate"


def _of_fabric(tree: dict[str, Any]) -> Iterator[str]:
    switches = _tables(tree, "switch")
    if tree["feedback"]["kind"] != "ideal":
        yield "length and waiting of the messages on their way through the fabric"
    if tree.get("routing", {}).get("multipath") == "frame":
        yield "frames that overtake each other on several ways"
    if any("input_memory" in each for each in switches):
        yield "the memory by input"
    if any(each["kind"] != "none" for each in _tables(tree, "pause")):
        yield "PAUSE"
    if any(each.get("max_rps") for each in _tables(tree, "adapter")):
        yield "flows that share a limiter, but for their number"


def _tables(tree: dict[str, Any], name: str) -> list[dict[str, Any]]:
    given = tree.get(name) or []
    return [given] if isinstance(given, dict) else list(given)
