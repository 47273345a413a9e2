"""Files of htsim: read, refused, written, and read again."""

from __future__ import annotations

import json
import random
import re
import shlex
import shutil
import tomllib
from typing import TYPE_CHECKING, Any

import pytest

import qcnlab
from conftest import ROOT, CommandLine
from qcnlab import _core
from qcnlab.formats.htsim import topology
from qcnlab.formats.htsim.matrix import Matrix, read
from qcnlab.formats.lines import FormatError
from qcnlab.formats.scenarios import NO_FLOWS

if TYPE_CHECKING:
    from pathlib import Path

EXAMPLE = ROOT / "examples/htsim"
GUIDE = ROOT / "docs/guide/htsim-files.md"
WORDS = ("ring.cm", "tree.topo", "--times", "ps", "--duration", "1 ms")
STAR = ("--times", "ps", "--duration", "1 ms", "--rate", "100 Gb/s", "--delay", "1 us")


@pytest.fixture
def here(tmp_path: Path) -> CommandLine:
    shutil.copytree(EXAMPLE, tmp_path / "here")
    return CommandLine(tmp_path / "here")


def change(file: Path, before: str, after: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert before in text
    file.write_text(text.replace(before, after, 1), encoding="utf-8")


def imported(here: CommandLine, *words: str) -> dict[str, Any]:
    done = here("import", "htsim", *(words or WORDS), "-o", "made.toml", "--json")
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def refused(here: CommandLine, *words: str) -> str:
    """Return the one line that refuses an import, which must write nothing."""
    before = here.left()
    done = here("import", "htsim", *(words or WORDS), "-o", "made.toml")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1 and len(done.stderr) < 400, done.stderr
    assert here.left() == before
    return done.stderr.removeprefix("error: ").rstrip("\n")


def listed(here: CommandLine) -> list[str]:
    return (here.folder / "made.flows.csv").read_text().splitlines()[2:]


def test_triggers_start_flows_when_what_they_wait_for_is_complete(here: CommandLine) -> None:
    report = imported(here)
    assert listed(here) == [
        "host0,host1,65536 B,0 s,,1,",
        "host1,host5,65536 B,0 s,,2,1",
        "host5,host9,65536 B,1 us,,3,",
        "host9,host1,65536 B,0 s,,4,3",
        "host1,host0,65536 B,0 s,,,2 4",
        "host12,host2,2000000 B,2500 ns,,,",
    ]
    assert report["read"][0]["what"] == "6 connections, 3 triggers, 1 failed link"
    scenario = qcnlab.load(here.folder / "made.toml")
    table = qcnlab.run(scenario, reps=1, progress=False).flows.to_polars()
    # 16 packets of 4096 + 62 octets at 100 Gb/s take 332.64 ns each. Over two links of 500 ns in
    # one rack the last octet is there after 17 packets and 1 us.
    assert table["start_s"][1] == pytest.approx(17 * 332.64e-9 + 1e-6, abs=1e-12)
    # The last waits for an acknowledgement (flow 2) and an arrival (flow 4): the later of them.
    ends = table["start_s"] + table["completion_s"]
    assert table["start_s"][4] >= max(ends[1], table["start_s"][3] + 17 * 332.64e-9)
    assert table["finished_s"].null_count() == 0


def test_the_tree_is_as_its_file_says(here: CommandLine) -> None:
    imported(here)
    links = {frozenset((link["a"], link["b"])): link for link in _named(network(here))}
    # Eight racks with two hosts and two uplinks each, eight aggregation switches with two uplinks,
    # one of which has failed.
    assert len(links) == 16 + 16 + 16 - 1
    assert frozenset(("agg0", "core0")) not in links
    for number in range(16):
        assert frozenset((f"host{number}", f"tor{number // 2}")) in links
        assert frozenset((f"tor{number // 2}", f"agg{number // 4 * 2 + number % 2}")) in links
    for number in range(1, 8):
        for core in (number % 2, number % 2 + 2):
            assert links[frozenset((f"agg{number}", f"core{core}"))]["delay_s"] == 1e-6
    assert links[frozenset(("host0", "tor0"))]["delay_s"] == 5e-7
    said = tomllib.loads((here.folder / "made.toml").read_text())
    assert said["switch"] == [{"only": "agg{0..7}", "latency": "300 ns"}]


def network(here: CommandLine) -> dict[str, Any]:
    text = (here.folder / "made.toml").read_text(encoding="utf-8")
    text = text.replace('flows = "made.flows.csv"', NO_FLOWS)
    parsed: dict[str, Any] = json.loads(_core.Scenario.parse(text, "made.toml").network())
    return parsed


def _named(network: dict[str, Any]) -> list[dict[str, Any]]:
    names = [node["name"] for node in network["nodes"]]
    return [
        {**link, **{end: names[link[end]] for end in "ab" if isinstance(link[end], int)}}
        for link in network["links"]
    ]


TREE = """Nodes 12
tiers 3
Podsize 6
Tier 0
Downlink_speed_Gbps 100
Radix_Down 3
Radix_Up 2
Downlink_Latency_ns 100
Oversubscribed 3
Tier 1
Downlink_speed_Gbps 50
Radix_Down 2
Radix_Up 4
Downlink_Latency_ns 200
Queue_Up 1
Tier 2
Downlink_speed_Gbps 25
Radix_Down 4
Downlink_Latency_ns 300
Bundle 2
Switch_Latency_ns 7
"""


def test_bundles_speeds_and_oversubscription(here: CommandLine) -> None:
    # Twelve hosts of 100 Gb/s over 3 are 400 Gb/s up, 8 uplinks of 50; two pods with 2 aggregation
    # switches of two ports down; 400 Gb/s are 16 uplinks of 25, in 8 bundles to 4 cores.
    (here.folder / "own.topo").write_text(TREE)
    text = "Nodes 12\nConnections 1\nFailures 1\nfailure switch_type AGG switch_id 3 link_id 1\n"
    (here.folder / "own.cm").write_text(text + "0->11 start 0 size 9000\n")
    report = imported(here, "own.cm", "own.topo", *STAR[:4])
    links = {frozenset((link["a"], link["b"])): link["rate_bps"] for link in _named(network(here))}
    assert links[frozenset(("host11", "tor3"))] == 100e9
    assert links[frozenset(("tor3", "agg2"))] == links[frozenset(("tor3", "agg3"))] == 50e9
    assert frozenset(("tor3", "agg1")) not in links
    assert links[frozenset(("agg3", "core1"))] == 50e9
    # podpos 1, times 2 switches in a pod, plus uplink 1: core 3. One link of two is left.
    assert links[frozenset(("agg3", "core3"))] == 25e9
    assert len(links) == 12 + 8 + 8
    lost = [entry["what"] for entry in report["not_modelled"]]
    assert "Bundle 2 of tier 2" in lost
    assert "queue_up 1 of tier 1" in lost


def test_two_tiers_are_leaves_and_spines(here: CommandLine) -> None:
    text = "Nodes 8\nTiers 2\nPodsize 8\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 4\n"
    text += "Radix_Up 2\nOversubscribed 2\nDownlink_Latency_ns 500\nTier 1\n"
    text += "Downlink_speed_Gbps 100\nRadix_Down 2\nRadix_Up 9\nDownlink_Latency_ns 700\n"
    (here.folder / "own.topo").write_text(text)
    (here.folder / "own.cm").write_text("Nodes 8\nConnections 1\n0->7 start 0 size 9000\n")
    report = imported(here, "own.cm", "own.topo", *STAR[:4])
    links = {frozenset((link["a"], link["b"])): link["delay_s"] for link in _named(network(here))}
    # Eight hosts of 100 Gb/s over 2 are four uplinks, to two spines with two ports each.
    assert len(links) == 8 + 4
    for leaf, spine in ((0, 0), (0, 1), (1, 0), (1, 1)):
        assert links[frozenset((f"tor{leaf}", f"agg{spine}"))] == 7e-7
    assert "Radix_Up 9 of tier 1" in [entry["what"] for entry in report["not_modelled"]]
    change(here.folder / "own.topo", "Podsize 8", "Podsize 4")
    told = refused(here, "own.cm", "own.topo", *STAR[:4])
    assert told == "own.topo: two tiers are one pod: Podsize must be 8, as Nodes is"


def test_times_are_what_the_option_says(here: CommandLine) -> None:
    words = ("pairs.cm", *STAR[2:], "--mtu", "1024")
    report = imported(here, *words, "--times", "us")
    assert listed(here) == ["host0,host1,100000 B,500 ns,,,", "host2,host3,4000 B,10 us,,,"]
    assert tomllib.loads((here.folder / "made.toml").read_text())["traffic"][0]["frame"] == "1086 B"
    assert "1 flow with prio" in [entry["what"] for entry in report["not_modelled"]]
    report = imported(here, *words, "--times", "ps")
    assert listed(here) == ["host0,host1,100000 B,0 s,,,", "host2,host3,4000 B,10 ps,,,"]
    assert "1 start finer than a ps" in [entry["what"] for entry in report["not_modelled"]]
    for each in ("made.toml", "made.flows.csv"):
        (here.folder / each).unlink()
    assert refused(here, *words, "--times", "ns").startswith("--times: 'ns' is neither ps")


def test_what_htsim_would_change_is_told(here: CommandLine) -> None:
    rows = "0->1 start 16777217 size 2147483648\n1->0 start 33554436 size 1\n"
    (here.folder / "own.cm").write_text("Nodes 2\nConnections 2\n" + rows)
    report = imported(here, "own.cm", *STAR)
    lost = [entry["what"] for entry in report["not_modelled"]]
    assert "1 size of 2^31 octets and more" in lost
    # 2^24 + 1 has 25 bits, twice that has 24 and a zero.
    assert "1 start that htsim rounds to 24 bits" in lost


def test_starts_in_us_are_not_rounded_to_24_bits(here: CommandLine) -> None:
    (here.folder / "own.cm").write_text("Nodes 2\nConnections 1\n0->1 start 131.073001 size 9\n")
    words = ("--times", "us", *STAR[2:])
    lost = [entry["what"] for entry in imported(here, "own.cm", *words)["not_modelled"]]
    assert listed(here) == ["host0,host1,9 B,131073001 ps,,,"]
    assert not any("24 bits" in what or "finer" in what for what in lost)


def test_two_links_that_failed_are_both_missing(here: CommandLine) -> None:
    text = "Nodes 16\nConnections 1\nFailures 2\nfailure switch_type AGG switch_id 0 link_id 0\n"
    text += "failure switch_type AGG switch_id 1 link_id 1\n0->15 start 0 size 9000\n"
    (here.folder / "own.cm").write_text(text)
    report = imported(here, "own.cm", "tree.topo", *STAR[:4])
    links = {frozenset((link["a"], link["b"])) for link in _named(network(here))}
    assert len(links) == 16 + 16 + 16 - 2
    assert frozenset(("agg0", "core0")) not in links and frozenset(("agg1", "core3")) not in links
    assert "2 failed links" in str(report["mapped"])
    change(here.folder / "own.cm", "switch_id 1 link_id 1", "switch_id 0 link_id 0")
    told = refused(here, "own.cm", "tree.topo", *STAR[:4])
    assert told.endswith("the link of agg0 and core0 has failed already")


def test_waits_that_end_at_the_other_host_are_told(here: CommandLine) -> None:
    text = "Nodes 3\nConnections 4\nTriggers 2\ntrigger id 1 oneshot\ntrigger id 2 multishot\n"
    text += "0->1 start 0 size 1 send_done_trigger 1\n1->2 trigger 1 size 1\n"
    text += "2->0 id 7 start 0 size 1 recv_done_trigger 2\n2->1 trigger 2 size 1\n"
    (here.folder / "own.cm").write_text(text.replace("1->2 trigger", "1->2 id 9 trigger"))
    report = imported(here, "own.cm", *STAR)
    assert [row.split(",", 5)[5] for row in listed(here)] == ["line6,", ",line6", "7,", ",7"]
    lost = [entry["what"] for entry in report["not_modelled"]]
    assert "1 wait for all to be acknowledged, at the receiver" in lost
    assert "1 wait for all to arrive, at the sender" in lost


HOSTILE = {
    "ring.cm": (
        ("Nodes 16", "Nodes 17", "17 nodes, but tree.topo has 16"),
        ("Nodes 16", "Nodes 9", "line 12: node: 9 is not from 0 to 8"),
        ("Nodes 16", "Node 16", "line 2: 'Node' begins neither a matrix nor"),
        ("Nodes 16", "Nodes 16\nNodes 16", "line 3: Nodes is there twice"),
        (
            "Connections 6",
            "Connections 7",
            "line 3: 7 connections are said to follow, but there are 6",
        ),
        (
            "Connections 6",
            "Connections 5",
            "5 connections are said to follow, but line 15 has another",
        ),
        ("Connections 6\n", "", "Connections is missing"),
        ("Triggers 3\n", "", "a trigger, but no line says Triggers"),
        ("Triggers 3", "Triggers 4", "4 triggers are said to follow, but there are 3"),
        ("Failures 1\n", "", "a failure, but no line says Failures"),
        ("size 2000000", "size \u0662", "size: '\\xd9\\xa2' is no whole number"),
        ("size 2000000", "size 0", "size 0 is a flow without end"),
        ("size 2000000", "", "line 15: the flow has no size"),
        ("size 2000000", "size", "line 15: size has no value"),
        ("size 2000000", "size 1 size 2", "line 15: size is there twice"),
        ("size 2000000", "sizes 1", "line 15: no connection has 'sizes'"),
        ("size 2000000", "size 1 addon 1", "a flow that a trigger makes longer"),
        ("size 2000000", "x" * (1 << 21), "line 15: the line has more than 1048576 octets"),
        ("12->2", "12->12", "node 12 sends to itself"),
        ("12->2", "12->2->3", "'12->2->3' is no connection"),
        ("12->2", "12->-2", "node: '-2' is no whole number"),
        ("12->2 start 2500000", "12->2", "neither start nor trigger"),
        ("12->2 start 2500000", "12->2 start 1 trigger 3", "both start and trigger"),
        ("12->2 start 2500000", "12->2 start 1e99", "start: '1e99' is later than"),
        ("12->2 start 2500000", "12->2 start nan", "start: 'nan' is no number"),
        (
            "12->2 start 2500000",
            "12->2 start 1e9",
            "line 15: the flow starts at 1 ms, and the run lasts 1 ms",
        ),
        ("9->1 id 4", "9->1 id 3", "line 13: id 3 is there already, in line 12"),
        ("trigger id 1 oneshot", "trigger id 9 oneshot", "line 10: no line has trigger 1"),
        ("trigger id 1 oneshot", "trigger id 2 oneshot", "trigger 2 is there already, in line 7"),
        ("trigger id 1 oneshot", "trigger id 1 oneshot barrier", "it is oneshot already"),
        ("trigger id 1 oneshot", "trigger id 1", "the trigger has no kind"),
        ("trigger id 1 oneshot", "trigger oneshot", "the trigger has no id"),
        ("trigger id 1 oneshot", "trigger id 1 oneshot count 1", "a barrier has a count"),
        ("trigger id 1 oneshot", "trigger id 1 twice", "no trigger has 'twice'"),
        ("barrier count 2", "barrier count 3", "trigger 3 waits for 3, and 2 fire it"),
        ("barrier count 2", "oneshot", "trigger 3 is fired 2 times: it fires once there"),
        ("barrier count 2", "multishot", "here a flow starts once"),
        ("recv_done_trigger 1", "", "no flow fires trigger 1"),
        (
            "trigger 3 size",
            "trigger 2 size",
            "the flow in line 12, of which its host 1 knows nothing",
        ),
        ("AGG", "TOR", "only uplinks of AGG can fail"),
        ("AGG", "agg", "switch_type 'agg': there are TOR, AGG and CORE"),
        ("switch_id 0", "switch_id 1", "link 0 of aggregation switch 1 goes to core 2"),
        ("link_id 0", "link_id", "it is failure switch_type AGG"),
    ),
    "tree.topo": (
        ("Nodes 16", "Nodes 15", "15 is no multiple of 4"),
        ("Nodes 16\n", "", "Nodes is missing"),
        ("Nodes 16", "Nodes sixteen", "nodes: 'sixteen' is no whole number"),
        ("Tiers 3", "Tiers 4", "Tiers is 4: a tree has 2 or 3"),
        ("Tiers 3", "Tiers 2", "tier 2 is there, but Tiers is 2"),
        ("Podsize 4", "Podsize 0", "Podsize is missing"),
        ("Tier 2", "Tier 3", "tier: 3 is not from 0 to 2"),
        ("Tier 2", "Tier 1", "tier 1 is there twice"),
        ("Radix_Up 2", "Radix_Up 1", "Radix_Up of tier 0 is 1, but 2 follows"),
        ("Radix_Up 2", "Radix_Upp 2", "did you mean radix_up?"),
        ("Radix_Up 2", "Radix_Up 2\nBundle 2", "a host has one link"),
        ("Radix_Down 4", "Radix_Down 3", "16 is no multiple of 3"),
        ("Radix_Down 4", "Radix_Up 4\nRadix_Down 4", "the highest tier has no uplinks"),
        ("Radix_Down 4\n", "", "radix_down of tier 2 is missing"),
        ("Queue_Down 2000000", "Queue_Down", "1 word: a line is a key and its number"),
        ("Queue_Down 2000000", "Queue_Down 1\nQueue_Down 1", "queue_down is there twice"),
    ),
}


@pytest.mark.parametrize(
    ("file", "before", "after", "told"),
    [(file, *each) for file, cases in HOSTILE.items() for each in cases],
)
def test_hostile_files_end_in_one_line(
    here: CommandLine, file: str, before: str, after: str, told: str
) -> None:
    change(here.folder / file, before, after)
    assert told in refused(here)


def test_a_circle_of_triggers_is_refused(here: CommandLine) -> None:
    change(here.folder / "ring.cm", "start 1000000", "trigger 2")
    change(here.folder / "ring.cm", "5->9", "9->5")
    change(here.folder / "ring.cm", "9->1 id 4", "5->9 id 4")
    change(here.folder / "ring.cm", "recv_done_trigger 3", "send_done_trigger 2")
    change(here.folder / "ring.cm", "65536 recv_done_trigger 2", "65536")
    change(here.folder / "ring.cm", "barrier count 2", "oneshot")
    assert "waits for itself" in refused(here)


def test_options_that_cannot_be(here: CommandLine) -> None:
    assert "name its .topo file" in refused(here, "ring.cm", *STAR)
    assert "both a matrix" in refused(here, "ring.cm", "pairs.cm", *STAR)
    assert "no connection matrix" in refused(here, "tree.topo", *STAR)
    assert "are the topology's" in refused(here, "ring.cm", "tree.topo", *STAR)
    assert "says no network" in refused(here, "pairs.cm", *STAR[:4])
    assert "--mtu: 1 is not" in refused(here, *WORDS, "--mtu", "1")
    assert "longer than 0 s" in refused(here, *WORDS[:-1], "0 s")
    (here.folder / "own.cm").write_text("")
    assert refused(here, "own.cm", *STAR) == "own.cm: the file is empty"


def test_a_tree_with_too_many_links_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "large.topo"
    change_ = {"Nodes 12": "Nodes 100000", "Podsize 6": "Podsize 100000", "tiers 3": "tiers 2"}
    text = TREE[: TREE.index("Tier 2")].replace("Radix_Up 4\n", "")
    for before, after in {
        **change_,
        "Radix_Down 3": "Radix_Down 1",
        "Radix_Up 2": "Radix_Up 50000",
    }.items():
        text = text.replace(before, after)
    text = text.replace("Oversubscribed 3\n", "").replace("_Gbps 50", "_Gbps 1")
    file.write_text(
        text.replace("Radix_Down 2", "Radix_Down 100").replace("Radix_Up 50000", "Radix_Up 100000")
    )
    with pytest.raises(FormatError, match="are more than"):
        topology.read(file)


OWN = """title = "own"
duration = "1 ms"
[topology]
kind = "graph"
[[link]]
from = "{}"
to = "s"
rate = "1 Gb/s"
delay = "1 us"
[[traffic]]
arrivals = "list"
transport = "roce"
frame = "1086 B"
headers = "62 B"
flows = '''
{}
'''
[scheme]
name = "none"
"""


@pytest.mark.parametrize("seed", range(6))
def test_export_and_import_undo_each_other(here: CommandLine, seed: int) -> None:
    draw = random.Random(seed)
    hosts, rows = 5, list[list[Any]]()
    for _ in range(12):
        source, target = draw.sample(range(hosts), 2)
        befores = [
            other + 1
            for other, (a, b, *_) in enumerate(rows)
            if source in (a, b) and not rows[other][4]
        ]
        after = draw.sample(befores, min(len(befores), draw.choice((0, 1, 2))))
        for other in after:
            rows[other - 1][4] = True
        start = 0 if after else draw.randrange(10**8)
        rows.append([source, target, draw.randrange(1, 10**6), start, False, after])
    lines = [
        f"host{a},host{b},{size} B,{start} ps,,{number},{' '.join(map(str, after))}"
        for number, (a, b, size, start, _, after) in enumerate(rows, 1)
    ]
    text = "\n".join(["from,to,size,start,class,id,after", *lines])
    (here.folder / "own.toml").write_text(OWN.format("host{0..4}", text))
    done = here("export", "htsim", "own.toml", "-o", "files")
    assert done.returncode == 0, done.stderr
    imported(here, "files/flows.cm", *STAR)
    got = [_row(each) for each in listed(here)]
    assert got == [
        (f"host{a}", f"host{b}", size, start, set(after)) for a, b, size, start, _, after in rows
    ]


def _row(text: str) -> tuple[str, str, int, int, set[int]]:
    source, target, size, start, _, _, after = text.split(",")
    scale = {"ps": 1, "ns": 10**3, "us": 10**6, "ms": 10**9, "s": 10**12}
    number, unit = start.split()
    waits = {int(each) for each in after.split()}
    return source, target, int(size.split()[0]), int(number) * scale[unit], waits


def test_what_triggers_cannot_say_is_told(here: CommandLine) -> None:
    rows = [
        "a,b,1 B,0 s,,1,",
        "b,c,1 B,1 us,,2,1",
        "b,a,1 B,0 s,,3,1",
        "c,a,1 B,0 s,,4,2",
        "b,c,1 B,0 s,,5,1 3",
    ]
    text = "\n".join(["from,to,size,start,class,id,after", *rows])
    (here.folder / "own.toml").write_text(OWN.format("a, b, c", text))
    done = here("export", "htsim", "own.toml", "-o", "files", "--json")
    assert done.returncode == 0, done.stderr
    lost = [entry["what"] for entry in json.loads(done.stdout)["not_modelled"]]
    assert lost[:3] == [
        "1 flow waiting and starting later still",
        "1 flow waiting for part of what others wait for",
        "1 flow waiting for one of these",
    ]
    assert (here.folder / "files/flows.cm").read_text().splitlines() == [
        "Nodes 3",
        "Connections 2",
        "Triggers 1",
        "trigger id 1 oneshot",
        "0->1 id 1 start 0 size 1 recv_done_trigger 1",
        "1->0 id 3 trigger 1 size 1",
    ]
    assert here("export", "htsim", "star-incast-64-100g", "-o", "other").returncode == 2


def test_no_octets_make_a_reader_fail_otherwise(tmp_path: Path) -> None:
    draw, file = random.Random(3), tmp_path / "file"
    words = [
        b"Nodes",
        b"Connections",
        b"Triggers",
        b"trigger",
        b"id",
        b"1",
        b"2",
        b"0->1",
        b"start",
    ]
    words += [
        b"size",
        b"oneshot",
        b"Tier",
        b"Tiers",
        b"Podsize",
        b"Radix_Down",
        b"\xff",
        b"\n",
        b"\n",
        b"\n",
    ]
    refusals = 0
    for _ in range(500):
        file.write_bytes(b"Nodes 2\n" + b" ".join(draw.choices(words, k=draw.randint(0, 14))))
        for reader in (topology.read, lambda path: list(read(Matrix(path, 1)))):
            try:
                reader(file)
            except FormatError as error:
                refusals += 1
                assert "\n" not in str(error)
    assert refusals > 500


def test_the_guide_is_as_it_says(here: CommandLine) -> None:
    blocks = re.findall(r"```sh\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    assert len(lines) >= 5
    for line in lines:
        program, *words = shlex.split(line)
        assert program == "qcnlab"
        done = here(*words)
        assert done.returncode == 0, f"{line}\n{done.stderr}"


def exported(here: CommandLine, *words: str) -> list[str]:
    """Return what an export did not model."""
    done = here("export", "htsim", *words, "--json")
    assert done.returncode == 0, done.stderr
    return [f"{each['what']}: {each['why']}" for each in json.loads(done.stdout)["not_modelled"]]


def drawn_tree(seed: int) -> str:
    """Return a topology file whose numbers make a tree, drawn by a seed."""
    dice = random.Random(seed)
    tiers, down, spread = dice.choice([2, 3]), dice.choice([1, 2, 4]), dice.choice([1, 2])
    aggregations, racks, pods = dice.choice([1, 2]), dice.choice([2, 3]), dice.choice([2, 3])
    pods = pods if tiers == 3 else 1
    cores = dice.choice([1, 2])
    rate, higher = dice.choice([100, 400]), dice.choice([1, 2])
    # Racks send up what comes from below by `spread`, and so do pods.
    middle = down * rate * dice.choice([1, 2]) // spread * spread
    over = dice.choice([1, 2])
    lines = [
        f"Nodes {pods * racks * down}", f"Tiers {tiers}", f"Podsize {racks * down}", "Tier 0",
        f"Downlink_speed_Gbps {aggregations * middle * over}", f"Radix_Down {down}",
        f"Radix_Up {aggregations}", f"Oversubscribed {down * over}", "Downlink_Latency_ns 500",
        "Switch_Latency_ns 40", "Tier 1", f"Downlink_speed_Gbps {middle}",
        f"Radix_Down {racks}", "Downlink_Latency_ns 700",
        f"Switch_Latency_ns {dice.choice([0, 300])}",
    ]  # fmt: skip
    if tiers == 3:
        lines += [f"Radix_Up {cores}", f"Oversubscribed {racks * higher}", "Tier 2",
                  f"Radix_Down {pods}", "Downlink_Latency_ns 1000"]  # fmt: skip
        lines[4] = f"Downlink_speed_Gbps {aggregations * middle * over * cores * higher}"
        lines[11] = f"Downlink_speed_Gbps {middle * cores * higher}"
        lines.append(f"Downlink_speed_Gbps {middle}")
    return "\n".join([*lines, ""])


@pytest.mark.parametrize("seed", range(8))
def test_a_tree_is_the_same_again(here: CommandLine, seed: int) -> None:
    (here.folder / "own.topo").write_text(drawn_tree(seed), encoding="ascii")
    first = topology.read(here.folder / "own.topo")
    (here.folder / "own.cm").write_text(
        f"Nodes {first.hosts}\nConnections 1\n0->{first.hosts - 1} id 1 start 0 size 1000\n"
    )
    imported(here, "own.cm", "own.topo", "--times", "ps", "--duration", "1 ms")
    assert not any("no .topo" in each for each in exported(here, "made.toml", "-o", "files"))
    second = topology.read(here.folder / "files/tree.topo")
    assert (second.hosts, second.pods, second.racks) == (first.hosts, first.pods, first.racks)
    assert (second.aggregations, second.cores) == (first.aggregations, first.cores)
    assert second.tiers == first.tiers


def test_a_leaf_spine_is_a_tree_of_two_tiers(here: CommandLine) -> None:
    exported(here, "ring-all-reduce-8-hosts-100g", "-o", "files")
    told = topology.read(here.folder / "files/tree.topo")
    assert (told.hosts, told.racks, told.aggregations, told.cores) == (8, 2, 2, 0)
    assert [(tier.rate, tier.delay) for tier in told.tiers] == [(10**11, 10**6)] * 2
    # Four hosts of 100 Gb/s below two uplinks of 100 Gb/s.
    assert told.tiers[0].oversubscribed == 2
    nodes = (here.folder / "files/nodes.csv").read_text().splitlines()
    assert nodes[1:3] == ["0,host1", "1,host2"]
    matrix = (here.folder / "files/flows.cm").read_text()
    assert matrix.startswith("Nodes 8\n")
    imported(here, "files/flows.cm", "files/tree.topo", "--times", "ps", "--duration", "5 ms")


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        (("topology.trunk_rate=400 Gb/s",), "uplinks of racks carry no whole part"),
        (("topology.delay=1500 ps",), "a rate is no whole number of Gb/s, or a delay none of ns"),
    ],
)
def test_what_is_no_tree_is_told(here: CommandLine, changes: tuple[str, ...], why: str) -> None:
    scenario = qcnlab.load("ring-all-reduce-8-hosts-100g").with_(*changes)
    (here.folder / "own.toml").write_text(scenario.to_toml(), encoding="utf-8")
    lost = exported(here, "own.toml", "-o", "files")
    assert any("no .topo is written" in each and why in each for each in lost), lost
    assert not (here.folder / "files/tree.topo").exists()
    assert (here.folder / "files/flows.cm").exists()
