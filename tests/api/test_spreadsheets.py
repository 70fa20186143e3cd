"""Lists as CSV: the encoding, and streams over both versions of HTTP to clients that stay, leave or read slowly."""

import csv
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from io import StringIO

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel
from trio.testing import lockstep_stream_pair

from actors.values import Refused, StorageUnavailable
from service.api.context import Services
from service.api.errors import Family
from service.api.messages import Answer
from service.api.operation import Call, Operation
from service.api.operations import OPERATIONS
from service.api.policy import Access
from service.api.spreadsheets import (
    BOM,
    FORMULA_STARTS,
    PAGE_ROWS,
    PIECE_BYTES,
    SIGNS,
    SLICE_LINES,
    UNSEEN,
    Cell,
    Spreadsheet,
    csv_answer,
    csv_of,
    for_people,
    written,
)
from tests.api.asgi import Client
from tests.api.conformity import DESCRIBED
from tests.api.world import World
from tests.application import build_app
from tests.http.memory_server import MemoryServer, open_memory_server, replies

EXPORT = "/api/v1/sponsors/export"
GET = f"GET {EXPORT} HTTP/1.1\r\nHost: catalog.test\r\nConnection: close\r\n\r\n".encode()


class Nothing(BaseModel):
    """The response of an operation of these tests."""


@dataclass(slots=True)
class Rows:
    """The rows 1 to `count`. `failure` is raised in place of the page that begins after `fails_after`."""

    count: int
    fails_after: int | None = None
    failure: Exception | None = None
    hangs: bool = False
    reads: int = 0
    running: int = 0

    async def fetch(self, after: int | None, limit: int) -> Sequence[int]:
        self.reads += 1
        assert limit == PAGE_ROWS
        self.running += 1
        try:
            await trio.lowlevel.checkpoint()
            if (after or 0) == self.fails_after:
                if self.hangs:
                    await trio.sleep_forever()
                assert self.failure is not None
                raise self.failure
            first = (after or 0) + 1
            return range(first, min(first + limit, self.count + 1))
        finally:
            self.running -= 1

    async def export(self, services: Services, call: Call) -> Answer | Refused:
        seconds = services.config.http.answer_seconds
        sheet = Spreadsheet(["number", "name"], self.fetch, _itself, _cells, seconds)
        return await sheet.answer("numbers.csv")

    @property
    def content(self) -> bytes:
        return csv_of([("number", "name"), *map(_cells, range(1, self.count + 1))])


def _itself(number: int) -> int:
    return number


def _cells(number: int) -> tuple[int, str]:
    return number, f"The number {number}, in words"


def exporting(world: World, rows: Rows) -> Client:
    """A client of an application that exports these rows."""
    operation = Operation(
        name="export",
        method="GET",
        path=EXPORT,
        summary="",
        description="",
        tag="",
        handler=rows.export,
        result=Nothing,
        access=Access.PUBLIC,
        family=Family.SPONSORSHIP,
        spreadsheet=True,
    )
    app = build_app(world.services, (*OPERATIONS, operation), DESCRIBED, world.metrics)
    return Client(app, lambda _: None)


@asynccontextmanager
async def serving(world: World, rows: Rows, *, small: bool = False) -> AsyncIterator[MemoryServer]:
    """A server for it; with `small`, its connections hold nothing of what their client does not read."""
    app = exporting(world, rows).app
    async with open_memory_server(app, pair=lockstep_stream_pair if small else None) as server:
        yield server


# The encoding.


def test_lines_end_in_cr_lf_and_only_cells_that_need_it_are_quoted() -> None:
    rows: list[tuple[Cell, Cell, Cell]] = [
        ("id", "text", "sum"),
        (1, "plain", 0.5),
        (2, 'says "hi", twice', None),
        (3, "two\nlines", -7),
    ]
    assert csv_of(rows) == (b'id,text,sum\r\n1,plain,0.5\r\n2,"says ""hi"", twice",\r\n3,"two\nlines",-7\r\n')


@pytest.mark.parametrize("start", FORMULA_STARTS)
def test_text_that_looks_like_a_formula_is_text(start: str) -> None:
    [[cell]] = csv.reader(StringIO(csv_of([(f"{start}1+1",)]).decode(), newline=""))
    assert cell == f"'{start}1+1"


@pytest.mark.parametrize("count", [1, PAGE_ROWS + 1])
async def test_a_file_that_a_browser_saves_says_that_it_is_utf_8(count: int) -> None:
    rows = Rows(count)
    saved = for_people(await Spreadsheet(["number", "name"], rows.fetch, _itself, _cells, 5.0).answer("numbers.csv"))
    pieces = [] if saved.pieces is None else [piece async for piece in saved.pieces]
    assert saved.body + b"".join(pieces) == BOM + rows.content


def test_a_negative_number_is_a_number() -> None:
    assert csv_of([(-5, -0.25, "-5")]) == b"-5,-0.25,'-5\r\n"


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("x;=1+2;y", "x;'=1+2;y"),
        ("x\t=1+2", "x\t'=1+2"),
        ("x|@sum(a1)", "x|'@sum(a1)"),
        ("x,+1", "x,'+1"),
        ('x; "=1+2"', "x;' '\"=1+2\""),
        ("x\n=1+2", "x\n'=1+2"),
        ("x;＝1+2", "x;'＝1+2"),
        ("x =1+2", "x '=1+2"),
        (" =1+2", "' '=1+2"),
        ('"=1+2', "'\"=1+2"),
        ("a - b + c, d = e: f@example.com; C++", "a - b + c, d = e: f@example.com; C++"),
        ("Jane's Tools; 1-2|3", "Jane's Tools; 1-2|3"),
    ],
)
def test_text_is_no_formula_whatever_separates_cells(text: str, cell: str) -> None:
    [[read]] = csv.reader(StringIO(csv_of([(text,)]).decode(), newline=""))
    assert read == cell


SPLIT = {each: rf"[\r\n{each}]" for each in (";", ",", "|", "\t", " ")}
FORMULA = {each: rf"{UNSEEN}[{re.escape(SIGNS)}]" + (r"\S" if each == " " else "") for each in SPLIT}


@given(
    st.lists(
        st.lists(st.text(st.characters(codec="utf-8") | st.sampled_from('=+-@＝;|\t\r\n ,"x')), min_size=2, max_size=3)
    )
)
def test_every_text_is_read_back_with_apostrophes_more(rows: list[list[str]]) -> None:
    file = csv_of(rows).decode()
    assert file == "".join(",".join(map(written, row)) + "\r\n" for row in rows)
    read = list(csv.reader(StringIO(file, newline="")))
    assert [[cell.replace("'", "") for cell in row] for row in read] == [
        [cell.replace("'", "") for cell in row] for row in rows
    ]
    assert not any(cell.startswith(FORMULA_STARTS) for row in read for cell in row)
    for separator, ends in SPLIT.items():
        found = [cell for cell in re.split(ends, file) if re.match(FORMULA[separator], cell)]
        assert not found, (separator, found)


def test_a_few_rows_are_a_whole_answer() -> None:
    answer = csv_answer("days.csv", ["day", "views"], [("2026-11-18", 3)])
    assert answer.body == b"day,views\r\n2026-11-18,3\r\n"
    assert ("content-disposition", 'attachment; filename="days.csv"') in answer.headers


# The stream.


@pytest.mark.parametrize("count", [0, 1, PAGE_ROWS - 1, PAGE_ROWS, PAGE_ROWS + 1, 3 * PAGE_ROWS, 5_000])
async def test_every_row_is_sent_once_and_in_order(world: World, count: int) -> None:
    rows = Rows(count)
    response = await exporting(world, rows).get(EXPORT)
    assert (response.status, response.body) == (200, rows.content)
    assert response.header("content-type") == "text/csv; charset=utf-8; header=present"
    assert response.header("content-disposition") == 'attachment; filename="numbers.csv"'
    assert response.header("cache-control") == "no-store"
    # A list that ends within its first page has a length, others come in pieces.
    assert response.header("content-length") == (str(len(response.body)) if count < PAGE_ROWS else None)


async def test_a_request_beside_an_export_meets_two_slices_at_most() -> None:
    rows, met, made = Rows(1_000), list[int](), list[int]()

    def cells(number: int) -> tuple[int, str]:
        made.append(number)
        return _cells(number)

    sheet = Spreadsheet(["number", "name"], rows.fetch, _itself, cells, 1.0)

    async def request() -> None:
        while len(made) < rows.count:
            before = len(made)
            for _ in range(4):  # about as many turns as a request takes
                await trio.lowlevel.checkpoint()
            met.append(len(made) - before)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(request)
        async for _ in sheet:
            await trio.lowlevel.checkpoint()
    assert 0 < max(met) <= 2 * SLICE_LINES


async def test_a_stream_is_chunked_in_http_1_and_framed_in_http_2(world: World) -> None:
    rows = Rows(2_000)
    async with serving(world, rows) as server:
        client = server.connect()
        await client.send(GET)
        [reply] = await client.replies()
        assert (reply.status, reply.body, reply.whole) == (200, rows.content, True)
        assert reply.header("transfer-encoding") == "chunked"
        newer = await server.connect_http2()
        number = await newer.request(EXPORT)
        await newer.until_answered(number)
        assert (newer.statuses[number], newer.bodies[number]) == (200, rows.content)
        assert "content-length" not in newer.headers[number]
        assert number not in newer.resets


async def test_a_head_request_reads_one_page_and_gets_no_body(world: World) -> None:
    rows = Rows(5_000)
    response = await exporting(world, rows).request("HEAD", EXPORT)
    assert (response.status, response.body, rows.reads) == (200, b"", 1)


@pytest.mark.parametrize("failure", [StorageUnavailable("away"), RuntimeError("a bug of this test")])
async def test_a_failure_before_the_first_byte_is_json(world: World, failure: Exception) -> None:
    response = await exporting(world, Rows(5_000, 0, failure)).get(EXPORT)
    expected = "503 service_unavailable" if isinstance(failure, StorageUnavailable) else "500 internal_error"
    assert response.words == expected


async def test_a_first_page_that_takes_too_long_is_refused_in_time(world: World) -> None:
    began = trio.current_time()
    response = await exporting(world, Rows(5_000, 0, hangs=True)).get(EXPORT)
    assert response.words == "503 service_unavailable"
    assert trio.current_time() - began == pytest.approx(world.config.http.answer_seconds)


@pytest.mark.parametrize("hangs", [False, True])
async def test_a_stream_that_fails_later_never_looks_complete(world: World, *, hangs: bool) -> None:
    rows = Rows(5_000, 2 * PAGE_ROWS, StorageUnavailable("away"), hangs)
    async with serving(world, rows) as server:
        client = server.connect()
        await client.send(GET)
        [reply] = await client.replies()
        assert (reply.status, reply.whole) == (200, False)
        assert rows.content.startswith(reply.body)
        newer = await server.connect_http2()
        number = await newer.request(EXPORT)
        await newer.until_answered(number)
        assert number in newer.resets
    assert not rows.running


async def test_a_long_stream_outlives_the_limits_of_one_answer_while_its_client_reads_on(world: World) -> None:
    rows = Rows(20_000)
    async with serving(world, rows, small=True) as server:
        client = server.connect()
        await client.send(GET)
        began, data = trio.current_time(), b""
        while more := await client.receive(4 * PIECE_BYTES):
            data += more
            await trio.sleep(3)
        [reply] = replies(data)
        assert (reply.body, reply.whole) == (rows.content, True)
        assert trio.current_time() - began > world.config.http.request_seconds


@pytest.mark.parametrize("leaves", [False, True])
async def test_a_client_that_leaves_or_stops_reading_ends_the_reads(world: World, *, leaves: bool) -> None:
    rows = Rows(10**6)
    async with serving(world, rows, small=True) as server:
        client = server.connect()
        await client.send(GET)
        await client.receive(PIECE_BYTES)
        if leaves:
            await client.stream.aclose()
        await trio.sleep(60)
        assert (server.serving, rows.running) == (0, 0)
    assert rows.reads < 10


@pytest.mark.parametrize("leaves", [False, True])
async def test_a_client_of_http_2_that_resets_or_stops_reading_ends_the_reads(world: World, *, leaves: bool) -> None:
    rows = Rows(10**6)
    async with serving(world, rows) as server:
        client = await server.connect_http2()
        number = await client.request(EXPORT)
        await client.take(opening=False)
        if leaves:
            client.connection.reset_stream(number)
            await client.flush()
        with trio.move_on_after(60):
            while await client.take(opening=False):
                pass
        read = rows.reads
        await trio.sleep(60)
        assert rows.reads == read < 10_000 / PAGE_ROWS
        assert not rows.running
