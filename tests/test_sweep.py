"""Sweeps: the grid, the table, stopping and going on."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import qcnlab
from conftest import HOTSPOT, SHORT_FLAGS, CommandLine, command
from damage import FLIPS, flipped_and_told
from qcnlab import _core
from qcnlab.sweeps import grid, store
from qcnlab.sweeps.grid import Axis, read
from qcnlab.sweeps.journal import run_line
from qcnlab.sweeps.known import PrecisionEntry
from qcnlab.sweeps.result import SweepSummary
from typed_dicts import unlike

TABLES = ("metrics.parquet", "metrics.csv", "runs.jsonl", "sweep.svg")
VARY: dict[str, list[object]] = {"topology.sources": [2, 5], "topology.rtt": ["10us", "0.2 ms"]}
VARY_FLAGS = ("--vary", "topology.sources=2,5", "--vary", "topology.rtt=10us,0.2 ms")


def files(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in TABLES}


@pytest.fixture(scope="module")
def folder(short: qcnlab.Scenario, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished sweep of four points, two replications each."""
    out = tmp_path_factory.mktemp("sweep") / "out"
    qcnlab.sweep(short, vary=VARY, reps=2, seed=3, jobs=2, out=out)
    return out


def test_each_row_is_what_a_run_gives(short: qcnlab.Scenario, folder: Path) -> None:
    frame = pl.read_parquet(folder / "metrics.parquet")
    assert frame.columns[:4] == ["point", "topology.sources", "topology.rtt_s", "replication"]
    assert frame["topology.sources"].to_list() == [2, 2, 2, 2, 5, 5, 5, 5]
    assert frame["topology.rtt_s"].to_list() == [1e-5, 1e-5, 2e-4, 2e-4] * 2
    changed = short.with_("topology.sources=5", "topology.rtt=200 us")
    metrics = qcnlab.run(changed, reps=2, seed=3).summary.metrics
    assert frame.columns[4:] == list(metrics)
    for name, metric in metrics.items():
        assert frame.filter(pl.col("point") == 3)[name].to_list() == list(metric.values), name


def test_the_table_as_text_is_the_same(folder: Path) -> None:
    text = pl.read_csv(folder / "metrics.csv", infer_schema_length=None)
    table = pl.read_parquet(folder / "metrics.parquet")
    for name in table.columns:
        assert text[name].cast(pl.Float64).to_list() == table[name].cast(pl.Float64).to_list()


def test_one_job_and_two_give_the_same_bytes(
    short: qcnlab.Scenario, folder: Path, tmp_path: Path
) -> None:
    qcnlab.sweep(short, vary=VARY, reps=2, seed=3, jobs=1, out=tmp_path / "one")
    assert files(tmp_path / "one") == files(folder)


def test_it_is_read_back(short: qcnlab.Scenario, folder: Path) -> None:
    again = qcnlab.open_sweep(folder)
    direct = qcnlab.sweep(short, vary=VARY, reps=2, seed=3)
    assert again.vary == {"topology.sources": [2, 5], "topology.rtt": ["10 us", "200 us"]}
    assert again.summary() == direct.summary()
    assert again.to_polars().equals(direct.to_polars())
    assert again.metrics.units["topology.rtt_s"] == "s"
    assert again.metrics.units["recovery_ms"] == "ms"
    assert (again.name, again.replications, again.seed) == (HOTSPOT, 2, 3)
    assert pl.DataFrame(again).shape == again.to_polars().shape


def test_figures(short: qcnlab.Scenario, folder: Path) -> None:
    swept = qcnlab.open_sweep(folder)
    axes = swept.plot("jain").axes[0]
    labels = [str(line.get_label()) for line in axes.lines]
    assert [label for label in labels if label[0] != "_"] == ["10 us", "200 us"]
    assert axes.get_xlabel() == "number of sources (sources)"
    assert axes.get_ylabel() == "Jain index"
    with pytest.raises(qcnlab.ScenarioError, match="queue_mean_bytes"):
        swept.plot("queue_mean")
    names = qcnlab.sweep(short, vary={"scheme.name": ["none", "qcn"]}, reps=1)
    assert [word.get_text() for word in names.plot().axes[0].get_xticklabels()] == ["none", "qcn"]
    three = qcnlab.sweep(short, vary={**VARY, "scheme.cp.w": [2]}, reps=1)
    with pytest.raises(qcnlab.ScenarioError, match="3 keys vary"):
        three.plot()


def test_a_legend_keeps_clear_of_ranges(short: qcnlab.Scenario) -> None:
    """Ranges are lines with gaps, which a legend keeps clear of: as many as there are points."""
    swept = qcnlab.sweep(short, vary=VARY, reps=2, seed=3)
    ranges = [line for line in swept.plot("drops").axes[0].lines if line.get_alpha() == 0.35]
    assert len(ranges) == 2
    for number, line in enumerate(ranges):
        both = [swept.over(2 * source + number, "drops") for source in range(2)]
        # Of each point the least, the largest and a gap.
        drawn = [float(value) for value in np.asarray(line.get_ydata())]
        assert drawn[0::3] == [each.min for each in both]
        assert drawn[1::3] == [each.max for each in both]
        assert np.isnan(drawn[2::3]).all()


def test_what_is_set_holds_at_every_point(cli: CommandLine, short: qcnlab.Scenario) -> None:
    flags = ("-s", "scheme.cp.w=4", "--vary", "scheme.name=qcn,ecm", "--reps", "1", "-o", "out")
    done = cli("sweep", HOTSPOT, *SHORT_FLAGS, *flags)
    assert done.returncode == 0, done.stderr
    swept = qcnlab.open_sweep(cli.folder / "out")
    for point, scheme in enumerate(("qcn", "ecm")):
        changed = short.with_(f"scheme.name={scheme}", "scheme.cp.w=4")
        alone = qcnlab.run(changed, reps=1).metric("messages")
        assert swept.over(point, "messages").median == alone


def test_seeds_vary(short: qcnlab.Scenario) -> None:
    swept = qcnlab.sweep(short, vary={"seed": [1, 2]}, reps=1).to_polars()
    assert swept["seed"].to_list() == [1, 2]
    assert swept["messages"][0] != swept["messages"][1]
    alone = qcnlab.run(short, seed=2, reps=1)
    assert swept["messages"][1] == alone.metric("messages")


@pytest.mark.parametrize(
    ("texts", "vary"),
    [
        (["a=1,2", " b = x, y z "], {"a": ["1", "2"], "b": ["x", "y z"]}),
        (["a=2..5"], {"a": ["2", "3", "4", "5"]}),
        (["a=2..11..4,20"], {"a": ["2", "6", "10", "20"]}),
        (["a=2..10..4"], {"a": ["2", "6", "10"]}),
        (['a=["x, y", "z"],"q,r"'], {"a": ['["x, y", "z"]', '"q,r"']}),
        (["traffic.to=host{1..3},host4"], {"traffic.to": ["host{1..3}", "host4"]}),
    ],
)
def test_grids_on_the_command_line(texts: list[str], vary: dict[str, list[str]]) -> None:
    assert read(texts) == vary


@pytest.mark.parametrize(
    ("axis", "column", "numbers"),
    [
        (Axis("topology.rtt", ("10 us", "40 us")), "topology.rtt_s", [1e-5, 4e-5]),
        (Axis("b", ("33 KB", "1 MiB")), "b_bytes", [33e3, 2.0**20]),
        (Axis("r", ("5 Mb/s", "0.5 Gb/s")), "r_bps", [5e6, 5e8]),
        (Axis("w", (2, 0.5)), "w", [2.0, 0.5]),
        (Axis("on", (True, False)), "on", [True, False]),
        (Axis("scheme.rp.burst", ("none", "1500 B")), "scheme.rp.burst", ["none", "1500 B"]),
        (Axis("mixed", ("1 s", "3 KB")), "mixed", ["1 s", "3 KB"]),
    ],
)
def test_columns_have_units(axis: Axis, column: str, numbers: list[object]) -> None:
    assert axis.column == column
    assert axis.numbers() == numbers


BAD = {
    "a bad value": (("--vary", "topology.rtt=10,20 GB"), "2 of 2 points"),
    "no such key": (("--vary", "topology.rttt=10 us"), "rtt"),
    "no value": (("--vary", "topology.rtt"), "KEY=VALUE"),
    "an empty value": (("--vary", "topology.rtt=10 us,"), "a value is missing"),
    "twice the same": (("--vary", "topology.rtt=10 us,10us"), "over 10 us twice"),
    "two names of a key": (
        ("--vary", "hotspot.rate=1 Gb/s,2 Gb/s", "--vary", "hotspot.0.rate=3 Gb/s,4 Gb/s"),
        "another key sets it, too",
    ),
    "tables": (("--vary", "record.tables=true,false"), "a sweep keeps no tables"),
    "twice a key": (("--vary", "seed=1", "--vary", "seed=2"), "'seed' is varied twice"),
    "a falling range": (("--vary", "topology.sources=5..2"), "ranges rise"),
    "an endless range": (("--vary", "topology.sources=1..999999999"), "100,000"),
    "an endless grid": (("--vary", "seed=1..1000", "--vary", "topology.sources=1..1000"), "points"),
    "set and varied": (("--vary", "scheme.cp.w=1", "-s", "scheme.cp.w=2"), "both set and varied"),
    "two seeds": (("--vary", "seed=1,2", "--seed", "3"), "--seed"),
    "replications": (("--vary", "replications=1,2"), "--reps"),
    "no such metric": (("--vary", "seed=1", "--metric", "drop"), "drops"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_sweeps_are_refused_before_any_run(cli: CommandLine, case: str) -> None:
    arguments, words = BAD[case]
    done = cli("sweep", HOTSPOT, *arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert cli.left() == []


def test_all_bad_points_are_told_at_once(cli: CommandLine) -> None:
    vary = ("--vary", "scheme.cp.set_point=33 KB,200 KB,33", "--vary", "topology.sources=2,0")
    done = cli("sweep", HOTSPOT, *vary)
    assert done.stderr.startswith("error: 5 of 6 points of the sweep cannot be run\n")
    assert "at scheme.cp.set_point=200 KB, topology.sources=2" in done.stderr
    assert "at scheme.cp.set_point=33, topology.sources=2:\n" in done.stderr


def test_points_that_only_two_keys_together_make_bad_are_told(cli: CommandLine) -> None:
    # A set point lies below the buffer, and a hotspot ends within the run.
    vary = ("--vary", "topology.buffer=150 KB,100 KB", "--vary", "scheme.cp.set_point=33 KB,120 KB")
    ends = ("--vary", "hotspot.until=1.5 s,2.4 s", "--vary", "duration=2.5 s,2 s")
    done = cli("sweep", HOTSPOT, *vary, *ends)
    assert done.returncode == 2
    first, *told = done.stderr.split("\n\nat ")
    # Of 16: a quarter by the first two keys, a quarter of the rest by the others.
    assert first == "error: 7 of 16 points of the sweep cannot be run"
    ended = "topology.buffer=150 KB, scheme.cp.set_point=33 KB, hotspot.until=2.4 s, duration=2 s"
    above = (
        "topology.buffer=100 KB, scheme.cp.set_point=120 KB, hotspot.until=1.5 s, duration=2.5 s"
    )
    assert [each.split(":\n")[0] for each in told] == [f"{ended} and 3 more", f"{above} and 2 more"]
    assert "after the end" in told[0] or "2.4 s" in told[0]
    assert "120 KB" in told[1] and "100 KB" in told[1]


def test_the_checks_of_a_sweep_build_few_networks(short: qcnlab.Scenario) -> None:
    """As many as there are numbers of sources, whatever else varies and in whatever order."""
    sources = [f"topology.sources={number}" for number in range(1, 21)]
    for other in ("topology.rtt={} us", "scheme.rp.ai_rate={} Mb/s", "topology.buffer=1{}0 KB"):
        many = [other.format(number) for number in range(1, 21)]
        for axes in ([sources, many], [many, sources]):
            points = _core.Grid(short._core, [], axes, [])
            _, refused, networks = points.check(0, 400)
            # Each thread begins its rows of points with a network of its own.
            assert refused == 0 and 20 <= networks <= 20 + 2 * (os.cpu_count() or 1)


@pytest.mark.parametrize("jobs", ["0", "-1", "two", "5000"])
def test_bad_jobs(cli: CommandLine, jobs: str) -> None:
    done = cli("sweep", HOTSPOT, *VARY_FLAGS, "-j", jobs)
    assert done.returncode == 2
    assert "'--jobs'" in done.stderr
    assert cli.left() == []


@pytest.mark.parametrize("there", [False, True])
def test_a_full_disk_leaves_no_empty_folder(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch, *, there: bool
) -> None:
    def full(path: Path, data: bytes) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    if there:
        (cli.folder / "deep").mkdir()
    monkeypatch.setattr(store, "write_whole", full)
    done = cli("sweep", HOTSPOT, *SHORT_FLAGS, *VARY_FLAGS, "-o", "deep/out")
    assert done.returncode == 2
    assert done.stderr.endswith(
        "error: cannot write the folder 'deep/out': No space left on device; choose another with "
        "-o DIR\n"
    )
    # What was there before stays.
    assert cli.left() == (["deep"] if there else [])


@pytest.mark.parametrize("key", ["scheme.cp.w", "seed", "topology.sources"])
def test_a_long_axis_of_whole_numbers_is_that_of_its_scenarios(
    short: qcnlab.Scenario, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    vary = {"topology.rtt": ["10 us", "20 us"], key: [str(number) for number in range(1, 31)]}
    one_by_one = grid.build(short, (), vary, seeded=False, progress=False)
    monkeypatch.setattr(grid, "LONG", 10)
    together = grid.build(short, (), vary, seeded=False, progress=False)
    assert together.axes == one_by_one.axes
    assert together.digest != one_by_one.digest
    other = grid.build(
        short, (), {**vary, key: [*vary[key][:-1], "31"]}, seeded=False, progress=False
    )
    assert other.digest != together.digest


def test_a_dry_run_names_the_ends_of_a_long_axis(cli: CommandLine) -> None:
    done = cli("sweep", HOTSPOT, *SHORT_FLAGS, "--vary", "seed=1..2000", "--dry-run")
    assert "seed    1, 2, 3, ..., 2000 (2,000 values)" in done.stdout


def test_a_dry_run_writes_nothing(cli: CommandLine) -> None:
    done = cli("sweep", HOTSPOT, *SHORT_FLAGS, *VARY_FLAGS, "--reps", "2", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "4 points, 2 replications each: 8 runs, 0.32 s of simulated time" in done.stdout
    assert cli.left() == []


def test_the_command(cli: CommandLine, folder: Path) -> None:
    words = ("sweep", HOTSPOT, *SHORT_FLAGS, *VARY_FLAGS, "--reps", "2", "--seed", "3")
    done = cli(*words)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    [line] = [line for line in done.stdout.splitlines() if line.startswith("5        10 us")]
    assert "[" in line
    out = cli.folder / done.stdout.splitlines()[-1]
    assert out.parent.name == "runs"
    assert files(out)["metrics.parquet"] == files(folder)["metrics.parquet"]
    again = cli(*words, "--json", "--metric", "drops")
    assert "8 of 8 runs are in" in again.stderr
    printed = json.loads(again.stdout)
    assert printed["folder"] == str(out.relative_to(cli.folder))
    told = {key: printed[key] for key in printed if key != "folder"}
    assert told == qcnlab.open_sweep(out).summary()
    assert unlike(told, SweepSummary, PrecisionEntry=PrecisionEntry) == []
    drawn = cli("plot", str(out))
    assert drawn.stdout.splitlines() == [str(out / "sweep.svg"), str(out / "sweep.png")]


def test_a_folder_of_another_sweep_is_refused(short: qcnlab.Scenario, folder: Path) -> None:
    before = files(folder)
    other = short.with_("scheme.cp.w=4")
    with pytest.raises(qcnlab.FolderError) as raised:
        qcnlab.sweep(other, vary={"topology.sources": [2, 9]}, reps=3, out=folder)
    for words in (
        "topology.sources: there 2, 5, here 2, 9",
        "topology.rtt: there 10 us, 200 us, here not varied",
        "replications: there 2, here 3",
        "seed: there 3, here 1",
        "scheme.cp.w: there 2, here 4",
        "--fresh",
    ):
        assert words in str(raised.value)
    assert files(folder) == before


def test_a_folder_of_something_else_is_left_alone(short: qcnlab.Scenario, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("keep")
    for fresh in (False, True):
        with pytest.raises(qcnlab.FolderError, match="is no sweep's folder and is left as it is"):
            qcnlab.sweep(short, vary=VARY, out=tmp_path, fresh=fresh)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


@pytest.fixture
def half(folder: Path, tmp_path: Path) -> Path:
    """The folder of the same sweep with three of its eight runs."""
    out = tmp_path / "half"
    out.mkdir()
    lines = (folder / "runs.jsonl").read_bytes().splitlines(keepends=True)
    (out / "runs.jsonl").write_bytes(b"".join([lines[0], lines[7], lines[2], lines[4]]))
    (out / "sweep.json").write_bytes((folder / "sweep.json").read_bytes())
    return out


def go_on(short: qcnlab.Scenario, out: Path) -> qcnlab.Sweep:
    return qcnlab.sweep(short, vary=VARY, reps=2, seed=3, out=out)


def test_only_what_is_missing_is_run(short: qcnlab.Scenario, half: Path, folder: Path) -> None:
    lines = (half / "runs.jsonl").read_bytes().splitlines(keepends=True)
    record = json.loads(lines[1])
    lines[1] = run_line((record["point"], record["replication"]), [-7.0, *record["metrics"][1:]])
    (half / "runs.jsonl").write_bytes(b"".join(lines))
    swept = go_on(short, half).to_polars()
    kept = swept.filter(pl.col("recovery_ms") == -7)
    assert kept.select("point", "replication").rows() == [(3, 0)]
    others = swept.filter(pl.col("point") != 3)
    assert others.equals(pl.read_parquet(folder / "metrics.parquet").filter(pl.col("point") != 3))


NESTED = b"[" * 100_000 + b"]" * 100_000
DAMAGES: dict[str, tuple[str, Any]] = {
    "a half line": ("runs.jsonl", lambda data: data[:-20]),
    "a line without its end": ("runs.jsonl", lambda data: data[:-1]),
    "a line of zeros": ("runs.jsonl", lambda data: data + b"\0" * 100),
    "a wrong point": ("runs.jsonl", lambda data: data.replace(b'"point":3', b'"point":9')),
    "not a number": ("runs.jsonl", lambda data: data.replace(b",0.0],", b",NaN],")),
    "no finite number": ("runs.jsonl", lambda data: data.replace(b",0.0],", b",1e999],")),
    "a text for a number": ("runs.jsonl", lambda data: data.replace(b",0.0],", b',"0"],')),
    "half a point": ("runs.jsonl", lambda data: data.replace(b'"point":3', b'"point":3.0')),
    "a line nested deeply": ("runs.jsonl", lambda data: data + NESTED + b"\n"),
    "a manifest nested deeply": ("sweep.json", lambda _: NESTED),
    "a manifest of other types": (
        "sweep.json",
        lambda data: data.replace(b'"replications": 2', b'"replications": "2"'),
    ),
    "half a manifest": ("sweep.json", lambda data: data[: len(data) // 2]),
    "an empty manifest": ("sweep.json", lambda _: b""),
    "half a head": ("runs.jsonl", lambda data: data[8:]),
}


@pytest.mark.parametrize("case", DAMAGES)
def test_what_is_damaged_is_run_again(
    short: qcnlab.Scenario, half: Path, folder: Path, case: str
) -> None:
    name, damage = DAMAGES[case]
    (half / name).write_bytes(damage((half / name).read_bytes()))
    (half / ".metrics.csv.partial-1").write_bytes(b"half")
    silent = case in ("a line without its end", "half a head")
    if silent:
        go_on(short, half)
    else:
        with pytest.warns(UserWarning, match="damaged"):
            go_on(short, half)
    assert files(half) == files(folder)
    assert {path.name for path in half.iterdir()} == {
        *TABLES, "SHA256SUMS", "sweep.json", "sweep.png",
    }  # fmt: skip


def test_the_command_tells_what_is_damaged(cli: CommandLine, half: Path, folder: Path) -> None:
    (half / "runs.jsonl").write_bytes((half / "runs.jsonl").read_bytes()[:-20])
    words = ("sweep", HOTSPOT, *SHORT_FLAGS, *VARY_FLAGS, "--reps", "2", "--seed", "3")
    done = cli(*words, "-o", str(half))
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines() == [
        f"2 of 8 runs are in '{half}' already",
        f"'{half}': a line of runs.jsonl half written or damaged; what it held is rerun",
    ]
    assert files(half) == files(folder)
    assert "\n  sweep " in cli("--help").stdout


def test_runs_without_a_manifest_of_another_sweep(short: qcnlab.Scenario, half: Path) -> None:
    (half / "sweep.json").unlink()
    with pytest.raises(qcnlab.FolderError, match=r"another sweep's and its sweep\.json is damaged"):
        qcnlab.sweep(short, vary=VARY, reps=2, seed=4, out=half)
    started = qcnlab.sweep(short, vary=VARY, reps=2, seed=4, out=half, fresh=True)
    assert started.seed == 4


def test_half_a_sweep_is_not_read(half: Path, cli: CommandLine) -> None:
    with pytest.raises(qcnlab.FolderError, match="5 of 8 runs are missing; to go on: qcnlab"):
        qcnlab.open_sweep(half)
    done = cli("plot", str(half))
    assert done.returncode == 2
    assert "5 of 8 runs are missing" in done.stderr
    (half / "sweep.json").write_bytes(b"{")
    with pytest.raises(qcnlab.FolderError, match="manifest is damaged"):
        qcnlab.open_sweep(half)


def test_a_failure_names_its_point_and_others_are_kept(
    short: qcnlab.Scenario, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    vary: dict[str, list[object]] = {"scheme.name": ["qcn", "python:test_foreign:Raises"]}
    with pytest.raises(
        qcnlab.Error, match=r"^at scheme\.name=python:test_foreign:Raises: "
    ) as raised:
        qcnlab.sweep(short, vary=vary, reps=2, out=out)
    assert "(1 other run failed, too)" in str(raised.value)
    assert len((out / "runs.jsonl").read_bytes().splitlines()) == 1 + 2


LONGER = ("-s", "duration=150 ms")
MANY = (
    "--vary",
    "topology.sources=2..9",
    "--vary",
    "topology.rtt=10 us,200 us",
    "--reps",
    "4",
    *LONGER,
)


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_stopped_sweep_goes_on(
    cli: CommandLine, short: qcnlab.Scenario, sign: signal.Signals, whole: dict[str, bytes]
) -> None:
    words = ["sweep", HOTSPOT, *SHORT_FLAGS, *MANY, "-o", "out"]
    process = subprocess.Popen(
        command([*words, "-j", "1"]), cwd=cli.folder, stderr=subprocess.PIPE, text=True
    )
    journal = cli.folder / "out/runs.jsonl"
    deadline = time.monotonic() + 60
    while not journal.exists() or journal.read_bytes().count(b"\n") < 3:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(sign)
    _, err = process.communicate(timeout=60)
    assert process.returncode == {"SIGINT": 130, "SIGTERM": 143, "SIGKILL": -9}[sign.name]
    have = journal.read_bytes().count(b"\n") - 1
    assert 2 <= have < 64
    assert not (cli.folder / "out/metrics.parquet").exists()
    if sign != signal.SIGKILL:
        assert f"{have} of 64 runs are done and kept in 'out'; to go on:\n  qcnlab sweep" in err
        assert "Traceback" not in err
    again = cli(*words)
    assert again.returncode == 0, again.stderr
    assert f"{have} of 64 runs are in 'out' already" in again.stderr
    assert files(cli.folder / "out") == whole


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of the sweep `MANY`, never stopped."""
    folder = tmp_path_factory.mktemp("whole")
    done = CommandLine(folder)("sweep", HOTSPOT, *SHORT_FLAGS, *MANY, "-o", "out")
    assert done.returncode == 0, done.stderr
    return files(folder / "out")


def test_two_at_once_are_refused(short: qcnlab.Scenario, half: Path) -> None:
    fcntl = pytest.importorskip("fcntl")
    handle = os.open(half, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    with pytest.raises(qcnlab.FolderError, match="another process is filling"):
        go_on(short, half)
    os.close(handle)
    assert go_on(short, half).replications == 2


def test_a_flipped_bit_is_told_or_harmless(folder: Path, tmp_path: Path) -> None:
    names = ("sweep.json", "runs.jsonl", "metrics.parquet", "metrics.csv", "SHA256SUMS")
    # Only the head of the journal, which names its sweep once more, may be damaged in silence.
    assert flipped_and_told(folder, tmp_path / "out", names) >= len(names) * FLIPS - 10
