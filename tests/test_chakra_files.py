"""Chakra traces, ASTRA-sim's files beside them, and workloads of SimAI: read, and refused."""

from __future__ import annotations

import json
import random
import re
import shlex
import shutil
import sys
import tomllib
from collections import Counter
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest

import qcnlab
from conftest import ROOT, CommandLine
from qcnlab.errors import MissingPackage
from qcnlab.formats import simai
from qcnlab.formats.chakra import trace
from qcnlab.formats.lines import FormatError
from qcnlab.formats.report import Report
from qcnlab.formats.schedules import collectives
from qcnlab.formats.schedules.collectives import Collective, Span, expand
from qcnlab.formats.schedules.messages import schedule
from qcnlab.formats.schedules.operations import CALC, Rank

pytest.importorskip("google.protobuf")
from qcnlab.formats.chakra import schema

if TYPE_CHECKING:
    from pathlib import Path

EXAMPLE = ROOT / "examples/chakra"
GUIDE = ROOT / "docs/guide/goal-and-chakra.md"
TRACES = tuple(f"step.{rank}.et" for rank in range(4))
STAR = ("--duration", "10 ms", "--rate", "100 Gb/s", "--delay", "1 us")
COMPUTE, SEND, RECEIVE, COLLECTIVE = 4, 5, 6, 7


def varint(number: int) -> bytes:
    """Return a number as protobuf writes it: seven bits an octet, the lowest first."""
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def octets(field: int, value: bytes) -> bytes:
    return varint(field << 3 | 2) + varint(len(value)) + value


def attribute(name: str, value: int | str, field: int = 9) -> bytes:
    said = octets(29, value.encode()) if isinstance(value, str) else number(field, value)
    return octets(10, octets(1, name.encode()) + said)


def node(id_: int, kind: int, after: tuple[int, ...] = (), micros: int = 0, **said: Any) -> bytes:
    out = number(1, id_) + octets(2, b"name") + number(3, kind)
    out += octets(5, b"".join(map(varint, after))) if after else b""
    out += number(7, micros) if micros else b""
    return out + b"".join(attribute(name, value) for name, value in said.items())


def written(nodes: list[bytes]) -> bytes:
    return b"".join(varint(len(each)) + each for each in [octets(1, b"0.0.4"), *nodes])


@pytest.fixture
def here(tmp_path: Path) -> CommandLine:
    shutil.copytree(EXAMPLE, tmp_path / "here")
    return CommandLine(tmp_path / "here")


def imported(here: CommandLine, *words: str, kind: str = "chakra") -> dict[str, Any]:
    done = here("import", kind, *words, "-o", "made.toml", "--json")
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def refused(here: CommandLine, *words: str, kind: str = "chakra") -> str:
    """Return the one line that refuses an import, which must write nothing."""
    before = here.left()
    done = here("import", kind, *words, "-o", "made.toml")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1 and len(done.stderr) < 400, done.stderr
    assert here.left() == before
    return done.stderr.removeprefix("error: ").rstrip("\n")


def listed(here: CommandLine) -> list[str]:
    return (here.folder / "made.flows.csv").read_text().splitlines()[3:]


def own(here: CommandLine, *ranks: list[bytes]) -> tuple[str, ...]:
    """Write traces of ranks; return their names."""
    names = tuple(f"own.{rank}.et" for rank in range(len(ranks)))
    for name, nodes in zip(names, ranks, strict=True):
        (here.folder / name).write_bytes(written(nodes))
    return names


def lost(report: dict[str, Any]) -> list[str]:
    return [entry["what"] for entry in report["not_modelled"]]


def test_a_node_is_read_by_its_field_numbers(tmp_path: Path) -> None:
    file = tmp_path / "own.0.et"
    # id 300, name "x", type 7, ctrl_deps 1 (one by one), data_deps 2 and 3 (packed), duration 5;
    # attributes comm_size (int64, field 9) 1000 and pg_name (string, field 29) "7"; field 99.
    said = bytes.fromhex("08ac02 120178 1807 2001 2a020203 3805")
    said += bytes.fromhex("520e 0a09") + b"comm_size" + bytes.fromhex("48e807")
    said += (
        bytes.fromhex("520d 0a07")
        + b"pg_name"
        + bytes.fromhex("ea010137")
        + bytes.fromhex("980601")
    )
    file.write_bytes(b"\x05\x0a\x030.1" + bytes([len(said)]) + said)
    only = list(trace.read(file, schema.messages()))
    attributes = {b"comm_size": 1000, b"pg_name": b"7"}
    assert only == [trace.Node(300, 7, (2, 3, 1), 5, attributes, b"", b"x")]
    assert next(trace.read(file, schema.messages(), control=False)).after == (2, 3)
    for field, value in ((5, "cdcccc3d"), (7, "03"), (13, "03"), (15, "06"), (19, "03000000")):
        kind = {5: 5, 19: 5}.get(field, 0)
        part = octets(1, b"n") + varint(field << 3 | kind) + bytes.fromhex(value)
        file.write_bytes(written([number(1, 1) + number(3, 7) + octets(10, part)]))
        (each,) = trace.read(file, schema.messages())
        assert each.attributes[b"n"] == pytest.approx(0.1 if field == 5 else 3)


def test_traces_become_a_scenario_that_runs(here: CommandLine) -> None:
    report = imported(here, *TRACES, *STAR)
    assert report["read"][0]["what"] == "4 traces, 18 nodes"
    rows = listed(here)
    assert len(rows) == 25
    assert rows[0] == "host0,host3,4096 B,5 us,,,7 20 21 22 23 25 +70us"
    assert rows[1:4] == [
        "host0,host1,250000 B,50 us,,2,",
        "host0,host1,250000 B,0 s,,3,2 20",
        "host0,host1,250000 B,0 s,,4,2 21",
    ]
    assert not any("different delays" in each for each in lost(report))
    result = qcnlab.run(qcnlab.load(here.folder / "made.toml"), reps=1, progress=False)
    table = result.flows.to_polars()
    assert table["finished_s"].null_count() == 0


def test_a_ring_takes_as_long_as_its_steps(here: CommandLine) -> None:
    call = node(1, COLLECTIVE, comm_type=0, comm_size=1_000_000)
    imported(here, *own(here, *[[call]] * 4), *STAR)
    result = qcnlab.run(qcnlab.load(here.folder / "made.toml"), reps=1, progress=False)
    table = result.flows.to_polars()
    # Six steps of 61 packets of 4096 + 62 octets and one of 144 + 62, a packet more at the switch,
    # two links of 1 us. Acknowledgements of 66 octets go the other way on each link: 1.6 %. The
    # last is acknowledged two links later, and so is the first, for which the second step waits.
    step = (62 * 4158 + 206) * 8 / 100e9 + 2e-6
    last = max(table["start_s"] + table["completion_s"])
    assert 6 * step + 2e-6 < last < 6 * step * 1.016 + 2 * 2.1e-6


def test_nodes_of_a_trace_are_a_step_by_hand(here: CommandLine) -> None:
    """Rank 0 computes for 10 us and sends a packet of 4096 octets; rank 1 takes it and computes.

    The packet has 62 octets of headers: 332.64 ns on each of two links, and 2 us. Its
    acknowledgement of 66 octets takes 2 x 5.28 ns, and 2 us.
    """
    first = [
        node(7, COMPUTE, (), 10), node(1, 1, (7,)),
        node(9, SEND, (1,), comm_dst=1, comm_size=4096),
    ]  # fmt: skip
    second = [
        node(4, COMPUTE, (2,), 5), node(2, RECEIVE, comm_src=0, comm_size=4096),
        node(3, COMPUTE, (), 2),
    ]  # fmt: skip
    report = imported(here, *own(here, first, second), *STAR)
    assert {
        "from": "the nodes of the traces",
        "to": "qcnlab step RUN has the times of its nodes",
    } in (report["mapped"])
    result = qcnlab.run(qcnlab.load(here.folder / "made.toml"), reps=1, progress=False)
    steps = result.steps()
    told: Any
    (told,) = steps.records()
    there, heard = 10_000_000 + 2_665_280, 10_000_000 + 2_665_280 + 2_010_560
    assert steps.timelines[0].tasks == [
        {0: (0, 10_000_000), 1: (there, there + 5_000_000)},
        {0: (10_000_000, heard), 1: (0, there)},
        {1: (0, 2_000_000)},
    ]
    assert [each["what"] for each in told["tasks"]] == [
        "compute 10 us at most", "4.1 KB from rank 0 to 1", "compute 2 us"
    ]  # fmt: skip
    assert [each["name"] for each in told["tasks"]] == ["name", "name (2)", "name (3)"]
    assert round(told["iteration_s"] * 1e12) == there + 5_000_000
    assert told["last_rank"] == 1
    assert round(told["computing_s"] * 1e12) == 7_000_000
    assert round(told["exposed_s"] * 1e12) == there - 2_000_000
    # Rank 0 computes for 10 us of 14.67584, rank 1 for 7 of 17.66528.
    assert round(told["exposed_mean_s"] * 2e12) == heard - 10_000_000 + there - 2_000_000


def test_a_message_to_itself_is_there_when_it_is_sent(here: CommandLine) -> None:
    """The receive of rank 0 waits for nothing of its own, but for what the send waits for."""
    first = [
        node(1, COMPUTE, (), 10), node(2, SEND, (1,), comm_dst=0, comm_size=4096, comm_tag=1),
        node(3, RECEIVE, comm_src=0, comm_size=4096, comm_tag=1), node(4, COMPUTE, (3,), 5),
        node(5, SEND, (4,), comm_dst=1, comm_size=4096, comm_tag=2),
    ]  # fmt: skip
    second = [node(6, RECEIVE, comm_src=0, comm_size=4096, comm_tag=2)]
    imported(here, *own(here, first, second), *STAR)
    result = qcnlab.run(qcnlab.load(here.folder / "made.toml"), reps=1, progress=False)
    there = 15_000_000 + 2_665_280
    assert result.steps().timelines[0].tasks == [
        {0: (0, 10_000_000)},
        {0: (10_000_000, 15_000_000)},
        {0: (15_000_000, there + 2_010_560), 1: (0, there)},
    ]


def test_the_end_of_a_ring_waits_for_its_last_message(here: CommandLine) -> None:
    """Of the six that each of four ranks sends."""
    call = node(1, COLLECTIVE, comm_type=0, comm_size=1_000_000)
    imported(here, *own(here, *[[call]] * 4), *STAR)
    made = (here.folder / "made.flows.csv").read_text(encoding="utf-8")
    told = next(line for line in made.splitlines() if line.startswith("# step: "))
    assert json.loads(told.removeprefix("# step: "))["nodes"] == [[[0, 0, 6, 1, []]]] * 4


def drawn_traces(dice: random.Random, ranks: int) -> list[list[bytes]]:
    """Return traces in which ranks compute, send and add up in some order, that can end."""
    own: list[list[tuple[int, int, dict[str, Any]]]] = [[] for _ in range(ranks)]
    for turn in range(14):
        what = dice.choice([COMPUTE, COMPUTE, SEND, SEND, COLLECTIVE, 1])
        if what == SEND:
            source, target = dice.randrange(ranks), dice.randrange(ranks)
            said = {"comm_size": dice.choice([0, 1, 4096, 9000]), "comm_tag": turn}
            own[source].append((SEND, 0, {"comm_dst": target, **said}))
            own[target].append((RECEIVE, 0, {"comm_src": source, **said}))
        elif what == COLLECTIVE:
            kind, group = dice.choice([0, 2, 5, 6, 7]), dice.choice(["0", "1"])
            call = {"comm_type": kind, "comm_size": 1000 * (turn + 1), "pg_name": group}
            for rank in range(ranks if group == "0" else 2):
                own[rank].append((COLLECTIVE, dice.randrange(9), call))
        else:
            for rank in range(ranks):
                own[rank].append((what, dice.randrange(40), {}))
    out = []
    for nodes in own:
        ids = dice.sample(range(1, 99), len(nodes))
        told = []
        for at, (kind, micros, said) in enumerate(nodes):
            after = tuple(dice.sample(ids[:at], min(at, dice.randrange(3))))
            # Each waits for some before it: nothing waits in a circle.
            told.append((kind, node(ids[at], kind, after, micros, **said)))
        # Nodes may stand anywhere; collectives of a group keep their order.
        order = sorted(range(len(told)), key=lambda at: at + dice.choice([0, 0, 7]))
        calls = iter(sorted(at for at in order if told[at][0] == COLLECTIVE))
        out.append([
            told[next(calls) if told[at][0] == COLLECTIVE else at][1] for at in order
        ])  # fmt: skip
    return out


@pytest.mark.parametrize("seed", range(8))
def test_messages_start_when_their_nodes_begin(here: CommandLine, seed: int) -> None:
    """What is worked out of a run, and what its engine did, agree to the picosecond."""
    names = own(here, *drawn_traces(random.Random(seed), 3 + seed % 2))
    (here.folder / "own.json").write_text(json.dumps({"0": [*range(3 + seed % 2)], "1": [0, 1]}))
    imported(here, *names, *STAR, "--groups", "own.json")
    result = qcnlab.run(qcnlab.load(here.folder / "made.toml"), reps=1, progress=False)
    steps = result.steps()
    starts = [round(each * 1e12) for each in result.flows.to_polars()["start_s"].to_list()]
    known = json.loads(
        (here.folder / "made.flows.csv").read_text().splitlines()[1][len("# step: ") :]
    )
    at, tasks = 0, steps.timelines[0].tasks
    for rank, (nodes, senders) in enumerate(zip(known["nodes"], known["senders"], strict=True)):
        for position in senders:
            task, _, sends, _, _ = nodes[position]
            interval = tasks[task][rank]
            assert interval is not None and min(starts[at : at + sends]) == interval[0]
            at += sends
        for task, _, _, _, waits in nodes:
            for before in (nodes[each][0] for each in waits):
                if task >= 0 and before >= 0:
                    first, second = tasks[before][rank], tasks[task][rank]
                    assert first is not None and second is not None and first[1] <= second[0]
    assert at == len(starts)
    told: Any
    (told,) = steps.records()
    shown = sum(each.get("exposed_s") or 0 for each in told["tasks"])
    assert 0 <= shown <= told["exposed_s"] * (1 + 1e-9)


def test_files_of_astra_sim_beside_traces(here: CommandLine) -> None:
    words = ("--topology", "network.yml", "--system", "system.json", "--logical", "logical.json")
    report = imported(here, *TRACES, "--duration", "10 ms", *words, "--groups", "groups.json")
    assert len(listed(here)) == 17
    told = lost(report)
    assert 'scheduling-policy "LIFO"' in told and "endpoint-delay 10" in told
    assert "pg_name 0" not in told
    text = (here.folder / "made.toml").read_text()
    assert 'rate = "400 Gb/s"' in text and 'delay = "500 ns"' in text
    (here.folder / "network.json").write_text(
        '{"topology": ["Switch"], "npus_count": [4], "bandwidth": [12.5], "latency": [1], "x": 1}'
    )
    report = imported(here, *TRACES, "--duration", "10 ms", "--topology", "network.json")
    assert 'rate = "100 Gb/s"' in (here.folder / "made.toml").read_text()
    assert "x 1" in lost(report)


def test_packets_and_the_network_are_as_options_say(here: CommandLine) -> None:
    imported(here, *TRACES, *STAR, "--mtu", "1000")
    assert 'frame = "1062 B"' in (here.folder / "made.toml").read_text()
    name = "leaf-spine-64-web-search-and-incast-100g"
    report = imported(here, *TRACES, "--duration", "10 ms", "--network", name)
    said, shipped = (
        tomllib.loads(qcnlab.load(each).to_toml()) for each in (here.folder / "made.toml", name)
    )
    for key in ("topology", "scheme", "shared_buffer", "pause"):
        assert said[key] == shipped[key]
    assert listed(here)[0].startswith("host1,host4,4096 B")
    assert "how messages are sent" not in lost(report)


def test_control_dependencies_can_be_left_out(here: CommandLine) -> None:
    first = number(1, 1) + number(3, COMPUTE) + number(7, 9)
    last = number(1, 2) + number(3, SEND) + octets(4, varint(1))
    last += attribute("comm_dst", 1) + attribute("comm_size", 5)
    take = node(1, RECEIVE, comm_src=0, comm_size=5)
    names = own(here, [first, last], [take])
    imported(here, *names, *STAR)
    assert listed(here) == ["host0,host1,5 B,9 us,,,"]
    assert "ctrl_deps" in lost(imported(here, *names, *STAR, "--data-only"))
    assert listed(here) == ["host0,host1,5 B,0 s,,,"]


def test_collectives_of_a_group_go_by_their_turn(here: CommandLine) -> None:
    """Two ranks add up 1000 octets, then 5000: each sends half of them twice, as a ring does."""
    calls = [
        node(1, COLLECTIVE, comm_type=0, comm_size=1000),
        node(2, COLLECTIVE, (1,), comm_type=0, comm_size=5000),
    ]
    imported(here, *own(here, calls, calls), *STAR)
    sent: dict[str, list[str]] = {}
    for row in listed(here):
        source, _, size, *_ = row.split(",")
        sent.setdefault(source, []).append(size)
    assert sent == {key: ["500 B", "500 B", "2500 B", "2500 B"] for key in ("host0", "host1")}


def test_groups_and_the_order_of_collectives(here: CommandLine) -> None:
    calls = {
        rank: [node(1, COLLECTIVE, comm_type=2, comm_size=10, pg_name=f"{rank % 2}")]
        for rank in range(4)
    }
    for rank in range(4):
        calls[rank].append(node(2, COLLECTIVE, (1,), comm_type=7, comm_size=40, pg_name="all"))
    names = own(here, *calls.values())
    (here.folder / "own.json").write_text('{"0": [2, 0], "1": [1, 3], "all": [0, 1, 2, 3]}')
    report = imported(here, *names, *STAR, "--groups", "own.json")
    rows = [row.split(",") for row in listed(here)]
    gathered = [(row[0], row[1], row[2]) for row in rows if row[6] == ""]
    # Two ranks each gather 10 octets of the other; a part of 40 octets for four ranks is 10, too.
    assert sorted(gathered) == [
        ("host0", "host2", "10 B"),
        ("host1", "host3", "10 B"),
        ("host2", "host0", "10 B"),
        ("host3", "host1", "10 B"),
    ]
    assert len(rows) == 4 + 4 * 3
    assert {entry["from"] for entry in report["mapped"]} >= {
        "2 all-gather of 2 ranks",
        "1 reduce-scatter of 4 ranks",
    }
    assert "no group is called 'all'" in refused_groups(here, names, '{"0": [0, 2], "1": [1, 3]}')
    assert "rank 3 is not in group 'all'" in refused_groups(
        here, names, '{"0": [0, 2], "1": [1, 3], "all": [0, 1, 2]}'
    )
    assert "there are ranks 0 to 3" in refused_groups(here, names, '{"0": [0, 4]}')
    assert "a rank is there twice" in refused_groups(here, names, '{"0": [0, 0]}')
    assert "it is a list of ranks" in refused_groups(here, names, '{"0": 1}')
    assert "no object of JSON" in refused_groups(here, names, "[]")
    assert "no JSON" in refused_groups(here, names, "{")
    assert "nested too deeply" in refused_groups(here, names, "[" * 200_000)


def refused_groups(here: CommandLine, names: tuple[str, ...], text: str) -> str:
    for each in ("made.toml", "made.flows.csv"):
        (here.folder / each).unlink(missing_ok=True)
    (here.folder / "own.json").write_text(text)
    return refused(here, *names, *STAR, "--groups", "own.json")


def test_groups_that_a_trace_of_pytorch_names(here: CommandLine) -> None:
    said = '["' + json.dumps([{"pg_name": "5", "ranks": [0, 1]}]) + '"]'
    first = number(1, 1) + number(3, 1) + octets(8, octets(1, said.encode()))
    call = node(2, COLLECTIVE, (1,), comm_type=0, comm_size=10, pg_name="5")
    send = node(1, COMPUTE)
    imported(here, *own(here, [first, call], [first, call], [send]), *STAR)
    assert {row.split(",")[0] for row in listed(here)} == {"host0", "host1"}


FAULTS: tuple[tuple[list[bytes], str], ...] = (
    ([node(1, COMPUTE), node(1, COMPUTE)], "node 1: the number is there twice"),
    ([node(1, COMPUTE, (2,))], "node 1: it waits for node 2, which is not there"),
    ([node(1, COMPUTE, (1,))], "node 1: the operation waits for itself"),
    ([node(1, SEND, comm_size=1)], "node 1: comm_dst is missing"),
    ([node(1, SEND, comm_dst=1)], "node 1: comm_size is missing"),
    ([node(1, SEND, comm_dst=2, comm_size=1)], "comm_dst 2: there are ranks 0 to 1"),
    (
        [node(1, SEND, comm_src=1, comm_dst=1, comm_size=1)],
        "comm_src is not 0, whose trace this is",
    ),
    ([node(1, SEND, comm_dst="1", comm_size=1)], "comm_dst: 'b'1'' is no whole number"),
    (
        [node(1, SEND, comm_dst=1, comm_size=1 << 60)],
        "comm_size: '1152921504606846976' is no whole",
    ),
    (
        [node(1, SEND, comm_dst=1, comm_size=1, comm_tag=1 << 41)],
        "comm_tag 2199023255552 is not from",
    ),
    ([node(1, RECEIVE, comm_src=1, comm_size=1)], "no send from rank 1 with tag 0 is left"),
    ([node(1, COMPUTE, (), 10**13)], "duration_micros 10000000000000 is more than"),
    ([node(1, COLLECTIVE, comm_type=17, comm_size=1)], "comm_type 17: there are 0 to 9"),
    ([node(1, COLLECTIVE, comm_type=0, comm_size=1)], "rank 1 is in the group and has no such"),
    ([node(1, COMPUTE, (), 10)], "no rank sends anything to another"),
)


@pytest.mark.parametrize(("nodes", "told"), FAULTS, ids=[told[:40] for _, told in FAULTS])
def test_faults_of_a_trace_are_named(here: CommandLine, nodes: list[bytes], told: str) -> None:
    said = refused(here, *own(here, nodes, [node(9, COMPUTE)]), *STAR)
    assert told in said


def test_collectives_that_do_not_agree_are_refused(here: CommandLine) -> None:
    first = node(1, COLLECTIVE, comm_type=0, comm_size=10)
    other = node(4, COLLECTIVE, comm_type=0, comm_size=12)
    told = refused(here, *own(here, [first], [other]), *STAR)
    assert told.startswith("own.1.et, node 4: comm_type 0 and 12 octets, and rank 0 has 0 and 10")
    names = own(here, [first], [first], [first])
    told = refused(here, *names, *STAR, "--system", "system.json")
    assert "all-reduce of 3 ranks as halvingDoubling: it is for 2, 4, 8" in told
    cross = [
        node(1, RECEIVE, comm_src=1, comm_size=1),
        node(2, SEND, (1,), comm_dst=1, comm_size=1),
    ]
    back = [node(1, RECEIVE, comm_src=0, comm_size=1), node(2, SEND, (1,), comm_dst=0, comm_size=1)]
    assert "node 2: the message waits for itself" in refused(here, *own(here, cross, back), *STAR)


def test_what_cannot_be_said_is_told(here: CommandLine) -> None:
    nodes = [node(1, COLLECTIVE, (), 7, comm_type=5, comm_size=9), node(2, 2, (1,), 3), node(3, 9)]
    nodes += [node(4, COMPUTE, (2, 3)), node(5, SEND, (4,), comm_dst=1, comm_size=0, comm_tag=3)]
    take = [node(1, RECEIVE, comm_src=0, comm_size=0, comm_tag=3)]
    told = lost(imported(here, *own(here, nodes, take), *STAR))
    for each in (
        "1 BROADCAST",
        "1 computation without duration_micros",
        "1 load or store of memory",
        "1 node of another type",
        "1 message of 0 octets",
    ):
        assert each in told
    assert listed(here) == ["host0,host1,1 B,10 us,,,"]


def test_names_and_options_that_cannot_be(here: CommandLine) -> None:
    (here.folder / "other.0.et").write_bytes(b"")
    assert "are both of rank 0" in refused(here, *TRACES, "other.0.et", *STAR)
    assert "no trace of rank 0 among 1 trace" in refused(here, TRACES[1], *STAR)
    assert "a trace is called <prefix>.<rank>.et" in refused(here, "system.json", *STAR)
    assert "other.0.et: the file is empty" in refused(here, "other.0.et", *STAR)
    words = (*TRACES, *STAR, "--topology", "network.yml")
    assert "--topology says the network" in refused(here, *words)
    (here.folder / "own.json").write_text('{"logical-dims": ["2", "4"]}')
    assert "logical-dims are 8 ranks, and there are 4" in refused(
        here, *TRACES, *STAR, "--logical", "own.json"
    )


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("[ Switch ]", "[ Ring ]", 'topology ["Ring"]: a host has one link here'),
        ("[ Switch ]", "[ Switch, Switch ]", "only one Switch can be said"),
        ("[ 4 ]", "[ 8 ]", "npus_count is 8, and there are 4 ranks"),
        ("[ 50.0 ]", "[ 0 ]", "bandwidth: 0 would send nothing"),
        ("[ 50.0 ]", "[ \u0665 ]", "is not one number"),
        ("[ 50.0 ]", "50.0", "line 3: 'bandwidth: 50.0  # GB/s' is no key with a list"),
        ("bandwidth", "latency", "line 4: latency is there twice"),
        ("latency: [ 500 ]  # ns\n", "", "latency is missing"),
    ],
)
def test_hostile_networks_end_in_one_line(
    here: CommandLine, before: str, after: str, told: str
) -> None:
    file = here.folder / "network.yml"
    text = file.read_text()
    assert before in text
    file.write_text(text.replace(before, after, 1), encoding="utf-8")
    words = (*TRACES, "--duration", "10 ms", "--topology", "network.yml")
    assert told in refused(here, *words)


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ('["doubleBinaryTree"]', "there are ring, direct, halvingDoubling here"),
        ('["ring", "direct"]', "a collective has one algorithm here"),
        ("[]", "there are ring"),
        ("[[[]]]", "there are ring"),
    ],
)
def test_hostile_systems_end_in_one_line(here: CommandLine, value: str, told: str) -> None:
    (here.folder / "system.json").write_text('{"all-reduce-implementation": ' + value + "}")
    assert told in refused(here, *TRACES, *STAR, "--system", "system.json")


def test_dimensions_and_rounds_are_told(here: CommandLine) -> None:
    said = '{"all-reduce-implementation": ["ring", "ring"], "all-to-all-implementation": ["ring"]}'
    (here.folder / "system.json").write_text(said)
    (here.folder / "logical.json").write_text('{"logical-dims": ["2", 2]}')
    words = ("--system", "system.json", "--logical", "logical.json")
    told = lost(imported(here, *TRACES, *STAR, *words))
    assert "2 dimensions of all-reduce-implementation" in told
    assert "2 logical dimensions" in told
    assert "all-to-all passed on round a ring" in told


def test_damaged_traces_end_in_one_line(tmp_path: Path) -> None:
    whole = (EXAMPLE / "step.0.et").read_bytes()
    draw, file, classes = random.Random(4), tmp_path / "own.0.et", schema.messages()
    refusals = 0
    for turn in range(400):
        data = bytearray(whole[: draw.randrange(1, len(whole))] if turn % 2 else whole)
        for _ in range(turn % 4):
            data[draw.randrange(len(data))] = draw.randrange(256)
        file.write_bytes(data)
        try:
            list(trace.read(file, classes))
        except FormatError as error:
            refusals += 1
            assert "\n" not in str(error)
    assert refusals > 150
    file.write_bytes(b"\xff\xff\xff\x7f")
    with pytest.raises(FormatError, match="is longer than"):
        list(trace.read(file, classes))
    file.write_bytes(b"\xff" * 9)
    with pytest.raises(FormatError, match="octet 0: no length of a message"):
        list(trace.read(file, classes))


CASES = list(product(collectives.KINDS, collectives.ALGORITHMS, (1, 2, 3, 4, 8)))


@pytest.mark.parametrize(("kind", "algorithm", "count"), CASES)
def test_each_rank_sends_what_the_collective_needs(
    kind: str, algorithm: str, count: int, tmp_path: Path
) -> None:
    size = 1003 * count
    if algorithm == collectives.HALVING and (count & (count - 1) or kind == collectives.ALL_TO_ALL):
        pytest.skip("refused")
    ranks = [Rank(tmp_path) for _ in range(count)]
    spans = [Span(rank.add(CALC, 0), rank.add(CALC, 0)) for rank in ranks]
    expand(ranks, Collective(kind, size, tuple(range(count)), algorithm), spans, 0)
    plan = schedule(ranks)
    assert (plan.matches.unequal, plan.matches.unreceived) == (0, 0)
    sent: Counter[int] = Counter()
    for message in plan.messages:
        sent[message.source] += message.octets
    rounds = 2 if kind == collectives.ALL_REDUCE else 1
    assert all(sent[rank] == rounds * 1003 * (count - 1) for rank in range(count))
    # Nobody has all before each other rank's part can have come: by messages that follow another.
    for rank in range(count):
        heard = {rank}
        own_last = [m for m in plan.messages if m.target == rank]
        ways = list(own_last)
        while ways:
            message = ways.pop()
            heard.add(message.source)
            ways += [
                plan.messages[each]
                for each in message.after
                if plan.messages[each].source not in heard
            ]
        assert heard == set(range(count))


def test_parts_of_a_size_that_cannot_be_cut_evenly(tmp_path: Path) -> None:
    ranks = [Rank(tmp_path) for _ in range(3)]
    spans = [Span(rank.add(CALC, 0), rank.add(CALC, 0)) for rank in ranks]
    expand(ranks, Collective(collectives.REDUCE_SCATTER, 8, (2, 0, 1), "ring"), spans, 0)
    plan = schedule(ranks)
    assert plan.matches.unequal == 0
    assert [(m.source, m.target, m.octets) for m in plan.messages] == [
        (0, 1, 3),
        (0, 1, 3),
        (1, 2, 2),
        (1, 2, 3),
        (2, 0, 3),
        (2, 0, 2),
    ]


def test_a_workload_of_simai_becomes_a_scenario_that_runs(here: CommandLine) -> None:
    report = imported(here, "simai.txt", *STAR, kind="simai")
    assert {entry["from"] for entry in report["mapped"]} >= {
        "4 all-reduce of 2 ranks",
        "4 all-gather of 2 ranks",
        "8 all-to-all of 2 ranks",
        "2 all-reduce of 4 ranks",
    }
    assert "ga 1" in lost(report)
    assert not any("different delays" in each for each in lost(report))
    rows = listed(here)
    # The first all-reduce, of 400 000 octets: halves between two neighbours, after 20 us.
    assert rows[0].startswith("host0,host1,200000 B,20 us,")
    result = qcnlab.run(qcnlab.load(here.folder / "made.toml"), reps=1, progress=False)
    assert result.flows.to_polars()["finished_s"].null_count() == 0


def test_groups_of_parallelism_by_hand() -> None:
    sizes = simai.Sizes(8, 2, 2)

    def groups(suffix: bytes, *, weights: bool) -> list[tuple[int, ...]]:
        return sizes.group(suffix, weights).members(8)

    assert groups(b"", weights=False) == [(0, 1), (2, 3), (4, 5), (6, 7)]
    assert groups(b"", weights=True) == [(0, 2, 4, 6), (1, 3, 5, 7)]
    assert groups(b"_EP", weights=False) == [(0, 2), (1, 3), (4, 6), (5, 7)]
    assert groups(b"_DP_EP", weights=True) == [(0, 4), (1, 5), (2, 6), (3, 7)]


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("HYBRID_TRANSFORMER_FWD_IN_BCKWD", "MICRO", "line 1: 'MICRO' begins no workload"),
        ("pp: 1", "pp: 2", "stages of a pipeline are not known here"),
        ("pp: 1", "pp 1", "line 1: 'pp' is no key"),
        ("pp: 1", "ep: 1", "ep is there twice"),
        ("all_gpus: 8", "all_gpus: 9", "9 ranks are no multiple of 2"),
        ("all_gpus: 8", "", "all_gpus is missing"),
        ("all_gpus: 8", "all_gpus: \u0668", "all_gpus: '\\xd9\\xa8' is no whole number"),
        ("\n3\n", "\n4\n", "line 2: 4 layers are said to follow, but there are 3"),
        ("\n3\n", "\n2\n", "line 2: 2 layers are said to follow, but line 5 has another"),
        ("\n3\n", "\nthree\n", "line 2: layers: 'three' is no whole number"),
        ("ALLREDUCE 400000", "ALLREDUSE 400000", "line 3: 'ALLREDUSE': there are NONE"),
        ("ALLREDUCE 400000", "ALLREDUCE -4", "line 3: octets: '-4' is no whole number"),
        ("embedding -1", "embedding", "line 3: 11 words: a layer is"),
    ],
)
def test_hostile_workloads_end_in_one_line(
    here: CommandLine, before: str, after: str, told: str
) -> None:
    file = here.folder / "simai.txt"
    text = file.read_text(encoding="utf-8")
    assert before in text
    file.write_text(text.replace(before, after, 1), encoding="utf-8")
    assert told in refused(here, "simai.txt", *STAR, kind="simai")


def test_without_protobuf_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "google.protobuf", None)
    with pytest.raises(MissingPackage, match=r"google.protobuf: pip install 'qcnlab\[chakra\]'"):
        schema.messages()


def test_the_report_has_what_a_missing_system_file_means() -> None:
    from qcnlab.formats.chakra.system import algorithms

    report = Report()
    assert algorithms(None, report)["all-to-all"] == "direct"
    assert report.mapped[0][0] == "no system file"


def test_the_guide_is_as_it_says(here: CommandLine) -> None:
    page = GUIDE.read_text(encoding="utf-8")
    blocks = re.findall(r"test_chakra_files.py -->\n```sh\n(.*?)```", page, re.DOTALL)
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    assert len(lines) >= 5
    for line in lines:
        program, *words = shlex.split(line)
        assert program == "qcnlab"
        done = here(*words)
        assert done.returncode == 0, f"{line}\n{done.stderr}"
        if words[0] == "step":
            assert f"```text\n{done.stdout.splitlines()[0]}\n```" in page
