"""What the pages of live measurements share: when, on which build and machine, and their lines."""

from __future__ import annotations

import datetime
import os
import platform
import subprocess
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def written_by(target: str) -> str:
    """Return by which target of the Makefile, when, on which build and machine a page was made."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    today = datetime.datetime.now(tz=datetime.UTC).date()
    machine = f"{platform.system()} {platform.release().split('-')[0]}, {os.cpu_count()} CPUs"
    return f"Written by `make {target}` on {today} at commit {commit}; {machine}"


def wrapped(paragraph: str) -> str:
    """Return a paragraph in lines of a page's width."""
    return textwrap.fill(paragraph, 120, break_long_words=False, break_on_hyphens=False)
