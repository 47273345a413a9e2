"""Print the digest of everything that the page `qcnlab lab` opens is built from.

The page has it in its first comment; `make release-check` fails when the two differ.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CRATES = (
    *("units", "schemes", "wire", "capture", "sim", "shares"),
    *("network", "traffic", "scenario", "theory", "lab", "wasm"),
)
PAGE = ("index.html", "vite.config.js", "NOTICE", "package-lock.json")


def sources() -> list[Path]:
    """Return the files, tests left out."""
    files = [ROOT / "Cargo.lock", *(ROOT / "web" / name for name in PAGE)]
    files += (ROOT / "web" / "src").rglob("*.*")
    files += (ROOT / "scenarios").rglob("*.toml")
    for crate in CRATES:
        folder = ROOT / "crates" / crate
        files += [folder / "Cargo.toml", *folder.glob("build.rs")]
        code = (folder / "src").rglob("*.rs")
        files += (path for path in code if "tests" not in path.with_suffix("").parts)
    return sorted(files)


def digest() -> str:
    """Return 16 hex digits over names and contents."""
    sha = hashlib.sha256()
    for path in sources():
        name = path.relative_to(ROOT).as_posix()
        sha.update(f"{name}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return sha.hexdigest()[:16]


if __name__ == "__main__":
    print(digest())
