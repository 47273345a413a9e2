"""The files for Slurm and Kubernetes, run as far as one machine allows.

Host names and ports are replaced by those of this machine. What a batch system or a cluster itself
would do (allocate nodes, pull images, route a service) is not tried.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import qcnlab
from conftest import ROOT, SHORT_FLAGS

FILES = ROOT / "examples/cluster"
BIN = Path(sys.executable).parent
PAGE = (ROOT / "docs/guide/sweeps-on-a-cluster.md").read_text(encoding="utf-8")
SMALLER = ("--vary", "topology.sources=2,3", "--reps", "2", *SHORT_FLAGS)

pytest.importorskip("distributed")
yaml = pytest.importorskip("yaml")


@pytest.fixture(scope="module")
def manifests() -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((FILES / "kubernetes.yaml").read_text(encoding="utf-8")))


def named(manifests: list[dict[str, Any]], kind: str, name: str) -> dict[str, Any]:
    [manifest] = [m for m in manifests if m["kind"] == kind and m["metadata"]["name"] == name]
    return manifest


def arguments(workload: dict[str, Any]) -> list[str]:
    [container] = workload["spec"]["template"]["spec"]["containers"]
    assert all(isinstance(word, str) for word in container["args"])
    return list(container["args"])


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextmanager
def running(words: list[str], folder: Path) -> Iterator[None]:
    """Run a program of this environment while the body does."""
    process = subprocess.Popen(
        [str(BIN / words[0]), *words[1:]],
        cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield
    finally:
        process.terminate()
        process.wait(timeout=60)


def smaller(words: list[str]) -> list[str]:
    """Return the words of a sweep with fewer and shorter runs."""
    start = words.index("--vary")
    return [*words[:start], *SMALLER, *words[words.index("--on") :]]


def check(out: Path) -> None:
    swept = qcnlab.open_sweep(out)
    assert swept.vary == {"topology.sources": [2, 3]}
    assert swept.runs == [2, 2]


def test_every_workload_selects_its_own_pods(manifests: list[dict[str, Any]]) -> None:
    kinds = sorted(manifest["kind"] for manifest in manifests)
    assert kinds == ["Deployment", "Deployment", "Job", "PersistentVolumeClaim", "Service"]
    labels = []
    for manifest in manifests:
        if manifest["kind"] == "Deployment":
            template = manifest["spec"]["template"]["metadata"]["labels"]
            assert manifest["spec"]["selector"]["matchLabels"] == template
            labels.append(template)
    service = named(manifests, "Service", "qcnlab-scheduler")
    assert service["spec"]["selector"] in labels
    claim = named(manifests, "PersistentVolumeClaim", "qcnlab-results")["metadata"]["name"]
    pod = named(manifests, "Job", "qcnlab-sweep")["spec"]["template"]["spec"]
    assert pod["volumes"][0]["persistentVolumeClaim"]["claimName"] == claim
    assert pod["volumes"][0]["name"] == pod["containers"][0]["volumeMounts"][0]["name"]


def test_the_containers_of_the_manifests_make_a_sweep(
    manifests: list[dict[str, Any]], tmp_path: Path
) -> None:
    port = free_port()
    service = named(manifests, "Service", "qcnlab-scheduler")
    address = f"{service['metadata']['name']}:{service['spec']['ports'][0]['port']}"
    here = {"8786": str(port), "/tmp": str(tmp_path), "/results/hot": str(tmp_path / "hot")}

    def of(kind: str, name: str) -> list[str]:
        words = arguments(named(manifests, kind, name))
        return [here.get(word, word.replace(address, f"127.0.0.1:{port}")) for word in words]

    sweep = smaller(of("Job", "qcnlab-sweep"))
    assert f"dask://127.0.0.1:{port}" in sweep
    with (
        running(of("Deployment", "qcnlab-scheduler"), tmp_path),
        running(of("Deployment", "qcnlab-worker"), tmp_path),
    ):
        wait_for(port)
        done = subprocess.run(
            [str(BIN / sweep[0]), *sweep[1:]],
            cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    check(tmp_path / "hot")


def wait_for(port: int) -> None:
    """Wait as the readiness probe does."""
    deadline = time.monotonic() + 60
    while True:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_the_script_for_slurm_makes_a_sweep(tmp_path: Path) -> None:
    bash = shutil.which("bash") or pytest.skip("there is no bash")
    script = (FILES / "slurm.sh").read_text(encoding="utf-8")
    sweep = "--vary topology.sources=2..20 --reps 20"
    assert sweep in script
    flags = " ".join(f"'{word}'" for word in SMALLER)
    script = script.replace(sweep, flags).replace("8786", str(free_port()))
    (tmp_path / "job.sh").write_text(script, encoding="utf-8")
    tools = tmp_path / "tools"
    (tmp_path / "qcnlab-env/bin").mkdir(parents=True)
    (tmp_path / "qcnlab-env/bin/activate").write_text(f"PATH={tools}:{BIN}:$PATH\n")
    tools.mkdir()
    # One task in place of fifteen, on this machine.
    (tools / "srun").write_text('#!/bin/bash\n[ "$1" = --ntasks=15 ] || exit 2\nshift\nexec "$@"\n')
    (tools / "hostname").write_text("#!/bin/bash\necho 127.0.0.1\n")
    for tool in tools.iterdir():
        tool.chmod(0o755)
    log = tmp_path / "log"
    # What it starts in the background may hold a pipe for longer than the script lives.
    with log.open("w") as file:
        done = subprocess.run(
            [bash, "job.sh"],
            cwd=tmp_path, env={**os.environ, "HOME": str(tmp_path)}, stdout=file, stderr=file,
            timeout=180, check=False,
        )  # fmt: skip
    assert done.returncode == 0, log.read_text()
    check(tmp_path / "hot")


@pytest.mark.parametrize("name", ["slurm.sh", "kubernetes.yaml", "Dockerfile"])
def test_the_page_names_every_file(name: str) -> None:
    assert f"examples/cluster/{name}" in PAGE
