"""Compare who paces in live runs, the adapter or the kernel's HTB: `make bench-live-limiters`.

Each experiment is run with both limiters, each with its shortest burst and with one of ten frames,
in turn, so that a machine that others use spoils none of them alone. Writes
`docs/reference/live-limiters.md` and its figures: how far apart frames left beside what their rates
ask for, and what that does to the switch's queue. Takes 15 minutes at most, and wants a machine
that nothing else uses: runs outside the limits of `docs/concepts/live.md` are counted, left out
where others are valid, and repeated as it says there.

    python benches/live_limiters.py [NAME ...] [--valid 2] [--tries 8] [--minutes 13] [--page FILE]

With names only these experiments are run; of the others the page keeps what was measured before.
"""

from __future__ import annotations

import argparse
import os
import statistics
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

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

from qcnlab import api, live
from qcnlab.figures import plots

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from qcnlab.results.result import Result

PAGE = ROOT / "docs/reference/live-limiters.md"
IMAGES = ROOT / "docs/img"
HEAD = (
    "limiter", "burst, frames", "valid runs", "frames", "gap at 1 %", "50 %", "99 %", "std of gaps",
    "queue, KB", "std of queue, KB", "queue in the hotspot, KB", "CPU, %",
)  # fmt: skip
BURST = 10
"""Frames of the longer burst."""


@dataclass(frozen=True)
class Experiment:
    """A scenario, shortened so that it can be run live eight times or more."""

    name: str
    heading: str
    scenario: str
    scale: int
    frame: int
    changes: dict[str, str] = field(hash=False)
    about: str

    @property
    def image(self) -> str:
        """Return the name of its figure."""
        return f"live-limiters-{self.name}.svg"


EXPERIMENTS = (
    Experiment(
        "deck001",
        "Deck 001, two sources at a hotspot",
        "og-hotspot-2src-10g-to-500m-rtt10us",
        100,
        1500,
        {
            "warmup": "20 ms",
            "hotspot.from": "70 ms",
            "hotspot.until": "100 ms",
            "duration": "130 ms",
        },
        "Two sources of 1500-octet frames share a link of 100 Mb/s, which serves 5 Mb/s for 3 s.",
    ),
    Experiment(
        "deck002-card",
        "Deck 002, feedback in the card",
        "one-source-two-switches-nic-feedback-10g-to-1g",
        400,
        312,
        {
            "warmup": "5 ms",
            "hotspot.from": "20 ms",
            "hotspot.until": "40 ms",
            "duration": "60 ms",
        },
        "One source of 312-octet frames on links of 25 Mb/s, of which one serves 2.5 Mb/s for 8 s: "
        "the deck puts its unsteady queue down to the card's limiter.",
    ),
)


@dataclass(frozen=True)
class Variant:
    """Who paces, and how many frames may follow each other at once."""

    limiter: Literal["adapter", "htb"]
    frames: int

    def __str__(self) -> str:
        """Return both, in words."""
        return f"{self.limiter}, {self.frames} frame{'s' if self.frames > 1 else ''}"


VARIANTS = tuple(
    Variant(limiter, frames) for frames in (1, BURST) for limiter in ("adapter", "htb")
)


def run(experiment: Experiment, variant: Variant, seed: int) -> Result:
    """Run an experiment once."""
    changes = dict(experiment.changes)
    if variant.frames > 1:
        changes["adapter.burst"] = f"{variant.frames * experiment.frame} B"
    scenario = api.load(experiment.scenario).with_(changes)
    result = live.run(
        scenario, scale=experiment.scale, limiter=variant.limiter, seed=scenario.seed + seed
    )
    timing = result.meta["live"]["timing"]
    print(f"{experiment.name}; {variant}: {timing['label'] or 'valid'}", flush=True)
    return result


def used(results: list[Result]) -> list[Result]:
    """Return the runs whose timing is valid, or all where none is."""
    return [each for each in results if is_valid(each)] or results


def middle(values: list[float], digits: int) -> str:
    """Return a median with the least and the most."""
    if len(values) == 1:
        return f"{values[0]:.{digits}f}"
    median, least, most = statistics.median(values), min(values), max(values)
    return f"{median:.{digits}f} [{least:.{digits}f}..{most:.{digits}f}]"


def row(variant: Variant, results: list[Result]) -> tuple[str, ...]:
    """Return a variant's row: medians [least..most] of the runs that count."""
    counted = used(results)
    spacings = [each.meta["live"]["limiter"]["spacing"] for each in counted]

    def metric(name: str) -> str:
        values = [each.summary.metrics[name].median for each in counted]
        known = [value / 1e3 for value in values if value is not None]
        return middle(known, 1) if known else "none"

    return (
        variant.limiter,
        str(variant.frames),
        f"{sum(map(is_valid, results))} of {len(results)}",
        f"{sum(each['frames'] for each in spacings):,}",
        *(middle([each["percentiles"][at] for each in spacings], 2) for at in (1, 50, 99)),
        middle([each["std"] for each in spacings], 2),
        metric("queue_mean_bytes"),
        metric("queue_std_bytes"),
        metric("queue_during_bytes"),
        middle([100 * each.meta["live"]["timing"]["cpu_share"] for each in counted], 0),
    )


def figure(experiment: Experiment, runs: dict[Variant, list[Result]]) -> Figure:
    """Draw the distribution of gaps: a line for each variant."""
    from qcnlab.figures.notebook import ShownFigure

    with plots.style():
        drawn = ShownFigure(figsize=(7.2, 3.4), layout="constrained")
        plane = drawn.subplots()
        for number, (variant, results) in enumerate(runs.items()):
            spacing = used(results)[0].meta["live"]["limiter"]["spacing"]
            line = plots.source_style(number)
            plane.plot(spacing["percentiles"], range(101), **line, label=str(variant))
        plane.set_xscale("log")
        plane.set_xlim(0.02, 20)
        plane.set_title(experiment.heading, fontsize="small")
        plane.set_xlabel("gap / gap at the limiter's rate")
        plane.set_ylabel("frames, %")
        plane.legend(loc="lower right", fontsize="x-small")
        if not all(any(map(is_valid, results)) for results in runs.values()):
            drawn.suptitle(f"{live.INVALID}: not every line has a valid run", x=0.01, ha="left")
        return drawn


def command(experiment: Experiment) -> str:
    """Return the command that repeats a run with HTB."""
    changes = " ".join(f'-s {key}="{value}"' for key, value in experiment.changes.items())
    return (
        f"qcnlab live run {experiment.scenario} --limiter htb --scale {experiment.scale} {changes}"
    )


def part(
    experiment: Experiment,
    runs: dict[Variant, list[Result]],
    when: str,
    before: Sequence[str] = (),
) -> str:
    """Return an experiment's part of the page; `before` are the counts of earlier measurements."""
    table = [HEAD, tuple("---" for _ in HEAD), *(row(*each) for each in runs.items())]
    reasons = [
        f"* {variant}: {outside(used(results)[0])}"
        for variant, results in runs.items()
        if not any(map(is_valid, results))
    ]
    if reasons:
        label = f"{live.INVALID} of every run of these, so that their rows are not to be relied on:"
        reasons = [label, "", *reasons, ""]
    every = [each for results in runs.values() for each in results]
    return "\n".join(
        (
            f"## {experiment.heading}",
            "",
            wrapped(experiment.about),
            "",
            f"![how far apart frames left](../img/{experiment.image})",
            "",
            *(f"| {' | '.join(line)} |" for line in table),
            "",
            "Measured, the last time as shown:",
            "",
            *before,
            counted_by(when, every),
            "",
            *reasons,
            "```",
            command(experiment),
            "```",
        )
    )


def page(parts: dict[str, str]) -> str:
    """Return the page: what it is, and the parts by their headings, those that there are."""
    paragraphs = (
        "Written by `make bench-live-limiters`; each part says when it was measured. The law, the "
        "rates and the switch are the same; who paces differs: the adapter in user space, or the "
        "kernel's HTB at the interface of the host's stack ([the limiter of the kernel]"
        "(../concepts/live.md#the-limiter-of-the-kernel)). "
        "The four of an experiment were run in turn ([how often a run is made]"
        "(../concepts/live.md#how-often-a-run-is-made)). Medians "
        "[least..most] of the runs with valid timing, or of all where none has it.",
        "A gap is the time from one frame of a limiter to the next, when both were put on the "
        "link, divided by the time that the rate asks for: 1 is a frame that leaves when the law "
        "says, 0 one that follows at once. Frames count while the reaction point limits, its rate "
        "stays, and another one waits. At `1 %` one frame of a hundred came closer.",
        f"A burst of {BURST} frames is `[adapter] burst`. The adapter lets so many octets go back "
        "to back and then waits for all of them. HTB saves up so many while it is late or has "
        "nothing to send, and goes on at the rate.",
    )
    words = "\n\n".join(wrapped(each) for each in paragraphs)
    there = [parts[each.heading] for each in EXPERIMENTS if each.heading in parts]
    title = "# Who paces: the adapter beside the kernel's HTB"
    why = "takes minutes, and namespaces and TAP; `make bench-live-limiters` runs them"
    marker = f"<!-- no block of this page is run: {why} -->"
    return "\n\n".join([title, marker, words, *there]) + "\n"


def main() -> None:
    """Run all experiments, or those named, and write the page and the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="; ".join(each.name for each in EXPERIMENTS))
    rule_options(parser)
    parser.add_argument("--page", type=Path, default=PAGE, help="write the page here")
    parser.add_argument("--figures", type=Path, default=IMAGES, help="draw the figures here")
    options = parser.parse_args()
    wanted = chosen(EXPERIMENTS, options.names)
    rule = Rule(options.valid, options.tries, options.minutes)
    when = f"{when_and_where()}, load average {os.getloadavg()[0]:.1f} when it began"
    pairs = [(experiment, variant) for experiment in wanted for variant in VARIANTS]
    runs = run_in_turn(pairs, lambda pair, before: run(*pair, before), is_valid, rule)
    page_before = options.page.read_text(encoding="utf-8") if options.page.exists() else ""
    parts = parts_of(page_before)
    for experiment in wanted:
        own = {variant: runs[experiment, variant] for variant in VARIANTS}
        plots.save(figure(experiment, own), options.figures / experiment.image)
        before = counts_of(parts.get(experiment.heading, ""))
        parts[experiment.heading] = part(experiment, own, when, before)
        print(parts[experiment.heading], flush=True)
    options.page.write_text(page(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
