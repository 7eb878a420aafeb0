"""Read columns of a CSV or Parquet file block by block; error messages never quote a cell.

pyarrow's own messages do, so none of them is passed on, not even as the cause of ours.  Tables that
come through a pipe are held in memory and read as files are.
"""

from __future__ import annotations

import csv
import io
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any, Protocol, TypeVar

from wane.errors import InvalidDescription, MissingExtra, reason_of

STANDARD_INPUT = "-"


@contextmanager
def as_file(path: str | Path) -> Iterator[str]:
    """Yield the name of a file that can be read more than once, for a file, a pipe or `-`.

    A table is read several times: for its header, its quotes and its rows.  What comes through a
    pipe is kept in memory where the system allows it, in a file that only the owner can read
    elsewhere, and is gone afterwards.
    """
    if str(path) != STANDARD_INPUT and not _is_pipe(path):
        yield str(path)
        return
    try:
        with _opened(path) as source, _kept() as copy:
            shutil.copyfileobj(source, copy)
            copy.flush()
            yield copy.name if isinstance(copy.name, str) else f"/proc/self/fd/{copy.fileno()}"
    except OSError as error:
        raise InvalidDescription(f"{path!s:.120} cannot be read: {error.strerror}.") from None


def _is_pipe(path: str | Path) -> bool:
    try:
        mode = Path(path).stat().st_mode
    except (OSError, ValueError):
        return False  # whoever reads it tells why
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def _opened(path: str | Path) -> IO[bytes]:
    if str(path) == STANDARD_INPUT:
        return os.fdopen(os.dup(sys.stdin.fileno()), "rb")
    return Path(path).open("rb")


def _kept() -> IO[bytes]:
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("wane-table"), "w+b")
    return tempfile.NamedTemporaryFile()


DELIMITERS = {";": "a semicolon", "\t": "a tab", "|": "a vertical bar", ",": "a comma"}
"""Separators that are looked for, and what to call them."""


def open_quote(lines: Iterable[bytes], delimiter: str, *, newlines: bool) -> int | None:
    """Return the number of the line whose quote is never closed, or None if all are.

    A quote that is still open at the end of a line counts unless cells may hold `newlines`: it
    would swallow the rows below it.
    """
    separator, opened = delimiter.encode(), 0
    for number, line in enumerate(lines, start=1):
        if b'"' not in line:
            continue
        still_open = _quote_at_end(line, separator, inside=bool(opened))
        opened = (opened or number) if still_open else 0
        if opened and not newlines:
            break
    return opened or None


def _quote_at_end(line: bytes, separator: bytes, *, inside: bool) -> bool:
    """Return whether a quoted cell is open at the line's end; a quote opens only a cell's start."""
    place = 0
    while True:
        if inside or line[place : place + 1] == b'"':
            place = _after_closing(line, place if inside else place + 1)
            if place < 0:
                return True
            inside = False
        place = line.find(separator, place) + 1
        if place == 0:
            return False


def _after_closing(line: bytes, place: int) -> int:
    """Return the index after the quote that closes a cell, or -1; two quotes stand for one."""
    while True:
        quote = line.find(b'"', place)
        if quote < 0:
            return -1
        if line[quote + 1 : quote + 2] != b'"':
            return quote + 1
        place = quote + 2


def foreign_bytes(lines: Iterable[bytes]) -> int | None:
    """Return the number of the first line that is not UTF-8 text, or None."""
    for number, line in enumerate(lines, start=1):
        try:
            line.decode("utf-8")
        except UnicodeDecodeError:
            return number
    return None


def other_delimiter(header: str, delimiter: str, wanted: Iterable[str]) -> str | None:
    """Return the separator by which the header line would hold a wanted column, or None."""
    names = set(wanted)
    for other in DELIMITERS:
        cells = {cell.strip().strip('"') for cell in header.split(other)}
        if other != delimiter and other in header and names & cells:
            return other
    return None


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
        raise InvalidDescription(f"{shown} cannot be read: {reason_of(error)}.") from None
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
                return open_quote(lines, self.delimiter, newlines=self.newlines)

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
                other = other_delimiter(stream.readline(), self.delimiter, wanted)
        except OSError:
            other = None
        if other is None:
            return "correct the schema, the delimiter or header"
        return (
            f"the header line is separated by {DELIMITERS[other]}: "
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
                number = foreign_bytes(lines)
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
