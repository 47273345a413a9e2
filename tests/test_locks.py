"""The locked packages of CI are those of `make`, with more beside them."""

from __future__ import annotations

import re
import tomllib

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


def test_the_fuzzer_locks_what_its_crates_need() -> None:
    """It is a workspace of its own, which `cargo build` of the others leaves as it is."""
    folder = ROOT / "crates/wire/fuzz"
    lock = tomllib.loads((folder / "Cargo.lock").read_text(encoding="utf-8"))
    needed = {each["name"]: each.get("dependencies", []) for each in lock["package"]}
    ours = [name for name in needed if name.startswith("qcnlab-") and name != "qcnlab-wire-fuzz"]
    assert "qcnlab-wire" in ours
    for name in ours:
        manifest = (ROOT / "crates" / name.removeprefix("qcnlab-") / "Cargo.toml").read_bytes()
        tree = tomllib.loads(manifest.decode())
        tables = {**tree.get("dependencies", {}), **tree.get("build-dependencies", {})}
        wanted = {key for key, told in tables.items() if not is_optional(told)}
        locked = {each.partition(" ")[0] for each in needed[name]}
        assert wanted <= locked, f"{name}: run cargo metadata in {folder}, and commit its lock"


def is_optional(told: object) -> bool:
    return isinstance(told, dict) and bool(told.get("optional"))
