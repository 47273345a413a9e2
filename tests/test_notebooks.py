"""The notebooks run from the first cell to the last."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

NOTEBOOKS = sorted((ROOT / "examples/notebooks").glob("*.ipynb"))
# In a process of its own: Jupyter's packages warn of themselves, and the kernel outlives no test.
EXECUTE = """
import json, sys
import nbformat
from nbclient import NotebookClient
notebook = nbformat.read(sys.argv[1], as_version=4)
stored = [cell for cell in notebook.cells if cell.cell_type == "code" and cell.outputs]
NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
kinds = [[key for out in cell.outputs for key in out.get("data", {"text": 0})]
         for cell in notebook.cells if cell.cell_type == "code"]
print(json.dumps([len(stored), kinds]))
"""


def test_there_are_four() -> None:
    assert len(NOTEBOOKS) == 4


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: str(path.stem))
def test_a_notebook_runs(path: Path, tmp_path: Path) -> None:
    pytest.importorskip("nbclient", reason="notebooks need nbclient and ipykernel")
    done = subprocess.run(
        [sys.executable, "-c", EXECUTE, str(path)],
        cwd=tmp_path,
        env={**os.environ, "IPYTHONDIR": str(tmp_path / "ipython"), "PYTHONWARNINGS": "ignore"},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    # Notebooks are stored without outputs; run, every one shows a figure or a table by itself.
    stored, kinds = json.loads(done.stdout.splitlines()[-1])
    assert stored == 0
    assert any({"image/png", "text/html"} & set(each) for each in kinds)
