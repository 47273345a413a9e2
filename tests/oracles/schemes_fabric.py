"""DCQCN, HPCC and DCTCP over several switches, once more.

Senders and receivers are those of `dcqcn_switch.py`, `hpcc_switch.py` and `dctcp_switch.py`, the
network is that of `fabric.py`: shared memories or watermarks, and pauses that spread. Only DCQCN,
to which a loss says nothing, is compared where packets are lost. The laboratory must say the same
(`tests/test_schemes_fabric_reference.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

from dcqcn_switch import DcqcnEnds, DcqcnSetting
from dctcp_switch import DctcpEnds, DctcpSetting
from fabric import Fabric, FabricSetting, Port
from hpcc_switch import Hop, HpccEnds, HpccSetting, stamped
from switch import Packet


@dataclass(frozen=True, kw_only=True)
class DcqcnFabricSetting(FabricSetting, DcqcnSetting):
    """The network and DCQCN."""


@dataclass(frozen=True, kw_only=True)
class HpccFabricSetting(FabricSetting, HpccSetting):
    """The network and HPCC."""


@dataclass(frozen=True, kw_only=True)
class DctcpFabricSetting(FabricSetting, DctcpSetting):
    """The network and DCTCP."""


class DcqcnFabric(DcqcnEnds, Fabric):
    """Marks by what stays behind; a CNP takes the delays of the way back."""

    def mark(self, port: Port, packet: Packet) -> Packet:
        over = port.octets > self.d.threshold
        marked = over and not packet.is_ack and port.here not in self.hosts
        return replace(packet, mark=True) if marked else packet

    def way_back(self, index: int) -> int:
        way = self.ways[index]
        return sum(self.ports[ends].wire.delay for ends in pairwise(way))


class HpccFabric(HpccEnds, Fabric):
    """Each switch writes on each packet as its transmission begins."""

    def begin(self, port: Port, packet: Packet) -> Packet:
        if port.here in self.hosts:
            return packet
        sent, port.sent = port.sent, port.sent + packet.octets
        if packet.is_ack:
            return packet
        at, left = self.world.now // 1000 * 1000, port.octets - packet.octets
        return stamped(packet, Hop(port.wire.rate_bps, at, left, sent))


class DctcpFabric(DctcpEnds, Fabric):
    """Marks by the queue with the packet in it; thresholds are for hosts' rate, and scaled."""

    def enter(self, port: Port, packet: Packet) -> Packet:
        length = (port.octets + packet.octets) * self.setting.rate_bps / port.wire.rate_bps
        hit = self.d.ramp.hits(int(length), self.draw)
        return replace(packet, mark=True) if hit and not packet.is_ack else packet
