"""Generate again what is generated, and say what has changed.

    python tests/bless.py              everything below
    python tests/bless.py schema lab   these parts alone

Accepting a change is for who reads what it says: `git diff` shows it, `git checkout` takes it back.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CARGO = ("cargo", "test", "--release", "--quiet", "-p")


@dataclass(frozen=True)
class Part:
    """Something that is generated: by which command, into which files, what it asks for."""

    command: tuple[str, ...]
    files: tuple[str, ...]
    asks: str = ""


PARTS = {
    "schema": Part(
        (*CARGO, "qcnlab-scenario", "--test", "schema"), ("scenarios/qcnlab.schema.json",)
    ),
    "digests": Part(
        (*CARGO, "qcnlab-lab", "--test", "digests"),
        ("crates/lab/tests/digests.txt",),
        "results have changed: docs/reference/changed-results.md says why",
    ),
    "hotspot": Part(
        (*CARGO, "qcnlab-lab", "--test", "hotspot"),
        ("crates/lab/tests/hotspot.txt",),
        "results have changed: docs/reference/changed-results.md says why",
    ),
    "refusals": Part(
        (*CARGO, "qcnlab-scenario", "--test", "refusals"), ("crates/scenario/tests/refusals",)
    ),
    "mib": Part((*CARGO, "qcnlab-lab", "--lib", "mib"), ("docs/reference/mib.md",)),
    "schemes": Part(
        (sys.executable, "-m", "qcnlab.commands.pages", "docs/schemes"), ("docs/schemes",)
    ),
    "lab": Part(("web/build.sh",), ("python/qcnlab/lab.html",)),
}
"""By the word that names it; `make bless` makes the extension that `schemes` needs first."""
ELSEWHERE = (
    "left as they are: the book's pages (`make validate`), the measured pages and pictures"
    " (`make bench-...`), the accepted instruction counts (`benches/gate.py --bless`)"
)


def contents(root: Path, names: tuple[str, ...]) -> dict[str, str]:
    """Return the digest of each file that is one of `names` or lies in one."""
    digests: dict[str, str] = {}
    for name in names:
        start = root / name
        for path in (start, *start.rglob("*")):
            if path.is_file():
                digest = hashlib.sha256(path.read_bytes()).hexdigest()
                digests[path.relative_to(root).as_posix()] = digest
    return digests


def changes(before: dict[str, str], after: dict[str, str]) -> list[str]:
    """Return a line for each file that is new, gone or other than before."""
    lines = []
    for name in sorted({*before, *after}):
        if name not in before:
            lines.append(f"new      {name}")
        elif name not in after:
            lines.append(f"gone     {name}")
        elif before[name] != after[name]:
            lines.append(f"changed  {name}")
    return lines


def bless(root: Path, parts: dict[str, Part]) -> int:
    """Run the command of each part; return the exit code: 1 if a command failed."""
    failed = []
    asked = []
    changed = False
    for name, part in parts.items():
        print(f"{name}: {' '.join(part.command)}", flush=True)
        before = contents(root, part.files)
        environment = {**os.environ, "QCNLAB_BLESS": "1"}
        done = subprocess.run(part.command, cwd=root, env=environment, check=False)
        lines = changes(before, contents(root, part.files))
        print("".join(f"  {line}\n" for line in lines), end="")
        changed = changed or bool(lines)
        if done.returncode:
            failed.append(f"{name} failed, with exit code {done.returncode}")
        if lines and part.asks and part.asks not in asked:
            asked.append(part.asks)
    said = [*asked, *failed] or ([] if changed else ["nothing has changed"])
    print("".join(f"{line}\n" for line in said), end="")
    return 1 if failed else 0


def main(words: list[str]) -> int:
    """Bless the parts that `words` name, or all."""
    unknown = [word for word in words if word not in PARTS]
    if unknown:
        print(f"bless: no part '{unknown[0]}'; there are: {', '.join(PARTS)}", file=sys.stderr)
        return 2
    code = bless(ROOT, {name: PARTS[name] for name in words or PARTS})
    print(ELSEWHERE)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
