"""Messages over several switches finish when a second implementation says, to the picosecond."""

from __future__ import annotations

import random
import sys
from functools import partial
from pathlib import Path

import pytest

import qcnlab

sys.path.insert(0, str(Path(__file__).parent / "oracles"))
import laboratory
from fabric import Fabric, FabricSetting, Message, Wire, message
from laboratory import HORIZON
from switch import World

GBPS = 1_000_000_000
Links = dict[tuple[str, str], Wire]

MEMORIES = {
    "watermarks": {"queue_bytes": None, "high_bytes": 40_000, "low_bytes": 25_000},
    "shared memory": {"queue_bytes": None, "shared_bytes": 600_000},
    "shared memory too small": {"queue_bytes": None, "shared_bytes": 150_000},
    "full queues": {"queue_bytes": 60_000},
}
"""What switches have. The third loses frames behind pauses: its headroom holds none as long."""


def join(draw: random.Random, *ends: tuple[str, str], rate_bps: int = 10 * GBPS) -> Links:
    """Return links of one rate and drawn lengths."""
    return {pair: Wire(1_000_000 + draw.randrange(1_000_000), rate_bps) for pair in ends}


def drawn(draw: random.Random, ways: list[tuple[str, ...]]) -> list[Message]:
    """Return a message over each way, of a drawn size and start."""
    return [
        message(way, draw.randrange(100_000, 300_000), 10**9 + draw.randrange(10**8))
        for way in ways
    ]


def there_or_back(ways: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return one way for each pair of hosts: a route there is that of acknowledgements back."""
    return list({frozenset((way[0], way[-1])): way for way in ways}.values())


def row(draw: random.Random) -> tuple[Links, list[Message]]:
    """Three switches in a row: four senders to c1, and the victim a3, which goes to c2."""
    names = {"s1": ("a1", "a2", "a3"), "s2": ("b1", "b2"), "s3": ("c1", "c2")}
    hosts = [(host, switch) for switch, those in names.items() for host in those]
    links = join(draw, *hosts, ("s1", "s2"), ("s2", "s3"))
    ways: list[tuple[str, ...]] = [(a, "s1", "s2", "s3", "c1") for a in ("a1", "a2")]
    ways += [(b, "s2", "s3", "c1") for b in ("b1", "b2")]
    return links, drawn(draw, [*ways, ("a3", "s1", "s2", "s3", "c2")])


def leaf_spine(draw: random.Random) -> tuple[Links, list[Message]]:
    """Three leaves, two spines with links of twice the rate: two messages from each host."""
    hosts = [(f"h{leaf}{i}", f"leaf{leaf}") for leaf in range(3) for i in range(3)]
    trunks = [(f"leaf{leaf}", f"spine{spine}") for leaf in range(3) for spine in range(2)]
    links = join(draw, *hosts) | join(draw, *trunks, rate_bps=20 * GBPS)
    ways: list[tuple[str, ...]] = []
    for host, leaf in hosts:
        for to, other in draw.sample([(h, x) for h, x in hosts[:5] if x != leaf], 2):
            ways.append((host, leaf, f"spine{draw.randrange(2)}", other, to))
    return links, drawn(draw, there_or_back(ways))


def fat_tree(draw: random.Random) -> tuple[Links, list[Message]]:
    """A fat-tree of 16 hosts: a permutation, and seven more messages to the first host."""
    edge = {i: f"edge{i // 2}" for i in range(16)}
    ends = [(f"h{i}", edge[i]) for i in range(16)]
    for pod in range(4):
        for up in range(2):
            middle = f"aggregation{pod}{up}"
            ends += [(f"edge{2 * pod + down}", middle) for down in range(2)]
            ends += [(middle, f"core{up}{core}") for core in range(2)]
    to = draw.sample(range(16), 16)
    pairs = [(i, to[i]) for i in range(16) if i != to[i]]
    pairs += [(i, 0) for i in range(1, 15, 2)]
    ways: list[tuple[str, ...]] = []
    for a, b in pairs:
        up, core, way = draw.randrange(2), draw.randrange(2), [f"h{a}", edge[a]]
        if edge[a] != edge[b]:
            way.append(f"aggregation{a // 4}{up}")
            if a // 4 != b // 4:
                way += [f"core{up}{core}", f"aggregation{b // 4}{up}"]
            way.append(edge[b])
        ways.append((*way, f"h{b}"))
    return join(draw, *ends), drawn(draw, there_or_back(ways))


def dumbbell(draw: random.Random) -> tuple[Links, list[Message]]:
    """Two pairs over one link, and a third flow that joins them at the first receiver."""
    hosts = [("a1", "s1"), ("a2", "s1"), ("b1", "s2"), ("b2", "s2"), ("c", "s2")]
    ways = [(f"a{i}", "s1", "s2", f"b{i}") for i in (1, 2)]
    return join(draw, *hosts, ("s1", "s2")), drawn(draw, [*ways, ("c", "s2", "b1")])


FABRICS = {"row": row, "leaf-spine": leaf_spine, "fat-tree": fat_tree, "dumbbell": dumbbell}


@pytest.mark.parametrize("memory", MEMORIES)
@pytest.mark.parametrize("name", FABRICS)
def test_every_message_finishes_at_the_same_picosecond(*, name: str, memory: str) -> None:
    hold(name, memory, 1)


@pytest.mark.parametrize("memory", MEMORIES)
@pytest.mark.parametrize("name", FABRICS)
def test_messages_of_another_draw_finish_at_the_same_picosecond(*, name: str, memory: str) -> None:
    hold(name, memory, 2)


def hold(name: str, memory: str, seed: int) -> None:
    """Hold a drawn fabric against the second implementation.

    Pauses spread from switch to switch, and what is lost is sent again.

    Each port is stopped at the same picoseconds. (With seed 0 two frames leave one memory at the
    same picosecond, and which goes first decides about a pause.)
    """
    links, messages = FABRICS[name](random.Random(f"{name} {seed}"))
    setting = FabricSetting(links=links, **MEMORIES[memory])  # type: ignore[arg-type]
    network = Fabric(setting, messages)
    results = network.run(HORIZON)
    run = qcnlab.run(laboratory.fabric(setting, messages))
    table = run.flows.to_polars()
    finished = [(result.done or 0) / 1e12 for result in results]
    assert table["finished_s"].to_list() == pytest.approx(finished, abs=1e-12)
    ours = table.select("retransmitted_frames", "timeouts").rows()
    assert ours == [(result.retransmitted, result.timeouts) for result in results]
    assert run.metric("pause_frames") == network.pause_frames
    assert run.metric("drops") == network.drops
    assert stops(run) == network_stops(network)
    assert network.pause_frames > 10 or network.drops > 20


def stops(run: qcnlab.Result) -> list[tuple[str, int]]:
    """Return which port was stopped when, ps."""
    rows = run.pauses.to_polars().select("port", "time_s").rows()
    return sorted((port, round(time * 1e12)) for port, time in rows)


def network_stops(network: Fabric) -> list[tuple[str, int]]:
    """Return the same of the second implementation."""
    return sorted(
        (f"{here}->{there}", time)
        for (here, there), port in network.ports.items()
        for time in port.stops
    )


def test_queues_have_the_same_lengths() -> None:
    """Each port of the row, each 10 us."""
    links, messages = row(random.Random("queues"))
    setting = FabricSetting(links=links, **MEMORIES["shared memory"])  # type: ignore[arg-type]
    network = Fabric(setting, messages)
    times = range(10_000_000, 2_000_000_000, 10_000_000)
    ways = [("s1", "s2"), ("s2", "s3"), ("s3", "c1"), ("s3", "c2")]
    theirs: list[int] = []
    for time in times:
        for way in ways:
            port = network.ports[way]
            note = partial(lambda port: theirs.append(port.octets), port)
            network.world.at(time, note, World.SERVICE + 1)
    network.run(HORIZON)
    ports = ", ".join(f"{a}->{b}" for a, b in ways)
    record = {"record.queues": ports, "record.queue_every": "10 us", "duration": "3 ms"}
    table = qcnlab.run(laboratory.fabric(setting, messages).with_(record)).queues.to_polars()
    rows = table.select("time_s", "port", "queue_bytes").rows()
    ours = {(round(time * 1e12), port): octets for time, port, octets in rows}
    assert [ours[time, f"{a}->{b}"] for time in times for a, b in ways] == theirs
    assert max(theirs) > 100_000


def test_a_ring_of_dependent_flows_stands_still_when_the_second_implementation_does() -> None:
    """Five switches in a ring; each host sends two switches on, and links wait in a circle."""
    draw = random.Random("ring")
    links = join(draw, *[(f"s{i}", f"s{i % 5 + 1}") for i in range(1, 6)])
    links |= join(draw, *[(f"h{i}", f"s{i}") for i in range(1, 6)])
    ways = [
        (f"h{i}", f"s{i}", f"s{i % 5 + 1}", f"s{(i + 1) % 5 + 1}", f"h{(i + 1) % 5 + 1}")
        for i in range(1, 6)
    ]
    messages = [message(way, 10_000_000, 1_000_000 + draw.randrange(10_000)) for way in ways]
    for memory in ("watermarks", "shared memory"):
        setting = FabricSetting(links=links, **MEMORIES[memory])  # type: ignore[arg-type]
        network = Fabric(setting, messages)
        network.run(10**12)
        run = qcnlab.run(laboratory.fabric(setting, messages))
        (end,) = run.summary.ends
        assert list(end.circle) == [f"s{i}->s{i % 5 + 1}" for i in range(1, 6)]
        last = [network.ports[f"s{i}", f"s{i % 5 + 1}"].stops[-1] for i in range(1, 6)]
        assert end.closed_s is not None
        assert round(end.closed_s * 1e12) == max(last)
        assert stops(run) == network_stops(network)
        assert run.metric("pause_frames") == network.pause_frames > 10
        assert [result.done for result in network.run(2 * 10**12)] == [None] * 5
