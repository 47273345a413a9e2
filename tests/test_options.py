"""Options of commands and arguments of functions away from their defaults: what each passes on."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

import qcnlab
from conftest import HOTSPOT, SHORT_FLAGS, CommandLine
from qcnlab.captures import Capture, frames, run_captured
from qcnlab.runs.intervals import difference_interval, mean_interval, median_interval
from test_windows import of_tables

FLOWS = """
title = "Flows of four sizes"
duration = "1 ms"
[topology]
kind = "switch"
hosts = 4
rate = "10 Gb/s"
delay = "1 us"
[[traffic]]
arrivals = "list"
frame = "1500 B"
flows = '''
from,to,size,start
host1,host2,1500 B,0 s
host2,host1,15 KB,0 s
'''
[[traffic]]
arrivals = "list"
frame = "1500 B"
flows = '''
from,to,size,start
host3,host4,150 KB,100 us
host4,host3,2 MB,100 us
'''
[scheme]
name = "none"
"""


@pytest.mark.parametrize("by", ["size", "entry", "all"])
@pytest.mark.parametrize("base", ["alone", "standalone", "standalone_floored"])
@pytest.mark.parametrize("rule", ["rank", "element"])
@pytest.mark.parametrize("buckets", ["5%", "60%", "10 KB,100 KB"])
def test_fct_passes_on_what_it_is_given(
    cli: CommandLine, by: str, base: str, rule: str, buckets: str
) -> None:
    result = qcnlab.run(qcnlab.Scenario.from_toml(FLOWS, "four"))
    result.save(cli.folder / "run")
    words = ("--by", by, "--base", base, "--percentile", rule, "--buckets", buckets)
    done = cli("fct", "run", *words, "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told == json.loads(json.dumps(result.fct(by, buckets, base, rule).summary()))
    assert (told["by"], told["base"], told["percentile"]) == (by, base, rule)
    groups = {"all": 1, "entry": 2, "size": {"5%": 4, "60%": 2, "10 KB,100 KB": 3}[buckets]}
    assert len(told["groups"]) == groups[by]


def test_levels_of_intervals_are_those_asked_for(short: qcnlab.Scenario) -> None:
    pytest.importorskip("scipy")
    swept = qcnlab.sweep(short, vary={"scheme.cp.w": [2, 4]}, reps=8)
    one, other = (swept.over(point, "queue_mean_bytes").values for point in (1, 0))
    for level in (0.5, 0.9):
        assert swept.interval(1, "queue_mean_bytes", level) == median_interval(one, level)
        apart = difference_interval(one, other, level)
        assert swept.difference(1, 0, "queue_mean_bytes", level) == apart
        assert swept.difference(0, 1, "queue_mean_bytes", level).median == -(apart.median or 0.0)
    assert median_interval(one, 0.5) != median_interval(one)
    assert f"{median_interval(other, 0.5)}" in swept.text(200, ["queue_mean_bytes"], level=0.5)
    precise = qcnlab.Precision("queue_mean_bytes", 0.5, 2, 3, 0.5, "mean")
    assert precise.interval(one) == mean_interval(one, 0.5)


def test_a_sweep_is_started_over(cli: CommandLine) -> None:
    words = ("sweep", HOTSPOT, *SHORT_FLAGS, "--reps", "1", "-o", "out")
    assert cli(*words, "--vary", "scheme.cp.w=2,4").returncode == 0
    assert cli(*words, "--vary", "scheme.cp.w=2,8").returncode == 2
    done = cli(*words, "--vary", "scheme.cp.w=2,8", "--fresh")
    assert done.returncode == 0, done.stderr
    assert qcnlab.open_sweep(cli.folder / "out").vary == {"scheme.cp.w": [2, 8]}


def test_a_search_scores_the_mean_when_asked(cli: CommandLine) -> None:
    pytest.importorskip("optuna")
    over = ("--over", "topology.sources=2,4", "--trials", "1", "--reps", "1", "--seed", "0")
    words = ("tune", HOTSPOT, *SHORT_FLAGS, "--vary", "scheme.cp.w=1..4", *over)
    scores = {}
    for name, more in {"worst": (), "mean": ("--mean",)}.items():
        done = cli(*words, "--minimize", "queue_mean_bytes", "-o", name, *more)
        assert done.returncode == 0, done.stderr
        row = next(csv.DictReader(io.StringIO((cli.folder / name / "trials.csv").read_text())))
        scores[name] = next(float(row[key]) for key in row if key.startswith("queue_mean"))
    assert scores["mean"] < scores["worst"]


def test_a_capture_has_the_limits_that_it_is_given(
    short: qcnlab.Scenario, cli: CommandLine, tmp_path: Path
) -> None:
    file = tmp_path / "some.pcapng"

    def kept(capture: Capture) -> tuple[int, int]:
        _, summary = run_captured(short, capture, file, reps=1, progress=False)
        assert summary["frames"] == len(list(frames(file)))
        return summary["frames"], file.stat().st_size

    assert kept(Capture("switch->sink", most_frames=0))[0] == 0
    assert kept(Capture("switch->sink", most_frames=1))[0] == 1
    count, octets = kept(Capture("switch->sink", most_octets=5000))
    assert 1 < count < 60
    assert 4000 < octets <= 5000
    count, cut = kept(Capture("switch->sink", "all", snap=80, most_frames=20))
    _, whole = kept(Capture("switch->sink", "all", most_frames=20))
    assert (count, whole - cut > 10 * 1400) == (20, True)
    flags = ("run", HOTSPOT, *SHORT_FLAGS, "--reps", "1", "--capture", "switch->sink")
    limits = ("--capture-size", "5 KB", "--capture-snap", "80", "--capture-file", "mine.pcapng")
    done = cli(*flags, *limits, "-o", "out")
    assert done.returncode == 0, done.stderr
    assert 4000 < (cli.folder / "mine.pcapng").stat().st_size <= 5000
    seeds = {Capture("switch->sink").size(short, seed) for seed in (None, 0, 1)}
    assert len(seeds) == 1


def test_flows_and_limits_go_with_a_window() -> None:
    made = of_tables()
    # The first replication is above 80 B and stays there; the second never is: 0 ms.
    assert made.metric("first_fall_ms", window=(0.0, 0.004), limit=80) == 0.0
    assert made.metric("first_fall_ms", window=(0.0, 0.004), limit=700) == 0.0
    assert made.metric("bottleneck_gbps", window=(0.001, 0.003), flows=["zeta"]) == 3.75
    for words in ({"flows": ["zeta"]}, {"limit": 0.0}):
        with pytest.raises(qcnlab.AnalysisError, match="go with a window"):
            made.metric("jain", **words)
