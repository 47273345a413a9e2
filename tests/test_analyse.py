"""`qcnlab analyse`: a scenario's models beside its packets."""

from __future__ import annotations

import json
from functools import partial

import pytest

import qcnlab
from conftest import CommandLine
from qcnlab.analysis import Dcqcn, Qcn, boundary, command, overlay
from qcnlab.analysis.place import Place, find

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
        "hotspot: 2 sources, 0.5 Gb/s, RTT 200 us",
        "outside the hotspot: 2 sources, 10 Gb/s, RTT 200 us",
        "Qeq 33 KB, w 2, sampling 1 %",
        "rests at 33 KB, 5 Gb/s each",
        "critical RTT at N =",
        "Not in the model: jitter",
    ):
        assert words in done.stdout
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
    found = dict(zip(row["sources"], row["as_published_s"], strict=True))
    assert found[10] == pytest.approx(published)


def test_the_fluid_settles_where_the_packets_do(steady: qcnlab.Scenario) -> None:
    numbers = overlay(steady, seed=3).comparison()
    assert numbers["fluid_queue_mean_bytes"] == pytest.approx(33e3, rel=0.01)
    assert numbers["packets_queue_mean_bytes"] == pytest.approx(33e3, rel=0.15)


def test_a_chain_with_one_hotspot_is_a_bottleneck() -> None:
    chain = qcnlab.load("one-source-two-switches-10g-to-1g")
    short = chain.with_({"hotspot.0.until": "0.9 s", "duration": "1 s"})
    found = overlay(short, shown_s=0.4)
    (verdict,) = found.verdicts
    assert verdict.phase.capacity_bps == 1e9
    assert verdict.model.sources == 1
    # Two cables of 0.5 us, 312 B at 10 Gb/s, 300 ns in the first switch.
    assert verdict.model.delay_s == pytest.approx(1e-6 + 249.6e-9 + 300e-9)
    assert all(margins.stable for margins in verdict.loops.values())
    numbers = found.comparison()
    for name in ("fluid", "packets"):
        assert numbers[f"{name}_queue_mean_bytes"] == pytest.approx(33e3, rel=0.1)
    with pytest.raises(qcnlab.AnalysisError, match="a sweep changes RTT and sources of a star"):
        boundary(short)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"traffic.0.to": "host*"}, "named flow by flow"),
        ({"hotspot.0.port": "switch2->host2"}, "hotspots at one trunk"),
        ({"topology.trunk_rate": "5 Gb/s"}, "may congest more than the hotspot"),
    ],
)
def test_other_chains_are_refused(change: dict[str, str], words: str) -> None:
    chain = qcnlab.load("one-source-two-switches-10g-to-1g").with_(change)
    with pytest.raises(qcnlab.AnalysisError, match=words):
        overlay(chain)


def test_flows_that_pass_a_hotspot_by_are_refused() -> None:
    tree = qcnlab.load("one-source-two-switches-10g-to-1g").to_dict()
    tree["traffic"].append({**tree["traffic"][0], "from": "host2", "to": "host1"})
    assert find(tree) == "not all flows cross switch1->switch2 from one switch"


def test_the_loop_delay_of_a_longer_chain() -> None:
    tree = qcnlab.load("one-source-two-switches-10g-to-1g").to_dict()
    tree["topology"] |= {"switches": 4, "hosts": 2}
    tree["hotspot"][0]["port"] = "switch3->switch4"
    flow = {**tree["traffic"][0], "rate": "5 Gb/s", "to": "host7"}
    tree["traffic"] = [{**flow, "from": name} for name in ("host1", "host2")]
    place = find(tree)
    assert isinstance(place, Place)
    assert (place.port, place.sources, place.rate_bps) == ("switch3->switch4", 2, 10e9)
    # Three cables of 0.5 us twice, three times 312 B at 10 Gb/s, five times 300 ns.
    assert place.rtt_s == pytest.approx(3e-6 + 748.8e-9 + 1.5e-6)


def test_dcqcn_beside_its_fluid() -> None:
    dcqcn = {"scheme.name": "dcqcn", "scheme.preset": "SIGCOMM2015", "scheme.cp.p_max": 0.1}
    changes = {"topology.buffer": "500 KB", "topology.rtt": "10 us", "topology.sources": 10}
    base = qcnlab.load("one-source-into-9g-rtt200us")
    run = {"duration": "0.4 s", "warmup": "0.1 s"}
    found = overlay(base.with_({**dcqcn, **changes, **run}))
    (verdict,) = found.verdicts
    assert verdict.loops["as published"].stable
    rest = Dcqcn(sources=10, capacity_bps=9e9, delay_s=10e-6, frame_bytes=1500, p_max=0.1)
    assert verdict.model.parameters() == pytest.approx(rest.parameters())
    queue = rest.fixed_point().queue_bytes
    assert verdict.equilibrium["queue_bytes"] == pytest.approx(queue)
    numbers = found.comparison()
    assert numbers["fluid_queue_mean_bytes"] == pytest.approx(queue, rel=0.01)
    assert numbers["packets_queue_mean_bytes"] == pytest.approx(queue, rel=0.15)
    assert found.plot().axes
    assert "marking 5 to 200 KB" in command._overlay_text(found)


def test_both_views_of_ecm_swing_at_a_long_loop() -> None:
    ecm = {"scheme.name": "ecm", "scheme.preset": "DECK001", "duration": "0.3 s", "warmup": "0.1 s"}
    base = qcnlab.load("one-source-into-9g-rtt200us")
    found = overlay(base.with_(ecm))
    (verdict,) = found.verdicts
    assert not any(margins.stable for margins in verdict.loops.values())
    numbers = found.comparison()
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
        (("traffic.0.max_rate=100 Mb/s",), "no equilibrium: 2 sources send at most 0.2 Gb/s"),
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
