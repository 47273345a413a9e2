"""`qcnlab lint`: each rule on a planted mistake, on its edge, and on a fabric without any."""

from __future__ import annotations

import json
import random
import re
import runpy
from contextlib import chdir
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from conftest import ROOT, CommandLine
from qcnlab.formats.lines import FormatError
from qcnlab.lint.command import check
from qcnlab.lint.formulas import longest_pause, most_congested, pause_point
from qcnlab.lint.rules import RULES
from qcnlab.lint.told import Verdict
from typed_dicts import unlike

if TYPE_CHECKING:
    from collections.abc import Callable

THREE_TIERS: dict[str, Any] = runpy.run_path(str(ROOT / "examples/sonic/three_tiers.py"))
GUIDE = ROOT / "docs/guide/sonic-fabric.md"

Files = dict[str, Any]


def judged(folder: Path, change: Callable[[Files], None] | None = None) -> Verdict:
    """Return what lint says of the fabric with a change."""
    files = THREE_TIERS["fabric"]()
    if change is not None:
        change(files)
    THREE_TIERS["write"](files, folder)
    return check([str(folder)])


def tables(files: Files, name: str) -> dict[str, Any]:
    told: dict[str, Any] = files[f"{name}/config_db.json"]
    return told


def every(files: Files) -> list[dict[str, Any]]:
    return [told for name, told in files.items() if name.endswith(".json")]


def nic(files: Files, host: str, before: str, after: str, name: str = "mlxconfig") -> None:
    text = files[f"{host}/{name}.txt"]
    assert before in text
    files[f"{host}/{name}.txt"] = text.replace(before, after)


def test_the_fabric_has_nothing_wrong(tmp_path: Path) -> None:
    told = judged(tmp_path)
    assert told["findings"] == [] and told["not_judged"] == []
    assert (told["switches"], told["adapters"], told["links"]) == (8, 16, 32)
    # B = 20,627,456 B, alpha 1, two classes: 20,627,456 / 3 B.
    (margin,) = told["margins"]
    assert len(margin["devices"]) == 8
    assert margin["pause_bytes"] == pytest.approx(20_627_456 / 3)
    assert margin["ports_until_k_min"] == pytest.approx(20_627_456 / 3 / 1_048_576)
    assert margin["ports_until_k_max"] == pytest.approx(20_627_456 / 3 / 2_097_152)


def test_the_seven_mistakes_are_told(tmp_path: Path) -> None:
    THREE_TIERS["main"](tmp_path)
    told = check([str(tmp_path / "mistakes")])["findings"]
    assert [(each["rule"], each["device"], each["severity"]) for each in told] == [
        ("slow-poll", "agg1", "error"),
        ("lossy-hop", "agg2", "error"),
        ("adapter-pfc", "host12", "error"),
        ("paused-notifications", "host7", "error"),
        ("small-pool", "spine1", "error"),
        ("maps-differ", "tor2", "error"),
        ("late-marks", "tor3", "error"),
    ]
    for each in told:
        for at in each["at"]:
            line = Path(at["file"]).read_text(encoding="utf-8").splitlines()[at["line"] - 1]
            assert all(part in line for part in at["value"].split(",")), (each["rule"], at)


@pytest.mark.parametrize("mistake", THREE_TIERS["MISTAKES"], ids=lambda each: each.__name__)
def test_each_mistake_is_one_finding(tmp_path: Path, mistake: Callable[[Files], None]) -> None:
    assert len(judged(tmp_path, mistake)["findings"]) == 1


def no_row(files: Files) -> None:
    tor = tables(files, "tor1")
    del tor["BUFFER_PG"]["Ethernet8|3-4"]


def no_xoff(files: Files) -> None:
    del tables(files, "tor1")["BUFFER_PROFILE"]["pg_lossless_400000_40m_profile"]["xoff"]


def class_of_its_own(files: Files) -> None:
    tables(files, "tor1")["PORT_QOS_MAP"]["Ethernet0"]["pfc_enable"] = "3,4,5"
    tables(files, "tor1")["BUFFER_PG"]["Ethernet0|5"] = {"profile": "pg_lossless_100000_5m_profile"}
    tables(files, "tor1")["TC_TO_PRIORITY_GROUP_MAP"]["AZURE"]["5"] = "5"
    tables(files, "tor1")["QUEUE"]["Ethernet0|5"] = {"wred_profile": "AZURE_LOSSLESS"}
    nic(files, "host1", "0   0   0   1   1   0", "0   0   0   1   1   1", "mlnx_qos")


def idle(files: Files) -> None:
    row = {"profile": "pg_lossless_100000_5m_profile"}
    tables(files, "tor1")["BUFFER_PG"]["Ethernet0|6"] = row


def short(files: Files) -> None:
    # The formula gives 33,792 B, and the row's 33,792 B are enough; an octet less is not.
    tables(files, "tor1")["BUFFER_PROFILE"]["pg_lossless_100000_5m_profile"]["xoff"] = "33791"


def kmax_late(files: Files) -> None:
    # The pause is at 6,875,818.67 B.
    row = tables(files, "spine2")["WRED_PROFILE"]["AZURE_LOSSLESS"]
    row["green_max_threshold"] = "6875819"


def kmin_late(files: Files) -> None:
    row = tables(files, "spine2")["WRED_PROFILE"]["AZURE_LOSSLESS"]
    row |= {"green_min_threshold": "6875819", "green_max_threshold": "9000000"}


def unmarked(files: Files) -> None:
    tables(files, "spine2")["WRED_PROFILE"]["AZURE_LOSSLESS"]["ecn"] = "ecn_red"


def no_profile(files: Files) -> None:
    del tables(files, "spine2")["QUEUE"]["Ethernet0|3-4"]


def restoration(files: Files) -> None:
    tables(files, "agg1")["PFC_WD"]["Ethernet0"]["restoration_time"] = "199"


def hasty(files: Files) -> None:
    # tor1 drains 4 links (3 of 100G and its uplink, the fourth host apart) over its slowest port.
    for name in ("agg1", "tor1"):
        tables(files, name)["PFC_WD"]["GLOBAL"]["POLL_INTERVAL"] = "1"
    tables(files, "agg1")["PFC_WD"]["Ethernet0"]["detection_time"] = "1"


def notified_by_class(files: Files) -> None:
    nic(files, "host7", "         CNP_DSCP_P1                         48\n", "")
    nic(files, "host7", "CNP_802P_PRIO_P1                    6", "CNP_802P_PRIO_P1     4")


def no_class(files: Files) -> None:
    del tables(files, "tor2")["DSCP_TO_TC_MAP"]["AZURE"]["36"]


def other_group(files: Files) -> None:
    tables(files, "tor2")["TC_TO_PRIORITY_GROUP_MAP"]["AZURE"]["3"] = "0"


def other_queue(files: Files) -> None:
    # At every switch alike: no map differs, and pauses stop another queue than frames are in.
    for each in every(files):
        each["MAP_PFC_PRIORITY_TO_QUEUE"] = {"AZURE": {"3": "4", "4": "4"}}
        for row in each["PORT_QOS_MAP"].values():
            row["pfc_to_queue_map"] = "AZURE"


def card_map(files: Files) -> None:
    nic(files, "host3", "prio:3 dscp:26,", "prio:4 dscp:26,", "mlnx_qos")


def trust(files: Files) -> None:
    nic(files, "host3", "trust state: dscp", "trust state: pcp", "mlnx_qos")


def mask(files: Files) -> None:
    nic(files, "host3", "ROCE_CC_PRIO_MASK_P1                255", "ROCE_CC_PRIO_MASK_P1 239")


def disabled(files: Files) -> None:
    files["host3/ecn.txt"] = "ecn/roce_np/enable/3:0\necn/roce_rp/enable/3:1\n"


def not_guarded(files: Files) -> None:
    del tables(files, "spine1")["PFC_WD"]["Ethernet8"]


def cable(files: Files) -> None:
    tables(files, "tor1")["CABLE_LENGTH"]["AZURE"]["Ethernet32"] = "5m"


def mtu(files: Files) -> None:
    tables(files, "tor1")["PORT"]["Ethernet32"]["mtu"] = "1500"


def one_sided(files: Files) -> None:
    del tables(files, "tor1")["DEVICE_NEIGHBOR"]["Ethernet32"]


def undropped(files: Files) -> None:
    row = tables(files, "spine2")["WRED_PROFILE"]["AZURE_LOSSLESS"]
    row |= {"ecn": "ecn_none", "wred_green_enable": "false"}


def crossed(files: Files) -> None:
    row = tables(files, "agg1")["WRED_PROFILE"]["AZURE_LOSSLESS"]
    row |= {"green_min_threshold": "2097152", "green_max_threshold": "2097151"}


def lossy_queue(files: Files) -> None:
    row = tables(files, "agg1")["BUFFER_QUEUE"]["Ethernet8|3-4"]
    row["profile"] = "q_lossy_profile"


def small_queue(files: Files) -> None:
    # A queue may hold 60,817,392 / 8 / (1 + 1/8) B; one of two links holds 20,627,456 / 2 B.
    tables(files, "spine1")["BUFFER_PROFILE"]["egress_lossless_profile"]["dynamic_th"] = "-3"


def static_queue(files: Files) -> None:
    row = tables(files, "spine1")["BUFFER_PROFILE"]["egress_lossless_profile"]
    del row["dynamic_th"]
    row["static_th"] = "10313727"


def lossy_class(files: Files) -> None:
    tables(files, "tor2")["TC_TO_PRIORITY_GROUP_MAP"]["AZURE"]["1"] = "3"


def lossy_class_in_queue(files: Files) -> None:
    tables(files, "tor2")["TC_TO_QUEUE_MAP"]["AZURE"]["1"] = "4"


def half_guarded(files: Files) -> None:
    tables(files, "spine1")["PORT_QOS_MAP"]["Ethernet8"]["pfcwd_sw_enable"] = "3"


def headroom_pool(files: Files) -> None:
    # Of 300 m, 373,760 B each.
    tables(files, "spine1")["BUFFER_POOL"]["ingress_lossless_pool"]["xoff"] = "373759"


def other_steps(files: Files) -> None:
    nic(files, "host3", "RPG_AI_RATE_P1                      5", "RPG_AI_RATE_P1 50")


def card_buffer(files: Files) -> None:
    nic(
        files, "host3", "buffer      0   0   0   1   1", "buffer      0   0   0   1   0", "mlnx_qos"
    )


def small_card_buffer(files: Files) -> None:
    # (301 + 2.16 x 7) x 100 + 2.72 x 9100 + 9100 + 128 = 65,592 B.
    nic(files, "host3", "130944,130944", "196297,65591", "mlnx_qos")


def card_cable(files: Files) -> None:
    nic(files, "host3", "Cable len: 7", "Cable len: 4", "mlnx_qos")


CASES: dict[str, tuple[Callable[[Files], None], set[tuple[str, str, str]]]] = {
    "no row": (no_row, {("no-headroom", "error", "tor1")}),
    "no xoff": (no_xoff, {("no-headroom", "error", "tor1")}),
    "a class of its own": (class_of_its_own, {("lossy-hop", "error", "tor1")}),
    "idle": (idle, {("idle-headroom", "warning", "tor1")}),
    "an octet of headroom": (short, {("short-headroom", "warning", "tor1")}),
    "Kmax": (kmax_late, {("late-marks", "warning", "spine2")}),
    "Kmin": (kmin_late, {("late-marks", "error", "spine2")}),
    "drops": (unmarked, {("no-marks", "error", "spine2")}),
    "ecn off": (undropped, {("no-marks", "warning", "spine2")}),
    "Kmin above Kmax": (crossed, {("crossed-thresholds", "error", "agg1")}),
    "lossy queue": (lossy_queue, {("lossy-queue", "error", "agg1")}),
    "small queue": (small_queue, {("lossy-queue", "error", "spine1")}),
    "static queue": (static_queue, {("lossy-queue", "error", "spine1")}),
    "lossy class in a lossless group": (lossy_class, {("shared-group", "error", "tor2")}),
    "lossy class in a lossless queue": (lossy_class_in_queue, {("shared-group", "error", "tor2")}),
    "half guarded": (half_guarded, {("no-watchdog", "warning", "spine1")}),
    "headroom pool": (headroom_pool, {("small-pool", "error", "spine1")}),
    "card's steps": (other_steps, {("adapters-differ", "warning", "host3")}),
    "card's buffer": (card_buffer, {("adapter-buffer", "error", "host3")}),
    "card's small buffer": (small_card_buffer, {("adapter-buffer", "error", "host3")}),
    "card's cable": (card_cable, {("adapter-buffer", "warning", "host3")}),
    "no WRED": (no_profile, {("no-marks", "warning", "spine2")}),
    "restoration": (restoration, {("slow-poll", "error", "agg1")}),
    "hasty": (hasty, {("hasty-watchdog", "error", "agg1")}),
    "CNPs by class": (notified_by_class, {("paused-notifications", "error", "host7")}),
    "no class": (no_class, {("maps-differ", "error", "tor2")}),
    "other group": (
        other_group, {("maps-differ", "error", "tor2"), ("group-mismatch", "error", "tor2")}
    ),
    "card's map": (card_map, {("adapter-map", "error", "host3")}),
    "trust": (trust, {("adapter-trust", "warning", "host3")}),
    "mask": (mask, {("adapter-control", "error", "host3")}),
    "disabled": (disabled, {("adapter-control", "error", "host3")}),
    "no watchdog": (not_guarded, {("no-watchdog", "warning", "spine1")}),
    "cable": (cable, {("ends-differ", "warning", "agg1")}),
    "MTU": (mtu, {("ends-differ", "warning", "agg1")}),
    "one-sided": (one_sided, {("ends-differ", "warning", "agg1")}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_each_rule_tells_its_mistake_alone(tmp_path: Path, name: str) -> None:
    change, expected = CASES[name]
    told = judged(tmp_path, change)["findings"]
    assert {(each["rule"], each["severity"], each["device"]) for each in told} == expected


def test_two_mistakes_at_once_are_both_told(tmp_path: Path) -> None:
    """Pairs of devices that are not the same: no mistake hides another, and none makes a third."""
    dice = random.Random(7)
    pairs = [
        (a, b) for a in CASES for b in CASES
        if a < b and not {x[2] for x in CASES[a][1]} & {x[2] for x in CASES[b][1]}
    ]  # fmt: skip
    for number, (a, b) in enumerate(dice.sample(pairs, 8)):

        def change(files: Files, both: tuple[str, str] = (a, b)) -> None:
            for each in both:
                CASES[each][0](files)

        told = judged(tmp_path / str(number), change)["findings"]
        named = {(each["rule"], each["severity"], each["device"]) for each in told}
        assert named == CASES[a][1] | CASES[b][1], (a, b)


def bracketed(files: Files) -> None:
    for told in every(files):
        for row in told["BUFFER_PG"].values():
            row["profile"] = f"[BUFFER_PROFILE|{row['profile']}]"
        for row in told["QUEUE"].values():
            for name, table in (("scheduler", "SCHEDULER"), ("wred_profile", "WRED_PROFILE")):
                if name in row:
                    row[name] = f"[{table}|{row[name]}]"


def flat(files: Files) -> None:
    for name, told in list(files.items()):
        if name.endswith(".json"):
            files[name] = {
                f"{table}|{key}": row for table, rows in told.items() for key, row in rows.items()
            }


def single_keys(files: Files) -> None:
    for told in every(files):
        for table in ("BUFFER_PG", "BUFFER_QUEUE", "QUEUE"):
            for key in list(told[table]):
                port, _, numbers = key.partition("|")
                first, dash, last = numbers.partition("-")
                row = told[table].pop(key)
                for number in range(int(first), int(last if dash else first) + 1):
                    told[table][f"{port}|{number}"] = row


def everywhere(files: Files) -> None:
    for told in every(files):
        rows = list(told["PORT_QOS_MAP"].values())
        told["PORT_QOS_MAP"] = {"global": rows[0]}


def other_classes(files: Files) -> None:
    for told in every(files):
        for row in told["PORT_QOS_MAP"].values():
            row |= {"pfc_enable": "3", "pfcwd_sw_enable": "3"}
        for table in ("BUFFER_PG", "QUEUE", "BUFFER_QUEUE"):
            for key in list(told[table]):
                if key.endswith("|3-4"):
                    told[table][key.replace("|3-4", "|3")] = told[table].pop(key)
        told["TC_TO_PRIORITY_GROUP_MAP"]["AZURE"]["4"] = "0"
    before, after = "0   0   0   1   1   0   0   0", "0   0   0   1   0   0   0   0"
    for host in range(1, 17):
        nic(files, f"host{host}", before, after, "mlnx_qos")


def shared_headroom(files: Files) -> None:
    for told in every(files):
        told["BUFFER_POOL"]["ingress_lossless_pool"]["xoff"] = "2000000"
        for name, row in told["BUFFER_PROFILE"].items():
            if name.startswith("pg_lossless"):
                row["size"] = row["xon"]


def two_speeds(files: Files) -> None:
    """The cards of one switch's hosts, all at 50 Gb/s, have steps of their own."""
    told = tables(files, "tor1")
    for port in [f"Ethernet{8 * each}" for each in range(4)]:
        told["PORT"][port]["speed"] = "50000"
    for host in range(1, 5):
        nic(files, f"host{host}", "RPG_AI_RATE_P1                      5", "RPG_AI_RATE_P1 3")


RIGHT = [bracketed, flat, single_keys, everywhere, other_classes, shared_headroom, two_speeds]


@pytest.mark.parametrize("change", RIGHT, ids=lambda each: each.__name__)
def test_right_configurations_of_other_shapes_are_silent(
    tmp_path: Path, change: Callable[[Files], None]
) -> None:
    told = judged(tmp_path, change)
    assert told["findings"] == [] and told["not_judged"] == []


def test_the_slowest_port_drains_a_switch_that_pauses(tmp_path: Path) -> None:
    def change(files: Files) -> None:
        hasty(files)
        told = tables(files, "tor1")
        host = next(
            port for port, row in told["DEVICE_NEIGHBOR"].items() if row["name"].startswith("host")
        )
        told["PORT"][host]["speed"] = "25000"

    findings = judged(tmp_path, change)["findings"]
    (hasty_,) = [each for each in findings if each["rule"] == "hasty-watchdog"]
    assert "/ 25000 Mb/s" in str(hasty_)


def test_every_rule_has_a_mistake() -> None:
    planted = {rule for _, expected in CASES.values() for rule, _, _ in expected}
    planted |= {"lossy-hop", "small-pool", "adapter-pfc"}
    assert planted == {rule.name for rule in RULES}
    assert all(rule.why.endswith(".") for rule in RULES)


def test_a_queue_that_pauses_do_not_stop_is_told_everywhere(tmp_path: Path) -> None:
    told = judged(tmp_path, other_queue)["findings"]
    assert {each["rule"] for each in told} == {"group-mismatch"}
    assert {each["device"] for each in told} == {
        *(f"tor{each}" for each in range(1, 5)), "agg1", "agg2", "spine1", "spine2",
    }  # fmt: skip


def test_edges_of_thresholds_are_no_findings(tmp_path: Path) -> None:
    def edges(files: Files) -> None:
        row = tables(files, "spine2")["WRED_PROFILE"]["AZURE_LOSSLESS"]
        row["green_max_threshold"] = "6875818"
        tables(files, "agg1")["PFC_WD"]["GLOBAL"]["POLL_INTERVAL"] = "200"
        # 64,000,000 B of an SN4700, less what four ports of 300 m keep: 4 x 420,864 B.
        pool = tables(files, "spine1")["BUFFER_POOL"]["ingress_lossless_pool"]
        pool["size"] = str(64_000_000 - 4 * 420_864)

    assert judged(tmp_path, edges)["findings"] == []


def test_what_one_switch_does_not_say_hides_no_other(tmp_path: Path) -> None:
    def change(files: Files) -> None:
        short(files)
        first = tables(files, "agg1")
        del first["BUFFER_POOL"]["ingress_lossless_pool"]["size"]
        del first["CABLE_LENGTH"]["AZURE"]["Ethernet0"]
        pool = tables(files, "spine1")["BUFFER_POOL"]["ingress_lossless_pool"]
        pool["size"] = str(64_000_000 - 4 * 420_864 + 1)

    told = judged(tmp_path, change)
    wrong = {(each["rule"], each["device"]) for each in told["findings"]}
    assert wrong == {("short-headroom", "tor1"), ("small-pool", "spine1")}
    left = {each["what"] for each in told["not_judged"]}
    assert {"pool ingress_lossless_pool of agg1", "headroom of agg1 Ethernet0"} <= left


def test_a_cable_of_no_length_is_one(tmp_path: Path) -> None:
    def change(files: Files) -> None:
        tables(files, "tor1")["CABLE_LENGTH"]["AZURE"]["Ethernet0"] = "0m"

    told = judged(tmp_path, change)
    assert told["findings"] == [] and told["not_judged"] == []


def test_an_octet_more_is_a_finding(tmp_path: Path) -> None:
    def over(files: Files) -> None:
        pool = tables(files, "spine1")["BUFFER_POOL"]["ingress_lossless_pool"]
        pool["size"] = str(64_000_001 - 4 * 420_864)

    (told,) = judged(tmp_path, over)["findings"]
    assert told["rule"] == "small-pool"
    assert told["formula"] == (
        "62316545 B + 4 x 420864 B (pg_lossless_400000_300m_profile) + 0 B shared headroom = "
        "64000001 B > 64000000 B"
    )


def test_a_pool_of_others_holds_what_groups_keep(tmp_path: Path) -> None:
    def broadcom(size: int, shared: int) -> Callable[[Files], None]:
        def change(files: Files) -> None:
            spine = tables(files, "spine1")
            spine["DEVICE_METADATA"]["localhost"]["hwsku"] = "Acme-1"
            row = spine["BUFFER_PROFILE"]["pg_lossless_400000_300m_profile"]
            row |= {"size": "1000", "xoff": "400000"}
            pool = spine["BUFFER_POOL"]["ingress_lossless_pool"]
            pool |= {"size": str(size), "xoff": str(shared)}
            spine["WRED_PROFILE"]["AZURE_LOSSLESS"] |= {
                "green_min_threshold": "0", "green_max_threshold": "0",
            }  # fmt: skip

        return change

    # Two ports, two classes: 4 x 1000 B, and 4 x 400,000 B where the pool shares no headroom.
    assert judged(tmp_path, broadcom(4001, 400_000))["findings"] == []
    (told,) = judged(tmp_path, broadcom(4000, 400_000))["findings"]
    assert (told["rule"], told["formula"]) == (
        "small-pool", "4 x 1000 B (pg_lossless_400000_300m_profile) = 4000 B >= 4000 B",
    )  # fmt: skip
    assert judged(tmp_path, broadcom(1_604_001, 0))["findings"] == []
    (told,) = judged(tmp_path, broadcom(1_604_000, 0))["findings"]
    assert "4 x 401000 B" in (told["formula"] or "")


def test_a_computed_pool_and_profile_are_not_judged(tmp_path: Path) -> None:
    def dynamic(files: Files) -> None:
        tor = tables(files, "tor1")
        del tor["BUFFER_POOL"]["ingress_lossless_pool"]["size"]
        for key in list(tor["BUFFER_PG"]):
            if key.endswith("3-4"):
                tor["BUFFER_PG"][key] = {"profile": "NULL"}

    told = judged(tmp_path, dynamic)
    assert told["findings"] == []
    assert {each["what"] for each in told["not_judged"]} == {
        "headroom of tor1", "pool ingress_lossless_pool of tor1",
    }  # fmt: skip


def test_what_was_not_read_is_not_judged(tmp_path: Path) -> None:
    files = {"tor1/config_db.json": tables(THREE_TIERS["fabric"](), "tor1")}
    THREE_TIERS["write"](files, tmp_path)
    told = check([str(tmp_path)])
    assert told["findings"] == []
    assert told["not_judged"] == [{"what": "classes of CNPs", "why": "no adapter was read"}]


def test_the_longest_pause_by_hand() -> None:
    # Four links, alpha 1: 4 x (B / 5 + xoff) octets over 100 Gb/s.
    held = 4 * (20_627_456 / 5 + 77_824)
    assert longest_pause(20_627_456, 1.0, 77_824, 4, 10**11) == pytest.approx(held * 8 / 1e11)
    # Twice the rate takes half the time, twice the alpha holds 8/9 instead of 4/5.
    assert longest_pause(9_000_000, 2.0, 0, 4, 8_000_000) == pytest.approx(8.0)
    assert longest_pause(9_000_000, 2.0, 0, 4, 16_000_000) == pytest.approx(4.0)


def test_the_pause_point_is_that_of_the_paper() -> None:
    # DCQCN (2015), section 4: 12 MB, 32 ports, 8 classes, 22.4 KB of headroom each.
    shared = 12_000_000 - 32 * 8 * 22_400
    assert shared == 6_265_600
    assert pause_point(shared, 1.0, 8, 32) == pytest.approx(21_755.6, abs=0.1)
    assert pause_point(shared, 1.0, 8, 1) / pause_point(shared, 1.0, 8, 7) == pytest.approx(7)
    assert pause_point(1_000_000, 0.125, 2, 1) == pytest.approx(100_000)
    assert most_congested(50_000, 1_000_000, 0.125, 2) == pytest.approx(2)
    assert most_congested(0, 1, 1.0, 1) == float("inf")


def test_the_command_prints_and_leaves_with_its_code(cli: CommandLine) -> None:
    THREE_TIERS["main"](cli.folder)
    clean, wrong = cli("lint", "clean"), cli("lint", "mistakes")
    assert (clean.returncode, wrong.returncode) == (0, 1)
    assert clean.stdout.endswith(
        f"0 errors, 0 warnings: {len(RULES)} rules, switches: 8, adapters: 16, ports with a link: "
        "32\n"
    )
    assert wrong.stdout.startswith("mistakes/agg1/config_db.json:35: error: slow-poll\n")
    told = json.loads(cli("lint", "mistakes", "--json").stdout)
    assert told == check_there(cli)
    assert cli("lint", "clean", "--json").returncode == 0


def check_there(cli: CommandLine) -> Verdict:
    with chdir(cli.folder):
        return check(["mistakes"])


def test_files_that_cannot_be_read_are_one_line(cli: CommandLine) -> None:
    done = cli("lint", "nowhere")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: cannot read 'nowhere': No such file or directory\n"
    with pytest.raises(FormatError):
        check([str(cli.folder)])


def test_the_guide_names_every_rule() -> None:
    text = GUIDE.read_text(encoding="utf-8")
    assert all(f"| `{rule.name}` |" in text for rule in RULES)


WORDS = (
    '""',
    '"-1"',
    '"7-3"',
    '"NULL"',
    '"0m"',
    '"9" * 30',
    "null",
    "{}",
    "[]",
    '"[X|y]"',
    '"\\ud800"',
)


@pytest.mark.parametrize("seed", range(4))
def test_damaged_values_are_findings_or_one_line(tmp_path: Path, seed: int) -> None:
    drawn = random.Random(seed)
    files = THREE_TIERS["fabric"]()
    known = {name: THREE_TIERS["rendered"](files[name]) for name in files
             if name.split("/")[0] in ("tor1", "host1")}  # fmt: skip
    for _ in range(6):
        THREE_TIERS["write"](known, tmp_path)
        name = drawn.choice(sorted(known))
        value = drawn.choice(list(re.finditer(r'"[^"]*"|\d+', known[name])))
        text = known[name][: value.start()] + drawn.choice(WORDS) + known[name][value.end() :]
        (tmp_path / name).write_text(text, encoding="utf-8")
        try:
            check([str(tmp_path)])
        except FormatError as fault:
            assert "\n" not in str(fault) and len(str(fault)) < 500


def test_the_figure_has_each_finding_and_the_least_margins(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from qcnlab.lint.figure import lint_figure

    THREE_TIERS["main"](tmp_path)
    told = check([str(tmp_path / "mistakes")])
    assert unlike(told, Verdict) == []
    left, right = lint_figure(told).axes
    points: Any = left.lines[0].get_xydata()
    curve: Any = right.lines[0].get_xydata()
    rules = [label.get_text() for label in left.get_yticklabels()]
    devices = [label.get_text() for label in left.get_xticklabels()]
    at = {(devices[round(x)], rules[round(y)]) for x, y in points}
    assert at == {(each["device"], each["rule"]) for each in told["findings"]}
    least = min(told["margins"], key=lambda each: each["ports_until_k_min"])
    assert tuple(curve[2]) == (3, pytest.approx(least["pause_bytes"] / 3 / 1000))
    clean, _ = lint_figure(check([str(tmp_path / "clean")])).axes
    assert [each.get_text() for each in clean.texts] == ["no finding"]


def test_a_folder_without_a_switch_is_refused(cli: CommandLine) -> None:
    # A program that quotes what mlxconfig prints is no configuration.
    program = (ROOT / "examples/sonic/three_tiers.py").read_text(encoding="utf-8")
    assert "RPG_AI_RATE" in program or "ROCE_CC_PRIO_MASK" in program
    (cli.folder / "only").mkdir()
    (cli.folder / "only/three_tiers.py").write_text(program, encoding="utf-8")
    for words in (["only"], ["only/three_tiers.py"], ["host=only/three_tiers.py"]):
        done = cli("lint", *words)
        assert (done.returncode, done.stdout) == (2, "")
        assert "three_tiers.py" in done.stderr or "only: no file" in done.stderr
        assert " one of CONFIG_DB" in done.stderr or "none of CONFIG_DB" in done.stderr


def test_adapters_alone_are_held_against_each_other_or_refused(cli: CommandLine) -> None:
    for host, rate in (("one", 5), ("two", 5), ("three", 5)):
        (cli.folder / f"{host}.txt").write_text(f"RPG_AI_RATE_P1 {rate}\n", encoding="utf-8")
    done = cli("lint", ".")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "error: no switch was read, only 3 adapters: nothing to hold them against; add the "
        "switches' config_db.json\n"
    )
    (cli.folder / "three.txt").write_text("RPG_AI_RATE_P1 40\n", encoding="utf-8")
    done = cli("lint", ".")
    assert done.returncode == 1
    assert "three.txt:1: warning: adapters-differ" in done.stdout
