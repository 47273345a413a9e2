"""Ctrl-C and kill: quick, quiet, and nothing that looks finished."""

from __future__ import annotations

import signal
import subprocess
import sys
from importlib.metadata import entry_points

import pytest

from conftest import HOTSPOT, SHORT_FLAGS, CommandLine, command
from processes import PROMPT_S, end, wait_for_work, wait_until

LONG = ("-s", "duration=4000 s", "-s", "record.tables=false", "--reps", "4")


def start(cli: CommandLine) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        command(["run", HOTSPOT, *LONG]),
        cwd=cli.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_until(lambda: bool(cli.left()), process)
    wait_for_work(process, 0.3)
    return process


@pytest.mark.parametrize(
    ("sign", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_an_interrupted_run_leaves_nothing(
    cli: CommandLine, sign: signal.Signals, code: int
) -> None:
    ended = end(start(cli), sign)
    assert ended.after_s < PROMPT_S
    assert ended.returncode == code
    assert ended.out == ""
    assert "Traceback" not in ended.err
    assert cli.left() == []


def test_a_killed_run_leaves_nothing_that_looks_finished(cli: CommandLine) -> None:
    process = start(cli)
    process.kill()
    process.communicate(timeout=60)
    assert [name for name in cli.left() if not name.startswith("runs/.")] == ["runs"]
    assert not list(cli.folder.rglob("summary.json"))


def test_a_run_under_nohup_outlives_its_terminal(cli: CommandLine) -> None:
    words = command(["run", HOTSPOT, *SHORT_FLAGS, "--reps", "200", "-o", "out"])
    process = subprocess.Popen(
        words,
        cwd=cli.folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
    )
    wait_until(lambda: bool(cli.left()), process)
    process.send_signal(signal.SIGHUP)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")


def test_the_next_run_clears_what_a_killed_one_left(cli: CommandLine) -> None:
    process = start(cli)
    process.kill()
    process.communicate(timeout=60)
    [left] = (cli.folder / "runs").iterdir()
    # The same scenario has the same folder; another's and a living process's are not touched.
    other = left.with_name(f".other.partial-{process.pid}")
    alive = left.with_name(f"{left.name.rpartition('-')[0]}-1")
    other.mkdir()
    alive.mkdir()
    (left / "half.parquet").write_bytes(b"half")
    again = start(cli)
    wait_until(lambda: not left.exists(), again)
    names = {path.name for path in (cli.folder / "runs").iterdir()}
    again.send_signal(signal.SIGINT)
    again.communicate(timeout=60)
    assert left.name not in names
    assert {other.name, alive.name} <= names


INTERRUPTED_AT_IMPORT = """
import os, runpy, signal, sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
        return None

sys.meta_path.insert(0, Interrupt())
sys.argv = ["qcnlab", "list", "metrics"]
runpy.run_module("qcnlab", run_name="__main__", alter_sys=True)
"""


@pytest.mark.parametrize(
    "module", ["qcnlab.cli.program", "qcnlab.cli.commands", "typer", "qcnlab._core"]
)
def test_an_interrupt_while_modules_are_imported_is_quiet(module: str) -> None:
    code = INTERRUPTED_AT_IMPORT.format(module=module)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 130
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_interrupts_are_settled_before_any_other_module_is_imported() -> None:
    code = "import sys; before = set(sys.modules); import qcnlab.__main__; "
    code += "print(*sorted(set(sys.modules) - before))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert set(done.stdout.split()) <= {"__future__", "_signal", "qcnlab", "qcnlab.__main__"}


def test_the_command_starts_where_interrupts_are_settled_first() -> None:
    [script] = [each for each in entry_points(group="console_scripts") if each.name == "qcnlab"]
    assert script.value == "qcnlab.__main__:program"
