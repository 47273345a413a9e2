"""The page of names: every key is a parameter, and `qcnlab explain` knows its other names."""

from __future__ import annotations

import json
import re

from conftest import ROOT, CommandLine
from qcnlab import _core

PAGE = (ROOT / "docs/reference/names.md").read_text(encoding="utf-8")
KEY = re.compile(r"`((?:scheme|adapter|switch|pause|traffic)\.[\w.]+)`")
PROSE = ("meaning",)


def rows() -> list[tuple[str, list[str]]]:
    """Return each parameter of the page with its names in other vocabularies."""
    listed = []
    heads: list[str] = []
    for line in PAGE.splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if cells and cells[0] == "qcnlab":
            heads = cells
        elif cells and (key := KEY.fullmatch(cells[0])):
            named = [
                cell
                for head, cell in zip(heads, cells, strict=True)
                if head[:5] not in {each[:5] for each in PROSE}
            ]
            words = [word.strip("`") for cell in named[1:] for word in cell.split(", ")]
            listed.append(
                (key[1], [word for word in words if " units" not in word and word != "-"])
            )
    return listed


def test_every_key_is_a_parameter() -> None:
    keys = {entry["key"] for entry in json.loads(_core.parameters())}
    assert len(rows()) > 40
    assert {key for key, _ in rows()} <= keys


def test_explain_knows_every_other_name(cli: CommandLine) -> None:
    unknown = [
        (key, name)
        for key, names in rows()
        for name in names
        if key not in cli("explain", name).stdout
    ]
    assert not unknown
