"""Numbers and tables as people read them."""

from __future__ import annotations

from qcnlab import text


def test_spread_says_what_is_missing() -> None:
    metric = {"median": 2.0, "min": 1.0, "max": 3.0, "values": [1.0, None, 3.0]}
    assert text.spread(metric, "recovery_ms") == "2 [1..3], 1 of 3 did not recover"
    none = {"median": None, "min": None, "max": None, "values": [None, None]}
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
