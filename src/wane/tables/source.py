"""Read columns of a CSV or Parquet file block by block; error messages never quote a cell.

pyarrow's own messages do, so none of them is passed on, not even as the cause of ours.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Protocol, TypeVar

from wane.errors import InvalidDescription, MissingExtra
from wane.tables import csv_text

BLOCK_BYTES = 16 * 2**20
BLOCK_ROWS = 65_536
MAGIC = b"PAR1"
T = TypeVar("T")


class Source(Protocol):
    """A file with named columns."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all its columns, in order."""
        ...

    def batches(self, wanted: tuple[str, ...]) -> Iterator[Any]:
        """Yield record batches with these columns, in this order."""
        ...

    def expected(self, wanted: tuple[str, ...]) -> str:
        """Return advice for a file without these columns."""
        ...


def open_source(
    path: str | Path, *, delimiter: str, header: tuple[str, ...] | None, newlines: bool = False
) -> Source:
    """Return the file as a source of columns; Parquet is told from CSV by its first bytes."""
    _pyarrow()
    file = Path(path)
    shown = f"{file!s:.120}"
    try:
        if file.is_dir():
            raise InvalidDescription(f"{shown} must be a file, got a directory.")
        with file.open("rb") as stream:
            start = stream.read(len(MAGIC))
    except (OSError, ValueError) as error:
        if isinstance(error, InvalidDescription):
            raise
        reason = getattr(error, "strerror", None) or "the name is not one of a file"
        raise InvalidDescription(f"{shown} cannot be read: {reason}.") from None
    if not start:
        raise InvalidDescription(f"{shown} must hold a table, got an empty file.")
    if start == MAGIC or file.suffix.lower() in {".parquet", ".pq"}:
        return ParquetSource(file, shown)
    return CsvSource(file, shown, delimiter, header, newlines)


@dataclass(frozen=True)
class ParquetSource:
    """A Parquet file."""

    file: Path
    shown: str

    @property
    def names(self) -> tuple[str, ...]:
        """The names in the file's own schema."""
        with self._opened() as opened:
            return tuple(opened.schema_arrow.names)

    def expected(self, wanted: tuple[str, ...]) -> str:
        """Return advice for a file without these columns."""
        return "correct the schema"

    @property
    def group_rows(self) -> tuple[int, ...]:
        """The number of rows of each row group, from the file's own summary."""
        with self._opened() as opened:
            summary = opened.metadata
            return tuple(summary.row_group(g).num_rows for g in range(summary.num_row_groups))

    def batches(self, wanted: tuple[str, ...], group: int | None = None) -> Iterator[Any]:
        """Yield blocks of rows, of one row group or of all; never the whole file at once."""
        groups = None if group is None else [group]
        with self._opened() as opened:
            blocks = opened.iter_batches(
                batch_size=BLOCK_ROWS, columns=list(wanted), row_groups=groups
            )
            while (block := self._quietly(lambda: next(blocks, None))) is not None:
                yield block.select(list(wanted))

    def _opened(self) -> Any:
        from pyarrow import parquet

        return self._quietly(lambda: parquet.ParquetFile(self.file, memory_map=False))

    def _quietly(self, call: Callable[[], T]) -> T:
        complaint = f"{self.shown} must be a whole Parquet file, got one cut short or damaged."
        return quietly(call, lambda _: complaint)


@dataclass(frozen=True)
class CsvSource:
    """A CSV file of UTF-8 text, every cell of which is read as text."""

    file: Path
    shown: str
    delimiter: str
    header: tuple[str, ...] | None
    newlines: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The names in the header line, or those the schema gives."""
        return tuple(name.strip() for name in self._raw_names())

    def batches(self, wanted: tuple[str, ...]) -> Iterator[Any]:
        """Yield blocks of rows; the file is never in memory as a whole."""
        self._check_quotes()
        names = self._raw_names()
        raw = {name.strip(): name for name in names}
        reader = quietly(lambda: self._reader(names, [raw[name] for name in wanted]), self._told)
        while (block := quietly(lambda: _next(reader), self._told)) is not None:
            yield block.rename_columns(list(wanted))

    def first_rows(self, count: int) -> list[list[str]]:
        """Return the cells of the first rows below the first line, to be looked at and not kept."""
        self._check_quotes()
        try:
            with self._text() as stream:
                return list(islice(csv.reader(stream, delimiter=self.delimiter), 1, count + 1))
        except (csv.Error, OSError):
            return []

    def _raw_names(self) -> list[str]:
        if self.header is not None:
            return list(self.header)
        try:
            with self._text() as stream:
                names = next(csv.reader(stream, delimiter=self.delimiter), [])
            "".join(names).encode()  # fails on a byte that was kept apart
            return names
        except (UnicodeEncodeError, csv.Error, OSError):
            pass
        raise InvalidDescription(f"{self.shown} must start with a header line of UTF-8 text.")

    def _text(self) -> io.TextIOWrapper:
        """Return the file as text; bytes that are no UTF-8 are escaped, as they may never be read.

        A reader decodes ahead, so that a strict one would blame the header for a later line.
        """
        return io.TextIOWrapper(
            self._bytes(), encoding="utf-8-sig", errors="surrogateescape", newline=""
        )

    def _bytes(self) -> io.BufferedReader:
        """Return the file's bytes, unpacked if its name ends in .gz or the like."""
        import pyarrow as pa

        return io.BufferedReader(pa.input_stream(str(self.file)))

    def _check_quotes(self) -> None:
        def look() -> int | None:
            with self._bytes() as lines:
                return csv_text.open_quote(lines, self.delimiter, newlines=self.newlines)

        number = quietly(look, self._told)
        if number is not None:
            cure = (
                "close the quote"
                if self.newlines
                else ("close the quote, or set newlines_in_cells = true in the schema")
            )
            raise InvalidDescription(
                f"{self.shown} must close every quote, got one in line {number} that is still open "
                f"at the end of the {'file' if self.newlines else 'line'}; {cure}."
            )

    def expected(self, wanted: tuple[str, ...]) -> str:
        """Return advice for a file without these columns: the delimiter it seems to have."""
        try:
            with self._text() as stream:
                other = csv_text.other_delimiter(stream.readline(), self.delimiter, wanted)
        except OSError:
            other = None
        if other is None:
            return "correct the schema, the delimiter or header"
        return (
            f"the header line is separated by {csv_text.DELIMITERS[other]}: "
            f"set delimiter = {other!r} in the schema"
        )

    def _reader(self, names: list[str], raw: list[str]) -> Any:
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        return arrow_csv.open_csv(
            self.file,
            read_options=arrow_csv.ReadOptions(
                block_size=BLOCK_BYTES, column_names=None if self.header is None else names
            ),
            parse_options=arrow_csv.ParseOptions(
                delimiter=self.delimiter,
                newlines_in_values=True,
                ignore_empty_lines=len(names) > 1,  # an empty line is a cell if there is only one
            ),
            convert_options=arrow_csv.ConvertOptions(
                include_columns=raw,
                column_types={name: pa.string() for name in raw},
                strings_can_be_null=False,
            ),
        )

    def _told(self, error: str) -> str:
        if "UTF8" in error:
            with self._bytes() as lines:
                number = csv_text.foreign_bytes(lines)
            place = "" if number is None else f" in line {number}"
            return f"{self.shown} must be UTF-8 text, got other bytes{place}; convert it first."
        if "straddl" in error:
            return f"{self.shown} must have rows of at most {BLOCK_BYTES} bytes, got a longer one."
        count = len(self._raw_names())
        return (
            f"{self.shown} must have {count} cells in every row, as its header has, "
            "got another number in some row; check quotes and the delimiter."
        )


def quietly(call: Callable[[], T], complaint: Callable[[str], str]) -> T:
    """Call, and replace an error of pyarrow by one of wane's that quotes nothing of it."""
    import pyarrow as pa

    try:
        return call()
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        message = complaint(str(error))
    except MemoryError:
        message = "data must fit into memory, got too much; declare fewer columns."
    raise InvalidDescription(message)  # outside the handler, so that it has no context


def _next(reader: Any) -> Any:
    try:
        return reader.read_next_batch()
    except StopIteration:
        return None


def _pyarrow() -> None:
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise MissingExtra("Tables need pyarrow; install wane[learn].") from None
