"""Deliveries over real sockets: what receivers get, and which addresses are never reached."""

import json
import socket
import threading
from collections.abc import Sequence
from ipaddress import ip_network
from typing import Any

import pytest
import standardwebhooks
import trio
import trio.testing

from actors.clock import DAY_MS, Clock, MovableClock, SystemClock
from actors.webhooks.messages import Delivery, Task, Webhook
from actors.webhooks.sender import SenderLimits, WebhookSender
from actors.webhooks.store import DeliveryFailed
from service.outside import webhook_client
from service.outside.checked_connections import RESOLVE_SECONDS, RESOLVER_THREADS
from service.outside.public_addresses import Network
from service.outside.webhook_client import RESPONSE_BYTES, HttpReceivers, WebhookSigner
from tests.fakes import HandClock
from tests.stores.webhooks import NOW
from tests.webhooks.exchange import World
from tests.webhooks.listeners import OK, Act, Names, receiver, trusted

LOOPBACK = (ip_network("127.0.0.0/8"),)
SIGNER = WebhookSigner(b"a key of thirty-two bytes or more")
BODY = '{"type":"booking.paid","timestamp":"2026-09-21T14:13:20.000Z","data":{"name":"Grüße"}}'


def task(
    port: int, *, host: str = "localhost", scheme: str = "https", path: str = "/hook?a=1", slow: bool = False
) -> Task:
    url = f"{scheme}://{host}:{port}{path}"
    hook = Webhook("whk_1", "ten_1", url, f"{host}:{port}", (), NOW, slow=slow)
    return Task(Delivery(1, "dlv_1", "whk_1", "evt_1", "bok_1", "booking.paid", BODY, NOW), hook)


def receivers(
    names: Names | None = None, allowed: Sequence[Network] = LOOPBACK, clock: Clock | None = None
) -> HttpReceivers:
    resolve = (names or Names([["127.0.0.1"]])).resolve
    clock = clock or HandClock(NOW)
    return HttpReceivers(SIGNER, clock, allowed, "https://catalog.example", resolve=resolve, tls=trusted())


async def failure(of: Task, by: HttpReceivers) -> DeliveryFailed:
    with pytest.raises(DeliveryFailed) as failed, trio.fail_after(10):
        await by.post(of)
    assert "whsec_" not in str(failed.value)
    return failed.value


async def test_receivers_verify_a_delivery_with_the_library_of_standard_webhooks() -> None:
    async with receiver() as place:
        # The library wants a time of its own clock, also if the service for developers is days ahead.
        assert await receivers(clock=MovableClock(SystemClock(), DAY_MS)).post(task(place.port)) == 200
    [got] = place.requests
    assert got.line == "POST /hook?a=1 HTTP/1.1"
    assert got.headers["Host"] == f"localhost:{place.port}"
    assert got.headers["Content-Type"] == "application/json"
    assert got.headers["User-Agent"].startswith("catalog-service/")
    assert got.body == BODY.encode()
    verifier = standardwebhooks.Webhook(SIGNER.secret("whk_1"))
    later = str(int(got.headers["webhook-timestamp"]) + 1)
    assert verifier.verify(got.body, dict(got.headers)) == json.loads(BODY)
    for changed in ({"webhook-id": "evt_2"}, {"webhook-timestamp": later}):
        with pytest.raises(standardwebhooks.WebhookVerificationError):
            verifier.verify(got.body, {**got.headers, **changed})
    with pytest.raises(standardwebhooks.WebhookVerificationError):
        standardwebhooks.Webhook(SIGNER.secret("whk_2")).verify(got.body, dict(got.headers))


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_a_redirect_is_not_followed(status: int) -> None:
    async with receiver() as other:
        answer = f"HTTP/1.1 {status} Moved\r\nlocation: https://localhost:{other.port}/\r\ncontent-length: 0\r\n\r\n"
        async with receiver(answer.encode()) as place:
            failed = await failure(task(place.port), receivers())
    assert (str(failed), failed.answered) == (f"status {status}", status)
    assert other.connections == 0


async def test_no_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async with receiver(tls=False) as proxy, receiver() as place:
        for name in ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        assert await receivers().post(task(place.port)) == 200
    assert (place.connections, proxy.connections) == (1, 0)


# Addresses.


@pytest.mark.parametrize("answer", [["127.0.0.1"], ["203.0.114.7", "127.0.0.1"], ["::1"], ["::ffff:127.0.0.1"]])
async def test_no_connection_reaches_a_private_listener(answer: list[str]) -> None:
    async with receiver() as place:
        failed = await failure(task(place.port), receivers(Names([answer]), ()))
    assert str(failed) == "the host has an address that is not public"
    assert place.connections == 0


async def test_an_answer_of_the_resolver_that_changes_leads_nowhere_else() -> None:
    """The name is resolved once an attempt, and the address that was checked is the one that is connected to."""
    allowed = (ip_network("127.0.0.1/32"),)
    names = Names([["127.0.0.1"], ["127.0.0.2"]])
    async with receiver() as place, receiver(host="127.0.0.2", port=place.port) as private:
        sending = receivers(names, allowed)
        assert await sending.post(task(place.port)) == 200
        assert names.asked == 1
        assert str(await failure(task(place.port), sending)) == "the host has an address that is not public"
    assert (place.connections, private.connections) == (1, 0)


async def test_http_reaches_the_networks_of_the_operator_only() -> None:
    async with receiver(tls=False) as place:
        plain = task(place.port, scheme="http")
        assert await receivers().post(plain) == 200
        failed = await failure(plain, receivers(allowed=[ip_network("127.0.0.2/32")]))
    assert str(failed) == "the URL must use https"
    assert place.connections == 1


async def test_the_certificate_must_be_of_the_host() -> None:
    async with receiver() as place:
        failed = await failure(task(place.port, host="tools.example.com"), receivers())
        assert str(failed).startswith("the certificate is not valid: ")
        untrusting = HttpReceivers(SIGNER, HandClock(NOW), LOOPBACK, "", resolve=Names([["127.0.0.1"]]).resolve)
        assert str(await failure(task(place.port), untrusting)).startswith("the certificate is not valid: self")
    assert place.requests == []


async def test_a_name_without_an_address_is_a_failure() -> None:
    assert str(await failure(task(1), receivers(Names([[]])))) == "the host has no address"
    assert "16 addresses" in str(await failure(task(1), receivers(Names([["127.0.0.1"] * 17]))))
    real = HttpReceivers(SIGNER, HandClock(NOW), (), "")
    assert str(await failure(task(1, host="name.invalid"), real)) == "the host has no address"
    assert str(await failure(task(1), real)) == "the host has an address that is not public"


async def test_names_that_hang_leave_threads_to_receivers_that_work(monkeypatch: pytest.MonkeyPatch) -> None:
    released, look_up = threading.Event(), socket.getaddrinfo

    def silent(host: str, *others: Any, **options: Any) -> Any:
        if host.endswith("example.com"):
            released.wait(30)
            raise OSError("no answer")
        return look_up("127.0.0.1", *others, **options)

    monkeypatch.setattr(socket, "getaddrinfo", silent)
    sending = HttpReceivers(SIGNER, HandClock(NOW), LOOPBACK, "", tls=trusted())
    async with receiver() as place, trio.open_nursery() as nursery:
        for number in range(RESOLVER_THREADS):
            nursery.start_soon(sending.post, task(1, host=f"host-{number}.example.com", slow=True))
        await trio.testing.wait_all_tasks_blocked()
        with trio.fail_after(RESOLVE_SECONDS - 1):
            assert await sending.post(task(place.port)) == 200
        nursery.cancel_scope.cancel()
    released.set()


async def test_another_address_is_tried_if_one_refuses() -> None:
    async with receiver() as place:
        assert await receivers(Names([["127.0.0.3", "127.0.0.1"]])).post(task(place.port)) == 200


# Answers.


async def _hang(stream: trio.abc.Stream) -> None:
    await trio.sleep_forever()


async def _flood(stream: trio.abc.Stream) -> None:
    await stream.send_all(b"HTTP/1.1 200 OK\r\n\r\n")
    while True:
        await stream.send_all(b"x" * 65_536)


async def _unended(stream: trio.abc.Stream) -> None:
    await stream.send_all(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n")
    await trio.sleep_forever()


async def _interim(stream: trio.abc.Stream) -> None:
    while True:
        await stream.send_all(b"HTTP/1.1 103 Early Hints\r\n\r\n" * 1_000)


async def _small_chunks(stream: trio.abc.Stream) -> None:
    await stream.send_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
    while True:
        await stream.send_all(b"1;name=value\r\nx\r\n" * 1_000)


LONG = RESPONSE_BYTES
CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n%x\r\n" % LONG + b"x" * LONG


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b"HTTP/1.1 503 Busy\r\ncontent-length: 4\r\n\r\nwhsec_", "status 503"),
        (b"HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n", "the response is not valid HTTP"),
        (b"SSH-2.0-x\r\n", "the response is not valid HTTP"),
        (b"", "the response is not valid HTTP"),
        (b"HTTP/1.1 200 OK\r\nx: " + b"y" * 200_000, "the response is not valid HTTP"),
        (_interim, "the response has more than 64 KiB"),
    ],
    ids=["503", "101", "protocol", "nothing", "long head", "interim"],
)
async def test_an_answer_that_is_no_success_is_a_failure(answer: bytes | Act, words: str) -> None:
    async with receiver(answer) as place:
        assert str(await failure(task(place.port), receivers())) == words


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nshort",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nno chunk\r\n",
        CHUNKED,
        _flood,
        _small_chunks,
        _unended,
    ],
    ids=["cut off", "not valid", "long chunk", "endless", "small chunks", "unended"],
)
async def test_a_2xx_is_a_success_whatever_becomes_of_its_body(
    answer: bytes | Act, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The receiver has the event. To send it again would repeat it for three days, and then turn the webhook off."""
    monkeypatch.setattr(webhook_client, "BODY_SECONDS", 0.1)
    async with receiver(answer) as place:
        with trio.fail_after(5):
            assert await receivers().post(task(place.port)) == 200


@pytest.mark.parametrize(
    ("value", "wait_ms"),
    [
        ("120", 120_000),
        ("0", 0),
        ("Mon, 21 Sep 2026 14:15:20 GMT", 120_000),
        ("Mon, 21 Sep 2026 14:00:00 GMT", 0),
        ("Mon, 21 Sep 99999 14:00:00 GMT", 0),
        ("999999999999", 0),
        ("-5", 0),
        ("1.5", 0),
        ("", 0),
        ("soon", 0),
    ],
)
async def test_a_failure_tells_how_long_the_receiver_asks_to_be_left_alone(value: str, wait_ms: int) -> None:
    answer = f"HTTP/1.1 429 Too Many Requests\r\nretry-after: {value}\r\ncontent-length: 0\r\n\r\n"
    async with receiver(answer.encode()) as place:
        assert (await failure(task(place.port), receivers())).wait_ms == wait_ms


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
async def test_any_2xx_is_a_success(status: int) -> None:
    body = b"\r\n" if status == 204 else b"content-length: 2\r\n\r\nok"
    async with receiver(b"HTTP/1.1 %d Fine\r\n" % status + body) as place:
        assert await receivers().post(task(place.port)) == status


async def test_nobody_who_listens_is_a_failure() -> None:
    async with receiver() as place:
        port = place.port
    assert str(await failure(task(port), receivers())) in ("the connection was refused", "the connection failed")
    async with receiver(tls=False) as plain:
        with trio.move_on_after(0.5) as waiting:
            await receivers().post(task(plain.port))
    assert waiting.cancelled_caught


async def test_a_receiver_that_hangs_is_left_at_the_deadline() -> None:
    async with receiver(_hang) as place:
        with trio.move_on_after(0.3) as deadline:
            await receivers().post(task(place.port))
        assert deadline.cancelled_caught
        assert len(place.requests) == 1


# The sender, over sockets.


async def test_a_receiver_that_never_answers_costs_good_ones_nothing_over_sockets() -> None:
    world = World(limits=SenderLimits(send_seconds=1.0, close_seconds=2.0, lease_seconds=5.0))
    async with receiver(_hang) as bad, receiver(OK) as good:
        for number in range(1, 21):
            hook = world.add(number, number, host=f"localhost:{good.port}")
            world.memory.webhooks[hook.id] = Webhook(hook.id, hook.tenant_id, hook.url, hook.id, hook.events, NOW)
        world.add(30, 30, host=f"localhost:{bad.port}")
        transport = HttpReceivers(
            SIGNER, world.clock, LOOPBACK, "", resolve=Names([["127.0.0.1"]]).resolve, tls=trusted()
        )
        sender = WebhookSender(world.post.store, transport, world.clock, limits=world.limits)
        await world.tell(20, owner=30)
        for owner in range(1, 21):
            await world.tell(3, owner=owner)
        async with world.open(sender):
            with trio.fail_after(60):
                await good.has(60)
            assert bad.connections <= 2
    assert len({got.headers["webhook-id"] for got in good.requests}) == 60
