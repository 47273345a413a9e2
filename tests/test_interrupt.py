"""Ctrl-C and kill: quick, quiet, and nothing that looks finished."""

from __future__ import annotations

import signal
import subprocess
import time

import pytest

from conftest import HOTSPOT, CommandLine, command

LONG = ("-s", "duration=4000 s", "-s", "record.tables=false", "--reps", "4")


def start(cli: CommandLine) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        command(["run", HOTSPOT, *LONG]),
        cwd=cli.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 30
    while not cli.left():
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.02)
    time.sleep(0.5)
    assert process.poll() is None
    return process


@pytest.mark.parametrize(("sign", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_run_leaves_nothing(
    cli: CommandLine, sign: signal.Signals, code: int
) -> None:
    process = start(cli)
    process.send_signal(sign)
    started = time.monotonic()
    out, err = process.communicate(timeout=60)
    assert time.monotonic() - started < 10  # one second on a quiet machine
    assert process.returncode == code
    assert out == ""
    assert "Traceback" not in err
    assert cli.left() == []


def test_a_killed_run_leaves_nothing_that_looks_finished(cli: CommandLine) -> None:
    process = start(cli)
    process.kill()
    process.communicate(timeout=60)
    assert [name for name in cli.left() if not name.startswith("runs/.")] == ["runs"]
    assert not list(cli.folder.rglob("summary.json"))
