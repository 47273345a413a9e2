"""`qcnlab import hpcc`: topology, flows, sizes and configuration as a scenario."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from qcnlab.files.folders import whole as whole_file
from qcnlab.files.outputs import SCENARIO, writable
from qcnlab.formats.hpcc import cdf, flows, mapping, topology
from qcnlab.formats.hpcc.config import KEY, Config
from qcnlab.formats.lines import FormatError, lines
from qcnlab.formats.names import pattern
from qcnlab.formats.numbers import NumberFault, decimal, time, time_text
from qcnlab.formats.report import Report
from qcnlab.formats.scenarios import FEW, MARK, NO_FLOWS, check, check_name, quoted, record

if TYPE_CHECKING:
    from collections.abc import Sequence

ORIGIN = "2 s"
"""When the first flows start there, by habit."""
KINDS = {
    "config": "a configuration",
    "topology": "a topology",
    "flows": "a flow file",
    "cdf": "sizes",
}


@dataclass(frozen=True)
class Options:
    """What the files do not say.

    Attributes
    ----------
    origin : str
        The time there that is 0 here.
    duration : str, optional
        How long the run lasts, where no configuration says it.
    load : str, optional
        Part of the hosts' links that messages of the distribution's sizes fill.
    arrivals : str, optional
        For how long such messages arrive.
    """

    origin: str = ORIGIN
    duration: str | None = None
    load: str | None = None
    arrivals: str | None = None


def convert(files: Sequence[Path], out: Path, options: Options) -> Report:
    """Make a scenario of files of HPCC's simulator.

    Parameters
    ----------
    files : sequence of Path
        A topology, and a configuration, a flow file, a distribution of sizes, in any order; each is
        told from its first line. Files that the configuration names are read with it.
    out : Path
        The scenario's file, which ends in ``.toml``; lists of flows go beside it.
    options : Options
        What the files do not say.

    Returns
    -------
    Report
        What was read, what it became, and what nothing says.

    Raises
    ------
    FormatError
        If a file is not what it should be, or is missing.
    FolderError
        If a file cannot be written, or something else is in its stead.
    """
    check_name(out)
    writable(out, SCENARIO)
    report = Report()
    roles = _roles(files)
    config = Config(roles.get("config"))
    _named_files(config, roles, report)
    if "topology" not in roles:
        raise FormatError("no topology among the files: name one, or a configuration that does")
    network = topology.read(roles["topology"])
    topology.tell(network, roles["topology"], report)
    origin, end = _times(config, options, report)
    setup = mapping.Setup(config, network, report, preset_only=config.path is None)
    buffers, ways = setup.buffers(), setup.ways(origin)
    keys, control = setup.transport(), setup.control()

    def text(priorities: list[int], traffic: list[list[str]], flows: int) -> str:
        out = [*_head(roles, end, options), *topology.tables(network), "", *buffers]
        out += [*setup.classes(priorities), *ways]
        for entry in traffic:
            out += ["", "[[traffic]]", *entry, *keys]
        return "\n".join([*out, "", *record(flows, end), *control]) + "\n"

    trial = ['arrivals = "list"', 'transport = "roce"', NO_FLOWS]
    check(text([3], [trial], 0), config.path or "the files")
    priorities, traffic, listed = _traffic(roles, network, origin, end, out, options, report)
    if listed > FEW:
        report.mapped.append(
            (f"more than {FEW} flows", "[record] one bin for rates and throughput")
        )
    if len(priorities) > 1:
        report.mapped.append(("several priorities", "[[switch]] weights: equal parts of a link"))
    if setup.pauses:
        report.mapped.append(("PFC", "[pause] kind priority, rule dynamic"))
    _finish(config, report)
    with whole_file(out) as partial:
        partial.write_text(text(priorities, traffic, listed), encoding="utf-8")
    report.written.insert(0, (str(out), "the scenario"))
    return report


def _roles(files: Sequence[Path]) -> dict[str, Path]:
    """Tell what each file is from its first line."""
    roles: dict[str, Path] = {}
    for path in files:
        role = kind(path)
        if role in roles:
            raise FormatError(
                f"'{roles[role]}' and '{path}' are both {KINDS[role]}: name one of them"
            )
        roles[role] = path
    return roles


def kind(path: Path) -> str:
    """Return what a file of HPCC's simulator is: config, topology, flows or cdf.

    Parameters
    ----------
    path : Path
        The file. A key begins a configuration; three numbers or more a topology, two a
        distribution, one a flow file.

    Raises
    ------
    FormatError
        If it is none of them.
    """
    line = next(lines(path), None)
    if line is None:
        raise FormatError(f"{path}: the file is empty")
    if KEY.fullmatch(line.words[0]):
        return "config"
    if line.words[0].isdigit() and len(line.words) <= 6:
        return {1: "flows", 2: "cdf"}.get(len(line.words), "topology")
    raise line.fault(
        "neither a topology (three numbers), nor flows (one number), sizes (two numbers) or a "
        "configuration (a key and its value)"
    )


def _named_files(config: Config, roles: dict[str, Path], report: Report) -> None:
    """Add the files that a configuration names and the command does not."""
    if config.path is None:
        return
    report.read.append((str(config.path), "configuration"))
    for key, role in (("TOPOLOGY_FILE", "topology"), ("FLOW_FILE", "flows")):
        if key not in config:
            continue
        name = config.word(key)
        if role in roles:
            report.mapped.append((f"{key} {name}", f"{roles[role]}, which the command names"))
            continue
        tried = [config.path.parent / name, config.path.parent.parent / name, Path(name)]
        path = next((each for each in tried if each.is_file()), None)
        if path is None:
            raise config.fault(
                key,
                f"'{name}' is not there, nor in the folder above: name the file in the command",
            )
        roles[role] = path
        report.mapped.append((f"{key} {name}", str(path)))


def _times(config: Config, options: Options, report: Report) -> tuple[int, int]:
    """Return the time there that is 0 here, and how long the run lasts, in ps."""
    origin = _span("--origin", options.origin)
    if config.path is None:
        if options.duration is None:
            raise FormatError(
                "no configuration says how long the run lasts: give --duration, as in "
                "--duration '10 ms'"
            )
        return origin, _span("--duration", options.duration)
    if options.duration is not None:
        end = _span("--duration", options.duration)
        report.mapped.append(("--duration", f"duration {time_text(end)}"))
        return origin, end
    stop = config.seconds("SIMULATOR_STOP_TIME")
    if stop <= origin:
        raise config.fault(
            "SIMULATOR_STOP_TIME",
            f"{time_text(stop)} is not after {time_text(origin)}, which is 0 here: give --origin",
        )
    report.mapped.append(
        (
            f"SIMULATOR_STOP_TIME {time_text(stop)}",
            f"duration {time_text(stop - origin)}, or until all flows are complete (drain)",
        )
    )
    return origin, stop - origin


def _span(option: str, text: str) -> int:
    try:
        return time(text.replace(" ", "").encode(), option)
    except NumberFault as fault:
        raise FormatError(str(fault)) from None


def _traffic(
    roles: dict[str, Path],
    network: topology.Topology,
    origin: int,
    end: int,
    out: Path,
    options: Options,
    report: Report,
) -> tuple[list[int], list[list[str]], int]:
    """Return the classes, the first lines of each `[[traffic]]`, and how many flows are listed."""
    entries: list[list[str]] = []
    priorities: set[int] = set()
    listed = 0
    if "flows" in roles:
        made = flows.convert(roles["flows"], network, origin, end, out.with_suffix(""))
        flows.tell(made, roles["flows"], origin, end, report)
        priorities |= made.priorities
        listed = made.flows
        entries += [
            ['arrivals = "list"', 'transport = "roce"', f"flows = {quoted(file.name)}"]
            for file in made.files.values()
        ]
    if "cdf" in roles:
        if options.load is None:
            raise FormatError(f"{roles['cdf']}: sizes say no load: give --load, as in --load 0.3")
        load = _load(options.load)
        table = out.with_suffix(".sizes.csv")
        total = cdf.convert(roles["cdf"], table)
        report.read.append((str(roles["cdf"]), f"sizes of flows, up to {total}"))
        report.written.append((str(table), "sizes"))
        report.mapped.append(("sizes", f"[[traffic]], flows over roce, {table.name}"))
        report.not_modelled.append(
            ("the generator's draws", "Poisson arrivals and random pairs, by draws of our own")
        )
        hosts = pattern([("host", host) for host in network.hosts()])
        entries.append(
            [
                'arrivals = "flows"',
                'transport = "roce"',
                f'from = "{hosts}"',
                f'to = "{hosts}"',
                f"sizes = {quoted(table.name)}",
                f"load = {load}",
                "priority = 3",
            ]
        )
        priorities.add(3)
    elif options.load is not None:
        raise FormatError("--load goes with a distribution of sizes: name its file")
    if not entries:
        what = "no flow starts before the end" if "flows" in roles else "no flows"
        raise FormatError(f"{what}: name a flow file, or a distribution of sizes with --load")
    return sorted(priorities), entries, listed


def _load(text: str) -> str:
    try:
        load = decimal(text.encode(), "--load")
    except NumberFault as fault:
        raise FormatError(str(fault)) from None
    if not 0 < load <= 1:
        raise FormatError(f"--load: {load} is not above 0 and at most 1")
    return f"{load:f}"


def _head(roles: dict[str, Path], end: int, options: Options) -> list[str]:
    names = ", ".join(path.name for path in roles.values())
    out = [
        MARK,
        f"title = {quoted(f'From {names}')}",
        'source = "files of HPCC\'s simulator"',
        f'duration = "{time_text(end)}"',
        "drain = true",
        'ties = "port_order"',
    ]
    if options.arrivals is not None:
        out.insert(4, f'stop_arrivals = "{time_text(_span("--arrivals", options.arrivals))}"')
    return [*out, ""]


def _finish(config: Config, report: Report) -> None:
    """Tell the keys that nothing took, and what differs whatever they say."""
    report.mapped += [
        (f"{key} is missing", f"{value}, the simulator's default")
        for key, value in config.defaults.items()
        if config.path is not None and key not in ("LB_MODE", "ENABLE_PFC", "ENABLE_IRN")
    ]
    told = {what.partition(" ")[0] for what, _ in (*report.mapped, *report.not_modelled)}
    report.mapped += [
        (config.written(key), "the same here") for key in config.taken() if key not in told
    ]
    report.not_modelled += [
        (f"{key} in line {before}", f"line {last} holds, as there")
        for key, before, last in config.twice
    ]
    report.not_modelled += config.left()
    report.not_modelled += mapping.DIFFERENT
