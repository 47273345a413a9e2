"""Collective operations: what `qcnlab run` and `qcnlab collective` tell of them."""

from __future__ import annotations

import dataclasses
import itertools
import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import qcnlab
from made_up_run import META
from qcnlab.printing import text
from qcnlab.results.collectives import CAUSES, PARTS, _why
from qcnlab.runs.collective_runs import Causes, EndedRun
from qcnlab.runs.summary import Summary

if TYPE_CHECKING:
    from conftest import CommandLine

RING = "ring-all-reduce-8-ranks-star-100g"
SLOW = "all-reduce-one-slow-link-dcqcn-100g"
PACKET, HEADERS = 4158, 62
"""A part of 1 MB is 244 packets of 4096 octets and one of 576, each with 62 of headers."""


def ps(seconds: float) -> int:
    return round(seconds * 1e12)


def message(octets: int) -> int:
    """Return how long a message alone takes over two links of 100 Gb/s and 1 us, ps, by hand."""
    payload = PACKET - HEADERS
    full, rest = divmod(octets, payload)
    # 80 ps an octet. The last packet waits for the one before it on the second link.
    return 80 * (full * PACKET + PACKET + (rest + HEADERS)) + 2_000_000


def ended(result: qcnlab.Result) -> EndedRun:
    (record,) = result.collectives().records()
    assert isinstance(record, EndedRun)
    return record


@pytest.fixture(scope="module")
def ring() -> qcnlab.Result:
    return qcnlab.run(qcnlab.load(RING), reps=1)


def test_a_ring_takes_its_steps_and_its_parts_are_the_whole(ring: qcnlab.Result) -> None:
    record = ended(ring)
    assert (record.operation, record.algorithm, record.ranks) == ("all_reduce", "ring", 8)
    assert record.messages == record.messages_received == 8 * 14
    assert ps(record.lower_bound_s) == 14 * message(1_000_000)
    assert record.ratio == pytest.approx(record.completion_s / record.lower_bound_s)
    parts = record.slowest.parts
    assert set(parts.to_dict()) == set(PARTS)
    assert sum(map(ps, asdict(parts).values())) == ps(record.completion_s)
    assert ps(parts.serialisation_s + parts.propagation_s) == 14 * message(1_000_000)
    for link in record.slowest.chain:
        assert sum(map(ps, asdict(link.parts).values())) <= ps(link.until_s - link.start_s) + 1
    algorithm = 8 * 8e6 / record.completion_s
    assert record.algorithm_bandwidth_bps == pytest.approx(algorithm)
    assert record.bus_bandwidth_bps == pytest.approx(algorithm * 14 / 8)


def test_times_are_those_of_the_table_of_flows(ring: qcnlab.Result) -> None:
    record = ended(ring)
    flows = ring.flows.to_polars()
    assert len(flows) == record.messages
    assert record.began_s == flows["start_s"].min()
    # The table's times end with the acknowledgement: 66 octets twice, and 2 us.
    last = record.began_s + record.completion_s
    assert ps(max(flows["finished_s"].to_list()) - last) == 2 * 66 * 80 + 2_000_000
    (round_,) = record.rounds
    assert max(at or 0.0 for at in round_.ranks_completed_s) == pytest.approx(last, abs=1e-13)


def test_the_slow_link_is_named(cli: CommandLine) -> None:
    done = cli("run", SLOW, "-o", "slow")
    assert done.returncode == 0, done.stderr
    assert "all_reduce (ring) of 8 MB among 8 ranks" in done.stdout
    assert "most where the busiest port is spine1->leaf2" in done.stdout
    told = cli("collective", "slow")
    assert told.returncode == 0, told.stderr
    assert "the busiest port of its way is spine1->leaf2" in told.stdout
    assert "waiting at the sender, not told apart" in told.stdout
    assert "--all shows them" in told.stdout
    assert "--all shows them" not in cli("collective", "slow", "--all").stdout
    read = json.loads(cli("collective", "slow", "--json").stdout)
    (record,) = read["collectives"]
    assert record["slowest"]["ports"][0]["port"] == "spine1->leaf2"
    assert record == json.loads((cli.folder / "slow/summary.json").read_text())["collectives"][0]


def test_an_operation_that_did_not_end_is_told(cli: CommandLine) -> None:
    done = cli("run", RING, "-s", "duration=500 us", "-o", "cut")
    assert "did not end" in done.stdout and "messages came" in done.stdout
    told = cli("collective", "cut")
    assert told.returncode == 1
    assert "did not end" in told.stdout and "host1->host2#" in told.stdout


def test_replications_stand_together() -> None:
    scenario = qcnlab.load(RING).with_("traffic.placement=random", "traffic.start_jitter=5 us")
    operations = qcnlab.run(scenario, reps=3).collectives()
    assert [record.replication for record in operations.records()] == [0, 1, 2]
    hosts = [tuple(record.hosts) for record in operations.records()]
    assert len(set(hosts)) == 3 and {tuple(sorted(each)) for each in hosts} == {
        tuple(f"host{number}" for number in range(1, 9))
    }
    worst = max(record.completion_s or 0.0 for record in operations.records())
    assert f"{text.duration(worst)} in the slowest replication" in operations.short()


def test_replications_that_did_not_end_are_told_beside_those_that_did(ring: qcnlab.Result) -> None:
    record = ended(ring)
    unfinished: dict[str, Any] = {
        "completion_s": None,
        "messages_received": 40,
        "waiting_for": {"under_way": 3, "first": "host1->host2#9"},
    }
    slower = {"completion_s": 2 * record.completion_s, "ratio": 2 * record.ratio}
    changes: tuple[dict[str, Any], ...] = ({}, slower, unfinished)
    tree = record.to_dict()
    records = [{**tree, **change, "replication": k} for k, change in enumerate(changes)]
    other = {**tree, "traffic": 1, "size_bytes": 1000}
    summary = Summary.read({**ring.summary.to_dict(), "collectives": [*records, other]})
    told = qcnlab.Result(ring.config, summary, META, ring.table).collectives().short().splitlines()
    title = "all_reduce (ring) of 8 MB among 8 ranks, traffic.0"
    assert told[:2] == [
        f"{title}: did not end in 1 of 3 replications",
        "  40 of 112 messages came; 3 were under way, the first host1->host2#9",
    ]
    best, worst = (text.duration(times * record.completion_s) for times in (1, 2))
    assert told[2] == f"  {worst} in the slowest replication; {best} at best"
    assert told[3].startswith(f"  {text.number(2 * record.ratio)} times the lower bound")
    assert "all_reduce (ring) of 1 KB among 8 ranks, traffic.1" in told


def test_ranks_are_those_of_the_slowest_round() -> None:
    scenario = qcnlab.load(RING).with_("traffic.rounds=3", "traffic.start_jitter=5 us")
    operations = qcnlab.run(scenario, reps=1).collectives()
    (record,) = operations.records()
    assert isinstance(record, EndedRun)
    number = max(range(3), key=lambda round_: record.rounds[round_].completion_s or 0.0)
    slow = record.rounds[number]
    longest = max(at or 0.0 for at in slow.ranks_completed_s) - (slow.began_s or 0.0)
    header, _, first = operations.text().split("took of round ")[1].splitlines()[:3]
    assert header == str(number)
    assert first.split()[0] == str(slow.slowest_rank)
    assert first.endswith(text.duration(round(longest, 12)))


def test_several_operations_are_told_apart() -> None:
    two = qcnlab.Scenario.from_toml(
        """
duration = "2 ms"
drain = true
[topology]
kind = "switch"
hosts = 4
rate = "100 Gb/s"
delay = "1 us"
[[traffic]]
arrivals = "collective"
transport = "roce"
operation = "all_gather"
ranks = "host1, host2"
size = "100 KB"
frame = "1500 B"
[[traffic]]
arrivals = "collective"
transport = "roce"
operation = "broadcast"
ranks = "host3, host4"
size = "100 KB"
frame = "1500 B"
start = "10 us"
[scheme]
name = "none"
"""
    )
    first, other = qcnlab.run(two, reps=1).collectives().records()
    assert (first.traffic, first.hosts) == (0, ("host1", "host2"))
    assert (other.traffic, other.hosts, other.began_s) == (1, ("host3", "host4"), 1e-5)
    assert other.bus_bandwidth_bps == other.algorithm_bandwidth_bps


def test_runs_without_operations_say_so(result: qcnlab.Result, cli: CommandLine) -> None:
    with pytest.raises(qcnlab.Error, match='none of its traffic has arrivals = "collective"'):
        result.collectives()
    result.save(cli.folder / "plain")
    done = cli("collective", "plain")
    assert done.returncode == 2 and "has no collective operations" in done.stderr


def test_the_chain_is_drawn_with_its_parts_and_the_slow_link(cli: CommandLine) -> None:
    assert cli("run", SLOW, "-o", "drawn").returncode == 0
    done = cli("collective", "drawn", "-o", "chain.svg")
    assert done.returncode == 0, done.stderr
    drawn = (cli.folder / "chain.svg").read_text(encoding="utf-8")
    for said in (
        "busiest port of its way: spine1-&gt;leaf2",
        "waiting at the sender",
        "lower bound",
        "from the start of the operation, ms",
        "3, host4",
    ):
        assert said in drawn, said
    assert "acknowledgement" not in drawn, "the legend has a part that no message has"


def test_a_bar_ends_where_its_message_is_there(ring: qcnlab.Result) -> None:
    """Bars follow each other from the start to the completion; each begins where the last ended."""
    record = ended(ring)
    axes = ring.collectives().plot().axes[0]
    spans = sorted(
        (float(box.x0), float(box.x1), round((box.y0 + box.y1) / 2))
        for bars in axes.collections
        for box in [path.get_extents() for path in bars.get_paths()]
    )
    assert spans[0][0] == 0
    assert spans[-1][1] == pytest.approx(record.completion_s * 1e3)
    for before, after in itertools.pairwise(spans):
        assert after[0] == pytest.approx(before[1], abs=1e-9)
    chain = record.slowest.chain
    for link in chain:
        end = (link.until_s - record.began_s) * 1e3
        rows = {row for _, until, row in spans if until == pytest.approx(end, abs=1e-9)}
        assert link.from_rank in rows


def test_ranks_are_done_when_the_last_round_is_and_pauses_of_the_chain_add_up() -> None:
    """Two rounds that begin 7 us into the run."""
    scenario = qcnlab.load(RING).with_("traffic.rounds=2", "traffic.start=7 us")
    result = qcnlab.run(scenario, reps=1)
    record = ended(result)
    assert record.began_s == pytest.approx(7e-6)
    (ends,) = [
        line
        for line in result.collectives().plot().axes[0].lines
        if line.get_marker() == "|" and np.size(line.get_xdata())
    ]
    times = [at for at in record.rounds[1].ranks_completed_s if at is not None]
    last = [(at - record.began_s) * 1e3 for at in times]
    assert np.asarray(ends.get_xdata()).tolist() == pytest.approx(last)
    assert np.asarray(ends.get_ydata()).tolist() == list(range(8))
    chain = record.slowest.chain
    pauses = [[1e-6, 0.0, 3e-6][number % 3] for number in range(len(chain))]
    paused = [
        dataclasses.replace(link, paused_s=pause) for link, pause in zip(chain, pauses, strict=True)
    ]
    told = dataclasses.replace(
        record, slowest=dataclasses.replace(record.slowest, chain=tuple(paused))
    )
    assert f"was paused for {text.duration(round(sum(pauses), 12), 4)} of" in _why(told)[-1]


def test_without_an_operation_that_ended_there_is_nothing_to_draw(cli: CommandLine) -> None:
    done = cli("run", SLOW, "-s", "duration=1 ms", "-s", "hotspot.until=1 ms", "-o", "early")
    assert done.returncode == 0, done.stderr
    told = cli("collective", "early", "-o", "early.svg")
    assert told.returncode == 2
    assert "no collective operation" in told.stderr
    assert told.stderr.count("\n") == 1
    assert not (cli.folder / "early.svg").exists()


WAITS = "record.waits=true"
BETWEEN = ("later_start_s", "computation_s", "acknowledgement_s")


def spans(causes: Causes | None) -> list[int]:
    """Return the causes, ps."""
    assert causes is not None
    known = asdict(causes)
    return [ps(took) for name, took in known.items() if name != "ports"]


def test_causes_are_the_whole_and_change_nothing_else() -> None:
    """With DCQCN, PFC and a slow link: of each message, and of all of them together."""
    scenario = qcnlab.load(SLOW)
    plain, told = (
        ended(qcnlab.run(each, reps=1, progress=False))
        for each in (scenario, scenario.with_(WAITS))
    )
    assert plain.slowest.causes is None
    assert all(link.causes is None for link in plain.slowest.chain)
    assert "causes" not in plain.slowest.to_dict()
    causes = told.slowest.causes
    assert causes is not None
    assert sum(spans(causes)) == ps(told.completion_s)
    for link in told.slowest.chain:
        assert link.causes is not None
        own = [took for name, took in asdict(link.causes).items() if name in BETWEEN]
        assert sum(spans(link.causes)) - sum(map(ps, own)) == sum(
            ps(getattr(link.parts, part)) for part in PARTS if part not in BETWEEN
        )
        assert [ps(getattr(link.parts, part)) for part in BETWEEN] == list(map(ps, own))
    # The slow port is busy throughout: with frames of later steps more than with the first's.
    assert causes.ports[0].port == "spine1->leaf2"
    assert causes.queueing_s > causes.serialisation_s > 0
    assert ps(sum(port.queueing_s + port.pauses_s for port in causes.ports)) == ps(
        causes.queueing_s + causes.pauses_s
    )
    waits = [port.waiting_s for port in causes.ports]
    assert waits == sorted(waits, reverse=True)
    without = dataclasses.replace(
        told.slowest,
        causes=None,
        longest_wait=plain.slowest.longest_wait,
        chain=tuple(dataclasses.replace(link, causes=None) for link in told.slowest.chain),
    )
    assert dataclasses.replace(told, slowest=without) == plain


def test_causes_are_told_and_drawn(cli: CommandLine) -> None:
    done = cli("run", SLOW, "-s", WAITS, "-o", "told")
    assert done.returncode == 0, done.stderr
    record = json.loads((cli.folder / "told/summary.json").read_text())["collectives"][0]
    causes, port = record["slowest"]["causes"], record["slowest"]["causes"]["ports"][0]["port"]
    named = {
        "queueing": causes["queueing_s"],
        "pauses": causes["pauses_s"],
        "rate limits": causes["rate_limits_s"],
        "retransmission": causes["retransmission_s"],
    }
    most = max(named, key=lambda name: named[name])
    waited = f"its chain of messages waited {text.duration(named[most], 4)} for {most}"
    assert waited in done.stdout and f"most at port {port}" in done.stdout
    told = cli("collective", "told")
    assert told.returncode == 0, told.stderr
    for name, words in CAUSES.items():
        line = f"{text.duration(causes[name])} "
        assert (words in told.stdout) == (causes[name] > 0), name
        assert causes[name] == 0 or line in told.stdout, name
    assert "not told apart" not in told.stdout and "busiest port" not in told.stdout
    assert port in told.stdout.split("queueing  ")[-1]
    drawn = cli("collective", "told", "-o", "chain.svg")
    assert drawn.returncode == 0, drawn.stderr
    figure = (cli.folder / "chain.svg").read_text(encoding="utf-8")
    assert most in figure and "waiting at the sender" not in figure


def test_who_has_no_packets_of_roce_to_follow_is_refused(cli: CommandLine) -> None:
    for words, said in (
        (
            ("run", "og-hotspot-2src-10g-to-500m-rtt10us", "-s", WAITS),
            "is about collective operations",
        ),
        (("run", SLOW, "-s", WAITS, "-s", "traffic.transport=tcp"), "record.waits"),
        (
            ("run", RING, "-s", WAITS, "--flow-level"),
            "has no packets whose waits could be told apart",
        ),
    ):
        done = cli(*words, "-o", "refused")
        assert done.returncode == 2, words
        assert said in done.stderr, done.stderr
        assert not (cli.folder / "refused").exists()


SHIFT = """duration = "500 ms"
drain = true
[topology]
{topology}
rate = "100 Gb/s"
delay = "1 us"
[routing]
multipath = "switch"
[[switch]]
input_memory = "64 MB"
[pause]
kind = "priority"
priorities = "3"
[[traffic]]
arrivals = "collective"
transport = "roce"
operation = "all_to_all"
algorithm = "shift"
size = "{size} MB"
frame = "4062 B"
headers = "62 B"
cn_tag = false
priority = 3
[scheme]
name = "none"
[record]
throughput_bin = "500 ms"
queue_every = "50 ms"
rates_every = "50 ms"
"""
"""Each rank sends 1 MB to each other one: as in htsim's experiment, at 100 Gb/s."""


def most_senders(result: qcnlab.Result) -> int:
    """Return how many messages were on their way to one receiver at the same time, at most."""
    table = result.flows.to_polars()
    ends = table["source"].cast(pl.String).str.split("#").list.first().str.split("->")
    most = 0
    for (_,), own in table.with_columns(target=ends.list.last()).group_by("target"):
        start, end = own["start_s"].to_numpy(), own["received_s"].to_numpy()
        times, steps = np.concatenate([end, start]), np.repeat([-1, 1], len(own))
        # What ends as another starts has ended before.
        most = max(most, int(np.cumsum(steps[np.argsort(times, kind="stable")]).max()))
    return most


def test_a_shift_in_step_has_one_sender_at_each_receiver() -> None:
    text = SHIFT.format(topology='kind = "switch"\nhosts = 8', size=8)
    assert most_senders(qcnlab.run(qcnlab.Scenario.from_toml(text), reps=1, progress=False)) == 1


@pytest.mark.parametrize(("leaves", "hosts", "least"), [(4, 8, 3), (16, 32, 12)])
def test_a_shift_runs_into_its_own_incast(leaves: int, hosts: int, least: int) -> None:
    """Ways that are drawn slow some messages; who comes next catches up, and more with more ranks.

    htsim's experiment has 120 senders at one of 512 receivers (csg-htsim, fattree-all-to-all).
    """
    fabric = f'kind = "leaf_spine"\nleaves = {leaves}\nspines = {hosts}\nhosts = {hosts}'
    fabric += '\ntrunk_rate = "100 Gb/s"\ntrunk_delay = "1 us"'
    text = SHIFT.format(topology=fabric, size=leaves * hosts)
    scenario = qcnlab.Scenario.from_toml(text)
    result = qcnlab.run(scenario, reps=1, progress=False, flow_level=True)
    assert most_senders(result) >= least
    (record,) = result.collectives().records()
    assert isinstance(record, EndedRun)
    # Each link of a host carries 1 MB for each other rank: the bound without ways that collide.
    assert record.completion_s > 1.5 * (leaves * hosts - 1) * 8e6 / 100e9
