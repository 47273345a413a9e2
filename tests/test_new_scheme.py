"""`make new-scheme` on a copy of the crate it changes; `test_rust_recipes.py` builds one."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT
from crate_copies import copy_crates

SCRIPT = "crates/schemes/template/new_scheme.py"
SOURCE = "crates/schemes/src"
FILES = {
    f"{SOURCE}/family/slow_start.rs",
    f"{SOURCE}/family/slow_start/tests.rs",
    f"{SOURCE}/registry.rs",
    f"{SOURCE}/family/mod.rs",
    "docs/reference/sources.md",
}


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    copy_crates(tmp_path, ("schemes",))
    shutil.copytree(ROOT / "docs/reference", tmp_path / "docs/reference")
    return tmp_path


def start(root: Path, name: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, root / SCRIPT, name], capture_output=True, text=True, check=False
    )


def texts(root: Path) -> dict[str, str]:
    files = [*(root / SOURCE).rglob("*.rs"), root / "docs/reference/sources.md"]
    return {str(path.relative_to(root)): path.read_text() for path in files}


def formatted(root: Path, *files: str) -> None:
    subprocess.run(
        ["rustfmt", "--check", "--edition", "2024", *files], cwd=root, check=True, timeout=60
    )


def test_a_new_scheme_is_listed(copy: Path) -> None:
    before = texts(copy)
    done = start(copy, "slow_start")
    assert (done.returncode, done.stderr) == (0, "")
    after = texts(copy)
    assert {name for name, text in after.items() if text != before.get(name)} == FILES
    assert set(done.stdout.splitlines()) > FILES
    assert "SlowStart => slow_start::SlowStart," in after[f"{SOURCE}/registry.rs"]
    assert "cheme_name" not in after[f"{SOURCE}/family/slow_start.rs"]
    formatted(copy, f"{SOURCE}/lib.rs")


def test_long_imports_are_laid_out(copy: Path) -> None:
    for name in ("a" + "b" * 40, "c" * 50, "d" * 60):
        assert start(copy, name).returncode == 0
    formatted(copy, f"{SOURCE}/registry.rs")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "lower-case letters"),
        ("SlowStart", "lower-case letters"),
        ("../slow", "lower-case letters"),
        ("slow__start", "lower-case letters"),
        ("match", "Rust language"),
        ("qcn", "already"),
        ("qcn_timer", "already"),
        ("fb_99", "already"),
    ],
)
def test_a_name_that_cannot_be_changes_nothing(copy: Path, name: str, reason: str) -> None:
    before = texts(copy)
    done = start(copy, name)
    assert (done.returncode, done.stdout) == (2, "")
    assert reason in done.stderr
    assert texts(copy) == before


def test_a_file_that_has_changed_its_form_changes_nothing(copy: Path) -> None:
    registry = copy / SOURCE / "registry.rs"
    registry.write_text(registry.read_text().replace("families! {", "all_families! {"))
    before = texts(copy)
    done = start(copy, "slow_start")
    assert (done.returncode, "registry.rs has changed its form" in done.stderr) == (2, True)
    assert texts(copy) == before
