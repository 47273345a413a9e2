"""Plant many mutants in one Rust source text, each chosen when the program runs.

cargo-mutants lists the mutants: a file, a span and the text that takes its place. A build for each
costs minutes. Here all of them stand in one text beside what they replace, and `chosen_mutant`,
which reads an environment variable, says which one holds:

    a > b           (match crate::chosen_mutant(7) {..7 | 9.. => a > b, 7 => a >= b, 8 => a == b})
    { body }        { match crate::chosen_mutant(9) {9 => return X, _ => ()}; body }
    Some(x) => b    Some(x) if crate::chosen_mutant(10) != 10 => b
    x if c => b     x if (match crate::chosen_mutant(11) {..11 | 12.. => c, 11 => true}) => b

Where no mutant holds it can write down which sites a test reaches: a mutant that a test does not
reach cannot make it fail.

An operator is wrapped with the whole chain of operators that it stands in, so that the bounds of
its operands change with it as they do in cargo-mutants' own text. What stands in a mutant's place
holds no other mutants. A `const fn` becomes a plain one, unless constants need it. What cannot be
chosen, as in constants, is left out, and so is what rustc refuses: `at_fault` finds it by the place
of an error.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import tree_sitter_rust
from tree_sitter import Language, Node, Parser

RUST = Parser(Language(tree_sitter_rust.language()))
VARIABLE = "QCNLAB_MUTANT"
# The file that a run without a mutant writes what it reaches to.
REACHED = "QCNLAB_REACHED"
CHOSEN = "crate::chosen_mutant"
# What a crate with planted mutants has at its root.
CHOICE = f"""
/// The number of the mutant that holds; 0: none. Mutants from `first` on are chosen here.
#[inline]
pub(crate) fn chosen_mutant(first: u32) -> u32 {{
    static NUMBER: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
    let read = || {{
        let number = std::env::var("{VARIABLE}").map_or(0, |text| text.parse().unwrap());
        if std::env::var_os("{REACHED}").is_some() {{ u32::MAX }} else {{ number }}
    }};
    let number = *NUMBER.get_or_init(read);
    if number == u32::MAX {{
        write_reached(first);
    }}
    number
}}

/// Writes the first number of a site down, once.
#[cold]
fn write_reached(first: u32) {{
    use std::io::Write as _;
    static SEEN: [std::sync::atomic::AtomicBool; 1 << 14] =
        [const {{ std::sync::atomic::AtomicBool::new(false) }}; 1 << 14];
    if !SEEN[first as usize].swap(true, std::sync::atomic::Ordering::Relaxed) {{
        let file = std::env::var_os("{REACHED}").unwrap();
        let mut file = std::fs::OpenOptions::new().append(true).create(true).open(file).unwrap();
        file.write_all(format!("{{first}}\\n").as_bytes()).unwrap();
    }}
}}
"""
OPERATIONS = {"binary_expression", "unary_expression", "compound_assignment_expr"}
# What binds an operator's operands: a change of it may change theirs.
CHAINS = {"binary_expression", "unary_expression", "type_cast_expression"}

# Where rustc may report that a mutant of a kind of site does not fit.
OUTER = {"arm": "match_expression", "return": "function_item"}


@dataclass(frozen=True)
class Mutant:
    """A change of one span, in octets, of a file."""

    name: str
    path: str
    genre: str
    start: int
    end: int
    text: str

    def alone(self, source: bytes) -> bytes:
        """Return the file with this mutant in it, and no other."""
        return source[: self.start] + self.text.encode() + source[self.end :]


@dataclass(frozen=True, order=True)
class Site:
    """A span that mutants are planted at; insertions come first, then the longest."""

    start: int
    wraps: int
    minus_end: int
    kind: str

    @property
    def end(self) -> int:
        """Where it ends."""
        return -self.minus_end


def site(kind: str, start: int, end: int) -> Site:
    """Return a site; `kind` is how its mutants are chosen: `return`, `arm` or `value`.

    Three have none: `const`, a word that is left out; `match` and `body`, which are written as they
    are.
    """
    return Site(start, int(end > start), -end, kind)


@dataclass(frozen=True)
class Mark:
    """A span of a planted text, and the mutants that an error in it is laid to."""

    start: int
    end: int
    names: frozenset[str]
    # Whether it is what stands in a mutant's place.
    is_mutant: bool
    # `match` where these mutants take an arm from one, `body` where they are values of a function.
    kind: str = ""


@dataclass
class Planted:
    """A text with mutants in it."""

    text: bytes
    numbers: dict[str, int]
    # The first number of each number's site, which is written down where that is reached.
    sites: dict[int, int]
    marks: list[Mark]

    def at_fault(self, start: int, end: int, kind: str = "") -> Mark | None:
        """Return the innermost span of a kind that holds an error."""
        around = [
            mark
            for mark in self.marks
            if mark.start <= start and end <= mark.end and mark.kind == kind
        ]
        return min(around, key=lambda mark: mark.end - mark.start, default=None)


def const_word(function: Node) -> Node | None:
    """Return the word that makes a function a constant one."""
    modifiers = [child for child in function.children if child.type == "function_modifiers"]
    words = [word for modifier in modifiers for word in modifier.children]
    return next((word for word in words if word.type == "const"), None)


def is_fixed(function: Node, fixed: Collection[str]) -> bool:
    """Whether constants need a function that is a constant one."""
    name = function.child_by_field_name("name")
    return const_word(function) is not None and bool(
        name and name.text and name.text.decode() in fixed
    )


def is_constant(node: Node | None, fixed: Collection[str]) -> bool:
    """Whether a node is evaluated when the program is compiled."""
    while node is not None:
        if node.type in {"const_item", "static_item", "const_block", "enum_variant"}:
            return True
        if node.type == "function_item":
            return is_fixed(node, fixed)
        node = node.parent
    return False


def constant_functions(node: Node) -> Iterator[Node]:
    """Yield the functions of a text that are constant ones."""
    if node.type == "function_item" and const_word(node):
        yield node
    for child in node.children:
        yield from constant_functions(child)


def around(root: Node, mutant: Mutant, kind: str) -> Node | None:
    """Return the innermost node of a kind that a mutant begins in."""
    node = root.descendant_for_byte_range(mutant.start, mutant.start + 1)
    while node is not None and node.type != kind:
        node = node.parent
    return node


def site_of(root: Node, mutant: Mutant, fixed: Collection[str]) -> Site | None:
    """Return where a mutant is planted, or nothing where it cannot be chosen."""
    node = root.descendant_for_byte_range(mutant.start, mutant.end)
    if node is None or is_constant(node, fixed):
        return None
    if mutant.genre == "FnValue":
        return site("return", mutant.start, mutant.start)
    if mutant.genre == "MatchArmGuard":
        return site("value", mutant.start, mutant.end)
    if mutant.genre == "MatchArm":
        arm = around(root, mutant, "match_arm")
        pattern = arm and arm.child_by_field_name("pattern")
        return site("arm", pattern.end_byte, pattern.end_byte) if pattern else None
    if mutant.genre in {"BinaryOperator", "UnaryOperator"}:
        operation = node.parent
        exact = (node.start_byte, node.end_byte) == (mutant.start, mutant.end)
        if operation is None or not exact or operation.type not in OPERATIONS:
            return None
        while (outer := operation.parent) is not None and outer.type in CHAINS:
            operation = outer
        return site("value", operation.start_byte, operation.end_byte)
    return None


@dataclass
class Writer:
    """Writes a text with its sites; nested ones stand in what is not mutated."""

    source: bytes
    members: dict[Site, list[Mutant]]
    number: int
    # The mutants that take an arm from a `match`, or are values of a function.
    outer: dict[Site, list[Mutant]] = field(default_factory=dict)
    out: bytearray = field(default_factory=bytearray)
    numbers: dict[str, int] = field(default_factory=dict)
    sites: dict[int, int] = field(default_factory=dict)
    marks: list[Mark] = field(default_factory=list)

    def write(self, start: int, end: int, sites: Sequence[Site]) -> None:
        """Write a span of the source with the sites in it, which are sorted."""
        while sites:
            first = sites[0]
            inner = 1
            while inner < len(sites) and sites[inner].end <= first.end and first.end > first.start:
                inner += 1
            self.out += self.source[start : first.start]
            self.write_site(first, sites[1:inner])
            start, sites = first.end, sites[inner:]
        self.out += self.source[start:end]

    def write_site(self, at: Site, inner: Sequence[Site]) -> None:
        """Write one site."""
        if at.kind == "const":
            return
        begun = len(self.out)
        if at.kind in {"match", "body"}:
            self.write(at.start, at.end, inner)
            names = frozenset(mutant.name for mutant in self.outer[at])
            self.marks.append(Mark(begun, len(self.out), names, is_mutant=False, kind=at.kind))
            return
        mutants = self.members[at]
        first = self.number
        self.number += len(mutants)
        numbered = list(enumerate(mutants, first))
        self.numbers |= {mutant.name: number for number, mutant in numbered}
        # Each arm has a choice of its own, all others of a site have one.
        firsts = range(first, self.number) if at.kind == "arm" else [first] * len(mutants)
        self.sites |= dict(zip(range(first, self.number), firsts, strict=True))
        if at.kind == "arm":
            self.out += "".join(
                f" if {CHOSEN}({number}) != {number}" for number, _ in numbered
            ).encode()
        elif at.kind == "return":
            self.out += f"match {CHOSEN}({first}) {{".encode()
            for number, mutant in numbered:
                self.arm(mutant, f"{number} => return ".encode(), mutant.text.encode())
            self.out += b"_ => ()}; "
        else:
            self.out += f"(match {CHOSEN}({first}) {{..{first} | {self.number}.. => ".encode()
            self.write(at.start, at.end, inner)
            self.out += b", "
            for number, mutant in numbered:
                before = self.source[at.start : mutant.start]
                after = self.source[mutant.end : at.end]
                self.arm(mutant, f"{number} => ".encode(), before + mutant.text.encode() + after)
            self.out += b"})"
        names = frozenset(mutant.name for mutant in mutants)
        self.marks.append(Mark(begun, len(self.out), names, is_mutant=False))

    def arm(self, mutant: Mutant, before: bytes, text: bytes) -> None:
        """Write what stands in a mutant's place."""
        begun = len(self.out)
        self.out += before + text + b", "
        name = frozenset({mutant.name})
        self.marks.append(Mark(begun, len(self.out), name, is_mutant=True))


def plant(
    source: bytes, mutants: Iterable[Mutant], first: int = 1, fixed: Collection[str] = ()
) -> Planted:
    """Plant mutants of one file, numbered from `first`; leave out what cannot be chosen.

    The functions named in `fixed` stay constant ones.
    """
    root = RUST.parse(source).root_node
    members: dict[Site, list[Mutant]] = defaultdict(list)
    for mutant in mutants:
        if at := site_of(root, mutant, fixed):
            members[at].append(mutant)
    outer: dict[Site, list[Mutant]] = defaultdict(list)
    for at, (kind, name) in itertools.product(members, OUTER.items()):
        for mutant in members[at] if at.kind == kind else ():
            if node := around(root, mutant, name):
                mark = "match" if kind == "arm" else "body"
                outer[site(mark, node.start_byte, node.end_byte)].append(mutant)
    sites = [*members, *outer]
    for function in constant_functions(root):
        word = const_word(function)
        if word and not is_fixed(function, fixed):
            sites.append(site("const", word.start_byte, word.end_byte))
    writer = Writer(source, members, first, outer)
    writer.write(0, len(source), sorted(sites))
    return Planted(bytes(writer.out), writer.numbers, writer.sites, writer.marks)


class Lines:
    """Turns lines and columns, both from 1 and in characters, to offsets in octets."""

    def __init__(self, source: bytes) -> None:
        self.lines = source.split(b"\n")
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line) + 1)

    def offset(self, line: int, column: int) -> int:
        """Return the offset of a place."""
        before = self.lines[line - 1].decode()[: column - 1]
        return self.starts[line - 1] + len(before.encode())
