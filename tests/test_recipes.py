"""The recipes of CONTRIBUTING.md for a command, a reader and a chart, on a copy of the tree.

Each recipe is done step by step; what it says checks it must pass then. With one step left out,
something of that must fail, so that nobody who forgets the step is told that all is well.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from conftest import HOTSPOT, ROOT

COPIED = ("python", "tests")
LINKED = ("scenarios", "crates", "docs", "examples", "book", "README.md", "CHANGELOG.md")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")

COMMAND = '''"""`qcnlab hosts`: how many hosts a scenario has."""

from __future__ import annotations

from typing import Annotated

import typer

from qcnlab import api
from qcnlab.cli.options import File


def hosts(
    scenario: File,
    out: Annotated[str, typer.Option("-o", "--out", metavar="FILE", help="A text file.")] = "",
) -> None:
    """Count the hosts of a scenario."""
    names = {port.partition("->")[0] for port in api.load(scenario).ports()}
    typer.echo(len(names))
'''
READER = '''"""`qcnlab import pairs`: a pair of hosts in each line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qcnlab.formats.lines import FormatError
from qcnlab.formats.report import Report

if TYPE_CHECKING:
    from pathlib import Path


def convert(path: Path) -> Report:
    """Read pairs.

    Parameters
    ----------
    path : Path
        A text file.

    Returns
    -------
    Report
        What was read.

    Raises
    ------
    FormatError
        If a line has no pair.
    """
    report = Report()
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if len(line.split()) != 2:
            raise FormatError(f"{path}: line {number}: not a pair of hosts")
    report.read.append((str(path), "pairs"))
    return report
'''
READING = '''

@importing.command("pairs")
def import_pairs(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A pair in each line.")],
    out: Scenario,
    as_json: Json = False,
) -> None:
    """Read pairs of hosts."""
    from qcnlab.formats import pairs

    told(pairs.convert(file), as_json)
'''

CHART = '''"""The figure of stops: how long pause frames stopped each port."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qcnlab.figures.notebook import ShownFigure
from qcnlab.figures.plots import SOURCES, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from qcnlab.runs.recorded import Recorded


def stops_figure(result: Recorded) -> Figure:
    """Draw a bar for each port that was stopped, over all replications."""
    import polars as pl

    stops = result.pauses.to_polars().with_columns(pl.col("port").cast(pl.String))
    lasted = pl.col("until_s") - pl.col("time_s")
    total = stops.group_by("port").agg((lasted.sum() * 1e3).alias("ms")).sort("ms", "port")
    with style():
        figure = ShownFigure(figsize=(6.4, 3.2), layout="constrained")
        axes = figure.subplots()
        axes.barh(total["port"].to_list(), total["ms"].to_list(), color=SOURCES[0])
        axes.set_xlabel("stopped, ms")
    return figure
'''
METHOD = '''    def plot_stops(self) -> Figure:
        """Draw how long pause frames stopped each port, over all replications.

        Returns
        -------
        matplotlib.figure.Figure
            A bar for each port that was stopped.
        """
        from qcnlab.figures.stops import stops_figure

        return stops_figure(self)

'''
REDRAWN = """        if out is None and len(result.pauses):
            figure = result.plot_stops()
            printed(figure, style)
            drawn += [save(figure, folder / f"stops{suffix}") for suffix in (".svg", ".png")]
"""
CHARTED = '''"""The figure of stops."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import qcnlab
from qcnlab.commands.redraw import redraw
from test_deadlock import RING

if TYPE_CHECKING:
    from pathlib import Path


def test_stops_of_a_ring_are_drawn_and_drawn_again(tmp_path: Path) -> None:
    result = qcnlab.run(qcnlab.Scenario.from_toml(RING), reps=1)
    bars = result.plot_stops().axes[0].patches
    stops = result.pauses.to_polars()
    lasted_ms = float((stops["until_s"] - stops["time_s"]).sum()) * 1e3
    assert sum(bar.get_width() for bar in bars) == pytest.approx(lasted_ms)
    result.save(tmp_path / "run")
    assert tmp_path / "run/stops.svg" in redraw(tmp_path / "run", None)
'''


@dataclass(frozen=True)
class Step:
    """Text that comes before or after a text that a file has; without one the file is new."""

    file: str
    text: str
    before: str = ""
    after: str = ""

    @property
    def is_new(self) -> bool:
        """Whether the file is new."""
        return not self.before and not self.after

    def do(self, root: Path) -> None:
        """Change the file below `root`."""
        path = root / self.file
        if self.is_new:
            assert not path.exists()
            path.parent.mkdir(exist_ok=True)
            path.write_text(self.text, encoding="utf-8")
            return
        text = path.read_text(encoding="utf-8")
        mark = self.before or self.after
        assert mark in text, f"{self.file} has changed its form: no {mark!r}"
        new = self.text + mark if self.before else mark + self.text
        path.write_text(text.replace(mark, new, 1), encoding="utf-8")


NEW_COMMAND = {
    "module": Step("python/qcnlab/commands/hosts.py", COMMAND),
    "COMMANDS": Step(
        "python/qcnlab/cli/commands.py",
        '    "hosts": ("commands.hosts:hosts", "Count the hosts of a scenario."),\n',
        before='    "explain": (',
    ),
    "GROUPS": Step("python/qcnlab/cli/commands.py", '"hosts", ', before='"explain", "list"'),
    "layer": Step("pyproject.toml", "hosts | ", before="run | experiments | flows"),
    "example": Step(
        "python/qcnlab/cli/examples.py",
        f'    "hosts": ("hosts {HOTSPOT}",),\n',
        after="EXAMPLES = {\n",
    ),
    "startup": Step(
        "tests/test_startup.py",
        '    "hosts no-such-scenario": (2, 195, HEAVY),\n',
        before='    "conform cp nowhere"',
    ),
    "outputs": Step(
        "tests/test_outputs.py", '    ("hosts", "--out"): "writable",\n', before='    ("live run"'
    ),
}
NEW_READER = {
    "module": Step("python/qcnlab/formats/pairs.py", READER),
    "command": Step(
        "python/qcnlab/formats/command.py", READING, before='\n\n@importing.command("flows")'
    ),
    "layer": Step("pyproject.toml", "pairs | ", before="hpcc | flow_table"),
    "example": Step(
        "python/qcnlab/cli/examples.py",
        '    "import pairs": ("import pairs hosts.txt -o scenario.toml",),\n',
        after="EXAMPLES = {\n",
    ),
    "startup": Step(
        "tests/test_startup.py",
        '    "import pairs nowhere -o scenario.toml": (2, 190, HEAVY),\n',
        before='    "conform cp nowhere"',
    ),
    "outputs": Step(
        "tests/test_outputs.py",
        '    ("import pairs", "--out"): "writable",\n',
        before='    ("live run"',
    ),
}
NEW_CHART = {
    "module": Step("python/qcnlab/figures/stops.py", CHART),
    "method": Step("python/qcnlab/results/result.py", METHOD, before="    def save(self, folder"),
    "redraw": Step("python/qcnlab/commands/redraw.py", REDRAWN, before="        return drawn\n"),
    "layer": Step("pyproject.toml", "stops | ", before="collectives | completion | deadlock"),
    "test": Step("tests/test_stops.py", CHARTED),
}
RECIPES = {
    "command": (NEW_COMMAND, "hosts"),
    "reader": (NEW_READER, "pairs"),
    "chart": (NEW_CHART, "stops"),
}
"""The steps of each, and the word that its tests have in their names."""
CHECKS = (
    "tests/test_startup.py::test_the_list_of_commands_says_what_each_of_them_does",
    "tests/test_startup.py::test_each_command_is_listed_once_and_found",
    "tests/test_startup.py::test_every_command_is_started",
    "tests/test_startup.py::test_a_command_imports_no_more_than_it_needs",
    "tests/test_outputs.py::test_every_output_option_is_listed",
    "tests/test_cli.py::test_every_command_shows_examples_that_it_takes",
    "tests/test_usage.py::test_no_option_speaks_as_a_library_does",
)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """What these recipes change, copied, and beside it what they read."""
    ignored = shutil.ignore_patterns("__pycache__", "node_modules", ".hypothesis")
    for folder in COPIED:
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=ignored)
    for name in LINKED:
        (tmp_path / name).symlink_to(ROOT / name)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def faults(root: Path, word: str) -> str:
    """Return what the checks that a recipe names say of the tree: those about `word` and all."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(root / "python"),
        "COVERAGE_PROCESS_START": "",
        # A file that changes twice in a second, and not in length, has the byte code of the first.
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    program = [sys.executable, "-m"]
    tests = [*program, "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "-k"]
    chosen = f"{word} or test_the_list or test_each or test_every"
    linter = [str(Path(sys.executable).with_name("lint-imports")), "--no-logo", "--no-cache"]
    said = ""
    own = [f"tests/test_{word}.py"] if (root / f"tests/test_{word}.py").exists() else []
    for command in ([*tests, chosen, *CHECKS, *own], linter):
        done = subprocess.run(
            command, cwd=root, env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            said += done.stdout + done.stderr
    return said


@pytest.mark.parametrize(("recipe", "word"), RECIPES.values(), ids=RECIPES)
def test_a_recipe_done_step_by_step_passes_what_it_names(
    copy: Path, recipe: dict[str, Step], word: str
) -> None:
    for step in recipe.values():
        step.do(copy)
        path = Path(step.file)
        assert path.name in CONTRIBUTING or (step.is_new and str(path.parent) in CONTRIBUTING)
    assert faults(copy, word) == ""


@pytest.mark.parametrize(
    ("recipe", "word", "left_out"),
    [
        (recipe, word, name)
        for recipe, word in RECIPES.values()
        for name in recipe
        if name != "test"
    ],
)
def test_a_step_left_out_is_noticed(
    copy: Path, recipe: dict[str, Step], word: str, left_out: str
) -> None:
    for name, step in recipe.items():
        if name != left_out:
            step.do(copy)
    assert faults(copy, word)
