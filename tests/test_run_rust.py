"""What runs the tests of both languages: programs side by side, and an end to those that wait."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import run_rust
from conftest import ROOT, limited
from run_rust import Program, Session

PASSED = "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out"
FAILED = "test a::b ... FAILED\ntest result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured"


def program(folder: Path, name: str, body: str, target: str = "") -> Program:
    """A test program of the crate `made` that is a script."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    crate = folder / "made"
    crate.mkdir(exist_ok=True)
    return Program(path, crate, target or f"--test {name}")


def test_what_failed_is_printed_with_its_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tests = Session([], tmp_path)
    right = program(tmp_path, "right", f"echo heard; echo '{PASSED}'")
    wrong = program(tmp_path, "wrong", f"echo 'panicked at 7'; echo '{FAILED}' >&2; exit 101")
    crashed = program(tmp_path, "crashed", "kill -9 $$", "--lib")
    tests.run([right, wrong, crashed])
    said = capsys.readouterr().out
    assert (tests.passed, tests.left_out) == (5, 1)
    assert {each.command for each in tests.failed} == {
        "cargo test --release -p qcnlab-made --test wrong",
        "cargo test --release -p qcnlab-made --lib",
    }
    assert "heard" not in said
    assert "panicked at 7\ntest a::b ... FAILED" in said
    assert "ok made/right: 3 passed, 0 failed, 1 left out in " in said
    assert "FAILED made/wrong: 2 passed, 1 failed, 0 left out in " in said
    assert "FAILED made/lib: 0 passed, 0 failed, 0 left out in " in said
    assert "; ended with exit code -9" in said


def test_options_reach_the_programs_which_run_in_their_crate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tests = Session(["--show-output", "a word"], tmp_path)
    told = f"""echo "$# $2"; pwd; echo "$CARGO_MANIFEST_DIR"; echo '{PASSED}'"""
    tests.run([program(tmp_path, "told", told)])
    assert capsys.readouterr().out.splitlines()[:3] == ["2 a word", *[str(tmp_path / "made")] * 2]


def test_two_run_at_a_time_and_some_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each writes down how many run beside it, itself included, 0.1 s after it began."""
    monkeypatch.setattr(run_rust, "ALONE", frozenset({"made/alone"}))
    there = tmp_path / "there"
    there.mkdir()
    body = f"touch {there}/$$; sleep 0.1; ls {there} | wc -l >> $0.saw; sleep 0.1; rm {there}/$$"
    names = ["one", "two", "three", "four", "alone"]
    Session([], tmp_path).run([program(tmp_path, name, body) for name in names])
    saw = {name: int((tmp_path / f"{name}.saw").read_text()) for name in names}
    assert saw["alone"] == 1
    assert max(saw.values()) == 2


def test_a_program_that_never_ends_is_stopped_and_its_test_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    minute = "has been running for over 60 seconds"
    words = [f"test slow::waits {minute}", f"test slow::ends {minute}", "test slow::ends ... ok"]
    lines = "; ".join(f"echo '{line}'" for line in words)
    tests = Session([], tmp_path, limit_s=0.3)
    tests.run([program(tmp_path, "hangs", f"{lines}; exec sleep 60")])
    assert [each.name for each in tests.failed] == ["made/hangs"]
    assert "; stopped after 0.3 s in slow::waits" in capsys.readouterr().out


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_programs(tmp_path: Path, sign: signal.Signals) -> None:
    waits = program(tmp_path, "waits", f"echo $$ > {tmp_path}/pid; exec sleep 60")
    text = (
        f"import pathlib, sys; sys.path.insert(0, {str(ROOT / 'tests')!r}); import run_rust\n"
        f"place = pathlib.Path({str(waits.crate)!r})\n"
        f"made = run_rust.Program(pathlib.Path({str(waits.path)!r}), place, '--lib')\n"
        "run_rust.programs = lambda: [made]\n"
        "sys.exit(run_rust.main([]))\n"
    )
    process = subprocess.Popen([sys.executable, "-c", text], stderr=subprocess.PIPE, text=True)
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text().strip():
        time.sleep(0.01)
    process.send_signal(sign)
    assert process.communicate()[1] == "stopped\n"
    assert process.returncode == 130
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_make_keeps_byte_code_whatever_the_environment_says() -> None:
    """Without byte code each process compiles all that it imports."""
    told = subprocess.run(
        ["make", "--eval", "told: ; @env", "told"],
        cwd=ROOT, env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1", "LOUD": "1"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "LOUD=1\n" in told.stdout
    assert "PYTHONDONTWRITEBYTECODE" not in told.stdout


def test_a_test_that_waits_for_ever_fails_by_its_name() -> None:
    child = subprocess.Popen(["sleep", "60"])
    with (
        pytest.raises(pytest.fail.Exception, match=r"^x\.py::a had not ended after 0\.05 s$"),
        limited("x.py::a", 0.05),
    ):
        child.wait()
    child.kill()
    child.wait()
    # The limit of this test itself goes on.
    assert 0 < signal.getitimer(signal.ITIMER_REAL)[0] < 300


def test_what_ends_in_time_has_no_limit_afterwards() -> None:
    before = signal.getsignal(signal.SIGALRM)
    with limited("x.py::a", 0.05):
        pass
    time.sleep(0.1)
    assert signal.getsignal(signal.SIGALRM) is before
