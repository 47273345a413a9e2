"""Our frames as tshark reads them: its own dissectors judge what it knows, ours shows the rest."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
from typing import TYPE_CHECKING

import pytest

import qcnlab.dissector
from conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(
    shutil.which("tshark") is None,
    reason="tshark is not installed (Debian: apt-get install --no-install-recommends tshark)",
)

CHECKSUMS = [
    word for layer in ("ip", "tcp", "udp") for word in ("-o", f"{layer}.check_checksum:TRUE")
]
GOOD = "1"

# Numbers of the frames that crates/capture/examples/specimens.rs writes.
TCP, CNM, BARE_CNM, PAUSE, PFC, LLDP, UDP, SEND, CNP, ACK, NAK, PROVIDER = range(1, 13)
MESSAGES = range(13, 24)
SCHEME_TAG = 24


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the capture of specimens and the dissector."""
    folder = tmp_path_factory.mktemp("wire")
    command = ["cargo", "run", "--release", "--quiet", "-p", "qcnlab-capture"]
    command += ["--example", "specimens", "--", str(folder / "specimens.pcapng")]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=600)
    (folder / "qcnlab.lua").write_text(qcnlab.dissector.source(), encoding="utf-8")
    return folder


def tshark(folder: Path, *arguments: str, lua: bool = False) -> list[str]:
    """Run tshark on the specimens and return its lines."""
    script = ["-X", f"lua_script:{folder / 'qcnlab.lua'}"] if lua else []
    command = ["tshark", *script, *CHECKSUMS, "-r", str(folder / "specimens.pcapng"), *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert "Lua" not in ran.stderr, ran.stderr
    return ran.stdout.splitlines()


def fields(folder: Path, frame: int, *names: str, lua: bool = False) -> dict[str, str]:
    """Return what tshark shows for these fields of a frame; nothing for a field that is absent."""
    wanted = [word for name in names for word in ("-e", name)]
    separator = ("-E", "separator=|")
    row = tshark(
        folder, "-Y", f"frame.number=={frame}", "-T", "fields", *separator, *wanted, lua=lua
    )
    return dict(zip(names, row[0].split("|"), strict=True))


def shown(folder: Path, frame: int, expected: dict[str, str], *, lua: bool = False) -> None:
    """Hold what tshark shows of a frame against what was put into it."""
    assert fields(folder, frame, *expected, lua=lua) == expected


def octets(folder: Path, frame: int) -> str:
    """Return a frame in hexadecimal."""
    dump = tshark(folder, "-Y", f"frame.number=={frame}", "-x")
    words = (re.match(r"[0-9a-f]{4}  ((?:[0-9a-f]{2} ?)+)", line) for line in dump)
    return "".join(match[1].replace(" ", "") for match in words if match)


def test_the_capture_names_port_rate_and_frames(folder: Path) -> None:
    expected = {
        "frame.interface_name": "core",
        "frame.interface_description": "port of a bridge",
        "frame.time_epoch": "0.000004000",
        "frame.comment": "PAUSE",
        "frame.len": "60",
    }
    shown(folder, PAUSE, expected)


def test_pause(folder: Path) -> None:
    expected = {
        "eth.dst": "01:80:c2:00:00:01",
        "eth.type": "0x8808",
        "macc.opcode": "0x0001",
        "macc.pause_time": "65535",
    }
    shown(folder, PAUSE, expected)


def test_pfc(folder: Path) -> None:
    # Priorities 3 and 5: 0x08 + 0x20 = 0x28.
    expected = {
        "macc.opcode": "0x0101",
        "macc.cbfc.enbv": "0x0028",
        "macc.cbfc.pause_time.c2": "0",
        "macc.cbfc.pause_time.c3": "1875",
        "macc.cbfc.pause_time.c5": "0",
    }
    shown(folder, PFC, expected)


def test_lldp(folder: Path) -> None:
    expected = {
        "eth.dst": "01:80:c2:00:00:0e",
        "lldp.chassis.id.mac": "02:00:00:00:00:fe",
        "lldp.port.id": "core",
        "lldp.time_to_live": "120",
        "lldp.tlv.system.name": "bridge",
        "lldp.ieee.802_1.subtype": "0x08,0x0b,0x09,0x0a",
        "lldp.ieee.802_1qau.cnpv.prio2": "0",
        "lldp.ieee.802_1qau.cnpv.prio3": "1",
        "lldp.ieee.802_1qau.ready.prio3": "1",
        "lldp.ieee.802_1qau.ready.prio4": "0",
        "lldp.dcbx.ieee.willing": "1,1",
        "lldp.dcbx.ieee.pfc.numtcs": "8",
        "lldp.dcbx.ieee.pfc.mbc": "0",
        "lldp.dcbx.ieee.ets.maxtcs": "3",
        "lldp.dcbx.ieee.ets.cbs": "0",
        "lldp.dcbx.feature.pfc.prio2": "0",
        "lldp.dcbx.feature.pfc.prio3": "1",
        "lldp.dcbx.feature.pg.pgid_prio2": "0,0",
        "lldp.dcbx.feature.pg.pgid_prio3": "1,1",
        "lldp.dcbx.feature.pg.pgid_prio6": "2,2",
        "lldp.dcbx.feature.pg.per0": "40,40",
        "lldp.dcbx.feature.pg.per1": "50,50",
        "lldp.dcbx.ieee.ets.tsa1": "2,2",
        "lldp.dcbx.ieee.ets.tsa2": "0,0",
    }
    shown(folder, LLDP, expected)


def test_udp_and_ecn(folder: Path) -> None:
    expected = {
        "ip.dsfield.ecn": "3",
        "ip.len": "46",  # 20 + 8 + 18
        "ip.checksum.status": GOOD,
        "udp.srcport": "49152",
        "udp.dstport": "9",
        "udp.length": "26",
        "udp.checksum.status": GOOD,
    }
    shown(folder, UDP, expected)


def test_tcp_behind_a_cn_tag(folder: Path) -> None:
    expected = {
        "vlan.priority": "3",
        "vlan.etype": "0x22e9",
        "cntag.rpid": "0x1234",
        "cntag.etype": "0x0800",
        "ip.dsfield.ecn": "2",
        "ip.checksum.status": GOOD,
        "tcp.srcport": "40000",
        "tcp.seq_raw": "1000",
        "tcp.ack_raw": "9",
        "tcp.flags": "0x0010",
        "tcp.len": "100",
        "tcp.checksum.status": GOOD,
    }
    shown(folder, TCP, expected, lua=True)


def test_roce(folder: Path) -> None:
    header = {
        "vlan.priority": "3",
        "udp.dstport": "4791",
        "infiniband.bth.p_key": "65535",
        "infiniband.bth.destqp": "0x000011",
    }
    shown(folder, SEND, {**header, "infiniband.bth.opcode": "4", "infiniband.bth.psn": "100"})
    shown(folder, CNP, {**header, "infiniband.bth.opcode": "129", "infiniband.bth.psn": "0"})
    answer = {**header, "infiniband.bth.opcode": "17", "infiniband.aeth.msn": "7"}
    # A syndrome's low 5 bits: 31 credits; 0 is a sequence error.
    shown(folder, ACK, {**answer, "infiniband.aeth.syndrome.opcode": "0"})
    shown(
        folder,
        NAK,
        {
            **answer,
            "infiniband.aeth.syndrome.opcode": "3",
            "infiniband.aeth.syndrome.error_code": "0",
        },
    )


def test_the_bits_of_a_cnp(folder: Path) -> None:
    # tshark does not show BECN. Opcode, flags, partition; BECN, queue pair 0x11; sequence 0; zeros.
    ip_and_udp = (14 + 4 + 20 + 8) * 2
    assert octets(folder, CNP)[ip_and_udp:][:56] == "8100ffff40000011" + "00000000" + "00" * 16


def test_provider_and_customer_tags(folder: Path) -> None:
    # Priority 5 << 13, drop eligible 0x1000, VLAN 200 = 0x0c8: 0xb0c8.
    tags = "88a8b0c8" + "81006000" + "22e91234"
    assert octets(folder, PROVIDER)[24:].startswith(tags + "0800")
    expected = {
        "eth.type": "0x88a8",
        "ieee8021ad.id": "200",
        "ieee8021ad.priority": "5",
        "ieee8021ad.dei": "1",
        "vlan.etype": "0x22e9",
        "cntag.rpid": "0x1234",
        "udp.dstport": "9",
    }
    shown(folder, PROVIDER, expected, lua=True)


# By hand: Fb 37 = 0x25, offset -300 = 0xfed4, delta 120 = 0x0078, priority 3 << 13 = 0x6000.
HEADER = "0025" + "0200000000fe0103" + "fed4" + "0078" + "6000" + "020000000002"


def test_a_cnm_octet_by_octet(folder: Path) -> None:
    addresses = "020000000001" + "0200000000fe"
    tcp = octets(folder, TCP)
    sample = tcp[(14 + 4 + 4 - 2) * 2 :][:128]  # from the EtherType behind the CN-TAG on
    assert sample.startswith("08004502008c")
    tags = "8100" + "c000" + "22e9" + "1234"
    assert octets(folder, CNM) == addresses + tags + "22e7" + HEADER + "0040" + sample
    bare = addresses + "22e7" + HEADER + "0000"
    assert octets(folder, BARE_CNM) == bare + "00" * (60 - 38)


def test_every_field_of_a_cnm(folder: Path) -> None:
    expected = {
        "vlan.priority": "6",
        "cntag.rpid": "0x1234",
        "cntag.etype": "0x22e7",
        "cnm.version": "0",
        "cnm.reserved": "0x0000",
        "cnm.fb": "37",
        "cnm.cpid": "0200000000fe0103",
        "cnm.offset": "-300",
        "cnm.offset_bytes": "-19200",
        "cnm.delta": "120",
        "cnm.delta_bytes": "7680",
        "cnm.priority": "3",
        "cnm.priority_reserved": "0x0000",
        "cnm.dst": "02:00:00:00:00:02",
        "cnm.length": "64",
        "cnm.msdu_type": "0x0800",
        "cnm.padding": "",
    }
    shown(folder, CNM, expected, lua=True)
    shown(
        folder,
        BARE_CNM,
        {"cnm.fb": "37", "cnm.length": "0", "cnm.msdu": "", "cnm.padding": "00" * 22},
        lua=True,
    )


def test_filters_find_messages(folder: Path) -> None:
    frames = tshark(
        folder, "-Y", "cnm.fb > 30 && cntag", "-T", "fields", "-e", "frame.number", lua=True
    )
    assert frames == [str(CNM)]


def test_scheme_messages(folder: Path) -> None:
    answer = {"qcnlab.offset": "-20000", "qcnlab.delta": "4500"}
    expected = [
        {
            "qcnlab.directed": "1",
            "qcnlab.asked_at": "1500000000",
            "qcnlab.sent": "30000",
            "qcnlab.rate": "10000000000",
        },
        {"qcnlab.directed": "0", "qcnlab.rate": "3000000000"},
        {**answer, "qcnlab.capacity": "10000000000"},
        {**answer, "qcnlab.stop": "0"},
        {"qcnlab.queue_len": "53000", "qcnlab.arrived": "150000"},
        {},
        {},
        {"qcnlab.fb": "-12"},
        {"qcnlab.rate": "2500000000"},
        {"qcnlab.credit": "225000"},
        {"qcnlab.pause": "56000000"},
    ]
    for kind, (frame, values) in enumerate(zip(MESSAGES, expected, strict=True), start=1):
        head = {"qcnlab.version": "0", "qcnlab.kind": str(kind), "qcnlab.cpid": "0200000000fe0103"}
        shown(folder, frame, {**head, **values}, lua=True)


def test_scheme_tag(folder: Path) -> None:
    expected = {
        "cntag.rpid": "0x1234",
        "cntag.etype": "0x88b6",
        "qcnlabtag.probe": "1",
        "qcnlabtag.limited": "1",
        "qcnlabtag.mark": "63",
        "qcnlabtag.cpid": "0200000000fe0103",
        "qcnlabtag.etype": "0x0800",
        "udp.dstport": "9",
        "udp.checksum.status": GOOD,
    }
    shown(folder, SCHEME_TAG, expected, lua=True)


@pytest.mark.parametrize("lua", [False, True])
def test_nothing_is_malformed(folder: Path, lua: bool) -> None:
    bad = "_ws.malformed || _ws.expert.severity == warning || _ws.expert.severity == error"
    assert tshark(folder, "-Y", bad, lua=lua) == []


def test_the_dissector_says_what_is_malformed(folder: Path) -> None:
    """The filter of the test above can fail: a CNM whose last octets are cut off is reported."""
    damaged = folder / "damaged.pcapng"
    shutil.copy(folder / "specimens.pcapng", damaged)
    data = bytearray(damaged.read_bytes())
    at = data.find(bytes.fromhex(HEADER + "0000"))
    data[at + 23] = 60  # 60 octets of a frame, and 22 of padding are there
    damaged.write_bytes(data)
    command = ["tshark", "-X", f"lua_script:{folder / 'qcnlab.lua'}", "-r", str(damaged)]
    command += ["-Y", "cnm.short", "-T", "fields", "-e", "frame.number"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert ran.stdout.split() == [str(BARE_CNM)]


def test_no_cut_frame_upsets_the_dissector(folder: Path) -> None:
    """Every beginning of every specimen, as a frame of its own, in a classic pcap."""
    cut = folder / "cut.pcap"
    frames = [
        bytes.fromhex(octets(folder, frame)) for frame in (CNM, BARE_CNM, *MESSAGES, SCHEME_TAG)
    ]
    header = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    pieces = [frame[:end] for frame in frames for end in range(14, len(frame))]
    records = [struct.pack("<IIII", 0, 0, len(piece), len(piece)) + piece for piece in pieces]
    cut.write_bytes(header + b"".join(records))
    command = ["tshark", "-X", f"lua_script:{folder / 'qcnlab.lua'}", "-r", str(cut), "-V"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    assert ran.stdout.count("Frame Number: ") == len(pieces)
    assert "Lua Error" not in ran.stdout
    assert "[CNM is shorter than its fields say]" in ran.stdout
    assert "[CN-TAG is cut]" in ran.stdout
    assert "[Message is cut]" in ran.stdout
    assert "[Tag is cut]" in ran.stdout
