"""Run the decks' experiments live and simulated at the same scale: `make bench-live-decks`.

Writes `docs/reference/live.md` with the tables, and a figure of each experiment into `docs/img`.
Takes 15 minutes at most, and wants a machine that nothing else uses: live runs outside the limits
of `docs/concepts/live.md` are left out, with the reasons, and repeated as it says there.

    python benches/live_against_simulated.py [NAME ...] [--valid 2] [--tries 8] [--minutes 13]

With names only these experiments are run; of the others the page keeps what was measured before.
"""

from __future__ import annotations

import argparse
import statistics
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from live_pages import (
    ROOT,
    Rule,
    chosen,
    counted_by,
    counts_of,
    is_valid,
    outside,
    parts_of,
    rule_options,
    run_in_turn,
    stood_still,
    when_and_where,
    with_load,
    wrapped,
)

from qcnlab import api, live
from qcnlab.figures import plots
from qcnlab.live import comparing
from qcnlab.printing import text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qcnlab.results.result import Result

PAGE = ROOT / "docs/reference/live.md"
IMAGES = ROOT / "docs/img"
REPS = 30
SHARES = "Valid runs by scale"
CLOSE = 0.1
"""How far apart two medians may lie and still count as close."""


@dataclass(frozen=True)
class Experiment:
    """A scenario, shortened so that it can be run live, and why."""

    name: str
    heading: str
    scenario: str
    scale: int
    changes: dict[str, str | int] = field(hash=False)
    about: str
    other_scales: tuple[int, ...] = ()
    """Scales at which the share of valid runs is found, too."""


# Nine adapters and a switch on one core want more time for a frame than 100 Mb/s leave.
SCALE_OF_NINE = 250
KERNEL: dict[str, str | int] = {
    "traffic.flavour": "newreno",
    "traffic.initial_window": 10,
    "traffic.min_rto": f"{200_000 // SCALE_OF_NINE} us",
    "traffic.initial_rto": f"{1_000_000 // SCALE_OF_NINE} us",
    "traffic.max_rto": f"{120_000 // SCALE_OF_NINE} ms",
}
NINE = (
    "Nine TCP connections at a hotspot of 2 Gb/s, shortened to 40 ms. Live it is the TCP of "
    "Linux, with NewReno; its initial window of 10 segments, its least timeout of 200 ms and its "
    "first one of 1 s, which are 0.8 and 4 ms of the scenario's time, are simulated, too."
)


def nine(kind: str, words: str) -> Experiment:
    """Return deck 003's experiment with one kind of switch."""
    changes: dict[str, str | int] = {
        "warmup": "20 ms",
        "hotspot.from": "40 ms",
        "hotspot.until": "80 ms",
        "duration": "180 ms",
        **KERNEL,
    }
    return Experiment(
        f"deck003-{kind}",
        f"Deck 003, {words}",
        f"tcp-9-senders-{kind}-rtt25us",
        SCALE_OF_NINE,
        changes,
        NINE,
        (125,) if kind == "qcn" else (),
    )


EXPERIMENTS = (
    Experiment(
        "deck001",
        "Deck 001, two sources at a hotspot",
        "og-hotspot-2src-10g-to-500m-rtt10us",
        100,
        {
            "warmup": "30 ms",
            "hotspot.from": "60 ms",
            "hotspot.until": "140 ms",
            "duration": "300 ms",
        },
        "Two UDP sources, 10 Gb/s that fall to 0.5 Gb/s. The hotspot is shortened from 1 s to "
        "80 ms.",
        (50,),
    ),
    *(
        Experiment(
            name,
            heading,
            scenario,
            400,
            {
                "warmup": "5 ms",
                "hotspot.from": "15 ms",
                "hotspot.until": "35 ms",
                "duration": "100 ms",
                "clock_tolerance_ppm": 100,
            },
            "One UDP source of 312-octet frames through two switches, 10 Gb/s shaped to 1 Gb/s for "
            "20 ms in place of 2 s. So many small frames want a scale of 400. The source fills its "
            "link, so that what waits at rest depends on whose clock is faster: on both sides "
            "clocks are up to 100 millionths off, as 802.3 allows, and drawn for each run.",
            (200,),
        )
        for name, heading, scenario in (
            ("deck002", "Deck 002, feedback at the switch", "one-source-two-switches-10g-to-1g"),
            (
                "deck002-card",
                "Deck 002, feedback in the card",
                "one-source-two-switches-nic-feedback-10g-to-1g",
            ),
        )
    ),
    nine("plain", "TCP alone"),
    nine("pause", "PAUSE"),
    nine("qcn", "QCN"),
    nine("qcn-and-pause", "QCN and PAUSE"),
)


def scenario_of(experiment: Experiment) -> api.Scenario:
    """Return an experiment's scenario, shortened."""
    return api.load(experiment.scenario).with_(experiment.changes)


def command(experiment: Experiment) -> str:
    """Return the command that repeats an experiment."""
    changes = " ".join(f'-s {key}="{value}"' for key, value in experiment.changes.items())
    return f"qcnlab live compare {experiment.scenario} --scale {experiment.scale} {changes}"


def run_live(experiment: Experiment, before: int) -> Result:
    """Run an experiment live, each time with another seed, and tell of it."""
    scenario = scenario_of(experiment)
    return run_at(experiment, experiment.scale, scenario, before)


def run_at(experiment: Experiment, scale: int, scenario: api.Scenario, before: int) -> Result:
    """Run an experiment live at a scale, and tell of it."""
    result = with_load(lambda: live.run(scenario, scale=scale, seed=scenario.seed + before))
    verdict = "valid" if is_valid(result) else f"{live.INVALID}: {outside(result)}"
    said = f"{experiment.name} at {scale}, run {before + 1}: {verdict}; {stood_still(result)}"
    print(said, flush=True)
    return result


def shares(
    runs: dict[Experiment, list[Result]], rounds: int, last: float, before: Sequence[str]
) -> str:
    """Return the part that counts valid runs by scale; other scales are tried until `last`.

    `before` are the rows of experiments that were not run now.
    """
    by_scale = {(each, each.scale): made for each, made in runs.items()}
    for number in range(rounds):
        for each in runs:
            for scale in each.other_scales:
                if time.monotonic() < last:
                    made = by_scale.setdefault((each, scale), [])
                    made.append(run_at(each, scale, scenario_of(each), number))
    rows = [row for row in before if row.split("|")[1].strip(" `") not in {e.name for e in runs}]
    for (each, scale), made in by_scale.items():
        timings = [run.meta["live"]["timing"] for run in made]
        stops = [timing["clock_stopped"] for timing in timings]
        most = max(stop["longest_ms"] for stop in stops)
        total = statistics.median(100 * stop["share"] for stop in stops)
        cpu = statistics.median(100 * timing["cpu_share"] for timing in timings)
        others = statistics.median(100 * run.meta["live"]["others_share"] for run in made)
        cells = (
            f"`{each.name}`",
            str(scale),
            f"{sum(map(is_valid, made))} of {len(made)}",
            f"{cpu:.0f} %",
            f"{others:.0f} %",
            f"{total:.2f} %",
            f"{most:.1f} ms",
        )
        rows.append(f"| {' | '.join(cells)} |")
    order = [each.name for each in EXPERIMENTS]
    rows.sort(key=lambda row: order.index(row.split("|")[1].strip(" `")))
    head = (
        "| experiment | scale | valid runs | CPU of all loops | CPU of others | stood still | "
        "longest stop |"
    )
    words = (
        "The last measurement, by scale. CPU of all loops is a share of the core that they have "
        "together, CPU of others one of all CPUs. `stood still` is the share of a run in which "
        "the machine did, and the run's clock with it ([why]"
        "(../concepts/live.md#when-the-machine-stands-still)). Medians, but for the longest stop."
    )
    lines = [f"## {SHARES}", "", wrapped(words), "", head, "|---|---|---|---|---|---|---|", *rows]
    return "\n".join(lines)


def rows_of(part: str) -> list[str]:
    """Return the rows of the table of shares."""
    return [line for line in part.splitlines() if line.startswith("| `")]


def compare(experiment: Experiment, runs: list[Result]) -> comparing.Comparison:
    """Simulate an experiment, and hold its live runs against that."""
    slow = live.slowed(scenario_of(experiment), experiment.scale)
    return comparing.Comparison(api.run(slow, reps=REPS), runs, experiment.scale)


def part(
    experiment: Experiment, both: comparing.Comparison, when: str, before: Sequence[str]
) -> str:
    """Return an experiment's part of the page; `before` are the counts of earlier measurements."""
    rows = both.rows()
    table = [
        (f"`{row['metric']}`", row["unit"], shown(row, "simulated"), shown(row, "live"), ratio(row))
        for row in rows
    ]
    words = both.runs_text().replace("\n", ". ").rstrip(".").replace("medians", "Medians", 1)
    reasons = [
        f"* run {number}: {outside(run)}"
        for number, run in enumerate(both.live, 1)
        if not is_valid(run)
    ]
    still = [f"* run {number}: {stood_still(run)}" for number, run in enumerate(both.live, 1)]
    lines = [
        f"## {experiment.heading}",
        "",
        wrapped(experiment.about),
        "",
        f"![live and simulated](../img/live-{experiment.name}.svg)",
        "",
        "| metric | unit | simulated | live | live / simulated |",
        "|---|---|---|---|---|",
        *(f"| {' | '.join(cells)} |" for cells in table),
        "",
        wrapped(f"{words}. {apart(rows)}"),
        "",
        "Measured, the last time as shown:",
        "",
        *before,
        counted_by(when, both.live),
        "",
        *(["Outside the limits of timing:", "", *reasons, ""] if reasons else []),
        "The machine, in each run:",
        "",
        *still,
        "",
        "```",
        command(experiment),
        "```",
    ]
    return "\n".join(lines)


def apart(rows: Sequence[dict[str, Any]]) -> str:
    """Return in words which medians lie further apart than 10 %, and whether within the spread."""
    inside, beyond = [], []
    for row in rows:
        middle, value = row["simulated"], row["live"]
        if middle is None or value is None or abs(value - middle) <= CLOSE * middle:
            continue
        within = row["simulated_min"] <= value <= row["simulated_max"]
        (inside if within else beyond).append(f"`{row['metric']}`")
    said = []
    if inside:
        said.append(f"More than 10 % apart, but within the simulated spread: {', '.join(inside)}.")
    if beyond:
        said.append(f"More than 10 % apart and outside that spread: {', '.join(beyond)}.")
    return " ".join(said or ["No two medians lie more than 10 % apart."])


def shown(row: dict[str, object], which: str) -> str:
    """Return a median with its spread."""
    values = [row[which], row[f"{which}_min"], row[f"{which}_max"]]
    if values[0] is None:
        return "none"
    middle, low, high = (text.number(float(value), 4) for value in values)  # type: ignore[arg-type]
    return middle if low == high else f"{middle} [{low}..{high}]"


def ratio(row: dict[str, object]) -> str:
    """Return the ratio of the medians, if both are of all runs."""
    return "-" if row["ratio"] is None else f"{row['ratio']:.2f}"


def page(parts: dict[str, str]) -> str:
    """Return the page: what it is, and the parts by their headings, those that there are."""
    paragraph = (
        "Written by `make bench-live-decks`; each part says when it was measured. Both sides "
        "have the same scenario at the same scale, with times stretched and rates shrunk by one "
        "factor ([what is real and what is not](../concepts/live.md)). Medians [least..most] over "
        "replications; live runs outside the timing limits are left out, and counted: [how often "
        "a run is made](../concepts/live.md#how-often-a-run-is-made). Times in "
        "the tables are those of the slowed scenario, the axes of figures those of the scenario "
        "itself."
    )
    missing = [each.heading for each in EXPERIMENTS if each.heading not in parts]
    if missing:
        paragraph += f" Not measured yet: {'; '.join(missing)}."
    why = "takes minutes, and namespaces and TAP; `make bench-live-decks` runs them"
    marker = f"<!-- no block of this page is run: {why} -->"
    head = f"# Live runs beside simulated ones\n\n{marker}\n\n{wrapped(paragraph)}"
    headings = [*(each.heading for each in EXPERIMENTS), SHARES]
    there = [parts[heading] for heading in headings if heading in parts]
    return "\n\n".join([head, *there]) + "\n"


def main() -> None:
    """Run all experiments, or those named, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="; ".join(each.name for each in EXPERIMENTS))
    rule_options(parser)
    parser.add_argument(
        "--rounds", type=int, default=1, help="runs at each of the other scales (1)"
    )
    options = parser.parse_args()
    wanted = chosen(EXPERIMENTS, options.names)
    rule = Rule(options.valid, options.tries, options.minutes)
    when = when_and_where()
    last = time.monotonic() + 60 * rule.minutes
    runs = run_in_turn(wanted, run_live, is_valid, rule)
    parts = parts_of(PAGE.read_text(encoding="utf-8")) if PAGE.exists() else {}
    for experiment in wanted:
        both = compare(experiment, runs[experiment])
        plots.save(both.figure(), IMAGES / f"live-{experiment.name}.svg")
        print(f"{experiment.heading}\n{both.table()}\n", flush=True)
        before = counts_of(parts.get(experiment.heading, ""))
        parts[experiment.heading] = part(experiment, both, when, before)
    parts[SHARES] = shares(runs, options.rounds, last, rows_of(parts.get(SHARES, "")))
    PAGE.write_text(page(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
