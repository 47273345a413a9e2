"""What happened in a run: which port congested first, who was stopped for whom, who was cut.

Pauses are followed from a stopped link to the queue that stopped it, and on where that port was
stopped itself meanwhile, to the port where it began: the root. Meanwhile is the stop and as long
before it: a queue that fills while its port is stopped stops others even when the port sends again.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple, cast

from qcnlab import _core
from qcnlab.runs.facts import facts
from qcnlab.runs.network import Network

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

    from qcnlab.runs.explained import (
        Crossing,
        CutSender,
        Explanation,
        FirstEvent,
        FirstPause,
        Root,
        SlowFlow,
        StoppedFlow,
    )
    from qcnlab.runs.recorded import Recorded

MOST_PAUSES = 200_000
"""So many pauses are followed to their roots; of more the first."""
LONGEST_CHAIN = 64
BITS = 8


@dataclass
class Stops:
    """When one port was stopped in one class: starts and ends in s, in order, without overlaps.

    Attributes
    ----------
    starts, ends : list of float
        Of each stop.
    causes : list of str
        The port whose queue began it.
    """

    starts: list[float] = field(default_factory=list)
    ends: list[float] = field(default_factory=list)
    causes: list[str] = field(default_factory=list)
    _sums: list[float] = field(default_factory=list)

    def add(self, start: float, end: float, cause: str) -> None:
        """Add a stop that starts no earlier than those before; what overlaps counts once."""
        if self.ends and start <= self.ends[-1] and cause == self.causes[-1]:
            self.ends[-1] = max(self.ends[-1], end)
            return
        start = max(start, self.ends[-1]) if self.ends else start
        if end > start:
            self.starts.append(start)
            self.ends.append(end)
            self.causes.append(cause)

    def cause_within(self, start: float, end: float) -> str | None:
        """Return because of which port this one was stopped longest in a time; `None` if never."""
        shares: dict[str, float] = defaultdict(float)
        index = max(bisect_right(self.starts, start) - 1, 0)
        while index < len(self.starts) and self.starts[index] < end:
            span = min(self.ends[index], end) - max(self.starts[index], start)
            if span > 0:
                shares[self.causes[index]] += span
            index += 1
        return max(shares, key=lambda cause: (shares[cause], cause), default=None)

    def within(self, start: float, end: float) -> float:
        """Return for how many seconds from `start` to `end` the port was stopped."""
        return self._until(end) - self._until(start) if end > start else 0.0

    def _until(self, time: float) -> float:
        if len(self._sums) != len(self.starts):
            spans = (end - start for start, end in zip(self.starts, self.ends, strict=True))
            self._sums = list(accumulate(spans))
        index = bisect_right(self.starts, time) - 1
        if index < 0:
            return 0.0
        before = self._sums[index - 1] if index else 0.0
        return before + min(time, self.ends[index]) - self.starts[index]


def explanation(result: Recorded, replication: int = 0, flows: int = 5) -> Explanation:
    """Return what happened in a replication of a run.

    Parameters
    ----------
    result : Recorded
        The run.
    replication : int, default 0
        Counted from 0.
    flows : int, default 5
        So many flows of each list.

    Returns
    -------
    dict
        `first`: the first pause, drop and message, each with `time_s` and `port`, and the first
        sender whose rate fell between two samples (`cut`). `roots`: ports
        where congestion began, longest stops first, with `stopped_s` (of links, summed), `links`
        and `by_itself`: whether a port stopped itself in a circle. `stopped`: flows whose own link
        was stopped, with `paused_s`, `share` of their time, `root`, and `crosses`: whether the flow
        goes through it (`yes`, `no`, or `maybe` where it may take several ways). `cut`: senders
        whose rate fell, lowest mean first, with how often it did between two samples (`falls`),
        least and mean rate, and `signals` where a scheme sends messages (`None` where it marks
        frames, which no table lists). `slow`: the
        slowest flows and where their time went: `sending_s`, `paused_s`, `limited_s` (its rate
        below its link's; `None` where too few samples), and `rest_s`: queues, pauses inside the
        network, turns of others on its link, retransmissions. `left_out`: what is not in it.

    Raises
    ------
    IndexError
        If there is no such replication.
    """
    import polars as pl

    count = result.summary.replications
    if not 0 <= replication < count:
        raise IndexError(f"no replication {replication}: there are {count}, numbered from 0")
    run = _Run(result, replication)
    pauses = run.table("pauses").sort("time_s")
    left_out = []
    if len(pauses) > MOST_PAUSES:
        left_out.append(f"{len(pauses) - MOST_PAUSES} later pauses of {len(pauses)}")
        pauses = pauses.head(MOST_PAUSES)
    stops = _stops(pauses)
    known = run.table("flows").with_columns(pl.col("source").cast(pl.String))
    roots, of_port = _roots(pauses, stops)
    stopped = _stopped(run, known, stops, of_port)
    drops = run.table("drops").sort("time_s")
    signals = run.table("messages").sort("time_s")
    cut = _cut(run, signals)
    first = min(cut, key=lambda each: (each["first_s"], each["source"]), default=None)
    return {
        "run": result.name,
        "replication": replication,
        "end_s": run.end_s,
        "first": {
            "pause": _first_pause(pauses),
            "drop": _first(drops),
            "signal": _first(signals),
            "cut": None
            if first is None
            else {"time_s": first["first_s"], "source": first["source"]},
        },
        "pauses": len(pauses),
        "drops": int(drops["frames"].sum()) if len(drops) else 0,
        "roots": roots,
        "stopped": stopped[:flows],
        "stopped_flows": len(stopped),
        "unstopped_flows": len(known) - len(stopped),
        "cut": cut[:flows],
        "cut_flows": len(cut),
        "signals": len(signals),
        "slow": _slow(run, known, stops, flows),
        "left_out": left_out,
    }


class _Run:
    """A replication of a run with what its network says."""

    def __init__(self, result: Recorded, replication: int) -> None:
        self.result, self.replication = result, replication
        self.end_s = result.summary.ends[replication].end_s
        scenario = _core.Scenario.parse(result.config, result.name)
        network = Network.of(scenario)
        self.hosts = {node.name for node in network.hosts}
        self.neighbors: dict[str, list[str]] = defaultdict(list)
        self.rates: dict[str, float] = {}
        for link in network.links:
            a, b = link.a, link.b
            self.neighbors[a].append(b)
            self.neighbors[b].append(a)
            self.rates[f"{a}->{b}"] = self.rates[f"{b}->{a}"] = float(link.rate_bps)
        self.line_bps = facts(result).rate_bps
        tree = result.config
        self.routed = "[[route]]" in tree or "converges_after" in tree
        self._distances: dict[str, dict[str, int]] = {}

    def table(self, name: str) -> pl.DataFrame:
        import polars as pl

        table = self.result.table(name).to_polars()
        table = table.filter(pl.col("replication") == self.replication)
        named = [each for each in ("port", "because", "source", "kind") if each in table.columns]
        return table.with_columns(pl.col(each).cast(pl.String) for each in named)

    def ends_of(self, flow: str) -> tuple[str, str | None]:
        """Return the hosts of a flow; of a star's flow the first alone."""
        source, arrow, rest = flow.partition("#")[0].partition("->")
        return source, rest if arrow else None

    def own_port(self, flow: str) -> str | None:
        """Return the port at which a flow enters the network: its host's only link."""
        source = self.ends_of(flow)[0]
        return f"{source}->{self.neighbors[source][0]}" if self.neighbors.get(source) else None

    def crosses(self, flow: str, port: str) -> Crossing:
        """Return whether a flow goes through a port: `yes`, `no`, or `maybe`."""
        source, sink = self.ends_of(flow)
        if sink is None:
            sinks = {port.partition("->")[2] if port.partition("->")[2] in self.hosts else ""}
            return "yes" if sinks != {""} else "maybe"
        a, _, b = port.partition("->")
        if port in (self.own_port(flow), f"{(self.neighbors.get(sink) or [''])[0]}->{sink}"):
            return "yes"
        if "/" in b:
            return "yes" if a == sink else "no"
        if self.routed or b not in self.neighbors:
            return "maybe"
        away = self._from(sink)
        if source not in away or a not in away or b not in away:
            return "no"
        whole = away[source]
        near = self._from(source).get(a)
        if near is None or near + 1 + away[b] != whole or away[a] != away[b] + 1:
            return "no"
        # All ways cross it where no other link leads one step nearer from this distance.
        level = [
            (node, other)
            for node, distance in self._from(source).items()
            if distance == near and distance + away.get(node, whole) == whole
            for other in self.neighbors[node]
            if away.get(other, whole) == away[node] - 1
        ]
        return "yes" if len(level) == 1 else "maybe"

    def _from(self, node: str) -> dict[str, int]:
        """Return the fewest links from a node to each other; hosts carry nothing for others."""
        if node not in self._distances:
            distances, edge = {node: 0}, [node]
            while edge:
                further = []
                for here in edge:
                    if here != node and here in self.hosts:
                        continue
                    for other in self.neighbors[here]:
                        if other not in distances:
                            distances[other] = distances[here] + 1
                            further.append(other)
                edge = further
            self._distances[node] = distances
        return self._distances[node]


Key = tuple[str, int | None]


class _Flow(NamedTuple):
    """What the table of flows says of one, by its columns."""

    source: str
    priority: int
    size_bytes: int | None
    start_s: float
    finished_s: float | None
    standalone_s: float | None
    slowdown: float | None
    delivered_bytes: int | None
    retransmitted_frames: int | None


def _rows(flows: pl.DataFrame) -> Iterator[_Flow]:
    return map(_Flow._make, flows.select(_Flow._fields).iter_rows())


def _stops(pauses: pl.DataFrame) -> dict[Key, Stops]:
    stops: dict[Key, Stops] = defaultdict(Stops)
    columns = pauses.select("port", "priority", "time_s", "until_s", "because")
    for port, priority, start, end, because in columns.iter_rows():
        stops[port, priority].add(start, end, because)
    return dict(stops)


def _root(
    stops: dict[Key, Stops], because: str, priority: int | None, start: float, end: float
) -> str:
    """Return the port where what stopped a link began; a circle ends where it closes."""
    here, seen = because, {because}
    for _ in range(LONGEST_CHAIN):
        known = stops.get((here, priority))
        cause = None if known is None else known.cause_within(2 * start - end, end)
        if cause is None or cause in seen:
            break
        seen.add(cause)
        here = cause
    return here


def _roots(
    pauses: pl.DataFrame, stops: dict[Key, Stops]
) -> tuple[list[Root], dict[Key, dict[str, float]]]:
    """Return the roots, and for each stopped port how long each root stopped it."""
    links: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    of_port: dict[Key, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    first: dict[str, float] = {}
    for (port, priority), known in stops.items():
        for start, end, because in zip(known.starts, known.ends, known.causes, strict=True):
            root = _root(stops, because, priority, start, end)
            links[root][port] += end - start
            of_port[port, priority][root] += end - start
            first[root] = min(start, first.get(root, start))
    roots: list[Root] = [
        {
            "port": root,
            "first_s": first[root],
            "stopped_s": sum(ports.values()),
            "links": sorted(ports, key=lambda port: (-ports[port], port)),
            "by_itself": root in ports,
        }
        for root, ports in links.items()
    ]
    roots.sort(key=lambda root: (-root["stopped_s"], root["port"]))
    return roots, of_port


def _stopped(
    run: _Run, flows: pl.DataFrame, stops: dict[Key, Stops], of_port: dict[Key, dict[str, float]]
) -> list[StoppedFlow]:
    out: list[StoppedFlow] = []
    for row in _rows(flows):
        paused, keys = _paused(run, row, stops)
        if paused <= 0:
            continue
        shares: dict[str, float] = defaultdict(float)
        for key in keys:
            for root, seconds in of_port[key].items():
                shares[root] += seconds
        root = max(shares, key=lambda each: (shares[each], each))
        lasted = _lasted(run, row)
        out.append(
            {
                "flow": row.source,
                "priority": row.priority,
                "paused_s": paused,
                "share": paused / lasted if lasted else None,
                "root": root,
                "crosses": run.crosses(row.source, root),
            }
        )
    out.sort(key=lambda each: (-each["paused_s"], each["flow"]))
    return out


def _lasted(run: _Run, row: _Flow) -> float:
    end = row.finished_s if row.finished_s is not None else run.end_s
    return float(max(end - row.start_s, 0.0))


def _paused(run: _Run, row: _Flow, stops: dict[Key, Stops]) -> tuple[float, list[Key]]:
    """Return for how long a flow's own link was stopped in its class while it lasted."""
    port = run.own_port(row.source)
    if port is None:
        return 0.0, []
    keys: list[Key] = [key for key in ((port, row.priority), (port, None)) if key in stops]
    start = row.start_s
    end = start + _lasted(run, row)
    # A link is stopped by classes or as a whole, never both.
    return sum(stops[key].within(start, end) for key in keys), keys


def _cut(run: _Run, signals: pl.DataFrame) -> list[CutSender]:
    """Return the senders whose sampled rate fell, those first that it kept back most."""
    import polars as pl

    rate, before = pl.col("current_rate_bps"), pl.col("current_rate_bps").shift().over("source")
    rates = run.table("rates").sort("time_s").with_columns((rate < before).alias("fell"))
    cut = (
        rates.group_by("source")
        .agg(
            pl.col("fell").sum().alias("falls"),
            pl.col("time_s").filter(pl.col("fell")).min().alias("first_s"),
            rate.min().alias("least_rate_bps"),
            rate.mean().alias("mean_rate_bps"),
        )
        .filter(pl.col("falls") > 0)
        .sort(["mean_rate_bps", "source"])
    )
    counts = signals.group_by("source").agg(pl.len().alias("signals"))
    counted = cut.join(counts, on="source", how="left", maintain_order="left")
    return cast("list[CutSender]", counted.to_dicts())


def _slow(run: _Run, flows: pl.DataFrame, stops: dict[Key, Stops], most: int) -> list[SlowFlow]:
    """Return the slowest flows: of those with a size unfinished ones first, then by slowdown."""
    import polars as pl

    started = flows.filter(pl.col("start_s") < run.end_s)
    sized = started.filter(pl.col("size_bytes").is_not_null())
    if len(sized):
        ordered = sized.with_columns(pl.col("finished_s").is_null().alias("unfinished")).sort(
            ["unfinished", "slowdown", "source"], descending=[True, True, False], nulls_last=True
        )
    else:
        part = pl.col("delivered_bytes") / (pl.col("max_min_bps") * (run.end_s - pl.col("start_s")))
        ordered = started.with_columns(part.alias("part")).sort(["part", "source"])
    rates = run.table("rates").sort("time_s").partition_by("source", as_dict=True)
    return [_parts(run, row, stops, rates.get((row.source,))) for row in _rows(ordered.head(most))]


def _parts(run: _Run, row: _Flow, stops: dict[Key, Stops], rates: pl.DataFrame | None) -> SlowFlow:
    lasted = _lasted(run, row)
    port = run.own_port(row.source)
    line = run.rates.get(port or "", run.line_bps)
    paused, keys = _paused(run, row, stops)
    finished = row.finished_s is not None
    sending = row.standalone_s if finished else None
    if sending is None:
        sending = min((row.delivered_bytes or 0) * BITS / line, lasted)
    start = row.start_s
    limited = _limited(rates, line, start, start + lasted, [stops[key] for key in keys])
    rest = lasted - sending - paused - (limited or 0.0)
    return {
        "flow": row.source,
        "priority": row.priority,
        "size_bytes": row.size_bytes,
        "finished": finished if row.size_bytes is not None else None,
        "lasted_s": lasted,
        "slowdown": row.slowdown,
        "sending_s": sending,
        "paused_s": paused,
        "limited_s": limited,
        "rest_s": max(rest, 0.0),
        "over_s": max(-rest, 0.0),
        "retransmitted_frames": row.retransmitted_frames,
    }


def _limited(
    rates: pl.DataFrame | None, line: float, start: float, end: float, stops: list[Stops]
) -> float | None:
    """Return the seconds that a flow lost to a rate below its link's, by samples of the rate."""
    if rates is None or end <= start:
        return None
    times = rates["time_s"].to_list()
    values = rates["current_rate_bps"].to_list()
    inside = [index for index, time in enumerate(times) if start <= time < end]
    if len(inside) < 2:
        return None
    total = 0.0
    first = max(inside[0] - 1, 0)
    for index in range(first, inside[-1] + 1):
        a = max(times[index], start) if index > first else start
        b = min(times[index + 1] if index + 1 < len(times) else end, end)
        free = b - a - sum(known.within(a, b) for known in stops)
        if values[index] is not None and b > a:
            total += max(1.0 - values[index] / line, 0.0) * max(free, 0.0)
    return total


def _first(table: pl.DataFrame) -> FirstEvent | None:
    if not len(table):
        return None
    row = table.row(0, named=True)
    return {"time_s": row["time_s"], "port": row["port"], "source": row["source"]}


def _first_pause(pauses: pl.DataFrame) -> FirstPause | None:
    if not len(pauses):
        return None
    row = pauses.row(0, named=True)
    return {
        "time_s": row["time_s"],
        "port": row["because"],
        "stopped": row["port"],
        "priority": row["priority"],
    }
