"""One vocabulary: names in the code are the field's words, and retired ones do not come back."""

from __future__ import annotations

import io
import keyword
import re
import tokenize
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from conftest import ROOT

RETIRED = {
    "ask again": "refresh (a pause)",
    "crowd": "contenders",
    "found": "located, matches, values: what it is",
    "given": "arguments, inputs",
    "glimpse": "window",
    "ground": "resolved scenario",
    "lane": "priority group, class",
    "let lane go": "send XON",
    "letter": "control frame",
    "look": "load of a phase, line style",
    "needs": "memory estimate, requirements",
    "place": "index, position, location, slot, port: what it is",
    "quiet": "lazy, silent",
    "turns": "priority queues",
    "watch": "congestion point of a port",
}
"""Words that no identifier and no file name contains, and what to say instead."""

VERBS = {"found", "given", "look", "needs", "place", "quiet", "turns", "watch"}
"""Retired nouns that are plain verbs and adverbs in a sentence, as names of tests are."""
SENTENCE = 5
"""Words from which on a name is a sentence."""

THEIRS = {
    "FileNotFoundError", "ModuleNotFoundError", "NotFound", "drop_in_place", "num_lanes",
}  # fmt: skip
"""Names of languages and libraries that contain a retired word."""

BUILT = {".git", ".venv", "dist", "runs", "target"}
SUFFIXES = {".py", ".pyi", ".rs"}
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
RUST_NOISE = re.compile(
    r"""//[^\n]*
      | /\*.*?\*/
      | b?r(\#*)".*?"\1
      | b?"(?:\\.|[^"\\])*"
      | b?'(?:\\.|[^'\\])'
    """,
    re.DOTALL | re.VERBOSE,
)
IDENTIFIER = re.compile(r"[A-Za-z_]\w*")


def words(name: str) -> list[str]:
    """Return the parts of a name in lower case: `recvBuffer_2` is recv, buffer, 2."""
    return [part.lower() for part in WORD.findall(name)]


@cache
def retired(name: str) -> frozenset[str]:
    """Return the retired words in a name; a plural counts as its word."""
    if name in THEIRS:
        return frozenset()
    parts = words(name)
    singular = [part if part in RETIRED else part.removesuffix("s") for part in parts]
    sequence = f" {' '.join(singular)} "
    refused = RETIRED.keys() - VERBS if len(parts) >= SENTENCE else RETIRED.keys()
    return frozenset(word for word in refused if f" {word} " in sequence)


def python_names(text: str) -> set[str]:
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return {
        token.string
        for token in tokens
        if token.type == tokenize.NAME and not keyword.iskeyword(token.string)
    }


def rust_names(text: str) -> set[str]:
    return set(IDENTIFIER.findall(RUST_NOISE.sub(" ", text)))


@cache
def sources() -> tuple[str, ...]:
    """Return the Rust and Python files of this tree, without what is built."""
    folders = [path for path in ROOT.iterdir() if path.is_dir() and path.name not in BUILT]
    paths = [path for folder in folders for path in folder.rglob("*")]
    files = (path.relative_to(ROOT).as_posix() for path in paths if path.suffix in SUFFIXES)
    return tuple(sorted(path for path in files if "/target/" not in path))


def faults(path: str) -> list[str]:
    """Return a line for each name of a file that has a retired word, its path's parts included."""
    text = (ROOT / path).read_text(encoding="utf-8")
    names: set[str] = set()
    # Where no word of the text is a retired name, none of its names is.
    if any(map(retired, set(IDENTIFIER.findall(text)))):
        names = rust_names(text) if path.endswith(".rs") else python_names(text)
    names |= {part.partition(".")[0] for part in Path(path).parts}
    return [
        f"{path}: {name}: instead of '{word}' say {RETIRED[word]}"
        for name in sorted(names)
        for word in sorted(retired(name))
    ]


def test_no_name_has_a_retired_word() -> None:
    assert len(sources()) > 300
    told = [fault for path in sources() for fault in faults(path)]
    assert not told, "\n".join(told)


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("place", "place"),
        ("_placeOf", "place"),
        ("PLACES", "place"),
        ("let_lanes_go", "let lane go"),
        ("FoundIn", "found"),
        ("needs", "needs"),
        ("HTTPLane2", "lane"),
        ("a_lane_stops_above_its_mark", "lane"),
    ],
)
def test_retired_words_are_recognised(name: str, word: str) -> None:
    assert word in retired(name)


@pytest.mark.parametrize(
    "name",
    [
        "placeholder",
        "lookup",
        "replaced",
        "stopwatch",
        "NotFound",
        "need",
        "test_a_loop_turns_unstable",
        "test_polars_needs_no_help",
    ],
)
def test_other_words_are_left_alone(name: str) -> None:
    assert retired(name) == set()


def test_comments_and_texts_are_no_names() -> None:
    assert rust_names('// place\nlet x = r#"look "here""#; /* found */ y("given \\" place")') == {
        "let",
        "x",
        "y",
    }
    assert python_names('x = "place"  # look\n') == {"x"}


TYPE = re.compile(r"^(?:pub(?:\([a-z]+\))? )?(?:struct|enum|trait|type) (\w+)", re.MULTILINE)


@pytest.mark.parametrize("crate", sorted(path.name for path in (ROOT / "crates").iterdir()))
def test_a_type_name_stands_once_in_a_crate(crate: str) -> None:
    files = (ROOT / "crates" / crate / "src").rglob("*.rs")
    names = Counter(name for file in files for name in TYPE.findall(file.read_text("utf-8")))
    assert names
    assert [name for name, count in names.items() if count > 1] == []
