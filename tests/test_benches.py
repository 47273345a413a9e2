"""The arithmetic of the benches, and what they say where something is missing."""

from __future__ import annotations

import importlib
import json
import math
import re
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator


BENCHES = (
    "bench", "counts_against_peers", "gate", "growth",
    "live_against_simulated", "live_limiters", "live_pages", "live_speed", "ns2", "ns3", "peers",
    "phases", "tcp_against_ns3",
)  # fmt: skip


@pytest.fixture(autouse=True)
def _path(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(str(ROOT / "benches"))
    yield
    for name in BENCHES:
        sys.modules.pop(name, None)


def bench(name: str) -> Any:
    return importlib.import_module(name)


def test_medians_are_compared_within_a_part_and_three_errors() -> None:
    compare = bench("tcp_against_ns3").compare
    # No spread: 103 against 100 differ by 3 %, which 3 % allow and 2 % do not.
    assert compare([103.0] * 3, [100.0] * 3, 0.031)[2]
    assert not compare([103.0] * 3, [100.0] * 3, 0.029)[2]
    # Median deviation 10 on the right: 1.25 * 1.48 * 10 / sqrt(3) = 10.681; three in 100: 32.04 %.
    difference, tolerance, holds = compare([120.0] * 3, [90.0, 100.0, 110.0], 0.02)
    assert difference == pytest.approx(0.2)
    assert tolerance == pytest.approx(0.02 + 0.32043, abs=1e-4)
    assert holds


def test_start_times_are_the_same_each_time_and_apart() -> None:
    start_times = bench("tcp_against_ns3").start_times
    assert start_times(9, 0) == start_times(9, 0)
    assert start_times(9, 0) != start_times(9, 1)
    assert all(1_000_000 <= start < 20_000_000 for start in start_times(9, 0))


def test_forwarders_are_told_by_their_medians() -> None:
    def measured(cpu_ns: float) -> dict[str, Any]:
        return {
            "forwarder": "switch",
            "octets": 1500,
            "frames_per_s": 100_000.0,
            "cpu_ns": cpu_ns,
            "latency_p50_ns": 20_000,
            "latency_p99_ns": 40_000,
        }

    rows = bench("live_speed").rows([measured(4000.0), measured(2000.0), measured(2500.0)])
    # 100 000 frames of 1500 octets are 1200 Mb/s; at 2.5 us one core does 400 000.
    assert rows == [
        (
            "1500",
            "switch",
            "100 [100..100]",
            "1,200",
            "2.50 [2.00..4.00]",
            "400,000",
            "20 [20..20]",
            "40 [40..40]",
        )
    ]


def tried(outcomes: dict[str, str], rule: Any, costs: float) -> dict[str, str]:
    """Return the runs that a rule makes of experiments whose runs are (v)alid or not, in turn."""
    seconds = 0.0

    def run(name: str, before: int) -> str:
        nonlocal seconds
        seconds += costs
        return outcomes[name][before]

    runs = bench("live_pages").run_in_turn(
        list(outcomes), run, lambda outcome: outcome == "v", rule, lambda: seconds
    )
    return {name: "".join(made) for name, made in runs.items()}


def test_an_experiment_is_run_until_two_of_eight_runs_are_valid() -> None:
    rule = bench("live_pages").Rule()
    assert (rule.valid, rule.tries, rule.minutes) == (2, 8, 13.0)
    # The first is done after two runs, the second after five; the third never is.
    outcomes = {"a": "vv------", "b": "-v--v---", "c": "--------"}
    assert tried(outcomes, rule, costs=1.0) == {"a": "vv", "b": "-v--v", "c": "--------"}


def test_no_run_begins_once_the_time_is_over_and_none_is_left_out() -> None:
    rule = bench("live_pages").Rule(minutes=5.0)
    outcomes = {"a": "--------", "b": "v-------", "c": "--------"}
    # A run takes two minutes: three runs are over after six, and were all begun nevertheless.
    assert tried(outcomes, rule, costs=120.0) == {"a": "-", "b": "v", "c": "-"}
    # A run takes one: after five runs five minutes are over, and b has a valid one already.
    assert tried(outcomes, rule, costs=60.0) == {"a": "--", "b": "v", "c": "--"}


def test_words_of_the_rule_are_those_of_the_documents() -> None:
    rule = bench("live_pages").Rule()
    page = " ".join((ROOT / "docs/concepts/live.md").read_text(encoding="utf-8").split())
    assert f"once it has {rule.valid} runs with valid timing, or {rule.tries} runs in all" in page
    assert f"No run begins once {rule.minutes:.0f} minutes are over" in page


def live_part(module: Any, experiment: Any, valid: list[bool], before: list[str]) -> str:
    """Return the part of a page for an experiment whose runs are valid or not."""
    simulated = {"simulated": 100.0, "simulated_min": 80.0, "simulated_max": 120.0}
    live = {"live": 115.0, "live_min": 115.0, "live_max": 115.0, "ratio": 1.15}
    row = {"metric": "queue_mean_bytes", "unit": "B", **simulated, **live}
    both = SimpleNamespace(
        rows=lambda: [row],
        runs_text=lambda: f"medians of some; valid timing: {sum(valid)} of {len(valid)}",
        live=[live_run(each, 0.1, 20e3) for each in valid],
    )
    return str(module.part(experiment, both, "2026-11-23 at commit abc", before))


def test_a_page_counts_all_live_runs_and_says_why_some_are_left_out() -> None:
    module = bench("live_against_simulated")
    earlier = "* 2026-11-22 at commit def: 0 of 8 runs valid"
    part = live_part(module, module.EXPERIMENTS[0], [False, True, True], [earlier])
    lines = part.splitlines()
    assert "| `queue_mean_bytes` | B | 100 [80..120] | 115 | 1.15 |" in lines
    assert "Medians of some; valid timing: 2 of 3. More than 10 % apart, but" in part
    assert bench("live_pages").counts_of(part) == [
        earlier,
        "* 2026-11-23 at commit abc: 2 of 3 runs valid",
    ]
    assert "* run 1: switches: late" in lines
    assert "* run 2: switches: late" not in lines
    said = (
        "stood still 2 times, 12 ms in all (0.25 %), 9.0 ms at most; others took 40 % of the CPUs"
    )
    assert f"* run 2: {said}" in lines


def test_valid_runs_are_counted_by_scale_and_rows_of_others_stay() -> None:
    module = bench("live_against_simulated")
    first, second, *_ = module.EXPERIMENTS
    old = [f"| `{second.name}` | 800 | 0 of 1 |", f"| `{first.name}` | 1 | 9 of 9 |"]
    made = [live_run(each, 0.1, 20e3) for each in (False, True, True)]
    # The time is over: no other scale is tried.
    part = module.shares({first: made}, 3, 0.0, old)
    row = "| `deck001` | 100 | 2 of 3 | 25 % | 40 % | 0.25 % | 9.0 ms |"
    assert module.rows_of(part) == [row, old[0]]


def test_medians_are_apart_within_the_spread_or_outside_it() -> None:
    apart = bench("live_against_simulated").apart

    def row(name: str, live: float | None, middle: float | None = 100.0) -> dict[str, Any]:
        return {
            "metric": name,
            "simulated": middle,
            "simulated_min": 85.0 if middle else middle,
            "simulated_max": 130.0 if middle else middle,
            "live": live,
        }

    assert apart([row("a", 110.0), row("b", None)]) == "No two medians lie more than 10 % apart."
    said = apart([row("a", 111.0), row("b", 89.0), row("c", 131.0), row("d", 32.0, 0.0)])
    assert said == (
        "More than 10 % apart, but within the simulated spread: `a`, `b`. "
        "More than 10 % apart and outside that spread: `c`, `d`."
    )


@pytest.mark.parametrize("name", ["live_against_simulated", "live_limiters"])
def test_a_page_keeps_what_was_not_measured_again(name: str) -> None:
    module, pages = bench(name), bench("live_pages")
    first, *others = module.EXPERIMENTS
    old = module.page({each.heading: f"## {each.heading}\n\nold" for each in module.EXPERIMENTS})
    parts = pages.parts_of(old)
    parts[first.heading] = f"## {first.heading}\n\nnew"
    new = module.page(parts)
    assert new == old.replace("old", "new", 1)
    assert all(pages.parts_of(new)[each.heading].endswith("old") for each in others)


def test_the_pages_of_live_runs_have_every_experiment() -> None:
    pages = bench("live_pages")
    for name in ("live_against_simulated", "live_limiters"):
        module = bench(name)
        page = module.PAGE.read_text(encoding="utf-8")
        parts = pages.parts_of(page)
        headings = [each.heading for each in module.EXPERIMENTS]
        assert [heading for heading in parts if heading in headings] == headings
        assert all(pages.counts_of(parts[heading]) for heading in headings)
        assert module.page(parts) == page
    module = bench("live_against_simulated")
    rows = module.rows_of(pages.parts_of(module.PAGE.read_text(encoding="utf-8"))[module.SHARES])
    assert {row.split("`")[1] for row in rows} == {each.name for each in module.EXPERIMENTS}


def test_experiments_are_chosen_by_name() -> None:
    module = bench("live_pages")
    both = [SimpleNamespace(name="a"), SimpleNamespace(name="b")]
    assert module.chosen(both, []) == both
    assert module.chosen(both, ["b"]) == both[1:]
    with pytest.raises(SystemExit, match="no experiment c; there are a, b"):
        module.chosen(both, ["b", "c"])


def live_run(valid: bool, std: float, queue: float) -> SimpleNamespace:
    """Return a run whose gaps and queues are these."""
    spacing = {"frames": 1000, "std": std, "percentiles": [number / 50 for number in range(101)]}
    stopped = {"times": 2, "total_ms": 12.5, "share": 0.0025, "longest_ms": 9.0}
    timing = {
        "valid": valid,
        "cpu_share": 0.25,
        "reasons": ["switches: late"],
        "clock_stopped": stopped,
    }
    names = ("queue_mean_bytes", "queue_std_bytes", "queue_during_bytes")
    return SimpleNamespace(
        meta={
            "live": {"timing": timing, "limiter": {"spacing": spacing}, "others_share": 0.4},
        },
        summary=SimpleNamespace(metrics={name: SimpleNamespace(median=queue) for name in names}),
    )


def test_runs_with_valid_timing_alone_tell_how_evenly_frames_left() -> None:
    limiters = bench("live_limiters")
    htb = limiters.VARIANTS[1]
    runs = [live_run(True, 0.1, 20e3), live_run(False, 9.0, 90e3), live_run(True, 0.3, 40e3)]
    queue = "30.0 [20.0..40.0]"
    same = ("0.02 [0.02..0.02]", "1.00 [1.00..1.00]", "1.98 [1.98..1.98]")
    expected = ("htb", "1", "2 of 3", "2,000", *same, "0.20 [0.10..0.30]", queue, queue, queue)
    assert limiters.row(htb, runs) == (*expected, "25 [25..25]")
    # Where no run is valid, all count, and the page says why none is.
    words = limiters.part(limiters.EXPERIMENTS[0], {htb: [live_run(False, 9.0, 90e3)]}, "today")
    assert "* today: 0 of 1 runs valid" in words
    assert "| htb | 1 | 0 of 1 | 1,000 |" in words
    assert (
        "INVALID TIMING of every run of these, so that their rows are not to be relied on:" in words
    )
    assert "* htb, 1 frame: switches: late" in words


def test_the_exponent_of_a_power_is_found() -> None:
    points = [{"size": size, "mib": 0.5 * size**1.5} for size in (3.0, 10.0, 100.0, 1000.0)]
    assert math.isclose(bench("growth").exponent(points, "mib"), 1.5)


@pytest.mark.parametrize("number", range(4))
def test_scenarios_that_grow_are_legal(number: int) -> None:
    import qcnlab

    series = bench("growth").SERIES[number]
    for size in series.sizes[:2]:
        assert (
            qcnlab.Scenario.from_toml(series.scenario(size)).to_dict()["scheme"]["name"] == "none"
        )


@pytest.mark.parametrize("kind", ["WORKLOADS", "LARGE"])
def test_workloads_of_the_bench_are_shipped_or_stand_beside_it(kind: str) -> None:
    import qcnlab

    for name, *changes in getattr(bench("bench"), kind).values():
        assert qcnlab.load(name).with_(*changes).name == Path(name).stem


@pytest.mark.parametrize(
    ("only", "run"),
    [
        ([], 24),
        (["--only", "W9"], 1),
        (["--only", "W12", "--only", "W9"], 2),
        (["--only", "W11 fat-tree, PFC", "--only", "W10 64"], 3),
    ],
)
def test_the_bench_runs_what_is_asked_for_and_large_ones_only_then(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, only: list[str], run: int
) -> None:
    module = bench("bench")
    row = {
        "frame_hops": 1,
        "events": 1,
        "cpu_s": 1.0,
        "mhops_per_cpu_s": 1.0,
        "rss_above_idle_mib": 0.0,
    }
    ran: list[str] = []

    def measure(arguments: list[str]) -> dict[str, float]:
        ran.append(" ".join(arguments))
        return row

    monkeypatch.setattr(module, "measure", measure)
    monkeypatch.setattr(module, "ROUNDS_OF_PAIRS", 2)
    monkeypatch.setattr(module, "PROGRAM", Path(__file__))
    monkeypatch.setattr(module, "sweeps", lambda: ([], "swept"))
    monkeypatch.setattr(module, "archive", lambda rows, rounds: tmp_path)
    monkeypatch.setattr(sys, "argv", ["bench.py", "--rounds", "1", *only])
    module.main()
    assert len(set(ran)) == run
    monkeypatch.setattr(sys, "argv", ["bench.py", "--only", "W9", "--only", "W99"])
    with pytest.raises(SystemExit):
        module.main()


def test_a_program_without_line_tables_is_told() -> None:
    tells_files = bench("phases").tells_files
    assert not tells_files(Counter({"???": 10, "sim/src/other.rs": 3}))
    assert tells_files(Counter({"???": 10, "crates/sim/src/engine/routing.rs": 3}))


def test_every_gated_workload_has_an_accepted_count() -> None:
    gate = bench("gate")
    accepted = json.loads(gate.ACCEPTED.read_text())["instructions_per_hop"]
    assert list(accepted) == list(gate.WORKLOADS)


def test_own_costs_are_summed_and_those_of_calls_are_not(tmp_path: Path) -> None:
    out = tmp_path / "callgrind.out"
    out.write_text(
        "events: Ir\n\nfl=(1) a.rs\nfn=(1) f\n10 5\n+2 7\nfi=(2) b.rs\n* 3\nfe=(1)\n12 1\n"
        "cfi=(2)\ncfn=(2) g\ncalls=4 20\n13 1000\n\nfl=(2)\nfn=(2)\n20 40\n"
    )
    assert bench("phases").costs(out) == {"a.rs": 13, "b.rs": 43}


def test_phases_know_every_source_of_the_engine() -> None:
    phase = bench("phases").phase
    files = [str(file) for file in (ROOT / "crates/sim/src").rglob("*.rs")]
    others = re.compile(
        r"/(lib|plan|tests|testing)\.rs$|/tests/|/engine/(network/|senders/)?build\.rs"
    )
    assert [file for file in files if phase(file) == "else" and not others.search(file)] == []


def test_without_a_wheel_ns3_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    ns3 = bench("ns3")
    monkeypatch.setattr(ns3.platform, "machine", lambda: "sparc")
    with pytest.raises(ns3.Missing, match="Linux on x86-64"):
        ns3.driver("ns3-tcp")


@pytest.mark.parametrize("name", ["peers", "counts_against_peers", "tcp_against_ns3"])
def test_without_any_peer_nothing_is_compared(
    name: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    ns3, module = bench("ns3"), bench(name)

    def missing(_: str) -> None:
        raise ns3.Missing("no wheel")

    monkeypatch.setattr(ns3, "driver", missing)
    monkeypatch.setattr(ns3.shutil, "which", lambda _: None)
    monkeypatch.setattr(module, "OURS", Path(sys.executable))
    if name == "peers":
        monkeypatch.setattr(module, "BARE", tmp_path / "bare")
    monkeypatch.setattr(sys, "argv", [name])
    assert module.main() == 2
    out, err = capsys.readouterr()
    assert "nothing was compared" in err
    assert "no wheel" in out + err


def test_the_sweep_of_the_bench_is_200_runs() -> None:
    module = bench("bench")
    points = 1
    for values in module.GRID.values():
        points *= len(values)
    assert points * module.GRID_REPS == 200
    one, two = (module.measure_sweep(jobs, reps=1) for jobs in (1, 2))
    assert one.table == two.table
    assert 0 < one.alone_s < one.cpu_s


def test_what_one_thread_does_alone_is_not_halved() -> None:
    module = bench("bench")
    swept = module.Swept(wall_s=9.0, cpu_s=2.2, alone_s=0.2, table=b"")
    assert module.idle_wall(swept) == pytest.approx(0.2 + 1.0)
