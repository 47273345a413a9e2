"""Configurations of SONiC switches and adapters: read, refused, mapped, with the units of each."""

from __future__ import annotations

import json
import random
import re
import runpy
import tomllib
from pathlib import Path
from typing import Any

import pytest

import qcnlab
from conftest import ROOT, CommandLine
from qcnlab.formats.lines import FormatError
from qcnlab.formats.sonic import adapters, json_text, profiles
from qcnlab.formats.sonic.adapters import Adapter
from qcnlab.formats.sonic.reading import natural
from qcnlab.formats.sonic.switches import Switch
from qcnlab.formats.sonic.tables import Tables

THREE_TIERS: dict[str, Any] = runpy.run_path(str(ROOT / "examples/sonic/three_tiers.py"))

SMALL: dict[str, Any] = {
    "DEVICE_METADATA": {"localhost": {"hostname": "leaf", "hwsku": "ACS-MSN2700"}},
    "PORT": {
        "Ethernet0": {"speed": "100000", "mtu": "9100", "lanes": "0,1,2,3"},
        "Ethernet4": {"speed": "100000", "mtu": "9100", "lanes": "4,5,6,7"},
        "Ethernet8": {"speed": "40000", "mtu": "9100", "lanes": "8,9,10,11"},
    },
    "CABLE_LENGTH": {"AZURE": {"Ethernet0": "40m", "Ethernet4": "40m", "Ethernet8": "5m"}},
    "DEVICE_NEIGHBOR": {
        "Ethernet0": {"name": "one", "port": "eth0"},
        "Ethernet4": {"name": "two", "port": "eth0"},
        "Ethernet8": {"name": "three", "port": "eth0"},
    },
    "BUFFER_POOL": {
        "ingress_lossless_pool": {"type": "ingress", "mode": "dynamic", "size": "4580864"}
    },
    "BUFFER_PROFILE": {
        "lossless": {
            "pool": "ingress_lossless_pool", "size": "58368", "xon": "19456", "xoff": "38912",
            "dynamic_th": "-1",
        },
    },
    "BUFFER_PG": {"Ethernet0,Ethernet4,Ethernet8|3-4": {"profile": "lossless"}},
    "PORT_QOS_MAP": {"Ethernet0,Ethernet4,Ethernet8": {"pfc_enable": "3,4"}},
}  # fmt: skip
"""A switch with three hosts."""


def copy() -> dict[str, Any]:
    out: dict[str, Any] = json.loads(json.dumps(SMALL))
    return out


def put(here: CommandLine, content: object, name: str = "config_db.json") -> None:
    text = content if isinstance(content, str) else json.dumps(content, indent=1)
    (here.folder / name).write_text(text, encoding="utf-8")


def imported(here: CommandLine, *words: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Import; return the report and the scenario."""
    words = words or ("config_db.json",)
    done = here("import", "sonic", *words, "-o", "made.toml", "--json")
    assert done.returncode == 0, done.stderr
    text = (here.folder / "made.toml").read_text(encoding="utf-8")
    return json.loads(done.stdout), tomllib.loads(text)


def lost(report: dict[str, Any]) -> dict[str, str]:
    return {entry["what"]: entry["why"] for entry in report["not_modelled"]}


def refused(here: CommandLine, *words: str) -> str:
    """Return the one line that refuses an import, which must write nothing."""
    before = here.left()
    words = words or ("config_db.json",)
    done = here("import", "sonic", *words, "-o", "made.toml")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1 and len(done.stderr) < 500, done.stderr
    assert here.left() == before
    return done.stderr.removeprefix("error: ").rstrip("\n")


def flat(nested: dict[str, Any]) -> dict[str, Any]:
    return {f"{table}|{key}": row for table, rows in nested.items() for key, row in rows.items()}


def test_what_configurations_do_not_say_is_as_options_say(cli: CommandLine) -> None:
    put(cli, SMALL)
    for options, duration, reaction in (
        ((), "5 ms", "0 s"),
        (("--duration", "7 ms"), "7 ms", "0 s"),
    ):
        _, said = imported(cli, "config_db.json", *options)
        assert (said["duration"], said["pause"][0]["reaction"]) == (duration, reaction)
    _, said = imported(cli, "config_db.json", "--reaction", "1.5 us")
    assert said["pause"][0]["reaction"] == "1500 ns"


def test_a_switch_becomes_a_scenario(cli: CommandLine) -> None:
    put(cli, SMALL)
    _, said = imported(cli)
    assert said["link"] == [
        {"from": "leaf", "to": "one", "rate": "100 Gb/s", "delay": "200 ns"},
        {"from": "leaf", "to": "three", "rate": "40 Gb/s", "delay": "25 ns"},
        {"from": "leaf", "to": "two", "rate": "100 Gb/s", "delay": "200 ns"},
    ]
    # Mellanox, private headroom: size holds xon and xoff; the pool excludes both.
    assert said["shared_buffer"] == [
        {
            "only": "leaf",
            "size": f"{4_580_864 + 3 * (58_368 - 38_912) + 3 * 38_912} B",
            "reserve": "19456 B",
            "pg_alpha": 0.5,
            "headroom": "38912 B",
            "xon": "19456 B",
            "xon_offset": "0 B",
            "cell": "96 B",
        }
    ]
    assert said["pause"] == [
        {
            "only": "leaf", "kind": "priority", "rule": "dynamic", "priorities": "3,4",
            "reaction": "0 s",
        }
    ]  # fmt: skip
    assert said["traffic"][0]["priority"] == 3


def test_what_is_shared_is_what_the_pool_says(cli: CommandLine) -> None:
    put(cli, SMALL)
    imported(cli)
    scenario = qcnlab.load(cli.folder / "made.toml")
    least = 4_580_864 + 3 * 58_368
    scenario.with_(f"shared_buffer.0.size={least} B")
    # What a class keeps is 3 x 58,368 B: with no more than that nothing is shared.
    with pytest.raises(qcnlab.ScenarioError, match="175104"):
        scenario.with_("shared_buffer.0.size=175104 B")


def test_nested_flat_and_dumped_forms_say_the_same(cli: CommandLine) -> None:
    dumped = {
        key: {"type": "hash", "ttl": -0.001, "expireat": 1.5, "value": row}
        for key, row in flat(SMALL).items()
    }
    made = []
    for form in (SMALL, flat(SMALL), dumped):
        put(cli, form)
        made.append(imported(cli)[1])
    assert made[0] == made[1] == made[2]


def test_numbers_lists_and_blanks_are_read_however_they_are_written(cli: CommandLine) -> None:
    put(cli, SMALL)
    before = imported(cli)[1]
    other = copy()
    other["PORT"]["Ethernet0"] = {"speed": 100000, "mtu": 9100, "lanes@": ["0", "1", "2", "3"]}
    other["BUFFER_POOL"]["ingress_lossless_pool"]["size"] = " 4580864"
    other["BUFFER_PROFILE"]["lossless"]["pool"] = "[BUFFER_POOL|ingress_lossless_pool]"
    other["BUFFER_PG"] = {
        "Ethernet0|3-4": {"profile": "[BUFFER_PROFILE|lossless]"},
        "Ethernet4|3": {"profile": "lossless"},
        "leaf|asic0|Ethernet4|4": {"profile": "lossless"},
        "Ethernet8|3-4": {"profile": "lossless"},
    }
    put(cli, "\ufeff" + json.dumps(other))
    # A key of a switch of several chips is the port's own.
    other_said = imported(cli)[1]
    assert other_said == before


def test_rows_of_other_hosts_of_a_chassis_are_told(cli: CommandLine) -> None:
    tables = copy()
    tables["WRED_PROFILE"] = {
        "A": {"ecn": "ecn_all", "green_min_threshold": "1000", "green_max_threshold": "2000"}
    }
    for port in ("Ethernet0", "Ethernet4", "Ethernet8"):
        tables.setdefault("QUEUE", {})[f"leaf|asic0|{port}|3-4"] = {"wred_profile": "A"}
        tables["QUEUE"][f"card2|asic0|{port}|3-4"] = {"wred_profile": "B"}
    put(cli, tables)
    report, said = imported(cli)
    assert [row["ports"] for row in said["wred"]] == ["leaf->*", "leaf->*"]
    assert said["wred"][0]["p_max"] == 1
    assert "QUEUE of card2, in 6 rows" in lost(report)


def test_pools_of_others_hold_what_groups_keep_and_share_their_headroom(cli: CommandLine) -> None:
    tables = copy()
    tables["DEVICE_METADATA"]["localhost"]["hwsku"] = "Arista-7060CX-32S-C32"
    tables["BUFFER_POOL"]["ingress_lossless_pool"] |= {"size": "10875072", "xoff": "4194112"}
    tables["BUFFER_PROFILE"]["lossless"] |= {
        "size": "1248", "xon": "2288", "xoff": "177632", "xon_offset": "2288", "dynamic_th": "0",
    }  # fmt: skip
    put(cli, tables)
    _, said = imported(cli)
    buffer = said["shared_buffer"][0]
    # 3 ports x 2 classes keep 1248 B within the pool; the scenario has groups of one class.
    assert buffer["size"] == f"{10_875_072 - 6 * 1248 + 3 * 1248 + 4_194_112} B"
    assert buffer["headroom_pool"] == "4194112 B"
    assert (buffer["headroom"], buffer["reserve"]) == ("177632 B", "1248 B")
    assert (buffer["xon"], buffer["xon_offset"], buffer["cell"]) == ("2288 B", "2288 B", "208 B")


@pytest.mark.parametrize(("exponent", "alpha"), [(-8, 1 / 256), (-1, 0.5), (3, 8), (7, 128)])
def test_dynamic_th_is_an_exponent(cli: CommandLine, exponent: int, alpha: float) -> None:
    tables = copy()
    tables["BUFFER_PROFILE"]["lossless"]["dynamic_th"] = str(exponent)
    put(cli, tables)
    assert imported(cli)[1]["shared_buffer"][0]["pg_alpha"] == alpha


def test_a_static_threshold_is_told(cli: CommandLine) -> None:
    tables = copy()
    del tables["BUFFER_PROFILE"]["lossless"]["dynamic_th"]
    tables["BUFFER_PROFILE"]["lossless"]["static_th"] = "2290432"
    put(cli, tables)
    report, said = imported(cli)
    # Half of the pool is what one group alone has with alpha 1.
    assert said["shared_buffer"][0]["pg_alpha"] == 1
    assert any("static_th 2290432" in what for what in lost(report))


def test_a_lookup_table_gives_what_no_row_does(cli: CommandLine) -> None:
    tables = copy()
    del tables["BUFFER_PG"], tables["BUFFER_PROFILE"]
    put(cli, tables)
    rows = "# speed cable size xon xoff threshold xon_offset\n100000 40m 1248 2288 177632\t0 2496\n"
    put(cli, rows + "40000\t5m 1248 2288 66560 0\n", "pg_profile_lookup.ini")
    report, said = imported(cli, "config_db.json", "pg_profile_lookup.ini")
    buffer = said["shared_buffer"][0]
    assert (buffer["xon"], buffer["headroom"]) == ("2288 B", "177632 B")
    told = lost(report)
    assert "leaf: xoff differs by port: 66560 B, 177632 B" in told
    assert "leaf: xon_offset differs by port: 0 B, 2496 B" in told


def test_a_cable_of_0_m_or_without_a_row_has_no_headroom(cli: CommandLine) -> None:
    tables = copy()
    del tables["BUFFER_PG"], tables["BUFFER_PROFILE"]
    tables["CABLE_LENGTH"]["AZURE"]["Ethernet4"] = "0m"
    put(cli, tables)
    put(cli, "100000 40m 1248 2288 177632 0\n", "pg_profile_lookup.ini")
    report, said = imported(cli, ".")
    assert said["link"][2]["delay"] == "0 ns"
    names = "leaf: 2 ports without headroom for class 3, Ethernet4, Ethernet8"
    assert names in lost(report)


def test_null_and_pools_without_a_size(cli: CommandLine) -> None:
    tables = copy()
    tables["BUFFER_PG"] = {"Ethernet0,Ethernet4,Ethernet8|3-4": {"profile": "NULL"}}
    put(cli, tables)
    report, said = imported(cli)
    assert "profile NULL" in lost(report)["leaf: buffer"]
    assert "shared_buffer" not in said and "pause" not in said
    tables = copy()
    del tables["BUFFER_POOL"]["ingress_lossless_pool"]["size"]
    put(cli, tables)
    assert "has no size: SONiC computes it" in refused(cli)


def test_an_unknown_platform_is_told_with_its_line(cli: CommandLine) -> None:
    tables = copy()
    tables["DEVICE_METADATA"]["localhost"]["hwsku"] = "Acme-9000"
    put(cli, tables)
    report, said = imported(cli)
    assert "cell" not in said["shared_buffer"][0]
    what = next(what for what in lost(report) if "Acme-9000" in what)
    assert what == "leaf: cells of 'Acme-9000' (config_db.json:5)"


def test_thresholds_watchdogs_and_weights(cli: CommandLine) -> None:
    tables = copy()
    tables["WRED_PROFILE"] = {
        "A": {
            "ecn": "ecn_all", "green_min_threshold": "250000", "green_max_threshold": "2097152",
            "green_drop_probability": "5", "wred_green_enable": "false",
        },
        "B": {"ecn": "ecn_red", "green_min_threshold": "1", "green_max_threshold": "2"},
    }  # fmt: skip
    tables["SCHEDULER"] = {"s": {"type": "DWRR", "weight": "15"}, "t": {"type": "STRICT"}}
    tables["QUEUE"] = {
        "Ethernet0,Ethernet4|3": {"wred_profile": "[WRED_PROFILE|A]", "scheduler": "s"},
        "Ethernet8|3": {"wred_profile": "B", "scheduler": "s"},
        "Ethernet0,Ethernet4,Ethernet8|6": {"scheduler": "[SCHEDULER|t]"},
    }
    tables["PFC_WD"] = {
        "GLOBAL": {"POLL_INTERVAL": "100"},
        "Ethernet0,Ethernet4,Ethernet8": {
            "action": "forward", "detection_time": "400", "restoration_time": "300",
        },
    }  # fmt: skip
    put(cli, tables)
    report, said = imported(cli)
    assert said["wred"] == [
        {
            "ports": said["wred"][0]["ports"], "priorities": "3", "k_min": "250000 B",
            "k_max": "2097152 B", "p_max": 0.05,
        }
    ]  # fmt: skip
    assert set(said["wred"][0]["ports"].split(", ")) == {"leaf->one", "leaf->two"}
    assert said["watchdog"] == [
        {
            "only": "leaf", "detect_after": "400 ms", "restore_after": "300 ms",
            "action": "forward", "poll": "100 ms",
        }
    ]  # fmt: skip
    assert said["switch"] == [{"only": "leaf", "weights": "3: 15"}]
    assert any("WRED B marks nothing in class 3" in what for what in lost(report))


def test_several_links_of_two_switches_are_one_of_their_rate(cli: CommandLine) -> None:
    tables = copy()
    tables["DEVICE_NEIGHBOR"]["Ethernet4"] = {"name": "one", "port": "eth1"}
    put(cli, tables)
    report, said = imported(cli)
    assert said["link"][0] == {"from": "leaf", "to": "one", "rate": "200 Gb/s", "delay": "200 ns"}
    assert "2 links leaf to one" in lost(report)


def test_what_is_not_read_is_told(cli: CommandLine) -> None:
    tables = copy()
    tables["VLAN"] = {"Vlan1": {}, "Vlan2": {}}
    tables["PORT"]["Ethernet0"] |= {"alias": "etp1", "fec": "rs"}
    put(cli, tables)
    told = lost(imported(cli)[0])
    assert told["table VLAN, 2 rows"] == "not of congestion management"
    assert {"PORT alias, in 1 row", "PORT fec, in 1 row"} <= told.keys()


FAULTS: dict[str, tuple[list[str], Any, str]] = {
    "speed": (["PORT", "Ethernet0", "speed"], "100G", "'100G' is no whole number"),
    "cable": (["CABLE_LENGTH", "AZURE", "Ethernet0"], "40", "'40' is no length in metres"),
    "far cable": (["CABLE_LENGTH", "AZURE", "Ethernet0"], "9999999m", "'9999999m' is no length"),
    "octets": (["BUFFER_PROFILE", "lossless", "xoff"], "38 KB", "'38 KB' is no whole number"),
    "below 0": (["BUFFER_PROFILE", "lossless", "xon"], "-1", "'-1' is no whole number"),
    "threshold": (["BUFFER_PROFILE", "lossless", "dynamic_th"], "8", "'8' is no whole number"),
    "classes": (["PORT_QOS_MAP", "Ethernet0,Ethernet4,Ethernet8", "pfc_enable"], "3,8",
                "8 is not from 0 to 7"),
    "profile": (["BUFFER_PG", "Ethernet0,Ethernet4,Ethernet8|3-4", "profile"], "other",
                "'other' is no row of BUFFER_PROFILE of leaf"),
    "pool": (["BUFFER_PROFILE", "lossless", "pool"], "other",
             "pool 'other' is no row of BUFFER_POOL of leaf"),
    "name": (["DEVICE_NEIGHBOR", "Ethernet0", "name"], "a b", "'a b' cannot name a node"),
    "itself": (["DEVICE_NEIGHBOR", "Ethernet0", "name"], "leaf", "is its own neighbour"),
    "object": (["PORT", "Ethernet0"], "x", "PORT 'Ethernet0' is no object of fields"),
    "nested": (["PORT", "Ethernet0", "speed"], [["x"]], "neither a text nor a list of texts"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_a_value_that_cannot_be_is_named_with_its_line(cli: CommandLine, name: str) -> None:
    path, value, message = FAULTS[name]
    tables = copy()
    inner: Any = tables
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    put(cli, tables)
    told = refused(cli)
    assert message in told
    text = (cli.folder / "config_db.json").read_text()
    line = int(told.partition("line ")[2].partition(":")[0])
    part = text.splitlines()[line - 1]
    assert path[-1] in part or path[-2] in part or (name == "pool" and "lossless" in part)


def test_files_that_contradict_are_refused_with_both_lines(cli: CommandLine) -> None:
    put(cli, SMALL)
    put(cli, {"PORT": {"Ethernet0": {"speed": "40000"}}}, "more.json")
    told = refused(cli, "config_db.json", "more.json")
    assert told.startswith("more.json, line 4: PORT 'Ethernet0' has speed '40000', but ")
    assert "config_db.json:10 has '100000': keep one" in told
    (cli.folder / "more.json").unlink()
    put(cli, '{"PORT": {"Ethernet0": {},\n "Ethernet0": {}}}')
    assert refused(cli) == (
        "config_db.json, line 2: 'Ethernet0' stands twice in one object: keep one"
    )


def test_ends_of_a_link_that_contradict_are_refused(cli: CommandLine) -> None:
    one, two = copy(), copy()
    two["DEVICE_METADATA"]["localhost"]["hostname"] = "one"
    two["DEVICE_NEIGHBOR"]["Ethernet8"] = {"name": "leaf", "port": "Ethernet0"}
    two["DEVICE_NEIGHBOR"]["Ethernet0"] = {"name": "four", "port": "eth0"}
    two["DEVICE_NEIGHBOR"]["Ethernet4"] = {"name": "five", "port": "eth0"}
    put(cli, one, "leaf.json")
    put(cli, two, "one.json")
    told = refused(cli, "leaf.json", "one.json")
    assert "one has 40000 Mb/s towards leaf, which has 100000 Mb/s: correct one" in told


HOSTILE = {
    "deep": ("{" + '"a":[' * 100_000, "no JSON|too deep"),
    "cut": ('{"PORT": {"Ethernet0": {"speed": "1', "no JSON"),
    "NaN": ('{"PORT": {"Ethernet0": {"speed": NaN}}}', "'NaN' is no number of JSON"),
    "digits": ('{"PORT": {"E": {"speed": ' + "9" * 5000 + "}}}", "too many digits|no whole number"),
    "list": ("[1, 2]", "it is none of"),
    "template": ('{"PORT": {% for x in y %}}', "render it first"),
    "words": ("hello", "it is none of"),
    "empty": ("", "it is none of"),
    "others": ('{"a": 1}', "it is none of"),
    "surrogate": ('{"PORT": {"E\\ud800": {"speed": "\\ud800"}}}', "no whole number|neighbour"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_input_is_one_line(cli: CommandLine, name: str) -> None:
    text, message = HOSTILE[name]
    put(cli, text)
    told = refused(cli)
    assert any(part in told for part in message.split("|")), told


def test_octets_that_are_no_text_are_one_line(cli: CommandLine) -> None:
    (cli.folder / "config_db.json").write_bytes(b'{"PORT":\n\xff}')
    assert refused(cli) == "config_db.json, line 2: it is not UTF-8: save it as UTF-8"
    assert "cannot read 'nowhere.json'" in refused(cli, "nowhere.json")


def test_damaged_files_end_in_one_line_or_a_scenario(cli: CommandLine) -> None:
    drawn = random.Random(7)
    text = json.dumps(SMALL)
    for _ in range(60):
        at, end = sorted(drawn.sample(range(len(text)), 2))
        put(cli, text[:at] + drawn.choice(["", '"', "}", "9", "|", text[at : at + 3]]) + text[
            min(end, at + drawn.randrange(6)) :
        ])  # fmt: skip
        done = cli("import", "sonic", "config_db.json", "-o", "made.toml")
        assert done.returncode in (0, 2), done.stderr
        assert done.stderr.count("\n") <= 1 and "Traceback" not in done.stderr


ROWS = {
    "100000 40m 1 2 3": "5 columns; a row has 6 or 7",
    "100000 40m 1 2 3 4 5 6": "8 columns; a row has 6 or 7",
    "100G 40m 1 2 3 4": "'100G' is no whole number",
    "100000 40 1 2 3 4": "'40' is no length in metres",
    "100000 40m 1 2 3KB 4": "'3KB' is no whole number",
    "1 5m 1 2 3 4\n1 5m 1 2 3 5": "speed 1 with cable 5m has a row already",
}


@pytest.mark.parametrize("rows", ROWS)
def test_rows_that_cannot_be_are_refused(tmp_path: Path, rows: str) -> None:
    path = tmp_path / "pg_profile_lookup.ini"
    path.write_text(rows)
    with pytest.raises(FormatError, match=ROWS[rows].replace("(", r"\(")) as caught:
        profiles.read(path)
    assert f"line {len(rows.splitlines())}" in str(caught.value)


CONFIG = """\
Device #1:
Configurations:                 Default   Current   Next Boot
*        RPG_TIME_RESET_P1      300       600       700
         RPG_BYTE_RESET_P1      32767     0         0
         RPG_BYTE_RESET_P2      32767     32767     32767
         CLAMP_TGT_RATE_P1      False(0)  True(1)   True(1)
         NUM_OF_VFS             8         16        16
"""


def test_mlxconfig_has_current_values_of_the_first_port() -> None:
    adapter = Adapter("host")
    assert adapters.kind(CONFIG) == "mlxconfig"
    adapters.take_mlxconfig(adapter, Path("m.txt"), CONFIG)
    taken = {name: value.text for name, value in adapter.parameters.items()}
    assert taken == {"rpg_time_reset": "600", "rpg_byte_reset": "0", "clamp_tgt_rate": "True(1)"}
    assert adapter.parameters["rpg_time_reset"].line == 3
    told = [what for what, _ in adapter.told]
    assert told == [
        "host: rpg_time_reset 700 after the next start (m.txt:3)",
        "host: rpg_byte_reset 32767 of the second port (m.txt:5)",
        "host: 1 other parameter",
    ]
    with pytest.raises(FormatError, match="neither one value nor default"):
        adapters.take_mlxconfig(adapter, Path("m.txt"), CONFIG.replace("32767     0  ", "0"))


SYSFS = """\
/sys/class/net/ens1f0/ecn/roce_rp/rpg_time_reset:300
/sys/class/net/ens1f0/ecn/roce_rp/enable/3:1
/sys/class/net/ens1f0/ecn/roce_np/enable/3:0
ecn/roce_np/params/min_time_between_cnps:4
/sys/kernel/debug/mlx5/0000:08:00.0/cc_params/rp_gd:11
==> /sys/class/net/ens1f0/ecn/roce_np/cnp_dscp <==
48
==> /sys/class/net/ens1f0/ecn/roce_rp/other <==
1
"""


def test_sysfs_and_debugfs_are_read_by_their_paths() -> None:
    adapter = Adapter("host")
    assert adapters.kind(SYSFS) == "sysfs"
    assert adapters.take_sysfs(adapter, Path("ecn.txt"), SYSFS) == 6
    assert {name: value.text for name, value in adapter.parameters.items()} == {
        "rpg_time_reset": "300", "min_time_between_cnps": "4", "rpg_gd": "11", "cnp_dscp": "48",
    }  # fmt: skip
    assert (adapter.reacts[3].text, adapter.notifies[3].text) == ("1", "0")
    assert adapter.parameters["cnp_dscp"].line == 7
    with pytest.raises(FormatError, match=r"rpg_gd of host is '10', but ecn\.txt:5 has '11'"):
        adapters.take_sysfs(adapter, Path("b.txt"), "cc_params/rp_gd: 10\n")


def test_every_name_of_debugfs_is_a_parameter() -> None:
    assert set(adapters.DEBUGFS.values()) <= adapters.PARAMETERS
    unnamed = adapters.PARAMETERS - set(adapters.DEBUGFS.values())
    assert unnamed == {"roce_cc_prio_mask", "roce_cc_algorithm"}


def test_mlnx_qos_is_read_line_by_line() -> None:
    text = THREE_TIERS["MLNX_QOS"]
    adapter = Adapter("host")
    assert adapters.kind(text) == "mlnx_qos"
    adapters.take_mlnx_qos(adapter, Path("q.txt"), text)
    assert [int(adapter.pfc[each].text) for each in range(8)] == [0, 0, 0, 1, 1, 0, 0, 0]
    assert {dscp: int(value.text) for dscp, value in adapter.dscp.items()} == {26: 3, 36: 4, 48: 6}
    assert adapter.trust is not None and adapter.trust.text == "dscp"
    assert adapter.cable is not None and adapter.cable.text == "7"
    assert {tc: value.text for tc, value in adapter.tsa.items()} == {
        0: "ets", 3: "ets", 4: "ets", 6: "strict",
    }  # fmt: skip
    assert adapter.share[3].text == "50" and 6 not in adapter.share
    assert adapter.classes_of[5].text == "0" and adapter.classes_of[6].text == "6"
    assert [adapter.buffers[each].text for each in (0, 1, 2)] == ["130944", "130944", "0"]
    assert adapter.buffer_of[3].text == "1"
    with pytest.raises(FormatError, match="7 values; PFC configuration has one for each of 8"):
        short = text.replace("enabled     0   ", "enabled     ")
        adapters.take_mlnx_qos(Adapter("x"), Path("q.txt"), short)


DCB = """\
{"pfc_cap":8,"macsec_bypass":false,"delay":0,
"prio_pfc":[false,false,false,true,false,false,false,false]}
{"ets_cap":8,"tc_tsa":["ets","ets","ets","ets","ets","ets","strict","ets"],
"prio_tc":[0,1,2,3,4,5,6,7]}
{"dscp_prio":[[26,3],[48,6]]}
"""


def test_dcb_prints_several_objects(tmp_path: Path) -> None:
    adapter = Adapter("host")
    for each in json_text.objects(Path("dcb.json"), DCB):
        adapters.take_dcb(adapter, Path("dcb.json"), each)
    assert [value.text for value in adapter.pfc.values()] == list("00010000")
    assert adapter.pfc[3].line == 2
    assert {dscp: value.text for dscp, value in adapter.dscp.items()} == {26: "3", 48: "6"}
    assert adapter.tsa[6].text == "strict"
    with pytest.raises(FormatError, match="line 1: prio_pfc has 1 values; it has one for each"):
        for each in json_text.objects(tmp_path, '{"prio_pfc":[true]}'):
            adapters.take_dcb(adapter, tmp_path, each)


def nic(here: CommandLine, text: str) -> dict[str, Any]:
    put(here, SMALL)
    put(here, text, "one.mlxconfig.txt")
    said: dict[str, Any] = imported(here, "config_db.json", "one.mlxconfig.txt")[1]["scheme"]["rp"]
    return said


UNITS: dict[str, tuple[str, dict[str, Any]]] = {
    "us": ("RPG_TIME_RESET_P1 55\n", {"time_reset": "55 us"}),
    "64 octets": ("RPG_BYTE_RESET_P1 1000\n", {"byte_reset": "64000 B"}),
    "off": ("RPG_BYTE_RESET_P1 0\n", {"byte_reset": "none"}),
    "Mb/s": ("RPG_AI_RATE_P1 40\nRPG_HAI_RATE_P1 200\n",
             {"ai_rate": "40 Mb/s", "hai_rate": "200 Mb/s"}),
    "least": ("RPG_MIN_RATE_P1 10\n", {"min_rate": "10 Mb/s"}),
    "shift": ("RPG_GD_P1 12\n", {"cut_share": 0.25}),
    "percent": ("RPG_MIN_DEC_FAC_P1 95\n", {"min_dec_fac": 0.95}),
    "of 1024": ("DCE_TCP_G_P1 1019\n", {"g": 0.0048828125}),
    "alpha": ("INITIAL_ALPHA_VALUE_P1 512\n", {"alpha_initial": 0.5}),
    "periods": ("DCE_TCP_RTT_P1 2\nRATE_REDUCE_MONITOR_PERIOD_P1 8\n",
                {"alpha_period": "2 us", "reduce_period": "8 us"}),
    "interval": ("MIN_TIME_BETWEEN_CNPS_P1 50\n", {"cnp_interval": "50 us"}),
    "first": ("RATE_TO_SET_ON_FIRST_CNP_P1 1000\n", {"first_rate": "1 Gb/s"}),
    "stages": ("RPG_THRESHOLD_P1 5\n", {"threshold": 5}),
    "always": ("CLAMP_TGT_RATE_AFTER_TIME_INC_P1 True(1)\nCLAMP_TGT_RATE_P1 True(1)\n",
               {"clamp": "always"}),
    "never by time": ("CLAMP_TGT_RATE_AFTER_TIME_INC_P1 False(0)\nCLAMP_TGT_RATE_P1 0\n",
                      {"clamp": "after_byte_increase"}),
}  # fmt: skip


@pytest.mark.parametrize("unit", UNITS)
def test_each_parameter_has_its_unit(cli: CommandLine, unit: str) -> None:
    text, expected = UNITS[unit]
    if unit == "first":
        expected = {"first_rate": "1000 Mb/s"}
    assert nic(cli, text) == expected


def test_the_byte_counter_counts_octets_when_asked(cli: CommandLine) -> None:
    put(cli, SMALL)
    put(cli, "RPG_BYTE_RESET_P1 1000\n", "nic.txt")
    words = ("config_db.json", "one=nic.txt", "--byte-reset-unit", "1")
    assert imported(cli, *words)[1]["scheme"]["rp"] == {"byte_reset": "1000 B"}
    assert "--byte-reset-unit 8: " in refused(cli, *words[:3], "8")


def test_the_defaults_of_adapters_are_the_preset(cli: CommandLine) -> None:
    put(cli, SMALL)
    put(cli, THREE_TIERS["MLXCONFIG"], "one.txt")
    imported(cli, "config_db.json", "one.txt")
    scenario = qcnlab.load(cli.folder / "made.toml")
    text = (cli.folder / "made.toml").read_text()
    bare = "\n".join(line for line in text.splitlines() if not line.startswith("rp."))
    (cli.folder / "bare.toml").write_text(bare)
    assert scenario.to_toml() == qcnlab.load(cli.folder / "bare.toml").to_toml()
    assert tomllib.loads(text)["feedback"] == {"kind": "frames", "priority": 6}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("RPG_GD_P1 9\n", "rpg_gd: 9 is not from 10 to 15"),
        ("RPG_TIME_RESET_P1 0\n", "rpg_time_reset in us: 0 is not from 1 to"),
        ("RPG_AI_RATE_P1 5Mbps\n", "'5Mbps' is no whole number"),
        ("DCE_TCP_G_P1 1024\n", "dce_tcp_g: 1024 is not from 0 to 1023"),
        ("CNP_802P_PRIO_P1 8\n", "cnp_802p_prio: 8 is not from 0 to 7"),
        ("CLAMP_TGT_RATE_P1 maybe\n", "'maybe' is neither true nor false"),
    ],
)
def test_parameters_that_cannot_be_are_refused(cli: CommandLine, text: str, message: str) -> None:
    put(cli, SMALL)
    put(cli, text, "one.txt")
    told = refused(cli, "config_db.json", "one.txt")
    assert told.startswith("one.txt, line 1: ") and message in told


def test_adapters_that_differ_are_told(cli: CommandLine) -> None:
    put(cli, SMALL)
    for host, rate in (("one", 5), ("two", 5), ("three", 40)):
        put(cli, f"RPG_AI_RATE_P1 {rate}\n", f"{host}.txt")
    report, said = imported(cli, ".")
    assert said["scheme"]["rp"] == {"ai_rate": "5 Mb/s"}
    told = "1 adapter with other parameters, three"
    assert lost(report)[told] == "all hosts have one set here: that of one"
    # Who says less, or the same in other words, says nothing else.
    for host in ("one", "two"):
        put(cli, "RPG_AI_RATE_P1 5\nCLAMP_TGT_RATE_P1 False(0)\n", f"{host}.txt")
    put(cli, "ecn/roce_rp/rpg_ai_rate:5\n", "three.txt")
    report, _ = imported(cli, ".")
    assert not any("other parameters" in each for each in lost(report))


def test_whose_a_file_is(cli: CommandLine) -> None:
    put(cli, SMALL)
    put(cli, "RPG_AI_RATE_P1 5\n", "nic.txt")
    assert refused(cli, "config_db.json", "nic.txt").startswith(
        "nic.txt: which host is it of? write HOST=nic.txt"
    )
    assert "'leaf' is a switch: write HOST=FILE" in refused(cli, "config_db.json", "leaf=nic.txt")
    (cli.folder / "two").mkdir()
    (cli.folder / "nic.txt").rename(cli.folder / "two/nic.txt")
    report, _ = imported(cli, "config_db.json", "two/nic.txt")
    assert report["read"][-1] == {"file": "two/nic.txt", "what": "two: 1 setting of mlxconfig"}
    assert "named twice" in refused(cli, "config_db.json", "./config_db.json")


def test_a_device_may_have_several_files(cli: CommandLine) -> None:
    parts = copy()
    buffers = {name: parts.pop(name) for name in ("BUFFER_POOL", "BUFFER_PROFILE", "BUFFER_PG")}
    put(cli, SMALL)
    whole = imported(cli)[1]
    put(cli, parts)
    put(cli, buffers, "buffers.json")
    assert imported(cli, "buffers.json", "config_db.json")[1] == whole


def test_a_folder_may_hold_other_files(cli: CommandLine) -> None:
    put(cli, SMALL)
    put(cli, "notes", "README")
    assert lost(imported(cli, ".")[0])["README"].startswith("none of CONFIG_DB")


def test_a_link_that_is_down_is_left_out(cli: CommandLine) -> None:
    tables = copy()
    tables["PORT"]["Ethernet4"]["admin_status"] = "down"
    put(cli, tables)
    report, said = imported(cli)
    assert [link["to"] for link in said["link"]] == ["one", "three"]
    assert any(what.startswith("leaf Ethernet4") for what in lost(report))


def test_names_are_sorted_by_their_numbers() -> None:
    assert sorted(["h10", "h2", "a", "h1x"], key=natural) == ["a", "h1x", "h2", "h10"]


def test_the_example_becomes_a_scenario_that_runs(cli: CommandLine) -> None:
    THREE_TIERS["main"](cli.folder)
    report, said = imported(cli, "clean")
    assert len(said["link"]) == 16 + 4 + 4
    assert len([name for name in said["shared_buffer"] if name["cell"] == "144 B"]) == 8
    assert report["read"][0]["file"] == "clean/agg1/config_db.json"
    scenario = qcnlab.load(cli.folder / "made.toml").with_("duration=100 us")
    result = qcnlab.run(scenario, reps=1, progress=False)
    assert result.summary.metrics["drops"].median == 0


def test_switches_that_the_files_describe_are_as_they_say() -> None:
    tables = Tables()
    for each in json_text.objects(Path("x.json"), json.dumps(SMALL)):
        tables.take(each, Path("x.json"))
    switch = Switch("leaf", tables)
    assert switch.ports["Ethernet8"].speed == 40_000
    assert not switch.ports["Ethernet8"].wide
    assert switch.pfc("Ethernet4") == [3, 4]
    assert switch.mapped("Ethernet4", "tc_to_queue_map", 5) == 5
    assert switch.groups["Ethernet4", 4].profile.xoff == 38_912


def test_a_file_that_ends_in_a_text_says_where(cli: CommandLine) -> None:
    put(cli, json.dumps(SMALL, indent=1)[:300])
    told = refused(cli)
    assert re.fullmatch(r"config_db\.json, line \d+: no JSON: \w+ string starting at '.*", told)


def test_half_of_a_text_must_be_lines_of_a_configuration() -> None:
    prints = "RPG_AI_RATE_P1 5\nRPG_HAI_RATE_P1 50\n"
    said = "It is what the card said\nand this we made of it.\n"
    assert adapters.kind(prints + said) == "mlxconfig"
    assert adapters.kind(prints + "More of it\n" + said) is None
    assert adapters.kind(prints + "\n \n\n") == "mlxconfig"
