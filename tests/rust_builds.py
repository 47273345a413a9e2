"""Build many mutants of a Rust package together, and put each to the package's tests.

`rust_mutants` plants them. What rustc refuses among them is taken out until the rest compiles; each
of these is then built alone, which tells a mutant that does not compile from one that merely cannot
be chosen when the program runs. The tests of one mutant are a few processes with its number in
their environment, stopped at the first failure.
"""

from __future__ import annotations

import functools
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rust_mutants import CHOICE, CHOSEN, VARIABLE, Lines, Mutant, Planted, plant

# Tests may take so many times the processor seconds that they take where nothing is planted, and
# at least so many.
TIMES = 4
LEAST_S = 5
# Waiting is not computing: a test that waits for ever is stopped after this, s.
WAIT_S = 900
# A mutant may ask for all memory there is, KiB.
MEMORY_KIB = 4_000_000
# Unit tests that take longer, s, are run by module first.
SLOW_S = 3.0

# Where property tests keep the cases that failed: those of another mutant take no part.
SEEDS = ("tests/*.proptest-regressions", "proptest-regressions/**/*.txt")

# What rustc says of a function that is no constant one and should be.
CONSTANT = re.compile(
    r"cannot call non-const [\w ]*`(?:[^`]*::)?(\w+)(?:::<[^`]*>)?` in (?:const|static)"
)

CHOOSES = CHOSEN.removeprefix("crate::").removesuffix("()")

# An operator, or a trait, that a type does not have.
MISSING = {"E0277", "E0368", "E0369", "E0600"}
# A `match` does not cover all values.
INCOMPLETE = "E0004"

Told = Callable[[str, str], None]


def listed(tool: Path, tree: Path, package: str) -> dict[str, Mutant]:
    """Return the mutants that cargo-mutants lists for a package of the workspace `tree`."""
    line = [str(tool), "mutants", "--list", "--colors=never", "--package", package]
    said = [
        subprocess.run([*line, *more], cwd=tree, check=True, capture_output=True, text=True).stdout
        for more in ([], ["--json"])
    ]
    lines: dict[str, Lines] = {}
    mutants = {}
    for name, entry in zip(said[0].splitlines(), json.loads(said[1]), strict=True):
        path, span = entry["file"], entry["span"]
        if path not in lines:
            lines[path] = Lines((tree / path).read_bytes())
        start, end = (lines[path].offset(**span[edge]) for edge in ("start", "end"))
        mutants[name] = Mutant(name, path, entry["genre"], start, end, entry["replacement"])
    return mutants


def module(path: str) -> str:
    """Return the module whose unit tests a mutant of a file meets first."""
    parts = path.split("/src/", 1)[1].removesuffix(".rs").split("/")
    return "::".join(parts[: 2 if parts[0] in {"family", "parts", "params"} else 1])


@dataclass(frozen=True)
class Fault:
    """A place that rustc reports an error at."""

    path: str
    start: int
    end: int
    words: str
    code: str = ""

    def constant_functions(self) -> list[str]:
        """Return the functions of the package that constants need, if that is the fault.

        A mutant in a constant that is not seen as one asks for what chooses mutants.
        """
        return [name for name in CONSTANT.findall(self.words) if name != CHOOSES]


class Refused(Exception):
    """A package does not compile."""

    def __init__(self, faults: list[Fault], said: str) -> None:
        super().__init__(said)
        self.faults = faults


@dataclass(frozen=True)
class Stage:
    """A test program, and the tests of it that are run."""

    program: str
    only: str = ""

    def __str__(self) -> str:
        """Return the program, and what is run of it."""
        return f"{self.program} {self.only}".strip()


@dataclass(frozen=True)
class Together:
    """Test programs with many mutants, the numbers of these, and what surely does not compile."""

    programs: dict[str, Path]
    numbers: dict[str, int]
    unviable: set[str]


class Bench:
    """The sources and tests of a package in a clone of the workspace."""

    def __init__(self, tree: Path, package: str, laws: list[str]) -> None:
        self.tree, self.package, self.laws = tree, package, laws
        self.folder = tree / "crates" / package.removeprefix("qcnlab-")
        self.root = str((self.folder / "src/lib.rs").relative_to(tree))
        self.sources: dict[str, bytes] = {}
        self.seeds = {file: file.read_bytes() for file in self.kept_cases()}
        self.seconds: dict[Stage, float] = {}

    def source(self, path: str) -> bytes:
        """Return the text of a file as it is committed."""
        if path not in self.sources:
            self.sources[path] = (self.tree / path).read_bytes()
        return self.sources[path]

    def write(self, texts: dict[str, bytes]) -> None:
        """Put texts into the tree, and what is committed where there is none."""
        for path in {*self.sources, *texts}:
            text = texts.get(path, self.source(path))
            if (self.tree / path).read_bytes() != text:
                (self.tree / path).write_bytes(text)

    def build(self, targets: list[str]) -> dict[str, Path]:
        """Build test programs; return them by the name of their target."""
        line = ["cargo", "test", "--no-run", "--profile=mutants", "--message-format=json"]
        done = subprocess.run(
            [*line, f"--package={self.package}", *targets],
            cwd=self.tree,
            capture_output=True,
            text=True,
        )
        told = [json.loads(text) for text in done.stdout.splitlines() if text.startswith("{")]
        if done.returncode:
            messages = [entry["message"] for entry in told if entry["reason"] == "compiler-message"]
            errors = [message for message in messages if message["level"] == "error"]
            words = "".join(error["rendered"] for error in errors) or done.stderr
            raise Refused([fault for error in errors for fault in faults(error)], words)
        return {
            entry["target"]["name"]: Path(entry["executable"])
            for entry in told
            if entry["reason"] == "compiler-artifact" and entry.get("executable")
        }

    def build_all(self) -> dict[str, Path]:
        """Build the unit tests, then the laws."""
        programs = self.build(["--lib"])
        if self.laws:
            programs |= self.build([f"--test={law}" for law in self.laws])
        return programs

    def plant(self, mutants: Iterable[Mutant], fixed: set[str]) -> dict[str, Planted]:
        """Write all mutants that can be chosen into the tree."""
        of_file: dict[str, list[Mutant]] = defaultdict(list)
        for mutant in mutants:
            of_file[mutant.path].append(mutant)
        planted, first = {}, 1
        for file in sorted(self.folder.glob("src/**/*.rs")):
            path = str(file.relative_to(self.tree))
            planted[path] = plant(self.source(path), of_file[path], first, fixed)
            first += len(planted[path].numbers)
        planted[self.root].text += CHOICE.encode()
        self.write({path: texts.text for path, texts in planted.items()})
        return planted

    def build_together(self, mutants: dict[str, Mutant]) -> Together:
        """Build as many mutants as compile together."""
        left = dict(mutants)
        # Functions that constants need.
        fixed: set[str] = set()
        unviable: set[str] = set()
        while True:
            planted = self.plant(left.values(), fixed)
            try:
                programs = self.build_all()
                break
            except Refused as refused:
                needed = {name for fault in refused.faults for name in fault.constant_functions()}
                out: set[str] = set()
                for fault in refused.faults:
                    if not fault.constant_functions():
                        members, is_certain = blamed(planted, fault)
                        out |= members
                        unviable |= members if is_certain else set()
                if not out and needed <= fixed:
                    raise
                names = ", ".join(sorted(out | needed))
                print(f"{self.package}: not with the others: {names}", file=sys.stderr)
                fixed |= needed
                left = {name: mutant for name, mutant in left.items() if name not in out}
        numbers = {name: k for texts in planted.values() for name, k in texts.numbers.items()}
        return Together(programs, numbers, unviable)

    # Running.

    def stages(self, programs: dict[str, Path], mutant: Mutant | None) -> list[tuple[Stage, Path]]:
        """Return what is run for a mutant: the unit tests, then the laws, the quickest first."""
        times = {
            stage.program: seconds for stage, seconds in self.seconds.items() if not stage.only
        }
        names = sorted(programs, key=lambda name: (name in self.laws, times.get(name, 0.0)))
        stages = [(Stage(name), programs[name]) for name in names]
        unit = stages[0][0]
        if mutant and self.seconds.get(unit, 0.0) > SLOW_S:
            stages.insert(0, (Stage(unit.program, module(mutant.path)), stages[0][1]))
        return stages

    def measure(self, programs: dict[str, Path], mutants: Iterable[Mutant]) -> None:
        """Run all tests where no mutant is chosen: they must pass. Keep how long they take."""
        for mutant in (None, *mutants):
            for stage, program in self.stages(programs, mutant):
                if stage not in self.seconds:
                    outcome, self.seconds[stage] = self.run(program, stage.only, 0, None)
                    if outcome != "missed":
                        sys.exit(f"{stage} of {self.package} fails where nothing is planted")
                    print(f"{self.package}: {stage} {self.seconds[stage]:.1f} s", file=sys.stderr)

    def kept_cases(self) -> list[Path]:
        """Return the files that property tests keep their cases in."""
        return [file for pattern in SEEDS for file in self.folder.glob(pattern)]

    def forget(self) -> None:
        """Take back what property tests wrote down."""
        for file in self.kept_cases():
            if file not in self.seeds:
                file.unlink(missing_ok=True)
            elif file.read_bytes() != self.seeds[file]:
                file.write_bytes(self.seeds[file])

    def run(self, program: Path, only: str, number: int, limit: float | None) -> tuple[str, float]:
        """Run a test program with a mutant; return what became of it, and its processor seconds."""
        self.forget()
        bounds = f"ulimit -v {MEMORY_KIB} 2>/dev/null; "
        if limit is not None:
            bounds += f"ulimit -St {max(LEAST_S, round(limit))}; "
        words = ["--test-threads=1", *([only] if only else [])]
        environment = os.environ | {
            VARIABLE: str(number),
            "CARGO_MANIFEST_DIR": str(self.folder),
            "PROPTEST_MAX_SHRINK_ITERS": "0",
            "RUST_BACKTRACE": "0",
        }
        process = subprocess.Popen(
            ["sh", "-c", bounds + 'exec "$@"', "sh", str(program), *words],
            cwd=self.folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            errors="replace",
        )
        # Not `process.kill`, which would wait for it, and lose what it used.
        kill = functools.partial(os.kill, process.pid, signal.SIGKILL)
        waiting = threading.Timer(WAIT_S, kill)
        waiting.start()
        failed = False
        assert process.stdout
        for line in process.stdout:
            if re.match(r"test .* FAILED$", line.rstrip()):
                failed = True
                kill()
                break
        waiting.cancel()
        _, status, used = os.wait4(process.pid, 0)
        code = process.returncode = os.waitstatus_to_exitcode(status)
        process.stdout.close()
        seconds = used.ru_utime + used.ru_stime
        if failed:
            return "caught", seconds
        if code in (-signal.SIGXCPU, -signal.SIGKILL):
            return "timeout", seconds
        return ("caught" if code else "missed"), seconds

    def outcome(self, programs: dict[str, Path], mutant: Mutant, number: int) -> str:
        """Put a mutant to all tests; return what became of it."""
        for stage, program in self.stages(programs, mutant):
            limit = TIMES * self.seconds[stage]
            outcome, _ = self.run(program, stage.only, number, limit)
            if outcome != "missed":
                return outcome
        return "missed"

    def test_together(
        self, mutants: dict[str, Mutant], known: Collection[str], jobs: int, told: Told
    ) -> list[str]:
        """Build mutants together, test those not `known` yet; return the names of those left out.

        What is known is planted too, so that a run that goes on finds what it built before.
        """
        together = self.build_together(mutants)
        for name in together.unviable:
            told(name, "unviable")
        self.measure(together.programs, mutants.values())
        with ThreadPoolExecutor(jobs) as pool:
            running = {
                # In the order of the draw, so that those of a run that was stopped are a draw too.
                pool.submit(self.outcome, together.programs, mutant, together.numbers[name]): name
                for name, mutant in mutants.items()
                if name in together.numbers and name not in known
            }
            for done in as_completed(running):
                told(running[done], done.result())
        return [name for name in mutants if name not in {*together.numbers, *together.unviable}]

    def test_alone(self, mutant: Mutant) -> str:
        """Build one mutant as cargo-mutants writes it, and test it."""
        self.write({mutant.path: mutant.alone(self.source(mutant.path))})
        try:
            programs = self.build_all()
        except Refused:
            return "unviable"
        return self.outcome(programs, mutant, 0)


def faults(error: dict[str, Any]) -> list[Fault]:
    """Return the places of an error: where it is, or what it mentions besides."""
    primary = [span for span in error["spans"] if span["is_primary"]]
    code = (error["code"] or {}).get("code", "")
    return [
        Fault(span["file_name"], span["byte_start"], span["byte_end"], error["message"], code)
        for span in primary or error["spans"]
    ]


def blamed(planted: dict[str, Planted], fault: Fault) -> tuple[set[str], bool]:
    """Return the mutants that an error is laid to, and whether they would fail alone too.

    They are those around it, or else all of its file. A mutant that asks for an operation that its
    operands do not have, or for the default of a type without one, does not compile in any text.
    Nor does a `match` without an arm that it needs.
    """
    if fault.path not in planted:
        return set(), False
    texts = planted[fault.path]
    if fault.code == INCOMPLETE and (mark := texts.at_fault(fault.start, fault.end, of_match=True)):
        return set(mark.names), len(mark.names) == 1
    if mark := texts.at_fault(fault.start, fault.end):
        return set(mark.names), mark.is_mutant and fault.code in MISSING
    return set(texts.numbers), False
