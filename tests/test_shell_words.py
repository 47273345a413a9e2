"""What a shell completes: scenarios, schemes, metrics, and keys with their values."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from conftest import HOTSPOT, command
from qcnlab.cli import shell_words

if TYPE_CHECKING:
    from pathlib import Path

BASH = """
source completion.sh
complete_words() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _qcnlab_completion "$QCNLAB"
  printf '%s\\n' "${COMPREPLY[@]}"; }
complete_words "$@"
"""


def words(answers: list[tuple[str, str]]) -> list[str]:
    return [word for word, _ in answers]


def test_scenarios_and_files_are_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert words(shell_words.scenarios_or_files("og-hotspot-2src-10g-to-500m-rtt1")) == [HOTSPOT]
    (tmp_path / "mine").mkdir()
    for name in ("mine.toml", "mine/own.toml", "mine.csv"):
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    assert words(shell_words.scenarios_or_files("mi"))[-2:] == ["mine/", "mine.toml"]
    assert words(shell_words.scenarios_or_files("mine/")) == ["mine/own.toml"]


def test_lists_of_schemes_go_on_after_a_comma() -> None:
    assert words(shell_words.schemes("tim")) == ["timely"]
    assert words(shell_words.schemes("qcn,tim")) == ["qcn,timely"]
    assert "qcn,qcn" not in words(shell_words.schemes("qcn,"))


def test_keys_and_then_their_values_are_completed() -> None:
    assert {"scheme.cp.w=", "scheme.cp.set_point="} <= set(words(shell_words.changes("scheme.cp.")))
    # The only key comes with values, or a shell would put a space behind it.
    assert words(shell_words.changes("tie"))[:2] == ["ties=", "ties=drawn"]
    assert words(shell_words.changes("ties=p")) == ["ties=port_order"]
    assert words(shell_words.changes("record.tables=f")) == ["record.tables=false"]
    assert "scheme.name=none,hpcc" in words(shell_words.changes("scheme.name=none,h"))
    assert words(shell_words.changes("topology.rtt=")) == ["topology.rtt=10us"]
    assert words(shell_words.changes("no.such=")) == []


def test_metrics_and_names_that_explain_knows_are_completed() -> None:
    assert "queue_mean_bytes" in words(shell_words.metrics("queue_"))
    assert {"xoff", "xon"} <= set(words(shell_words.known_names("xo")))
    assert all(" " not in word for word in words(shell_words.known_names("")))


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not there")
@pytest.mark.parametrize(
    ("typed", "fits"),
    [
        (("run", "og-hotspot-2src-10g-to-500m-rtt2"), "og-hotspot-2src-10g-to-500m-rtt200us"),
        # Bash takes the assignment for three words and replaces the last.
        (("run", HOTSPOT, "-s", "scheme.name", "=", "timel"), "timely"),
        (("run", HOTSPOT, "-s", "ties", "="), "port_order"),
        (("run", HOTSPOT, "-s", "ties", "=", "drawn", "-s", "scheme.na"), "scheme.name="),
        (("sweep", HOTSPOT, "--metric", "queue_s"), "queue_std_bytes"),
    ],
    ids=" ".join,
)
def test_bash_completes(typed: tuple[str, ...], fits: str, tmp_path: Path) -> None:
    environment = {**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    script = subprocess.run(
        command(["--show-completion", "bash"]),
        env=environment, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    (tmp_path / "completion.sh").write_text(script)
    program = tmp_path / "qcnlab"
    program.write_text(f'#!/bin/sh\nexec {" ".join(command([]))} "$@"\n')
    program.chmod(0o755)
    done = subprocess.run(
        ["bash", "-c", BASH, "bash", "qcnlab", *typed],
        cwd=tmp_path, env={**os.environ, "QCNLAB": str(program)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert fits in done.stdout.splitlines(), done.stderr
