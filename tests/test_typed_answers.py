"""How many dictionaries of anything the package still passes on: the number only falls.

What the core answers and what files hold are records whose keys are attributes
(`qcnlab.records.Record`). A dictionary of anything is for keys that a user writes, as in a
scenario, and for tables of options that go on to a library.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from conftest import ROOT

LOOSE = 213
"""Lines with `dict[str, Any]` in the package. Lower it when there are fewer; never raise it."""
WRITTEN = re.compile(r"\bdict\[str, Any\]")


def counted(root: Path) -> Counter[str]:
    """Return how many lines of each file have such a dictionary."""
    files = (root / "python/qcnlab").rglob("*.py")
    return Counter(
        {
            path.relative_to(root).as_posix(): sum(
                WRITTEN.search(line) is not None
                for line in path.read_text(encoding="utf-8").splitlines()
            )
            for path in files
        }
    )


def test_dictionaries_of_anything_only_become_fewer() -> None:
    by_file = counted(ROOT)
    most = ", ".join(f"{name} {count}" for name, count in by_file.most_common(5))
    total = by_file.total()
    assert total <= LOOSE, f"{total} dictionaries of anything: declare a record. Most are in {most}"
    assert total == LOOSE, f"{total} are left: lower LOOSE to it"


def test_what_is_counted(tmp_path: Path) -> None:
    folder = tmp_path / "python/qcnlab"
    folder.mkdir(parents=True)
    lines = ("x: dict[str, Any] = {}", "y: list[dict[str, Any]]", "z: dict[str, int]")
    (folder / "a.py").write_text("\n".join(lines))
    assert counted(tmp_path) == {"python/qcnlab/a.py": 2}
