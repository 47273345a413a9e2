"""Collective operations of a run: how long they took, how long they take at least, and why.

The numbers come from the run's summary. A chain of messages ends with the slowest rank: each was
the last that the next one waited for, so that their times, one after the other, are the whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from qcnlab.errors import AnalysisError
from qcnlab.printing import text
from qcnlab.runs.collective_runs import EndedRun

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from qcnlab.runs.collective_runs import Causes, ChainLink, CollectiveRun, SlowestRank
    from qcnlab.runs.recorded import Recorded

PARTS = {
    "later_start_s": "its chain started later than the operation",
    "computation_s": "computation, and jitter of starts",
    "serialisation_s": "serialisation: packets alone on the links of the way",
    "propagation_s": "propagation, and latency of switches",
    "waiting_at_sender_s": "waiting at the sender, not told apart: its link shared, rate limits, "
    "pauses of its port, packets sent again",
    "waiting_in_network_s": "waiting in the network: queues and pauses on the way of last packets",
    "acknowledgement_s": "acknowledgements that senders waited for",
}
"""The parts of the slowest rank's time, and what they are."""
CAUSES = {
    "later_start_s": "its chain started later than the operation",
    "computation_s": "computation, and jitter of starts",
    "serialisation_s": "serialisation: the messages' own packets, where they take longest",
    "propagation_s": "propagation, and latency of switches",
    "queueing_s": "queueing behind other frames",
    "pauses_s": "pauses of ports",
    "rate_limits_s": "rate limits: until pacer, window and credit let a packet go",
    "retransmission_s": "retransmission: packets that went again, and what they were held for",
    "acknowledgement_s": "acknowledgements that senders waited for",
}
"""The same, cause by cause, of a scenario with ``record.waits``."""
SHORTEST_S = 0.5e-12
"""Half of a picosecond: what is shorter is no time."""
MOST_RANKS = 8
MOST_ROUNDS = 8
MOST_PORTS = 4
"""So many rows are printed unless all are asked for."""


class Collectives:
    """The collective operations of a run.

    Comes from `Result.collectives`.

    Examples
    --------
    >>> import qcnlab
    >>> scenario = qcnlab.load("ring-all-reduce-8-ranks-star-100g")
    >>> operations = qcnlab.run(scenario, reps=1).collectives()
    >>> [(each.operation, each.ranks) for each in operations.records()]
    [('all_reduce', 8)]
    """

    def __init__(self, result: Recorded) -> None:
        self.name = result.name
        self._records = list(result.summary.collectives)
        if not self._records:
            raise AnalysisError(
                f"'{result.name}' has no collective operations: none of its traffic has "
                'arrivals = "collective"'
            )

    def records(self) -> list[CollectiveRun]:
        """Return all that is known of each operation in each replication.

        Returns
        -------
        list of CollectiveRun
            Operation, algorithm, ranks, sizes and bandwidths, the lower bound and what it is by,
            `rounds`, and of those that ended (`EndedRun`) `completion_s`, `ratio` to the bound and
            `slowest`: the rank that was last, the parts of its time (s, they sum to
            `completion_s`), and the chain of messages that it waited for.
        """
        return list(self._records)

    def summary(self) -> dict[str, object]:
        """Return all of it as JSON holds it.

        Returns
        -------
        dict
            Values that JSON has.
        """
        return {"scenario": self.name, "collectives": [each.to_dict() for each in self._records]}

    def short(self) -> str:
        """Return a few lines: what each operation took, and at which port it waited most.

        Returns
        -------
        str
            Several lines.
        """
        entries = sorted({record.traffic for record in self._records})
        return "\n".join(line for entry in entries for line in self._short(entry))

    def text(self, *, every: bool = False) -> str:
        """Return rounds, ranks, bandwidths, the lower bound and why the slowest rank was slow.

        Parameters
        ----------
        every : bool, default False
            Whether all rounds, ranks and ports are named, however many they are.

        Returns
        -------
        str
            Several lines.
        """
        return "\n\n".join(_told(record, every) for record in self._records)

    def plot(self) -> Figure:
        """Draw the operation that took longest: the chain of messages its slowest rank waited for.

        Returns
        -------
        matplotlib.figure.Figure
            A row for each rank, and in it the messages of the chain that it sent.

        Raises
        ------
        AnalysisError
            If no operation ended.
        """
        from qcnlab.figures.collectives import collective_figure

        done = [record for record in self._records if isinstance(record, EndedRun)]
        if not done:
            raise AnalysisError(
                f"no collective operation of '{self.name}' ended: there is no chain to draw. "
                "Give it a longer duration"
            )
        longest = max(done, key=lambda record: record.completion_s)
        return collective_figure(self.name, longest)

    def _short(self, entry: int) -> list[str]:
        records = [record for record in self._records if record.traffic == entry]
        done = [record for record in records if isinstance(record, EndedRun)]
        lines = [_title(records[0])]
        if len(done) < len(records):
            of = f" in {len(records) - len(done)} of {len(records)} replications"
            lines[0] += ": did not end" + (of if len(records) > 1 else "")
            lines.append(_unfinished(next(each for each in records if each not in done)))
        if done:
            slow = max(done, key=lambda record: record.completion_s)
            values = sorted(record.completion_s for record in done)
            several = f"; {text.duration(values[0])} at best" if len(values) > 1 else ""
            worst = " in the slowest replication" if len(values) > 1 else ""
            lines += [
                f"  {text.duration(slow.completion_s)}{worst}{several}",
                f"  {_bound(slow)}",
                *(f"  {line}" for line in _bandwidths(slow)),
                f"  {_slowest(slow)}",
            ]
        return lines

    def __repr__(self) -> str:
        """Return the scenario and the number of operations."""
        return f"<Collectives {self.name}: {text.counted(len(self._records), 'operation')}>"


def _title(record: CollectiveRun) -> str:
    return (
        f"{record.operation} ({record.algorithm}) of {text.size(record.size_bytes)} among "
        f"{record.ranks} ranks, traffic.{record.traffic}"
    )


def _unfinished(record: CollectiveRun) -> str:
    waits = record.waiting_for
    came = f"  {record.messages_received:,} of {record.messages:,} messages came"
    if waits is None or not waits.under_way:
        return f"{came}; none was under way when the run ended"
    return f"{came}; {waits.under_way:,} were under way, the first {waits.first}"


def _bound(record: EndedRun) -> str:
    return (
        f"{text.number(record.ratio)} times the lower bound of "
        f"{text.duration(record.lower_bound_s)} by {record.lower_bound_by}"
    )


def _bandwidths(record: CollectiveRun) -> list[str]:
    lines = []
    if record.algorithm_bandwidth_bps is not None:
        algorithm = _rate(record.algorithm_bandwidth_bps)
        lines.append(f"algorithm bandwidth {algorithm}: {record.algorithm_bandwidth}")
    if record.bus_bandwidth is not None and record.bus_bandwidth_bps is not None:
        bus = _rate(record.bus_bandwidth_bps)
        lines.append(f"bus bandwidth {bus}: {record.bus_bandwidth}, n = {record.ranks}")
    return lines


def _rate(bps: float) -> str:
    return f"{text.rate(float(f'{bps:.4g}'))} ({text.number(bps / 8e9)} GB/s)"


def _slowest(record: EndedRun) -> str:
    slowest = record.slowest
    waited, port = slowest.parts.waiting_s, slowest.ports[0]
    if slowest.causes is not None:
        return _slowest_by_cause(slowest, slowest.causes)
    head = f"slowest: rank {slowest.rank} on {slowest.host}"
    if waited < SHORTEST_S:
        return f"{head}; nothing on its chain of messages waited"
    return (
        f"{head}; its chain of messages waited for {text.duration(waited, 4)}, most where the "
        f"busiest port is {port.port}"
    )


def _slowest_by_cause(slowest: SlowestRank, causes: Causes) -> str:
    """Return what its chain waited for most and, if that is at ports, at which most."""
    head = f"slowest: rank {slowest.rank} on {slowest.host}"
    if causes.waiting_s < SHORTEST_S:
        return f"{head}; nothing on its chain of messages waited"
    waits = {
        "queueing": causes.queueing_s,
        "pauses": causes.pauses_s,
        "rate limits": causes.rate_limits_s,
        "retransmission": causes.retransmission_s,
    }
    named = [
        f"{text.duration(took, 4)} for {name}"
        for name, took in sorted(waits.items(), key=lambda each: -each[1])
        if took >= SHORTEST_S
    ]
    port = causes.ports[0]
    ports = f"; most at port {port.port}" if port.waiting_s >= SHORTEST_S else ""
    return f"{head}; its chain of messages waited {', '.join(named)}{ports}"


def _told(record: CollectiveRun, every: bool) -> str:
    title = f"{_title(record)}, replication {record.replication}"
    if not isinstance(record, EndedRun):
        return "\n".join(
            [f"{title}: did not end", _unfinished(record), "", *_rounds(record, every)]
        )
    blocks = [
        [f"{title}: {text.duration(record.completion_s)}", _bound(record), *_bandwidths(record)],
        _rounds(record, every),
        _ranks(record, every),
        _why(record),
        _ports(record, every),
    ]
    return "\n\n".join("\n".join(block) for block in blocks)


def _rounds(record: CollectiveRun, every: bool) -> list[str]:
    rows = [
        (
            str(number),
            "not begun" if each.began_s is None else text.duration(each.began_s),
            "not ended" if each.completion_s is None else text.duration(each.completion_s),
            "" if each.slowest_rank is None else str(each.slowest_rank),
        )
        for number, each in enumerate(record.rounds)
    ]
    return _limited(("round", "began", "took", "slowest rank"), rows, MOST_ROUNDS, every, "rounds")


def _ranks(record: EndedRun, every: bool) -> list[str]:
    """Return the ranks by how long they took of the slowest round, longest first."""
    number, slow = max(enumerate(record.rounds), key=lambda each: each[1].completion_s or 0.0)
    began_s = slow.began_s or 0.0
    ranks = [
        (at - began_s, rank) for rank, at in enumerate(slow.ranks_completed_s) if at is not None
    ]
    rows = [
        (str(rank), record.hosts[rank], text.duration(round(took, 12)))
        for took, rank in sorted(ranks, key=lambda each: (-each[0], each[1]))
    ]
    header = ("rank", "host", f"took of round {number}")
    return _limited(header, rows, MOST_RANKS, every, "ranks took less")


def _why(record: EndedRun) -> list[str]:
    slowest, whole = record.slowest, record.completion_s
    known, named = (slowest.parts, PARTS) if slowest.causes is None else (slowest.causes, CAUSES)
    parts = [(getattr(known, part), words) for part, words in named.items()]
    rows = [
        (text.duration(took), f"{100 * took / whole:.1f} %", words) for took, words in parts if took
    ]
    chain = slowest.chain
    lines = [
        f"Rank {slowest.rank} on {slowest.host} was last, by a chain of "
        f"{text.counted(len(chain), 'message')}, each the last that the next waited for:",
        _aligned(rows),
    ]
    longest = chain[slowest.longest_wait]
    waited = longest.waited_s
    if waited >= SHORTEST_S:
        lines.append(
            f"The longest wait is {text.duration(waited, 4)}: {longest.message}, rank "
            f"{longest.from_rank} to {longest.to_rank}, step {longest.step} of round "
            f"{longest.round}; {_where(longest)}."
        )
    again, timeouts = slowest.packets_sent_again, slowest.timeouts
    paused = sum(link.paused_s for link in chain)
    lines.append(
        f"On the chain {text.counted(again, 'packet')} went again, with "
        f"{text.counted(timeouts, 'timeout')}; a port of a message's way was paused for "
        f"{text.duration(round(paused, 12), 4)} of the time."
    )
    return lines


def _where(link: ChainLink) -> str:
    """Return where a message waited."""
    if link.causes is None:
        return f"the busiest port of its way is {link.busiest_port}"
    port = link.causes.ports[0]
    if port.waiting_s < SHORTEST_S:
        return "nothing of that at ports"
    return f"of that {text.duration(port.waiting_s, 4)} at port {port.port}"


def _aligned(rows: Sequence[tuple[str, str, str]]) -> str:
    times, shares = (max(len(row[column]) for row in rows) for column in (0, 1))
    return "\n".join(
        f"  {time:>{times}}  {share:>{shares}}  {words}" for time, share, words in rows
    )


def _ports(record: EndedRun, every: bool) -> list[str]:
    causes = record.slowest.causes
    if causes is not None:
        waits = [
            (
                each.port,
                text.duration(each.queueing_s, 4),
                text.duration(each.pauses_s, 4),
                text.duration(each.serialisation_s, 4),
            )
            for each in causes.ports
        ]
        columns = ("port", "queueing", "pauses", "serialisation")
        return _limited(columns, waits, MOST_PORTS, every, "ports with less waiting")
    rows = [
        (
            port.port,
            text.duration(port.waiting_s, 4),
            str(port.messages),
            text.duration(port.busy_s, 4),
        )
        for port in record.slowest.ports
    ]
    header = ("busiest port of a message's way", "waits there", "messages", "sends for")
    return _limited(header, rows, MOST_PORTS, every, "ports with less waiting")


def _limited(
    header: Sequence[str], rows: Sequence[Sequence[str]], most: int, every: bool, what: str
) -> list[str]:
    shown = rows if every else rows[:most]
    lines = [text.table(header, shown)]
    if len(shown) < len(rows):
        lines.append(f"{len(rows) - len(shown)} more {what}; --all shows them.")
    return lines
