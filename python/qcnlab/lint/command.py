"""`qcnlab lint`: whether the configurations of a fabric fit together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from qcnlab.cli.options import Drawing, Json, print_json
from qcnlab.printing import text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qcnlab.lint.findings import Finding, Rule, Site
    from qcnlab.lint.told import Location, ToldFinding, ToldMargin, Verdict

SHOWN = 3


def lint(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...", help="Files, folders of them, or DEVICE=FILE where no name tells."
        ),
    ],
    out: Drawing = None,
    as_json: Json = False,
) -> None:
    """Tell what is wrong in the configurations of a fabric.

    Files are those of qcnlab import sonic. Each finding has its file and line, why it matters, and
    the sum with its numbers. Exit code 1 if there is one.
    """
    if out is not None:
        from qcnlab.files.outputs import drawable

        drawable(out)
    report = check(files)
    if out is not None:
        from qcnlab.figures.plots import save
        from qcnlab.lint.figure import lint_figure

        save(lint_figure(report), out)
    if as_json:
        print_json(report)
    else:
        print("\n".join(_lines(report)))
    if report["findings"]:
        raise typer.Exit(1)


def check(files: Sequence[str]) -> Verdict:
    """Apply all rules to the configurations of a fabric.

    Parameters
    ----------
    files : sequence of str
        Files and folders, or ``DEVICE=FILE``.

    Returns
    -------
    dict
        `findings`, each with `rule`, `severity`, `device`, `ports`, `message`, `why`, `formula` and
        where it is said (`at`: `file`, `line`, `value`); `margins` of ECN before PFC, in octets and
        in congested ports; `not_judged`: what no rule could judge, with why; the number of
        `switches`, `adapters`, `links` (ends of switches) and `rules`.

    Raises
    ------
    FormatError
        For files that cannot be read, or that contradict one another; where no switch was read, so
        that hardly a rule applies, and nothing was found.
    """
    from qcnlab.formats.lines import FormatError
    from qcnlab.formats.report import Report
    from qcnlab.formats.sonic.reading import read
    from qcnlab.lint.findings import Site
    from qcnlab.lint.rules import RULES

    site = Site(read(files, Report()))
    located: dict[tuple[str | None, ...], ToldFinding] = {}
    for rule in RULES:
        for finding in rule.check(site):
            key = (rule.name, finding.severity, finding.device, finding.message, finding.formula)
            told = located.setdefault(key, _told(rule, finding))
            if finding.port and finding.port not in told["ports"]:
                told["ports"].append(finding.port)
            at: Location = {
                "file": str(finding.at.path),
                "line": finding.at.line,
                "value": finding.at.text,
            }
            if at not in told["at"]:
                told["at"].append(at)
    findings = sorted(
        located.values(),
        key=lambda told: (told["severity"], told["at"][0]["file"], told["at"][0]["line"]),
    )
    if not site.fabric.switches and not findings:
        read_only = text.counted(len(site.fabric.adapters), "adapter")
        raise FormatError(
            f"no switch was read, only {read_only}: nothing to hold them against; add the "
            "switches' config_db.json"
        )
    if not site.ends:
        site.leave("links", "no port has a neighbour in DEVICE_NEIGHBOR: ports were not judged")
    return {
        "findings": findings,
        "margins": _margins(site),
        "not_judged": [{"what": what, "why": why} for what, why in site.not_judged],
        "switches": len(site.fabric.switches),
        "adapters": len(site.fabric.adapters),
        "links": len(site.ends),
        "rules": len(RULES),
    }


def _told(rule: Rule, finding: Finding) -> ToldFinding:
    return {
        "rule": rule.name,
        "severity": finding.severity,
        "device": finding.device,
        "at": [],
        "ports": [],
        "message": finding.message,
        "why": rule.why,
        "formula": finding.formula,
    }


def _margins(site: Site) -> list[ToldMargin]:
    """Return margins, those with the same numbers together."""
    from qcnlab.lint.margins import margins

    together: dict[tuple[object, ...], ToldMargin] = {}
    for margin in margins(site):
        key = (margin.shared, margin.alpha, margin.classes, margin.wred.k_min, margin.wred.k_max)
        told = together.setdefault(
            key,
            {
                "devices": [],
                "shared_bytes": margin.shared,
                "alpha": margin.alpha,
                "classes": margin.classes,
                "k_min_bytes": margin.wred.k_min,
                "k_max_bytes": margin.wred.k_max,
                "pause_bytes": margin.point,
                "ports_until_k_min": margin.congested(margin.wred.k_min),
                "ports_until_k_max": margin.congested(margin.wred.k_max),
            },
        )
        if margin.end.switch.name not in told["devices"]:
            told["devices"].append(margin.end.switch.name)
    return list(together.values())


def _lines(report: Verdict) -> list[str]:
    out = []
    for told in report["findings"]:
        ports = f" {_some(told['ports'])}" if told["ports"] else ""
        first, *more = told["at"]
        also = f" (and {_some([_line(each) for each in more])})" if more else ""
        head = f"{_line(first)}: {told['severity']}: {told['rule']}{also}"
        out += [head, f"  {told['device']}{ports}: {told['message']}", f"  {told['why']}"]
        out += [f"  {told['formula']}"] if told["formula"] else []
        out.append("")
    if report["margins"]:
        rows = [
            [
                _some(each["devices"]),
                text.number(each["alpha"]),
                f"{each['k_min_bytes']:,}",
                f"{each['k_max_bytes']:,}",
                f"{each['pause_bytes']:,.0f}",
                f"{each['ports_until_k_min']:.1f}",
                f"{each['ports_until_k_max']:.1f}",
            ]
            for each in report["margins"]
        ]
        header = (
            "ECN before PFC", "alpha", "Kmin,\nB", "Kmax,\nB", "pause at\nB",
            "ports until\nPFC < Kmin", "ports until\nPFC < Kmax",
        )  # fmt: skip
        out += [text.table(header, rows), ""]
    if report["not_judged"]:
        rows = [[each["what"], each["why"]] for each in report["not_judged"]]
        out += [text.table(("not judged", "why"), rows, left=2), ""]
    severities = [told["severity"] for told in report["findings"]]
    out.append(
        f"{text.counted(severities.count('error'), 'error')}, "
        f"{text.counted(severities.count('warning'), 'warning')}: {report['rules']} rules, "
        f"switches: {report['switches']}, adapters: {report['adapters']}, ports with a link: "
        f"{report['links']}"
    )
    return out


def _line(at: Location) -> str:
    return f"{at['file']}:{at['line']}"


def _some(names: list[str]) -> str:
    shown = ", ".join(names[:SHOWN])
    return shown if len(names) <= SHOWN else f"{shown} and {len(names) - SHOWN} more"
