"""Count the circles of calls between the files of the engine; the numbers may only fall.

Imports of these files make no circle, and yet one file can call another that calls it back, because
any of them may add methods to `Engine`. A call is traced to the type that it is made on: `self`, a
parameter, a local binding, or a chain of fields from one of these. Where that type stays unknown,
the method's name decides, if one type of the crate alone declares it and the standard library does
not. Text, comments and tests are left out. Closures' parameters and what a method returns are not
typed, so a call on them counts only by its name.
"""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

from test_rust_layers import NOT_CODE, TESTS

SOURCES = Path(__file__).parent.parent / "crates" / "sim" / "src"
# Files in circles of calls, arrows from file to file in them, and methods of `Engine`.
# Lower each when it falls.
KNOWN = (0, 0, 29)

# Names that the standard library's types have too.
COMMON = {
    "new",
    "take",
    "next",
    "push",
    "pop",
    "get",
    "set",
    "len",
    "iter",
    "map",
    "end",
    "key",
    "eq",
    "cmp",
    "insert",
    "remove",
    "clear",
    "contains",
    "is_empty",
    "first",
    "last",
    "find",
    "min",
    "max",
    "default",
    "from",
    "fmt",
    "clone",
    "enumerate",
}
TYPE = re.compile(r"(?:struct|enum) (\w+)")
HEAD = re.compile(r"^impl(?:<[^{]*?>)? (?:[\w:<>', ]+ for )?(\w+)[^{;]*\{", re.MULTILINE)
FN = re.compile(r"\bfn (\w+)(?:<[^(]*>)?\(([^{;]*)")
FIELD = re.compile(r"(\w+): ([^,\n]+)")
PARAMETER = re.compile(r"(\w+): ([^,)]+)")
LET = re.compile(
    r"\blet (?:Some\()?(?:mut )?(\w+)\)? = (?:&mut |&)?(\w+(?:\.\w+|\[[^\]]*\])*)(?=;| else)"
)
CALL = re.compile(r"(\w+(?:\.\w+|\[[^\]]*\])*)\.(\w+)\(")
LOOSE = re.compile(r"[)\]?]\s*\.(\w+)\(|\n\s*\.(\w+)\(")
PATH = re.compile(r"\b(\w+)::(\w+)\(")
BARE = re.compile(r"(?<![.\w:])(\w+)\(")

Function = tuple[str, str]


def body_at(code: str, brace: int) -> str:
    """Return what stands between the brace at `brace` and the one that closes it."""
    depth = 0
    for at in range(brace, len(code)):
        depth += (code[at] == "{") - (code[at] == "}")
        if depth == 0:
            return code[brace + 1 : at]
    return code[brace + 1 :]


def functions(code: str) -> list[tuple[str, str, str]]:
    """Return name, parameters and body of each function with a body."""
    declared = []
    for match in FN.finditer(code):
        if match.end() < len(code) and code[match.end()] == "{":
            declared.append((match[1], match[2], body_at(code, match.end())))
    return declared


class Calls:
    """The files of a folder of the crate, and which calls a function of which other."""

    def __init__(self, sources: Path, folder: str) -> None:
        # Type (none for free functions) and name of a function: the files that declare it.
        self.declared: dict[Function, set[str]] = defaultdict(set)
        self.fields: dict[str, dict[str, str]] = defaultdict(dict)
        self.types: set[str] = set()
        self.bodies: list[tuple[str, str, str, str]] = []
        self.methods: dict[str, list[str]] = defaultdict(list)
        for file in sorted(sources.rglob("*.rs")):
            parts = file.relative_to(sources).with_suffix("").parts
            if "tests" in parts:
                continue
            code = NOT_CODE.sub("", TESTS.sub("", file.read_text(encoding="utf-8")))
            name = "/".join(parts[1:]) if parts[0] == folder else ""
            self.read(name, code)
        self.owners: dict[str, set[str]] = defaultdict(set)
        for owner, method in self.declared:
            self.owners[method].add(owner)

    def read(self, file: str, code: str) -> None:
        """Note the types and functions of a file; `file` is empty outside the folder."""
        for match in TYPE.finditer(code):
            self.types.add(match[1])
            brace = code.find("{", match.end())
            if "struct" in match[0] and not {";", "("} & set(code[match.end() : brace]):
                self.fields[match[1]].update(FIELD.findall(body_at(code, brace)))
        rest = code
        for match in HEAD.finditer(code):
            body = body_at(code, match.end() - 1)
            rest = rest.replace(body, "")
            self.note(file, match[1], body)
        self.note(file, "", rest)

    def note(self, file: str, owner: str, code: str) -> None:
        for name, parameters, body in functions(code):
            self.declared[owner, name].add(file)
            if file:
                self.bodies.append((file, owner, parameters, body))
                self.methods[owner].append(name)

    def type_in(self, text: str) -> str:
        """Return the last type of ours that a declaration names: that of a vector's entries."""
        ours = [name for name in re.findall(r"\w+", text) if name in self.types]
        return ours[-1] if ours else ""

    def type_of(self, chain: str, known: dict[str, str | None]) -> str | None:
        """Return the type of a chain of fields: empty if it is none of ours, `None` if unknown."""
        first, *fields = re.findall(r"\w+", re.sub(r"\[[^\]]*\]", "", chain))
        kind = known.get(first)
        for field in fields:
            declared = self.fields[kind].get(field) if kind else None
            kind = None if declared is None else self.type_in(declared)
        return kind

    def called(self, owner: str, parameters: str, body: str) -> set[Function]:
        """Return the functions that a body calls."""
        known: dict[str, str | None] = {
            name: self.type_in(kind) for name, kind in PARAMETER.findall(parameters)
        }
        known["self"] = owner
        for name, chain in LET.findall(body):
            known[name] = self.type_of(chain, known)
        calls: set[Function] = set()
        for chain, method in CALL.findall(body):
            calls |= self.by(self.type_of(chain, known), method)
        for after, below in LOOSE.findall(body):
            calls |= self.by(None, after or below)
        for kind, method in PATH.findall(body):
            kind = owner if kind == "Self" else kind
            calls.add((kind if kind in self.types else "", method))
        calls |= {("", name) for name in BARE.findall(body)}
        return calls & self.declared.keys()

    def by(self, kind: str | None, method: str) -> set[Function]:
        """Return the function that a call of `method` on a `kind` means, if that can be said."""
        if kind is not None:
            return {(kind, method)} if kind else set()
        owners = self.owners[method] - {""}
        return {(owner, method) for owner in owners if len(owners) == 1 and method not in COMMON}

    def arrows(self) -> dict[str, set[str]]:
        """Return for each file of the folder the others that it calls."""
        used: dict[str, set[str]] = {file: set() for file, *_ in self.bodies}
        for file, owner, parameters, body in self.bodies:
            for function in self.called(owner, parameters, body):
                files = self.declared[function]
                if file not in files and len(files) == 1:
                    used[file] |= files & used.keys()
        return used


def in_circles(arrows: dict[str, set[str]]) -> set[tuple[str, str]]:
    """Return the arrows that lie on a circle."""

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        open_ends = [start]
        while open_ends:
            new = arrows.get(open_ends.pop(), set()) - seen
            seen |= new
            open_ends += new
        return seen

    reach = {file: reached(file) for file in arrows}
    return {(a, b) for a, used in arrows.items() for b in used if a in reach[b]}


def test_circles_of_calls_only_become_fewer() -> None:
    calls = Calls(SOURCES, "engine")
    circle = in_circles(calls.arrows())
    files = {file for arrow in circle for file in arrow}
    counted = (len(files), len(circle), len(calls.methods["Engine"]))
    shown = "\n".join(f"{a} -> {b}" for a, b in sorted(circle))
    assert counted == KNOWN, (
        f"files in circles, arrows in them, methods of Engine: {counted}, were {KNOWN};"
        f" lower KNOWN if they fell, else undo what made them rise:\n{shown}"
    )


PARTS = ("network", "senders", "signalling", "recording", "dependencies", "ending")
USES = re.compile(r"\b(\w+)::")


def named_by(part: str) -> set[str]:
    """Return the other parts that the files of a part name."""
    root = SOURCES / "engine"
    files = [root / f"{part}.rs", *(root / part).rglob("*.rs")]
    texts = [file.read_text(encoding="utf-8") for file in files if file.exists()]
    code = [NOT_CODE.sub("", TESTS.sub("", text)) for text in texts]
    assert code
    return {name for text in code for name in USES.findall(text)} & set(PARTS) - {part}


def test_no_part_names_another() -> None:
    assert {part: named_by(part) for part in PARTS} == {part: set() for part in PARTS}


def test_the_network_and_the_senders_show_no_fields() -> None:
    for part, name in (("network", "Network"), ("senders", "Senders")):
        text = (SOURCES / "engine" / part / "mod.rs").read_text(encoding="utf-8")
        fields = body_at(text, text.index("{", text.index(f"struct {name} ")))
        assert fields and not re.search(r"^ *pub", fields, re.MULTILINE), part


# The port itself, and the door to ports of all kinds.
KNOW_KINDS = {"port", "engine/network/ports"}


def test_nobody_but_the_port_and_its_door_tells_kinds_of_ports_apart() -> None:
    files = {
        str(file.relative_to(SOURCES).with_suffix(""))
        for file in SOURCES.rglob("*.rs")
        if "PortKind" in file.read_text(encoding="utf-8")
    }
    assert files == KNOW_KINDS


def test_a_call_counts_for_the_type_that_it_is_made_on(tmp_path: Path) -> None:
    """`a` calls `b` by a field, a local and a parameter; `b` closes a circle or does not."""
    folder = tmp_path / "engine"
    folder.mkdir()
    (tmp_path / "other.rs").write_text("pub struct Other;\nimpl Other {\n fn go(&self) {}\n}\n")
    engine = "struct Engine {\n part: Vec<Part>,\n other: Other,\n}\n"
    part = "struct Part {\n other: Other,\n}\nimpl Part {\n fn go(&self) { BODY }\n}\n"
    for body in ("self.part[0].go()", "let x = &mut self.part[i]; x.go()", "twice(self.part)"):
        helper = "fn twice(part: &Part) { part.go() }\n"
        (folder / "a.rs").write_text(
            f"{engine}impl Engine {{\n fn act(&self) {{ {body} }}\n}}\n{helper}"
        )
        (folder / "b.rs").write_text(part.replace("BODY", "self.other.go()"))
        assert Calls(tmp_path, "engine").arrows() == {"a": {"b"}, "b": set()}
        (folder / "b.rs").write_text(part.replace("BODY", "x?.act() // self.other"))
        assert in_circles(Calls(tmp_path, "engine").arrows()) == {("a", "b"), ("b", "a")}
    (folder / "a.rs").write_text(
        f"{engine}impl Engine {{\n fn act(&self) {{ self.other.go() }}\n}}\n"
    )
    assert Calls(tmp_path, "engine").arrows() == {"a": set(), "b": {"a"}}
