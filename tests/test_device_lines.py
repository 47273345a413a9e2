"""Lines to paste into hosts and switches: units, what is left out, and what is read again."""

from __future__ import annotations

import json

import pytest

from conftest import CommandLine
from qcnlab.formats.devices import eos, junos, linux, nxos

HEAD = """
duration = "1 ms"
[topology]
kind = "graph"
[[link]]
from = "host{1..2}"
to = "leaf"
rate = "100 Gb/s"
delay = "25 ns"
[[link]]
from = "leaf"
to = "spine"
rate = "400 Gb/s"
delay = "200 ns"
[[link]]
from = "host3"
to = "spine"
rate = "100 Gb/s"
delay = "25 ns"
[[traffic]]
arrivals = "saturated"
transport = "roce"
from = "host1"
to = "host2"
size = "1 MB"
frame = "1086 B"
headers = "62 B"
priority = 3
cn_tag = false
[scheme]
name = "dcqcn"
preset = "CONNECTX"
"""
BUFFER = """
[[shared_buffer]]
kind = "dynamic"
size = "4 MB"
pg_alpha = 1
headroom = "100 KB"
[[pause]]
kind = "priority"
rule = "dynamic"
priorities = "3,5"
"""
MARKS = """
[[wred]]
ports = "*->*"
priorities = "3"
k_min = "150 KB"
k_max = "1500 KB"
p_max = 0.07
"""
DOG = """
[[watchdog]]
detect_after = "{detect}"
restore_after = "{restore}"
poll = "{poll}"
action = "{action}"
"""


@pytest.fixture
def fabric(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    monkeypatch.chdir(cli.folder)
    return cli


def write(fabric: CommandLine, *parts: str) -> str:
    (fabric.folder / "fabric.toml").write_text(HEAD + "".join(parts))
    return "fabric.toml"


def without_comments(lines: list[str], mark: str) -> list[str]:
    return [line.strip() for line in lines if not line.strip().startswith(mark)]


def test_every_line_has_its_unit_or_reason(fabric: CommandLine) -> None:
    dog = DOG.format(detect="200 ms", restore="400 ms", poll="100 ms", action="drop")
    source = write(fabric, BUFFER, MARKS, dog, '[switch]\nweights = "3: 30, 5: 10"\n')
    lines, report = eos.eos(source)
    # Kmin and Kmax in octets, 7 %, 30 and 10 of 40 in percent, times in s.
    assert without_comments(lines, "!") == [
        "interface INTERFACE", "priority-flow-control on",
        "priority-flow-control priority 3 no-drop", "priority-flow-control priority 5 no-drop",
        "uc-tx-queue 3",
        "random-detect ecn minimum-threshold 150000 bytes maximum-threshold 1500000 bytes "
        "max-mark-probability 7 weight 0",
        "no priority", "bandwidth percent 75", "uc-tx-queue 5", "no priority",
        "bandwidth percent 25",
        "priority-flow-control pause watchdog default timeout 0.2",
        "priority-flow-control pause watchdog default recovery-time 0.4",
        "priority-flow-control pause watchdog default polling-interval 0.1",
        "priority-flow-control pause watchdog action drop",
    ]  # fmt: skip
    assert "!   leaf to host1, host2, spine" in lines and "!   spine to host3, leaf" in lines
    assert any(what == "[[shared_buffer]]" for what, _ in report.not_modelled)

    lines, report = nxos.nxos(source)
    assert without_comments(lines, "!") == [
        "policy-map type network-qos QCNLAB-NETWORK",
        "class type network-qos c-8q-nq3", "pause pfc-cos 3",
        "class type network-qos c-8q-nq5", "pause pfc-cos 5",
        "system qos", "service-policy type network-qos QCNLAB-NETWORK",
        "policy-map type queuing QCNLAB-OUT-1", "class type queuing c-out-8q-q3",
        "random-detect minimum-threshold 150 kbytes maximum-threshold 1500 kbytes "
        "drop-probability 7 weight 0 ecn",
        "bandwidth remaining percent 75", "class type queuing c-out-8q-q5",
        "bandwidth remaining percent 25",
        "interface INTERFACE", "priority-flow-control mode on",
        "service-policy type queuing output QCNLAB-OUT-1",
    ]  # fmt: skip
    told = dict(report.not_modelled)
    assert "not certain" in told["[[watchdog]]"]

    lines, report = junos.junos(source)
    profile = "set class-of-service congestion-notification-profile QCNLAB-"
    said = without_comments(lines, "#")
    # Class 5 is code point 101; 40 m of cable are 200 ns, 5 m are 25 ns.
    assert f"{profile}1 input ieee-802.1 code-point 101 pfc" in said
    assert f"{profile}1 output ieee-802.1 code-point 011 flow-control-queue 3" in said
    assert {line for line in said if "cable-length" in line} == {
        f"{profile}1 input cable-length 40", f"{profile}2 input cable-length 5"
    } or {line for line in said if "cable-length" in line} == {
        f"{profile}1 input cable-length 5", f"{profile}2 input cable-length 40"
    }  # fmt: skip
    told = dict(report.not_modelled)
    assert {"k_min, k_max, p_max", "weights", "[[watchdog]]"} <= told.keys()


def test_what_rounding_changes_is_told(fabric: CommandLine) -> None:
    marks = MARKS.replace("150 KB", "1048576 B").replace("0.07", "0.075").replace("1500", "2097")
    source = write(fabric, BUFFER, marks)
    lines, report = nxos.nxos(source)
    assert any("minimum-threshold 1049 kbytes" in line for line in lines)
    told = dict(report.not_modelled)
    assert told["k_min 1048576 B, k_max 2097000 B"] == "whole kbytes: 1049 and 2097"
    assert told["p_max 7.5 %"] == "whole percent: 8"
    lines, report = eos.eos(source)
    assert any("minimum-threshold 1048576 bytes" in line for line in lines)
    assert dict(report.not_modelled)["p_max 7.5 %"] == "EOS has whole percent: 8"


@pytest.mark.parametrize(
    ("times", "what", "written"),
    [
        ({"poll": "150 ms"}, "[[watchdog]] poll 0.15 s", "timeout 0.2"),
        ({"detect": "1 ms", "poll": "0.5 ms"}, "[[watchdog]] detect_after 0.001 s", "recovery"),
        ({"restore": "61 s"}, "[[watchdog]] restore_after 61 s", "timeout 0.2"),
        ({"action": "forward"}, "[[watchdog]] action forward", ""),
    ],
)
def test_watchdogs_that_eos_does_not_have_are_told(
    fabric: CommandLine, times: dict[str, str], what: str, written: str
) -> None:
    dog = {"detect": "200 ms", "restore": "200 ms", "poll": "100 ms", "action": "drop"} | times
    lines, report = eos.eos(write(fabric, BUFFER, DOG.format(**dog)))
    assert what in dict(report.not_modelled)
    assert any("watchdog" in line and written in line for line in lines) == bool(written)


def test_watermarks_are_no_line(fabric: CommandLine) -> None:
    pause = """
[switch]
input_memory = "200 KB"
[[pause]]
kind = "priority"
priorities = "0,3"
high = "90 KB"
low = "80 KB"
headroom = "60 KB"
"""
    lines, report = nxos.nxos(write(fabric, pause))
    # 90 + 60 KB; class 0 has no class-map here.
    comment = "! pause buffer-size 150000 pause-threshold 90000 resume-threshold 80000"
    assert comment in lines
    told = dict(report.not_modelled)
    assert "[[pause]] high, low, headroom" in told and "PFC in class 0" in told
    assert not any("nq0" in line for line in lines)


@pytest.mark.parametrize("command", ["dcb", "mlnx_qos"])
def test_what_hosts_are_told_is_read_again(cli: CommandLine, command: str) -> None:
    write(cli, BUFFER, MARKS)
    assert cli("export", "sonic", "fabric.toml", "-o", "fabric").returncode == 0
    done = cli("export", command, "fabric.toml")
    assert done.returncode == 0, done.stderr
    for host in ("host1", "host2", "host3"):
        (cli.folder / f"fabric/{host}.sh").write_text(done.stdout)
    bare = cli("import", "sonic", "fabric/leaf", "fabric/spine", "-o", "bare.toml")
    both = cli("import", "sonic", "fabric", "-o", "again.toml")
    assert bare.returncode == both.returncode == 0, both.stderr
    assert "host1, host2, host3: PFC" in both.stdout, both.stdout
    lines = [
        (cli.folder / name).read_text().splitlines()[2:] for name in ("bare.toml", "again.toml")
    ]
    assert lines[0] == lines[1]
    rules = {
        each["rule"] for each in json.loads(cli("lint", "fabric", "--json").stdout)["findings"]
    }
    assert "adapter-pfc" not in rules
    other = done.stdout.replace("5:on", "6:on").replace("0,0,0,1,0,1,0,0", "0,0,0,1,0,0,1,0")
    assert other != done.stdout
    (cli.folder / "fabric/host2.sh").write_text(other)
    rules = {
        each["rule"] for each in json.loads(cli("lint", "fabric", "--json").stdout)["findings"]
    }
    assert "adapter-pfc" in rules


def test_hosts_with_other_cables_are_told(fabric: CommandLine) -> None:
    source = write(fabric, BUFFER)
    lines, _ = linux.mlnx_qos(source)
    # 25 ns are 5 m.
    assert lines[1].startswith("mlnx_qos -i INTERFACE --cable_len 5  # m")
    text = (fabric.folder / source).read_text()
    (fabric.folder / source).write_text(text.replace('"25 ns"\n[[traffic', '"50 ns"\n[[traffic'))
    lines, report = linux.mlnx_qos(source)
    assert len(lines) == 1
    assert dict(report.not_modelled)["cables"] == "hosts differ: 5 m, 10 m; set each its own"
    without = write(fabric)
    assert linux.dcb(without)[0][0].startswith("dcb pfc set dev INTERFACE prio-pfc all:off  # PFC")


BROKEN = {
    "dcb pfc set dev e delay 5": "dcb pfc set has 'delay' here; prio-pfc is read",
    "dcb pfc set dev e prio-pfc 9:on": "priority",
    "dcb pfc set dev e prio-pfc 3:maybe": "neither true nor false",
    "mlnx_qos -i e --pfc 0,0,1": "one of 0 and 1 for each of 8",
    "mlnx_qos -i e --pfc 0,0,0,2,0,0,0,0": "--pfc",
    "mlnx_qos -i e --cable_len far": "--cable_len in metres",
}


@pytest.mark.parametrize("line", BROKEN)
def test_broken_commands_are_one_clear_line(cli: CommandLine, line: str) -> None:
    write(cli, BUFFER)
    assert cli("export", "sonic", "fabric.toml", "-o", "fabric").returncode == 0
    (cli.folder / "fabric/host1.sh").write_text(line + "\n")
    done = cli("import", "sonic", "fabric", "-o", "again.toml")
    assert done.returncode == 2 and BROKEN[line] in done.stderr, done.stderr
    assert "host1.sh, line 1:" in done.stderr and done.stderr.count("\n") == 1
