"""Congestion notification domains: the page, its numbers, and what captures show of the modes."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import polars as pl
import pytest

import qcnlab
from conftest import ROOT, CommandLine
from qcnlab import catalogue
from qcnlab.captures import Capture, frames, run_captured

PAGE = ROOT / "docs/concepts/the-bridge-that-does-not-take-part.md"
NAME = "one-bridge-outside-the-domain"
SOURCES = ("near1->sink", "near2->sink", "far1->sink", "far2->sink")


def test_the_page_has_the_numbers_of_the_runs() -> None:
    text = PAGE.read_text(encoding="utf-8")
    rows = [line.split("|")[1:-1] for line in text.splitlines() if line.count("|") == 10]
    assert len(rows) == 2 + 4
    for row in rows[2:]:
        scenario = qcnlab.load(NAME).with_(*re.findall(r"`(.*?)`", row[8]))
        result = qcnlab.run(scenario, progress=False)
        late = result.throughput.to_polars().filter(pl.col("time_s") >= 0.1)
        for source, shown in zip(SOURCES, row[2:6], strict=True):
            mean = late.filter(pl.col("source") == source)["rate_bps"].to_numpy().mean()
            assert f"{mean / 1e9:.2f}" == shown.strip()
        counters = result.summary.counters
        lost = 100 * (counters.frames_dropped or 0) / counters.frames_sent
        assert [f"{lost:.1f} %", str(counters.messages_sent)] == [row[6].strip(), row[7].strip()]
    ignored = counters.messages_ignored
    assert f"{ignored:,}".replace(",", " ") in text


def captured(path: Path, *changes: str) -> Path:
    scenario = qcnlab.load(NAME).with_("duration=2 ms", "warmup=0 s", *changes)
    run_captured(scenario, Capture("*"), path, reps=1)
    return path


def announced(path: Path) -> dict[str, tuple[int | None, int | None]]:
    rows = (frame for frame in frames(path) if frame["kind"] == "LLDP")
    return {frame["port"]: (frame.get("cnpv"), frame.get("ready")) for frame in rows}


def test_captures_show_the_modes(tmp_path: Path) -> None:
    edge = captured(tmp_path / "edge.pcapng")
    shown = announced(edge)
    # Bit 3: priority 3. Old announces nothing; those who face it announce and are not ready.
    assert shown["old->right"] == (None, None)
    assert shown["right->old"] == shown["far1->old"] == (8, 0)
    assert shown["left->right"] == shown["right->left"] == shown["near1->left"] == (8, 8)
    data = [frame for frame in frames(edge) if frame["kind"] == "UDP"]
    assert data
    tags: dict[tuple[str, str], set[tuple[int | None, bool]]] = {}
    for frame in data:
        side = "far" if frame["source"] in ("02:00:00:00:00:04", "02:00:00:00:00:05") else "near"
        seen = (frame["priority"], frame["rpid"] is not None)
        tags.setdefault((frame["port"], side), set()).add(seen)
    assert tags["far1->old", "far"] == tags["old->right", "far"] == {(3, False)}
    assert tags["right->sink", "far"] == {(2, False)}
    assert tags["near1->left", "near"] == tags["right->sink", "near"] == {(3, True)}


def test_a_port_that_is_interior_takes_cn_tags_off(tmp_path: Path) -> None:
    # Nobody outside, and old's port to right accepts no CN-TAGs: right's port to old is interior.
    changes = ("domain.outside=", "defence.port=right->left", "defence.accepts_cn_tags=false")
    path = captured(tmp_path / "interior.pcapng", *changes)
    assert announced(path)["right->left"] == (8, 0)
    tags = {
        (frame["port"], frame["rpid"] is not None)
        for frame in frames(path)
        if frame["kind"] == "UDP" and frame["port"] in ("near1->left", "left->right")
    }
    assert tags == {("near1->left", True), ("left->right", False)}


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
def test_tshark_reads_the_modes(tmp_path: Path) -> None:
    path = captured(tmp_path / "edge.pcapng")
    fields = [f"lldp.ieee.802_1qau.{indicator}.prio3" for indicator in ("cnpv", "ready")]
    words = [word for field in ("frame.interface_name", *fields) for word in ("-e", field)]
    done = subprocess.run(
        ["tshark", "-r", str(path), "-Y", "lldp", "-T", "fields", *words],
        capture_output=True,
        text=True,
        check=True,
    )
    read = {line.split("\t")[0]: line.split("\t")[1:] for line in done.stdout.splitlines()}
    assert read["right->old"] == ["1", "0"]
    assert read["right->left"] == ["1", "1"]
    assert read["old->right"] == ["", ""]


def test_presets_of_more_than_six_bits_have_no_standard_frame(
    cli: CommandLine, tmp_path: Path
) -> None:
    entries = {entry.name: entry for entry in catalogue.schemes()}
    without = {
        (scheme, preset.name)
        for scheme, entry in entries.items()
        for preset in entry.presets
        if "no standard frame" in catalogue.about(scheme, preset)
    }
    both = ("IBM_ZRL", "IBM_ZRL_M1500KB")
    of_8_bits = {(scheme, preset) for scheme in ("qcn_byte_counter", "qcn_plus") for preset in both}
    assert without == of_8_bits | {("qcn_sonar", "IBM_ZRL")}
    for scheme, preset in without:
        page = (ROOT / f"docs/schemes/{scheme}.md").read_text(encoding="utf-8")
        [line] = [line for line in page.splitlines() if line.startswith(f"* `{preset}`")]
        assert "no standard frame" in line
        assert "no standard" in cli("explain", preset).stdout
    words = ("-s", "duration=110 ms", "-s", "warmup=0 s", "-s", "feedback.kind=frames")
    name = "ig-4-culprits-1-victim-150kb-rtt5us"
    told = cli("run", name, *words, "-o", str(tmp_path / "run"))
    assert told.stderr.startswith("note: Feedback of 8 bits has no standard frame")
    ideal = cli("run", name, *words[:4], "-o", str(tmp_path / "ideal"))
    assert "note:" not in ideal.stderr
