"""`qcnlab deadlock`: whether buffers can wait for one another in a circle, from routes alone."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from qcnlab import api
from qcnlab.cli.options import Changes, Drawing, File, Json, print_json
from qcnlab.printing import text
from qcnlab.records import read
from qcnlab.runs.circular_waits import CaseCount, CircularCase, CircularWaits

MOST_FAILURES = 4
"""Links that are down at the same time, at most."""
MOST_CASES = 2000
"""Cases of each number of failed links that are checked, unless a command says more."""
SHOWN = 3
"""Cases whose circles are printed."""
FLOWS = 2
"""Flows that are named for each wait."""
NUMBERS = ("", "one", "two", "three", "four")

Failures = Annotated[
    int,
    typer.Option(
        "--failures",
        metavar="K",
        min=0,
        max=MOST_FAILURES,
        help="Check with up to K links between switches down at the same time.",
    ),
]
Cases = Annotated[
    int,
    typer.Option(
        "--cases",
        min=1,
        max=1_000_000,
        help="So many cases of each number of links at most; of more, as many are drawn.",
    ),
]


def deadlock(
    scenario: File,
    failures: Failures = 1,
    all_pairs: Annotated[
        bool,
        typer.Option(
            "--all-pairs",
            help="Any host sends to any other, in the classes of the scenario's traffic.",
        ),
    ] = False,
    bounce: Annotated[
        bool,
        typer.Option(
            "--bounce",
            help="A switch that has lost its links towards a host sends over any other, until "
            "routes are repaired.",
        ),
    ] = False,
    cases: Cases = MOST_CASES,
    changes: Changes = None,
    out: Drawing = None,
    as_json: Json = False,
) -> None:
    """Tell whether PFC can stop a network for ever, by its routes.

    A paused link waits for the buffer behind it, and this one for the links by which its frames
    leave. Where that goes round in a circle, PFC can stop all of its links for ever. Without a
    circle it cannot. The circles come from the routes, while all links are up and with links down;
    nothing is run. Exit code 1 if there is one.
    """
    ready = api.load(scenario).with_(*(changes or []))
    if out is not None:
        from qcnlab.files.outputs import drawable

        drawable(out)
    told = report(ready, failures, all_pairs=all_pairs, bounce=bounce, most_cases=cases)
    if out is not None:
        from qcnlab.figures.deadlock import deadlock_figure
        from qcnlab.figures.plots import save
        from qcnlab.runs.network import Network

        network = Network.of(ready._core)
        save(deadlock_figure(ready.name, network, told, answer(told)), out)
    if as_json:
        print_json(told.to_dict())
    else:
        print("\n".join([f"{ready.name}: {answer(told)}", *_details(ready, told)]))
    if not told.free:
        raise typer.Exit(1)


def report(
    scenario: api.Scenario,
    failures: int = 1,
    *,
    all_pairs: bool = False,
    bounce: bool = False,
    most_cases: int = MOST_CASES,
) -> CircularWaits:
    """Return which buffers wait for one another in a circle, by the routes of a scenario.

    Parameters
    ----------
    scenario : Scenario
        Its flows are those of the first replication.
    failures : int, default 1
        Links between switches that are down at the same time, at most.
    all_pairs : bool, default False
        Whether any host sends to any other, instead of the scenario's flows.
    bounce : bool, default False
        Whether a switch that has lost its links towards a host sends over any other.
    most_cases : int, default 2000
        Cases of each number of links at most; of more, as many are drawn.

    Returns
    -------
    CircularWaits
        Whether no case that was checked has a circle, how many cases there are, the circles, and
        crossings of switches without which none is left.
    """
    answer = scenario._core.deadlock(
        failures, all_pairs=all_pairs, bounce=bounce, most_cases=most_cases
    )
    return read(CircularWaits, json.loads(answer), "the core's answer")


def warnings(scenario: api.Scenario) -> list[str]:
    """Return a sentence about a circle while all links are up; none without one.

    Parameters
    ----------
    scenario : Scenario
        Its own flows count.
    """
    told = report(scenario, 0)
    if told.free:
        return []
    links = ", ".join(wait.link for wait in told.circular[0].circles[0].waits)
    return [
        f"PFC may stop it for ever, even while all links are up: {links} can wait for one another "
        "in a circle; see qcnlab deadlock"
    ]


def answer(told: CircularWaits) -> str:
    """Return the answer in one sentence.

    Parameters
    ----------
    told : CircularWaits
        What `report` returned.

    Examples
    --------
    >>> import qcnlab
    >>> answer(report(qcnlab.load("deadlock-of-pfc-ring-40g"), 0))
    'PFC deadlock is possible: buffers wait in a circle while all links are up'
    """
    if not told.buffers:
        why = "pauses end by themselves" if told.expiring else "no switch pauses another for it"
        return f"PFC deadlock cannot happen to this traffic: {why}"
    known = [each for each in told.cases if each.possible]
    circular = [each for each in known if each.circular]
    free = [each for each in known if not each.circular]
    if not circular:
        drawn = any(each.checked < each.possible for each in free)
        scope = "in these cases" if drawn else "by these routes"
        return f"no circle {_joined(free, 'nor')}: safe from PFC deadlock {scope}"
    words = [_case(each, f"in {_share(each)} ") for each in circular]
    rest = f"; none {_joined(free, 'nor')}" if free else ""
    return f"PFC deadlock is possible: buffers wait in a circle {', '.join(words)}{rest}"


def _joined(cases: list[CaseCount], between: str) -> str:
    words = []
    for each in cases:
        drawn = f"in the {each.checked:,} cases drawn of {each.possible:,} "
        words.append(_case(each, drawn if each.checked < each.possible else ""))
    return f", {between} ".join(words)


def _case(case: CaseCount, share: str) -> str:
    """Return when it is that so many links are down."""
    if case.own:
        return "with the scenario's own failures"
    if not case.failures:
        return "while all links are up"
    links = "link" if case.failures == 1 else "links"
    which = "" if share else "any "
    return f"{share}with {which}{NUMBERS[case.failures]} {links} down"


def _share(case: CaseCount) -> str:
    drawn = "" if case.checked == case.possible else f" drawn of {case.possible:,}"
    return f"{case.circular:,} of {text.counted(case.checked, 'case')}{drawn}"


def _details(scenario: api.Scenario, told: CircularWaits) -> list[str]:
    """Return what was checked, the circles and what breaks them, line by line."""
    whose = "any host to any other" if told.all_pairs else "the scenario's flows"
    routing = json.loads(scenario._core.value("routing.multipath") or '"flow"')
    if not told.buffers:
        return []
    lines = [
        "",
        f"{text.counted(told.buffers, 'buffer')} behind "
        f"{text.counted(told.trunks, 'link')} between switches; traffic: {whose}; "
        f"routes: shortest paths, multipath = {routing}",
    ]
    if len(told.cases) > 1:
        lines += ["links down are taken as known to all routes" + _bounced(told)]
        if scenario._core.value("routing.converges_after") is None:
            lines += ["(runs of this scenario never repair routes: routing.converges_after)"]
    rows = [
        (
            "own failures" if each.own else str(each.failures),
            f"{each.possible:,}",
            f"{each.checked:,}",
            f"{each.circular:,}",
        )
        for each in told.cases
        if each.possible
    ]
    lines += ["", text.table(("links down", "cases", "checked", "with a circle"), rows)]
    for case in told.circular[:SHOWN]:
        lines += ["", *_circles(case)]
    left = sum(each.circular for each in told.cases) - SHOWN
    if left > 0:
        lines += ["", f"and {text.counted(left, 'case')} more: --json lists them"]
    return lines + _remedy(told)


def _bounced(told: CircularWaits) -> str:
    return ", and before that frames bounce" if told.bounce else ""


def _circles(case: CircularCase) -> list[str]:
    """Return the first circle of a case: each wait, and the flows that make it."""
    down = " and ".join(case.down)
    circle, *others = case.circles
    priority = "" if circle.class_ is None else f", class {circle.class_}"
    more = f", one of {len(case.circles)} circles" if others else ""
    lines = [f"{f'with {down} down' if down else 'while all links are up'}{priority}{more}:"]
    for wait in circle.waits:
        flows = wait.flows or ()
        left = f", {len(flows) - FLOWS} more" if len(flows) > FLOWS else ""
        named = f"  ({', '.join(flows[:FLOWS])}{left})" if flows else ""
        lines.append(f"  {wait.link} waits for {wait.next}{named}")
    return lines


def _remedy(told: CircularWaits) -> list[str]:
    """Return one way to leave no circle."""
    if not told.remedy:
        return []
    shown = told.remedy[: 4 * SHOWN]
    lines = [
        "",
        "one way to break them: frames that cross a switch like this go on in a lossless class",
    ]
    lines += ["of their own, or in one without PFC:"]
    lines += [f"  at {each.at}, from {each.from_} to {each.to}" for each in shown]
    if len(told.remedy) > len(shown):
        lines += [f"  and {len(told.remedy) - len(shown)} more: --json lists them"]
    if told.watchdogs:
        lines += ["a PFC watchdog is set: it ends a deadlock, and loses frames"]
    return lines
