"""`qcnlab analyse`: a scenario's models beside its packets."""

from __future__ import annotations

import json
import re
from functools import partial
from typing import Any

import pytest

import qcnlab
from conftest import CommandLine
from qcnlab.analysis import Dcqcn, Qcn, boundary, command, modelled, overlay

LONG_LOOP = "og-hotspot-2src-10g-to-500m-rtt200us"
CHANGES = (
    "warmup=0.1 s",
    "hotspot.0.from=0.2 s",
    "hotspot.0.until=0.4 s",
    "duration=0.6 s",
)
FLAGS = tuple(word for change in CHANGES for word in ("-s", change))


@pytest.fixture(scope="module")
def steady() -> qcnlab.Scenario:

    return qcnlab.load(LONG_LOOP).with_(*CHANGES)


def test_analyse_prints_what_it_derived_and_writes_a_folder(cli: CommandLine) -> None:
    done = cli("analyse", LONG_LOOP, *FLAGS)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    for words in (
        "scheme qcn, bottleneck switch->sink",
        "hotspot: 2 sources, 0.5 Gb/s, RTT 200 us",
        "outside the hotspot: 2 sources, 10 Gb/s, RTT 200 us",
        "Qeq 33 KB, w 2, sampling 1 %",
        "rests at 33 KB, 5 Gb/s each",
        "critical RTT at N =",
        "Not in the model: jitter",
    ):
        assert words in done.stdout
    # The delay margin is what the RTT of 200 us lacks of the critical one, and there are two loops
    # of two phases each.
    rows = re.findall(r"  yes .* ([\d.]+ [um]s) +([\d.]+ [um]s)$", done.stdout, re.MULTILINE)
    us = [[float(cell[:-2]) * {"u": 1, "m": 1000}[cell[-2]] for cell in row] for row in rows]
    margins, criticals = zip(*us, strict=True)
    assert len(margins) == 4
    assert [margin + 200 for margin in margins] == pytest.approx(criticals, rel=1e-3)
    folder = cli.folder / done.stdout.splitlines()[-1]
    written = sorted(path.name for path in folder.iterdir())
    assert written == ["analysis.json", "config.toml", "overlay.png", "overlay.svg"]
    drawn = (folder / "overlay.svg").read_text(encoding="utf-8")
    for words in ("queue (KB)", "rates of all sources (Gb/s)", "packets", "fluid model"):
        assert words in drawn


def test_json_is_the_written_summary(cli: CommandLine) -> None:
    done = cli("analyse", LONG_LOOP, *FLAGS, "--json", "-o", "out")
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout)
    assert printed.pop("folder") == "out"
    assert printed == json.loads((cli.folder / "out" / "analysis.json").read_bytes())
    free = next(each for each in printed["phases"] if each["name"] == "outside the hotspot")
    # The cut for a byte of feedback: 63 levels of 1/128 over (1 + 2 w) 33 KB.
    assert free["parameters"]["gain_per_byte"] == pytest.approx(63 / 128 / 165e3)
    published = Qcn(sources=10, gain_per_byte=63 / 128 / 165e3).critical_delay()
    row = free["critical_rtt"]
    result = dict(zip(row["sources"], row["as_published_s"], strict=True))
    assert result[10] == pytest.approx(published)


def test_the_fluid_settles_where_the_packets_do(steady: qcnlab.Scenario) -> None:
    answer = overlay(steady, seed=3)
    # The hotspot lasts as long as what is drawn: from 0.2 to 0.4 s, in 4000 steps.
    time = answer.fluid["time_s"]
    assert (time[0], time[-1], len(time)) == (pytest.approx(0.2), pytest.approx(0.4), 4001)
    assert answer.packets["time_s"].min() >= 0.2
    assert answer.packets["time_s"].max() <= 0.4
    numbers = answer.comparison()
    assert numbers["fluid_queue_mean_bytes"] == pytest.approx(33e3, rel=0.01)
    assert numbers["packets_queue_mean_bytes"] == pytest.approx(33e3, rel=0.15)


def test_a_chain_with_one_hotspot_is_a_bottleneck() -> None:
    chain = qcnlab.load("one-source-two-switches-10g-to-1g")
    short = chain.with_({"hotspot.0.until": "0.9 s", "duration": "1 s"})
    result = overlay(short, shown_s=0.4)
    (verdict,) = result.verdicts
    assert verdict.phase.capacity_bps == 1e9
    assert verdict.model.sources == 1
    # Two cables of 0.5 us, 312 B at 10 Gb/s, 300 ns in the first switch.
    assert verdict.model.delay_s == pytest.approx(1e-6 + 249.6e-9 + 300e-9)
    assert all(margins.stable for margins in verdict.loops.values())
    numbers = result.comparison()
    for name in ("fluid", "packets"):
        assert numbers[f"{name}_queue_mean_bytes"] == pytest.approx(33e3, rel=0.1)


def test_the_loop_delay_of_a_longer_chain() -> None:
    changes = {
        "topology.switches": 4,
        "topology.hosts": 2,
        "hotspot.0.port": "switch3->switch4",
        "traffic.0.from": "host{1..2}",
        "traffic.0.to": "host7",
        "traffic.0.rate": "5 Gb/s",
    }
    known = modelled.read(qcnlab.load("one-source-two-switches-10g-to-1g").with_(changes))
    model = known.model(known.congested())
    assert (known.bottleneck.port, model.sources) == ("switch3->switch4", 2)
    assert known.bottleneck.rate_bps == 10e9
    # Three cables of 0.5 us twice, three times 312 B at 10 Gb/s, five times 300 ns.
    assert model.delay_s == pytest.approx(3e-6 + 748.8e-9 + 1.5e-6)


def fabric(topology: dict[str, Any], traffic: dict[str, Any]) -> qcnlab.Scenario:
    """Make a fabric under QCN's byte counter whose traffic is saturated unless it says more."""
    tree = {
        "title": "fabric",
        "duration": "0.2 s",
        "warmup": "0.1 s",
        "topology": topology,
        "switch": {"output_buffer": "150 KB"},
        "traffic": [{"arrivals": "saturated", "frame": "1500 B", **traffic}],
        "scheme": {"name": "qcn_byte_counter", "preset": "DECK001"},
    }
    return qcnlab.Scenario.from_dict(tree, "fabric")


FAT_TREE = {"kind": "fat_tree", "k": 4, "rate": "10 Gb/s", "delay": "1 us"}
LEAF_SPINE = {
    "kind": "leaf_spine",
    "leaves": 2,
    "spines": 1,
    "hosts": 4,
    "rate": "10 Gb/s",
    "delay": "1 us",
    "trunk_rate": "25 Gb/s",
    "trunk_delay": "5 us",
}
PAIRS = {"from": "host{1..4}", "to": "host{5..8}", "spread": "paired"}
INCAST = {"from": "host{2..9}", "to": "host1"}


def test_an_incast_in_a_fat_tree_beside_its_fluid() -> None:
    result = overlay(fabric(FAT_TREE, INCAST))
    (verdict,) = result.verdicts
    # A link takes 1 us there, 1 us back and 1.2 us for a frame; one, three twice, five five times.
    rtts = result.scenario.contenders(verdict.phase).loop_delay_s
    assert (rtts.min, rtts.max) == pytest.approx((3.2e-6, 16e-6))
    assert verdict.model.sources == 8
    assert verdict.model.delay_s == pytest.approx(12.8e-6)
    numbers = result.comparison()
    assert numbers["packets_queue_mean_bytes"] == pytest.approx(33e3, rel=0.1)
    assert numbers["fluid_queue_mean_bytes"] == pytest.approx(33e3, rel=0.1)
    assert result.packet_rates["rate_bps"].mean() == pytest.approx(10e9, rel=0.01)
    words = command._overlay_text(result)
    assert "bottleneck pod1-edge1->host1\n" in words
    assert "8 sources, 10 Gb/s, RTT 12.8 us (3.2 us to 16 us)" in words
    unequal = "unequal RTTs (3.2 us to 16 us; the model takes their mean)"
    assert unequal in result.scenario.left_out()
    upper, lower = result.plot().axes
    assert "mean RTT 12.8 us" in upper.get_title("left")
    legend = lower.get_legend()
    assert legend is not None
    assert "pod1-edge1->host1 10 Gb/s" in [entry.get_text() for entry in legend.get_texts()]


def test_poisson_sources_fill_a_trunk_of_a_leaf_spine() -> None:
    poisson = fabric(LEAF_SPINE, {**PAIRS, "arrivals": "poisson", "rate": "8 Gb/s"})
    result = overlay(poisson, shown_s=0.05)
    (verdict,) = result.verdicts
    assert result.scenario.bottleneck.port == "leaf1->spine1"
    assert (verdict.model.sources, verdict.model.capacity_bps) == (4, 25e9)
    assert "arrivals at random" in result.scenario.left_out()
    numbers = result.comparison()
    for name in ("packets", "fluid"):
        assert numbers[f"{name}_queue_mean_bytes"] == pytest.approx(33e3, rel=0.15)


def test_a_graph_whose_victim_passes_by() -> None:
    graph = qcnlab.load("ig-4-culprits-1-victim-150kb-rtt5us")
    result = overlay(graph.with_({"duration": "0.4 s"}), shown_s=0.1)
    (verdict,) = result.verdicts
    # Two links of 2.5 us there and back, 1.2 us for a frame on each.
    assert verdict.model.sources == 4
    assert verdict.model.delay_s == pytest.approx(12.4e-6)
    # The rates are those of the culprits alone.
    assert result.packet_rates["rate_bps"].mean() == pytest.approx(10e9, rel=0.01)
    numbers = result.comparison()
    for name in ("packets", "fluid"):
        assert numbers[f"{name}_queue_mean_bytes"] == pytest.approx(37.5e3, rel=0.1)


def test_what_takes_a_part_is_off_the_link() -> None:
    tree = fabric(FAT_TREE, INCAST).to_dict()
    few = {"arrivals": "constant", "from": "host10", "to": "host1", "frame": "500 B"}
    tree["traffic"] += [
        {**few, "rate": "0.4 Gb/s"},
        {**few, "from": "host11", "rate": "1.5 Gb/s", "controlled": False},
        {**few, "from": "host12", "rate": "9 Gb/s"},
    ]
    known = modelled.read(qcnlab.Scenario.from_dict(tree))
    model = known.model(known.congested())
    # Nine sources share 10 - 0.4 - 1.5 Gb/s; a ninth of their octets goes in frames of 500 B.
    assert (model.sources, model.capacity_bps) == (9, 8.1e9)
    assert model.frame_bytes == pytest.approx(9 / (8 / 1500 + 1 / 500))
    words = known.left_out()
    assert "frames of several sizes (500 to 1500 B; the model takes the mean, 1227 B)" in words
    assert "unequal offers (9 to 10 Gb/s; the model takes their mean)" in words
    taken = "whose {} Gb/s are taken off the link"
    light, free = "less than half its fair share", "what no reaction point slows"
    assert f"samples of 1 flow of {light}, {taken.format(0.4)}" in words
    assert f"samples of 1 flow of {free}, {taken.format(1.5)}" in words


def test_what_the_fabric_has_and_the_model_has_not_is_said() -> None:
    tcp = modelled.read(qcnlab.load("tcp-9-senders-qcn-and-pause-rtt25us")).left_out()
    assert "PAUSE" in tcp
    assert "TCP's window: sources are taken to send what their limiters allow" in tcp
    bursty = modelled.read(qcnlab.load("benchmark-5-bursty-10ms")).left_out()
    assert "bursts: sources are taken to send their mean rate" in bursty
    spray = fabric(FAT_TREE, INCAST).with_("routing.multipath=frame")
    assert "frames that overtake each other on several ways" in modelled.read(spray).left_out()


@pytest.mark.parametrize(
    ("scenario", "words"),
    [
        (
            fabric(LEAF_SPINE, {**PAIRS, "arrivals": "constant", "rate": "5 Gb/s"}),
            "fabric: no single bottleneck: nothing is congested: leaf1->spine1, the fullest port, "
            "is offered 20 of 25 Gb/s; send more, or slow a port by a [[hotspot]]",
        ),
        (
            qcnlab.load("parking-lot-4-hot-2-cold-150kb-rtt10us"),
            "parking-lot-4-hot-2-cold-150kb-rtt10us: no single bottleneck: 2 ports are congested "
            "from 300 ms to 1 s: switch1->switch2 is offered 50 of 10 Gb/s, switch2->switch3 is "
            "offered 50 of 10 Gb/s; keep one, by more rate or less traffic at the others",
        ),
        (
            fabric(FAT_TREE, {**INCAST, "size": "1 MB"}),
            "fabric: no single bottleneck: flows of traffic.0 (arrivals saturated) have an end, so "
            "their number changes all the time; give traffic that goes on, such as arrivals "
            "saturated without size",
        ),
        (
            fabric(FAT_TREE, {**INCAST, "stop": "0.15 s"}),
            "fabric: no single bottleneck: the number of sources changes: host2->host1 sends from "
            "100 ms to 150 ms of the time from 100 ms to 200 ms; let it send all the time, or move "
            "warmup and duration",
        ),
        (
            fabric(FAT_TREE, INCAST).with_("scheme.rp.max_rate=1 Gb/s"),
            "fabric, whole run: no equilibrium: limiters let at most 8 Gb/s pass and "
            "pod1-edge1->host1 carries 10 Gb/s; raise scheme.rp.max_rate",
        ),
    ],
)
def test_fabrics_without_a_single_bottleneck_are_refused(
    scenario: qcnlab.Scenario, words: str
) -> None:
    with pytest.raises(qcnlab.AnalysisError) as refusal:
        overlay(scenario)
    assert str(refusal.value) == words


def test_dcqcn_beside_its_fluid() -> None:
    dcqcn = {"scheme.name": "dcqcn", "scheme.preset": "SIGCOMM2015", "scheme.cp.p_max": 0.1}
    changes = {"topology.buffer": "500 KB", "topology.rtt": "10 us", "topology.sources": 10}
    base = qcnlab.load("one-source-into-9g-rtt200us")
    run = {"duration": "0.4 s", "warmup": "0.1 s"}
    result = overlay(base.with_({**dcqcn, **changes, **run}))
    (verdict,) = result.verdicts
    assert verdict.loops["as published"].stable
    rest = Dcqcn(sources=10, capacity_bps=9e9, delay_s=20e-6, frame_bytes=1500, p_max=0.1)
    assert verdict.model.parameters() == pytest.approx(rest.parameters())
    queue = rest.equilibrium().queue_bytes
    assert verdict.equilibrium.queue_bytes == pytest.approx(queue)
    numbers = result.comparison()
    assert numbers["fluid_queue_mean_bytes"] == pytest.approx(queue, rel=0.01)
    assert numbers["packets_queue_mean_bytes"] == pytest.approx(queue, rel=0.15)
    assert result.plot().axes
    assert "marking 5 to 200 KB" in command._overlay_text(result)


def test_marks_of_dcqcn_go_on_to_the_receiver() -> None:
    star = qcnlab.load("one-source-into-9g-rtt200us").with_(
        {"scheme.name": "dcqcn", "topology.rtt": "10 us", "topology.sink_delay": "7 us"}
    )
    known = modelled.read(star)
    assert known.model(known.congested()).delay_s == pytest.approx(24e-6)


def test_both_views_of_ecm_swing_at_a_long_loop() -> None:
    ecm = {"scheme.name": "ecm", "scheme.preset": "DECK001", "duration": "0.3 s", "warmup": "0.1 s"}
    base = qcnlab.load("one-source-into-9g-rtt200us")
    result = overlay(base.with_(ecm))
    (verdict,) = result.verdicts
    assert not any(margins.stable for margins in verdict.loops.values())
    numbers = result.comparison()
    assert numbers["packets_queue_std_bytes"] > 8e3
    assert numbers["fluid_queue_std_bytes"] > 8e3
    short = overlay(base.with_({**ecm, "topology.rtt": "10 us"}))
    assert all(margins.stable for margins in short.verdicts[0].loops.values())
    assert short.comparison()["packets_queue_std_bytes"] < 4e3


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            ("scheme.name=fb99",),
            "scheme 'fb99' has no model here; qcn, qcn_byte_counter, ecm and dcqcn",
        ),
        (("scheme.name=none",), "scheme 'none' has no model here"),
        (("scheme.name=qcn_timer",), "scheme 'qcn_timer' has no model here"),
        (
            ("scheme.name=dcqcn", "scheme.preset=SIGCOMM2015", "topology.buffer=500 KB"),
            "DCQCN: no equilibrium: 2 sources need a marking probability of",
        ),
        (
            ("traffic.0.max_rate=100 Mb/s",),
            "switch->sink, the fullest port, is offered 0.2 of 0.5 Gb/s",
        ),
    ],
)
def test_what_no_model_describes_is_refused(
    cli: CommandLine, change: tuple[str, ...], words: str
) -> None:
    flags = [word for each in change for word in ("-s", each)]
    done = cli("analyse", LONG_LOOP, *flags, "-o", "out")
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stdout == ""
    assert cli.left() == []


def test_sweep_prints_the_edges_and_draws_them(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    coarse = partial(boundary, sources=(2, 5), rtts_s=(150e-6, 300e-6, 450e-6))
    monkeypatch.setattr(command, "boundary", coarse)
    done = cli("analyse", LONG_LOOP, "--sweep", "--reps", "1", "-o", "out")
    assert done.returncode == 0, done.stderr
    assert "linear theory" in done.stdout
    edges = json.loads((cli.folder / "out" / "analysis.json").read_bytes())["edges"]
    assert [each["sources"] for each in edges] == [2, 5]
    assert edges[0]["linear_s"] == pytest.approx(212e-6, rel=0.01)
    assert 300e-6 < edges[0]["packets_s"] < 450e-6
    assert edges[0]["packets"] == "turns unstable"
    drawn = (cli.folder / "out" / "boundary.svg").read_text(encoding="utf-8")
    for words in ("number of sources N", "RTT (us)", "packets: steady", "fluid with clamps, edge"):
        assert words in drawn


def test_reps_belong_to_a_sweep(cli: CommandLine) -> None:
    done = cli("analyse", LONG_LOOP, "--reps", "2")
    assert done.returncode == 2
    assert "--reps is for --sweep" in done.stderr
    assert cli.left() == []
