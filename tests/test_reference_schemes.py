"""Scripts of the independent references are current, and the page about them is true."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from qcnlab.catalogue import schemes

ROOT = Path(__file__).resolve().parent.parent
SCRIPTS = ROOT / "tests" / "oracles" / "scripts.py"
PAGE = ROOT / "docs" / "reference" / "verified.md"


def test_scripts_and_page_are_what_the_references_write() -> None:
    command = [sys.executable, str(SCRIPTS), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}run {SCRIPTS.name} --write"


def rows(heading: str) -> list[list[str]]:
    section = PAGE.read_text().split(f"## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_every_scheme_has_a_row() -> None:
    listed = [row[0] for row in rows("Schemes")]
    assert listed == [scheme.name for scheme in schemes()]


def test_files_with_numbers_by_hand_have_tests() -> None:
    for row in rows("Schemes") + rows("Parts"):
        named = re.search(r"\((.+)\)", row[1])
        assert named is not None, row
        assert "#[test]" in (PAGE.parent / named[1]).read_text(), row


ALONE = ["qcn_timer", "qcn_sonar", "fb99", "ecm_q", "nic_fb"]
"""Schemes that nothing which can be run from here verifies but their own tests."""


def test_the_schemes_that_nothing_else_verifies_are_known() -> None:
    assert [row[0] for row in rows("Schemes") if row[2] == row[3] == "-"] == ALONE
