"""Sweeps whose table is in parts: the rows of one table, whoever stops and whatever is damaged."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import qcnlab
from conftest import HOTSPOT, SHORT_FLAGS, extra
from damage import FLIPS, flipped_and_told
from qcnlab import Precision
from qcnlab.sweeps import runs as runs_module
from qcnlab.sweeps.grid import build
from qcnlab.sweeps.known import Manifest
from qcnlab.sweeps.running import describe
from qcnlab.sweeps.runs import Runs, rows_in_a_part
from qcnlab.sweeps.store import Store

VARY: dict[str, list[object]] = {"topology.sources": [2, 5], "topology.rtt": ["10us", "0.2 ms"]}
VARY_FLAGS = ("--vary", "topology.sources=2,5", "--vary", "topology.rtt=10us,0.2 ms")
REPS, ROWS = 2, 3
PARTS = ["part-00000.parquet", "part-00001.parquet", "part-00002.parquet"]


@pytest.fixture(autouse=True)
def three_rows_in_a_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs_module, "ROWS_IN_A_PART", ROWS)


def sweep(scenario: qcnlab.Scenario, out: Path | None, on: object = None) -> qcnlab.Sweep:
    return qcnlab.sweep(scenario, vary=VARY, reps=REPS, seed=3, out=out, on=on)


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix != ".png"
    }


@pytest.fixture(scope="module")
def folder(short: qcnlab.Scenario, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished sweep of eight runs in parts of three."""
    out = tmp_path_factory.mktemp("parts") / "out"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs_module, "ROWS_IN_A_PART", ROWS)
        sweep(short, out)
    return out


def known_of(scenario: qcnlab.Scenario) -> Manifest:
    """Return the manifest of the sweep."""
    grid = build(scenario, (), VARY, seeded=True, progress=False)
    return describe(grid, REPS, 3, "qcnlab.sweep with the same arguments")


@pytest.fixture(scope="module")
def undivided(short: qcnlab.Scenario) -> qcnlab.Sweep:
    return sweep(short, None)


def test_the_parts_are_the_rows_of_one_table(folder: Path, undivided: qcnlab.Sweep) -> None:
    assert sorted(path.name for path in (folder / "metrics").iterdir()) == PARTS
    heights = [pl.read_parquet(folder / "metrics" / name).height for name in PARTS]
    assert heights == [3, 3, 2]
    assert pl.read_parquet(folder / "metrics/*.parquet").equals(undivided.to_polars())
    assert not (folder / "metrics.parquet").exists()
    assert not (folder / "metrics.csv").exists()
    assert (folder / "sweep.svg").exists()


def test_its_journal_has_a_line_for_each_part_and_none_for_a_run(folder: Path) -> None:
    head, *lines = (folder / "runs.jsonl").read_text().splitlines()
    assert head.startswith('{"sweep":')
    assert [line.split(",")[0] for line in lines] == ['{"part":0', '{"part":1', '{"part":2']
    check = shutil.which("sha256sum") or pytest.skip("there is no sha256sum")
    subprocess.run([check, "--check", "--strict", "SHA256SUMS"], cwd=folder, check=True)


def test_it_is_opened_lazily(folder: Path, undivided: qcnlab.Sweep) -> None:
    again = qcnlab.open_sweep(folder)
    busy = pl.col("topology.sources") == 5
    some = again.scan().filter(busy).select("point", "drops")
    assert "Parquet SCAN" in some.explain()
    assert some.collect().equals(undivided.scan().filter(busy).select("point", "drops").collect())
    assert again.summary() == undivided.summary()
    assert again.text(200) == undivided.text(200)
    assert again.to_polars().equals(undivided.to_polars())
    assert again.runs == [2, 2, 2, 2]


def test_duckdb_reads_the_folder(folder: Path, undivided: qcnlab.Sweep) -> None:
    duckdb = extra("duckdb")
    query = f"SELECT sum(drops) FROM '{folder}/metrics/*.parquet'"
    [(drops,)] = duckdb.sql(query).fetchall()
    assert drops == undivided.to_polars()["drops"].sum()


def test_an_executor_gives_the_same_bytes(
    short: qcnlab.Scenario, folder: Path, tmp_path: Path
) -> None:
    with ThreadPoolExecutor(2) as pool:
        sweep(short, tmp_path / "out", pool)
    assert files(tmp_path / "out") == files(folder)


@pytest.mark.parametrize("ended", range(9))
def test_it_goes_on_from_any_run_to_the_same_bytes(
    short: qcnlab.Scenario, folder: Path, undivided: qcnlab.Sweep, tmp_path: Path, ended: int
) -> None:
    """What a kill leaves after so many runs, in an order of their own."""
    out = tmp_path / "out"
    rows = undivided.to_polars()
    order = random.Random(ended).sample(range(8), ended)
    store = Store(out, known_of(short))
    with store.opened():
        for row in order:
            values = [rows[name][row] for name in store.known["metrics"]]
            store.add([(divmod(row, REPS), values)])
    with pytest.raises(qcnlab.FolderError, match=f"{8 - ended} of 8 runs|SHA256SUMS|metrics"):
        qcnlab.open_sweep(out)
    (out / "metrics").mkdir(exist_ok=True)
    (out / "metrics/.part-00002.parquet.partial-1.parquet").write_bytes(b"half")
    (out / "metrics/part-00001.parquet").touch()  # killed before its line was written
    sweep(short, out)
    assert files(out) == files(folder)


def test_a_kill_in_the_middle_of_a_part_loses_nothing(
    short: qcnlab.Scenario, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    words = ["sweep", HOTSPOT, *SHORT_FLAGS, "-s", "duration=300 ms", *VARY_FLAGS, "--reps", "2"]
    words += ["--seed", "3", "-j", "1"]
    program = (
        "from qcnlab.sweeps import runs; runs.ROWS_IN_A_PART = 3\n"
        f"from qcnlab.cli.program import main; main({[*words, '-o', str(out)]!r})"
    )
    process = subprocess.Popen([sys.executable, "-c", program])
    deadline = time.monotonic() + 60
    while not (out / "metrics/part-00000.parquet").exists():
        assert time.monotonic() < deadline
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    longer = short.with_("duration=300 ms")
    sweep(longer, out)
    sweep(longer, tmp_path / "whole")
    # The manifest has the command that started it.
    assert files(out) | {"sweep.json": b""} == files(tmp_path / "whole") | {"sweep.json": b""}


def test_a_flipped_bit_of_any_file_is_told(
    short: qcnlab.Scenario, folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    names = ("sweep.json", "runs.jsonl", "SHA256SUMS", *(f"metrics/{part}" for part in PARTS))
    # The head of the journal names the sweep once more, and may be damaged in silence; white space
    # of the manifest means nothing.
    assert flipped_and_told(folder, out, names, "runs.jsonl") >= len(names) * FLIPS - 3
    part = out / "metrics" / PARTS[1]
    part.write_bytes(part.read_bytes()[:-1] + b"\0")
    with pytest.raises(qcnlab.FolderError, match=r"3 of 8 runs are missing(.|\n)*part-00001"):
        qcnlab.open_sweep(out)
    with pytest.warns(UserWarning, match=r"metrics/part-00001\.parquet damaged or missing"):
        sweep(short, out)
    assert files(out) == files(folder)


def test_with_a_precision_a_part_has_whole_points(
    short: qcnlab.Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = Precision("queue_mean_bytes", share=0.03, least=6, most=20)
    vary: dict[str, list[object]] = {"topology.rtt": ["10 us", "0.5 ms", "20 us"]}

    def precise(out: Path | None) -> qcnlab.Sweep:
        return qcnlab.sweep(short, vary=vary, seed=3, out=out, precision=wanted)

    monkeypatch.setattr(runs_module, "ROWS_IN_A_PART", 1000)
    together = precise(None)
    monkeypatch.setattr(runs_module, "ROWS_IN_A_PART", 45)
    out = tmp_path / "out"
    assert precise(out).runs == together.runs
    points = [pl.read_parquet(out / "metrics" / name)["point"].to_list() for name in PARTS[:2]]
    assert [sorted(set(each)) for each in points] == [[0, 1], [2]]
    assert len(points[0]) == sum(together.runs[:2])
    assert qcnlab.open_sweep(out).to_polars().equals(together.to_polars())
    before = files(out)
    (out / "metrics" / PARTS[0]).unlink()
    with pytest.warns(UserWarning, match="part-00000"):
        precise(out)
    assert files(out) == before


def test_parts_of_whole_points_hold_one_point_at_least() -> None:
    # 7 replications do not fit into 3 rows; 2 fit into 3 once.
    assert rows_in_a_part(4, 7, whole_points=True) == 7
    assert rows_in_a_part(4, 2, whole_points=True) == 2
    assert rows_in_a_part(4, 2, whole_points=False) == 3
    assert rows_in_a_part(1, 3, whole_points=False) is None


def test_memory_and_journal_are_bounded_by_what_is_under_way(
    short: qcnlab.Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """20,000 runs that end up to 150 too late, in parts of 500: two parts are open at most."""
    monkeypatch.setattr(runs_module, "ROWS_IN_A_PART", 500)
    known: Manifest = {**known_of(short), "vary": {"seed": list(range(2000))}, "replications": 10}
    rows = rows_in_a_part(2000, 10, whole_points=False)
    assert rows is not None
    known["rows_in_a_part"] = rows
    dice = np.random.default_rng(1)
    order = np.argsort(np.arange(20_000) + dice.uniform(0, 150, 20_000)).tolist()
    store = Store(tmp_path / "out", known)
    values: list[float | None] = [1.0] * len(known["metrics"])
    in_memory, journal = [], []
    with store.opened():
        for start in range(0, 20_000, 50):
            store.add([(divmod(number, 10), values) for number in order[start : start + 50]])
            in_memory.append(store.runs.in_memory_count)
            journal.append((tmp_path / "out/runs.jsonl").read_bytes().count(b"\n"))
        store.settle(store.runs.parts)
        store.finish()
    assert max(in_memory) <= 500 + 150
    # No more than two lines for each run in memory, a part's lines, and 40 lines of parts.
    assert max(journal) <= 2 * (500 + 150) + 500 + 41
    assert len(store.runs) == 20_000
    again = Runs(known)
    assert again.missing(again.parts)[0] == 20_000
