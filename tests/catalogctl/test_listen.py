"""`catalogctl listen` against the real application: what it prints and forwards, its pace, and how it ends."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import get_args

import pytest
import standardwebhooks
import trio

from actors.shared.announcements import WebhookEvent
from service.catalogctl.client import Asked, Reply
from service.catalogctl.failures import Unreachable
from service.catalogctl.listening import EVENTS, Pace
from service.catalogctl.transport import send
from service.schemas.webhooks import EventName
from tests.api.sponsors import Person, sponsor
from tests.api.test_webhooks import FEED, delivered, hooked
from tests.api.world import open_world
from tests.catalogctl.stage import Line, Stage, refuses, says, scripted
from tests.catalogctl.test_commands import Desk
from tests.doubles.webhooks import publish

EMAIL, RECEIVER = "listener@example.com", "http://127.0.0.1:3000/webhooks?source=test"


class Listener(Desk):
    """A user who listens. `meanwhile` happens in its pauses, one a pause; then Ctrl-C is pressed."""

    def __init__(self, stage: Stage, person: Person) -> None:
        super().__init__(stage, person.world)
        stage.environment["CATALOGCTL_KEY"] = person.key
        self.person = person
        self.forwarded: list[Asked] = []
        self.statuses: list[int] = []
        stage.send, stage.on_sleep = self._routed, self._pause
        self.meanwhile: list[Callable[[], Awaitable[object]]] = []

    def _routed(self, asked: Asked) -> Reply:
        if not asked.url.startswith("http://127.0.0.1"):
            return self._send(asked)
        self.forwarded.append(asked)
        if not self.statuses:
            raise Unreachable("cannot reach 127.0.0.1:3000: the connection was refused")
        return Reply(self.statuses.pop(0), {}, b"")

    def _pause(self, _: float) -> None:
        if not self.meanwhile:
            raise KeyboardInterrupt
        trio.from_thread.run(self.meanwhile.pop(0))

    async def listen(self, *options: str) -> list[str]:
        """The lines that were printed."""
        assert await self.run("listen", *options) == 0, self.stage.err
        return self.stage.out.splitlines()


@pytest.fixture
async def listener(tmp_path: Path) -> AsyncIterator[Listener]:
    async with open_world() as world:
        yield Listener(Stage(tmp_path / "config"), sponsor(world, EMAIL))


async def test_events_are_printed_as_they_happen_each_a_line(listener: Listener) -> None:
    await listener.person.buys()
    listener.meanwhile = [lambda: listener.person.buys("right-top")]
    lines = [json.loads(line) for line in await listener.listen()]
    known = (await listener.person.get(FEED)).json["items"]
    assert [each["type"] for each in known] == ["booking.reserved", "booking.paid"] * 2
    assert lines == known[2:]
    cursor = listener.stage.err.splitlines()[-1].partition("--cursor ")[2]
    assert await listener.listen("--cursor", cursor) == []
    await listener.person.buys("left-bottom")
    assert len(await listener.listen("--cursor", cursor, "-q")) == 2
    listener.stage.wall = listener.world.now_ms / 1_000
    assert len(await listener.listen("--since", "1h", "--json")) == 6
    paid = await listener.listen("--since", "1h", "--events", "booking.paid,delivery.day", "-q")
    assert paid == [
        each["id"] for each in (await listener.person.get(FEED)).json["items"] if each["type"] == "booking.paid"
    ]


async def test_a_forwarded_event_is_what_a_webhook_gets_and_verifies(listener: Listener) -> None:
    await hooked(listener.person)
    listener.meanwhile, listener.statuses = [lambda: listener.person.buys()], [204]
    assert await listener.listen("--forward", RECEIVER) == []
    await delivered(listener.world)
    sent = [(task.delivery.event_id, task.delivery.body.encode()) for task in listener.world.endpoints.tasks]
    assert [(each.headers["webhook-id"], each.body) for each in listener.forwarded] == sent
    assert {(each.method, each.url, each.content_type, each.key) for each in listener.forwarded} == {
        ("POST", RECEIVER, "application/json", None)
    }
    _, secret, *statuses, _ = listener.stage.err.splitlines()
    verifier = standardwebhooks.Webhook(secret.removeprefix("Signing secret: "))
    for each in listener.forwarded:
        verifier.verify(each.body or b"", dict(each.headers))
        with pytest.raises(standardwebhooks.WebhookVerificationError):
            verifier.verify(b"{}", dict(each.headers))
    assert statuses == [
        f"{sent[0][0]} booking.reserved: 204",
        f"{sent[1][0]} booking.paid: cannot reach 127.0.0.1:3000: the connection was refused",
    ]
    assert listener.person.key not in secret


async def test_many_events_are_read_page_by_page_without_a_pause(listener: Listener) -> None:
    [tenant_id] = [row.tenant_id for row in listener.world.memory.accounts.values() if row.email == EMAIL]
    made = [
        WebhookEvent(f"evt_{n}", tenant_id, "bok_1", "booking.paid", "{}", listener.world.now_ms) for n in range(120)
    ]
    publish(listener.world.memory, made)
    listener.stage.wall = listener.world.now_ms / 1_000
    assert await listener.listen("--since", "1h", "-q") == [each.id for each in made]
    assert (listener.stage.slept, len(listener.asked)) == ([], 3)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--forward", "127.0.0.1:3000"), "--forward must be an address such as"),
        (("--events", "booking.payed"), "--events: there is no event 'booking.payed'"),
        (("--since", "soon"), "--since must be a time such as 0, 1h or 7d, not 'soon'"),
        (("--since", "1h", "--cursor", "a"), "--cursor and --since cannot be combined"),
    ],
)
async def test_options_that_cannot_be_meant_send_nothing(listener: Listener, options: list[str], words: str) -> None:
    assert words in await listener.refused("listen", *options, code=2)
    assert listener.asked == []


def page(*ids: str) -> Line:
    items = [{"id": each, "type": "booking.paid", "timestamp": "t", "data": {}} for each in ids]
    return says(200, {"items": items, "cursor": f"after {len(ids)}", "hasMore": False})


def test_it_goes_on_after_failures_that_pass_and_ends_with_others(stage: Stage) -> None:
    wait = refuses(429, "rate_limited", "Slow down.", retryAfter=90)
    script = (page(), wait, refuses(503, "service_unavailable"), page("evt_1"), refuses(401, "invalid_api_key"))
    with scripted(*script) as server:
        stage.environment = {"CATALOGCTL_URL": server.url, "CATALOGCTL_KEY": "cs_user_of_this_test"}
        assert stage.run("listen", "-q") == 5
        assert stage.out == "evt_1\n"
        assert stage.slept == [3.0, 90, 8.0, 2.0]
        assert [target.rpartition("?")[2] for target in server.targets()][1:] == ["cursor=after+0&limit=50"] * 3 + [
            "cursor=after+1&limit=50"
        ]
    with scripted(refuses(503, "service_unavailable")) as server:
        stage.environment["CATALOGCTL_URL"] = server.url
        assert stage.run("listen") == 7, "the first request must succeed"


def test_the_pace_is_bounded() -> None:
    pace = Pace()
    assert [pace.after(0) for _ in range(6)] == [3.0, 4.5, 6.75, 10.0, 10.0, 10.0]
    assert [pace.after_failure(0) for _ in range(7)] == [4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0]
    assert (pace.after_failure(300), pace.after(1)) == (300, 2.0)


def test_headers_of_a_forwarded_event_are_sent(stage: Stage) -> None:
    with scripted(says(200, {})) as server:
        send(Asked("POST", server.url, b"{}", "application/json", headers={"webhook-id": "evt_1"}))
        assert server.heard[0].headers["webhook-id"] == "evt_1"


def test_the_events_are_those_of_webhooks() -> None:
    assert get_args(EventName) == EVENTS
