"""`qcnlab explain-run`: what happened in a run, in words for a ticket."""

from __future__ import annotations

from typing import Annotated

import typer

from qcnlab.cli.options import Drawing, Json, print_json
from qcnlab.results.explanation_text import lines


def explain_run(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run folder.")],
    replication: Annotated[
        int, typer.Option("--replication", min=0, help="Which replication, from 0.")
    ] = 0,
    flows: Annotated[
        int, typer.Option("--flows", min=1, max=1000, help="Flows of each list at most.")
    ] = 5,
    out: Drawing = None,
    as_json: Json = False,
) -> None:
    """Tell what happened in a run, in words for a ticket.

    Which port congested first, which flows were stopped for whom, who was told to slow down, and
    where the time of the slowest flows went.
    """
    from qcnlab.errors import Error
    from qcnlab.results.explanation import explanation
    from qcnlab.results.result import open_run
    from qcnlab.runs.flow_level import require_packets

    if out is not None:
        from qcnlab.files.outputs import drawable

        drawable(out)
    try:
        result = open_run(run)
        require_packets(result.summary, "an explanation")
        told = explanation(result, replication, flows)
    except IndexError as error:
        raise Error(f"{run}: {error}") from None
    if out is not None:
        from qcnlab.figures.explanation import explanation_figure
        from qcnlab.figures.plots import save

        save(explanation_figure(told), out)
    if as_json:
        print_json(told)
    else:
        print("\n".join(lines(told)))
