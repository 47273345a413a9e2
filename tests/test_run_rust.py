"""What runs the tests of both languages: programs side by side, and an end to those that wait."""

from __future__ import annotations

import json
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


def assert_ends(process: subprocess.Popen[str], pid: Path, sign: signal.Signals) -> None:
    """Send a signal once a child has written its id: both end, with the code of Ctrl-C."""
    while not pid.exists() or not pid.read_text().strip():
        time.sleep(0.01)
    process.send_signal(sign)
    assert process.communicate()[1] == "stopped\n"
    assert process.returncode == 130
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


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


def cargo(folder: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> None:
    """Put a script in the place of cargo."""
    path = folder / "bin" / "cargo"
    path.parent.mkdir()
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", str(path.parent), prepend=os.pathsep)


def artifact(crate: str, name: str, kind: str, *, test: bool = True) -> str:
    """What cargo says of something that it has built."""
    return json.dumps(
        {
            "reason": "compiler-artifact",
            "manifest_path": f"/crates/{crate}/Cargo.toml",
            "target": {"kind": [kind], "name": name},
            "profile": {"test": test},
            "executable": f"/built/{crate}-{name}" if test else None,
        }
    )


def test_programs_are_those_that_cargo_builds_for_tests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What takes long is first, and what runs alone last; a library that tests use is none."""
    lines = [
        artifact("live", "live", "test"),
        artifact("units", "qcnlab_units", "lib", test=False),
        artifact("units", "qcnlab_units", "lib"),
        artifact("lab", "qcnlab_lab", "lib"),
        artifact("lab", "digests", "test"),
        '{"reason": "build-finished", "success": true}',
    ]
    told = "\n".join(lines)
    body = f"echo \"$@\" > {tmp_path}/asked; cat << 'END'\n{told}\nEND"
    cargo(tmp_path, monkeypatch, body)
    built = run_rust.programs()
    assert [each.name for each in built] == ["lab/digests", "lab/lib", "units/lib", "live/live"]
    assert [each.command for each in built[:2]] == [
        "cargo test --release -p qcnlab-lab --test digests",
        "cargo test --release -p qcnlab-lab --lib",
    ]
    assert (built[0].path, built[0].crate) == (Path("/built/lab-digests"), Path("/crates/lab"))
    asked = "test --release --tests --no-run --message-format=json-render-diagnostics\n"
    assert (tmp_path / "asked").read_text() == asked


def test_programs_that_have_an_order_are_there() -> None:
    for name in (*run_rust.FIRST, *run_rust.ALONE):
        crate, target = name.split("/")
        tests = ROOT / "crates" / crate / "tests"
        lib = target == "lib" and (tests.parent / "src" / "lib.rs").exists()
        assert lib or any((tests / f"{target}{end}").exists() for end in (".rs", "/main.rs")), name


def test_tests_that_do_not_compile_end_with_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cargo(tmp_path, monkeypatch, 'echo \'{"reason": "build-finished"}\'; exit 101')
    with pytest.raises(SystemExit) as left:
        run_rust.main([])
    assert left.value.code == 2


@pytest.mark.parametrize(("ends", "code"), [(0, 0), (101, 1)])
def test_the_end_says_how_many_passed_and_what_failed(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    ends: int,
    code: int,
) -> None:
    right = program(tmp_path, "right", f"echo '{PASSED}'")
    other = program(tmp_path, "other", f"echo '{PASSED if ends == 0 else FAILED}'; exit {ends}")
    none = program(tmp_path, "none", "echo 'test result: ok. 0 passed; 0 failed; 0 ignored'")
    monkeypatch.setattr(run_rust, "programs", lambda: [right, other, none])
    assert run_rust.main(["word"]) == code
    said = capsys.readouterr().out
    assert "none" not in said
    end = {
        0: "6 tests in Rust passed, 2 were left out; 0 of 3 programs failed\n",
        1: "5 tests in Rust passed, 1 were left out; 1 of 3 programs failed\n"
        "  cargo test --release -p qcnlab-made --test other\n",
    }[code]
    assert said.endswith(f"\n{end}")


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_compiler(tmp_path: Path, sign: signal.Signals) -> None:
    waits = program(tmp_path, "cargo", f"echo $$ > {tmp_path}/pid; exec sleep 60")
    process = subprocess.Popen(
        [sys.executable, ROOT / "tests" / "run_rust.py"],
        env=os.environ | {"PATH": f"{waits.path.parent}:{os.environ['PATH']}"},
        stderr=subprocess.PIPE,
        text=True,
    )
    assert_ends(process, tmp_path / "pid", sign)


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
    assert_ends(process, tmp_path / "pid", sign)


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
