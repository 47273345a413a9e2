"""A copy of some crates of the workspace, as a workspace of its own."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def copy_crates(tree: Path, crates: Sequence[str]) -> None:
    """Copy crates into a folder, as a workspace that is quick to build.

    Files keep their times, so that cargo builds again only what has changed since the last copy.
    """
    for name in crates:
        ignored = shutil.ignore_patterns("target")
        shutil.copytree(ROOT / "crates" / name, tree / "crates" / name, ignore=ignored)
    for file in ("Cargo.lock", "rustfmt.toml"):
        shutil.copy2(ROOT / file, tree)
    lines = (ROOT / "Cargo.toml").read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if not line.startswith(("members", "default-members"))]
    members = ", ".join(f'"crates/{name}"' for name in crates)
    manifest = "\n".join(kept).replace("[workspace]\n", f"[workspace]\nmembers = [{members}]\n", 1)
    manifest = manifest.partition("[profile")[0] + "[profile.dev]\ndebug = false\n"
    (tree / "Cargo.toml").write_text(manifest, encoding="utf-8")
