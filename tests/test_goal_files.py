"""GOAL schedules: read, refused, written, and read again."""

from __future__ import annotations

import json
import random
import re
import shlex
import shutil
import time
import tomllib
import tracemalloc
from itertools import count
from pathlib import Path
from struct import pack
from typing import Any

import pytest

import qcnlab
from conftest import ROOT, CommandLine
from qcnlab.formats.goal import binary, text
from qcnlab.formats.lines import FormatError
from qcnlab.formats.schedules import messages, times
from qcnlab.formats.schedules.messages import Schedule, schedule
from qcnlab.formats.schedules.operations import ANY, CALC, RECV, SEND, Rank

EXAMPLE = ROOT / "examples/goal"
GUIDE = ROOT / "docs/guide/goal-and-chakra.md"
STAR = ("--duration", "10 ms", "--rate", "100 Gb/s", "--delay", "1 us")
NS = 1000
RANKS = "rank 0 {{\n{}\n}}\nrank 1 {{\n{}\n}}\n"


@pytest.fixture
def here(tmp_path: Path) -> CommandLine:
    shutil.copytree(EXAMPLE, tmp_path / "here")
    return CommandLine(tmp_path / "here")


def imported(here: CommandLine, *words: str) -> dict[str, Any]:
    done = here("import", "goal", *(words or ("step.goal", *STAR)), "-o", "made.toml", "--json")
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def refused(here: CommandLine, *words: str) -> str:
    """Return the one line that refuses an import, which must write nothing."""
    before = here.left()
    done = here("import", "goal", *(words or ("step.goal", *STAR)), "-o", "made.toml")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1 and len(done.stderr) < 400, done.stderr
    assert here.left() == before
    return done.stderr.removeprefix("error: ").rstrip("\n")


def listed(here: CommandLine) -> list[str]:
    return (here.folder / "made.flows.csv").read_text().splitlines()[2:]


def own(here: CommandLine, body: str, ranks: int = 2) -> None:
    (here.folder / "step.goal").write_text(f"num_ranks {ranks}\n{body}", encoding="utf-8")


def lost(report: dict[str, Any]) -> list[str]:
    return [entry["what"] for entry in report["not_modelled"]]


def test_a_schedule_becomes_a_scenario_that_runs(here: CommandLine) -> None:
    report = imported(here)
    assert report["read"][0]["what"] == "schedule: 4 ranks, 31 operations"
    assert listed(here) == [
        "host0,host1,262144 B,2 us,,1,",
        "host0,host1,262144 B,0 s,,2,1 9+1500ns",
        "host1,host2,262144 B,2 us,,3,",
        "host1,host2,262144 B,1500 ns,,4,1",
        "host1,host0,4096 B,0 s,,,2",
        "host2,host3,262144 B,2 us,,6,",
        "host2,host3,262144 B,1500 ns,,7,3",
        "host2,host0,4096 B,0 s,,,4",
        "host3,host0,262144 B,3 us,,9,",
        "host3,host0,262144 B,0 s,,,6",
        "host3,host0,4096 B,0 s,,,7",
    ]
    result = qcnlab.run(qcnlab.load(here.folder / "made.toml"), reps=1, progress=False)
    table = result.flows.to_polars()
    assert table["finished_s"].null_count() == 0


def test_a_message_starts_after_what_its_rank_received_and_computed(here: CommandLine) -> None:
    own(
        here,
        RANKS.format(
            "a: calc 2000\nb: send 262144b to 1\nb requires a\nc: recv 9b from 1",
            "a: recv 262144b from 0\nb: calc 1500\nb requires a\nc: send 9b to 0\nc requires b",
        ),
    )
    imported(here)
    result = qcnlab.run(qcnlab.load(here.folder / "made.toml"), reps=1, progress=False)
    # 64 packets of 4096 + 62 octets at 100 Gb/s take 332.64 ns each, one more at the switch, and
    # two links 1 us each: rank 1 has all 23.6216 us after 2 us. Then it computes 1.5 us.
    arrival = 2e-6 + 65 * 332.64e-9 + 2e-6
    start = result.flows.to_polars()["start_s"][1]
    assert start == pytest.approx(arrival + 1.5e-6, abs=1e-12)


def test_a_network_of_a_scenario_is_taken_over(here: CommandLine) -> None:
    name = "leaf-spine-64-web-search-and-incast-100g"
    report = imported(here, "step.goal", "--duration", "10 ms", "--network", name)
    said = tomllib.loads(qcnlab.load(here.folder / "made.toml").to_toml())
    shipped = tomllib.loads(qcnlab.load(name).to_toml())
    for key in ("topology", "scheme", "shared_buffer", "pause"):
        assert said[key] == shipped[key]
    assert [entry["frame"] for entry in said["traffic"]] == ["1048 B"]
    assert said["traffic"][0]["priority"] == shipped["traffic"][0]["priority"] == 3
    assert said["duration"] == "10 ms"
    assert listed(here)[0].startswith("host1,host2,262144 B")
    assert "how messages are sent" not in lost(report)
    (here.folder / "made.toml").unlink()
    (here.folder / "made.flows.csv").unlink()
    words = ("step.goal", *STAR, "--network", name)
    assert "--rate and --delay are those of --network" in refused(here, *words)
    own(here, "".join(f"rank {rank} {{\n}}\n" for rank in range(65)), 65)
    told = refused(here, "step.goal", "--duration", "1 ms", "--network", name)
    assert told.endswith("has 64 hosts, and there are 65 ranks")


def test_packets_are_as_long_as_mtu_says(here: CommandLine) -> None:
    for mtu, frame in ((4096, "4158 B"), (1000, "1062 B")):
        imported(here, "step.goal", *STAR, "--mtu", str(mtu))
        said = tomllib.loads((here.folder / "made.toml").read_text())
        assert said["traffic"][0]["frame"] == frame


def test_overhead_stands_before_sends_and_after_receives(here: CommandLine) -> None:
    own(
        here,
        "rank 0 {\na: send 10b to 1 tag 3\nb: recv 10b from 1\n"
        "c: send 1b to 1 tag 4\nc requires b\n}\n"
        "rank 1 {\na: recv 10b from 0 tag 3\nb: send 10b to 0\nb requires a\n"
        "d: recv 1b from 0 tag 4\n}\n",
    )
    imported(here, "step.goal", *STAR, "--overhead", "700 ns")
    assert listed(here) == [
        "host0,host1,10 B,700 ns,,1,",
        "host0,host1,1 B,1400 ns,,,3",
        "host1,host0,10 B,1400 ns,,3,1",
    ]


def test_waits_for_a_beginning_skip_what_comes_between(here: CommandLine) -> None:
    own(
        here,
        "rank 0 {\na: calc 100\nb: calc 50\nb requires a\nc: send 1b to 1\nc irequires b\n"
        "d: send 2b to 1 tag 1\nd irequires c\ne: send 3b to 1 tag 2\ne requires c\n"
        "f: recv 9b from 1\ng: send 4b to 1 tag 3\ng irequires f\n}\n"
        "rank 1 {\na: recv 1b from 0\nb: recv 2b from 0 tag 1\nc: recv 3b from 0 tag 2\n"
        "d: recv 4b from 0 tag 3\ne: send 9b to 0\n}\n",
    )
    imported(here)
    assert listed(here) == [
        "host0,host1,1 B,100 ns,,1,",
        "host0,host1,2 B,100 ns,,,",
        "host0,host1,3 B,0 s,,,1",
        "host0,host1,4 B,0 s,,,",
        "host1,host0,9 B,0 s,,,",
    ]


def test_what_cannot_be_said_is_told(here: CommandLine) -> None:
    own(
        here,
        "rank 0 {\na: send 0b to 1 tag 1\nb: send 5b to 0 tag 2\nc: recv 5b from 0 tag 2\n"
        "d: send 8b to 1 tag 7 cpu 1 nic 2\nd requires c\ne: send 1b to 1 tag 9\n}\n"
        "rank 1 {\na: recv 9b from 0 tag 1\nb: recv 8b from -1 tag -1\nc: calc 10 cpu 2\n}\n",
    )
    told = lost(imported(here))
    for each in (
        "1 message from a rank to itself",
        "1 message of 0 octets",
        "1 message that no receive takes",
        "1 receive from any rank or of any tag",
        "1 receive of another size than its send",
        "1 rank with computation after the last message",
        "cpu or nic of 2 operations",
        "how messages are sent",
    ):
        assert each in told
    assert listed(here) == [
        "host0,host1,1 B,0 s,,,",
        "host0,host1,8 B,0 s,,,",
        "host0,host1,1 B,0 s,,,",
    ]


def test_computation_after_the_last_send_is_told(tmp_path: Path) -> None:
    path = tmp_path / "two.goal"
    before, behind = "a: calc 5\ns: send 8b to 1\n", "s: send 8b to 1\na: calc 5\n"
    for statements, idle in ((before, 0), (behind, 1), (behind.replace("5", "0"), 0)):
        path.write_text(f"num_ranks 2\nrank 0 {{\n{statements}}}\nrank 1 {{\nrecv 8b from 0\n}}\n")
        assert schedule(text.read(path).ranks).idle == idle


def test_receives_take_sends_in_order_and_wild_ones_what_is_left() -> None:
    ranks = [Rank(Path("x")) for _ in range(3)]
    for tag in (1, 1, 2):
        ranks[0].add(SEND, 1, 2, tag)
    ranks[1].add(SEND, 1, 2, 5)
    for peer, tag in ((ANY, ANY), (0, 1), (ANY, 5), (0, ANY)):
        ranks[2].add(RECV, 1, peer, tag)
    matches = schedule(ranks).matches
    assert matches.sends == {(2, 0): (0, 1), (2, 1): (0, 0), (2, 2): (1, 0), (2, 3): (0, 2)}
    assert (matches.any, matches.unreceived) == (3, 0)
    ranks[2].add(RECV, 1, 1, ANY)
    with pytest.raises(FormatError, match="no send from rank 1 with any tag"):
        schedule(ranks)


HOSTILE = (
    ("num_ranks 4", "num_ranks 5", "rank 4 is missing: num_ranks is 5"),
    ("num_ranks 4", "num_ranks 3", "line 8: rank: 3 is not from 0 to 2"),
    ("num_ranks 4", "num_ranks \u0664", "num_ranks: '\\xd9\\xa4' is no whole number"),
    ("num_ranks 4", "num_ranks 0", "num_ranks: 0 is not from 1"),
    ("num_ranks 4", "num_ranks 4\nnum_ranks 4", "line 3: num_ranks is there twice"),
    ("num_ranks 4\n", "", "before num_ranks: it is the first line"),
    ("rank 3 {", "rank 2 {", "line 48: rank 2 is there already, in line 34"),
    ("rank 3 {", "rank 4 {", "rank: 4 is not from 0 to 3"),
    ("rank 3 {", "rank 3", "line 48: 'rank 3' outside a rank"),
    ("rank 3 {", "", "line 49: 'l1: calc 3000' outside a rank"),
    ("to 1 tag 1", "to 4 tag 1", "line 6: rank: 4 is not from 0 to 3"),
    ("to 1 tag 1", "to -1 tag 1", "line 6: rank: '-1' is no whole number"),
    ("to 1 tag 1", "to 1 tag -1", "line 6: a send has one tag"),
    ("to 1 tag 1", "to 1 tag 4294967296", "tag: 4294967296 is not from 0"),
    ("to 1 tag 1", "to 1 tag 4", "line 24: no send from rank 0 with tag 1 is left"),
    (
        "262144b to 1 tag 1",
        "262144 to 1 tag 1",
        "line 6: 'l2: send 262144 to 1 tag 1' is no statement",
    ),
    ("262144b to 1 tag 1", "1e3b to 1 tag 1", "octets: '1e3' is no whole number"),
    ("262144b to 1 tag 1", "9999999999999999b to 1 tag 1", "octets: 9999999999999999 is not from"),
    ("calc 2000", "calc 2000000000000000", "calc: 2000000000000000 is not from"),
    ("calc 2000", "calc 20000000", "run lasts 10 ms: give a longer --duration"),
    ("calc 2000", "calc 2000 nic 1", "line 5: 'l1: calc 2000 nic 1' is no statement"),
    ("l3: recv", "l2: recv", "line 8: label 'l2' is there already, in line 6"),
    ("l2 requires l1", "l2 requires l9", "line 7: no line above has the label 'l9'"),
    ("l4 requires l3", "l4 requires l3\nl3 requires l4", "waits for itself, through others"),
    ("l4 requires l3", "l4 irequires l4", "line 9: the operation waits for itself"),
    ("/* the slow one */", "/* the slow one", "line 49: the comment does not end"),
    ("l8 requires l7\n}", "l8 requires l7", "line 61: the file ends inside a rank"),
    ("l8 requires l7", "x" * (1 << 21), "has more than 1048576 octets"),
)


@pytest.mark.parametrize(("before", "after", "told"), HOSTILE)
def test_hostile_schedules_end_in_one_line(
    here: CommandLine, before: str, after: str, told: str
) -> None:
    body = (here.folder / "step.goal").read_text(encoding="utf-8")
    assert before in body
    (here.folder / "step.goal").write_text(body.replace(before, after, 1), encoding="utf-8")
    assert told in refused(here)


def test_ranks_that_all_receive_first_are_refused(here: CommandLine) -> None:
    first = "a: recv 1b from {0}\nb: send 1b to {0}\nb requires a"
    own(here, RANKS.format(first.format(1), first.format(0)))
    assert "line 4: the message waits for itself, through messages of other ranks" in refused(here)
    own(here, "rank 0 {\na: recv 1b from 0\nb: send 1b to 0\nb requires a\n}\n", 1)
    assert "the operation waits for itself" in refused(here)
    own(here, RANKS.format("a: calc 1", "a: calc 1"))
    assert refused(here) == "step.goal: no rank sends anything to another"
    (here.folder / "step.goal").write_text("// nothing\n")
    assert refused(here).startswith("step.goal: the file is empty")


def drawn(seed: int) -> list[Rank]:
    """Return ranks that exchange messages and never stand still, drawn by a seed."""
    draw = random.Random(seed)
    ranks = [Rank(Path("drawn")) for _ in range(3)]
    tags = count()
    for _ in range(20):
        kind = draw.choice((SEND, SEND, CALC))
        number = draw.randrange(3)
        if kind == CALC:
            added = [(number, ranks[number].add(CALC, draw.randrange(4) * 1000))]
        else:
            peer, tag = draw.randrange(3), next(tags)
            added = [(number, ranks[number].add(SEND, 1 + draw.randrange(9), peer, tag))]
            added.append((peer, ranks[peer].add(RECV, 1, number, tag)))
        for rank, at in added:
            for waits in (ranks[rank].after, ranks[rank].begun):
                befores = draw.sample(range(at), min(at, draw.choice((0, 0, 1, 2))))
                if befores:
                    waits[at] = befores
    return ranks


def longest(ranks: list[Rank], plan: Schedule, overhead: int, way: list[int]) -> dict[Any, int]:
    """Return when each send of ranks begins, by longest paths, each message `way` long."""
    begin: dict[tuple[int, int], int] = {}
    end: dict[tuple[int, int], int] = {}
    positions = {message.position: number for number, message in enumerate(plan.messages)}
    pending = [(rank, at) for rank in range(3) for at in range(len(ranks[rank].kinds))]
    while pending:
        rank, at = position = pending.pop(0)
        befores = [(rank, each) for each in ranks[rank].after.get(at, ())]
        begun = [(rank, each) for each in ranks[rank].begun.get(at, ())]
        send = plan.matches.sends.get(position)
        if any(each not in end for each in (*befores, *begun, *([send] if send else []))):
            pending.append(position)
            continue
        start = max([0, *(end[each] for each in befores), *(begin[each] for each in begun)])
        begin[position] = start
        kind, size = ranks[rank].kinds[at], ranks[rank].sizes[at]
        if kind == CALC:
            end[position] = start + size
        elif kind == SEND:
            end[position] = (
                start + overhead + (way[positions[position]] if position in positions else 0)
            )
        else:
            assert send is not None
            arrived = end[send] if send in positions else begin[send] + overhead
            end[position] = max(start, arrived + overhead)
    return {number: begin[position] + overhead for position, number in positions.items()}


@pytest.mark.parametrize("waits", [("r1", "r2"), ("r2", "r1")])
def test_a_time_is_later_than_all_that_a_message_waits_for(
    tmp_path: Path, waits: tuple[str, str]
) -> None:
    """A message waits for others that start after 100 and 300 us, and for 1 ms of computation."""
    first, second = waits
    path = tmp_path / "three.goal"
    path.write_text(
        f"""num_ranks 3
rank 0 {{
r1: recv 8b from 1 tag 1
r2: recv 8b from 2 tag 2
c: calc 1000000
s: send 8b to 1 tag 3
s requires {first}
s requires {second}
s requires c
}}
rank 1 {{
c: calc 100000
s: send 8b to 0 tag 1
s requires c
recv 8b from 0 tag 3
}}
rank 2 {{
c: calc 300000
s: send 8b to 0 tag 2
s requires c
}}
"""
    )
    plan = schedule(text.read(path).ranks)
    us = 10**6
    told = {(each.source, each.target): (each.after, each.earliest) for each in plan.messages}
    assert told == {
        (0, 1): ({1: 0, 2: 0}, 1000 * us), (1, 0): ({}, 100 * us), (2, 0): ({}, 300 * us),
    }  # fmt: skip


@pytest.mark.parametrize("seed", range(60))
def test_messages_start_as_longest_paths_say(seed: int) -> None:
    ranks, overhead = drawn(seed), seed % 2 * 300
    plan = schedule(ranks, overhead)
    draw = random.Random(seed)
    for _ in range(5):
        way = [draw.randrange(1, 6000) for _ in plan.messages]
        starts = [0] * len(plan.messages)
        for _ in plan.messages:
            for number, message in enumerate(plan.messages):
                ends = [starts[each] + way[each] + wait for each, wait in message.after.items()]
                starts[number] = max(message.earliest, *ends, 0)
        exact = longest(ranks, plan, overhead, way)
        assert starts == [exact[number] for number in range(len(starts))]


def test_lists_say_what_messages_ask_for(here: CommandLine) -> None:
    """A schedule becomes a list, and the list a schedule again: the same waits, delays, times."""
    own(
        here,
        "rank 0 {\na: recv 8b from 1 tag 1\nb: recv 8b from 2 tag 2\nc: calc 3000\nd: calc 4700\n"
        "c requires a\ns: send 8b to 1 tag 3\ns requires b\ns requires c\ns requires d\n}\n"
        "rank 1 {\nsend 8b to 0 tag 1\nrecv 8b from 0 tag 3\n}\n"
        "rank 2 {\nsend 8b to 0 tag 2\n}\n",
        3,
    )
    imported(here)
    rows = (here.folder / "made.flows.csv").read_text().splitlines()[2:]
    assert rows[0].split(",")[3:] == ["0 s", "", "", "2+3us 3 +4700ns"]
    done = here("export", "goal", "made.toml", "-o", "again")
    assert done.returncode == 0, done.stderr
    plans = [
        schedule(text.read(here.folder / name).ranks)
        for name in ("step.goal", "again/schedule.goal")
    ]
    first, second = (
        [(each.after, max(each.earliest, each.longest_wait)) for each in plan.messages]
        for plan in plans
    )
    assert first == second


def receives(most: int) -> list[Rank]:
    """Return a rank that sends so many messages, and one that receives them one after the other."""
    ranks = [Rank(Path("s.goal")) for _ in range(2)]
    for tag in range(most):
        ranks[0].add(SEND, 1000, 1, tag)
        at = ranks[1].add(RECV, 1000, 0, tag)
        if tag:
            ranks[1].after[at] = [at - 1]
    return ranks


def test_times_that_nobody_asks_for_any_more_take_no_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The n-th receive hears of n messages: half a million, were they noted with each."""
    ranks = receives(1000)
    for _ in range(1000):
        # A computation that nobody waits for hears of all thousand messages.
        at = ranks[1].add(CALC, 5)
        ranks[1].after[at] = [999]
    tracemalloc.start()
    try:
        assert len(schedule(ranks).messages) == 1000
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 5_000_000


def answers(most: int) -> list[Rank]:
    """Return a rank that answers each of so many messages when all before have come."""
    ranks = receives(most)
    for tag in range(most):
        at = ranks[1].add(SEND, 1, 0, tag)
        ranks[1].after[at] = [tag]
        ranks[0].add(RECV, 1, 1, tag)
    return ranks


def test_what_takes_too_many_steps_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of ten sends looks at its start, and answer n at n receives and the messages of each.

    The first receive is its message and the start, the others a message and the receive before.
    """
    steps = 10 + sum(2 * n + 1 for n in range(1, 11))
    monkeypatch.setattr(messages, "MOST_TIMES", steps)
    plan = schedule(answers(10))
    waits = [len(each.after) for each in plan.messages]
    assert waits == [0] * 10 + list(range(1, 11))
    monkeypatch.setattr(messages, "MOST_TIMES", steps - 1)
    with pytest.raises(FormatError, match="operation 19: to say what messages wait for takes more"):
        schedule(answers(10))


def test_a_hundred_thousand_receives_in_a_row_take_seconds_and_bounded_memory() -> None:
    """Nobody waits for them, and then a send for all of them."""
    ranks = receives(100_000)
    last = ranks[1].add(SEND, 1, 0, 7)
    ranks[1].after[last] = [99_999]
    tracemalloc.start()
    try:
        began = time.process_time()
        plan = schedule(ranks)
        took = time.process_time() - began
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert list(plan.messages[-1].after.items()) == [(number, 0) for number in range(100_000)]
    assert took < 30 and most < 300_000_000


def test_times_are_the_longest_of_all_ways() -> None:
    """Against lists of all messages with their delays, over drawn schedules of one rank.

    A computation that waits for two that share what they wait for has two ways to it.
    """
    for seed in range(200):
        dice = random.Random(seed)
        listed: list[tuple[int, dict[int, int]]] = []
        known: list[times.Time] = []
        for number in range(dice.randint(1, 40)):
            befores = [dice.randrange(number) for _ in range(dice.randint(0, 3)) if number]
            delay = dice.choice([0, 0, 3, 7])
            base = [(0, {})] if not befores else [listed[each] for each in befores]
            after: dict[int, int] = {}
            for _, terms in base:
                for message, wait in terms.items():
                    after[message] = max(after.get(message, 0), wait)
            earliest = max(each[0] for each in base)
            time_ = times.latest([known[each] for each in befores])
            if dice.random() < 0.5:
                after[number] = max(after.get(number, 0), delay)
                time_ = times.latest([time_, times.after_message(number, delay)])
            else:
                earliest += delay
                after = {message: wait + delay for message, wait in after.items()}
                time_ = times.later(time_, delay)
            listed.append((earliest, after))
            known.append(time_)
            waited = times.waits(time_)
            assert (waited.earliest, waited.after) == (earliest, after), (seed, number)
            assert list(waited.after) == list(after), (seed, number)


def test_too_many_waits_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, "MOST_WAITS", 3)
    ranks = [Rank(Path("x")) for _ in range(2)]
    for tag in range(4):
        ranks[0].add(SEND, 1, 1, tag)
        ranks[1].add(RECV, 1, 0, tag)
    last = ranks[1].add(SEND, 1, 0, 9)
    ranks[1].after[last] = [0, 1, 2, 3]
    with pytest.raises(
        FormatError, match="operation 4: messages wait for others more than 3 times"
    ):
        schedule(ranks)


def packed(ranks: list[Rank]) -> bytes:
    """Return ranks as a binary schedule, by its description."""
    bodies = []
    for rank in ranks:
        waiters: list[tuple[list[int], list[int]]] = [([], []) for _ in rank.kinds]
        for which, waits in enumerate((rank.after, rank.begun)):
            for at, befores in waits.items():
                for before in befores:
                    waiters[before][which].append(at)
        roots = [at for at in range(len(rank.kinds)) if not rank.waits(at)]
        body = pack("<II", len(rank.kinds), len(roots)) + b"".join(pack("<I", at) for at in roots)
        positions: list[int] = []
        for at, kind in enumerate(rank.kinds):
            size = rank.sizes[at] // (NS if kind == CALC else 1)
            peer, tag = (each % (1 << 32) for each in (rank.peers[at], rank.tags[at]))
            body += pack("<IBIQIBB", len(rank.waits(at)), kind, peer, size, tag, 0, 0)
            for each in waiters[at]:
                body += pack("<II", len(each), len(positions))
                positions += each
        bodies.append(body + b"".join(pack("<I", at) for at in positions))
    data = pack("<QIBB", 4223, len(ranks), 0, 0)
    at = len(data) - 8 + 16 * len(ranks)
    for body in bodies:
        data += pack("<QQ", at, at + len(body))
        at += len(body)
    return data + b"".join(bodies)


@pytest.mark.parametrize("seed", range(8))
def test_a_binary_schedule_is_read_as_its_text(tmp_path: Path, seed: int) -> None:
    file = tmp_path / "schedule.bin"
    ranks = drawn(seed)
    if seed == 0:
        ranks[0].add(SEND, 7, 1, 99)
        ranks[1].add(RECV, 7, ANY, ANY)
    file.write_bytes(packed(ranks))
    assert binary.is_binary(file)
    again = binary.read(file).ranks
    for rank, read in zip(ranks, again, strict=True):
        assert (rank.kinds, rank.sizes) == (read.kinds, read.sizes)
        assert (rank.peers, rank.tags) == (read.peers, read.tags)
        for one, other in ((rank.after, read.after), (rank.begun, read.begun)):
            assert {at: sorted(each) for at, each in one.items()} == {
                at: sorted(each) for at, each in other.items()
            }


def test_a_binary_schedule_gives_the_same_messages(here: CommandLine) -> None:
    imported(here)
    before = listed(here)
    ranks = text.read(here.folder / "step.goal").ranks
    (here.folder / "step.bin").write_bytes(packed(ranks))
    report = imported(here, "step.bin", *STAR)
    assert report["read"][0]["what"] == "binary schedule: 4 ranks, 31 operations"
    assert listed(here) == before


def test_a_binary_schedule_that_lies_is_refused(tmp_path: Path) -> None:
    file, whole = tmp_path / "schedule.bin", packed(drawn(1))
    draw = random.Random(1)
    refusals = 0
    for number in range(200):
        data = bytearray(whole[: draw.randrange(8, len(whole))] if number % 2 else whole)
        for _ in range(number % 3):
            data[draw.randrange(8, len(data))] = draw.choice((0, 1, 255, 128))
        file.write_bytes(data)
        try:
            schedule(binary.read(file).ranks)
        except FormatError as error:
            refusals += 1
            assert "\n" not in str(error)
    assert refusals > 100
    file.write_bytes(pack("<QIBB", 2342, 1, 0, 0))
    with pytest.raises(FormatError, match="used it up"):
        binary.read(file)
    file.write_bytes(pack("<QIBB", 4223, 1 << 31, 0, 0))
    with pytest.raises(FormatError, match="ranks are not from 1"):
        binary.read(file)


def test_export_and_import_undo_each_other(here: CommandLine) -> None:
    imported(here)
    before = listed(here)
    assert here("export", "goal", "made.toml", "-o", "files").returncode == 0
    report = imported(here, "files/schedule.goal", *STAR)
    assert listed(here) == before
    assert report["read"][0]["what"].startswith("schedule: 4 ranks")
    done = here("export", "goal", "ring-all-reduce-8-hosts-100g", "-o", "ring", "--json")
    assert done.returncode == 0, done.stderr
    imported(here, "ring/schedule.goal", *STAR)
    ring = listed(here)
    assert len(ring) == 112
    # Each of eight hosts sends fourteen times; but for the first time, what it has received.
    assert sum(row.endswith(",") for row in ring) == 8
    senders = {row.split(",")[5]: row.split(",") for row in ring}
    for row in ring:
        source, _, size, start, _, _, after = row.split(",")
        assert (size, start) == ("1000000 B", "0 s")
        assert not after or senders[after][1] == source
    assert here("export", "goal", "made.toml", "-o", "again").returncode == 0
    imported(here, "again/schedule.goal", *STAR)
    assert listed(here) == ring


def test_starts_finer_than_a_ns_are_told(here: CommandLine) -> None:
    own(here, RANKS.format("a: send 1b to 1", "a: recv 1b from 0"))
    imported(here)
    lists = here.folder / "made.flows.csv"
    lists.write_text(lists.read_text().replace("0 s", "1500 ps"))
    done = here("export", "goal", "made.toml", "-o", "files", "--json")
    assert "1 message with a time finer than a ns" in [
        each["what"] for each in json.loads(done.stdout)["not_modelled"]
    ]
    assert "calc 1\n" in (here.folder / "files/schedule.goal").read_text()


def test_no_octets_make_a_reader_fail_otherwise(tmp_path: Path) -> None:
    draw, file = random.Random(5), tmp_path / "file"
    words = [
        b"num_ranks",
        b"2",
        b"rank",
        b"0",
        b"{\n",
        b"}\n",
        b"a:",
        b"send",
        b"1b",
        b"to",
        b"recv",
    ]
    words += [
        b"from",
        b"-1",
        b"tag",
        b"calc",
        b"a",
        b"requires",
        b"/*",
        b"*/",
        b"//",
        b"\xff",
        b"\n",
    ]
    refusals = 0
    for _ in range(200):
        file.write_bytes(
            b"num_ranks 1\nrank 0 {\n" + b" ".join(draw.choices(words, k=draw.randint(0, 12)))
        )
        try:
            text.read(file)
        except FormatError as error:
            refusals += 1
            assert "\n" not in str(error)
    assert refusals > 150


def test_the_guide_is_as_it_says(here: CommandLine) -> None:
    page = GUIDE.read_text(encoding="utf-8")
    blocks = re.findall(r"test_goal_files.py -->\n```sh\n(.*?)```", page, re.DOTALL)
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    assert len(lines) >= 5
    for line in lines:
        program, *words = shlex.split(line)
        assert program == "qcnlab"
        done = here(*words)
        assert done.returncode == 0, f"{line}\n{done.stderr}"
