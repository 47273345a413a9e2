"""What a scenario has and its model does not, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qcnlab.analysis.spans import spans
from qcnlab.printing.text import counted
from qcnlab.runs.facts import tables_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qcnlab.analysis.bottleneck import Contenders
    from qcnlab.records import JsonObject
    from qcnlab.runs.contention import MinMeanMax


def contenders_left_out(contenders: Contenders, delays: MinMeanMax) -> Iterator[str]:
    """Return in what the contenders differ, and which flows are no sources of the model."""
    if not delays.uniform:
        yield f"unequal RTTs ({spans(delays)}; the model takes their mean)"
    sends = contenders.sends
    if not sends.uniform:
        low, high = sends.min / 1e9, sends.max / 1e9
        yield f"unequal offers ({low:.4g} to {high:.4g} Gb/s; the model takes their mean)"
    frames = contenders.frame_bytes
    if not frames.uniform:
        yield (
            f"frames of several sizes ({frames.min:g} to {frames.max:g} B; "
            f"the model takes the mean, {frames.mean:.4g} B)"
        )
    for (flows, rate), what in (
        (contenders.light, "less than half its fair share"),
        (contenders.uncontrolled, "what no reaction point slows"),
    ):
        if flows:
            yield (
                f"samples of {counted(flows, 'flow')} of {what}, whose {rate / 1e9:.4g} Gb/s "
                "are taken off the link"
            )


def traffic_left_out(tree: JsonObject, contenders: Contenders) -> Iterator[str]:
    """Return what the contenders' traffic does and the model does not."""
    entries = [tree["traffic"][entry] for entry in contenders.traffic]
    arrivals = {entry["arrivals"] for entry in entries}
    if any(entry.get("transport") == "tcp" for entry in entries):
        yield "TCP's window: sources are taken to send what their limiters allow"
    if "poisson" in arrivals:
        yield "arrivals at random"
    if "on_off" in arrivals:
        yield "bursts: sources are taken to send their mean rate"


def fabric_left_out(tree: JsonObject) -> Iterator[str]:
    """Return what the fabric does and the model does not."""
    switches = tables_of(tree, "switch")
    if tree["feedback"]["kind"] != "ideal":
        yield "length and waiting of the messages on their way through the fabric"
    if tree.get("routing", {}).get("multipath") in ("frame", "round_robin", "flowlet", "reps"):
        yield "frames that overtake each other on several ways"
    if any("input_memory" in each for each in switches):
        yield "the memory by input"
    kinds = {each["kind"] for each in tables_of(tree, "pause")}
    if "link" in kinds:
        yield "PAUSE"
    if "priority" in kinds:
        yield "PFC"
    if any(each.get("max_rps") for each in tables_of(tree, "adapter")):
        yield "flows that share a limiter, but for their number"
