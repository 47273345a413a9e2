"""Tables of a run: Arrow columns that polars, pandas and numpy read."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any, Protocol

from qcnlab.errors import MissingPackage

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    import polars as pl

    from qcnlab import _core
    from qcnlab.files.parquet import Column

NAMES = (
    "queues", "rates", "throughput", "messages", "drops", "pauses", "windows", "flows", "metrics",
)  # fmt: skip
"""The tables every run has."""


CODES = {"Int32": "i", "UInt32": "I", "Int64": "q", "UInt64": "Q", "Float64": "d"}
"""Codes of the module `array`, by polars's name of a type."""
OCTETS = {"UInt8": 1, "Int32": 4, "UInt32": 4, "Int64": 8, "UInt64": 8, "Float64": 8}
"""Octets of a value, by polars's name of its type."""


class ArrowStream(Protocol):
    """An object with the `__arrow_c_stream__` method of the Arrow PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the columns as an Arrow C stream capsule."""


class Columns:
    """The columns of a table that a run left, as a data frame of polars once somebody asks."""

    __slots__ = ("_frame", "_kept", "_table")

    def __init__(self, table: _core.Table) -> None:
        self._table = table
        self._frame: pl.DataFrame | None = None
        self._kept: list[Column] | None = None

    def frame(self) -> pl.DataFrame:
        """Return the data frame; the first call moves the columns into it, one by one."""
        import polars as pl

        if self._frame is None:
            kept, self._kept = self._kept, None
            columns = kept or (self._table.take(i) for i in range(len(self._table.columns)))
            named = zip(self._table.columns, columns, strict=True)
            self._frame = pl.DataFrame([_series(name, *column) for name, column in named])
        return self._frame

    def octets(self) -> list[Column]:
        """Return the columns as octets, and keep them as such until there is a data frame."""
        if self._frame is not None:
            return octets_of(self._frame)
        if self._kept is None:
            self._kept = [self._table.take(i) for i in range(len(self._table.columns))]
        return self._kept

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the columns as an Arrow C stream capsule."""
        return self.frame().__arrow_c_stream__(requested_schema)


def octets_of(frame: pl.DataFrame) -> list[Column]:
    """Return the columns of a data frame as octets, as a run hands them out."""
    import polars as pl

    columns: list[Column] = []
    for column in frame.iter_columns():
        there = bytes(column.is_not_null().cast(pl.UInt8).to_list())
        is_there = there if 0 in there else None
        if column.dtype in (pl.Categorical, pl.String):
            texts = [text or "" for text in column.cast(pl.String).to_list()]
            words = list(dict.fromkeys(texts))
            numbers = {word: number for number, word in enumerate(words)}
            values = array(CODES["UInt32"], (numbers[text] for text in texts))
            columns.append(("UInt32", values.tobytes(), is_there, words))
        else:
            kind = str(column.dtype)
            values = array(CODES[kind], column.fill_null(0).to_list())
            columns.append((kind, values.tobytes(), is_there, None))
    return columns


def _series(
    name: str, kind: str, values: bytes, there: bytes | None, words: list[str] | None
) -> pl.Series:
    """Return a column: values of type `kind`, which of them are there, what they mean.

    `kind` is one of polars's types, such as ``UInt64``. Without numpy, whose import takes longer
    than a short run.
    """
    import polars as pl

    if words is not None:
        return pl.Series(name, words, dtype=pl.Categorical).gather(_numbers(values, pl.UInt32))
    series = _numbers(values, getattr(pl, kind)).alias(name)
    return series if there is None else series.set(_numbers(there, pl.UInt8) == 0, None)


def _numbers(octets: bytes, kind: type[pl.DataType]) -> pl.Series:
    import polars as pl

    if not octets:
        return pl.Series([], dtype=kind)
    array = pl.Array(kind, len(octets) // OCTETS[kind.__name__])
    return pl.Series([octets]).bin.reinterpret(dtype=array, endianness="little").explode()


class Table:
    """One table of a run; columns end in their unit (`time_s`, `queue_bytes`, `rate_bps`).

    Any library that reads the Arrow PyCapsule interface takes it directly:
    `polars.DataFrame(table)`, `pyarrow.table(table)`, `duckdb.sql("from table")`.

    Examples
    --------
    >>> import qcnlab
    >>> scenario = qcnlab.load("one-source-into-9g-rtt10us").with_("duration=10 ms", "warmup=1 ms")
    >>> queues = qcnlab.run(scenario, reps=1).queues
    >>> queues.columns, queues.units["queue_bytes"]
    (['replication', 'time_s', 'port', 'queue_bytes'], 'B')
    >>> queues.to_numpy()["queue_bytes"].shape == (len(queues),)
    True
    """

    __slots__ = ("_length", "_stream", "columns", "name", "units")

    name: str
    """One of `NAMES`."""
    columns: list[str]
    """Column names, in order."""
    units: dict[str, str]
    """Column name to unit (`"s"`, `"B"`, `"bit/s"`); columns without a unit are left out."""

    def __init__(
        self,
        name: str,
        stream: ArrowStream,
        columns: list[str],
        units: dict[str, str],
        length: int,
    ) -> None:
        self.name = name
        self.columns = columns
        self.units = units
        self._stream = stream
        self._length = length

    def __len__(self) -> int:
        """Return the number of rows."""
        return self._length

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the columns as an Arrow C stream capsule."""
        return self._stream.__arrow_c_stream__(requested_schema)

    def octets(self) -> dict[str, Column]:
        """Return the columns as octets, for who has no library that reads the table.

        Returns
        -------
        dict of str to tuple
            By column: the type of its values by polars's name, the values with their least octet
            first, an octet for each that is 1 where the value is there (`None`: all are), and the
            words that values of text are the numbers of (`None`: they are numbers).
        """
        stream = self._stream
        columns = stream.octets() if isinstance(stream, Columns) else octets_of(self.to_polars())
        return dict(zip(self.columns, columns, strict=True))

    def to_polars(self) -> pl.DataFrame:
        """Return the table as a data frame of polars; numbers are not copied.

        Returns
        -------
        polars.DataFrame
            Of shape (rows, columns).
        """
        import polars as pl

        return pl.DataFrame(self)

    def to_pandas(self) -> pd.DataFrame:
        """Return the table as a data frame of pandas.

        Returns
        -------
        pandas.DataFrame
            Of shape (rows, columns).

        Raises
        ------
        MissingPackage
            Without pandas and pyarrow: `pip install 'qcnlab[pandas]'`.
        """
        try:
            import pandas as pd  # noqa: F401
            import pyarrow as pa  # noqa: F401
        except ImportError as error:
            raise MissingPackage(
                f"to_pandas() needs {error.name}: pip install 'qcnlab[pandas]'"
            ) from error
        frame: pd.DataFrame = self.to_polars().to_arrow().to_pandas(split_blocks=True)
        return frame

    def to_numpy(self) -> dict[str, np.ndarray[Any, Any]]:
        """Return the table as arrays.

        Returns
        -------
        dict of str to numpy.ndarray
            An array of shape (rows,) for each column. Those of text hold `str` objects; missing
            numbers are NaN.
        """
        import polars as pl

        frame = self.to_polars()
        text = pl.selectors.categorical() | pl.selectors.string()
        return {
            column.name: column.to_numpy() for column in frame.with_columns(text.cast(pl.String))
        }

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the columns as a data frame of polars."""
        return Table, (self.name, self.to_polars(), self.columns, self.units, self._length)

    def __repr__(self) -> str:
        """Return name, number of rows, and columns with units."""
        columns = ", ".join(
            f"{column} [{self.units[column]}]" if self.units.get(column) else column
            for column in self.columns
        )
        return f"<Table {self.name}: {self._length} rows; {columns}>"
