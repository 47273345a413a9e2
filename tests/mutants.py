"""Plant bugs and count those that the tests notice: `make mutants`.

In Rust cargo-mutants lists the bugs: a function that returns a constant, an operator turned round,
a branch left out; `.cargo/mutants.toml` says where. In Python `tests/python_mutants.py` makes the
same kinds. Each is put to the unit tests and the laws of its package, and only to these: tables
under snapshot (digests, the hotspot table) take no part, because a person would accept a change of
theirs.

What makes it cheap: all mutants of a Rust package stand in one build, in a clone of HEAD under
`target/`, and the environment says which one holds (`tests/rust_mutants.py`); only what cannot be
built so is built alone (`tests/rust_builds.py`). What was tested at a commit is kept, so that a run
that was stopped goes on.

    make mutants                             # 200 drawn at random
    make mutants ARGS="--sample 0"           # all of them
    make mutants ARGS="--most 40"            # go on for 40 more of them
    make mutants ARGS="--package qcnlab-sim" # 200 drawn from the engine alone
    make mutants ARGS="--names FILE"         # those named there, a line each
    make mutants ARGS="--page docs/reference/mutants.md"
"""

from __future__ import annotations

import argparse
import datetime
import functools
import json
import math
import random
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from pathlib import Path

import python_mutants
import rust_builds

ROOT = Path(__file__).resolve().parent.parent
TOOL = ROOT / "target/tools/bin/cargo-mutants"
TREE = ROOT / "target/mutants-tree"
KEPT = ROOT / "target/mutants"
REASONS = ROOT / "tests/mutants_left.toml"
PACKAGES = (
    "qcnlab-units",
    "qcnlab-wire",
    "qcnlab-capture",
    "qcnlab-schemes",
    "qcnlab-sim",
    "qcnlab-lab",
)
# Tests that compare with tables that a person accepts.
SNAPSHOTS = {"digests", "hotspot"}
# Tests that count allocations: those of what writes down what is reached are counted too.
COUNTING = {"allocation"}
ALONE = "alone.txt"
OUTCOMES = ("caught", "timeout", "missed", "unviable")
# Standard deviations of a normal law that hold 95 % of it.
SPREAD = 1.96

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


def laws(package: str) -> list[str]:
    """Return the tests that a package's mutants are put to after the unit tests."""
    folder = TREE / "crates" / package.removeprefix("qcnlab-") / "tests"
    files = [*folder.glob("*.rs"), *(file.parent for file in folder.glob("*/main.rs"))]
    return sorted({file.stem for file in files} - SNAPSHOTS - COUNTING)


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
        self.alone: set[str] = set()
        if (self.folder / ALONE).exists():
            self.alone = set((self.folder / ALONE).read_text().splitlines())

    def not_together(self, package: str) -> set[str]:
        """Return the mutants of a package that do not compile, or were built alone."""
        outcomes = self.outcomes[package].items()
        return self.alone | {name for name, outcome in outcomes if outcome == "unviable"}

    def add(self, package: str, name: str, outcome: str, *, alone: bool = False) -> None:
        """Keep what became of a mutant, and whether it was built alone."""
        self.outcomes[package][name] = outcome
        if alone:
            self.alone.add(name)
            (self.folder / ALONE).write_text("\n".join(sorted(self.alone)))
        (self.folder / f"{package}.json").write_text(json.dumps(self.outcomes[package], indent=1))
        done = list(self.outcomes[package].values())
        print(f"{package}: {len(done)}, {done.count('missed')} survive", file=sys.stderr)


def without_position(name: str) -> str:
    """Return the name of a mutant without line and column, which change with every edit."""
    return re.sub(r"^([^:]+):\d+:\d+:", r"\1:", name)


def share(killed: int, viable: int) -> str:
    """Return a percentage of two counts."""
    return f"{100 * killed / viable:.1f} %" if viable else "-"


def interval(killed: int, viable: int) -> str:
    """Return where the share lies with 95 % confidence when these are a sample, after Wilson."""
    if not viable:
        return "-"
    share, square = killed / viable, SPREAD**2
    middle = (share + square / (2 * viable)) / (1 + square / viable)
    half = SPREAD * math.sqrt(share * (1 - share) / viable + square / (4 * viable**2))
    half /= 1 + square / viable
    return f"{100 * (middle - half):.1f} to {100 * (middle + half):.1f} %"


def page(known: dict[str, list[str]], drawn: dict[str, list[str]], kept: Kept, seed: int) -> str:
    """Return the page with the table and the survivors."""
    reasons = tomllib.loads(REASONS.read_text(encoding="utf-8")) if REASONS.exists() else {}
    date = datetime.datetime.now(tz=datetime.UTC).date()
    rows, survivors, totals = [], [], [0] * 8
    for package, names in known.items():
        outcomes = {name: kept.outcomes[package].get(name) for name in drawn[package]}
        count = {kind: list(outcomes.values()).count(kind) for kind in OUTCOMES}
        ran = sum(count.values())
        killed, viable = count["caught"] + count["timeout"], ran - count["unviable"]
        alone = sum(1 for name, outcome in outcomes.items() if outcome and name in kept.alone)
        row = [len(names), len(drawn[package]), ran, alone, count["unviable"], killed]
        row += [count["timeout"], count["missed"]]
        totals = [total + cell for total, cell in zip(totals, row, strict=True)]
        rows.append([package, *row, share(killed, viable), interval(killed, viable)])
        survivors += [name for name, outcome in outcomes.items() if outcome == "missed"]
    if len(known) > 1:
        killed, viable = totals[5], totals[2] - totals[4]
        rows.append(["all", *totals, share(killed, viable), interval(killed, viable)])
    lines = [
        f"Drawn with seed {seed}; tested on {date} at commit {kept.commit}.",
        "",
        "| package | all mutants | drawn | run | built alone | unviable | killed "
        "| of these by time | survived | killed of the viable | 95 % interval |",
        "|" + "---|" * 11,
        *("| " + " | ".join(str(cell) for cell in row) + " |" for row in rows),
        "",
        "Survivors:",
        "",
    ]
    for plain in sorted(without_position(name) for name in survivors):
        lines.append(f"- `{plain}`: {reasons.get(plain, 'no test notices it')}")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Draw mutants, test them, and print or write what goes into the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, default=200, help="how many to draw; 0 for all")
    parser.add_argument("--seed", type=int, default=1, help="seed of the draw")
    parser.add_argument("--names", type=Path, help="test those that this file names instead")
    packages = [*PACKAGES, *python_mutants.PACKAGES]
    parser.add_argument(
        "--package", choices=packages, action="append", help="draw from this package alone"
    )
    parser.add_argument("--most", type=int, default=sys.maxsize, help="stop after so many more")
    parser.add_argument("--jobs", type=int, default=2, help="how many are tested at a time")
    parser.add_argument("--page", type=Path, help="write the table here instead of printing it")
    arguments = parser.parse_args()
    python_trees = [TREE.with_name(f"{TREE.name}-python-{n}") for n in range(arguments.jobs)]
    kept = Kept(clone([TREE, *python_trees]))
    chosen = [package for package in packages if package in (arguments.package or packages)]
    of_python = [python_mutants.Mutants(tree, ROOT, kept.folder) for tree in python_trees]
    of_rust = {
        package: rust_builds.listed(TOOL, TREE, package)
        for package in chosen
        if package in PACKAGES
    }
    known = {
        package: list(of_rust[package]) if package in of_rust else of_python[0].names(package)
        for package in chosen
    }
    mutants = [(package, name) for package, names in known.items() for name in names]
    if arguments.names:
        asked = set(arguments.names.read_text(encoding="utf-8").splitlines())
        mutants = [each for each in mutants if {each[1], without_position(each[1])} & asked]
    sample = 0 if arguments.names else arguments.sample
    count = min(sample or len(mutants), len(mutants))
    drawn: dict[str, list[str]] = defaultdict(list)
    for package, name in random.Random(arguments.seed).sample(mutants, count):
        drawn[package].append(name)
    left = arguments.most
    for package in chosen:
        done = kept.outcomes[package]
        names = [name for name in drawn[package] if name not in done][:left]
        left -= len(names)
        keep = functools.partial(kept.add, package)
        if package not in of_rust:
            python_mutants.try_each(of_python, names, keep)
        elif names:
            bench = rust_builds.Bench(TREE, package, laws(package))
            together = {
                name: of_rust[package][name]
                for name in drawn[package]
                if name in names or (name in done and name not in kept.not_together(package))
            }
            for name in bench.test_together(together, list(done), arguments.jobs, keep):
                keep(name, bench.test_alone(together[name]), alone=True)
            bench.write({})
    text = page(known, drawn, kept, arguments.seed)
    if arguments.page:
        arguments.page.write_text(text, encoding="utf-8")
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
