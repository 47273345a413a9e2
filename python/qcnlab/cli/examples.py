"""The examples that each command shows in its help."""

from __future__ import annotations

STAR = "og-hotspot-2src-10g-to-500m-rtt10us"
PAUSED = "ig-4-culprits-1-victim-pause-1500kb-rtt5us"
INCAST = "incast-16-to-1-100g"
RING = "deadlock-of-pfc-ring-40g"
RACKS = "leaf-spine-64-web-search-and-incast-100g"
FABRIC = "link-failure-leaf-spine-100g"

EXAMPLES = {
    "run": (
        f"run {STAR}",
        f"run {STAR} -s scheme.name=ecm -s topology.rtt='50 us' --reps 5",
        f"run {PAUSED} --capture 'core->*'",
        f"run {RACKS} --flow-level",
    ),
    "sweep": (
        f"sweep {STAR} --vary scheme.name=ecm,qcn --vary topology.rtt='20 us,200 us' --reps 5",
        f"sweep {INCAST} --vary topology.sources=4..8 --metric fct_p99_ms --dry-run",
    ),
    "tune": (f"tune {STAR} --vary scheme.cp.w=1..8 --minimize queue_std_bytes --trials 20",),
    "warmup": (f"warmup {STAR} --reps 10",),
    "headroom": (
        "headroom --rate 100G --cable 40m --mtu 9216",
        "headroom --rate 400G --cable 300m --mtu 9216 --platform SN5640 --ports 64 -o sums.svg",
        "headroom --rate 100G --cable 40m --mtu 9216 --scenario > headroom.toml",
    ),
    "deadlock": (
        f"deadlock {RING} -o circle.svg",
        f"deadlock {FABRIC} --all-pairs --failures 2",
        f"deadlock {FABRIC} --all-pairs --failures 2 --bounce --json",
    ),
    "explain-run": (
        "explain-run runs/FOLDER",
        "explain-run runs/FOLDER -o time.svg",
        "explain-run runs/FOLDER --flows 10 --json",
    ),
    "lint": (
        "lint fabric",
        "lint fabric -o findings.svg",
        "lint leaf1.json leaf2.json host1=mlxconfig.txt --json",
    ),
    "advise": (
        f"advise {RACKS} --trials 20",
        f"advise {FABRIC} --cases own,failed-link --minimize queue_mean_bytes --json",
    ),
    "fct": ("fct runs/FOLDER", "fct runs/FOLDER --buckets '10 KB,1 MB' --csv"),
    "collective": (
        "collective runs/FOLDER",
        "collective runs/FOLDER -o chain.svg",
        "collective runs/FOLDER --json",
    ),
    "compare": (
        "compare runs/ONE runs/OTHER",
        f"compare {INCAST} -s scheme.name=none,dcqcn,hpcc -o compare.svg",
        "compare runs/ONE runs/OTHER --latex",
    ),
    "report": (
        "report runs/FOLDER",
        "report runs/ONE runs/OTHER -o both.html",
        "report runs/sweep-FOLDER",
    ),
    "lab": (
        "lab",
        f"lab {STAR} --schemes qcn,ecm -s topology.rtt=100us",
        "lab --lesson 2 --no-open",
    ),
    "demo": ("demo", "demo --quick"),
    "analyse": (f"analyse {STAR}", f"analyse {STAR} --sweep --reps 2"),
    "validate": ("validate 1.5", "validate deck001 --quick"),
    "infer": ("infer deck000 --dry-run", "infer deck001 --starts 1 --page deck001.md"),
    "check": ("check my.toml", "check my.toml -s topology.rtt=50us", "check *.toml --json"),
    "list": ("list schemes", "list topologies", "list parameters", "list scenarios --json"),
    "explain": ("explain qcn", "explain Q_EQ", "explain headroom", "explain recovery_ms"),
    "plot": ("plot runs/FOLDER", "plot runs/FOLDER -o queue.pdf"),
    "frames": ("frames capture.pcapng", "frames capture.pcapng --kind CNM"),
    "dissector": ("dissector --install",),
    "schema": ("schema > qcnlab.schema.json",),
    "mib": ("mib runs/FOLDER", "mib runs/FOLDER --node 'edge*' --json"),
    "conform rp": ("conform rp capture.pcapng", "conform rp capture.pcapng --preset DECK001"),
    "conform cp": ("conform cp capture.pcapng",),
    "import hpcc": (
        "import hpcc config.txt -o scenario.toml",
        "import hpcc topology.txt sizes.txt --load 0.3 --duration '20 ms' -o load.toml",
    ),
    "import flows": (
        "import flows flows.csv --map src=SRC,dst=DST,bytes=SIZE,start=TIME:ms "
        "--rate '25 Gb/s' --delay '1 us' --duration '10 ms' -o flows.toml",
    ),
    "import htsim": (
        "import htsim ring.cm tree.topo --times ps --duration '1 ms' -o scenario.toml",
        "import htsim pairs.cm --times us --duration '1 ms' --rate '100 Gb/s' --delay '1 us' "
        "-o star.toml",
    ),
    "import goal": (
        "import goal step.goal --duration '10 ms' --rate '100 Gb/s' --delay '1 us' "
        "-o scenario.toml",
    ),
    "import chakra": (
        "import chakra step.0.et step.1.et --duration '10 ms' --rate '100 Gb/s' --delay '1 us' "
        "-o scenario.toml",
    ),
    "step": (
        "step runs/FOLDER",
        "step runs/FOLDER -o gantt.svg",
        "step runs/FOLDER --json",
    ),
    "import step": (
        "import step step.toml --duration '10 ms' --rate '100 Gb/s' --delay '1 us' "
        "-o scenario.toml",
    ),
    "import simai": (
        "import simai simai.txt --duration '10 ms' --rate '400 Gb/s' --delay '500 ns' "
        "-o simai.toml",
    ),
    "import sonic": (
        "import sonic fabric/clean -o fabric.toml",
        "import sonic leaf1=config_db.json host1=mlxconfig.txt -o small.toml",
    ),
    "export sonic": ("export sonic fabric.toml --hwsku ACS-MSN4700 -o patch",),
    "export mlxconfig": ("export mlxconfig fabric.toml > set.sh",),
    "export dcb": ("export dcb fabric.toml > pfc.sh",),
    "export mlnx_qos": ("export mlnx_qos fabric.toml > pfc.sh",),
    "export eos": ("export eos fabric.toml > eos.txt",),
    "export nxos": ("export nxos fabric.toml > nxos.txt",),
    "export junos": ("export junos fabric.toml > junos.txt",),
    "export hpcc": ("export hpcc runs/FOLDER -o results",),
    "export htsim": ("export htsim scenario.toml -o matrix",),
    "export goal": ("export goal scenario.toml -o schedule",),
    "live doctor": ("live doctor",),
    "live run": (f"live run {STAR}", f"live run {STAR} --scale 1000 --traffic iperf3"),
    "live compare": (f"live compare {STAR}",),
    "live up": (f"live up {STAR}",),
}
"""What follows `qcnlab`, for each command."""


def epilog(command: str) -> str | None:
    """Return the last part of a command's help; `None` where it has no examples.

    Parameters
    ----------
    command : str
        Its name, after that of its group: `live run`.
    """
    lines = EXAMPLES.get(command)
    if not lines:
        return None
    # The mark keeps lines as they are.
    return "\b\nExamples:\n" + "\n".join(f"  qcnlab {line}" for line in lines)
