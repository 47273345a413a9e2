"""Advice as text: tables, sentences, commands and the patch."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from qcnlab.advising.terms import AS_IS, GOOD, ROBUST, ends_of, percent, shown
from qcnlab.metrics import texts
from qcnlab.printing import text

if TYPE_CHECKING:
    from qcnlab.advising.candidates import Candidates, Part
    from qcnlab.tuning.trial import Trial

WIDE = 100
METRICS = (
    ("pause_frames", "pause\nframes", 1.0),
    ("paused_frac", "paused\nlongest, %", 100.0),
    ("messages", "messages", 1.0),
    ("queue_mean_bytes", "queue\nmean, KB", 1e-3),
    ("drops", "drops", 1.0),
    ("unfinished", "unfinished\nflows", 1.0),
)


def advice_text(advice: Candidates) -> str:
    """Return the advice as tables and sentences.

    Parameters
    ----------
    advice : Candidates
        What the search gave.
    """
    known, goal = advice.known, advice.objective
    bounds = ", ".join(map(str, advice.constraints))
    verb = "minimize" if goal.smallest else "maximize"
    lines = [
        f"{known['name']}: {verb} {goal.metric}{f', subject to {bounds}' if bounds else ''}",
        f"{text.counted(len(advice.trials) - 1, 'trial')} and the scenario as it is, each in "
        f"{text.counted(len(advice.cases), 'case')} with "
        f"{text.counted(known['replications'], 'replication')}, seed {known['seed']}",
        "",
        *_cases(advice),
        "",
        *_verdict(advice),
        "",
        _settings(advice),
        "",
        *_flatness(advice),
        "",
        *_costs(advice),
    ]
    if advice.again:
        lines += ["", *_again(advice)]
    if advice.parts:
        lines += ["", *_dominance(advice)]
    lines += ["", *_left_out(advice), *_patch(advice)]
    return "\n".join(lines).rstrip("\n")


def _cases(advice: Candidates) -> list[str]:
    told, robust = advice.regrets, advice.trials[advice.robust]
    rows = []
    for index, case in enumerate(advice.cases):
        best = told.best[index]
        rows.append(
            [
                case.name,
                _value(advice, advice.trials[0], index),
                _value(advice, robust, index),
                "none" if best is None else text.number(best),
                "-" if best is None else percent(told.of[0][index]),
                "-" if best is None else percent(told.of[advice.robust][index]),
            ]
        )
    header = (
        "case", AS_IS, ROBUST, "best\nhere", f"regret\n{AS_IS}", f"regret\n{ROBUST}",
    )  # fmt: skip
    out = [text.table(header, rows)]
    for case in advice.cases:
        out += _wrapped(f"{case.name}: {case.told}.")
    out += _wrapped(
        f"Values are {advice.objective.metric}. Regret is by how much a value misses the best that "
        "any trial had in this case, as a part of that best."
    )
    zero = [
        case.name
        for case, best in zip(advice.cases, told.best, strict=True)
        if best is not None and best == 0
    ]
    if zero:
        out += _wrapped(
            f"The best in {', '.join(zero)} is 0: regret there is a part of the value as it is, "
            "or, where that is 0, too, of the largest."
        )
    silent = [c.name for c, best in zip(advice.cases, told.best, strict=True) if best is None]
    if silent:
        out += _wrapped(
            f"No run has {advice.objective.metric} in {', '.join(silent)}: it does not count."
        )
    return out


def _value(advice: Candidates, trial: Trial, case: int) -> str:
    value = advice.values(trial)[case]
    if value in (float("inf"), float("-inf")):
        return "no value"
    metric = advice.objective.metric
    bound = metric in texts("at_least_if") and (advice.median(trial, "unfinished", case) or 0) > 0
    return f"{'>= ' if bound else ''}{text.number(value)}"


def _verdict(advice: Candidates) -> list[str]:
    told, number = advice.regrets, advice.robust
    out = []
    if open_ends := advice.unfinished(number) or advice.unfinished(0):
        cases = ", ".join(f"{name} ({text.counted(count, 'flow')})" for name, count in open_ends)
        out += _wrapped(
            f"Flows did not finish in {cases}: values there are lower bounds, and candidates that "
            "differ may look equal. Let the run last longer: -s duration=..., -s drain=true, -s "
            "stop_arrivals=..."
        )
    if not advice.kept:
        nearest = advice.trials[number]
        out += _wrapped(
            f"No trial keeps all bounds ({', '.join(map(str, advice.constraints))}): what follows "
            f"comes nearest, and exceeds them by {text.number(nearest.violation)} in sum."
        )
    elif not advice.trials[0].kept:
        out += _wrapped(
            "The settings as they are break a bound "
            f"({', '.join(map(str, advice.constraints))}), by "
            f"{text.number(advice.trials[0].violation)} in sum."
        )
    if number == 0:
        return out + _wrapped(
            f"Keep the settings as they are: no trial has a smaller largest regret than "
            f"{percent(told.worst(0))}."
        )
    here = advice.cases[told.worst_case(number)].name
    there = advice.cases[told.worst_case(0)].name
    return out + _wrapped(
        f"Robust is trial {number}: at most {percent(told.worst(number))} worse than the best of "
        f"any case ({here}). The settings as they are are up to {percent(told.worst(0))} worse "
        f"({there})."
    )


def _settings(advice: Candidates) -> str:
    present = advice.space.words({})
    robust = advice.space.words(advice.trials[advice.robust].values)
    words = [advice.space.words(advice.trials[number].values) for number in advice.good]
    rows = []
    for key in present:
        ends = ends_of([each[key] for each in words]) if words else []
        good = " to ".join(dict.fromkeys(shown({key: end}, key) for end in ends))
        rows.append([key, shown(present, key), shown(robust, key), good or "-"])
    return text.table(("setting", AS_IS, ROBUST, "as good as robust"), rows)


def _flatness(advice: Candidates) -> list[str]:
    good = [number for number in advice.good if number != advice.robust]
    out = _wrapped(
        f"{text.counted(len(good), 'other trial')} of {len(advice.trials) - 1} "
        f"{'is' if len(good) == 1 else 'are'} as good: the largest regret is higher by at most "
        f"{100 * GOOD:g} points."
    )
    if not advice.around:
        return out
    base = advice.regrets.worst(advice.robust)
    rows = []
    for key, trial in advice.around:
        if trial.refused is not None:
            rows.append([key, trial.values[key], "cannot be", ""])
            continue
        worst = advice.worst_of(trial)
        finite = worst != float("inf") and base != float("inf")
        change = f"{100 * (worst - base):+.3g}" if finite else "-"
        broken = "" if trial.kept else ", bounds broken"
        rows.append([key, trial.values[key], percent(worst) + broken, change])
    header = ("one setting changed", "to", "largest regret", "points more")
    out += ["", text.table(header, rows)]
    better = [(key, trial) for key, trial in advice.around
              if trial.kept and advice.worst_of(trial) < base]  # fmt: skip
    if better:
        key, trial = min(better, key=lambda each: advice.worst_of(each[1]))
        out += _wrapped(
            f"{key} = {trial.values[key]} is better still: more trials may gain "
            f"{100 * (base - advice.worst_of(trial)):.2g} points or more."
        )
    return out


def _costs(advice: Candidates) -> list[str]:
    header = ["case", "settings", *(title for _, title, _ in METRICS)]
    rows = []
    for index, case in enumerate(advice.cases):
        for number in dict.fromkeys((0, advice.robust)):
            cells = []
            for name, _, scale in METRICS:
                value = advice.median(advice.trials[number], name, index)
                cells.append("-" if value is None else text.number(value * scale, 3))
            rows.append([case.name, ROBUST if number else AS_IS, *cells])
    return [text.table(header, rows, left=2)]


def _again(advice: Candidates) -> list[str]:
    seed = advice.known["seed"] + 1
    rows = [
        [
            case.name,
            _value(advice, advice.again[0], index),
            _value(advice, advice.again[advice.robust], index),
        ]
        for index, case in enumerate(advice.cases)
    ]
    header = (f"{advice.objective.metric},\nseed {seed}", AS_IS, ROBUST)
    return [
        text.table(header, rows),
        *_wrapped(
            "The best of many trials is partly luck with its random numbers; this is without."
        ),
    ]


def _dominance(advice: Candidates) -> list[str]:
    rows = []
    for case in advice.cases:
        for part in advice.parts:
            if part.case == case.name:
                rows.append(_part(part))
    header = (
        "slowest flows' time", "settings", "sending", "link\nstopped", "rate\nbelow link",
        "the rest", "dominates",
    )  # fmt: skip
    return [
        text.table(header, rows, left=2),
        *_wrapped(
            "Of the five slowest flows of one run. Link stopped: pauses at their own hosts. Rate "
            "below link: what marks cost them. The rest: queues, pauses inside the network, others "
            "of their hosts, retransmissions."
        ),
    ]


def _part(part: Part) -> list[str]:
    def share(key: str) -> str:
        value = part.share(key)
        return "-" if value is None else f"{100 * value:.2g} %"

    limited = share("limited_s") if part.sampled else f"{share('limited_s')} sampled"
    return [
        part.case, ROBUST if part.trial else AS_IS, share("sending_s"), share("paused_s"), limited,
        share("rest_s"), part.dominates,
    ]  # fmt: skip


def _left_out(advice: Candidates) -> list[str]:
    out = []
    for name, why in advice.lacking:
        out += _wrapped(f"Case {name} left out: {why}.")
    for what, why in advice.space.kept:
        out += _wrapped(f"Not searched: {what} ({why}).")
    refused = [trial for trial in advice.trials if trial.refused is not None]
    if refused:
        first = str(refused[0].refused).splitlines()[0]
        out += _wrapped(
            f"{text.counted(len(refused), 'trial')} could not be run; trial {refused[0].number}: "
            f"{first}"
        )
    return [*out, ""] if out else []


def _patch(advice: Candidates) -> list[str]:
    if not advice.robust:
        return ["Nothing is to be changed."]
    return [
        "The patch:",
        *(f"  {line}" for line in _short(advice.patch)),
        f"As words of a command: xargs qcnlab run {advice.known['scenario']} "
        f"< {advice.folder}/patch.args",
        "Cases with it:",
        *(f"  {advice.command(case, robust=True)}" for case in advice.cases),
        "Cases as it is:",
        *(f"  {advice.command(case, robust=False)}" for case in advice.cases),
        f"Lines to paste, of {advice.folder}/robust.toml, which is the scenario with the patch:",
        *(f"  {line}" for line in advice.exports),
    ]


def _short(changes: list[str]) -> list[str]:
    """Return changes, with equal ones of several tables in one line.

    >>> _short(["wred.0.k_min=9 KB", "wred.1.k_min=9 KB", "scheme.rp.g=0.01"])
    ['wred.0 to wred.1: k_min = 9 KB', 'scheme.rp.g = 0.01']
    """
    tables: dict[tuple[str, str, str], list[int]] = {}
    for change in changes:
        key, _, value = change.partition("=")
        name, _, last = key.rpartition(".")
        table, _, number = name.rpartition(".")
        known = number.isdecimal()
        tables.setdefault((table if known else name, last, value), []).extend(
            [int(number)] if known else []
        )
    out = []
    for (table, last, value), numbers in tables.items():
        if not numbers:
            out.append(f"{table}.{last} = {value}")
        elif len(numbers) > 1 and numbers == list(range(numbers[0], numbers[-1] + 1)):
            out.append(f"{table}.{numbers[0]} to {table}.{numbers[-1]}: {last} = {value}")
        else:
            out += [f"{table}.{number}.{last} = {value}" for number in numbers]
    return out


def _wrapped(words: str) -> list[str]:
    return textwrap.wrap(words, WIDE)
