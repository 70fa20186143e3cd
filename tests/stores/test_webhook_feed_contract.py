"""The contract of the feed of events: every event of an account, in one order, and none that a reader could skip."""

import pytest
import trio

from actors.webhooks.messages import EventType, Feed
from storage.connection.pool import Connection, Database
from storage.postgres import webhooks as postgres_webhooks
from tests.stores.conftest import Stores
from tests.stores.webhooks import NOW, Post, tenant, told, webhook


@pytest.fixture
async def post(stores: Stores) -> Post:
    opened = Post(stores.webhooks, stores.below)
    await opened.open()
    return opened


async def read(post: Post, after: int = 0, since_ms: int = 0, limit: int = 100, owner: int = 1) -> Feed:
    return await post.store.feed(tenant(owner), after, since_ms, limit)


def ids(feed: Feed) -> list[str]:
    return [each.id for each in feed.events]


async def test_an_account_reads_its_events_in_order_without_a_webhook(post: Post) -> None:
    await post.publish(told(1), told(3, owner=2), told(2, "cmp_1", kind=EventType.CAMPAIGN_APPROVED))
    await post.publish(told(2, "cmp_1", kind=EventType.CAMPAIGN_APPROVED), told(4))
    feed = await read(post)
    assert ids(feed) == ["evt_1", "evt_2", "evt_4"]
    assert ids(await read(post, owner=2)) == ["evt_3"]
    assert feed.last == feed.events[-1].seq


async def test_the_feed_has_the_bodies_that_a_webhook_gets(post: Post) -> None:
    await post.add(webhook(1))
    await post.publish(told(1), told(2))
    sent = [(each.event_id, each.type, each.body) for each in await post.log()]
    assert [(each.id, each.type, each.body) for each in (await read(post)).events] == sent


async def test_a_reader_goes_on_after_what_it_has_read_page_by_page(post: Post) -> None:
    await post.publish(*map(told, range(1, 6)))
    first = await read(post, limit=2)
    second = await read(post, first.last, limit=2)
    assert [*ids(first), *ids(second)] == ["evt_1", "evt_2", "evt_3", "evt_4"]
    last = await read(post, second.last, limit=2)
    assert ids(last) == ["evt_5"]
    assert await read(post, last.last) == Feed((), last.last)


async def test_a_reader_that_begins_now_gets_what_comes_afterwards(post: Post) -> None:
    await post.publish(told(1), told(2, at_ms=NOW + 5))
    assert ids(await read(post, since_ms=NOW + 5)) == ["evt_2"]
    begun = await read(post, since_ms=NOW + 10**12)
    assert begun.events == ()
    await post.publish(told(3, at_ms=NOW - 5))
    assert ids(await read(post, begun.last)) == ["evt_3"]
    assert await read(post, owner=2, since_ms=NOW + 10**12) == Feed((), 0)


WAITING = "select exists (select from pg_locks where locktype = 'advisory' and not granted), pg_sleep(0.01)"


async def test_no_event_is_skipped_while_transactions_end_in_another_order_than_they_began(database: Database) -> None:
    """The first one has taken its number and takes long to commit; the second one must not become visible before it."""
    post = Post(postgres_webhooks.PostgresWebhooks(database), database)
    await post.open()
    steps: set[str] = set()

    async def slow(connection: Connection) -> None:
        await postgres_webhooks.publish(connection, [told(1, "bok_1")])
        steps.add("begun")
        while "go on" not in steps:
            await connection.execute("select pg_sleep(0.01)")

    async def fast() -> None:
        await post.publish(told(2, "bok_2"))
        steps.add("done")

    seen: list[str] = []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(database.transact, slow)
        while "begun" not in steps:
            await database.fetchval(WAITING)
        await post.publish(told(9, owner=2))
        nursery.start_soon(fast)
        while "done" not in steps and not await database.fetchval(WAITING):
            pass
        feed = await read(post)
        seen += ids(feed)
        assert ids(await read(post, owner=2)) == ["evt_9"], "other accounts do not wait"
        steps.add("go on")
    seen += ids(await read(post, feed.last))
    assert seen == ["evt_1", "evt_2"]
