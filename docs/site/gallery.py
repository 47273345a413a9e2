"""Run the commands of the gallery and put what they draw into docs/img; `make gallery` calls this.

A picture `gallery-NAME.png` of the page is the file NAME.png that the commands leave, with a hyphen
for each slash.
"""

from __future__ import annotations

import re
import shlex
import sys
import tempfile
from contextlib import chdir
from pathlib import Path

from PIL import Image

from qcnlab.cli.program import main as command

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/guide/gallery.md"
IMAGES = ROOT / "docs/img"
WIDTH, COLOURS = 1100, 48
"""Pixels and colours of a picture: legible, and small enough to keep in the repository."""


def main() -> None:
    """Run every command of the page, and keep its pictures."""
    page = PAGE.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as made, chdir(made):
        for block in re.findall(r"^```\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
            for line in block.splitlines():
                try:
                    command(shlex.split(line)[1:])
                except SystemExit as ended:
                    if ended.code:
                        sys.exit(f"{line}: exit code {ended.code}")
        left = {
            path.relative_to(made).as_posix().replace("/", "-"): path
            for path in Path(made).rglob("*.png")
        }
        for name in re.findall(r"/gallery-([^)]+\.png)\)", page):
            if name not in left:
                sys.exit(f"no command of {PAGE.name} draws {name}")
            picture = Image.open(left[name]).convert("RGB")
            picture.thumbnail((WIDTH, WIDTH), Image.Resampling.LANCZOS)
            picture.quantize(COLOURS).save(IMAGES / f"gallery-{name}", optimize=True)
            print(IMAGES / f"gallery-{name}")


if __name__ == "__main__":
    main()
