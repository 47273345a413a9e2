"""The locked packages of CI are those of `make`, with more beside them."""

from __future__ import annotations

import re

from conftest import ROOT


def versions(name: str) -> dict[str, str]:
    text = (ROOT / name).read_text(encoding="utf-8")
    return dict(re.findall(r"^([\w.-]+)==(\S+)", text, re.MULTILINE))


def test_both_locks_have_the_same_versions() -> None:
    ours, more = versions("requirements.lock"), versions("requirements-ci.lock")
    assert {"ray", "duckdb"} <= more.keys() - ours.keys()
    both = ours.keys() & more.keys()
    assert len(both) > 5
    assert {name: ours[name] for name in both} == {name: more[name] for name in both}


def test_what_demo_installs_has_the_versions_of_the_tests() -> None:
    ours, few = versions("requirements.lock"), versions("requirements-run.lock")
    assert {"polars", "maturin", "uv"} <= few.keys()
    assert len(few) < len(ours) / 2
    assert few.items() <= ours.items()
