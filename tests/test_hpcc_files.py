"""Files of HPCC's simulator: read, refused, written, and read again."""

from __future__ import annotations

import csv
import json
import random
import re
import shlex
import shutil
import tomllib
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import qcnlab
from conftest import ROOT, CommandLine
from made_up_run import META, made_up_summary
from qcnlab import _core
from qcnlab.formats.hpcc import cdf, config, exporting, flows, importing, results, topology
from qcnlab.formats.hpcc.nodes import nodes
from qcnlab.formats.lines import LONGEST, FormatError
from qcnlab.formats.report import Report
from qcnlab.formats.scenarios import FLOWS_MARK
from qcnlab.runs.tables import Table

if TYPE_CHECKING:
    from pathlib import Path

EXAMPLE = ROOT / "examples/hpcc"
GUIDE = ROOT / "docs/guide/hpcc-files.md"
S = 10**12
"""A second, in ps."""


@pytest.fixture
def here(tmp_path: Path) -> CommandLine:
    shutil.copytree(EXAMPLE, tmp_path / "here")
    return CommandLine(tmp_path / "here")


def change(file: Path, before: str, after: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert before in text
    file.write_text(text.replace(before, after), encoding="utf-8")


def imported(here: CommandLine, *words: str) -> dict[str, Any]:
    """Import the example and return the report."""
    done = here("import", "hpcc", *(words or ("config.txt",)), "-o", "made.toml", "--json")
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def made(here: CommandLine) -> dict[str, Any]:
    return tomllib.loads((here.folder / "made.toml").read_text(encoding="utf-8"))


def refused(here: CommandLine, *words: str) -> str:
    """Return the one line that refuses an import, which must write nothing."""
    before = here.left()
    done = here("import", "hpcc", *(words or ("config.txt",)), "-o", "made.toml")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1 and len(done.stderr) < 400, done.stderr
    assert here.left() == before
    return done.stderr.removeprefix("error: ").rstrip("\n")


def test_the_example_becomes_a_scenario_that_runs(here: CommandLine) -> None:
    imported(here)
    scenario = qcnlab.load(here.folder / "made.toml")
    assert scenario.warnings() == []
    result = qcnlab.run(scenario, reps=1, progress=False)
    table = result.flows.to_polars()
    assert table["size_bytes"].to_list() == [1_500_000, 400, 64000, 30721, 1, *[500_000] * 4]
    assert table["finished_s"].null_count() == 0
    assert result.summary.ends[0].why == "drained"


def test_the_configuration_is_mapped_key_by_key(here: CommandLine) -> None:
    imported(here)
    said = made(here)
    assert said["scheme"] == {
        "name": "dcqcn",
        "preset": "HPCC_SIMULATOR",
        "rp": {
            "alpha_period": "1 us",
            "reduce_period": "4 us",
            "time_reset": "300 us",
            "g": 0.00390625,
            "threshold": 1,
            "clamp": "after_increase",
            "ai_rate": "20 Mb/s",
            "hai_rate": "200 Mb/s",
            "min_rate": "1 Gb/s",
            "steps_for": "none",
            "window": "none",
            "base_rtt_of": "network",
        },
        "cp": {"k_min": "1600 KB", "k_max": "6400 KB", "p_max": 0.2, "thresholds_for": "400 Gb/s"},
    }
    assert said["duration"] == "20 ms"
    assert said["shared_buffer"][0]["size"] == "32 MiB"
    assert said["pause"] == {"kind": "priority", "priorities": "3", "rule": "dynamic"}
    assert [entry["flows"] for entry in said["traffic"]] == ["made.port100.csv", "made.port200.csv"]
    assert {entry["frame"] for entry in said["traffic"]} == {"1048 B"}
    # As mode dcqcn of run.py has it: what the preset says, in other words.
    ours = qcnlab.load(here.folder / "made.toml")
    preset = ours.with_("scheme.rp.steps_for=100 Gb/s", "scheme.cp.thresholds_for=100 Gb/s")
    preset = preset.with_("scheme.cp.k_min=400 KB", "scheme.cp.k_max=1600 KB")
    bare = re.sub(r"^[rc]p\..*\n", "", (here.folder / "made.toml").read_text(), flags=re.MULTILINE)
    (here.folder / "bare.toml").write_text(bare)
    assert preset.to_toml() == qcnlab.load(here.folder / "bare.toml").to_toml()


def test_every_key_is_mapped_or_told(here: CommandLine) -> None:
    file = here.folder / "config.txt"
    with file.open("a") as text:
        text.write("RP_TIMR 3\nCONWEAVE_TX_EXPIRY_TIME 300\nRP_TIMER 300\n")
    report = imported(here)
    keys = {line.split()[0] for line in file.read_text().splitlines() if line}
    told = {entry["from"].split()[0] for entry in report["mapped"]}
    lost = {entry["what"].split()[0]: entry["why"] for entry in report["not_modelled"]}
    assert keys <= told | lost.keys()
    assert lost["RP_TIMR"] == "not known: the simulator passes over it; is it RP_TIMER?"
    assert lost["CONWEAVE_TX_EXPIRY_TIME"] == "no counterpart here"
    assert lost["U_TARGET"] == "counts with CC_MODE 3 and 10 alone"
    assert "RP_TIMER in line 19" in {entry["what"] for entry in report["not_modelled"]}


MODES: dict[str, tuple[str, dict[str, Any]]] = {
    "3": ("hpcc", {"eta": 0.95, "max_stage": 0, "ai_rate": "20 Mb/s", "window": "none"}),
    "7": ("timely", {"ai_rate": "20 Mb/s", "hai_rate": "200 Mb/s", "min_rate": "1 Gb/s"}),
    "8": ("dctcp", {"ai_rate": "1 Gb/s", "g": 0.00390625}),
    "10": ("hpcc_pint", {"eta": 0.95, "max_stage": 0, "ai_rate": "20 Mb/s", "sample": 1}),
    "12": ("none", {}),
}


@pytest.mark.parametrize("mode", MODES)
def test_each_mode_has_its_scheme(here: CommandLine, mode: str) -> None:
    change(here.folder / "config.txt", "CC_MODE 1", f"CC_MODE {mode}")
    report = imported(here)
    said = made(here)
    name, keys = MODES[mode]
    assert said["scheme"]["name"] == name
    assert {key: said["scheme"].get("rp", {})[key] for key in keys} == keys
    if mode == "3":
        assert said["scheme"]["cp"] == {"sent_unit": "512 B", "queue_unit": "320 B"}
    if mode == "10":
        assert "m_maxRtt of the network" in {entry["what"] for entry in report["not_modelled"]}
        change(here.folder / "config.txt", "PINT_LOG_BASE 1.05", "PINT_LOG_BASE 1.1")
        change(here.folder / "config.txt", "PINT_PROB 1.0", "PINT_PROB 0.0625")
        for name in ("made.toml", "made.port100.csv", "made.port200.csv"):
            (here.folder / name).unlink(missing_ok=True)
        told = {entry["what"] for entry in imported(here)["not_modelled"]}
        assert "PINT_LOG_BASE 1.1" in told and made(here)["scheme"]["rp"]["sample"] == 0.0625
    if mode == "12":
        assert "CC_MODE 12" in {entry["what"] for entry in report["not_modelled"]}
    assert here("check", "made.toml").returncode == 0


@pytest.mark.parametrize("share", ["0", "1.5"])
def test_a_share_of_acknowledgements_that_is_none_is_refused(here: CommandLine, share: str) -> None:
    change(here.folder / "config.txt", "CC_MODE 1", "CC_MODE 10")
    change(here.folder / "config.txt", "PINT_PROB 1.0", f"PINT_PROB {share}")
    assert f"PINT_PROB: {share} is no probability above 0" in refused(here)


@pytest.mark.parametrize(
    ("mode", "multipath"), [("0", "switch"), ("2", "drill"), ("3", "switch"), ("6", "flowlet")]
)
def test_load_balancing_has_its_multipath(here: CommandLine, mode: str, multipath: str) -> None:
    with (here.folder / "config.txt").open("a") as text:
        text.write(f"LB_MODE {mode}\n")
    report = imported(here)
    assert made(here)["routing"]["multipath"] == multipath
    lost = {entry["what"] for entry in report["not_modelled"]}
    assert ("LB_MODE 3" in lost) == (mode == "3")
    assert here("check", "made.toml").returncode == 0


def test_windows_links_that_go_down_and_unmarked_switches(here: CommandLine) -> None:
    file = here.folder / "config.txt"
    change(file, "HAS_WIN 0", "HAS_WIN 1")
    change(file, "VAR_WIN 0", "VAR_WIN 1")
    change(file, "GLOBAL_T 1", "GLOBAL_T 0")
    change(file, "LINK_DOWN 0 0 0", "LINK_DOWN 1500 8 9")
    change(file, "ENABLE_QCN 1", "ENABLE_QCN 0")
    imported(here)
    said = made(here)
    assert (said["scheme"]["rp"]["window"], said["scheme"]["rp"]["base_rtt_of"]) == (
        "scaled",
        "path",
    )
    assert said["failure"] == [{"link": "switch8->switch9", "from": "1500 us"}]
    assert said["switch"] == [{"congestion_points": False}]
    assert here("check", "made.toml").returncode == 0


def test_thresholds_that_no_rule_scales_are_tables(here: CommandLine) -> None:
    change(here.folder / "config.txt", "400000000000 6400", "400000000000 3200")
    imported(here)
    said = made(here)
    assert "cp" not in said["scheme"]
    assert said["wred"] == [
        {
            "ports": "switch8->switch9, switch9->switch8",
            "k_min": "1600 KB",
            "k_max": "3200 KB",
            "p_max": 0.2,
        },
        {"ports": "*", "k_min": "400 KB", "k_max": "1600 KB", "p_max": 0.2},
    ]
    assert here("check", "made.toml").returncode == 0


def test_keys_that_are_missing_have_the_simulators_defaults(here: CommandLine) -> None:
    change(here.folder / "config.txt", "BUFFER_SIZE 32\n", "")
    change(here.folder / "config.txt", "MIN_RATE 1000Mb/s\n", "")
    report = imported(here)
    assert made(here)["shared_buffer"][0]["size"] == "16 MiB"
    assert made(here)["scheme"]["rp"]["min_rate"] == "100 Mb/s"
    assert {
        "from": "BUFFER_SIZE is missing",
        "to": "16, the simulator's default",
    } in report["mapped"]
    change(here.folder / "config.txt", "RP_TIMER 300\n", "")
    (here.folder / "made.toml").unlink()
    assert refused(here).endswith(
        "RP_TIMER is missing: the simulator has no default for it; add a line"
    )


def test_what_cannot_be_said_is_told(here: CommandLine) -> None:
    folder = here.folder
    change(folder / "topology.txt", "8 9 400Gbps 1us 0.000000", "8 9 400Gbps 1us 0.001")
    change(folder / "topology.txt", "10 2 9", "12 2 9 4")
    with (folder / "topology.txt").open("a") as text:
        text.write("links above are made up\n")
    change(folder / "flow.txt", "2.000050001", "2.5")
    change(folder / "flow.txt", "6 1 3 100 400", "6 1 3 100 4294967296")
    change(folder / "config.txt", "USE_DYNAMIC_PFC_THRESHOLD 1", "USE_DYNAMIC_PFC_THRESHOLD 0")
    report = imported(here)
    lost = [entry["what"] for entry in report["not_modelled"]]
    for what in (
        "error rates of 1 link, up to 0.001",
        "nodes without a link: host{10..11}",
        "the fourth number of its first line, '4'",
        "line 12, behind the last link: 'links above are made up'",
        "1 flow from 2020 ms on, the end",
        "1 flow of 4294967296 octets and more",
        "USE_DYNAMIC_PFC_THRESHOLD 0",
    ):
        assert what in lost


def test_sizes_with_a_load(here: CommandLine) -> None:
    words = ("topology.txt", "sizes.txt", "--duration", "2 ms", "--arrivals", "1 ms")
    report = imported(here, *words, "--load", "0.25")
    said = made(here)
    assert said["traffic"][0]["load"] == 0.25
    assert (said["duration"], said["stop_arrivals"]) == ("2 ms", "1 ms")
    assert report["read"][1]["what"] == "sizes of flows, up to 100"
    scenario = qcnlab.load(here.folder / "made.toml")
    table = qcnlab.run(scenario, reps=1, progress=False).flows.to_polars()
    assert table["size_bytes"].max() <= 1_000_000  # type: ignore[operator]
    for load, why in (("0", "is not above 0"), ("nan", "is no number"), ("1.5", "at most 1")):
        (here.folder / "made.toml").unlink(missing_ok=True)
        assert why in refused(here, *words, "--load", load)
    assert "give --load" in refused(here, *words)
    change(here.folder / "sizes.txt", "100000 90.5", "100000 50")
    told = refused(here, *words, "--load", "0.5")
    assert told == "sizes.txt, line 4: octets and percent grow from line to line"


HOSTILE = {
    "topology.txt": (
        ("10 2 9", "", "two"),
        ("10 2 9", "10 2 10", "10 links are said to follow, but there are 9"),
        ("10 2 9", "10 2 8", "8 links are said to follow, but line 11 has another"),
        ("10 2 9", "999999999999999999 2 9", "is not from 0 to 65536"),
        ("10 2 9", "10 -2 9", "'-2' is no whole number"),
        ("10 2 9", "0 8 2880 1 2 H100", "SimAI"),
        ("8 9\n", "8 8\n", "switch 8 is there twice"),
        ("8 9\n", "8 99\n", "switch: 99 is not from 0 to 9"),
        ("0 8 100Gbps", "0 8 100GBps", "line 3: rate: '100GBps' is not a rate such as 100Gbps"),
        ("0 8 100Gbps", "0 8 0Gbps", "would send nothing"),
        ("0 8 100Gbps", "0 8 NaNGbps", "is not a rate"),
        ("0 8 100Gbps 1us", "0 8 100Gbps -1us", "delay: '-1us' is not a time such as 1us"),
        ("0 8 100Gbps 1us 0", "0 8 100Gbps 1us nan", "error rate: 'nan' is no number"),
        ("0 8 100Gbps 1us 0", "0 8 100Gbps 1us", "4 words: a link is <a> <b>"),
        ("0 8 100Gbps", "0 0 100Gbps", "line 3: node 0 has a link to itself"),
        ("1 8 100Gbps", "8 0 100Gbps", "line 4: nodes 8 and 0 have a link already, in line 3"),
        ("1 8 100Gbps", "0 9 100Gbps", "line 4: host 0 has a link already, in line 3"),
        ("1 8 100Gbps", "10 8 100Gbps", "line 4: node: 10 is not from 0 to 9"),
        ("1 8 100Gbps", "\u0661 8 100Gbps", "is no whole number"),
        ("8 9 400Gbps", "x" * (LONGEST + 1), "the line has more than 1048576 octets"),
    ),
    "flow.txt": (
        ("9\n", "10\n", "10 flows are said to follow, but there are 9: the file is cut off"),
        ("9\n", "8\n", "8 flows are said to follow, but line 10 has another"),
        ("9\n", "1000001\n", "a run can have 1000000 flows"),
        ("9\n", "99999999999999999999999\n", "is no whole number"),
        ("0 4 3 100 1500000 2.0", "0 4 3 100 1500000", "line 2: 5 words: a flow is <src>"),
        ("0 4 3 100 1500000 2.0", "0 4 3 100 -5 2.0", "line 2: octets: '-5' is no whole number"),
        ("0 4 3 100 1500000 2.0", "0 4 3 100 0 2.0", "octets: 0 is not from 1"),
        ("0 4 3 100 1500000 2.0", "0 4 3 100 1e6 2.0", "octets: '1e6' is no whole number"),
        ("0 4 3 100 1500000 2.0", "0 4 3 100 1500000 nan", "start: 'nan' is no number"),
        ("0 4 3 100 1500000 2.0", "0 4 3 100 1500000 inf", "start: 'inf' is no number"),
        ("0 4 3 100 1500000 2.0", "0 4 3 100 1500000 -2", "start: '-2' is no number"),
        ("0 4 3 100 1500000 2.0", "0 4 3 100 1500000 1.5", "give --origin"),
        ("0 4 3 100 1500000 2.0", "0 4 8 100 1500000 2.0", "priority: 8 is not from 1 to 7"),
        ("0 4 3 100 1500000 2.0", "0 4 0 100 1500000 2.0", "priority 0 is for control frames"),
        ("0 4 3 100 1500000 2.0", "0 4 3 99999 1 2.0", "destination port: 99999 is not from"),
        ("0 4 3 100 1500000 2.0", "0 8 3 100 1500000 2.0", "node 8 is a switch"),
        ("0 4 3 100 1500000 2.0", "0 44 3 100 1500000 2.0", "the topology has nodes 0 to 9"),
        ("0 4 3 100 1500000 2.0", "4 4 3 100 1500000 2.0", "host 4 sends to itself"),
        ("0 4 3 100 1500000 2.0", "\u0661 4 3 100 1 2.0", "src: '\\xd9\\xa1' is no whole"),
    ),
    "config.txt": (
        ("CC_MODE 1", "CC_MODE", "line 15: 'CC_MODE' has no value"),
        ("CC_MODE 1", "CC_MODE 1 2", "CC_MODE: 2 values, where there is one"),
        ("CC_MODE 1", "=CC_MODE 1", "'=CC_MODE' is no key"),
        ("TOPOLOGY_FILE topology.txt", "TOPOLOGY_FILE no.txt", "'no.txt' is not there"),
        ("FLOW_FILE flow.txt", "FLOW_FILE ../nowhere/x", "name the file in the command"),
        ("SIMULATOR_STOP_TIME 2.02", "SIMULATOR_STOP_TIME 1", "is not after 2 s"),
        ("EWMA_GAIN 0.00390625", "EWMA_GAIN nan", "EWMA_GAIN: value: 'nan' is no number"),
        ("EWMA_GAIN 0.00390625", "EWMA_GAIN 7", "a scenario cannot say this"),
        ("RATE_AI 20Mb/s", "RATE_AI 20MB/s", "RATE_AI: rate: '20MB/s' is not a rate"),
        ("BUFFER_SIZE 32", "BUFFER_SIZE 0", "BUFFER_SIZE: value: 0 is not from 1"),
        ("KMIN_MAP 2", "KMIN_MAP 3", "3 rates are said to follow"),
        ("KMIN_MAP 2", "KMIN_MAP 1", "1 rate is said to follow"),
        ("KMIN_MAP 2 100000000000 400", "KMIN_MAP 2 25000000000 1", "no value for 100000000000"),
        ("KMIN_MAP 2 100000000000 400", "KMIN_MAP 2 100000000000 9999", "is more than 1600 KB"),
        ("PMAX_MAP 2 100000000000 0.2", "PMAX_MAP 2 100000000000 2", "2 is no probability"),
        ("LINK_DOWN 0 0 0", "LINK_DOWN 10 0 1", "nodes 0 and 1 have no link"),
        ("LINK_DOWN 0 0 0", "LINK_DOWN 10 0", "2 words: it is <us after 2 s> <a> <b>"),
    ),
}


@pytest.mark.parametrize(
    ("file", "before", "after", "told"),
    [(file, *case) for file, cases in HOSTILE.items() for case in cases],
    ids=lambda value: value[:30],
)
def test_hostile_files_end_in_one_line(
    here: CommandLine, file: str, before: str, after: str, told: str
) -> None:
    change(here.folder / file, before, after)
    if told == "two":
        told = "2 words: the first line is <nodes> <switches> <links>"
    said = refused(here)
    assert file in said
    assert told in said


def test_files_that_are_none_of_theirs(here: CommandLine) -> None:
    folder = here.folder
    (folder / "empty.txt").write_text("\n# nothing\n")
    (folder / "image.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(200))
    assert refused(here, "empty.txt") == "empty.txt: the file is empty"
    assert "neither a topology" in refused(here, "image.png")
    assert "cannot read 'nowhere.txt'" in refused(here, "nowhere.txt")
    assert "cannot read '.'" in refused(here, ".")
    assert "no topology among the files" in refused(here, "flow.txt")
    assert "are both a flow file" in refused(here, "flow.txt", "flow.txt")
    assert "give --duration" in refused(here, "topology.txt", "flow.txt")
    done = here("import", "hpcc", "config.txt", "-o", "made.txt")
    assert "does not end in .toml" in done.stderr


def test_flows_between_parts_that_no_link_joins(here: CommandLine) -> None:
    change(here.folder / "topology.txt", "10 2 9", "10 2 8")
    change(here.folder / "topology.txt", "8 9 400Gbps 1us 0.000000\n", "")
    assert refused(here).endswith("flow.txt, line 2: no links lead from host 0 to host 4")


def test_what_others_wrote_is_left(here: CommandLine) -> None:
    imported(here)
    imported(here)
    (here.folder / "made.port200.csv").write_text("mine")
    before = (here.folder / "made.toml").read_bytes()
    assert "another file with -o" in refused(here)
    assert (here.folder / "made.port200.csv").read_text() == "mine"
    (here.folder / "made.port200.csv").unlink()
    (here.folder / "made.toml").write_text("mine")
    assert "another file with -o" in refused(here)
    assert (here.folder / "made.toml").read_text() == "mine" != before.decode()


def test_a_run_is_written_as_the_simulator_writes_it(here: CommandLine) -> None:
    imported(here)
    done = here("run", "made.toml", "-o", "run", "-s", "record.queues=switch*->*")
    assert done.returncode == 0, done.stderr
    done = here("export", "hpcc", "run", "-o", "results", "--json")
    assert done.returncode == 0, done.stderr
    table = qcnlab.open_run(here.folder / "run").flows.to_polars()
    rows = [line.split() for line in (here.folder / "results/fct.txt").read_text().splitlines()]
    assert len(rows) == 9
    ends = [int(row[5]) + int(row[6]) for row in rows]
    assert ends == sorted(ends)
    first = next(row for row in rows if row[4] == "1500000")
    # Host 0 is 11.0.0.1, host 4 is 11.0.4.1; its first flow has source port 10000.
    assert first[:6] == ["0b000001", "0b000401", "10000", "100", "1500000", "2000000000"]
    fct, alone = table.row(0, named=True)["completion_s"], table.row(0, named=True)["standalone_s"]
    assert int(first[6]) == pytest.approx(fct * 1e9, abs=1)
    # 1,500,000 octets and 1500 heads of 48 at 100 Gb/s, 3 links of 1 us there and back, a packet of
    # 1048 on each: 125,760 + 6000 + 2 * 83.84 + 20.96 ns.
    assert int(first[7]) == int(alone * 1e9) == 131_948
    second = next(row for row in rows if row[4] == "30721")
    assert second[2] == "10001"
    queues = (here.folder / "results/qlen.txt").read_text().splitlines()
    assert queues[0].startswith("time: 2000")
    ports = {tuple(map(int, line.split()[:2])) for line in queues[1:]}
    # Ports that data leaves through; the fifth of each switch leads to the other.
    assert ports == {(8, 1), (8, 2), (8, 3), (8, 5), (9, 1), (9, 3), (9, 5)}
    counts = [sum(map(int, line.split()[2:])) for line in queues[1:]]
    assert len(set(counts)) == 1


def test_pauses_are_written_as_stops_and_goes(here: CommandLine) -> None:
    change(here.folder / "config.txt", "BUFFER_SIZE 32", "BUFFER_SIZE 1")
    imported(here)
    assert here("run", "made.toml", "-o", "run").returncode == 0
    assert here("export", "hpcc", "run", "-o", "results").returncode == 0
    rows = [
        list(map(int, line.split()))
        for line in (here.folder / "results/pfc.txt").read_text().splitlines()
    ]
    pauses = qcnlab.open_run(here.folder / "run").pauses.to_polars()
    assert len(pauses) > 0
    assert len(rows) == 2 * len(pauses) - pauses["until_s"].null_count()
    assert [row[0] for row in rows] == sorted(row[0] for row in rows)
    for _, node, kind, index, _ in rows:
        # Hosts have one port; port 5 of each switch leads to the other.
        assert (kind == 1) == (node in (8, 9))
        assert index == (5 if kind else 1)


FLOWS = pl.DataFrame(
    [
        # replication, source, traffic, priority, octets, start, completion, alone; us
        (0, "host1->host2", 0, 3, 9000, 0.0, 9.0, 9.0),
        (1, "host1->host2", 0, 3, 1000, 5.0, 2.0, 1.0),
        (1, "host1->host3", 1, 5, 2000, 1.0, None, 1.5),
        (1, "host2->host1", 0, 3, 3000, None, None, 1.0),
        (1, "host3->host1", 0, 0, None, 0.0, None, 1.0),
        (1, "host1->host2#2", 0, 0, 4000, 2.0, 1.0, 1.0),
    ],
    schema={
        "replication": pl.UInt32,
        "source": pl.String,
        "traffic": pl.UInt32,
        "priority": pl.UInt8,
        "size_bytes": pl.UInt64,
        **dict.fromkeys(("start_s", "completion_s", "standalone_s"), pl.Float64),
    },
    orient="row",
).with_columns(pl.col("start_s", "completion_s", "standalone_s") * 1e-6)
PAUSES = pl.DataFrame(
    {
        "replication": [0, 1, 1, 1],
        "port": ["host1->leaf1", "leaf1->spine2", "host2->leaf1", "host2->leaf1"],
        "time_s": [0.0, 1e-6, 2e-6, 4e-6],
        "until_s": [1e-6, 3e-6, 3e-6, None],
    }
)
QUEUES = pl.DataFrame(
    {
        "replication": [0, 1, 1, 1, 1],
        "port": ["leaf1->host1", *["leaf2->host6"] * 3, "host1->leaf1"],
        "time_s": [9e-6, 1e-6, 2e-6, 3e-6, 7e-6],
        "queue_bytes": [0, 2999, 0, 2000, 50],
    }
)


def test_a_replication_with_flows_that_wait_or_stay_by_hand(tmp_path: Path) -> None:
    tables = {
        name: Table(name, frame, frame.columns, {}, len(frame))
        for name, frame in (("flows", FLOWS), ("pauses", PAUSES), ("queues", QUEUES))
    }
    result = qcnlab.Result("", made_up_summary(ends=[2.0, 2.0]), META, tables.__getitem__)
    entries = [
        {"arrivals": "saturated", "transport": "roce"},
        {"arrivals": "list", "flows": f"{FLOWS_MARK}, {flows.PORT} 200\n"},
    ]
    network, report = nodes(_core.Scenario.shipped("ring-all-reduce-8-hosts-100g")), Report()
    rows = exporting._results(result, 1, network, entries, 2 * S, tmp_path, report)
    us = S // 10**6
    assert [(row[:6], row.start) for row in rows] == [
        ((0, 2, 5, 10_000, 200, 2000), 2 * S + us),
        ((0, 1, 0, 10_001, 100, 4000), 2 * S + 2 * us),
        ((0, 1, 3, 10_002, 100, 1000), 2 * S + 5 * us),
    ]
    assert (tmp_path / "fct.txt").read_text().splitlines() == [
        "0b000001 0b000101 10001 100 4000 2000002000 1000 1000",
        "0b000001 0b000101 10002 100 1000 2000005000 2000 1000",
    ]
    # Time, node, whether it is a switch, port, stopped or not; the last pause goes on.
    assert (tmp_path / "pfc.txt").read_text().splitlines() == [
        "2000001000 8 1 6 1",
        "2000002000 1 0 1 1",
        "2000003000 1 0 1 0",
        "2000003000 8 1 6 0",
        "2000004000 1 0 1 1",
    ]
    # One sample below 1 KB, none of 1 KB, two of 2 KB; a host's queue is no switch's.
    assert (tmp_path / "qlen.txt").read_text().splitlines() == ["time: 2000007000", "9 2 1 0 2"]
    lost = [what for what, _ in report.not_modelled]
    assert lost[:3] == [
        "1 flow without an end",
        "1 flow that never started",
        "1 flow that did not finish",
    ]
    with pytest.raises(FormatError, match="--replication 2: the run has 0 to 1"):
        exporting._results(result, 2, network, entries, 0, tmp_path, Report())


def test_what_their_flows_had_otherwise_is_counted(here: CommandLine) -> None:
    rows = [
        "0 4 3 100 1000 2.00002",
        "0 4 3 100 1000 2.00001",
        "0 4 3 100 1000 2.0000200000001",
        f"0 4 3 100 {1 << 32} 2.00003",
        "0 4 3 100 1000 3.0",
        "0 4 3 100 1000 2.5",
    ]
    (here.folder / "flow.txt").write_text(f"{len(rows)}\n" + "\n".join(rows) + "\n")
    report = imported(here)
    assert made(here)["duration"] == "20 ms"
    told = [(each["what"], each["why"]) for each in report["not_modelled"]]
    for expected in (
        ("2 flows from 2020 ms on, the end", "they never start there, too"),
        ("2 flows below one that starts later", "each starts at its time"),
        ("1 start finer than a ps", "rounded to whole ps"),
        (f"1 flow of {1 << 32} octets and more", "not cut to 32 bits, as they are there"),
    ):
        assert expected in told
    starts = [
        line.split(",")[3]
        for line in (here.folder / "made.port100.csv").read_text().splitlines()[2:]
    ]
    assert starts == ["20 us", "10 us", "20 us", "30 us"]


def test_times_count_from_another_origin(here: CommandLine) -> None:
    (here.folder / "flow.txt").write_text("1\n0 4 3 100 1000 0.000003\n")
    told = refused(here)
    assert "starts at 3 us, before 2 s" in told
    imported(here, "config.txt", "--origin", "0 s")
    assert made(here)["duration"] == "2020 ms"
    (row,) = (here.folder / "made.port100.csv").read_text().splitlines()[2:]
    assert row == "host0,host4,1000 B,3 us,3"
    for origin, start in (("1500 ms", "1.500003"), ("0 s", "0.000003")):
        done = here("export", "hpcc", "made.toml", "-o", f"from {origin}", "--origin", origin)
        assert done.returncode == 0, done.stderr
        written = (here.folder / f"from {origin}/flow.txt").read_text().splitlines()
        assert written == ["1", f"0 4 3 100 1000 {start}"]


def some_topology(draw: random.Random) -> topology.Topology:
    """Return a network with all that a scenario can say: rates, delays, numbers in any order."""
    switches, hosts = draw.randint(2, 5), draw.randint(2, 8)
    numbers = draw.sample(range(switches + hosts), switches + hosts)
    middle, ends = numbers[:switches], numbers[switches:]

    def link(a: int, b: int) -> topology.Link:
        speed = draw.choice((10, 25, 100, 400)) * 10**9 + draw.choice((0, 0, 1))
        a, b = draw.sample((a, b), 2)
        return topology.Link(a, b, speed, draw.choice((0, 1, 1000, 10**6, 1_500_001)))

    # A ring of switches, so that each has two links.
    pairs = {tuple(sorted((middle[i], middle[i - 1]))) for i in range(switches)}
    links = [link(a, b) for a, b in sorted(pairs)]
    links += [link(host, draw.choice(middle)) for host in ends]
    draw.shuffle(links)
    return topology.Topology(switches + hosts, sorted(middle), links)


def some_flows(draw: random.Random, network: topology.Topology) -> list[tuple[int, ...]]:
    start, rows = 2 * S, list[tuple[int, ...]]()
    for _ in range(draw.randint(1, 20)):
        source, target = draw.sample(network.hosts(), 2)
        start += draw.choice((1, 999, 10**6, 12_345_678))
        size = draw.choice((1, 1000, 10**6, (1 << 40) + 1))
        rows.append((source, target, draw.randint(1, 7), draw.choice((100, 200)), size, start))
    return rows


@pytest.mark.parametrize("seed", range(40))
def test_export_and_import_undo_each_other(seed: int, cli: CommandLine) -> None:
    draw = random.Random(seed)
    network = some_topology(draw)
    # A ring of two switches is one link, and leaves a switch without hosts with one end.
    degrees = network.degrees()
    if any(degrees[switch] < 2 for switch in network.switches):
        network = some_topology(random.Random(1000 + seed))
    rows = some_flows(draw, network)
    with (cli.folder / "topology.txt").open("w") as file:
        topology.write(network, file)
    lines = [" ".join(map(str, row[:5])) + f" {row[5] // S}.{row[5] % S:012d}\n" for row in rows]
    (cli.folder / "flow.txt").write_text(f"{len(rows)}\n" + "".join(lines))
    words = ("topology.txt", "flow.txt", "--duration", "1 s")
    assert cli("import", "hpcc", *words, "-o", "made.toml").returncode == 0
    assert topology.read(cli.folder / "topology.txt") == network
    done = cli("export", "hpcc", "made.toml", "-o", "again")
    assert done.returncode == 0, done.stderr
    assert topology.read(cli.folder / "again/topology.txt") == network
    again = (cli.folder / "again/flow.txt").read_text().splitlines()
    assert [flow_row(line) for line in again[1:]] == rows
    # And once more: the same scenario, octet for octet.
    again_words = tuple(f"again/{word}" if word.endswith(".txt") else word for word in words)
    assert cli("import", "hpcc", *again_words, "-o", "second.toml").returncode == 0
    first, second = ((cli.folder / name).read_text() for name in ("made.toml", "second.toml"))
    assert first.replace("made.", "second.") == second
    for port in (100, 200):
        if (list_ := cli.folder / f"made.port{port}.csv").exists():
            assert list_.read_text() == (cli.folder / f"second.port{port}.csv").read_text()


def flow_row(line: str) -> tuple[int, ...]:
    *words, start = line.split()
    seconds, _, rest = start.partition(".")
    return (*map(int, words), int(seconds) * S + int(rest.ljust(12, "0")))


def test_other_scenarios_have_numbers_for_names(cli: CommandLine) -> None:
    done = cli("export", "hpcc", "ring-all-reduce-8-hosts-100g", "-o", "out", "--json")
    assert done.returncode == 0, done.stderr
    lost = [entry["what"] for entry in json.loads(done.stdout)["not_modelled"]]
    assert any(re.fullmatch(r"\d+ flows of traffic.0 that wait", what) for what in lost)
    names = (cli.folder / "out/nodes.csv").read_text().splitlines()
    assert names[1] == "0,host1,0b000001"
    network = topology.read(cli.folder / "out/topology.txt")
    assert network.hosts() == list(range(8))
    scenario = _core.Scenario.shipped("ring-all-reduce-8-hosts-100g")
    assert nodes(scenario).topology == network
    assert cli("export", "hpcc", "no-such", "-o", "x").returncode == 2
    assert cli("export", "hpcc", "made-up", "-o", "out").returncode == 2
    done = cli("export", "hpcc", "ring-all-reduce-8-hosts-100g", "-o", "y", "--replication", "1")
    assert "--replication is for runs" in done.stderr
    assert not (cli.folder / "y").exists()


def test_groups_are_those_of_fct_analysis(here: CommandLine) -> None:
    draw = random.Random(11)
    sizes = draw.sample(range(1, 60_000), 40)
    rows = []
    for at, size in enumerate(sizes):
        source, target = draw.sample(range(8), 2)
        rows.append(f"{source} {target} 3 100 {size} 2.0000{at:02d}\n")
    (here.folder / "flow.txt").write_text(f"{len(rows)}\n" + "".join(rows))
    imported(here)
    assert here("run", "made.toml", "--reps", "1", "-o", "run").returncode == 0
    assert here("export", "hpcc", "run", "-o", "files").returncode == 0
    # As their script has it: slowdowns of fct.txt at least 1, in order of size, 5 % of the flows in
    # each group, and of n in a group the element floor(n p) in order.
    flows = [line.split() for line in (here.folder / "files/fct.txt").read_text().splitlines()]
    slow = sorted((int(each[4]), max(1.0, int(each[6]) / int(each[7]))) for each in flows)
    words = ("--base", "standalone_floored", "--percentile", "element", "--csv")
    done = here("fct", "run", *words)
    assert done.returncode == 0, done.stderr
    groups = list(csv.DictReader(done.stdout.splitlines()))
    assert len(groups) == 20
    for index, group in enumerate(groups):
        part = slow[index * len(slow) // 20 : (index + 1) * len(slow) // 20]
        assert int(group["largest_bytes"]) == part[-1][0]
        for percent in (50, 95, 99):
            value = sorted(each[1] for each in part)[len(part) * percent // 100]
            assert float(group[f"slowdown_p{percent}"]) == pytest.approx(value, rel=3e-4)


def test_a_run_of_many_flows_can_be_recorded(here: CommandLine) -> None:
    count = 300_000
    rows = "".join(f"0 4 3 100 1 2.{at:09d}\n" for at in range(count))
    (here.folder / "flow.txt").write_text(f"{count}\n{rows}")
    imported(here)
    assert made(here)["record"] == {"rates_every": "20 ms", "throughput_bin": "20 ms"}
    assert len((here.folder / "made.port100.csv").read_text().splitlines()) == count + 2


def test_many_destination_ports_share_a_list(here: CommandLine) -> None:
    rows = [f"0 4 3 {100 + port} 1000 2.0\n" for port in range(flows.MOST_FILES + 3)]
    (here.folder / "flow.txt").write_text(f"{len(rows)}\n" + "".join(rows))
    report = imported(here)
    assert len(made(here)["traffic"]) == flows.MOST_FILES + 1
    assert made(here)["traffic"][-1]["flows"] == "made.flows.csv"
    lost = [entry["what"] for entry in report["not_modelled"]]
    assert f"destination ports beyond the first {flows.MOST_FILES}" in lost


def test_sizes_from_0_to_1_are_read_as_those_to_100(tmp_path: Path) -> None:
    parts, percent = tmp_path / "parts", tmp_path / "percent"
    parts.write_text("0 0\n10 0.5\n20 1\n")
    percent.write_text("0 0\n10 50\n20 100\n")
    assert cdf.read(parts)[0] == cdf.read(percent)[0]
    assert (cdf.read(parts)[1], cdf.read(percent)[1]) == (1, 100)
    percent.write_text("0 0\n10 50\n")
    with pytest.raises(FormatError, match="must end at 100, or 1"):
        cdf.read(percent)


def test_no_octets_make_a_reader_fail_otherwise(tmp_path: Path) -> None:
    draw = random.Random(7)
    file = tmp_path / "file"
    words = [
        b"0",
        b"3",
        b"9",
        b"-1",
        b"nan",
        b"100Gbps",
        b"1us",
        b"KEY",
        b"\xff",
        b"\n",
        b"\n",
        b"#",
    ]
    network = topology.Topology(3, [2], [topology.Link(0, 2, 1, 0), topology.Link(1, 2, 1, 0)])
    readers = (
        topology.read,
        cdf.read,
        config.Config,
        importing.kind,
        lambda path: flows.convert(path, network, 0, S, tmp_path / "out"),
    )
    refusals = 0
    for _ in range(300):
        file.write_bytes(b" ".join(draw.choices(words, k=draw.randint(0, 12))))
        for reader in readers:
            try:
                reader(file)
            except FormatError as error:
                refusals += 1
                assert "\n" not in str(error)
    assert refusals > 500
    assert len(results.Flow._fields) == 9


def test_the_guide_is_as_it_says(here: CommandLine) -> None:
    shutil.copy(ROOT / "examples/flows.csv", here.folder)
    blocks = re.findall(r"```sh\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    assert len(lines) >= 5
    for line in lines:
        program, *words = shlex.split(line)
        assert program == "qcnlab"
        done = here(*words)
        assert done.returncode == 0, f"{line}\n{done.stderr}"
