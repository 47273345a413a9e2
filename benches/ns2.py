"""ns-2 from Debian: installed the first time where that may be done without asking."""

import os
import shutil
import sys

from ns3 import Missing, run_silently


def program() -> str:
    """Return the program, installing its package if this is root's machine."""
    if shutil.which("ns") is None:
        if os.geteuid() != 0 or shutil.which("apt-get") is None:
            raise Missing("ns-2 is missing (Debian, as root: apt-get install ns2)")
        print("installing ns2 with apt-get ...", file=sys.stderr)
        run_silently(["apt-get", "update", "-q"], "apt-get update")
        run_silently(["apt-get", "install", "-q", "-y", "ns2"], "apt-get install ns2")
    return "ns"
