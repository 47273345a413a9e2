"""The guide to scenario files says what is so."""

from __future__ import annotations

import json
import re
from pathlib import Path

import qcnlab
from qcnlab import _core

GUIDE = Path(__file__).parents[1] / "docs/guide/scenario-files.md"
TEXT = GUIDE.read_text(encoding="utf-8")


def test_its_scenario_runs() -> None:
    blocks = re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL)
    assert len(blocks) == 1
    scenario = qcnlab.Scenario.from_toml(blocks[0]).with_("duration=20ms")
    result = qcnlab.run(scenario, progress=False)
    assert result.summary.bottleneck.port in {"core->edge5", "edge5->node6"}
    assert result.summary.metrics["drops"].median == 0


def test_its_tables_name_every_kind_and_key() -> None:
    parameters = {entry["key"]: entry for entry in json.loads(_core.parameters())}
    for key, start in (
        ("topology.kind", "## Networks"),
        ("traffic.arrivals", "## Traffic"),
        ("traffic.transport", "### Transports"),
    ):
        part = re.split(r"\n###? ", TEXT[TEXT.index(start) :])[0]
        rows = [line for line in part.splitlines() if line.startswith("| `")]
        named = {word for line in rows for word in re.findall(r"`(\w+)`", line.split("|")[1])}
        assert named == {choice["name"] for choice in parameters[key]["choices"]}
    for table in ("switch", "adapter", "pause", "record"):
        for word in re.findall(rf"`\[{table}\] (\w+)`", TEXT):
            assert f"{table}.{word}" in parameters
