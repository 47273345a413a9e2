"""Small tables as Parquet by our own writer: two readers see what polars would have written."""

from __future__ import annotations

import io
import json
import pickle
import random
from array import array
from typing import TYPE_CHECKING

import polars as pl
import pyarrow.parquet as pq
import pytest

import qcnlab
from qcnlab.files import parquet
from qcnlab.runs import run_files
from qcnlab.runs.tables import CODES, NAMES, octets_of

if TYPE_CHECKING:
    from pathlib import Path

ENDS = {
    "Int32": (-(2**31), 2**31 - 1),
    "UInt32": (0, 2**32 - 1),
    "Int64": (-(2**63), 2**63 - 1),
    "UInt64": (0, 2**64 - 1),
}
TAKEN = {name: getattr(pl, name) for name in (*ENDS, "Float64")}


def drawn(kind: str, rows: int, different: int, random: random.Random) -> list[float | int]:
    """Return values of a type, as many of them different as asked for, in runs of some length."""
    if kind == "Float64":
        known = [0.0, -0.0, float("inf"), float("-inf"), 5e-324, 1e308]
        known += [random.uniform(-1, 1) for _ in range(different)]
    else:
        known = [*ENDS[kind], *(random.randint(*ENDS[kind]) for _ in range(different))]
    known = known[:different]
    values: list[float | int] = []
    while len(values) < rows:
        values += [random.choice(known)] * random.choice([1, 1, 1, 9, 40])
    return values[:rows]


@pytest.mark.parametrize("rows", [0, 1, 7, 8, 9, 1000])
@pytest.mark.parametrize("different", [1, 2, 255, 256, 257, 900])
def test_readers_see_the_values_that_were_written(rows: int, different: int) -> None:
    drawing = random.Random(rows * 1000 + different)
    columns: dict[str, parquet.Column] = {}
    expected = {}
    for kind, taken in TAKEN.items():
        for share in (0.0, 0.3, 1.0):
            values = drawn(kind, rows, different, drawing)
            there = [drawing.random() >= share for _ in values]
            name = f"{kind} {share}"
            columns[name] = (kind, array(CODES[kind], values).tobytes(),
                             bytes(there) if share else None, None)  # fmt: skip
            seen = [
                value if is_there else None for value, is_there in zip(values, there, strict=True)
            ]
            expected[name] = pl.Series(seen, dtype=taken)
    # Words that two numbers have, that nothing has, and of more than one octet a letter.
    words = [f"port-{number // 2}-\u00fc" for number in range(2 * different)]
    numbers = [drawing.randrange(len(words)) for _ in range(rows)]
    columns["words"] = ("UInt32", array("I", numbers).tobytes(), None, words)
    expected["words"] = pl.Series([words[number] for number in numbers], dtype=pl.String)
    octets = parquet.octets(columns, rows, {"units": "{}", "a": "b"})
    frame = pl.DataFrame(expected)
    assert frame.equals(pl.read_parquet(io.BytesIO(octets)), null_equal=True)
    table = pq.read_table(io.BytesIO(octets))
    assert frame.equals(pl.DataFrame(table)) and table.schema.metadata[b"a"] == b"b"
    zeros = pl.DataFrame(table)["Float64 0.0"]
    assert str(zeros.to_list()) == str(frame["Float64 0.0"].to_list()), "the signs of zeros"
    kinds = {str(field.type).replace("large_", "") for field in table.schema}
    assert kinds == {"int32", "uint32", "int64", "uint64", "double", "string"}
    # The same columns as a data frame give the same octets.
    again = dict(zip(columns, octets_of(frame), strict=True))
    assert parquet.octets(again, rows, {"units": "{}", "a": "b"}) == octets


def test_a_value_that_is_no_number_is_one() -> None:
    values = [1.0, float("nan"), float("nan"), 2.0] * 3
    column = ("Float64", array("d", values).tobytes(), None, None)
    told = pq.read_table(io.BytesIO(parquet.octets({"x": column}, 12, {})))
    assert told["x"].null_count == 0 and str(told["x"].to_pylist()) == str(values)


@pytest.mark.parametrize("count", [1, 13, 14, 15, 16])
def test_tables_of_any_number_of_columns_are_read(count: int) -> None:
    """Lists of fewer than 15 have their length beside their type, and longer ones behind it."""
    columns = {f"c{number}": ("UInt32", array("I", [number]).tobytes(), None, None)
               for number in range(count)}  # fmt: skip
    octets = parquet.octets(columns, 1, {})
    expected = {f"c{number}": [number] for number in range(count)}
    assert pl.read_parquet(io.BytesIO(octets)).to_dict(as_series=False) == expected
    assert pq.read_table(io.BytesIO(octets)).to_pydict() == expected


def test_a_column_is_no_longer_than_its_values() -> None:
    """A thousand equal values take a run; a thousand different ones take their octets."""

    def size(values: list[int]) -> int:
        column = ("UInt64", array("Q", values).tobytes(), None, None)
        return len(parquet.octets({"x": column}, len(values), {}))

    empty = size([])
    assert size([7] * 1000) - empty < 150
    assert size([7, 8] * 500) - empty < 1000 + 150
    assert 8000 < size(list(range(1000))) - empty < 8000 + 150


def test_a_table_of_a_run_has_the_same_octets_wherever_it_comes_from(
    short: qcnlab.Scenario, tmp_path: Path
) -> None:
    result = qcnlab.run(short, reps=2)
    first = result.save(tmp_path / "first")
    result.table("queues").to_polars()
    sources = [result, pickle.loads(pickle.dumps(result)), qcnlab.open_run(first)]
    for number, source in enumerate(sources):
        again = source.save(tmp_path / str(number))
        for name in NAMES:
            file = f"{name}.parquet"
            assert (first / file).read_bytes() == (again / file).read_bytes(), (number, name)


def test_tables_above_the_limit_are_polars_own_and_say_the_same(
    short: qcnlab.Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = qcnlab.run(short, reps=1)
    ours = result.save(tmp_path / "ours")
    rates = result.rates
    assert 0 < len(rates) * len(rates.columns) <= run_files.MOST_OWN
    for most, are_polars in ((len(rates) * len(rates.columns), False), (0, True)):
        monkeypatch.setattr(run_files, "MOST_OWN", most)
        theirs = result.save(tmp_path / f"most-{most}")
        file = pq.ParquetFile(theirs / "rates.parquet")
        assert file.metadata.created_by.startswith("Polars") is are_polars
        assert file.metadata.row_group(0).column(1).compression == (
            "ZSTD" if are_polars else "UNCOMPRESSED"
        )
        for name in NAMES:
            one, other = (pl.read_parquet(folder / f"{name}.parquet") for folder in (ours, theirs))
            assert one.equals(other) and one.schema == other.schema, name
        units = file.metadata.metadata[b"units"]
        assert json.loads(units) == rates.units
