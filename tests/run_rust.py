"""Run the tests in Rust, two programs at a time: `make test`.

`cargo test` runs one test program after the other, so that cores are idle while the longest test of
each one ends. Here two run at a time, each on as many threads as there are cores: while one ends,
the other has them.

    tests/run_rust.py                  # the tests of `cargo test --release --tests`
    tests/run_rust.py --ignored        # options of the test programs: here, the long tests
    tests/run_rust.py headroom         # the tests whose names have this word

What a program says is printed if a test of it fails, or with --show-output. The exit code is 0 if
all tests pass, 1 if one fails, 2 if they do not compile, 130 after Ctrl-C.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
AT_ONCE = 2
# A program that takes longer is stopped, s. Programs of long tests take minutes.
LIMIT_S = 1800.0
ENDING = (signal.SIGINT, signal.SIGTERM)
# What takes long comes first, so that none is left alone at the end with it.
FIRST = ("conform/conform", "lab/digests", "lab/roce", "fluid/lib", "lab/lib", "lab/metamorphic")
# Live networks run by the clock, so nothing runs beside them.
ALONE = frozenset({"live/live"})
RESULT = re.compile(r"^test result: .*? (\d+) passed; (\d+) failed; (\d+) ignored", re.MULTILINE)
# libtest warns of a test that takes a minute, and says what became of it in another line.
SLOW = re.compile(r"^test (\S+) has been running for over", re.MULTILINE)
ENDED = re.compile(r"^test (\S+)(?: - should panic)? \.\.\. ", re.MULTILINE)


@dataclass(frozen=True)
class Program:
    """A test program of a crate."""

    path: Path
    crate: Path
    # `--lib`, or `--test` and its name, as cargo calls it.
    target: str

    @property
    def name(self) -> str:
        return f"{self.crate.name}/{self.target.split()[-1].removeprefix('--')}"

    @property
    def command(self) -> str:
        """The command that runs this program alone."""
        return f"cargo test --release -p qcnlab-{self.crate.name} {self.target}"


def programs() -> list[Program]:
    """Build the test programs; return them, those first that take long."""
    line = ["cargo", "test", "--release", "--tests", "--no-run"]
    done = subprocess.run(
        [*line, "--message-format=json-render-diagnostics"],
        cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        sys.exit(2)
    built = []
    for text in done.stdout.splitlines():
        entry = json.loads(text)
        if entry["reason"] == "compiler-artifact" and entry["profile"]["test"]:
            kinds, name = entry["target"]["kind"], entry["target"]["name"]
            target = f"--test {name}" if kinds == ["test"] else "--lib"
            crate = Path(entry["manifest_path"]).parent
            built.append(Program(Path(entry["executable"]), crate, target))
    rank = {name: k for k, name in enumerate(FIRST)}
    return sorted(built, key=lambda each: (each.name in ALONE, rank.get(each.name, len(FIRST))))


@dataclass
class Running:
    """A program that runs."""

    program: Program
    process: subprocess.Popen[bytes]
    began: float
    said: Path

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began


class Session:
    """Programs that run, and what became of those that have."""

    def __init__(self, words: list[str], folder: Path, limit_s: float = LIMIT_S) -> None:
        self.words, self.folder, self.limit_s = words, folder, limit_s
        self.running: list[Running] = []
        self.failed: list[Program] = []
        self.passed = self.left_out = self.number = 0
        self.stopped = False

    def run(self, waiting: list[Program]) -> None:
        """Run programs until none is left."""
        waiting = list(waiting)
        before = {number: signal.signal(number, self._stop) for number in ENDING}
        try:
            while waiting or self.running:
                while waiting and self._has_room_for(waiting[0]):
                    self._start(waiting.pop(0))
                for each in list(self.running):
                    self._follow(each)
                if self.stopped:
                    raise KeyboardInterrupt
                time.sleep(0.02)
        finally:
            for each in self.running:
                each.process.kill()
                each.process.wait()
            for number, handler in before.items():
                signal.signal(number, handler)

    def _stop(self, number: int, frame: object) -> None:
        """Take a signal; what is being started is known before it is heeded."""
        self.stopped = True

    def _has_room_for(self, program: Program) -> bool:
        names = {program.name, *(each.program.name for each in self.running)}
        return not self.running or (len(self.running) < AT_ONCE and not names & ALONE)

    def _start(self, program: Program) -> None:
        self.number += 1
        said = self.folder / str(self.number)
        with said.open("wb") as file:
            process = subprocess.Popen(
                [program.path, *self.words],
                # As cargo does: tests look for their files from the folder of their crate.
                cwd=program.crate,
                env=os.environ | {"CARGO_MANIFEST_DIR": str(program.crate)},
                stdout=file,
                stderr=subprocess.STDOUT,
            )
        self.running.append(Running(program, process, time.monotonic(), said))

    def _follow(self, each: Running) -> None:
        """Tell what became of a program that has ended or takes too long."""
        code = each.process.poll()
        if code is None and each.seconds <= self.limit_s:
            return
        self.running.remove(each)
        if code is None:
            each.process.kill()
            each.process.wait()
        said = each.said.read_text(encoding="utf-8", errors="replace")
        result = RESULT.search(said)
        passed, failed, left_out = map(int, result.groups()) if result else (0, 0, 0)
        self.passed += passed
        self.left_out += left_out
        if code == 0 and "--show-output" not in self.words and not passed:
            return
        if code != 0:
            self.failed.append(each.program)
        if code != 0 or "--show-output" in self.words:
            print(said, end="")
        words = [f"{passed} passed, {failed} failed, {left_out} left out in {each.seconds:.1f} s"]
        if code is None:
            slow = sorted({*SLOW.findall(said)} - {*ENDED.findall(said)})
            words.append(f"stopped after {self.limit_s:g} s in {', '.join(slow) or 'no slow test'}")
        elif code and not failed:
            words.append(f"ended with exit code {code}")
        told = "; ".join(words)
        print(f"{'FAILED' if code != 0 else 'ok'} {each.program.name}: {told}", flush=True)


def main(words: list[str]) -> int:
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        built = programs()
        with tempfile.TemporaryDirectory() as folder:
            tests = Session(words, Path(folder))
            tests.run(built)
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 130
    told = f"{tests.passed} tests in Rust passed, {tests.left_out} were left out"
    print(f"{told}; {len(tests.failed)} of {len(built)} programs failed")
    for program in tests.failed:
        print(f"  {program.command}")
    return 1 if tests.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
