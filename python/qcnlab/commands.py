"""The commands of the command line, each registered in one line, in the order of `--help`.

Commands read options, print data on stdout and messages on stderr.
"""

from __future__ import annotations

from typing import Annotated

import typer

from qcnlab import (
    _core,
    catalogue_commands,
    conform,
    examples,
    experiment_commands,
    file_commands,
    flow_commands,
    laboratory,
    mib,
    run_command,
    warmup,
)
from qcnlab.live import command as live
from qcnlab.report import command as report
from qcnlab.tuning import command as tuning

app = typer.Typer(
    help="A congestion-management laboratory for Ethernet fabrics: QCN, ECM and their family.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.add_typer(live.app, name="live")
app.add_typer(conform.app, name="conform")


def _version(asked: bool) -> None:
    if asked:
        print(f"qcnlab {_core.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    pass


app.command()(run_command.run)
app.command()(experiment_commands.sweep)
app.command()(warmup.warmup)
app.command()(tuning.tune)
app.command()(flow_commands.fct)
app.command()(flow_commands.compare)
app.command()(report.report)
app.command()(experiment_commands.demo)
app.command()(experiment_commands.analyse)
app.command()(experiment_commands.validate)
app.command()(catalogue_commands.check)
app.command(name="list")(catalogue_commands.list_)
app.command()(catalogue_commands.explain)
app.command()(file_commands.plot)
app.command()(laboratory.lab)
app.command()(file_commands.frames)
app.command()(file_commands.dissector)
app.command()(mib.mib)
app.command()(catalogue_commands.schema)


def _show_examples(commands: typer.Typer, group: str = "") -> None:
    """Put the examples of each command below its help."""
    for known in commands.registered_commands:
        name = known.name or known.callback.__name__.replace("_", "-") if known.callback else ""
        known.epilog = examples.epilog(f"{group}{name}")
    for inner in commands.registered_groups:
        if inner.typer_instance is not None:
            _show_examples(inner.typer_instance, f"{inner.name} ")


_show_examples(app)
