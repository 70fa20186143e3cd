"""Lists as CSV files (RFC 4180), made page by page while they are sent, in bounded memory.

Each page is one short read of the store, so an export of any length holds no transaction and no more than one page.
"""

import csv
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from io import StringIO
from itertools import islice
from typing import Generic, TypeVar

import trio

from service.api.deadlines import start_deadline, within_deadline
from service.api.messages import NO_STORE, Answer

Row = TypeVar("Row")
Position = TypeVar("Position")

Cell = str | int | float | None
"""None is an empty cell. Numbers are written as they are; only text can be taken for a formula."""

CSV = "text/csv; charset=utf-8; header=present"
PAGE_ROWS = 200
"""Rows that one read of the store returns at most."""

SLICE_LINES = 10
"""Lines that are made at a time, between which other requests go on."""

WRITTEN_LINES = 50
"""The same, where the store has written most of their cells."""

TURNS = 4
"""Turns of the event loop between two slices: about as many as a request takes, which so meets one slice or two."""

PIECE_BYTES = 16 * 1024
"""Bytes that are sent at a time: small enough for all requests of one HTTP/2 connection to be exports."""

SIGNS = "=+-@＝＋－＠﹦﹢﹣﹫"
"""Characters that begin a formula, in each width."""

FORMULA_STARTS = (*SIGNS, "\t", "\r", "\n")
"""Spreadsheets may take a cell that begins with one of these for a formula, which could send other cells elsewhere."""

UNSEEN = r'[\s\x00-\x1f\u200b-\u200f\u2060\ufeff"]*'
"""Characters that spreadsheets may skip before a formula."""

_SIGN = f"[{re.escape(SIGNS)}]"
_BEGINS = re.compile(
    rf'(?:^(?=[\t\r\n])|(?:^|(?<=[;|,\t\r\n]))(?={UNSEEN}{_SIGN})|(?<= )(?="?{_SIGN}\S))',
)
"""Where a cell may begin with a formula: the text itself and, after each separator in it, what is a cell of its own for a
spreadsheet that separates cells by it. Our quotes do not help there, because they are within a cell. A space is in every
text, so a sign between two spaces is none."""

_SUSPECT = frozenset(FORMULA_STARTS)
"""A text without any of these has no formula, which is found in a tenth of the time. Times have hyphens, and repeat."""

_SPECIAL = re.compile(f'[{re.escape(SIGNS)},"\t\r\n]')
"""A text without any of these is a cell as it is."""

BOM = b"\xef\xbb\xbf"
"""Tells Excel that a file is UTF-8."""


def csv_of(rows: Iterable[Sequence[Cell]]) -> bytes:
    """Rows as CSV: UTF-8, lines that end in CR LF, and an apostrophe before all that a spreadsheet could take for a formula,
    whatever it separates cells by."""
    text = StringIO()
    csv.writer(text, lineterminator="\r\n").writerows(map(_harmless, rows))
    return text.getvalue().encode()


def _harmless(row: Sequence[Cell]) -> list[Cell]:
    return [_quoted(cell) if isinstance(cell, str) and not _SUSPECT.isdisjoint(cell) else cell for cell in row]


@lru_cache(2_048)
def _quoted(text: str) -> str:
    return _BEGINS.sub("'", text)


def written(text: str | None) -> str:
    """The cell of a text, as `csv_of` writes it in a line with others."""
    if text is None:
        return ""
    return text if _SPECIAL.search(text) is None else csv_of([(text,)])[:-2].decode()


class Spreadsheet(Generic[Row, Position]):
    """The CSV of a list, as pieces of bytes.

    `fetch(after, limit)` returns at most `limit` rows after the position of the last row, `position` tells a row's
    position, and `cells` its cells (a subclass may override `lines` and `page_rows`). Each read after the first has
    `seconds`; beyond them `trio.TooSlowError` is raised.
    """

    page_rows = PAGE_ROWS

    def __init__(
        self,
        header: Sequence[str],
        fetch: Callable[[Position | None, int], Awaitable[Sequence[Row]]],
        position: Callable[[Row], Position],
        cells: Callable[[Row], Sequence[Cell]],
        seconds: float,
    ) -> None:
        self._fetch = fetch
        self._position = position
        self._cells = cells
        self._seconds = seconds
        self._made = csv_of([header])
        self._rows: Sequence[Row] = ()
        self._more = True
        self._failure: Exception | None = None

    def __aiter__(self) -> "Spreadsheet[Row, Position]":
        return self

    async def __anext__(self) -> bytes:
        while not self._made and (self._rows or self._more):
            if self._failure is not None:
                raise self._failure
            await self._make_page()
        if not self._made:
            raise StopAsyncIteration
        piece, self._made = self._made[:PIECE_BYTES], self._made[PIECE_BYTES:]
        return piece

    async def _make_page(self) -> None:
        """Make the lines of the page that was read, while the next one is read."""
        rows, self._rows = self._rows, ()
        async with trio.open_nursery() as nursery:
            if self._more:
                start_deadline(self._seconds)
                nursery.start_soon(self._read_ahead, rows)
            for some in self.parts(rows):
                self._made += some
                for _ in range(TURNS):
                    await trio.lowlevel.checkpoint()

    async def _read_ahead(self, before: Sequence[Row]) -> None:
        """Read the page after some rows. A failure is raised when those are sent."""
        try:
            with within_deadline():
                await self._read_page(before)
        except Exception as error:
            self._failure = error

    async def _read_page(self, before: Sequence[Row]) -> None:
        self._rows = await self._fetch(self._position(before[-1]) if before else None, self.page_rows)
        self._more = len(self._rows) == self.page_rows

    def parts(self, rows: Sequence[Row]) -> Iterator[bytes]:
        """The CSV of a page of rows, in parts that take a moment each."""
        lines = iter(self.lines(rows))
        while some := list(islice(lines, SLICE_LINES)):
            yield csv_of(some)

    def lines(self, rows: Sequence[Row]) -> Iterable[Sequence[Cell]]:
        """The lines of a page of rows; by default, one for each."""
        return map(self._cells, rows)

    def begin_with(self, mark: bytes) -> None:
        """Put bytes before the first piece."""
        self._made = mark + self._made

    async def answer(self, filename: str) -> Answer:
        """The response that a browser saves as `filename`. The first page is read now, so that its failure is a refusal."""
        await self._read_page(())
        if self._more:
            return Answer(200, b"", csv_headers(filename), CSV, pieces=self)
        await self._make_page()
        return Answer(200, self._made, csv_headers(filename), CSV)


class LinesSheet(Spreadsheet[Row, Position]):
    """The CSV of a list whose store writes most cells of a line; `line` makes the line of a row."""

    page_rows = 2 * PAGE_ROWS

    def __init__(
        self,
        header: Sequence[str],
        fetch: Callable[[Position | None, int], Awaitable[Sequence[Row]]],
        position: Callable[[Row], Position],
        line: Callable[[Row], str],
        seconds: float,
    ) -> None:
        super().__init__(header, fetch, position, lambda _: (), seconds)
        self._line = line

    def parts(self, rows: Sequence[Row]) -> Iterator[bytes]:
        for first in range(0, len(rows), WRITTEN_LINES):
            yield "".join(map(self._line, rows[first : first + WRITTEN_LINES])).encode()


def for_people(answer: Answer) -> Answer:
    """A CSV file as a browser saves it: with a BOM. Any other response as it is."""
    if answer.content_type != CSV:
        return answer
    if isinstance(answer.pieces, Spreadsheet):
        answer.pieces.begin_with(BOM)
        return answer
    return replace(answer, body=BOM + answer.body)


def csv_headers(filename: str) -> list[tuple[str, str]]:
    """The headers of a response that a browser saves as `filename` (letters, digits, dots and hyphens)."""
    return [*NO_STORE, ("content-disposition", f'attachment; filename="{filename}"')]


def csv_answer(filename: str, header: Sequence[str], rows: Iterable[Sequence[Cell]]) -> Answer:
    """The response for a few rows that are already in memory."""
    return Answer(200, csv_of([header, *rows]), csv_headers(filename), CSV)
