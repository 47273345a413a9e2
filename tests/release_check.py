"""Say what of the files that are built once for a release is not of these sources.

    python tests/release_check.py

`make release-check` runs this first, then what a release needs besides. It judges what `make test`
does not, since it would be out of date after each change: the laboratory's page. It also compares
the version in the files that name it, and has actionlint read the workflows where there is one.
Exit code 0: nothing is stale; 1: something is.
"""

from __future__ import annotations

import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def stale_page(root: Path) -> list[str]:
    """Return what is wrong with the laboratory's page: its first comment names its sources."""
    page = (root / "python/qcnlab/lab.html").read_text(encoding="utf-8")
    built = re.search(r"^sources ([0-9a-f]{16})$", page, re.MULTILINE)
    now = runpy.run_path(str(root / "web" / "sources.py"))["digest"]()
    if built is not None and built[1] == now:
        return []
    return ["python/qcnlab/lab.html is not of these sources: run `make lab`"]


def versions(root: Path) -> list[str]:
    """Return which files name another version than Cargo.toml, and a changelog without a date."""
    cargo = tomllib.loads((root / "Cargo.toml").read_text(encoding="utf-8"))
    version = cargo["workspace"]["package"]["version"]
    wrong = []
    citation = (root / "CITATION.cff").read_text(encoding="utf-8")
    cited = re.search(r"^version: \"?([^\"\n]+)\"?$", citation, re.MULTILINE)
    if cited is None or cited[1] != version:
        named = "none" if cited is None else cited[1]
        wrong.append(f"CITATION.cff: the version is {named}, Cargo.toml has {version}")
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    if not re.search(rf"^## {re.escape(version)}\b.*\d{{4}}-\d\d-\d\d", changelog, re.MULTILINE):
        wrong.append(f"CHANGELOG.md: no heading has {version} and its date, as in 2026-01-31")
    return wrong


def workflows(root: Path) -> list[str]:
    """Return what actionlint says of the workflows."""
    program = shutil.which("actionlint")
    if program is None:
        print(
            "not checked: .github/workflows (no actionlint; to have it:"
            " go install github.com/rhysd/actionlint/cmd/actionlint@v1.7.7)"
        )
        return []
    files = sorted(map(str, (root / ".github/workflows").glob("*.yml")))
    done = subprocess.run([program, *files], cwd=root, capture_output=True, text=True, check=False)
    return [line for line in done.stdout.splitlines() if re.match(r"\S+:\d+:\d+:", line)]


def main() -> int:
    """Print what is stale, and return the exit code."""
    wrong = [*stale_page(ROOT), *versions(ROOT), *workflows(ROOT)]
    print("\n".join(wrong) if wrong else "nothing is stale")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
