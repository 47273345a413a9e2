"""Build many mutants of a Rust package together, and put each to the package's tests.

`rust_mutants` plants them. What rustc refuses among them is taken out until the rest compiles; each
of these is then built alone, which tells a mutant that does not compile from one that merely cannot
be chosen when the program runs. Each test runs once, alone, where nothing is planted, and writes
down which mutants it reaches. A mutant meets the tests that reach it, the quickest first: a few
processes with its number in their environment, stopped at the first failure.
"""

from __future__ import annotations

import functools
import json
import math
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rust_mutants import CHOICE, CHOSEN, REACHED, VARIABLE, Lines, Mutant, Planted, plant

# Tests may take so many times the processor seconds that they take where nothing is planted, and
# at least so many.
TIMES = 4
LEAST_S = 5
# Waiting is not computing: a test that waits for ever is stopped after this, s.
WAIT_S = 900
# A mutant may ask for all memory there is, KiB.
MEMORY_KIB = 4_000_000
# Tests that take about as long run in one process: up to so long each, s. Slower ones take no part.
STEPS_S = (0.02, 0.1, 0.5, 2.0, 5.0)
# So many mutants are named.
FEW = 10

# Where property tests keep the cases that failed: those of another mutant take no part.
SEEDS = ("tests/*.proptest-regressions", "proptest-regressions/**/*.txt")

# What rustc says of a function that is no constant one and should be.
CONSTANT = re.compile(
    r"cannot call non-const [\w ]*`(?:[^`]*::)?(\w+)(?:::<[^`]*>)?` in (?:const|static)"
)

CHOOSES = CHOSEN.removeprefix("crate::")

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
class Test:
    """A test of a test program."""

    program: Path
    name: str


@dataclass(frozen=True)
class Usual:
    """What a test does where no mutant holds."""

    # Processor seconds; infinite where it was stopped.
    seconds: float
    # Sites that it reaches, by the first number of each.
    reaches: frozenset[int]


@dataclass(frozen=True)
class Together:
    """Test programs with many mutants, the numbers of these, and what surely does not compile."""

    programs: list[Path]
    numbers: dict[str, int]
    # The first number of the site that a number stands at.
    sites: dict[int, int]
    unviable: set[str]


class Bench:
    """The sources and tests of a package in a clone of the workspace."""

    def __init__(self, tree: Path, package: str, laws: list[str]) -> None:
        self.tree, self.package, self.laws = tree, package, laws
        self.folder = tree / "crates" / package.removeprefix("qcnlab-")
        self.root = str((self.folder / "src/lib.rs").relative_to(tree))
        self.sources: dict[str, bytes] = {}
        self.seeds = {file: file.read_bytes() for file in self.kept_cases()}
        self.usual: dict[Test, Usual] = {}

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

    def build(self, targets: list[str]) -> list[Path]:
        """Build test programs."""
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
        return [
            Path(entry["executable"])
            for entry in told
            if entry["reason"] == "compiler-artifact" and entry.get("executable")
        ]

    def build_all(self) -> list[Path]:
        """Build the unit tests, then the laws."""
        programs = self.build(["--lib"])
        if self.laws:
            programs += self.build([f"--test={law}" for law in self.laws])
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
                if out:
                    told = f"{len(out)} mutants" if len(out) > FEW else ", ".join(sorted(out))
                    print(f"{self.package}: not with the others: {told}", file=sys.stderr)
                fixed |= needed
                left = {name: mutant for name, mutant in left.items() if name not in out}
        numbers = {name: k for texts in planted.values() for name, k in texts.numbers.items()}
        sites = {k: site for texts in planted.values() for k, site in texts.sites.items()}
        return Together(programs, numbers, sites, unviable)

    # Running.

    def measure(self, programs: list[Path], jobs: int) -> None:
        """Run each test alone where no mutant holds, which none may fail. Keep what it reaches."""
        self.usual = {}
        with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
            listed = [test for program in programs for test in tests_of(program)]
            files = [Path(folder) / str(k) for k in range(len(listed))]
            for test, usual in zip(listed, pool.map(self.alone, listed, files), strict=True):
                self.usual[test] = usual
        seconds = [usual.seconds for usual in self.usual.values()]
        quick = [each for each in seconds if each <= STEPS_S[-1]]
        said = f"{len(quick)} tests, {sum(quick):.0f} s; {len(seconds) - len(quick)} are too slow"
        print(f"{self.package}: {said}", file=sys.stderr)

    def alone(self, test: Test, file: Path) -> Usual:
        """Run a test where no mutant holds; return what it does."""
        outcome, seconds = self.run(test.program, [test.name], {REACHED: str(file)}, STEPS_S[-1])
        if outcome == "caught":
            sys.exit(f"{test.name} of {self.package} fails where nothing is planted")
        if outcome == "timeout":
            return Usual(math.inf, frozenset())
        reached = file.read_text().split() if file.exists() else []
        return Usual(seconds, frozenset(map(int, reached)))

    def groups(self, site: int | None) -> list[tuple[Path, list[str], float]]:
        """Return the tests that reach a site, or all of them, and their seconds in all.

        Those of a program that take about as long come together, the quickest first.
        """
        steps: dict[tuple[float, Path], list[Test]] = defaultdict(list)
        for test, usual in self.usual.items():
            steps_s = [step for step in STEPS_S if usual.seconds <= step]
            if steps_s and (site is None or site in usual.reaches):
                steps[steps_s[0], test.program].append(test)
        return [
            (
                program,
                [test.name for test in tests],
                sum(self.usual[test].seconds for test in tests),
            )
            for (_, program), tests in sorted(steps.items(), key=lambda entry: entry[0])
        ]

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

    def run(
        self, program: Path, tests: list[str], environment: dict[str, str], limit: float | None
    ) -> tuple[str, float]:
        """Run tests of a program; return what became of them, and their processor seconds."""
        self.forget()
        bounds = f"ulimit -v {MEMORY_KIB} 2>/dev/null; "
        if limit is not None:
            bounds += f"ulimit -St {max(LEAST_S, round(limit))}; "
        words = ["--test-threads=1", "--exact", *tests]
        environment = os.environ | {
            **environment,
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

    def outcome(self, number: int, site: int | None) -> str:
        """Put a mutant to the tests that reach its site; return what became of it."""
        for program, tests, seconds in self.groups(site):
            outcome, _ = self.run(program, tests, {VARIABLE: str(number)}, TIMES * seconds)
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
        self.measure(together.programs, jobs)
        with ThreadPoolExecutor(jobs) as pool:
            # In the order of the draw, so that those of a run that was stopped are a draw too.
            numbers = [(name, together.numbers.get(name)) for name in mutants if name not in known]
            running = {
                pool.submit(self.outcome, number, together.sites[number]): name
                for name, number in numbers
                if number
            }
            for done in as_completed(running):
                told(running[done], done.result())
        return [name for name in mutants if name not in {*together.numbers, *together.unviable}]

    def test_alone(self, mutant: Mutant) -> str:
        """Build one mutant as cargo-mutants writes it, and put it to all tests."""
        self.write({mutant.path: mutant.alone(self.source(mutant.path))})
        try:
            programs = self.build_all()
        except Refused:
            return "unviable"
        self.usual = {
            Test(program, test.name): usual
            for program in programs
            for test, usual in self.usual.items()
            if target(test.program) == target(program)
        }
        return self.outcome(0, None)


def target(program: Path) -> str:
    """Return the name of the target that a test program was built for."""
    return program.name.rpartition("-")[0]


def tests_of(program: Path) -> list[Test]:
    """Return the tests of a program that are not left out by default."""
    names, left_out = (
        [line.removesuffix(": test") for line in said.splitlines() if line.endswith(": test")]
        for said in (
            subprocess.run(
                [program, "--list", "--format=terse", *more],
                check=True,
                capture_output=True,
                text=True,
            ).stdout
            for more in ([], ["--ignored"])
        )
    )
    return [Test(program, name) for name in names if name not in left_out]


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

    They are those around it, or else the values of its function, or else all of its file. A mutant
    that asks for an operation that its operands do not have, or for the default of a type without
    one, does not compile in any text. Nor does a `match` without an arm that it needs.
    """
    if fault.path not in planted:
        return set(), False
    texts = planted[fault.path]
    if fault.code == INCOMPLETE and (mark := texts.at_fault(fault.start, fault.end, "match")):
        return set(mark.names), len(mark.names) == 1
    if mark := texts.at_fault(fault.start, fault.end):
        return set(mark.names), mark.is_mutant and fault.code in MISSING
    if mark := texts.at_fault(fault.start, fault.end, "body"):
        return set(mark.names), False
    return set(texts.numbers), False
