"""Ports that mark, once more: by a ramp, as a packet arrives or as it leaves.

Up to `k_min` nothing happens to a packet, above `k_max` all are hit, between them by a chance that
grows to `p_max` (SONiC's `WRED_PROFILE` with weight 0: the length of this moment).
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

from switch import Link, Packet


@dataclass(frozen=True)
class Ramp:
    """The thresholds of a queue."""

    k_min: int
    k_max: int
    p_max: float = 1.0

    def hits(self, length: int, draw: random.Random) -> bool:
        """Return whether a frame is marked or dropped at this length."""
        if length <= self.k_min:
            return False
        if length > self.k_max:
            return True
        part = (length - self.k_min) / (self.k_max - self.k_min)
        return draw.random() < part * self.p_max


def step(threshold: int) -> Ramp:
    """Return the ramp that marks all above a threshold."""
    return Ramp(threshold, threshold)


class MarkingLink(Link):
    """A port with a ramp."""

    ramp: Ramp
    draw: random.Random


class MarksArriving(MarkingLink):
    """A port that marks a packet as it arrives, by the queue with the packet in it."""

    def send(self, packet: Packet) -> None:
        if not packet.is_ack and self.ramp.hits(self.octets + packet.octets, self.draw):
            packet = replace(packet, mark=True)
        super().send(packet)


class MarksLeaving(MarkingLink):
    """A port that marks a packet as it leaves, by what stays behind."""

    def end(self) -> None:
        packet = self.queue[0]
        if not packet.is_ack and self.ramp.hits(self.octets - packet.octets, self.draw):
            self.queue[0] = replace(packet, mark=True)
        super().end()
