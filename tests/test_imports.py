"""Modules of the package use only what is below them, and none in a circle."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import qcnlab
from conftest import ROOT

PACKAGE = ROOT / "python" / "qcnlab"


def imported_from_the_root(path: Path) -> set[str]:
    """Return the names that a module takes from `qcnlab` itself, `qcnlab` for the package."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names if alias.name == "qcnlab"}
        elif isinstance(node, ast.ImportFrom) and node.module == "qcnlab":
            names |= {alias.name for alias in node.names}
    return names


def test_the_contracts_in_pyproject_hold() -> None:
    linter = shutil.which("lint-imports", path=str(Path(sys.executable).parent))
    assert linter, "import-linter is not installed; see requirements.in"
    done = subprocess.run(
        [linter, "--no-logo", "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 broken" in done.stdout


@pytest.mark.parametrize(
    "path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE))
)
def test_no_module_uses_the_public_face_above_it(path: Path) -> None:
    assert imported_from_the_root(path).isdisjoint({"qcnlab", *qcnlab.__all__})
