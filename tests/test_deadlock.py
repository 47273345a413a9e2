"""A run that stands still for ever is a result: tables up to then, the circle, exit code 1."""

from __future__ import annotations

from typing import TYPE_CHECKING

import qcnlab

if TYPE_CHECKING:
    from conftest import CommandLine

RING = """
title = "Five switches in a ring"
duration = "1 s"
[topology]
kind = "graph"
rate = "10 Gb/s"
delay = "1 us"
[[link]]
from = "switch{1..5}"
to = "switch{2..5}, switch1"
[[link]]
from = "host{1..5}"
to = "switch{1..5}"
[switch]
input_memory = "100 KB"
[pause]
kind = "link"
[[traffic]]
arrivals = "saturated"
from = "host{1..5}"
to = "host{3..5}, host{1..2}"
spread = "paired"
frame = "1500 B"
[scheme]
name = "none"
"""


def test_a_circle_of_pauses_is_named_in_a_whole_run_folder(cli: CommandLine) -> None:
    (cli.folder / "ring.toml").write_text(RING, encoding="utf-8")
    done = cli("run", "ring.toml", "-s", "record.throughput_bin=100 us", "-o", "out")
    assert (done.returncode, done.stderr) == (1, "")
    line = next(line for line in done.stdout.splitlines() if line.startswith("deadlock found"))
    assert line.startswith("deadlock found at 1 ms: switch1->switch2, switch2->switch3, ")
    assert "switch5->switch1 stopped by PAUSE, each waiting for the next" in line
    result = qcnlab.open_run(cli.folder / "out")
    (end,) = result.summary.ends
    assert (end.why, end.end_s) == ("deadlock", 0.001)
    assert len(end.circle) == 5
    assert end.closed_s is not None and 0 < end.closed_s < end.end_s
    assert result.metric("deadlock_ms") == 1.0
    # Ten bins of 100 us of five flows.
    assert len(result.throughput) == 50
    assert result.pauses.to_polars()["until_s"].max() == 0.001


def test_a_sweep_with_a_deadlock_ends_with_its_table_and_the_point_marked(
    cli: CommandLine,
) -> None:
    (cli.folder / "ring.toml").write_text(RING, encoding="utf-8")
    vary = ["--vary", "pause.kind=none,link", "-s", "duration=3 ms"]
    done = cli("sweep", "ring.toml", *vary, "--metric", "aggregate_gbps", "-o", "out")
    assert (done.returncode, done.stderr) == (1, "")
    header, rule, none, link = done.stdout.splitlines()[3:7]
    assert header.split() == ["kind", "aggregate_gbps", "deadlock"]
    assert set(rule) == {"-", " "}
    assert (none.split()[0], len(none.split())) == ("none", 2)
    assert link.split()[0] == "link"
    assert link.endswith("at 1 ms")
    assert (
        "deadlock: when links stopped by PFC or PAUSE were found to wait in a circle" in done.stdout
    )
    table = qcnlab.open_sweep(cli.folder / "out").to_polars()
    assert table["deadlock_ms"].to_list() == [None, 1.0]
    again = cli("sweep", "ring.toml", *vary, "--metric", "aggregate_gbps", "-o", "out")
    assert (again.returncode, again.stdout) == (1, done.stdout)
