"""Set every scheme the same tasks and write the tables: `make bench-schemes`.

Writes the part of `docs/concepts/qcn-and-its-descendants-in-one-hotspot.md` below its mark. Numbers
follow from the scenarios and the seed; the machine decides only how long it takes.

    python benches/schemes_side_by_side.py [KEY ...] [--reps 6] [--missing]

With keys of `TASKS` their tables are printed, and the page stays as it is. With `--missing` only
rows run that the page does not have yet, as a new scheme's.
"""

from __future__ import annotations

import argparse
import textwrap
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from qcnlab import api
from qcnlab.errors import ScenarioError
from qcnlab.printing import markup, text
from qcnlab.runs import endings, intervals

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qcnlab.results.result import Result

PAGE = (
    Path(__file__).resolve().parent.parent
    / "docs/concepts/qcn-and-its-descendants-in-one-hotspot.md"
)
MARK = "<!-- Below this line `make bench-schemes` writes. -->"
REPS = 6
"""So many values an interval of 95 % takes at least."""
SEED = 1
Cells = dict[str, list[str]]
"""The cells of a task by the label of their row."""
OPERATION = "operation"
"""The time of a collective operation, which is no metric of `qcnlab list metrics`."""


@dataclass(frozen=True)
class Row:
    """A scheme with a preset, and what speaks for that preset."""

    scheme: str
    preset: str
    why: str

    @property
    def label(self) -> str:
        """What the row is called: the scheme, and the preset where a scheme has two rows."""
        twice = sum(row.scheme == self.scheme for row in ROWS) > 1
        return f"{self.scheme} {self.preset}" if twice else self.scheme

    @property
    def settings(self) -> tuple[str, ...]:
        """The keys that a run of this row sets."""
        return f"scheme.name={self.scheme}", f"scheme.preset={self.preset}"


@dataclass(frozen=True)
class Column:
    """A metric, its heading, and how many of the metric's unit are one of the heading's."""

    metric: str
    heading: str
    unit: float = 1.0


@dataclass(frozen=True)
class Task:
    """A scenario with its settings, and what is told of it; the first column is the headline."""

    key: str
    heading: str
    scenario: str
    settings: tuple[str, ...]
    columns: tuple[Column, ...]
    says: str


ROWS = (
    Row("none", "DEFAULT", "no control; PFC or losses alone"),
    Row("ecm", "DECK001", "its deck, for 10 Gb/s"),
    Row("qcn", "DECK001", "its deck, for 10 Gb/s"),
    Row("dctcp", "SIGCOMM2010", "its authors, scaled from 10 Gb/s"),
    Row("dctcp", "HPCC_SIMULATOR", "HPCC's authors, for 100 Gb/s"),
    Row("dcqcn", "SIGCOMM2015", "its authors, for 40 Gb/s"),
    Row("dcqcn", "HPCC_SIMULATOR", "HPCC's authors, for 100 Gb/s"),
    Row("timely", "SIGCOMM2015", "its authors, scaled from 10 Gb/s"),
    Row("timely", "CONEXT2016", "patched, as its critics published it"),
    Row("timely", "HPCC_SIMULATOR", "HPCC's authors, for 100 Gb/s"),
    Row("pcn", "NSDI2020", "an account of its paper"),
    Row("bfc", "PYRRHA_NS3", "the simulator of another scheme; the number of queues is ours"),
    Row("sfc", "OURS_100G", "ours: nothing is public"),
    Row("qcz", "IEEE_8021QCZ", "its standard; the threshold is ours"),
    Row("hpcc", "SIGCOMM2019", "its authors, for 100 Gb/s"),
    Row("hpcc_pint", "HPCC_SIMULATOR", "HPCC's authors, for 100 Gb/s"),
    Row("powertcp", "NSDI2022", "its authors"),
    Row("theta_powertcp", "NSDI2022", "its authors"),
    Row("swift", "FALCON_SIMULATOR", "Falcon's simulator; its authors' numbers are not public"),
    Row("nscc", "UET_HTSIM_NO_TRIMMING", "the simulator of its consortium"),
    Row("rccc", "UET_HTSIM", "the simulator of its consortium, for switches that trim"),
)

SLOWDOWN_99 = Column("slowdown_p99", "slowdown, 99 %")
SLOWDOWN = Column("slowdown_mean", "slowdown, mean")
LAST = Column("fct_p99_ms", "last message, ms")
QUEUE_KB = Column("queue_max_bytes", "largest queue, KB", 1e3)
QUEUE_MB = Column("queue_max_bytes", "largest queue, MB", 1e6)
REPEATS = Column("retransmitted", "packets sent again")
PAUSES = Column("pause_frames", "pause frames")
VICTIM = Column("victim_gbps", "victim, Gb/s")
ALL = Column("aggregate_gbps", "all flows, Gb/s")


def _messages(sizes: str, named: str, percent: int) -> Task:
    name, load = f"{named}, {percent} %", f"traffic.load={percent / 100:g}"
    return Task(
        f"{sizes}-{percent}",
        name,
        "fat-tree-web-search-50-percent-100g",
        (f"traffic.sizes={sizes}", load),
        (SLOWDOWN_99, SLOWDOWN, PAUSES),
        f"Messages of {named}'s sizes between random hosts of a fat-tree of 16, at {percent} % of "
        "their links in payload for 5 ms, then until all have completed. A slowdown is a "
        "completion time by what the message would take alone. PFC.",
    )


TASKS = (
    Task(
        "incast-16", "incast 16, ms", "incast-16-to-1-100g", (), (LAST, QUEUE_KB, REPEATS),
        "Sixteen senders of 15 MB each at once; with headers 20.1 ms of the link. A buffer of "
        "32 MiB and no PFC: what overflows is sent again by go-back-N.",
    ),
    Task(
        "incast-255", "incast 255, ms", "incast-255-to-1-100g", (), (LAST, QUEUE_KB, REPEATS),
        "255 senders of 500 KB each at once; with headers 10.7 ms of the link. The same buffer.",
    ),
    Task(
        "all-reduce", "all-reduce, ms", "all-reduce-16-ranks-fat-tree-100g", (),
        (Column(OPERATION, "operation, ms"), PAUSES),
        "Ring all-reduce of 16 MB among 16 ranks in random order on a fat-tree. ECMP puts "
        "several messages of a step on one link. PFC.",
    ),
    Task(
        "all-to-all", "all-to-all, ms", "all-to-all-16-ranks-fat-tree-100g", (),
        (Column(OPERATION, "operation, ms"), PAUSES),
        "Each of the 16 ranks sends 1 MB to each other at once: incasts of 15 to 1 at all "
        "receivers. PFC.",
    ),
    Task(
        "victim", "victim of PFC, Gb/s", "victim-of-pfc-40g", (), (VICTIM, ALL, PAUSES),
        "Six senders to one receiver at 40 Gb/s; the victim crosses no congested port, but shares "
        "links with four of them. Its rate from 5 to 20 ms; 40 Gb/s is all it could have.",
    ),
    Task(
        "link-failure", "link failure, Gb/s", "link-failure-leaf-spine-100g", (),
        (ALL, Column("link_drops", "lost with the link"), REPEATS),
        "Eight pairs over four spines with ECMP; a link fails for 2 of 5 ms, and routes hear of "
        "it after 500 us. The rate of all eight over the whole run.",
    ),
    Task(
        "long-haul", "100 km, ms", "long-haul-100-km-100g", (), (LAST, QUEUE_MB, REPEATS),
        "Four senders of 50 MB each to one receiver 100 km away; with headers 16.8 ms of its link. "
        "The far switch has 64 MB. No PFC, selective repeat.",
    ),
    Task(
        "slow-receiver", "slow receiver, Gb/s", "slow-receiver-leaf-spine-100g", (),
        (VICTIM, ALL, PAUSES),
        "A receiver reads at 25 Gb/s and pauses its link. The victims are four flows to its "
        "neighbour, 25 Gb/s each if nothing stops them: the least of their rates. PFC.",
    ),
    *(_messages("web_search", "WebSearch", percent) for percent in (30, 50, 80)),
    *(_messages("fb_hadoop", "FB_Hadoop", percent) for percent in (30, 50, 80)),
)  # fmt: skip


def scenario_of(task: Task, row: Row) -> api.Scenario:
    """Return what a cell of `task` in `row` runs."""
    return api.load(task.scenario).with_(*task.settings, *row.settings)


def spread(values: Sequence[float | None], unit: float, *, at_least: bool) -> str:
    """Return `median [low..high]`: the interval of 95 %, or the range of too few values.

    >>> spread([1000.0, 3000.0, 2000.0, 2000.0, 4000.0, 2000.0], 1e3, at_least=False)
    '2 [1..4]'
    >>> spread([5.0] * 6, 1, at_least=True)
    '>= 5'
    """
    own = intervals.median_interval(values)
    if own.median is None:
        return "does not apply"
    known = [value for value in values if value is not None]
    low, high = (
        (min(known), max(known)) if own.low is None or own.high is None else (own.low, own.high)
    )
    middle, least, most = (text.number(value / unit, 3) for value in (own.median, low, high))
    cell = middle if least == most else f"{middle} [{least}..{most}]"
    lacking = len(values) - len(known)
    said = f"; none in {lacking} of {len(values)}" if lacking else ""
    return f"{'>= ' if at_least else ''}{cell}{said}"


def cell(result: Result, column: Column) -> str:
    """Return what a table says of a run's metric."""
    metrics = result.summary.metrics
    deadlocks = metrics["deadlock_ms"].known
    if deadlocks:
        return f"deadlock in {len(deadlocks)} of {result.summary.replications}"
    if column.metric == OPERATION:
        return operation_cell([each.completion_s for each in result.collectives().records()])
    return spread(
        metrics[column.metric].values,
        column.unit,
        at_least=endings.is_lower_bound(metrics, column.metric),
    )


def operation_cell(times: Sequence[float | None]) -> str:
    """Return how long the operation of a run took, in ms, over its replications, in s.

    >>> operation_cell([0.002, 0.003])
    '2.5 [2..3]'
    >>> operation_cell([None, 0.003])
    'did not end in 1 of 2'
    """
    if None in times:
        return f"did not end in {times.count(None)} of {len(times)}"
    return spread(times, 1e-3, at_least=False)


def headline(cell: str) -> str:
    """Return a cell without its interval, or without the reason of a refusal.

    >>> headline(">= 59.2 [58.1..60]")
    '>= 59.2'
    >>> headline("refused: links that fail cannot stand beside that")
    'refused'
    """
    return cell.split(" [")[0].split(": ")[0]


def measured(task: Task, reps: int, known: Cells) -> Cells:
    """Return the cells of each row: those that are known, and the others from runs.

    A row that a scenario refuses has the reason in its first cell; one that was refused is tried
    again.
    """
    able: dict[str, api.Scenario] = {}
    cells = {label: own for label, own in known.items() if headline(own[0]) != "refused"}
    for row in ROWS:
        if row.label in cells:
            continue
        try:
            able[row.label] = scenario_of(task, row)
        except ScenarioError as refused:
            why = str(refused).splitlines()[0].removeprefix("error: ")
            cells[row.label] = [f"refused: {why}", *["refused"] * (len(task.columns) - 1)]
    results = api.run_many(able.values(), reps=reps, seed=SEED, progress=False) if able else []
    for label, result in zip(able, results, strict=True):
        cells[label] = [cell(result, column) for column in task.columns]
    return {row.label: cells[row.label] for row in ROWS}


def command(task: Task) -> str:
    """Return the command of a task, which the settings of a row complete."""
    words = ["qcnlab run", task.scenario, *(f"-s {each}" for each in task.settings)]
    return " ".join(words)


def wrapped(words: str) -> str:
    """Return a paragraph in lines."""
    return textwrap.fill(words, 120, break_long_words=False, break_on_hyphens=False)


def title(task: Task) -> str:
    """Return a task's heading without the unit of its headline."""
    name, _, unit = task.heading.rpartition(", ")
    return name if unit in ("ms", "Gb/s") else task.heading


def task_section(task: Task, cells: Cells, reps: int) -> str:
    """Return the part of the page about a task."""
    header = ["scheme", *(column.heading for column in task.columns)]
    rows = [[label, *own] for label, own in cells.items()]
    return "\n\n".join(
        (
            f"### {title(task)}",
            wrapped(task.says),
            f"`{command(task)} --reps {reps} --seed {SEED}` with the settings of a row.",
            markup.markdown(header, rows),
        )
    )


def overview(tasks: Sequence[Task], measured_cells: dict[str, Cells]) -> str:
    """Return the medians of the headlines of some tasks."""
    rows = [
        [row.label, *(headline(measured_cells[task.key][row.label][0]) for task in tasks)]
        for row in ROWS
    ]
    return markup.markdown(["scheme", *(task.heading for task in tasks)], rows)


def page_part(measured_cells: dict[str, Cells], reps: int) -> str:
    """Return what stands below the mark."""
    settings = [
        [row.label, f"`{' '.join(f'-s {each}' for each in row.settings)}`", row.why] for row in ROWS
    ]
    return "\n\n".join(
        (
            "## All of them, over fourteen tasks",
            wrapped(
                f"Medians over {reps} replications. [What each task is](#each-task) stands below, "
                "with intervals. Times are of the last message or of the operation, rates of the "
                "victim or of all flows. After `>=` stands a lower bound: a message did not finish "
                "within the run. What is refused has its reason below. "
                "`make bench-schemes` writes all of this."
            ),
            overview([task for task in TASKS if SLOWDOWN_99 not in task.columns], measured_cells),
            "Slowdown that 99 % of messages do not exceed, in a fat-tree, by sizes and load:",
            overview([task for task in TASKS if SLOWDOWN_99 in task.columns], measured_cells),
            wrapped(
                "No preset is changed. What was published for another rate is scaled as its preset "
                "says; QCN and ECM have no such rule, and run with steps for 10 Gb/s."
            ),
            markup.markdown(["row", "settings", "whose numbers"], settings, left=3),
            "## Each task",
            wrapped(
                f"Each cell is a median and its 95 % interval over {reps} replications with seed "
                f"{SEED}; all rows meet the same random numbers. One number alone means that the "
                "interval has no width at three digits. A cell's command is its task's with the "
                "settings of its row."
            ),
            *(task_section(task, measured_cells[task.key], reps) for task in TASKS),
        )
    )


def on_page(page: str) -> dict[str, Cells]:
    """Return the cells that a page has: by the key of the task, then by row."""
    cells: dict[str, Cells] = {}
    for task in TASKS:
        _, _, section = page.partition(f"\n### {title(task)}\n")
        lines = section.partition("\n#")[0].splitlines()
        rows = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")]
        if rows and rows[0][1:] == [column.heading for column in task.columns]:
            cells[task.key] = {label: own for label, *own in rows[1:]}
    return cells


def main(words: Sequence[str] | None = None) -> None:
    """Run the tasks and write the page, or print the tables of some."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("keys", nargs="*", metavar="KEY", help=", ".join(t.key for t in TASKS))
    parser.add_argument("--reps", type=int, default=REPS, help=f"replications ({REPS})")
    parser.add_argument("--missing", action="store_true", help="run only what the page lacks")
    options = parser.parse_args(words)
    unknown = [key for key in options.keys if key not in {task.key for task in TASKS}]
    if unknown:
        parser.error(f"no task '{unknown[0]}'; there are: {', '.join(t.key for t in TASKS)}")
    kept, mark, below = PAGE.read_text(encoding="utf-8").partition(MARK)
    if not mark:
        raise SystemExit(f"{PAGE.name} has no line '{MARK}'")
    known = on_page(below) if options.missing else {}
    began = time.monotonic()
    done: dict[str, Cells] = {}
    for task in TASKS:
        if options.keys and task.key not in options.keys:
            continue
        done[task.key] = measured(task, options.reps, known.get(task.key, {}))
        print(f"{task.key}: {time.monotonic() - began:.0f} s", flush=True)
        if options.keys:
            print(task_section(task, done[task.key], options.reps))
    if not options.keys:
        PAGE.write_text(f"{kept}{mark}\n\n{page_part(done, options.reps)}\n", encoding="utf-8")
        print(PAGE)


if __name__ == "__main__":
    main()
