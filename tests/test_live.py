"""Live runs from the command line: folders, labels, interruption, and what is left behind.

Where this machine cannot run them they are skipped, with the reason; QCNLAB_REQUIRE_LIVE=1 makes
that a failure.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import qcnlab
import qcnlab.dissector
from qcnlab.runs.live_account import Account
from qcnlab.runs.meta import Meta
from typed_dicts import unlike

QCNLAB = [sys.executable, "-m", "qcnlab"]

# 3 s at scale 100: two senders meet at a link of their own rate.
HEAD = 'title = "Two senders"\nduration = "30 ms"\nwarmup = "5 ms"\n'
STAR = Path(__file__).parent.parent / "crates/live/tests/star/star.toml"


@pytest.fixture(scope="module")
def machine() -> None:
    """Skip unless this machine can run scenarios live."""
    done = subprocess.run(
        [*QCNLAB, "live", "doctor", "--json"], capture_output=True, text=True, check=False
    )
    doctor = json.loads(done.stdout)
    missing = [
        f"{each['what']}: {each['said']}"
        for each in doctor["findings"]
        if each["needed"] and not each["works"]
    ]
    if missing:
        reason = f"live: {'; '.join(missing)}"
        if os.environ.get("QCNLAB_REQUIRE_LIVE") == "1":
            pytest.fail(reason)
        pytest.skip(reason)


@pytest.fixture
def shaper(machine: None) -> None:
    """Skip unless the kernel has the shaper HTB."""
    done = subprocess.run(
        [*QCNLAB, "live", "doctor", "--json"], capture_output=True, text=True, check=False
    )
    findings = {each["what"]: each for each in json.loads(done.stdout)["findings"]}
    finding = findings["kernel shaper HTB"]
    if not finding["works"]:
        reason = f"live: {finding['what']}: {finding['said']}"
        if os.environ.get("QCNLAB_REQUIRE_LIVE") == "1":
            pytest.fail(reason)
        pytest.skip(reason)


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "two.toml"
    path.write_text(HEAD + STAR.read_text())
    return path


@pytest.fixture(scope="module")
def ran(machine: None, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Run the star for 1.2 s at scale 100, with a capture; give its folder and what was printed."""
    path = tmp_path_factory.mktemp("ran")
    (path / "two.toml").write_text(HEAD + STAR.read_text())
    changes = ["-s", "duration=12 ms", "--capture", "-o", str(path / "run")]
    command = [*QCNLAB, "live", "run", str(path / "two.toml"), *changes]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return path / "run", done.stdout


def interfaces() -> list[str]:
    lines = Path("/proc/self/net/dev").read_text().splitlines()
    return [line.split(":")[0].strip() for line in lines]


def named() -> set[str]:
    """Return the names of namespaces that have one."""
    folder = Path("/run/netns")
    return {path.name for path in folder.iterdir()} if folder.exists() else set()


def test_the_doctor_says_what_to_do_about_what_does_not_work() -> None:
    done = subprocess.run(
        [*QCNLAB, "live", "doctor", "--json"], capture_output=True, text=True, check=False
    )
    doctor = json.loads(done.stdout)
    assert done.returncode == (0 if doctor["able"] else 2)
    assert {"privileges", "network namespaces", "real-time scheduling"} <= {
        each["what"] for each in doctor["findings"]
    } or sys.platform != "linux"
    assert all(each["works"] or each["remedy"] for each in doctor["findings"])


def test_a_run_writes_an_ordinary_folder(ran: tuple[Path, str]) -> None:
    folder, printed = ran
    result = qcnlab.open_run(folder)
    live = result.meta["live"]
    assert unlike(result.meta, Meta, Account=Account) == []
    # 10 Gb/s and 12 ms at a scale of 100.
    assert live["scale"] == 100
    assert 'rate = "100 Mb/s"' in result.config
    assert 'duration = "1.2 s"' in result.config
    assert result.summary.counters.messages_heard
    assert live["stream_octets_wrong"] == 0
    # The label stands in the folder, in the table and in the figure, whose title is the summary's.
    valid = live["timing"]["valid"]
    assert result.summary.title.startswith("INVALID TIMING: ") != valid
    assert ("INVALID TIMING" in printed) != valid
    assert bool(live["timing"]["reasons"]) != valid


SLOWED = (
    "rp.time_reset=1.5 s",
    "rp.ai_rate=50 Kb/s",
    "rp.hai_rate=500 Kb/s",
    "rp.min_rate=100 Kb/s",
)


@pytest.mark.parametrize(
    ("what", "options", "most"),
    [
        (["plot"], [], 0),
        (["report"], [], 0),
        (["frames"], [], 0),
        # 1 where the law is broken: a loop may have been late.
        (["conform", "rp"], ["--preset", "DECK001", *(f"-s{each}" for each in SLOWED)], 1),
    ],
    ids=["plot", "report", "frames", "conform"],
)
def test_commands_read_the_folder_of_a_run(
    ran: tuple[Path, str], what: list[str], options: list[str], most: int
) -> None:
    folder, _ = ran
    of = folder if what[0] in {"plot", "report"} else folder / "capture.pcapng"
    command = [*QCNLAB, *what, str(of), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert 0 <= done.returncode <= most, done.stderr
    assert done.stdout


def test_a_run_says_who_paced(shaper: None, scenario: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    command = [*QCNLAB, "live", "run", str(scenario), "--limiter", "htb", "-o", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    result = qcnlab.open_run(folder)
    limiter: Any = result.meta["live"]["limiter"]
    assert limiter["kind"] == "htb"
    assert "live at 1/100, paced by HTB: " in result.summary.title
    assert "\nlimiter: htb; " in done.stdout
    # One reaction point a sender; 8 octets of tags beyond what the kernel sees.
    senders = [each for each in limiter["shapers"] if each["classes"]]
    assert [each["host"] for each in senders] == ["source1", "source2"]
    assert [each["classes"][0]["overhead_bytes"] for each in senders] == [8, 8]
    assert all(each["rate_changes"] > 1 for each in senders)
    percentiles = limiter["spacing"]["percentiles"]
    assert len(percentiles) == 101
    assert percentiles == sorted(percentiles)


def test_tshark_reads_the_frames_of_a_run(ran: tuple[Path, str], tmp_path: Path) -> None:
    if shutil.which("tshark") is None:
        if os.environ.get("QCNLAB_REQUIRE_LIVE") == "1":
            pytest.fail("live: tshark is not installed")
        pytest.skip("live: tshark is not installed")
    folder, _ = ran
    result = qcnlab.open_run(folder)
    script = tmp_path / "qcnlab.lua"
    script.write_text(qcnlab.dissector.source(), encoding="utf-8")
    capture = str(folder / "capture.pcapng")
    command = ["tshark", "-X", f"lua_script:{script}", "-r", capture, "-Y", "cnm", "-T", "fields"]
    fields = ("eth.src", "vlan.priority", "cnm.fb", "_ws.malformed")
    wanted = [word for field in fields for word in ("-e", field)]
    done = subprocess.run([*command, *wanted], capture_output=True, text=True, check=True)
    cnms = [row.split("\t") for row in done.stdout.splitlines()]
    # Each CNM is seen when the switch has sent it and when the host has received it; one may be
    # on its way at either end of the run.
    counters = result.summary.counters
    sent, heard = counters.messages_sent or 0, counters.messages_heard or 0
    assert sent > 0
    assert abs(len(cnms) - sent - heard) < 4
    # From the switch, node 2 of the star, whose address ends in its number from 1.
    assert {row[0] for row in cnms} == {"02:00:00:00:00:03"}
    assert {row[1] for row in cnms} == {"6"}
    assert {row[3] for row in cnms} == {""}


OWN_SCHEME = """
from qcnlab.foreign import Scheme

class Own(Scheme):
    pass
"""


def test_what_cannot_be_run_is_said_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "live_scheme.py").write_text(OWN_SCHEME)
    for changes, words in (
        (["scheme.name=dcqcn"], "dcqcn"),
        (["topology.rate=200 Gb/s"], "use --scale"),
        (["scheme.name=python:live_scheme:Own"], "live runs take schemes of the registry"),
    ):
        sets = [part for change in changes for part in ("-s", change)]
        command = [*QCNLAB, "live", "run", "one-source-into-9g-rtt10us", *sets]
        done = subprocess.run(
            [*command, "-o", str(tmp_path / "x")],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
        )
        assert done.returncode == 2
        assert words in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_behind(
    machine: None, scenario: Path, tmp_path: Path, number: signal.Signals
) -> None:
    nothing_is_left(scenario, tmp_path, number, "adapter")


def test_nothing_of_the_kernel_shaper_is_left_behind(
    shaper: None, scenario: Path, tmp_path: Path
) -> None:
    nothing_is_left(scenario, tmp_path, signal.SIGKILL, "htb")


def nothing_is_left(scenario: Path, tmp_path: Path, number: signal.Signals, limiter: str) -> None:
    """End a run by a signal: interfaces and names are those of before."""
    before = interfaces()
    namespaces = named()
    folder = tmp_path / "run"
    command = [*QCNLAB, "live", "run", str(scenario), "--limiter", limiter, "-o", str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(2.0)
    assert process.poll() is None
    process.send_signal(number)
    sent = time.monotonic()
    process.wait(timeout=10)
    if number is not signal.SIGKILL:
        # Ctrl-C within a second; the rest is Python's own end.
        assert time.monotonic() - sent < 2.0
        assert not list(tmp_path.glob(".run*"))
    assert process.returncode != 0
    assert not folder.exists()
    assert interfaces() == before
    assert named() == namespaces


def test_a_comparison_is_one_table_and_one_figure(
    machine: None, scenario: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "both"
    command = [
        *QCNLAB,
        "live",
        "compare",
        str(scenario),
        "-s",
        "duration=10 ms",
        "--reps",
        "2",
        "--live-reps",
        "1",
        "-o",
        str(folder),
        "--json",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    told = json.loads(done.stdout)
    assert {"recovery_ms", "queue_mean_bytes", "messages"} <= {
        row["metric"] for row in told["rows"]
    }
    live, simulated = qcnlab.open_run(folder / "live-1"), qcnlab.open_run(folder / "simulated")
    assert live.config == simulated.config
    assert (folder / "compare.svg").stat().st_size > 10_000
    labelled = "INVALID TIMING" in (folder / "compare.txt").read_text()
    # A run outside the limits is made once more; where one is within them, its numbers count.
    verdicts = [timing["valid"] for timing in told["timing"]]
    assert verdicts in ([True], [False, True], [False, False])
    assert labelled == (verdicts != [True])
    assert all(len(row["live_values"]) == 1 or not any(verdicts) for row in told["rows"])


@contextlib.contextmanager
def standing(scenario: Path, prefix: str) -> Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    """Run `live up` until the block ends; give its process and the first line that it shows."""
    command = [*QCNLAB, "live", "up", str(scenario), "--prefix", prefix, "--json"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield process, json.loads(process.stdout.readline())
        finally:
            process.terminate()
            process.wait(timeout=10)


def children(process: subprocess.Popen[Any]) -> set[int]:
    """Return the processes that the threads of a process have started."""
    lists = Path(f"/proc/{process.pid}/task").glob("*/children")
    return {int(number) for each in lists for number in each.read_text().split()}


root_only = pytest.mark.skipif(
    os.geteuid() != 0, reason="live: names of namespaces are root's to give"
)


@root_only
def test_a_standing_network_has_names_until_it_is_ended(machine: None, scenario: Path) -> None:
    prefix = f"test{os.getpid()}-"
    hosts = {
        f"{prefix}source1": "10.0.0.1",
        f"{prefix}source2": "10.0.0.2",
        f"{prefix}sink": "10.0.0.4",
    }
    with standing(scenario, prefix) as (_, seen):
        assert seen["hosts"] == hosts
        assert {*hosts, f"{prefix}switches"} <= named()
        # 10 Gb/s at a scale of 100.
        ports = {port["port"]: port["service_rate_bps"] for port in seen["ports"]}
        assert ports["switch->sink"] == 100_000_000
        taken = subprocess.run(
            [*QCNLAB, "live", "up", str(scenario), "--prefix", prefix],
            capture_output=True,
            text=True,
            check=False,
        )
        assert taken.returncode == 2
        assert f"ip netns delete {prefix}" in taken.stderr
    assert not any(name.startswith(prefix) for name in named())


@root_only
def test_a_standing_network_goes_within_a_second(machine: None, scenario: Path) -> None:
    with standing(scenario, f"test{os.getpid()}-") as (process, _):
        process.send_signal(signal.SIGINT)
        sent = time.monotonic()
        assert process.wait(timeout=10) == 0
        # The rest is Python's own end.
        assert time.monotonic() - sent < 2.0


@root_only
def test_names_of_a_killed_network_are_taken_back_by_the_next(
    machine: None, scenario: Path
) -> None:
    prefix = f"test{os.getpid()}-"
    with standing(scenario, prefix) as (process, _):
        process.kill()
    assert any(name.startswith(prefix) for name in named())
    with standing(scenario, prefix):
        pass
    assert not any(name.startswith(prefix) for name in named())


@pytest.fixture
def iperf3(machine: None) -> None:
    """Skip unless iperf3 is installed."""
    if shutil.which("iperf3") is None:
        if os.environ.get("QCNLAB_REQUIRE_LIVE") == "1":
            pytest.fail("live: iperf3 is not installed")
        pytest.skip("live: iperf3 is not installed")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_no_iperf3_is_left_behind(
    iperf3: None, scenario: Path, tmp_path: Path, number: signal.Signals
) -> None:
    changes = ["-s", "duration=60 ms", "--traffic", "iperf3", "-o", str(tmp_path / "run")]
    command = [*QCNLAB, "live", "run", str(scenario), *changes]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    started = time.monotonic()
    # A server and a client for each of two flows.
    while len(programs := children(process)) < 4 and process.poll() is None:
        assert time.monotonic() - started < 20.0
        time.sleep(0.05)
    process.send_signal(number)
    process.wait(timeout=10)
    ended = time.monotonic()
    while any(Path(f"/proc/{program}").exists() for program in programs):
        assert time.monotonic() - ended < 2.0
        time.sleep(0.05)


def test_iperf3_receives_what_our_counters_say(
    iperf3: None, scenario: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    changes = ["-s", "duration=50 ms", "--traffic", "iperf3"]
    command = [*QCNLAB, "live", "run", str(scenario), *changes, "-o", str(folder)]
    subprocess.run(command, capture_output=True, check=True)
    result = qcnlab.open_run(folder)
    flows = result.flows.to_polars()
    ends: Any = result.meta["live"]["iperf3"]
    for end, delivered in zip(ends, flows["delivered_frames"].to_list(), strict=True):
        assert end["error"] == ""
        # A frame of 1500 octets carries 14 of Ethernet, 8 of tags, 28 of IPv4 and UDP, and 1450 of
        # data. The server reports 0.3 s before the end of 5 s; our counter goes on.
        frames = end["received_bytes"] / 1450
        assert 0.80 * delivered < frames <= delivered
