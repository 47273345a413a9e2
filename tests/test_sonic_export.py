"""Scenarios as configurations of SONiC switches and ConnectX adapters: exported and read again."""

from __future__ import annotations

import json
import re
import runpy
import shutil
from typing import TYPE_CHECKING, Any

import pytest

import qcnlab
from conftest import ROOT, CommandLine
from qcnlab.formats.report import Report
from qcnlab.formats.sonic import exporting
from qcnlab.formats.sonic.exporting import CARD, LINES
from qcnlab.formats.sonic.selecting import selects
from qcnlab.runs.network import Network
from test_sonic_files import SMALL

if TYPE_CHECKING:
    from pathlib import Path

THREE_TIERS: dict[str, Any] = runpy.run_path(str(ROOT / "examples/sonic/three_tiers.py"))


def resolved(path: Path) -> str:
    """Return a scenario's resolved form, without where it comes from."""
    return qcnlab.load(path).to_toml()


def again(here: CommandLine, *words: str) -> tuple[str, str]:
    """Import, export, and import what was exported; return both scenarios."""
    done = here("import", "sonic", "first", "-o", "first.toml")
    assert done.returncode == 0, done.stderr
    done = here("export", "sonic", "first.toml", "-o", "second", *words)
    assert done.returncode == 0, done.stderr
    done = here("export", "mlxconfig", "first.toml")
    assert done.returncode == 0 and done.stderr == "", done.stderr
    hosts = [line for line in (here.folder / "first.toml").read_text().splitlines()
             if line.startswith("to = ")]  # fmt: skip
    host = hosts[-1].split('"')[1]
    (here.folder / f"second/{host}.set.sh").write_text(done.stdout)
    done = here("import", "sonic", "second", "-o", "second.toml")
    assert done.returncode == 0, done.stderr
    return resolved(here.folder / "first.toml"), resolved(here.folder / "second.toml")


def small(here: CommandLine, **changes: Any) -> None:
    tables = json.loads(json.dumps(SMALL))
    tables["WRED_PROFILE"] = {
        "A": {
            "ecn": "ecn_all", "green_min_threshold": "100000", "green_max_threshold": "400000",
            "green_drop_probability": "20",
        }
    }  # fmt: skip
    tables["SCHEDULER"] = {"s": {"type": "DWRR", "weight": "15"}}
    tables["QUEUE"] = {"Ethernet0,Ethernet4,Ethernet8|3-4": {"wred_profile": "A", "scheduler": "s"}}
    tables["PFC_WD"] = {
        "GLOBAL": {"POLL_INTERVAL": "100"},
        "Ethernet0,Ethernet4,Ethernet8": {
            "action": "forward", "detection_time": "400", "restoration_time": "300",
        },
    }  # fmt: skip
    for table, rows in changes.items():
        for key, row in rows.items():
            tables[table].setdefault(key, {}).update(row)
    folder = here.folder / "first"
    folder.mkdir()
    (folder / "config_db.json").write_text(json.dumps(tables))


def test_a_switch_is_the_same_again(cli: CommandLine) -> None:
    small(cli)
    first, second = again(cli, "--hwsku", "ACS-MSN2700")
    assert first == second


def test_ports_with_thresholds_of_their_own_are_the_same_again(cli: CommandLine) -> None:
    other = {
        "ecn": "ecn_all", "green_min_threshold": "200000", "green_max_threshold": "900000",
        "green_drop_probability": "7",
    }  # fmt: skip
    small(cli, WRED_PROFILE={"B": other})
    path = cli.folder / "first/config_db.json"
    tables = json.loads(path.read_text())
    tables["QUEUE"] = {
        f"{ports}|3-4": {"wred_profile": name, "scheduler": "s"}
        for name, ports in (("A", "Ethernet0,Ethernet8"), ("B", "Ethernet4"))
    }
    path.write_text(json.dumps(tables))
    first, second = again(cli, "--hwsku", "ACS-MSN2700")
    assert first == second
    told = json.loads((cli.folder / "second/leaf/config_db.json").read_text())
    # Ports are counted anew, and known by what is at their far end.
    percent = {
        row["name"]: told["WRED_PROFILE"][told["QUEUE"][f"{port}|3"]["wred_profile"]]
        for port, row in told["DEVICE_NEIGHBOR"].items()
    }
    assert {name: row["green_drop_probability"] for name, row in percent.items()} == {
        row["name"]: "7" if port == "Ethernet4" else "20"
        for port, row in tables["DEVICE_NEIGHBOR"].items()
    }
    assert len(told["WRED_PROFILE"]) == 2
    assert told["QUEUE"]["Ethernet4|4"]["scheduler"] == "qcnlab.15"


def test_a_switch_with_shared_headroom_is_the_same_again(cli: CommandLine) -> None:
    small(
        cli,
        DEVICE_METADATA={"localhost": {"hwsku": "Arista-7060CX-32S-C32"}},
        BUFFER_POOL={"ingress_lossless_pool": {"size": "10875072", "xoff": "4194112"}},
        BUFFER_PROFILE={
            "lossless": {
                "size": "1248", "xon": "2288", "xoff": "177632", "xon_offset": "2496",
                "dynamic_th": "-3",
            }
        },
    )  # fmt: skip
    first, second = again(cli, "--hwsku", "Arista-7060CX-32S-C32")
    assert first == second
    tables = json.loads((cli.folder / "second/leaf/config_db.json").read_text())
    assert tables["BUFFER_POOL"]["ingress_lossless_pool"] == {
        "type": "ingress", "mode": "dynamic", "size": "10875072", "xoff": "4194112",
    }  # fmt: skip
    assert tables["BUFFER_PROFILE"]["qcnlab_lossless"]["size"] == "1248"
    assert tables["BUFFER_PROFILE"]["qcnlab_lossless"]["dynamic_th"] == "-3"


def test_private_headroom_of_others_is_the_same_again(cli: CommandLine) -> None:
    small(
        cli,
        DEVICE_METADATA={"localhost": {"hwsku": "Acme-1"}},
        BUFFER_PROFILE={"lossless": {"size": "1000", "xoff": "40000"}},
    )
    first, second = again(cli, "--hwsku", "Acme-1")
    assert first == second
    tables = json.loads((cli.folder / "second/leaf/config_db.json").read_text())
    assert tables["BUFFER_POOL"]["ingress_lossless_pool"]["size"] == "4580864"


def test_the_fabric_is_the_same_again(cli: CommandLine) -> None:
    THREE_TIERS["main"](cli.folder)
    shutil.move(cli.folder / "clean", cli.folder / "first")
    first, second = again(cli, "--hwsku", "ACS-MSN4700")
    assert first == second
    assert cli("lint", "second").returncode in (0, 1)


def test_each_parameter_of_a_card_is_the_same_again(cli: CommandLine) -> None:
    small(cli)
    text = (
        "RPG_TIME_RESET_P1 55\nRPG_BYTE_RESET_P1 0\nRPG_THRESHOLD_P1 5\nRPG_AI_RATE_P1 40\n"
        "RPG_HAI_RATE_P1 200\nRPG_GD_P1 12\nRPG_MIN_DEC_FAC_P1 95\nRPG_MIN_RATE_P1 10\n"
        "RATE_TO_SET_ON_FIRST_CNP_P1 1000\nDCE_TCP_G_P1 1000\nDCE_TCP_RTT_P1 2\n"
        "RATE_REDUCE_MONITOR_PERIOD_P1 8\nINITIAL_ALPHA_VALUE_P1 512\n"
        "MIN_TIME_BETWEEN_CNPS_P1 50\nCLAMP_TGT_RATE_P1 False(0)\n"
        "CLAMP_TGT_RATE_AFTER_TIME_INC_P1 False(0)\nCNP_802P_PRIO_P1 6\n"
    )
    (cli.folder / "first/one.txt").write_text(text)
    first, second = again(cli, "--hwsku", "ACS-MSN2700")
    assert first == second
    (script,) = (cli.folder / "second").glob("*.set.sh")
    lines = script.read_text().splitlines()
    assert "mlxconfig -y -d DEVICE set RPG_GD_P1=12  # a CNP takes alpha x 2^(10 - this) off " in (
        "\n".join(lines)
    )
    assert all(re.fullmatch(r"mlxconfig -y -d DEVICE set \w+_P1=\d+  # .+", line) for line in lines)
    assert len(lines) == len(LINES) + 3


def test_what_a_card_cannot_say_is_told(cli: CommandLine) -> None:
    done = cli("export", "mlxconfig", "victim-of-pfc-40g")
    assert done.returncode == 0
    # The simulator's preset keeps alpha, hears acknowledgements, and grows its steps with rates.
    assert "warning: rp.alpha_kept = True: cards have False\n" in done.stderr
    assert re.search(r"warning: rp\.notice = \w+: cards have cnp\n", done.stderr)
    assert "warning: rp.steps_for = 100 Gb/s: cards have none\n" in done.stderr
    (cli.folder / "paper.toml").write_text(CARD.replace("CONNECTX", "SIGCOMM2015"))
    done = cli("export", "mlxconfig", "paper.toml")
    assert "warning: rp.form = published: cards have nic\n" in done.stderr
    done = cli("export", "mlxconfig", "victim-of-pfc-40g", "--byte-reset-unit", "2")
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    done = cli("export", "mlxconfig", "og-hotspot-2src-10g-to-500m-rtt10us")
    assert done.returncode == 2
    assert "mlxconfig has parameters of dcqcn alone" in done.stderr


def test_times_are_whole_ms_and_no_shorter() -> None:
    site = exporting.Site({}, Network((), (), ()), Report())
    times = {"400 ms": "400", "0.4 s": "400", "400.2 ms": "401", "100 us": "1"}
    assert {time: exporting._milliseconds(site, "leaf", time) for time in times} == times
    assert site.report.not_modelled == [
        ("leaf: 400.2 ms", "times are whole ms: 401 ms"),
        ("leaf: 100 us", "times are whole ms: 1 ms"),
    ]


def test_what_pools_cannot_say_is_refused(cli: CommandLine) -> None:
    done = cli("export", "sonic", "victim-of-pfc-40g", "-o", "patch")
    assert (done.returncode, done.stdout, cli.left()) == (2, "", [])
    assert done.stderr.startswith("error: switch t1: ") and done.stderr.count("\n") == 1
    small(cli)
    done = cli("import", "sonic", "first", "-o", "first.toml")
    done = cli("export", "sonic", "first.toml", "-o", "first")
    assert done.returncode == 2 and "'first' is there already" in done.stderr


@pytest.mark.parametrize(
    ("pattern", "name", "expected"),
    [
        ("*", "leaf1", True),
        ("leaf*", "spine1", False),
        ("leaf{1..3}", "leaf3", True),
        ("leaf{1..3}", "leaf30", False),
        ("a, leaf{2..8..3}-x", "leaf5-x", True),
        ("leaf{2..8..3}", "leaf4", False),
        ("leaf.1", "leaf-1", False),
        ("leaf1->*, *->host2", "leaf9->host2", True),
    ],
)
def test_patterns_select_as_scenarios_have_them(pattern: str, name: str, expected: bool) -> None:
    assert selects(pattern, name) == expected
