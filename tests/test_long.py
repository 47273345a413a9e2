"""The list of tests that take long names tests that exist, and stands in the documents."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter

import pytest

from conftest import COLLECTED, DRAWS, LONG, ROOT, beyond_draws, of_list


def collected(config: pytest.Config) -> frozenset[str]:
    """Return the node ids of all tests; collect anew if this run has only some of them."""
    here = config.invocation_params.dir
    if any((here / each).resolve() in (ROOT, ROOT / "tests") for each in config.args):
        return config.stash[COLLECTED]
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q"]
    done = subprocess.run(
        [*command, "-o", "addopts=", "-p", "no:cacheprovider", "tests"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return frozenset(line for line in done.stdout.splitlines() if "::" in line)


def test_every_entry_is_of_a_test(pytestconfig: pytest.Config) -> None:
    nodes = collected(pytestconfig)
    assert len(nodes) > 2000
    met = {of_list(node) for node in nodes}
    assert met - {None} == LONG.keys()
    draws = Counter(
        node.removeprefix("tests/").partition("[")[0] for node in nodes if of_list(node) is None
    )
    assert all(draws[name] > few > 0 for name, few in DRAWS.items()), draws


def test_parameters_of_a_test_fall_under_its_name() -> None:
    name = next(name for name in LONG if "::" in name and "[" not in name)
    assert of_list(f"tests/{name}") == of_list(f"tests/{name}[x-1]") == name
    assert of_list(f"tests/{name}_too") is None
    assert of_list("tests/test_long.py::test_every_entry_is_of_a_test") is None


def test_the_table_of_long_tests_is_current() -> None:
    page = (ROOT / "docs/reference/tests.md").read_text(encoding="utf-8")
    for name, purpose in LONG.items():
        assert f"| `{name}` | {purpose} |" in page
    for name, few in DRAWS.items():
        assert f"| `{name}` | {few} |" in page


@pytest.mark.parametrize(
    ("draws", "left_out"), [(1, "bcdefg"), (2, "bcefg"), (3, "bdfg"), (7, ""), (9, "")]
)
def test_draws_that_stay_are_evenly_spread(draws: int, left_out: str) -> None:
    assert beyond_draws("abcdefg", draws) == set(left_out)
