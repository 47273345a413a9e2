"""What a run gave, as HPCC's simulator writes it: completion times, pauses, queues.

Columns of ``fct.txt``: ``sip dip sport dport size start_ns fct_ns standalone_fct_ns``, addresses in
hex, a line when a flow completes. Of ``pfc.txt``: ``time_ns node nodetype ifindex type``, a line
when a port is stopped (1) or may go on (0). ``qlen.txt`` has ``time: t``, and for each port of a
switch how often its queue was so many KB long.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl

    from qcnlab.formats.hpcc.nodes import Nodes

FIRST_PORT = 10_000
"""The source port of a host's first flow."""
KB = 1000


class Flow(NamedTuple):
    """A flow of a run, as their files name it."""

    source: int
    target: int
    priority: int
    sport: int
    dport: int
    octets: int
    start: int
    """ps, on their clock."""
    fct: int | None
    """ps; `None`: it did not complete."""
    standalone: int
    """ps."""


def flows(table: pl.DataFrame, nodes: Nodes, ports: dict[int, int], origin: int) -> list[Flow]:
    """Return the flows of a run with an end, in the order of their starts.

    Parameters
    ----------
    table : polars.DataFrame
        The flows of one replication.
    nodes : Nodes
        The network.
    ports : dict
        The destination port of each traffic entry.
    origin : int
        Their time that is 0 here, ps.
    """
    import polars as pl

    rows = table.filter(pl.col("size_bytes").is_not_null() & pl.col("start_s").is_not_null())
    rows = rows.sort("start_s", maintain_order=True)
    columns = ("source", "traffic", "priority", "size_bytes", "start_s", "completion_s")
    counts: dict[int, int] = {}
    out = []
    for name, entry, priority, octets, start, fct, alone in rows.select(
        *columns, "standalone_s"
    ).iter_rows():
        source, target = _ends(name, nodes)
        sport = counts[source] = counts.get(source, FIRST_PORT - 1) + 1
        out.append(
            Flow(
                source,
                target,
                priority,
                sport,
                ports.get(entry, 100),
                octets,
                origin + _ps(start),
                None if fct is None else _ps(fct),
                _ps(alone),
            )
        )
    return out


def write_fct(path: Path, rows: list[Flow], nodes: Nodes) -> int:
    """Write completion times in the order in which flows completed; return how many did."""
    done = sorted(
        (row.start + row.fct, index) for index, row in enumerate(rows) if row.fct is not None
    )
    with path.open("w", encoding="ascii") as file:
        for _, index in done:
            row = rows[index]
            file.write(
                f"{nodes.address(row.source)} {nodes.address(row.target)} {row.sport} {row.dport} "
                f"{row.octets} {row.start // 1000} {(row.fct or 0) // 1000} "
                f"{row.standalone // 1000}\n"
            )
    return len(done)


def write_pfc(path: Path, table: pl.DataFrame, nodes: Nodes, origin: int) -> int:
    """Write when ports were stopped and went on; return how many lines."""
    interfaces = nodes.interfaces()
    switches = set(nodes.topology.switches)
    events = []
    for port, start, end in table.select("port", "time_s", "until_s").iter_rows():
        node, _, beyond = port.partition("->")
        number = nodes.numbers[node]
        index = interfaces.get((node, beyond), 0)
        for time, kind in ((start, 1), (end, 0)):
            if time is not None:
                at = (origin + _ps(time)) // 1000
                events.append((at, number, int(number in switches), index, kind))
    events.sort()
    with path.open("w", encoding="ascii") as file:
        file.writelines(" ".join(map(str, event)) + "\n" for event in events)
    return len(events)


def write_queues(path: Path, table: pl.DataFrame, nodes: Nodes, origin: int) -> int:
    """Write how long queues of switches were, in KB; return how many ports."""
    import polars as pl

    interfaces = nodes.interfaces()
    switches = set(nodes.topology.switches)
    counted = (
        table.with_columns((pl.col("queue_bytes") // KB).alias("kb"))
        .group_by("port", "kb")
        .len()
        .sort("port", "kb")
    )
    ports: dict[tuple[int, int], list[int]] = {}
    for port, kb, count in counted.iter_rows():
        node, _, beyond = port.partition("->")
        if (index := interfaces.get((node, beyond))) and nodes.numbers[node] in switches:
            lengths = ports.setdefault((nodes.numbers[node], index), [])
            lengths += [0] * (kb - len(lengths)) + [count]
    last = table["time_s"].max() if len(table) else 0.0
    with path.open("w", encoding="ascii") as file:
        file.write(f"time: {(origin + _ps(float(str(last)))) // 1000}\n")
        for (number, index), lengths in sorted(ports.items()):
            file.write(f"{number} {index} {' '.join(map(str, lengths))}\n")
    return len(ports)


def _ends(name: str, nodes: Nodes) -> tuple[int, int]:
    """Return the hosts of a flow by its name; one without an arrow goes to the sink of a star."""
    source, _, target = name.partition("#")[0].partition("->")
    return nodes.numbers[source], nodes.numbers[target or "sink"]


def _ps(seconds: float) -> int:
    return round(seconds * 10**12)
