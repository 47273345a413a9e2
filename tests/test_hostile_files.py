"""Every reader of others' files against every trap: one clear line, no file, little memory.

Each reader's own tests have the faults of its format. Here stands what no reader may do with any
file, so that a new one is held to it: `READERS` has each command of `qcnlab import`.
"""

from __future__ import annotations

import gzip
import importlib.util
import os
import re
import shutil
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from conftest import ROOT, CommandLine, every_command

if TYPE_CHECKING:
    from collections.abc import Callable

EXAMPLES = ROOT / "examples"
STAR = ("--duration", "10 ms", "--rate", "100 Gb/s", "--delay", "1 us")
HUGE = 10 << 30
"""Octets of a file without ends of lines: a hole, so that no disk holds it."""
MOST_MEMORY = 1 << 27
"""Octets that a reader may take before it refuses such a file."""


class Reader(NamedTuple):
    """A command, the folder of its example, the words after it, and the files that it reads."""

    command: str
    folder: str
    words: tuple[str, ...]
    files: tuple[str, ...]


CHAKRA = tuple(f"step.{rank}.et" for rank in range(4))
BESIDE = ("--topology", "network.yml", "--system", "system.json", "--logical", "logical.json",
          "--groups", "groups.json")  # fmt: skip
COLUMNS = "src=SRC,dst=DST,bytes=SIZE,start=TIME:ms"
READERS = (
    Reader("hpcc", "hpcc", ("config.txt",), ("config.txt", "topology.txt", "flow.txt")),
    Reader("hpcc", "hpcc", ("topology.txt", "sizes.txt", "--load", "0.3", "--duration", "2 ms"),
           ("sizes.txt",)),
    Reader("htsim", "htsim", ("ring.cm", "tree.topo", "--times", "ps", "--duration", "1 ms"),
           ("ring.cm", "tree.topo")),
    Reader("goal", "goal", ("step.goal", *STAR), ("step.goal",)),
    Reader("chakra", "chakra", (*CHAKRA, "--duration", "10 ms", *BESIDE),
           ("step.0.et", "network.yml", "system.json", "logical.json", "groups.json")),
    Reader("simai", "chakra", ("simai.txt", *STAR), ("simai.txt",)),
    Reader("step", "training", ("step.toml", *STAR), ("step.toml",)),
    Reader("flows", "", ("flows.csv", "--map", COLUMNS, *STAR), ("flows.csv",)),
    Reader("sonic", "sonic", ("leaf=config_db.json",), ("config_db.json",)),
)  # fmt: skip
SONIC = """{"PORT": {"Ethernet0": {"speed": "100000"}, "Ethernet8": {"speed": "100000"}},
"DEVICE_NEIGHBOR": {"Ethernet0": {"name": "host1", "port": "eth0"},
"Ethernet8": {"name": "host2", "port": "eth0"}}}
"""


NUMBER = re.compile(rb"(?<![A-Za-z0-9.])[0-9]+(?=[ ,\]}:\n\"])")
"""One that stands for itself."""


def cut(text: bytes) -> bytes:
    """Return what is left of a file that was not written to its end: half of its last line."""
    text = text.rstrip()
    last = text.rfind(b"\n", 0, len(text) - 3) + 1
    return text[: last + (len(text) - last) // 2]


def huge(text: bytes) -> bytes:
    """Return a text whose last number has 400 digits."""
    last = list(NUMBER.finditer(text))[-1:]
    return b"".join([text[: each.start()] + b"9" * 400 + text[each.end() :] for each in last])


def digits(text: bytes) -> bytes:
    """Return a text with Arabic digits, which Python takes for digits, too."""
    return text.translate(None) if b"\x00" in text else b"".join(
        chr(0x660 + each - 48).encode() if 48 <= each <= 57 else bytes([each]) for each in text
    )  # fmt: skip


TRAPS: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda text: b"",
    "packed": gzip.compress,
    "zeros": lambda text: bytes(len(text)),
    "no UTF-8": lambda text: b"\xff\xfe" + text,
    "other digits": digits,
    "a number of 400 digits": huge,
    "nested": lambda text: b"[" * 200_000,
    "nested keys": lambda text: b'{"a":' * 100_000,
    "a line of 2 MB": lambda text: b"x" * (2 << 20),
    "cut off": cut,
}
PASS = {
    # A trace is no text, and has no digits.
    ("step.0.et", "other digits"),
    # Numbers of keys that are told as not modelled, whatever they are.
    ("config.txt", "a number of 400 digits"), ("system.json", "a number of 400 digits"),
}  # fmt: skip
"""What is read all the same."""


@pytest.fixture
def here(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path)


def prepared(here: CommandLine, reader: Reader) -> None:
    if reader.command == "chakra" and importlib.util.find_spec("google.protobuf") is None:
        pytest.skip("Chakra's traces need protobuf")
    if reader.command == "sonic":
        (here.folder / "config_db.json").write_text(SONIC, encoding="utf-8")
        return
    for path in (EXAMPLES / reader.folder).iterdir():
        if path.is_file():
            shutil.copy(path, here.folder)


def outcome(here: CommandLine, reader: Reader, name: str) -> tuple[int, str]:
    """Return the exit code and what stands in stderr; a refusal is a line, and writes nothing."""
    before = here.left()
    done = here("import", reader.command, *reader.words, "-o", "made.toml")
    if done.returncode == 0:
        return 0, ""
    told = done.stderr
    assert done.returncode == 2 and done.stdout == ""
    assert told.startswith("error: ") and told.count("\n") == 1, told
    assert len(told) < 600 and told.isprintable() is False and told[:-1].isprintable(), told
    assert name in told, told
    assert here.left() == before
    return 2, told


FILES = [(reader, name) for reader in READERS for name in reader.files]


@pytest.mark.parametrize("trap", TRAPS)
@pytest.mark.parametrize(("reader", "name"), FILES, ids=[name for _, name in FILES])
def test_a_trap_is_one_line(here: CommandLine, reader: Reader, name: str, trap: str) -> None:
    prepared(here, reader)
    path = here.folder / name
    text = path.read_bytes()
    path.write_bytes(TRAPS[trap](text))
    code, _ = outcome(here, reader, name)
    assert (code == 0) == ((name, trap) in PASS)


@pytest.mark.parametrize(("reader", "name"), FILES, ids=[name for _, name in FILES])
def test_a_line_of_10_gb_is_refused_in_little_memory(
    here: CommandLine, reader: Reader, name: str
) -> None:
    prepared(here, reader)
    path = here.folder / name
    with path.open("ab") as file:
        os.truncate(file.fileno(), HUGE)
    tracemalloc.start()
    try:
        code, _ = outcome(here, reader, name)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert code == 2
    assert most < MOST_MEMORY


@pytest.mark.parametrize("reader", READERS, ids=[reader.command for reader in READERS])
def test_a_folder_and_nothing_are_refused(here: CommandLine, reader: Reader) -> None:
    prepared(here, reader)
    path = here.folder / reader.files[0]
    path.unlink()
    assert outcome(here, reader, path.name)[0] == 2
    path.mkdir()
    if reader.command != "sonic":  # A switch may have a folder of files.
        assert outcome(here, reader, path.name)[0] == 2


def test_every_reader_is_here() -> None:
    commands = {name.split()[1] for name in every_command() if name.startswith("import ")}
    assert {reader.command for reader in READERS} == commands
    for reader in READERS:
        assert set(reader.files) <= set(reader.words) | {"topology.txt", "flow.txt"} | {
            word.partition("=")[2] for word in reader.words
        }
