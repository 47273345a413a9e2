"""Runs without packets from Python and the command line; the errors that they print."""

from __future__ import annotations

import importlib.util
import json
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import qcnlab
from qcnlab.errors import AnalysisError
from qcnlab.runs import flow_level

if TYPE_CHECKING:
    from conftest import CommandLine

ROOT = Path(__file__).parent.parent
TREE = "fat-tree-web-search-50-percent-100g"
SHORT = ("stop_arrivals=400 us", "duration=2 ms")
KNOWN = {
    "started", "unfinished", "never_started", "fct_mean_ms", "fct_p99_ms", "slowdown_mean",
    "slowdown_p99",
}  # fmt: skip


@pytest.fixture(scope="module")
def result() -> qcnlab.Result:
    return qcnlab.run(qcnlab.load(TREE).with_(*SHORT), reps=1, flow_level=True)


def test_completion_times_are_known_and_nothing_else(result: qcnlab.Result) -> None:
    there = {name for name, each in result.summary.metrics.items() if each.median is not None}
    assert there == KNOWN
    assert result.metric("slowdown_mean") == pytest.approx(
        result.fct(by="all").flows["slowdown"].mean()
    )
    for name in ("drops", "queue_mean_bytes", "paused_frac", "aggregate_gbps", "pause_frames"):
        with pytest.raises(AnalysisError, match=f"metric {name}: .* without packets"):
            result.metric(name)
    with pytest.raises(AnalysisError, match=r"over a window: .* without packets"):
        result.metric("slowdown_mean", window=(0.0, 1e-3))
    for ask in (result.plot, result.congestion_tree):
        with pytest.raises(AnalysisError, match="run it without --flow-level"):
            ask()


def test_many_runs_take_the_word_too(result: qcnlab.Result) -> None:
    scenario = qcnlab.load(TREE).with_(*SHORT)
    other, packets = (
        qcnlab.run_many([scenario], reps=1, flow_level=level)[0] for level in (True, False)
    )
    flows = [each.flows.to_polars() for each in (result, other, packets)]
    assert flows[0].equals(flows[1])
    assert flows[0]["start_s"].equals(flows[2]["start_s"])
    assert not packets.summary.flow_level
    assert packets.metric("drops") is not None


def test_its_folder_says_what_it_is(cli: CommandLine) -> None:
    changes = [word for change in SHORT for word in ("-s", change)]
    ran = cli("run", TREE, *changes, "--reps", "1", "--flow-level", "--profile", "-o", "fluid")
    assert ran.returncode == 0
    said = " ".join(ran.stdout.split())
    for words in (
        "flow level, without packets and scheme",
        flow_level.WHAT,
        flow_level.off_packets(),
    ):
        assert words in said
    assert "headroom" not in said and "frame-hops" not in said
    assert cli("run", TREE, *changes, "--reps", "1", "-o", "packets").returncode == 0
    fct = " ".join(cli("fct", "fluid").stdout.split())
    assert flow_level.WHAT in fct and flow_level.off_packets() in fct
    both = " ".join(cli("compare", "packets", "fluid").stdout.split())
    assert "(flow level)" in both and flow_level.WHAT in both and "slowdown_p99" in both
    table = cli("fct", "packets", "fluid")
    assert table.returncode == 0 and flow_level.off_packets() in " ".join(table.stdout.split())
    assert flow_level.WHAT not in cli("fct", "packets").stdout
    for command in ("report", "plot", "explain-run"):
        refused = cli(command, "fluid")
        assert refused.returncode == 2 and "run it without --flow-level" in refused.stderr, command
    refused = cli("compare", "packets", "fluid", "--metric", "drops")
    assert refused.returncode == 2 and "metric drops: " in refused.stderr


def test_json_has_the_notes(cli: CommandLine) -> None:
    changes = [word for change in SHORT for word in ("-s", change)]
    ran = cli("run", TREE, *changes, "--reps", "1", "--flow-level", "--json")
    told = json.loads(ran.stdout)
    assert told["flow_level"] is True and told["notes"] == [
        flow_level.WHAT,
        flow_level.off_packets(),
    ]
    assert told["counters"]["frames_dropped"] is None and told["counters"]["events"] > 0
    assert set(told["profile"]) == {"events", "cpu_s", "wall_s"}


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("one-source-into-9g-rtt10us",), "have no size"),
        (("og-hotspot-2src-10g-to-500m-rtt10us",), "[[hotspot]]"),
        (("w3-9-senders-tcp-reno",), "has no windows"),
        ((TREE, "--capture", "*"), "--capture writes packets"),
    ],
)
def test_what_it_cannot_answer_is_refused(
    cli: CommandLine, words: tuple[str, ...], why: str
) -> None:
    refused = cli("run", *words, "--flow-level")
    assert refused.returncode == 2
    assert why in " ".join(refused.stderr.replace("│", " ").split())
    assert cli.left() == []


def bench() -> Any:
    """Return `benches/flow_level.py` as a module."""
    spec = importlib.util.spec_from_file_location(
        "flow_level_bench", ROOT / "benches/flow_level.py"
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    import sys

    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def rows() -> list[dict[str, Any]]:
    """Return the errors that are printed."""
    file = Path(flow_level.__file__).with_name(flow_level.FILE)
    measured: list[dict[str, Any]] = tomllib.loads(file.read_text(encoding="utf-8"))["row"]
    return measured


@pytest.mark.parametrize("traffic", ["WebSearch", "ring all-reduce"])
def test_the_errors_are_those_that_are_measured(traffic: str) -> None:
    """A change of the engine or of the shares moves them: `benches/flow_level.py --write`."""
    small = next(case for case in bench().cases() if case.traffic == traffic and case.k == 4)
    assert bench().measure(small) in rows()


def test_every_case_has_its_row_and_the_page_has_the_numbers() -> None:
    known = rows()
    assert [(row["traffic"], row["hosts"]) for row in known] == [
        (case.traffic, case.hosts) for case in bench().cases()
    ]
    page = (ROOT / "docs/concepts/flow-level.md").read_text(encoding="utf-8")
    for row in known:
        cells = [
            row["traffic"], f"{row['hosts']}", f"{row['flows']:,}", row["fct_mean_ms"],
            row["fct_p99_ms"], row["slowdown_mean"], row["slowdown_p99"],
            f"{row['single_p5']} to {row['single_p95']}",
        ]  # fmt: skip
        assert f"| {' | '.join(map(str, cells))} |" in page
        part = f"{100 * (row['slowdown_mean'] - 1):+.0f} %"
        assert f"{row['traffic']}, {row['hosts']} hosts {part} and" in flow_level.off_packets()
