"""Metadata documents of clients over real sockets: what is read, and which addresses are never reached."""

import json

import pytest
import trio

from actors.webhooks.store import DeliveryFailed
from service.outside import client_documents
from service.outside.client_documents import DOCUMENT_BYTES, FetchedDocument, HttpDocuments
from tests.webhooks.listeners import Act, Names, receiver, trusted
from tests.webhooks.test_receivers import LOOPBACK

BODY = json.dumps({"client_id": "https://localhost/a"}).encode()


def response(body: bytes = BODY, status: str = "200 OK", kind: str = "application/json", *headers: str) -> bytes:
    head = (f"HTTP/1.1 {status}", f"content-type: {kind}", f"content-length: {len(body)}", *headers)
    return "\r\n".join((*head, "", "")).encode() + body


async def fetched(answer: bytes | Act, *, names: Names | None = None, path: str = "/a?b=c") -> FetchedDocument | str:
    """The document of a server that answers so, or the reason why there is none."""
    async with receiver(answer) as place:
        documents = HttpDocuments(
            LOOPBACK, "https://catalog.example", resolve=(names or Names([["127.0.0.1"]])).resolve, tls=trusted()
        )
        try:
            with trio.fail_after(10):
                found = await documents.fetch(f"https://localhost:{place.port}{path}")
        except DeliveryFailed as error:
            return str(error)
        [request] = place.requests
        assert request.line == f"GET {path} HTTP/1.1"
        assert request.headers["Accept"] == "application/json"
        assert not {"Authorization", "Cookie"} & request.headers.keys()
        return found


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("x-other: 1", None),
        ("cache-control: public, max-age=60", 60),
        ("cache-control: no-store", 0),
        ("cache-control: max-age=nonsense", None),
    ],
)
async def test_a_document_is_read_with_the_time_for_which_it_may_be_kept(header: str, seconds: int | None) -> None:
    assert await fetched(response(BODY, "200 OK", "application/json; charset=utf-8", header)) == FetchedDocument(
        BODY, seconds
    )


async def never(stream: trio.abc.Stream) -> None:
    await trio.sleep_forever()


async def drips(stream: trio.abc.Stream) -> None:
    await stream.send_all(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 5000\r\n\r\n")
    while True:
        await stream.send_all(b" ")
        await trio.sleep(0.01)


async def floods(stream: trio.abc.Stream) -> None:
    await stream.send_all(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n")
    while True:
        await stream.send_all(b"1000\r\n" + b" " * 4_096 + b"\r\n")


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (response(status="302 Found"), "status 302"),
        (response(status="404 Not Found"), "status 404"),
        (response(kind="text/html"), "its type is not application/json"),
        (response(b" " * (DOCUMENT_BYTES + 1)), "it has more than 10,000 bytes"),
        (floods, "it has more than 10,000 bytes"),
        (b"nonsense\r\n\r\n", "the response is not valid HTTP"),
        (b"", "the response is not valid HTTP"),
        (never, "it took more than 0 s"),
        (drips, "it took more than 0 s"),
    ],
    ids=["redirect", "missing", "page", "large", "flood", "nonsense", "nothing", "silence", "drips"],
)
async def test_such_a_response_is_no_document(answer: bytes | Act, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = answer in (never, drips)
    monkeypatch.setattr(client_documents, "FETCH_SECONDS", 0.2 if slow else 3.0)
    assert await fetched(answer) == why


@pytest.mark.parametrize(
    "addresses",
    [
        ["10.0.0.1"],
        ["169.254.169.254"],
        ["192.0.2.1"],
        ["::1"],
        ["fd00::1"],
        ["127.0.0.1", "10.0.0.1"],
        ["64:ff9b::a00:1"],
    ],
)
async def test_a_name_that_leads_to_a_private_address_is_never_reached(addresses: list[str]) -> None:
    async with receiver(response()) as place:
        documents = HttpDocuments(LOOPBACK, "", resolve=Names([addresses]).resolve, tls=trusted())
        with pytest.raises(DeliveryFailed, match="not public"):
            await documents.fetch(f"https://localhost:{place.port}/a")
        assert place.connections == 0


async def test_the_own_machine_is_not_reached_unless_the_operator_allows_it() -> None:
    async with receiver(response()) as place:
        for host in ("127.0.0.1", "localhost", "2130706433", "0x7f000001"):
            with pytest.raises(DeliveryFailed):
                await HttpDocuments((), "", tls=trusted()).fetch(f"https://{host}:{place.port}/a")
        assert place.connections == 0
