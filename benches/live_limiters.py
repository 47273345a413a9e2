"""Compare who paces in live runs, the adapter or the kernel's HTB: `make bench-live-limiters`.

Each experiment is run with both limiters, each with its shortest burst and with one of ten frames,
in turn, so that a machine that others use spoils none of them alone. Writes
`docs/reference/live-limiters.md` and its figure: how far apart frames left beside what their rates
ask for, and what that does to the switch's queue. Takes 7 minutes, and wants a machine that nothing
else uses: runs outside the limits of `docs/concepts/live.md` are labelled, and left out where
others are valid.

    python benches/live_limiters.py [--repeats 3] [--page FILE]
"""

from __future__ import annotations

import argparse
import os
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from live_pages import ROOT, wrapped, written_by

from qcnlab import api, live, plots

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from qcnlab.results import Result

PAGE = ROOT / "docs/reference/live-limiters.md"
IMAGE = ROOT / "docs/img/live-limiters.svg"
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
    scenario: str
    scale: int
    frame: int
    changes: dict[str, str]
    about: str


EXPERIMENTS = (
    Experiment(
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
    return [each for each in results if valid(each)] or results


def valid(result: Result) -> bool:
    """Return whether the timing of a run lies within the limits."""
    return bool(result.meta["live"]["timing"]["valid"])


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
        values = [each.summary["metrics"][name]["median"] for each in counted]
        known = [value / 1e3 for value in values if value is not None]
        return middle(known, 1) if known else "none"

    return (
        variant.limiter,
        str(variant.frames),
        f"{sum(valid(each) for each in results)} of {len(results)}",
        f"{sum(each['frames'] for each in spacings):,}",
        *(middle([each["percentiles"][at] for each in spacings], 2) for at in (1, 50, 99)),
        middle([each["std"] for each in spacings], 2),
        metric("queue_mean_bytes"),
        metric("queue_std_bytes"),
        metric("queue_during_bytes"),
        middle([100 * each.meta["live"]["timing"]["cpu_share"] for each in counted], 0),
    )


def figure(all_runs: dict[str, dict[Variant, list[Result]]]) -> Figure:
    """Draw the distribution of gaps: a plane for each experiment, a line for each variant."""
    from qcnlab.notebook import ShownFigure

    with plots.style():
        drawn = ShownFigure(figsize=(7.2, 3.4), layout="constrained")
        planes = drawn.subplots(1, len(all_runs), sharey=True, squeeze=False)[0]
        for plane, (name, runs) in zip(planes, all_runs.items(), strict=True):
            for number, (variant, results) in enumerate(runs.items()):
                spacing = used(results)[0].meta["live"]["limiter"]["spacing"]
                line = plots.source_style(number)
                plane.plot(spacing["percentiles"], range(101), **line, label=str(variant))
            plane.set_xscale("log")
            plane.set_xlim(0.02, 20)
            plane.set_title(name, fontsize="small")
            plane.set_xlabel("gap / gap at the limiter's rate")
        planes[0].set_ylabel("frames, %")
        planes[-1].legend(loc="lower right", fontsize="x-small")
        every = [each for runs in all_runs.values() for each in runs.values()]
        if not all(any(valid(result) for result in results) for results in every):
            drawn.suptitle(f"{live.INVALID}: not every line has a valid run", x=0.01, ha="left")
        return drawn


def command(experiment: Experiment) -> str:
    """Return the command that repeats a run with HTB."""
    changes = " ".join(f'-s {key}="{value}"' for key, value in experiment.changes.items())
    return (
        f"qcnlab live run {experiment.scenario} --limiter htb --scale {experiment.scale} {changes}"
    )


def outside(result: Result) -> str:
    """Return the first limit that a run passed, and how many more."""
    first, *more = result.meta["live"]["timing"]["reasons"]
    return f"{first}; {len(more)} more" if more else str(first)


def part(experiment: Experiment, runs: dict[Variant, list[Result]]) -> str:
    """Return an experiment's part of the page."""
    table = [HEAD, tuple("---" for _ in HEAD), *(row(*each) for each in runs.items())]
    reasons = [
        f"* {variant}: {outside(used(results)[0])}"
        for variant, results in runs.items()
        if not any(valid(each) for each in results)
    ]
    if reasons:
        label = f"{live.INVALID} of every run of these, so that their rows are not to be relied on:"
        reasons = [label, "", *reasons, ""]
    return "\n".join(
        (
            f"## {experiment.name}",
            "",
            wrapped(experiment.about),
            "",
            *(f"| {' | '.join(line)} |" for line in table),
            "",
            *reasons,
            "```",
            command(experiment),
            "```",
        )
    )


def page(all_runs: dict[str, dict[Variant, list[Result]]], repeats: int, load: float) -> str:
    """Return the page: what, when, on which build and machine, and a part for each experiment."""
    paragraphs = (
        f"{written_by('bench-live-limiters')}, load average {load:.1f} when it began. The law, the "
        "rates and the switch are the same; who paces differs: the adapter in user space, or the "
        "kernel's HTB at the interface of the host's stack ([the limiter of the kernel]"
        "(../concepts/live.md#the-limiter-of-the-kernel)). "
        f"Each was run {repeats} times, the four of an experiment in turn. Medians "
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
    image = "![how far apart frames left](../img/live-limiters.svg)"
    parts = [part(each, all_runs[each.name]) for each in EXPERIMENTS]
    title = "# Who paces: the adapter beside the kernel's HTB"
    why = "takes minutes, and namespaces and TAP; `make bench-live-limiters` runs them"
    marker = f"<!-- no block of this page is run: {why} -->"
    return "\n\n".join([title, marker, words, image, *parts]) + "\n"


def main() -> None:
    """Run, and write the page and its figure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3, help="runs of each (default 3)")
    parser.add_argument("--page", type=Path, default=PAGE, help="write the page here")
    parser.add_argument("--figure", type=Path, default=IMAGE, help="draw the figure here")
    options = parser.parse_args()
    load = os.getloadavg()[0]
    all_runs: dict[str, dict[Variant, list[Any]]] = {}
    for experiment in EXPERIMENTS:
        runs: dict[Variant, list[Any]] = {variant: [] for variant in VARIANTS}
        for seed in range(options.repeats):
            for variant in VARIANTS:
                runs[variant].append(run(experiment, variant, seed))
        all_runs[experiment.name] = runs
        print(part(experiment, runs), flush=True)
    plots.save(figure(all_runs), options.figure)
    options.page.write_text(page(all_runs, options.repeats, load), encoding="utf-8")


if __name__ == "__main__":
    main()
