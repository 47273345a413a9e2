"""List the values that no test uses: `make unseen-values`.

A bug in what a parameter does away from its default lives as long as no test moves it. So the
Python tests run once under a trace that writes down which values each parameter of each public
function of `qcnlab` was given, options of the command line among them. Keys of scenarios are looked
up in the changes and the texts that the trace met, and in those that stand in the tests in Rust and
in the shipped scenarios.

    make unseen-values                                # all, on as many processes as there are cores
    make unseen-values ARGS="tests/test_sweep.py"     # what these tests alone leave unseen
    make unseen-values ARGS="--kept"                  # the list again, without running the tests
    make unseen-values ARGS="--add tests/test_new.py" # and what these tests use on top of that
    make unseen-values ARGS="--page docs/reference/unseen-values.md"

A parameter is listed if it was never given anything but its default, a switch if it was never both
on and off, a choice with the members that were never chosen. Tables that a record begins with,
empty, are no values that anybody gives. What processes of their own were given
is not seen; keys in their arguments are, where they are written out in a test.
"""

from __future__ import annotations

import argparse
import ast
import datetime
import enum
import importlib
import inspect
import json
import os
import pkgutil
import re
import subprocess
import sys
import threading
import tomllib
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import CodeType, FrameType

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "target/unseen"
REASONS = ROOT / "tests/unseen_left.toml"
SCHEMA = ROOT / "scenarios/qcnlab.schema.json"
FOLDER = "QCNLAB_UNSEEN"
# Distinct values that are kept of one parameter.
MOST = 60
# Calls of one function that each process looks at: what is called more often, by a loop, has been
# given what it is given, and a look costs more than most such calls.
MOST_CALLS = 5_000
LONGEST = 40

Seen = dict[str, dict[str, set[str]]]


def shape(value: object) -> str:
    """What is kept of a value: itself if it is short, else what kind it is, and how many."""
    if isinstance(value, enum.Enum):
        return str(value.name)
    if value is None or isinstance(value, bool | int | float | str):
        text = repr(value)
        return text if len(text) <= LONGEST else f"{type(value).__name__}, long"
    try:
        number = len(value)  # type: ignore[arg-type]
    except Exception:
        return type(value).__name__
    return f"{type(value).__name__}, {('none', 'one')[number] if number < 2 else 'several'}"


class Trace:
    """Writes down the arguments of each call of a public function of the package."""

    def __init__(self, folder: Path) -> None:
        import qcnlab

        self.package = str(Path(qcnlab.__file__).parent)
        self.folder = folder
        self.names: dict[CodeType, tuple[str, tuple[str, ...]] | None] = {}
        self.calls: Counter[CodeType] = Counter()
        self.seen: Seen = defaultdict(lambda: defaultdict(set))
        self.texts: set[str] = set()

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        if code not in self.names:
            self.names[code] = self._named(frame)
        known = self.names[code]
        if known is None:
            return
        self.calls[code] += 1
        if self.calls[code] == MOST_CALLS:
            self.names[code] = None
        name, parameters = known
        values = frame.f_locals
        if name == "dataclass":
            kind = type(values[parameters[0]])
            name, parameters = f"{kind.__module__}.{kind.__qualname__}", parameters[1:]
            if not name.startswith("qcnlab") or "._" in name:
                return
        seen = self.seen[name]
        for parameter in parameters:
            of = seen[parameter]
            if len(of) < MOST:
                of.add(shape(values.get(parameter)))
        if name == "qcnlab.api.Scenario.with_":
            self.texts.update(texts_of(values["changes"]))
        elif name.startswith("qcnlab.api.Scenario.from_"):
            self.texts.update(texts_of(values.get("text", values.get("tree"))))

    def _named(self, frame: FrameType) -> tuple[str, tuple[str, ...]] | None:
        code = frame.f_code
        number = code.co_argcount + code.co_kwonlyargcount
        number += bool(code.co_flags & inspect.CO_VARARGS)
        number += bool(code.co_flags & inspect.CO_VARKEYWORDS)
        parameters = code.co_varnames[:number]
        if code.co_filename == "<string>" and code.co_name == "__init__" and parameters:
            return "dataclass", parameters
        if not code.co_filename.startswith(self.package):
            return None
        name = f"{frame.f_globals.get('__name__')}.{code.co_qualname}"
        return (name, parameters) if is_public(name) else None

    def start(self) -> None:
        threading.settrace(self)
        sys.settrace(self)

    def write(self) -> None:
        seen = {
            name: {key: sorted(values) for key, values in of.items()}
            for name, of in self.seen.items()
        }
        self.folder.mkdir(parents=True, exist_ok=True)
        what = {"seen": seen, "texts": sorted(self.texts)}
        (self.folder / f"{os.getpid()}.json").write_text(json.dumps(what))


traces: list[Trace] = []


def pytest_configure() -> None:
    """Trace this process, if `make unseen-values` started it."""
    if folder := os.environ.get(FOLDER):
        traces.append(Trace(Path(folder)))
        traces[0].start()


def pytest_runtest_call() -> None:
    """Trace again what a test may have ended."""
    for trace in traces:
        if sys.gettrace() is None:
            sys.settrace(trace)


def pytest_sessionfinish() -> None:
    """Write down what this process saw; what ends after it is not looked at."""
    sys.settrace(None)
    threading.settrace(None)
    for trace in traces:
        trace.write()


def is_public(name: str) -> bool:
    words = name.split(".")
    return not any(word.startswith(("_", "<")) for word in words if word != "__init__")


def texts_of(value: object) -> Iterator[str]:
    """Changes of keys, as text."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        # A mapping of dotted keys, or a nested one.
        yield from (f"{key}={shown}" for key, shown in flat(value))
    elif isinstance(value, tuple | list):
        for part in value:
            yield from texts_of(part)


def flat(tree: object, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Keys of nested tables, dotted and without the number of an entry, with their values."""
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from flat(value, f"{prefix}.{key}" if prefix else str(key))
    elif isinstance(tree, list) and tree and isinstance(tree[0], dict):
        for value in tree:
            yield from flat(value, prefix)
    else:
        yield re.sub(r"\.\d+(?=\.|$)", "", prefix), spelled(tree)


def spelled(value: object) -> str:
    return json.dumps(value) if isinstance(value, bool | list) else str(value)


# What there is.


def functions() -> Iterator[tuple[str, inspect.Signature]]:
    """Every public function and method of the package, once, where it is defined."""
    import qcnlab

    for module in pkgutil.walk_packages(qcnlab.__path__, "qcnlab."):
        if not is_public(module.name):
            continue
        inside = importlib.import_module(module.name)
        for name, value in vars(inside).items():
            if name.startswith("_") or getattr(value, "__module__", None) != module.name:
                continue
            if inspect.isfunction(value):
                yield f"{module.name}.{name}", inspect.signature(value)
            elif inspect.isclass(value) and not issubclass(value, enum.Enum | BaseException):
                yield from methods(f"{module.name}.{name}", value)


def methods(where: str, kind: type) -> Iterator[tuple[str, inspect.Signature]]:
    for name, value in vars(kind).items():
        plain = getattr(value, "__func__", value)
        if not inspect.isfunction(plain) or (name.startswith("_") and name != "__init__"):
            continue
        if name != "__init__":
            yield f"{where}.{name}", inspect.signature(plain)
        elif hasattr(kind, "__dataclass_fields__"):
            yield where, inspect.signature(plain)
        else:
            yield f"{where}.__init__", inspect.signature(plain)


def members(parameter: inspect.Parameter) -> list[str]:
    """The values that a choice has; none if it is no choice."""
    if isinstance(parameter.default, enum.Enum):
        return [member.name for member in type(parameter.default)]
    written = re.search(r"Literal\[([^\]]*)\]", str(parameter.annotation))
    return [repr(part) for part in ast.literal_eval(f"[{written[1]}]")] if written else []


def of_functions(seen: Seen) -> Iterator[tuple[str, str, str]]:
    """Rows of the list: the parameter, its default, what it was never given."""
    for name, signature in sorted(functions(), key=lambda pair: pair[0]):
        used = seen.get(name)
        short = name.removeprefix("qcnlab.").removesuffix(".__init__")
        if used is None:
            if any(key not in ("self", "cls") for key in signature.parameters):
                yield f"{short}()", "", "called"
            continue
        for key, parameter in signature.parameters.items():
            if key in ("self", "cls") or repr(parameter.default) == "<factory>":
                continue
            values = used.get(key, set())
            has_default = parameter.default is not inspect.Parameter.empty
            default = shape(parameter.default) if has_default else ""
            chosen = members(parameter)
            if missing := [one for one in chosen if one not in values]:
                yield f"{short}({key})", default, ", ".join(missing)
            elif values and values <= {"True", "False"} and len(values) == 1:
                yield f"{short}({key})", default, "False" if "True" in values else "True"
            elif has_default and values <= {default}:
                yield f"{short}({key})", default, "anything else"
            elif parameter.kind is parameter.VAR_POSITIONAL and "tuple, several" not in values:
                yield f"{short}({key})", default, "several"


# Keys of scenarios.


def expanded(node: Any, tables: dict[str, Any]) -> Any:
    """Return a part of the schema with what it refers to in the place of each reference."""
    if isinstance(node, list):
        return [expanded(inner, tables) for inner in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        return expanded(tables[node["$ref"].removeprefix("#/$defs/")], tables)
    return {word: expanded(inner, tables) for word, inner in node.items() if word != "$defs"}


def keys(node: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every key of the schema with what it says, once for each kind of table that has it."""
    for key, value in node.get("properties", {}).items():
        where = f"{path}.{key}" if path else key
        inner = value.get("items", value)
        if isinstance(inner, dict) and ("properties" in inner or is_table(inner)):
            yield from keys(inner, where)
        else:
            yield where, value
    for choice in node.get("oneOf", ()):
        yield from keys(choice, path)


def is_table(node: dict[str, Any]) -> bool:
    return any("properties" in choice for choice in node.get("oneOf", ()))


def choices(value: dict[str, Any]) -> list[str]:
    if value.get("type") == "boolean":
        return ["true", "false"]
    if "const" in value:
        return [str(value["const"])]
    return [one for choice in value.get("oneOf", value.get("anyOf", ())) for one in choices(choice)]


# A table's head, a key with its value, or a change of one, as it stands in a test.
HEAD = re.compile(r"^\s*\\?n?\[\[?([a-z_][a-z_.0-9]*)\]\]?")
LINE = re.compile(r"(?:^|\\n|\"\"\"|\")\s*([a-z_]+)\s*=\s*(\\?\"[^\"]*\"|[^\s#,;\\\"]+)")
CHANGE = re.compile(r"\b((?:[a-z_]+\.(?:\d+\.)?)+[a-z_]+)=\"?([^\"\n]*)")
PAIR = re.compile(r"\"((?:[a-z_]+\.(?:\d+\.)?)+[a-z_]+)\":\s*(\"[^\"]*\"|[^,}\n]+)")


def in_text(text: str) -> Iterator[tuple[str, str]]:
    """Keys and values that a text may give: TOML within it, and changes."""
    for match in (*CHANGE.finditer(text), *PAIR.finditer(text)):
        yield re.sub(r"\.\d+(?=\.)", "", match[1]), match[2].strip("\\\"' ")
    table = ""
    for line in text.replace("\\n", "\n").splitlines():
        if head := HEAD.match(line):
            table = head[1] + "."
        for match in LINE.finditer(line):
            value = match[2].strip("\\\"' ")
            yield table + match[1], value
            yield match[1], value


def is_test(path: Path) -> bool:
    """Whether a file of Rust is built for tests alone."""
    beside = path.with_name("mod.rs")
    tests = f"#[cfg(test)]\nmod {path.stem};"
    known = beside.exists() and tests in beside.read_text(encoding="utf-8")
    return known or path.name == "tests.rs" or "tests" in path.parts


def sources(texts: Iterable[str]) -> Iterator[str]:
    yield from texts
    for pattern in ("crates/*/tests/**/*.rs", "crates/*/src/**/*.rs", "tests/**/*.py"):
        for path in sorted(ROOT.glob(pattern)):
            text = path.read_text(encoding="utf-8")
            if "/src/" in str(path) and not is_test(path):
                text = text.partition("\nmod tests {")[2]
            yield text
    for path in sorted(ROOT.glob("scenarios/**/*.toml")):
        yield path.read_text(encoding="utf-8")


def used_keys(texts: Iterable[str]) -> dict[str, set[str]]:
    used: dict[str, set[str]] = defaultdict(set)
    for text in sources(texts):
        try:
            pairs: Iterable[tuple[str, str]] = flat(tomllib.loads(text))
        except tomllib.TOMLDecodeError:
            pairs = in_text(text)
        for key, value in pairs:
            used[key].add(value)
    return used


def of_keys(texts: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    """Rows of the list, as for functions."""
    used = used_keys(texts)
    known: dict[str, list[dict[str, Any]]] = defaultdict(list)
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    for key, value in keys(expanded(schema, schema["$defs"])):
        known[key].append(value)
    for key, of in known.items():
        values = used.get(key, set())
        default = next((spelled(one["default"]) for one in of if "default" in one), "")
        possible = list(dict.fromkeys(one for value in of for one in choices(value)))
        missing = [one for one in possible if one not in values and one != default]
        if not values:
            yield key, default, "given"
        elif missing and not any("{" in value for value in values):
            yield key, default, ", ".join(missing)
        elif default and values <= {default}:
            yield key, default, "anything else"


# The list.


def read(folder: Path) -> tuple[Seen, set[str]]:
    seen: Seen = defaultdict(lambda: defaultdict(set))
    texts: set[str] = set()
    for path in folder.glob("*.json"):
        kept = json.loads(path.read_text(encoding="utf-8"))
        texts.update(kept["texts"])
        for name, of in kept["seen"].items():
            for key, values in of.items():
                seen[name][key].update(values)
    return seen, texts


def reason_for(name: str, reasons: dict[str, str]) -> str:
    return next((why for pattern, why in reasons.items() if re.fullmatch(pattern, name)), "")


def listed(rows: Iterable[tuple[str, str, str]], reasons: dict[str, str]) -> list[str]:
    lines = ["| what | default | never | why it is left |", "|---|---|---|---|"]
    for name, default, never in rows:
        cells = (f"`{name}`", f"`{default}`" if default else "", never, reason_for(name, reasons))
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return lines


def page(folder: Path) -> str:
    seen, texts = read(folder)
    reasons = tomllib.loads(REASONS.read_text(encoding="utf-8"))
    parts = [
        "# Values that no test uses",
        "",
        "`make unseen-values` prints this list: parameters that the Python tests never moved from"
        " their default, switches never turned, members of choices never chosen; and the same of"
        " the keys of scenarios, in the tests of both languages and the shipped scenarios."
        f" Reasons stand in `tests/unseen_left.toml`. {datetime.date.today()}.",
        "",
        "## Functions and options",
        "",
        *listed(of_functions(seen), reasons["functions"]),
        "",
        "## Keys of scenarios",
        "",
        *listed(of_keys(texts), reasons["keys"]),
        "",
    ]
    return "\n".join(parts)


def main() -> None:
    """Run the tests and print the list."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--page", type=Path, help="write the list into this file")
    parser.add_argument("--kept", action="store_true", help="do not run the tests again")
    parser.add_argument("--add", action="store_true", help="keep what was traced before")
    # What else there is goes to pytest: files, options.
    options, tests = parser.parse_known_args()
    if not options.kept:
        for path in () if options.add else KEPT.glob("*.json"):
            path.unlink()
        words = ["-m", "pytest", "-p", "unseen_values", *(tests or ["-n", "auto"])]
        where = os.pathsep.join([str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")])
        environment = {**os.environ, FOLDER: str(KEPT), "PYTHONPATH": where}
        subprocess.run([sys.executable, *words], cwd=ROOT, env=environment, check=False)
    text = page(KEPT)
    if options.page:
        options.page.write_text(text, encoding="utf-8")
    else:
        print(text)


if __name__ == "__main__":
    main()
