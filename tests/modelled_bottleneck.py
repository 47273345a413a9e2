"""A bottleneck and its scheme as analysis sees them, small enough to be worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from qcnlab.analysis import Qcn, modelled
from qcnlab.analysis.bottleneck import Contenders, Phase
from qcnlab.runs.contention import MinMeanMax


def all_of(value: float) -> MinMeanMax:
    return MinMeanMax(value, value, value)


CONTENDERS = Contenders(
    sends_bps={"a": 8e9, "b": 4e9, "c": 6e9},
    traffic=(0,),
    capacity_bps=5e9,
    light=(0, 0.0),
    uncontrolled=(0, 0.0),
    sends=MinMeanMax(4e9, 6e9, 8e9),
    link_bps=10e9,
    frame_bytes=MinMeanMax(1000.0, 1500.0, 2000.0),
    loop_delay_s=MinMeanMax(10e-6, 20e-6, 30e-6),
    round_trip_s=MinMeanMax(40e-6, 50e-6, 60e-6),
)
QCN: dict[str, Any] = {
    "cp": {
        "set_point": 33_000, "w": 2, "fb_bits": 6, "quantizer": "linear", "sample_base": 150_000,
    },
    "rp": {
        "gd": 1 / 128, "byte_reset": 150_000, "threshold": 4, "ai_rate": 6e6, "clock": "both",
        "short_cycles": True, "target_rate_reduction": True,
    },
}  # fmt: skip


def phase(name: str, capacity: float, contenders: Contenders | None = CONTENDERS) -> Phase:
    of = None if contenders is None else replace(contenders, capacity_bps=capacity)
    return Phase(name, 0.1, 0.3, capacity, of)


def known(*phases: Phase, **receiver: Any) -> Any:
    base = {"scheme": {**QCN, "rp": QCN["rp"] | {"min_rate": 1e7} | receiver}, "duration": 1.0}
    tree = {
        "scheme": {"name": "qcn"},
        "traffic": [{"arrivals": "saturated"}],
        "feedback": {"kind": "ideal"},
    }
    port = SimpleNamespace(port="a->b", phases=phases, flows=3, buffer_bytes=150e3)
    return modelled.ModelledScenario("s", "S", port, tree, base, Qcn)  # type: ignore[arg-type]
