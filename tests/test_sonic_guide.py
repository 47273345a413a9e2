"""The guide to SONiC fabrics: its commands do what it says (sonic-fabric)."""

from __future__ import annotations

import shlex
import subprocess
import sys
from typing import TYPE_CHECKING

from conftest import ROOT, CommandLine
from test_blocks import blocks

if TYPE_CHECKING:
    from pathlib import Path

GUIDE = ROOT / "docs/guide/sonic-fabric.md"
SHORT = ("-s", "duration=100 us", "--reps", "1", "-o", "run")


def carried_out(folder: Path) -> dict[str, tuple[int, str]]:
    """Run the commands of the page in their order; return what each left with and printed."""
    here = CommandLine(folder)
    out = {}
    for block in blocks(GUIDE):
        for line in block.commands if block.mark else ():
            words = shlex.split(line, comments=True)
            if words[0] == "python":
                subprocess.run([sys.executable, str(ROOT / words[1]), *words[2:]],
                               cwd=folder, check=True)  # fmt: skip
                continue
            if words[0] == "sed":
                subprocess.run(line, shell=True, cwd=folder, check=True)
                continue
            done = here(*words[1:], *(SHORT if words[1] == "run" else ()))
            out[line] = (done.returncode, done.stdout)
            assert "error" not in done.stderr, done.stderr
    return out


def squeezed(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines() if not line.startswith("-")]


def test_the_page_does_what_it_says(tmp_path: Path) -> None:
    told = carried_out(tmp_path)
    assert {line: code for line, (code, _) in told.items()} == {
        "qcnlab import sonic fabric/clean -o fabric.toml": 0,
        "qcnlab run fabric.toml": 0,
        "qcnlab lint fabric/mistakes -o findings.png": 1,
        "qcnlab lint fabric/clean": 0,
        "qcnlab export sonic fabric.toml --hwsku ACS-MSN4700 -o patch": 0,
        "qcnlab export mlxconfig fabric.toml": 0,
        "qcnlab export sonic changed.toml --onto fabric/clean -o fewest": 0,
    }
    printed = [line for _, output in told.values() for line in squeezed(output)]
    texts = [block.text for block in blocks(GUIDE) if block.language == "text"]
    assert len(texts) == 5
    for line in squeezed("".join(texts)):
        assert line in printed
    assert told["qcnlab lint fabric/mistakes -o findings.png"][1].count(": error: ") == 7
