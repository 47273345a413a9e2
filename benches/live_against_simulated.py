"""Run the decks' experiments live and simulated at the same scale: `make bench-live-decks`.

Writes `docs/reference/live.md` with the tables, and a figure of each experiment into `docs/img`.
Takes 15 minutes at most, and wants a machine that nothing else uses: live runs outside the limits
of `docs/concepts/live.md` are left out, with the reasons, and repeated as it says there.

    python benches/live_against_simulated.py [NAME ...] [--valid 2] [--tries 8] [--minutes 13]

With names only these experiments are run; of the others the page keeps what was measured before.
"""

from __future__ import annotations

import argparse
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
    when_and_where,
    wrapped,
)

from qcnlab import api, live, plots, text
from qcnlab.live import comparing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qcnlab.results import Result

PAGE = ROOT / "docs/reference/live.md"
IMAGES = ROOT / "docs/img"
REPS = 30
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


# Nine adapters and a switch on one core want more time for a frame than 100 Mb/s leave.
SCALE_OF_NINE = 500
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
    "first one of 1 s, which are 0.4 and 2 ms of the scenario's time, are simulated, too."
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
    )


EXPERIMENTS = (
    Experiment(
        "deck001",
        "Deck 001, two sources at a hotspot",
        "og-hotspot-2src-10g-to-500m-rtt10us",
        200,
        {
            "warmup": "30 ms",
            "hotspot.from": "60 ms",
            "hotspot.until": "140 ms",
            "duration": "300 ms",
        },
        "Two UDP sources, 10 Gb/s that fall to 0.5 Gb/s. The hotspot is shortened from 1 s to "
        "80 ms.",
    ),
    *(
        Experiment(
            name,
            heading,
            scenario,
            800,
            {
                "warmup": "5 ms",
                "hotspot.from": "15 ms",
                "hotspot.until": "35 ms",
                "duration": "100 ms",
                "clock_tolerance_ppm": 100,
            },
            "One UDP source of 312-octet frames through two switches, 10 Gb/s shaped to 1 Gb/s for "
            "20 ms in place of 2 s. So many small frames want a scale of 800. The source fills its "
            "link, so that what waits at rest depends on whose clock is faster: on both sides "
            "clocks are up to 100 millionths off, as 802.3 allows, and drawn for each run.",
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
    result = live.run(scenario, scale=experiment.scale, seed=scenario.seed + before)
    verdict = "valid" if is_valid(result) else f"{live.INVALID}: {outside(result)}"
    print(f"{experiment.name}, run {before + 1}: {verdict}", flush=True)
    return result


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
    there = [parts[each.heading] for each in EXPERIMENTS if each.heading in parts]
    return "\n\n".join([head, *there]) + "\n"


def main() -> None:
    """Run all experiments, or those named, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="; ".join(each.name for each in EXPERIMENTS))
    rule_options(parser)
    options = parser.parse_args()
    wanted = chosen(EXPERIMENTS, options.names)
    rule = Rule(options.valid, options.tries, options.minutes)
    when = when_and_where()
    runs = run_in_turn(wanted, run_live, is_valid, rule)
    parts = parts_of(PAGE.read_text(encoding="utf-8")) if PAGE.exists() else {}
    for experiment in wanted:
        both = compare(experiment, runs[experiment])
        plots.save(both.figure(), IMAGES / f"live-{experiment.name}.svg")
        print(f"{experiment.heading}\n{both.table()}\n", flush=True)
        before = counts_of(parts.get(experiment.heading, ""))
        parts[experiment.heading] = part(experiment, both, when, before)
    PAGE.write_text(page(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
