"""Plant bugs one at a time and count those that the tests notice: `make mutants`.

cargo-mutants makes the bugs: a function that returns a constant, an operator turned round, a branch
left out. `.cargo/mutants.toml` says where. Each is built and put to the unit tests and the laws of
its package; tables under snapshot (digests, the hotspot table) take no part, because a person would
accept a change of theirs.

    make mutants                           # 200 drawn at random
    make mutants ARGS="--sample 0"         # all of them: a night
    make mutants ARGS="--page docs/reference/mutants.md"
"""

from __future__ import annotations

import argparse
import datetime
import random
import re
import subprocess
import sys
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOL = ROOT / "target/tools/bin/cargo-mutants"
REASONS = ROOT / "tests/mutants_left.toml"
# The tests that each package's mutants are put to.
TESTS = {
    "qcnlab-schemes": ["--lib", "--test=laws", "--test=signals", "--test=drift"],
    "qcnlab-sim": [
        "--lib",
        *(f"--test={name}" for name in ("by_hand", "star", "fabric", "probes", "transport")),
    ],
    "qcnlab-lab": ["--lib"],
}
OUTCOMES = ("caught", "timeout", "missed", "unviable")


@dataclass
class Score:
    """What became of the mutants of one package."""

    package: str
    all: int
    names: dict[str, list[str]] = field(default_factory=dict)

    def count(self, *outcomes: str) -> int:
        """Return how many mutants had one of `outcomes`."""
        return sum(len(self.names.get(outcome, [])) for outcome in outcomes)

    @property
    def viable(self) -> int:
        """Mutants that compile."""
        return self.count("caught", "timeout", "missed")

    def row(self) -> str:
        """Return a line of the table."""
        killed = self.count("caught", "timeout")
        share = f"{100 * killed / self.viable:.1f} %" if self.viable else "-"
        drawn = self.viable + self.count("unviable")
        return f"| {self.package} | {self.all} | {drawn} | {self.viable} | {killed} | {share} |"


def listed(package: str) -> list[str]:
    """Return the names of all mutants of a package."""
    command = [str(TOOL), "mutants", "--list", "--colors=never", "--package", package]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return done.stdout.splitlines()


def tested(package: str, names: list[str], options: list[str]) -> dict[str, list[str]]:
    """Build and test each of the mutants `names`; return their names by outcome."""
    folder = ROOT / "target/mutants-out" / package
    folder.mkdir(parents=True, exist_ok=True)
    command = [str(TOOL), "mutants", "--colors=never", "--package", package]
    command += ["--output", str(folder)]
    command += [f"--re=^{re.escape(name)}$" for name in names]
    code = subprocess.run([*command, *options, "--", *TESTS[package]], cwd=ROOT).returncode
    # 0: all caught; 2: some missed; 3: some ran out of time.
    if code not in (0, 2, 3):
        sys.exit(f"cargo-mutants failed on {package} (exit code {code}); see {folder}")
    results = folder / "mutants.out"
    return {kind: (results / f"{kind}.txt").read_text().splitlines() for kind in OUTCOMES}


def without_position(name: str) -> str:
    """Return the name of a mutant without line and column, which change with every edit."""
    return re.sub(r"^([^:]+):\d+:\d+:", r"\1:", name)


def page(scores: list[Score], seed: int) -> str:
    """Return the page with the table and the survivors."""
    reasons = tomllib.loads(REASONS.read_text(encoding="utf-8")) if REASONS.exists() else {}
    head = ["git", "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(head, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    date = datetime.datetime.now(tz=datetime.UTC).date()
    lines = [
        "# Mutants",
        "",
        "`make mutants` plants bugs one at a time and counts those that the tests notice. "
        "`tests/mutants.py` says how, `.cargo/mutants.toml` where. *Viable* mutants compile; "
        "*killed* ones make a unit test or a law fail, or never end. Tables under snapshot take no "
        "part.",
        "",
        f"Drawn with seed {seed} on {date}, commit {commit.strip()}.",
        "",
        "| package | all mutants | drawn | viable | killed | share |",
        "|---|---|---|---|---|---|",
        *(score.row() for score in scores),
        "",
        "## Survivors",
        "",
    ]
    for name in (name for score in scores for name in score.names.get("missed", [])):
        plain = without_position(name)
        lines.append(f"- `{plain}`: {reasons.get(plain, 'no test notices it')}")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Draw mutants, test them, and print or write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, default=200, help="how many to draw; 0 for all")
    parser.add_argument("--seed", type=int, default=1, help="seed of the draw")
    parser.add_argument("--package", choices=TESTS, action="append", help="of this package alone")
    parser.add_argument("--page", type=Path, help="write the page here instead of printing it")
    parser.add_argument(
        "--in-place", dest="here", action="store_true", help="change this tree, not a copy"
    )
    arguments = parser.parse_args()
    packages = arguments.package or list(TESTS)
    known = {package: listed(package) for package in packages}
    mutants = [(package, name) for package in packages for name in known[package]]
    if arguments.sample:
        count = min(arguments.sample, len(mutants))
        mutants = random.Random(arguments.seed).sample(mutants, count)
    options = ["--in-place", "--baseline=skip", "--timeout=60"] if arguments.here else []
    scores = []
    for package in packages:
        drawn = [name for owner, name in mutants if owner == package]
        names = tested(package, drawn, options) if drawn else {}
        scores.append(Score(package, len(known[package]), names))
    text = page(scores, arguments.seed)
    if arguments.page:
        arguments.page.write_text(text, encoding="utf-8")
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
