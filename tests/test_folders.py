"""Run folders: whole or absent, and byte-identical."""

from __future__ import annotations

import errno
import json
import os
import pickle
import random
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import qcnlab
from conftest import HOTSPOT, SHORT_FLAGS, CommandLine
from qcnlab.files.folders import NewFolder
from qcnlab.runs.live_account import Account
from qcnlab.runs.meta import Meta
from typed_dicts import unlike

TABLES = (
    "queues", "rates", "throughput", "messages", "drops", "pauses", "windows", "flows", "metrics",
)  # fmt: skip
FILES = {"SHA256SUMS", "config.toml", "managed.json", "meta.json", "summary.json"} | {
    f"{name}.parquet" for name in TABLES
}
# The date and the times of a run are its own, and so is their checksum.
SAME = FILES - {"meta.json", "SHA256SUMS"}


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_saved_run_reads_back(result: qcnlab.Result, tmp_path: Path) -> None:
    folder = result.save(tmp_path / "run")
    again = qcnlab.open_run(folder)
    assert set(contents(folder)) == FILES
    assert again.summary == result.summary
    assert again.meta == result.meta
    assert again.config == result.config
    for name in TABLES:
        before, after = result.table(name), again.table(name)
        assert after.units == before.units
        assert after.columns == before.columns
        for column, values in before.to_numpy().items():
            np.testing.assert_array_equal(after.to_numpy()[column], values)


def test_reruns_are_byte_identical_on_one_and_two_threads(
    short: qcnlab.Scenario, tmp_path: Path
) -> None:
    saved = [
        contents(qcnlab.run(short, reps=3, seed=2, jobs=jobs).save(tmp_path / str(index)))
        for index, jobs in enumerate((1, 2, 2))
    ]
    for name in sorted(SAME):
        assert saved[0][name] == saved[1][name] == saved[2][name], name


def test_meta_tells_where_it_comes_from(result: qcnlab.Result, tmp_path: Path) -> None:
    meta = json.loads((result.save(tmp_path / "run") / "meta.json").read_bytes())
    assert unlike(meta, Meta, Account=Account) == []
    assert set(meta["versions"]) == {"qcnlab", "python", "polars"}
    assert meta["seed"] == 5
    assert meta["replications"] == 3
    assert meta["hash"] == result.summary.hash
    assert meta["units"]["queues"]["queue_bytes"] == "B"
    assert meta["wall_s"] > 0
    assert meta["cpu_s"] > 0


def test_default_folders_are_numbered(
    result: qcnlab.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    stem = f"runs/{result.name}-{result.summary.hash[:8]}"
    assert [str(result.save()) for _ in range(3)] == [stem, f"{stem}-2", f"{stem}-3"]


def test_an_existing_folder_is_left_alone(result: qcnlab.Result, tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.mkdir()
    with pytest.raises(qcnlab.FolderError, match="exists already"):
        result.save(taken)
    assert list(tmp_path.iterdir()) == [taken]
    assert list(taken.iterdir()) == []


def test_nothing_is_left_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), NewFolder(tmp_path / "a" / "b" / "run") as folder:
        (folder.path / "half.parquet").write_bytes(b"half")
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_there_until_the_end(tmp_path: Path) -> None:
    with NewFolder(tmp_path / "run") as folder:
        (folder.path / "file").write_bytes(b"")
        assert not (tmp_path / "run").exists()
        assert folder.path.name.startswith(".")
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_folder_that_appears_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    with pytest.raises(qcnlab.FolderError, match="exists"), NewFolder(tmp_path / "run"):
        (tmp_path / "run").mkdir()
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


@pytest.mark.parametrize("folder", ["file/run", "file/deeper/run"])
def test_a_folder_that_cannot_be_made(tmp_path: Path, folder: str) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(qcnlab.FolderError, match="cannot write"), NewFolder(tmp_path / folder):
        raise AssertionError
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(qcnlab.FolderError, match="cannot write"), NewFolder(tmp_path / "run"):
            raise AssertionError
    finally:
        tmp_path.chmod(0o700)


@pytest.mark.parametrize("missing", ["meta.json", "summary.json", "config.toml"])
def test_a_half_folder_is_not_a_run(result: qcnlab.Result, tmp_path: Path, missing: str) -> None:
    folder = result.save(tmp_path / "run")
    (folder / missing).unlink()
    with pytest.raises(qcnlab.FolderError, match="not a run folder"):
        qcnlab.open_run(folder)


HALVES = {
    "nothing but tables": (("config.toml", "meta.json", "summary.json"), "summary.json and meta"),
    "no end": (("meta.json",), "not a run folder: meta.json missing; a run was killed while it"),
}


@pytest.mark.parametrize("case", HALVES)
def test_what_a_half_folder_lacks_is_told(
    result: qcnlab.Result, cli: CommandLine, case: str
) -> None:
    missing, words = HALVES[case]
    folder = result.save(cli.folder / "run")
    for name in missing:
        (folder / name).unlink()
    done = cli("plot", "run")
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_folder_left_by_a_kill_is_told(cli: CommandLine) -> None:
    (cli.folder / ".run.partial-77").mkdir()
    done = cli("plot", ".run.partial-77")
    assert "config.toml and summary.json and meta.json missing; a run was killed" in done.stderr
    assert "there is no such folder" in cli("plot", "nowhere").stderr


def test_half_a_file_is_told(result: qcnlab.Result, cli: CommandLine) -> None:
    folder = result.save(cli.folder / "run")
    (folder / "summary.json").write_bytes((folder / "summary.json").read_bytes()[:99])
    done = cli("plot", "run")
    assert done.returncode == 2
    assert "half written: remove the folder and run again" in done.stderr


def nested(levels: int) -> str:
    return "[" * levels + "]" * levels


SPOILED: dict[str, tuple[str, Callable[[str], str]]] = {
    "config.toml, cut in a line": ("config.toml", lambda text: text[: len(text) // 2]),
    "config.toml, cut after a line": ("config.toml", lambda text: text[: text.index("[topology]")]),
    "config.toml, a time that is none": (
        "config.toml",
        lambda text: text.replace('from = "10 ms"', "from = []"),
    ),
    "summary.json, a list": ("summary.json", lambda _: "[]"),
    "summary.json, nothing in it": ("summary.json", lambda _: "{}"),
    "summary.json, metrics that are none": (
        "summary.json",
        lambda text: json.dumps({**json.loads(text), "metrics": {"jain": 1}}),
    ),
    "summary.json, nested": ("summary.json", lambda _: nested(100_000)),
    "summary.json, empty": ("summary.json", lambda _: ""),
    "meta.json, a number": ("meta.json", lambda _: "3"),
    "meta.json, nested": ("meta.json", lambda _: nested(100_000)),
}


@pytest.mark.parametrize("case", SPOILED)
def test_a_spoiled_file_is_told_in_one_line(
    result: qcnlab.Result, cli: CommandLine, case: str
) -> None:
    name, spoil = SPOILED[case]
    path = result.save(cli.folder / "run") / name
    path.write_text(spoil(path.read_text(encoding="utf-8")), encoding="utf-8")
    before = cli.left()
    done = cli("plot", "run")
    assert done.returncode == 2
    assert done.stderr.startswith("error: 'run' is not a run folder: ")
    assert done.stderr.count("\n") == 1
    assert cli.left() == before


@pytest.mark.parametrize("name", ["summary.json", "meta.json"])
def test_a_file_that_is_not_json_is_named(result: qcnlab.Result, tmp_path: Path, name: str) -> None:
    folder = result.save(tmp_path / "run")
    (folder / "SHA256SUMS").unlink()
    for text in ("", "{", '{"a": NaN}', nested(100_000)):
        (folder / name).write_text(text)
        with pytest.raises(qcnlab.FolderError, match=f"'.*' is not a run folder: {name}: "):
            qcnlab.open_run(folder)


def test_a_run_whose_folder_cannot_be_written_prints_its_metrics(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: qcnlab.Result, folder: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(qcnlab.Result, "write_into", full)
    done = cli("run", HOTSPOT, *SHORT_FLAGS, "--reps", "1", "-o", "out")
    assert done.returncode == 2
    assert re.search(r"^queue_max_bytes .* [\d,]+$", done.stdout, re.MULTILINE)
    assert done.stderr == "error: cannot write the folder 'out': No space left on device\n"
    printed = cli("run", HOTSPOT, *SHORT_FLAGS, "--reps", "1", "-o", "out", "--json")
    assert printed.returncode == 2
    assert json.loads(printed.stdout)["folder"] is None
    assert cli.left() == []


@pytest.mark.parametrize(
    ("name", "words"),
    [("sweep.json", "open_sweep"), ("demo.json", "demonstration"), ("analysis.json", "analysis")],
)
def test_other_folders_are_told_apart(tmp_path: Path, name: str, words: str) -> None:
    (tmp_path / name).write_text("{}")
    with pytest.raises(qcnlab.FolderError, match=words):
        qcnlab.open_run(tmp_path)


def test_a_run_folder_is_no_scenario_but_has_one(result: qcnlab.Result, tmp_path: Path) -> None:
    folder = result.save(tmp_path / "run")
    with pytest.raises(qcnlab.ScenarioError, match=r"its scenario as '.*config\.toml"):
        qcnlab.load(folder)
    assert qcnlab.load(folder / "config.toml").to_toml() == result.config


def test_a_broken_table_is_told(result: qcnlab.Result, tmp_path: Path) -> None:
    folder = result.save(tmp_path / "run")
    (folder / "queues.parquet").write_bytes(b"PAR1 no more")
    again = qcnlab.open_run(folder)
    with pytest.raises(qcnlab.FolderError, match=r"queues\.parquet.*to run it again: "):
        _ = again.queues
    (folder / "drops.parquet").unlink()
    with pytest.raises(qcnlab.FolderError, match=r"drops\.parquet.*No such file"):
        _ = again.drops


def test_a_flipped_bit_of_a_run_folder_is_told(result: qcnlab.Result, tmp_path: Path) -> None:
    folder = result.save(tmp_path / "run")
    dice = random.Random(2)
    names = sorted(path.name for path in folder.iterdir())
    assert {"SHA256SUMS", "config.toml", "meta.json", "queues.parquet", "summary.json"} < {*names}
    for name in names:
        data = (folder / name).read_bytes()
        for _ in range(6):
            flipped = bytearray(data)
            flipped[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
            (folder / name).write_bytes(flipped)
            with pytest.raises(qcnlab.FolderError):
                pickle.dumps(qcnlab.open_run(folder))
        (folder / name).write_bytes(data)
    assert pickle.dumps(qcnlab.open_run(folder))
