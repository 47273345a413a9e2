"""Write the configurations of a three-tier fabric: eight SONiC switches, sixteen ConnectX hosts.

`python three_tiers.py FOLDER` writes `FOLDER/clean`, in which all is well, and `FOLDER/mistakes`,
the same with seven mistakes. Numbers are those that SONiC ships for an SN4700. The fabric is made
up.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

Tables = dict[str, dict[str, dict[str, str]]]
Fabric = dict[str, Tables | str]
"""What each file holds, by its name."""

SPINES, AGGREGATIONS, TORS, HOSTS = 2, 2, 4, 4
KB = 1024
XON, WIDE_XON, WIDE_MTU = 19 * KB, 37 * KB, 9 * KB
XOFF = {("100000", "5m"): 33_792, ("400000", "40m"): 77_824, ("400000", "300m"): 373_760}
POOL = 20_627_456


def links() -> list[tuple[str, str, str, str]]:
    """Return the links: two nodes, speed in Mb/s, cable."""
    out = []
    for tor in range(1, TORS + 1):
        for host in range(1, HOSTS + 1):
            out.append((f"tor{tor}", f"host{(tor - 1) * HOSTS + host}", "100000", "5m"))
        out.append((f"agg{(tor + 1) // 2}", f"tor{tor}", "400000", "40m"))
    for aggregation in range(1, AGGREGATIONS + 1):
        for spine in range(1, SPINES + 1):
            out.append((f"spine{spine}", f"agg{aggregation}", "400000", "300m"))
    return out


def profile(speed: str, cable: str) -> dict[str, str]:
    """Return the lossless profile of a port, as the buffer manager makes it."""
    xoff, wide = XOFF[speed, cable], speed == "400000"
    xon = WIDE_XON if wide else XON
    size = xon + xoff + (WIDE_MTU if wide else 0)
    return {
        "pool": "ingress_lossless_pool",
        "size": str(size),
        "xon": str(xon),
        "xoff": str(xoff),
        "dynamic_th": "0",
    }


def switch(name: str, role: str) -> Tables:
    """Return the tables of a switch."""
    tables: Tables = {
        "DEVICE_METADATA": {"localhost": {"hostname": name, "hwsku": "ACS-MSN4700", "type": role}},
        "BUFFER_POOL": {
            "ingress_lossless_pool": {"type": "ingress", "mode": "dynamic", "size": str(POOL)},
            "egress_lossless_pool": {"type": "egress", "mode": "dynamic", "size": "60817392"},
            "egress_lossy_pool": {"type": "egress", "mode": "dynamic", "size": str(POOL)},
        },
        "BUFFER_PROFILE": {
            "ingress_lossy_profile": {
                "pool": "ingress_lossless_pool",
                "size": "0",
                "dynamic_th": "3",
            },
            "egress_lossless_profile": {
                "pool": "egress_lossless_pool",
                "size": "0",
                "dynamic_th": "7",
            },
            "q_lossy_profile": {"pool": "egress_lossy_pool", "size": "0", "dynamic_th": "3"},
        },
        "WRED_PROFILE": {
            "AZURE_LOSSLESS": {
                "ecn": "ecn_all",
                "green_min_threshold": "1048576",
                "green_max_threshold": "2097152",
                "green_drop_probability": "5",
                "wred_green_enable": "true",
            }
        },
        "SCHEDULER": {
            "scheduler.0": {"type": "DWRR", "weight": "14"},
            "scheduler.1": {"type": "DWRR", "weight": "15"},
            "scheduler.2": {"type": "STRICT"},
        },
        "DSCP_TO_TC_MAP": {"AZURE": dscp_map()},
        "TC_TO_PRIORITY_GROUP_MAP": {
            "AZURE": {str(tc): str(tc if tc in (3, 4, 7) else 0) for tc in range(8)}
        },
        "TC_TO_QUEUE_MAP": {"AZURE": {str(tc): str(tc) for tc in range(8)}},
        "PFC_WD": {"GLOBAL": {"POLL_INTERVAL": "200"}},
    }
    for table in ("PORT", "CABLE_LENGTH", "DEVICE_NEIGHBOR", "BUFFER_PG", "BUFFER_QUEUE",
                  "QUEUE", "PORT_QOS_MAP"):  # fmt: skip
        tables[table] = {}
    tables["CABLE_LENGTH"]["AZURE"] = {}
    return tables


def dscp_map() -> dict[str, str]:
    """Return the classes: RoCE is DSCP 26 in class 3, storage 36 in class 4, CNPs 48 in class 6."""
    special = {26: 3, 36: 4, 48: 6, 46: 5}
    return {str(dscp): str(special.get(dscp, 1)) for dscp in range(64)}


def connect(tables: Tables, number: int, far: tuple[str, str], speed: str, cable: str) -> None:
    """Add a port of a switch with all that belongs to it."""
    port, serial = f"Ethernet{8 * number}", 8 if speed == "400000" else 4
    name = f"pg_lossless_{speed}_{cable}_profile"
    tables["BUFFER_PROFILE"][name] = profile(speed, cable)
    tables["PORT"][port] = {
        "lanes": ",".join(str(8 * number + each) for each in range(serial)),
        "speed": speed,
        "mtu": "9100",
        "admin_status": "up",
    }
    tables["CABLE_LENGTH"]["AZURE"][port] = cable
    tables["DEVICE_NEIGHBOR"][port] = {"name": far[0], "port": far[1]}
    tables["BUFFER_PG"][f"{port}|3-4"] = {"profile": name}
    tables["BUFFER_PG"][f"{port}|0"] = {"profile": "ingress_lossy_profile"}
    tables["BUFFER_QUEUE"][f"{port}|3-4"] = {"profile": "egress_lossless_profile"}
    tables["BUFFER_QUEUE"][f"{port}|0-2"] = {"profile": "q_lossy_profile"}
    lossless = {"scheduler": "scheduler.1", "wred_profile": "AZURE_LOSSLESS"}
    tables["QUEUE"][f"{port}|3-4"] = lossless
    tables["QUEUE"][f"{port}|0-2"] = {"scheduler": "scheduler.0"}
    tables["QUEUE"][f"{port}|6"] = {"scheduler": "scheduler.2"}
    tables["PORT_QOS_MAP"][port] = {
        "pfc_enable": "3,4",
        "dscp_to_tc_map": "AZURE",
        "tc_to_pg_map": "AZURE",
        "tc_to_queue_map": "AZURE",
    }
    tables["PFC_WD"][port] = {
        "action": "drop", "detection_time": "200", "restoration_time": "200",
    }  # fmt: skip


MLXCONFIG = """\
Device #1:
----------

Device type:    ConnectX6DX
Device:         /dev/mst/mt4125_pciconf0

Configurations:                              Current
         ROCE_CC_PRIO_MASK_P1                255
         CLAMP_TGT_RATE_AFTER_TIME_INC_P1    True(1)
         CLAMP_TGT_RATE_P1                   False(0)
         RPG_TIME_RESET_P1                   300
         RPG_BYTE_RESET_P1                   32767
         RPG_THRESHOLD_P1                    1
         RPG_MAX_RATE_P1                     0
         RPG_AI_RATE_P1                      5
         RPG_HAI_RATE_P1                     50
         RPG_GD_P1                           11
         RPG_MIN_DEC_FAC_P1                  50
         RPG_MIN_RATE_P1                     1
         RATE_TO_SET_ON_FIRST_CNP_P1         0
         DCE_TCP_G_P1                        1019
         DCE_TCP_RTT_P1                      1
         RATE_REDUCE_MONITOR_PERIOD_P1       4
         INITIAL_ALPHA_VALUE_P1              1023
         MIN_TIME_BETWEEN_CNPS_P1            4
         CNP_802P_PRIO_P1                    6
         CNP_DSCP_P1                         48
         NUM_OF_VFS                          8
"""
MLNX_QOS = """\
DCBX mode: OS controlled
Priority trust state: dscp
dscp2prio mapping:
\tprio:3 dscp:26,
\tprio:4 dscp:36,
\tprio:6 dscp:48,
default priority:
Receive buffer size (bytes): 130944,130944,0,0,0,0,0,0,total_size=261888
Cable len: 7
PFC configuration:
\tpriority    0   1   2   3   4   5   6   7
\tenabled     0   0   0   1   1   0   0   0
\tbuffer      0   0   0   1   1   0   0   0
tc: 0 ratelimit: unlimited, tsa: ets, bw: 10%
\t priority:  0
\t priority:  1
\t priority:  2
\t priority:  5
\t priority:  7
tc: 3 ratelimit: unlimited, tsa: ets, bw: 50%
\t priority:  3
tc: 4 ratelimit: unlimited, tsa: ets, bw: 40%
\t priority:  4
tc: 6 ratelimit: unlimited, tsa: strict
\t priority:  6
"""


def fabric() -> Fabric:
    """Return the files of the fabric in which all is well."""
    roles = {"spine": "SpineRouter", "agg": "LeafRouter", "tor": "ToRRouter"}
    switches: dict[str, Tables] = {}
    counts: dict[str, int] = {}

    def port(node: str) -> str:
        return f"Ethernet{8 * counts.get(node, 0)}" if node in switches else "eth0"

    for link in links():
        for node in link[:2]:
            role = roles.get(node.rstrip("0123456789"))
            if role is not None and node not in switches:
                switches[node] = switch(node, role)
    for a, b, speed, cable in links():
        ends = {a: port(a), b: port(b)}
        for node, far in ((a, b), (b, a)):
            if node in switches:
                number = counts.get(node, 0)
                connect(switches[node], number, (far, ends[far]), speed, cable)
                counts[node] = number + 1
    files: Fabric = {f"{name}/config_db.json": tables for name, tables in switches.items()}
    for host in range(1, TORS * HOSTS + 1):
        files[f"host{host}/mlxconfig.txt"] = MLXCONFIG
        files[f"host{host}/mlnx_qos.txt"] = MLNX_QOS
    return files


def lossy_hop(files: Fabric) -> None:
    """agg2 has no PFC in class 4 towards spine2."""
    tables(files, "agg2")["PORT_QOS_MAP"]["Ethernet24"]["pfc_enable"] = "3"


def small_pool(files: Fabric) -> None:
    """spine1 has the pool of a larger chip: with what groups keep it is beyond its memory."""
    tables(files, "spine1")["BUFFER_POOL"]["ingress_lossless_pool"]["size"] = "67737959"


def late_marks(files: Fabric) -> None:
    """tor3 pauses at 1/32 of what is free, before it marks."""
    for name, row in tables(files, "tor3")["BUFFER_PROFILE"].items():
        if name.startswith("pg_lossless"):
            row["dynamic_th"] = "-5"


def hasty_watchdog(files: Fabric) -> None:
    """agg1 looks for storms less often than a storm lasts that it is to act on."""
    tables(files, "agg1")["PFC_WD"]["GLOBAL"]["POLL_INTERVAL"] = "1000"


def paused_notifications(files: Fabric) -> None:
    """host7 sends CNPs in the class of its data."""
    text = str(files["host7/mlxconfig.txt"])
    text = text.replace(f"{'CNP_DSCP_P1':36}48", f"{'CNP_DSCP_P1':36}26")
    text = text.replace(f"{'CNP_802P_PRIO_P1':36}6", f"{'CNP_802P_PRIO_P1':36}3")
    files["host7/mlxconfig.txt"] = text
    files["host7/mlxconfig.txt"] = text.replace(
        "CNP_802P_PRIO_P1                    6", "CNP_802P_PRIO_P1                    3"
    )


def other_map(files: Fabric) -> None:
    """tor2 takes DSCP 26 for class 4."""
    tables(files, "tor2")["DSCP_TO_TC_MAP"]["AZURE"]["26"] = "4"


def deaf_adapter(files: Fabric) -> None:
    """host12 obeys pauses of class 5 alone."""
    files["host12/mlnx_qos.txt"] = str(files["host12/mlnx_qos.txt"]).replace(
        "enabled     0   0   0   1   1   0   0   0", "enabled     0   0   0   0   0   1   0   0"
    )


MISTAKES: tuple[Callable[[Fabric], None], ...] = (
    lossy_hop, small_pool, late_marks, hasty_watchdog, paused_notifications, other_map,
    deaf_adapter,
)  # fmt: skip


def tables(files: Fabric, name: str) -> Tables:
    """Return the tables of a switch, to be changed."""
    content = files[f"{name}/config_db.json"]
    assert not isinstance(content, str)
    return content


def rendered(content: Any) -> str:
    """Return tables as JSON with a row in each line."""
    if isinstance(content, str):
        return content
    parts = []
    for table, rows in content.items():
        lines = ",\n".join(f"    {json.dumps(key)}: {json.dumps(row)}" for key, row in rows.items())
        parts.append(f"  {json.dumps(table)}: {{\n{lines}\n  }}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def write(files: Fabric, folder: Path) -> None:
    """Write files below a folder."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(rendered(content), encoding="utf-8")


def main(folder: Path) -> None:
    """Write both fabrics."""
    write(fabric(), folder / "clean")
    planted = fabric()
    for mistake in MISTAKES:
        mistake(planted)
    write(planted, folder / "mistakes")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
