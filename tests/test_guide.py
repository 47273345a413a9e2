"""The guides to scenario files and sweeps say what is so."""

from __future__ import annotations

import json
import re
import shlex
from contextlib import chdir
from pathlib import Path

import qcnlab
from conftest import CommandLine
from qcnlab import _core

GUIDE = Path(__file__).parents[1] / "docs/guide/scenario-files.md"
SWEEPS = GUIDE.with_name("sweeps.md").read_text(encoding="utf-8")
TEXT = GUIDE.read_text(encoding="utf-8")


def test_its_scenario_runs() -> None:
    blocks = re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL)
    assert len(blocks) == 1
    scenario = qcnlab.Scenario.from_toml(blocks[0]).with_("duration=20ms")
    result = qcnlab.run(scenario, progress=False)
    assert result.summary["bottleneck"]["port"] in {"core->edge5", "edge5->node6"}
    assert result.summary["metrics"]["drops"]["median"] == 0


def test_its_tables_name_every_kind_and_key() -> None:
    parameters = {entry["key"]: entry for entry in json.loads(_core.parameters())}
    for key, start in (("topology.kind", "## Networks"), ("traffic.kind", "## Traffic")):
        part = TEXT[TEXT.index(start) :].split("\n## ")[0]
        rows = [line for line in part.splitlines() if line.startswith("| `")]
        named = {word for line in rows for word in re.findall(r"`(\w+)`", line.split("|")[1])}
        assert named == {choice["name"] for choice in parameters[key]["choices"]}
    for table in ("switch", "adapter", "pause", "record"):
        for word in re.findall(rf"`\[{table}\] (\w+)`", TEXT):
            assert f"{table}.{word}" in parameters


def test_the_sweeps_of_the_guide_can_be_run(cli: CommandLine) -> None:
    blocks = re.findall(r"^```\n(qcnlab sweep .*?)^```", SWEEPS, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 3
    for block in blocks:
        words = [word for word in shlex.split(block)[1:] if word != "--dry-run"]
        done = cli(*words, "--dry-run")
        assert done.returncode == 0, done.stderr


def test_the_python_of_the_guide_runs(tmp_path: Path) -> None:
    [block] = re.findall(r"```python\n(.*?)```", SWEEPS, re.DOTALL)
    short = '").with_("duration=0.2 s", "hotspot.until=0.15 s", "hotspot.from=0.1 s", "warmup=0 s")'
    with chdir(tmp_path):
        exec(block.replace('rtt10us")', f"rtt10us{short}"), {})
    assert (tmp_path / "sweep.svg").exists()


def test_the_commands_of_the_wireshark_page_run(cli: CommandLine, tmp_path: Path) -> None:
    page = GUIDE.with_name("wireshark.md").read_text(encoding="utf-8")
    run, frames = re.findall(r"^```\n(qcnlab .*?)^```", page, re.MULTILINE | re.DOTALL)
    words = [word.replace("runs/", f"{tmp_path}/") for word in shlex.split(run)[1:]]
    done = cli(*words)
    assert done.returncode == 0, done.stderr
    shown = cli(*(word.replace("runs/", f"{tmp_path}/") for word in shlex.split(frames)[1:]))
    assert shown.returncode == 0, shown.stderr
    assert len(shown.stdout.splitlines()) > 5


def test_the_python_of_the_cluster_page_runs(tmp_path: Path) -> None:
    page = GUIDE.with_name("sweeps-on-a-cluster.md").read_text(encoding="utf-8")
    [block] = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    short = '").with_("duration=0.2 s", "hotspot.until=0.15 s", "hotspot.from=0.1 s", "warmup=0 s")'
    with chdir(tmp_path):
        exec(block.replace('rtt10us")', f"rtt10us{short}"), {})


def test_the_tuning_page_runs(cli: CommandLine, tmp_path: Path) -> None:
    page = GUIDE.with_name("tuning.md").read_text(encoding="utf-8")
    block, *_ = re.findall(r"^```\n(qcnlab .*?)^```", page, re.MULTILINE | re.DOTALL)
    words = [*shlex.split(block)[1:], "-s", "duration=0.2 s", "-s", "hotspot.from=0.1 s"]
    words += ["-s", "hotspot.until=0.15 s", "-s", "warmup=0 s", "--trials", "2", "--reps", "1"]
    done = cli(*words)
    assert done.returncode == 0, done.stderr
    assert (cli.folder / "front" / "tune.svg").exists()
    [code] = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    short = '").with_("duration=0.2 s", "hotspot.until=0.15 s", "hotspot.from=0.1 s", "warmup=0 s")'
    with chdir(tmp_path):
        exec(code.replace('rtt10us")', f"rtt10us{short}"), {})
    assert (tmp_path / "tune.svg").exists()
