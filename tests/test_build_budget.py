"""What `make demo` builds and installs, counted: seconds cannot be asserted, what costs them can.

`docs/reference/tests.md` has the seconds, with machine and load. A number here grows only with a
reason: another crate or package that a first visitor waits for must earn it.
"""

from __future__ import annotations

import re
import subprocess
import tomllib

import pytest

from conftest import ROOT

# Crates that the extension is made of, build scripts and procedural macros included. 54 before
# `crates/shares`, which is one because only a crate can be optimised by itself; 55 before
# `crates/lab` was cut into five, which are compiled side by side; 59 before headers of IPv4 were
# ours.
MOST_CRATES = 57
# Lines of Rust in crates that are compiled with optimisation, files of tests aside. 50,000 before
# PowerTCP, Swift and packets that overtake each other, 52,000 before NSCC and DRILL, 52,500 before
# runs without packets, 53,500 before messages took memory only while they last, 54,000 before PCN,
# PINT, credit, and headers of IPv4, TCP and UDP in the place of a library, 56,500 before senders
# and network were parts of the engine that answer, 58,000 before a port's five kinds had one door
# and `conform` held senders against a port whose messages are missing, 58,500 before ports kept
# flows apart for BFC, source flow control, ids of plans, and paths and names that flows share,
# 60,500 before the crate of networks was optimised for its routes, and before congestion isolation
# and links that fail beside BFC.
MOST_OPTIMISED_LINES = 64_500
MOST_PACKAGES = 30


def test_the_extension_is_made_of_few_crates() -> None:
    command = ["cargo", "tree", "--offline", "-p", "qcnlab-py", "-e", "normal,build"]
    tree = subprocess.run(
        [*command, "--prefix", "none", "--no-dedupe"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    crates = {tuple(line.split()[:2]) for line in tree.stdout.splitlines() if line}
    assert {name for name, _ in crates} > {"qcnlab-py", "qcnlab-sim", "pyo3"}
    assert len(crates) <= MOST_CRATES, sorted(crates)


def features(kinds: str, *selected: str) -> dict[str, str]:
    """Return the features of each crate that cargo builds for a selection, by name and version."""
    command = ["cargo", "tree", "--offline", *selected, "-e", kinds]
    tree = subprocess.run(
        [*command, "--prefix", "none", "--no-dedupe", "-f", "{p}|{f}"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    rows = [line.partition("|") for line in tree.stdout.splitlines() if line]
    return {" ".join(crate.split()[:2]): of for crate, _, of in rows}


@pytest.mark.parametrize("selected", [(), ("-p", "qcnlab-lab"), ("-p", "qcnlab-live")])
def test_tests_and_benches_use_what_the_extension_is_built_of(selected: tuple[str, ...]) -> None:
    """Crates with other features than the extension's are built again, and all that use them."""
    extension = features("normal,build", "-p", "qcnlab-py")
    tests = features("normal,build,dev", *selected)
    shared = extension.keys() & tests.keys()
    assert {crate.split()[0] for crate in shared} > {"qcnlab-lab", "qcnlab-sim", "thiserror", "syn"}
    assert {crate: of for crate, of in tests.items() if extension.get(crate, of) != of} == {}


def test_only_hot_crates_are_optimised() -> None:
    """What runs for each frame, octet or step is; what reads a scenario once is not."""
    manifest = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))
    release = manifest["profile"]["release"]
    assert (release["opt-level"], release["debug"]) == (0, False)
    levels = {name: package["opt-level"] for name, package in release["package"].items()}
    hot = {"units", "schemes", "sim", "fluid", "shares", "wire"}
    assert all(levels[f"qcnlab-{name}"] == 3 for name in hot)
    assert "qcnlab-lab" not in levels
    ours = [name.removeprefix("qcnlab-") for name in levels if name.startswith("qcnlab-")]
    sources = [path for name in ours for path in (ROOT / "crates" / name / "src").rglob("*.rs")]
    plain = [path for path in sources if "tests" not in path.parts and path.stem != "tests"]
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in plain)
    assert 20_000 < lines <= MOST_OPTIMISED_LINES


def test_wheels_are_optimised_throughout() -> None:
    manifest = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))
    dist = manifest["profile"]["dist"]
    assert (dist["inherits"], dist["opt-level"]) == ("release", 3)
    assert "maturin build --profile dist" in (ROOT / "Makefile").read_text(encoding="utf-8")


def test_the_demonstration_installs_few_packages() -> None:
    text = (ROOT / "requirements-run.lock").read_text(encoding="utf-8")
    names = set(re.findall(r"^([\w.-]+)==", text, re.MULTILINE))
    assert {"numpy", "polars", "matplotlib", "maturin"} <= names
    assert len(names) <= MOST_PACKAGES
