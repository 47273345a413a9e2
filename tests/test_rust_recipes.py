"""The recipes of CONTRIBUTING.md that change crates, all on one copy, which is built once.

A scheme, a topology, a frame, a fluid model, an arrival, a transport and a metric are added step by
step, each small and real, with its test. Then the tests that are quick there run, those of others
too: nothing that a recipe does not name may fail. With a step left out, what the recipe names must.
The copy stays in `target/recipes`, so that cargo builds again only what has changed.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from conftest import ROOT
from crate_copies import copy_crates
from rust_recipe_steps import ARRIVAL, FRAME, METRIC, MODEL, TOPOLOGY, TRANSPORT
from test_recipes import CONTRIBUTING, Step

FOLDER = ROOT / "target/recipes"
"""The copy, and what cargo makes of it."""
CRATES = tuple(sorted(path.name for path in (ROOT / "crates").iterdir() if path.name != "wasm"))
"""All but the module for browsers, for which there is another compiler."""
COPIED = ("python", "tests", "docs", "scenarios")
LINKED = ("examples", "book", "benches", "web", "README.md", "CHANGELOG.md", "ARCHITECTURE.md")
NOT_COPIED = shutil.ignore_patterns("__pycache__", "node_modules", ".hypothesis", "_core.abi3.so")

RECIPES: dict[str, tuple[dict[str, Step], str]] = {
    "topology": (TOPOLOGY, "generators::tests::a_ring_closes"),
    "frame": (FRAME, "a_beacon_is_its_port"),
    "fluid model": (MODEL, "before_the_delay_the_rate_falls_by_the_first_queue"),
    "arrival": (ARRIVAL, "bursts_repeat_with_their_seed"),
    "transport": (TRANSPORT, "the_second_train_waits_for_its_gap"),
    "metric": (METRIC, "what_is_lost_is_a_share_of_what_is_sent"),
}
"""The steps of each, and the test that it adds."""
BRIDGE = ("-p", "qcnlab-py", "--features", "pyo3/extension-module")
TESTED = [crate for crate in CRATES if crate not in {"capture", "conform", "live", "py", "shares"}]
BUILT = [
    *(word for crate in TESTED for word in ("-p", f"qcnlab-{crate}")),
    *("--lib", "--test", "identities", "--test", "corpus", "--test", "refusals"),
    *("--test", "schema", "--test", "scenarios", "--test", "bursts", "--test", "trains"),
]
"""What cargo builds, at once, so that nothing is built twice."""
QUICK = {
    "fluid": ("proportional", "requests"),
    "lab": ("metrics", "tables"),
}
"""Of these crates' unit tests, without optimisation, the others take minutes."""
PYTHON = (
    "tests/test_applicable.py",
    "tests/test_words.py",
    "tests/test_comparison.py",
    "tests/test_schema.py",
    "tests/test_options.py",
    "tests/test_bad_input.py",
)
"""Tests of the Python face that what was added could upset, and that are quick there."""


@dataclass(frozen=True)
class Said:
    """What the tests of the copy said, and how they ended."""

    text: str
    failed: list[str]


@pytest.fixture(scope="module")
def tree() -> Path:
    """The copy with all recipes done; files that did not change keep their times."""
    tree = FOLDER / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    copy_crates(tree, CRATES)
    for name in COPIED:
        shutil.copytree(ROOT / name, tree / name, ignore=NOT_COPIED)
    for name in LINKED:
        (tree / name).symlink_to(ROOT / name)
    shutil.copy2(ROOT / "pyproject.toml", tree)
    script = [sys.executable, "crates/schemes/template/new_scheme.py", "slow_start"]
    subprocess.run(script, cwd=tree, check=True, capture_output=True)
    for recipe, _ in RECIPES.values():
        for step in recipe.values():
            step.do(tree)
    return tree


def cargo(tree: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Return what cargo says in the copy."""
    environment = {
        **os.environ,
        "CARGO_TARGET_DIR": str(FOLDER / "target"),
        # What is built is built once: nothing is kept for a build of parts of it.
        "CARGO_INCREMENTAL": "0",
        "RUST_BACKTRACE": "0",
    }
    return subprocess.run(
        ["cargo", *words, "--offline"],
        cwd=tree,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def said(tree: Path) -> Said:
    """Build all there is, bless what recipes say, and run what is quick."""
    built = cargo(tree, "test", "--no-run", "--message-format=json", *BUILT)
    assert built.returncode == 0, built.stderr
    told = [json.loads(line) for line in built.stdout.splitlines() if line.startswith("{")]
    made = [each for each in told if each["reason"] == "compiler-artifact"]
    text, failed = "", []
    for each in sorted(made, key=lambda each: each["target"]["name"] not in ("schema", "refusals")):
        if not each.get("executable"):
            continue
        folder = Path(each["manifest_path"]).parent
        kept = QUICK.get(folder.name, ()) if "lib" in each["target"]["kind"] else ()
        environment = {**os.environ, "RUST_BACKTRACE": "0", "CARGO_MANIFEST_DIR": str(folder)}
        if each["target"]["name"] in ("schema", "refusals"):
            environment["QCNLAB_BLESS"] = "1"
        done = subprocess.run(
            [each["executable"], *kept],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        text += done.stdout + done.stderr
        failed += re.findall(r"^test (.*) \.\.\. FAILED$", done.stdout, re.MULTILINE)
        assert failed or done.returncode == 0, done.stdout + done.stderr
    return Said(text, failed)


def test_tests_that_recipes_do_not_name_pass(said: Said) -> None:
    assert not said.failed, said.text


@pytest.mark.parametrize("kind", RECIPES)
def test_a_recipe_done_step_by_step_passes_what_it_names(tree: Path, said: Said, kind: str) -> None:
    recipe, own = RECIPES[kind]
    assert f"* **A{'n' * (kind[0] in 'aeiou')} {kind}**" in CONTRIBUTING
    assert f"{own} ... ok" in said.text
    files = [step.file for step in recipe.values() if step.is_new and "fuzz" not in step.file]
    check = ["rustfmt", "--check", "--edition", "2024", *files]
    assert not files or subprocess.run(check, cwd=tree, check=False).returncode == 0


def test_a_new_scheme_passes_its_tests(said: Said) -> None:
    assert len(re.findall(r"family::slow_start::.* \.\.\. ok", said.text)) == 2


def test_the_python_face_has_what_was_added(tree: Path, said: Said) -> None:
    """The bridge is built in the copy, too: tests of the face pass, and all of it can be used."""
    assert not said.failed
    built = cargo(tree, "build", *BRIDGE)
    assert built.returncode == 0, built.stderr
    made = FOLDER / "target/debug"
    [library] = [path for path in made.glob("lib_core.*") if path.suffix in (".so", ".dylib")]
    shutil.copy(library, tree / "python/qcnlab/_core.abi3.so")
    environment = {**os.environ, "PYTHONPATH": str(tree / "python"), "COVERAGE_PROCESS_START": ""}
    for command in (
        [*("pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "-m", "not long"), *PYTHON],
        ["qcnlab", "explain", "lost_frac"],
        ["qcnlab", "run", str(tree / "trains.toml"), "--reps", "1", "--out", "run"],
    ):
        (tree / "trains.toml").write_text(TRAINS, encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-m", *command],
            cwd=tree, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr


TRAINS = """duration = "1 ms"
[topology]
kind = "switch"
hosts = 3
rate = "12 Gb/s"
delay = "1 us"
[[traffic]]
arrivals = "saturated"
transport = "trains"
train = 2
frame = "1500 B"
from = "host1"
to = "host2"
[[traffic]]
arrivals = "bursts"
rate = "8 Gb/s"
burst = "100 kB"
busy = 0.25
frame = "1000 B"
from = "host3"
to = "host2"
[scheme]
name = "slow_start"
"""

LEFT_OUT = {
    ("frame", "word"): ("qcnlab-wire", "--test", "identities"),
    ("frame", "corpus"): ("qcnlab-wire", "--test", "corpus"),
    ("fluid model", "ENTRIES"): ("qcnlab-fluid", "--lib", "tests::proportional"),
    ("arrival", "line"): ("qcnlab-scenario", "--lib", "arrivals"),
    ("transport", "carried"): ("qcnlab-scenario", "--lib", "arrivals"),
}
"""Steps whose want is not the compiler's first word: what is named must fail all the same."""


@pytest.mark.parametrize(("kind", "left_out"), LEFT_OUT)
def test_a_step_left_out_is_noticed(tree: Path, said: Said, kind: str, left_out: str) -> None:
    assert not said.failed
    step = RECIPES[kind][0][left_out]
    path = tree / step.file
    whole = path.read_text(encoding="utf-8")
    assert whole.count(step.text) == 1
    path.write_text(whole.replace(step.text, ""), encoding="utf-8")
    try:
        assert cargo(tree, "test", "-p", *LEFT_OUT[kind, left_out]).returncode != 0
    finally:
        path.write_text(whole, encoding="utf-8")
