"""Plant bugs one at a time and count those that the tests notice: `make mutants`.

In Rust cargo-mutants makes the bugs: a function that returns a constant, an operator turned round,
a branch left out; `.cargo/mutants.toml` says where. In Python `tests/python_mutants.py` makes the
same kinds. Each is put to the unit tests and the laws of its package, and only to these: tables
under snapshot (digests, the hotspot table) take no part, because a person would accept a change of
theirs.

What makes it cheap: the bugs are planted in a clone of HEAD under `target/`, where each build only
rebuilds what changed; a bug meets the tests of its own module first, then the whole unit tests,
then the laws, and each round builds only the tests that it runs; and what was tested at a commit is
kept, so that a run that was stopped goes on.

    make mutants                             # 200 drawn at random
    make mutants ARGS="--sample 0"           # all of them: a night
    make mutants ARGS="--most 40"            # go on for 40 more of them
    make mutants ARGS="--package qcnlab-sim" # 200 drawn from the engine alone
    make mutants ARGS="--page docs/reference/mutants.md"
"""

from __future__ import annotations

import argparse
import datetime
import itertools
import json
import random
import re
import subprocess
import sys
import time
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import python_mutants

ROOT = Path(__file__).resolve().parent.parent
TOOL = ROOT / "target/tools/bin/cargo-mutants"
TREE = ROOT / "target/mutants-tree"
PYTHON_TREE = ROOT / "target/mutants-tree-python"
KEPT = ROOT / "target/mutants"
REASONS = ROOT / "tests/mutants_left.toml"
PYTHON = "qcnlab (Python)"
PACKAGES = ("qcnlab-schemes", "qcnlab-sim", "qcnlab-lab")
# Packages whose unit tests take seconds. Their tests of whole scenarios take no part.
SLOW = {"qcnlab-lab"}
OUTCOMES = ("caught", "timeout", "missed", "unviable")
# Mutants between two entries of what is kept.
CHUNK = 8

Outcomes = dict[str, str]


def sh(*words: str | Path, cwd: Path) -> str:
    """Run a command; return what it prints."""
    line = [str(word) for word in words]
    return subprocess.run(line, cwd=cwd, check=True, capture_output=True, text=True).stdout


def clone(trees: list[Path]) -> str:
    """Bring clones to HEAD; return the commit."""
    head = sh("git", "rev-parse", "HEAD", cwd=ROOT).strip()
    for tree in trees:
        if not tree.exists():
            sh("git", "clone", "--quiet", "--shared", ROOT, tree, cwd=ROOT)
        sh("git", "fetch", "--quiet", "origin", head, cwd=tree)
        sh("git", "checkout", "--quiet", "--force", "--detach", head, cwd=tree)
    if sh("git", "status", "--porcelain", "--untracked-files=no", cwd=ROOT):
        print("what is not committed takes no part", file=sys.stderr)
    return head[:7]


# Rust.


def laws(package: str) -> list[str]:
    """Return the tests that a package's mutants are put to after the unit tests."""
    folder = TREE / "crates" / package.removeprefix("qcnlab-") / "tests"
    return [] if package in SLOW else sorted(file.stem for file in folder.glob("*.rs"))


def listed(package: str) -> list[str]:
    """Return the names of all mutants of a package of the workspace."""
    done = sh(TOOL, "mutants", "--list", "--colors=never", "--package", package, cwd=TREE)
    return done.splitlines()


def module(name: str) -> str:
    """Return the module whose unit tests a mutant meets first."""
    path = name.split(":", 1)[0].split("/src/", 1)[1].removesuffix(".rs")
    parts = path.split("/")
    return "::".join(parts[: 2 if parts[0] in {"family", "parts", "params"} else 1])


@dataclass(frozen=True)
class Round:
    """Tests that mutants are put to together."""

    targets: tuple[str, ...]
    only: str = ""

    def test(self, package: str) -> list[str]:
        """Return the command that runs these tests."""
        line = ["cargo", "test", "--quiet", "--profile=mutants", f"--package={package}"]
        return [*line, *self.targets, *(["--", self.only] if self.only else [])]


class Baseline:
    """How long tests take that nothing was planted under; they must pass."""

    def __init__(self) -> None:
        self.known: dict[tuple[str, Round], float] = {}

    def seconds(self, package: str, tests: Round) -> float:
        """Return the time of one run, built before."""
        if (package, tests) not in self.known:
            line = tests.test(package)
            subprocess.run([*line[:2], "--no-run", *line[2:]], cwd=TREE, check=True)
            begun = time.monotonic()
            done = subprocess.run(line, cwd=TREE, capture_output=True, text=True)
            if done.returncode:
                sys.exit(f"tests of {package} fail where nothing is planted:\n{done.stdout}")
            self.known[package, tests] = time.monotonic() - begun
        return self.known[package, tests]


def planted(package: str, names: list[str], tests: Round, baseline: Baseline) -> Outcomes:
    """Build each of the mutants and put it to the tests of a round; return what became of each."""
    # What runs some of the unit tests has as long as all of them.
    limit = max(120, round(8 * baseline.seconds(package, Round(tests.targets))))
    folder = KEPT / "last" / package
    folder.mkdir(parents=True, exist_ok=True)
    command = [str(TOOL), "mutants", "--colors=never", "--in-place", "--baseline=skip"]
    command += [f"--timeout={limit}", "--build-timeout=240", "--package", package]
    command += ["--output", str(folder), *(f"--cargo-arg={target}" for target in tests.targets)]
    command += [f"--re=^{re.escape(name)}$" for name in names]
    if tests.only:
        command += ["--", "--", tests.only]
    code = subprocess.run(command, cwd=TREE, stdout=subprocess.DEVNULL).returncode
    # 0: all caught; 2: some missed; 3: some ran out of time.
    if code not in (0, 2, 3):
        sys.exit(f"cargo-mutants failed on {package} (exit code {code}); see {folder}")
    results = folder / "mutants.out"
    known = {kind: (results / f"{kind}.txt").read_text().splitlines() for kind in OUTCOMES}
    return {name: kind for kind, members in known.items() for name in members}


def tested(package: str, names: list[str], baseline: Baseline) -> Outcomes:
    """Put mutants to the unit tests, slow ones of their modules first, then to the laws."""
    outcomes: Outcomes = dict.fromkeys(names, "missed")
    if package in SLOW:
        of_module: dict[str, list[str]] = defaultdict(list)
        for name in names:
            of_module[module(name)].append(name)
        for only, members in of_module.items():
            outcomes |= planted(package, members, Round(("--lib",), only), baseline)
    rounds = [Round(("--lib",)), Round(tuple(f"--test={law}" for law in laws(package)))]
    for tests in rounds if rounds[1].targets else rounds[:1]:
        left = [name for name, outcome in outcomes.items() if outcome == "missed"]
        if left:
            outcomes |= planted(package, left, tests, baseline)
    return outcomes


# What is kept, and the page.


class Kept:
    """What became of the mutants of a commit, in a file for each package."""

    def __init__(self, commit: str) -> None:
        self.commit = commit
        self.folder = KEPT / commit
        self.folder.mkdir(parents=True, exist_ok=True)
        self.outcomes: dict[str, Outcomes] = defaultdict(dict)
        for file in self.folder.glob("*.json"):
            self.outcomes[file.stem] = json.loads(file.read_text())

    def add(self, package: str, outcomes: Outcomes) -> None:
        """Keep outcomes."""
        self.outcomes[package] |= outcomes
        (self.folder / f"{package}.json").write_text(json.dumps(self.outcomes[package], indent=1))


def without_position(name: str) -> str:
    """Return the name of a mutant without line and column, which change with every edit."""
    return re.sub(r"^([^:]+):\d+:\d+:", r"\1:", name)


def share(killed: int, viable: int) -> str:
    """Return a percentage of two counts."""
    return f"{100 * killed / viable:.1f} %" if viable else "-"


def page(known: dict[str, list[str]], drawn: dict[str, list[str]], kept: Kept, seed: int) -> str:
    """Return the page with the table and the survivors."""
    reasons = tomllib.loads(REASONS.read_text(encoding="utf-8")) if REASONS.exists() else {}
    date = datetime.datetime.now(tz=datetime.UTC).date()
    rows, survivors, totals = [], [], [0] * 7
    for package, names in known.items():
        outcomes = {name: kept.outcomes[package].get(name) for name in drawn[package]}
        count = {kind: list(outcomes.values()).count(kind) for kind in OUTCOMES}
        ran = sum(count.values())
        killed, viable = count["caught"] + count["timeout"], ran - count["unviable"]
        row = [len(names), len(drawn[package]), ran, count["unviable"], killed, count["timeout"]]
        row.append(count["missed"])
        totals = [total + cell for total, cell in zip(totals, row, strict=True)]
        rows.append([package, *row, share(killed, viable)])
        survivors += [name for name, outcome in outcomes.items() if outcome == "missed"]
    rows.append(["all", *totals, share(totals[4], totals[2] - totals[3])])
    lines = [
        "# Mutants",
        "",
        "`make mutants` plants bugs one at a time and counts those that the tests notice. "
        "`tests/mutants.py` says how, `.cargo/mutants.toml` and `tests/python_mutants.py` where. "
        "*Unviable* mutants do not compile, or cannot be imported; *killed* ones make a unit test "
        "or a law fail, or run out of time (eight times what the tests take, 120 s at least). "
        "Tables under snapshot take no part.",
        "",
        f"Drawn with seed {seed}; tested on {date} at commit {kept.commit}.",
        "",
        "| package | all mutants | drawn | run | unviable | killed | of these by time | survived "
        "| killed of the viable |",
        "|---|---|---|---|---|---|---|---|---|",
        *("| " + " | ".join(str(cell) for cell in row) + " |" for row in rows),
        "",
        "## Survivors",
        "",
    ]
    for plain in sorted(without_position(name) for name in survivors):
        lines.append(f"- `{plain}`: {reasons.get(plain, 'no test notices it')}")
    return "\n".join(lines) + "\n"


def chunks(names: list[str]) -> Iterator[list[str]]:
    """Yield names a few at a time."""
    rest = iter(names)
    while chunk := list(itertools.islice(rest, CHUNK)):
        yield chunk


def main() -> None:
    """Draw mutants, test them, and print or write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, default=200, help="how many to draw; 0 for all")
    parser.add_argument("--seed", type=int, default=1, help="seed of the draw")
    packages = [*PACKAGES, PYTHON]
    parser.add_argument(
        "--package", choices=packages, action="append", help="draw from this package alone"
    )
    parser.add_argument("--most", type=int, default=sys.maxsize, help="stop after so many more")
    parser.add_argument("--page", type=Path, help="write the page here instead of printing it")
    arguments = parser.parse_args()
    kept = Kept(clone([TREE, PYTHON_TREE]))
    baseline = Baseline()
    of_python = python_mutants.Mutants(PYTHON_TREE, ROOT)
    chosen = [package for package in packages if package in (arguments.package or packages)]
    known = {
        package: of_python.names() if package == PYTHON else listed(package) for package in chosen
    }
    mutants = [(package, name) for package, names in known.items() for name in names]
    count = min(arguments.sample or len(mutants), len(mutants))
    drawn: dict[str, list[str]] = defaultdict(list)
    for package, name in random.Random(arguments.seed).sample(mutants, count):
        drawn[package].append(name)
    test: dict[str, Callable[[list[str]], Outcomes]] = {PYTHON: of_python.tested}
    for package in PACKAGES:
        test[package] = lambda names, package=package: tested(package, names, baseline)  # type: ignore[misc]
    # In turns, so that a run that is stopped has tested some of each.
    waiting = {
        package: chunks([name for name in drawn[package] if name not in kept.outcomes[package]])
        for package in chosen
    }
    left = arguments.most
    while waiting and left > 0:
        for package in list(waiting):
            chunk = next(waiting[package], [])[: max(left, 0)]
            if not chunk:
                del waiting[package]
                continue
            left -= len(chunk)
            kept.add(package, test[package](chunk))
            done = list(kept.outcomes[package].values())
            print(f"{package}: {len(done)}, {done.count('missed')} survive", file=sys.stderr)
    text = page(known, drawn, kept, arguments.seed)
    if arguments.page:
        arguments.page.write_text(text, encoding="utf-8")
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
