"""Write or check the scripts that the Rust machines are held against.

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

import laws  # noqa: E402
from laws.common import Reference  # noqa: E402

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
    return sorted(
        name for name in wanted.keys() | there.keys() if wanted.get(name) != there.get(name)
    )


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="write the scripts anew")
    parser.add_argument(
        "--check", action="store_true", help="fail if they are not current (default)"
    )
    if parser.parse_args().write:
        FOLDER.mkdir(parents=True, exist_ok=True)
        for path in FOLDER.glob("*.csv"):
            path.unlink()
        for name, text in scripts().items():
            (FOLDER / name).write_text(text)
    for name in stale():
        print(f"not current: {name}")
    return 1 if stale() else 0


if __name__ == "__main__":
    sys.exit(main())
