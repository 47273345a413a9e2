"""Run the decks' experiments live and simulated at the same scale: `make bench-live-decks`.

Writes `docs/reference/live.md` with the tables, and a figure of each experiment into `docs/img`.
Takes 7 minutes, 14 where each live run has to be made twice, and wants a machine that nothing else
uses: live runs outside the limits of `docs/concepts/live.md` are left out, with the reasons.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass

from live_pages import ROOT, wrapped, written_by

from qcnlab import api, plots, text
from qcnlab.live import comparing

PAGE = ROOT / "docs/reference/live.md"
IMAGES = ROOT / "docs/img"
REPS = 30


@dataclass(frozen=True)
class Experiment:
    """A scenario, shortened so that it can be run live, and why."""

    name: str
    heading: str
    scenario: str
    scale: int
    live_reps: int
    changes: dict[str, str]
    about: str


# Nine adapters and a switch on one core want more time for a frame than 100 Mb/s leave.
SCALE_OF_NINE = 500
KERNEL = {
    "traffic.flavour": "newreno",
    "traffic.min_rto": f"{200_000 // SCALE_OF_NINE} us",
    "traffic.initial_rto": f"{1_000_000 // SCALE_OF_NINE} us",
    "traffic.max_rto": f"{120_000 // SCALE_OF_NINE} ms",
}
NINE = (
    "Nine TCP connections at a hotspot of 2 Gb/s, shortened to 40 ms. Live it is the TCP of "
    "Linux, with NewReno; the kernel's least timeout of 200 ms and first one of 1 s are 0.4 "
    "and 2 ms of the scenario's time, and simulated as such."
)


def nine(kind: str, words: str) -> Experiment:
    """Return deck 003's experiment with one kind of switch."""
    changes = {
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
        1,
        changes,
        NINE,
    )


EXPERIMENTS = (
    Experiment(
        "deck001",
        "Deck 001, two sources at a hotspot",
        "og-hotspot-2src-10g-to-500m-rtt10us",
        200,
        2,
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
            1,
            {
                "warmup": "5 ms",
                "hotspot.from": "15 ms",
                "hotspot.until": "35 ms",
                "duration": "100 ms",
            },
            "One UDP source of 312-octet frames through two switches, 10 Gb/s shaped to 1 Gb/s for "
            "20 ms in place of 2 s. So many small frames want a scale of 800.",
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


def command(experiment: Experiment) -> str:
    """Return the command that repeats an experiment."""
    changes = " ".join(f'-s {key}="{value}"' for key, value in experiment.changes.items())
    return (
        f"qcnlab live compare {experiment.scenario} --scale {experiment.scale} "
        f"--live-reps {experiment.live_reps} {changes}"
    )


def run(experiment: Experiment) -> str:
    """Run an experiment, draw its figure, and return its part of the page."""
    scenario = api.load(experiment.scenario).with_(experiment.changes)
    both = comparing.compare(
        scenario, scale=experiment.scale, reps=REPS, live_reps=experiment.live_reps
    )
    image = plots.save(both.figure(), IMAGES / f"live-{experiment.name}.svg")
    print(f"{experiment.heading}\n{both.table()}\n", flush=True)
    rows = []
    for row in both.rows():
        cells = (f"`{row['metric']}`", row["unit"], shown(row, "simulated"), shown(row, "live"))
        rows.append(f"| {' | '.join([*cells, ratio(row)])} |")
    lines = [
        f"## {experiment.heading}",
        "",
        wrapped(experiment.about),
        "",
        f"![live and simulated](../img/{image.name})",
        "",
        "| metric | unit | simulated | live | live / simulated |",
        "|---|---|---|---|---|",
        *rows,
        "",
        *outside(both),
        "```",
        command(experiment),
        "```",
    ]
    return "\n".join(lines)


def outside(both: comparing.Comparison) -> list[str]:
    """Return of how many runs the medians are, and why others are outside the limits."""
    words = both.runs_text().replace("\n", " ").rstrip(".").replace("medians", "Medians", 1)
    return [wrapped(f"{words}."), "", *(f"* {reason}" for reason in both.reasons()), ""]


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


def head(left_out: list[Experiment]) -> str:
    """Return the page's head: what, when, on which build and machine, and what was not run."""
    paragraph = (
        f"{written_by('bench-live-decks')}. Both sides "
        "have the same scenario at the same scale, with times stretched and rates shrunk by one "
        "factor ([what is real and what is not](../concepts/live.md)). Medians [least..most] over "
        "replications; live runs outside the timing limits are left out, and counted. Times in "
        "the tables are those of the slowed scenario, the axes of figures those of the scenario "
        "itself."
    )
    if left_out:
        missing = "; ".join(each.heading for each in left_out)
        paragraph += f" Not run this time: {missing}."
    why = "takes minutes, and namespaces and TAP; `make bench-live-decks` runs them"
    marker = f"<!-- no block of this page is run: {why} -->"
    return f"# Live runs beside simulated ones\n\n{marker}\n\n{wrapped(paragraph)}"


def main() -> None:
    """Run all experiments, or those named, and write the page of these."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="; ".join(each.name for each in EXPERIMENTS))
    names = parser.parse_args().names
    unknown = set(names) - {each.name for each in EXPERIMENTS}
    if unknown:
        sys.exit(f"no experiment {', '.join(sorted(unknown))}")
    chosen = [each for each in EXPERIMENTS if not names or each.name in names]
    left_out = [each for each in EXPERIMENTS if each not in chosen]
    parts = [run(each) for each in chosen]
    PAGE.write_text("\n\n".join([head(left_out), *parts]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
