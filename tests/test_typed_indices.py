"""How many bare numbers the Rust workspace still takes for an index: the number only falls.

An index that is a type of its own, with a vector that it alone opens (`qcnlab_units::IdVec`), needs
no `as usize` where it is used. What is left are counts, lengths of octets, numbers that dice draw,
and positions inside lists.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
CASTS = 147
"""`as usize` outside tests. Lower it when there are fewer; never raise it."""
FILES_OF_TESTS = re.compile(r"#\[cfg\(test\)\]\s*mod (\w+);")
TESTS = re.compile(r"#\[cfg\(test\)\]\s*(?:pub(?:\(\w+\))? )?mod \w+ \{.*\Z", re.DOTALL)


def casts(text: str) -> int:
    """Return how often a file of Rust casts to an index outside its tests and comments."""
    code = TESTS.sub("", text)
    lines = (line for line in code.splitlines() if not line.lstrip().startswith("//"))
    return sum(len(re.findall(r"\bas usize\b", line)) for line in lines)


def of_tests(path: Path) -> bool:
    """Whether a whole file is of tests, examples or fuzzing."""
    apart = {"tests", "examples", "benches", "fuzz", "testing"}
    return bool(apart & set(path.parts)) or path.stem.endswith(("tests", "testing"))


def test_bare_indices_only_become_fewer() -> None:
    sources = [path.relative_to(ROOT) for path in (ROOT / "crates").glob("*/src/**/*.rs")]
    texts = {path: (ROOT / path).read_text() for path in sources if not of_tests(path)}
    declared = {
        path.parent / f"{name}.rs"
        for path, text in texts.items()
        for name in FILES_OF_TESTS.findall(text)
    }
    counted = {path: casts(text) for path, text in texts.items() if path not in declared}
    total = sum(counted.values())
    most = sorted(counted, key=lambda path: -counted[path])[:5]
    told = ", ".join(f"{path} {counted[path]}" for path in most)
    assert total <= CASTS, f"{total} casts to an index: give the index a type. Most are in {told}"
    assert total == CASTS, f"{total} casts are left: lower CASTS to it"


def test_casts_are_counted_where_they_are_code() -> None:
    text = "a[i as usize];\n// b as usize\nlet c = d as usize + e as usize;\n"
    assert casts(text) == 3
    assert casts(text + "#[cfg(test)]\nmod tests {\n    f as usize\n}\n") == 3
    assert of_tests(Path("crates/lab/src/metrics/collective/tests.rs"))
    assert of_tests(Path("crates/schemes/src/testing/laws.rs"))
    assert not of_tests(Path("crates/network/src/topology/routes.rs"))
