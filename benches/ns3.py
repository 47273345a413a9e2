"""ns-3 from its Python wheel: an environment of its own under target/, and drivers built on it.

The wheel `ns3` on PyPI holds the C++ headers and libraries too, so pip and g++ are all it takes.
"""

import platform
import shutil
import subprocess
import sys
from pathlib import Path

VERSION = "3.44"
WHEEL = "ns3==3.44.post0"
HERE = Path(__file__).parent
FOLDER = HERE.parent / "target/peers"
MODULES = ("applications", "bridge", "core", "internet", "network", "point-to-point", "stats")


class Missing(Exception):
    """ns-3 cannot be had here; the text says why."""


def run_silently(command: list[str], what: str) -> None:
    """Run a command that prints only when it fails."""
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        last = (run.stderr or run.stdout).strip().splitlines()[-3:]
        raise Missing(f"{what} failed:\n  " + "\n  ".join(last))


def wheel() -> Path:
    """Return the folder of the installed wheel, installing it the first time (300 MB on disk)."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        raise Missing(f"the wheel {WHEEL} is for Linux on x86-64")
    environment = FOLDER / "ns3"
    includes = list(environment.glob("lib/python3*/site-packages/ns3/include"))
    if not includes:
        print(f"installing {WHEEL} into {environment} ...", file=sys.stderr)
        run_silently([sys.executable, "-m", "venv", "--clear", str(environment)], "python -m venv")
        run_silently(
            [str(environment / "bin/pip"), "install", "--quiet", WHEEL], f"pip install {WHEEL}"
        )
        includes = list(environment.glob("lib/python3*/site-packages/ns3/include"))
    if not includes:
        raise Missing(f"{WHEEL} holds no headers")
    return includes[0].parent


def driver(name: str) -> Path:
    """Build `benches/peers/NAME.cc` when it is newer than the program; give the program."""
    root = wheel()
    source, program = HERE / "peers" / f"{name}.cc", FOLDER / name
    if program.exists() and program.stat().st_mtime >= source.stat().st_mtime:
        return program
    if shutil.which("g++") is None:
        raise Missing("g++ is missing (Debian: apt-get install g++)")
    library = root / "lib64"
    flags = ["-O3", "-DNDEBUG", "-std=c++20", f"-I{root / 'include'}", f"-L{library}"]
    link = [f"-Wl,-rpath,{library}", "-Wl,--no-as-needed", *(f"-lns{VERSION}-{m}" for m in MODULES)]
    run_silently(["g++", *flags, str(source), "-o", str(program), *link], f"building {source.name}")
    return program
