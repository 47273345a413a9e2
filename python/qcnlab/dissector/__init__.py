"""The dissector that teaches Wireshark CN-TAG, CNM and the experimental frames of qcnlab."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path

from qcnlab.errors import Error

NAME = "qcnlab.lua"
"""The file's name in Wireshark's folder."""


def source() -> str:
    """Return the Lua source of the dissector.

    Returns
    -------
    str
        A script for Wireshark's personal plugin folder, or for ``tshark -X lua_script:FILE``.

    Examples
    --------
    >>> "cntag.rpid" in source()
    True
    """
    return files(__name__).joinpath(NAME).read_text(encoding="utf-8")


def install(folder: Path | None = None) -> Path:
    """Write the dissector into a folder of Lua plugins.

    Parameters
    ----------
    folder : Path, optional
        The folder; by default the personal one that tshark names, or where there is no tshark the
        one that Wireshark has as a rule.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    Error
        If it cannot be written.
    """
    from qcnlab.files.folders import write_whole
    from qcnlab.files.outputs import DISSECTOR, writable

    path = (folder or _personal()) / NAME
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(writable(path, DISSECTOR), source().encode())
    except OSError as error:
        raise Error(
            f"the dissector '{path}' cannot be written: {error.strerror}; "
            "choose another folder with --folder DIR"
        ) from error
    return path


def _personal() -> Path:
    """Return the folder from which Wireshark loads personal Lua plugins."""
    tshark = shutil.which("tshark")
    if tshark is not None:
        told = subprocess.run(
            [tshark, "-G", "folders"], capture_output=True, text=True, timeout=60, check=False
        )
        named = re.search(r"^Personal Lua Plugins:\s*(.+)$", told.stdout, re.MULTILINE)
        if named is not None:
            return Path(named[1])
    if os.name == "nt":
        return Path(os.environ.get("APPDATA", "~")).expanduser() / "Wireshark" / "plugins"
    return Path("~/.local/lib/wireshark/plugins").expanduser()
