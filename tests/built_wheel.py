"""Install a wheel into a clean environment and run the demonstration there without a network.

    python tests/built_wheel.py dist/qcnlab-*.whl
    python tests/built_wheel.py --here target/wheels/qcnlab-*.whl

With --here the wheel may be for this machine alone. Prints the wheel's name and size, and how long
each step took. Dependencies come from a package index. The demonstration runs in a network
namespace of its own where the system allows one, else with proxies that lead nowhere.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path
from zipfile import ZipFile

LICENCES = {"LICENSE-APACHE", "LICENSE-MIT"}


def main(wheel: Path, *, here: bool) -> None:
    """Check one wheel; raise `SystemExit` or `CalledProcessError` if anything is wrong."""
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB")
    metadata(wheel, here=here)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        started = time.monotonic()
        venv.create(folder / "venv", with_pip=True)
        programs = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
        python = programs / "python"
        pip = (str(python), "-m", "pip", "--disable-pip-version-check", "install", "--quiet")
        subprocess.run([*pip, str(wheel.resolve())], check=True)
        print(f"installed in {time.monotonic() - started:.0f} s")
        started = time.monotonic()
        program = str(programs / "qcnlab")
        command = [*without_network(), program, "demo", "--quick", "-o", "demo"]
        done = subprocess.run(command, cwd=folder, env=offline(), check=True, capture_output=True)
        if b"QCN, final form" not in done.stdout or not (folder / "demo/report.html").exists():
            raise SystemExit("the demonstration has not written its table and its report")
        how = "without a network" if without_network() else "with proxies that lead nowhere"
        print(f"demonstration {how} in {time.monotonic() - started:.0f} s")


def metadata(wheel: Path, *, here: bool) -> None:
    """Refuse a wheel without its licences or its bill of materials, or for this machine alone."""
    if not here and not any(system in wheel.name for system in ("manylinux", "macosx", "win")):
        raise SystemExit(f"{wheel.name} is for this machine alone: build it with `make wheel`")
    with ZipFile(wheel) as archive:
        names = archive.namelist()
        [path] = [name for name in names if name.endswith(".dist-info/METADATA")]
        text = archive.read(path).decode()
    missing = LICENCES - {Path(name).name for name in names}
    if missing or "License-Expression: Apache-2.0 OR MIT" not in text:
        raise SystemExit(f"the licences are not in the wheel: {sorted(missing)}")
    if not any(name.endswith("cyclonedx.json") for name in names):
        raise SystemExit("the bill of materials of the crates is not in the wheel")


def without_network() -> list[str]:
    """Return what starts a command without a network, empty where the system does not let us."""
    for words in (["unshare", "-n"], ["unshare", "-rn"]):
        try:
            subprocess.run([*words, "true"], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            continue
        return words
    return []


def offline() -> dict[str, str]:
    """Return the environment with proxies that lead nowhere, and nothing of a Python around us."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    kept.pop("VIRTUAL_ENV", None)
    return {
        **kept,
        **dict.fromkeys(("http_proxy", "https_proxy", "all_proxy"), "http://127.0.0.1:9"),
    }


if __name__ == "__main__":
    wheels = [word for word in sys.argv[1:] if word != "--here"]
    if len(wheels) != 1:
        raise SystemExit(__doc__)
    main(Path(wheels[0]), here="--here" in sys.argv)
