"""The dissector that teaches Wireshark CN-TAG, CNM and the experimental frames of qcnlab."""

from __future__ import annotations

from importlib.resources import files


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
    return files(__name__).joinpath("qcnlab.lua").read_text(encoding="utf-8")
