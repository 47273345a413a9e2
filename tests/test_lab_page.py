"""`qcnlab lab`: the page is complete, and is handed out to this machine alone."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from typing import TYPE_CHECKING

import pytest

from conftest import HOTSPOT, ROOT
from processes import PATIENCE_S
from qcnlab.commands.laboratory import PAGE, fragment

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import CommandLine


def test_the_page_is_one_small_file() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert len(page.encode()) < 3_000_000
    assert not re.search(r"<(?:script|link|img|iframe)[^>]+(?:src|href)=\"(?!data:)", page)
    assert "MIT licence" in page and "uPlot" in page
    assert "/root/" not in page and "/home/" not in page


def test_a_lock_file_names_no_host() -> None:
    lock = (ROOT / "web" / "package-lock.json").read_text(encoding="utf-8")
    assert '"resolved"' not in lock


def test_the_address_sets_the_laboratory_up(cli: CommandLine) -> None:
    done = cli("lab", HOTSPOT, "--schemes", "qcn,ecm", "-s", "topology.rtt=100us", "--no-open")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == (
        f"{PAGE.as_uri()}#scenario={HOTSPOT}&set=topology.rtt=100us&run=qcn&run=ecm"
    )
    assert cli("lab", "--no-open").stdout.strip() == PAGE.as_uri()
    assert cli("lab", "--lesson", "2", "--no-open").stdout.strip().endswith("#lesson=2")


def test_a_file_goes_along_as_text(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_bytes(b"<<???>>")
    # Base64 of these octets has the two signs that addresses do not: PDw/Pz8+Pg==
    assert fragment(str(file), [], [], None) == "text=PDw_Pz8-Pg"


def test_a_mistake_is_told_before_a_browser_opens(cli: CommandLine) -> None:
    done = cli("lab", HOTSPOT, "-s", "topology.rtt=10 parsecs", "--no-open")
    assert (done.returncode, done.stdout) == (2, "")
    assert "parsecs" in done.stderr
    assert cli("lab", "no-such-scenario", "--no-open").returncode == 2


@pytest.mark.parametrize(
    ("schemes", "wrong", "near"),
    [("nope", "nope", "none"), ("qcn,emc", "emc", "ecm"), ("dqcn|scheme.cp.w=8", "dqcn", "dcqcn")],
)
def test_an_unknown_scheme_is_told_with_the_nearest(
    cli: CommandLine, schemes: str, wrong: str, near: str
) -> None:
    for scenario in ((), (HOTSPOT,)):
        done = cli("lab", *scenario, "--schemes", schemes, "--no-open")
        assert (done.returncode, done.stdout) == (2, "")
        assert f"unknown scheme '{wrong}'" in done.stderr
        assert f'did you mean "{near}"?' in done.stderr
    done = cli("lab", "--schemes", "qcn|scheme.cp.w=8,none", "--no-open")
    assert (done.returncode, done.stderr) == (0, "")


def test_it_is_served_to_this_machine_alone() -> None:
    command = [sys.executable, "-m", "qcnlab", "lab", "--serve", "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            address = server.stdout.readline().strip()
            assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", address)
            with urllib.request.urlopen(address) as answer:
                assert answer.read() == PAGE.read_bytes()
            with pytest.raises(urllib.error.HTTPError, match="404") as refused:
                urllib.request.urlopen(f"{address}../../etc/passwd")
            refused.value.close()
            port = int(address.rsplit(":", 1)[1].rstrip("/"))
            # Another address of the same machine finds nobody there.
            with socket.socket() as other:
                assert other.connect_ex(("127.0.0.2", port)) != 0
        finally:
            server.terminate()


SIGNAL_WITHIN_A_REQUEST = """
import os, signal, socketserver, sys, time
from qcnlab.cli.program import main

def process_request(self, request, address):
    try:
        os.kill(os.getpid(), signal.{name})
        time.sleep(0.5)
    except BaseException as error:
        raise RuntimeError("release unlocked lock") from error

socketserver.ThreadingMixIn.process_request = process_request
main(["lab", "--serve", "--no-open"])
"""


@pytest.mark.parametrize(("name", "code"), [("SIGTERM", 143), ("SIGINT", 130)])
def test_a_signal_while_a_request_is_served_ends_it(name: str, code: int) -> None:
    command = [sys.executable, "-c", SIGNAL_WITHIN_A_REQUEST.replace("{name}", name)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as server:
        try:
            assert server.stdout is not None
            address = server.stdout.readline().strip()
            with pytest.raises(OSError):
                urllib.request.urlopen(address, timeout=PATIENCE_S)
            assert server.wait(PATIENCE_S) == code
        finally:
            server.kill()
