"""Bugs to plant in analysis, book and tables, and what their own tests make of each.

A mutant changes one thing: an operator, a comparison, a number (by one, a large one twofold), a
truth value, a sign, or what a function returns. Texts, annotations and drawing are left alone.
`tests/mutants.py` draws from them.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from python_bench import NOT_HERE, OUT_OF_TIME, Bench, Reached, Seconds

# What only draws.
LEFT_OUT = {"draw.py", "boundary_figure.py", "overlay_figure.py", "figures.py"}


@dataclass(frozen=True)
class Part:
    """Files whose mutants meet the tests of other files; both are patterns under the root."""

    files: tuple[str, ...]
    tests: tuple[str, ...]


VIEWS = {
    "comparison": "results/", "completion": "results/", "intervals": "runs/", "tables": "runs/",
    "text": "printing/", "values": "", "warmup": "commands/", "windows": "runs/",
}  # fmt: skip
"""Modules of which each has tests of its name, and the rooms that they are in."""
PARTS = {
    "analysis": Part(("python/qcnlab/analysis/*.py",), ("tests/test_analys*.py",)),
    "book": Part(("python/qcnlab/book/*.py",), ("tests/test_book*.py",)),
    "tables": Part(
        tuple(f"python/qcnlab/{room}{name}.py" for name, room in VIEWS.items()),
        tuple(f"tests/test_{name}*.py" for name in (*VIEWS, "precision")),
    ),
}
# The parts that mutants are drawn from together.
PACKAGES = {"qcnlab (Python)": ("analysis", "book"), "qcnlab tables (Python)": ("tables",)}
# One more of so many is next to nothing: from here on a number is doubled.
LARGE = 1000
DAY_S = 86400

SWAPPED: dict[type[ast.AST], tuple[str, str]] = {
    ast.Add: (r"\+", "-"),
    ast.Sub: (r"-", "+"),
    ast.Mult: (r"\*", "/"),
    ast.Div: (r"/", "*"),
    ast.FloorDiv: (r"//", "*"),
    ast.Mod: (r"%", "*"),
    ast.Pow: (r"\*\*", "*"),
    ast.Lt: (r"<", "<="),
    ast.LtE: (r"<=", "<"),
    ast.Gt: (r">", ">="),
    ast.GtE: (r">=", ">"),
    ast.Eq: (r"==", "!="),
    ast.NotEq: (r"!=", "=="),
    ast.Is: (r"is\b(?!\s+not)", "is not"),
    ast.IsNot: (r"is\s+not\b", "is"),
    ast.In: (r"\bin\b", "not in"),
    ast.NotIn: (r"not\s+in\b", "in"),
    ast.And: (r"\band\b", "or"),
    ast.Or: (r"\bor\b", "and"),
}


@dataclass(frozen=True)
class Mutant:
    """A change of one span of a file."""

    path: str
    line: int
    column: int
    about: str
    start: int
    end: int
    text: str

    @property
    def name(self) -> str:
        """The mutant as lists name it."""
        return f"{self.path}:{self.line}:{self.column}: {self.about}"


class _Finder(ast.NodeVisitor):
    """Collects the mutants of one file."""

    def __init__(self, path: str, source: str) -> None:
        self.path, self.source = path, source
        self.starts = [0]
        for line in source.encode().splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.octets = source.encode()
        self.function = "<module>"
        self.mutants: list[Mutant] = []

    def at(self, line: int, column: int) -> int:
        return self.starts[line - 1] + column

    def begin(self, node: ast.expr) -> int:
        return self.at(node.lineno, node.col_offset)

    def end(self, node: ast.expr) -> int:
        return self.at(node.end_lineno or 0, node.end_col_offset or 0)

    def add(self, start: int, end: int, text: str) -> None:
        before = self.octets[:start]
        line = before.count(b"\n") + 1
        column = start - (before.rfind(b"\n") + 1) + 1
        old = self.octets[start:end].decode()
        about = f"replace {' '.join(old.split())} with {text} in {self.function}"
        self.mutants.append(Mutant(self.path, line, column, about, start, end, text))

    def swap(self, operator: ast.AST, left: ast.expr, right: ast.expr) -> None:
        """Turn the operator between two expressions round."""
        if type(operator) in SWAPPED:
            pattern, text = SWAPPED[type(operator)]
            gap = self.octets[self.end(left) : self.begin(right)].decode()
            if match := re.search(
                pattern, re.sub(r"#[^\n]*", lambda comment: " " * len(comment[0]), gap)
            ):
                offset = self.end(left)
                self.add(offset + match.start(), offset + match.end(), text)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        outer, self.function = self.function, node.name
        for default in [*node.args.defaults, *filter(None, node.args.kw_defaults)]:
            self.visit(default)
        for statement in node.body:
            self.visit(statement)
        self.function = outer

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_If(self, node: ast.If) -> None:
        if not (isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"):
            self.generic_visit(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Leave texts alone."""

    def visit_BinOp(self, node: ast.BinOp) -> None:
        strings = [node.left, node.right]
        if not any(isinstance(s, ast.JoinedStr) or _is_text(s) for s in strings):
            self.swap(node.op, node.left, node.right)
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        for left, right in zip(node.values, node.values[1:], strict=False):
            self.swap(node.op, left, right)
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        for left, operator, right in zip(
            [node.left, *node.comparators], node.ops, node.comparators, strict=False
        ):
            self.swap(operator, left, right)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.USub | ast.Not):
            sign = "-" if isinstance(node.op, ast.USub) else "not"
            self.add(self.begin(node), self.begin(node) + len(sign), "")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self.add(self.begin(node), self.end(node), str(not node.value))
        elif isinstance(node.value, int | float):
            other = 2 * node.value if abs(node.value) >= LARGE else node.value + 1
            self.add(self.begin(node), self.end(node), repr(other))

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is not None and not _is_none(node.value):
            self.add(self.begin(node.value), self.end(node.value), "None")
            self.generic_visit(node)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def mutants(path: str, source: str) -> list[Mutant]:
    """Return the mutants of a file."""
    finder = _Finder(path, source)
    finder.visit(ast.parse(source))
    return finder.mutants


def _lines(node: ast.stmt) -> range:
    """Return the lines of a statement, from its first decorator."""
    above = getattr(node, "decorator_list", [])
    return range(min([node.lineno, *(each.lineno for each in above)]), (node.end_lineno or 0) + 1)


def _statements(node: ast.AST) -> list[ast.stmt]:
    return [each for each in ast.walk(node) if isinstance(each, ast.stmt)]


def function_lines(source: str, line: int) -> set[int]:
    """Return the first lines of the functions that a line belongs to, of decorators if there are.

    There are none where it belongs to a module or a class alone.
    """
    statements = _statements(ast.parse(source))
    around = [each for each in statements if isinstance(each, ast.FunctionDef)]
    return {_lines(each)[0] for each in around if line in _lines(each)}


def statement_lines(source: str, line: int) -> set[int]:
    """Return the lines of the innermost statement around a line, without those of its body.

    Python tells of the line where an operation begins, which need not be that of its operator.
    """
    around = [each for each in _statements(ast.parse(source)) if line in _lines(each)]
    inner = min(around, key=lambda each: len(_lines(each)))
    inside = [each for each in _statements(inner) if each is not inner]
    return set(_lines(inner)).difference(*map(_lines, inside))


class Mutants:
    """The mutants of a clone, and the tests that they are put to with the environment of `root`.

    What each test takes and reaches is kept in `folder`.
    """

    def __init__(self, tree: Path, root: Path, folder: Path) -> None:
        self.tree, self.folder = tree, folder
        self.python = root / ".venv/bin/python"
        core = "python/qcnlab/_core.abi3.so"
        if (root / core).exists():
            # A run that goes on keeps the file that it has mapped.
            shutil.copy2(root / core, tree / f"{core}.new")
            (tree / f"{core}.new").replace(tree / core)
        self.all = {m.name: (part, m) for part in PARTS for m in self._find(part)}
        self.known: dict[str, tuple[Seconds, Reached]] = {}
        self.benches: dict[str, Bench] = {}

    def _bench(self, part: str = "") -> Bench:
        """Return a process that has collected the tests of a part, or none."""
        if part not in self.benches:
            files = self._files(part) if part else []
            self.benches[part] = Bench(self.python, self.tree, files)
        return self.benches[part]

    def _find(self, part: str) -> Iterator[Mutant]:
        for pattern in PARTS[part].files:
            for file in sorted(self.tree.glob(pattern)):
                if file.name not in LEFT_OUT:
                    path = str(file.relative_to(self.tree))
                    yield from mutants(path, file.read_text(encoding="utf-8"))

    def names(self, package: str) -> list[str]:
        """Return the names of all mutants of a package."""
        return [name for name, (part, _) in self.all.items() if part in PACKAGES[package]]

    def learn(self, names: list[str]) -> None:
        """See to it that what the tests take and reach is known that the mutants `names` meet."""
        for part in {self.all[name][0] for name in names}:
            self._usual(part)

    def tested(self, name: str) -> str:
        """Return what became of a mutant."""
        return self._tested(*self.all[name])

    def _files(self, part: str) -> list[str]:
        files = {file for pattern in PARTS[part].tests for file in self.tree.glob(pattern)}
        return sorted(str(file.relative_to(self.tree)) for file in files)

    def _usual(self, part: str) -> tuple[Seconds, Reached]:
        """Return what each test of a part takes where nothing is planted, and reaches."""
        if part not in self.known:
            record = self.folder / f"{part}.tests"
            if not record.exists():
                code, said = self._bench(part).ask({"record": str(record)})
                if code:
                    raise SystemExit(f"the tests of {part} fail where nothing is planted:\n{said}")
            self.known[part] = tuple(json.loads(record.read_text(encoding="utf-8")))
        return self.known[part]

    def _tested(self, part: str, mutant: Mutant) -> str:
        file = self.tree / mutant.path
        octets = file.read_bytes()
        source = octets.decode()
        changed = (octets[: mutant.start] + mutant.text.encode() + octets[mutant.end :]).decode()
        try:
            compile(changed, str(file), "exec", dont_inherit=True)
        except SyntaxError:
            return "unviable"
        seconds, reached = self._usual(part)
        lines = {f"{mutant.path}:{line}" for line in statement_lines(source, mutant.line)}
        # A function that stands in one that importing has called has its code already.
        around = {f"{mutant.path}:{line}" for line in function_lines(source, mutant.line)}
        on_import = not (lines | around).isdisjoint(reached[""])
        code = NOT_HERE
        if around:
            near = {t: seconds[t] for t in seconds if not lines.isdisjoint(reached[t])}
            task = {"path": str(file), "old": source, "new": changed, "usual": quickest(near)}
            code = self._bench(part).ask(task)[0] if near else 0
            if code == 0 and on_import:
                code = self._written(part, mutant, changed)
        if code == NOT_HERE:
            code = self._written(part, mutant, changed)
        return {0: "missed", OUT_OF_TIME: "timeout"}.get(code, "caught")

    def _written(self, part: str, mutant: Mutant, changed: str) -> int:
        """Write a mutant into its file and run the tests of the part; return the exit code.

        Those that reach a function of the file come first.
        """
        file = self.tree / mutant.path
        seconds, reached = self._usual(part)
        near = {t for t in seconds if any(at.startswith(f"{mutant.path}:") for at in reached[t])}
        usual = quickest({test: seconds[test] for test in seconds if test in near})
        usual |= quickest({test: seconds[test] for test in seconds if test not in near})
        octets, stat = file.read_bytes(), file.stat()
        file.write_text(changed, encoding="utf-8")
        # Compiled files are told from stale ones by the time of the source, in seconds.
        os.utime(file, (stat.st_atime, stat.st_mtime + DAY_S))
        try:
            return self._bench().ask({"files": self._files(part), "usual": usual})[0]
        finally:
            file.write_bytes(octets)
            os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def try_each(benches: list[Mutants], names: list[str], keep: Callable[[str, str], None]) -> None:
    """Put mutants to their tests, one at a time in each clone; `keep` what becomes of each."""
    benches[0].learn(names)
    left, lock = iter(names), threading.Lock()

    def go_on(bench: Mutants) -> None:
        while True:
            with lock:
                name = next(left, None)
            if name is None:
                return
            outcome = bench.tested(name)
            with lock:
                keep(name, outcome)

    with ThreadPoolExecutor(len(benches)) as pool:
        list(pool.map(go_on, benches))


def quickest(seconds: Seconds) -> Seconds:
    """Return tests and what they take, the quickest first."""
    return dict(sorted(seconds.items(), key=lambda each: each[1]))
