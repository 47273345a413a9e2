"""Managed objects: `qcnlab mib` prints what the run counted, in units of the MIB and of Linux."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import qcnlab
from conftest import CommandLine
from qcnlab.commands import mib

HEADER = Path("/usr/include/linux/dcbnl.h")
NAME = "one-bridge-outside-the-domain"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    scenario = qcnlab.load(NAME).with_("duration=60 ms", "warmup=10 ms", "domain.outside=")
    result = qcnlab.run(scenario, reps=2, progress=False)
    return result.save(tmp_path_factory.mktemp("runs") / "run")


def node(answers: Any, name: str) -> dict[str, Any]:
    [one] = [node for node in answers["nodes"] if node["node"] == name]
    return dict(one)


def test_counts_equal_tables(folder: Path) -> None:
    result = qcnlab.open_run(folder)
    for replication in (0, 1):
        answers = mib.objects(folder, replication)
        messages = result.messages.to_polars().filter(pl.col("replication") == replication)
        drops = result.drops.to_polars().filter(pl.col("replication") == replication)
        seen = 0
        for bridge in ("left", "old", "right"):
            one = node(answers, bridge)
            ports = {each["ifIndex"]: each["port"] for each in one["interfaces"]}
            for row in one["cp"]:
                port = ports[row["index"]["ifIndex"]]
                cnms = messages.filter(pl.col("port") == port).height
                assert row["ieee8021CnCpTransmittedCnms"] == cnms
                lost = drops.filter(pl.col("port") == port)["frames"].sum()
                assert row["ieee8021CnCpDiscardedFrames"] == lost
                seen += cnms
        assert seen == messages.height > 10


def test_a_saved_run_answers_as_the_run_itself(folder: Path) -> None:
    result = qcnlab.open_run(folder)
    assert json.loads(result.managed or "") == json.loads((folder / "managed.json").read_text())
    again = result.save(folder.parent / "again")
    assert mib.objects(again, 1) == mib.objects(folder, 1)


def test_the_command_prints_text_and_json(cli: CommandLine, folder: Path) -> None:
    text = cli("mib", str(folder), "--node", "right")
    assert text.returncode == 0, text.stderr
    assert "CnCpTable [component 1, ifIndex 3, cpIndex 1] right->sink" in text.stdout
    assert "ieee8021CnPortPriAutoDefenseMode           cptInteriorReady(3)" in text.stdout
    assert "near1" not in text.stdout
    printed = cli("mib", str(folder), "--json", "--replication", "1")
    told = json.loads(printed.stdout)
    assert told == mib.objects(folder, 1)
    assert told["nodes"] and all(set(row) - {"index"} for row in told["nodes"][0]["port_priority"])


@pytest.mark.skipif(
    not HEADER.exists(), reason="the kernel's header linux/dcbnl.h is not installed"
)
def test_the_fields_are_those_of_the_kernel_header(folder: Path) -> None:
    header = HEADER.read_text(encoding="utf-8")
    [linux] = node(mib.objects(folder), "near1")["linux"]
    for struct in ("ieee_qcn", "ieee_qcn_stats"):
        body = re.search(rf"struct {struct} {{(.*?)}};", header, re.DOTALL)
        assert body is not None
        fields = re.findall(r"__u\d+ (\w+)\[IEEE_8021QAZ_MAX_TCS\];", body[1])
        assert list(linux[struct]) == fields
        assert all(len(values) == 8 for values in linux[struct].values())
    states = re.search(r"enum dcbnl_cndd_states {(.*?)};", header, re.DOTALL)
    assert states is not None
    names = re.findall(r"DCB_CNDD_(\w+)", states[1])
    assert names.index("INTERIOR_READY") == linux["ieee_qcn"]["cndd_state_machine"][3] == 3


def test_an_older_folder_says_what_to_do(cli: CommandLine, folder: Path) -> None:
    older = qcnlab.open_run(folder).save(folder.parent / "older")
    (older / "managed.json").unlink()
    done = cli("mib", str(older))
    assert done.returncode == 2
    assert "has no managed.json" in done.stderr
    assert "run it again" in done.stderr


def test_what_has_no_objects_is_refused(cli: CommandLine, folder: Path) -> None:
    scenario = qcnlab.load("og-hotspot-2src-10g-to-500m-rtt10us")
    short = scenario.with_(
        "scheme.name=ecm", "duration=1 ms", "warmup=0 s", "hotspot.from=0 s", "hotspot.until=1 ms"
    )
    ecm = qcnlab.run(short, reps=1, progress=False).save(folder.parent / "ecm")
    assert not (ecm / "managed.json").exists()
    for words, message in (
        (("mib", str(ecm)), "scheme 'ecm' sends no congestion notification messages"),
        (("mib", str(folder), "--node", "rigth"), "no bridge or host is named 'rigth'"),
        (("mib", str(folder), "--replication", "2"), "the run has no replication 2"),
        (("mib", str(folder.parent / "nowhere")), "is not a run folder"),
    ):
        done = cli(*words)
        assert done.returncode == 2
        assert message in done.stderr
    damaged = qcnlab.open_run(folder).save(folder.parent / "damaged")
    (damaged / "managed.json").write_text("{}")
    done = cli("mib", str(damaged))
    assert done.returncode == 2
    assert "run the scenario again" in done.stderr


def test_a_run_without_a_domain_answers_its_counts(tmp_path: Path) -> None:
    scenario = qcnlab.load("og-hotspot-2src-10g-to-500m-rtt10us")
    short = scenario.with_(
        "duration=50 ms", "warmup=5 ms", "hotspot.from=10 ms", "hotspot.until=40 ms"
    )
    result = qcnlab.run(short, reps=1, progress=False)
    answers = mib.objects(result.save(tmp_path / "run"))
    [row] = node(answers, "switch")["cp"]
    assert row["ieee8021CnCpTransmittedCnms"] == result.summary.counters.messages_sent
    assert len(result.messages) > 10
    assert (
        "no [domain]"
        in node(answers, "switch")["port_priority"][0]["ieee8021CnPortPriAutoDefenseMode"][
            "unanswered"
        ]
    )
