"""The clients of worlds of websites: pages, relays, readers of counts, and those who change what is visible.

Websites share visitors, so several of them send the same event to several nodes at once.
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import trio

from actors.bookings.records import BookingView
from actors.bookings.transitions import CampaignMove
from actors.clock import SECOND_MS
from actors.events.messages import Event, Kind
from actors.times import WEEK_MS, week_of
from tests.simulation.buyers import edit, full_key, on_node, review, until_answered, uuid_of
from tests.simulation.clients import Client
from tests.simulation.history import Heard, Post
from tests.simulation.sponsorship import Sponsorship, Wish

if TYPE_CHECKING:
    from tests.simulation.node import Node

RELAY = "127.0.0.1"
"""An address in a network without a limit."""
BROWSERS = ("Mozilla/5.0 (X11; Linux x86_64)", "Mozilla/5.0 (Android 16; Mobile)")
CRAWLER = "ExampleBot/1.0 (+https://example.com/bot)"
SURE_SECONDS = 1.01
"""So long before and after midnight, every clock tells the same day."""
EVENING_SECONDS = 4.0
"""The last so many seconds of a day."""
ADVERTISERS = 2
ADMINISTRATOR = "admin-0@example.org"


# Events.


async def _post(me: Client, post: Post, node: "Node | None" = None) -> Any:
    return await me.ask("report", lambda node: node.intake.report(post), node)


async def _post_until_answered(me: Client, post: Post) -> None:
    """Usually repeat after each lost answer, with the same events, and mostly to the same node."""
    node = me.node()
    for attempt in range(4):
        heard = await _post(me, post, node)
        if isinstance(heard, Heard):
            for outcome in heard.outcomes if attempt else ():
                me.world.count(f"asked again after a lost answer: {outcome}")
            return
        if me.chance(0.1):
            return
        if me.chance(0.2):
            node = me.node()
        await me.think(0.1)


def _address(me: Client) -> str:
    """One of many addresses, so that pages are rarely limited."""
    return f"203.0.{me.random.randint(0, 200)}.{me.random.randint(1, 200)}"


def _by_day(me: Client, post: Post) -> Post:
    """Often of the unit day, from one of few addresses, or of a relay from several of them."""
    if me.chance(0.6):
        return post
    seen = [(f"203.0.201.{me.random.randint(1, 6)}", me.random.choice(BROWSERS)) for _ in post.events]
    if post.batch and me.chance(0.8):
        return replace(post, by_day=me.chance(0.9), seen=tuple(seen))
    return replace(post, by_day=True, client=post.client if post.batch else seen[0][0], agent=seen[0][1])


def _visitor(me: Client) -> str:
    """A new visitor, or one who was here or elsewhere before."""
    visitors = me.world.board.visitors
    if visitors and me.chance(0.7):
        return me.random.choice(visitors[-10:])
    visitors.append(uuid_of(me))
    return visitors[-1]


def _booking(me: Client) -> str:
    """A recent placement; at times one that may be over, that never was live, or that does not exist."""
    board, drawn = me.world.board, me.random.random()
    if drawn < 0.75 and board.seen:
        return me.random.choice(board.seen[-4:])
    if drawn < 0.97 or not board.bookings:
        return me.random.choice(board.bookings[-12:])
    return me.random.choice(("bok_of_nobody", "no id at all"))


def _event(me: Client) -> Event:
    return Event(_booking(me), me.random.choice((Kind.IMPRESSION, Kind.IMPRESSION, Kind.CLICK)), _visitor(me))


async def _look(me: Client) -> None:
    """Read which placements are visible."""
    visible = await me.ask("show", lambda node: node.intake.visible())
    for booking_id in visible if isinstance(visible, tuple) else ():
        me.world.board.seen.append(booking_id)


# Websites.


async def website(me: Client) -> None:
    """Show a placement to a visitor and report it; some visitors click."""
    if not me.world.board.seen or me.chance(0.3):
        await _look(me)
    event = _event(me)
    post = _by_day(me, Post((event._replace(kind=Kind.IMPRESSION),), _address(me)))
    click = replace(post, events=(event._replace(kind=Kind.CLICK),))
    match me.random.randrange(12):
        case 0:
            await me.at_once(*[partial(_post, me, post, node) for node in me.world.nodes])
        case 1:
            node = me.node()
            await me.at_once(*[partial(_post, me, replace(post, client=_address(me)), node) for _ in range(3)])
        case 2:
            await me.at_once(partial(_post_until_answered, me, click), partial(_post_until_answered, me, post))
        case 3:
            odd: dict[str, Any] = me.random.choice(({"agent": CRAWLER}, {"purpose": "prefetch"}, {"spoilt": 0}))
            await _post_until_answered(me, replace(post, **odd))
            if me.chance(0.5):
                await _post_until_answered(me, post)
        case _:
            await _post_until_answered(me, post)
            if me.chance(0.5):
                await _post_until_answered(me, click)
            if me.chance(0.2):
                await _post_until_answered(me, post)


async def relay(me: Client) -> None:
    """Send a batch: some events twice, some known from elsewhere, and at times one that is malformed."""
    events = [_event(me) for _ in range(me.random.randint(2, 5))]
    if me.chance(0.3):
        events.append(me.random.choice(events))
    post = _by_day(me, Post(tuple(events), RELAY if me.chance(0.95) else _address(me), batch=True))
    if me.chance(0.12):
        post = replace(post, spoilt=me.random.randrange(len(events)))
    if me.chance(0.2):
        await me.at_once(*[partial(_post, me, post, node) for node in me.world.nodes])
    elif me.chance(0.2):
        alone = Post((me.random.choice(events),), _address(me))
        node = me.node()
        await me.at_once(partial(_post, me, post, node), partial(_post, me, alone, node))
    await _post_until_answered(me, post)


async def night_owl(me: Client) -> None:
    """Report the same few visitors again and again around midnight, on all nodes."""
    world = me.world
    left = (world.turn_ms - world.base_ms) / SECOND_MS - trio.current_time()
    if left < -1.4:
        await website(me)
        return
    await trio.sleep(max(left - 1.1, 0.0))
    if not world.board.seen:
        await _look(me)
    owls = world.board.visitors[:2] or [_visitor(me)]
    post = Post((Event(_booking(me), me.random.choice(tuple(Kind)), me.random.choice(owls)),), _address(me))
    post = _by_day(me, post)
    if me.chance(0.3):
        await me.at_once(*[partial(_post, me, post, node) for node in world.nodes])
    else:
        with trio.move_on_after(0.4):
            await _post(me, post)


async def sleepless(me: Client) -> None:
    """Report visitors on each node before midnight and again after it, further from it than clocks differ; and between, one
    of the unit day on all nodes. The placement is of both weeks."""
    world, turn = me.world, (me.world.turn_ms - me.world.base_ms) / SECOND_MS
    if trio.current_time() > turn - 1.5:
        await me.think(3.0)
        return
    await trio.sleep_until(turn - 1.5)
    event = Event("bok_stage_1", Kind.IMPRESSION, uuid_of(me))
    everywhere = Post((event,), RELAY, batch=True, by_day=True, seen=(("203.0.202.1", BROWSERS[0]),))

    async def again(node: "Node") -> None:
        """A request that is repeated after a lost answer may be of either day, so each attempt has visitors of its own."""
        heard, post = None, replace(everywhere, by_day=False, seen=())
        while trio.current_time() < turn - SURE_SECONDS and not isinstance(heard, Heard):
            await trio.sleep(0.1)
            post = replace(post, events=tuple(event._replace(visitor=uuid_of(me)) for _ in range(4)))
            heard = await _post(me, post, node)
        await trio.sleep_until(turn + SURE_SECONDS)
        for each in post.events:
            await _post(me, replace(post, events=(each,)), node)

    async def all_the_time() -> None:
        while trio.current_time() < turn + SURE_SECONDS:
            await me.at_once(*[partial(_post, me, everywhere, node) for node in world.nodes])
            await trio.sleep(0.2)

    await me.at_once(all_the_time, *[partial(again, node) for node in world.nodes])


async def straggler(me: Client) -> None:
    """Report visitors of both units before midnight and after it, further from it than clocks differ, where the clock is
    ahead; and between, each where it is behind."""
    world, turn = me.world, (me.world.turn_ms - me.world.base_ms) / SECOND_MS
    if trio.current_time() > turn - 1.5:
        await me.think(3.0)
        return
    await trio.sleep_until(turn - EVENING_SECONDS)
    by_clock = sorted(world.nodes, key=lambda node: node.clock.now_ms())
    sent: list[Post] = []
    while trio.current_time() < turn - 1.5 and len(sent) < 20:
        post = Post((Event("bok_stage_1", Kind.IMPRESSION, uuid_of(me)),), RELAY, batch=True)
        if len(sent) % 2:
            post = replace(post, by_day=True, seen=((f"203.0.203.{len(sent)}", BROWSERS[0]),))
        if isinstance(await _post(me, post, by_clock[-1]), Heard):
            sent.append(post)
    for number, post in enumerate(sent):
        await trio.sleep_until(turn + SURE_SECONDS * (2 * number / len(sent) - 1))
        await _post(me, post, by_clock[0])
    await trio.sleep_until(turn + SURE_SECONDS)
    for post in sent:
        await _post(me, post, by_clock[-1])


async def crowd_of_one(me: Client) -> None:
    """Send far too much from one address."""
    node, client = me.node(), "198.51.100.7"
    posts = [Post((_event(me),), client) for _ in range(me.random.randint(3, 9))]
    posts.append(Post(tuple(_event(me) for _ in range(5)), client, batch=True))
    await me.at_once(*[partial(_post, me, post, node) for post in posts])
    await me.think(1.5)


async def accountant(me: Client) -> None:
    """Read counts."""
    board = me.world.board
    if me.chance(0.3):
        await me.ask("look", lambda node: node.intake.look_over())
    booking_id = me.random.choice(board.seen[-4:] or board.bookings)
    await me.ask("look", lambda node: node.intake.look(booking_id))


# Changes of placements.


async def advertiser(me: Client) -> None:
    """Book a week and pay; it is shown once approved."""
    world = me.world
    key = await full_key(me, f"ads-{int(me.name.rpartition('-')[2]) % ADVERTISERS}@example.org")
    if key is None:
        return
    this_week = week_of(world.base_ms + int(trio.current_time() * SECOND_MS))
    week_ms = this_week + me.random.choice((0, 0, 1)) * WEEK_MS
    wish = Wish(uuid_of(me), me.random.choice(world.board.slots), week_ms, None, f"Example {me.random.choice('ABC')}")
    view = await until_answered(me, "book", on_node(Sponsorship.book, key.text, wish))
    if isinstance(view, BookingView):
        booking = view.booking
        world.board.bookings.append(booking.id)
        world.board.advertised.append((key.email, booking.campaign_id))
        await until_answered(me, "checkout", lambda node: node.sponsorship.checkout(key.text, booking.id))
        world.processor.pay(booking.id, me.random.uniform(0.0, 0.3))
        world.board.paid.append(booking.id)
    await me.think(1.0)


async def pauser(me: Client) -> None:
    """Pause placements and resume them, or edit what they show."""
    if not me.world.board.advertised:
        return
    email, campaign_id = me.random.choice(me.world.board.advertised[-4:])
    key = await full_key(me, email)
    if key is None:
        return
    if me.chance(0.6):
        await edit(me, key, campaign_id)
        if me.chance(0.2):
            await me.think(0.8)
            await me.ask(
                "move campaign", on_node(Sponsorship.move_campaign, key.text, campaign_id, CampaignMove.WITHDRAW)
            )
        return
    for move in (CampaignMove.PAUSE, CampaignMove.RESUME):
        await me.ask("move campaign", on_node(Sponsorship.move_campaign, key.text, campaign_id, move))
        await me.think(0.8)


async def curator(me: Client) -> None:
    """Approve bookings, and now and then remove one for good."""
    board = me.world.board
    key = await full_key(me, ADMINISTRATOR)
    if key is None:
        return
    text = key.text
    if board.advertised:
        _, campaign_id = me.random.choice(board.advertised[-3:])
        move = CampaignMove.REJECT if me.chance(0.15) else CampaignMove.APPROVE
        await review(me, text, campaign_id, move)
    if me.chance(0.12):
        booking_id = me.random.choice(board.paid[-6:])
        await me.ask("order refund", lambda node: node.sponsorship.order_refund(text, booking_id))


CROWD: tuple[tuple[Callable[[Client], Awaitable[None]], int], ...] = (
    (website, 5),
    (relay, 2),
    (night_owl, 2),
    (crowd_of_one, 1),
    (accountant, 1),
    (advertiser, ADVERTISERS),
    (pauser, 1),
    (curator, 1),
)
