"""`qcnlab headroom`: sums against numbers worked by hand and shipped rows, runs, units."""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

import qcnlab
from conftest import ROOT
from qcnlab.headroom import sums
from qcnlab.headroom.platforms import platform, platforms
from qcnlab.headroom.told import Told
from typed_dicts import unlike

if TYPE_CHECKING:
    from conftest import CommandLine

G = 10**9
PORT = sums.Port(rate_bps=100 * G, cable_m=40, mtu=9216)
COMMAND = ("headroom", "--rate", "100G", "--cable", "40m", "--mtu", "9216")


def port(gbps: int, cable: float, lossless: int | None = None) -> sums.Port:
    return sums.Port(rate_bps=gbps * G, cable_m=cable, mtu=9216, lossless_mtu=lossless)


def report(cli: CommandLine, *words: str) -> dict[str, Any]:
    done = cli(*COMMAND, *words, "--json")
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


# 100 Gb/s are 12.5 B/ns. Two frames of 9236 B on the wire, a pause frame of 84 B, 394 quanta of
# 64 B, and 5 ns/m there and back: 18,472 + 84 + 25,216 = 43,772, and 125 B a metre: 625 for 5 m,
# 5000 for 40 m, 37,500 for 300 m.
@pytest.mark.parametrize(
    ("gbps", "octets"),
    [
        (25, (23_833, 24_926, 33_051)),
        (100, (44_397, 48_772, 81_272)),
        (200, (48_798, 57_548, 122_548)),
        (400, (78_976, 96_476, 226_476)),
        (800, (81_476, 116_476, 376_476)),
    ],
)
def test_the_annex_by_hand(gbps: int, octets: tuple[int, ...]) -> None:
    shorter = 9216 - 4160
    for cable, value in zip((5, 40, 300), octets, strict=True):
        assert sums.standard(port(gbps, cable)).xoff == pytest.approx(value, abs=1)
        assert sums.standard(port(gbps, cable, 4160)).xoff == pytest.approx(value - shorter, abs=1)


def test_the_annex_with_interfaces_by_hand() -> None:
    """100 m, frames of 9216 B, of 2300 B in the class: 394,848 bits and twice 122,880."""
    assert sums.standard(port(100, 100, 2300), interface=True).xoff * 8 == 640_608
    with pytest.raises(qcnlab.Error, match="no interface delay is known for 400 Gb/s"):
        sums.standard(port(400, 100), interface=True)


SHIPPED = {
    "SN2700": (9100, {(10, 5): 29_696, (10, 300): 36_864, (40, 300): 59_392, (100, 40): 38_912}),
    "SN4700": (9216, {(100, 5): 33_792, (200, 40): 55_296, (400, 300): 373_760}),
    "SN5600": (9216, {(100, 40): 126_976, (400, 40): 283_648, (800, 300): 1_150_976}),
    "SN5640": (9216, {(100, 5): 44_032, (100, 300): 83_968, (400, 40): 104_448}),
    "SN6600": (9216, {(100, 40): 48_128, (400, 300): 244_736}),
}
"""MTU of the port, and xoff by rate in Gb/s and cable in m, as SONiC ships them."""


@pytest.mark.parametrize("name", SHIPPED)
def test_the_formula_of_a_vendor_gives_its_shipped_rows(name: str) -> None:
    mtu, rows = SHIPPED[name]
    for (gbps, cable), xoff in rows.items():
        asked = replace(port(gbps, cable), mtu=mtu)
        assert sums.mellanox(asked, platform(name)).xoff == xoff


def test_the_formula_of_a_vendor_by_hand() -> None:
    """9100 + 5050.5 + 819.2 + 3891.2 = 18,860.9; twice that and 1024 is 38,745.8: 38 KiB."""
    told = sums.mellanox(replace(PORT, mtu=9100), platform("SN2700"))
    assert (told.xoff, told.xon, told.size) == (38 * 1024, 19 * 1024, 57 * 1024)
    assert sum(told.terms.values()) == pytest.approx(told.xoff)
    assert told.terms["cable"] == pytest.approx(2 * 40 / 198e6 * 12.5e9)
    wide = sums.mellanox(replace(PORT, mtu=9100, wide=True), platform("SN2700"))
    assert (wide.xon, wide.size) == (38 * 1024, -(-(76 * 1024 + 9100) // 1024) * 1024)
    shared = sums.mellanox(replace(PORT, mtu=9100), platform("SN2700"), shared_headroom=True)
    assert (shared.xoff, shared.size) == (38 * 1024, 19 * 1024)
    # Frames of 1024 B alone: 6.25 % as many, which take twice the octets.
    large = sums.mellanox(replace(PORT, mtu=9100, small_packets=0), platform("SN2700"))
    assert large.occupancy == pytest.approx(1.0625)
    slow = sums.mellanox(replace(PORT, mtu=9100, reaction_s=2e-6), platform("SN2700"))
    assert slow.terms["reaction"] == 25_000
    # A peer that reacts at once is none whose time is not known.
    assert sums.mellanox(replace(PORT, reaction_s=0.0), platform("SN2700")).terms["reaction"] == 0
    assert sums.standard(replace(PORT, reaction_s=0.0)).terms["reaction"] == 0


def test_each_platform_has_what_its_sum_takes() -> None:
    for name, known in platforms().items():
        assert known.cell > 1, name
        assert known.source, name
        assert (known.formula is None) or not known.rows, name
        for rate, cable, xoff in known.rows:
            row = sums.shipped(port(rate, cable), known)
            assert row is not None and known.row is not None
            assert (row.xoff, row.size) == (xoff, known.row["size"] + xoff)
    assert sums.shipped(port(100, 41), platform("TH2")) is None
    assert platform("tomahawk 2") is platform("TH2")


def confirmed(asked: sums.Port, cell: int) -> None:
    """Nothing is lost with the sum, nothing with what the worst run takes, something with less."""
    told, runs = sums.laboratory(asked, cell)
    lost = [each.frames for each in runs.lost]
    assert lost[:2] == [0, 0], (asked, cell)
    assert lost[2] > 0, (asked, cell)
    assert runs.worst.bytes <= told.xoff, (asked, cell)


def drawn(dice: random.Random) -> tuple[sums.Port, int]:
    mtu = dice.choice([64, 1518, 4200, 9216, dice.randint(64, 9216)])
    asked = sums.Port(
        rate_bps=dice.choice([1, 10, 25, 40, 50, 100, 200, 400, 800]) * G,
        cable_m=dice.choice([0, 5, 40, 300, dice.randint(0, 1000)]),
        mtu=mtu,
        lossless_mtu=dice.randint(64, mtu),
        reaction_s=dice.choice([0.0, 1e-9 * dice.randint(0, 10_000)]),
        latency_s=dice.choice([0.0, 1e-9 * dice.randint(0, 2000)]),
    )
    return asked, dice.choice([1, 80, 96, 144, 192, 208, 254, 256])


def test_runs_confirm_the_sum() -> None:
    dice = random.Random(1)
    for _ in range(25):
        confirmed(*drawn(dice))


def test_runs_confirm_the_sum_of_many_links() -> None:
    dice = random.Random(2)
    for _ in range(1500):
        confirmed(*drawn(dice))


def test_a_scenario_has_the_same_headroom() -> None:
    """What `[[pause]]` leaves out is the same sum: its watermarks lie that far below the memory."""
    text = """
duration = "1 ms"
[topology]
kind = "chain"
switches = 1
hosts = 3
rate = "100 Gb/s"
delay = "200 ns"
frame_overhead = "20 B"
[[switch]]
input_memory = "1 MB"
latency = "300 ns"
[pause]
kind = "priority"
reaction = "2017280 ps"
[[traffic]]
arrivals = "saturated"
from = "host{2..3}"
to = "host1"
frame = "9216 B"
[scheme]
name = "none"
"""
    told, _ = sums.laboratory(replace(PORT, latency_s=3e-7))
    scenario = qcnlab.Scenario.from_toml(text)
    assert f"headroom {told.xoff} B" in scenario.to_toml()
    # 300 ns at 12.5 B/ns, and the frame that crosses the threshold.
    assert told.xoff == sums.standard(PORT).xoff + 3750 + 9236


BRINGS = "each of 3 links of 10 Gb/s brings up to 10814 B"
CHECKED = {
    "watermarks": f"headroom at switch: 10814 B kept, {BRINGS}",
    "threshold": f"headroom at switch: nothing kept, {BRINGS}",
    "dynamic": f"headroom at switch: 10 KB kept, {BRINGS}, 814 B more",
}
"""What is said of each rule: 6250 B of a round trip of 5 us, three frames of 1500 B, 64 B."""


@pytest.mark.parametrize("rule", CHECKED)
def test_check_and_run_say_what_a_node_keeps(cli: CommandLine, rule: str) -> None:
    own = {
        "watermarks": "",
        "threshold": 'threshold = "50 KB"',
        "dynamic": '[shared_buffer]\nkind = "dynamic"\nsize = "1 MB"\npg_alpha = 1\n'
        'headroom = "10 KB"\n',
    }[rule]
    memory = "" if rule == "dynamic" else '[switch]\ninput_memory = "100 KB"'
    text = f"""
duration = "1 ms"
warmup = "0 s"
[topology]
kind = "switch"
hosts = 3
rate = "10 Gb/s"
delay = "2500 ns"
{memory}
[pause]
kind = "priority"
rule = "{rule}"
{own}
[[traffic]]
arrivals = "saturated"
from = "host{{1..2}}"
to = "host3"
frame = "1500 B"
[scheme]
name = "none"
"""
    (cli.folder / "paused.toml").write_text(text, encoding="utf-8")
    told = CHECKED[rule] + "; a reaction of 0 s is no real port's"
    checked = cli("check", "paused.toml")
    assert f"  {told}\n" in checked.stdout, checked.stderr
    assert json.loads(cli("check", "paused.toml", "--json").stdout)[0]["headrooms"] == [
        told.removeprefix("headroom at ")
    ]
    done = cli("run", "paused.toml", "-o", "paused")
    assert f"\n{told}\n" in done.stdout, done.stderr
    done = cli("run", "paused.toml", "-o", "again", "--json")
    assert json.loads(done.stdout)["headrooms"] == [told.removeprefix("headroom at ")]
    slow = cli("check", "paused.toml", "-s", "pause.reaction=1 us").stdout
    assert "0 s is no real" not in slow
    assert "brings up to 12064 B" in slow
    # The resolved scenario has it as a comment.
    config = (cli.folder / "paused" / "config.toml").read_text(encoding="utf-8")
    assert ("headroom 10814 B" if rule == "watermarks" else "# switch: ") in config


def test_the_difference_to_the_annex_is_told_by_terms(cli: CommandLine) -> None:
    for words in ((), ("--platform", "SN5640"), ("--latency", "1 us", "--platform", "TH2")):
        answer = report(cli, *words)
        own, annex = answer["laboratory"], answer["sums"][0]
        over = own["over_the_annex_bytes"]
        assert sum(over.values()) == pytest.approx(own["worst"]["bytes"] - annex["xoff_bytes"])
        assert over["crossing"] == 9236
        assert abs(over["rounding"]) < 2
        assert own["lost_frames"]["with_headroom"] == own["lost_frames"]["with_worst"] == 0
        assert own["lost_frames"]["with_a_cell_less"] > 0
        assert own["others"][0]["lost_frames"] > 0
        for column in answer["sums"]:
            terms = column["terms"]
            assert not terms or sum(each["bytes"] for each in terms) == pytest.approx(
                column["xoff_bytes"]
            )
            assert all(each["bit_times"] == 8 * each["bytes"] for each in terms)


@pytest.mark.parametrize("platform_name", sorted({each.name for each in platforms().values()}))
def test_each_term_has_a_source(cli: CommandLine, platform_name: str) -> None:
    answer = report(cli, "--platform", platform_name, "--latency", "1 us")
    for column in answer["sums"]:
        assert column["terms"] or column["source"], column["name"]
        for term in column["terms"]:
            assert term["source"], (column["name"], term["name"])


def test_the_response_at_800g_is_said_to_be_sonics(cli: CommandLine) -> None:
    done = cli("headroom", "--rate", "800G", "--cable", "40m", "--mtu", "9216", "--platform",
               "SN5600")  # fmt: skip
    # Two frames of 9236 B, 84 B, 40,000 B of cable, 905 x 64 B; the row that SONiC ships.
    assert "116,476" in done.stdout and "362,496" in done.stdout, done.stderr
    assert "SONiC, 905 quanta; 802.3's text was not read at this rate" in done.stdout


def test_the_part_of_a_buffer(cli: CommandLine) -> None:
    told = report(cli, "--platform", "th2", "--ports", "64", "--classes", "1")["platform"]
    # 64 x (1248 + 59,696) B of about 42 MB.
    assert told["total_bytes"] == 64 * (1248 + 59_696)
    assert told["part"] == pytest.approx(64 * 60_944 / 42e6)
    assert told["cell_bytes"] == 208
    told = report(cli, "--platform", "SN5640")["platform"]
    assert (told["shared_headroom"], told["part"]) == (True, None)
    # 32 ports x 2 classes x the row of 100G and 40 m.
    assert told["shared_headroom_bytes"] == 64 * 49_152
    told = report(cli, "--platform", "SN2700", "--shared-headroom", "--wide")["platform"]
    assert told["size_bytes"] == 38 * 1024
    told = report(cli, "--platform", "Tomahawk3")
    # Without a vendor's sum it is the annex's, in cells of 254 B: 48,772 B are 193 of them.
    assert told["platform"]["total_bytes"] == 64 * 193 * 254
    assert told["platform"]["shared_headroom_bytes"] is None
    assert "no formula of Tomahawk3's headroom is published" in told["notes"][0]


def test_each_way_to_write_a_quantity(cli: CommandLine) -> None:
    usual = report(cli)
    for words in (
        ("--rate", "100 Gb/s"), ("--rate", "100000M"), ("--cable", "40 m"), ("--cable", "40.0m"),
        ("--mtu", "9216 B"), ("--mtu", "9 KiB"), ("--lossless-mtu", "9216"),
        ("--latency", "0 s"),
    ):  # fmt: skip
        assert report(cli, *words) == usual, words
    # 394 quanta of 512 bit times are 2.01728 us.
    told = report(cli, "--reaction", "2.01728 us")
    assert told["laboratory"] == usual["laboratory"]
    assert told["sums"][0]["terms"][3]["source"] == "your --reaction"
    # K is 1000: 9 KB are 9000 B, two frames fewer octets in the annex.
    shorter = report(cli, "--mtu", "9 KB")["sums"][0]["xoff_bytes"]
    assert usual["sums"][0]["xoff_bytes"] - shorter == 2 * 216


def test_no_cable_and_no_reaction_are_told(cli: CommandLine) -> None:
    answer = report(cli, "--cable", "0m", "--reaction", "0 s")
    assert answer["notes"] == [
        "SONiC takes a cable of 0m for a port without lossless classes",
        "a reaction of 0 s is no real port's",
    ]
    assert answer["sums"][0]["xoff_bytes"] == 2 * 9236 + 84
    text = cli(*COMMAND, "--cable", "0m").stdout
    assert "note: SONiC takes a cable of 0m" in text


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--cable", "40"), "write it in metres as in 40m"),
        (("--cable", "130ft"), "write it in metres as in 40m"),
        (("--cable", "300km"), "write it in metres as in 40m"),
        (("--rate", "100"), "write it as in 100G"),
        (("--rate", "12.5GB/s"), "write it as in 100G"),
        (("--rate", "100000"), "write it as in 100G"),
        (("--mtu", "63"), "from 64 to 65535"),
        (("--mtu", "9216m"), "write octets as in 9216"),
        (("--lossless-mtu", "9217"), "above --mtu of 9216 B"),
        (("--reaction", "2"), "write it as in '2 us'"),
        (("--reaction", "1 s"), "up to 10 ms"),
        (("--rate", "1G"), "add --reaction TIME"),
        (("--platform", "tomahwak2"), "did you mean Tomahawk2?"),
        (("--platform", "fabric"), "known are SN2700, SN4700"),
    ],
)
def test_refusals_are_one_line(cli: CommandLine, words: tuple[str, ...], says: str) -> None:
    done = cli(*COMMAND, *words)
    assert done.returncode == 2
    assert says in done.stderr
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1, done.stderr


def test_the_worst_run_is_a_scenario(cli: CommandLine) -> None:
    text = cli(*COMMAND, "--platform", "SN2700", "--scenario").stdout
    scenario = qcnlab.Scenario.from_toml(text)
    (cli.folder / "headroom.toml").write_text(text, encoding="utf-8")
    done = cli("run", "headroom.toml", "-o", "worst")
    assert done.returncode == 0, done.stderr
    assert qcnlab.open_run(cli.folder / "worst").summary.metrics["drops"].median == 0
    # A cell less for each of three links; the rest of the buffer stays as it is.
    headroom, size = (int(text.split(f'{key} = "')[1].split()[0]) for key in ("headroom", "size"))
    less = scenario.with_(
        f"shared_buffer.headroom={headroom - 96} B", f"shared_buffer.size={size - 3 * 96} B"
    )
    result = qcnlab.run(less, progress=False)
    assert result.summary.metrics["drops"].median == 1


def test_the_text_has_every_column_and_run(cli: CommandLine) -> None:
    text = cli(*COMMAND, "--platform", "SN5600", "--small-packets", "50").stdout
    for words in (
        "802.1Q annex", "SONiC SN5600", "laboratory", "crossing the chip's tiles", "nothing lost",
        "one cell of 192 B less: 1 frame lost", "% of the buffer", "in KiB (1024 B)", "in cells",
    ):  # fmt: skip
        assert words in text, words
    assert "more than there is" not in text
    far = cli(*COMMAND, "--platform", "SN5600", "--cable", "30000m").stdout
    assert "of the buffer: more than there is\n" in far


def test_the_guide_shows_what_its_commands_print(cli: CommandLine) -> None:
    guide = (ROOT / "docs/guide/headroom.md").read_text(encoding="utf-8")
    shown = re.findall(r"```\nqcnlab ([^\n]*)\n```\n\n```text\n(.*?)```", guide, re.DOTALL)
    assert len(shown) == 2
    for words, text in shown:
        assert cli(*words.split()).stdout == text


def test_the_figure_has_each_sum_and_what_its_run_lost(cli: CommandLine) -> None:
    pytest.importorskip("matplotlib")
    from matplotlib.patches import Rectangle

    from qcnlab.headroom.figure import headroom_figure
    from qcnlab.headroom.sums import TERMS

    words = ("headroom", "--rate", "100G", "--cable", "40m", "--mtu", "9216")
    done = cli(*words, "--platform", "SN4700", "--json", "-o", "sums.png")
    assert done.returncode == 0 and (cli.folder / "sums.png").exists()
    told = json.loads(done.stdout)
    assert unlike(told, Told) == []
    (axes,) = headroom_figure(told, TERMS).axes
    bars = [each for each in axes.patches if isinstance(each, Rectangle)]
    for row, column in enumerate(told["sums"]):
        own = [bar for bar in bars if abs(bar.get_y() + bar.get_height() / 2 - row) < 0.1]
        terms = sum(term["bytes"] for term in column["terms"])
        assert sum(bar.get_width() for bar in own) == pytest.approx(terms / 1000)
    said = [text.get_text() for text in axes.texts if "B: " in text.get_text()]
    assert said == ["48,772 B: 104 frames lost", "44,032 B: 120 frames lost",
                    "87,552 B: nothing lost"]  # fmt: skip
    assert cli(*words, "-o", "sums.gif").returncode == 2
