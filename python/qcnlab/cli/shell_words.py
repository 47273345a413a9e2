"""The words that a shell completes: scenarios, schemes, metrics, keys and their values."""

from __future__ import annotations

import io
import os
from contextlib import redirect_stdout
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

Word = tuple[str, str]
"""A word and what it means."""
EXAMPLES = {"size": "150KB", "rate": "10Gb/s", "time": "10us"}
"""A value of each kind of quantity, in one word of a shell."""


def scenarios_or_files(incomplete: str) -> list[Word]:
    """Return the shipped scenarios whose names begin so, and the files and folders that do."""
    from qcnlab import catalogue

    named = [(entry.name, entry.title) for entry in catalogue.scenarios()]
    return [*_starting(named, incomplete), *_files(incomplete)]


def schemes(incomplete: str) -> list[Word]:
    """Return the schemes that go on a list of them, separated by commas."""
    from qcnlab import catalogue

    return _listed([(entry.name, entry.title) for entry in catalogue.schemes()], incomplete)


def metrics(incomplete: str) -> list[Word]:
    """Return the metrics whose names begin so."""
    from qcnlab import catalogue

    return _starting([(entry.name, entry.title) for entry in catalogue.metrics()], incomplete)


def known_names(incomplete: str) -> list[Word]:
    """Return all that `qcnlab explain` knows and that begins so."""
    from qcnlab import catalogue
    from qcnlab.catalogue.words import words

    known: dict[str, str] = {}
    for entry in catalogue.parameters():
        known[entry.key.rpartition(".")[2]] = _line(entry.about)
    for word in words():
        known |= {name: _line(word.about) for name in (word.name, *word.also, *word.covers)}
    known |= {each.name: each.title for each in catalogue.scenarios()}
    known |= {each.name: each.title for each in catalogue.schemes()}
    known |= {each.name: each.title for each in catalogue.metrics()}
    # A shell takes a word with a space for two.
    return _starting([each for each in known.items() if " " not in each[0]], incomplete)


def changes(incomplete: str) -> list[Word]:
    """Return what an assignment can go on with: keys, or the values of the key before the `=`."""
    from qcnlab import catalogue

    key, equals, written = incomplete.partition("=")
    if not equals:
        # Schemes share keys; one word stands for all of them.
        keys = {entry.key: _line(entry.about) for entry in catalogue.parameters()}
        fitting = _starting(keys.items(), incomplete)
        if len(fitting) != 1:
            return [(f"{name}=", about) for name, about in fitting]
        # A shell puts a space behind the only word, so its values stand beside it.
        [(key, about)] = fitting
        return [(f"{key}=", about), *_assignments(key, "")]
    return _assignments(key, written)


def _assignments(key: str, written: str) -> list[Word]:
    from qcnlab import catalogue

    values: dict[str, str] = {}
    for entry in catalogue.parameters():
        if entry.key == key:
            if entry.type == "boolean":
                values |= {"true": "", "false": ""}
            elif entry.type in EXAMPLES:
                values[EXAMPLES[entry.type]] = "example"
            if entry.default and len(entry.default.split()) <= 2:
                values["".join(entry.default.split())] = "default"
            values |= {each.name: _line(each.about) for each in entry.choices or ()}
    return [(f"{key}={value}", about) for value, about in _listed(values.items(), written)]


def in_bash(complete: Callable[[], object]) -> None:
    """Run `complete` for bash, which takes `key=value` for three words and replaces the last.

    Parameters
    ----------
    complete : callable
        Prints the words that fit those of the environment, one on a line.
    """
    key = _joined()
    words = io.StringIO()
    try:
        with redirect_stdout(words):
            complete()
    finally:
        for word in words.getvalue().splitlines():
            print(word.removeprefix(key))


def _joined() -> str:
    """Join the assignments among bash's words; return the part before the word that is replaced."""
    words = os.environ.get("COMP_WORDS", "").split("\n")
    at = int(os.environ.get("COMP_CWORD", "0"))
    joined: list[str] = []
    key = ""
    for number, word in enumerate(words[: at + 1]):
        goes_on = number > 0 and (word == "=" or words[number - 1] == "=") and joined
        if not goes_on:
            joined.append(word)
            continue
        if number == at:
            key = joined[-1] + ("=" if word == "=" else "")
        joined[-1] += word
    os.environ["COMP_WORDS"] = "\n".join(joined)
    os.environ["COMP_CWORD"] = str(len(joined) - 1)
    return key


def _listed(known: Iterable[Word], incomplete: str) -> list[Word]:
    """Return how a list of words, separated by commas, can go on."""
    before, comma, last = incomplete.rpartition(",")
    taken = before.split(",")
    left = [(word, about) for word, about in known if word not in taken]
    return [(f"{before}{comma}{word}", about) for word, about in _starting(left, last)]


def _starting(known: Iterable[Word], incomplete: str) -> list[Word]:
    return [(word, about) for word, about in known if word.startswith(incomplete)]


def _files(incomplete: str) -> Iterator[Word]:
    """Yield scenario files and folders, which a shell does not add to our words by itself."""
    folder, _, start = incomplete.rpartition("/")
    within = f"{folder}/" if folder or incomplete.startswith("/") else ""
    try:
        with os.scandir(within or ".") as entries:
            listed = sorted((entry.name, entry.is_dir()) for entry in entries)
    except OSError:
        return
    for name, is_folder in listed:
        if name.startswith(start) and (start or not name.startswith(".")):
            if is_folder:
                yield f"{within}{name}/", "folder"
            elif name.endswith(".toml"):
                yield f"{within}{name}", "scenario file"


def _line(about: str) -> str:
    """Return the first sentence of a text."""
    return " ".join(about.split()).partition(". ")[0]
