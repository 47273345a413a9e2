"""What a scenario changes in CONFIG_DB: merged with the first files, it says the scenario."""

from __future__ import annotations

import json
import random
import runpy
from typing import TYPE_CHECKING, Any

import pytest

import qcnlab
from conftest import ROOT, CommandLine
from test_sonic_files import copy

if TYPE_CHECKING:
    pass

THREE_TIERS: dict[str, Any] = runpy.run_path(str(ROOT / "examples/sonic/three_tiers.py"))
MARKED = {"ecn": "ecn_all", "green_min_threshold": "100000", "green_max_threshold": "400000",
          "green_drop_probability": "20", "wred_yellow_enable": "true"}  # fmt: skip


def small(here: CommandLine, **changes: Any) -> None:
    tables = copy() | {
        "WRED_PROFILE": {"A": dict(MARKED)},
        "SCHEDULER": {"s": {"type": "DWRR", "weight": "15"}},
        "QUEUE": {
            f"Ethernet{port}|3-4": {"wred_profile": "A", "scheduler": "s"} for port in (0, 4, 8)
        },
        "PFC_WD": {
            "GLOBAL": {"POLL_INTERVAL": "100"},
            "Ethernet0,Ethernet4,Ethernet8": {
                "action": "forward", "detection_time": "400", "restoration_time": "300",
            },
        },
    } | changes  # fmt: skip
    (here.folder / "first").mkdir()
    (here.folder / "first/config_db.json").write_text(json.dumps(tables))
    done = here("import", "sonic", "first", "-o", "first.toml")
    assert done.returncode == 0, done.stderr


def patched(here: CommandLine, *changes: str, files: str = "first") -> dict[str, Any]:
    """Change the scenario of files, and write the patch onto them; return its report."""
    changed = qcnlab.load(here.folder / "first.toml").with_(*changes)
    (here.folder / "changed.toml").write_text(changed.to_toml())
    done = here("export", "sonic", "changed.toml", "--onto", files, "-o", "patch", "--json")
    assert done.returncode == 0, done.stderr
    out: dict[str, Any] = json.loads(done.stdout)
    return out


def merged(here: CommandLine, files: str = "first") -> str:
    """Merge the patch as `config load` does, without rows that it says to remove, and import it."""
    for path in sorted((here.folder / "patch").rglob("config_db.json")):
        own = here.folder / files / path.parent.name / "config_db.json"
        own = own if own.exists() else here.folder / files / "config_db.json"
        tables = json.loads(own.read_text())
        for table, rows in json.loads(path.read_text()).items():
            known = tables.setdefault(table, {})
            for key, row in rows.items():
                port, _, number = key.partition("|")
                for each in list(known):
                    ports, _, numbers = each.partition("|")
                    first, _, last = numbers.partition("-")
                    if number and last and port in ports.split(",") and (
                        int(first) <= int(number) <= int(last)
                    ):  # fmt: skip
                        del known[each]
                known.setdefault(key, {}).update(row)
        own.write_text(json.dumps(tables))
    done = here("import", "sonic", files, "-o", "again.toml")
    assert done.returncode == 0, done.stderr
    return qcnlab.load(here.folder / "again.toml").to_toml()


def tables(here: CommandLine, switch: str = "leaf") -> dict[str, Any]:
    out: dict[str, Any] = json.loads((here.folder / f"patch/{switch}/config_db.json").read_text())
    return out


def same(here: CommandLine, files: str = "first") -> bool:
    return merged(here, files) == qcnlab.load(here.folder / "changed.toml").to_toml()


def test_thresholds_change_in_the_rows_own_names(cli: CommandLine) -> None:
    small(cli)
    report = patched(cli, "wred.0.k_min=50 KB", "wred.1.k_min=50 KB", "shared_buffer.0.pg_alpha=1")
    assert tables(cli) == {
        "WRED_PROFILE": {"A": {"green_min_threshold": "50000"}},
        "BUFFER_PROFILE": {"lossless": {"dynamic_th": "0"}},
    }
    assert {"from": "leaf: WRED_PROFILE|A green_min_threshold was 100000",
            "to": "50000  (octets: k_min)"} in report["mapped"]  # fmt: skip
    assert same(cli)


def test_a_class_of_two_gets_a_profile_of_its_own(cli: CommandLine) -> None:
    small(cli)
    report = patched(cli, "wred.1.p_max=0.5")
    told = tables(cli)
    assert told["WRED_PROFILE"] == {"A_2": MARKED | {"green_drop_probability": "50"}}
    assert told["QUEUE"]["Ethernet0|4"] == {"wred_profile": "A_2", "scheduler": "s"}
    assert told["QUEUE"]["Ethernet0|3"] == {"wred_profile": "A", "scheduler": "s"}
    assert sum("remove it" in each["why"] for each in report["not_modelled"]) == 3
    assert same(cli)


def test_classes_that_part_need_one_new_profile(cli: CommandLine) -> None:
    small(cli)
    patched(cli, "wred.0.p_max=0.1", "wred.1.p_max=0.5")
    told = tables(cli)["WRED_PROFILE"]
    assert told == {
        "A": {"green_drop_probability": "10"},
        "A_2": MARKED | {"green_drop_probability": "50"},
    }
    assert same(cli)


def test_references_keep_their_brackets(cli: CommandLine) -> None:
    queue = {"wred_profile": "[WRED_PROFILE|A]", "scheduler": "[SCHEDULER|s]"}
    small(cli, QUEUE={f"Ethernet{port}|{each}": queue for port in (0, 4, 8) for each in (3, 4)})
    report = patched(cli, "wred.1.k_max=900 KB")
    assert tables(cli)["QUEUE"]["Ethernet8|4"] == queue | {"wred_profile": "[WRED_PROFILE|A_2]"}
    assert "Ethernet8|3" not in tables(cli)["QUEUE"]
    assert not any("remove" in each["why"] for each in report["not_modelled"])
    assert same(cli)


def test_ports_that_are_down_do_not_part_a_profile(cli: CommandLine) -> None:
    small(cli)
    path = cli.folder / "first/config_db.json"
    known = json.loads(path.read_text())
    known["PORT"]["Ethernet12"] = known["PORT"]["Ethernet8"] | {"admin_status": "down"}
    known["QUEUE"]["Ethernet12|3"] = {"wred_profile": "A"}
    path.write_text(json.dumps(known))
    patched(cli, "wred.0.k_min=70 KB", "wred.1.k_min=70 KB")
    assert tables(cli) == {"WRED_PROFILE": {"A": {"green_min_threshold": "70000"}}}


def test_buffers_watchdogs_and_weights_change(cli: CommandLine) -> None:
    small(cli)
    size = int(
        qcnlab.load(cli.folder / "first.toml").to_dict()["shared_buffer"][0]["size"].split()[0]
    )
    patched(
        cli, f"shared_buffer.0.size={size + 144_000} B", "shared_buffer.0.headroom=40000 B",
        "shared_buffer.0.xon=20000 B", "watchdog.0.detect_after=200 ms", "watchdog.0.poll=50 ms",
        "switch.0.weights=3: 20, 4: 15",
    )  # fmt: skip
    told = tables(cli)
    assert told["PFC_WD"]["GLOBAL"] == {"POLL_INTERVAL": "50"}
    assert told["PFC_WD"]["Ethernet0,Ethernet4,Ethernet8"] == {"detection_time": "200"}
    assert told["BUFFER_PROFILE"]["lossless"] == {"size": "59456", "xoff": "40000", "xon": "20000"}
    # Three links keep 40,000 in place of 38,912 octets of the 144,000 that came.
    assert told["BUFFER_POOL"]["ingress_lossless_pool"] == {"size": str(4580864 + 144_000 - 3264)}
    assert same(cli)


def test_without_a_change_nothing_is_written(cli: CommandLine) -> None:
    small(cli)
    report = patched(cli)
    assert report["written"][0]["what"] == ("not written: the configurations say all of it already")
    assert not (cli.folder / "patch").exists() and report["mapped"] == []


def test_what_goes_away_is_told(cli: CommandLine) -> None:
    small(cli)
    text = (cli.folder / "first.toml").read_text()
    start = text.index("[[watchdog]]")
    (cli.folder / "changed.toml").write_text(text[:start] + text[text.index("[[", start + 2) :])
    done = cli("export", "sonic", "changed.toml", "--onto", "first", "-o", "patch")
    assert done.returncode == 0, done.stderr
    assert "PFC_WD detection_time towards one" in done.stdout
    assert "the scenario has it no more: remove it by hand" in done.stdout


def test_other_networks_and_models_are_refused(cli: CommandLine) -> None:
    small(cli)
    text = (cli.folder / "first.toml").read_text()
    (cli.folder / "other.toml").write_text(text.replace('three"', 'four"'))
    words = ("export", "sonic", "other.toml", "--onto", "first", "-o", "patch")
    for more, told in (
        ((), "other.toml has no link from leaf to three, unlike the configurations"),
        (("--hwsku", "X"), "--hwsku is for switches without files"),
    ):
        done = cli(*words, *more)
        assert done.returncode == 2 and told in done.stderr and done.stderr.count("\n") == 1
    assert not (cli.folder / "patch").exists()


@pytest.mark.parametrize("seed", range(4))
def test_any_change_of_the_fabric_merged_is_the_scenario(cli: CommandLine, seed: int) -> None:
    THREE_TIERS["main"](cli.folder)
    (cli.folder / "clean").rename(cli.folder / "first")
    done = cli("import", "sonic", "first", "-o", "first.toml")
    assert done.returncode == 0, done.stderr
    draw = random.Random(seed)
    tree = qcnlab.load(cli.folder / "first.toml").to_dict()
    changes = []
    for number in draw.sample(range(len(tree["wred"])), 5):
        low, more = draw.randrange(10_000, 500_000), draw.randrange(10**6)
        percent = draw.randrange(1, 101)
        changes += [f"wred.{number}.k_min={low} B", f"wred.{number}.k_max={low + more} B",
                    f"wred.{number}.p_max={percent / 100:g}"]  # fmt: skip
    for number in draw.sample(range(len(tree["shared_buffer"])), 3):
        changes.append(f"shared_buffer.{number}.pg_alpha={2.0 ** draw.randrange(-6, 6):.10g}")
    patched(cli, *changes)
    assert same(cli)
