"""Thresholds of single queues at one switch, once more: early drops of frames that take no mark.

Each queue has a ramp (`marking.py`), and a frame is dropped as it arrives, by the queue with the
frame in it. The laboratory must say the same (`tests/test_scheduling_reference.py`).
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from marking import Ramp
from switch import Flow, Packet
from weights_switch import Network, WeightsSetting


@dataclass(frozen=True, kw_only=True)
class WredSetting(WeightsSetting):
    """Ramps by the host that a port leads to and by class."""

    ramps: dict[tuple[str, int], Ramp] = field(default_factory=dict)
    seed: int = 0


class WredNetwork(Network):
    """Flows that no mark reaches."""

    def __init__(self, setting: WredSetting, flows: list[Flow]) -> None:
        self.setting, self.draw = setting, random.Random(setting.seed)
        self.drops = 0
        super().__init__(setting, flows)

    def forward(self, packet: Packet) -> None:
        priority = self.flows[packet.flow].priority
        ramp = self.setting.ramps.get((packet.to, priority))
        length = self.down[packet.to].octets_of(priority) + packet.octets
        if ramp is not None and ramp.hits(length, self.draw):
            self.drops += 1
        else:
            super().forward(packet)
