"""The scripts that hold the Rust machines against independent references are current."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPTS = Path(__file__).parent / "oracles" / "scripts.py"


def test_scripts_are_what_the_references_write() -> None:
    done = subprocess.run(
        [sys.executable, SCRIPTS, "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, (
        f"{done.stdout}{done.stderr}write them: python tests/oracles/scripts.py --write"
    )
