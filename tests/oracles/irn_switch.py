"""Messages over RoCE queue pairs through one switch, once more: IRN's selective repeat.

Written from the paper (Mittal and others, Revisiting Network Support for RDMA, SIGCOMM 2018,
section 3). A receiver keeps what comes out of order, and answers each such packet with a negative
acknowledgement: what it expects, and what came. That or a timeout begins a recovery: the sender
sends the first packet that is missing, then each one below something that came, once, and new
packets when no more is known to be missing. It ends when all that had been sent when it began has
been acknowledged. The timeout is short while few packets are in flight.

Where packets take several ways a missing one may be late. It is lost when so many packets beyond it
are known to have come, counted one by one (RFC 6675), and when it has been waited for so long since
then (RFC 8985). IRN has one packet and no wait.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from roce_switch import Nack, Network, QueuePair, RoceSetting
from switch import Packet, Transfer, World


@dataclass(frozen=True, kw_only=True)
class IrnSetting(RoceSetting):
    """The short timeout, ps, how many packets are few, and how reordering is borne."""

    rto_low: int = 100_000_000
    few: int = 0
    threshold: int = 1
    wait: int = 0


@dataclass(frozen=True)
class Selective(Nack):
    """A negative acknowledgement that names what came."""

    came: int = 0


class IrnPair(QueuePair):
    """The sending end."""

    def __init__(self, setting: IrnSetting, world: World, message: Transfer) -> None:
        super().__init__(setting, world, message)
        self.irn = setting
        self.came: set[int] = set()
        self.recovery: int | None = None
        self.scan = self.lost_below = 0
        self.overtaken: dict[int, int] = {}

    def recover(self, lost_below: int) -> None:
        """Begin: what was not acknowledged below a number is known to be lost."""
        self.recovery, self.lost_below = self.highest, lost_below
        self.scan = self.una

    def lost(self, number: int) -> bool:
        """Return whether enough packets overtook a missing one, long enough ago."""
        since = self.overtaken.get(number)
        return since is not None and since + self.irn.wait <= self.world.now

    def missing(self) -> int | None:
        """Return the next packet that is known to be lost and was not sent again."""
        for number in range(max(self.scan, self.una), self.highest):
            if not self.settled(number) and (number < self.lost_below or self.lost(number)):
                return number
        return None

    def ready(self) -> bool:
        return (self.recovery is not None and self.missing() is not None) or super().ready()

    def settled(self, number: int) -> bool:
        return number in self.came

    def take(self) -> int | None:
        number = self.missing() if self.recovery is not None else None
        if number is None:
            return super().take()
        self.scan = number + 1
        self.result.retransmitted += 1
        if self.alarm is None:
            self.start_timer()
        return number

    def start_timer(self) -> None:
        low = self.next - self.una <= self.irn.few
        due = self.alarm = self.world.now + (self.irn.rto_low if low else self.irn.rto)
        self.world.at(due, lambda: self.on_timer(due))

    def on_timer(self, due: int) -> None:
        if self.alarm == due:
            self.result.timeouts += 1
            self.recover(self.highest)
            self.start_timer()
            self.wake()

    def on_ack(self, number: int, *, negative: bool) -> None:
        super().on_ack(number, negative=False)
        if self.recovery is not None and self.una >= self.recovery:
            self.recovery = None

    def on_selective(self, came: int) -> None:
        if came > self.una:
            self.came.add(came)
        now, beyond = self.world.now, sorted(number for number in self.came if number > self.una)
        for number in range(self.una, beyond[-1] if beyond else 0):
            overtakers = sum(other > number for other in beyond)
            if overtakers >= self.irn.threshold and number not in self.overtaken:
                self.overtaken[number] = now
                if self.irn.wait > 0:
                    self.world.at(now + self.irn.wait, self.on_waited)
        self.on_waited()

    def on_waited(self) -> None:
        """Begin to recover, if the first missing packet is lost and nothing is recovered yet."""
        if self.una < self.packets and self.recovery is None and self.lost(self.una):
            self.recover(self.una + 1)
        self.wake()


class IrnNetwork(Network):
    """Hosts, the switch, and the queue pairs."""

    pair: Callable[..., IrnPair] = IrnPair

    def __init__(self, setting: IrnSetting, messages: list[Transfer]) -> None:
        super().__init__(setting, messages)
        self.here: list[set[int]] = [set() for _ in messages]

    def hear(self, pair: QueuePair, packet: Packet) -> None:
        super().hear(pair, packet)
        if isinstance(pair, IrnPair) and isinstance(packet, Selective):
            pair.on_selective(packet.came)

    def arrive(self, packet: Packet) -> None:
        if packet.is_ack:
            super().arrive(packet)
            return
        index, here = packet.flow, self.here[packet.flow]
        here.add(packet.number)
        in_order = packet.number <= self.expected[index]
        while self.expected[index] in here:
            here.discard(self.expected[index])
            self.expected[index] += 1
        to, number, octets = (
            self.messages[index].source,
            self.expected[index],
            self.setting.ack_bytes,
        )
        self.up[self.messages[index].to].send(
            Packet(index, to, octets, number, is_ack=True)
            if in_order
            else Selective(index, to, octets, number, is_ack=True, came=packet.number)
        )
