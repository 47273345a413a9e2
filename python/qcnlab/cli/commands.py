"""The commands of the command line, in the order of `--help`, each with the line it has there.

A command's module is imported when the command is asked for. Commands read options, print data on
stdout and messages on stderr.
"""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command, get_group

from qcnlab import _core
from qcnlab.cli import examples
from qcnlab.cli.plain_words import taken_as_they_are

COMMANDS = {
    "run": ("commands.run:run", "Run a scenario, print its metrics and write a run folder."),
    "sweep": ("commands.experiments:sweep", "Run a scenario over a grid of values."),
    "tune": (
        "tuning.command:tune",
        "Search for the values of keys that make metrics small or large.",
    ),
    "check": (
        "commands.catalogue:check",
        "Check scenario files; exit with 2 if one cannot be run.",
    ),
    "compare": (
        "commands.flows:compare",
        "Lay runs side by side: what differs, metrics, a figure.",
    ),
    "demo": ("commands.experiments:demo", "Show QCN and ECM in a hotspot: table, figures, report."),
    "report": (
        "report.command:report",
        "Write one HTML file about runs or a sweep, and print its path.",
    ),
    "plot": ("commands.files:plot", "Draw the figures of a run, sweep or demo; print their paths."),
    "fct": ("commands.flows:fct", "Print completion times and slowdowns of the flows of runs."),
    "collective": (
        "commands.flows:collective",
        "Tell how long a run's collective operations took, and why.",
    ),
    "step": (
        "commands.flows:step",
        "Tell how long a run's training steps took, and why.",
    ),
    "explain-run": (
        "commands.explain_run:explain_run",
        "Tell what happened in a run, in words for a ticket.",
    ),
    "lab": ("commands.laboratory:lab", "Open the laboratory in a browser."),
    "analyse": (
        "commands.experiments:analyse",
        "Tell whether theory finds a scenario stable, beside a run.",
    ),
    "warmup": (
        "commands.warmup:warmup",
        "Tell how long a run takes to settle, which numbers leave out.",
    ),
    "headroom": (
        "headroom.command:headroom",
        "Tell how much headroom PFC takes, and confirm it by simulation.",
    ),
    "deadlock": (
        "commands.deadlock:deadlock",
        "Tell whether PFC can stop a network for ever, by its routes.",
    ),
    "lint": ("lint.command:lint", "Tell what is wrong in the configurations of a fabric."),
    "advise": (
        "advising.command:advise",
        "Search settings that do well in traffic and in worst cases.",
    ),
    "frames": ("commands.files:frames", "Print what a capture holds, a frame in each line."),
    "conform": ("conform:app", "Tell whether captured devices behave as QCN's standard asks."),
    "mib": ("commands.mib:mib", "Print what a network manager would read from a run's switches."),
    "dissector": ("commands.files:dissector", "Print or install a dissector for Wireshark."),
    "import": ("formats.command:importing", "Make a scenario of other people's files."),
    "export": ("formats.command:exporting", "Write a run or scenario as other people's files."),
    "live": ("live.command:app", "Run scenarios on real frames, on Linux."),
    "validate": ("commands.experiments:validate", "Run the validation book."),
    "infer": ("commands.infer:infer", "Search what a source leaves open for the best reading."),
    "explain": ("commands.catalogue:explain", "Tell what a name means."),
    "list": ("commands.catalogue:list_", "List what there is."),
    "schema": ("commands.catalogue:schema", "Print the JSON Schema of a scenario file."),
}
"""Where each command is, below `qcnlab`, and the first line of its help."""
GROUPS = {
    "Run": ("run", "sweep", "tune", "check"),
    "Compare": ("compare", "demo"),
    "Look": ("report", "plot", "fct", "collective", "step", "explain-run", "lab"),
    "Theory": ("analyse", "warmup"),
    "Operate": ("headroom", "deadlock", "lint", "advise"),
    "Frames": ("frames", "conform", "mib", "dissector"),
    "Other people's files": ("import", "export"),
    "Live": ("live",),
    "Book of published results": ("validate", "infer"),
    "Names": ("explain", "list", "schema"),
}
"""What people want, and the commands for it."""
START = (
    ("qcnlab demo", "two schemes in one hotspot: table, figures, report"),
    ("qcnlab lab", "the same in a browser, with sliders and lessons"),
    ("qcnlab run NAME", "one scenario: yours, or one of `qcnlab list scenarios`"),
)
"""The commands to begin with."""


class Grouped(TyperGroup):
    """The command of all commands: its help lists them by what people want."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write what to begin with, then the commands."""
        with formatter.section("Start with"):
            formatter.write_dl(START)
        width = max(map(len, COMMANDS))
        for title, names in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), COMMANDS[name][1]) for name in names])


class Later(TyperCommand):
    """Stands for a command in the list of all of them, and makes way for it when it is called."""

    def make_context(self, *arguments: Any, **settings: Any) -> Any:
        """Read the words of a command line as the command itself does."""
        return loaded(str(self.name)).make_context(*arguments, **settings)


def loaded(name: str) -> Any:
    """Import a command, or a group of commands.

    Parameters
    ----------
    name : str
        One of `COMMANDS`.

    Returns
    -------
    Command
        With all its options and examples.
    """
    module, _, attribute = COMMANDS[name][0].partition(":")
    located = getattr(import_module(f"qcnlab.{module}"), attribute)
    if isinstance(located, typer.Typer):
        for known in located.registered_commands:
            word = known.name or getattr(known.callback, "__name__", "")
            known.epilog = examples.epilog(f"{name} {word}")
        group = get_group(located)
        for command in (group, *group.commands.values()):
            taken_as_they_are(command)
        return group
    alone = _settings()
    alone.command(name=name, epilog=examples.epilog(name))(located)
    command = get_command(alone)
    taken_as_they_are(command)
    return command


def command_line() -> Any:
    """Return the command of all commands: call it with the words after ``qcnlab``."""
    app = _settings(
        cls=Grouped,
        help="A congestion-management laboratory for Ethernet fabrics: QCN, PFC, DCQCN and others.",
        no_args_is_help=True,
        add_completion=True,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_root)
    for name, (_, line) in COMMANDS.items():
        app.command(name=name, help=line, cls=Later)(_nothing)
    command = get_command(app)
    taken_as_they_are(command)
    return command


def _settings(*, add_completion: bool = False, **settings: Any) -> typer.Typer:
    return typer.Typer(
        add_completion=add_completion,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        **settings,
    )


def _nothing() -> None:
    pass


def _version(asked: bool) -> None:
    if asked:
        print(f"qcnlab {_core.__version__}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    pass
