"""Write or check the scripts that the Rust machines are held against, and the page about them.

    python tests/oracles/scripts.py --write
    python tests/oracles/scripts.py --check

The scripts go to `crates/schemes/tests/reference`; `cargo test -p qcnlab-schemes --test reference`
plays them.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
if str(HERE) not in sys.path:
    sys.path.insert(0, str(HERE))

import cubic  # noqa: E402
import laws  # noqa: E402
import verified  # noqa: E402
from laws.common import Reference  # noqa: E402

PAGE = HERE.parents[1] / "docs" / "reference" / "verified.md"
FOLDER = HERE.parents[1] / "crates" / "schemes" / "tests" / "reference"


def references() -> list[Reference]:
    """Return every reference, by the name of its module."""
    modules = (
        importlib.import_module(f"laws.{m.name}") for m in pkgutil.iter_modules(laws.__path__)
    )
    return [module.REFERENCE for module in modules if hasattr(module, "REFERENCE")]


def scripts() -> dict[str, str]:
    """Return file name and text of every script."""
    made = {}
    for reference in references():
        for name, script in reference.scripts.items():
            made[f"{name}.csv"] = script().text()
    return made


def stale() -> list[str]:
    """Return the names of files that are missing, left over or not as the references write them."""
    wanted = scripts()
    there = {path.name: path.read_text() for path in FOLDER.glob("*.csv")}
    names = sorted(wanted.keys() | there.keys())
    old = [name for name in names if wanted.get(name) != there.get(name)]
    if not cubic.FILE.exists() or cubic.FILE.read_text() != cubic.text():
        old.append(cubic.FILE.name)
    page = PAGE.read_text() if PAGE.exists() else ""
    return old if page == verified.page(references()) else [*old, PAGE.name]


def write() -> None:
    """Write every script and the page anew."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for path in FOLDER.glob("*.csv"):
        path.unlink()
    for name, text in scripts().items():
        (FOLDER / name).write_text(text)
    cubic.FILE.write_text(cubic.text())
    PAGE.write_text(verified.page(references()))


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="write scripts and page anew")
    parser.add_argument(
        "--check", action="store_true", help="fail if they are not current (default)"
    )
    if parser.parse_args().write:
        write()
    old = stale()
    for name in old:
        print(f"not current: {name}")
    return 1 if old else 0


if __name__ == "__main__":
    sys.exit(main())
