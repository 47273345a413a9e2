"""What a run's summary has of each collective operation: times, bounds, the slowest rank."""

from __future__ import annotations

from dataclasses import dataclass

from qcnlab.records import Record


@dataclass(frozen=True, slots=True)
class TimeParts(Record):
    """The parts of a time, s; together they are the whole.

    Attributes
    ----------
    later_start_s : float
        The chain of messages started later than the operation.
    computation_s : float
        Computation, and jitter of starts.
    serialisation_s, propagation_s : float
        Packets alone on the links of the way; propagation with latency of switches.
    waiting_at_sender_s, waiting_in_network_s : float
        Waiting at the sender, whatever for, and in queues and pauses on the way of last packets.
    acknowledgement_s : float
        Acknowledgements that senders waited for.
    """

    later_start_s: float
    computation_s: float
    serialisation_s: float
    propagation_s: float
    waiting_at_sender_s: float
    waiting_in_network_s: float
    acknowledgement_s: float

    @property
    def waiting_s(self) -> float:
        """Waiting at the sender and in the network."""
        return self.waiting_at_sender_s + self.waiting_in_network_s


@dataclass(frozen=True, slots=True)
class PortCauses(Record):
    """What went by at a port.

    Attributes
    ----------
    port : str
        Its name.
    queueing_s, pauses_s : float
        Waits behind other frames, and while the port was paused.
    serialisation_s : float
        Transmission of the messages' own packets.
    """

    port: str
    queueing_s: float
    pauses_s: float
    serialisation_s: float

    @property
    def waiting_s(self) -> float:
        """Queueing and pauses."""
        return self.queueing_s + self.pauses_s


@dataclass(frozen=True, slots=True)
class Causes(Record):
    """What a time went by with, cause by cause, s; together they are the whole.

    Attributes
    ----------
    later_start_s, computation_s, acknowledgement_s : float
        As in `TimeParts`.
    serialisation_s, propagation_s : float
        The messages' own packets where they are longest on the wire, at the rates that links have
        then; propagation with latency of switches.
    queueing_s : float
        Behind other frames: for the host's link, and in queues of the way.
    pauses_s : float
        While the port was paused.
    rate_limits_s : float
        Until window, credit and pacer let the next packet go.
    retransmission_s : float
        Packets that went again: until they could go, and on the host's link.
    ports : tuple of PortCauses
        Where that was; ports with the longest waits come first.
    """

    later_start_s: float
    computation_s: float
    acknowledgement_s: float
    serialisation_s: float
    propagation_s: float
    queueing_s: float
    pauses_s: float
    rate_limits_s: float
    retransmission_s: float
    ports: tuple[PortCauses, ...]

    @property
    def waiting_s(self) -> float:
        """Whatever is neither serialisation nor propagation of messages."""
        return self.queueing_s + self.pauses_s + self.rate_limits_s + self.retransmission_s


@dataclass(frozen=True, slots=True)
class ChainLink(Record):
    """A message of the chain that the slowest rank waited for.

    Attributes
    ----------
    message : str
        The flow's name.
    from_rank, to_rank : int
        Who sends it to whom.
    round, step, channel : int
        Where it stands in the operation.
    size_bytes : int
        Its octets.
    start_s, until_s : float
        When it started, and when the next one could.
    until : str
        ``"received"`` or ``"acknowledged"``: what the next one waited for.
    busiest_port : str
        Of its way.
    packets_sent_again : int
        Of this message.
    paused_s : float
        How long a port of its way was paused meanwhile.
    parts : TimeParts
        What its time consists of.
    causes : Causes, optional
        The same, cause by cause, if the scenario has ``record.waits``.
    """

    message: str
    from_rank: int
    to_rank: int
    round: int
    step: int
    channel: int
    size_bytes: int
    start_s: float
    until_s: float
    until: str
    busiest_port: str
    packets_sent_again: int
    paused_s: float
    parts: TimeParts
    causes: Causes | None = None

    @property
    def waited_s(self) -> float:
        """How long it waited, by its causes if they are known."""
        return self.parts.waiting_s if self.causes is None else self.causes.waiting_s


@dataclass(frozen=True, slots=True)
class ChainPort(Record):
    """A port that is the busiest of the way of some messages of the chain.

    Attributes
    ----------
    port : str
        Its name.
    waiting_s : float
        How long those messages waited.
    messages : int
        How many they are.
    busy_s : float
        How long it sent in the whole run.
    """

    port: str
    waiting_s: float
    messages: int
    busy_s: float


@dataclass(frozen=True, slots=True)
class SlowestRank(Record):
    """The rank that was last, and the chain of messages that it waited for.

    Attributes
    ----------
    rank, round : int
        The rank, and the round whose end it was.
    host : str
        Its host.
    parts : TimeParts
        What the whole time consists of.
    packets_sent_again, timeouts : int
        On the chain.
    longest_wait : int
        Position in `chain` of the message that waited longest.
    ports : tuple of ChainPort
        Those where messages waited longest come first.
    chain : tuple of ChainLink
        Each message is the last that the next one waited for.
    causes : Causes, optional
        What the whole time consists of, cause by cause, if the scenario has ``record.waits``.
    """

    rank: int
    host: str
    round: int
    parts: TimeParts
    packets_sent_again: int
    timeouts: int
    longest_wait: int
    ports: tuple[ChainPort, ...]
    chain: tuple[ChainLink, ...]
    causes: Causes | None = None


@dataclass(frozen=True, slots=True)
class Round(Record):
    """A round of an operation.

    Attributes
    ----------
    began_s, completion_s : float, optional
        When its first message started, and how long it took; `None` if it did not.
    slowest_rank : int, optional
        Who was last.
    ranks_completed_s : tuple of float, optional
        When each rank had all that it waits for.
    """

    began_s: float | None
    completion_s: float | None
    slowest_rank: int | None
    ranks_completed_s: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class UnderWay(Record):
    """What an operation that did not end was waiting for.

    Attributes
    ----------
    under_way : int
        Messages that had started and had not come.
    first : str, optional
        The first of them.
    """

    under_way: int
    first: str | None


@dataclass(frozen=True, slots=True)
class CollectiveRun(Record):
    """A collective operation in one replication.

    Attributes
    ----------
    traffic : int
        Its entry of the scenario's traffic, from 0.
    operation, algorithm : str
        As the scenario has them.
    ranks : int
        How many take part.
    hosts : tuple of str
        Of each rank.
    size_bytes, channels, chunks : int
        The octets of each rank, and into what they are parted.
    messages, messages_received : int
        How many there are, and how many came.
    began_s, completion_s : float, optional
        When it began and how long it took, s; `None` if it did not.
    lower_bound_s : float
        What it takes at least, s.
    lower_bound_by : str
        Why.
    ratio : float, optional
        `completion_s` by `lower_bound_s`.
    algorithm_bandwidth_bps, bus_bandwidth_bps : float, optional
        Bandwidths as the field counts them, bit/s.
    algorithm_bandwidth : str
        The formula of the first.
    bus_bandwidth : str, optional
        The formula of the second, where there is one.
    rounds : tuple of Round
        In order.
    slowest : SlowestRank, optional
        Of an operation that ended.
    waiting_for : UnderWay, optional
        Of one that did not.
    replication : int
        Counted from 0.
    """

    traffic: int
    operation: str
    algorithm: str
    ranks: int
    hosts: tuple[str, ...]
    size_bytes: int
    channels: int
    chunks: int
    messages: int
    messages_received: int
    began_s: float | None
    completion_s: float | None
    lower_bound_s: float
    lower_bound_by: str
    ratio: float | None
    algorithm_bandwidth_bps: float | None
    algorithm_bandwidth: str
    bus_bandwidth_bps: float | None
    bus_bandwidth: str | None
    rounds: tuple[Round, ...]
    slowest: SlowestRank | None
    waiting_for: UnderWay | None
    replication: int


@dataclass(frozen=True, slots=True)
class EndedRun(CollectiveRun):
    """A collective operation that ended, so that its times are known.

    Attributes
    ----------
    began_s, completion_s, ratio : float
        As of any operation, and never `None`.
    slowest : SlowestRank
        The rank that was last.
    """

    began_s: float
    completion_s: float
    ratio: float
    slowest: SlowestRank
