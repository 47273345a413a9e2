"""How many dictionaries of anything the package still passes on: the number only falls.

What the core answers and what files hold are records whose keys are attributes
(`qcnlab.records.Record`), and what goes to JSON as it is has its keys in a `TypedDict`. An object
whose keys a user or another program wrote is a `qcnlab.records.JsonObject`; here stands which
modules have such objects, and whose they are.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from conftest import ROOT

LOOSE = 6
"""Dictionaries and mappings of anything. Lower it when there are fewer; never raise it.

They are `JsonObject` itself; `Scenario.from_dict` and `with_`, which take what a user gives; a
scheme's parameters in `frame_note`; and the catalogue's two constructors, which take what the core
says of some thousand parameters, unchecked because of the time that a command's start may take.
"""
WRITTEN = re.compile(r"\b(?:dict|Mapping)\[str, Any\]")
SCENARIO, FOREIGN, BOOK = "tables of a scenario", "a foreign file's", "tables of the book's files"
KEYS_OF_OTHERS = {
    "advising/cases.py": SCENARIO,
    "advising/knobs.py": SCENARIO,
    "analysis/dcqcn.py": SCENARIO,
    "analysis/ecm.py": SCENARIO,
    "analysis/left_out.py": SCENARIO,
    "analysis/model.py": SCENARIO,
    "analysis/modelled.py": SCENARIO,
    "analysis/qcn.py": SCENARIO,
    "api.py": SCENARIO,
    "book/toml_table.py": BOOK,
    "book/variants.py": SCENARIO,
    "catalogue/changes.py": SCENARIO,
    "foreign.py": "keys that a user's own scheme takes",
    "formats/chakra/system.py": FOREIGN,
    "formats/devices/settings.py": SCENARIO,
    "formats/hpcc/exporting.py": SCENARIO,
    "formats/htsim/tree.py": SCENARIO,
    "formats/listed.py": SCENARIO,
    "formats/sonic/exporting.py": SCENARIO,
    "formats/training.py": "a training step that a user wrote",
    "records.py": "where it is declared",
    "results/comparison.py": SCENARIO,
    "results/completion.py": SCENARIO,
    "results/metrics_text.py": SCENARIO,
    "runs/facts.py": SCENARIO,
    "runs/recorded.py": SCENARIO,
    "runs/run_files.py": SCENARIO,
    "sweeps/manifest.py": SCENARIO,
    "sweeps/result.py": SCENARIO,
}
"""Modules with a `JsonObject`, and whose keys it has."""


def counted(root: Path, written: re.Pattern[str]) -> Counter[str]:
    """Return how often something is written in each file of the package."""
    package = root / "python/qcnlab"
    return Counter(
        {
            path.relative_to(package).as_posix(): count
            for path in package.rglob("*.py")
            if (count := len(written.findall(path.read_text(encoding="utf-8"))))
        }
    )


def test_dictionaries_of_anything_only_become_fewer() -> None:
    by_file = counted(ROOT, WRITTEN)
    most = ", ".join(f"{name} {count}" for name, count in by_file.most_common(5))
    total = by_file.total()
    assert total <= LOOSE, f"{total} dictionaries of anything: declare a record. Most are in {most}"
    assert total == LOOSE, f"{total} are left: lower LOOSE to it"


def test_it_is_known_whose_keys_each_object_of_others_has() -> None:
    there = set(counted(ROOT, re.compile(r"\bJsonObject\b")))
    assert there - set(KEYS_OF_OTHERS) == set(), "whose keys are these? Ours have a record"
    assert set(KEYS_OF_OTHERS) - there == set(), "these have none: take them out"


def test_what_is_counted(tmp_path: Path) -> None:
    folder = tmp_path / "python/qcnlab"
    folder.mkdir(parents=True)
    lines = ("x: dict[str, Any] = {}", "y: list[Mapping[str, Any]]", "z: dict[str, int]")
    (folder / "a.py").write_text("\n".join(lines))
    (folder / "b.py").write_text("JsonObjects = JsonObject")
    assert counted(tmp_path, WRITTEN) == {"a.py": 2}
    assert counted(tmp_path, re.compile(r"\bJsonObject\b")) == {"b.py": 1}
