"""The clients of the sponsorship area: sponsors, campaign owners, administrators and holders of scoped keys.

Several clients share an account, and all compete for the same few weeks.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec

import trio

from actors.bookings.records import Booking, BookingView, CampaignView, Side, Slot
from actors.bookings.transitions import CampaignMove
from actors.clock import SECOND_MS
from actors.keys.actor import Issued
from actors.times import WEEK_MS, week_of
from actors.values import Refused, Scope
from tests.simulation.clients import Client, Holding
from tests.simulation.rules import BOOKINGS
from tests.simulation.sponsorship import Sponsorship, Wish
from tests.simulation.stage import hear

if TYPE_CHECKING:
    from tests.simulation.node import Node

P = ParamSpec("P")

SPONSOR_EMAILS = ("sponsor-0@example.org", "sponsor-1@example.org", "sponsor-1+two@example.org")
"""Two of them share a mailbox, and its limits until one of them has paid."""
SPONSORS = len(SPONSOR_EMAILS)
ADMINISTRATORS = 2
SCOPES = tuple(Scope)
LOOKED_OVER = 12
"""How many of the newest bookings are looked at together."""
WEEKS = (-1, *(0, 1, 2) * 8, 3)
"""Weeks from now that clients ask for: bookable ones, the last bookable one, and one too far ahead."""


# Requests.


async def full_key(me: Client, email: str) -> Holding | None:
    """Return a full key of the account: an existing one, or a new one."""
    known = me.world.board.sponsor_keys.setdefault(email, [])
    if len(known) < 2:
        holding = await me.issue(email, admin=email.startswith("admin-") and me.chance(0.7))
        if holding is None:
            return known[0] if known else None
        known.append(holding)
        hear(me.world, email, holding.tenant_id)
    return me.random.choice(known)


async def until_answered(me: Client, kind: str, serve: Callable[["Node"], Awaitable[Any]]) -> Any:
    """Repeat after each lost answer, a few times; idempotency allows it."""
    for _ in range(4):
        answer = await me.ask(kind, serve)
        if isinstance(answer, BookingView | CampaignView | Issued | Refused):
            break
        await me.think(0.1)
    return answer


async def _campaign(me: Client, key: Holding) -> str | None:
    """Return a campaign of the account, at times a new one."""
    known = me.world.board.campaigns.setdefault(key.email, [])
    if not known or me.chance(0.1):
        view = await _create_campaign(me, key)
        if isinstance(view, CampaignView) and view.campaign.id not in known:
            known.append(view.campaign.id)
    return me.random.choice(known[-4:]) if known else None


async def _create_campaign(me: Client, key: Holding) -> Any:
    """Create a campaign until answered, at times on all nodes at once, again, or with another body under the same key."""
    name, idempotency_key = f"Campaign {me.world.board.numbered()}", uuid_of(me)
    create = on_node(Sponsorship.create_campaign, key.text, idempotency_key, name)
    if me.chance(0.3):
        await me.at_once(*[partial(me.ask, "create campaign", create, node) for node in me.world.nodes])
    if me.chance(0.2):
        other = on_node(Sponsorship.create_campaign, key.text, idempotency_key, f"{name}, too")
        both = [
            partial(me.ask, "create campaign", each, node)
            for each, node in zip((create, other), me.world.nodes, strict=False)
        ]
        await me.at_once(*both)
    view = await until_answered(me, "create campaign", create)
    if me.chance(0.3):
        await me.ask("create campaign", create)
    return view


def on_node(
    operation: Callable[Concatenate[Sponsorship, P], Awaitable[Any]], *arguments: P.args, **named: P.kwargs
) -> Callable[["Node"], Awaitable[Any]]:
    """A request for an operation of sponsorship, to any node."""
    return lambda node: operation(node.sponsorship, *arguments, **named)


def uuid_of(me: Client) -> str:
    digits = f"{me.random.getrandbits(128):032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


async def _wish(me: Client, key: Holding) -> Wish:
    world = me.world
    this_week = week_of(world.base_ms + int(trio.current_time() * SECOND_MS))
    week_ms = this_week + me.random.choice(WEEKS) * WEEK_MS + (me.chance(0.02) * 3_600_000)
    slot_id = me.random.choice(world.board.slots[-4:]) if not me.chance(0.02) else "of-nobody"
    campaign_id = None if me.chance(0.35) else await _campaign(me, key)
    if campaign_id is not None and me.chance(0.03):
        campaign_id = "cmp_of_nobody"
    return Wish(uuid_of(me), slot_id, week_ms, campaign_id, f"Example {me.random.choice('ABC')}")


async def _book(me: Client, key: Holding, wish: Wish) -> Booking | None:
    """Book in one of several ways: once, twice at once, again, and with another body under the same key."""
    book = on_node(Sponsorship.book, key.text, wish)
    if me.chance(0.2):
        twice = [partial(me.ask, "book", book, node) for node in me.world.nodes]
        await me.at_once(*twice)
    view = await until_answered(me, "book", book)
    if me.chance(0.15):
        other = Wish(wish.key, wish.slot_id, wish.week_ms + WEEK_MS, wish.campaign_id, wish.name)
        await me.ask("book", on_node(Sponsorship.book, key.text, other))
    if me.chance(0.25):
        me.world.board.wishes.append((key, wish))
    if me.chance(0.2) and me.world.board.wishes:
        old_key, old_wish = me.random.choice(me.world.board.wishes[-5:])
        await me.ask("book", on_node(Sponsorship.book, old_key.text, old_wish))
    if not isinstance(view, BookingView):
        return None
    me.world.board.bookings.append(view.booking.id)
    return view.booking


async def _checkout(me: Client, key: Holding, booking: Booking) -> Any:
    return await until_answered(me, "checkout", lambda node: node.sponsorship.checkout(key.text, booking.id))


def _pay(me: Client, booking: Booking, seconds: float = 0.0) -> None:
    me.world.processor.pay(booking.id, seconds)
    me.world.board.paid.append(booking.id)


async def _cancel(me: Client, key: Holding, booking: Booking) -> Any:
    return await me.ask("cancel", lambda node: node.sponsorship.cancel(key.text, booking.id))


# Sponsors.


async def sponsor(me: Client) -> None:
    """Book a week and pay for it or not, in time or not."""
    email = SPONSOR_EMAILS[int(me.name.rpartition("-")[2]) % SPONSORS]
    key = await full_key(me, email)
    if key is None:
        return
    if me.chance(0.1):
        await me.ask("profile", lambda node: node.sponsorship.save_profile(key.text, "Example Tools"))
    if me.chance(0.1):
        await _grab(me, key)
        return
    if me.chance(0.1):
        await _meddle(me, key)
        return
    booking = await _book(me, key, await _wish(me, key))
    if booking is None:
        await me.think(0.5)
    else:
        await me.random.choice(WAYS)(me, key, booking)


async def _meddle(me: Client, key: Holding) -> None:
    """Cancel a booking that may belong to somebody else, or ask for its money."""
    ids = sorted(me.world.memory.bookings)
    if ids:
        booking_id = me.random.choice(ids)
        await me.ask("cancel", lambda node: node.sponsorship.cancel(key.text, booking_id))
        if me.chance(0.5):
            await _ask_back(me, key, booking_id)
    await me.think(0.3)


async def _grab(me: Client, key: Holding) -> None:
    """Ask for more weeks at once than an account may hold."""
    node, this_week = me.node(), week_of(me.world.base_ms + int(trio.current_time() * SECOND_MS))
    wishes = [
        Wish(uuid_of(me), slot_id, this_week + me.random.randint(0, 2) * WEEK_MS, None)
        for slot_id in me.random.sample(me.world.board.slots, 3)
    ]
    await me.at_once(*[partial(me.ask, "book", on_node(Sponsorship.book, key.text, wish), node) for wish in wishes])


async def _pay_at_once(me: Client, key: Holding, booking: Booking) -> None:
    await _checkout(me, key, booking)
    _pay(me, booking)


async def _pay_in_time(me: Client, key: Holding, booking: Booking) -> None:
    """Open the checkout again before paying, at times after a change of the campaign's name, which the page shows."""
    await _checkout(me, key, booking)
    for _ in range(me.random.choice((0, 0, 1, 3))):
        await _rename(me, key, booking.campaign_id)
        await _checkout(me, key, booking)
    await me.think(0.6)
    await _checkout(me, key, booking)
    _pay(me, booking, me.random.uniform(0.0, 1.0))


async def _rename(me: Client, key: Holding, campaign_id: str) -> None:
    name = f"Campaign {me.world.board.numbered()}"
    await me.ask("edit campaign", lambda node: node.sponsorship.edit_campaign(key.text, campaign_id, name=name))


async def _pay_late(me: Client, key: Holding, booking: Booking) -> None:
    """Open the checkout in time, and pay about when the hold runs out."""
    await _checkout(me, key, booking)
    await me.think(0.5)
    _pay(me, booking, BOOKINGS.hold_ms / SECOND_MS + me.random.uniform(-1.0, 2.5))


async def _pay_late_for_what_another_wants(me: Client, key: Holding, booking: Booking) -> None:
    """Request the week again the moment its hold is over."""
    await _checkout(me, key, booking)
    _pay(me, booking, BOOKINGS.hold_ms / SECOND_MS + me.random.uniform(0.5, 3.0))
    await trio.sleep(BOOKINGS.hold_ms / SECOND_MS)
    other = await full_key(me, SPONSOR_EMAILS[me.random.randrange(SPONSORS)])
    if other is not None:
        wish = Wish(uuid_of(me), booking.slot_id, booking.week_start_ms, None)
        await until_answered(me, "book", on_node(Sponsorship.book, other.text, wish))


async def _pay_after_expiry(me: Client, key: Holding, booking: Booking) -> None:
    await _checkout(me, key, booking)
    await trio.sleep(BOOKINGS.hold_ms / SECOND_MS + me.random.uniform(-0.2, 1.8))
    _pay(me, booking)


async def _pay_twice(me: Client, key: Holding, booking: Booking) -> None:
    await _checkout(me, key, booking)
    _pay(me, booking)
    _pay(me, booking, me.random.uniform(0.0, 1.5))


async def _cancel_it(me: Client, key: Holding, booking: Booking) -> None:
    if me.chance(0.5):
        await _checkout(me, key, booking)
    await me.think(0.3)
    await _cancel(me, key, booking)
    if me.chance(0.5):
        await _cancel(me, key, booking)


async def _cancel_and_pay(me: Client, key: Holding, booking: Booking) -> None:
    await _checkout(me, key, booking)
    if me.chance(0.5):
        _pay(me, booking, me.random.uniform(0.0, 0.4))
    await _cancel(me, key, booking)
    _pay(me, booking)


async def _regret(me: Client, key: Holding, booking: Booking) -> None:
    """Pay, and ask for the money back: at times on all nodes at once, and again later."""
    await _checkout(me, key, booking)
    _pay(me, booking)
    requests = me.random.choice((1, 1, 2, 4))
    for _ in range(8):
        await me.think(0.5)
        requests -= isinstance(await _ask_back(me, key, booking.id), BookingView)
        if requests == 0:
            break


async def _ask_back(me: Client, key: Holding, booking_id: str) -> Any:
    reason = f"A mistake, number {me.world.board.numbered()}"
    request = on_node(Sponsorship.request_refund, key.text, booking_id, reason)
    if me.chance(0.2):
        await me.at_once(*[partial(me.ask, "request refund", request, node) for node in me.world.nodes])
    view = await until_answered(me, "request refund", request)
    if isinstance(view, BookingView):
        me.world.board.requested.append(booking_id)
    return view


async def _vanish(me: Client, key: Holding, booking: Booking) -> None:
    if me.chance(0.5):
        await _checkout(me, key, booking)


async def _come_too_late(me: Client, key: Holding, booking: Booking) -> None:
    """Pay about when the hold runs out, or find it over."""
    if me.chance(0.5):
        await _checkout(me, key, booking)
    await trio.sleep(BOOKINGS.hold_ms / SECOND_MS + me.random.uniform(-0.5, 0.5))
    await _checkout(me, key, booking)
    _pay(me, booking)
    await _cancel(me, key, booking)


WAYS = (
    _pay_at_once,
    _pay_in_time,
    _pay_late,
    _pay_late_for_what_another_wants,
    _pay_after_expiry,
    _pay_twice,
    _cancel_it,
    _cancel_and_pay,
    _regret,
    _regret,
    _vanish,
    _come_too_late,
)


OWNERS_MOVES = (
    CampaignMove.SUBMIT,
    CampaignMove.WITHDRAW,
    CampaignMove.PAUSE,
    CampaignMove.RESUME,
    CampaignMove.EDIT,
    CampaignMove.EDIT,
)


async def edit(me: Client, key: Holding, campaign_id: str) -> None:
    """Change the name of a campaign, or what visitors see: at times back to what it was before, which undoes an edit."""
    campaign = me.world.memory.campaigns.get(campaign_id)
    words = [{"headline": f"Edit {me.world.board.numbered()} of the day"}] * 3 + [{"name": "Autumn"}]
    if campaign is not None:
        words.append({"headline": campaign.content.headline})
    fields = me.random.choice(words)
    await me.ask("edit campaign", lambda node: node.sponsorship.edit_campaign(key.text, campaign_id, **fields))


async def owner(me: Client) -> None:
    """Edit, submit, withdraw, pause and resume campaigns of an account."""
    key = await full_key(me, SPONSOR_EMAILS[me.random.randrange(SPONSORS)])
    if key is None:
        return
    campaign_id = await _campaign(me, key)
    if campaign_id is None:
        return
    move = me.random.choice(OWNERS_MOVES)
    if move is CampaignMove.EDIT:
        await edit(me, key, campaign_id)
    else:
        await me.ask("move campaign", lambda node: node.sponsorship.move_campaign(key.text, campaign_id, move))
        if move is CampaignMove.PAUSE:
            resume = CampaignMove.RESUME
            await me.ask("move campaign", lambda node: node.sponsorship.move_campaign(key.text, campaign_id, resume))


# Administrators.


async def administrator(me: Client) -> None:
    """Review, refund and manage slots while an administrator; also try when not one."""
    key = await full_key(me, f"admin-{me.random.randrange(ADMINISTRATORS)}@example.org")
    if key is None:
        return
    text, board = key.text, me.world.board
    if me.chance(0.45):
        campaigns = [each for email in sorted(board.campaigns) for each in board.campaigns[email][-3:]]
        move = me.random.choice((CampaignMove.APPROVE, CampaignMove.APPROVE, CampaignMove.REJECT, CampaignMove.PAUSE))
        if campaigns:
            await review(me, text, me.random.choice(campaigns), move)
    elif board.requested and me.chance(0.6):
        await decide_on_request(me, text)
    elif board.bookings and me.chance(0.6):
        booking_id = me.random.choice(board.paid[-5:] if board.paid and me.chance(0.9) else board.bookings[-10:])
        if me.chance(0.3):
            await me.ask("video", lambda node: node.sponsorship.describe_video(text, booking_id))
        else:
            await me.ask("order refund", lambda node: node.sponsorship.order_refund(text, booking_id))
    else:
        await _look_after_slots(me, text)


async def review(me: Client, text: str, campaign_id: str, move: CampaignMove) -> None:
    """Decide on a campaign or its edit, mostly after reading it, and at times while its owner edits it."""
    campaign, seen = me.world.memory.campaigns.get(campaign_id), None
    if campaign is not None and me.chance(0.8):
        seen = campaign.newest
        await me.think(0.2)
    await me.ask("review", lambda node: node.sponsorship.review(text, campaign_id, move, seen))


async def decide_on_request(me: Client, text: str) -> None:
    """Decline a request for a refund or accept it, at times both at once."""
    booking_id, note = me.random.choice(me.world.board.requested[-4:]), f"It was shown, {me.world.board.numbered()}"
    decline = on_node(Sponsorship.decline_refund, text, booking_id, note)
    accept = on_node(Sponsorship.order_refund, text, booking_id)
    if me.chance(0.15):
        await me.at_once(partial(me.ask, "decline refund", decline), partial(me.ask, "order refund", accept))
    elif me.chance(0.6):
        await until_answered(me, "decline refund", decline)
    else:
        await me.ask("order refund", accept)


async def _look_after_slots(me: Client, text: str) -> None:
    board, slot_id = me.world.board, me.random.choice(me.world.board.slots)
    now_ms = me.world.base_ms + int(trio.current_time() * SECOND_MS)
    match me.random.randrange(7):
        case 0 | 1 if len(board.slots) < 8:
            new, weeks = f"slot-{len(board.slots)}", me.random.choice((1, 1, 2))
            slot = await me.ask("create slot", lambda node: node.sponsorship.create_slot(text, new, 7_000, weeks))
            if isinstance(slot, Slot):
                board.slots.append(new)
        case 2:
            await me.ask("retire slot", lambda node: node.sponsorship.retire_slot(text, slot_id))
            await me.think(0.6)
            await me.ask("edit slot", lambda node: node.sponsorship.edit_slot(text, slot_id, active=True))
        case 3:
            ends_ms = now_ms + me.random.randint(500, 4_000)
            await me.ask("edit slot", lambda node: node.sponsorship.edit_slot(text, slot_id, offer_ends_ms=ends_ms))
            await me.think(1.0)
            await me.ask("edit slot", lambda node: node.sponsorship.edit_slot(text, slot_id, clear=("offer_ends_ms",)))
        case 4:
            side = me.random.choice(tuple(Side))
            await me.ask("edit slot", lambda node: node.sponsorship.edit_slot(text, slot_id, side=side))
        case _:
            cents, weeks = me.random.choice((5_000, 9_000)), me.random.choice((1, 1, 2))
            await me.ask(
                "edit slot", lambda node: node.sponsorship.edit_slot(text, slot_id, week_price_cents=cents, weeks=weeks)
            )


async def operator(me: Client) -> None:
    """Grant and revoke administratorship on the command line, and check at once whether it took effect."""
    email = f"admin-{me.random.randrange(ADMINISTRATORS)}@example.org"
    grant = me.chance(0.75)
    await me.ask("appoint", lambda node: node.sponsorship.appoint(email, grant=grant))
    if me.chance(0.6):
        await administrator(me)
        await administrator(me)
    await me.think(1.0)


async def stranger(me: Client) -> None:
    """Use the account at the processor for another product, whose events name our bookings."""
    await me.think(1.5)
    if me.world.memory.bookings:
        await me.world.processor.meddle()


# Scoped keys.


async def delegate(me: Client) -> None:
    """Issue scoped keys with full and with scoped ones, use them for allowed and forbidden operations, and revoke them."""
    email = me.random.choice(("sponsor-0@example.org", "admin-0@example.org"))
    full = await full_key(me, email)
    if full is None:
        return
    board = me.world.board
    granting = [full, *(each for each in board.scoped if each.email == email)]
    giver = me.random.choice(granting[-3:])
    scopes = tuple(me.random.sample(SCOPES, me.random.randint(1, 4)))
    if me.chance(0.6) and Scope.KEYS_MANAGE not in scopes:
        scopes = (*scopes, Scope.KEYS_MANAGE)
    create = partial(_create_key, me, giver, uuid_of(me), f"scoped-{board.numbered()}", scopes)
    if giver is not full and me.chance(0.3):
        await me.at_once(create, partial(_revoke_key, me, full, giver), create)
    else:
        await create()
    if board.scoped:
        scoped = me.random.choice(board.scoped[-3:])
        await _use(me, scoped)
        remover = me.random.choice((full, scoped))
        if remover.email == scoped.email and me.chance(0.5):
            await _revoke_key(me, remover, scoped)
            await _use(me, scoped)
        elif remover.email != scoped.email and remover.email == "admin-0@example.org":
            await _revoke_key(me, remover, scoped, anybodys=True)
            await _use(me, scoped)


async def _create_key(me: Client, giver: Holding, key: str, name: str, scopes: tuple[Scope, ...]) -> None:
    """Create a key until answered, at times once more."""
    create = on_node(Sponsorship.create_key, giver.text, key, name, scopes)
    issued = await until_answered(me, "create key", create)
    if me.chance(0.2):
        await me.ask("create key", create)
    if isinstance(issued, Issued):
        me.world.board.scoped.append(Holding(issued.api_key, issued.key.id, issued.key.tenant_id, email=giver.email))


async def _revoke_key(me: Client, remover: Holding, scoped: Holding, *, anybodys: bool = False) -> None:
    revoke = on_node(Sponsorship.revoke_key, remover.text, scoped.key_id, anybodys=anybodys)
    await me.ask("revoke key", revoke)
    board = me.world.board
    board.changed.append(scoped)
    if scoped in board.scoped and me.chance(0.6):
        board.scoped.remove(scoped)


async def _use(me: Client, scoped: Holding) -> None:
    board = me.world.board
    match me.random.randrange(4):
        case 0:
            await me.ask("profile", lambda node: node.sponsorship.save_profile(scoped.text, "Example Tools"))
        case 1 if board.bookings:
            booking_id = me.random.choice(board.bookings[-6:])
            await me.ask("order refund", lambda node: node.sponsorship.order_refund(scoped.text, booking_id))
        case 2:
            await _look_after_slots(me, scoped.text)
        case _:
            wish = Wish(uuid_of(me), me.random.choice(board.slots), week_of(me.world.base_ms) + WEEK_MS, None)
            await me.ask("book", on_node(Sponsorship.book, scoped.text, wish))


async def looker(me: Client) -> None:
    """Look at the newest bookings, as they are between the moves of others."""
    await me.ask("look", lambda node: node.intake.look_over(LOOKED_OVER))


CROWD: tuple[tuple[Callable[[Client], Awaitable[None]], int], ...] = (
    (sponsor, 8),
    (owner, 1),
    (administrator, 1),
    (operator, 1),
    (stranger, 1),
    (delegate, 1),
)
