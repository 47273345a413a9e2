"""The JSON Schema beside the program: what it accepts and refuses, by a validator."""

from __future__ import annotations

import json
import re
import tomllib
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator

import qcnlab
from conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from conftest import CommandLine

FILE = ROOT / "scenarios" / "qcnlab.schema.json"
SCHEMA = Draft202012Validator(json.loads(FILE.read_text(encoding="utf-8")))
REFUSALS = ROOT / "crates" / "scenario" / "tests" / "refusals"
BEYOND = {
    "what does not go with ports that keep flows apart": (
        r"keep flows (in queues of their own|of one class)|queues congesting flows in class"
    ),
    "names of hosts, switches, links and ports": (
        r"matches no|has no (port|link|host|switch) |no host of|no (way|link) |is a (switch|host)"
        r"|cannot name a node|to itself|two links join|cannot be paired|between two hosts"
        r"|goes to one host|an incast of|flows of 'node1' share|writes none|already down"
    ),
    "numbers that stand in text with units": (
        r"is out of range: .* (b/s|s|B)$|is out of range: .* to 128|finer than|is no power of two"
    ),
    "numbers beside each other": (
        r"not below|does not fit|is above|is all taken|the run ends at|not after its beginning"
        r"|before the previous one|cannot carry|would give|no room for payload|lets no segment"
        r"|is more than 65535 quanta"
    ),
    "texts with a grammar of their own": (
        r"is no pattern|names no classes|gives no weights|line \d|no flow sizes|flows of 0 B"
        r"|cannot be read"
    ),
    "keys that follow from other tables, or from what else is there": (
        r"belongs to a \[topology\]|has no '(rate|pg_alpha)'|watermarks need|needs a|own thresholds"
        r"|has a shared buffer and|recycles the ways|is set, but|quantum is"
        r"|trim_(priority|share) is|reorder_wait is"
    ),
}
"""What a schema of single values does not say, with the messages that say it."""


def faults(tree: Any) -> list[str]:
    return [
        f"{'.'.join(map(str, error.absolute_path))}: {error.message}"[:300]
        for error in SCHEMA.iter_errors(tree)
    ]


def test_the_schema_is_one(cli: CommandLine) -> None:
    Draft202012Validator.check_schema(SCHEMA.schema)
    assert cli("schema").stdout.encode() == FILE.read_bytes()


@pytest.mark.parametrize("path", sorted((ROOT / "scenarios").rglob("*.toml")), ids=lambda p: p.stem)
def test_every_shipped_scenario_is_valid(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert faults(tomllib.loads(text)) == []
    resolved = qcnlab.load(path).to_toml()
    assert faults(tomllib.loads(resolved)) == []


def blocks() -> Iterator[tuple[str, str]]:
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        text = page.read_text(encoding="utf-8")
        for number, block in enumerate(re.findall(r"^```toml\n(.*?)^```", text, re.M | re.S)):
            # A training step is no scenario: `qcnlab import step` reads it.
            if "[[task]]" not in block:
                yield f"{page.stem}-{number}", block


BLOCKS = dict(blocks())


@pytest.mark.parametrize("name", BLOCKS)
def test_every_scenario_of_a_page_is_valid(name: str) -> None:
    assert faults(tomllib.loads(BLOCKS[name])) == []


def test_there_are_pages_with_scenarios() -> None:
    assert {"README-0", "scenario-files-0"} <= set(BLOCKS)


def refused() -> Iterator[tuple[str, str]]:
    """Yield the message of each case of the refusal tests that changes the file, and the file."""
    for name in ("hotspot", "fabric"):
        good = (REFUSALS / f"{name}.toml").read_text(encoding="utf-8")
        for block in (REFUSALS / f"{name}.txt").read_text(encoding="utf-8").strip().split("\n\n"):
            lines = block.split("\n")
            at = next((k for k, line in enumerate(lines) if line.startswith("error")), 0)
            old, new = ("\n".join(line[2:] for line in lines[:at] if line[0] == c) for c in "-+")
            if old:
                assert old in good
                yield lines[at], good.replace(old, new, 1)


REFUSED = dict(refused())


def test_the_good_files_of_the_refusals_are_valid() -> None:
    assert len(REFUSED) > 140
    for name in ("hotspot", "fabric"):
        assert faults(tomllib.loads((REFUSALS / f"{name}.toml").read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize("message", REFUSED)
def test_what_a_schema_can_refuse_it_refuses(message: str) -> None:
    try:
        tree = tomllib.loads(REFUSED[message])
    except tomllib.TOMLDecodeError:
        return
    if not faults(tree):
        assert any(re.search(words, message) for words in BEYOND.values()), message


@pytest.mark.parametrize(
    "change",
    [
        {"pause": "link"}, {"pause": []}, {"pause": [{"kind": "link"}, {"knd": "link"}]},
        {"pause": {"knd": "link"}}, {"traffic": {"arrivals": "saturated", "frame": "1500 B"}},
        {"hotspot": {"from": "1 s", "until": "2 s", "rate": "1 Gb/s"}}, {"topology": []},
        {"switch": {"output_buffer": "0 B"}}, {"switch": {"output_buffer": "0.0 KB"}},
        {"duration": "0 s"}, {"duration": "00.00 ms"}, {"duration": 1}, {"seed": -1},
    ],
    ids=str,
)  # fmt: skip
def test_tables_stand_alone_only_where_the_program_takes_them(change: dict[str, Any]) -> None:
    """Each is refused by both, but for `pause = []`, which both take."""
    tree = tomllib.loads((REFUSALS / "hotspot.toml").read_text(encoding="utf-8"))
    assert faults(tree) == []
    tree |= change
    if change == {"pause": []}:
        assert faults(tree) == []
        qcnlab.Scenario.from_dict(tree)
        return
    assert faults(tree)
    with pytest.raises(qcnlab.ScenarioError):
        qcnlab.Scenario.from_dict(tree)


ALONE = "[pause]\nkind = 'link'\nrule = '{rule}'\n{keys}\n"


@pytest.mark.parametrize(
    ("rule", "keys", "valid"),
    [
        ("watermarks", "high = '1 KB'", True),
        ("watermarks", "threshold = '1 KB'", False),
        ("watermarks", "stops = 'all'", False),
        ("watermarks", "stops = 'arriving'", True),
        ("threshold", "threshold = '1 KB'\nstops = 'all'", True),
        ("threshold", "", False),
        ("threshold", "threshold = '1 KB'\nlow = '1 KB'", False),
        ("threshold", "threshold = '1 KB'\nlow = 'none'", True),
        ("dynamic", "headroom = '1 KB'", False),
    ],
)
def test_keys_go_with_the_rule_they_are_of(rule: str, keys: str, valid: bool) -> None:
    tree = tomllib.loads((REFUSALS / "fabric.toml").read_text(encoding="utf-8"))
    table = tomllib.loads(ALONE.format(rule=rule, keys=keys))
    for written in (table, {"pause": [table["pause"]]}):
        assert (faults(tree | written) == []) is valid
    table["pause"]["kind"] = "none"
    assert faults(tree | table) == []
    del table["pause"]["kind"]
    assert faults(tree | table) == []


@pytest.mark.parametrize(
    "table", ["switch", "adapter", "pause", "shared_buffer", "wred", "watchdog", "defence"]
)
def test_one_table_or_several(table: str) -> None:
    one = SCHEMA.schema["properties"][table]["anyOf"][0]
    assert one == {"$ref": f"#/$defs/{table}"}
    assert SCHEMA.schema["properties"][table]["anyOf"][1]["items"] == one


def subschemas(node: Any, *, of_key: bool = False) -> Iterator[tuple[bool, dict[str, Any]]]:
    """Every object of the schema, and whether it is the schema of a key."""
    if isinstance(node, list):
        for inner in node:
            yield from subschemas(inner)
    elif isinstance(node, dict):
        yield of_key, node
        for word, inner in node.items():
            if word == "properties":
                for value in inner.values():
                    yield from subschemas(value, of_key=True)
            else:
                yield from subschemas(inner)


def test_what_several_tables_have_stands_once() -> None:
    """The schema of a key is either short, alone, or under `$defs` by its name."""
    schema = json.loads(FILE.read_text(encoding="utf-8"))
    everything = list(subschemas(schema))
    texts = [json.dumps(node, separators=(",", ":")) for of_key, node in everything if of_key]
    again = {text for text in texts if texts.count(text) > 1 and len(text) >= 100}
    assert not again
    named = {node["$ref"].removeprefix("#/$defs/") for _, node in everything if "$ref" in node}
    assert named == set(schema["$defs"])
    # Of schemas with one name each has its own number.
    assert {"size", "size-2"} <= named
    assert schema["$defs"]["size"] != schema["$defs"]["size-2"]
    # 400,000 before PCN, PINT and credit, 420,000 before BFC and source flow control, 440,000
    # before congestion isolation. On the copy on which recipes are tested there are two schemes
    # and a transport more.
    assert len(FILE.read_bytes()) < 450_000
