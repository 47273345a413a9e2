"""The commands `import` and `export`: a command in each for every format."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from qcnlab.cli.options import Json, print_json

if TYPE_CHECKING:
    from qcnlab.formats.report import Report

importing = typer.Typer(
    help="Make a scenario of other people's files.\n\n"
    "It prints what was read, what says it now, and what nothing says: nothing is left out without "
    "a word.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
exporting = typer.Typer(
    help="Write a run or scenario as other people's files.\n\n"
    "It prints what was written, and what their files cannot say.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Files = Annotated[list[Path], typer.Argument(metavar="FILE...", help="Files to read.")]
Scenario = Annotated[
    Path,
    typer.Option("-o", "--out", metavar="FILE", help="The scenario: .toml; lists go beside it."),
]
Folder = Annotated[Path, typer.Option("-o", "--out", metavar="DIR", help="A new folder.")]


@importing.command("hpcc")
def import_hpcc(
    files: Files,
    out: Scenario,
    origin: Annotated[
        str, typer.Option("--origin", metavar="TIME", help="The time there that is 0 here.")
    ] = "2 s",
    duration: Annotated[
        str | None,
        typer.Option(
            "--duration",
            metavar="TIME",
            help="How long the run lasts; as their configuration has it.",
        ),
    ] = None,
    load: Annotated[
        str | None,
        typer.Option(
            "--load",
            metavar="PART",
            help="Of sizes: part of the hosts' links that they fill, above 0 and at most 1.",
        ),
    ] = None,
    arrivals: Annotated[
        str | None,
        typer.Option("--arrivals", metavar="TIME", help="Of sizes: for how long flows arrive."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Read files of HPCC's simulator.

    A configuration, with the topology and flows that it names, or a topology with flows or sizes.
    Each is told from its first line.
    """
    from qcnlab.formats.hpcc import importing as hpcc

    told(hpcc.convert(files, out, hpcc.Options(origin, duration, load, arrivals)), as_json)


@importing.command("flows")
def import_flows(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A CSV file: a flow in each line.")],
    out: Scenario,
    columns: Annotated[
        str,
        typer.Option(
            "--map",
            metavar="ROLE=COLUMN,...",
            help="Which column is what: src=SRC,dst=DST,bytes=SIZE,start=TIME:ms, and class=PCP.",
        ),
    ],
    rate: Annotated[str, typer.Option("--rate", metavar="RATE", help="Rate of hosts' links.")],
    delay: Annotated[str, typer.Option("--delay", metavar="TIME", help="Delay of hosts' links.")],
    duration: Annotated[
        str, typer.Option("--duration", metavar="TIME", help="How long the run lasts at most.")
    ],
    origin: Annotated[
        str | None,
        typer.Option(
            "--origin",
            metavar="TIME",
            help="The time there that is 0 here; that of the earliest flow if not given.",
        ),
    ] = None,
    delimiter: Annotated[
        str, typer.Option("--delimiter", metavar="CHARACTER", help="What stands between cells.")
    ] = ",",
    as_json: Json = False,
) -> None:
    """Read a CSV of flows, such as a collector of NetFlow writes.

    Columns may stand in any order. Hosts stand around one switch, because such files say no
    network.
    """
    from qcnlab.formats import flow_table

    options = flow_table.Options(columns, rate, delay, duration, origin, delimiter)
    told(flow_table.convert(file, out, options), as_json)


Duration = Annotated[
    str, typer.Option("--duration", metavar="TIME", help="How long the run lasts at most.")
]
StarRate = Annotated[
    str | None,
    typer.Option("--rate", metavar="RATE", help="Without a network: rate of hosts' links."),
]
StarDelay = Annotated[
    str | None,
    typer.Option("--delay", metavar="TIME", help="Without a network: delay of hosts' links."),
]
Mtu = Annotated[
    int, typer.Option("--mtu", metavar="OCTETS", help="Octets of data in a full packet.")
]


@importing.command("htsim")
def import_htsim(
    files: Files,
    out: Scenario,
    times: Annotated[
        str,
        typer.Option(
            "--times",
            metavar="ps|us",
            help="Unit of the matrix's times: ps, or us as before November 2023.",
        ),
    ],
    duration: Duration,
    rate: StarRate = None,
    delay: StarDelay = None,
    mtu: Mtu = 4096,
    as_json: Json = False,
) -> None:
    """Read a connection matrix of htsim (.cm).

    With its topology (.topo), or hosts around one switch. Triggers become messages that wait for
    others.
    """
    from qcnlab.formats.htsim import importing as htsim
    from qcnlab.formats.messages import Setup

    options = htsim.Options(times, Setup(duration, rate, delay, mtu))
    told(htsim.convert(files, out, options), as_json)


@importing.command("sonic")
def import_sonic(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...", help="Files, folders of them, or DEVICE=FILE where no name tells."
        ),
    ],
    out: Scenario,
    duration: Annotated[
        str, typer.Option("--duration", metavar="TIME", help="How long the run lasts.")
    ] = "5 ms",
    reaction: Annotated[
        str,
        typer.Option(
            "--reaction",
            metavar="TIME",
            help="Time from a pause frame's end to its effect; no file says it.",
        ),
    ] = "0 s",
    byte_reset_unit: Annotated[
        int,
        typer.Option(
            "--byte-reset-unit",
            metavar="OCTETS",
            help="What rpg_byte_reset counts in: 64 or 1 octets.",
        ),
    ] = 64,
    as_json: Json = False,
) -> None:
    """Read configurations of SONiC switches and of adapters at them.

    CONFIG_DB of each switch (nested or flat, whole or as buffers.json and qos.json),
    pg_profile_lookup.ini, and what mlxconfig, sysfs (ecn), mlnx_qos and dcb -j print of hosts. The
    neighbours that switches name make the network.
    """
    from qcnlab.formats.sonic import importing as sonic

    told(sonic.convert(files, out, sonic.Options(duration, reaction, byte_reset_unit)), as_json)


Network = Annotated[
    str | None,
    typer.Option(
        "--network",
        metavar="SCENARIO",
        help="Take network, scheme and transport of a scenario; ranks are its hosts in order.",
    ),
]


@importing.command("goal")
def import_goal(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A schedule, text or binary.")],
    out: Scenario,
    duration: Duration,
    network: Network = None,
    rate: StarRate = None,
    delay: StarDelay = None,
    mtu: Mtu = 4096,
    overhead: Annotated[
        str,
        typer.Option(
            "--overhead", metavar="TIME", help="What a send, and a receive, takes: o of LogGOPS."
        ),
    ] = "0 s",
    as_json: Json = False,
) -> None:
    """Read a GOAL schedule, as LogGOPSim and ATLAHS have it.

    Its sends become messages that wait for others; what ranks compute is a delay between them.
    """
    from qcnlab.formats.goal import importing as goal
    from qcnlab.formats.messages import Setup

    options = goal.Options(Setup(duration, rate, delay, mtu), network, overhead)
    told(goal.convert(file, out, options), as_json)


@importing.command("chakra")
def import_chakra(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="A trace of each rank: PREFIX.RANK.et.")
    ],
    out: Scenario,
    duration: Duration,
    system: Annotated[
        Path | None,
        typer.Option("--system", metavar="JSON", help="ASTRA-sim's system: how collectives are."),
    ] = None,
    topology: Annotated[
        Path | None,
        typer.Option("--topology", metavar="YML|JSON", help="ASTRA-sim's network."),
    ] = None,
    logical: Annotated[
        Path | None,
        typer.Option("--logical", metavar="JSON", help="ASTRA-sim's logical topology."),
    ] = None,
    groups: Annotated[
        Path | None,
        typer.Option("--groups", metavar="JSON", help="Groups of ranks, by names (pg_name)."),
    ] = None,
    data_only: Annotated[
        bool, typer.Option("--data-only", help="Leave control dependencies out.")
    ] = False,
    network: Network = None,
    rate: StarRate = None,
    delay: StarDelay = None,
    mtu: Mtu = 4096,
    as_json: Json = False,
) -> None:
    """Read Chakra's execution traces, with ASTRA-sim's files beside them.

    Collectives become sends and receives of their ranks, which wait for each other as nodes do.
    """
    from qcnlab.formats.chakra import importing as chakra
    from qcnlab.formats.messages import Setup

    setup = Setup(duration, rate, delay, mtu)
    options = chakra.Options(setup, network, system, logical, topology, groups, not data_only)
    told(chakra.convert(files, out, options), as_json)


@importing.command("simai")
def import_simai(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A workload.")],
    out: Scenario,
    duration: Duration,
    network: Network = None,
    rate: StarRate = None,
    delay: StarDelay = None,
    mtu: Mtu = 4096,
    as_json: Json = False,
) -> None:
    """Read a workload of SimAI: a training step in layers, with their collectives."""
    from qcnlab.formats import simai
    from qcnlab.formats.messages import Setup

    told(simai.convert(file, out, Setup(duration, rate, delay, mtu), network), as_json)


@importing.command("step")
def import_step(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A training step, TOML.")],
    out: Scenario,
    duration: Duration,
    network: Network = None,
    rate: StarRate = None,
    delay: StarDelay = None,
    mtu: Mtu = 4096,
    as_json: Json = False,
) -> None:
    """Read a training step: computations and collectives of all ranks, and what overlaps.

    qcnlab step RUN tells how long it took, and which communication was exposed.
    """
    from qcnlab.formats import training
    from qcnlab.formats.messages import Setup

    told(training.convert(file, out, Setup(duration, rate, delay, mtu), network), as_json)


@exporting.command("hpcc")
def export_hpcc(
    run: Annotated[
        str,
        typer.Argument(metavar="RUN|SCENARIO", help="A run folder, or a scenario file or name."),
    ],
    out: Folder,
    origin: Annotated[
        str, typer.Option("--origin", metavar="TIME", help="The time there that is 0 here.")
    ] = "2 s",
    replication: Annotated[
        int, typer.Option("--replication", min=0, help="Of a run, which replication, from 0.")
    ] = 0,
    as_json: Json = False,
) -> None:
    """Write files of HPCC's simulator.

    Of a scenario topology and flows; of a run its results too: completion times (fct.txt), pauses
    (pfc.txt) and queues (qlen.txt), as the simulator writes them.
    """
    from qcnlab.formats.hpcc import exporting as hpcc

    told(hpcc.convert(run, out, origin, replication), as_json)


@exporting.command("htsim")
def export_htsim(
    scenario: Annotated[
        str, typer.Argument(metavar="SCENARIO", help="A scenario file, or a name.")
    ],
    out: Folder,
    as_json: Json = False,
) -> None:
    """Write a connection matrix of htsim: the flows that a scenario lists.

    Flows that wait for others become triggers.
    """
    from qcnlab.formats.htsim import exporting as htsim

    told(htsim.convert(scenario, out), as_json)


@exporting.command("goal")
def export_goal(
    scenario: Annotated[
        str, typer.Argument(metavar="SCENARIO", help="A scenario file, or a name.")
    ],
    out: Folder,
    as_json: Json = False,
) -> None:
    """Write a GOAL schedule: the messages that a scenario lists, and what they wait for."""
    from qcnlab.formats.goal import exporting as goal

    told(goal.convert(scenario, out), as_json)


@exporting.command("sonic")
def export_sonic(
    scenario: Annotated[str, typer.Argument(metavar="SCENARIO", help="A scenario file or name.")],
    out: Folder,
    hwsku: Annotated[
        str | None,
        typer.Option(
            "--hwsku",
            metavar="NAME",
            help="Model of all switches, such as ACS-MSN4700: it says what a pool holds.",
        ),
    ] = None,
    onto: Annotated[
        list[str] | None,
        typer.Option(
            "--onto",
            metavar="[DEVICE=]FILE",
            help="Write only what changes in these configurations, files or folders, by their own "
            "names; may be repeated.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Write CONFIG_DB of SONiC switches.

    A folder for each switch, with the rows that the scenario says: ports, cables, neighbours,
    pools, profiles, PFC, WRED, watchdogs, weights. qcnlab import sonic reads them again. With
    --onto only the fields that differ from what the fabric has.
    """
    from qcnlab.formats.lines import FormatError
    from qcnlab.formats.sonic import exporting, patching

    if onto and hwsku:
        raise FormatError("--hwsku is for switches without files: those of --onto say their model")
    made = patching.patch(scenario, onto, out) if onto else exporting.convert(scenario, out, hwsku)
    told(made, as_json)


@exporting.command("mlxconfig")
def export_mlxconfig(
    scenario: Annotated[
        str, typer.Argument(metavar="SCENARIO", help="A scenario file or name, of scheme dcqcn.")
    ],
    byte_reset_unit: Annotated[
        int,
        typer.Option(
            "--byte-reset-unit",
            metavar="OCTETS",
            help="What rpg_byte_reset counts in: 64 or 1 octets.",
        ),
    ] = 64,
) -> None:
    """Print the commands that set DCQCN's parameters in ConnectX.

    Each line has its unit and meaning as a comment. What cannot be said exactly is told on stderr.
    """
    from qcnlab.formats.lines import FormatError
    from qcnlab.formats.sonic import exporting as sonic

    if byte_reset_unit not in (64, 1):
        raise FormatError(
            f"--byte-reset-unit {byte_reset_unit}: rpg_byte_reset counts in 64 B or in 1 B"
        )
    pasted(sonic.mlxconfig(scenario, byte_reset_unit))


Pasted = Annotated[str, typer.Argument(metavar="SCENARIO", help="A scenario file or name.")]


@exporting.command("dcb")
def export_dcb(scenario: Pasted) -> None:
    """Print the command of dcb (iproute2) that sets hosts' PFC, with its reason as a comment.

    What dcb cannot be told is listed on stderr. qcnlab import sonic and lint read it again.
    """
    from qcnlab.formats.devices import linux

    pasted(linux.dcb(scenario))


@exporting.command("mlnx_qos")
def export_mlnx_qos(scenario: Pasted) -> None:
    """Print the commands of mlnx_qos that set hosts' PFC and cable, each with its reason.

    What it cannot be told is listed on stderr. qcnlab import sonic and lint read it again.
    """
    from qcnlab.formats.devices import linux

    pasted(linux.mlnx_qos(scenario))


@exporting.command("eos")
def export_eos(scenario: Pasted) -> None:
    """Print lines of Arista's EOS: PFC, ECN, shares of links, watchdog.

    A comment above each line has its unit and reason. What EOS cannot be told is on stderr.
    """
    from qcnlab.formats.devices import eos

    pasted(eos.eos(scenario))


@exporting.command("nxos")
def export_nxos(scenario: Pasted) -> None:
    """Print lines of Cisco's NX-OS: classes without loss, ECN, shares of links.

    A comment above each line has its unit and reason. What NX-OS cannot be told is on stderr.
    """
    from qcnlab.formats.devices import nxos

    pasted(nxos.nxos(scenario))


@exporting.command("junos")
def export_junos(scenario: Pasted) -> None:
    """Print lines of Juniper's Junos: classes without loss, PFC, cables.

    A comment above each line has its unit and reason. What Junos cannot be told is on stderr.
    """
    from qcnlab.formats.devices import junos

    pasted(junos.junos(scenario))


def pasted(out: tuple[list[str], Report]) -> None:
    """Print lines to paste on stdout, and what they do not say on stderr."""
    import sys

    lines, report = out
    print("\n".join(lines))
    for what, why in report.not_modelled:
        print(f"warning: {what}: {why}", file=sys.stderr)


def told(report: Report, as_json: bool) -> None:
    """Print a report, as text or JSON."""
    if as_json:
        print_json(report.summary())
    else:
        print(report.text())
