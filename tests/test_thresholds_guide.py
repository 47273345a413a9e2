"""The guide to thresholds: its commands do what it says, in small."""

from __future__ import annotations

import shlex
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from conftest import ROOT, CommandLine
from test_blocks import blocks

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("optuna")

GUIDE = ROOT / "docs/guide/thresholds.md"
SMALL = ("-s", "duration=100 us", "--trials", "2", "--cases", "own", "--no-flatness")


def test_the_page_does_what_it_says(tmp_path: Path) -> None:
    here, told = CommandLine(tmp_path), {}
    for block in blocks(GUIDE):
        for line in block.commands if block.mark else ():
            words = shlex.split(line, comments=True)
            if words[0] == "python":
                subprocess.run([sys.executable, str(ROOT / words[1]), *words[2:]],
                               cwd=tmp_path, check=True)  # fmt: skip
                continue
            if words[1] == "advise":
                at = words.index("--trials")
                words[at : at + 2] = SMALL
            done = here(*words[1:])
            assert done.returncode == 0, done.stderr
            told[" ".join(words[1:3])] = done.stdout
    advice = " ".join(told["advise fabric.toml"].split())
    assert "fabric: minimize slowdown_p99, subject to drops=0" in advice
    for name in ("advice.svg", "trials.csv", "advice.json", "robust.toml", "cases/own.toml"):
        assert (tmp_path / "advice" / name).exists(), name
    assert "RPG_TIME_RESET_P1=" in told["export mlxconfig"]
    assert "priority-flow-control priority 3 no-drop" in told["export eos"]
    assert "pause pfc-cos 3" in told["export nxos"]
    assert "code-point 011 pfc" in told["export junos"]
    assert told["export mlnx_qos"].startswith("mlnx_qos -i INTERFACE --pfc 0,0,0,1,1,0,0,0 ")
    assert told["export dcb"].startswith("dcb pfc set dev INTERFACE prio-pfc all:off 3:on 4:on ")
