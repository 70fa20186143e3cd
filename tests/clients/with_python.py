"""A client that openapi-python-client generated, used as an agent and as a sponsor. Imports nothing of the project.

The environment of `make clients` runs it, with `CATALOG_URL` and `CATALOG_KEY`, the key of an account.
"""

import os
import time
from collections.abc import Callable
from typing import Any, TypeVar
from uuid import uuid4

from catalog_client import AuthenticatedClient, Client
from catalog_client.api.account import get_usage
from catalog_client.api.bookings import cancel_booking, create_booking, get_booking, list_bookings, start_booking
from catalog_client.api.campaigns import create_campaign, list_campaigns
from catalog_client.api.catalog import get_bot, get_use_case, list_bots, list_use_cases
from catalog_client.api.device_login import poll_device, start_device
from catalog_client.api.keys import mint_key, start_claim
from catalog_client.api.scoped_keys import create_scoped_key, list_scoped_keys, revoke_scoped_key
from catalog_client.api.sponsors import get_sponsor, save_profile
from catalog_client.api.sponsorship import get_inventory, list_placements, record_event
from catalog_client.models import (
    BookingAnswer,
    BookingBody,
    BookingPage,
    BookingStart,
    BookingWithReceipt,
    Bot,
    BotPage,
    CampaignAnswer,
    CampaignBody,
    CampaignPage,
    CatalogError,
    ClaimStart,
    DeviceError,
    DeviceStarted,
    DeviceTokenRequest,
    EventBody,
    EventKind,
    EventResult,
    Identity,
    Inventory,
    KeyRevoked,
    MintedKey,
    PlacementList,
    ProfileBody,
    ProfileSaved,
    Scope,
    ScopedKeyIssued,
    ScopedKeyRequest,
    ScopedKeys,
    SponsorshipError,
    Usage,
    UseCase,
    UseCasePage,
)
from catalog_client.types import Response

T = TypeVar("T")
E = TypeVar("E", CatalogError, DeviceError, SponsorshipError)

URL = os.environ["CATALOG_URL"]
HEADERS = {"X-Request-Id": "with-python"}

NOBODY = Client(base_url=URL, headers=HEADERS)
# For operations with an optional key, the generator asks for a client with one, so this one sends it under another name.
READER = AuthenticatedClient(base_url=URL, headers=HEADERS, token="none", auth_header_name="X-No-Key")
SPONSOR = AuthenticatedClient(base_url=URL, headers=HEADERS, token=os.environ["CATALOG_KEY"])


def found(kind: type[T], response: Response[Any]) -> T:
    """The body of a success."""
    assert response.status_code == 200, response
    assert isinstance(response.parsed, kind), response
    return response.parsed


def refused(kind: type[E], status: int, code: str, response: Response[Any]) -> E:
    """The body of a refusal."""
    assert response.status_code == status, response
    assert isinstance(response.parsed, kind), response
    assert response.parsed.error == code, response.parsed
    assert response.parsed.message
    return response.parsed


def reads() -> None:
    """Read the catalog without a key and with one."""
    first = found(UseCasePage, list_use_cases.sync_detailed(client=READER, limit=2))
    assert len(first.data) == 2
    assert first.next_cursor is not None
    second = found(UseCasePage, list_use_cases.sync_detailed(client=READER, limit=2, cursor=first.next_cursor))
    assert first.data[0].slug != second.data[0].slug
    case = found(UseCase, get_use_case.sync_detailed(first.data[0].slug, client=READER))
    assert case.title == first.data[0].title
    bots = found(BotPage, list_bots.sync_detailed(client=READER, q="invoice", limit=5))
    assert bots.next_cursor is None
    assert found(Bot, get_bot.sync_detailed(bots.data[0].slug, client=READER)).name
    refused(CatalogError, 404, "not_found", get_bot.sync_detailed("no-such-bot", client=READER))
    refused(CatalogError, 400, "invalid_request", list_bots.sync_detailed(client=READER, limit=1_000))

    minted = found(MintedKey, mint_key.sync_detailed(client=NOBODY))
    agent = AuthenticatedClient(base_url=URL, headers=HEADERS, token=minted.api_key)
    found(BotPage, list_bots.sync_detailed(client=agent))
    usage = found(Usage, get_usage.sync_detailed(client=agent))
    assert (usage.status, usage.requests_used) == ("anonymous", 1)
    unknown = AuthenticatedClient(base_url=URL, headers=HEADERS, token="cs_anon_unknown")
    refused(CatalogError, 401, "invalid_api_key", get_usage.sync_detailed(client=unknown))
    unauthorized = refused(CatalogError, 401, "unauthorized", get_usage.sync_detailed(client=READER))
    assert unauthorized.hint == "/api/v1/auth/agent"
    claim = ClaimStart(claim_token="clm_unknown", email="owner@example.com")
    refused(CatalogError, 400, "invalid_claim", start_claim.sync_detailed(client=NOBODY, body=claim))


def signs_in() -> None:
    """Start a device login, and poll before anybody approves it."""
    started = found(DeviceStarted, start_device.sync_detailed(client=NOBODY))
    poll = DeviceTokenRequest(device_code=started.device_code)
    refused(DeviceError, 400, "authorization_pending", poll_device.sync_detailed(client=NOBODY, body=poll))
    refused(DeviceError, 400, "slow_down", poll_device.sync_detailed(client=NOBODY, body=poll))


def sells() -> None:
    """Save a profile, create a campaign, and book a slot."""
    assert found(Identity, get_sponsor.sync_detailed(client=SPONSOR)).profile is None
    profile = ProfileBody(name="Example Tools", website="https://tools.example.com")
    assert found(ProfileSaved, save_profile.sync_detailed(client=SPONSOR, body=profile)).profile.name == profile.name
    wrong = ProfileBody(name="", website="ftp://tools.example.com")
    problems = refused(SponsorshipError, 400, "invalid_request", save_profile.sync_detailed(client=SPONSOR, body=wrong))
    assert isinstance(problems.fields, list)
    assert [each.name for each in problems.fields] == ["name", "website"]

    body = CampaignBody(
        name="Spring",
        headline="Tools that work",
        body="Try them for a week.",
        cta="Try now",
        target_url="https://tools.example.com/spring",
        logo_text="ET",
    )
    campaign = found(CampaignAnswer, create_campaign.sync_detailed(client=SPONSOR, body=body)).campaign
    campaigns = found(CampaignPage, list_campaigns.sync_detailed(client=SPONSOR))
    assert [each.id for each in campaigns.items] == [campaign.id]

    next_week = found(Inventory, get_inventory.sync_detailed(client=READER)).week_end
    slots = found(Inventory, get_inventory.sync_detailed(client=READER, week_start=next_week)).slots
    slot = next(slot for slot in slots if slot.available)
    order = BookingBody(campaign_id=campaign.id, slot_id=slot.id, week_start=next_week, idempotency_key=uuid4())
    booking = found(BookingAnswer, create_booking.sync_detailed(client=SPONSOR, body=order)).booking
    assert found(BookingAnswer, create_booking.sync_detailed(client=SPONSOR, body=order)).booking.id == booking.id
    other = BookingStart(
        name="Example Tools",
        website="https://tools.example.com",
        headline="Tools",
        body="Tools",
        slot_id=slot.id,
        week_start=next_week,
        idempotency_key=uuid4(),
    )
    refused(SponsorshipError, 409, "slot_unavailable", start_booking.sync_detailed(client=SPONSOR, body=other))
    assert found(BookingWithReceipt, get_booking.sync_detailed(booking.id, client=SPONSOR)).booking.status == "reserved"
    assert len(found(BookingPage, list_bookings.sync_detailed(client=SPONSOR)).items) == 1
    event = EventBody(booking_id=booking.id, kind=EventKind.CLICK, visitor_id=uuid4())
    assert found(EventResult, record_event.sync_detailed(client=READER, body=event)).recorded is False
    assert found(BookingAnswer, cancel_booking.sync_detailed(booking.id, client=SPONSOR)).booking.status == "cancelled"
    found(PlacementList, list_placements.sync_detailed(client=READER))


def shares() -> None:
    """Give a program a key that can only read, and take it back."""
    scopes = [Scope.SPONSORREAD]
    request = ScopedKeyRequest(name="reports", scopes=scopes)
    issued = found(ScopedKeyIssued, create_scoped_key.sync_detailed(client=SPONSOR, body=request))
    scoped = AuthenticatedClient(base_url=URL, headers=HEADERS, token=issued.api_key)
    found(BookingPage, list_bookings.sync_detailed(client=scoped))
    profile = ProfileBody(name="Other Tools", website="https://tools.example.com")
    refused(SponsorshipError, 403, "insufficient_scope", save_profile.sync_detailed(client=scoped, body=profile))
    assert issued.id in [key.id for key in found(ScopedKeys, list_scoped_keys.sync_detailed(client=SPONSOR)).items]
    found(KeyRevoked, revoke_scoped_key.sync_detailed(issued.id, client=SPONSOR))
    until(lambda: list_bookings.sync_detailed(client=scoped).status_code == 401)


def until(condition: Callable[[], bool], seconds: float = 5.0) -> None:
    """Wait for a condition in the service."""
    due = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < due, condition
        time.sleep(0.1)


for part in (reads, signs_in, sells, shares):
    part()
