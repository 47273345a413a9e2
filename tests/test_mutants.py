"""Mutants planted together do what each of them does alone."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import mutants as page
import rust_builds
from rust_mutants import CHOICE, REACHED, VARIABLE, Lines, Mutant, Planted, plant

# What main prints where nothing is planted, worked by hand: charge(7, 5): 7 > 5, so 5.
# charge(3, 5): -3 + 3 * 2 = 3. kind(0), kind(-4), kind(4). 5 + 2 = 7.
PROGRAM = """\
fn charge(x: i64, most: i64) -> i64 {
    if x > most && most >= 0 { most } else { -x + x * 2 }
}

fn kind(x: i64) -> &'static str {
    match x {
        0 => "none",
        y if y < 0 => "owed",
        _ => "some",
    }
}

const fn twice(x: i64) -> i64 {
    x * 2
}

fn main() {
    let mut sum = 5;
    sum += twice(1);
    println!("{} {} {} {} {} {}", charge(7, 5), charge(3, 5), kind(0), kind(-4), kind(4), sum);
}
"""
PLAIN = "5 3 none owed some 7"
BODY = "if x > most && most >= 0 { most } else { -x + x * 2 }"
# Genre, what is replaced and with what, and what main prints then.
CHANGES = [
    # A function's value: charge is 1.
    (
        "FnValue",
        "if x > most && most >= 0 { most } else { -x + x * 2 }",
        "1",
        "1 1 none owed some 7",
    ),
    # charge(7, 5): 7 < 5 does not hold, so -7 + 14 = 7. charge(3, 5): 3 < 5, so 5.
    ("BinaryOperator", ">", "<", "7 5 none owed some 7", "x > most"),
    # charge(3, 5): 3 > 5 or 5 >= 0, so 5.
    ("BinaryOperator", "&&", "||", "5 5 none owed some 7"),
    # The minus binds less than what takes the place of the product: (-3 + 3) + 2 = 2.
    ("BinaryOperator", "*", "+", "5 2 none owed some 7", "* 2 }"),
    # -3 - 6 = -9.
    ("BinaryOperator", "+", "-", "5 -9 none owed some 7", "+ x"),
    # 3 + 6 = 9.
    ("UnaryOperator", "-", "", "5 9 none owed some 7", "-x"),
    # 0 falls to the last arm: it is not below 0.
    ("MatchArm", '0 => "none",', "", "5 3 some owed some 7"),
    ("MatchArmGuard", "y < 0", "true", "5 3 none owed owed 7"),
    ("MatchArmGuard", "y < 0", "false", "5 3 none some some 7"),
    # 4 > 0 and -4 is not.
    ("BinaryOperator", "<", ">", "5 3 none some owed 7", "< 0"),
    # 1 + 2 = 3, and 5 + 3 = 8.
    ("BinaryOperator", "*", "+", "5 3 none owed some 8", "* 2\n"),
    # 5 - 2 = 3.
    ("BinaryOperator", "+=", "-=", "5 3 none owed some 3"),
]


def mutant(genre: str, old: str, new: str, at: str | None = None) -> Mutant:
    start = PROGRAM.index(at or old)
    start += (at or old).index(old)
    return Mutant(f"{at or old}: {new}", "main.rs", genre, start, start + len(old), new)


def everything() -> list[tuple[Mutant, str]]:
    return [
        (mutant(genre, old, new, at[0] if at else None), printed)
        for genre, old, new, printed, *at in CHANGES
    ]


def compiled(text: bytes, folder: Path) -> Path:
    source = folder / "main.rs"
    source.write_bytes(text)
    line = ["rustc", "--edition=2024", "-Awarnings", "-o", str(folder / "main"), str(source)]
    subprocess.run(line, check=True)
    return folder / "main"


def printed(program: Path, number: int) -> str:
    environment = os.environ | {VARIABLE: str(number)}
    line = [str(program)]
    return subprocess.run(
        line, env=environment, check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.fixture(scope="module")
def planted() -> Planted:
    return plant(PROGRAM.encode(), [mutant for mutant, _ in everything()])


def test_each_genre_is_chosen_when_the_program_runs(planted: Planted, tmp_path: Path) -> None:
    program = compiled(planted.text + CHOICE.encode(), tmp_path)
    assert printed(program, 0) == PLAIN
    for mutant, expected in everything():
        assert printed(program, planted.numbers[mutant.name]) == expected, mutant.name


def test_what_a_program_reaches_is_written_down(planted: Planted, tmp_path: Path) -> None:
    program = compiled(planted.text + CHOICE.encode(), tmp_path)
    file = tmp_path / "reached"
    environment = os.environ | {REACHED: str(file)}
    done = subprocess.run([program], env=environment, check=True, capture_output=True, text=True)
    # No mutant holds.
    assert done.stdout.strip() == PLAIN
    # main comes to all sites, and each stands there once.
    reached = [int(line) for line in file.read_text().split()]
    assert len(reached) == len(set(reached))
    assert set(reached) == set(planted.sites.values())
    assert set(planted.sites) == set(planted.numbers.values())


def test_a_site_that_is_not_reached_is_not_written_down(tmp_path: Path) -> None:
    arm = mutant("BinaryOperator", "<", ">", "< 0")
    texts = plant(PROGRAM.replace("kind(-4), kind(4)", "0, 4").encode(), [arm])
    program = compiled(texts.text + CHOICE.encode(), tmp_path)
    file = tmp_path / "reached"
    subprocess.run([program], env=os.environ | {REACHED: str(file)}, check=True)
    # kind(0) takes the first arm: the guard of the second is not asked.
    assert not file.exists()


@pytest.fixture
def bench(tmp_path: Path) -> rust_builds.Bench:
    (tmp_path / "crates/sim").mkdir(parents=True)
    return rust_builds.Bench(tmp_path, "qcnlab-sim", [])


def test_tests_that_reach_a_site_come_the_quickest_first(bench: rust_builds.Bench) -> None:
    unit, law = Path("unit"), Path("law")
    for program, name, seconds, reaches in (
        (unit, "slow", 3.0, {1, 2}),
        (unit, "too_slow", 5.5, {1, 2}),
        (unit, "quick", 0.01, {1}),
        (unit, "quick_too", 0.02, {1}),
        (law, "quick_law", 0.01, {1}),
        (law, "elsewhere", 0.01, {2}),
    ):
        usual = rust_builds.Usual(seconds, frozenset(reaches))
        bench.usual[rust_builds.Test(program, name)] = usual
    assert bench.groups(1) == [
        (law, ["quick_law"], 0.01),
        (unit, ["quick", "quick_too"], 0.03),
        (unit, ["slow"], 3.0),
    ]
    assert bench.groups(3) == []
    # Which site a mutant that is built alone stands at is not known.
    assert sum(len(names) for _, names, _ in bench.groups(None)) == 5


def test_a_mutant_alone_prints_the_same(tmp_path: Path) -> None:
    first, last = everything()[3], everything()[-1]
    for mutant, expected in (first, last):
        program = compiled(mutant.alone(PROGRAM.encode()), tmp_path)
        assert printed(program, 0) == expected, mutant.name


def test_what_stands_in_a_mutants_place_holds_no_others(planted: Planted) -> None:
    text = planted.text.decode()
    number = planted.numbers["&&: ||"]
    assert f"{number} => x > most || most >= 0, " in text


def test_constants_take_no_part() -> None:
    constant = mutant("BinaryOperator", "*", "+", "* 2\n")
    assert plant(PROGRAM.encode(), [constant], fixed={"twice"}).numbers == {}
    # Where no constant needs the function it is made a plain one.
    assert b"\n fn twice" in plant(PROGRAM.encode(), [constant]).text


def test_a_function_that_constants_need_is_found_by_what_rustc_says() -> None:
    for words in (
        "cannot call non-const associated function `span::Span::from_ps` in constants",
        "cannot call non-const function `from_ps` in constant functions",
        "cannot call non-const method `Span::<T>::from_ps` in statics",
    ):
        assert rust_builds.Fault("lib.rs", 0, 1, words).constant_functions() == ["from_ps"]
    # What chooses mutants is never a constant one: the fault is the mutant's.
    words = "cannot call non-const function `chosen_mutant` in constants"
    assert rust_builds.Fault("lib.rs", 0, 1, words).constant_functions() == []


def test_an_error_is_laid_to_the_innermost_mutant(planted: Planted) -> None:
    where = planted.text.index(b"x > most || most")
    files = {"main.rs": planted}
    fault = rust_builds.Fault("main.rs", where, where + 4, "no such operator", "E0369")
    assert rust_builds.blamed(files, fault) == ({"&&: ||"}, True)
    # Types that do not meet may meet where the mutant stands alone.
    fault = rust_builds.Fault("main.rs", where, where + 4, "mismatched types", "E0308")
    assert rust_builds.blamed(files, fault) == ({"&&: ||"}, False)
    # Beside the mutants of a function its values are laid to.
    where = planted.text.index(b"-> i64 {")
    fault = rust_builds.Fault("main.rs", where, where + 6, "mismatched types", "E0308")
    value = next(mutant for mutant, _ in everything() if mutant.genre == "FnValue")
    assert rust_builds.blamed(files, fault) == ({value.name}, False)
    # Outside all of them every mutant of the file is out.
    where = planted.text.index(b"fn main")
    fault = rust_builds.Fault("main.rs", where, where + 2, "something else", "E0369")
    assert rust_builds.blamed(files, fault) == (set(planted.numbers), False)


# Without its last arm the match does not cover all values; a comparison in it is another mutant.
SIGN = """\
fn sign(x: i64) -> &'static str {
    match x == 0 {
        _ if x > 0 => "above",
        true => "none",
        false => "below",
    }
}
"""


def test_a_match_that_needs_its_arm_is_laid_to_the_mutant_that_takes_it() -> None:
    def mutant(genre: str, old: str, new: str) -> Mutant:
        start = SIGN.rindex(old)
        return Mutant(f"{old}: {new}", "main.rs", genre, start, start + len(old), new)

    arm = mutant("MatchArm", 'false => "below",', "")
    texts = plant(SIGN.encode(), [arm, mutant("BinaryOperator", "==", "!=")])
    assert len(texts.numbers) == 2
    files = {"main.rs": texts}
    # rustc points at what is matched.
    start = texts.text.index(b"(match crate")
    end = texts.text.index(b" {\n        _ if x > 0")
    fault = rust_builds.Fault("main.rs", start, end, "not covered", "E0004")
    assert rust_builds.blamed(files, fault) == ({arm.name}, True)
    fault = rust_builds.Fault("main.rs", start, end, "mismatched types", "E0308")
    assert rust_builds.blamed(files, fault) == ({"==: !="}, False)


def test_columns_are_characters() -> None:
    lines = Lines("a\n\N{GREEK SMALL LETTER MU} + b\n".encode())
    # Two octets for the letter, one for the space.
    assert lines.offset(2, 3) == 2 + 3


def test_intervals_of_a_share() -> None:
    # Wilson: 9 of 10: (0.9 + 3.8416/20) / 1.38416 = 0.7890;
    # 1.96 sqrt(0.009 + 3.8416/400) / 1.38416 = 1.96 * 0.136395 / 1.38416 = 0.1931.
    assert page.interval(9, 10) == "59.6 to 98.2 %"
    assert page.interval(0, 0) == "-"


def program(folder: Path, text: str) -> Path:
    file = folder / "program"
    file.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    file.chmod(0o755)
    return file


def test_tests_that_are_left_out_by_default_are_not_listed(tmp_path: Path) -> None:
    usual = "echo 'a: test'; echo 'c: test'; echo 'd: benchmark'"
    text = f'case "$*" in *--ignored) echo "c: test";; *) {usual};; esac'
    file = program(tmp_path, text)
    assert rust_builds.tests_of(file) == [rust_builds.Test(file, "a")]


def test_what_a_test_reaches_and_takes_is_kept(
    bench: rust_builds.Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rust_builds, "LEAST_S", 1)
    monkeypatch.setattr(rust_builds, "STEPS_S", (0.5, 1.0))
    file = tmp_path / "reached"
    quick = program(tmp_path, f"printf '3\\n5\\n' > ${REACHED}")
    usual = bench.alone(rust_builds.Test(quick, "a"), file)
    assert usual.reaches == {3, 5}
    assert usual.seconds < 0.5
    # A test that is stopped takes no part, and one that fails ends the run.
    endless = program(tmp_path, "while :; do :; done")
    usual = bench.alone(rust_builds.Test(endless, "a"), file)
    assert usual == rust_builds.Usual(float("inf"), frozenset())
    bench.usual = {rust_builds.Test(endless, "a"): usual}
    assert bench.groups(None) == []
    with pytest.raises(SystemExit, match="a of qcnlab-sim fails where nothing is planted"):
        bench.alone(rust_builds.Test(program(tmp_path, "exit 101"), "a"), file)


def test_a_program_is_known_again_by_its_target() -> None:
    assert rust_builds.target(Path("deps/by_hand-4aaa87a25af34727")) == "by_hand"


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("echo 'test a ... ok'", "missed"),
        # It is stopped at the first failure.
        ("echo 'test a ... FAILED'; while :; do sleep 1; done", "caught"),
        ("exit 101", "caught"),
        ("while :; do :; done", "timeout"),
        (f'test "${VARIABLE}" = 7', "missed"),
    ],
)
def test_what_becomes_of_a_mutant(
    text: str, outcome: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rust_builds, "LEAST_S", 1)
    folder = tmp_path / "crates/sim/tests"
    folder.mkdir(parents=True)
    bench = rust_builds.Bench(tmp_path, "qcnlab-sim", [])
    # A case that an earlier mutant failed on is taken back.
    kept = folder / "star.proptest-regressions"
    kept.write_text("cc 1234\n", encoding="utf-8")
    environment = {VARIABLE: "7"}
    assert bench.run(program(tmp_path, text), [], environment, 1.0)[0] == outcome
    assert not kept.exists()
