"""Numbers and tables as people read them."""

from __future__ import annotations

import io
import sys

import pytest

from qcnlab.metrics import MetricValues
from qcnlab.printing import text


def test_spread_says_what_is_missing() -> None:
    metric = MetricValues.of("ms", [1.0, None, 3.0])
    assert text.spread(metric, "recovery_ms") == "2 [1..3], 1 of 3 did not recover"
    none = MetricValues.of("ms", [None, None])
    assert text.spread(none, "recovery_ms") == "did not recover"
    assert text.spread(none, "jain") == "none"


def test_a_table_is_split_to_fit() -> None:
    header = ("scheme", "first\ncolumn", "second", "third")
    rows = [("qcn", "1", "22", "333"), ("ecm", "4", "5", "6")]
    whole = text.fitted_table(header, rows, 80)
    assert "\n\n" not in whole
    narrow = text.fitted_table(header, rows, 22)
    assert max(map(len, narrow.splitlines())) <= 22
    assert narrow.count("scheme") == 2
    assert text.table(header, rows) == whole


def test_diagrams_keep_their_shape() -> None:
    diagram = "words that\nflow\n\n  A --> B\n  ^-----|"
    assert text.paragraphs(diagram, 80) == "words that flow\n\n  A --> B\n  ^-----|"


def test_a_number_of_four_digits_and_more() -> None:
    # From 1000 on all digits before the point stand and none behind it; below it four digits.
    told = [text.number(value) for value in (1000.4, 12_345.6, -1000.6, 999.94, 0.5, -2.0)]
    assert told == ["1,000", "12,346", "-1,001", "999.9", "0.5", "-2"]
    # With two digits the border is 10.
    assert [text.number(value, 2) for value in (10.4, 9.87)] == ["10", "9.9"]
    assert text.number(1.5e-5) == "0.000015"


def test_units_change_where_the_next_one_begins() -> None:
    # 9949 is 9.949, which rounds to 9.9; from 9.95 on no digit stands behind the point.
    assert [text.octets(n) for n in (0, 5, 9949, 999_499, 999_500)] == [
        "0 B", "5 B", "9.9 KB", "999 KB", "1.0 MB",
    ]  # fmt: skip
    assert text.octets(12 * 10**20) == "1200 EB"
    assert [text.size(n) for n in (0, 1000, 999_400, 999_600, 10**6, 999_600_000, 10**9)] == [
        "0 B", "1 KB", "999 KB", "1 MB", "1 MB", "1 GB", "1 GB",
    ]  # fmt: skip
    assert [text.duration(s) for s in (1.0, 0.999, 1e-3, 1e-6, 9.99e-7, 1e-9, 5e-10)] == [
        "1 s", "999 ms", "1 ms", "1 us", "999 ns", "1 ns", "0.5 ns",
    ]  # fmt: skip
    assert text.duration(1.23456789e-3) == "1.23457 ms"
    assert text.duration(1.23456789e-3, 3) == "1.23 ms"
    assert [text.rate(bps) for bps in (1e9, 999e6, 1e6, 999e3, 1e3, 999)] == [
        "1 Gb/s", "999 Mb/s", "1 Mb/s", "999 kb/s", "1 kb/s", "999 b/s",
    ]  # fmt: skip


def test_one_of_a_thing_has_no_s() -> None:
    assert [text.counted(n, "run") for n in (0, 1, 2)] == ["0 runs", "1 run", "2 runs"]


def test_a_spread_is_scaled_and_marked() -> None:
    metric = MetricValues.of("", [0.001, 0.002, 0.00432])
    assert text.spread(metric, "jain", scale=1000) == "2 [1..4.32]"
    assert text.spread(metric, "jain", 2, 1000, at_least=True) == ">= 2 [1..4.3]"
    same = MetricValues.of("", [5.0, 5.0])
    assert text.spread(same, "jain") == "5"
    assert text.spread(MetricValues.of("", [None, 5.0]), "jain") == "5, 1 of 2 none"
    assert text.spread(same, "jain", at_least=True) == ">= 5"


def test_columns_are_aligned() -> None:
    # Columns are as wide as their widest cell, two spaces apart; numbers stand at the right.
    header, rows = ("name", "unit", "v"), [("a", "B", "1"), ("bcdef", "Gb/s", "22")]
    assert text.table(header, rows, left=2).splitlines() == [
        "name   unit   v",
        "-----  ----  --",
        "a      B      1",
        "bcdef  Gb/s  22",
    ]
    assert text.table(header, rows).splitlines()[2] == "a         B   1"
    # 5 + 2 + 4 + 2 + 2.
    assert text.table_width(header, rows) == 15
    assert "\n\n" not in text.fitted_table(header, rows, 15)
    assert "\n\n" in text.fitted_table(header, rows, 14)
    # Two columns at least, however narrow: name and unit, then name and v.
    assert text.fitted_table(header, rows, 1).count("name") == 2


def test_paragraphs_are_wrapped_and_indented() -> None:
    assert text.paragraphs("one two three", 9, "  ") == "  one two\n  three"
    assert text.paragraphs("\none\n\n two\n", 80, "> ") == "> one\n\n>  two"


class Terminal(io.StringIO):
    """Text that says it goes to a terminal."""

    def isatty(self) -> bool:
        return True


def test_bold_type_and_width_are_those_of_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "77")
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert (text.width(), text.bold("x")) == (120, "x")
    monkeypatch.setattr(sys, "stdout", Terminal())
    assert (text.width(), text.bold("x")) == (77, "\x1b[1mx\x1b[0m")
    monkeypatch.setenv("TERM", "dumb")
    assert text.bold("x") == "x"
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    assert text.bold("x") == "x"


def test_the_borders_of_units_and_the_digits_of_defaults() -> None:
    # 9.95 KB has two digits before the point and none behind it, 9.949 one of each.
    assert [text.octets(n) for n in (9949, 9950, 99_500)] == ["9.9 KB", "10 KB", "100 KB"]
    # 0.9995 of a unit is 1 of it in three digits.
    assert [text.size(n) for n in (999_499, 999_500, 999_500_000)] == ["999 KB", "1 MB", "1 GB"]
    assert (text.size(1234), text.size(1999)) == ("1.23 KB", "2 KB")
    assert (text.octets(1234), text.octets(123)) == ("1.2 KB", "123 B")
    long = MetricValues.of("", [1.23456, 2.34567, 3.45678])
    assert text.spread(long, "jain") == "2.346 [1.235..3.457]"
    assert (text.number(1.23456), text.number(-0.00001)) == ("1.235", "-0.00001")
    assert (text.number(-1e-11), text.number(3.0), text.number(0.0)) == ("0", "3", "0")
    assert (text.rate(1.23456789e9), text.rate(12.3456789)) == ("1.23457 Gb/s", "12.3457 b/s")
    assert text.rate(1.23456789e4) == "12.3457 kb/s"
    assert (text.duration(2e-10), text.duration(0)) == ("0.2 ns", "0 s")


def test_a_line_of_a_table_is_never_wrapped() -> None:
    wide = "x" * 5000
    assert text.table(["a"], [[wide]]).splitlines()[2] == wide
    assert text.table_width(["a"], [[wide]]) == 5000
    blocks = text.fitted_table(["name", "b", "c"], [["n", wide, "1"]], 100).split("\n\n")
    assert [block.splitlines()[0].split() for block in blocks] == [["name", "b"], ["name", "c"]]


def test_cells_of_several_lines_and_wide_characters() -> None:
    # Headings stand at the bottom of their row, cells at its top; a character of Chinese takes two
    # columns. Spaces at the end of a number do not move it.
    header, rows = ("n", "first\nsecond", "v"), [("\u4e2d\u6587", "a\n\nb", "1  "), ("x", "", "22")]
    assert text.table(header, rows, left=2).split("\n") == [
        "      first",
        "n     second    v",
        "----  ------  ---",
        "\u4e2d\u6587  a         1",
        "",
        "      b",
        "x              22",
    ]
    assert text.table_width(header, rows) == 4 + 2 + 6 + 2 + 3
    # An empty column is one wide, and a carriage return does not overwrite what stands before it.
    assert text.table(("", "b"), [("", "1\r2")], left=1).splitlines() == ["    b", "-  --", "   12"]


def test_bold_headings_of_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    assert text.table(["a"], [["1"]]) == "a\n-\n1"
    monkeypatch.setattr(text, "_styled", lambda: True)
    assert text.table(["a"], [["1"]]).startswith("\x1b[1ma\x1b[0m")
    assert text.table_width(["a", "b"], [["1", "22"]]) == 1 + 2 + 2
