"""The arithmetic of the benches, and what they say where something is missing."""

from __future__ import annotations

import importlib
import math
import re
import sys
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


def test_the_page_says_why_live_runs_are_left_out() -> None:
    reason = "live run 2: switches: did not look for 7.2 ms; the limit is 5 ms"
    both = SimpleNamespace(
        runs_text=lambda: "medians [least..most] of 30 replications and of 1 live runs",
        reasons=lambda: [reason],
    )
    lines = bench("live_against_simulated").outside(both)
    words = "Medians [least..most] of 30 replications and of 1 live runs."
    assert lines == [words, "", f"* {reason}", ""]


def live_run(valid: bool, std: float, queue: float) -> SimpleNamespace:
    """Return a run whose gaps and queues are these."""
    spacing = {"frames": 1000, "std": std, "percentiles": [number / 50 for number in range(101)]}
    timing = {"valid": valid, "cpu_share": 0.25, "reasons": ["switches: late"]}
    names = ("queue_mean_bytes", "queue_std_bytes", "queue_during_bytes")
    return SimpleNamespace(
        meta={"live": {"timing": timing, "limiter": {"spacing": spacing}}},
        summary={"metrics": {name: {"median": queue} for name in names}},
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
    words = limiters.part(limiters.EXPERIMENTS[0], {htb: [live_run(False, 9.0, 90e3)]})
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


def test_workloads_of_the_bench_are_shipped_or_stand_beside_it() -> None:
    import qcnlab

    for name, *changes in bench("bench").WORKLOADS.values():
        assert qcnlab.load(name).with_(*changes).name == Path(name).stem


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
    others = re.compile(r"/(lib|plan|tests|testing)\.rs$|/engine/build(/|\.rs)")
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
