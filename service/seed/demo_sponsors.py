"""The rows of the demo but bookings: two sponsors, slots of every kind, campaigns in every state. Pure.

The brands are fictional, and their sites are on domains reserved for examples.
"""

import hashlib
from dataclasses import dataclass

from actors.bookings.demo import DemoAccount
from actors.bookings.records import Campaign, CampaignStatus, Content, PackageKind, Side, Slot, Sponsor
from actors.clock import DAY_MS, MINUTE_MS
from actors.weeks import WEEK_MS

MOONBEAM, HEDGEHOG = "demo-tenant-moonbeam", "demo-tenant-hedgehog"
MOONBEAM_SITE, HEDGEHOG_SITE = "https://moonbeam-filing.example.com", "https://hedgehog-express.example.org"

ACCOUNTS = (
    DemoAccount("demo-sponsor@example.com", MOONBEAM),
    DemoAccount("demo-sponsor-2@example.com", HEDGEHOG),
)

LEFT_TOP, LEFT_SEASON, LEFT_LAUNCH, LEFT_ARCHIVE = (
    "demo-left-top",
    "demo-left-season",
    "demo-left-launch",
    "demo-left-archive",
)
RIGHT_TOP, RIGHT_SEASON, RIGHT_MONTH, RIGHT_VIDEO, RIGHT_LETTER = (
    "demo-right-top",
    "demo-right-season",
    "demo-right-month",
    "demo-right-video",
    "demo-right-letter",
)

RECEIPTS, YEAR_END, SCANNER, OFFER = (
    "demo-campaign-receipts",
    "demo-campaign-year-end",
    "demo-campaign-scanner",
    "demo-campaign-offer",
)
SAME_DAY, RETURNS, EVENINGS, FASTEST = (
    "demo-campaign-same-day",
    "demo-campaign-returns",
    "demo-campaign-evenings",
    "demo-campaign-fastest",
)


def sponsors(this_week: int) -> tuple[Sponsor, ...]:
    """One sponsor per account."""
    return (
        Sponsor(
            MOONBEAM, "demo-sponsor-moonbeam", "Moonbeam Filing", MOONBEAM_SITE, this_week - 12 * WEEK_MS, demo=True
        ),
        Sponsor(
            HEDGEHOG, "demo-sponsor-hedgehog", "Hedgehog Express", HEDGEHOG_SITE, this_week - 11 * WEEK_MS, demo=True
        ),
    )


def slots(this_week: int) -> tuple[Slot, ...]:
    """Nine slots, on both sides."""

    def slot(slot_id: str, name: str, price_cents: int, **fields: object) -> Slot:
        side = Side.LEFT if slot_id.startswith("demo-left") else Side.RIGHT
        created_ms = this_week - 13 * WEEK_MS
        return Slot(slot_id, name, side, price_cents, created_ms, demo=True, **fields)  # type: ignore[arg-type]

    return (
        slot(
            LEFT_TOP,
            "Left column, top",
            9_900,
            package_kind=PackageKind.WEBSITE,
            description="Your card at the top of the left column, beside every list of use cases and bots.",
        ),
        slot(
            LEFT_SEASON,
            "Left column, season",
            5_900,
            weeks=13,
            package_kind=PackageKind.WEBSITE,
            description="Thirteen weeks in the left column, for those who plan by the quarter.",
        ),
        slot(
            LEFT_LAUNCH,
            "Launch week",
            14_900,
            offer_ends_ms=this_week + 3 * WEEK_MS,
            package_kind=PackageKind.BUNDLE,
            description="One week in the left column and a short video, for something new. An introductory offer.",
        ),
        slot(LEFT_ARCHIVE, "Archive pages", 2_900, active=False),
        slot(RIGHT_TOP, "Right column, top", 8_900),
        slot(
            RIGHT_SEASON,
            "Right column, season",
            7_400,
            weeks=13,
            package_kind=PackageKind.BUNDLE,
            description="Thirteen weeks in the right column, and a video that shows your product at work.",
        ),
        slot(
            RIGHT_MONTH,
            "Right column, month",
            6_900,
            weeks=4,
            package_kind=PackageKind.WEBSITE,
            description="Four weeks in the right column.",
        ),
        slot(
            RIGHT_VIDEO,
            "Video feature",
            24_900,
            weeks=2,
            package_kind=PackageKind.YOUTUBE,
            description="A video of five to eight minutes, with a card beside it for two weeks.",
        ),
        slot(
            RIGHT_LETTER,
            "Newsletter panel",
            4_900,
            coming_soon=True,
            description="A panel in the weekly letter to readers, once there is one.",
        ),
    )


def campaigns(this_week: int) -> tuple[Campaign, ...]:
    """Four campaigns per sponsor."""
    return tuple(
        Campaign(
            id=draft.id,
            tenant_id=draft.tenant_id,
            name=draft.name,
            content=Content(
                headline=draft.headline,
                body=draft.body,
                cta=draft.cta,
                target_url=f"{MOONBEAM_SITE if draft.tenant_id == MOONBEAM else HEDGEHOG_SITE}/{draft.page}",
                logo_text="MF" if draft.tenant_id == MOONBEAM else "HEX",
            ),
            status=draft.status,
            created_ms=this_week - draft.weeks_old * WEEK_MS + spread(draft.id, DAY_MS),
            review_note=draft.note,
            demo=True,
        )
        for draft in CREATIVES
    )


@dataclass(frozen=True, slots=True)
class _Creative:
    """A campaign created `weeks_old` weeks before the current one."""

    id: str
    tenant_id: str
    status: CampaignStatus
    weeks_old: int
    name: str
    headline: str
    body: str
    cta: str
    page: str
    note: str | None = None


CREATIVES = (
    _Creative(
        RECEIPTS,
        MOONBEAM,
        CampaignStatus.APPROVED,
        11,
        "Receipts for freelancers",
        "Receipts that file themselves",
        "Forward a receipt, and Moonbeam names it, sorts it and finds it again at tax time. The first hundred are free.",
        "Try it free",
        "receipts",
    ),
    _Creative(
        YEAR_END,
        MOONBEAM,
        CampaignStatus.APPROVED,
        10,
        "Year-end for small teams",
        "Year-end without the shoebox",
        "One folder a client, checked every night for what is missing. Your accountant gets a link instead of a parcel.",
        "See a sample folder",
        "year-end",
        "Thank you, this says clearly what it is.",
    ),
    _Creative(
        SCANNER,
        MOONBEAM,
        CampaignStatus.PENDING,
        3,
        "Pocket scanner, launch",
        "A scanner that lives in your pocket",
        "Point, tap, done: straight pages, readable text and the right folder, even for a crumpled bill on a train.",
        "Join the waiting list",
        "scanner",
    ),
    _Creative(
        OFFER,
        MOONBEAM,
        CampaignStatus.DRAFT,
        1,
        "Two for one, an idea",
        "File now, sleep well later",
        "Two months of Moonbeam for the price of one, for all who bring their first folder this week.",
        "Save my place",
        "offer",
    ),
    _Creative(
        SAME_DAY,
        HEDGEHOG,
        CampaignStatus.APPROVED,
        11,
        "Same-day for small shops",
        "Small parcels, there the same day",
        "Book a courier from your order list in two clicks. Fair prices for shops that send ten parcels, not ten thousand.",
        "Get a price",
        "same-day",
    ),
    _Creative(
        RETURNS,
        HEDGEHOG,
        CampaignStatus.APPROVED,
        10,
        "Returns made easy",
        "Returns that nobody has to dread",
        "A code instead of a label, a pick-up instead of a queue. You see each return before it is back on your shelf.",
        "How returns work",
        "returns",
    ),
    _Creative(
        EVENINGS,
        HEDGEHOG,
        CampaignStatus.PAUSED,
        10,
        "Evening windows",
        "Deliveries after dinner",
        "Let customers choose an hour between six and ten in the evening, and pay for no second attempt.",
        "Open the evening",
        "evenings",
    ),
    _Creative(
        FASTEST,
        HEDGEHOG,
        CampaignStatus.REJECTED,
        2,
        "Fastest of all",
        "The fastest courier in the world",
        "Nobody delivers faster than Hedgehog. Order once, and every other courier will look slow.",
        "Order now",
        "fastest",
        "Please name a source for “the fastest in the world”, or tell readers what you promise instead.",
    ),
)


# Pseudo-random figures.


def share(text: str) -> float:
    """A number from 0 to below 1, derived from the text."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6]) / 2**48


def spread(text: str, width_ms: int) -> int:
    """A time below `width_ms` in whole minutes, derived from the text."""
    return int(share(text) * width_ms) // MINUTE_MS * MINUTE_MS
